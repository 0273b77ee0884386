"""One file a statistic: what it reads of a record, its function, its limits, its words. `registry` finds them all."""
