"""The cells of a table: their shape, numbers and letters."""
