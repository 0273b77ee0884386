"""What engines do each in its own way: exact sums, reading out, levels, which rows of a unit are kept, Ibis."""
