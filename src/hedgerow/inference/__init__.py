"""Estimates, standard errors and intervals from noisy tables. It is post-processing, so it costs no privacy."""
