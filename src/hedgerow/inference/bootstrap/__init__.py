"""Errors and intervals of bootstrap replicates."""
