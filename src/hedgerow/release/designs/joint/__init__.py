"""Statistics that are read from one release of joint moments: the design, the choice of its weights, its table."""
