"""Life tables agree with published figures, and their errors with what a simulation of the same counts shows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hedgerow.inference.survival.life_table import LifeTables
from hedgerow.inference.survival.log_rank import log_rank

# Weeks of remission of leukaemia (Freireich et al. 1963), as survival is taught: under 6-MP, and under placebo.
TREATED_EVENTS = (6, 6, 6, 7, 10, 13, 16, 22, 23)
TREATED_CENSORED = (6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35)
PLACEBO_EVENTS = (1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23)
WEEKS = tuple(float(week) for week in range(1, 36))


def tables(
    *groups: tuple[tuple[int, ...], tuple[int, ...]],
    noise_sd: float = 0.0,
    withdrawn: float = 0.0,
    census: bool = False,
) -> LifeTables:
    """The life tables of weeks, one interval for each."""
    rows = []
    for events, censored in groups:
        counts = np.zeros(2 * len(WEEKS) + 1)
        for weeks, first in ((events, 0), (censored, len(WEEKS))):
            for week in weeks:
                counts[first + week if week < len(WEEKS) else -1] += 1.0
        rows.append(counts)
    return LifeTables(np.array(rows), WEEKS, noise_sd, "laplace", census, withdrawn)


def test_kaplan_meier_and_greenwood_are_the_published_ones() -> None:
    life = tables((TREATED_EVENTS, TREATED_CENSORED))
    # S(t) = P(T > t) is P(T ≥ t + 1) of whole weeks. R's survfit, as printed in Kleinbaum and Klein, table 2.3.
    published = {6: (0.857, 0.0764), 7: (0.807, 0.0869), 10: (0.753, 0.0963), 13: (0.690, 0.1068)}
    published |= {16: (0.627, 0.1141), 22: (0.538, 0.1282), 23: (0.448, 0.1346)}
    for week, (share, error) in published.items():
        read = life.read(WEEKS.index(week + 1.0))
        assert read.value[0] == pytest.approx(share, abs=6e-4)
        assert read.sampling_error[0] == pytest.approx(error, abs=6e-5)
    # Between weeks 23 and 24 the curve is a line: survfit's median of 23 weeks is its step there.
    assert life.quantile(0.5, 0, 0.95).value == pytest.approx(23.0 + (0.5378 - 0.5) / (0.5378 - 0.4482), abs=0.005)


def test_the_log_rank_test_is_the_published_one() -> None:
    result = log_rank(tables((TREATED_EVENTS, TREATED_CENSORED), (PLACEBO_EVENTS, ())))
    assert result is not None and result.df == 1
    # Placebo ends in week 23: up to then as survdiff prints, 16.79 (expected 19.3 and 10.7 of 30 events).
    assert result.statistic == pytest.approx(16.79, abs=0.01)
    assert result.observed == (9.0, 21.0) and result.expected == pytest.approx((19.25, 10.75), abs=0.01)
    assert result.pvalue == pytest.approx(4.17e-5, rel=0.01)


def test_half_of_an_interval_is_between_all_and_none_of_it() -> None:
    groups = ((TREATED_EVENTS, TREATED_CENSORED),)
    whole, half, none = (tables(*groups, withdrawn=part).survival[0, 29] for part in (0.0, 0.5, 1.0))
    assert whole > half > none


@pytest.mark.parametrize("withdrawn", [0.0, 0.5])
def test_errors_are_those_of_a_simulation(withdrawn: float) -> None:
    """Sampling and noise apart: the slopes are right, as a finite difference would not show of both at once."""
    rng, sd = np.random.default_rng(1), 8.0
    chances = np.array([0.1, 0.15, 0.1, 0.1, 0.05, 0.1, 0.4])
    cuts, n = (1.0, 2.0, 3.0), 2000
    truth = LifeTables(n * chances[None, :], cuts, sd, "laplace", False, withdrawn)
    drawn = rng.multinomial(n, chances, size=4000).astype(np.float64)
    sampled = LifeTables(drawn, cuts, sd, "laplace", False, withdrawn)
    noisy = LifeTables(
        n * chances + rng.laplace(0.0, sd / math.sqrt(2.0), drawn.shape), cuts, sd, "laplace", False, withdrawn
    )
    for place in range(3):
        read = truth.read(place)
        assert np.std(sampled.survival[:, place]) == pytest.approx(read.sampling_error[0], rel=0.05)
        assert np.std(noisy.survival[:, place]) == pytest.approx(read.privacy_error[0], rel=0.05)
    weights, start = truth.weights_of_mean(2.5)
    mean = truth.combined(weights, start=start)
    means = start + sampled.survival @ weights
    assert np.std(means) == pytest.approx(mean.sampling_error[0], rel=0.05)
    assert mean.value[0] == pytest.approx(means.mean(), rel=0.01)


def test_a_census_has_no_sampling_error() -> None:
    life = tables((TREATED_EVENTS, TREATED_CENSORED), noise_sd=0.3, census=True)
    assert life.read(10).sampling_error[0] == 0.0 < life.read(10).privacy_error[0]
    low, high = life.ends(10, 0.95)
    assert low[0] < life.survival[0, 10] < high[0]


def test_where_the_noise_hides_who_is_at_risk_the_interval_says_so() -> None:
    # 100, 70 and 4 records at risk.
    counts = np.array([[20.0, 10.0, 1.0, 10.0, 56.0, 2.0, 1.0]])
    life = LifeTables(counts, (1.0, 2.0, 3.0), 2.0, "laplace", False, 0.0)
    assert life.reliable.tolist() == [[True, True, False]]
    low, high = life.ends(2, 0.95)
    assert low[0] == 0.0 and high[0] == life.ends(1, 0.95)[1][0] < 1.0
    # Nothing can be read: everything is possible.
    drowned = tables((TREATED_EVENTS, TREATED_CENSORED), noise_sd=100.0)
    assert [end[0] for end in drowned.ends(3, 0.95)] == [0.0, 1.0]


def test_a_sum_of_shares_is_as_uncertain_as_its_latest_cut() -> None:
    life = tables((TREATED_EVENTS, TREATED_CENSORED), noise_sd=1.0)
    clear = life.reliable[0]
    first, late = 0, int(np.flatnonzero(~clear)[0])
    assert clear[first] and late > 1
    for cuts, sure in (((first, late), False), ((first, late - 1), True), ((late,), False), ((first,), True)):
        weights = np.zeros(len(WEEKS))
        weights[list(cuts)] = 0.5
        assert bool(life.combined(weights).reliable[0]) is sure
        assert life.combined(weights).value[0] == pytest.approx(0.5 * life.survival[0, list(cuts)].sum(), rel=1e-12)


def test_errors_divide_by_less_where_the_noise_is_a_large_part() -> None:
    life = LifeTables(np.array([[0.0, 0.0, 30.0], [0.0, 0.0, 100.0]]), (1.0,), 10.0, "laplace", False, 0.0)
    sd = 10.0 * math.sqrt(3.0)  # of r = D + C + B; of a = C + B it is less
    risk, left = life.cautious_divisors
    assert risk[:, 0] == pytest.approx([max(1.0, 30.0 - (5.0 * sd - 30.0) / 2.0), 100.0])
    assert left[0, 0] == pytest.approx(30.0 - (50.0 * math.sqrt(2.0) - 30.0) / 2.0)
    assert life.divisors[0][:, 0].tolist() == [30.0, 100.0]


def test_numbers_computed_together_have_the_errors_of_their_joint_law() -> None:
    life = tables((TREATED_EVENTS, TREATED_CENSORED), (PLACEBO_EVENTS, (30,) * 20), noise_sd=0.25)
    early, late = life.joint([6, 12])
    reads = [life.read(place) for place in (6, 12)]
    # Cells are of different people: variances add. Joint moments of so few records count n/(n − 1).
    gap = late.row(0) - late.row(1)
    assert gap.estimate == pytest.approx(reads[1].value[0] - reads[1].value[1])
    assert gap.sampling_error == pytest.approx(math.hypot(*reads[1].sampling_error), rel=0.03)
    assert gap.privacy_error == pytest.approx(math.hypot(*reads[1].privacy_error), rel=0.01)
    # Of one cell: S(7) − S(13) = S(7)(1 − S(13)/S(7)).
    fall = early.row(0) - late.row(0)
    slopes = life.survival[0, 6] * life.slopes[0, 6] - life.survival[0, 12] * life.slopes[0, 12]
    assert fall.sampling_error == pytest.approx(math.sqrt(float(np.square(slopes) @ life.counts[0])), rel=0.05)
    assert fall.privacy_error == pytest.approx(0.25 * float(np.linalg.norm(slopes)), rel=0.01)
    mean = life.joint_of(*life.weights_of_mean(10.0), 10.0)
    assert (mean.row(0) - mean.row(1)).estimate > 0.0
    # A share that cannot be read makes what is computed of it unreliable.
    hidden = tables((TREATED_EVENTS, TREATED_CENSORED), noise_sd=1.0).joint([30])[0]
    assert not (hidden.row(0) * 2.0).reliable
