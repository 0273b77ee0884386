"""The JSON text of a result, one line for each estimate; a name that ends with ``.gz`` is packed with gzip."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from hedgerow.release.publication.formats import Published
from hedgerow.release.publication.write_file import write_lines

SUFFIXES = (".json", ".json.gz")
KINDS = ("release", "table", "margins")
APART = (".json.gz",)
LARGE = (".json",)
_PART = 10_000


def write(publication: Published, path: str | Path) -> None:
    """Write the JSON text part by part (HG118 where it cannot be written)."""
    write_lines(path, publication.json_parts())


def record_parts(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the JSON text of a record: a line for each field of its parts, and for each element of its lists.

    In place of a list there may be an iterator, which is never held as a whole.

    >>> print("".join(record_parts({"release": {"n": 2}, "estimates": iter([{"a": 1}, {"a": 2}]), "reading": 1})))
    {
      "release": {
        "n": 2
      },
      "estimates": [
        {"a": 1},
        {"a": 2}
      ],
      "reading": 1
    }
    <BLANKLINE>
    """
    before = "{\n  "
    for name, value in record.items():
        yield f"{before}{_text(name)}: "
        before = ",\n  "
        if isinstance(value, Mapping) and value:
            yield from _lines("{", (f"{_text(key)}: {_text(part)}" for key, part in value.items()), "}")
        elif isinstance(value, (list, tuple, Iterator)):
            yield from _lines("[", map(_text, value), "]")
        else:
            yield _text(value)
    yield "\n}\n"


def _lines(opening: str, entries: Iterable[str], closing: str) -> Iterator[str]:
    yield opening
    left, before = iter(entries), "\n    "
    while part := list(islice(left, _PART)):
        yield before + ",\n    ".join(part)
        before = ",\n    "
    yield closing if before[0] == "\n" else f"\n  {closing}"


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
