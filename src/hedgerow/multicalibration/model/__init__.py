"""The calibrated model, and how it is written and read."""
