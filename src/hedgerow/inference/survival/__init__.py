"""Survival from noisy counts of events and of censored records by interval of time."""
