"""Margins that add up, and numbers made whole or non-negative."""
