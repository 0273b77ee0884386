"""What the intervals of a private bootstrap read: two numbers from the replicates, and public facts about them.

Everything here was released already, so all that is computed from it is post-processing: it costs no privacy.

The error of the estimate has three parts: sampling, bootstrap, privacy. For Poisson weights of rate λ
(private_bootstrap.md §4), with v' = Σ (x_j − c)²/n² and v the sampling variance,

    E[s² | data] = v'/λ + σ₁²,    v = v' − (x̄ − c)²/n,    Var(m*) = v + v'/(λk) + σ₁²/k.

Brawner and Honaker's own formulae, for multinomial weights, stand at the end under their names: they lack the middle
term of Var(m*), and the offset, which multinomial weights do not need.

A smooth function of noisy totals by its tangent at their mean: the delta method, replicate by replicate.

With T̄ the mean of the k noisy tables, g(T_b) is read as m_b = g(T̄) + ∇g(T̄)·(T_b − T̄). One replicate's noise is √k
times that of the mean, so g itself would be bent by it; the tangent is not. The noise variance of m_b is
∇g' diag(s²) ∇g, exactly for a linear g and to first order otherwise (moments.md §2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.errors import ParameterError
from hedgerow.user_code import each_alone

Weights = Literal["poisson", "multinomial"]


@dataclass(frozen=True, slots=True)
class Replicates:
    """The k noisy replicate estimates of one number, summarised by their mean and spread (private_bootstrap.md §4).

    Attributes
    ----------
    mean : float
        m*, the mean of the replicate estimates.
    spread : float
        s², their sample variance (divisor k − 1). It has about k − 1 degrees of freedom and mean v'/λ + σ₁².
    n_resamples : int
        k ≥ 2.
    noise_variance : float
        σ₁² ≥ 0, the known noise variance of ONE replicate on the estimate's scale; that of m* is σ₁²/k.
    weights : {"poisson", "multinomial"}
        The law of the resampling weights. Poisson weights do not fix the size of a resample, so their spread is about
        the public centre c: v' = v + (x̄ − c)²/n, where v is the sampling variance. Multinomial ones have v' = v.
    rate : float
        λ, the mean of a Poisson weight; 1 for multinomial ones.
    centre, n : float or None
        c and n, both public, for a mean over n records with Poisson weights. Leave both out for multinomial weights
        and for ratios, whose replicates do not move with the size of a resample.
    variance_cap : float or None
        A public cap on v: ((U − L)/2)²/n for a mean of values in [L, U]. With a centre c it must cap v' as well,
        which that one does for c = (L + U)/2.
    estimates : tuple of float
        The k replicate estimates themselves, in order, where `of` summarised them; no interval reads them.

    Raises
    ------
    ParameterError
        HG121: a field that cannot be what its description says.

    Examples
    --------
    >>> r = Replicates.of([40.2, 41.0, 39.5, 40.9], noise_variance=0.25, centre=50.0, n=500)
    >>> round(r.mean, 2), round(r.spread, 4), round(r.centre_offset, 4)
    (40.4, 0.4867, 0.1843)
    """

    mean: float
    spread: float
    n_resamples: int
    noise_variance: float
    weights: Weights = "poisson"
    rate: float = 1.0
    centre: float | None = None
    n: float | None = None
    variance_cap: float | None = None
    estimates: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not (isinstance(self.n_resamples, int) and self.n_resamples >= 2):
            raise _refusal("`n_resamples` must be an integer of at least 2", "A spread needs two replicates.")
        if not (math.isfinite(self.mean) and 0 <= self.spread < math.inf and 0 <= self.noise_variance < math.inf):
            raise _refusal("`mean`, `spread` and `noise_variance` must be finite, the last two not negative")
        if self.weights not in get_args(Weights):
            raise _refusal('`weights` must be "poisson" or "multinomial"')
        if not 0 < self.rate < math.inf or (self.weights == "multinomial" and self.rate != 1):
            raise _refusal("`rate` must be positive and finite, and 1 with multinomial weights")
        if (self.centre is None) != (self.n is None) or (self.centre is not None and self.weights != "poisson"):
            raise _refusal("`centre` and `n` go together, and with Poisson weights only")
        if self.centre is not None and not (math.isfinite(self.centre) and self.n is not None and self.n > 0):
            raise _refusal("`centre` must be finite and `n` positive")
        if self.variance_cap is not None and not self.variance_cap >= 0:
            raise _refusal("`variance_cap` must not be negative")

    @classmethod
    def of(
        cls,
        estimates: ArrayLike,
        *,
        noise_variance: float,
        weights: Weights = "poisson",
        rate: float = 1.0,
        centre: float | None = None,
        n: float | None = None,
        variance_cap: float | None = None,
    ) -> Replicates:
        """Summarise the k replicate estimates themselves (a one-dimensional array)."""
        values = np.asarray(estimates, dtype=np.float64)
        if values.ndim != 1 or len(values) < 2:
            raise _refusal("`estimates` must be a one-dimensional array", "A spread needs two replicates.")
        return cls(
            float(values.mean()),
            float(values.var(ddof=1)),
            len(values),
            noise_variance,
            weights=weights,
            rate=rate,
            centre=centre,
            n=n,
            variance_cap=variance_cap,
            estimates=tuple(values.tolist()),
        )

    @property
    def centre_offset(self) -> float:
        """(m* − c)²/n, by which v' exceeds the sampling variance v; 0 without a centre."""
        if self.centre is None or self.n is None:
            return 0.0
        return (self.mean - self.centre) ** 2 / self.n

    @property
    def known_variance(self) -> float:
        """σ₁² + (m* − c)²/(λn), called a: the part of E s² that says nothing about the sampling variance."""
        return self.noise_variance + self.centre_offset / self.rate

    @property
    def privacy_variance(self) -> float:
        """τ² = σ₁²/k, the noise variance of the mean of the replicates (σ₁²: of one replicate; k: their number)."""
        return self.noise_variance / self.n_resamples

    def without_centre(self) -> Replicates:
        """Return the same replicates read as if v' = v, which is too wide for data far from c; for comparison."""
        return replace(self, centre=None, n=None)


def _refusal(rule: str, finding: str = "") -> ParameterError:
    return ParameterError(
        "HG121",
        rule=f"{rule}.",
        finding=finding,
        remedy="The fields are described in hedgerow.inference.bootstrap.replicate_summary.Replicates.",
    )


@dataclass(frozen=True, slots=True)
class StandardErrorParts:
    """Three independent parts of one standard error; its square is the sum of theirs.

    Attributes
    ----------
    sampling_error : float
        √v̂: that the records are a sample. 0 where the noise swamps the spread, which is no proof that it is 0.
    bootstrap_error : float
        √(v̂'/(λk)): that k replicates were drawn and not infinitely many.
    privacy_error : float
        √(σ₁²/k): the noise; known, not estimated.

    Examples
    --------
    >>> StandardErrorParts(3.0, 0.0, 4.0).standard_error
    5.0
    """

    sampling_error: float
    bootstrap_error: float
    privacy_error: float

    @property
    def standard_error(self) -> float:
        """The root of the sum of the squares."""
        return math.hypot(self.sampling_error, self.bootstrap_error, self.privacy_error)


def sampling_variance(replicates: Replicates, *, noise_share: float = 1.0) -> float:
    """Return v̂ = max(0, λ(s² − f a)), a = σ₁² + (m* − c)²/(λn), at most the public cap.

    Parameters
    ----------
    noise_share : float
        f, the share of the known variance a that is subtracted: 1 makes λ(s² − a) unbiased for v (Brawner & Honaker
        2018, eq. 30), less is conservative (eq. 34, see `chi_square_share`). The centre offset is a normal part of
        known variance like the noise, and is treated as one.

    Examples
    --------
    >>> sampling_variance(Replicates(0.0, 5.0, 50, 2.0))
    3.0
    >>> sampling_variance(Replicates(8.0, 5.0, 50, 2.0, centre=0.0, n=32))
    1.0
    """
    estimate = max(0.0, replicates.rate * (replicates.spread - noise_share * replicates.known_variance))
    return estimate if replicates.variance_cap is None else min(estimate, replicates.variance_cap)


def standard_error_parts(replicates: Replicates) -> StandardErrorParts:
    """Return the sampling, bootstrap and privacy parts of the standard error of m*, about the population value.

    They estimate the standard deviation of m* itself and lean to no side, whatever interval stands beside them: the
    noise is subtracted in full, and the root of the rest is divided by `mean_of_root`. What is cut at 0 leans upwards
    where the noise of one replicate hides the spread: docs/methods/calibrated.md says by how much.

    Examples
    --------
    >>> parts = standard_error_parts(Replicates(0.0, 18.0, 50, 2.0))
    >>> round(parts.sampling_error, 3), round(parts.bootstrap_error, 3), parts.privacy_error
    (4.02, 0.569, 0.2)
    """
    k = replicates.n_resamples
    sampling = sampling_variance(replicates) / mean_of_root(k) ** 2
    # v̂' = v̂ + offset keeps the two parts consistent where v̂ was cut at 0 or at the cap
    resampling = (sampling + replicates.centre_offset) / (replicates.rate * k)
    return StandardErrorParts(math.sqrt(sampling), math.sqrt(resampling), math.sqrt(replicates.privacy_variance))


def mean_of_root(n_resamples: int) -> float:
    """Return E s/√(E s²) for k normal replicates, √(2/(k − 1)) Γ(k/2)/Γ((k − 1)/2), below 1 (Holtzman 1950: c₄).

    Examples
    --------
    >>> round(mean_of_root(20), 4), round(mean_of_root(300), 4)
    (0.9869, 0.9992)
    """
    half = n_resamples / 2
    return math.exp(math.lgamma(half) - math.lgamma(half - 0.5)) * math.sqrt(1.0 / (half - 0.5))


def chi_square_share(n_resamples: int, *, alpha: float) -> float:
    """Return c_α/(k − 1) where χ²_{k−1} falls below c_α with probability `alpha` (Brawner & Honaker 2018, eq. 32–33).

    Examples
    --------
    >>> round(chi_square_share(50, alpha=0.05), 4)
    0.6925
    """
    from hedgerow.special import gammaincinv

    return 2.0 * float(gammaincinv((n_resamples - 1) / 2, alpha)) / (n_resamples - 1)


def brawner_honaker_sampling_variance(spread: float, *, noise_variance: float) -> float:
    """Return s² − Δ²k/2ρ as printed (eq. 30): unbiased for multinomial weights, and negative at times.

    Examples
    --------
    >>> brawner_honaker_sampling_variance(1.5, noise_variance=2.0)
    -0.5
    """
    return spread - noise_variance


def brawner_honaker_total_variance(
    spread: float, *, noise_variance: float, n_resamples: int, noise_share: float = 1.0
) -> float:
    """Return s² − σ₁² c_α'/(k − 1) + σ₁²/k as printed (eq. 35), negative at times; for reproduction only.

    `noise_variance` is σ₁² = Δ²k/2ρ and `noise_share` is c_α'/(k − 1). The paper does not say what becomes of a
    negative value; cut at 0 (an interval of width 0) it gives the coverages printed in its section 8.

    Examples
    --------
    >>> round(brawner_honaker_total_variance(1.5, noise_variance=2.0, n_resamples=50), 3)
    -0.46
    """
    return spread - noise_share * noise_variance + noise_variance / n_resamples


Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TangentReplicates:
    """The value of g at the mean table, the tangent replicates, and the noise variance of one of them."""

    value: float
    replicates: Floats
    noise_variance: float

    @property
    def defined(self) -> bool:
        """Whether g and its slope are finite there."""
        return math.isfinite(self.value) and bool(np.isfinite(self.replicates).all())


def linearise(function: Callable[[Floats], float], totals: Floats, noise_sd: Floats) -> TangentReplicates:
    """Return the tangent replicates of `function` over noisy totals.

    Parameters
    ----------
    function : callable
        g: a vector of totals → a number, smooth near the mean; NaN or an error where it is not defined.
    totals : float array, (features, k)
        The noisy replicates.
    noise_sd : float array, (features,)
        Noise standard deviation of one replicate in each feature.

    Examples
    --------
    >>> totals = np.array([[10.0, 12.0, 14.0], [20.0, 20.0, 20.0]])
    >>> ratio = linearise(lambda t: t[0] / t[1], totals, np.array([2.0, 0.0]))
    >>> ratio.value, ratio.replicates.round(6).tolist(), round(ratio.noise_variance, 6)
    (0.6, [0.5, 0.6, 0.7], 0.01)
    """
    mean = totals.mean(axis=1)
    # A step of the size of the mean's own noise: the slope over the range in which the truth may lie, so that a
    # statistic with corners gets its average slope there.
    steps = np.maximum(noise_sd / math.sqrt(totals.shape[1]), 1e-6 * np.maximum(np.abs(mean), 1.0))
    moves = np.diag(steps)
    # A user's function on noisy totals: whatever stops it, the answer is that there is none.
    points = ((point,) for point in np.vstack([mean, mean + moves, mean - moves]))
    value, *around = each_alone(lambda point: float(function(point)), points, math.nan)
    above, below = around[: len(mean)], around[len(mean) :]
    slope = np.array([(up - down) / (2.0 * step) for up, down, step in zip(above, below, steps.tolist(), strict=True)])
    replicates = value + slope @ (totals - mean[:, None])
    return TangentReplicates(value, replicates, float(slope**2 @ noise_sd**2))
