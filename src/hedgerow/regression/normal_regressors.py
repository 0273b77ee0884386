r"""Regressors as if they were normal: where a logistic regression starts, and what its curvature nearly is elsewhere.

The first step is taken at β = 0, where the curvature is ¼ Σ xx'. So it tells N, the mean m and the covariance C of the
features, with noise. Were these normal, then η = x'β = b₀ + x'b would be so too, with the mean M = b₀ + m'b and the
variance v = b'Cb, and Stein's lemma gives sums at every β from integrals over one normal number:

=========  ===========================================================================================================
response   Σ E[μ(η) x]: N·E[μ] for the constant, N·(m E[μ] + C b E[μ']) for the others
curvature  Σ E[μ'(η) x x']
start      the β at which Σ (y − ½)x would be what was released: C b = cov(x, y)/E[μ'(η)], E[μ(η)] the share of y
=========  ===========================================================================================================

Nothing that is reported is read from this alone: the last step is about the records themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Beta = tuple[float, ...]
_PLACES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(61)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_LARGEST_VARIANCE, _FARTHEST = 25.0, 12.0
_RAREST = 0.002
_MOST_EXPLAINED = 0.6
"""Of the variance of an outcome of 0 or 1 that a line in normal regressors tells: at most 2/π, where v is infinite."""


@dataclass(frozen=True, eq=False)
class NormalRegressors:
    """Normal regressors beside a constant.

    Attributes
    ----------
    n : float
        The number of records, noisy.
    mean : float array, (P − 1,)
    covariance : float array, (P − 1, P − 1)
        Its eigenvalues are raised to half the noise.
    noise : float
        The standard deviation of the noise of a number of Σ xx'.
    """

    n: float
    mean: Floats
    covariance: Floats
    noise: float

    @classmethod
    def of_curvature(cls, curvature: Floats, sd: float) -> NormalRegressors:
        """Return those that a noisy curvature at β = 0 tells; `sd` is that of one of its numbers."""
        second, noise = 4.0 * curvature, 4.0 * sd
        n = max(float(second[0, 0]), 10.0)
        mean = np.clip(second[0, 1:] / n, -1.0, 1.0)
        covariance = second[1:, 1:] / n - np.outer(mean, mean)
        return cls(n, mean, _raised(covariance, 0.5 * noise * math.sqrt(len(second)) / n), noise)

    def start(self, gradient: Floats) -> Beta:
        """Return the β at which the noisy gradient at 0, Σ (y − ½)x, is what these regressors would give."""
        half = 0.5 - _RAREST
        share = float(np.clip(gradient[0] / self.n, -half, half))
        with_outcome = gradient[1:] / self.n - self.mean * share
        floor = self.noise * math.sqrt(len(gradient)) / self.n
        line = np.linalg.solve(_raised(self.covariance, floor), with_outcome)
        most = _MOST_EXPLAINED * (0.25 - share**2)
        middle, slope = _middle_and_slope(0.5 + share, float(np.clip(line @ with_outcome, 0.0, most)))
        slopes = line / slope
        return (middle - float(self.mean @ slopes), *slopes.tolist())

    def response(self, beta: Floats) -> Floats:
        """Return Σ E[μ(η) x]."""
        middle, variance, along = self._eta(beta)
        chance, slope, *_ = _moments(middle, variance)
        return self.n * np.append(chance, self.mean * chance + along * math.sqrt(variance) * slope)

    def curvature(self, beta: Floats) -> Floats:
        """Return Σ E[μ'(η) x x']."""
        middle, variance, along = self._eta(beta)
        _, slope, first, second = _moments(middle, variance)
        along = np.append(0.0, along)
        mean, rest = np.append(1.0, self.mean), np.zeros((len(beta), len(beta)))
        rest[1:, 1:] = self.covariance
        across = np.outer(mean, along)
        about = slope * (np.outer(mean, mean) + rest) + first * (across + across.T)
        return np.asarray(self.n * (about + (second - slope) * np.outer(along, along)))

    def curvature_noise(self, curvature: Floats) -> float:
        """Return about the noise of a number of a curvature: that of Σ xx', in proportion."""
        return self.noise * float(np.trace(curvature)) / self._trace

    @cached_property
    def _trace(self) -> float:
        return self.n * float(1.0 + self.mean @ self.mean + np.trace(self.covariance))

    def _eta(self, beta: Floats) -> tuple[float, float, Floats]:
        """Return the mean of η, its variance, bounded, and the covariance of x with η over the sd of η."""
        along = self.covariance @ beta[1:]
        variance = max(float(beta[1:] @ along), 1e-12)
        middle = float(beta[0] + self.mean @ beta[1:])
        return middle, min(variance, _LARGEST_VARIANCE), along / math.sqrt(variance)


def _raised(matrix: Floats, floor: float) -> Floats:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors * np.maximum(values, floor) @ vectors.T)


def _moments(middle: float, variance: float) -> tuple[float, float, float, float]:
    """Return E[μ], E[μ'], E[μ'z] and E[μ'z²], η = M + √v z."""
    chance = 1.0 / (1.0 + np.exp(-(middle + math.sqrt(variance) * _PLACES)))
    slope = chance * (1.0 - chance) * _WEIGHTS
    first = slope * _PLACES
    return float(_WEIGHTS @ chance), float(slope.sum()), float(first.sum()), float(first @ _PLACES)


def _middle_and_slope(share: float, explained: float) -> tuple[float, float]:
    """Return M and k = E[μ'(η)] where E[μ(η)] is the share and η has the variance explained/k²."""
    slope, middle = share * (1.0 - share), math.log(share / (1.0 - share))
    for _ in range(100):
        variance = min(explained / slope**2, _LARGEST_VARIANCE)
        for _ in range(8):
            chance, steep, *_ = _moments(middle, variance)
            middle = min(max(middle - (chance - share) / max(steep, 1e-4), -_FARTHEST), _FARTHEST)
        steeper = max(_moments(middle, variance)[1], 1e-3)
        if abs(steeper - slope) <= 1e-14:
            break
        slope = 0.5 * (slope + steeper)
    return middle, slope
