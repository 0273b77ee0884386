"""Draw: privacy noise as integers on a lattice, from the operating system's entropy."""
