"""Quantiles, shares, bins and bands of flat trees, one edge at a time: by roots, loops and the covariance itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats
from tests.unit.inference.score_oracle import quantile

from hedgerow.inference.distribution.inequality import gini, lorenz, share_below_of_median
from hedgerow.inference.distribution.noisy_distribution import (
    Distribution,
    _edge,
    band,
    first_reached,
    shares_below,
    simulated,
)
from hedgerow.inference.distribution.noisy_tree import ErrorLaw, NoisyTree
from hedgerow.inference.distribution.vote_spread import SpreadNumbers, VoteSpread, record_of, spans_of

EDGES = np.array([0.0, 1.0, 3.0, 3.5, 6.0, 10.0])
VARIANCES = np.array([3.0, 1.0, 2.0, 4.0, 2.5])


def covariance(root: float | None) -> np.ndarray:
    """The covariance of the leaves by least squares: measured, and their sum with the variance `root`; 0: known."""
    if root == 0.0:
        return np.diag(VARIANCES) - np.outer(VARIANCES, VARIANCES) / VARIANCES.sum()
    precision = np.diag(1.0 / VARIANCES) + (0.0 if root is None else 1.0 / root)
    return np.asarray(np.linalg.inv(precision))


def flat(
    counts: list[float],
    *,
    root: float | None = 0.0,
    largest: float = 0.0,
    census: bool = False,
    step: float | None = None,
    edges: np.ndarray = EDGES,
    averaged: bool = True,
    spread: VoteSpread | None = None,
) -> Distribution:
    left = np.append(0.0, np.cumsum(counts))
    tree = NoisyTree(5, (5,), (VARIANCES,), root)
    return Distribution(edges, left, float(left[-1]), tree, largest, census, step, averaged, spread)


COUNTS = [120.0, 80.0, 150.0, 90.0, 60.0]


def noise_of(first: int, last: int, share: float, root: float | None) -> float:
    weights = ((np.arange(5) >= first) & (np.arange(5) < last)) - share
    return max(float(weights @ covariance(root) @ weights), 0.0)


def reach_of(found: Distribution, share: float, noise: float, level: float, effect: float = 1.0) -> float:
    """How far a count may lie from its share of all: the binomial law is normal here; half a record is added."""
    sampling = 0.0 if found.census else found.records * share * (1.0 - share) * effect
    laplace = min(noise, math.sqrt(noise * found.largest))
    return quantile("laplace", level, math.sqrt(sampling + noise - laplace), math.sqrt(laplace)) + 0.5


KINDS: dict[str, dict[str, Any]] = {
    "public": {},
    "Laplace": {"largest": 4.0, "root": None},
    "census": {"census": True, "root": 2.0, "largest": 4.0},
    "one record": {"census": True, "root": 2.0},
}


def counts_of(kind: str) -> list[float]:
    """The counts; one record and a little more has shares, too."""
    return [count * 1.05 / 500.0 for count in COUNTS] if kind == "one record" else COUNTS


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_ends_of_a_quantile_are_leaves_whose_counts_are_no_surprise(kind: str, level: float) -> None:
    found = flat(counts_of(kind), **KINDS[kind])
    root = KINDS[kind].get("root", 0.0)
    for q in (0.1, 0.25, 0.4, 0.41, 0.69, 0.7, 0.72, 0.9):
        moved = [float(found.left[edge] - q * found.records) for edge in range(6)]
        reach = [reach_of(found, q, noise_of(0, edge, q, root), level) for edge in range(6)]
        low = next((EDGES[t] for t in range(4) if moved[t + 1] + reach[t + 1] >= 0.0), EDGES[4])
        high = next((EDGES[t + 1] for t in range(4, 0, -1) if moved[t] - reach[t] <= 0.0), EDGES[1])
        read = found.quantile(q, level)
        assert (read.low, read.high) == (low, high)
        # What an error of the share moves the quantile by: half the distance of the quantiles at q ± error.
        near = min(max(sum(found.left[edge] < q * found.records for edge in range(6)), 1), 4)
        drawn = 0.0 if found.census else found.records * q * (1.0 - q)
        noise = noise_of(0, near, q, root)
        shares = found.left / found.records
        total, alone = (
            float(np.diff(np.interp(np.clip([q - error, q + error], 0.0, 1.0), shares, EDGES))[0]) / 2.0
            for error in (math.sqrt(drawn + noise) / found.records, math.sqrt(drawn) / found.records)
        )
        assert read.standard_error == pytest.approx(total, rel=1e-9)
        assert read.sampling_error == pytest.approx(min(alone, total), rel=1e-9, abs=1e-12)
        assert read.privacy_error == pytest.approx(math.sqrt(max(total**2 - min(alone, total) ** 2, 0.0)), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_point_of_a_quantile_is_the_mean_over_the_noise_of_all_edges(kind: str) -> None:
    settings = KINDS[kind]
    found, still = (flat(counts_of(kind), averaged=averaged, **settings) for averaged in (True, False))
    root = settings.get("root", 0.0)
    sd = math.sqrt(np.mean([noise_of(0, edge, 0.5, root) for edge in range(6)])) / found.records
    z = stats.norm.ppf((np.arange(15) + 0.5) / 15)
    z /= math.sqrt(np.mean(z**2))
    for q in (0.3, 0.55, 0.8):
        places = np.interp(np.clip(q + sd * z, 0.0, 1.0), found.left / found.records, EDGES)
        read = found.quantile(q)
        assert read.value == pytest.approx(min(max(places.mean(), read.low), read.high), rel=1e-9)
        assert still.quantile(q).value == pytest.approx(np.interp(q, found.left / found.records, EDGES), rel=1e-12)


def test_a_point_on_a_declared_grid_is_the_value_nearest_to_the_mean() -> None:
    edges = np.array([0.0, 1.5, 3.5, 5.5, 7.5, 9.0])
    found = flat([20.0, 30.0, 25.0, 15.0, 10.0], step=1.0, edges=edges)
    sd = math.sqrt(np.mean([noise_of(0, edge, 0.5, 0.0) for edge in range(6)])) / 100.0
    z = stats.norm.ppf((np.arange(15) + 0.5) / 15)
    z /= math.sqrt(np.mean(z**2))
    for q in (0.15, 0.3, 0.52, 0.77):
        shares = np.clip(q + sd * z, 0.0, 1.0)
        # Each of the two values of a leaf has half of its share.
        values = [next(v for v in range(10) if shares_of(found.left / 100.0, v) >= share - 1e-9) for share in shares]
        mean = float(np.mean(values))
        assert found.quantile(q).value == pytest.approx(round(mean), abs=1e-12)
        assert found.quantile(q).standard_error >= 1.0 / math.sqrt(12.0)


def shares_of(curve: np.ndarray, value: int) -> float:
    """P(X ≤ value) on the grid 0, 1 … 9, two values a leaf."""
    return float(curve[value // 2] + (curve[value // 2 + 1] - curve[value // 2]) * (value % 2 + 1) / 2.0)


def ends_of(found: Distribution, first: int, last: int, level: float, root: float | None) -> tuple[float, float]:
    """All shares p for which the count between two edges is no surprise, by roots."""
    if first >= last:
        return 0.0, 0.0
    if (first, last) == (0, 5):
        return 1.0, 1.0
    count = float(found.left[last] - found.left[first])

    def beyond(side: float) -> Callable[[float], float]:
        def at(p: float) -> float:
            reach = reach_of(found, p, noise_of(first, last, p, root), level)
            return side * (count - p * found.records) - reach

        return at

    start = count / found.records
    low = optimize.brentq(beyond(1.0), 0.0, start, xtol=1e-14) if beyond(1.0)(0.0) > 0.0 else 0.0
    high = optimize.brentq(beyond(-1.0), start, 1.0, xtol=1e-14) if beyond(-1.0)(1.0) > 0.0 else 1.0
    return low, high


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_shares_and_bins_have_the_ends_that_roots_give(kind: str, level: float) -> None:
    found, root = flat(counts_of(kind), **KINDS[kind]), KINDS[kind].get("root", 0.0)
    curve = found.left / found.records
    for low, high in ((-math.inf, 3.0), (1.0, 6.0), (2.0, 3.2), (0.5, 7.0), (3.0, math.inf), (3.5, 20.0), (4.0, 3.6)):
        read = found.bin(low, high, level)
        value = max(float(np.interp(high, EDGES, curve) - np.interp(low, EDGES, curve)), 0.0)
        assert read.value == pytest.approx(value, abs=1e-12)
        inner = max(np.searchsorted(EDGES, low), 0), max(np.searchsorted(EDGES, high, side="right") - 1, 0)
        outer = max(np.searchsorted(EDGES, low, side="right") - 1, 0), min(np.searchsorted(EDGES, high), 5)
        least = ends_of(found, int(inner[0]), int(inner[1]), level, root)[0]
        most = ends_of(found, int(outer[0]), int(outer[1]), level, root)[1]
        assert read.low == pytest.approx(max(min(least, value), 0.0), abs=1e-9), (low, high)
        assert read.high == pytest.approx(min(max(most, value), 1.0), abs=1e-9), (low, high)
        drawn = 0.0 if found.census else found.records * value * (1.0 - value)
        noise = noise_of(int(outer[0]), int(outer[1]), value, root)
        assert read.standard_error == pytest.approx(math.sqrt(drawn + noise) / found.records, rel=1e-9)
        assert read.sampling_error == pytest.approx(math.sqrt(drawn) / found.records, rel=1e-9)
        below = found.share_below(high, level)
        assert below == found.bin(-math.inf, high, level)


@pytest.mark.parametrize("q", [0.004, 0.02, 0.5, 0.985])
@pytest.mark.parametrize(("n", "effect"), [(60.0, 1.0), (900.0, 1.0), (300.0, 2.0)])
@pytest.mark.parametrize("largest", [0.0, 2.0])
def test_a_reach_of_few_records_is_that_of_the_binomial_law(q: float, n: float, effect: float, largest: float) -> None:
    """The chance beyond it, a sum over all numbers of successes, is half of what the level leaves on each side."""
    law, level = ErrorLaw(n, q, False, largest, effect), 0.9
    if n * q * (1.0 - q) * effect >= 10.0 * effect**2:
        return
    for variance in (0.3, 1.5, 9.0):
        below, above = (float(end[0]) for end in law.reach(np.array([variance]), level))
        fewer = round(n / effect)
        won = np.arange(fewer + 1)
        chances, error = stats.binom.pmf(won, fewer, q), (won - fewer * q) * effect
        laplace = min(variance, math.sqrt(variance * largest))
        normal = max(variance - laplace, 1e-6 * variance)

        def tail(h: float, normal: float = normal, laplace: float = laplace) -> float:
            """P(Z > h) by a sum over quantiles of the Laplace number."""
            if laplace == 0.0:
                return float(stats.norm.sf(h / math.sqrt(normal)))
            s, b = math.sqrt(normal), math.sqrt(laplace / 2.0)
            if normal <= 2e-6 * laplace:
                return float(stats.laplace.sf(h, scale=b))
            x = np.linspace(-40.0 * b, 40.0 * b, 20_001)
            return float(np.trapezoid(stats.norm.sf((h - x) / s) * stats.laplace.pdf(x, scale=b), x))

        for side, reach in ((-1.0, below), (1.0, above)):
            beyond = sum(
                chance * tail(reach - 0.5 - side * err)
                for chance, err in zip(chances, error, strict=True)
                if chance > 1e-12
            )
            assert beyond == pytest.approx(0.05, rel=2e-3)
            assert law.excess(side * (reach - 0.01), variance, level, above=side > 0.0) < 0.0
            assert law.excess(side * (reach + 0.01), variance, level, above=side > 0.0) > 0.0


@pytest.mark.parametrize("q", [1e-5, 1.0 - 1e-5])
def test_of_many_records_few_numbers_of_successes_are_looked_at(q: float) -> None:
    """Of a million records ten are expected on the rarer side: all numbers at all places would not fit in memory."""
    chances, error = ErrorLaw(1e6, q, False, 0.0)._won(1.0)
    assert len(chances) == len(error) < 400
    assert math.fsum(chances) == pytest.approx(1.0, abs=1e-12)
    assert math.fsum(chances * error**2) == pytest.approx(1e6 * q * (1.0 - q), rel=1e-9)


def test_many_records_are_read_by_the_normal_law() -> None:
    law = ErrorLaw(1000.0, 0.3, False, 2.0, 1.5)
    assert law.sampling == pytest.approx(315.0) and ErrorLaw(1000.0, 0.3, True, 2.0).sampling == 0.0
    variance = np.array([1.0, 30.0])
    assert law.spread(variance) == pytest.approx(np.sqrt(315.0 + variance))
    normal, laplace = law.parts(variance)
    assert laplace == pytest.approx([1.0, math.sqrt(60.0)]) and normal + laplace == pytest.approx(variance)
    below, above = law.reach(variance, 0.95)
    exact = [
        quantile("laplace", 0.95, math.sqrt(315.0 + a), math.sqrt(b)) + 0.5
        for a, b in zip(normal, laplace, strict=True)
    ]
    assert below.tolist() == above.tolist() == pytest.approx(exact, rel=1e-9)
    for side in (1.0, -1.0):
        assert law.excess(side * exact[1] + side * 1e-6, 30.0, 0.95, above=side > 0.0) == pytest.approx(1e-6, rel=1e-3)
        assert law.excess(side * exact[1] - side * 1e-6, 30.0, 0.95, above=side > 0.0) == pytest.approx(-1e-6, rel=1e-3)


@pytest.mark.parametrize("end", [0.0, 1.0])
@pytest.mark.parametrize("edge", [1e-9, 0.2, 0.49])
@pytest.mark.parametrize(
    ("excess", "most"),
    [
        (lambda away: away, 8),
        (lambda away: math.expm1(40.0 * away), 25),
        (lambda away: away**3, 70),
        (lambda away: 1e6 if away > 0.0 else -1e-6, 70),  # a jump
        (lambda away: math.inf if away > 0.0 else away, 70),
    ],
)
def test_the_last_excluded_share_is_found_in_few_steps(
    excess: Callable[[float], float], most: int, edge: float, end: float
) -> None:
    edge, tried = (edge if end == 0.0 else 1.0 - edge), list[float]()

    def counted(share: float) -> float:
        tried.append(share)
        return excess((edge - share) * (1.0 if end == 0.0 else -1.0))

    found = _edge(counted, end, 0.5)
    assert found == pytest.approx(edge, rel=3e-15, abs=3e-18)
    assert excess((edge - found) * (1.0 if end == 0.0 else -1.0)) > 0.0  # outwards: the interval holds the edge
    assert len(tried) <= most


def test_a_curve_is_read_where_it_is_flat_and_where_it_jumps() -> None:
    curve, edges = np.array([0.0, 0.25, 0.25, 0.75, 1.0]), np.array([0.0, 2.0, 4.0, 4.0, 8.0])
    q = np.array([0.0, 0.125, 0.25, 0.3, 0.75, 0.875, 1.0])
    assert first_reached(curve, edges, q).tolist() == [0.0, 1.0, 2.0, 4.0, 4.0, 6.0, 8.0]
    x = np.array([-1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 9.0])
    assert shares_below(curve, edges, x).tolist() == [0.0, 0.0, 0.125, 0.25, 0.25, 0.25, 0.875, 1.0, 1.0]


@pytest.mark.parametrize("census", [False, True])
def test_simulated_curves_vary_as_the_covariance_says(census: bool) -> None:
    """600 draws: a variance is within 6·√(2/600) of the exact one, a correlation within .25."""
    for root in (0.0, None, 2.0):
        found = flat(COUNTS, root=root, census=census)
        drawn, curve = simulated(found), found.left / found.records
        assert drawn.places.tolist() == [0, 1, 2, 3, 4, 5]
        forms = (np.arange(5) < np.arange(6)[:, None]) - curve[:, None]
        exact = forms @ covariance(root) @ forms.T / found.records**2
        least = np.minimum(curve[:, None], curve)
        bridge = np.zeros((6, 6)) if census else (least - curve[:, None] * curve) / found.records
        for part, wanted in ((drawn.noise, exact), (drawn.sampling, bridge)):
            assert part.shape == (600, 6) and not np.abs(part[:, [0, 5]]).max() > 1e-12
            sd = np.sqrt(np.diag(wanted)[1:-1])
            if not sd.any():
                assert not part.any()
                continue
            assert np.abs(part[:, 1:-1].mean(axis=0)).max() < 6.0 / math.sqrt(600) * sd.max()
            measured = part[:, 1:-1].T @ part[:, 1:-1] / 600
            assert np.diag(measured) == pytest.approx(sd**2, rel=6.0 * math.sqrt(2.0 / 600))
            assert measured / np.outer(sd, sd) == pytest.approx((wanted[1:-1, 1:-1]) / np.outer(sd, sd), abs=0.3)


@pytest.mark.parametrize("census", [False, True])
@pytest.mark.parametrize("counts", [[2.0, 80.0, 150.0, 90.0, -3.0], [1.0, 2.0, 3.0, 2.0, 1.0]])
def test_a_band_reaches_as_far_as_the_worst_edge_of_its_draws(counts: list[float], census: bool) -> None:
    found = flat(counts, root=None, census=census)
    around, drawn, curve = band(found, 0.9), simulated(found), np.asarray(found.curve)
    n, sd = found.records, []
    for edge, share in enumerate(curve):
        least = min(5.0 / n, 0.5)
        inside = min(max(share, least), 1.0 - least)
        forms = (np.arange(5) < edge) - share
        drawn_variance = 0.0 if census else inside * (1.0 - inside) / n
        sd.append(math.sqrt(drawn_variance + forms @ covariance(None) @ forms / n**2))
    largest = np.sort([max(abs(row[1:-1]) / sd[1:-1]) for row in drawn.sampling + drawn.noise])
    reach = largest[math.ceil(0.9 * 599)] * np.array(sd) + 0.5 / n
    raw = found.left / n
    low = [max(max(raw[: edge + 1] - reach[: edge + 1]), 0.0) for edge in range(6)]
    high = [min(min(raw[edge:] + reach[edge:]), 1.0) for edge in range(6)]
    assert around.low.tolist() == pytest.approx([0.0, *low[1:-1], 1.0], abs=1e-12)
    assert around.high.tolist() == pytest.approx([0.0, *high[1:-1], 1.0], abs=1e-12)
    assert around.edges.tolist() == EDGES.tolist() and around.level == 0.9


def test_the_noise_of_a_simulated_count_of_all_has_mean_0() -> None:
    """Where most values lie in the first leaf, the noise of the count of all moves every share."""
    found = flat([480.0, 5.0, 5.0, 5.0, 5.0], root=0.5)
    noise, curve = simulated(found).noise[:, 1:-1], found.left[1:-1] / found.records
    drawn = simulated(found).sampling[:, 1:-1] / np.sqrt(curve * (1.0 - curve) / found.records)
    assert np.abs(drawn.mean(axis=0)).max() < 4.0 / math.sqrt(600)
    forms = (np.arange(5) < np.arange(1, 5)[:, None]) - curve[:, None]
    sd = np.sqrt(np.einsum("ei,ij,ej->e", forms, covariance(0.5), forms)) / found.records
    assert noise.std(axis=0) == pytest.approx(sd, rel=6.0 * math.sqrt(0.5 / 600))
    assert np.abs(noise.mean(axis=0) / sd).max() < 4.0 / math.sqrt(600)


@pytest.mark.parametrize(
    "ask",
    [
        lambda found, *level: found.quantile(0.4, *level),
        lambda found, *level: found.share_below(130.0, *level),
        lambda found, *level: found.bin(50.0, 130.0, *level),
        lambda found, *level: band(found, *level).low.tolist(),
        lambda found, *level: gini(found, *level),
        lambda found, *level: lorenz(found, 0.5, *level),
        lambda found, *level: share_below_of_median(found, 0.6, *level),
    ],
)
def test_intervals_hold_in_95_of_100_where_no_level_is_named(ask: Callable[..., Any]) -> None:
    tree = NoisyTree(400, (400,), (np.ones(400),), 0.0)
    found = Distribution(np.arange(401.0), 2.5 * np.arange(401.0), 1000.0, tree, 0.0, False)
    assert ask(found) == ask(found, 0.95) != ask(found, 0.86)


def test_all_values_and_none_are_known() -> None:
    found = flat(COUNTS, root=2.0)
    for ends, share in (((-math.inf, math.inf), 1.0), ((0.0, 10.1), 1.0), ((3.0, 3.0), 0.0), ((12.0, math.inf), 0.0)):
        read = found.bin(*ends)
        assert (read.value, read.low, read.high, read.standard_error) == (share, share, share, 0.0)
    assert found.share_below(10.0, closed=True).low == 1.0


def test_the_least_value_of_a_grid_is_one_of_its_values() -> None:
    """Values 0 and 1 in the first leaf: no value lies below 0, and half of the leaf up to 0."""
    found = flat([20.0, 30.0, 25.0, 15.0, 10.0], step=1.0, edges=np.array([0.0, 1.5, 3.5, 5.5, 7.5, 9.0]))
    below, upto = found.share_below(0.0), found.share_below(0.0, closed=True)
    assert (below.value, below.high) == (0.0, 0.0)
    assert upto.value == pytest.approx(0.1) and upto.low == 0.0 and upto.high > 0.2
    assert found.share_below(-1.0, closed=True).high == 0.0
    assert found.share_below(1.0, closed=True).value == pytest.approx(0.2)
    assert found.share_below(9.0).value == pytest.approx(0.95) and found.share_below(9.0, closed=True).value == 1.0


def test_a_line_at_an_edge_but_for_rounding_is_that_edge() -> None:
    found = flat(COUNTS)
    for edge in (*EDGES[:-1], 9.999999999):
        for moved in (edge - 1e-9, edge + 1e-9):
            near, exact = found.share_below(moved), found.share_below(float(edge))
            assert (near.value, near.low, near.high) == pytest.approx((exact.value, exact.low, exact.high), abs=1e-8)
    between = found.share_below(1.0 + 1e-6)
    assert between.high > found.share_below(1.0).high + 0.1  # all of the leaf behind the edge


def test_a_band_lies_between_0_and_1_whatever_the_noise() -> None:
    """Counts far below 0 and far above all records: a share is never read beyond what is possible."""
    for counts in ([-60.0, -20.0, 100.0, 90.0, 60.0], [250.0, 60.0, -20.0, -80.0, -40.0]):
        found = flat(counts, root=2.0)
        around = band(found, 0.9)
        assert (around.low >= 0.0).all() and (around.high <= 1.0).all()
        assert (around.low <= 1.0).all() and (around.high >= 0.0).all()
        for ends in (around.low, around.high):
            assert (np.diff(ends) >= 0.0).all() and (ends[0], ends[-1]) == (0.0, 1.0)
        beyond = counts[0] < 0.0
        assert (around.high[1:3] == 0.0).all() if beyond else (around.low[1:3] == 1.0).all()


NUMBERS = SpreadNumbers(
    spans=np.array([[[0, 3], [1, 4], [0, 1]]]),
    shares=np.array([[0.7, 0.5, 0.2]]),
    squares=np.array([[84.0, 20.0, 640.0]]),
    sds=np.array([8.0]),
    most=3.0,
    apart=0.25,
)


def test_effects_are_squares_over_those_of_records_drawn_one_by_one() -> None:
    """Of 400 votes with share .7: 84/(400·.7·.3) = 1; half a standard deviation more is careful; 3 is the most."""
    spread = NUMBERS.of(0, 400.0)
    assert spread.shares.tolist() == [0.2, 0.7] and (spread.most, spread.apart) == (3.0, 0.25)
    assert spread.effects == pytest.approx([3.0, 1.0]) and spread.careful == pytest.approx([3.0, 1.0 + 4.0 / 84.0])
    assert spread.of_bin(1, 4, careful=False) == pytest.approx(0.2)
    assert spread.of_bin(1, 4, careful=True) == pytest.approx(0.2 + 4.0 / 100.0)
    assert spread.of_bin(1, 3, careful=False) == spread.of_bin(1, 3, careful=True) == 3.0
    assert float(spread.at(0.45, careful=False)) == pytest.approx(2.0)
    assert float(spread.at(0.9, careful=True)) == pytest.approx(1.0 + 4.0 / 84.0)
    unknown = SpreadNumbers(NUMBERS.spans, NUMBERS.shares, NUMBERS.squares, NUMBERS.sds, 3.0).of(0, 400.0)
    assert unknown.apart == 0.0 == VoteSpread(np.array([0.5]), np.ones(1), np.ones(1), 3.0).apart
    little = SpreadNumbers(NUMBERS.spans, NUMBERS.shares, 0.01 * NUMBERS.squares, NUMBERS.sds, 1e3).of(0, 1.05)
    assert little.effects == pytest.approx([6.4 / (1.05 * 0.16), 0.84 / (1.05 * 0.21)])
    few = NUMBERS.of(0, 0.5)
    assert few.effects.tolist() == [3.0, 3.0], "less than one vote is read as one"
    alone = SpreadNumbers(np.array([[[1, 4]]]), np.array([[0.5]]), np.array([[-9.0]]), np.array([2.0]), 3.0)
    only = alone.of(0, 400.0)
    assert (only.shares.tolist(), only.effects.tolist(), only.careful.tolist()) == ([0.5], [3.0], [3.0])
    # An effect that is all noise is not 0, so that nothing is divided by 0.
    assert only.of_bin(1, 4, careful=False) == 1e-6 and only.of_bin(1, 4, careful=True) == pytest.approx(0.01)
    assert record_of(NUMBERS, 0) == {
        "spans": [[0, 3], [1, 4], [0, 1]],
        "shares": [0.7, 0.5, 0.2],
        "squares": [84.0, 20.0, 640.0],
    }


def test_effects_are_released_at_five_shares_and_lines_at_most_and_at_twelve_bins() -> None:
    curve = np.linspace(0.0, 1.0, 21)
    spans, shares = spans_of(curve, [0.9, 0.05, 0.3, 0.3, 0.5, 0.6, 0.45, 0.7], (), [(2, 5)])
    assert spans == [(0, 1), (0, 9), (0, 10), (0, 12), (0, 18), (2, 5)], "the first, the last and three between them"
    assert shares == pytest.approx([(last - first) / 20.0 for first, last in spans], abs=1e-9)
    spans, _ = spans_of(curve, [0.0, 1.0], list(range(1, 10)), [(1, 2)] * 13)
    assert spans == [(0, 1), (0, 1), (0, 3), (0, 5), (0, 7), (0, 9), (0, 19)]
    assert spans_of(curve, [0.5, 0.2], (), [(1, 2)] * 12)[0] == [(0, 4), (0, 10), *[(1, 2)] * 12]


def test_effects_widen_what_they_are_effects_of() -> None:
    """Of shares left of an edge, of bins between two, and of a band: the sampling variance is so many times as much."""
    spread = VoteSpread(np.array([0.3, 0.7]), np.array([2.0, 3.0]), np.array([2.5, 4.0]), 6.0, {(1, 3): (1.5, 1.75)})
    plain, voted = flat(COUNTS), flat(COUNTS, spread=spread)
    assert (plain.largest_effect, voted.largest_effect) == (1.0, 6.0) and plain.effect(
        np.array([0.1, 0.2])
    ).tolist() == [1.0, 1.0]
    cases = {
        (-math.inf, 3.0): np.interp(0.4, [0.3, 0.7], [2.0, 3.0]),
        (3.0, math.inf): np.interp(0.4, [0.3, 0.7], [2.0, 3.0]),
        (1.0, 3.5): 1.5,
        (1.0, 6.0): 6.0,
    }
    for (low, high), effect in cases.items():
        assert voted.bin(low, high).sampling_error == pytest.approx(
            math.sqrt(effect) * plain.bin(low, high).sampling_error, rel=1e-9
        )
    count, n = 230.0, 500.0

    def beyond(p: float) -> float:
        return count - p * n - reach_of(voted, p, noise_of(1, 3, p, 0.0), 0.95, 1.75)

    assert voted.bin(1.0, 3.5).low == pytest.approx(optimize.brentq(beyond, 0.0, count / n, xtol=1e-14), abs=1e-9)
    law = voted.law(0.5)
    assert law.effect == pytest.approx(3.25) and voted.law(0.5, 2.0).effect == 2.0
    times = np.sqrt(np.interp(np.asarray(voted.curve), [0.3, 0.7], [2.0, 3.0]))
    assert voted.effect(0.5, careful=False) == 2.5
    careful = np.sqrt(np.interp(np.asarray(voted.curve), [0.3, 0.7], [2.5, 4.0]))
    assert np.all(careful > times)
    np.testing.assert_allclose(simulated(voted).sampling, careful * simulated(plain).sampling, rtol=1e-9, atol=1e-15)
