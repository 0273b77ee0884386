"""Audit: every certificate is attacked. Lower bounds on ε from outside, replays from inside, mutants as a check."""
