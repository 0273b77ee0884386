"""A table as text, CSV, HTML, XLSX and pictures."""
