"""Smooth functions of the noisy joint moments of one release: estimates, joint covariance, intervals, arithmetic."""
