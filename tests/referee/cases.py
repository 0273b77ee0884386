"""The public calls that the referee runs: every statistic, every product, every mechanism that adds noise to a vector.

The data are few records with extreme values. Two data sets are neighbours in one unit: a row, or all rows of a person.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import hedgerow as hg
from hedgerow.facts.relation import Relation
from hedgerow.multicalibration import Multicalibrator
from hedgerow.statistics.registry import classes
from hedgerow.testset import TestSet

Row = tuple[Any, ...]
Unit = tuple[Row, ...]
COLUMNS = ("x", "y", "z", "g", "s", "b", "w", "u")
KINDS = (pa.float64(), pa.float64(), pa.int64(), pa.string(), pa.string(), pa.int64(), pa.float64(), pa.int64())
VALUES: tuple[tuple[Any, ...], ...] = (
    (0.0, 10.0, 5.0, -1e12, 1e12, 2.5, float("nan"), None),
    (0.0, 5.0, 2.0, float("inf"), None),
    (0, 9, 4, None),
    ("a", "b", "c", None),
    ("N", "S", None),
    (0, 1, None),
    (0.0, 3.0, 1.0, 99.0),
)
RECORDS = 7


@dataclass(frozen=True)
class Case:
    """A public call on a data set, for these relations; the unit is a row, or a person of at most `rows` rows."""

    name: str
    call: Callable[[tuple[Unit, ...], Relation], object]
    relations: tuple[Relation, ...] = tuple(Relation)
    rows: int = 1
    complete: bool = False
    records: int = RECORDS
    sweep: bool = True
    """Whether the search for worse neighbours is worth its time."""
    attacked: bool = False
    """Whether outputs are attacked, since vectors of this product and mechanism cannot be compared or are resampled."""
    statistics: frozenset[str] = frozenset()
    """The kinds of statistics that are asked for."""


def row(rng: np.random.Generator, *, complete: bool) -> Row:
    """Draw a record; a complete one has no missing value."""
    chosen = []
    for values in VALUES:
        allowed = [value for value in values if value is not None and value == value] if complete else values
        chosen.append(allowed[rng.integers(len(allowed))])
    return tuple(chosen)


def unit(rng: np.random.Generator, case: Case) -> Unit:
    """Draw a unit of one row, or of several."""
    return tuple(row(rng, complete=case.complete) for _ in range(1 + int(rng.integers(case.rows))))


def frame(units: tuple[Unit, ...]) -> pa.Table:
    """Return the rows as a table; column u names the unit."""
    rows = [(*record, place) for place, records in enumerate(units) for record in records]
    return pa.table(
        {
            name: pa.array([record[i] for record in rows], kind)
            for i, (name, kind) in enumerate(zip(COLUMNS, KINDS, strict=True))
        }
    )


def survey(units: tuple[Unit, ...], relation: Relation, **options: Any) -> Any:
    """Open the rows."""
    return hg.open(frame(units), relation=str(relation), **options)


X = {"bounds": (0, 10), "step": 0.5}
TWO = {"bounds": {"x": (0, 10, 0.5), "y": (0, 5, 0.5)}}
BY = {"by": {"g": ["a", "b"]}}
MEAN, TOTAL, SHARE = hg.mean("x", **X), hg.sum("x", **X), hg.proportion("b", value=1)
OWN = hg.bootstrap(lambda t: t["x"] / t["count"], columns={"x": (0, 10, 0.5)}, name="own")
STATISTICS: dict[str, list[Any]] = {
    "mean": [MEAN],
    "sum": [TOTAL],
    "proportion": [SHARE],
    "count": [hg.count()],
    "variance": [hg.variance("x", **X)],
    "standard_deviation": [hg.standard_deviation("x", **X)],
    "quantile": [hg.quantile("x", 0.5, **X)],
    "ratio": [hg.ratio("x", "y", **TWO)],
    "share_below": [hg.share_below("x", line=3, **X)],
    "cdf": [hg.cdf("x", at=3, **X)],
    "gini": [hg.gini("x", **X)],
    "lorenz": [hg.lorenz("x", at=0.5, **X)],
    "covariance": [hg.covariance("x", "y", **TWO)],
    "correlation": [hg.correlation("x", "y", **TWO)],
    "histogram": list(np.atleast_1d(hg.histogram("x", bins=[0, 3, 10], **X))),
    "survival": list(hg.survival("z", "b", at=[3, 6])),
    "late entry": list(hg.survival("z", "b", entry="x", at=[3, 6])),
    "bootstrap": [OWN],
    "function": [hg.function(lambda t: t["x"] - t["y"], columns=TWO["bounds"], name="gap")],
}


def released(name: str, statistics: Any, *, opened: dict[str, Any] | None = None, **options: Any) -> Case:
    """Return the case of a release of statistics."""
    asked = {"epsilon": 1.0, **options}
    complete = asked.get("missing") == "error-if-declared-complete"
    rows = (opened or {}).get("unit", {}).get("max_rows", 1)

    def call(units: tuple[Unit, ...], relation: Relation) -> object:
        return survey(units, relation, **(opened or {})).release(statistics, **asked)

    kinds = frozenset(statistic.kind for statistic in statistics)
    return Case(name, call, rows=rows, complete=complete, statistics=kinds)


def asked_of(name: str, call: Callable[[Any], object], *, opened: dict[str, Any] | None = None, **more: Any) -> Case:
    """Return the case of another call on an opened survey."""
    return Case(name, lambda units, relation: call(survey(units, relation, **(opened or {}))), **more)


def looked_at(name: str, call: Callable[[Any, Any], object], *relations: Relation, **options: Any) -> Case:
    """Return the case of looks at a test set, whose labels are the records' column b."""

    def run(units: tuple[Unit, ...], relation: Relation) -> object:
        labels = np.array([records[0][5] for records in units], dtype=np.int64)
        asked = {"epsilon": 3.0, "n_looks": 3, "relation": str(relation), **options}
        predictions = np.arange(len(labels)) % 2
        return call(TestSet(None, labels, **asked), predictions)

    # Predictions are as many as labels: the number of records is public to who asks.
    return Case(name, run, relations or (Relation.REPLACE_ONE,), complete=True, records=12, sweep=False)


def calibrated(mechanism: str, *relations: Relation, **options: Any) -> Case:
    """Return the case of a calibration."""

    def run(units: tuple[Unit, ...], relation: Relation) -> object:
        rows = [records[0] for records in units]
        table = pd.DataFrame({"sex": [record[5] for record in rows], "p": [record[0] / 10 % 1 for record in rows]})
        labels = np.array([int(record[2] > 3) for record in rows])
        asked = {"score_column": "p", "epsilon": 5.0, "relation": str(relation), "mechanism": mechanism, **options}
        return Multicalibrator(groups={"sex": [0, 1]}, **asked).fit(table, labels)

    return Case(f"calibration, {mechanism}", run, relations or tuple(Relation), complete=True, records=30, sweep=False)


PERSON = {"unit": {"column": "u", "max_rows": 3}}
OF_FILE = {"target": "file"}
OLS: dict[str, Any] = {"bounds": {"x": (0, 10), "y": (0, 5), "z": (0, 9)}, "epsilon": 2.0}
TABLE = {"by": {"g": ["a", "b"], "s": ["N", "S"]}, "epsilon": 1.0}
MARGINS = {"by": {"g": ["a", "b", "c"], "s": ["N", "S"], "b": [0, 1]}, "order": 2, "epsilon": 1.0}
COMPLETE = {"missing": "error-if-declared-complete"}


ATTACKED = {
    "bootstrap of a mean",
    "bounded bootstrap",
    "persons, bootstrap",
    "bootstrap-dp",
    "table of totals, bootstrap-dp",
    "categories",
    "resampled looks",
    "thresholdout",
    "resample",
    "smoothed resample",
    "calibration, numeric_sparse",
    "calibration, input_perturbation",
}
"""The cheapest case of each product and mechanism without vectors to compare; a test holds that none is missing."""


def cases() -> tuple[Case, ...]:
    """Return every case; tests hold that no statistic, product or mechanism is without one."""
    replaced = (Relation.REPLACE_ONE,)
    made = [released(kind, statistics) for kind, statistics in STATISTICS.items()]
    means = [MEAN, SHARE, hg.mean("y", bounds=(0, 5), step=0.5), hg.count()]
    for noise in ("laplace", "gaussian", "averaged-laplace"):
        delta = {} if noise == "laplace" else {"delta": 1e-6}
        made += [
            released(f"{noise}, several by group", means, noise=noise, **BY, **delta),
            released(f"{noise}, count by group and the rest", [hg.count()], noise=noise, other=True, **BY, **delta),
            released(f"{noise}, total where", [TOTAL], noise=noise, where="z > 2", **delta),
            released(f"{noise}, mean complete", [MEAN, SHARE], noise=noise, **COMPLETE, **delta),
        ]
    made += [
        released("quantile by group, gaussian", [hg.quantile("x", 0.5, **X)], noise="gaussian", delta=1e-6, **BY),
        released("quantile by group, laplace", [hg.quantile("x", 0.5, **X)], noise="laplace", **BY),
        released("moments, by name", [MEAN], estimator="moments"),
        released("moments, by group, gaussian", [MEAN], estimator="moments", delta=1e-6, **BY),
        released("moments, averaged", [MEAN], estimator="moments", noise="averaged-laplace", delta=1e-6),
        released("bootstrap of a mean", [MEAN], estimator="bootstrap", delta=1e-6, n_resamples=3),
        released("bootstrap by group", [MEAN, SHARE], estimator="bootstrap", delta=1e-6, n_resamples=3, **BY),
        released("bounded bootstrap", [MEAN], estimator="bounded-bootstrap", delta=1e-6, n_resamples=3),
        released("weighted", [MEAN, SHARE, hg.count()], weights=("w", 3)),
        released("weighted quantile", [hg.quantile("x", 0.5, **X)], weights=("w", 3)),
        released("ratio and correlation by group", [STATISTICS["ratio"][0], STATISTICS["correlation"][0]], **BY),
        released("persons, mean", [MEAN, hg.count()], opened=PERSON),
        released("persons, counted", [hg.count(of="units")], opened=PERSON),
        released("persons, by group", [MEAN, TOTAL], opened=PERSON, **BY),
        released("persons, quantile", [hg.quantile("x", 0.5, **X)], opened=PERSON),
        released("persons, bootstrap", [MEAN], opened=PERSON, estimator="bootstrap", delta=1e-6, n_resamples=3),
        replace(released("bootstrap-dp", [MEAN], guarantee="bootstrap-dp", **COMPLETE), relations=replaced),
        asked_of("table of counts", lambda s: s.contingency_table(**TABLE, margins=True)),
        asked_of("table of counts with totals", lambda s: s.contingency_table(by=TABLE["by"], mu=0.5, margins=True)),
        asked_of("table of counts, persons", lambda s: s.contingency_table(**TABLE), opened=PERSON, rows=3),
        asked_of("table of totals", lambda s: s.magnitude_table("x", **X, **TABLE)),
        asked_of(
            "table of totals, bounds by cell",
            lambda s: s.magnitude_table(
                "x", **X, **TABLE, cell_bounds={"g": {"a": (0, 5), "b": (2, 10)}}, margins=True
            ),
            opened=OF_FILE,
        ),
        asked_of(
            "pure table of totals, bounds by cell",
            lambda s: s.magnitude_table("x", **X, **TABLE, delta=0, cell_bounds={"g": {"a": (0, 5), "b": (2, 10)}}),
            opened=OF_FILE,
        ),
        asked_of(
            "table of totals, bootstrap-dp",
            lambda s: s.magnitude_table("x", **X, **TABLE, guarantee="bootstrap-dp", **COMPLETE),
            relations=replaced,
            complete=True,
        ),
        asked_of("margins", lambda s: s.margins(**MARGINS)),
        asked_of("margins, complete", lambda s: s.margins(**MARGINS, **COMPLETE), complete=True),
        asked_of("margins of totals", lambda s: s.margins(**MARGINS, total="x", bounds=(0, 10)), opened=OF_FILE),
        asked_of("margins of persons", lambda s: s.margins(**MARGINS), opened=PERSON, rows=3),
        asked_of("ols", lambda s: s.ols("y", ["x", "C(s)"], categories={"s": ["N", "S"]}, **OLS), records=40),
        asked_of("ols, pure, by group", lambda s: s.ols("y", ["x"], delta=0.0, **BY, **OLS), records=40),
        asked_of("ols, robust", lambda s: s.ols("y", ["x"], robust=True, **OLS), records=40, sweep=False),
        asked_of("ols, persons", lambda s: s.ols("y", ["x"], **OLS), opened=PERSON, rows=3, records=40, sweep=False),
        asked_of("logit", lambda s: s.logit("b", ["x", "C(s)"], categories={"s": ["N", "S"]}, **OLS), records=40),
        asked_of("bounds", lambda s: s.find_bounds("x", epsilon=0.5)),
        asked_of("limit of rows", lambda s: s.find_bounds("u", of="rows", epsilon=0.5), opened=PERSON, rows=3),
        asked_of("categories", lambda s: s.find_categories("g", epsilon=0.5, delta=1e-6), records=120, sweep=False),
        looked_at("score, gaussian", lambda t, p: [t.score(p), t.score(1 - p)], mechanism="gaussian"),
        looked_at("score, laplace", lambda t, p: [t.score(p), t.score(1 - p)], mechanism="laplace"),
        looked_at("comparison", lambda t, p: t.compare(p, 1 - p), mechanism="gaussian"),
        looked_at("score by parts", lambda t, p: t.score(p, metric=["f1", "recall"]), mechanism="gaussian"),
        looked_at("Brier score", lambda t, p: t.score(0.2 + 0.6 * p), mechanism="gaussian", metric="brier"),
        looked_at("resampled looks", lambda t, p: t.score(p), mechanism="resample_gaussian", delta=1e-6),
        looked_at("thresholdout", lambda t, p: t.score(p, training_score=0.2), mechanism="thresholdout", n_answers=3),
        looked_at("resample", lambda t, p: t.score(p), mechanism="resample", delta=0.9),
        looked_at("smoothed resample", lambda t, p: t.score(p), mechanism="smoothed_resample"),
        calibrated("table"),
        calibrated("rounds", delta=1e-6),
        calibrated("numeric_sparse"),
        calibrated("input_perturbation", Relation.REPLACE_ONE),
    ]
    return tuple(replace(case, attacked=case.name in ATTACKED) for case in made)


def statistics_without_a_case() -> set[str]:
    """Return the statistics of the registry that no case asks for."""
    return set(classes()).difference(*(case.statistics for case in cases()))
