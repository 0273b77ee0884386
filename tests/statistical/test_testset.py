"""Scores of test sets by simulation: unbiased, as noisy as they say, intervals that cover, and prices that hold.

Each test of something true fails with probability below 1e-6 (fixed seeds); each names a sabotage that it rejects with
p < 1e-12.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from hedgerow.audit.verdict import audit_mechanism
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Grid
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.interface import Mechanism
from hedgerow.mechanisms.noisy_counts import GeometricCounts
from hedgerow.mechanisms.noisy_moments import MomentsGaussian, MomentsLayout, MomentsNoise
from hedgerow.mechanisms.randomised_records import Resample, SmoothedResample
from hedgerow.mechanisms.resampled_sums import ResampledCoordinate, ResampledGaussian
from hedgerow.mechanisms.sparse_vector import AnswerNoise, SparseVector, sparse_vector
from hedgerow.noise.lattice import lattice_noise
from hedgerow.noise.secure import SecureNoise
from hedgerow.resampling.counted_values import Histogram
from hedgerow.testing.simulated import SimulatedNoise
from hedgerow.testset.mechanisms.choose import choose
from hedgerow.testset.mechanisms.look_mechanism import Conditions, LookMechanism, Options, Question
from hedgerow.testset.scores import critical_difference, critical_value

SEED, ACCEPT, REJECT = 20261120, 1e-6, 1e-12
UNIT = Grid.from_bounds("accuracy", (0, 1), 1)
FINE = Grid.from_bounds("loss", (0, 2))
N = 2000
NAMES = ("gaussian", "laplace", "smoothed_resample", "resample_gaussian", "resample")


def fitted(name: str, *, grid: Grid = UNIT, looks: int = 20, relation: str = "replace-one") -> LookMechanism:
    whom = Relation(relation)
    budget = Budget(1.0, 0.9 if name == "resample" else 1e-6)
    return choose(name, Conditions(whom, budget, looks, N if relation == "replace-one" else None, grid), Options())


def binary(successes: int, n: int = N) -> Histogram:
    return histogram(np.array([n - successes, successes]))


def histogram(counts: np.ndarray) -> Histogram:
    index = np.flatnonzero(counts)
    return Histogram.from_triplets(np.zeros_like(index), index, counts[index], cells=1)


@pytest.mark.parametrize("name", NAMES)
def test_a_score_is_unbiased_and_as_noisy_as_it_says(name: str) -> None:
    """2,000 looks at one test set of accuracy .8; a claim of .7 times the error must be seen, and a shift of .2 sd."""
    look, noise, runs = fitted(name), SimulatedNoise(SEED), 2000
    found = [look.answer(Question(binary(1600)), noise).estimate for _ in range(runs)]
    values = np.array([one.estimate for one in found])
    claimed = np.mean([math.hypot(one.bootstrap_error or 0.0, one.privacy_error or 0.0) for one in found])
    expected = look.expected_error()
    assert expected is not None and claimed <= 1.01 * expected
    centred = (values - 0.8) / claimed
    assert 2 * stats.norm.sf(abs(centred.mean()) * math.sqrt(runs)) > ACCEPT
    # Kurtosis of Laplace noise is 3 above the normal's: the spread of a sample variance allows for it.
    spread_sd = math.sqrt((2.0 + (3.0 if name == "laplace" else 0.0)) / runs)
    assert 2 * stats.norm.sf(abs(centred.var() - 1.0) / spread_sd) > ACCEPT
    assert 2 * stats.norm.sf(abs((centred / 0.7).var() - 1.0) / spread_sd) < REJECT
    assert 2 * stats.norm.sf(abs((centred + 0.2).mean()) * math.sqrt(runs)) < REJECT


@pytest.mark.parametrize(
    ("name", "grid", "relation"),
    [
        ("gaussian", UNIT, "replace-one"),
        ("gaussian", FINE, "replace-one"),
        ("gaussian", UNIT, "add-remove"),
        ("gaussian", FINE, "add-remove"),
        ("laplace", UNIT, "replace-one"),
        ("laplace", UNIT, "add-remove"),
        ("smoothed_resample", UNIT, "replace-one"),
        ("resample_gaussian", UNIT, "replace-one"),
    ],
)
def test_a_95_percent_interval_covers_the_expected_score(name: str, grid: Grid, relation: str) -> None:
    """2,000 test sets drawn anew, each looked at once. Sabotage: the same interval without the noise's part."""
    look, noise = fitted(name, grid=grid, relation=relation), SimulatedNoise(SEED)
    rng, runs = np.random.default_rng(7), 2000
    law = np.array([0.15, 0.85]) if grid is UNIT else stats.binom.pmf(np.arange(grid.steps + 1), grid.steps, 0.3)
    if grid is FINE:  # skewed, with most of its spread between records
        law = 0.8 * law + 0.2 * stats.binom.pmf(np.arange(grid.steps + 1), grid.steps, 0.9)
    truth = float(law @ np.arange(grid.steps + 1)) * float(grid.step)
    covered = naive = 0
    for _ in range(runs):
        estimate = look.answer(Question(histogram(rng.multinomial(N, law))), noise).estimate
        interval = estimate.confidence_interval()
        covered += interval.low <= truth <= interval.high
        naive += abs(estimate.estimate - truth) <= 1.96 * (estimate.sampling_error or 0.0)
    assert covered / runs >= 0.94
    assert stats.binom.cdf(covered, runs, 0.95) > ACCEPT
    assert stats.binom.cdf(naive, runs, 0.94) < REJECT


def test_models_that_are_equal_are_seldom_told_apart() -> None:
    """300 test sets, 20 equally good models each: some pair is told apart on at most 5 % of them, on all by one's sd.

    Sabotage: z for one pair alone, without the Bonferroni correction, which fails on most test sets.
    """
    look, noise, rng, looks = fitted("gaussian", looks=20), SimulatedNoise(SEED), np.random.default_rng(3), 20
    wrong = naive = 0
    for _ in range(300):
        found = [look.answer(Question(binary(int(rng.binomial(N, 0.8)))), noise).estimate for _ in range(looks)]
        values = np.array([one.estimate for one in found])
        sampling, other = found[0].sampling_error or 0.0, found[0].privacy_error or 0.0
        widest = values.max() - values.min()
        wrong += widest > critical_difference(looks, "gaussian", 2 * sampling, (other, other))
        naive += widest > 1.96 * math.hypot(sampling, sampling, other, other)
    assert stats.binom.sf(wrong - 1, 300, 0.05) > ACCEPT
    assert stats.binom.sf(naive - 1, 300, 0.05) < REJECT


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_equal_models_are_seldom_told_apart_under_laplace_noise(delta: float) -> None:
    """400 times 200 equal models on one test set: all pairs are compared at once, and Laplace tails reach far.

    Sabotage: the same comparison with normal quantiles, which tells some pair apart most of the time.
    """
    looks = 200
    conditions = Conditions(Relation.REPLACE_ONE, Budget(1.0, delta), looks, 10_000, UNIT)
    look, noise, rng = choose("laplace", conditions, Options()), SimulatedNoise(SEED), np.random.default_rng(3)
    one = look.answer(Question(binary(8000, 10_000)), noise).estimate
    sampling, other = one.sampling_error or 0.0, one.privacy_error or 0.0
    drawn = noise.two_sided_geometric(look.described.scale, 400 * looks).reshape(400, looks) / 10_000
    widest = np.ptp(rng.binomial(10_000, 0.8, (400, looks)) / 10_000 + drawn, axis=1)
    wrong = int((widest > critical_difference(looks, "laplace", 2 * sampling, (other, other))).sum())
    naive = int((widest > critical_value(looks) * math.hypot(2 * sampling, other, other)).sum())
    assert stats.binom.sf(wrong - 1, 400, 0.05) > ACCEPT
    assert stats.binom.sf(naive - 1, 400, 0.05) < REJECT


def test_thresholdout_answers_from_the_test_set_only_where_it_must() -> None:
    """1,000 runs: a training score that agrees is returned, one that is far off is corrected; both intervals cover."""
    far = Conditions(Relation.REPLACE_ONE, Budget(2.0, 0.0), 100, N, UNIT)
    look = choose("thresholdout", far, Options(threshold=0.1, n_answers=1))
    noise, rng, paid, covered = SimulatedNoise(SEED), np.random.default_rng(5), {0.8: 0, 0.99: 0}, 0
    assert isinstance(look.described, SparseVector)
    for _ in range(1000):
        drawn = int(noise.two_sided_geometric(look.described.threshold_scale, 1)[0])
        for training in paid:
            question = Question(binary(int(rng.binomial(N, 0.8))), training, drawn, 0)
            answer = look.answer(question, noise)
            paid[training] += answer.paid
            interval = answer.estimate.confidence_interval()
            covered += interval.low <= 0.8 <= interval.high
    assert paid[0.8] == 0 and paid[0.99] == 1000
    assert stats.binom.cdf(covered, 2000, 0.95) > ACCEPT


@pytest.mark.parametrize(
    ("mechanism", "chance"), [(Resample(20, 12), 4 / 20), (SmoothedResample(20, 5, 12), (4 + 5) / (20 + 10))]
)
def test_draws_have_the_law_that_is_priced(mechanism: Resample | SmoothedResample, chance: float) -> None:
    """100,000 outputs of the released generator against Binomial(12, p), value by value; p off by .02 must be seen."""
    drawn = mechanism.successes(4, SecureNoise().generator(), 100_000)
    for p, limit in ((chance, ACCEPT), (chance + 0.02, REJECT)):
        law = stats.binom.pmf(np.arange(13), 12, p)
        often = law * 100_000 >= 50
        hits = np.bincount(drawn, minlength=13)
        seen, wanted = np.append(hits[often], hits[~often].sum()), np.append(law[often], law[~often].sum()) * 100_000
        found = stats.chi2.sf(((seen - wanted) ** 2 / wanted).sum(), len(seen) - 1)
        assert bool(found > limit) == (p == chance)


def worst(looks: str) -> tuple[Mechanism, float]:
    """Each mechanism of a test set at a size where an attack comes near its price, and the δ where it is compared."""
    noise = MomentsNoise(None, lattice_noise(2.0), None)
    thinned = ResampledGaussian(1, 0.1, "value", (ResampledCoordinate(1, lattice_noise(0.4)),), "public", 1)
    return {
        "gaussian": (MomentsGaussian(MomentsLayout(-1, 2, 1, 0, "public", 1), noise), 1e-3),
        "laplace": (GeometricCounts(1.0, 1), 0.0),
        "resample_gaussian": (thinned, 1e-2),
        "smoothed_resample": (SmoothedResample(6, 2, 2), 0.0),
        "thresholdout": (
            sparse_vector(2.0, Relation.REPLACE_ONE, reach=1, positives=1, answers=AnswerNoise(((1,),), (1.0,))),
            1e-3,
        ),
    }[looks]


@pytest.mark.parametrize("name", ["gaussian", "laplace", "resample_gaussian", "smoothed_resample", "thresholdout"])
@pytest.mark.parametrize("runs", [20_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_no_attack_crosses_the_price_of_a_look(name: str, runs: int) -> None:
    mechanism, delta = worst(name)
    noise = SimulatedNoise(SEED)
    found = audit_mechanism(mechanism, Relation.REPLACE_ONE, delta=delta, runs=runs, confidence=1 - ACCEPT, noise=noise)
    assert found.passes, found
    # Whoever claimed .4 of this price would be caught.
    assert found.epsilon_lower > 0.3 * found.epsilon_upper
