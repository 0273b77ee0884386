"""A confidence interval that knows its level, its method and what it covers, and levels. Plain numbers.

Quantiles of a normal number plus noise, by the law of the noise: what half of an interval's width is.

===========================  ======================================================================================
law                          the noise
===========================  ======================================================================================
``"gaussian"``               normal
``"laplace"``                Laplace
``"averaged-laplace-k"``     a sum of k independent Laplace numbers of one scale, k a whole number
===========================  ======================================================================================

The discrete forms that are drawn differ from these by less than one lattice step. A combination of two such numbers
with different scales, as in the ratio of two totals, has lighter tails than one with the variance of both; it is read
as one.

A Laplace number is a normal one whose variance is an exponential number; a sum of k of them has as variance a gamma
number Γ of shape k. So P(G + S > h) = E Φ̄(h/√(a² + b²Γ/k)) for a normal G of sd a and a sum S of sd b. Over log Γ
the integrand falls off at both ends faster than any power, so the trapezoidal rule is right to the last digits.

The tail of the sum of a normal and a Laplace number is known in closed form (Reed & Jorgensen 2004). With g = h/s,
w = s/b, b the Laplace scale:

    P(G + L > h) = Φ̄(g) + ½·e^(w²/2 − wg)·Φ(g − w) − ½·e^(w²/2 + wg)·Φ(−g − w).

Both laws are log-concave, so the logarithm of the tail is a concave function of h: a Newton step on it from anywhere
lands at or beyond the quantile, and all further ones come down to it from there. What is returned covers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.printed import part_of
from hedgerow.facts.validation import as_float, format_argument
from hedgerow.mechanisms.laws import AVERAGED

_LEAST_TAIL = 1e-12


def parse_level(level: object) -> float:
    """Return the level as a float between 0 and 1, at least 1e-12 away from both.

    Raises
    ------
    ParameterError
        HG110: anything else, such as 95 for 95 %.

    Examples
    --------
    >>> parse_level(0.95)
    0.95
    """
    number = as_float(level)
    # Nearer to 1, what is left of a tail has too few digits for a quantile.
    if number is not None and _LEAST_TAIL <= number <= 1.0 - _LEAST_TAIL:
        return number
    raise ParameterError(
        "HG110",
        rule="`level` must be a number between 0 and 1, and at least 1e-12 away from both.",
        finding=f"Found {format_argument(level)}.",
        remedy="Did you mean 0.95?" if number == 95.0 else "Try level=0.95.",
    )


def normal_quantile(level: float) -> float:
    """Return z such that a standard normal lies within ±z with probability `level`.

    Examples
    --------
    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    return NormalDist().inv_cdf((1 + parse_level(level)) / 2)


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval, with its level, its method and the quantity that it covers.

    The attribute ``covers`` names the covered quantity in words. An end of the interval is infinite if no bound is
    known; in JSON the value of an infinite end is null. An interval unpacks into its two ends: ``low, high =
    interval``.

    >>> low, high = Interval(1.0, 3.0, 0.95, "moments")
    >>> high - low
    2.0
    """

    low: float
    high: float
    level: float
    method: str
    covers: str = ""

    def __iter__(self) -> Iterator[float]:
        """Yield the two ends: ``low, high = interval``."""
        yield self.low
        yield self.high

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        ends = {"low": _finite(self.low), "high": _finite(self.high)}
        return {**ends, "level": self.level, "method": self.method, "covers": self.covers}

    def outward(self, places: int | None = None) -> Interval:
        """Return the interval with rounded ends, for printing.

        The ends are rounded outwards, so the interval never becomes narrower.

        The number of decimals. By default each end has six significant digits.

        >>> Interval(1.26, 3.14159265, 0.95, "").outward(1), Interval(1.26, 3.14159265, 0.95, "").outward().high
        (Interval(low=1.2, high=3.2, level=0.95, method='', covers=''), 3.1416)
        """
        ends = _rounded(self.low, places, ROUND_FLOOR), _rounded(self.high, places, ROUND_CEILING)
        return replace(self, low=ends[0], high=ends[1])

    def __str__(self) -> str:
        what, shown = self.covers or "the target", self.outward()
        return f"[{shown.low:.6g}, {shown.high:.6g}]: in {part_of(self.level)} of such releases it holds {what}"


def _rounded(number: float, places: int | None, way: str) -> float:
    if number == 0.0 or not math.isfinite(number):
        return number + 0.0  # never "-0"
    decimals = 5 - math.floor(math.log10(abs(number))) if places is None else places
    # The shortest decimal of a double, not its binary digits: .1 stays .1.
    return float(Decimal(repr(float(number))).quantize(Decimal(1).scaleb(-decimals), way, Context(prec=700)))


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


Floats = NDArray[np.float64]
# From z·(sd of the sum) three steps reach the last digit for every ratio of the two and every level tried (1e-6 to
# 1 − 1e-13, 4,001 ratios); two more are to spare, and their number is fixed, so that cells do not depend on others.
_NEWTON_STEPS = 5
_STEPS_OF_SUMS = 8  # of 2 to 2,000 Laplace numbers: with these, bisection agrees to 5e-14
_NEGLIGIBLE = 1e-9
_LAPLACE_OUTWARD = 1.0 + 1e-12
_NODES = 300
_POINTS = 257
_OUTWARD = 1.0 + 1e-5  # lines between 257 points of a smooth curve are within 3e-6 of it


def noise_quantile(level: float, sampling_sd: float, noise_sd: float) -> float:
    """Return h with P(|G + L| ≤ h) ≥ level, G normal with sd `sampling_sd`, L Laplace with sd `noise_sd`.

    >>> round(noise_quantile(0.95, 0.0, 2**0.5), 3)
    2.996
    >>> round(noise_quantile(0.95, 1.0, 1e-6), 3)
    1.96
    """
    return float(noise_quantiles(level, np.array([sampling_sd]), np.array([noise_sd]))[0])


def noise_quantiles(level: float, sampling_sd: Floats, noise_sd: Floats) -> Floats:
    """Return `noise_quantile` of each pair of standard deviations; the two arrays broadcast.

    >>> noise_quantiles(0.95, np.array([0.0, 1.0]), np.array([2**0.5, 0.0])).round(3).tolist()
    [2.996, 1.96]
    """
    from hedgerow.special import ndtri

    tail = (1.0 - level) / 2
    normal = -float(ndtri(tail))
    sampling, noise = np.broadcast_arrays(sampling_sd, noise_sd)
    both = (sampling > _NEGLIGIBLE * noise) & (noise > _NEGLIGIBLE * sampling)
    quantile = np.where(sampling > noise, sampling * normal, noise * (-np.log(2.0 * tail) / np.sqrt(2.0)))
    if both.any():
        sd, scale = sampling[both], noise[both] / np.sqrt(2.0)
        start = normal * np.sqrt(sd**2 + 2.0 * scale**2)
        quantile[both] = _newton(tail, start, lambda h: laplace_tail(h, sd, scale), _NEWTON_STEPS)
    return np.asarray(quantile * _LAPLACE_OUTWARD)


def _newton(tail: float, h: Floats, law: Callable[[Floats], tuple[Floats, Floats]], steps: int) -> Floats:
    """Return where a tail is `tail`, by steps on its logarithm from h; `law` gives the tail and the density."""
    for _ in range(steps):
        beyond, density = law(h)
        h = h + np.log(beyond / tail) * beyond / density
    return h


def laplace_tail(h: Floats, sampling: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Return P(G + L > h) and the density at h ≥ 0. The scaled functions keep the digits where w is large."""
    from hedgerow.special import erfcx, ndtr

    g, w = h / sampling, sampling / scale
    bell = 0.25 * np.exp(-0.5 * g**2)
    root = np.sqrt(2.0)
    near = g < w
    if near.all():  # as where sampling is most of the error: the same numbers, and half of the work
        right = bell * erfcx((w - g) / root)
    else:
        far = 0.5 * np.exp(np.where(near, 0.0, w * (0.5 * w - g))) * ndtr(g - w)
        right = np.where(near, bell * erfcx(np.where(near, w - g, 0.0) / root), far)
    left = bell * erfcx((w + g) / root)
    return ndtr(-g) + right - left, (right + left) / scale


def draws_of(noise_law: str) -> int | None:
    """Return how many Laplace numbers make the noise; None where it is normal.

    >>> draws_of("averaged-laplace-10"), draws_of("laplace"), draws_of("gaussian")
    (10, 1, None)
    """
    if noise_law == "gaussian":
        return None
    return 1 if noise_law == "laplace" else int(noise_law.removeprefix(f"{AVERAGED}-"))


def quantiles_of(noise_law: str, level: float, sampling_sd: Floats, noise_sd: Floats) -> Floats:
    """Return h with P(|G + N| ≤ h) ≥ level, G normal of sd `sampling_sd` and N noise of sd `noise_sd`, cell by cell.

    The two arrays broadcast.

    >>> quantiles_of("averaged-laplace-10", 0.95, np.array([0.0, 1.0]), np.array([1.0, 0.0])).round(3).tolist()
    [1.981, 1.96]
    """
    from hedgerow.special import ndtri

    draws = draws_of(noise_law)
    if draws == 1:
        return noise_quantiles(level, sampling_sd, noise_sd)
    sampling, noise = np.broadcast_arrays(np.asarray(sampling_sd, dtype=np.float64), noise_sd)
    if draws is None:
        return np.asarray(np.hypot(sampling, noise) * float(ndtri(0.5 + level / 2)))
    return np.asarray(np.hypot(sampling, noise) * _ratios(draws, level, np.arctan2(noise, sampling)) * _OUTWARD)


_ANGLES = np.linspace(0.0, np.pi / 2, _POINTS)


def _ratios(draws: int, level: float, angles: Floats) -> Floats:
    """Return the quantile over the sd of the sum at angles from no noise to nothing else, by lines between 257 points.

    The points that a question needs are solved when it comes: a test asks for each level at a single angle.
    """
    ratios = _curve(draws, level)
    below = np.clip(np.searchsorted(_ANGLES, angles, side="right") - 1, 0, _POINTS - 2)
    needed = np.unique(np.append(below, below + 1))
    unknown = needed[np.isnan(ratios[needed])]
    if unknown.size:
        ratios[unknown] = _solved(draws, level, _ANGLES[unknown])
    return np.asarray(np.interp(angles, _ANGLES, ratios))


@lru_cache(maxsize=32)
def _curve(draws: int, level: float) -> Floats:
    """Return the ratios of a curve that were solved so far; the others are not a number."""
    return np.full(_POINTS, np.nan)


def _solved(draws: int, level: float, angles: Floats) -> Floats:
    """Return the quantile over the sd of the sum at some angles, by Newton steps on the logarithm of the tail."""
    from hedgerow.special import ndtr, ndtri

    tail = (1.0 - level) / 2
    share, weights = _mixing(draws)
    spread = np.sqrt(np.cos(angles)[:, None] ** 2 + np.sin(angles)[:, None] ** 2 * share)

    def law(h: Floats) -> tuple[Floats, Floats]:
        scaled = h[:, None] / spread
        # Sums of rows, not a product of matrices: an angle must not depend on which others are asked.
        beyond = (ndtr(-scaled) * weights).sum(axis=1)
        return beyond, (np.exp(-0.5 * scaled**2) / spread * weights).sum(axis=1) / np.sqrt(2.0 * np.pi)

    return _newton(tail, np.full(len(angles), -float(ndtri(tail))), law, _STEPS_OF_SUMS)


def _mixing(draws: int) -> tuple[Floats, Floats]:
    """Return nodes of Γ/k, Γ a gamma number of shape k, and their weights: at least 1 in all."""
    from hedgerow.special import gammaln

    below = 36.0 / draws + 9.0 / np.sqrt(draws)
    above = np.log1p(40.0 / draws + 9.0 / np.sqrt(draws))
    logs = np.linspace(-below, above, _NODES)
    density = draws * (logs + np.log(draws)) - draws * np.exp(logs) - gammaln(draws)
    weights = np.exp(density) * (logs[1] - logs[0])
    return np.exp(logs), weights * (1.0 + 1e-9)
