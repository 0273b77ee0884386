"""Prices: upper bounds on the privacy profile of a mechanism, computed from its description."""
