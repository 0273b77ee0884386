"""The commands of the terminal: each parses its options, calls the library and prints."""
