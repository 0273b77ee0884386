"""Result types: an estimate that knows its errors, and an interval that knows its level and method. Plain numbers.

standard_error² = sampling_error² + bootstrap_error² + privacy_error²: a reader sees how much of the error is privacy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from html import escape
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, Protocol

from hedgerow.errors import ParameterError
from hedgerow.facts.given import real, shown


def parse_level(level: object) -> float:
    """Return the level as a float strictly between 0 and 1.

    Raises
    ------
    ParameterError
        HG110: anything else, such as 95 for 95 %.

    Examples
    --------
    >>> parse_level(0.95)
    0.95
    """
    number = real(level)
    if number is not None and 0.0 < number < 1.0:
        return number
    raise ParameterError(
        "HG110",
        rule="`level` must be a number strictly between 0 and 1.",
        finding=f"Found {shown(level)}.",
        remedy="Did you mean 0.95?" if number == 95.0 else "Try level=0.95.",
    )


def normal_quantile(level: float) -> float:
    """Return z such that a standard normal lies within ±z with probability `level`.

    Examples
    --------
    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    return NormalDist().inv_cdf((1 + parse_level(level)) / 2)


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval that knows its level, its method and, in words, what it covers.

    ``low`` or ``high`` is infinite where no bound is possible; JSON has null there.
    """

    low: float
    high: float
    level: float
    method: str
    covers: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        ends = {"low": _finite(self.low), "high": _finite(self.high)}
        return {**ends, "level": self.level, "method": self.method, "covers": self.covers}

    def outward(self, places: int | None = None) -> Interval:
        """Return the interval for print: ends rounded outwards, so that it never covers less than it says.

        To so many decimals, else to six digits each.

        >>> Interval(1.26, 3.14159265, 0.95, "").outward(1), Interval(1.26, 3.14159265, 0.95, "").outward().high
        (Interval(low=1.2, high=3.2, level=0.95, method='', covers=''), 3.1416)
        """
        ends = _rounded(self.low, places, ROUND_FLOOR), _rounded(self.high, places, ROUND_CEILING)
        return replace(self, low=ends[0], high=ends[1])

    def __str__(self) -> str:
        what, shown = self.covers or "the target", self.outward()
        return f"[{shown.low:.6g}, {shown.high:.6g}]: in {self.level:.3g} of such releases it holds {what}"


def _rounded(number: float, places: int | None, way: str) -> float:
    if number == 0.0 or not math.isfinite(number):
        return number
    decimals = 5 - math.floor(math.log10(abs(number))) if places is None else places
    # The shortest decimal of a double, not its binary digits: .1 stays .1.
    return float(Decimal(repr(float(number))).quantize(Decimal(1).scaleb(-decimals), way, Context(prec=700)))


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


class IntervalBasis(Protocol):
    """The numbers from which an interval at any level is computed: post-processing of one release."""

    @property
    def methods(self) -> tuple[str, ...]:
        """Interval methods on offer, the default first."""
        ...

    @property
    def low(self) -> float:
        """The least that is possible."""
        ...

    @property
    def high(self) -> float:
        """The most that is possible."""
        ...

    def interval(self, level: float, method: str) -> tuple[float, float]:
        """Return (low, high) at a level."""
        ...


@dataclass(frozen=True, slots=True, repr=False)
class Estimate:
    """One released number with its error, of one cell.

    Attributes
    ----------
    statistic : str
        ``"mean"``, ``"sum"``, ``"count"``, ``"proportion"``, …
    column : str or None
        The column; None for a count.
    cell : mapping
        {column: category}; ``{}`` overall.
    estimate : float
        In the column's unit.
    standard_error : float or None
        In the column's unit; None where the noise leaves no number to give.
    sampling_error, bootstrap_error, privacy_error : float or None
        The three parts of the standard error: square them and add.
    covers : str
        What the interval is about, in words.
    method : str
        What was released: ``"moments"``, ``"gaussian"``, ``"geometric"``, ``"averaged-laplace"``,
        ``"bootstrap"`` or ``"public"``.
    n_resamples : int or None
        Replicates, for a bootstrap.
    reliable : bool
        False where the noise swamps the cell; the interval is then everything that is possible.
    note : str or None
        What a reader must know about this number.
    replicates : tuple of float or None
        The noisy replicates behind a bootstrap's estimate, in the column's unit; None for any other method, and where
        the noise swamps the cell. They were paid for with the estimate: drawing or combining them costs nothing more.
    """

    statistic: str
    column: str | None
    cell: Mapping[str, Any]
    estimate: float
    sampling_error: float | None
    bootstrap_error: float | None
    privacy_error: float | None
    method: str
    n_resamples: int | None
    reliable: bool
    note: str | None
    covers: str
    basis: IntervalBasis = field(repr=False, compare=False)
    replicates: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "cell", MappingProxyType(dict(self.cell)))

    def __reduce__(self) -> tuple[type[Estimate], tuple[Any, ...]]:
        # A mapping proxy cannot be pickled.
        return type(self), tuple(
            dict(self.cell) if one.name == "cell" else getattr(self, one.name) for one in fields(self)
        )

    @property
    def standard_error(self) -> float | None:
        """The root of the sum of the three squares."""
        if self.sampling_error is None or self.bootstrap_error is None or self.privacy_error is None:
            return None
        return math.hypot(self.sampling_error, self.bootstrap_error, self.privacy_error)

    def confidence_interval(self, level: float = 0.95, method: str | None = None) -> Interval:
        """Return an interval for the target at `level`. Post-processing: it costs no budget.

        Parameters
        ----------
        level : float
            Strictly between 0 and 1.
        method : str, optional
            One of ``basis.methods``; the release's own by default.

        Raises
        ------
        ParameterError
            HG110 for the level, HG108 for a method that this release does not offer.
        """
        level = parse_level(level)
        chosen = self.basis.methods[0] if method is None else method
        if chosen not in self.basis.methods:
            raise ParameterError(
                "HG108",
                rule="An interval method must belong to the release's method.",
                finding=f"Found {shown(method)} on a release by {shown(self.method)}.",
                remedy="It offers: " + ", ".join(self.basis.methods) + ".",
            )
        low, high = self.basis.interval(level, chosen)
        return Interval(low, high, level, chosen, self.covers)

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return plain JSON data, with the interval at `level`, and the replicates where there are any."""
        return {
            "statistic": self.statistic,
            "column": self.column,
            "cell": dict(self.cell),
            "estimate": self.estimate,
            "standard_error": self.standard_error,
            "sampling_error": self.sampling_error,
            "bootstrap_error": self.bootstrap_error,
            "privacy_error": self.privacy_error,
            "confidence_interval": self.confidence_interval(level).to_dict(),
            "method": self.method,
            "n_resamples": self.n_resamples,
            "reliable": self.reliable,
            "note": self.note,
            **({} if self.replicates is None else {"replicates": list(self.replicates)}),
        }

    def label(self) -> str:
        """Return what this is, in words: ``mean of age (sex=0)``."""
        name = self.statistic if self.column is None else f"{self.statistic} of {self.column}"
        where = ", ".join(f"{column}={value}" for column, value in self.cell.items())
        return f"{name} ({where})" if where else name

    def __repr__(self) -> str:
        return f"<Estimate {self}>"

    def __str__(self) -> str:
        interval = self.confidence_interval().outward()
        span = f"95 % interval {interval.low:.6g} to {interval.high:.6g}"
        if self.standard_error is None or self.privacy_error is None:
            return f"{self.label()}: not reliable, {span}"
        unsure = "" if self.reliable else ", not reliable"
        return (
            f"{self.label()}: {self.estimate:.6g} (s.e. {self.standard_error:.3g}, of which privacy "
            f"{self.privacy_error:.3g}; {span}{unsure})"
        )

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self))}</p>"


@dataclass(frozen=True, slots=True)
class RecordedBasis:
    """What a record keeps of an interval. Another level would need numbers that were not written down.

    >>> RecordedBasis(1.0, 2.0, 0.95, "moments").interval(0.95, "moments")
    (1.0, 2.0)
    """

    low: float
    high: float
    level: float
    method: str

    @property
    def methods(self) -> tuple[str, ...]:
        """The recorded method."""
        return (self.method,)

    def interval(self, level: float, method: str) -> tuple[float, float]:
        """Return the recorded interval.

        Raises
        ------
        ParameterError
            HG108: another level than the recorded one.
        """
        if level != self.level:
            raise ParameterError(
                "HG108",
                rule="A release read back from a record has the intervals that were recorded.",
                finding=f"They are at level {self.level:g}, not {level:g}.",
                remedy=f"Ask for level={self.level:g}.",
            )
        return self.low, self.high
