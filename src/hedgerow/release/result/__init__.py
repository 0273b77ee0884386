"""What a release returns, and how it is written and read back."""
