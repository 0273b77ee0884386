"""Mechanisms that read records drawn again from the data."""
