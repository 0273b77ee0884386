"""Smooth statistics through the whole release: coverage, errors, noise, neighbours. One joint vector is behind them."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import beta, chi2, norm

import hedgerow as hg
from hedgerow.audit.replay import SilentNoise, replay_pair
from hedgerow.engines.source import open_source
from hedgerow.release.designs.joint.joint_statistic import JointStatistic
from hedgerow.release.execute import draw_tables, read_histograms
from hedgerow.release.plan import Plan
from hedgerow.statistics.statistic import Statistic
from hedgerow.testing.simulated import SimulatedNoise, draw_estimates

BOUNDS: dict[str, dict[str, tuple[float, ...]]] = {
    "zero-one": {"x": (0, 1, 1), "y": (0, 1, 1)},
    "skew": {"x": (0, 100), "y": (1, 8, 1)},
    "ties": {"x": (0, 100_000), "y": (0, 20, 1)},
    "bounds": {"x": (0, 100), "y": (0, 100)},
}


def people(name: str, n: int, rng: np.random.Generator) -> dict[str, Any]:
    if name == "zero-one":
        y = rng.binomial(1, 0.4, n)
        x = np.where(rng.random(n) < 0.7, y, rng.binomial(1, 0.3, n))
    elif name == "skew":
        y = 1.0 + rng.binomial(7, 0.2, n)
        x = np.minimum(np.exp(rng.normal(2.5, 0.6, n)) * np.sqrt(y), 100.0)
    elif name == "ties":
        y = rng.choice([0.0, 5.0, 12.0, 16.0], n, p=[0.05, 0.15, 0.5, 0.3])
        x = 3_000.0 * y + rng.choice([0.0, 10_000.0, 20_000.0], n)
    else:
        z = rng.normal(size=n)
        y, x = np.clip(80.0 * z + 60.0, 0.0, 100.0), np.clip(60.0 * rng.normal(size=n) + 30.0 * z + 50.0, 0.0, 100.0)
    return {"x": x.astype(float), "y": y.astype(float)}


def statistics(name: str) -> list[Statistic]:
    bounds = BOUNDS[name]
    low, high = bounds["x"][:2]
    return [
        hg.ratio("x", "y", bounds=bounds),
        hg.variance("x", bounds=(low, high)),
        hg.standard_deviation("x", bounds=(low, high)),
        hg.covariance("x", "y", bounds=bounds),
        hg.correlation("x", "y", bounds=bounds),
        hg.function(lambda t: np.log(1.0 + t["x"]) * t["y"], columns=bounds, name="own"),
    ]


def truths(name: str) -> list[float]:
    many = people(name, 500_000, np.random.default_rng(1))
    x, y = many["x"], many["y"]
    own = float(np.log(1.0 + x.mean()) * y.mean())
    return [x.mean() / y.mean(), x.var(), x.std(), np.cov(x, y)[0, 1], np.corrcoef(x, y)[0, 1], own]


@pytest.mark.parametrize(
    ("name", "relation"),
    [
        ("skew", "replace-one"),
        ("zero-one", "add-remove"),
        *(
            pytest.param(name, relation, marks=pytest.mark.long)
            for name, relation in product(BOUNDS, ["replace-one", "add-remove"])
            if (name, relation) not in {("skew", "replace-one"), ("zero-one", "add-remove")}
        ),
    ],
)
def test_intervals_cover_and_would_not_without_the_noise(name: str, relation: str) -> None:
    n, runs = 1_500, 60
    rng, noise = np.random.default_rng(2), SimulatedNoise(3)
    survey = hg.open(pa.table(people(name, n, rng)), relation=relation)
    epsilon = 0.5 if name == "skew" else 0.1
    plan = survey.plan(statistics(name), epsilon=epsilon, missing="error-if-declared-complete")
    assert isinstance(plan.items[0].design, JointStatistic)
    truth = truths(name)
    covered, missed = np.zeros((runs, 6), dtype=bool), np.zeros((runs, 6), dtype=bool)
    for run in range(runs):
        drawn = open_source(pa.table(people(name, n, rng)))
        for place, one in enumerate(draw_estimates(plan, read_histograms(plan, drawn), noise)):
            interval = one.confidence_interval()
            covered[run, place] = interval.low <= truth[place] <= interval.high
            near = 1.96 * (one.sampling_error or 0.0)
            missed[run, place] = abs(one.estimate - truth[place]) > near
    assert covered.mean() > 0.93
    assert (covered.mean(axis=0) > 0.87).all()
    # Sabotage: sampling errors alone do not cover.
    assert missed.mean() > 0.12


def test_the_forecast_is_the_error_that_comes_out() -> None:
    n, noise, rng = 2_000, SimulatedNoise(5), np.random.default_rng(6)

    def drawn() -> pa.Table:
        return pa.table({"x": 100.0 * rng.beta(4.0, 6.0, n), "y": 1.0 + 7.0 * rng.beta(3.0, 3.0, n)})

    bounds = {"x": (0.0, 100.0), "y": (1.0, 8.0)}
    asked = [
        hg.ratio("x", "y", bounds=bounds),
        hg.variance("x", bounds=(0, 100)),
        hg.covariance("x", "y", bounds=bounds),
    ]
    guess = {
        "x": {"mean": 40.0, "sd": 100.0 * (0.24 / 11.0) ** 0.5},
        "y": {"mean": 4.5, "sd": 7.0 * (0.25 / 7.0) ** 0.5},
    }
    for relation in ("replace-one", "add-remove"):
        plan = hg.open(drawn(), relation=relation).plan(asked, epsilon=3.0)
        expected = plan.forecast(guess, n=n)
        found = []
        for _ in range(60):
            answers = read_histograms(plan, open_source(drawn()))
            found.append([one.standard_error or np.nan for one in draw_estimates(plan, answers, noise)])
        for one, error in zip(expected, np.mean(found, axis=0), strict=True):
            assert one.standard_error == pytest.approx(error, rel=0.05)


def test_the_forecast_of_correlated_columns_needs_their_correlation() -> None:
    """Two monotone functions of two normal numbers, as a forecast takes them to be; 40 releases."""
    n, noise, rng = 3_000, SimulatedNoise(5), np.random.default_rng(6)

    def drawn(size: int = n) -> pa.Table:
        z = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.8], [0.8, 1.0]], size)
        return pa.table({"x": beta.ppf(norm.cdf(z[:, 0]), 2.0, 5.0), "y": 4.0 * beta.ppf(norm.cdf(z[:, 1]), 3.0, 3.0)})

    bounds, many = {"x": (0.0, 1.0), "y": (0.0, 4.0)}, drawn(100_000)
    x, y = (many[name].to_numpy() for name in "xy")
    guess = {"x": {"mean": x.mean(), "sd": x.std()}, "y": {"mean": y.mean(), "sd": y.std()}}
    told = guess | {"y": guess["y"] | {"correlation": {"x": float(np.corrcoef(x, y)[0, 1])}}}
    asked = [hg.ratio("x", "y", bounds=bounds), hg.correlation("x", "y", bounds=bounds)]
    plan = hg.open(drawn(), relation="replace-one").plan(asked, epsilon=3.0, missing="error-if-declared-complete")
    found = []
    for _ in range(40):
        answers = read_histograms(plan, open_source(drawn()))
        found.append([one.standard_error or np.nan for one in draw_estimates(plan, answers, noise)])
    for one, other, error in zip(plan.forecast(told), plan.forecast(guess), np.mean(found, axis=0), strict=True):
        assert one.standard_error == pytest.approx(error, rel=0.05)
        assert other.standard_error != pytest.approx(error, rel=0.2)


def standardised(relation: str, noise: str) -> np.ndarray[Any, Any]:
    people_ = pa.table({"x": [0.0, 5.0, 10.0], "y": [1.0, 2.0, 3.0], "group": [0, 1, 1]})
    bounds = {"x": (0, 10, 1), "y": (0, 4, 1)}
    asked = [hg.ratio("x", "y", bounds=bounds), hg.correlation("x", "y", bounds=bounds)]
    survey = hg.open(people_, relation=relation)
    plan = survey.plan(asked, by={"group": list(range(500))}, epsilon=1.0, noise=noise)
    answers = read_histograms(plan, survey.source)
    (exact, *_), drawn = draw_tables(plan, answers, SilentNoise()), SimulatedNoise(8)
    tables = [draw_tables(plan, answers, drawn)[0] for _ in range(20)]
    assert exact is not None
    return np.concatenate([(one.values - exact.values) / one.noise_sd for one in tables if one is not None])


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_released_noise_is_as_wide_as_priced(relation: str, noise: str) -> None:
    found = standardised(relation, noise)
    kurtosis = 6.0 if noise == "laplace" else 3.0
    # The variance of a sample variance, for a law of this kurtosis.
    freedom = 2.0 * found.size / (kurtosis - 1.0)

    def chance(scale: float) -> float:
        statistic = freedom * float(np.mean((scale * found) ** 2))
        return 2.0 * float(min(chi2.cdf(statistic, freedom), chi2.sf(statistic, freedom)))

    assert chance(1.0) > 1e-6
    assert chance(0.95) < 1e-12


CELLS = ({"x": 0.0, "y": 0.0}, {"x": 10.0, "y": 0.0}, {"x": 0.0, "y": 4.0}, {"x": 10.0, "y": 4.0}, {"x": 5.0, "y": 2.0})


def rows_of(*rows: dict[str, Any]) -> pa.Table:
    kept = list(rows) or [{"x": None, "y": None, "group": 9}]
    names = {"x": pa.float64(), "y": pa.float64(), "group": pa.int64()}
    return pa.table({name: pa.array([row.get(name, 0) for row in kept], type=kind) for name, kind in names.items()})


def tiny_plan(
    relation: str, noise: str, missing: str, by: dict[str, list[int]] | None, size: int, sets: int = 1
) -> Plan:
    bounds = {"x": (0, 10, 1), "y": (0, 4, 1)}
    asked: list[Statistic] = [hg.ratio("x", "y", bounds=bounds), hg.correlation("x", "y", bounds=bounds)]
    if sets > 1:
        asked = [hg.mean("x", bounds=(0, 10), step=1), hg.variance("y", bounds=(0, 4), step=1), asked[1]][:sets]
    survey = hg.open(rows_of(*[CELLS[0]] * size), relation=relation)
    return survey.plan(asked, epsilon=1.0, noise=noise, missing=missing, by=by)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("sets", [1, 2, 3])
@pytest.mark.parametrize(
    ("relation", "missing", "by"),
    [
        ("replace-one", "error-if-declared-complete", None),
        ("replace-one", "drop", None),
        ("replace-one", "drop", {"group": [0, 1]}),
        ("add-remove", "drop", {"group": [0, 1]}),
    ],
)
def test_no_neighbours_differ_by_more_than_was_priced(
    noise: str, relation: str, missing: str, by: dict[str, list[int]] | None, sets: int
) -> None:
    plan = tiny_plan(relation, noise, missing, by, 3, sets)
    item = plan.items[0]
    assert item.design is not None and item.mechanism is not None
    kinds = [dict(one) for one in CELLS]
    if missing == "drop":
        kinds += [{"x": None, "y": 4.0}, {"x": 10.0, "y": None}, {"x": None, "y": None}]
    if by:
        kinds = [{**one, "group": group} for one, group in product(kinds, (0, 1, 7))]

    def exact(*rows: dict[str, Any]) -> Any:
        answers = read_histograms(replace(plan, facts=replace(plan.facts, n=None)), open_source(rows_of(*rows)))
        assert item.design is not None and item.mechanism is not None
        return item.design.table(answers[item.design.query], item.mechanism, SilentNoise()).values

    others = [CELLS[0], CELLS[3]]
    alone = exact(*others)
    single = [exact(one, *others) for one in kinds]
    relation_ = plan.facts.relation
    if relation == "add-remove":
        moved = [item.mechanism.excess(relation_, one - alone) for one in single]
    else:
        pairs = combinations_with_replacement(range(len(kinds)), 2)
        moved = [item.mechanism.excess(relation_, single[i] - single[j]) for i, j in pairs]
    assert max(moved) <= 1.0 + 1e-9
    # A price a third lower would be exceeded by some of these pairs.
    assert max(moved) > 0.66


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_neighbours_take_the_same_steps(relation: str) -> None:
    plan = tiny_plan(relation, "laplace", "drop", {"group": [0, 1]}, 3)
    first = [{"x": 10.0, "y": 4.0, "group": 1}, {"x": 5.0, "y": None, "group": 0}, {"x": 0.0, "y": 1.0, "group": 1}]
    second = [{"x": None, "y": 4.0, "group": 0}, *first[1:]] if relation == "replace-one" else first[1:]
    sources = [open_source(rows_of(*rows)) for rows in (first, second)]
    found, moved = replay_pair(plan, sources[0], sources[1], seed=4)
    assert found == []
    assert 0.0 < moved <= 1.0
