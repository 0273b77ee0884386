"""Prices: upper bounds on the privacy curve of a mechanism, computed from its description."""
