"""Fitting from a file or a frame that an engine reads: scores are precomputed, and no row reaches Python.

Groups × label × score on its grid is one histogram question like any other; the answer is all that a fit needs. Records
without a score, or whose label is neither of the two, are left out: under either relation that is a property of one
record alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from hedgerow.engines.query import Query, ValueOnGrid
from hedgerow.engines.source import Source
from hedgerow.errors import ParameterError
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Category, Grid, Scalar
from hedgerow.facts.relation import Relation, parse_relation
from hedgerow.multicalibration.fit import FitResult, fit_model
from hedgerow.multicalibration.groups.attribute import Categories
from hedgerow.multicalibration.groups.family import Family
from hedgerow.multicalibration.mechanisms.choose import mechanism_named
from hedgerow.multicalibration.mechanisms.mechanism import Setting
from hedgerow.multicalibration.model.records import Records
from hedgerow.multicalibration.model.score_grid import STEPS


@dataclass(frozen=True, slots=True)
class ScoredColumns:
    """Which columns hold what: the label with its two values, the second of which is counted as 1, and the score."""

    label: str
    score: str
    classes: tuple[Scalar, Scalar] = (0, 1)

    def query(self, family: Family) -> Query:
        """Return the question: groups and label as cells, "other" included for groups; the score as grid index."""
        grouped = []
        for attribute in family.attributes:
            if not isinstance(attribute, Categories) or not isinstance(attribute.column, str):
                raise ParameterError(
                    "HG165",
                    rule="Groups of a file are columns with declared values.",
                    finding="Found cut points, masks or a predicate.",
                    remedy="Write the group into a column of the file first.",
                )
            grouped.append(Category.declared(attribute.column, attribute.values, other=True))
        label = Category.declared(self.label, self.classes)
        return Query(
            ValueOnGrid(self.score, Grid.from_bounds(self.score, (0, 1), Fraction(1, STEPS))), (*grouped, label)
        )


def records_from(source: Source, family: Family, columns: ScoredColumns) -> Records:
    """Return the records of a source, folded by its engine. PRIVATE.

    >>> import pyarrow
    >>> from hedgerow.engines.source import open_source
    >>> table = pyarrow.table({"p": [0.25, 0.25, 0.5], "y": [1, 1, 0], "sex": ["f", "f", "m"]})
    >>> family = Family((Categories("sex", ("f",)),), depth=1)
    >>> found = records_from(open_source(table), family, ScoredColumns("y", "p"))
    >>> found.score.tolist(), found.label.tolist(), found.count.tolist(), found.patterns[found.pattern].tolist()
    ([250000, 500000], [1, 0], [2, 1], [[0], [1]])
    """
    histogram = source.histogram(columns.query(family))
    atom, label = np.divmod(histogram.cell, 2)
    atoms, pattern = np.unique(atom, return_inverse=True)
    digits = np.unravel_index(atoms, family.levels) if family.levels else ()
    patterns = np.stack(digits, axis=1) if digits else np.zeros((len(atoms), 0), dtype=np.int64)
    if histogram.index.max(initial=0) > STEPS:
        raise ValueError("score grid")
    return Records(family, patterns.astype(np.int64), pattern, histogram.index, label, histogram.count)


def fit_from_source(
    source: Source,
    columns: ScoredColumns,
    family: Family,
    *,
    relation: Relation | str | None,
    epsilon: float,
    delta: float | None = None,
    mechanism: object = "table",
    n_buckets: int = 10,
    alpha: float = 0.1,
    ledger: str | Path | None = None,
    n_fits: int = 1,
    request_id: str | None = None,
    total: Budget | None = None,
    notes: Sequence[str] = (),
) -> FitResult:
    """Fit a model from precomputed scores in a source; the price is reserved before a value is read.

    Guarantee   that of the mechanism, for the relation; the certificate is ``result.model.certificate``. The base model
    is not covered. Arguments as `Multicalibrator` and `fit_model`.

    Raises
    ------
    ParameterError, DataError, UncertifiedError, BudgetExceeded, LedgerError
        Nothing was spent: the columns and their kinds are checked against the schema first.
    SpentError
        The price counts as spent.
    """
    chosen, whom = mechanism_named(mechanism), parse_relation(relation)
    budget = Budget(epsilon, chosen.default_delta if delta is None else delta)
    source.check(columns.query(family))
    n = source.count_rows() if whom is Relation.REPLACE_ONE else None
    return fit_model(
        lambda: [records_from(source, family, columns)],
        mechanism=chosen,
        setting=Setting(family, whom, n, n_buckets, alpha),
        budget=budget,
        classes=columns.classes,
        score=columns.score,
        ledger=ledger,
        n_fits=n_fits,
        request_id=request_id,
        total=total,
        notes=notes,
    )
