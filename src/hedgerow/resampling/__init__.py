"""Resampling: histograms, exact sums and bootstrap weights."""
