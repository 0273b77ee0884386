"""Seeded stand-ins, published calibrations and the referee's door. Public, marked, never certified."""
