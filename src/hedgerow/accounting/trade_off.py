"""The trade-off curve: how often an attack can be right for how often it is wrong.

An attack answers "yes, this record" on an event S. With its false alarms Q(S) = α its hits P(S) are bounded by every
point of the privacy curve, in both directions. `attack_success_upper` in ``profile.py`` is the same for a prior.
"""

from __future__ import annotations

import math

from hedgerow.accounting.profile import Profile

_LARGEST, _POINTS = 40.0, 400


def attack_hits_upper(profile: Profile, false_alarms: float) -> float:
    """Return an upper bound on the share of hits of any attack that raises `false_alarms`.

    P(S) ≤ e^ε α + δ(ε) and, from the complement, P(S) ≤ 1 − e^(−ε)(1 − α − δ(ε)), for every ε ≥ 0: the least over a
    grid of ε, each of which holds (Dong, Roth & Su 2022, Proposition 2.12, in one direction).

    Parameters
    ----------
    profile : Profile
        An upper bound on the privacy curve.
    false_alarms : float
        α, between 0 and 1.

    Examples
    --------
    A Gaussian of μ = 1 has Φ(Φ⁻¹(α) + μ) = 0.2595 at α = 0.05:

    >>> from hedgerow.accounting.profile import GaussianProfile
    >>> round(attack_hits_upper(GaussianProfile(1.0), 0.05), 3)
    0.26
    """
    least = 1.0
    for place in range(_POINTS + 1):
        # Denser near 0, where the curves of small prices bend.
        epsilon = _LARGEST * (place / _POINTS) ** 2
        delta = profile.delta_upper(epsilon)
        direct = math.exp(epsilon) * false_alarms + delta
        complement = 1.0 - math.exp(-epsilon) * max(0.0, 1.0 - false_alarms - delta)
        least = min(least, direct, complement)
    return min(1.0, max(false_alarms, least) * (1.0 + 1e-12))
