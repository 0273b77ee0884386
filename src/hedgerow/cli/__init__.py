"""Verbs for the terminal: parse, call, print."""
