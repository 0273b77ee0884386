"""The embedded population and the first five minutes."""
