"""The neighbours that are hardest to hide from each other, for each mechanism."""
