"""Synthetic files from released margins, and the rule that pools what an analyst estimates on them."""
