"""Histograms and sums from any source: files, and frames of any library. Only counts leave an engine, never rows."""
