"""Mechanisms, one frozen description each, which both the sampler and the accountant read."""
