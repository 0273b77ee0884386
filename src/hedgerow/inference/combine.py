"""Pooling repeated releases of one quantity from the same records: inverse-variance weights on the noise alone.

The noise of the releases is independent, the records are the same: weights are inverse to each release's own variance
(bootstrap and privacy), and the sampling error is theirs in common, so pooling does not lessen it. Brawner & Honaker
(2018), eq. 6; their eq. 7 prints 2Δ where the variance of a Laplace variable, 2Δ², is meant, and is put right here by
taking each release's own variance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hedgerow.inference.estimate import Estimate
from hedgerow.inference.score import Quadratic, ScoreBasis


def pooled(estimates: Sequence[Estimate]) -> Estimate:
    """Return the pooled estimate Σ w_i m_i, w_i ∝ 1/σ_i², with variance sampling² + Σ w_i² σ_i².

    Estimates that are not reliable are left out; where none is, or one is exact, it is returned as it is.
    """
    usable = [e for e in estimates if e.privacy_error is not None and e.bootstrap_error is not None]
    exact = [e for e in usable if e.standard_error == 0.0]
    if exact or len(usable) < 2:
        return (exact or usable or list(estimates))[0]
    noise = [_noise(e) for e in usable]
    weights = [1.0 / variance for variance in noise]
    shares = [weight / sum(weights) for weight in weights]
    value = sum(share * e.estimate for share, e in zip(shares, usable, strict=True))
    sampling = sum(share * (e.sampling_error or 0.0) for share, e in zip(shares, usable, strict=True))
    privacy, bootstrap = (
        math.sqrt(sum((share * (part or 0.0)) ** 2 for share, part in zip(shares, parts, strict=True)))
        for parts in ([e.privacy_error for e in usable], [e.bootstrap_error for e in usable])
    )
    first = usable[0]
    low, high = first.basis.low, first.basis.high
    basis = ScoreBasis(
        a=value,
        b=1.0,
        shift=0.0,
        sampling=Quadratic(sampling**2),
        noise=Quadratic(privacy**2 + bootstrap**2),
        low=low,
        high=high,
        freedom=math.inf,
        noise_law="gaussian",
        reliable=True,
        method="combined",
    )
    return Estimate(
        statistic=first.statistic,
        column=first.column,
        cell=first.cell,
        estimate=min(max(value, low), high),
        sampling_error=sampling,
        bootstrap_error=bootstrap,
        privacy_error=privacy,
        method="combined",
        n_resamples=None,
        reliable=True,
        note=f"{len(usable)} releases pooled by inverse variance.",
        covers=first.covers,
        basis=basis,
    )


def _noise(estimate: Estimate) -> float:
    return (estimate.privacy_error or 0.0) ** 2 + (estimate.bootstrap_error or 0.0) ** 2
