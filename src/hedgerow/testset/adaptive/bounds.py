"""How far a score of n records may lie from the expected score, for a model fitted to earlier answers.

All bounds are for losses in [0, 1]. They are proven in ``docs/methods/testset.md``; information is in nats.

With I the mutual information of the records and all earlier answers, an event that has probability p if the model is
independent of the records has probability at most β with the fitted model, where
β·ln(β/p) + (1 − β)·ln((1 − β)/(1 − p)) = I (the data-processing inequality). At I = 0 this is p = β: the bound of a
model that was fixed before.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from hedgerow.accounting.profile import Profile

_HALVINGS = 60
SHARES: tuple[float, ...] = tuple(step / 50.0 for step in range(1, 50))
Spread = Callable[[float], float]
"""From a probability to the distance that an answer keeps from the score of the records, but for that probability."""


@lru_cache(maxsize=4096)
def tail_exponent(information: float, beta: float) -> float:
    """Return ln(1/p): what has probability p for a fixed model has at most `beta` for a fitted one.

    >>> round(math.exp(-tail_exponent(0.0, 0.05)), 6), round(tail_exponent(1.0, 0.05), 2)
    (0.05, 23.97)
    """
    entropy = -beta * math.log(beta) - (1.0 - beta) * math.log1p(-beta)
    low, high = -math.log(beta), (information + entropy) / beta
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        # β·ln(β/p) + (1 − β)·ln((1 − β)/(1 − p)) rises as p falls below β.
        if beta * middle - entropy - (1.0 - beta) * math.log1p(-math.exp(-middle)) < information:
            low = middle
        else:
            high = middle
    return high


def chernoff(mean: float, n: float, exponent: float) -> tuple[float, float]:
    """Return the expected scores that do not contradict a mean of n records by a factor e^exponent (Hoeffding 1963).

    These are all p with n·kl(mean, p) ≤ exponent + ln 2, two-sided.

    >>> [round(end, 4) for end in chernoff(0.5, 10_000, math.log(20))]
    [0.4864, 0.5136]
    """
    allowed = (exponent + math.log(2.0)) / n
    ends = []
    for far in (0.0, 1.0):
        near = mean
        for _ in range(_HALVINGS):
            middle = (near + far) / 2.0
            near, far = (near, middle) if _divergence(mean, middle) > allowed else (middle, far)
        ends.append(far)
    return ends[0], ends[1]


def share_of_sampling(information: float, n: float, spread: Spread, beta: float) -> float:
    """Return the share of `beta` that sampling should have for the least half-width; the noise has the rest."""
    return min(SHARES, key=lambda share: _half_width(information, n, spread, (share * beta, (1.0 - share) * beta)))


def half_width(information: float, n: float, spread: Spread, beta: float = 0.05) -> float:
    """Return the half-width for a score in the middle of its range, where it is largest.

    >>> round(half_width(0.0, 10_000, lambda beta: 0.0), 4)
    0.0136
    """
    share = share_of_sampling(information, n, spread, beta)
    return _half_width(information, n, spread, (share * beta, (1.0 - share) * beta))


def split_half_width(n: int, looks: int, beta: float = 0.05) -> float:
    """Return z/(2·√⌊n/looks⌋): every look has records of its own, which no earlier answer told of.

    >>> round(split_half_width(10_000, 1000), 3)
    0.31
    """
    from hedgerow.inference.interval import normal_quantile

    return min(1.0, normal_quantile(1.0 - beta) / (2.0 * math.sqrt(max(1, n // looks))))


def chebyshev_half_width(information: float, n: float, spread: Spread, beta: float = 0.05) -> float:
    """Return the bound of Rogers et al. (2020): the second moment by mutual information, then Chebyshev, β in halves.

    >>> round(chebyshev_half_width(0.0, 10_000, lambda beta: 0.0), 3)
    0.032
    """
    grid = np.linspace(1e-4, 1.0 - 1e-4, 2000)
    second = np.min((2.0 * information - np.log1p(-grid)) / (4.0 * n * grid))
    return float(math.sqrt(second / (beta / 2.0)) + spread(beta / 2.0))


def transfer_half_width(earlier: Profile, spread: Spread, beta: float = 0.05) -> float:
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


def _half_width(information: float, n: float, spread: Spread, betas: tuple[float, float]) -> float:
    sampling = math.sqrt((tail_exponent(information, betas[0]) + math.log(2.0)) / (2.0 * n))
    return sampling + spread(betas[1])


def _divergence(mean: float, p: float) -> float:
    one = mean * math.log(mean / p) if mean > 0.0 and p > 0.0 else (math.inf if mean > 0.0 else 0.0)
    rest, q = 1.0 - mean, 1.0 - p
    other = rest * math.log(rest / q) if rest > 0.0 and q > 0.0 else (math.inf if rest > 0.0 else 0.0)
    return one + other
