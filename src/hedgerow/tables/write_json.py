"""A protected table as plain data: the contract's JSON, one line a cell, written in parts so that size is no matter."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hedgerow.release.result.write_file import write_lines
from hedgerow.tables.cells.cells import TableCells
from hedgerow.tables.disclosures import named_guarantee

if TYPE_CHECKING:
    from hedgerow.tables.protected import ProtectedTable

_PART = 10_000
_ERRORS = ("sampling_error", "bootstrap_error", "privacy_error")


def table_as_dict(table: ProtectedTable, level: float) -> dict[str, Any]:
    """Return plain JSON data: ``release``, ``table``, ``estimates``, ``certificate``."""
    return {**_head(table, level), "estimates": [*_entries(table.cells, level)], **_tail(table)}


def table_json(table: ProtectedTable, level: float, **more: Any) -> str:
    """Return the JSON text, with more fields at its end."""
    return "".join(_parts(table, level, more))


def write_table_json(table: ProtectedTable, path: str | Path, level: float) -> None:
    """Write the JSON text part by part (HG118 where it cannot be written)."""
    write_lines(path, _parts(table, level))


def table_columns(table: ProtectedTable, level: float) -> dict[str, list[Any]]:
    """Return the cells as columns of equal length."""
    found, size, groups = table.cells.columns(level), len(table), table.shape.columns
    labels = list(table.shape.cells())
    columns: dict[str, list[Any]] = {"statistic": [table.statistic] * size, "column": [table.column] * size}
    columns |= {f"by_{group}": [cell[group] for cell in labels] for group in groups}
    columns |= {name: _numbers(getattr(found, name)) for name in ("estimate", "standard_error", *_ERRORS)}
    columns |= {"low": _numbers(found.low), "high": _numbers(found.high), "level": [level] * size}
    return (
        columns
        | {"method": [table.method] * size, "reliable": found.reliable.tolist()}
        | {"guarantee": [named_guarantee(table)] * size}
    )


def _parts(table: ProtectedTable, level: float, more: Mapping[str, Any] = MappingProxyType({})) -> Iterator[str]:
    head = json.dumps(_head(table, level), indent=2, ensure_ascii=False, allow_nan=False)
    yield head.removesuffix("\n}") + ',\n  "estimates": [\n'
    lines: list[str] = []
    last = len(table) - 1
    for place, entry in enumerate(_entries(table.cells, level)):
        lines.append(
            "    " + json.dumps(entry, ensure_ascii=False, allow_nan=False) + (",\n" if place < last else "\n")
        )
        if len(lines) >= _PART:
            yield "".join(lines)
            lines = []
    tail = json.dumps({**_tail(table), **more}, indent=2, ensure_ascii=False, allow_nan=False)
    yield "".join(lines) + "  ],\n" + tail.removeprefix("{\n") + "\n"


def _head(table: ProtectedTable, level: float) -> dict[str, Any]:
    about = {name: getattr(table, name) for name in ("source", "relation", "unit", "target", "n", "missing")}
    about |= {"methods": {table.method: table.reason}, "notes": list(table.notes)}
    axes = [{"column": a.column, "categories": list(a.categories), "other": a.other} for a in table.shape.axes]
    margins = [{"by": list(kept), "estimates": [*_entries(cells, level)]} for kept, cells in table.margins.items()]
    return {
        "release": {**about, "simulated": True} if table.simulated else about,
        "table": {
            "statistic": table.statistic,
            "column": table.column,
            "guarantee": table.guarantee,
            "option": table.option,
            "by": axes,
            "margins": margins,
        },
    }


def _tail(table: ProtectedTable) -> dict[str, Any]:
    return {"certificate": None if table.certificate is None else table.certificate.to_dict()}


def _entries(estimates: TableCells, level: float) -> Iterator[Any]:
    """Yield what `Estimate.to_dict` returns of each, without making it."""
    found, cells = estimates.columns(level), estimates.shape.cells()
    interval = {"level": level, "method": estimates.interval_method, "covers": estimates.subject.covers}
    for start in range(0, len(estimates), _PART):
        part = slice(start, start + _PART)
        errors = [_numbers(getattr(found, name)[part]) for name in ("standard_error", *_ERRORS)]
        columns = [_numbers(found.estimate[part]), *errors, _numbers(found.low[part]), _numbers(found.high[part])]
        for place, (value, error, sampling, bootstrap, privacy, low, high) in enumerate(
            zip(*columns, strict=True), start
        ):
            drawn = estimates.replicates(place)
            yield {
                "statistic": estimates.subject.statistic,
                "column": estimates.subject.column,
                "cell": next(cells),
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


def _numbers(column: Any) -> list[float | None]:
    return [number if math.isfinite(number) else None for number in column.tolist()]
