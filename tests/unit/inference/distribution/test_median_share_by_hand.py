"""The share below a part of the median, one leaf at a time: extremes by search, shares by roots."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, stats
from tests.unit.inference.score_oracle import quantile

from hedgerow.inference.distribution.inequality import _correlation, _Counts, _critical, share_below_of_median
from hedgerow.inference.distribution.noisy_distribution import Distribution, simulated
from hedgerow.inference.distribution.noisy_tree import NoisyTree

VARIANCES = np.array([3.0, 1.0, 2.0, 4.0, 2.5, 1.5, 3.5, 2.0])
COVARIANCE = np.diag(VARIANCES) - np.outer(VARIANCES, VARIANCES) / VARIANCES.sum()
EDGES = np.array([0.0, 1.0, 2.5, 4.0, 5.0, 7.0, 8.0, 11.0, 15.0])


def distribution(counts: list[float], *, census: bool, largest: float) -> Distribution:
    left = np.append(0.0, np.cumsum(counts))
    tree = NoisyTree(8, (8,), (VARIANCES,), 0.0)
    return Distribution(EDGES, left, float(left[-1]), tree, largest, census, None)


def noise_of(edge: int, share: float) -> float:
    weights = (np.arange(8) < edge) - share
    return max(float(weights @ COVARIANCE @ weights), 0.0)


class Edge:
    """The count left of an edge, tested at a share: its standard deviation, and how many of these are excluded."""

    def __init__(self, found: Distribution, edge: int, share: float, critical: float) -> None:
        self.share, self.noise = share, noise_of(edge, share)
        sampling = 0.0 if found.census else found.records * share * (1.0 - share)
        self.sd = max(math.sqrt(sampling + self.noise), 1e-12)
        laplace = min(self.noise, math.sqrt(self.noise * found.largest))
        level = 1.0 - 2.0 * float(stats.norm.sf(critical))
        spread = math.sqrt(sampling + self.noise - laplace), math.sqrt(laplace)
        self.reach = max(critical, quantile("laplace", level, *spread) / self.sd if max(spread) > 0.0 else 0.0)


def farthest(least: float, rho: float, c: float) -> float:
    """The greatest C with C² − 2ρCu + u² ≤ c²(1 − ρ²) for a u of at least `least`, by search."""
    if least > c:
        return -math.inf

    def at(u: float) -> float:
        return rho * u + math.sqrt(max((1.0 - rho * rho) * (c * c - u * u), 0.0))

    low = max(least, -c)
    best = optimize.minimize_scalar(lambda u: -at(u), bounds=(low, c), method="bounded", options={"xatol": 1e-10})
    return max(at(low), at(c), -float(best.fun))


def ends(found: Distribution, part: float, critical: float, half: float) -> tuple[float, float]:
    n, left, curve = found.records, found.left, found.left / found.records
    median = [Edge(found, edge, 0.5, critical) for edge in range(9)]
    beyond = [(left[edge] - n / 2.0) / median[edge].sd for edge in range(9)]
    beyond[0], beyond[-1] = -math.inf, math.inf
    drawn = simulated(found).noise
    shares: tuple[list[float], list[float]] = ([1.0], [0.0])
    for leaf in range(8):
        if beyond[leaf] > median[leaf].reach or beyond[leaf + 1] < -median[leaf + 1].reach:
            continue
        below = int(np.searchsorted(EDGES, part * EDGES[leaf], side="right")) - 1
        above = min(int(np.searchsorted(EDGES, part * EDGES[leaf + 1], side="left")), 8)
        for place, side, into in ((below, 1.0, shares[0]), (above, -1.0, shares[1])):
            line = Edge(found, place, float(curve[place]), critical)
            c, rhos = max(line.reach, median[leaf].reach, median[leaf + 1].reach), []
            for edge in (leaf, leaf + 1):
                first, second = drawn[:, place], drawn[:, edge]
                size = float((first**2).mean() * (second**2).mean())
                alike = float((first * second).mean()) / math.sqrt(size) if size > 1e-280 else 0.0
                sampling = 0.0 if found.census else n * (min(line.share, 0.5) - line.share / 2.0)
                both = sampling + alike * math.sqrt(line.noise * median[edge].noise)
                rhos.append(min(max(both / (line.sd * median[edge].sd), -0.999), 0.999))
            outer = side * min(
                farthest(beyond[leaf], side * rhos[0], c), farthest(-beyond[leaf + 1], -side * rhos[1], c)
            )
            if place in (0, 8):
                into.append(0.0 if place == 0 else 1.0)
                continue
            count = float(left[place]) - side * half
            noise = line.noise

            def off(f: float, count: float = count, outer: float = outer, noise: float = noise) -> float:
                spread = 0.0 if found.census else n * f * (1.0 - f)
                return count - n * f - outer * math.sqrt(spread + noise)

            if math.isinf(outer):
                into.append(1.0 if outer < 0.0 else 0.0)
            elif off(0.0) <= 0.0:
                into.append(0.0)
            elif off(1.0) >= 0.0:
                into.append(1.0)
            else:
                into.append(float(optimize.brentq(off, 0.0, 1.0, xtol=1e-14)))
    return min(shares[0]), max(shares[1])


CASES = {
    "few": [14.0, 9.0, 20.0, 12.0, 17.0, 8.0, 11.0, 9.0],
    "many": [240.0, 190.0, 320.0, 420.0, 270.0, 380.0, 210.0, 190.0],
    "late": [25.0, 25.0, 25.0, 25.0, 50.0, 50.0, 300.0, 100.0],
    "an edge just below half": [60.0, 60.0, 60.0, 53.0, 77.0, 60.0, 70.0, 60.0],
    "in the first leaf": [400.0, 60.0, 20.0, 5.0, 4.0, 3.0, 2.0, 6.0],
    "early": [100.0, 400.0, 20.0, 5.0, 4.0, 3.0, 2.0, 6.0],  # of which nearly all lie below 5 medians
    "at an edge": [50.0, 60.0, 70.0, 20.5, 60.0, 60.0, 40.0, 40.5],
}


PARTS = ((0.6, 0.95), (0.45, 0.8), (0.9, 0.95))


@pytest.mark.parametrize("census", [False, True])
@pytest.mark.parametrize("largest", [0.0, 3.0])
@pytest.mark.parametrize("name", CASES)
def test_a_share_below_a_part_of_the_median(name: str, largest: float, census: bool) -> None:
    found = distribution(CASES[name], census=census, largest=largest)
    curve = found.left / found.records
    for part, level in (*PARTS, (5.0, 0.95)) if name == "early" else PARTS:
        read = share_below_of_median(found, part, level)
        critical = optimize.brentq(
            lambda c, level=level: 0.5 * stats.chi2.sf(c * c, 1) + 0.5 * stats.chi2.sf(c * c, 2) - (1.0 - level),
            0.01,
            9.0,
        )
        line = part * float(np.interp(0.5, curve, EDGES))
        value = float(np.interp(line, EDGES, curve))
        low, high = ends(found, part, critical, 0.5)
        assert read.value == pytest.approx(value, rel=1e-12)
        assert read.low == pytest.approx(min(low, value), abs=1e-7)
        assert read.high == pytest.approx(max(high, value), abs=1e-7)
        least, most = ends(found, part, 1.0, 0.0)
        leaf = int(np.searchsorted(curve, 0.5)) - 1
        above, below = (
            min(np.searchsorted(EDGES, part * EDGES[leaf + 1]), 8),
            np.searchsorted(EDGES, part * EDGES[leaf], "right") - 1,
        )
        unknown = float(curve[above] - curve[below])
        known = max(most - least - unknown, 0.0) / 2.0
        assert read.standard_error == pytest.approx(math.hypot(known, unknown / math.sqrt(12.0)), abs=1e-7)
        drawn = 0.0 if census else found.records * value * (1.0 - value)
        noise = noise_of(int(np.searchsorted(EDGES, line, "right")) - 1, value)
        sampling = known * math.sqrt(drawn / (drawn + noise)) if drawn else 0.0
        assert read.sampling_error == pytest.approx(sampling, abs=1e-7)


def test_counts_with_the_same_noise_may_move_against_one_another() -> None:
    """A count of all that is noise, too: where the share rises at once, most leaves between move two counts apart."""
    tree = NoisyTree(64, (64,), (np.ones(64),), None)
    left = np.concatenate([[0.0], np.full(62, 440.0) + np.arange(62.0), [990.0, 1000.0]])
    found = Distribution(np.arange(65.0), left, 1000.0, tree, 0.0, True, None)
    median = _Counts.of(found, np.arange(65), np.full(65, 0.5), 1.96)
    places = np.array([1, 1, 62, 62, 30])
    line = _Counts.of(found, places, found.curve[places], 1.96)
    edges = np.array([1, 62, 1, 62, 0])
    got = _correlation(found, line, places, median, edges)
    noise = simulated(found).noise
    for place, edge, one, sd, other in zip(places, edges, got, line.sd, median.sd[edges], strict=True):
        alike = np.mean(noise[:, place] * noise[:, edge]) / np.sqrt(
            np.mean(noise[:, place] ** 2) * np.mean(noise[:, edge] ** 2) + 1e-300
        )
        exact = alike * math.sqrt(variance(place, found.curve[place]) * variance(edge, 0.5)) / (sd * other)
        assert one == pytest.approx(min(max(exact, -0.999), 0.999), abs=1e-9)
    assert got[1] < -0.9 and got[0] == 0.999


def variance(edge: int, share: float) -> float:
    """The noise of a count of 64 leaves with variance 1, less its share of all."""
    return edge * (1.0 - share) ** 2 + (64 - edge) * share**2


@pytest.mark.parametrize("level", [0.01, 0.3, 0.5, 0.8, 0.95, 0.999, 1.0 - 1e-9])
def test_the_critical_value_is_of_half_of_one_and_half_of_two_normal_numbers(level: float) -> None:
    c = _critical(level)
    assert 0.5 * stats.chi2.sf(c * c, 1) + 0.5 * stats.chi2.sf(c * c, 2) == pytest.approx(1.0 - level, rel=1e-6)
