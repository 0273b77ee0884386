"""Statistics, one file each: features of a record, function, limits and how users ask. `registry` lists them all."""
