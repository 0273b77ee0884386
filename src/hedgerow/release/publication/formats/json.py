"""The JSON text of a table or release. A large table is written in parts, one line per cell, to save memory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hedgerow.release.publication.formats import Published
from hedgerow.release.publication.write_file import write_lines

SUFFIXES = (".json",)
KINDS = ("release", "table", "margins")
_PART = 10_000


def write(publication: Published, path: str | Path) -> None:
    """Write the JSON text part by part (HG118 where it cannot be written)."""
    write_lines(path, publication.json_parts())


def parts_of(head: Mapping[str, Any], entries: Iterable[Any], size: int, tail: Mapping[str, Any]) -> Iterator[str]:
    """Yield an object's JSON text: the head, a list ``estimates`` with one line per entry, the tail.

    >>> "".join(parts_of({"a": 1}, iter([2, 3]), 2, {"b": 4})).split()
    ['{', '"a":', '1,', '"estimates":', '[', '2,', '3', '],', '"b":', '4', '}']
    """
    text = json.dumps(head, indent=2, ensure_ascii=False, allow_nan=False)
    yield text.removesuffix("\n}") + ',\n  "estimates": [\n'
    lines: list[str] = []
    for index, entry in enumerate(entries, start=1):
        line = json.dumps(entry, ensure_ascii=False, allow_nan=False)
        lines.append(f"    {line}" + (",\n" if index < size else "\n"))
        if len(lines) >= _PART:
            yield "".join(lines)
            lines = []
    text = json.dumps(tail, indent=2, ensure_ascii=False, allow_nan=False)
    yield "".join(lines) + "  ],\n" + text.removeprefix("{\n") + "\n"
