"""Released 95 % intervals by simulation: not significantly below 94 % (p < 1e-6) anywhere, and the test has power.

Thousands of runs a setting, read at once as the cells of one table; the seeded stand-in draws the noise.
`benchmarks/coverage_of_releases.py` prints widths too.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.statistical.simulations.releases import (
    GROUP_SHARES,
    Setting,
    answers,
    draw_cells,
    draw_samples,
    ends,
    plan_of,
    settings,
    simulate,
)

import hedgerow as hg
from hedgerow.engines.query import SumsQuery
from hedgerow.facts.relation import Relation, Target
from hedgerow.noise.lattice import AdditiveTable
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.execute import draw_tables
from hedgerow.release.plan import make_plan
from hedgerow.release.request import parse_request
from hedgerow.resampling.counted_values import Histogram
from hedgerow.testing.simulated import SimulatedNoise, grid_sums

RUNS = 2000
SEED = 20261120


def too_low(covered: int, total: int, least: float = 0.94) -> bool:
    return bool(stats.binom.cdf(covered, total, least) < 1e-6)


@pytest.mark.parametrize("setting", list(settings()), ids=str)
def test_means_cover(setting: Setting) -> None:
    result = simulate(setting, "mean", RUNS, np.random.default_rng([SEED, 1]))
    assert not too_low(result.covered, result.total), result
    assert result.width < 1.10


@pytest.mark.parametrize("setting", [s for s in settings() if s.law.name == "skewed"], ids=str)
def test_sums_cover(setting: Setting) -> None:
    result = simulate(setting, "sum", RUNS, np.random.default_rng([SEED, 2]))
    assert not too_low(result.covered, result.total), result
    assert result.width < 1.10


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("groups", [1, 3])
def test_many_runs_in_one_table_are_read_as_each_of_them_alone(relation: str, groups: int) -> None:
    setting = next(s for s in settings() if s.relation == relation and s.groups == groups)
    plan = plan_of(setting, "mean")
    (item,), rng = plan.items, np.random.default_rng(SEED)
    found = answers(plan, draw_samples(setting, 50, rng))
    (table,) = draw_tables(plan, found, SimulatedNoise(rng))
    low, high = ends(item.design.estimates(table))
    drawn = AdditiveTable(table.cells, table.features, table.values, table.noise_sd, table.noise_law)
    for run in range(50):
        rows = slice(run * groups, (run + 1) * groups)
        alone = item.design.estimates(item.design.drawn.read(replace(drawn, values=table.values[rows])))
        np.testing.assert_allclose(np.array(ends(alone)), np.array([low[rows], high[rows]]), rtol=1e-12)


def shares_and_counts(
    relation: str, n: int, share: float, *, by: bool, family: str, target: str, runs: int
) -> dict[str, tuple[int, int]]:
    """Return, for proportions and for counts that are not public, how many intervals covered of how many."""
    rng = np.random.default_rng([SEED, n, int(100 * share)])
    groups = {"g": [0, 1, 2]} if by else None
    request = parse_request([hg.proportion("x", value=1), hg.count()], by=groups, epsilon=1.0, delta=1e-6, noise=family)
    size = n if relation == "replace-one" else None
    plan = make_plan(request, PublicFacts(Relation(relation), "row", Target(target), size))
    cells = GROUP_SHARES if by else np.array([1.0])
    law = np.outer(cells, [1 - share, share]).ravel()
    noise = SimulatedNoise(rng)
    sizes = np.full(runs, n) if size else rng.poisson(n, runs)
    drawn = rng.multinomial(sizes, law).reshape(-1, 2)
    cell, index = np.nonzero(drawn)
    everywhere, records = np.arange(len(drawn)), drawn.sum(1)
    full = Histogram.from_triplets(cell, index, drawn[cell, index], cells=len(drawn))
    counted = Histogram.from_triplets(everywhere, np.zeros(len(drawn), int), records, cells=len(drawn))
    histograms = {}
    for item in plan.items:
        if item.design is not None:
            query = item.design.query
            told = full if item.statistic.name == "proportion" or isinstance(query, SumsQuery) else counted
            histograms[query] = grid_sums(query, told) if isinstance(query, SumsQuery) else told
    population = target == "population"
    truth = {
        "count": np.tile(n * cells, runs) if population else records,
        "proportion": np.full(len(drawn), share) if population else drawn[:, 1] / np.maximum(records, 1),
    }
    covered = {}
    asked = [item.statistic.name for item in plan.items if item.design is not None]
    for name, estimates in zip(asked, draw_cells(plan, histograms, noise), strict=True):
        low, high = ends(estimates)
        covered[name] = int(((low <= truth[name]) & (truth[name] <= high)).sum()), len(drawn)
    return covered


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("family", ["geometric", "gaussian"])
@pytest.mark.parametrize("target", ["population", "file"])
@pytest.mark.parametrize(("n", "share", "by"), [(500, 0.5, True), (500, 0.05, False), (5000, 0.2, True)])
def test_counts_and_proportions_cover(relation: str, family: str, target: str, n: int, share: float, by: bool) -> None:
    found = shares_and_counts(relation, n, share, by=by, family=family, target=target, runs=RUNS)
    for name, (covered, total) in found.items():
        assert not too_low(covered, total), (name, covered / total)


def test_an_interval_that_ignores_privacy_noise_is_caught() -> None:
    """Sabotage: the same estimates at n = 500 by groups, their privacy error left out of the interval."""
    setting = next(s for s in settings() if s.groups > 1 and s.n == 500)
    request = parse_request([hg.mean("x", bounds=(0, 1), step=0.01)], by={"g": [0, 1, 2]}, epsilon=1.0)
    plan = make_plan(request, PublicFacts(Relation.REPLACE_ONE, "row", Target.POPULATION, setting.n))
    rng = np.random.default_rng(SEED)
    (estimates,) = draw_cells(plan, answers(plan, draw_samples(setting, RUNS, rng)), SimulatedNoise(rng))
    given = np.isfinite(estimates.sampling_error)
    off = np.abs(estimates.estimate - setting.law.mean)[given]
    covered, total = int((off <= 1.96 * estimates.sampling_error[given]).sum()), int(given.sum())
    assert total > RUNS
    assert stats.binom.cdf(covered, total, 0.94) < 1e-12


def test_a_plug_in_ratio_interval_loses_coverage_where_the_score_interval_keeps_it() -> None:
    """Cells of 40 records at ε = 1: the noisy count is off by a third, and ± z·s.e. is no longer an interval."""
    request = parse_request([hg.mean("x", bounds=(0, 1), step=0.01)], by={"g": [0, 1]}, epsilon=1.0)
    plan = make_plan(request, PublicFacts(Relation.REPLACE_ONE, "row", Target.POPULATION, 80))
    rng = np.random.default_rng(SEED)
    high = rng.binomial(40, 0.9, 2 * RUNS)
    cell, index = np.repeat(np.arange(2 * RUNS), 2), np.tile([0, 100], 2 * RUNS)
    histogram = Histogram.from_triplets(cell, index, np.stack([40 - high, high], axis=1).ravel(), cells=2 * RUNS)
    (estimates,) = draw_cells(plan, answers(plan, histogram), SimulatedNoise(rng))
    low, upper = ends(estimates)
    kept, total = int(((low <= 0.9) & (upper >= 0.9)).sum()), 2 * RUNS
    assert not too_low(kept, total), kept / total


@pytest.mark.parametrize(
    "setting",
    [
        pytest.param(s, marks=pytest.mark.long if s.n > 500 else ())
        for s in settings()
        if s.groups == 1 and s.missing == 0
    ],
    ids=str,
)
def test_calibrated_bootstrap_intervals_cover_to_within_a_point(setting: Setting) -> None:
    """Not significantly below the level less one point, 800 runs a setting, k chosen from public facts."""
    result = simulate(setting, "mean", 800, np.random.default_rng([SEED, 3]), estimator="bootstrap")
    assert not too_low(result.covered, result.total, 0.94), result
