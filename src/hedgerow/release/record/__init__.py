"""What a record of a release holds, and how it is read back."""
