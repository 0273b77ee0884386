"""Audits: lower bounds on ε from outputs, replays of releases on neighbours, and mutants that must be detected."""
