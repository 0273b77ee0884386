"""Parquet for the next program: a row for each estimate, with the columns of the CSV file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.files import write_columns
from hedgerow.release.publication.formats import Published
from hedgerow.release.publication.write_file import refused_where_unwritable, written_whole

SUFFIXES = (".parquet",)
KINDS = ("release", "table", "margins")
APART = SUFFIXES
LARGE = SUFFIXES


def write(publication: Published, path: str | Path) -> None:
    """Write the columns (HG118 where the file cannot be written)."""

    def write_whole() -> None:
        with written_whole(path) as place:
            columns = _columns(publication)
            # One column is held twice, never all of them.
            write_columns(place, {name: _array_of(columns.pop(name)) for name in list(columns)})

    refused_where_unwritable(path, write_whole)


def _columns(publication: Published) -> dict[str, Sequence[Any]]:
    columns = getattr(publication, "columns", None)  # lines of a million cells are not put together first
    if columns is not None:
        return dict(columns())
    heads, *lines = publication.lines()
    return {name: [line[place] for line in lines] for place, name in enumerate(heads)}


def _array_of(values: Sequence[Any]) -> NDArray[Any]:
    """Return values of one type as an array; objects, which are written as texts, where they differ in type.

    >>> _array_of([1, 2]).dtype, _array_of([1.0, None]).dtype, _array_of(["a", 1]).tolist()
    (dtype('int64'), dtype('float64'), ['a', 1])
    """
    kinds = set(map(type, values))
    kind = {bool: np.bool_, int: np.int64}.get(next(iter(kinds), str)) if len(kinds) == 1 else None
    if kind is None and float in kinds and kinds <= {float, int, type(None)}:
        kind = np.float64
    try:
        return np.array(values, dtype=object if kind is None else kind)
    except OverflowError:
        return np.array(values, dtype=object)
