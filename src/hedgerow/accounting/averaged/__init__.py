"""The price of averaged Laplace noise."""
