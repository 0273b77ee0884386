"""Estimates to compute with: a − b, a / b, 2·a and functions of them, with errors that know their correlations.

An expression of estimates of one release is a smooth function of its totals, so it has its own tangent, errors and
interval (`estimates`). Of two releases the joint sampling law is not known: the same people may be in both. Then
arithmetic refuses, unless the reader says that the records are of different people.

Counts and shares from noisy counts of disjoint cells, as joint moments: they go together with one another.

A record with the value has f = 1, another one f = −1. With e of the former and d of the latter N = e + d, S = e − d and
Q = N; where N is public, S = 2e − N. A count alone is a vector of no features: its totals are N. An estimate keeps the
errors and the interval that it has by itself (`inference.counts`); what is computed with it has those of the totals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import add, mul, sub, truediv
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.validation import as_float
from hedgerow.inference.joint.estimates import JointEstimates, estimate, joint_covariance
from hedgerow.inference.joint.functions import FunctionOfTotals, MeanOfTotals, Numbers, ScaledMean, SumOfTotals
from hedgerow.inference.joint.totals import JointTotals, SideBySide
from hedgerow.inference.means_and_counts import NumbersWithErrors, counts_with_errors, proportions_with_errors
from hedgerow.inference.operators import Operators
from hedgerow.inference.score_test import SingleTest
from hedgerow.noise.lattice import AdditiveTable

Floats = NDArray[np.float64]
Range = tuple[float, float]
Place = tuple[int, int]  # release and cell
_FUNCTIONS = {"log": np.log, "exp": np.exp, "sqrt": np.sqrt}
_LEAST = {"log": 0.0, "exp": -math.inf, "sqrt": 0.0}
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {"+": add, "-": sub, "*": mul, "/": truediv}
_EVERYTHING = (-math.inf, math.inf)
_TOGETHER, _MOST_KEPT = 4096, 64


class Node:
    """A part of an expression: a statistic, a number, or what is made of such parts."""

    __slots__ = ()
    term: EstimateTerm | None = None

    def terms(self) -> list[EstimateTerm]:
        """Return the statistics in it, from left to right."""
        return []

    def limits(self) -> Range:
        """Return what is possible for it if each of its terms can be anything possible."""
        raise NotImplementedError

    def value(self, of_term: Callable[[EstimateTerm], Numbers]) -> Numbers:
        """Return its value by those of its terms."""
        raise NotImplementedError

    def divisors(self) -> list[Node]:
        """Return the parts by which others are divided, and arguments of log and sqrt."""
        return []

    def renumbered(self, numbers: Sequence[int]) -> Node:
        """Return it with its releases numbered anew."""
        return self

    def over(self, cells: Mapping[Place, slice]) -> FunctionOfTotals:
        """Return it as a function of the totals of its cells, by where each of them stands."""
        return Expression(self, cells)


@dataclass(frozen=True, slots=True)
class EstimateTerm(Node):
    """A statistic of one cell of one release."""

    function: FunctionOfTotals
    place: Place

    @property
    def term(self) -> EstimateTerm:  # type: ignore[override]  # None of other nodes
        """Itself."""
        return self

    def terms(self) -> list[EstimateTerm]:
        """Return itself."""
        return [self]

    def limits(self) -> Range:
        """Return what is possible."""
        return self.function.low, self.function.high

    def value(self, of_term: Callable[[EstimateTerm], Numbers]) -> Numbers:
        """Return its value."""
        return of_term(self)

    def renumbered(self, numbers: Sequence[int]) -> EstimateTerm:
        """Return it with its release numbered anew."""
        return EstimateTerm(self.function, (numbers[self.place[0]], self.place[1]))

    def over(self, cells: Mapping[Place, slice]) -> FunctionOfTotals:
        """Return its own function."""
        return self.function


@dataclass(frozen=True, slots=True)
class Constant(Node):
    """A number."""

    number: float

    def limits(self) -> Range:
        """Return the number alone."""
        return self.number, self.number

    def value(self, of_term: Callable[[EstimateTerm], Numbers]) -> Numbers:
        """Return the number."""
        return np.asarray(complex(self.number))


@dataclass(frozen=True, slots=True)
class JointOperation(Node):
    """Two expressions under one of + − * /."""

    symbol: str
    left: Node
    right: Node

    def terms(self) -> list[EstimateTerm]:
        """Return the statistics of both."""
        return self.left.terms() + self.right.terms()

    def limits(self) -> Range:
        """Return what is possible."""
        left, right = self.left.limits(), self.right.limits()
        if self.symbol == "/" and right[0] <= 0.0 <= right[1]:
            return _EVERYTHING
        with np.errstate(all="ignore"):
            ends = [float(_OPERATORS[self.symbol](np.float64(a), np.float64(b))) for a in left for b in right]
        return _EVERYTHING if any(math.isnan(end) for end in ends) else _between(ends)

    def value(self, of_term: Callable[[EstimateTerm], Numbers]) -> Numbers:
        """Return its value by those of its terms."""
        return np.asarray(_OPERATORS[self.symbol](self.left.value(of_term), self.right.value(of_term)))

    def divisors(self) -> list[Node]:
        """Return its own divisor, where it is no number, and those of both sides."""
        own = [self.right] if self.symbol == "/" and self.right.terms() else []
        return own + self.left.divisors() + self.right.divisors()

    def renumbered(self, numbers: Sequence[int]) -> JointOperation:
        """Return it with its releases numbered anew."""
        return JointOperation(self.symbol, self.left.renumbered(numbers), self.right.renumbered(numbers))


@dataclass(frozen=True, slots=True)
class Applied(Node):
    """A function of an expression: log, exp or sqrt."""

    name: str
    argument: Node

    def terms(self) -> list[EstimateTerm]:
        """Return the statistics of its argument."""
        return self.argument.terms()

    def limits(self) -> Range:
        """Return what is possible."""
        with np.errstate(all="ignore"):
            return _between(
                [float(_FUNCTIONS[self.name](max(end, _LEAST[self.name]))) for end in self.argument.limits()]
            )

    def value(self, of_term: Callable[[EstimateTerm], Numbers]) -> Numbers:
        """Return its value, NaN where the function is not defined."""
        argument = self.argument.value(of_term)
        inside = argument.real > _LEAST[self.name]
        return np.asarray(np.where(inside, _FUNCTIONS[self.name](np.where(inside, argument, 1.0)), np.nan))

    def divisors(self) -> list[Node]:
        """Return those of its argument, and the argument of log and sqrt."""
        return self.argument.divisors() + ([] if self.name == "exp" else [self.argument])

    def renumbered(self, numbers: Sequence[int]) -> Applied:
        """Return it with its releases numbered anew."""
        return Applied(self.name, self.argument.renumbered(numbers))


def _between(ends: list[float]) -> Range:
    """Return the range of the ends; everything where nothing is possible, or nothing that a computer can hold."""
    low, high = min(ends), max(ends)
    return (low, high) if low < math.inf and high > -math.inf else _EVERYTHING


@dataclass(frozen=True, slots=True)
class Expression(FunctionOfTotals):
    """An expression as a smooth function of the totals of its cells; ``cells`` says where each of them stands."""

    node: Node
    cells: Mapping[Place, slice]

    @property
    def homogeneous(self) -> bool:  # type: ignore[override]  # a constant in most functions
        """Whether every term is."""
        return all(term.function.homogeneous for term in self.node.terms())

    def _limits(self) -> Range:
        return self.node.limits()

    def __call__(self, totals: Numbers) -> Numbers:
        """Return the value of each row."""
        return self.node.value(lambda term: term.function(totals[:, self.cells[term.place]]))

    def estimate(self, totals: Floats, excess: Floats) -> Floats:
        """Return the expression of its terms' estimates."""

        def unbiased(term: EstimateTerm) -> Numbers:
            here = self.cells[term.place]
            return np.asarray(term.function.estimate(totals[:, here], excess[:, here, here]), dtype=complex)

        return np.broadcast_to(self.node.value(unbiased).real, len(totals))

    def divisors(self, totals: Numbers) -> list[Numbers]:
        """Return what the value divides by."""
        divisors = [node.value(lambda t: t.function(totals[:, self.cells[t.place]])) for node in self.node.divisors()]
        for term in self.node.terms():
            divisors += term.function.divisors(totals[:, self.cells[term.place]])
        return divisors


@dataclass(frozen=True)
class JointValue(SingleTest, Operators):
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
    def of(cls, release: JointTotals, cell: int, function: FunctionOfTotals) -> JointValue:
        """Return a statistic of one cell of a release."""
        return cls((release,), EstimateTerm(function, (0, cell)))

    def __reduce__(self) -> tuple[type[JointValue], tuple[object, ...]]:
        return JointValue, (self.releases, self.node, self.others)  # without the other cells

    @property
    def is_sent(self) -> bool:
        """Whether it can be sent to another process: a function of the user's own cannot."""
        return all(term.function.is_sent for term in self.node.terms())

    @property
    def drawn_with(self) -> tuple[int, ...]:
        """What values must have in common for their covariance to be known: the release, of units also the cell."""
        (release,) = self.releases
        cells = () if release.knows_cells else {term.place[1] for term in self.node.terms()}
        return (id(release), *cells)

    @property
    def is_exact(self) -> bool:
        """Whether it is the function that was released, and not a tangent that a record keeps of it."""
        return all(term.function.is_exact for term in self.node.terms())

    @property
    def records(self) -> float | None:
        """Of how many records a mean is, public or noisy; None of anything else, and of a census."""
        term, (release, *_) = self.node.term, self.releases
        axis = None if term is None else term.function.mean_of
        if term is None or axis is None or release.census or release.limit:
            return None
        return max(0.0, float(release.totals[term.place[1], axis.base]))

    @property
    def low(self) -> float:
        """The least that is possible."""
        return self.node.limits()[0]

    @property
    def high(self) -> float:
        """The most that is possible."""
        return self.node.limits()[1]

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
        return (
            self.read.accepted(level) if self.among is None else self.among.ends(self.node.terms()[0].place[1], level)
        )

    def of_others(self) -> JointValue:
        """Return the same value, to be computed with beside values of other releases as of different people."""
        return JointValue(self.releases, self.node, others=True)

    def _applied(self, name: str) -> JointValue:
        """Return log, exp or sqrt of it."""
        return JointValue(self.releases, Applied(name, self.node), self.others)

    def _combined(self, symbol: str, other: object, *, swapped: bool = False) -> JointValue:
        """Return it under one of + − * / with a number or another value."""
        if isinstance(other, JointValue):
            releases, node = _merged(self, other)
        elif (number := as_float(other)) is not None:
            releases, node = self.releases, Constant(number)
        else:
            return NotImplemented  # type: ignore[no-any-return]  # Python's own answer to an unknown operand
        left, right = (node, self.node) if swapped else (self.node, node)
        _check_cells(releases, left.terms() + right.terms())
        return JointValue(releases, JointOperation(symbol, left, right), self.others and getattr(other, "others", True))

    @property
    def _cell(self) -> int:
        return self.node.terms()[0].place[1]

    @cached_property
    def read(self) -> JointEstimates:
        """Its errors, over the cells that it reads side by side."""
        if self.among is not None:
            return self.among.read.rows(slice(self._cell, self._cell + 1))
        places = sorted({term.place for term in self.node.terms()})
        cells = _beside(self.releases, places)
        return estimate(self.node.over(dict(zip(places, cells.places, strict=True))), cells)


@dataclass(frozen=True, slots=True, eq=False)
class JointCells:
    """The estimates of one function in all cells of a release.

    Intervals are computed for some thousands of cells at a time, and kept: a cell's own is one of them.
    """

    read: JointEstimates
    ends_by_part: dict[tuple[float, int], tuple[Floats, Floats]] = field(default_factory=dict, init=False, repr=False)

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
        return JointValue((self.read.cells.blocks[0],), EstimateTerm(self.read.function, (0, index)), among=self)

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
        if (ends := self.ends_by_part.get((level, place))) is None:
            ends = self.read.rows(slice(place * _TOGETHER, (place + 1) * _TOGETHER)).accepted(level)
            if len(self.ends_by_part) >= _MOST_KEPT:
                self.ends_by_part.clear()
            self.ends_by_part[level, place] = ends
        return ends


@dataclass(frozen=True, slots=True)
class JointStatisticOfCells:
    """A statistic of all cells of a release, of which nothing is computed before it is asked for."""

    release: JointTotals
    function: FunctionOfTotals

    def row(self, index: int) -> JointValue:
        """Return what the estimate of one cell computes with."""
        return JointValue.of(self.release, index, self.function)


@dataclass(frozen=True, slots=True, eq=False)
class FunctionsOfCells:
    """A function of totals for each cell of a release."""

    release: JointTotals
    functions: tuple[FunctionOfTotals, ...]

    def row(self, index: int) -> JointValue:
        """Return what the estimate of one cell computes with."""
        return JointValue.of(self.release, index, self.functions[index])


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
        whole = JointValue(releases, JointOperation("+", whole.node, node), whole.others and value.others)
        _check_cells(releases, whole.node.terms())
    places = sorted({term.place for node in nodes for term in node.terms()})
    cells = _beside(whole.releases, places)
    where = dict(zip(places, cells.places, strict=True))
    read = []
    for value, node in zip(values, nodes, strict=True):
        # A value has the slopes of its own cells, in the order of its own places.
        moved = {own.place: term.place for own, term in zip(value.node.terms(), node.terms(), strict=True)}
        own = [where[moved[place]] for place in sorted(moved)]
        slopes = np.zeros((1, cells.totals.shape[1]))
        slopes[:, np.concatenate([np.arange(cell.start, cell.stop) for cell in own])] = value.read.tangent.slopes
        read.append(replace(value.read, cells=cells, tangent=replace(value.read.tangent, slopes=slopes)))
    sampling, noise = joint_covariance(read)
    return sampling[0], noise[0]


def _beside(releases: Sequence[JointTotals], places: Sequence[Place]) -> SideBySide:
    blocks = tuple(releases[release].rows(slice(cell, cell + 1)) for release, cell in places)
    return SideBySide(blocks, tuple(release for release, _ in places))


def _check_cells(releases: Sequence[JointTotals], terms: Sequence[EstimateTerm]) -> None:
    """Check that it is known how terms of several cells vary together, of units that may have rows in each (HG130)."""
    for number, release in enumerate(releases):
        beyond = "their counts" if release.several else "so many cells"
        if not release.knows_cells and len({term.place[1] for term in terms if term.place[0] == number}) > 1:
            raise ParameterError(
                "HG130",
                rule="Estimates can be combined only if their joint sampling distribution is known.",
                finding="These are of several cells, a unit may have rows in more than one, and "
                f"no products between {beyond} were released.",
                remedy="Ask for fewer cells or columns in one call, or prepare the data with one row for each unit "
                "first.",
            )


def _merged(first: JointValue, second: JointValue) -> tuple[tuple[JointTotals, ...], Node]:
    """Return the releases of both, and the second's expression with its releases numbered among them."""
    releases, numbers = list(first.releases), []
    for release in second.releases:
        known = [number for number, other in enumerate(releases) if other is release]
        if not known and not (first.others or second.others):
            raise ParameterError(
                "HG130",
                rule="Estimates can be combined only if their joint sampling distribution is known.",
                finding="The estimates were not drawn together, and may be estimates of the same people.",
                remedy='Release both statistics in one call with estimator="moments", which serves means, sums, '
                "counts, shares, ratios and functions of means. If the people are different, write "
                "a.of_others() - b.",
                shell="Release both in one call with --estimator moments, which takes means, sums, counts, shares, "
                "ratios and functions of means; or say with --independent that two records are of different people.",
            )
        numbers.append(known[0] if known else len(releases))
        if not known:
            releases.append(release)
    return tuple(releases), second.node.renumbered(numbers)


COUNT, EQUAL, DIFFERENT = "count", "equal", "different"
EVERY, SHARE = ScaledMean(0, 1.0, 0.0), MeanOfTotals(ScaledMean(1, 0.5, 0.5))


def counted_cells(
    table: AdditiveTable, *, n: int | None, census: bool, method: str, several: bool = False
) -> tuple[NumbersWithErrors, JointStatisticOfCells]:
    """Return counts or shares of noisy counts, of records or of equal and different ones, and their joint laws.

    Each has its own numbers: their joint laws are for what is computed with them.

    ``n`` is the public number of all records, or None. Where a table counts equal records alone, n divides. With
    `several` units are counted, which may be in several cells: then no law of two cells is known.

    >>> cells = ({"sex": 0}, {"sex": 1})
    >>> values = np.array([[30.0, 70.0], [20.0, 80.0]])
    >>> table = AdditiveTable(cells, (EQUAL, DIFFERENT), values, np.array([3.0, 3.0]), "gaussian")
    >>> shares, joint = counted_cells(table, n=200, census=False, method="gaussian")
    >>> more = joint.row(0) - joint.row(1)
    >>> round(more.estimate, 9), round(more.sampling_error, 4), round(more.privacy_error, 4)
    (0.1, 0.0606, 0.0335)
    """
    totals = replace(joint_totals_of(table, n=n, census=census), several=several)
    column = JointStatisticOfCells(totals, function_of(table.features, n))
    noise_sd = float(table.noise_sd[0])
    if table.features == (COUNT,):
        numbers = counts_with_errors(
            table.column(COUNT), noise_sd=noise_sd, n=n, census=census, noise_law=table.noise_law, method=method
        )
        return numbers, column
    equal = table.column(EQUAL)
    whole = equal + table.column(DIFFERENT) if DIFFERENT in table.features else float(n or 0)
    numbers = proportions_with_errors(
        equal, whole, noise_sd=noise_sd, census=census, noise_law=table.noise_law, method=method
    )
    return numbers, column


def function_of(features: tuple[str, ...], n: int | None) -> MeanOfTotals | SumOfTotals:
    """Return what is read from the totals of such a table."""
    return SHARE if EQUAL in features else SumOfTotals(EVERY).of_records(0.0, math.inf if n is None else float(n))


def joint_totals_of(table: AdditiveTable, *, n: int | None, census: bool) -> JointTotals:
    """Return noisy counts as the totals and products of f, with the noise on them."""
    sd, cells = float(table.noise_sd[0]), len(table.values)
    step = 1.0 / sd if sd else 0.0
    if table.features == (COUNT,):
        none = np.zeros((cells, 0)), np.zeros((cells, 0, 0))
        count, mixing = table.column(COUNT), np.array([[sd]])
        return JointTotals(count, *none, mixing, table.noise_law, n, census=census, noise_step=step)
    equal = table.column(EQUAL)
    if DIFFERENT in table.features:
        different = table.column(DIFFERENT)
        count, mixing = equal + different, sd * np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    else:
        count, mixing = np.full(cells, float(n or 0)), sd * np.array([[0.0], [2.0], [0.0]])
    sums, products = (2.0 * equal - count)[:, None], count[:, None, None]
    return JointTotals(count, sums, products, mixing, table.noise_law, n, census=census, noise_step=step)


def table_of(totals: Floats, features: tuple[str, ...], noise_sd: Floats, law: str) -> AdditiveTable:
    """Return the noisy counts behind totals (N, S): the inverse of `joint_totals_of`."""
    values = totals
    if features != (COUNT,):
        values = np.stack([totals[:, 0] + totals[:, 1], totals[:, 0] - totals[:, 1]], axis=1)[:, : len(features)] / 2.0
    return AdditiveTable(({},) * len(values), features, values, noise_sd, law)
