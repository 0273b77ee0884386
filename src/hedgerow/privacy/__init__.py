"""Who is protected, how much, by what mechanism: the words that everything above reads."""
