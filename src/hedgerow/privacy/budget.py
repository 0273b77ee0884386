"""How much: privacy budgets as frozen types, checked when they are made.

==============  =========================================================================================
`Budget`        (ε, δ): P(S) ≤ e^ε Q(S) + δ for every event S and every pair of neighbours P, Q
`Rho`           ρ of zero-concentrated privacy; a Gaussian mechanism has ρ = μ²/2
`Mu`            μ of Gaussian privacy: sensitivity over noise standard deviation
==============  =========================================================================================
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

from hedgerow.errors import ParameterError

__all__ = ["DEFAULT_DELTA", "Budget", "Mu", "Rho", "positive_number"]

DEFAULT_DELTA = 1e-6
_EPSILON_RANGE = (1e-3, 1e2)


def positive_number(name: str, value: object, *, code: str = "HG101") -> float:
    """Return `value` as a positive, finite float, or refuse it by name."""
    # Compared, not tested for being finite: a whole number of 400 digits is, and is no float.
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= sys.float_info.max:
        return float(value)
    raise ParameterError(
        code,
        rule=f"`{name}` must be a positive, finite number.",
        finding=f"Found {value!r}.",
        remedy=f"Try {name}=1.0.",
    )


@dataclass(frozen=True, slots=True)
class Budget:
    """An (ε, δ) budget: the TOTAL of a call.

    Raises
    ------
    ParameterError
        HG101 where ε is not a number between 0.001 and 100, HG102 where δ is not in [0, 1).

    Examples
    --------
    >>> Budget(1.0, 1e-6)
    Budget(epsilon=1.0, delta=1e-06)
    """

    epsilon: float
    delta: float = DEFAULT_DELTA

    def __post_init__(self) -> None:
        epsilon = positive_number("epsilon", self.epsilon)
        low, high = _EPSILON_RANGE
        if not low <= epsilon <= high:
            raise ParameterError(
                "HG101",
                rule=f"`epsilon` must lie between {low:g} and {high:g}: outside, noise or protection is meaningless.",
                finding=f"Found {epsilon!r}.",
                remedy="Values between 0.1 and 5 are usual.",
            )
        delta = self.delta
        if isinstance(delta, bool) or not isinstance(delta, (int, float)) or not 0.0 <= delta < 1.0:
            raise ParameterError(
                "HG102",
                rule="`delta` must lie in [0, 1).",
                finding=f"Found {delta!r}.",
                remedy="1e-6 is the default; 0 asks for a pure mechanism.",
            )
        if 0.0 < delta < 2e-12:
            raise ParameterError(
                "HG102",
                rule="`delta` must be 0 or at least 2e-12: below that the price is lost in rounding.",
                finding=f"Found {delta!r}.",
                remedy="Use delta=0 for a pure mechanism.",
            )
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", float(delta))


@dataclass(frozen=True, slots=True)
class Mu:
    """Gaussian privacy μ = sensitivity / noise sd."""

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", positive_number("mu", self.mu))


@dataclass(frozen=True, slots=True)
class Rho:
    """Zero-concentrated privacy ρ = μ²/2.

    >>> Rho(0.5).to_mu()
    Mu(mu=1.0)
    """

    rho: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive_number("rho", self.rho))

    def to_mu(self) -> Mu:
        """Return the μ of the Gaussian mechanism with this ρ."""
        return Mu(math.sqrt(2.0 * self.rho))
