"""The error of a bootstrapped estimate taken apart: sampling, bootstrap, privacy.

For Poisson weights of rate λ (private_bootstrap.md §4), with v' = Σ (x_j − c)²/n² and v the sampling variance,

    E[s² | data] = v'/λ + σ₁²,    v = v' − (x̄ − c)²/n,    Var(m*) = v + v'/(λk) + σ₁²/k.

Brawner and Honaker's own formulae, for multinomial weights, stand at the end under their names: they lack the middle
term of Var(m*), and the offset, which multinomial weights do not need.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hedgerow.inference.bootstrap.replicate_summary import Replicates


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
    from scipy.special import gammaincinv

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
