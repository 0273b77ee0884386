"""Tables under bootstrap differential privacy, which is not differential privacy."""
