"""Regression: linear models whose coefficients may be published, read from one release of joint moments."""
