"""The law of averaged Laplace noise as it is drawn, and the intervals that rest on it. n as stated, fixed seeds."""

from __future__ import annotations

import numpy as np
import pytest
from reproduction.brawner_honaker.study import Law
from scipy import stats
from tests.statistical.simulations.releases import answers, draw_cells

import hedgerow as hg
from hedgerow.accounting.averaged import SummedLaplace, SummedLaw
from hedgerow.facts.relation import Relation, Target
from hedgerow.mechanisms.joint.joint_moments import JointMoments
from hedgerow.mechanisms.noisy_counts import AveragedLaplaceCounts
from hedgerow.noise.lattice import NoiseSource
from hedgerow.noise.secure import SecureNoise
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.plan import make_plan
from hedgerow.release.request import parse_request
from hedgerow.resampling.counted_values import Histogram
from hedgerow.testing.simulated import SimulatedNoise, sample

N = 20_000
ACCEPT, REJECT = 1e-6, 1e-12
SOURCES: dict[str, NoiseSource] = {"released": SecureNoise(), "stand-in": SimulatedNoise(11)}


def chi_square_p(drawn: np.ndarray, law: SummedLaw) -> float:
    """Values of at least 50 expected draws, the tails counted with the outermost."""
    z = np.arange(-400.0, 401.0)
    chances = np.exp(law.log_mass(z))
    often = z[chances * len(drawn) >= 50]
    low, high = int(often.min()), int(often.max())
    kept = np.clip(drawn, low, high).astype(int) - low
    expected = chances[(z >= low) & (z <= high)]
    expected[0], expected[-1] = (expected[0] + chances[z < low].sum()), (expected[-1] + chances[z > high].sum())
    return float(stats.chisquare(np.bincount(kept, minlength=len(expected)), expected * len(drawn)).pvalue)


@pytest.mark.entropy
@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize(("draws", "scale"), [(2, 1.0), (8, 0.7), (5, 2.0)])
def test_counts_have_the_law_that_is_priced(name: str, draws: int, scale: float) -> None:
    mechanism = AveragedLaplaceCounts(scale, draws, 1)
    zeros = np.zeros((N, 1), dtype=np.int64)
    drawn = mechanism.noisy(zeros, SOURCES[name], cells=({},), features=("count",)).values.ravel()
    assert chi_square_p(drawn, SummedLaw(draws, scale)) > 1e-9
    single = AveragedLaplaceCounts(scale, 1, 1)
    one = single.noisy(zeros, SOURCES[name], cells=({},), features=("count",)).values.ravel()
    assert chi_square_p(one * draws, SummedLaw(draws, scale)) < REJECT, "one draw used k times must be seen"
    assert chi_square_p(one, SummedLaw(draws, scale)) < REJECT, "k − 1 draws left out must be seen"


def test_moments_have_the_law_that_is_priced() -> None:
    request = parse_request([hg.mean("x", bounds=(0, 1), step=0.01)], epsilon=1.0, noise="averaged-laplace", n_draws=4)
    plan = make_plan(request, PublicFacts(Relation.REPLACE_ONE, "row", Target.POPULATION, 100))
    mechanism = plan.mechanism
    assert isinstance(mechanism, JointMoments)
    empty = Histogram.from_triplets(np.zeros(0, int), np.zeros(0, int), np.zeros(0, int), cells=1)
    drawn = sample(mechanism, empty, N, rng=3)[:, 0, :]
    law = SummedLaplace(4)
    for place, number in enumerate(mechanism.numbers.listed()):
        scaled = drawn[:, place] / number.width
        assert stats.kstest(scaled, lambda x: 1.0 - law.tail(np.atleast_1d(x))).pvalue > ACCEPT
        assert stats.kstest(scaled * 0.8, lambda x: 1.0 - law.tail(np.atleast_1d(x))).pvalue < REJECT


@pytest.mark.parametrize("target", ["population", "file"])
@pytest.mark.parametrize("draws", [1, 3, 10])
def test_intervals_of_counts_cover(target: str, draws: int) -> None:
    """4,000 intervals at 99 %: not significantly below 98.5 % (p < 1e-6); a noise 30 % wider than told is seen."""
    request = parse_request(
        hg.count(), by={"g": [0]}, epsilon=0.2, delta=0.0, noise="averaged-laplace", n_draws=draws, other=True
    )
    plan = make_plan(request, PublicFacts(Relation.ADD_REMOVE, "row", Target(target), None))
    (item,) = plan.items
    rng, runs = np.random.default_rng([7, draws]), 4_000
    assert item.design is not None
    sizes = rng.poisson(60, runs)
    truth = np.full(runs, 60) if target == "population" else sizes
    counted = Histogram.from_triplets(np.arange(runs), np.zeros(runs, int), sizes, cells=runs)
    (estimates,) = draw_cells(plan, {item.design.query: counted}, SimulatedNoise(rng))
    low, high = estimates.interval(0.99)
    covered = int(((low <= truth) & (truth <= high)).sum())
    blind = int((np.abs(estimates.estimate - truth) <= 2.5758 * 0.7 * estimates.standard_error).sum())
    assert stats.binom.cdf(covered, runs, 0.985) > ACCEPT, covered / runs
    assert stats.binom.cdf(blind, runs, 0.985) < REJECT


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("draws", [1, 10])
def test_intervals_of_means_cover(draws: int, delta: float) -> None:
    """1,500 intervals at 95 %, n = 500: not significantly below 94 % (p < 1e-6)."""
    law = Law("skewed", np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0.05]))
    asked = [hg.mean("x", bounds=(0, 1), step=0.2)]
    request = parse_request(asked, epsilon=1.0, delta=delta, noise="averaged-laplace", n_draws=draws)
    plan = make_plan(request, PublicFacts(Relation.REPLACE_ONE, "row", Target.POPULATION, 500))
    rng, runs = np.random.default_rng([9, draws]), 1_500
    sampled = rng.multinomial(500, law.probability, size=runs)
    run, index = np.nonzero(sampled)
    found = answers(plan, Histogram.from_triplets(run, index, sampled[run, index], cells=runs))
    (estimates,) = draw_cells(plan, found, SimulatedNoise(rng))
    low, high = estimates.interval(0.95)
    covered = int(((low <= law.mean) & (law.mean <= high)).sum())
    blind = int((np.abs(estimates.estimate - law.mean) <= 1.96 * 0.6 * estimates.standard_error).sum())
    assert stats.binom.cdf(covered, runs, 0.94) > ACCEPT, covered / runs
    assert stats.binom.cdf(blind, runs, 0.94) < REJECT, "intervals .6 times as wide must be seen"
