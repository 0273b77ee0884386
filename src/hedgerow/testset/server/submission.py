"""Predictions as they were sent: JSON or CSV, read strictly and in memory, before anything of the test set is touched.

What is refused here depends on the body alone (HG453), and the words never quote it.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr, ValidationError

from hedgerow.engines.files import parsed
from hedgerow.engines.query import Query, SumsQuery
from hedgerow.engines.schema import BLANKS, NUMBER, TEXT_CELL, check_present, check_query
from hedgerow.errors import ParameterError
from hedgerow.testset.file_columns import FileColumns
from hedgerow.testset.from_file import Asked

JSON, CSV = "application/json", "text/csv"
_MOST = 10**308  # a whole number beyond every double would be read as missing, and counted as wrong
_Number = Annotated[StrictFloat, Field(allow_inf_nan=False)] | Annotated[StrictInt, Field(ge=-_MOST, le=_MOST)]


class Sent(BaseModel):
    """The body of a request in JSON."""

    model_config = ConfigDict(extra="forbid")

    predictions: list[_Number | StrictStr | None]
    keys: list[StrictInt | StrictStr] | None = None
    training_score: _Number | None = None
    against: list[_Number | StrictStr | None] | None = None
    metric: StrictStr | list[StrictStr] | None = None
    groups: list[_Number | StrictStr] | None = None
    positive: _Number | StrictStr | None = None


@dataclass(frozen=True, slots=True)
class Submission:
    """Columns of predictions, and keys if there are any; an `hedgerow.engines.source.InOrder`.

    Attributes
    ----------
    columns : mapping
        Name → kind.
    cells : mapping
        Name → cells.
    asked : Asked
        What is asked with them.
    against : Submission or None
        What they are compared with.
    """

    columns: Mapping[str, str]
    cells: Mapping[str, list[Any]]
    asked: Asked = field(default_factory=Asked)
    against: Submission | None = None

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
            "It is no JSON object with `predictions`, a list of numbers, texts and nulls, and where they are wanted "
            "`keys`, `against`, `metric`, `groups`, `positive`, `training_score`; every name once, every number finite."
        )
    keys: list[Any] | None = sent.keys
    if keys is not None and (
        wanted.key is None or wanted.key == wanted.prediction or len(keys) != len(sent.predictions)
    ):
        raise malformed("`keys` are one for each prediction, for a test set that joins by key; here they are not.")
    others = [one for one in (sent.against, sent.groups) if one is not None]
    plain = (sent.metric, sent.groups, sent.positive, sent.training_score) == (None,) * 4
    if any(len(one) != len(sent.predictions) for one in others) or (sent.against is not None and not plain):
        raise malformed("`against` and `groups` are one for each prediction, and a comparison asks nothing else.")
    # Longer than every other name.
    column = f"{wanted.prediction} {wanted.key or ''} group"
    asked = Asked(metric=sent.metric, groups=None if sent.groups is None else column, positive=sent.positive)
    asked["training_score"] = sent.training_score
    columns = {wanted.prediction: sent.predictions, column: sent.groups, wanted.key or "": keys}
    against = None if sent.against is None else _columns({wanted.prediction: sent.against, wanted.key or "": keys})
    return replace(_columns(columns), asked=asked, against=against)


def _columns(given: Mapping[str, list[Any] | None]) -> Submission:
    cells = {name: column for name, column in given.items() if column is not None}
    kinds = {name: TEXT_CELL if any(isinstance(one, str) for one in cells[name]) else NUMBER for name in cells}
    return Submission(kinds, {name: _trimmed(column) for name, column in cells.items()})


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
