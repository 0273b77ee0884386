"""A test set that stays honest: scores priced exactly, looks counted in a ledger."""
