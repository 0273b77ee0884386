"""Statistics that one table of counts tells: quantiles, shares, bins and the Gini coefficient of a column."""
