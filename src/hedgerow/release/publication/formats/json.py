"""The JSON text of a table or release. A large table is written in parts, one line per cell, to save memory."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hedgerow.release.cells.cells import TableCells
from hedgerow.release.publication.formats import Published
from hedgerow.release.publication.write_file import write_lines

SUFFIXES = (".json",)
KINDS = ("release", "table")
_PART = 10_000
_ERRORS = ("standard_error", "sampling_error", "bootstrap_error", "privacy_error")


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


def entries_of(estimates: TableCells, level: float) -> Iterator[Any]:
    """Yield what `Estimate.to_dict` returns of each, without making it."""
    found, cells = estimates.columns(level), estimates.shape.cells()
    interval = {"level": level, "method": estimates.interval_method, "covers": estimates.subject.covers}
    for start in range(0, len(estimates), _PART):
        part = slice(start, start + _PART)
        errors = [numbers(getattr(found, name)[part]) for name in _ERRORS]
        columns = [numbers(found.estimate[part]), *errors, numbers(found.low[part]), numbers(found.high[part])]
        for place, (value, error, sampling, bootstrap, privacy, low, high) in enumerate(
            zip(*columns, strict=True), start
        ):
            drawn, cell = estimates.replicates(place), next(cells)
            names = estimates.shape.names_of(cell)
            yield {
                "statistic": estimates.subject.statistic,
                "column": estimates.subject.column,
                "cell": cell,
                **({"labels": names} if names else {}),
                "estimate": value,
                "standard_error": error,
                "sampling_error": sampling,
                "bootstrap_error": bootstrap,
                "privacy_error": privacy,
                "confidence_interval": {"low": low, "high": high, **interval},
                "method": estimates.subject.method,
                "n_resamples": estimates.n_resamples,
                "reliable": bool(found.reliable[place]),
                "note": estimates.note(place),
                **({} if drawn is None else {"replicates": list(drawn)}),
            }


def numbers(column: Any) -> list[float | None]:
    """Return numbers as JSON has them: None for one that is not finite."""
    return [number if math.isfinite(number) else None for number in column.tolist()]
