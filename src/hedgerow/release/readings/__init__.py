"""What is read of a release beside the numbers that were asked for: all of it is post-processing."""
