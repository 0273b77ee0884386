"""The distribution of one column, read from one released tree of noisy counts: all of it is post-processing."""
