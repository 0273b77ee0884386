"""Tables under differential privacy."""
