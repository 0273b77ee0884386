"""Privacy noise: integers on a lattice, drawn from the operating system's entropy, and the table they make noisy."""
