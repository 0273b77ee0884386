"""Released 95 % intervals by simulation: not significantly below 94 % (p < 1e-6) anywhere, and the test has power.

1,000 runs a setting; the seeded stand-in draws the noise. `benchmarks/coverage_of_releases.py` prints widths too.
"""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import hedgerow as hg
from hedgerow.facts.relation import Relation, Target
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.execute import draw_estimates
from hedgerow.release.plan import make_plan
from hedgerow.release.request import parse_request
from hedgerow.resampling.histogram import Histogram
from hedgerow.testing.simulated import SimulatedNoise

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from coverage_of_releases import GROUP_SHARES, Setting, answers, draw_sample, settings, simulate

RUNS = 1000
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
    result = simulate(setting, "sum", RUNS // 2, np.random.default_rng([SEED, 2]))
    assert not too_low(result.covered, result.total), result
    assert result.width < 1.10


def shares_and_counts(
    relation: str, n: int, share: float, *, by: bool, family: str, target: str, runs: int
) -> dict[str, tuple[int, int]]:
    """Return, for counts and proportions, how many intervals covered of how many."""
    rng = np.random.default_rng([SEED, n, int(100 * share)])
    groups = {"g": [0, 1, 2]} if by else None
    request = parse_request([hg.proportion("x", value=1), hg.count()], by=groups, epsilon=1.0, delta=1e-6, noise=family)
    size = n if relation == "replace-one" else None
    plan = make_plan(request, PublicFacts(Relation(relation), "row", Target(target), size))
    cells = GROUP_SHARES if by else np.array([1.0])
    law = np.outer(cells, [1 - share, share]).ravel()
    noise = SimulatedNoise(rng)
    covered = {"proportion": [0, 0], "count": [0, 0]}
    for _ in range(runs):
        drawn = rng.multinomial(n if size else rng.poisson(n), law).reshape(len(cells), 2)
        cell, index = np.nonzero(drawn)
        full = Histogram.from_triplets(cell, index, drawn[cell, index], cells=len(cells))
        counted = Histogram.from_triplets(
            np.arange(len(cells)), np.zeros(len(cells), int), drawn.sum(1), cells=len(cells)
        )
        histograms = {
            i.design.query: (full if i.statistic.name == "proportion" else counted) for i in plan.items if i.design
        }
        for position, estimate in enumerate(draw_estimates(plan, histograms, noise)):
            row = position % len(cells)
            if estimate.statistic == "count":
                truth = n * cells[row] if target == "population" else drawn[row].sum()
            else:
                truth = share if target == "population" else drawn[row, 1] / max(drawn[row].sum(), 1)
            interval = estimate.confidence_interval(0.95)
            covered[estimate.statistic][0] += interval.low <= truth <= interval.high
            covered[estimate.statistic][1] += 1
    return {name: (hits, total) for name, (hits, total) in covered.items()}


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("family", ["geometric", "gaussian"])
@pytest.mark.parametrize("target", ["population", "file"])
@pytest.mark.parametrize(("n", "share", "by"), [(500, 0.5, True), (500, 0.05, False), (5000, 0.2, True)])
def test_counts_and_proportions_cover(relation: str, family: str, target: str, n: int, share: float, by: bool) -> None:
    found = shares_and_counts(relation, n, share, by=by, family=family, target=target, runs=600)
    for name, (covered, total) in found.items():
        assert not too_low(covered, total), (name, covered / total)


def test_an_interval_that_ignores_privacy_noise_is_caught() -> None:
    """Sabotage: the same estimates at n = 500 by groups, their privacy error left out of the interval."""
    setting = next(s for s in settings() if s.groups > 1 and s.n == 500)
    request = parse_request([hg.mean("x", bounds=(0, 1), step=0.01)], by={"g": [0, 1, 2]}, epsilon=1.0)
    plan = make_plan(request, PublicFacts(Relation.REPLACE_ONE, "row", Target.POPULATION, setting.n))
    rng = np.random.default_rng(SEED)
    noise, covered, total = SimulatedNoise(rng), 0, 0
    for _ in range(RUNS):
        histogram = draw_sample(setting, rng)
        for estimate in draw_estimates(plan, answers(plan, histogram), noise):
            if estimate.sampling_error is not None:
                covered += abs(estimate.estimate - setting.law.mean) <= 1.96 * estimate.sampling_error
                total += 1
    assert stats.binom.cdf(covered, total, 0.94) < 1e-12


def test_a_plug_in_ratio_interval_loses_coverage_where_the_score_interval_keeps_it() -> None:
    """Cells of 40 records at ε = 1: the noisy count is off by a third, and ± z·s.e. is no longer an interval."""
    request = parse_request([hg.mean("x", bounds=(0, 1), step=0.01)], by={"g": [0, 1]}, epsilon=1.0)
    plan = make_plan(request, PublicFacts(Relation.REPLACE_ONE, "row", Target.POPULATION, 80))
    rng = np.random.default_rng(SEED)
    noise = SimulatedNoise(rng)
    kept = total = 0
    for _ in range(RUNS):
        drawn = rng.binomial(40, 0.9, 2)
        histogram = Histogram.from_triplets(
            np.array([0, 0, 1, 1]),
            np.array([0, 100, 0, 100]),
            np.array([40 - drawn[0], drawn[0], 40 - drawn[1], drawn[1]]),
            cells=2,
        )
        for estimate in draw_estimates(plan, answers(plan, histogram), noise):
            interval = estimate.confidence_interval(0.95)
            kept += interval.low <= 0.9 <= interval.high
            total += 1
    assert not too_low(kept, total), kept / total


@pytest.mark.parametrize("setting", [s for s in settings() if s.groups == 1 and s.missing == 0], ids=str)
def test_calibrated_bootstrap_intervals_cover_to_within_a_point(setting: Setting) -> None:
    """Not significantly below the level less one point, 800 runs a setting, k chosen from public facts."""
    result = simulate(setting, "mean", 800, np.random.default_rng([SEED, 3]), estimator="bootstrap")
    assert not too_low(result.covered, result.total, 0.94), result
