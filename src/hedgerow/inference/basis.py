"""What an estimate's interval rests on: the one interface of all bases, and two that are made from others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from hedgerow.errors import ParameterError
from hedgerow.facts.given import as_float, format_argument


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


class Joint(IntervalBasis, Protocol):
    """What knows the joint law of an estimate with others: `hedgerow.inference.joint.arithmetic.JointValue`."""

    @property
    def estimate(self) -> float:
        """The estimate."""
        ...

    @property
    def sampling_error(self) -> float:
        """The part of its standard error that comes from sampling."""
        ...

    @property
    def privacy_error(self) -> float:
        """The part of its standard error that comes from the noise."""
        ...

    @property
    def reliable(self) -> bool:
        """False where the noise swamps what it is made of."""
        ...

    def combined(self, symbol: str, other: Any, *, swapped: bool = False) -> Joint:
        """Return it under an operator with a number or another one (HG130 where their joint law is not known)."""
        ...

    def applied(self, name: str) -> Joint:
        """Return log, exp or sqrt of it."""
        ...

    @property
    def is_exact(self) -> bool:
        """Whether it is the function that was released, and not its tangent."""
        ...

    def of_others(self) -> Joint:
        """Return it, as of people who are in no other release."""
        ...


@runtime_checkable
class Replicated(IntervalBasis, Protocol):
    """What has replicates: `hedgerow.inference.bootstrap.intervals.BootstrapBasis`."""

    @property
    def replicates(self) -> Any:
        """The replicates and what is known of them."""
        ...

    @property
    def reliable(self) -> bool:
        """False where the noise swamps what it is made of."""
        ...

    def scaled(self, scale: float, shift: float) -> Replicated:
        """Return the basis of scale · estimate + shift."""
        ...

    def plus(self, other: Any) -> Replicated | None:
        """Return the basis of the sum; None unless the replicates of both were drawn together."""
        ...

    def parts(self) -> Any:
        """Return the three parts of the standard error."""
        ...


def replicated(basis: IntervalBasis) -> Replicated | None:
    """Return what has the replicates of an estimate, scaled and moved as the estimate was; None where nothing has."""
    if isinstance(basis, Moved):
        return basis.by_replicates()
    return basis if isinstance(basis, Replicated) else None


@dataclass(frozen=True, slots=True)
class Moved:
    """The basis of scale · estimate + shift: the ends of each interval moved alike.

    >>> Moved(RecordedBasis(1.0, 2.0, 0.95, "moments"), -2.0, 5.0).interval(0.95, "moments")
    (1.0, 3.0)
    """

    basis: IntervalBasis
    scale: float
    shift: float
    joint: Joint | None = None

    @property
    def methods(self) -> tuple[str, ...]:
        """Those of the basis."""
        return self.basis.methods

    @property
    def low(self) -> float:
        """The least that is possible."""
        return self._ends(self.basis.low, self.basis.high)[0]

    @property
    def high(self) -> float:
        """The most that is possible."""
        return self._ends(self.basis.low, self.basis.high)[1]

    @property
    def withheld(self) -> bool:
        """Whether its basis tells no interval."""
        return getattr(self.basis, "withheld", False)

    def by_replicates(self) -> Replicated | None:
        """Return the same by replicates; None where its basis has none."""
        inner = replicated(self.basis)
        return None if inner is None else inner.scaled(self.scale, self.shift)

    def with_alpha(self, alpha: float) -> Moved:
        """Return it with conservative intervals at another α′ (HG108 where its basis has none)."""
        return replace(self, basis=conservative_at(self.basis, "conservative", alpha))

    def interval(self, level: float, method: str) -> tuple[float, float]:
        """Return (low, high) at a level."""
        return self._ends(*self.basis.interval(level, method))

    def _ends(self, low: float, high: float) -> tuple[float, float]:
        # Nothing is left of an infinite end where the scale is 0.
        low, high = sorted(self.scale * end + self.shift if self.scale else self.shift for end in (low, high))
        return low, high


@dataclass(frozen=True, slots=True)
class RecordedBasis:
    """What a record keeps of an interval; those of other levels are computed from its sums, where it has them.

    >>> RecordedBasis(1.0, 2.0, 0.95, "moments").interval(0.95, "moments")
    (1.0, 2.0)
    """

    recorded_low: float
    recorded_high: float
    level: float
    method: str
    computed: IntervalBasis | None = None

    @property
    def methods(self) -> tuple[str, ...]:
        """The recorded method."""
        return (self.method,)

    @property
    def joint(self) -> Joint | None:
        """What knows its joint law with other estimates."""
        return getattr(self.computed, "joint", None)

    @property
    def low(self) -> float:
        """The least that is possible, or that the recorded interval holds."""
        return self.recorded_low if self.computed is None else self.computed.low

    @property
    def high(self) -> float:
        """The most that is possible, or that the recorded interval holds."""
        return self.recorded_high if self.computed is None else self.computed.high

    def interval(self, level: float, method: str) -> tuple[float, float]:
        """Return the recorded interval, or one at another level.

        Raises
        ------
        ParameterError
            HG108: another level than the recorded one, and the record does not tell how the estimate was computed.
        """
        if level == self.level:
            return self.recorded_low, self.recorded_high
        if self.computed is not None and self.joint is not None and self.joint.is_exact:
            return self.computed.interval(level, method)
        raise ParameterError(
            "HG108",
            rule="A release read back from a record has the intervals that were recorded, or that follow from it.",
            finding=f"That of this estimate is at level {self.level:g} alone.",
            remedy=f"Ask for level={self.level:g}. A test reads intervals at other levels: take it of the release, "
            "release[0].test(0), or of one by estimator='moments', whose record holds what a test needs.",
            shell=f"Ask for --level {self.level:g}. A test reads intervals at other levels: take it in Python of the "
            "release, or of one by --estimator moments, whose record holds what a test needs.",
        )


def conservative_at(basis: IntervalBasis, method: str, alpha: object) -> IntervalBasis:
    """Return the basis whose conservative intervals have this α′ (HG108 where there are none, HG139)."""
    number, with_alpha = as_float(alpha), getattr(basis, "with_alpha", None)
    if method != "conservative" or with_alpha is None:
        raise ParameterError(
            "HG108",
            rule="α′ belongs to the conservative intervals of a bootstrap.",
            finding=f"Found it beside {format_argument(method)}.",
            remedy="Ask for the conservative interval of a release by replicates, or leave α′ out.",
        )
    if number is None or not 0.0 <= number < 1.0:
        raise ParameterError(
            "HG139",
            rule="α′ is a share from 0 to below 1.",
            finding=f"Found {format_argument(alpha)}.",
            remedy="Leave it at 0.05.",
        )
    found: IntervalBasis = with_alpha(number)
    return found
