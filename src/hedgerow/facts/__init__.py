"""What is public and declared: relation, unit, budget, columns, grids, and the file that holds them."""
