"""Which columns of files a score is made from, and how their cells become what a metric compares.

The custodian's file holds the labels; a file of predictions holds predictions, and a key where they are joined by one.
Cells are compared with declared labels as the type of their own column, in a CSV file as trimmed text or as the number
that it reads as. A label or prediction outside the declared ones, and whatever is missing, counts as wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hedgerow.engines.query import Query, ValueOnGrid
from hedgerow.engines.schema import check_present, comparables
from hedgerow.engines.source import OrderedSource
from hedgerow.errors import ParameterError
from hedgerow.privacy.facts import Category, Grid, Scalar
from hedgerow.testset.entries import Entries, entries_of
from hedgerow.testset.kinds import checked_kind
from hedgerow.testset.metric import Metric, parse_metric

__all__ = ["FileColumns"]

_CHANCES = Grid.from_bounds("chance", (0, 1))


@dataclass(frozen=True, slots=True)
class FileColumns:
    """The label column with its declared labels, the prediction column, the metric, and the key if there is one.

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
        """Check what is declared (HG171 the metric; HG177 labels or a positive label that are not)."""
        found = parse_metric(metric, positive=positive)
        if found.needs == "chances":
            if positive is None:
                raise _undeclared("A metric of chances needs the label whose chance is predicted.", "--positive 1")
            labels = (positive,)
        elif len(labels) < 2:
            raise _undeclared("Labels are declared, never read off the data.", "--labels 0,1")
        Category.declared(label, labels, other=True)
        return cls(label, prediction, labels, found, key)

    def check_labels(self, opened: OrderedSource) -> None:
        """Refuse, from names and types alone, a file that cannot hold the labels (HG111, HG203)."""
        opened.check(Query(None, (Category.declared(self.label, self.labels, other=True),)))
        check_present([] if self.key is None else [self.key], opened.columns)

    def check_predictions(self, opened: OrderedSource) -> None:
        """Refuse, from names and types alone, a file that cannot hold predictions (HG111, HG203).

        Its other columns are never read: labels of its own are compared with nothing.
        """
        by_label = self.metric.needs == "labels"
        asked = Query(None, (Category.declared(self.prediction, self.labels, other=True),))
        opened.check(asked if by_label else Query(ValueOnGrid(self.prediction, _CHANCES)))
        check_present([] if self.key is None else [self.key], opened.columns)

    def read_labels(self, opened: OrderedSource) -> tuple[Entries, list[str]]:
        """Return the labels as what `measured` compares, and their keys."""
        cells, keys = self._read(opened, self.label)
        codes = self._codes(cells, self.label, opened.columns[self.label])
        if self.metric.needs == "chances":
            numbers = np.where(cells.missing, np.nan, np.where(np.isnan(codes.numbers), 0.0, 1.0))
            codes = Entries(numbers, codes.texts, codes.is_text)
        return codes, keys

    def read_predictions(self, opened: OrderedSource) -> tuple[Entries, list[str]]:
        """Return the predictions as what `measured` compares, and their keys (HG170 chances that are none)."""
        cells, keys = self._read(opened, self.prediction)
        if self.metric.needs == "chances":
            return checked_kind(self.metric, (), cells.read_as_numbers()), keys
        return self._codes(cells, self.prediction, opened.columns[self.prediction]), keys

    @property
    def measured(self) -> Metric:
        """The metric of what is read: labels are places in the declared list, or whether they are the positive one."""
        return replace(self.metric, positive=1) if self.metric.needs == "chances" else self.metric

    def record(self) -> dict[str, Any]:
        """Return plain JSON data."""
        told = {"label": self.label, "prediction": self.prediction, "labels": list(self.labels)}
        return told if self.key is None else {**told, "key": self.key}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], metric: Mapping[str, Any]) -> FileColumns:
        """Read it back."""
        positive = metric["positive"] if metric["needs"] == "chances" else None
        found = parse_metric(metric["name"], positive=positive)
        return cls(record["label"], record["prediction"], tuple(record["labels"]), found, record.get("key"))

    def _read(self, opened: OrderedSource, column: str) -> tuple[Entries, list[str]]:
        cells = [entries_of(one) for one in opened.in_order([column, *([] if self.key is None else [self.key])])]
        return cells[0], _as_keys(cells[1]) if self.key is not None else []

    def _codes(self, cells: Entries, column: str, kind: str) -> Entries:
        """Return each cell's place in the declared list, missing where it is none of them."""
        read, codes = cells.read_as_numbers(), np.full(len(cells), np.nan)
        for place, value in enumerate(comparables(Category.declared(column, self.labels), kind)):
            number = isinstance(self.labels[place], (int, float))
            same = cells.among([value]) | (read.among([self.labels[place]]) if number else False)
            codes[same] = place
        return Entries(codes, np.full(len(cells), "", dtype=object), np.zeros(len(cells), dtype=bool))


def _as_keys(cells: Entries) -> list[str]:
    """Return keys as texts, "" where there is none: 7 in a Parquet file is "7" in a CSV file."""
    return [
        text if is_text else "" if number != number else f"{number:.0f}" if number.is_integer() else repr(number)
        for text, is_text, number in zip(
            cells.texts.tolist(), cells.is_text.tolist(), cells.numbers.tolist(), strict=True
        )
    ]


def _undeclared(rule: str, example: str) -> ParameterError:
    return ParameterError("HG177", rule=rule, finding="It was not given.", remedy=f"For example {example}.")
