"""The calibrated interval: covers at its level whatever the sampling variance, and is as narrow as that allows.

The spread s² of the replicates is mostly noise when privacy is strong, so "subtract the noise and take z" covers too
seldom. Here the half-width is a function of S = s²/a, found by a convex programme (`calibrated_programme`) such that
the coverage is at least the level for EVERY sampling variance, and the mean width is least among such functions.

a is what is known of one replicate's variance: the noise σ₁², and with Poisson weights about a public centre c also
the offset (m* − c)²/(λn). Those weights give s² the mean v/λ + (x̄ − c)²/(λn) + σ₁², while m* varies by
v + (v/λ + (x̄ − c)²/(λn) + σ₁²)/k: the offset plays exactly the part of more noise, so one table serves both kinds of
weights. Read as if the offset were sampling variance, the interval would be 3 to 4 times too wide on data near a bound.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from hedgerow.inference.bootstrap.calibrated_programme import CAPS, RATES, CriticalCurve, knots, solve
from hedgerow.inference.bootstrap.replicates import Replicates
from hedgerow.inference.interval import parse_level

_GUARD = 2.0  # standard errors by which the offset is kept low where it sharpens the cap


def calibrated_interval(replicates: Replicates, *, level: float) -> tuple[float, float]:
    """Return m* ± √a h(s²/a), whose coverage is at least `level` for every sampling variance v ≥ 0.

    Exact under the model of private_bootstrap.md §4: m* normal about θ with variance v + (v/λ + a)/k, independent of
    s² ~ (v/λ + a) χ²_{k−1}/(k−1), with a = σ₁² + (m* − c)²/(λn) known. For real data both hold as n grows; the offset
    is read at m*, an error of order 1/√n like that of any plug-in variance. No finite-n guarantee is claimed.

    Parameters
    ----------
    replicates : Replicates
        With a `variance_cap` the programme covers all v up to the cap only, and h is narrower.
    level : float
        In (0, 1). Curves for .90, .95 and .99 at the k of the ladder are shipped; others take about half a second once.
        So that few are enough, a rate above 1 is read as the next one shipped, at which v is no smaller; beyond the
        last as the next power of 2.

    Returns
    -------
    tuple of float
        low, high; not clipped to the declared bounds.

    Raises
    ------
    ParameterError
        HG110: a level outside (0, 1).

    Notes
    -----
    As s² grows, the interval tends to Student's m* ± t_{k−1} √((λ + 1/k) s²). For k < 5 it is that throughout.

    Examples
    --------
    >>> low, high = calibrated_interval(Replicates(10.0, 5.0, 50, 2.0), level=0.95)
    >>> round(low, 2), round(high, 2)
    (6.33, 13.67)
    """
    if replicates.rate > 1.0 and replicates.variance_cap is None:
        replicates = replace(replicates, rate=_shipped_rate(replicates.rate))
    known = replicates.known_variance
    curve = critical_curve(
        replicates.n_resamples, level=parse_level(level), cap=_ratio_cap(replicates, known), rate=replicates.rate
    )
    if known <= 1e-12 * replicates.spread and math.isinf(curve.ceiling):  # no noise to speak of: Student's end
        half = float(curve.heights[-1] / curve.knots[-1]) * math.sqrt(replicates.spread)
    else:
        half = math.sqrt(known) * float(curve.half_width(replicates.spread / known))
    return replicates.mean - half, replicates.mean + half


def _shipped_rate(rate: float) -> float:
    return next((rung for rung in RATES if rung >= rate), 2.0 ** math.ceil(math.log2(rate)))


def _ratio_cap(replicates: Replicates, known: float) -> float:
    """Return the least rung of the ladder of caps that is at least k v_max/a; inf where there is none.

    The cap holds for v' too, so v ≤ cap − (x̄ − c)²/n; the offset is taken two worst-case standard errors lower, so
    that an m* that is near a bound by chance does not seem to prove a small variance.
    """
    cap = replicates.variance_cap
    if cap is None or known == 0.0:
        return math.inf
    if replicates.centre is not None and replicates.n is not None:
        error = math.sqrt(replicates.privacy_variance + cap * (1 + 1 / (replicates.rate * replicates.n_resamples)))
        distance = max(0.0, abs(replicates.mean - replicates.centre) - _GUARD * error)
        cap = max(0.0, cap - distance**2 / replicates.n)
    highest = replicates.n_resamples * cap / known
    return next((rung for rung in CAPS if rung >= highest), math.inf)


def critical_curve(n_resamples: int, *, level: float, cap: float = math.inf, rate: float = 1.0) -> CriticalCurve:
    """Return the curve h for k, level and cap: from the shipped table, else solved for (and kept in memory).

    Nothing is interpolated between rungs, so that every curve holds its level by its own check.

    Examples
    --------
    >>> curve = critical_curve(50, level=0.95)
    >>> round(float(curve.half_width(1.0)), 2)
    0.93
    """
    return _curve(int(n_resamples), round(level, 12), float(cap), float(rate))


@lru_cache(maxsize=512)
def _curve(n_resamples: int, level: float, cap: float, rate: float) -> CriticalCurve:
    if n_resamples >= 5 and level in (0.9, 0.95, 0.99) and (rate == 1.0 or math.isinf(cap)):
        kind, rung = ("curves", cap) if rate == 1.0 else ("rates", rate)
        heights = _table()[kind].get(f"{level:g}", {}).get(str(n_resamples), {}).get(f"{rung:g}")
        if heights is not None:
            places, ceiling = knots(n_resamples, cap=cap, rate=rate)
            return CriticalCurve(places, np.asarray(heights, dtype=np.float64), ceiling)
    return solve(n_resamples, level=level, cap=cap, rate=rate)


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    text = files("hedgerow.inference.bootstrap").joinpath("calibrated_table.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    return table
