"""Brawner and Honaker's own estimates from noisy replicates (2018, eq. 6–13 and 30–37), for many releases at once.

As printed, with two repairs that are named where they stand. For reproduction: the intervals of a release are those of
`inference`, which also count the error that k replicates leave.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.inference.bootstrap.replicates import brawner_honaker_total_variance, chi_square_share
from hedgerow.inference.estimate import normal_quantile

Array = NDArray[np.float64]

ESTIMATORS = ("unbiased", "conservative", "most conservative")
_ALPHA = 0.05


def pooling_weights(epsilons: Sequence[float]) -> Array:
    """Return w_i = ε_i²/Σ ε_j², the inverse-variance weights of k Laplace releases of one number (eq. 6, put right).

    Printed is ε_i^{−2}/Σ ε_j^{−2}; a Laplace release of ε has variance 2Δ²/ε², so the weights that are "inversely
    proportional to the variances" are these.

    >>> pooling_weights([1.0, 3.0]).tolist()
    [0.1, 0.9]
    """
    squares = np.square(np.asarray(epsilons, dtype=np.float64))
    return np.asarray(squares / squares.sum(), dtype=np.float64)


def partition_variance(n_parts: int, *, composition: str, delta: float = 1e-6) -> float:
    """Return the variance of the mean of k releases over that of one release with the whole budget (eq. 11–13).

    Parameters
    ----------
    n_parts : int
        k.
    composition : {"basic", "advanced", "zcdp"}
        k; ln(1/δ); 1.

    Examples
    --------
    >>> [partition_variance(10, composition=name) for name in ("basic", "zcdp")]
    [10.0, 1.0]
    """
    return {"basic": float(n_parts), "advanced": math.log(1.0 / delta), "zcdp": 1.0}[composition]


@dataclass(frozen=True, slots=True)
class PublishedIntervals:
    """One of their three estimators on many releases: arrays with one entry a release.

    Attributes
    ----------
    estimate : array
        m*, the mean of the replicates.
    total_variance : array
        Eq. 35, negative at times.
    """

    estimate: Array
    total_variance: Array

    @property
    def standard_error(self) -> Array:
        """√max(0, eq. 35): the paper is silent on negative values; cut at 0 its section 8 is reproduced."""
        return np.asarray(np.sqrt(np.maximum(self.total_variance, 0.0)), dtype=np.float64)

    def z_score(self, truth: float) -> Array:
        """Return (m* − truth)/s.e. (eq. 37), infinite where the standard error is 0."""
        error = self.estimate - truth
        return np.divide(error, self.standard_error, out=np.copysign(np.inf, error), where=self.standard_error > 0.0)

    def covers(self, truth: float, *, level: float = 0.95) -> NDArray[np.bool_]:
        """Return whether m* ± z·s.e. holds the truth (eq. 36)."""
        return np.asarray(np.abs(self.estimate - truth) <= normal_quantile(level) * self.standard_error)


def published_intervals(replicates: ArrayLike, *, noise_variance: float) -> dict[str, PublishedIntervals]:
    """Return their three estimators of each release, eq. 35 with c = k − 1, c = χ²-quantile at .05, and c = 0.

    Parameters
    ----------
    replicates : array, (releases, k)
        Noisy replicate means.
    noise_variance : float
        σ₁² = Δ²k/2ρ, of one replicate.

    Examples
    --------
    >>> of = published_intervals([[1.0, 3.0]], noise_variance=1.0)
    >>> of["unbiased"].total_variance.tolist(), of["most conservative"].total_variance.tolist()
    ([1.5], [2.5])
    """
    values = np.atleast_2d(np.asarray(replicates, dtype=np.float64))
    k = values.shape[1]
    means, spreads = values.mean(axis=1), values.var(axis=1, ddof=1)
    found = {}
    for name, share in zip(ESTIMATORS, (1.0, chi_square_share(k, alpha=_ALPHA), 0.0), strict=True):
        # One call a spread would be slow, and the printed formula is linear in it.
        constant = brawner_honaker_total_variance(0.0, noise_variance=noise_variance, n_resamples=k, noise_share=share)
        found[name] = PublishedIntervals(means, spreads + constant)
    return found
