"""The papers' own calibrations, for reproduction only; some claims that came with them are false.

Nothing here is used by a release, and no certificate states these prices.
"""

from __future__ import annotations

import math

__all__ = ["brawner_honaker_noise_sd", "win_vector_delta", "win_vector_epsilon_claimed"]


def brawner_honaker_noise_sd(rho: float, *, n_resamples: int, sensitivity: float = 1.0) -> float:
    """Return the noise sd of one replicate as published: √(k/2ρ)·Δ. The claim that this is ρ-zCDP is false.

    Source: Brawner & Honaker (2018), §6.

    >>> brawner_honaker_noise_sd(0.5, n_resamples=1)
    1.0
    """
    return sensitivity * math.sqrt(n_resamples / (2.0 * rho))


def win_vector_epsilon_claimed(shrinkage: float) -> float:
    """Return the ε that the note claims for scoring a resample of size n/Z: 1/Z. The true ε is infinite."""
    return 1.0 / shrinkage


def win_vector_delta(n: int, shrinkage: float) -> float:
    """Return the exact δ, for every ε ≥ 0, of scoring a resample of size ⌈n/Z⌉: 1 − (1 − 1/n)^m.

    See testset.md.

    >>> round(win_vector_delta(1000, 10), 4)
    0.0952
    """
    return 1.0 - (1.0 - 1.0 / n) ** math.ceil(n / shrinkage)
