"""Many numbers at once: tests that keep one promise together, and estimates that learn from one another."""
