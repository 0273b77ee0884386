"""`hedgerow schema`: the JSON Schema of a facts file."""

from __future__ import annotations

from hedgerow.cli.terminal import write_json


def schema() -> None:
    """Print the JSON Schema of a facts file (hedgerow.toml), for editors and other checkers."""
    from hedgerow.facts.facts_file import json_schema

    write_json(json_schema())
