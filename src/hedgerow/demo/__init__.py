"""A synthetic survey, and a demonstration of releases from it."""
