"""Fetch histograms: one question, one answer, from any source; no row leaves."""
