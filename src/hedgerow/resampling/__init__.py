"""Repeat: histograms, additive statistics and bootstrap weights."""
