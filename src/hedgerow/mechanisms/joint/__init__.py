"""One noisy vector of sums, squares and products of several columns: its layout, sensitivity and mechanism."""
