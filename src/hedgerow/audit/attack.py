"""The threshold attack: guess the first neighbour where a score is high, count, and bound ε from below.

If (ε, δ) holds, then P(S) ≤ e^ε Q(S) + δ for every event S and both orders of the neighbours P, Q. Hits of S are
counted under both. With probability at least the confidence they give ε ≥ ln((p_low − δ)/q_high), where p_low and
q_high are Clopper–Pearson bounds.

The threshold is chosen on an independent fifth of the runs and judged on the rest, in both orders of the neighbours, so
two events are tested whatever the number of thresholds looked at. Each gets half of the chance of error.

Scores: one number an output, large where the first of two neighbours is the likelier. Any score is a fair attack.

`likelihood_ratio` is the strongest where densities are known. A record that adds r·φ to noise of widths w, independent
across coordinates, changes the log-density of its cell by

=============  =====================================================================================
Gaussian       Σ (x_i φ_i − φ_i²/2)/w_i²
Laplace        Σ (|x_i| − |x_i − φ_i|)/w_i
averaged       Σ log f(x_i − φ_i) − log f(x_i), f the law of a sum of Laplace numbers, read off a table
resampled      log Σ_r p_r exp(r s − r² c²/2),  s = Σ x_i φ_i/w_i²,  c² = Σ φ_i²/w_i²,  p_r Poisson(λ)
=============  =====================================================================================

so the log-ratio of two neighbours is the first record's change minus the second's, summed over replicates. The last row
depends on the output through s alone, and is read off a table. Discrete laws have the same form on their lattice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.profile import bisect
from hedgerow.errors import ParameterError
from hedgerow.facts.validation import format_argument
from hedgerow.mechanisms.interface import Mechanism, Neighbours

Floats = NDArray[np.float64]
Score = Callable[[Floats], Floats]


def likelihood_ratio(mechanism: Mechanism, pair: Neighbours) -> Score:
    """Return the exact log-likelihood ratio log p_first/p_second as a score of outputs (n, cells, features[, k])."""
    present = [
        (sign, record.cell, mechanism.change(record))
        for sign, record in ((1.0, pair.first), (-1.0, pair.second))
        if record is not None
    ]

    def score(outputs: Floats) -> Floats:
        total = np.zeros(len(outputs))
        for sign, cell, change in present:
            total += sign * change(outputs[:, cell])
        return total

    return score


def summed(outputs: Floats) -> Floats:
    """Return the sum of each output's numbers: the plainest one-dimensional score."""
    return np.asarray(outputs.reshape(len(outputs), -1).sum(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class HistogramScore:
    """A log-ratio learnt from outputs alone, on a grid of quantiles: an attack on vectors whose densities are unknown.

    Attributes
    ----------
    edges : tuple of float arrays
        Inner edges of the bins, a coordinate each.
    ratio : float array
        log((hits under the first + ½)/(hits under the second + ½)) of each bin.
    """

    edges: tuple[Floats, ...]
    ratio: Floats

    @classmethod
    def fit(cls, first: Floats, second: Floats, *, bins: int = 12) -> HistogramScore:
        """Learn from outputs on each of two neighbours, which the bound must not reuse.

        >>> rng = np.random.default_rng(1)
        >>> learnt = HistogramScore.fit(rng.normal(1, 1, (5000, 2)), rng.normal(0, 1, (5000, 2)))
        >>> bool(learnt(np.array([[2.0, 2.0]]))[0] > learnt(np.array([[-1.0, -1.0]]))[0])
        True
        """
        first, second = (part.reshape(len(part), -1) for part in (first, second))
        both = np.concatenate([first, second])
        inner = np.linspace(0.0, 1.0, bins + 1)[1:-1]
        edges = tuple(np.unique(np.quantile(column, inner)) for column in both.T)
        shape = tuple(len(ends) + 1 for ends in edges)
        hits = [np.bincount(_bins(part, edges), minlength=int(np.prod(shape))) + 0.5 for part in (first, second)]
        return cls(edges, np.log(hits[0] / hits[1]))

    def __call__(self, outputs: Floats) -> Floats:
        """Return the learnt log-ratio of each output."""
        return np.asarray(self.ratio[_bins(outputs.reshape(len(outputs), -1), self.edges)])


def _bins(outputs: Floats, edges: tuple[Floats, ...]) -> NDArray[np.int64]:
    place = np.zeros(len(outputs), dtype=np.int64)
    for column, ends in zip(outputs.T, edges, strict=True):
        place = place * (len(ends) + 1) + np.searchsorted(ends, column, side="right")
    return place


Sampler = Callable[[int], Iterable[Floats]]
"""Yields outputs in chunks, as many in all as asked for."""

_PILOT = 5  # one run in five chooses the threshold
_THRESHOLDS = 400


@dataclass(frozen=True, slots=True)
class Attack:
    """What one attack found: ε ≥ ``epsilon_lower`` at δ, wrong with probability at most ``alpha``.

    Attributes
    ----------
    name : str
        The neighbours and the score; empty as `threshold_attack` returns it.
    epsilon_lower, delta, alpha : float
    p_low, q_high : float
        The certified chances of the attacked event, from which δ ≥ p_low − e^ε q_high for EVERY ε.
    runs : int
        Outputs on each neighbour, the fifth that chose the threshold included.
    """

    name: str
    epsilon_lower: float
    delta: float
    alpha: float
    p_low: float
    q_high: float
    runs: int

    def delta_lower(self, epsilon: float) -> float:
        """Return a lower bound on δ at ε, from the same event."""
        return max(0.0, self.p_low - float(np.exp(epsilon)) * self.q_high)


def threshold_attack(
    first: Sampler,
    second: Sampler,
    score: Score,
    *,
    delta: float,
    runs: int,
    alpha: float,
) -> Attack:
    """Return a certified lower bound on ε from `runs` outputs on each of two neighbours.

    Parameters
    ----------
    first, second : sampler
        Draw outputs on either neighbour.
    score : callable
        Large where `first` is the likelier.
    delta, alpha : float
        δ, and the probability that the bound is wrong.

    Examples
    --------
    >>> rng = np.random.default_rng(3)
    >>> draw = lambda shift: lambda n: [rng.laplace(shift, 1.0, n)]
    >>> found = threshold_attack(draw(1.0), draw(0.0), lambda x: x, delta=0.0, runs=100_000, alpha=1e-3)
    >>> 0.9 < found.epsilon_lower < 1.0
    True
    """
    pilot = max(1, runs // _PILOT)
    judged = runs - pilot
    scores = [_scores(sampler, pilot, score) for sampler in (first, second)]
    thresholds = _best_thresholds(scores, judged=judged, delta=delta, alpha=alpha / 2.0)
    hits = np.array([_hits(sampler, judged, score, thresholds) for sampler in (first, second)])
    best = Attack("", 0.0, delta, alpha, 0.0, 1.0, runs)
    # Order 0: the first neighbour's upper tail; order 1: the second's lower tail.
    for order, (likely, unlikely) in enumerate(((0, 1), (1, 0))):
        p_low, _ = clopper_pearson(int(hits[likely, order]), judged, alpha / 4.0)
        _, q_high = clopper_pearson(int(hits[unlikely, order]), judged, alpha / 4.0)
        attack = Attack("", epsilon_at(p_low, q_high, delta), delta, alpha, p_low, q_high, runs)
        best = max(best, attack, key=lambda attack: attack.epsilon_lower)
    return best


def _scores(sampler: Sampler, runs: int, score: Score) -> Floats:
    return np.sort(np.concatenate([score(outputs) for outputs in sampler(runs)]))


def _best_thresholds(scores: list[Floats], *, judged: int, delta: float, alpha: float) -> tuple[float, float]:
    """Return (t, u): {score ≥ t} speaks for the first neighbour, {score ≤ u} for the second, each as loud as it can."""
    pilot = len(scores[0])
    tails = np.geomspace(min(1.0, 10.0 / pilot), 0.5, _THRESHOLDS // 2)
    levels = np.concatenate([tails, 1.0 - tails])
    candidates = np.unique(np.concatenate([np.quantile(part, levels, method="nearest") for part in scores]))
    scale = judged / pilot
    upper = [scale * (pilot - np.searchsorted(part, candidates, side="left")) for part in scores]
    lower = [scale * np.searchsorted(part, candidates, side="right") for part in scores]

    def loudness(p_hits: float, q_hits: float) -> float:
        # Half a hit more under the unlikely one: zero hits in the pilot are no zero.
        return epsilon_lower(p_hits, min(judged, q_hits + scale / 2), judged, delta=delta, alpha=alpha)

    ups = [loudness(p, q) for p, q in zip(upper[0], upper[1], strict=True)]
    downs = [loudness(p, q) for p, q in zip(lower[1], lower[0], strict=True)]
    return float(candidates[int(np.argmax(ups))]), float(candidates[int(np.argmax(downs))])


def _hits(sampler: Sampler, runs: int, score: Score, thresholds: tuple[float, float]) -> tuple[int, int]:
    upper = lower = 0
    for outputs in sampler(runs):
        scores = score(outputs)
        upper += int(np.count_nonzero(scores >= thresholds[0]))
        lower += int(np.count_nonzero(scores <= thresholds[1]))
    return upper, lower


def clopper_pearson(hits: float, runs: float, alpha: float) -> tuple[float, float]:
    """Return (low, high), each a one-sided 1 − α bound on the chance of a hit; together they miss with at most 2α.

    Source: Clopper & Pearson (1934): low solves P(X ≥ hits) = α, high solves P(X ≤ hits) = α, as beta quantiles.

    Raises
    ------
    ParameterError
        HG521: not 0 ≤ hits ≤ runs, or α outside (0, 1).

    Examples
    --------
    >>> low, high = clopper_pearson(0, 100, 0.05)
    >>> low, round(high, 4)
    (0.0, 0.0295)
    """
    from hedgerow.special import betaincinv

    if not (0 <= hits <= runs and runs > 0 and 0 < alpha < 1):
        raise ParameterError(
            "HG521",
            rule="An audit counts the right guesses of an attack in a positive number of runs, at a significance "
            "level α between 0 and 1.",
            finding=f"Found {format_argument(hits)} of {format_argument(runs)} at {format_argument(alpha)}.",
        )
    low = 0.0 if hits == 0 else float(betaincinv(hits, runs - hits + 1.0, alpha))
    high = 1.0 if hits == runs else float(betaincinv(hits + 1.0, runs - hits, 1.0 - alpha))
    return low, high


def epsilon_at(p_low: float, q_high: float, delta: float) -> float:
    """Return the least ε ≥ 0 that P(S) ≥ `p_low` and Q(S) ≤ `q_high` leave possible: ln((p_low − δ)/q_high).

    >>> round(epsilon_at(0.5, 0.1, 0.0), 4), epsilon_at(0.1, 0.5, 0.0)
    (1.6094, 0.0)
    """
    if p_low <= delta:
        return 0.0
    return math.inf if q_high <= 0.0 else max(0.0, math.log((p_low - delta) / q_high))


def epsilon_lower(p_hits: float, q_hits: float, runs: float, *, delta: float, alpha: float) -> float:
    """Return a lower bound on ε at δ that is too high with probability at most `alpha`.

    Parameters
    ----------
    p_hits, q_hits : float
        Hits of one event, fixed beforehand, among `runs` outputs on each of two neighbours.
    delta, alpha : float
        δ, and the chance of error, half of it spent on each proportion.

    Examples
    --------
    >>> epsilon_lower(50_000, 18_394, 100_000, delta=0.0, alpha=1e-3) < 1.0
    True
    """
    p_low, _ = clopper_pearson(p_hits, runs, alpha / 2.0)
    _, q_high = clopper_pearson(q_hits, runs, alpha / 2.0)
    return epsilon_at(p_low, q_high, delta)


def greatest_epsilon(delta_lower: Callable[[float], float], delta: float) -> float:
    """Return an ε with delta_lower(ε) > δ, within 1e-9 of the greatest one; 0 where there is none above.

    >>> round(greatest_epsilon(lambda epsilon: math.exp(-epsilon), 0.5), 6)
    0.693147
    """
    low, high = 0.0, 1.0
    while delta_lower(high) > delta and high < 1e3:
        low, high = high, 2.0 * high
    return bisect(lambda epsilon: delta_lower(epsilon) > delta, held=low, failed=high)
