"""The cells of a table: their shape, numbers, totals that add up, and letters."""
