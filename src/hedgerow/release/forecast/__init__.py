"""Forecasts of the price and the errors of a release, before any data are read."""
