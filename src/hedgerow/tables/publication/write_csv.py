"""A table as CSV for the next program: one line a cell or total, with its errors, interval and letter."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import islice, repeat
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.facts.printed import neutralise_formula
from hedgerow.release.result.write_file import write_lines
from hedgerow.tables.cells.cells import TableCells
from hedgerow.tables.cells.letters import reliability_letters
from hedgerow.tables.publication.publication import Publication

_PART = 10_000
_NUMBERS = ("standard_error", "sampling_error", "bootstrap_error", "privacy_error", "low", "high")
_ERRORS = (*_NUMBERS, "reliable", "level", "letter")


def csv_text(publication: Publication) -> str:
    """Return the table as CSV: ``by_COLUMN`` for every column, ``summed_over``, the estimate and its errors.

    Cells first, then the totals; a total has nothing in the columns that it adds over, which ``summed_over`` lists, and
    the group's name in the column of a hierarchy. Columns of errors are absent where the errors are withheld; the last
    column names the guarantee, where the publication does. Texts that a spreadsheet would run as a formula are made
    inert with an apostrophe. Numbers are written in full.

    Examples
    --------
    >>> from hedgerow.tables.totals.margins import consistent_table
    >>> from hedgerow.tables.cells.shape import Axis, TableShape
    >>> cells = TableCells.counts(TableShape((Axis("sex", ("f", "m")),)), [1.0, 2.0], privacy_variance=2.0, census=True)
    >>> print(csv_text(Publication("People", consistent_table(cells), "")).splitlines()[1][:30])
    f,,1.0,1.4142135623730951,0.0,
    """
    return "".join(_parts(publication))


def write_csv(publication: Publication, path: str | Path) -> None:
    """Write `csv_text` part by part (HG118 where it cannot be written)."""
    write_lines(path, _parts(publication))


def _parts(publication: Publication) -> Iterator[str]:
    rows = csv_rows(publication)
    while part := list(islice(rows, _PART)):
        text = io.StringIO(newline="")
        csv.writer(text).writerows(part)
        yield text.getvalue()


def csv_rows(publication: Publication) -> Iterator[Sequence[Any]]:
    """Yield the head and the lines of `csv_text`, texts made inert."""
    table, withheld = publication.table, publication.table.interior.withheld
    columns = table.interior.shape.columns
    head = [*(f"by_{column}" for column in columns), "summed_over", "estimate"]
    named = ("guarantee",) if publication.guarantee_name else ()
    yield [neutralise_formula(name) for name in (*head, *(() if withheld else _ERRORS), *named)]
    for kept, cells in {columns: table.interior, **table.margins}.items():
        yield from _lines(publication, kept, cells)


def _lines(publication: Publication, kept: tuple[str, ...], cells: TableCells) -> Iterator[tuple[Any, ...]]:
    columns = publication.table.interior.shape.columns
    holders = {hierarchy.name: hierarchy.column for hierarchy in publication.table.hierarchies}
    held = {holders.get(level, level): place for place, level in enumerate(kept)}
    labels = [[neutralise_formula(label) for label in axis.labels] for axis in cells.shape.axes]
    places = np.unravel_index(np.arange(cells.shape.size), cells.shape.shape) if kept else ()
    groups = [
        [labels[held[column]][at] for at in places[held[column]].tolist()] if column in held else repeat("")
        for column in columns
    ]
    summed = neutralise_formula(" × ".join(column for column in columns if column not in held))
    named = [repeat(publication.guarantee_name)] if publication.guarantee_name else []
    return zip(*groups, repeat(summed), cells.published.tolist(), *_errors(publication, cells), *named, strict=False)


def _errors(publication: Publication, cells: TableCells) -> list[Any]:
    if cells.withheld:
        return []
    found, letters = cells.columns(publication.level), reliability_letters(cells, publication.bands)
    columns: list[Any] = [getattr(found, name).tolist() for name in _NUMBERS]
    return [*columns, [str(one) for one in found.reliable.tolist()], repeat(publication.level), letters.tolist()]
