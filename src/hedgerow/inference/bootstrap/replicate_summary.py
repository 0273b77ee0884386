"""What the intervals of a private bootstrap read: two numbers from the replicates, and public facts about them.

Everything here was released already, so all that is computed from it is post-processing: it costs no privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.errors import ParameterError

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
            raise _refusal("`n_resamples` must be an integer of at least 2", "a spread needs two replicates")
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
            raise _refusal("`estimates` must be a one-dimensional array", "a spread needs two replicates")
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
        """τ² = σ₁²/k, the variance that the noise leaves in m*."""
        return self.noise_variance / self.n_resamples

    def without_centre(self) -> Replicates:
        """Return the same replicates read as if v' = v, which is too wide for data far from c; for comparison."""
        return replace(self, centre=None, n=None)


def _refusal(rule: str, finding: str = "") -> ParameterError:
    return ParameterError(
        "HG121",
        rule=f"{rule}.",
        finding=f"{finding[0].upper()}{finding[1:]}." if finding else "",
        remedy="See the attributes of hedgerow.inference.bootstrap.replicate_summary.Replicates.",
    )
