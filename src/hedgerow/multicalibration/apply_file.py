"""Scoring the rows of a CSV or Parquet file by a model: one column more, a block of rows at a time.

The rows belong to the person who runs it. To apply a public model to one's own rows is no release: nothing is priced,
and no engine is asked, since engines return counts and never rows. A CSV file is read here by Python's `csv`, because
the cells of each row are written as they were read, bytes that are no text included, and no engine returns those.
Declared values are compared as the fit compared them: as values of the column's type, in a CSV file as trimmed text.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.cells import as_numbers
from hedgerow.engines.files import open_file, read_header
from hedgerow.engines.reading import SourceFile, source_file
from hedgerow.engines.schema import BLANKS, comparable
from hedgerow.engines.source import open_source
from hedgerow.errors import DataError, HedgerowError, ParameterError
from hedgerow.multicalibration.groups.columns import RecordColumns
from hedgerow.multicalibration.groups.family import Family
from hedgerow.multicalibration.groups.groups import Categories
from hedgerow.multicalibration.model.model import Model
from hedgerow.multicalibration.model.model_file import check_destination, is_model
from hedgerow.release.publication.write_file import written_whole

_BLOCK = 50_000
_LONGEST = 2**31 - 1
_Texts = NDArray[Any]


@dataclass(frozen=True, slots=True)
class _Scoring:
    """A model of two classes, with the columns that it reads and the one that it writes."""

    model: Model
    score: str
    column: str

    @property
    def needed(self) -> list[str]:
        return list(dict.fromkeys([self.score, *_group_columns(self.model.family)]))

    def values(self, columns: Mapping[str, _Texts]) -> NDArray[np.float64]:
        """Return the calibrated score of each row, NaN where it has none."""
        scores = as_numbers(columns[self.score])
        scores = np.where(np.isfinite(scores), scores, np.nan)
        calibrated = self.model.calibrated(RecordColumns(columns), scores)[:, 1]
        return np.where(np.isnan(scores), np.nan, calibrated)


def apply_to_file(
    model: Model, source: str | Path, out: str | Path, *, score: str | None = None, column: str = "calibrated"
) -> int:
    """Write the rows of a file to another with their calibrated scores; return how many there were.

    Parameters
    ----------
    model : Model
        It has two classes, and its groups are columns with declared values.
    source : path
        A CSV or Parquet file (Parquet needs pyarrow).
    out : path
        Another file of the same kind; it is written whole or not at all.
    score : str, optional
        The column of scores; by default the one that the model was fitted on.
    column : str
        The name of the new column; its cell is empty where the score is not a number.

    Raises
    ------
    ParameterError, DataError
        HG166 for columns that do not fit, HG168 where `out` cannot be written, HG2xx for a file that cannot be read.
    """
    file, target = source_file(source), Path(out)
    if file.format not in ("csv", "parquet"):
        raise DataError(
            "HG166",
            rule="`apply` scores the rows of a CSV or Parquet file.",
            finding=f"{file.name!r} is neither.",
            remedy="Write the table to one, or score in Python: model.calibrated(columns, scores).",
        )
    if target.exists() and target.samefile(file.path):
        raise ParameterError("HG166", rule="Scores are written to another file.", finding="It is the one read.")
    if target.suffix.lower() in (".csv", ".parquet") and target.suffix.lower() != f".{file.format}":
        raise ParameterError(
            "HG166",
            rule="Scored rows are written as a file of the kind that was read.",
            finding=f"{file.name!r} is {file.format}, and {target.name!r} is not.",
            remedy=f"Name it {target.stem}.{file.format}.",
        )
    check_destination(target)
    if is_model(target):
        raise DataError(
            "HG168",
            rule="Scored rows do not replace a model.",
            finding=f"{target.name!r} holds one.",
            remedy="Name another file.",
        )
    kinds = open_source(source).columns
    named = model.score if score is None else score
    _check(model, kinds, named, column)
    scoring = _Scoring(replace(model, family=_typed(model.family, kinds)), str(named), column)
    write: Callable[[SourceFile, Path, _Scoring], int] = _csv if file.format == "csv" else _parquet
    try:
        with written_whole(target) as passing:
            return write(file, passing, scoring)
    except HedgerowError:
        raise
    except (OSError, ValueError, csv.Error):
        # Without the reader's message, which may quote a cell.
        pass
    raise DataError(
        "HG168",
        rule="Scored rows are written beside those that were read.",
        finding=f"{file.name!r} could not be read to its end, or {target.name!r} not written.",
        remedy="Check that the folder can be written and has room.",
    )


def scored_before(target: Path, *, source: str | Path, column: str) -> bool:
    """Return whether a file has the columns that scoring `source` gives, so that scoring again may replace it."""
    try:
        # Not opened as a source: it would count as an input, which may not be replaced.
        return list(open_file(target, table=None).columns) == [*open_source(source).columns, column]
    except HedgerowError:
        return False


def _csv(file: SourceFile, target: Path, scoring: _Scoring) -> int:
    header, written = read_header(file), 0
    width, positions = len(header.names), {name: header.names.index(name) for name in scoring.needed}
    with target.open("w", encoding="utf-8", errors="surrogateescape", newline="") as output:
        writer = csv.writer(output, delimiter=header.delimiter, lineterminator="\n")
        writer.writerow([*header.names, scoring.column])
        for rows in _blocks(file.path, header.delimiter):
            full = [[*row[:width], *[""] * (width - len(row))] for row in rows]
            texts = {
                name: np.array([row[index].strip(BLANKS) for row in full], dtype=object)
                for name, index in positions.items()
            }
            values = scoring.values(texts)
            cells = ("" if np.isnan(value) else f"{value:.9g}" for value in values)
            writer.writerows([*row, cell] for row, cell in zip(full, cells, strict=True))
            written += len(full)
    return written


def _blocks(path: str, delimiter: str) -> Iterator[list[list[str]]]:
    # No cell stops the reading: neither bytes that are no text, which are written as they were, nor a very long cell.
    limit = csv.field_size_limit(_LONGEST)
    try:
        with Path(path).open(encoding="utf-8-sig", errors="surrogateescape", newline="") as opened:
            rows = (row for row in csv.reader(opened, delimiter=delimiter) if row)
            next(rows, None)
            while block := list(islice(rows, _BLOCK)):
                yield block
    finally:
        csv.field_size_limit(limit)


def _parquet(file: SourceFile, target: Path, scoring: _Scoring) -> int:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ParameterError(
            "HG166", rule="Rows of a Parquet file are read and written by pyarrow.", finding="It is not installed."
        ) from None
    written = 0
    with parquet.ParquetFile(file.path) as read:
        schema = read.schema_arrow.append(pyarrow.field(scoring.column, pyarrow.float64()))
        with parquet.ParquetWriter(target, schema) as output:
            for batch in read.iter_batches(_BLOCK):
                columns = {name: batch.column(name).to_numpy(zero_copy_only=False) for name in scoring.needed}
                values = pyarrow.array(scoring.values(columns), from_pandas=True)
                output.write_batch(pyarrow.record_batch([*batch.columns, values], schema=schema))
                written += batch.num_rows
    return written


def _typed(family: Family, kinds: Mapping[str, str]) -> Family:
    """Return the family with its values as the file's columns hold them."""
    typed = [
        replace(groups, values=tuple(comparable(groups.column, value, kinds[groups.column]) for value in groups.values))
        for groups in family.attributes
        if isinstance(groups, Categories) and isinstance(groups.column, str)
    ]
    return Family(tuple(typed), family.depth)


def _group_columns(family: Family) -> list[str]:
    return [str(attribute.column) for attribute in family.attributes if isinstance(attribute, Categories)]


def _check(model: Model, kinds: Mapping[str, str], score: object, column: str) -> None:
    attributes = model.family.attributes
    fits = all(isinstance(groups, Categories) and isinstance(groups.column, str) for groups in attributes)
    missing = [name for name in (score, *_group_columns(model.family)) if name not in kinds]
    if not fits or len(model.classes) != 2 or missing or column in kinds:
        named = " or ".join(repr(name) for name in missing)
        raise DataError(
            "HG166",
            rule="A model of two classes whose groups are columns scores a file that has them and the score.",
            finding=f"The file has no column {named}." if missing else "This model or the new column does not fit.",
            remedy="Name the column of scores by `score`, and the new one by `column`.",
        )
