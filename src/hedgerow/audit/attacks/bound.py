"""From counted hits to a certified lower bound on ε: Clopper–Pearson, at a stated confidence.

If (ε, δ) holds, then P(S) ≤ e^ε Q(S) + δ for every event S and both orders of the neighbours P, Q. So hits of S counted
under both give, with probability at least the confidence, ε ≥ ln((p_low − δ)/q_high).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from hedgerow.errors import ParameterError
from hedgerow.facts.given import shown


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
    from scipy.special import betaincinv

    if not (0 <= hits <= runs and runs > 0 and 0 < alpha < 1):
        raise ParameterError(
            "HG521",
            rule="An audit counts hits among a positive number of runs, at an α in (0, 1).",
            finding=f"Found {shown(hits)} of {shown(runs)} at {shown(alpha)}.",
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
    while high - low > 1e-9 * max(1.0, high):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if delta_lower(middle) > delta else (low, middle)
    return low
