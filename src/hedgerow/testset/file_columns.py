"""Which columns of files a score is made from, how their cells are compared, and how predictions meet records.

The custodian's file holds the labels; a file of predictions holds predictions, and a key if they are joined by one.
Cells are compared with declared labels in the type of their own column; in a CSV file as trimmed text, or as the number
that the text reads as. A prediction that is no declared label is refused; a missing one, and a label of a record that
is missing or not declared, count as wrong.

Under replace-one, the number of records is public, and so are their keys if a key is named: predictions that do not fit
them are refused. Under add-remove both are private, so nothing is refused on their account: a record without a
prediction counts as wrong, and a prediction without a record is ignored. By position, an additional record would move
the predictions of all others, so add-remove needs a key.

Without a key, predictions are joined by position. A file of predictions with a further column is then refused: the
column may tell records apart, and rows in another order would be scored against the labels of other records.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

from hedgerow.engines.query import Query, ValueOnGrid
from hedgerow.engines.schema import DATE, OTHER, check_present, comparables
from hedgerow.engines.source import InOrder, OrderedSource
from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Category, Grid, Scalar
from hedgerow.facts.relation import Relation
from hedgerow.testset.entries import Entries, entries_of
from hedgerow.testset.metric import Metric, parse_metric
from hedgerow.testset.parts.look import OF_LABELS, checked_for, no_positive
from hedgerow.testset.parts.measures import Kind
from hedgerow.testset.predictions import check_whole, checked_kind, refuse_undeclared

_CHANCES = Grid.from_bounds("chance", (0, 1))


@dataclass(frozen=True, slots=True)
class FileColumns:
    """The label column with its declared labels, the prediction column, the metric, and the key column if there is one.

    Attributes
    ----------
    label, prediction : str
        Columns: of the file of labels, and of files of predictions.
    labels : tuple
        The declared labels; of metrics of chances only the positive one.
    metric : Metric
    key : str or None
        The column, in both files, by which predictions are joined to labels; without one they are joined by position.
    """

    label: str
    prediction: str
    labels: tuple[Scalar, ...]
    metric: Metric
    key: str | None = None

    @classmethod
    def declared(
        cls,
        metric: str,
        *,
        label: str,
        prediction: str,
        labels: tuple[Scalar, ...],
        positive: Scalar | None,
        key: str | None = None,
    ) -> FileColumns:
        """Return the columns as declared (HG171 for the metric; HG177 if labels or a positive label are missing)."""
        measured = parse_metric(metric, positive=positive)
        if measured.needs == "chances":
            if positive is None:
                raise _missing_declaration(
                    "A metric of chances needs the label whose chance is predicted.", "--positive 1"
                )
            labels = (positive,)
        elif len(labels) < 2:
            raise _missing_declaration("Labels are declared, never read off the data.", "--labels 0,1")
        Category.declared(label, labels, other=True)
        return cls(label, prediction, labels, measured, key)

    def check_labels(self, opened: OrderedSource) -> None:
        """Refuse, from names and types alone, a file that cannot hold the labels (HG111, HG203)."""
        opened.check(self._of_labels)
        self._check_key(opened)

    def reading(self, opened: OrderedSource) -> AbstractContextManager[OrderedSource]:
        """Return the context in which the labels are read; see `hedgerow.engines.source.SpentFrom`."""
        return opened.reading([self._of_labels])

    @property
    def _of_labels(self) -> Query:
        return Query(None, (Category.declared(self.label, self.labels, other=True),))

    def check_predictions(self, opened: InOrder, kind: Kind | None = None, groups: str | None = None) -> None:
        """Refuse, from names and types alone, a file that cannot hold predictions (HG111, HG203, HG437).

        Where a key is named, further columns are never read. A look by parts says of which `kind` its predictions are,
        and which column has the `groups`.
        """
        by_label = self.metric.needs == "labels" if kind is None else kind in OF_LABELS
        asked = Query(None, (Category.declared(self.prediction, self.labels, other=True),))
        opened.check(asked if by_label else Query(ValueOnGrid(self.prediction, _CHANCES)))
        self._check_key(opened)
        if self.key is None:
            refuse_further_columns(opened.columns, (self.prediction, groups))

    def read_labels(self, opened: OrderedSource) -> tuple[Entries, list[str]]:
        """Return the labels as what `measured` compares, and their keys."""
        cells, keys = self._read(opened, self.label)
        codes = self._codes(cells, self.label, opened.columns[self.label])
        return self._or_another(codes).only(~cells.missing) if self.metric.needs == "chances" else codes, keys

    def read_keys(self, opened: OrderedSource) -> list[str]:
        """Return the keys alone: public keys are read before anything is paid; labels are not."""
        return [] if self.key is None else [as_key(cell) for cell in opened.in_order([self.key])[0]]

    def read_predictions(self, opened: InOrder, kind: Kind | None = None) -> tuple[Entries, list[str]]:
        """Return predictions as what `measured` compares, or of a `kind`, and their keys (HG170 for invalid ones)."""
        cells, keys = self._read(opened, self.prediction)
        if kind is not None and kind not in OF_LABELS:
            return checked_for(kind, (), cells.read_as_numbers()), keys
        if kind is None and self.metric.needs == "chances":
            return checked_kind(self.metric, (), cells.read_as_numbers()), keys
        codes = self._codes(cells, self.prediction, opened.columns[self.prediction])
        if self.metric.needs == "chances":  # of the labels only the positive one is declared
            check_whole("A look by parts", entries_of(list(self.labels)), cells)
            return self._or_another(codes), keys
        refuse_undeclared(codes.missing & ~cells.missing)
        return codes, keys

    def read_groups(self, opened: InOrder, column: str) -> Entries:
        """Return the groups that were sent with predictions (HG203)."""
        check_present([column], opened.columns)
        return entries_of(opened.in_order([column])[0])

    def code_of(self, positive: Scalar | None) -> float:
        """Return what a label that counts as positive is read as: the one given, that of the metric, or 1 (HG171)."""
        wanted = entries_of([self.metric.positive if positive is None else positive])
        places = np.flatnonzero(entries_of(list(self.labels)).equal(wanted.taken(np.zeros(len(self.labels), np.int64))))
        if not len(places):
            raise no_positive(positive)
        return 1.0 if self.metric.needs == "chances" else float(places[0])

    @property
    def measured(self) -> Metric:
        """The metric of what is read: labels are positions in the declared list, or 1 for the positive one."""
        return replace(self.metric, positive=1) if self.metric.needs == "chances" else self.metric

    def record(self) -> dict[str, Any]:
        """Return plain JSON data."""
        record = {"label": self.label, "prediction": self.prediction, "labels": list(self.labels)}
        return record if self.key is None else {**record, "key": self.key}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], metric: Mapping[str, Any]) -> FileColumns:
        """Read it back."""
        positive = metric["positive"] if metric["needs"] == "chances" else None
        measured = parse_metric(metric["name"], positive=positive)
        return cls(record["label"], record["prediction"], tuple(record["labels"]), measured, record.get("key"))

    def _or_another(self, codes: Entries) -> Entries:
        """Return 1 for the positive label, the only one declared, and 0 for any other."""
        return Entries(np.where(np.isnan(codes.numbers), 0.0, 1.0), codes.texts, codes.is_text)

    def _read(self, opened: InOrder, column: str) -> tuple[Entries, list[str]]:
        cells = opened.in_order([column, *([] if self.key is None else [self.key])])
        return entries_of(cells[0]), [as_key(cell) for cell in cells[1]] if self.key is not None else []

    def _check_key(self, opened: InOrder) -> None:
        if self.key is None:
            return
        check_present([self.key], opened.columns)
        if opened.columns[self.key] in (OTHER, DATE):
            raise ParameterError(
                "HG437",
                rule="A key must be a whole number or a text, because keys are compared as text.",
                finding=f"Column {self.key!r} is of another type.",
                remedy="Write the keys as text in both files. No look was taken.",
            )

    def _codes(self, cells: Entries, column: str, kind: str) -> Entries:
        """Return each cell's position in the declared list; missing if it is not in the list."""
        read, codes = cells.read_as_numbers(), np.full(len(cells), np.nan)
        for place, value in enumerate(comparables(Category.declared(column, self.labels), kind)):
            number = isinstance(self.labels[place], (int, float))
            same = cells.among([value]) | (read.among([self.labels[place]]) if number else False)
            codes[same] = place
        return Entries(codes, np.full(len(cells), "", dtype=object), np.zeros(len(cells), dtype=bool))


def as_key(cell: Any) -> str:
    """Return a key as text, "" if it is missing: 7 in a Parquet file is "7" in a CSV file.

    A whole number is never made a double, which keeps 16 digits: two identifiers of 18 digits would become one.

    >>> [as_key(cell) for cell in (2**53 + 1, 7.0, Decimal("7.00"), "007", None, float("nan"), 0.5)]
    ['9007199254740993', '7', '7', '007', '', '', '0.5']
    """
    if isinstance(cell, (float, Decimal)):
        if not math.isfinite(cell):
            return ""
        return str(int(cell)) if cell == int(cell) else str(cell)
    if isinstance(cell, int):
        return str(int(cell))
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "surrogateescape")
    return cell if isinstance(cell, str) else ""


def _missing_declaration(rule: str, example: str) -> ParameterError:
    return ParameterError(
        "HG177", rule=rule, finding="An option that the command needs is missing.", remedy=f"For example {example}."
    )


def require_key(relation: Relation, key: str | None) -> None:
    """Refuse files without a key under add-remove (HG436)."""
    if relation is Relation.ADD_REMOVE and key is None:
        raise ParameterError(
            "HG436",
            rule="Under add-remove, predictions must be joined to labels by a key. If predictions were joined by "
            "position, one record more or less would shift all other predictions.",
            finding="No key column is named.",
            remedy='Name the column that identifies a record in both files: key="id". As an alternative to a key, '
            'use relation="replace-one".',
        )


def refuse_further_columns(columns: Iterable[str], named: Collection[str | None]) -> None:
    """Refuse a file of predictions with columns beside those that are named, where predictions have no key (HG437)."""
    if not set(columns) <= set(named):
        raise ParameterError(
            "HG437",
            rule="If the test set has no key column, the first prediction belongs to the first record, the second to "
            "the second, and so on. Without a key, a file of predictions "
            "may have no further column, because a further column may show that the rows are in another order.",
            finding="The file of predictions has a further column.",
            remedy="Make the test set again, with the column that identifies a record as its key: key='id'. As an "
            "alternative to a key, sort the rows in the order of the test set and drop the further column. No look was "
            "taken.",
            shell="Make the test set with `--key id`, the column that tells records apart. Or bring the rows into "
            "the "
            "order of the test set and drop the column. No look was taken.",
        )


def check_distinct(keys: Sequence[str], *, whose: str) -> None:
    """Refuse keys if one is missing or repeated (HG437)."""
    if len(set(keys)) < len(keys) or "" in keys:
        raise ParameterError(
            "HG437",
            rule="A key must identify one record.",
            finding=f"In the file of {whose} one is missing, or is there twice.",
            remedy="Give every row a different key. No look was taken.",
        )


def check_covered(wanted: Sequence[str], given: Sequence[str]) -> None:
    """Refuse predictions that leave out a public key (HG437)."""
    left_out = set(wanted) - set(given)
    if left_out:
        raise ParameterError(
            "HG437",
            rule="A file of predictions needs one row for each record of the test set.",
            finding=f"It leaves out the keys of {len(left_out):,} of {len(wanted):,} records.",
            remedy="Predict every record of the test set. Keys are compared as texts, so 7 and 007 are two keys. "
            "No look was taken.",
        )


def joined(records: Sequence[str], predictions: Entries, keys: Sequence[str]) -> Entries:
    """Return each record's prediction by its key; missing if there is none.

    >>> from hedgerow.testset.entries import entries_of
    >>> joined(["b", "a", "c"], entries_of([1, 2]), ["a", "b"]).numbers.tolist()
    [2.0, 1.0, nan]
    """
    place = {key: at for at, key in enumerate(keys) if key}
    return predictions.taken(np.array([place.get(key, -1) for key in records], dtype=np.int64))
