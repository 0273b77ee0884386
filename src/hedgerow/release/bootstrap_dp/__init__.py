"""Numbers under bootstrap differential privacy, which is not differential privacy: D's own range sets the noise."""
