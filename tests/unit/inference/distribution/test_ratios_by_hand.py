"""Gini coefficients and Lorenz shares computed piece by piece: values by sums, errors by differences, ends by roots."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import stats
from tests.unit.inference.score_oracle import Score

from hedgerow.inference.distribution.inequality import gini, lorenz
from hedgerow.inference.distribution.noisy_distribution import Distribution
from hedgerow.inference.distribution.noisy_tree import NoisyTree
from hedgerow.inference.distribution.vote_spread import VoteSpread

ONE_SD = 2.0 * float(stats.norm.cdf(1.0)) - 1.0


class ByHand:
    """N/μ of a flat tree whose counts rise, with the part `split` of each leaf at its least value."""

    def __init__(self, found: Distribution, p: float | None, split: np.ndarray) -> None:
        self.found, self.p, self.split = found, p, np.asarray(split, dtype=float)
        self.n, self.counts = found.records, np.diff(found.left)
        v = found.tree.variances[0]
        self.noise_of_leaves = np.diag(v) - (np.outer(v, v) / v.sum() if found.tree.root == 0.0 else 0.0)
        self.once = 1.0 if found.census else self.n / (self.n - self.effect_at(0.5))
        least, greatest = found.edges[:-1].copy(), found.edges[1:].copy()
        if found.step is not None:
            least[1:] += found.step / 2.0
            greatest[:-1] -= found.step / 2.0
        self.least, self.greatest = least, greatest
        self.shares, self.left = self.counts / self.n, found.left / found.records
        # The noise of the share left of each edge: of Σ (1[i < edge] − F) count_i.
        self.noisy = np.array(
            [
                (row := (np.arange(len(v)) < edge) - self.shares[:edge].sum()) @ self.noise_of_leaves @ row / self.n**2
                for edge in range(len(v) + 1)
            ]
        )
        # Of a piece at p itself f is 0, as it is beyond p.
        inner, edges = self.left[:-1] + self.split * self.shares, self.left[1:]
        self.below_p = [f < (p or 0.0) - 1e-9 for pair in zip(inner, edges, strict=True) for f in pair]
        self.top, self.mean, self.added = self.parts(self.shares)
        self.value = min(max(self.top / self.mean, 0.0), 1.0)
        self._errors()

    def effect_at(self, share: float) -> float:
        """How many times as much a share varies as that of records drawn one by one, with care."""
        votes = self.found.spread
        return 1.0 if votes is None else float(np.interp(share, votes.shares, votes.careful))

    def effect(self) -> float:
        """The same of N − λμ, at most: a part as if rows were drawn apart, and what varies beside."""
        votes = self.found.spread
        if votes is None:
            return 1.0
        each = np.array([1.0, -self.value]) @ self.gained
        alone = float(self.shares @ (each - self.shares @ each) ** 2)
        beside = 0.0
        for edge in range(1, len(each)):
            left = float(self.left[edge])
            spread = max(self.effect_at(left) - votes.apart, 0.0) * left * (1.0 - left)
            beside += abs(each[edge] - each[edge - 1]) * math.sqrt(spread)
        return min(votes.most, (votes.apart * alone + beside**2) / alone) if alone > 0.0 else votes.most

    def parts(self, shares: np.ndarray) -> tuple[float, float, float]:
        """N and μ of leaves with these shares, one piece of the axis after another."""
        start, place, below_p = self.found.edges[0], -1, self.below_p
        top, mean, added, below = (self.p or 0.0) * start, start, 0.0, 0.0
        for leaf, share in enumerate(shares):
            pieces = [
                (self.greatest[leaf] - self.least[leaf], below + self.split[leaf] * share, self.split[leaf]),
            ]
            if leaf + 1 < len(shares):
                pieces.append((self.least[leaf + 1] - self.greatest[leaf], below + share, 1.0))
            for length, f, part in pieces:
                place += 1
                noise = (1.0 - part) * self.noisy[leaf] + part * self.noisy[leaf + 1]
                if self.p is None:
                    top += length * self.once * (f * (1.0 - f) + noise)
                    added += length * self.once * noise
                elif below_p[place]:
                    top += length * (self.p - f)
                mean += length * (1.0 - f)
            below += share
        return top, mean, added

    def _errors(self) -> None:
        """The covariances of nN and nμ by sampling and by noise, from differences of N and μ."""
        step = 1e-6
        gained = np.empty((2, len(self.shares)))
        for leaf in range(len(self.shares)):
            up, down = (self.parts(self.shares + sign * step * np.eye(len(self.shares))[leaf]) for sign in (1.0, -1.0))
            gained[:, leaf] = [(a - b) / (2.0 * step) for a, b in zip(up[:2], down[:2], strict=True)]
        gained -= gained[:, -1:]  # one more share of the last leaf adds to no edge
        self.gained = gained
        centred = gained - (gained @ self.shares)[:, None]
        self.sampling = (
            np.zeros((2, 2)) if self.found.census else self.n * (centred * self.shares) @ centred.T * self.effect()
        )
        self.noise = centred @ self.noise_of_leaves @ centred.T
        self.noise[0, 0] += 2.0 * (self.added * self.n) ** 2

    def ends(self, level: float) -> tuple[float, float]:
        at = np.array([1.0, -self.value])
        drawn, added = float(at @ self.sampling @ at), float(at @ self.noise @ at)
        each = at @ self.gained
        # How much of the noise is read as one Laplace number.
        laplace = min(1.0, np.abs(each).max() * math.sqrt(self.found.largest / added)) if added > 0.0 else 0.0
        each = each - self.shares @ each
        skew = self.n * self.effect() ** 2 * float(self.shares @ each**3) / (drawn + added) if drawn > 0.0 else 0.0
        first = self.sampling + (1.0 - laplace) * self.noise

        def coefficients(matrix: np.ndarray) -> tuple[float, float, float]:
            return float(matrix[0, 0]), -2.0 * float(matrix[0, 1]), float(matrix[1, 1])

        return Score(
            a=self.n * self.top,
            b=self.n * self.mean,
            sampling=coefficients(first),
            noise=coefficients(laplace * self.noise),
            low=0.0,
            high=1.0,
            law="laplace",
            skew=skew,
        ).ends(level)


def extreme(found: Distribution, p: float | None, side: float) -> ByHand:
    """The placement with the least or the greatest ratio: of all that stand at an end, or at the turn, in each leaf."""
    f = found.left / found.records
    best = ByHand(found, p, np.full(len(f) - 1, 0.5))
    for _ in range(6):
        turn = p if p is not None else (1.0 + best.value) / 2.0
        kinds = [sorted({0.0, 1.0, min(max((turn - a) / (b - a), 0.0), 1.0)}) for a, b in pairwise(f)]
        # N − λμ of the shares as they are, without what noise takes from N.
        every = [ByHand(found, p, np.array(split)) for split in product(*kinds)]
        ratio = best.value
        best = max(every, key=lambda one, ratio=ratio: side * (one.top - one.added - ratio * one.mean))
    return best


def distribution(kind: str) -> Distribution:
    counts, edges, step = {
        "whole numbers": ([30, 25, 12, 9], [0.0, 0.5, 1.5, 2.5, 3.0], 1.0),
        "wide leaves": ([14, 40, 9, 7], [1.0, 3.5, 6.5, 9.5, 12.0], 1.0),
        "no step": ([55, 21, 13, 6], [2.0, 3.0, 5.0, 9.0, 20.0], None),
        "votes": ([55, 21, 13, 6], [0.0, 3.0, 5.0, 9.0, 20.0], None),
        "votes of unknown rows": ([55, 21, 13, 6], [0.0, 3.0, 5.0, 9.0, 20.0], None),
        "census": ([55, 21, 13, 6], [0.0, 3.0, 5.0, 9.0, 20.0], None),
        "two records": ([1.19, 0.46, 0.27, 0.13], [0.0, 3.0, 5.0, 9.0, 20.0], None),
        "one record": ([0.61, 0.23, 0.14, 0.07], [0.0, 3.0, 5.0, 9.0, 20.0], None),
    }[kind]
    variances = np.array([3.0, 1.0, 2.0, 4.0])
    left = np.append(0.0, np.cumsum(np.array(counts, dtype=float)))
    public, largest = kind != "no step", 3.0 if kind != "wide leaves" else 0.0
    tree = NoisyTree(4, (4,), (variances,), 0.0 if public else None)
    votes = VoteSpread(np.array([0.3, 0.7]), np.array([0.9, 1.2]), np.array([1.0, 1.5]), 4.0, apart=0.5)
    if kind == "votes of unknown rows":
        votes = VoteSpread(np.array([0.3, 0.7]), np.array([0.9, 1.2]), np.array([1.0, 1.5]), 4.0)
    spread = votes if kind.startswith("votes") else None
    return Distribution(
        np.array(edges), left, float(left[-1]), tree, largest, kind in ("census", "one record"), step, spread=spread
    )


@pytest.mark.parametrize("p", [None, 0.35, 0.8])
@pytest.mark.parametrize(
    "kind",
    [
        "whole numbers",
        "wide leaves",
        "no step",
        "votes",
        "votes of unknown rows",
        "census",
        "one record",
        "two records",
    ],
)
def test_a_ratio_with_its_errors_and_its_ends(kind: str, p: float | None) -> None:
    found = distribution(kind)
    for level in (0.8, 0.95):
        read = gini(found, level) if p is None else lorenz(found, p, level)
        middle = ByHand(found, p, np.full(4, 0.5))
        lowest, highest = (extreme(found, p, side) for side in (-1.0, 1.0))
        assert read.value == pytest.approx(middle.value, rel=1e-9)
        # Sets of placements at the turn of the ratio move the ends by the square of a rounding.
        assert read.low == pytest.approx(min(lowest.ends(level)[0], middle.value), rel=1e-8, abs=1e-9)
        assert read.high == pytest.approx(max(highest.ends(level)[1], middle.value), rel=1e-8, abs=1e-9)
        at = np.array([1.0, -middle.value])
        sampling = math.sqrt(at @ middle.sampling @ at) / (middle.n * middle.mean)
        ends = middle.ends(ONE_SD)
        error = math.hypot((ends[1] - ends[0]) / 2.0, (highest.value - lowest.value) / math.sqrt(12.0))
        assert read.standard_error == pytest.approx(error, rel=1e-8)
        assert read.sampling_error == pytest.approx(min(sampling, error), rel=1e-7, abs=1e-12)
