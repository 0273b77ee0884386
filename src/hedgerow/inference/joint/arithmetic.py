"""Estimates to compute with: a − b, a / b, 2·a and functions of them, with errors that know their correlations.

An expression of estimates of one release is a smooth function of its totals, so it has its own tangent, errors and
interval (`estimates`). Of two releases the joint sampling law is not known: the same people may be in both. Then
arithmetic refuses, unless the reader says that the records are of different people.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.given import real
from hedgerow.inference.estimate import Interval, parse_level
from hedgerow.inference.joint.estimates import JointEstimates, estimate, joint_covariance
from hedgerow.inference.joint.functions import Numbers, Smooth, SmoothFunction
from hedgerow.inference.joint.totals import JointTotals, SideBySide

Floats = NDArray[np.float64]
Range = tuple[float, float]
Place = tuple[int, int]  # release and cell
_FUNCTIONS = {"log": np.log, "exp": np.exp, "sqrt": np.sqrt}
_LEAST = {"log": 0.0, "exp": -math.inf, "sqrt": 0.0}


@dataclass(frozen=True, slots=True)
class Term:
    """A statistic of one cell of one release."""

    function: SmoothFunction
    place: Place


@dataclass(frozen=True, slots=True)
class Operation:
    """Two expressions under one of + − * /."""

    symbol: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Applied:
    """A function of an expression: log, exp or sqrt."""

    name: str
    argument: Node


Node = Term | Operation | Applied | float


@dataclass(frozen=True, slots=True)
class Expression(Smooth):
    """An expression as a smooth function of the totals of its cells; ``cells`` says where each of them stands."""

    node: Node
    cells: Mapping[Place, slice]

    @property
    def homogeneous(self) -> bool:  # type: ignore[override]  # a constant in most functions
        """Whether every term is."""
        return all(term.function.homogeneous for term in terms_of(self.node))

    def _limits(self) -> Range:
        return _range(self.node)

    def _value(self, totals: Numbers) -> Numbers:
        return self._evaluated(self.node, lambda term, here: term.function(totals[:, here]))

    def estimate(self, totals: Floats, excess: Floats) -> Floats:
        """Return the expression of its terms' estimates."""

        def unbiased(term: Term, here: slice) -> Numbers:
            return np.asarray(term.function.estimate(totals[:, here], excess[:, here, here]), dtype=complex)

        value = np.asarray(self._evaluated(self.node, unbiased))
        return np.broadcast_to(value.real, len(totals))

    def _divisors(self, totals: Numbers) -> list[Numbers]:
        found = [self._evaluated(node, lambda t, here: t.function(totals[:, here])) for node in _divisors(self.node)]
        for term in terms_of(self.node):
            found += term.function.divisors(totals[:, self.cells[term.place]])
        return found

    def _evaluated(self, node: Node, of_term: Callable[[Term, slice], Numbers]) -> Numbers:
        if isinstance(node, Term):
            return of_term(node, self.cells[node.place])
        if isinstance(node, Applied):
            argument = self._evaluated(node.argument, of_term)
            inside = argument.real > _LEAST[node.name]
            return np.asarray(np.where(inside, _FUNCTIONS[node.name](np.where(inside, argument, 1.0)), np.nan))
        if isinstance(node, Operation):
            left, right = self._evaluated(node.left, of_term), self._evaluated(node.right, of_term)
            return np.asarray(_combined(node.symbol, left, right))
        return np.asarray(complex(node))


def terms_of(node: Node) -> list[Term]:
    """Return the terms of an expression, from left to right."""
    if isinstance(node, Term):
        return [node]
    if isinstance(node, Operation):
        return terms_of(node.left) + terms_of(node.right)
    return terms_of(node.argument) if isinstance(node, Applied) else []


def _combined(symbol: str, left: Any, right: Any) -> Any:
    if symbol == "+":
        return left + right
    if symbol == "-":
        return left - right
    return left * right if symbol == "*" else left / right


def _divisors(node: Node) -> list[Node]:
    """Return the parts of an expression by which others are divided, and arguments of log and sqrt."""
    if isinstance(node, Applied):
        return _divisors(node.argument) + ([] if node.name == "exp" else [node.argument])
    if not isinstance(node, Operation):
        return []
    own = [node.right] if node.symbol == "/" and terms_of(node.right) else []
    return own + _divisors(node.left) + _divisors(node.right)


def _range(node: Node) -> Range:
    """Return what is possible for an expression if each of its terms can be anything possible."""
    if isinstance(node, Term):
        return node.function.low, node.function.high
    if isinstance(node, Applied):
        low, high = _range(node.argument)
        with np.errstate(all="ignore"):
            ends = [float(_FUNCTIONS[node.name](max(end, _LEAST[node.name]))) for end in (low, high)]
        return ends[0], ends[1]
    if not isinstance(node, Operation):
        return node, node
    left, right = _range(node.left), _range(node.right)
    if node.symbol == "/" and right[0] <= 0.0 <= right[1]:
        return -math.inf, math.inf
    with np.errstate(all="ignore"):
        ends = [float(_combined(node.symbol, np.float64(one), np.float64(other))) for one in left for other in right]
    return (-math.inf, math.inf) if any(math.isnan(end) for end in ends) else (min(ends), max(ends))


@dataclass(frozen=True)
class JointValue:
    """An estimate, or an expression of estimates, with the errors of all that it is made of and their correlations.

    Arithmetic with numbers and with other values of the same release gives another one. A value of another release is
    refused (HG130) unless one of the two says that its records are of different people: ``a.of_others() - b``.

    Attributes
    ----------
    releases : tuple of JointTotals
        The noisy joint moments that the terms are read from.
    node : Node
        The expression; the first number of a term's place is that of its release.
    others : bool
        Whether its records are of people who are in no other release, on the reader's word.
    """

    releases: tuple[JointTotals, ...]
    node: Node
    others: bool = False

    @classmethod
    def of(cls, release: JointTotals, cell: int, function: SmoothFunction) -> JointValue:
        """Return a statistic of one cell of a release."""
        return cls((release,), Term(function, (0, cell)))

    @property
    def estimate(self) -> float:
        """The estimate, moved to what is possible."""
        return float(self._read.value[0])

    @property
    def sampling_error(self) -> float:
        """The part of the standard error that comes from sampling."""
        return float(self._read.sampling_error[0])

    @property
    def privacy_error(self) -> float:
        """The part of the standard error that comes from the noise."""
        return float(self._read.privacy_error[0])

    @property
    def standard_error(self) -> float:
        """The root of the sum of the two squares."""
        return float(self._read.standard_error[0])

    @property
    def reliable(self) -> bool:
        """False where the noise swamps a count or what is divided by."""
        return bool(self._read.reliable[0])

    def confidence_interval(self, level: float = 0.95) -> Interval:
        """Return an interval at a level. Post-processing: it costs no budget."""
        low, high = self._read.interval(parse_level(level))
        return Interval(float(low[0]), float(high[0]), level, "moments")

    def of_others(self) -> JointValue:
        """Return the same value, to be computed with beside values of other releases as of different people."""
        return JointValue(self.releases, self.node, others=True)

    def log(self) -> JointValue:
        """Return the natural logarithm."""
        return JointValue(self.releases, Applied("log", self.node), self.others)

    def exp(self) -> JointValue:
        """Return the exponential."""
        return JointValue(self.releases, Applied("exp", self.node), self.others)

    def sqrt(self) -> JointValue:
        """Return the square root."""
        return JointValue(self.releases, Applied("sqrt", self.node), self.others)

    def __add__(self, other: object) -> JointValue:
        return self._with("+", other)

    def __radd__(self, other: object) -> JointValue:
        return self._with("+", other, swapped=True)

    def __sub__(self, other: object) -> JointValue:
        return self._with("-", other)

    def __rsub__(self, other: object) -> JointValue:
        return self._with("-", other, swapped=True)

    def __mul__(self, other: object) -> JointValue:
        return self._with("*", other)

    def __rmul__(self, other: object) -> JointValue:
        return self._with("*", other, swapped=True)

    def __truediv__(self, other: object) -> JointValue:
        return self._with("/", other)

    def __rtruediv__(self, other: object) -> JointValue:
        return self._with("/", other, swapped=True)

    def __neg__(self) -> JointValue:
        return self._with("*", -1.0)

    def __repr__(self) -> str:
        interval = self.confidence_interval().outward()
        return (
            f"<JointValue {self.estimate:.6g} (s.e. {self.standard_error:.3g}, of which privacy "
            f"{self.privacy_error:.3g}; 95 % interval {interval.low:.6g} to {interval.high:.6g})>"
        )

    def _with(self, symbol: str, other: object, *, swapped: bool = False) -> JointValue:
        if isinstance(other, JointValue):
            releases, node = _merged(self, other)
        elif (number := real(other)) is not None:
            releases, node = self.releases, number
        else:
            return NotImplemented  # type: ignore[no-any-return]  # Python's own answer to an unknown operand
        left, right = (node, self.node) if swapped else (self.node, node)
        return JointValue(releases, Operation(symbol, left, right), self.others and getattr(other, "others", True))

    @cached_property
    def _read(self) -> JointEstimates:
        return _together([self])[0]


def to_uncertainties(values: Sequence[JointValue]) -> list[Any]:
    """Return numbers of the `uncertainties` package with the values' standard errors and correlations.

    That package propagates errors by tangents; its results have a standard error and no interval.

    Raises
    ------
    ImportError
        Where the package is not installed: ``pip install hedgerow[uncertainties]``.
    ParameterError
        HG130: the values are of several releases whose joint sampling law is not known.
    """
    from uncertainties import correlated_values

    read = _together(values)
    sampling, noise = joint_covariance(read)
    return list(correlated_values([float(one.value[0]) for one in read], sampling[0] + noise[0]))


def covariance_of(values: Sequence[JointValue]) -> tuple[Floats, Floats]:
    """Return the sampling and the noise covariance of several values of one release, or of different people.

    Raises
    ------
    ParameterError
        HG130: the values are of several releases whose joint sampling law is not known.
    """
    sampling, noise = joint_covariance(_together(values))
    return sampling[0], noise[0]


def _together(values: Sequence[JointValue]) -> list[JointEstimates]:
    """Return the estimates of expressions over the cells of all of them side by side."""
    whole = values[0]
    nodes = [whole.node]
    for value in values[1:]:
        releases, node = _merged(whole, value)
        nodes.append(node)
        whole = JointValue(releases, Operation("+", whole.node, node), whole.others and value.others)
    places = sorted({term.place for node in nodes for term in terms_of(node)})
    blocks = tuple(whole.releases[release].rows(slice(cell, cell + 1)) for release, cell in places)
    cells = SideBySide(blocks, tuple(release for release, _ in places))
    where = dict(zip(places, cells.places, strict=True))
    return [_estimated(node, where, cells) for node in nodes]


def _estimated(node: Node, where: Mapping[Place, slice], cells: SideBySide) -> JointEstimates:
    alone = isinstance(node, Term) and len(where) == 1
    return estimate(node.function if alone and isinstance(node, Term) else Expression(node, where), cells)


def _merged(first: JointValue, second: JointValue) -> tuple[tuple[JointTotals, ...], Node]:
    """Return the releases of both, and the second's expression with its releases numbered among them."""
    releases, numbers = list(first.releases), []
    for release in second.releases:
        known = [number for number, other in enumerate(releases) if other is release]
        if not known and not (first.others or second.others):
            raise ParameterError(
                "HG130",
                rule="Estimates are combined where their joint sampling law is known.",
                finding="These are of two releases, which may hold the same people.",
                remedy="Release both statistics in one call; or say that the people are different: a.of_others() - b.",
            )
        numbers.append(known[0] if known else len(releases))
        if not known:
            releases.append(release)
    return tuple(releases), _renumbered(second.node, numbers)


def _renumbered(node: Node, numbers: Sequence[int]) -> Node:
    if isinstance(node, Term):
        return Term(node.function, (numbers[node.place[0]], node.place[1]))
    if isinstance(node, Operation):
        return Operation(node.symbol, _renumbered(node.left, numbers), _renumbered(node.right, numbers))
    return Applied(node.name, _renumbered(node.argument, numbers)) if isinstance(node, Applied) else node
