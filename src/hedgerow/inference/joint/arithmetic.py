"""Estimates to compute with: a − b, a / b, 2·a and functions of them, with errors that know their correlations.

An expression of estimates of one release is a smooth function of its totals, so it has its own tangent, errors and
interval (`estimates`). Of two releases the joint sampling law is not known: the same people may be in both. Then
arithmetic refuses, unless the reader says that the records are of different people.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.given import as_float
from hedgerow.inference.joint.estimates import JointEstimates, estimate, joint_covariance
from hedgerow.inference.joint.functions import Mean, Numbers, Smooth, SmoothFunction, UserFunction
from hedgerow.inference.joint.recorded import Linearised
from hedgerow.inference.joint.totals import JointTotals, SideBySide
from hedgerow.inference.operators import Operators

Floats = NDArray[np.float64]
Range = tuple[float, float]
Place = tuple[int, int]  # release and cell
_FUNCTIONS = {"log": np.log, "exp": np.exp, "sqrt": np.sqrt}
_LEAST = {"log": 0.0, "exp": -math.inf, "sqrt": 0.0}
_TOGETHER, _MOST_KEPT = 4096, 64


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


def _cell_of(node: Node) -> int:
    (term,) = terms_of(node)
    return term.place[1]


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
    """Return what is possible for an expression if each of its terms can be anything possible.

    Where nothing is, as for the logarithm of what is negative, or beyond the numbers of a computer, it is everything.
    """
    if isinstance(node, Term):
        return node.function.low, node.function.high
    if isinstance(node, float):
        return node, node
    with np.errstate(all="ignore"):
        ends = _ends(node)
    low, high = min(ends), max(ends)
    return (low, high) if low < math.inf and high > -math.inf else (-math.inf, math.inf)


def _ends(node: Operation | Applied) -> list[float]:
    everything = [-math.inf, math.inf]
    if isinstance(node, Applied):
        return [float(_FUNCTIONS[node.name](max(end, _LEAST[node.name]))) for end in _range(node.argument)]
    left, right = _range(node.left), _range(node.right)
    if node.symbol == "/" and right[0] <= 0.0 <= right[1]:
        return everything
    ends = [float(_combined(node.symbol, np.float64(one), np.float64(other))) for one in left for other in right]
    return everything if any(math.isnan(end) for end in ends) else ends


@dataclass(frozen=True)
class JointValue(Operators):
    """An estimate, or an expression of estimates, with the errors of all that it is made of and their correlations.

    It is what an `Estimate` computes with, and the test that its interval inverts. Arithmetic with numbers and with
    other values of the same release gives another one. A value of another release is refused (HG130) unless one of the
    two says that its records are of different people: ``a.of_others() - b``.

    Attributes
    ----------
    releases : tuple of JointTotals
        The noisy joint moments that the terms are read from; those of one release are one object.
    node : Node
        The expression; the first number of a term's place is that of its release.
    others : bool
        Whether its records are of people who are in no other release, on the reader's word.
    among : JointCells, optional
        Where the statistic was computed for all cells at once: it is read from there.
    """

    releases: tuple[JointTotals, ...]
    node: Node
    others: bool = False
    among: JointCells | None = field(default=None, repr=False, compare=False)

    method: ClassVar[str] = "moments"

    @classmethod
    def of(cls, release: JointTotals, cell: int, function: SmoothFunction) -> JointValue:
        """Return a statistic of one cell of a release."""
        return cls((release,), Term(function, (0, cell)))

    def __reduce__(self) -> tuple[type[JointValue], tuple[object, ...]]:
        return JointValue, (self.releases, self.node, self.others)  # without the other cells

    @property
    def is_sent(self) -> bool:
        """Whether it can be sent to another process: a function of the user's own cannot."""
        return not any(isinstance(term.function, UserFunction) for term in terms_of(self.node))

    @property
    def drawn_with(self) -> tuple[int, ...]:
        """What values must have in common for their covariance to be known: the release, of units also the cell."""
        (release,) = self.releases
        cells = {term.place[1] for term in terms_of(self.node)} if release.limit is not None else ()
        return (id(release), *cells)

    @property
    def is_exact(self) -> bool:
        """Whether it is the function that was released, and not a tangent that a record keeps of it."""
        return not any(isinstance(term.function, Linearised) for term in terms_of(self.node))

    @property
    def records(self) -> float | None:
        """Of how many records a mean is, public or noisy; None of anything else, and of a census."""
        (release, *others), node = self.releases, self.node
        if (
            others
            or release.census
            or release.limit
            or not (isinstance(node, Term) and isinstance(node.function, Mean))
        ):
            return None
        axis, (_, cell) = node.function.x, node.place
        return None if axis.weight else max(0.0, float(release.totals[cell, axis.base]))

    @property
    def low(self) -> float:
        """The least that is possible."""
        return _range(self.node)[0]

    @property
    def high(self) -> float:
        """The most that is possible."""
        return _range(self.node)[1]

    @property
    def estimate(self) -> float:
        """The estimate, moved to what is possible."""
        return float(self.read.value[0])

    @property
    def sampling_error(self) -> float:
        """The part of the standard error that comes from sampling."""
        return float(self.read.sampling_error[0])

    @property
    def privacy_error(self) -> float:
        """The part of the standard error that comes from the noise."""
        return float(self.read.privacy_error[0])

    @property
    def standard_error(self) -> float:
        """The root of the sum of the two squares."""
        return float(self.read.standard_error[0])

    @property
    def reliable(self) -> bool:
        """False where the noise swamps a count or what is divided by."""
        return bool(self.read.reliable[0]) and math.isfinite(self.standard_error)

    def accepted(self, level: float) -> tuple[Floats, Floats]:
        """Return the values that are not rejected at a level, cut to what is possible."""
        return self.read.accepted(level) if self.among is None else self.among.ends(_cell_of(self.node), level)

    def row(self, index: int) -> JointValue:
        """Return the value itself: it is of one number."""
        return self

    def of_others(self) -> JointValue:
        """Return the same value, to be computed with beside values of other releases as of different people."""
        return JointValue(self.releases, self.node, others=True)

    def applied(self, name: str) -> JointValue:
        """Return log, exp or sqrt of it."""
        return JointValue(self.releases, Applied(name, self.node), self.others)

    def combined(self, symbol: str, other: object, *, swapped: bool = False) -> JointValue:
        """Return it under one of + − * / with a number or another value."""
        if isinstance(other, JointValue):
            releases, node = _merged(self, other)
        elif (number := as_float(other)) is not None:
            releases, node = self.releases, number
        else:
            return NotImplemented  # type: ignore[no-any-return]  # Python's own answer to an unknown operand
        left, right = (node, self.node) if swapped else (self.node, node)
        _check_cells(releases, terms_of(left) + terms_of(right))
        return JointValue(releases, Operation(symbol, left, right), self.others and getattr(other, "others", True))

    @cached_property
    def read(self) -> JointEstimates:
        """Its errors, over the cells that it reads side by side."""
        if self.among is not None:
            cell = _cell_of(self.node)
            return self.among.read.rows(slice(cell, cell + 1))
        places = sorted({term.place for term in terms_of(self.node)})
        cells = _beside(self.releases, places)
        if isinstance(self.node, Term):
            return estimate(self.node.function, cells)
        return estimate(Expression(self.node, dict(zip(places, cells.places, strict=True))), cells)


@dataclass(frozen=True, slots=True, eq=False)
class JointCells:
    """The estimates of one function in all cells of a release.

    Intervals are computed for some thousands of cells at a time, and kept: a cell's own is one of them.
    """

    read: JointEstimates
    kept: dict[tuple[float, int], tuple[Floats, Floats]] = field(default_factory=dict, init=False, repr=False)

    method: ClassVar[str] = JointValue.method

    @property
    def low(self) -> float:
        """The least that is possible."""
        return self.read.function.low

    @property
    def high(self) -> float:
        """The most that is possible."""
        return self.read.function.high

    def row(self, index: int) -> JointValue:
        """Return what the estimate of one cell computes with."""
        return JointValue((self.read.cells.blocks[0],), Term(self.read.function, (0, index)), among=self)

    def accepted(self, level: float) -> tuple[Floats, Floats]:
        """Return (low, high) of each cell at a level."""
        parts = [self._part(level, place) for place in range(-(-len(self.read.value) // _TOGETHER))]
        low, high = (np.concatenate(ends) for ends in zip(*parts, strict=True))
        return low, high

    def ends(self, index: int, level: float) -> tuple[Floats, Floats]:
        """Return (low, high) of one cell at a level."""
        place, row = divmod(index, _TOGETHER)
        low, high = self._part(level, place)
        return low[row : row + 1], high[row : row + 1]

    def _part(self, level: float, place: int) -> tuple[Floats, Floats]:
        if (found := self.kept.get((level, place))) is None:
            found = self.read.rows(slice(place * _TOGETHER, (place + 1) * _TOGETHER)).accepted(level)
            if len(self.kept) >= _MOST_KEPT:
                self.kept.clear()
            self.kept[level, place] = found
        return found


@dataclass(frozen=True, slots=True)
class JointStatisticOfCells:
    """A statistic of all cells of a release, of which nothing is computed before it is asked for."""

    release: JointTotals
    function: SmoothFunction

    def row(self, index: int) -> JointValue:
        """Return what the estimate of one cell computes with."""
        return JointValue.of(self.release, index, self.function)


def covariance_of(values: Sequence[JointValue]) -> tuple[Floats, Floats]:
    """Return the sampling and the noise covariance of several values of one release, or of different people.

    Raises
    ------
    ParameterError
        HG130: the values are of several releases whose joint sampling law is not known.
    """
    whole = values[0]
    nodes = [whole.node]
    for value in values[1:]:
        releases, node = _merged(whole, value)
        nodes.append(node)
        whole = JointValue(releases, Operation("+", whole.node, node), whole.others and value.others)
        _check_cells(releases, terms_of(whole.node))
    places = sorted({term.place for node in nodes for term in terms_of(node)})
    cells = _beside(whole.releases, places)
    where = dict(zip(places, cells.places, strict=True))
    read = []
    for value, node in zip(values, nodes, strict=True):
        # A value has the slopes of its own cells, in the order of its own places.
        moved = {own.place: term.place for own, term in zip(terms_of(value.node), terms_of(node), strict=True)}
        own = [where[moved[place]] for place in sorted(moved)]
        slopes = np.zeros((1, cells.totals.shape[1]))
        slopes[:, np.concatenate([np.arange(one.start, one.stop) for one in own])] = value.read.tangent.slopes
        read.append(replace(value.read, cells=cells, tangent=replace(value.read.tangent, slopes=slopes)))
    sampling, noise = joint_covariance(read)
    return sampling[0], noise[0]


def _beside(releases: Sequence[JointTotals], places: Sequence[Place]) -> SideBySide:
    blocks = tuple(releases[release].rows(slice(cell, cell + 1)) for release, cell in places)
    return SideBySide(blocks, tuple(release for release, _ in places))


def _check_cells(releases: Sequence[JointTotals], terms: Sequence[Term]) -> None:
    """Check that the terms are not of several cells of units that may have rows in each of them (HG130)."""
    for number, release in enumerate(releases):
        if release.limit is not None and len({term.place[1] for term in terms if term.place[0] == number}) > 1:
            raise ParameterError(
                "HG130",
                rule="Estimates are combined where their joint sampling law is known.",
                finding="These are of several cells, and a unit may have rows in more than one.",
                remedy="Combine numbers of one cell, or bring the data to one row per unit first.",
            )


def _merged(first: JointValue, second: JointValue) -> tuple[tuple[JointTotals, ...], Node]:
    """Return the releases of both, and the second's expression with its releases numbered among them."""
    releases, numbers = list(first.releases), []
    for release in second.releases:
        known = [number for number, other in enumerate(releases) if other is release]
        if not known and not (first.others or second.others):
            raise ParameterError(
                "HG130",
                rule="Estimates are combined where their joint sampling law is known.",
                finding="These were not drawn together, and may be of the same people.",
                remedy='Release both in one call with estimator="moments", which takes means, sums, counts, shares, '
                "ratios and functions of means; or say that the people are different: a.of_others() - b.",
                shell="Release both in one call with --estimator moments, which takes means, sums, counts, shares, "
                "ratios and functions of means; or say with --independent that two records are of different people.",
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
