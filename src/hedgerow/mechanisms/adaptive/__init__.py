"""Mechanisms whose later questions depend on earlier answers."""
