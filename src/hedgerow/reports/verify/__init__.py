"""Checks that a record is consistent, and recomputes its price."""
