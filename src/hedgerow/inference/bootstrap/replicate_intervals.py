"""From replicates to an estimate with intervals: four interval methods about a population, and Student's for a census.

Brawner and Honaker (2018) read m* ± z √(v̂ + σ₁²/k) with v̂ = max(0, λ(s² − f a)), where a = σ₁² + (m* − c)²/(λn) is
the known part of the replicates' spread and f the share of it that is subtracted. Their three intervals differ in f:

=====================  ======================  ====================================================================
method                 f                       coverage (private_bootstrap.md §4)
=====================  ======================  ====================================================================
``unbiased``           1                       NOT held: 71–80 % at a nominal 90 % where noise hides the spread, and
                                               about 60 % with Poisson weights on data far from the centre
``conservative``       5 % point of            near the level from about k = 50, below it for fewer replicates
                       χ²_{k−1}/(k−1)
``most-conservative``  0                       held or nearly held, at several times the width: the whole spread,
                                               noise and centre offset included, is read as sampling error
``calibrated``         –                       held for every k and every sampling variance; see `calibrated`
=====================  ======================  ====================================================================

Like theirs, the first three have no term for the k replicates themselves. v̂ is cut at 0 before the privacy variance is
added, so no interval is narrower than the noise alone.

The calibrated interval: covers at its level whatever the sampling variance, and is as narrow as that allows.

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
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from hedgerow.inference.bootstrap.calibrated_programme import CAPS, RATES, CriticalCurve, knots, solve
from hedgerow.inference.bootstrap.replicate_summary import (
    Replicates,
    StandardErrorParts,
    chi_square_share,
    mean_of_root,
    sampling_variance,
)
from hedgerow.inference.interval import normal_quantile, parse_level

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
    # Nine digits of the tail: 1 − .95 and .05 differ in the seventeenth, and no level becomes 1.
    return _curve(int(n_resamples), 1.0 - float(f"{1.0 - level:.9g}"), float(cap), float(rate))


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


ALPHA = 0.05  # α' of the paper: how often the spread of the noise alone is smaller than what is subtracted


def unbiased_interval(replicates: Replicates, *, level: float) -> tuple[float, float]:
    """Return the interval with f = 1, the noise subtracted in full; coverage NOT held at `level` (HG110).

    Source: Brawner & Honaker (2018), eq. 30, 35 with c_α' = k − 1, and 36. For comparison with the paper; use
    `calibrated`.

    >>> low, high = unbiased_interval(Replicates(10.0, 5.0, 50, 2.0), level=0.95)
    >>> round(low, 3), round(high, 3)
    (6.583, 13.417)
    """
    return _normal_interval(replicates, level, noise_share=1.0)


def conservative_interval(replicates: Replicates, *, level: float, alpha: float = ALPHA) -> tuple[float, float]:
    """Return the interval with f the α' point of χ²_{k−1}/(k−1), 5 % by default; near `level` for k ≥ 50 (HG110).

    Source: Brawner & Honaker (2018), eq. 34–36.

    >>> low, high = conservative_interval(Replicates(10.0, 5.0, 50, 2.0), level=0.95)
    >>> round(low, 3), round(high, 3)
    (6.253, 13.747)
    """
    return _normal_interval(replicates, level, noise_share=chi_square_share(replicates.n_resamples, alpha=alpha))


def most_conservative_interval(replicates: Replicates, *, level: float) -> tuple[float, float]:
    """Return the interval with f = 0, no noise subtracted; wide, and still a little short for small k (HG110).

    Source: Brawner & Honaker (2018), eq. 34–36 with c_α' = 0.

    >>> low, high = most_conservative_interval(Replicates(10.0, 5.0, 50, 2.0), level=0.95)
    >>> round(low, 3), round(high, 3)
    (5.6, 14.4)
    """
    return _normal_interval(replicates, level, noise_share=0.0)


def _normal_interval(replicates: Replicates, level: float, *, noise_share: float) -> tuple[float, float]:
    variance = sampling_variance(replicates, noise_share=noise_share) + replicates.privacy_variance
    half = normal_quantile(level) * math.sqrt(variance)
    return replicates.mean - half, replicates.mean + half


def file_interval(replicates: Replicates, *, level: float) -> tuple[float, float]:
    """Return m* ± t_{k−1} s/√k, which covers the statistic of the file's own records at `level` (HG110).

    The records are all there are, so there is no sampling error. Given the data, m* ~ N(x̄, (v'/λ + σ₁²)/k) independent
    of s² ~ (v'/λ + σ₁²) χ²_{k−1}/(k−1) (private_bootstrap.md §4): normal by the noise, and nearly so by the weights. So
    Student's interval is exact for normal replicates. It says nothing about a population behind the file. A single
    plain release at the same price is narrower, since it has no bootstrap error: prefer it where a choice is left.

    >>> low, high = file_interval(Replicates(10.0, 4.0, 4, 1.0), level=0.95)
    >>> round(low, 3), round(high, 3)
    (6.818, 13.182)
    """
    from hedgerow.special import stdtrit

    student = float(stdtrit(replicates.n_resamples - 1, (1 + parse_level(level)) / 2))
    half = student * math.sqrt(replicates.spread / replicates.n_resamples)
    return replicates.mean - half, replicates.mean + half


def file_error_parts(replicates: Replicates) -> StandardErrorParts:
    """Return the bootstrap and privacy parts of the standard error; the sampling part is 0 by the choice of target.

    >>> round(file_error_parts(Replicates(0.0, 6.0, 50, 2.0)).bootstrap_error, 3)
    0.285
    """
    spread = replicates.spread / mean_of_root(replicates.n_resamples) ** 2
    resampling = max(0.0, spread - replicates.noise_variance) / replicates.n_resamples
    return StandardErrorParts(0.0, math.sqrt(resampling), math.sqrt(replicates.privacy_variance))


INTERVALS: dict[str, Callable[..., tuple[float, float]]] = {
    "calibrated": calibrated_interval,
    "conservative": conservative_interval,
    "unbiased": unbiased_interval,
    "most-conservative": most_conservative_interval,
}
