"""Reserve a price, run, record the result."""
