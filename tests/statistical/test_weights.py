"""Weighted estimates: coverage under unequal chances, their price by brute force, and mistakes that must show."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.engines.query import ColumnProduct, Weighted
from hedgerow.facts.relation import Relation, Weights
from hedgerow.inference.joint import estimates
from hedgerow.mechanisms.joint.joint_moments import JointMoments
from hedgerow.release.designs.joint.joint_statistic import JointStatistic
from hedgerow.release.execute import read_histograms
from hedgerow.release.plan import Plan
from hedgerow.testing.simulated import SimulatedNoise, Study

N, RUNS = 600, 120
WEIGHTS = ("w", 4.0)
ASKED = [
    hg.mean("x", bounds=(0, 100)),
    hg.ratio("x", "y", bounds={"x": (0, 100), "y": (1, 9)}),
    hg.proportion("z", value=1),
    hg.sum("x", bounds=(0, 100)),
]


def population(rng: np.random.Generator) -> dict[str, Any]:
    """A size decides who is drawn, and goes together with everything that is asked."""
    size = rng.choice([1.0, 2.0, 4.0], 5000, p=[0.5, 0.3, 0.2])
    x = np.clip(15.0 * size + rng.gamma(2.0, 8.0, 5000), 0.0, 100.0)
    y = np.clip(1.0 + size + rng.poisson(1.0, 5000), 1.0, 9.0)
    return {"x": x, "y": y, "z": rng.random(5000) < 0.2 * size, "size": size}


OF_PRODUCTS = [
    hg.variance("x", bounds=(0, 100)),
    hg.standard_deviation("x", bounds=(0, 100)),
    hg.covariance("x", "y", bounds={"x": (0, 100), "y": (1, 9)}),
    hg.correlation("x", "y", bounds={"x": (0, 100), "y": (1, 9)}),
]


def covered(asked: list[Any], runs: int, **options: Any) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(11)
    everybody = population(rng)
    x, y, z, size = (everybody[name].astype(float) for name in ("x", "y", "z", "size"))
    chance = size / size.sum()
    # Of weights 4/size the sum has this mean, and so has that of weighted values.
    total = N * float(chance @ (4.0 / size * x))
    truth = {"mean": x.mean(), "ratio": x.sum() / y.sum(), "proportion": z.mean(), "sum": total, "variance": x.var()}
    truth |= {"standard_deviation": x.std(), "covariance": np.cov(x, y)[0, 1], "correlation": np.corrcoef(x, y)[0, 1]}
    found = []
    table = {"x": x, "y": y, "z": z.astype(int), "w": 4.0 / size}
    plan: Plan | None = None
    for run in range(runs):
        drawn = rng.choice(len(size), N, p=chance)
        survey = hg.open(pa.table({name: cells[drawn] for name, cells in table.items()}), relation="replace-one")
        if plan is None:
            plan = survey.plan(asked, weights=WEIGHTS, epsilon=3.0, missing="error-if-declared-complete", **options)
        study = Study(plan, read_histograms(plan, survey.source), "sample")
        ends = [one.confidence_interval() for one in study.draw(SimulatedNoise(run))]
        found.append([one.low <= truth[own.kind] <= one.high for one, own in zip(ends, asked, strict=True)])
    return np.array(found).mean(axis=0)


@pytest.mark.parametrize("asked", [ASKED, OF_PRODUCTS], ids=["means", "products"])
def test_intervals_cover_the_population_from_a_sample_with_unequal_chances(asked: list[Any]) -> None:
    assert (covered(asked, RUNS) >= 0.94 - 3.0 * math.sqrt(0.94 * 0.06 / RUNS)).all()


def test_sabotage_a_plain_mean_of_the_same_sample_covers_nothing() -> None:
    rng = np.random.default_rng(11)
    everybody = population(rng)
    drawn = rng.choice(5000, N, p=everybody["size"] / everybody["size"].sum())
    survey = hg.open(pa.table({"x": everybody["x"][drawn]}), relation="replace-one")
    plain = Study.of(survey, ASKED[:1], epsilon=3.0).draw(SimulatedNoise(1))[0].confidence_interval()
    assert not plain.low <= float(everybody["x"].mean()) <= plain.high


def plan_of(statistics: list[Any], relation: Relation, **options: Any) -> Plan:
    table = pa.table({name: [1.0] for name in "xyzw"})
    return hg.open(table, relation=str(relation)).plan(statistics, weights=WEIGHTS, epsilon=1.0, **options)


def corners(plan: Plan, weights: tuple[float, ...] = (0.0, 0.25, 0.5, 1.0)) -> list[tuple[int, ...]]:
    """Return the integers that records add up: parts of the largest weight, and values at and between the ends."""
    design = plan.items[0].design
    assert isinstance(design, JointStatistic)
    *values, weight = design.query.values
    columns = [value for value in design.query.read if value != weight]
    found = []
    for part, *places in itertools.product(weights, *[(0.0, 0.3, 0.5, 1.0)] * len(columns)):
        own = round(part * (weight.size - 1))
        index = {column: round(place * (column.size - 1)) for column, place in zip(columns, places, strict=True)}
        record = []
        for value in values:
            assert isinstance(value, Weighted)
            inner = value.value
            parts = inner.parts if isinstance(inner, ColumnProduct) else (inner,)
            of_row = [index[part] for part in parts]
            record.append(value.index(own, inner.index(of_row) if isinstance(inner, ColumnProduct) else of_row[0]))
        found.append((*record, own))
    return found


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("asked", [*([one] for one in ASKED[:3]), *([one] for one in OF_PRODUCTS), OF_PRODUCTS])
def test_no_pair_of_weighted_records_moves_more_than_is_priced(
    relation: Relation, noise: str, asked: list[Any]
) -> None:
    plan = plan_of(asked, relation, noise=noise, missing="error-if-declared-complete")
    (mechanism,) = {one.mechanism for one in plan.items}
    assert isinstance(mechanism, JointMoments)
    power = 1 if noise == "laplace" else 2
    widths = np.array([number.width for number in mechanism.numbers.listed()])
    added = np.array([mechanism.record(one).astype(float) / widths for one in corners(plan)])
    others = added if relation is Relation.REPLACE_ONE else np.zeros((1, len(widths)))
    moved = max(float((np.abs(added - one) ** power).sum(axis=1).max()) for one in others)
    priced = mechanism.pure(relation) if power == 1 else mechanism.mu(relation) ** 2
    assert moved <= priced * (1.0 + 1e-9)
    # The price is no wide bound: a record for another attains most of it, but for products, which do not vary freely.
    assert moved > (0.5 if asked[0] in OF_PRODUCTS else 0.8) * priced


def test_sabotage_weights_above_the_bound_move_more_than_is_priced() -> None:
    """An engine that clamps at twice the declared weight: one record moves the vector by more than its price."""
    plan = plan_of(ASKED[:1], Relation.REPLACE_ONE, noise="laplace")
    (mechanism,) = {one.mechanism for one in plan.items}
    assert isinstance(mechanism, JointMoments)
    widths = np.array([number.width for number in mechanism.numbers.listed()])
    added = [mechanism.record(one).astype(float) / widths for one in corners(plan, (0.0, 2.0))]
    moved = max(float(np.abs(a - b).sum()) for a in added for b in added)
    assert moved > 1.2 * mechanism.pure(Relation.REPLACE_ONE)


def test_weights_cost_less_than_features_that_vary_freely() -> None:
    """A weighted value is at most its weight: the corners of the triangle cost less than those of a box."""
    plan = plan_of(ASKED[:1], Relation.REPLACE_ONE, noise="gaussian")
    mechanism = plan.items[0].mechanism
    assert isinstance(mechanism, JointMoments)
    free = replace(mechanism.weights(), counts={}).same(2)
    assert mechanism.mu(Relation.REPLACE_ONE) ** 2 < 0.75 * free


def test_sabotage_an_error_without_the_variance_of_weights_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A total varies with the weights of the records drawn: left out of the tangent, half of its error is gone."""
    rng = np.random.default_rng(3)
    w = rng.uniform(0.0, 4.0, 4000)
    table = pa.table({"x": np.full(4000, 50.0), "w": w})
    study = Study.of(hg.open(table, relation="replace-one"), ASKED[3:], weights=WEIGHTS, epsilon=50.0)
    right = study.draw(SimulatedNoise(1))[0].sampling_error
    assert right == pytest.approx(50.0 * float(w.std()) * math.sqrt(4000), rel=0.1)
    gradient = estimates.gradient

    def unweighted(function: Any, totals: Any) -> Any:
        slopes = gradient(function, totals)
        slopes[:, -1] = 0.0
        return slopes

    monkeypatch.setattr(estimates, "gradient", unweighted)
    assert study.draw(SimulatedNoise(1))[0].sampling_error < 0.5 * right


def test_the_bound_of_the_engine_is_the_one_that_is_priced() -> None:
    plan = plan_of(ASKED[:1], Relation.REPLACE_ONE)
    design = plan.items[0].design
    assert isinstance(design, JointStatistic)
    weight = design.query.values[-1]
    assert weight.grid is not None
    assert weight.grid == Weights.declared(WEIGHTS).grid() and float(weight.grid.upper) == 4.0
    assert design.release.choice.mechanism.layout.parts == weight.size - 1
    assert replace(plan.facts, weights=None) != plan.facts
