"""Which columns of a file a score is counted from, and the questions that count it: histograms alone leave the engine.

A file of predictions holds the label column beside them. For accuracy one question counts label by prediction over the
declared labels; for the Brier and the log loss chances are put on a grid of 1/1000 and counted by whether the label is
the positive one. A label or prediction outside the declared ones, and whatever is missing, counts as the worst.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import Query, ValueOnGrid
from hedgerow.errors import ParameterError
from hedgerow.privacy.facts import Category, Grid, Scalar
from hedgerow.resampling.histogram import Histogram
from hedgerow.testset.metric import Metric, parse_metric

__all__ = ["FileColumns", "counts_digest"]

Integers = NDArray[np.int64]
_CHANCES = Grid.from_bounds("chance", (0, 1), 0.001)


@dataclass(frozen=True, slots=True)
class FileColumns:
    """The label column with its declared labels, the prediction column, and the metric.

    Attributes
    ----------
    label, prediction : str
        Columns.
    labels : tuple
        The declared labels; of metrics of chances only the positive one.
    metric : Metric
    """

    label: str
    prediction: str
    labels: tuple[Scalar, ...]
    metric: Metric

    @classmethod
    def declared(
        cls, metric: str, *, label: str, prediction: str, labels: tuple[Scalar, ...], positive: Scalar | None
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
        return cls(label, prediction, labels, found)

    @property
    def by_label(self) -> Category:
        """The cells of the label, one for the rest included."""
        return Category.declared(self.label, self.labels, other=True)

    def label_query(self) -> Query:
        """Count records by label."""
        return Query(None, (self.by_label,))

    def query(self) -> Query:
        """Count records by label and prediction."""
        if self.metric.needs == "labels":
            return Query(None, (self.by_label, Category.declared(self.prediction, self.labels, other=True)))
        return Query(ValueOnGrid(self.prediction, _CHANCES), (self.by_label,))

    def label_counts(self, counted: Histogram) -> tuple[int, ...]:
        """Return how many records have each label, then the rest, from the answer to `label_query`."""
        return (*(counted.cell_sums() + counted.missing).tolist(), counted.outside)

    def losses(self, counted: Histogram) -> Histogram:
        """Return the answer to `query` as a histogram of losses."""
        steps, worst = self.metric.grid.steps, self.metric.worst
        counts = np.zeros(steps + 1, dtype=np.int64)
        counts[worst] += counted.outside + int(counted.missing.sum())
        np.add.at(counts, self._places(counted), counted.count)
        index = np.flatnonzero(counts)
        return Histogram.from_triplets(np.zeros_like(index), index, counts[index], cells=1)

    def record(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {"label": self.label, "prediction": self.prediction, "labels": list(self.labels)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], metric: Mapping[str, Any]) -> FileColumns:
        """Read it back."""
        positive = metric["positive"] if metric["needs"] == "chances" else None
        found = parse_metric(metric["name"], positive=positive)
        return cls(record["label"], record["prediction"], tuple(record["labels"]), found)

    def _places(self, counted: Histogram) -> Integers:
        known = len(self.labels)
        if self.metric.needs == "labels":
            label, predicted = np.divmod(counted.cell, known + 1)
            right = (label == predicted) & (label < known)
            return np.where(right, self.metric.grid.steps - self.metric.worst, self.metric.worst)
        chances = np.asarray(counted.index, dtype=np.float64) / _CHANCES.steps
        # Cell 0 is the positive label, cell 1 the rest.
        return self.metric.places_of_chances(counted.cell == 0, chances)


def counts_digest(counts: tuple[int, ...], key: bytes) -> str:
    """Return 32 keyed hexadecimal digits for how many records have each label.

    >>> counts_digest((3, 4, 0, 0), b"key") == counts_digest((3, 5, 0, 0), b"key")
    False
    """
    return hashlib.blake2b(repr(tuple(counts)).encode(), key=key, digest_size=16).hexdigest()


def _undeclared(rule: str, example: str) -> ParameterError:
    return ParameterError("HG177", rule=rule, finding="It was not given.", remedy=f"For example {example}.")
