"""The privacy profile of a mechanism: ε at a δ, δ at an ε, and how well an attacker can guess.

For every ε ≥ 0 the curve δ(ε) = sup_S P(S) − e^ε Q(S), the larger of the two directions over the dominating pair of
neighbours P, Q, holds all that (ε, δ) privacy can say. Every method here names its side: *upper* is a bound that the
truth does not exceed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

# One double operation more or less: every closed form is rounded against the user by it.
_ROUND_UP = 1.0 + 1e-12
_ROOT, _FAR = math.sqrt(2.0), 12.0


Array = NDArray[np.float64]


class Profile(Protocol):
    """An upper bound on a privacy profile."""

    def epsilon_upper(self, delta: float) -> float:
        """Return an ε for which (ε, δ) holds; ``math.inf`` where there is none."""
        ...

    def delta_upper(self, epsilon: float) -> float:
        """Return a δ for which (ε, δ) holds."""
        ...

    def deltas_upper(self, epsilon: Array) -> Array:
        """Return δ of many ε."""
        return np.array([self.delta_upper(at) for at in epsilon.tolist()], dtype=np.float64)


def bisect(
    holds: Callable[[float], bool], held: float, failed: float, *, tolerance: float = 1e-9, least: float = 1.0
) -> float:
    """Return a number for which `holds` is true, within `tolerance` × max(least, number) of one for which it is not.

    >>> bisect(lambda x: x * x >= 2.0, held=2.0, failed=0.0) ** 2 >= 2.0
    True
    """
    while abs(held - failed) > tolerance * max(least, held, failed):
        middle = 0.5 * (held + failed)
        if holds(middle):
            held = middle
        else:
            failed = middle
    return held


def least_epsilon(delta_upper: Callable[[float], float], delta: float) -> float:
    """Return an ε ≥ 0 with delta_upper(ε) ≤ δ, within 1e-9 of the least one.

    >>> round(least_epsilon(lambda epsilon: math.exp(-epsilon), 0.5), 6)
    0.693147
    """
    if delta_upper(0.0) <= delta:
        return 0.0
    high = 1.0
    while delta_upper(high) > delta:
        high *= 2.0
        if high > 1e9:
            return math.inf
    return bisect(lambda epsilon: delta_upper(epsilon) <= delta, held=high, failed=0.0)


def gaussian_delta(mu: float, epsilon: float) -> tuple[float, float]:
    """Return Φ(μ/2 − ε/μ) and e^ε Φ(−μ/2 − ε/μ), whose difference is δ(ε) of a Gaussian mechanism.

    >>> first, second = gaussian_delta(1.0, 0.0)
    >>> round(first - second, 6)
    0.382925
    """
    far, near = mu / 2 + epsilon / mu, mu / 2 - epsilon / mu
    if far <= _FAR:
        return 0.5 * math.erfc(-near / _ROOT), min(1.0, math.exp(epsilon) * 0.5 * math.erfc(far / _ROOT))
    # ε − far²/2 = −near²/2, so no large number is multiplied by a small one. Mills' ratio: the first term that is left
    # out, 39!!·41/far⁴² at most, is under 1e-20, and bounds the error.
    term = ratio = 1.0
    for odd in range(1, 40, 2):
        term *= -odd / far**2
        ratio += term
    density = math.exp(-0.5 * near**2) / math.sqrt(2.0 * math.pi)
    return 0.5 * math.erfc(-near / _ROOT), min(1.0, density * ratio / far)


@dataclass(frozen=True, slots=True)
class GaussianProfile(Profile):
    """The exact curve of a Gaussian mechanism: δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), μ = sensitivity / sd.

    Source: Balle & Wang (2018), Theorem 8.

    >>> round(GaussianProfile(1.0).epsilon_upper(1e-6), 3)
    4.887
    """

    mu: float

    def delta_upper(self, epsilon: float) -> float:
        """Return δ(ε), rounded up."""
        first, second = gaussian_delta(self.mu, epsilon)
        # The difference of two nearly equal numbers loses digits; the loss is a few last digits of the larger.
        return min(1.0, max(0.0, (first - second) + 1e-14 * first))

    def epsilon_upper(self, delta: float) -> float:
        """Return the least ε with δ(ε) ≤ δ, rounded up; infinite at δ = 0."""
        return math.inf if delta <= 0.0 else least_epsilon(self.delta_upper, delta)


@dataclass(frozen=True, slots=True)
class PureProfile(Profile):
    """The curve that any ε₀-private mechanism obeys: (e^ε₀ − e^ε)/(e^ε₀ + 1) up to ε₀, that of randomised response.

    >>> PureProfile(1.0).epsilon_upper(0.0)
    1.0
    """

    epsilon: float

    def delta_upper(self, epsilon: float) -> float:
        """Return δ(ε), rounded up."""
        if epsilon >= self.epsilon:
            return 0.0
        bound = -math.expm1(epsilon - self.epsilon) / (1.0 + math.exp(-self.epsilon))
        return min(1.0, bound * _ROUND_UP)

    def epsilon_upper(self, delta: float) -> float:
        """Return the least ε with δ(ε) ≤ δ, rounded up."""
        return self.epsilon if delta <= 0.0 else min(self.epsilon, least_epsilon(self.delta_upper, delta))


@dataclass(frozen=True, slots=True)
class CappedProfile(Profile):
    """A curve with an ε at which δ is known to be 0.

    >>> CappedProfile(GaussianProfile(1.0), 3.0).epsilon_upper(1e-6)
    3.0
    """

    profile: Profile
    pure: float

    def delta_upper(self, epsilon: float) -> float:
        """Return δ(ε), rounded up."""
        return 0.0 if epsilon >= self.pure else self.profile.delta_upper(epsilon)

    def deltas_upper(self, epsilon: Array) -> Array:
        """Return δ of many ε, those of the curve all at once."""
        return np.where(epsilon >= self.pure, 0.0, self.profile.deltas_upper(epsilon))

    def epsilon_upper(self, delta: float) -> float:
        """Return an ε with δ(ε) ≤ δ."""
        return self.pure if delta <= 0.0 else min(self.pure, self.profile.epsilon_upper(delta))


@dataclass(frozen=True, slots=True)
class RevealingProfile(Profile):
    """The curve of a release that tells everything with probability `chance`, else costs `rest`.

    δ(ε) = chance + (1 − chance)·δ_rest(ε) for every ε: it never falls below `chance`.

    >>> found = RevealingProfile(0.1, PureProfile(0.0))
    >>> found.epsilon_upper(0.1), found.epsilon_upper(0.09), found.delta_upper(5.0)
    (0.0, inf, 0.1)
    """

    chance: float
    rest: Profile

    def delta_upper(self, epsilon: float) -> float:
        """Return δ(ε), rounded up."""
        rest = self.rest.delta_upper(epsilon)
        return self.chance if rest <= 0.0 else min(1.0, (self.chance + (1.0 - self.chance) * rest) * _ROUND_UP)

    def epsilon_upper(self, delta: float) -> float:
        """Return an ε with δ(ε) ≤ δ; infinite below `chance`."""
        if delta < self.chance or self.chance >= 1.0:
            return 0.0 if delta >= 1.0 else math.inf
        return self.rest.epsilon_upper(max(0.0, (delta - self.chance) / (1.0 - self.chance) * (1.0 - 1e-12)))


def attack_success_upper(profile: Profile, prior: float = 0.5) -> float:
    """Return an upper bound on how often anyone can guess right whether a given record is one of two.

    Guessing the first on an event S is right with probability π P(S) + (1 − π)(1 − Q(S)), which is at most
    (1 − π) + π·δ(ln((1 − π)/π)) for a prior π ≤ ½; at one half that is (1 + δ(0))/2.

    >>> round(attack_success_upper(GaussianProfile(1.0)), 3)
    0.691
    """
    odds = math.log((1.0 - prior) / prior)
    return min(1.0, (1.0 - prior) + prior * profile.delta_upper(odds))


_LARGEST, _POINTS = 40.0, 400


def attack_hits_upper(profile: Profile, false_alarms: float) -> float:
    """Return an upper bound on the share of hits of any attack that raises `false_alarms`.

    P(S) ≤ e^ε α + δ(ε) and, from the complement, P(S) ≤ 1 − e^(−ε)(1 − α − δ(ε)), for every ε ≥ 0: the least over a
    grid of ε, each of which holds (Dong, Roth & Su 2022, Proposition 2.12, in one direction).

    Parameters
    ----------
    profile : Profile
        An upper bound on the privacy profile.
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
    for point in range(_POINTS + 1):
        # Denser near 0, where the curves of small prices bend.
        epsilon = _LARGEST * (point / _POINTS) ** 2
        delta = profile.delta_upper(epsilon)
        direct = math.exp(epsilon) * false_alarms + delta
        complement = 1.0 - math.exp(-epsilon) * (1.0 - false_alarms - delta)
        least = min(least, direct, complement)
    return min(1.0, max(false_alarms, least) * (1.0 + 1e-12))
