"""Numbers in, axes out."""
