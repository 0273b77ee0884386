"""Releases broken on purpose, which the audit must reject."""
