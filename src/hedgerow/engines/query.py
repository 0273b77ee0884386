"""What an engine is asked: a `Query` (a histogram), a `SumsQuery` (exact sums), a `ColumnQuery` (counts by value)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.by_cells import ByCells
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.columns import Category, Grid, Missing, Scalar, Selection
from hedgerow.facts.expression import sources_of
from hedgerow.facts.relation import UnitLimit
from hedgerow.resampling.counted_values import Monomial

# A place is one 64-bit integer on every engine; one bit is the sign's and one is to spare.
_PLACES = 2**62
# Sums of monomials are added up in 38 decimal digits at least, with room for 2⁴⁰ records.
_WIDEST = 2**84
_SQUARED = 9
SCORES: int = 2**20
SHARES: int = 2 ** (2 * _SQUARED)
"""How many parts of a whole the square of a clipped number is counted in."""
T = TypeVar("T", bound=Any)  # integers, or an engine's expressions of them


@dataclass(frozen=True, slots=True)
class ValueOnGrid:
    """A numeric column, clamped and put on its grid: index t ∈ {0..m}, −1 where it is missing."""

    column: str
    grid: Grid

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column,)

    @property
    def size(self) -> int:
        """How many indices there are: m + 1."""
        return self.grid.steps + 1


@dataclass(frozen=True, slots=True)
class Indicator:
    """Whether a column equals a declared value: index 1 or 0, −1 where it is missing."""

    column: str
    value: Scalar

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column,)

    @property
    def size(self) -> int:
        """How many indices there are: 0 and 1."""
        return 2


@dataclass(frozen=True, slots=True)
class WeightOnGrid(ValueOnGrid):
    """A column of weights from 0 on, clamped and put on its grid: index t ∈ {0..m}, 0 where it is missing."""


@dataclass(frozen=True, slots=True)
class Weighted:
    """A value times a weight: index t_w·t ∈ {0..m_w m}, −1 where the value is missing.

    Here t ∈ {0..m} is the value's index and t_w ∈ {0..m_w} the weight's: a record counts like t_w records of its value.

    >>> age = ValueOnGrid("age", Grid.from_bounds("age", (0, 100), 1))
    >>> both = Weighted(age, WeightOnGrid("w", Grid.from_bounds("w", (0, 10), 1)))
    >>> both.columns, both.size, both.index(10, 100), both.index(10, 0), both.index(2, 30)
    (('age', 'w'), 1001, 1000, 0, 60)
    """

    value: ValueOnGrid | Indicator | ColumnProduct
    weight: WeightOnGrid

    @property
    def column(self) -> str:
        """The column of the value."""
        return self.value.column

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the value and of its weight."""
        return (*self.value.columns, *self.weight.columns)

    @property
    def size(self) -> int:
        """How many indices there are: m_w m + 1."""
        return (self.weight.size - 1) * (self.value.size - 1) + 1

    def index(self, weight: T, value: T) -> T:
        """Return the index of a weight and a value, both given by their own."""
        index: T = weight * value
        return index


@dataclass(frozen=True, slots=True)
class ColumnProduct:
    """A product of powers of values of one record, exact in integers; −1 where one of them is missing.

    A numeric column enters as its centred grid integer 2t − m, whether a column equals a value as 0 or 1. Where no such
    product is negative (every power of a column is even), the index is the product P ∈ {0..M}; else P + M ∈ {0..2M}.

    >>> age = ValueOnGrid("age", Grid.from_bounds("age", (0, 100), 1))
    >>> square, of_women = ColumnProduct(((age, 2),)), ColumnProduct(((Indicator("sex", 1), 1), (age, 1)))
    >>> square.size, square.index([100]), of_women.size, of_women.index([1, 0]), of_women.index([0, 0])
    (10001, 10000, 201, 0, 100)
    """

    factors: tuple[tuple[ValueOnGrid | Indicator, int], ...]

    @property
    def parts(self) -> tuple[ValueOnGrid | Indicator, ...]:
        """The values that are multiplied."""
        return tuple(value for value, _ in self.factors)

    @property
    def column(self) -> str:
        """The columns with their powers, as a name."""
        return " * ".join(value.column if power == 1 else f"{value.column}^{power}" for value, power in self.factors)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the values, each once."""
        return tuple(dict.fromkeys(column for value in self.parts for column in value.columns))

    @property
    def reach(self) -> int:
        """The largest product M."""
        return math.prod((value.size - 1) ** power for value, power in self.factors)

    @property
    def signed(self) -> bool:
        """Whether a product can be negative."""
        return any(power % 2 for value, power in self.factors if isinstance(value, ValueOnGrid))

    @property
    def size(self) -> int:
        """How many indices there are."""
        return (2 if self.signed else 1) * self.reach + 1

    def index(self, indices: Sequence[T]) -> T:
        """Return the index of the product, given the index of each value."""
        result: Any = 1
        for (value, power), index in zip(self.factors, indices, strict=True):
            factor = index if isinstance(value, Indicator) else 2 * index - (value.size - 1)
            result = reduce(mul, [factor] * power, result)
        product: T = result + self.reach if self.signed else result
        return product


@dataclass(frozen=True, slots=True)
class InBall:
    """One coordinate of several numeric columns, shrunk into a ball about the middle of their grids; −1 where missing.

    The columns have grids of equally many steps m, even; q_i = 2t_i − m. A vector longer than `reach` = R is shrunk to
    q_i·R/⌈‖q‖⌉, rounded towards 0, so that it is no longer than R. The index is that of coordinate `place` plus R; with
    `place` None it is 1 where the vector was shrunk, else 0.

    >>> grid = Grid.from_bounds("x", (-1, 1), 0.1)
    >>> first = InBall((ValueOnGrid("x", grid), ValueOnGrid("y", grid)), 0, 10)
    >>> first.size, first.shrunk_index([20, 10]), first.shrunk_index([12, 10]), first.shrunk_index([20, 20])
    (21, 20, 14, 16)
    """

    values: tuple[ValueOnGrid, ...]
    place: int | None
    reach: int

    @property
    def parts(self) -> tuple[ValueOnGrid, ...]:
        """The columns of the vector."""
        return self.values

    @property
    def column(self) -> str:
        """The column of the coordinate; of all, where it is whether they were shrunk."""
        return ", ".join(self.columns) if self.place is None else self.values[self.place].column

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the vector."""
        return tuple(value.column for value in self.values)

    @property
    def size(self) -> int:
        """How many indices there are."""
        return 2 if self.place is None else 2 * self.reach + 1

    def shrunk_index(self, indices: Sequence[int]) -> int:
        """Return the index, given those of the columns: what engines compute, in Python's integers."""
        centred = [2 * t - (value.size - 1) for value, t in zip(self.values, indices, strict=True)]
        squares = sum(q * q for q in centred)
        long = squares > self.reach**2
        if self.place is None:
            return int(long)
        q, length = centred[self.place], math.isqrt(max(squares - 1, 0)) + 1
        inside = abs(q) * self.reach // length if long else abs(q)
        return self.reach + (inside if q >= 0 else -inside)


@dataclass(frozen=True, slots=True)
class ClippedSquare:
    """The square of a combination of values of one record, clipped: v² with v ∈ {0..2⁹}, −1 where a value is missing.

    With t_i ∈ {0..m_i} the index of value i, E = constant + Σ factor_i·(2t_i − m_i), a whole number; |E| is clipped at
    2^bits and rounded to v, 512 of which are the clip. With a `weight` of index t_w ∈ {0..m_w} it is t_w·|E|/m_w.

    >>> square = ClippedSquare((ValueOnGrid("x", Grid.from_bounds("x", (-1, 1), 1)),), (2**8,), 2**9, 10)
    >>> square.size, [square.share([0]), square.share([1]), square.share([2])] == [0, 256**2, 512**2]
    (262145, True)
    """

    values: tuple[Value, ...]
    factors: tuple[int, ...]
    constant: int
    bits: int
    weight: WeightOnGrid | None = None

    def __post_init__(self) -> None:
        # Of a missing value the index is −1: what engines compute of it, and then leave out, must fit too.
        reach = sum(abs(factor) * (value.size + 1) for factor, value in zip(self.factors, self.values, strict=True))
        # A clipped number times a weight is divided in doubles, which hold 53 bits.
        weighed = max(_SQUARED, self.bits) + (0 if self.weight is None else self.weight.size.bit_length())
        _check_places(max(reach + abs(self.constant), 2 ** (weighed + 10)))

    @property
    def parts(self) -> tuple[ValueOnGrid | Indicator, ...]:
        """What is read of a record."""
        inner = (part for value in self.values for part in _parts(value))
        return tuple(dict.fromkeys([*inner, *(() if self.weight is None else (self.weight,))]))

    @property
    def column(self) -> str:
        """The columns as a name."""
        return ", ".join(self.columns)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the values, each once."""
        return tuple(dict.fromkeys(column for part in self.parts for column in part.columns))

    @property
    def size(self) -> int:
        """How many indices there are: 2¹⁸ + 1."""
        return SHARES + 1

    @property
    def step(self) -> int:
        """What one of the 512 parts of the clip is, times the largest weight."""
        return int(2 ** (self.bits - _SQUARED)) * (1 if self.weight is None else self.weight.size - 1)

    def combined(self, indices: Sequence[T]) -> T:
        """Return E, given the index of each value."""
        total: Any = self.constant
        for factor, value, index in zip(self.factors, self.values, indices, strict=True):
            total = factor * (2 * index - (value.size - 1)) + total
        combined: T = total
        return combined

    def share(self, indices: Sequence[int], weight: int = 1) -> int:
        """Return the index v², given those of the values and of the weight: what engines compute."""
        clipped = min(abs(self.combined(indices)), 2**self.bits) * weight
        return int(((2 * clipped + self.step) // (2 * self.step)) ** 2)


@dataclass(frozen=True, slots=True)
class JointGrid:
    """Several numeric columns of one record, each clamped and put on its grid; −1 where any of them is missing.

    With the parts' indices t_i ∈ {0..m_i}, the index is their mixed-radix code, the last part fastest:
    (…(t_1·(m_2 + 1) + t_2)·(m_3 + 1) + …) + t_k ∈ {0..size − 1}. One part alone is its `ValueOnGrid`.

    A histogram of it has one entry for each combination that occurs: with many columns or fine grids, nearly one for
    each record. Which of the parts was missing is not kept.

    Raises
    ------
    ParameterError
        HG112 no part, or one column twice; HG107 too many combinations for 64-bit integers.

    Examples
    --------
    >>> age = ValueOnGrid("age", Grid.from_bounds("age", (0, 100), 1))
    >>> rate = ValueOnGrid("rate", Grid.from_bounds("rate", (0, 1), 0.1))
    >>> both = JointGrid((age, rate))
    >>> both.columns, both.size
    (('age', 'rate'), 1111)
    >>> [t.tolist() for t in both.indices(np.array([18 * 11 + 3, 1110]))]
    [[18, 100], [3, 10]]
    """

    parts: tuple[ValueOnGrid, ...]

    def __post_init__(self) -> None:
        if not self.parts or len(set(self.columns)) < len(self.parts):
            raise ParameterError(
                "HG112",
                rule="A count of combinations of values needs one numeric column or more, each named once.",
                finding="A column is named twice." if self.parts else "There is none.",
                remedy="Name every column once.",
            )
        _check_places(self.size + 1)

    @property
    def columns(self) -> tuple[str, ...]:
        """The parts' columns, in order."""
        return tuple(part.column for part in self.parts)

    @property
    def size(self) -> int:
        """How many indices there are: ∏ (m_i + 1)."""
        return math.prod(part.size for part in self.parts)

    def indices(self, index: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return the grid indices t_1, …, t_k of joint indices: one array per part, each of the shape of `index`.

        Raises
        ------
        ParameterError
            HG107 an index outside 0..size − 1; so −1 too, a missing value, which has no parts.
        """
        rest = np.asarray(index, dtype=np.int64)
        if rest.size and not (rest.min() >= 0 and rest.max() < self.size):
            raise ParameterError(
                "HG107",
                rule="The index of a combination of columns lies between 0 and size − 1.",
                finding="One does not.",
            )
        digits = []
        for part in reversed(self.parts):
            rest, digit = np.divmod(rest, part.size)
            digits.append(digit)
        return digits[::-1]


Value = ValueOnGrid | Indicator | Weighted | ColumnProduct | InBall | ClippedSquare


@dataclass(frozen=True, slots=True)
class Query(ByCells):
    """Count records by cell and grid index.

    `value` None counts records alone (every index is 0). Cells are the product of the categories' levels in the order
    declared, the last one fastest; without `by` there is one cell.

    With a `unit` the answer counts UNITS, by cell, number of rows N and total T = Σ t of their grid indices t ∈ {0..m}
    there: the index is (N − 1)·(L·m + 1) + T, with L the unit's limit (see `unit_totals`). A unit is counted once in
    each cell in which it has a row. Rows that count nowhere (no unit named, no declared cell, no value) are left out
    BEFORE the limit is applied, so that they displace no other; `missing` says what a row without a value is, and
    matters with a unit only, since otherwise the histogram keeps the number of missing values. With `each_row` the rows
    that are kept are counted, each by its own index.

    Raises
    ------
    ParameterError
        HG107 cells × (indices + 1) ≥ 2⁶², more than an engine's integers can tell apart.
    UncertifiedError
        HG402 units of several rows with columns taken together.

    Examples
    --------
    >>> age = ValueOnGrid("age", Grid.from_bounds("age", (0, 100), 1))
    >>> query = Query(age, unit=UnitLimit("person_id", 4))
    >>> [digit.tolist() for digit in query.unit_totals(np.array([0, 401 + 37]))]
    [[1, 2], [0, 37]]
    """

    value: ValueOnGrid | Indicator | JointGrid | None
    by: tuple[Category, ...] = ()
    unit: UnitLimit | None = None
    missing: Missing = Missing.DROP
    each_row: bool = False

    def __post_init__(self) -> None:
        if self.unit is not None and not self.each_row and isinstance(self.value, JointGrid):
            raise UncertifiedError(
                "HG402",
                rule="For units of several rows, only means, sums, proportions and counts have a certified price.",
                finding="Several columns were requested together for units of several rows.",
                remedy='Use unit="row", or prepare the data with one row for each unit first.',
            )
        _check_places(self.cells * (self.size + 1))

    @property
    def parts(self) -> tuple[ValueOnGrid, ...]:
        """The numeric columns that are put on grids, in order; none where records or an indicator are counted."""
        if isinstance(self.value, JointGrid):
            return self.value.parts
        return (self.value,) if isinstance(self.value, ValueOnGrid) else ()

    @property
    def values(self) -> tuple[ValueOnGrid | Indicator, ...]:
        """Everything that is read of a record but its cell."""
        return (self.value,) if isinstance(self.value, Indicator) else self.parts

    @property
    def is_condition(self) -> bool:
        """Whether records are counted by one condition alone, which is false where no value is present."""
        asked = self.value
        if not isinstance(asked, Indicator) or self.by or self.unit is not None:
            return False
        return not isinstance(asked.value, float) or math.isfinite(asked.value)

    @property
    def read(self) -> tuple[ValueOnGrid | Indicator, ...]:
        """The same: see `SumsQuery.read`."""
        return self.values

    @property
    def row_size(self) -> int:
        """How many indices one row can have: 1 where records alone are counted."""
        return 1 if self.value is None else self.value.size

    @property
    def size(self) -> int:
        """How many indices the answer can have: those of a row, or L·(L·m + 1) of a unit."""
        return self.row_size if self.unit is None or self.each_row else self.unit.max_rows * self.totals

    @property
    def totals(self) -> int:
        """How many totals the rows of one unit can have: L·m + 1."""
        return (1 if self.unit is None else self.unit.max_rows) * (self.row_size - 1) + 1

    def unit_totals(self, index: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (N, T) of the indices of a query of units: N ∈ {1..L} rows, and 0 ≤ T ≤ N·m whatever the index."""
        most = 1 if self.unit is None else self.unit.max_rows
        rows, total = np.divmod(np.asarray(index, dtype=np.int64), self.totals)
        rows = np.clip(rows + 1, 1, most)
        return rows, np.clip(total, 0, rows * (self.row_size - 1))

    def columns(self) -> list[str]:
        """Return the columns that the answer needs, each once."""
        return self.columns_of(self.values, self.unit)


@dataclass(frozen=True, slots=True)
class SumsQuery(ByCells):
    """Add up monomials of the grid integers t_i of several values by cell, all in one scan; see `GridSums`.

    A record counts where every one of the `needed` values is present; a monomial, where those that it names are.

    With a `unit` the t_i are the totals of the rows of one unit in one cell, and one more value, behind the others,
    is the number of its rows there. Rows without a needed value are left out before the limit of rows is applied.
    Behind these D values stand those of the unit in the next cell, then in the one after it: i + k·D is value i so many
    cells on, the first cell following the last one. With `scores` t_i = ⌊(E + 2^b)/2^(b − 19)⌋ ∈ {0..2²⁰} of a unit, E
    the sum of its totals and its number of rows times such factors, clipped at ±2^b, b = `score_bits`.

    Raises
    ------
    ParameterError
        HG107 a value, or a unit's total of one, that can reach 2⁶²; a monomial that can reach 2⁸⁴.
    UncertifiedError
        HG402 units of several rows some of whose values may be missing alone.

    Examples
    --------
    >>> age = ValueOnGrid("age", Grid.from_bounds("age", (0, 100), 1))
    >>> SumsQuery((age, Indicator("sex", 1)), (((0, 2),), ((0, 1), (1, 1)))).columns()
    ['age', 'sex']
    """

    values: tuple[Value, ...]
    monomials: tuple[Monomial, ...]
    by: tuple[Category, ...] = ()
    needed: frozenset[int] = frozenset()
    unit: UnitLimit | None = None
    missing: Missing = Missing.DROP
    scores: tuple[tuple[int, ...], ...] = ()
    score_bits: int = 0

    def __post_init__(self) -> None:
        if self.unit is not None and self.needed != frozenset(range(len(self.values))):
            raise UncertifiedError(
                "HG402",
                rule="For units of several rows, a row counts only if all its values are present.",
                finding="In this request, one value of a row may be missing while others are present.",
                remedy='Use unit="row", or ask for each column in its own call.',
            )
        for place in range(len(self.values)):
            _check_places(self.largest(((place, 1),)))
        _check_places(2 ** (self.score_bits + 1), 2**54)  # a double holds it
        for factors in self.scores:
            _check_places(sum(abs(factor) * most for factor, most in zip(factors, self._most, strict=True)))
        for monomial in self.monomials:
            _check_places(self.largest(monomial), _WIDEST)
        _check_places(self.cells)

    @property
    def read(self) -> tuple[ValueOnGrid | Indicator, ...]:
        """What is read of a record but its cell: the values, and the parts of those that have some, each once."""
        return tuple(dict.fromkeys(part for value in self.values for part in _parts(value)))

    def largest(self, monomial: Monomial) -> int:
        """Return the most that one record, or unit, adds to the sum of a monomial."""
        most = [SCORES] * len(self.scores) or self._most
        return math.prod(most[place % len(most)] ** power for place, power in monomial)

    @property
    def _most(self) -> list[int]:
        """The largest total of each value, and the most rows of a unit."""
        rows = 1 if self.unit is None else self.unit.max_rows
        return [rows * (value.size - 1) for value in self.values] + [rows] * (self.unit is not None)

    @property
    def across(self) -> bool:
        """Whether a monomial is of several cells of one unit."""
        places = {place for monomial in self.monomials for place, _ in monomial}
        return self.unit is not None and not self.scores and max(places, default=0) > len(self.values)

    def in_cell(self, cell: int, monomial: Monomial) -> Monomial:
        """Return a monomial of one cell over the D values of all cells, in their order.

        >>> age = ValueOnGrid("age", Grid.from_bounds("age", (0, 100), 1))
        >>> query = SumsQuery((age,), (), (Category("sex", (0, 1)),), frozenset([0]), UnitLimit("id", 4))
        >>> query.in_cell(1, ((0, 1), (3, 1)))
        ((1, 1), (2, 1))
        """
        own = len(self.values) + 1
        moved = [((cell + place // own) % self.cells * own + place % own, power) for place, power in monomial]
        return tuple(sorted(moved))

    def columns(self) -> list[str]:
        """Return the columns that the answer needs, each once."""
        return self.columns_of(self.values, self.unit)


def _parts(value: Value) -> tuple[ValueOnGrid | Indicator, ...]:
    if isinstance(value, Weighted):
        return (*_parts(value.value), value.weight)
    return value.parts if isinstance(value, (ColumnProduct, InBall, ClippedSquare)) else (value,)


@dataclass(frozen=True, slots=True)
class ColumnQuery:
    """Count records by the values of one column that occur.

    Values are compared as groups are: texts as they stand (in CSV, trimmed), numbers and booleans as doubles. Missing
    values are left out, and so are values that no category can be: integers from 2⁵³ on, texts outside Unicode.

    >>> ColumnQuery("occupation").columns()
    ['occupation']
    >>> ColumnQuery("occupation", (Selection.of("age >= 25"),)).columns()
    ['occupation', 'age']
    """

    column: str
    chosen: tuple[Selection, ...] = ()
    read: ClassVar[tuple[ValueOnGrid, ...]] = ()
    unit: ClassVar[None] = None

    @property
    def by(self) -> tuple[Category, ...]:
        """The column, without declared values, and the records that count."""
        return (Category(self.column, ()), *self.chosen)

    def columns(self) -> list[str]:
        """Return the columns that the answer needs, each once."""
        return list(dict.fromkeys(source for group in self.by for name in group.columns for source in sources_of(name)))


def _check_places(places: int, most: int = _PLACES) -> None:
    """Check that so many places, those of missing values included, are told apart by an engine's integers (HG107)."""
    if places >= most:
        raise ParameterError(
            "HG107",
            rule=f"The combinations of grid values and groups must fit {most.bit_length() - 1}-bit integers.",
            finding=f"They take {places.bit_length()} bits.",
            remedy="Use coarser grid steps, fewer columns together, or fewer groups.",
        )
