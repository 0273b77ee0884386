"""What can be released: one frozen description a mechanism, which both the sampler and the accountant read."""
