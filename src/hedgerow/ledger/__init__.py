"""Ledgers: one file per data set, in which every price is reserved before data are read."""
