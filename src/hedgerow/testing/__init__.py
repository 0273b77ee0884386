"""Seeded noise and published mechanisms, for studies. Results are marked simulated and never certified."""
