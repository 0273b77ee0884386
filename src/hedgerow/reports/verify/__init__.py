"""A record held against itself, and priced anew."""
