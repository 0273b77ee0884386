"""What a release may be expected to cost and to tell, before any data are read."""
