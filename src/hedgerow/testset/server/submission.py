"""Predictions as they were sent: JSON or CSV, read strictly and in memory, before anything of the test set is touched.

What is refused here depends on the body alone (HG453), and the words never quote it.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr, ValidationError

from hedgerow.engines.files import parsed
from hedgerow.engines.query import Query, SumsQuery
from hedgerow.engines.schema import BLANKS, NUMBER, TEXT_CELL, check_present, check_query
from hedgerow.errors import ParameterError
from hedgerow.testset.file_columns import FileColumns

JSON, CSV = "application/json", "text/csv"
_Finite = Annotated[StrictFloat, Field(allow_inf_nan=False)]


class Sent(BaseModel):
    """The body of a request in JSON."""

    model_config = ConfigDict(extra="forbid")

    predictions: list[StrictInt | _Finite | StrictStr | None]
    keys: list[StrictInt | StrictStr] | None = None
    training_score: StrictInt | _Finite | None = None


@dataclass(frozen=True, slots=True)
class Submission:
    """Columns of predictions, and keys if there are any; an `hedgerow.engines.source.InOrder`.

    Attributes
    ----------
    columns : mapping
        Name → kind.
    cells : mapping
        Name → cells.
    training_score : float or None
    """

    columns: Mapping[str, str]
    cells: Mapping[str, list[Any]]
    training_score: float | None = None

    def check(self, query: Query | SumsQuery) -> None:
        """Refuse a question that the columns cannot answer (HG111, HG203, HG204)."""
        check_query(query, self.columns)

    def in_order(self, columns: Sequence[str]) -> list[Any]:
        """Return the cells of some columns (HG203)."""
        check_present(columns, self.columns)
        return [self.cells[column] for column in columns]


def read(body: bytes, content_type: str, wanted: FileColumns) -> Submission:
    """Return what a body holds (HG453 if it is no such JSON or CSV)."""
    try:
        text = body.decode("utf-8-sig" if content_type == CSV else "utf-8")
    except UnicodeDecodeError:
        raise malformed("It is no UTF-8 text.") from None
    return _from_csv(text, body) if content_type == CSV else _from_json(text, wanted)


def _from_json(text: str, wanted: FileColumns) -> Submission:
    try:
        sent = Sent.model_validate(json.loads(text, object_pairs_hook=_once, parse_constant=_no_number))
    except (ValidationError, ValueError, RecursionError):
        sent = None
    if sent is None:
        raise malformed(
            "It is no JSON object with `predictions`, a list of numbers, texts and nulls, and where they are needed "
            "`keys` and `training_score`; every name once, every number finite."
        )
    cells: dict[str, list[Any]] = {wanted.prediction: list(sent.predictions)}
    texts = any(isinstance(one, str) for one in sent.predictions)
    columns = {wanted.prediction: TEXT_CELL if texts else NUMBER}
    if sent.keys is not None:
        if wanted.key is None or wanted.key == wanted.prediction or len(sent.keys) != len(sent.predictions):
            raise malformed("`keys` are one for each prediction, for a test set that joins by key; here they are not.")
        cells[wanted.key], columns[wanted.key] = list(sent.keys), TEXT_CELL
    return Submission(columns, {name: _trimmed(column) for name, column in cells.items()}, sent.training_score)


def _from_csv(text: str, body: bytes) -> Submission:
    """Read CSV as `hedgerow.engines.files` does, but refuse what a file is forgiven: short, long and broken rows."""
    header = parsed(body, "the body")
    rows: list[list[str]] | None = None
    if "\0" not in text:
        try:
            rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=header.delimiter, strict=True))[1:]
        except csv.Error:  # a quotation mark in the middle of a cell, or one that never closes
            rows = None
    while rows and not rows[-1]:
        rows.pop()
    if rows is None or any(len(row) != len(header.names) for row in rows):
        raise malformed("It is no CSV text with a header and as many cells in every row.")
    columns = zip(*rows, strict=True) if rows else [()] * len(header.names)
    cells = {name: _trimmed(list(column)) for name, column in zip(header.names, columns, strict=True)}
    return Submission(dict.fromkeys(header.names, TEXT_CELL), cells)


def _trimmed(cells: list[Any]) -> list[Any]:
    return [(one.strip(BLANKS) or None) if isinstance(one, str) else one for one in cells]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands there twice")
    return found


def _no_number(_: str) -> float:
    raise ValueError("NaN and Infinity are no JSON")


def malformed(finding: str) -> ParameterError:
    """Return the refusal of a request that cannot be read."""
    return ParameterError(
        "HG453",
        rule="A request holds predictions as JSON or CSV, its type, and an Idempotency-Key of its own.",
        finding=finding,
        remedy="No look was taken. Mend the request and send it again.",
    )
