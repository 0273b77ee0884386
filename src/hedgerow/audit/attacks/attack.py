"""The threshold attack: guess the first neighbour where a score is high, count, and bound ε from below.

The threshold is chosen on an independent fifth of the runs and judged on the rest, in both orders of the neighbours, so
two events are tested whatever the number of thresholds looked at. Each gets half of the chance of error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.attacks.bound import clopper_pearson, epsilon_at, epsilon_lower
from hedgerow.audit.worst_pairs.score import Score

Floats = NDArray[np.float64]
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
        The neighbours and the score.
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
    name: str = "",
    advance: Callable[[int], None] | None = None,
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
    advance : callable, optional
        Told how many outputs were drawn, for a progress bar.

    Examples
    --------
    >>> rng = np.random.default_rng(3)
    >>> draw = lambda shift: lambda n: [rng.laplace(shift, 1.0, n)]
    >>> found = threshold_attack(draw(1.0), draw(0.0), lambda x: x, delta=0.0, runs=100_000, alpha=1e-3)
    >>> 0.9 < found.epsilon_lower < 1.0
    True
    """
    told = advance or (lambda drawn: None)
    pilot = max(1, runs // _PILOT)
    judged = runs - pilot
    scores = [_scores(sampler, pilot, score, told) for sampler in (first, second)]
    thresholds = _best_thresholds(scores, judged=judged, delta=delta, alpha=alpha / 2.0)
    hits = np.array([_hits(sampler, judged, score, thresholds, told) for sampler in (first, second)])
    best = Attack(name, 0.0, delta, alpha, 0.0, 1.0, runs)
    # Order 0: the first neighbour's upper tail; order 1: the second's lower tail.
    for order, (likely, unlikely) in enumerate(((0, 1), (1, 0))):
        p_low, _ = clopper_pearson(int(hits[likely, order]), judged, alpha / 4.0)
        _, q_high = clopper_pearson(int(hits[unlikely, order]), judged, alpha / 4.0)
        found = Attack(name, epsilon_at(p_low, q_high, delta), delta, alpha, p_low, q_high, runs)
        best = max(best, found, key=lambda attack: attack.epsilon_lower)
    return best


def _scores(sampler: Sampler, runs: int, score: Score, told: Callable[[int], None]) -> Floats:
    parts = []
    for outputs in sampler(runs):
        parts.append(score(outputs))
        told(len(outputs))
    return np.sort(np.concatenate(parts))


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


def _hits(
    sampler: Sampler, runs: int, score: Score, thresholds: tuple[float, float], told: Callable[[int], None]
) -> tuple[int, int]:
    upper = lower = 0
    for outputs in sampler(runs):
        found = score(outputs)
        upper += int(np.count_nonzero(found >= thresholds[0]))
        lower += int(np.count_nonzero(found <= thresholds[1]))
        told(len(outputs))
    return upper, lower
