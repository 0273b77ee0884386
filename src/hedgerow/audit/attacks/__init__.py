"""Attacks on outputs, laws and lattices."""
