"""Intervals of units cover where rows of one person move together; those of single rows do not.

Each run draws people, weights and noises with a fixed seed. Truth accepted: the intervals that cover are not fewer than
Binomial(RUNS, .94) allows at p > 1e-6. The sabotage, rows resampled as if each were a person, is rejected at p < 1e-12.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import hedgerow as hg
from hedgerow.facts.columns import Category, Missing
from hedgerow.facts.relation import Relation, Target, UnitLimit
from hedgerow.noise.lattice import AdditiveTable
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.designs.replicates_read import ResampledMean
from hedgerow.release.designs.row_bootstrap import BootstrapDesign
from hedgerow.release.designs.unit_bootstrap import UnitBootstrapDesign
from hedgerow.resampling.counted_values import GridSums, Histogram
from hedgerow.statistics.mean import Mean, Sum, mean, sum
from hedgerow.testing.simulated import SimulatedNoise

RUNS = 1000
PEOPLE = 400
LIMIT = UnitLimit("person", 4)
MEANS = np.arange(20, 61)  # a person's own level, even chances; rows lie within 5 of it
TYPICAL = 1 + 2 * (MEANS >= 40)  # rows of a person, or one more: the level goes with the number of rows
TRUE_MEAN = float(np.sum(MEANS * (TYPICAL + 0.5)) / np.sum(TYPICAL + 0.5))
TRUE_TOTAL = float(PEOPLE * np.mean(MEANS * (TYPICAL + 0.5)))
AGE = {"bounds": (0, 100), "step": 1}


@dataclass(frozen=True)
class Rows:
    person: np.ndarray
    cell: np.ndarray
    t: np.ndarray


def draw(rng: np.random.Generator, cells: int) -> Rows:
    """Return the rows of `PEOPLE` people; a row's cell is drawn on its own, so people span cells."""
    level = rng.integers(len(MEANS), size=PEOPLE)
    person = np.repeat(np.arange(PEOPLE), TYPICAL[level] + rng.integers(2, size=PEOPLE))
    t = MEANS[level][person] + rng.integers(-5, 6, size=len(person))
    return Rows(person, rng.integers(cells, size=len(person)), t)


def per_unit(rows: Rows, cells: int) -> Histogram:
    """Return what an engine returns: units by cell and (rows, total)."""
    place = rows.person * cells + rows.cell
    count, total = np.bincount(place), np.bincount(place, rows.t).astype(np.int64)
    there = np.flatnonzero(count)
    code = (count[there] - 1) * (LIMIT.max_rows * 100 + 1) + total[there]
    ones = np.ones_like(there)
    return Histogram.merged(there % cells, code, ones, missing=np.zeros(cells, dtype=np.int64), outside=0)


def per_row(rows: Rows, cells: int) -> Histogram:
    ones = np.ones_like(rows.t)
    return Histogram.merged(rows.cell, rows.t, ones, missing=np.zeros(cells, dtype=np.int64), outside=0)


def facts(relation: Relation, target: Target = Target.POPULATION) -> PublicFacts:
    return PublicFacts(relation, str(LIMIT), target, PEOPLE if relation is Relation.REPLACE_ONE else None)


def design(
    statistic: Mean | Sum, relation: Relation, *, cells: int = 1, target: Target = Target.POPULATION
) -> UnitBootstrapDesign:
    by = (Category.declared("cell", list(range(cells))),) if cells > 1 else ()
    return UnitBootstrapDesign(statistic, by, facts(relation, target), Missing.DROP, LIMIT, 30, "calibrated", "")


def row_design(statistic: Mean) -> BootstrapDesign:
    resampled = ResampledMean(statistic, "private")
    return BootstrapDesign(resampled, (), facts(Relation.ADD_REMOVE), Missing.DROP, 30, "calibrated", "")


def p_values(kind: str, *, mu: float, seed: int) -> list[float]:
    """Return, cell by cell, the p-value of coverage ≥ 94 % of 95 % intervals."""
    rng, noise = np.random.default_rng(seed), SimulatedNoise(seed + 1)
    cells = 2 if kind == "mean by cell" else 1
    made = {
        "mean": lambda: design(mean("age", **AGE), Relation.ADD_REMOVE),
        "mean by cell": lambda: design(mean("age", **AGE), Relation.REPLACE_ONE, cells=2),
        "sum": lambda: design(sum("age", **AGE), Relation.REPLACE_ONE),
        "rows": lambda: row_design(mean("age", **AGE)),
    }[kind]()
    truth = TRUE_TOTAL if kind == "sum" else TRUE_MEAN
    covered = np.zeros(cells, dtype=np.int64)
    for _ in range(RUNS):
        rows = draw(rng, cells)
        histogram = per_row(rows, cells) if kind == "rows" else per_unit(rows, cells)
        estimates = made.estimates(made.table(histogram, made.mechanism(mu), noise))
        intervals = [estimate.confidence_interval(0.95) for estimate in estimates]
        covered += [interval.low <= truth <= interval.high for interval in intervals]
    return [float(stats.binomtest(int(found), RUNS, 0.94, alternative="less").pvalue) for found in covered]


@pytest.mark.parametrize(("kind", "mu"), [("mean", 8.0), ("mean", 0.5), ("mean by cell", 8.0), ("sum", 8.0)])
def test_intervals_of_units_cover(kind: str, mu: float) -> None:
    """n = 400 people with 1 to 4 rows each, k = 30, 1,000 runs, seed 5."""
    assert min(p_values(kind, mu=mu, seed=5)) > 1e-6


def test_intervals_that_take_rows_for_people_do_not() -> None:
    """The named sabotage: the same rows, each resampled on its own; 1,000 runs, seed 5."""
    assert max(p_values("rows", mu=8.0, seed=5)) < 1e-12


def joint_p_value(kind: str, relation: str, *, epsilon: float, seed: int, clustered: bool = True) -> float:
    """Return the p-value of coverage ≥ 94 % of joint moments of units, or of rows as units; all runs as cells."""
    asked = {"mean": hg.mean("age", **AGE), "sum": hg.sum("age", **AGE), "count": hg.count()}[kind.split()[0]]
    cells = 2 if kind.endswith("cell") else 1
    people = pa.table({"person": np.arange(PEOPLE), "age": np.full(PEOPLE, 50.0), "cell": np.zeros(PEOPLE, dtype=int)})
    survey = hg.open(people, relation=relation, unit=LIMIT)
    by = {"cell": list(range(cells))} if cells > 1 else None
    (item,) = survey.plan([asked], by=by, missing="error-if-declared-complete", epsilon=epsilon).items
    rng, exact = np.random.default_rng(seed), []
    for _ in range(RUNS):
        rows = draw(rng, cells)
        named = rows.person if clustered else np.arange(len(rows.person))
        there = rows.cell == 0
        number = np.bincount(named[there], minlength=len(rows.person)).astype(float)
        totals = [number] if kind == "count" else [np.bincount(named[there], rows.t[there], len(rows.person)), number]
        # What is beside a unit's rows in the other cell tells nothing of this one.
        totals += [np.zeros_like(number)] * len(totals)
        sums = {
            m: np.array([np.prod([totals[i] ** p for i, p in m], axis=0).sum()]) for m in item.mechanism.monomials()
        }
        exact.append(item.mechanism.exact(GridSums(sums, np.zeros(1, dtype=np.int64), 0))[0])
    values = np.array(exact, dtype=float)
    sds, law = item.mechanism.noise_sds(), item.mechanism.noise_law.name
    noise = rng.standard_normal(values.shape) if law == "gaussian" else rng.laplace(0.0, 0.5**0.5, values.shape)
    drawn = AdditiveTable(({},) * RUNS, item.mechanism.names, values + sds * noise, sds, law)
    read = item.design.estimates(item.design.drawn.read(drawn))
    low, high = read.interval(0.95)
    truth = {"mean": TRUE_MEAN, "sum": TRUE_TOTAL, "count": PEOPLE * float(np.mean(TYPICAL + 0.5))}[kind.split()[0]]
    covered = int(np.sum((low <= truth) & (truth <= high)))
    return float(stats.binomtest(covered, RUNS, 0.94, alternative="less").pvalue)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("kind", "epsilon"), [("mean", 3.0), ("mean", 0.3), ("sum", 3.0), ("count", 1.0)])
def test_intervals_of_joint_moments_of_units_cover(kind: str, relation: str, epsilon: float) -> None:
    """n = 400 people with 1 to 4 rows each, 1,000 runs, seed 5."""
    assert joint_p_value(kind, relation, epsilon=epsilon, seed=5) > 1e-6


def test_intervals_of_joint_moments_cover_in_cells_that_people_span() -> None:
    assert joint_p_value("mean by cell", "replace-one", epsilon=3.0, seed=5) > 1e-6


def test_joint_moments_of_rows_taken_for_people_do_not_cover() -> None:
    """The named sabotage: each row a unit of its own; 1,000 runs, seed 5."""
    assert joint_p_value("mean", "add-remove", epsilon=20.0, seed=5, clustered=False) < 1e-12


def test_intervals_about_the_file_cover_the_files_own_mean() -> None:
    """Student's, n = 400 people, 1,000 runs, seed 7; the sabotage takes the population's mean for the file's."""
    made, noise = design(mean("age", **AGE), Relation.ADD_REMOVE, target=Target.FILE), SimulatedNoise(8)
    rows = draw(np.random.default_rng(7), 1)
    histogram, own = per_unit(rows, 1), float(rows.t.mean())
    covered = {own: 0, own + 3.0: 0}
    for _ in range(RUNS):
        (estimate,) = made.estimates(made.table(histogram, made.mechanism(8.0), noise))
        assert estimate.sampling_error == 0.0
        interval = estimate.confidence_interval(0.95)
        for truth in covered:
            covered[truth] += interval.low <= truth <= interval.high
    p_value = {truth: stats.binomtest(found, RUNS, 0.94, alternative="less").pvalue for truth, found in covered.items()}
    assert p_value[own] > 1e-6
    assert p_value[own + 3.0] < 1e-12


def test_the_spread_of_replicates_is_that_of_clusters() -> None:
    """k = 4,000 replicates almost without noise: s² of the mean is Σ (S − N x̄)²/N², six times what rows would give."""
    rows = draw(np.random.default_rng(11), 1)
    made = design(mean("age", **AGE), Relation.ADD_REMOVE)
    object.__setattr__(made, "n_resamples", 4000)
    (estimate,) = made.estimates(made.table(per_unit(rows, 1), made.mechanism(1e4), SimulatedNoise(12)))
    centred = np.bincount(rows.person, rows.t - rows.t.mean())
    clustered, naive = (centred**2).sum() / len(rows.t) ** 2, rows.t.var() / len(rows.t)
    spread = estimate._region.replicates.spread
    # 3,999 s²/v is χ² of 3,999 degrees of freedom.
    assert 1e-6 < stats.chi2.cdf(3999 * spread / clustered, 3999) < 1 - 1e-6
    assert stats.chi2.sf(3999 * spread / naive, 3999) < 1e-12
