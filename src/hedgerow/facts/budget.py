"""How much: privacy budgets as frozen types, checked when they are made.

==============  =========================================================================================
`Budget`        (ε, δ): P(S) ≤ e^ε Q(S) + δ for every event S and every pair of neighbours P, Q
`Rho`           ρ of zero-concentrated privacy; a Gaussian mechanism has ρ = μ²/2
`Mu`            μ of Gaussian privacy: sensitivity over noise standard deviation
==============  =========================================================================================
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field

from hedgerow.errors import HedgerowWarning, ParameterError
from hedgerow.facts.validation import as_float, format_argument

DEFAULT_DELTA = 1e-6
MOST_DELTA = 1e-3
MOST_EPSILON = 10.0
_EPSILON_RANGE = (1e-3, 1e2)


def positive_number(name: str, value: object, *, code: str = "HG101") -> float:
    """Return `value` as a positive, finite float, or raise an error that names it."""
    number = as_float(value)
    if number is not None and number > 0.0:
        return number
    raise ParameterError(
        code,
        rule=f"`{name}` must be a positive, finite number.",
        finding=f"Found {format_argument(value)}.",
        remedy=f"Try {name}=1.0.",
    )


def warn_about_budget(epsilon: float | None, delta: float, n: int | None, *, frames: int = 2) -> None:
    """Warn if ε or δ is so large that the guarantee says next to nothing about one record.

    At ε = 10 an attacker who knows all other records may guess right with probability 1/(1 + e^−10) > .9999.

    The mechanism that publishes each record with probability δ keeps (0, δ), so of n records it publishes nδ on
    average: δ must lie below 1/n. Under add-remove n is private, and a warning must not depend on it. There, and
    for tables of fewer records, δ must not exceed 1e-3: a record in a thousand.

    Parameters
    ----------
    epsilon : float or None
        None where it is not known yet.
    delta : float
    n : int or None
        The PUBLIC number of units; None under add-remove.
    frames : int
        To which caller the warning points, as ``stacklevel`` of `warnings.warn`.

    Examples
    --------
    >>> warn_about_budget(1.0, 1e-6, 20_000)
    """
    if epsilon is not None and epsilon > MOST_EPSILON:
        warnings.warn(
            f"epsilon={epsilon:.3g} exceeds {MOST_EPSILON:g}: the guarantee then lets an attacker who knows all other "
            "records guess right in more than 99.99 % of cases. See hedgerow explain epsilon.",
            HedgerowWarning,
            stacklevel=frames + 1,
        )
    most = MOST_DELTA if not n else min(MOST_DELTA, 1.0 / n)
    if delta > most:
        exceeded = "1/n" if n and delta * n > 1.0 else f"{MOST_DELTA:g}"
        warnings.warn(
            f"delta={delta:.3g} exceeds {exceeded}: at this δ a mechanism may publish some record as it is. Take it "
            f"below {most:.1g}.",
            HedgerowWarning,
            stacklevel=frames + 1,
        )


@dataclass(frozen=True, slots=True)
class Budget:
    """An (ε, δ) budget: the TOTAL of a call. With `mu` the noise is to meet μ, and (ε, δ) is what that costs at δ.

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
    mu: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        epsilon = positive_number("epsilon", self.epsilon)
        low, high = _EPSILON_RANGE
        if not low <= epsilon <= high:
            raise ParameterError(
                "HG101",
                rule=f"`epsilon` must lie between {low:g} and {high:g}: outside, noise or protection is meaningless.",
                finding=f"Found {format_argument(epsilon)}.",
                remedy="Values between 0.1 and 5 are usual.",
            )
        delta = as_float(self.delta)
        if delta is None or not 0.0 <= delta < 1.0:
            raise ParameterError(
                "HG102",
                rule="`delta` must lie in [0, 1).",
                finding=f"Found {format_argument(self.delta)}.",
                remedy="The default of delta is 1e-6; delta=0 asks for a pure mechanism.",
            )
        if 0.0 < delta < 2e-12:
            raise ParameterError(
                "HG102",
                rule="`delta` must be 0 or at least 2e-12. A delta below 2e-12 is lost in rounding.",
                finding=f"Found {format_argument(delta)}.",
                remedy="Use delta=0 if you want a pure mechanism.",
            )
        object.__setattr__(self, "epsilon", epsilon)
        # Adding zero turns −0.0 into 0.0.
        object.__setattr__(self, "delta", delta + 0.0)


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
