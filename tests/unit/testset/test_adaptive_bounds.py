"""Bounds for models fitted to answers: against exact computation, known figures, and each other."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import optimize, stats

from hedgerow.accounting.profile import GaussianProfile
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Grid
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.noisy_counts import GeometricCounts
from hedgerow.mechanisms.noisy_moments import MomentsGaussian
from hedgerow.testset import TestSet
from hedgerow.testset.adaptive_bounds import (
    Earlier,
    Spread,
    chernoff,
    half_width,
    information_exponent,
    split_half_width,
)
from hedgerow.testset.mechanisms.choose import choose
from hedgerow.testset.mechanisms.look_mechanism import Conditions, Options, two_sided
from hedgerow.testset.metric import Metric, accuracy, brier

UNIT = Grid.from_bounds("accuracy", (0, 1), 1)
N, LOOKS = 10_000, 1000


def conditions(epsilon: float = 1.0, *, n: int = N, looks: int = LOOKS, grid: Grid = UNIT) -> Conditions:
    return Conditions(Relation.REPLACE_ONE, Budget(epsilon), looks, n, grid)


def normal(sd: float) -> Spread:
    return lambda beta: two_sided(beta) * sd


def chebyshev_half_width(information: float, n: float, spread: Spread, beta: float = 0.05) -> float:
    """Return the bound of Rogers et al. (2020): the second moment by information, then Chebyshev, β in halves."""
    grid = np.linspace(1e-4, 1.0 - 1e-4, 2000)
    second = np.min((2.0 * information - np.log1p(-grid)) / (4.0 * n * grid))
    return float(math.sqrt(second / (beta / 2.0)) + spread(beta / 2.0))


def transfer_half_width(earlier: GaussianProfile, spread: Spread, beta: float = 0.05) -> float:
    """Return the bound of Jung et al. (2020): α + (e^ε − 1) + c + 2d with β = P(noise > α)/c + δ/d, at its least."""
    best = 1.0
    for log_delta in np.linspace(-30.0, -3.0, 28):
        delta = math.exp(log_delta)
        gap = math.expm1(earlier.epsilon_upper(delta))
        if gap >= best:
            continue
        for share in (0.1, 0.3, 0.5, 0.7, 0.9):
            d = delta / (share * beta)
            for c in np.geomspace(1e-4, 0.3, 60):
                best = min(best, spread(min(0.999, (1.0 - share) * beta * c)) + gap + c + 2.0 * d)
    return float(best)


@pytest.mark.parametrize("information", [0.0, 0.01, 1.0, 30.0])
def test_the_exponent_solves_the_data_processing_inequality(information: float) -> None:
    beta = 0.03

    def divergence(log: float) -> float:
        p = math.exp(-log)
        return beta * (math.log(beta) + log) + (1 - beta) * math.log((1 - beta) / (1 - p)) - information

    wanted = optimize.brentq(divergence, -math.log(beta), 2000.0)
    assert information_exponent(information, beta) == pytest.approx(wanted, rel=1e-6)  # the root is a double one at 0


def test_chernoff_covers_binomials_exactly() -> None:
    """P(p outside the interval of the binomial mean) ≤ e^−exponent for every p; with half the exponent it is not."""
    n, exponent = 60, 3.0
    ends = np.array([chernoff(k / n, n, exponent) for k in range(n + 1)])
    short = np.array([chernoff(k / n, n, exponent / 2 - 1) for k in range(n + 1)])
    missed = []
    for p in np.linspace(0.01, 0.99, 99):
        mass = stats.binom.pmf(np.arange(n + 1), n, p)
        assert mass[(ends[:, 0] > p) | (ends[:, 1] < p)].sum() <= math.exp(-exponent)
        missed.append(mass[(short[:, 0] > p) | (short[:, 1] < p)].sum())
    assert max(missed) > math.exp(-exponent)


def test_a_few_records_tell_no_more_than_the_information_claimed() -> None:
    """Brute force over all test sets of 4 records: a sum with Gaussian noise, then its sign asked by a second one."""
    n, sd = 4, 2.0
    records = np.array([[(place >> bit) & 1 for bit in range(n)] for place in range(2**n)])
    grid = np.linspace(-14.0, 18.0, 257)
    step = grid[1] - grid[0]
    first = stats.norm.pdf(grid[None, :], records.sum(1)[:, None], sd)
    # The second question is chosen by the first answer: the records that are kept change sides.
    sign = np.where(grid[:, None] > n / 2, [1, 1, -1, -1], [1, -1, 1, -1])
    means = records @ sign.T
    second = stats.norm.pdf(grid[None, None, :], means[:, :, None], sd)
    joint = first[:, :, None] * second / 2**n
    marginal = joint.sum(0)
    information = float((joint * np.log(joint * 2**n / marginal)).sum() * step**2)
    claimed = n * 2 * (1 / sd) ** 2 / 8.0
    assert 0.5 * claimed < information < claimed


def test_the_figures_of_a_thousand_looks() -> None:
    """n = 10,000, 1,000 looks, each bound at the noise that is best for it."""

    def best(bound: Callable[[float], float]) -> float:
        return float(min(bound(sd) for sd in np.geomspace(0.01, 0.2, 40)))

    def mu(sd: float) -> float:
        return math.sqrt(LOOKS) / (N * sd)

    published = best(lambda sd: chebyshev_half_width(N * mu(sd) ** 2 / 2.0, N, normal(sd)))
    ours = best(lambda sd: half_width(Earlier(N * mu(sd) ** 2 / 8.0), N, normal(sd)))
    assert split_half_width(N, LOOKS) == pytest.approx(0.310, abs=5e-4)
    assert published == pytest.approx(0.313, abs=5e-3)
    assert ours == pytest.approx(0.203, abs=2e-3)
    transfer = min(transfer_half_width(GaussianProfile(mu(sd)), normal(sd)) for sd in (0.05, 0.065))
    assert ours < transfer == pytest.approx(0.367, abs=2e-3)


@pytest.mark.parametrize("name", ["gaussian", "laplace", "smoothed_resample", "resample_gaussian", "thresholdout"])
def test_noise_stays_within_its_spread(name: str) -> None:
    """The exact tail of the noise beyond its spread is at most β."""
    look, beta = choose(name, conditions(looks=20), Options()), 0.01
    spread = look.spread(beta)
    described = look.described
    if isinstance(described, MomentsGaussian):
        sd = look.expected_error()
        assert sd is not None and stats.norm.sf(spread / sd) * 2 <= beta
    elif isinstance(described, GeometricCounts):
        ratio = math.exp(-1 / described.scale)
        assert 2 * ratio ** math.floor(spread * N + 1) / (1 + ratio) <= beta
    error = look.expected_error()
    assert error is not None and spread > 2.3 * error


@pytest.mark.parametrize("name", ["gaussian", "laplace", "smoothed_resample", "resample_gaussian", "thresholdout"])
def test_information_grows_with_looks_and_with_epsilon(name: str) -> None:
    small, large = (choose(name, conditions(epsilon, looks=20), Options()) for epsilon in (0.2, 1.0))
    assert small.information(0) == large.information(0) == 0.0
    assert 0.0 < small.information(5) < large.information(5) < large.information(19) < math.inf


def test_the_first_look_is_as_before_and_the_second_holds_for_fitted_models() -> None:
    y = np.arange(2000) % 2
    ts = TestSet(None, y, relation="replace-one", epsilon=1.0, n_looks=10)
    first, second = ts.score(y), ts.score(y)
    assert first.fixed_model is None and first.confidence_interval().method == "gaussian"
    interval, fixed = second.confidence_interval(), second.fixed_model
    assert interval.method == "mutual-information" and fixed is not None
    assert interval.low < fixed.low and "fixed_model" in second.to_json()
    assert ts.history[1].confidence_interval().low == interval.low
    assert ts.history[1].fixed_model == fixed


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
@pytest.mark.parametrize("metric", ["accuracy", "brier"])
def test_under_add_remove_the_interval_holds_for_a_private_number_of_records(mechanism: str, metric: str) -> None:
    y = np.arange(8000) % 2
    ts = TestSet(None, y, metric=metric, relation="add-remove", epsilon=1.0, n_looks=10, mechanism=mechanism)
    truth, sent = (1.0, y) if metric == "accuracy" else (0.04, np.where(y == 1, 0.8, 0.2))
    assert ts.score(sent).fixed_model is None
    found = ts.score(sent)
    interval, fixed = found.confidence_interval(), found.fixed_model
    assert fixed is not None and interval.low < fixed.low and interval.low < truth < interval.high + 1e-9
    assert interval.high - interval.low < 0.6 and ts.history[1].confidence_interval().low == interval.low


@pytest.mark.parametrize("metric", [accuracy(), brier()])
def test_what_an_answer_tells_of_a_record_follows_from_the_farthest_values(metric: Metric) -> None:
    """Under add-remove, all records and their number known: by brute force over pairs; half of it is refuted."""
    facts = Conditions(Relation.ADD_REMOVE, Budget(1.0), 10, None, metric.grid)
    look = choose("gaussian", facts, Options())
    ends = np.arange(0, metric.grid.steps + 1, max(1, metric.grid.steps // 64))
    moved = look.described._added(ends) / look.described._widths()
    farthest = max(float(((moved - one) ** 2).sum(axis=1).max()) for one in moved)
    told = look.of_one_record() * (8.0 if metric.grid.steps == 1 else 6.0)
    assert farthest <= told * (1 + 1e-9) and farthest > 0.99 * told
    assert look.information(3) == np.inf and look.information(0) == 0.0


def test_pure_noise_tells_of_a_record_what_two_neighbours_differ_by() -> None:
    """A 1 in place of a 0 moves both counts: the log-likelihood of one answer varies by 2/scale."""
    look = choose("laplace", Conditions(Relation.ADD_REMOVE, Budget(1.0), 10, None, accuracy().grid), Options())
    assert isinstance(look.described, GeometricCounts)
    place, scale = np.arange(-60, 61), look.described.scale
    one, zero = (-(np.abs(place - at)[:, None] + np.abs(place - 1 + at)[None, :]) / scale for at in (1, 0))
    farthest = float(np.abs(one - zero).max())
    assert farthest == pytest.approx(math.sqrt(8.0 * look.of_one_record()), rel=1e-5)


def test_few_records_under_add_remove_leave_everything_possible() -> None:
    ts = TestSet(None, [0, 1] * 5, relation="add-remove", epsilon=0.1, n_looks=10)
    ts.score([0, 1] * 5)
    interval = ts.score([0, 1] * 5).confidence_interval()
    assert (interval.low, interval.high) == (0.0, 1.0)


def test_parts_of_a_split_are_disjoint_and_fixed_by_the_key() -> None:
    look = choose("split", conditions(n=1003, looks=10), Options())
    parts = [look.rows(b"key", number) for number in range(10)]
    rows = np.concatenate([part for part in parts if part is not None])
    assert len(rows) == len(set(rows.tolist())) == 1000 and rows.max() < 1003
    again, other = look.rows(b"key", 3), look.rows(b"other", 3)
    assert parts[3] is not None and again is not None and other is not None
    assert (again == parts[3]).all() and (other != parts[3]).any()


def test_a_split_test_set_scores_each_part_once() -> None:
    """A model that is right on the first part alone is told so once; labels in order do no harm."""
    y = np.repeat([0, 1], 2000)
    ts = TestSet(None, y, relation="replace-one", epsilon=3.0, n_looks=4, mechanism="split")
    rows = ts.settings.mechanism.rows(ts._looks.secret.key, 0)
    guess = 1 - y
    guess[rows] = y[rows]
    values = [ts.score(guess).value for _ in range(4)]
    assert values[0] > 0.98 and max(values[1:]) < 0.02
    assert [one.certificate.epsilon for one in ts.history if one.certificate][1:] == [0.0] * 3
    assert ts.history[1].fixed_model is None
