"""Counts and proportions with their errors from noisy counts of disjoint cells.

Sampling, for the target ``population``: under replace-one n records fall into a cell or not (binomial); under
add-remove the number of records is random itself (Poisson). For the target ``file`` it is 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hedgerow.inference.moments import RELIABLE_SDS
from hedgerow.inference.score import Quadratic, ScoreBasis

__all__ = ["NumberWithErrors", "count_with_errors", "exact_count", "proportion_with_errors"]


@dataclass(frozen=True, slots=True)
class NumberWithErrors:
    """An estimate, two of its errors, whether it stands clear of its noise, and what its interval is computed from."""

    value: float
    sampling_error: float
    privacy_error: float
    reliable: bool
    basis: ScoreBasis


def exact_count(n: int) -> NumberWithErrors:
    """Return n as a public number: no error, an interval of one point."""
    basis = ScoreBasis(
        float(n), 1.0, 0.0, Quadratic(), Quadratic(), 0.0, math.inf, math.inf, "gaussian", True, "public"
    )
    return NumberWithErrors(float(n), 0.0, 0.0, True, basis)


def count_with_errors(
    noisy: float, *, noise_sd: float, n: int | None, census: bool, noise_law: str, method: str
) -> NumberWithErrors:
    """Return a cell's noisy count with its errors; one that does not stand clear of its noise is cut at 0.

    The interval solves (A − θ)² ≤ z²(θ − θ²/n + s²): it is never negative and covers for small counts.

    >>> options = {"n": None, "census": False, "noise_law": "gaussian", "method": "gaussian"}
    >>> answer = count_with_errors(100.0, noise_sd=3.0, **options)
    >>> answer.value, answer.sampling_error, answer.privacy_error
    (100.0, 10.0, 3.0)
    """
    if census:
        sampling = Quadratic()
    else:
        sampling = Quadratic(linear=1.0, square=-1.0 / n if n else 0.0)
    inside = min(max(noisy, 0.0), float(n) if n is not None else math.inf)
    basis = ScoreBasis(
        a=noisy,
        b=1.0,
        shift=0.0,
        sampling=sampling,
        noise=Quadratic(constant=noise_sd**2),
        low=0.0,
        high=math.inf if n is None else float(n),
        freedom=math.inf,
        noise_law=noise_law,
        reliable=True,
        method=method,
    )
    sampling_error = math.sqrt(max(0.0, sampling.at(inside)))
    reliable = noisy >= RELIABLE_SDS * noise_sd
    return NumberWithErrors(noisy if reliable else inside, sampling_error, noise_sd, reliable, basis)


def proportion_with_errors(
    successes: float,
    others: float | None,
    *,
    noise_sd: float,
    n: int | None,
    census: bool,
    noise_law: str,
    method: str,
) -> NumberWithErrors:
    """Return successes/(successes + others), or successes/n where n is public, with its errors.

    Private denominator: A − θN = (1 − θ)·n₁ − θ·n₀ has noise variance s²((1 − θ)² + θ²), sampling variance Nθ(1 − θ).

    >>> options = {"n": None, "census": False, "noise_law": "gaussian", "method": "gaussian"}
    >>> answer = proportion_with_errors(30.0, 70.0, noise_sd=1.0, **options)
    >>> round(answer.value, 3), round(answer.sampling_error, 4), round(answer.privacy_error, 4)
    (0.3, 0.0458, 0.0076)
    """
    public = others is None
    total = float(n or 0) if others is None else successes + others
    variance = noise_sd**2
    noise = Quadratic(variance) if public else Quadratic(variance, -2.0 * variance, 2.0 * variance)
    total_sd = 0.0 if public else math.sqrt(2.0) * noise_sd
    reliable = total >= max(RELIABLE_SDS * total_sd, 1.0)
    spread = 0.0 if census else max(total, 0.0)
    value = min(max(successes / total, 0.0), 1.0) if reliable else _clipped(successes, total)
    basis = ScoreBasis(
        a=successes,
        b=total,
        shift=0.0,
        sampling=Quadratic(linear=spread, square=-spread),
        noise=noise,
        low=0.0,
        high=1.0,
        freedom=math.inf,
        noise_law=noise_law,
        reliable=reliable,
        method=method,
    )
    if not reliable:
        return NumberWithErrors(value, 0.5, 0.5, False, basis)
    sampling_error = math.sqrt(max(0.0, basis.sampling.at(value))) / total
    return NumberWithErrors(value, sampling_error, math.sqrt(max(0.0, noise.at(value))) / total, True, basis)


def _clipped(successes: float, total: float) -> float:
    """Return a number in [0, 1] where the ratio is not defined; the interval beside it says that nothing is known."""
    return min(max(successes / total, 0.0), 1.0) if total > 0.0 else 0.5
