"""Exact sums with noise added: one file a mechanism."""
