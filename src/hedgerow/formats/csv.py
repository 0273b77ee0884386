"""CSV files: every cell is text, and the header is read before DuckDB is; see `hedgerow.engines.files.CsvSource`."""

SUFFIXES = (".csv", ".tsv")
SIGNATURE = None
TABLES = False
