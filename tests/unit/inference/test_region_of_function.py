"""The ends of functions of totals: closed forms where there are any, poles, extrema, and rows by themselves."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from hedgerow.inference.joint.critical_values import radii
from hedgerow.inference.joint.estimates import JointEstimates, estimate
from hedgerow.inference.joint.functions import FunctionOfTotals, Numbers
from hedgerow.inference.joint.region_of_function import Ball, _Search, _top, curved_critical_value
from hedgerow.inference.joint.totals import JointTotals, SideBySide

N, SD = 1000, 10.0  # of the noise of each total: .01 of a mean
Z = float(stats.norm.ppf(0.975))


@dataclass(frozen=True)
class OfMeans(FunctionOfTotals):
    """A function of the means of features, all at once."""

    compute: Callable[[Numbers], Numbers]
    limits: tuple[float, float] = (-math.inf, math.inf)

    def _limits(self) -> tuple[float, float]:
        return self.limits

    def __call__(self, totals: Numbers) -> Numbers:
        """Return the value of each row."""
        return self.compute(totals[:, 1:] / totals[:, :1])


def census(means: Any, sd: float = SD) -> SideBySide:
    """Return noisy totals of a census, each mean with a noise of sd/N: the region is a ball about them."""
    means = np.atleast_2d(np.asarray(means, dtype=float))
    size = means.shape[1]
    sds = np.concatenate([[0.0], np.full(size, sd), np.zeros(size * (size + 1) // 2)])
    blank = np.zeros((len(means), size, size))
    return SideBySide(
        (JointTotals(np.full(len(means), float(N)), N * means, blank, np.diag(sds), "gaussian", N, census=True),)
    )


def read(compute: Callable[[Numbers], Numbers], means: Any, **limits: Any) -> JointEstimates:
    return estimate(OfMeans(compute, **limits), census(means))


def square(means: Numbers) -> Numbers:
    return means[:, 0] ** 2


def product(means: Numbers) -> Numbers:
    return means[:, 0] * means[:, 1]


def quotient(means: Numbers) -> Numbers:
    return means[:, 0] / means[:, 1]


@pytest.mark.parametrize("mean", [0.0, 0.003, -0.012, 0.019, 0.021, 0.05, 0.3])
def test_the_square_of_a_mean_has_the_squares_of_its_ends(mean: float) -> None:
    low, high = read(square, mean).accepted(0.95)
    reach = Z * SD / N
    assert low[0] == pytest.approx(max(0.0, abs(mean) - reach) ** 2, rel=1e-4, abs=1e-9)
    assert high[0] == pytest.approx((abs(mean) + reach) ** 2, rel=1e-4)


def test_the_largest_value_inside_the_ball_is_an_end() -> None:
    low, high = read(lambda m: m[:, 0] * (1.0 - m[:, 0]), [[0.5], [0.49], [0.51]]).accepted(0.95)
    assert high == pytest.approx(0.25, abs=1e-8)
    assert (low < 0.25 - 1e-4).all()


def test_a_product_of_means_that_are_zero_reaches_both_ways() -> None:
    """Along (1, ±1) the largest product within a radius c is c²/2; the level set there is no plane, so c ≥ z."""
    low, high = read(product, [0.0, 0.0]).accepted(0.95)
    least = (Z * SD / N) ** 2 / 2.0
    assert least <= high[0] <= 1.3 * least
    assert low[0] == pytest.approx(-high[0], rel=1e-3)


def test_a_quotient_has_fieller_s_ends() -> None:
    """{θ : (x − θy)² ≤ z²s²(1 + θ²)}; where 0 is among the divisors anything is possible."""
    x, y, s = 0.08, np.array([0.5, 0.1, 0.05, 0.03]), Z * SD / N
    low, high = read(quotient, np.stack([np.full(4, x), y], axis=1)).accepted(0.95)
    leading, middle, last = y**2 - s**2, x * y, x**2 - s**2
    root = np.sqrt(middle**2 - leading * last)
    assert low == pytest.approx((middle - root) / leading, rel=2e-4)
    assert high == pytest.approx((middle + root) / leading, rel=2e-4)
    for mean in (0.015, 0.001, -0.01):
        low, high = read(quotient, [x, mean], limits=(-40.0, 40.0)).accepted(0.95)
        assert (low[0], high[0]) == (-40.0, 40.0)


def test_poles_are_found_where_there_are_some() -> None:
    def has_pole(compute: Callable[[Numbers], Numbers], means: list[float]) -> bool:
        cells = census(means)
        ball = Ball.of(OfMeans(compute), cells)
        return bool(_Search(ball, cells, lambda cells, slopes: (slopes,) * 3, 0.95).has_pole(np.array([Z]))[0])

    assert has_pole(quotient, [0.08, 0.015])
    assert has_pole(quotient, [0.0, -0.001])
    assert has_pole(lambda m: m[:, 0] / (m[:, 0] - m[:, 1]), [0.3, 0.29])
    assert not has_pole(quotient, [0.08, 0.025])
    assert not has_pole(square, [0.001])
    assert not has_pole(product, [0.0, 0.0])


def test_where_a_function_ends_its_range_does() -> None:
    root = read(lambda m: np.where(m[:, 0].real > 0.0, np.sqrt(m[:, 0]), np.nan), 0.01, limits=(0.0, 1.0))
    low, high = root.accepted(0.95)
    assert low[0] == 0.0
    assert high[0] == pytest.approx(math.sqrt(0.01 + Z * SD / N), rel=1e-3)


def test_two_hills_are_both_climbed() -> None:
    """The higher one is behind the estimate, down its slope."""
    low, high = read(lambda m: np.cos(200.0 * m[:, 0]) + 20.0 * m[:, 0], 0.012).accepted(0.95)
    grid = np.linspace(0.012 - Z * SD / N, 0.012 + Z * SD / N, 20_001)
    values = np.cos(200.0 * grid) + 20.0 * grid
    assert high[0] == pytest.approx(values.max(), rel=1e-3)
    assert low[0] == pytest.approx(values.min(), rel=1e-3)


def test_no_end_is_the_estimate_where_there_is_a_slope() -> None:
    means = np.random.default_rng(5).normal(0.0, 0.02, (300, 2))
    for compute in (product, quotient, lambda m: (1.0 + m[:, 0] * m[:, 1]) / (1.0 + m[:, 0] ** 2)):
        made = read(compute, means)
        low, high = made.accepted(0.95)
        moved = 1e-3 * np.sqrt(made.tangent.variance)
        assert (low < made.value - moved).all()
        assert (high > made.value + moved).all()


def test_a_row_does_not_depend_on_the_others() -> None:
    means = np.random.default_rng(6).normal(0.0, 0.03, (12, 2))
    for compute in (product, quotient, lambda m: m[:, 0] ** 2 + m[:, 1] ** 2):
        low, high = read(compute, means).accepted(0.95)
        for row in range(len(means)):
            ends = read(compute, means[row]).accepted(0.95)
            assert (ends[0][0], ends[1][0]) == (low[row], high[row])


def test_a_higher_level_reaches_farther() -> None:
    means = np.random.default_rng(7).normal(0.0, 0.03, (50, 2))
    for compute in (product, quotient, lambda m: m[:, 0] ** 2 + m[:, 1] ** 2):
        made = read(compute, means)
        ends = [made.accepted(level) for level in (0.5, 0.9, 0.95, 0.999)]
        for (low, high), (lower, higher) in pairwise(ends):
            scale = np.where(np.isfinite(high - low), 1e-3 * (high - low), 0.0)
            assert (lower <= low + scale).all()
            assert (higher >= high - scale).all()


@pytest.mark.parametrize(("curvature", "size"), [(0.7, 5.0), (3.0, 3.0), (1e4, 10.0)])
def test_critical_values_hold_their_level_and_smaller_ones_do_not(curvature: float, size: float) -> None:
    """2,000,000 runs of the distance to a sphere; a critical value 1 per cent small is rejected."""
    rng, runs = np.random.default_rng([int(size), 9]), 2_000_000
    across = stats.chi2.rvs(size - 1.0, size=runs, random_state=rng)
    distance = np.abs(np.sqrt(np.square(rng.standard_normal(runs) + 1.0 / curvature) + across) - 1.0 / curvature)
    exact = np.array([np.inf])
    critical = float(curved_critical_value(np.array([curvature]), np.array([size]), exact, 0.95)[0][0])
    assert stats.binomtest(int((distance <= critical).sum()), runs, 0.95).pvalue > 1e-6
    assert stats.binomtest(int((distance <= 0.99 * critical).sum()), runs, 0.95).pvalue < 1e-12


def test_a_flat_level_set_has_the_critical_value_of_one_number() -> None:
    for size in (1.0, 4.0, 20.0):
        critical, counted = curved_critical_value(np.zeros(1), np.array([size]), np.array([np.inf]), 0.9)
        assert critical[0] == pytest.approx(stats.norm.ppf(0.95))
        assert counted[0] == 0.0


@pytest.mark.parametrize(("room", "known"), [(3.4, False), (3.9, False), (3.95, True), (5.0, True)])
def test_an_interval_as_wide_as_all_that_is_possible_says_nothing(room: float, known: bool) -> None:
    """`room`: what is possible, in standard deviations of the noise; an interval of 95 % is 3.92 wide."""
    limits = -0.5 * room * SD / N, 0.5 * room * SD / N
    got = read(lambda m: m[:, 0] + 0.0, [[0.0]], limits=limits)
    assert got.known.tolist() == [known]
    low, high = got.accepted(0.5)
    assert ((low[0], high[0]) == limits) == (not known)


@pytest.mark.parametrize("size", [1, 2, 5, 12])
@pytest.mark.parametrize("bent", ["any way", "down", "up", "not", "flat along the strongest bend", "from a standstill"])
def test_the_top_of_a_model_of_second_order_is_the_highest_point_of_the_ball(size: int, bent: str) -> None:
    rng, rows = np.random.default_rng(29), 200
    half = rng.normal(size=(rows, size, size)) * 10.0 ** rng.uniform(-2, 2, (rows, 1, 1))
    square = half @ half.transpose(0, 2, 1)
    bends = {"down": -square, "up": square, "not": 0.0 * half}.get(bent, half + half.transpose(0, 2, 1))
    slopes = rng.normal(size=(rows, size)) * 10.0 ** rng.uniform(-3, 3, (rows, 1))
    spread, axes = np.linalg.eigh(bends)
    if bent == "flat along the strongest bend":
        slopes -= np.einsum("ri,ri->r", slopes, axes[:, :, -1])[:, None] * axes[:, :, -1]
    slopes *= bent != "from a standstill"
    radius = 10.0 ** rng.uniform(-1, 1, rows)
    u = _top(slopes, bends, radius)
    inside = 1.0 - np.linalg.norm(u, axis=1) / radius
    assert (inside >= -1e-14).all()
    # Moré and Sorensen 1983, lemma 2.4: u is the top if and only if (μ − B)u = slopes, μ at least 0 and each bend, and
    # μ = 0 inside the ball.
    slope_there = slopes + np.einsum("rij,rj->ri", bends, u)
    mu = np.einsum("ri,ri->r", slope_there, u) / radius**2
    scale = np.linalg.norm(slopes, axis=1) / radius + np.abs(spread).max(axis=1)
    assert (
        np.linalg.norm(slope_there - mu[:, None] * u, axis=1) <= 1e-7 * scale * radius
    ).all()  # a root of rounding, where nothing holds u
    assert (mu >= np.maximum(spread[:, -1], 0.0) - 1e-9 * scale).all()
    assert ((inside <= 1e-12) | (np.abs(mu) <= 1e-9 * scale)).all()
    alone = [_top(slopes[row : row + 1], bends[row : row + 1], radius[row : row + 1])[0] for row in range(0, rows, 20)]
    assert np.array_equal(u[::20], alone)


def test_a_step_is_foreseen_where_the_function_is_its_model() -> None:
    """Second order from the estimate: exact of a quadratic function, wrong of waves that are shorter than the disc."""
    cells = census([[0.0, 0.0], [0.01, -0.02]])
    for compute, expected in ((lambda m: m[:, 0] + 10.0 * m[:, 1] ** 2, True), (HARD["waves"], False)):
        function = OfMeans(compute)  # type: ignore[arg-type]  # both take numbers
        ball = Ball.of(function, cells)
        search = _Search(ball, cells, lambda cells, slopes: (Z * np.ones(len(slopes)),) * 3, 0.95)
        starts = search._starts(1.0, ball.slopes(np.zeros((2, 2))))[:1]
        assert search._best(1.0, np.full(2, 2.0), starts)[3].tolist() == [expected] * 2


HARD: dict[str, Callable[[Numbers], Numbers]] = {
    "waves": lambda m: np.sin(100.0 * m[:, 0]) * np.sin(100.0 * m[:, 1] + 0.3),
    "growth": lambda m: np.exp(60.0 * m[:, 0]) - np.exp(30.0 * m[:, 1]),
    "a bent valley": lambda m: (1.0 - 50.0 * m[:, 0]) ** 2 + 100.0 * (50.0 * m[:, 1] - (50.0 * m[:, 0]) ** 2) ** 2,
    "a hole": lambda m: np.log(1e-4 + (m[:, 0] - 0.01) ** 2 + m[:, 1] ** 2),
    "a peak": lambda m: 1.0 / (1e-4 + (m[:, 0] - 0.011) ** 2 + 3.0 * (m[:, 1] + 0.004) ** 2),
    "a saddle": lambda m: (50.0 * m[:, 0]) ** 4 - (30.0 * m[:, 1]) ** 2 * (40.0 * m[:, 0]),
}


@pytest.mark.parametrize("radius", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("name", HARD)
def test_the_search_finds_the_extremes_of_functions_that_are_far_from_their_models(
    name: str, sign: float, radius: float
) -> None:
    """Over discs about eight means, by a fine grid of each disc."""
    function = OfMeans(HARD[name])
    away = [[0, 0], [4, -3], [12, 6], [-20, 10], [30, 30], [-11, -17], [20, -20], [1, 20]]
    cells = census(np.array(away) / 1000.0)
    ball = Ball.of(function, cells)
    search = _Search(ball, cells, lambda cells, slopes: (Z * np.ones(len(slopes)),) * 3, 0.95)
    starts = search._starts(sign, ball.slopes(np.zeros((8, 2))))
    u, value, lost, _ = search._best(sign, np.full(8, radius), starts)
    assert not lost.any() and (np.linalg.norm(u, axis=1) <= radius * (1.0 + 1e-9)).all()
    assert value == pytest.approx(function(ball.totals(u)), rel=1e-12)
    turn, out = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 361), np.linspace(0.0, radius, 81))
    disc = np.stack([(out * np.cos(turn)).ravel(), (out * np.sin(turn)).ravel()], axis=1)
    for row in range(8):
        every = sign * function(ball.centre[row] + disc @ ball.axes[row].T)
        assert sign * value[row] >= every.max() - 5e-6 * np.ptp(every)


def sampled(means: list[float], covariance: Any, n: int, sds: list[float]) -> SideBySide:
    """Return one row of totals of n records; sds of the noise on (N, S, upper triangle of Q)."""
    about = np.array([means])
    products = n * (np.array([covariance]) + about[:, :, None] * about[:, None, :])
    return SideBySide((JointTotals(np.array([float(n)]), n * about, products, np.diag(sds), "gaussian", n),))


def test_a_hidden_covariance_sends_no_search_beyond_where_a_function_is_defined() -> None:
    """The noise hides the covariance of the two means, so that the ball is far wider than their difference varies.

    The logarithm of a difference has flat level sets: its ends are the logarithms of the ends of the difference.
    """

    def log_of_difference(means: Numbers) -> Numbers:
        apart = means[:, 0] - means[:, 1]
        defined = apart.real > 0.0
        return np.where(defined, np.log(np.where(defined, apart, 1.0)), np.nan)

    apart = 0.04
    cells = sampled([0.2 + apart, 0.2], [[0.09, 0.08], [0.08, 0.09]], 1000, [0.0, 1.0, 1.0, 1.0, 81.0, 1.0])
    made = estimate(OfMeans(log_of_difference), cells)
    below, above = radii(made.tangent, 0.95)
    error = apart * np.sqrt(made.tangent.variance)
    low, high = made.accepted(0.95)
    assert low == pytest.approx(np.log(apart - below * error), rel=1e-4)
    assert high == pytest.approx(np.log(apart + above * error), rel=1e-4)


@pytest.mark.parametrize("mean", [0.3, 0.5])
def test_a_sampling_variance_below_0_takes_nothing_off_the_noise(mean: float) -> None:
    """Noise on the products can make it negative: the ends are those of the noise alone."""
    low, high = estimate(OfMeans(square), sampled([mean], [[-0.05]], N, [0.0, SD, 1.0])).accepted(0.95)
    assert low[0] == pytest.approx((mean - Z * SD / N) ** 2, abs=1e-5)
    assert high[0] == pytest.approx((mean + Z * SD / N) ** 2, abs=1e-5)


@pytest.mark.parametrize("part", [0.91, 0.95, 0.99, 0.995])
def test_a_top_just_inside_the_reach_of_few_records_is_the_end(part: float) -> None:
    cells = sampled([0.0], [[0.09]], 12, [0.0, 1e-6, 1e-6])
    reach = float(estimate(OfMeans(lambda m: m[:, 0]), cells).accepted(0.95)[1][0])
    top = part * reach
    _, high = estimate(OfMeans(lambda m: -((m[:, 0] - top) ** 2)), cells).accepted(0.95)
    assert high[0] == pytest.approx(0.0, abs=1e-5 * reach**2)


@pytest.mark.parametrize(("length", "level"), [(4.0, 0.95), (3.0, 0.5)])
def test_the_radius_settles_where_a_level_set_bends_more_the_farther_one_goes(length: float, level: float) -> None:
    """Through the lower end of |m|² goes a sphere of radius |m| − c, with c its own critical value."""
    size = 8
    low, _ = read(lambda m: (m**2).sum(axis=1), np.full(size, length * SD / N / math.sqrt(size))).accepted(level)

    def beyond(c: float) -> float:
        curvature = np.array([1.0 / (length - c)])
        critical, _ = curved_critical_value(curvature, np.array([float(size)]), np.array([np.inf]), level)
        return float(critical[0]) - c

    reach = optimize.brentq(beyond, 0.1, length - 1e-9)
    assert length - math.sqrt(low[0]) / (SD / N) == pytest.approx(reach, rel=0.0075)


def test_without_second_derivatives_at_the_estimate_both_ends_are_all_that_is_possible() -> None:
    """Two hundredths of a standard error below the estimate the function has no value, nor a slope."""
    undefined = complex(math.nan, math.nan)
    root = read(lambda m: np.where(m[:, 0].real > 0.0, np.sqrt(m[:, 0]), undefined), 1e-4, limits=(0.0, 9.0))
    low, high = root.accepted(0.95)
    assert root.known[0]
    assert (low[0], high[0]) == (0.0, 9.0)
