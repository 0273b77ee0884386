"""Figures: each function draws plain numbers with matplotlib and returns the matplotlib axes."""
