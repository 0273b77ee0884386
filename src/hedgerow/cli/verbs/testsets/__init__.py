"""`hedgerow testset` and its subcommands."""
