"""What engines do each in its own way: exact sums, derived columns, levels, which rows of a unit are kept, Ibis."""
