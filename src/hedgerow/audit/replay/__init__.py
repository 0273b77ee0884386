"""A release watched from inside, on two neighbours."""
