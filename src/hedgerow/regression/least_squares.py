"""Least squares from noisy moments: coefficients, their errors in two parts, and intervals that hold.

Records have a vector P = (1, P_1, …) of which regressors x = QP and the response y = ℓ'P are combinations. What is
released tells B = ΣPP'/N + Σ_z z K_z, the z independent, of mean 0, variance 1 and the law of the noise. With A = QBQ',
b = QBℓ the estimate is β̂ = A⁻¹b. Write v = ℓ − Q'β̂ for the residual, s_z = QK_z v for the noise of its score, and
M = Σ s_z s_z'. Then (docs/methods/regression.md)

=============  =====================================================================================================
noise          Var = A⁻¹MA⁻¹
sampling       σ̂² A⁻¹/N, σ̂² = (v'Bv + tr A⁻¹M)·N/(N − k), 0 where that is negative: v minimises the noisy sum, so
               without the trace it would be too small
bias           β̂ is moved by A⁻¹ Σ_z QK_zQ'A⁻¹s_z, what noise in A does to it on average
interval       of w'β: all numbers whose score lies within the quantile of its own error (Fieller), so that noise in A
               is counted: a score at β is linear in the noise, its variance a square in β. The noise in the moments of
               the other regressors times that of the score, a square in the noise, has its mean and variance counted
=============  =====================================================================================================

The interval is unbounded where the noise hides whether a regressor varies at all, given the others; and where A is not
positive definite. Where the noise swamps the fit it is wide, and the fit is marked unreliable.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.interval import draws_of, quantiles_of
from hedgerow.regression.features import LinearFeatures

Floats = NDArray[np.float64]
REMARK, SHRUNK, UNRELIABLE = 0.25, 0.7, 1.0
"""From which relative noise of the moment matrix on a remark is made, coefficients are shrunk, and are unreliable."""
_MOST_DRAWS, _ITERATIONS = 64, 40


def score_interval(
    asked: tuple[Floats, float],
    algebra: tuple[Floats, Floats, Floats],
    spread: Callable[[Floats, float], tuple[float, float]],
) -> tuple[float, float]:
    """Return the values of w'β whose score lies within its quantile: (−∞, ∞) where the noise hides w'β.

    Parameters
    ----------
    asked : (float array, float)
        w, and the estimate of w'β.
    algebra : three float arrays
        A⁻¹; the noise of the score of the estimate by part, (z, k); what each part of the noise adds to A, (z, k, k).
    spread : callable
        From the noise of the score along A⁻¹w, by part, and 1/(w'A⁻¹w): the squared quantile, and the sampling variance
        of that score.
    """
    (w, estimate), (inverse, scores, noise) = asked, algebra
    size = float(w @ inverse @ w)
    direction = inverse @ w / size
    information = 1.0 / size
    own = np.asarray(scores @ direction)
    across = np.einsum("i,zij->zj", direction, noise)
    slope = across @ direction
    # What noise in the matrix of the other regressors moves the score by; that of this one is in its slope.
    others = across @ (inverse - np.outer(direction, direction) / information)
    both = others.T @ scores
    centre = estimate + float(np.trace(both)) / information
    second = float(np.sum((others.T @ others) * (scores.T @ scores)) + np.sum(both * both.T))
    z2, sampling = spread(own, information)
    # All δ with d²δ² ≤ z²[Σ(a_z − δb_z)² + C + σ²d/N].
    bend = information**2 - z2 * float(slope @ slope)
    turn = z2 * float(own @ slope)
    rest = z2 * (float(own @ own) + second + sampling)
    if bend <= 0.0:
        return -math.inf, math.inf
    middle = centre - turn / bend
    reach = math.sqrt(max(0.0, (turn / bend) ** 2 + rest / bend))
    return middle - reach, middle + reach


@dataclass(frozen=True, eq=False)
class RegressionMoments:
    """Noisy second moments of (1, P_1, …).

    Attributes
    ----------
    n : float
        The number of records: public, or noisy.
    second : float array, (p, p)
        ΣPP'/N.
    noise : float array, (z, p, p)
        What each independent part of the noise, of variance 1, adds to them.
    law : str
        The law of the noise.
    census : bool
        Whether the records are all there is to know.
    """

    n: float
    second: Floats
    noise: Floats
    law: str
    census: bool = False


@dataclass(frozen=True, eq=False)
class LeastSquaresFit:
    """The least-squares fit of a response on regressors, each a combination of (1, P_1, …).

    Attributes
    ----------
    moments : RegressionMoments
    rows : float array, (k, p)
        The regressors, in their own units.
    response : float array, (p,)
        The response, in its own unit.
    constant : bool
        Whether a combination of the regressors is constant.
    shrinks : bool
        Whether coefficients are shrunk where noise is large.
    """

    moments: RegressionMoments
    rows: Floats
    response: Floats
    constant: bool = True
    shrinks: bool = field(default=False, kw_only=True)

    @cached_property
    def _basis(self) -> tuple[Floats, Floats]:
        """Orthonormal rows Q, and R with rows = RQ: regressors of one size, whatever their units."""
        q, r = np.linalg.qr(self.rows.T)
        return q.T, r.T

    @cached_property
    def _size(self) -> float:
        return float(np.abs(self.response[1:]).max())

    @cached_property
    def _response(self) -> Floats:
        return self.response / self._size

    @cached_property
    def matrix(self) -> Floats:
        """A, the noisy second moments of the scaled regressors."""
        q, _ = self._basis
        return q @ self.moments.second @ q.T

    @cached_property
    def positive(self) -> bool:
        """Whether A is positive definite, and there are more records than regressors."""
        return bool(self.moments.n > len(self.rows) + 1.0 and np.linalg.eigvalsh(self.matrix)[0] > 0.0)

    @cached_property
    def inverse(self) -> Floats:
        """A⁻¹; where A is not positive definite that of the nearest matrix that is, to have some number to show."""
        values, vectors = np.linalg.eigh(self.matrix)
        raised = np.maximum(values, 1e-12 * max(float(np.abs(values).max()), 1e-300))
        return np.asarray(vectors / raised @ vectors.T)

    @cached_property
    def whitener(self) -> Floats:
        """A^(−½)Q, by which moments of scaled regressors are 1 and uncorrelated; Q where A is not positive definite."""
        q, _ = self._basis
        values, vectors = np.linalg.eigh(self.matrix)
        return np.asarray(vectors / np.sqrt(values) @ vectors.T @ q if self.positive else q)

    @cached_property
    def noise_ratio(self) -> float:
        """r: about the size of the noise in A relative to A, 2√‖Σ W_z²‖ with W_z = A^−½ (QK_zQ') A^−½.

        Of a symmetric matrix of independent normal noise it is the largest eigenvalue in size, in any units.
        """
        if not self.positive:
            return math.inf
        parts = self.whitener @ self.moments.noise @ self.whitener.T
        return 2.0 * math.sqrt(float(np.linalg.eigvalsh(np.einsum("zij,zkj->ik", parts, parts))[-1]))

    @property
    def reliable(self) -> bool:
        """Whether A is positive definite and not swamped by the noise."""
        return self.positive and self.noise_ratio < UNRELIABLE

    @cached_property
    def _plain(self) -> Floats:
        q, _ = self._basis
        return np.asarray(self.inverse @ (q @ self.moments.second @ self._response))

    @cached_property
    def residual(self) -> Floats:
        """The residual v = ℓ − Q'β̂ as a combination of (1, P_1, …), in units of the response's half-range."""
        q, _ = self._basis
        return np.asarray(self._response - q.T @ self._plain)

    @cached_property
    def _scores(self) -> Floats:
        """The noise of the score of the residual, by part: (z, k)."""
        q, _ = self._basis
        return np.asarray(self.moments.noise @ self.residual @ q.T)

    @cached_property
    def _bias(self) -> Floats:
        q, _ = self._basis
        return np.asarray(np.einsum("zi,ij->j", self._moved @ q.T, self.inverse))

    @cached_property
    def _moved(self) -> Floats:
        """K_z Q'A⁻¹s_z by part: (z, p)."""
        q, _ = self._basis
        return np.asarray(np.einsum("zij,zj->zi", self.moments.noise, self._scores @ self.inverse @ q))

    @cached_property
    def _back(self) -> Floats:
        """The matrix from scaled coefficients to those of the regressors' own units."""
        _, r = self._basis
        return np.asarray(self._size * np.linalg.inv(r).T)

    @cached_property
    def params(self) -> Floats:
        """The coefficients, (k,), bias removed where the fit is reliable; shrunk where noise is large."""
        if self.shrunk:
            return np.asarray(self._back @ self._shrinkage[0])
        return np.asarray(self._back @ (self._plain + (self._bias if self.reliable else 0.0)))

    @property
    def shrunk(self) -> bool:
        """Whether the coefficients are shrunk."""
        return self.shrinks and self.noise_ratio >= SHRUNK

    @cached_property
    def _shrinkage(self) -> tuple[Floats, Floats, Floats]:
        """The scaled coefficients β̃, the gain G by which β̃ = Gb, and the covariance C of β̃ − β.

        Eigenvalues λ of A, of which noise has the standard deviation s, are replaced by their mean among positive
        numbers, λ + sφ(λ/s)/Φ(λ/s). Coefficients are taken to be normal about 0, with the variance τ² at which
        regressors explain all of the response: Σy²/N and one standard deviation of its noise, over the trace of A. With
        M the noise of the score at β̃, C = (AM⁻¹A + 1/τ²)⁻¹ and G = CAM⁻¹.
        """
        from hedgerow.special import log_ndtr

        q, _ = self._basis
        noise, target = self.moments.noise, q @ self.moments.second @ self._response
        values, vectors = np.linalg.eigh(self.matrix)
        turned = vectors.T @ q
        own = np.linalg.norm(np.einsum("ka,zab,kb->zk", turned, noise, turned), axis=0)
        ratio = values / own
        raised = values + own * np.exp(-0.5 * ratio**2 - 0.5 * math.log(2.0 * math.pi) - log_ndtr(ratio))
        matrix = vectors * raised @ vectors.T
        square = max(float(self._response @ self.moments.second @ self._response), 0.0)
        square += float(np.linalg.norm(np.einsum("i,zij,j->z", self._response, noise, self._response)))
        prior = np.eye(len(values)) * float(raised.sum()) / square
        shrunk = vectors * (raised / (raised**2 + own**2)) @ vectors.T @ target
        for _ in range(_ITERATIONS):
            scores = noise @ (self._response - q.T @ shrunk) @ q.T
            information = matrix @ np.linalg.inv(scores.T @ scores)
            covariance = np.linalg.inv(information @ matrix + prior)
            gain = covariance @ information
            # By half: whole steps may go to and fro for ever.
            shrunk = 0.5 * (shrunk + gain @ target)
        return shrunk, gain, covariance

    @cached_property
    def scale(self) -> float:
        """σ̂², the variance of the residual, in the squared unit of the response."""
        return self._scale * self._size**2

    @cached_property
    def _raw_scale(self) -> float:
        n, k = self.moments.n, len(self.rows)
        if n <= k + 1.0:
            return 0.0
        square = self.residual @ self.moments.second @ self.residual
        square += float(np.sum((self._scores @ self.inverse) * self._scores))
        return float(square) * n / (n - k)

    @property
    def hidden(self) -> bool:
        """Whether the noise hides the variance of the residual, which then counts as 0."""
        return self._raw_scale <= 0.0

    @property
    def _scale(self) -> float:
        return max(0.0, self._raw_scale)

    @cached_property
    def _scale_noise(self) -> float:
        """The standard deviation of the noise of σ̂²."""
        return float(np.linalg.norm(np.einsum("i,zij,j->z", self.residual, self.moments.noise, self.residual)))

    @property
    def raised_scale(self) -> float:
        """σ̂² and one standard deviation of its noise, in the squared unit of the response."""
        return (self._scale + self._scale_noise) * self._size**2

    @cached_property
    def sampling_covariance(self) -> Floats:
        """σ̂²A⁻¹/N in the regressors' own units; 0 of a census."""
        if self.moments.census:
            return np.zeros((len(self.rows),) * 2)
        if self.shrunk:
            shrunk, gain, _ = self._shrinkage
            rest = self._response - self._basis[0].T @ shrunk
            variance = max(0.0, float(rest @ self.moments.second @ rest)) / max(self.moments.n, 1.0)
            values, vectors = np.linalg.eigh(self.matrix)
            moved = self._back @ gain
            return np.asarray(variance * moved @ (vectors * np.maximum(values, 0.0)) @ vectors.T @ moved.T)
        inner = self._scale / max(self.moments.n, 1.0) * self.inverse
        return np.asarray(self._back @ inner @ self._back.T)

    @cached_property
    def noise_covariance(self) -> Floats:
        """A⁻¹MA⁻¹ in the regressors' own units; of a shrunk fit the covariance of β̃ − β."""
        if self.shrunk:
            return np.asarray(self._back @ self._shrinkage[2] @ self._back.T)
        moved = self._scores @ self.inverse @ self._back.T
        return np.asarray(moved.T @ moved)

    @property
    def parts(self) -> Floats:
        """What each part of the noise adds to the coefficients, in their own units: (z, k)."""
        return np.asarray(self._scores @ self.inverse @ self._back.T)

    @property
    def directions(self) -> Floats:
        """For each coefficient its regressor less what the others tell of it, as a combination of (1, P_1, …)."""
        q, _ = self._basis
        moved = self._back @ self.inverse
        return np.asarray(moved @ q / np.sum(moved * self._back, axis=1)[:, None])

    @property
    def covariance_factor(self) -> Floats:
        """A⁻¹ in the coefficients' own units, over the squared unit of the response: (k, k)."""
        return np.asarray(self._back @ self.inverse @ self._back.T)

    @property
    def scale_parts(self) -> Floats:
        """What each part of the noise adds to σ̂², relative to it: (z,)."""
        parts = np.einsum("i,zij,j->z", self.residual, self.moments.noise, self.residual)
        return np.asarray(parts / max(self._scale, 1e-12))

    @property
    def freedom(self) -> float:
        """N − k, at least 1."""
        return max(1.0, self.moments.n - len(self.rows))

    @cached_property
    def rsquared(self) -> float:
        """1 − SSR/SST, about the mean where there is a constant; NaN where the noise hides it."""
        if not self.reliable or self.hidden:
            return math.nan
        second, y = self.moments.second, self._response
        total = float(y @ second @ y) - (float(second[0] @ y) ** 2 if self.constant else 0.0)
        n, k = self.moments.n, len(self.rows)
        return 1.0 - self._scale * (n - k) / n / total if total > 0.0 and n > k + 1.0 else math.nan

    def errors(self, weights: Floats) -> tuple[float, float]:
        """Return the sampling and the noise error of w'β."""
        parts = (weights @ part @ weights for part in (self.sampling_covariance, self.noise_covariance))
        sampling, noise = (math.sqrt(max(0.0, float(part))) for part in parts)
        return sampling, noise

    def _sampling(self, w: Floats) -> tuple[float, float]:
        """Return the sampling variance of w'β that intervals count, w in scaled units, and its own uncertainty."""
        if self.moments.census:
            return 0.0, 0.0
        variance = max(self._raw_scale + 0.5 * self._scale_noise, 0.0)
        return variance * float(w @ self.inverse @ w) / max(self.moments.n, 1.0), 0.0

    def accepted(self, weights: Floats, level: float) -> tuple[float, float]:
        """Return the values of w'β that are not rejected at a level: (−∞, ∞) where the noise hides it."""
        if not self.positive:
            return -math.inf, math.inf
        q, _ = self._basis
        w = self._back.T @ weights

        def spread(own: Floats, information: float) -> tuple[float, float]:
            sampling, unsure = (part * information**2 for part in self._sampling(w))
            longer = self._longer(own, sampling, unsure, level)
            return (self._quantile(own, sampling, level) * longer) ** 2, sampling

        algebra = self.inverse, self._scores, q @ self.moments.noise @ q.T
        return score_interval((w, float(w @ self._plain)), algebra, spread)

    @staticmethod
    def _longer(noise: Floats, sampling: float, unsure: float, level: float) -> float:
        """Return by how much Student's quantile is longer, where the variance is noisy itself (Satterthwaite)."""
        from hedgerow.special import ndtri, stdtrit

        if unsure <= 0.0:
            return 1.0
        freedom = max(1.0, 2.0 * ((float(noise @ noise) + sampling) / unsure) ** 2)
        tail = 0.5 + level / 2.0
        return float(stdtrit(min(freedom, 1e6), tail)) / float(ndtri(tail))

    def _quantile(self, noise: Floats, sampling: float, level: float) -> float:
        """Return the quantile of the sum of both errors over its standard deviation."""
        from hedgerow.special import ndtri, stdtrit

        squares = float(noise @ noise)
        total = math.sqrt(squares + sampling)
        if total == 0.0:
            return 0.0
        law = self.moments.law
        if (draws := draws_of(law)) is not None:
            # A sum of Laplace numbers is read as one of equal ones with its variance and at least its kurtosis.
            fourth = float(np.sum(noise**4)) / draws
            equal = max(1, min(_MOST_DRAWS, int(squares**2 / fourth))) if fourth > 0.0 else _MOST_DRAWS
            law = "laplace" if equal == 1 else f"averaged-laplace-{equal}"
        sds = np.array([math.sqrt(sampling)]), np.array([math.sqrt(squares)])
        quantile = float(quantiles_of(law, level, *sds)[0]) / total
        tail = 0.5 + level / 2.0
        wider = float(stdtrit(self.freedom, tail)) / float(ndtri(tail)) - 1.0
        return quantile * (1.0 + wider * sampling / total**2)


def noise_parts(model: LinearFeatures, mixing: Floats, n: float) -> Floats:
    """Return what each independent part of the noise adds to ΣPP'/N, (parts, p, p), of noise on count and sums."""
    parts = model.untangled @ mixing / n
    parts = np.vstack([parts, np.zeros(parts.shape[1])])  # what is 0 for every record has no noise
    return np.ascontiguousarray(np.moveaxis(parts[model.table], 2, 0))
