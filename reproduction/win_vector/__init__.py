"""Mount and Zumel's note (Win-Vector, 2015), done again: a test set defended by scoring bootstrap resamples."""
