"""How each statistic is released, priced and read."""
