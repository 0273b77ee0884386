"""Counts and proportions with their errors from noisy counts of disjoint cells, for all cells at once.

Sampling, for the target ``population``: under replace-one n records fall into a cell or not (binomial); under
add-remove the number of records is random itself (Poisson). For the target ``file`` it is 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.moments import RELIABLE_SDS
from hedgerow.inference.score import Quadratic, ScoreArrays

Floats = NDArray[np.float64]
Numbers = Floats | float
# P(|Z| ≤ k) of integer noise is at least about that of its continuous law up to k + ½; scanned for sd .15 to 20.
WHOLE_NUMBERS = 0.5
SMALL_COUNT = "This count is under 2 sd of its noise."


@dataclass(frozen=True, slots=True, eq=False)
class NumbersWithErrors:
    """Estimates cell by cell: two of their errors, which stand clear of the noise, what intervals come from."""

    value: Floats
    sampling_error: Floats
    privacy_error: Floats
    reliable: NDArray[np.bool_]
    test: ScoreArrays


def exact_count(n: int) -> ScoreArrays:
    """Return the interval's numbers of a public n: an interval of one point."""
    none, count = Quadratic(), np.array([float(n)])
    return ScoreArrays(count, none, none, 0.0, math.inf, "gaussian", "public")


def counts_with_errors(
    noisy: Floats, *, noise_sd: Numbers, n: int | None, census: bool, noise_law: str, method: str
) -> NumbersWithErrors:
    """Return each cell's noisy count with its errors; one that does not stand clear of its noise is cut at 0.

    The interval solves (A − θ)² ≤ z²(θ − θ²/n + s²), half a count added at both ends: it is never negative and covers
    for small counts. The half makes up for noise in whole numbers, read by a continuous law: without it coverage falls
    to .80 where the noise is about half a count wide.

    >>> options = {"n": None, "census": False, "noise_law": "gaussian", "method": "gaussian"}
    >>> answer = counts_with_errors(np.array([100.0, -4.0]), noise_sd=3.0, **options)
    >>> answer.value.tolist(), answer.sampling_error.tolist(), answer.privacy_error.tolist()
    ([100.0, 0.0], [10.0, 0.0], [3.0, 3.0])
    """
    sampling = Quadratic() if census else Quadratic(linear=1.0, square=-1.0 / n if n else 0.0)
    most = math.inf if n is None else float(n)
    inside = np.minimum(np.maximum(noisy, 0.0), most)
    test = ScoreArrays(
        a=noisy,
        sampling=sampling,
        noise=Quadratic(constant=noise_sd**2),
        low=0.0,
        high=most,
        noise_law=noise_law,
        method=method,
        margin=WHOLE_NUMBERS,
    )
    sampling_error = np.sqrt(np.maximum(0.0, sampling.at(inside)))
    reliable = noisy >= RELIABLE_SDS * noise_sd
    value = np.where(reliable, noisy, inside)
    return NumbersWithErrors(value, sampling_error, np.full_like(value, noise_sd), reliable, test)


def proportions_with_errors(
    successes: Floats, total: Floats | float, *, noise_sd: float, census: bool, noise_law: str, method: str
) -> NumbersWithErrors:
    """Return successes/total with its errors, cell by cell; the total is an array of noisy counts, or a public number.

    Private denominator N, the successes n₁ and the others n₀ added up: A − θN = (1 − θ)·n₁ − θ·n₀ has noise variance
    s²((1 − θ)² + θ²), sampling variance Nθ(1 − θ). Half a record is added at both ends of an interval, as to that of a
    count.

    >>> options = {"census": False, "noise_law": "gaussian", "method": "gaussian"}
    >>> answer = proportions_with_errors(np.array([30.0]), np.array([100.0]), noise_sd=1.0, **options)
    >>> [column.round(4).tolist() for column in (answer.value, answer.sampling_error, answer.privacy_error)]
    [[0.3], [0.0458], [0.0076]]
    """
    public = np.ndim(total) == 0
    total = np.broadcast_to(np.asarray(total, dtype=np.float64), successes.shape)
    variance = noise_sd**2
    noise = Quadratic(variance) if public else Quadratic(variance, -2.0 * variance, 2.0 * variance)
    total_sd = 0.0 if public else math.sqrt(2.0) * noise_sd
    reliable = total >= max(RELIABLE_SDS * total_sd, 1.0)
    spread = np.zeros_like(total) if census else np.maximum(total, 0.0)
    # Where the ratio is not defined it is a number in [0, 1]; the interval beside it says that nothing is known.
    divisor = np.where(total > 0.0, total, 1.0)
    value = np.where(total > 0.0, np.minimum(np.maximum(successes / divisor, 0.0), 1.0), 0.5)
    test = ScoreArrays(
        a=successes,
        b=total,
        sampling=Quadratic(linear=spread, square=-spread),
        noise=noise,
        low=0.0,
        high=1.0,
        noise_law=noise_law,
        reliable=reliable,
        method=method,
        margin=WHOLE_NUMBERS / divisor,
    )
    sampling_error = np.sqrt(np.maximum(0.0, test.sampling.at(value))) / divisor
    privacy_error = np.sqrt(np.maximum(0.0, noise.at(value))) / divisor
    half = np.full_like(value, 0.5)
    return NumbersWithErrors(
        value, np.where(reliable, sampling_error, half), np.where(reliable, privacy_error, half), reliable, test
    )
