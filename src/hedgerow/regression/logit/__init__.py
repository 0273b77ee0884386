"""Logistic regression by noisy Newton steps: the way of the coefficients, their errors, and the release."""
