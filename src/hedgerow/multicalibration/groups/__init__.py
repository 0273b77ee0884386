"""Groups of records, and the columns that make them."""
