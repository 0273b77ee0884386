"""Logistic regressions by noisy Newton steps: the model, its release, and the coefficients that are read from it."""
