"""CSV for the next program: a line a number, with its errors and interval. Numbers are written in full.

A text that a spreadsheet would execute as a formula gets an apostrophe in front.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from hedgerow.facts.printed import neutralise_formula
from hedgerow.release.publication.formats import Published
from hedgerow.release.publication.write_file import write_lines

SUFFIXES = (".csv", ".csv.gz")
KINDS = ("release", "table", "margins")
APART = (".csv.gz",)
_PART = 10_000


def csv_text(publication: Published) -> str:
    """Return a publication as CSV.

    Examples
    --------
    >>> from hedgerow.release.cells.table_cells import TableCells
    >>> from hedgerow.release.cells.margins import consistent_table
    >>> from hedgerow.release.cells.shape import TableDimension, TableShape
    >>> from hedgerow.release.publication.publication import Publication
    >>> cells = TableCells.counts(TableShape((TableDimension("sex", ("f", "m")),)), [1.0, 2.0], privacy_variance=2.0,
    ...     census=True)
    >>> print(csv_text(Publication("People", consistent_table(cells), "")).splitlines()[1][:30])
    f,,1.0,1.4142135623730951,0.0,
    """
    return "".join(_parts(publication))


def write(publication: Published, path: str | Path) -> None:
    """Write `csv_text` part by part (HG118 where it cannot be written)."""
    write_lines(path, _parts(publication))


def _parts(publication: Published) -> Iterator[str]:
    lines = publication.lines()
    while part := list(islice(lines, _PART)):
        text = io.StringIO(newline="")
        # Most cells are numbers, which no guard need look at.
        csv.writer(text).writerows(
            [neutralise_formula(cell) if isinstance(cell, str) else cell for cell in line] for line in part
        )
        yield text.getvalue()
