"""One call, one release: what every statistic of a call needs, as joint moments asked, drawn and read together.

Statistics are smooth functions of the means of features: columns u scaled to [−1, 1], and products of their powers,
such as u² for a variance and u·v for a covariance. Their moments are sums over the records in which all these columns
have a value, so that covariances between the means are known too.

A sum alone needs no number of records: a missing value adds 0. Where n is public, in one cell, under replace-one, 0 is
put on the grid of the column, and every record is present. A record moves the sum by at most max(U, 0) − min(L, 0):
each of two records adds a number between min(L, 0) and max(U, 0), whether it has a value or not, and both ends are
reached where a value may be missing or 0 lies within the bounds. So the release is one of features in [−1, 1] that no
record misses, and its price is exact for it (`hedgerow.mechanisms.joint.joint_sensitivity`, same cell). Noise that also
hid whether a record has a value would be half as much again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import ColumnProduct, Indicator, SumsQuery, ValueOnGrid, Weighted
from hedgerow.errors import UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Category, CellLabels, Grid, Missing
from hedgerow.facts.relation import Relation
from hedgerow.inference.joint.functions import FunctionOfTotals, ScaledMean, SumOfTotals
from hedgerow.inference.joint.totals import JointTotals, SideBySide, units_behind
from hedgerow.mechanisms.interface import Floats
from hedgerow.mechanisms.joint.joint_moments import JointMoments, joint_moments
from hedgerow.mechanisms.joint.joint_numbers import (
    MOST_IN_BLOCK,
    MOST_STEPS,
    STEPS,
    JointFeature,
    JointLayout,
    Polynomial,
)
from hedgerow.mechanisms.joint.joint_sensitivity import JointWeights
from hedgerow.mechanisms.laws import Law
from hedgerow.noise.lattice import AdditiveTable, NoiseSource
from hedgerow.release.designs.design import PublicFacts, complete, indicator_name
from hedgerow.release.designs.joint.chooser import JointChoice, choose
from hedgerow.release.designs.joint.joint_choice import ABSENT, JointQuestion, SlopesOf
from hedgerow.release.designs.joint.unit_products import (
    OfRow,
    across_cells,
    across_numbers,
    behind_rows,
    products_of_rows,
    read_as,
    weight_on_grid,
)
from hedgerow.resampling.counted_values import GridSums, Monomial, combined
from hedgerow.statistics.statistic import Powers, Statistic

Value = ValueOnGrid | Indicator | Weighted | ColumnProduct
_TYPICAL = 1000.0  # records of a cell, where nothing is known of them
# A column has 2²⁰ steps, fewer where the integers of products of powers would be longer than so many bits; and fewer by
# some bits where their noise cannot be drawn, as at a small ε.
_BITS, COARSER = 80, (0, 5, 10)


@dataclass(frozen=True, slots=True)
class JointDesign:
    """The joint moments of some columns by cell, and the functions that are read from them.

    Attributes
    ----------
    values : tuple of values
        The columns, each scaled to [−1, 1] (an indicator: −1 or 1); where rows are weighted each times its weight, and
        behind them the weights themselves, in place of the number of rows.
    functions : tuple of FunctionOfTotals
        What was asked, as functions of the totals (N, Σ f_1, …) of a cell.
    by : tuple of Category
    facts : PublicFacts
    missing : Missing
        What becomes of a record in which one of the values is missing.
    powers : tuple of tuples of whole numbers
        The features: products of powers of the columns, as for a variance, which is a function of the means of u and
        u²; by default each column alone.
    apart : bool
        Whether a feature is of the records that have its own columns, whatever else they miss.
    shares : tuple of float
        What part of the noise precision each column gets, relative to one another; by default the same.
    read_by : tuple of tuples of int
        Which of the values each function reads.
    zeros : bool
        Whether a missing value counts as 0, and every record is present: of sums alone.
    of_rows : tuple of tuples of whole numbers
        Of units of several rows and of weighted ones, where functions take products of powers of a row's columns: each
        feature as such a product, and the number of rows behind them. The values are then these products.
    """

    values: tuple[Value, ...]
    functions: tuple[FunctionOfTotals, ...]
    by: tuple[Category, ...]
    facts: PublicFacts
    missing: Missing
    powers: Powers = ()
    apart: bool = False
    shares: tuple[float, ...] = ()
    read_by: tuple[tuple[int, ...], ...] = ()
    zeros: bool = False
    of_rows: Powers = ()

    @property
    def layout(self) -> JointLayout:
        """The features as the mechanism sees them: a record has all of them, or is in no cell.

        Of units of several rows they are totals over rows, and the number of these rows. A weighted row counts as a
        part of one.
        """
        if self.facts.totalled:
            columns = tuple(JointFeature(steps) for steps in self._steps)
            parts = self.values[-1].size - 1 if self.facts.weights is not None else None
            rows = None if self.facts.limit is None else self.facts.limit.max_rows
            cells = len(CellLabels(self.by))
            return JointLayout((*columns, JointFeature(1)), "private", cells, rows, parts=parts)
        if self.zeros:
            return JointLayout(tuple(JointFeature(grid.steps) for grid in self._with_zero()), "public", 1)
        here = self.apart or self.missing is not Missing.DROP
        known = self.facts.relation is Relation.REPLACE_ONE and not self.by and here
        features = tuple(JointFeature(value.size - 1, self.apart) for value in self.values)
        return JointLayout(features, "public" if known else "private", len(CellLabels(self.by)))

    @property
    def _steps(self) -> list[int]:
        """The steps of the columns, of which totals are added up."""
        if self.facts.weights is None:
            return [value.size - 1 for value in self.values]
        return [value.value.size - 1 for value in self.values if isinstance(value, Weighted)]

    def _with_zero(self) -> list[GridWithZero]:
        return [GridWithZero.of(value.grid) for value in self.values if isinstance(value, ValueOnGrid)]

    @property
    def read(self) -> tuple[ValueOnGrid | Indicator, ...]:
        """The columns that are read, with that of the weights where there are some."""
        return SumsQuery(self.values, ()).read

    def grids_of(self, place: int) -> dict[str, Grid]:
        """Return the grids of the columns that a function reads, weights left out."""
        values = [self.values[at] for at in self.read_by[place]]
        alone = [value.value if isinstance(value, Weighted) else value for value in values]
        return {value.column: value.grid for value in alone if isinstance(value, ValueOnGrid)}

    def scaled(self, indices: NDArray[np.int64]) -> Floats:
        """Return the features of records, scaled to [−1, 1], from the grid indices of what is `read`.

        Where features are totals they are those of one row, with its weight over the largest behind them.
        """
        if self.zeros:
            grids = zip(self._with_zero(), indices.T, strict=True)
            return np.stack([2.0 * (grid.start + grid.stride * t) / grid.steps - 1.0 for grid, t in grids], axis=1)
        by_value: dict[Value, NDArray[np.int64]] = dict(zip(self.read, indices.T, strict=True))
        each = np.stack([_index(value, by_value) for value in self.values], axis=1)
        if self.facts.weights is None:
            scaled = 2.0 * each / np.array(self._steps) - 1.0
            return np.hstack([scaled, np.ones((len(scaled), 1))]) if self.facts.totalled else np.asarray(scaled)
        shares = each / (self.values[-1].size - 1.0)
        return np.hstack([2.0 * shares[:, :-1] / np.array(self._steps) - shares[:, -1:], shares[:, -1:]])

    @property
    def records(self) -> tuple[float, float]:
        """The least and the most records, or rows, that a cell can have."""
        n = math.inf if self._known_n is None else float(self._known_n)
        if self.facts.totalled:
            return 0.0, n * self.rows
        return (n if self.layout.presence == "public" else 0.0), n

    @property
    def rows(self) -> int:
        """How many rows a record has at most: a unit of several rows as many as count."""
        return 1 if self.facts.limit is None else self.facts.limit.max_rows

    @property
    def asked(self) -> JointQuestion:
        """What the release is for, in the words of the choice."""
        layout, n = self.layout, self.facts.n
        slopes = tuple(SlopesOf(function, self.of_rows) for function in self.functions)
        guess = _TYPICAL if n is None else max(1.0, n / layout.cells)
        public = layout.presence == "public" or (self.facts.totalled and layout.cells == 1)
        known = public and self._known_n is not None
        shares = (*self.shares, max(self.shares)) if self.shares and self.facts.totalled else self.shares
        about = self.facts.census, True, self.powers, shares, self.of_rows
        return JointQuestion(layout, slopes, guess, known, *about)

    @property
    def _known_n(self) -> int | None:
        return self.facts.n if self.facts.relation is Relation.REPLACE_ONE else None

    def choice(self, budget: Budget, *, laws: Sequence[Law] = ()) -> JointChoice:
        """Return the mechanism of least forecast error, with the runner-up; from public facts."""
        return choose(self.asked, budget, self.facts.relation, laws=laws)

    def query(self, mechanism: JointMoments) -> SumsQuery:
        """Return the one question to the engine."""
        needed = frozenset(() if self.apart or self.zeros else range(len(self.values)))
        monomials = tuple(behind_rows(own, len(self.values), self.facts) for own in mechanism.monomials())
        if self.zeros:
            monomials = tuple(sorted({(), *(each for monomial in monomials for each in self._filled(monomial))}))
        return SumsQuery(self.values, monomials, self.by, needed, self.facts.limit, self.missing)

    def _filled(self, monomial: Monomial) -> Polynomial:
        """Return a monomial of columns with 0 where a value is missing, in monomials of values that are present."""
        grids, whole = self._with_zero(), Polynomial({(): 1})
        for place, degree in monomial:
            factor = grids[place].power(place, degree)
            # The places of a monomial rise, so its factors are in order.
            whole = {(*first, *more): c * d for first, c in whole.items() for more, d in factor.items()}
        return whole

    def table(self, sums: GridSums, mechanism: JointMoments, source: NoiseSource) -> AdditiveTable:
        """Return the exact sums with noise: what becomes public.

        Raises
        ------
        SpentError
            HG602: a value is missing in a column that was declared complete.
        """
        complete(sums, self.missing)
        sums = self.with_zeros(sums, mechanism) if self.zeros else sums
        if self.facts.totalled:
            named = {own: behind_rows(own, len(self.values), self.facts) for own in mechanism.monomials()}
            sums = replace(sums, sums={own: sums.sums[name] for own, name in named.items()})
        return mechanism.noisy(mechanism.exact(sums), source, cells=CellLabels(self.by))

    def with_zeros(self, sums: GridSums, mechanism: JointMoments) -> GridSums:
        """Return the sums of a mechanism's monomials with 0 where a value is missing, from those of present values."""
        terms = {monomial: self._filled(monomial).items() for monomial in mechanism.monomials()}
        added = {monomial: combined((c, sums.sums[each]) for each, c in of) for monomial, of in terms.items()}
        return replace(sums, sums=added)

    def totals(self, table: AdditiveTable, mechanism: JointMoments) -> JointTotals:
        """Return the released moments as totals and products of the features, with the noise on them."""
        return replace(joint_totals(table, mechanism, self.asked, n=self._known_n), census=self.facts.census)


def joint_totals(table: AdditiveTable, mechanism: JointMoments, asked: JointQuestion, *, n: int | None) -> JointTotals:
    """Return the totals and products of features from the released numbers, with the noise that the table states."""
    size, read = 1 + len(asked.features), asked.pairs()
    wanted = [*map(asked.moments.__getitem__, read)]
    limit, parts = mechanism.layout.added, mechanism.layout.parts or 1
    known = None if n is None or mechanism.layout.presence == "private" else float(n)
    if limit is not None:
        # A unit is in every cell, where it has no row perhaps; so nothing tells their number but what is public.
        known = float(n or 1)
    reading = mechanism.numbers.reading(wanted, table.noise_sd, n=known)
    moments = np.zeros((len(table.values), size, size))
    rows, columns = np.array(read).T
    moments[:, rows, columns] = moments[:, columns, rows] = reading.values(table.values)
    # The upper triangle by rows, as the noise of totals is listed.
    mixing = np.zeros((size * (size + 1) // 2, reading.mixing.shape[1]))
    mixing[: len(read)] = reading.mixing
    count, sums, products = moments[:, 0, 0], moments[:, 0, 1:], moments[:, 1:, 1:]
    if limit is not None and n is None:
        count = units_behind(sums[:, -1], products[:, -1, -1], limit, n, parts)
    powers = asked.of_rows or asked.powers or None
    places, _, steps = across_numbers(mechanism)
    across = across_cells(table.values[:, places] / steps, mechanism, np.asarray(table.noise_sd))
    about = table.noise_law, n, powers, False, limit, parts
    totals = JointTotals(count, sums, products, mixing, *about, across=across)
    matrix = read_as(asked.of_rows)
    return totals if matrix is None else totals.transformed(matrix, powers)


@dataclass(frozen=True, slots=True)
class JointTable(AdditiveTable):
    """The noisy numbers of a joint release, and the moments of its cells: one object for all its statistics."""

    side: SideBySide


@dataclass(frozen=True)
class JointRelease:
    """A joint design with the mechanism that was chosen for it; its noise is set by the budget of the whole call."""

    design: JointDesign
    choice: JointChoice

    @cached_property
    def query(self) -> SumsQuery:
        """The one question to the engine: the same for every amount of noise."""
        return self.design.query(self.choice.mechanism)

    def mechanism(self, mu: float) -> JointMoments:
        """Return the chosen law, basis and weights at μ; with Laplace noise at ε = √2·μ: sd 1/μ at sensitivity 1."""
        chosen = self.choice.mechanism
        precision = mu * math.sqrt(2.0) if chosen.law == "laplace" else mu
        return joint_moments(chosen.noise_law, chosen.layout, self._weights, precision, self.design.facts.relation)

    @cached_property
    def _weights(self) -> JointWeights:
        return self.choice.mechanism.weights()

    def read(self, table: AdditiveTable) -> JointTable:
        """Return the released numbers with the moments that they tell, computed once for all statistics."""
        totals = self.design.totals(table, self.choice.mechanism)
        about = table.cells, table.features, table.values, table.noise_sd, table.noise_law
        return JointTable(*about, SideBySide((totals,)))

    def names(self) -> list[str]:
        """Return each feature in the columns' own units."""
        if self.design.zeros:
            axes = [(value.column, _axis_with_zero(0, grid_of(value))) for value in self.design.values]
            return [f"((value_or_0({column}) - {axis.centre:.15g}) / {axis.half:.15g})" for column, axis in axes]
        scaled = [_scaled(value) for value in self.design.values]
        columns = [value.column for value in self.design.values]
        if self.design.facts.totalled:
            return [*scaled, "rows"]
        names = []
        for each in self.design.asked.features:
            parts = [f"present({column})" for column, power in zip(columns, each, strict=True) if power == 0]
            named = zip(scaled, each, strict=True)
            parts = (parts if self.design.apart else []) + [
                name if power == 1 else f"{name}^{power}" for name, power in named if power > 0
            ]
            names.append(" * ".join(parts))
        return names


@dataclass(frozen=True, slots=True)
class GridWithZero:
    """A grid that 0 was put on: place t of the grid is at start + stride·t of {0..steps}, and 0 at `zero`.

    >>> from hedgerow.facts.columns import Grid
    >>> GridWithZero.of(Grid.from_bounds("age", (18, 93), 1)), GridWithZero.of(Grid.from_bounds("x", (-3, 1), 2))
    (GridWithZero(start=18, stride=1, zero=0, steps=93), GridWithZero(start=0, stride=2, zero=3, steps=4))
    """

    start: int
    stride: int
    zero: int
    steps: int

    @classmethod
    def of(cls, grid: Grid) -> GridWithZero:
        """Return the coarsest grid from min(L, 0) to max(U, 0) that holds all places of a grid, and 0."""
        start, stride, _ = grid.about_zero()
        if start % stride == 0:
            start, stride = start // stride, 1
        low, high = min(start, 0), max(start + stride * grid.steps, 0)
        return cls(start - low, stride, -low, high - low)

    def power(self, place: int, degree: int) -> Polynomial:
        """Return a power of the value, `zero` where it is missing: p(start + stride·t)^e + (1 − p)·zero^e.

        Here p is 1 where the value is present, which is the monomial of the column to the power 0.
        """
        missing = self.zero**degree
        present = [math.comb(degree, k) * self.start ** (degree - k) * self.stride**k for k in range(degree + 1)]
        powers: Polynomial = {((place, k),): factor - (missing if k == 0 else 0) for k, factor in enumerate(present)}
        return {monomial: factor for monomial, factor in ({(): missing} | powers).items() if factor}


def _index(value: Value, by_value: Mapping[Value, NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the index of a value from those of what is read."""
    if isinstance(value, Weighted):
        return value.index(by_value[value.weight], _index(value.value, by_value))
    return (
        value.index([by_value[part] for part in value.parts]) if isinstance(value, ColumnProduct) else by_value[value]
    )


def _scaled(value: Value) -> str:
    """Return a column scaled to [−1, 1], in words; one that is weighted times its weight over the largest."""
    if isinstance(value, Weighted):
        return f"({value.weight.column} / {float(value.weight.grid.upper):.15g}) * {_scaled(value.value)}"
    if isinstance(value, Indicator):
        return indicator_name(value)
    if isinstance(value, ColumnProduct):
        return " * ".join(_scaled(part) if power == 1 else f"{_scaled(part)}^{power}" for part, power in value.factors)
    return f"(({value.column} - {value.grid.centre:.15g}) / {value.grid.half_range:.15g})"


def joint_release(
    statistics: Sequence[Statistic],
    by: tuple[Category, ...],
    facts: PublicFacts,
    missing: Missing,
    *,
    budget: Budget,
    laws: Sequence[Law],
    shares: Sequence[float] = (),
) -> JointRelease:
    """Return the joint release of smooth statistics, on the finest grids whose noise fits 64-bit integers.

    Shares of the noise precision are those of the statistics.

    Raises
    ------
    UncertifiedError
        HG401: none does.
    """
    for coarser in COARSER:
        design = joint_design(statistics, by, facts, missing, coarser=coarser)
        if len(set(shares)) > 1:
            design = replace(design, shares=_shares_of_columns(design, shares))
        try:
            return JointRelease(design, design.choice(budget, laws=laws))
        except UncertifiedError:
            if coarser == COARSER[-1]:
                raise
    raise AssertionError("unreachable")


def _shares_of_columns(design: JointDesign, shares: Sequence[float]) -> tuple[float, ...]:
    """Return the share of each column: what the statistics that read it give it, each alike to all of its columns."""
    by_column = [0.0] * len(design.values)
    for places, share in zip(design.read_by, shares, strict=True):
        for place in places:
            by_column[place] += share / len(places)
    for place, power in enumerate(design.of_rows[:-1]):
        # A product has the least share of its columns.
        by_column[place] = min(by_column[column] for column, part in enumerate(power) if part)
    # All statistics read the weights.
    return tuple(share or 1.0 for share in by_column)


def degree_of(statistics: Sequence[Statistic]) -> int:
    """Return an upper bound on the degree of the monomials that a joint release sums; 0 where it sums columns alone.

    >>> from hedgerow.statistics.variance import variance
    >>> degree_of([variance("age", bounds=(0, 100))])
    4
    """
    highest: dict[tuple[str, Fraction, Fraction], int] = {}
    for statistic in statistics:
        for i, (column, grid) in enumerate(statistic.grids):
            key = column, grid.lower, grid.upper
            highest[key] = max(highest.get(key, 1), *(power[i] for power in statistic.powers))
    return 0 if all(map(_is_plain, statistics)) else 2 * sum(highest.values())


def shares_release(statistics: Sequence[Statistic]) -> bool:
    """Whether one release can tell statistics and their covariances: means, or products of few columns at a time.

    >>> from hedgerow.statistics.covariance import correlation
    >>> two = [correlation(*pair, bounds=dict.fromkeys(pair, (0, 1))) for pair in (("a", "b"), ("b", "c"), ("c", "d"))]
    >>> shares_release(two[:2]), shares_release(two)
    (True, False)
    """
    columns = {frozenset(statistic.columns) for statistic in statistics}
    together = max(len(first | second) for first in columns for second in columns)
    return len(columns) == 1 or together <= MOST_IN_BLOCK or all(map(_is_plain, statistics))


def _is_plain(statistic: Statistic) -> bool:
    return all(sum(power) == 1 for power in statistic.powers)


def _values(
    statistics: Sequence[Statistic], coarser: int, most: int | None
) -> list[tuple[ValueOnGrid | Indicator, ...]]:
    """Return the columns of each statistic on the grids of the release, or whether one has a value.

    Statistics of the same columns share grids. Those of products of powers also share them where they share a column;
    beside them a mean of other columns keeps its fine grid. Of totals, of at most so many rows or parts of rows, the
    squares are to fit the integers: so many bits less, and for the sign of a product.
    """
    alike: dict[frozenset[str], list[Statistic]] = {}
    for statistic in statistics:
        alike.setdefault(frozenset(statistic.columns), []).append(statistic)
    degrees = {columns: degree_of(those) for columns, those in alike.items()}
    whole = _BITS
    if most is not None:
        highest = {
            columns: max((sum(power) for statistic in those for power in statistic.powers), default=0)
            for columns, those in alike.items()
        }
        degrees = {columns: 2 * highest[columns] if degree else 0 for columns, degree in degrees.items()}
        whole -= 2 + 2 * most.bit_length()
    of_statistics = []
    for statistic in statistics:
        own = frozenset(statistic.columns)
        values: list[ValueOnGrid | Indicator] = [statistic.counted] if isinstance(statistic.counted, Indicator) else []
        for column, grid in statistic.grids:
            degree = max(
                other for columns, other in degrees.items() if columns == own or (degrees[own] and column in columns)
            )
            bits = min(STEPS.bit_length() - 1, whole // max(degree, 1)) - coarser
            exact = grid.declared and ((not degree and not coarser) or grid.steps <= 2**bits)
            usual = grid if exact else Grid(grid.lower, grid.upper, 2**bits, declared=False)
            values.append(ValueOnGrid(column, usual))
        of_statistics.append(tuple(values))
    return of_statistics


def joint_design(
    statistics: Sequence[Statistic],
    by: tuple[Category, ...],
    facts: PublicFacts,
    missing: Missing,
    *,
    coarser: int = 0,
    zeros: bool = True,
) -> JointDesign:
    """Return the joint release of smooth statistics: each feature once, however many of them need it.

    Columns are on grids of so many bits less than usual, `coarser`. A missing value counts as 0 where it can; before it
    did, `zeros`, the number of values of a sum was released too.
    """
    if missing is Missing.MIDPOINT:
        statistics = [statistic.with_midpoint() for statistic in statistics]
    plain = all(map(_is_plain, statistics))
    weight = weight_on_grid(facts, coarser, plain=plain)
    rows = 1 if facts.limit is None else facts.limit.max_rows
    most = rows * (1 if weight is None else weight.grid.steps)
    of_each = _values(statistics, coarser, most if facts.totalled else None)
    if zeros and _adds_zeros(statistics, of_each, by, facts, missing):
        return _sums_with_zero([own[0] for own in of_each], facts, missing)
    places = {value: place for place, value in enumerate(dict.fromkeys(value for own in of_each for value in own))}
    of_row: tuple[OfRow, ...] = tuple(places)
    read_by = tuple(tuple(places[value] for value in own) for own in of_each)
    # Where records with some of the columns count, a mean is over those that have its own: their number is a feature.
    apart = missing is Missing.DROP and len({frozenset(statistic.columns) for statistic in statistics}) > 1
    read = [
        {power: power for power in statistic.powers} | ({(): (0,) * len(own)} if apart and own else {})
        for statistic, own in zip(statistics, of_each, strict=True)
    ]
    absent = ABSENT if apart else 0
    whole = [
        {name: _whole(power, own, len(places), absent) for name, power in named.items()}
        for own, named in zip(read_by, read, strict=True)
    ]
    # Columns first, in order: the place of a column alone is that of its value.
    listed = dict.fromkeys(power for named in whole for power in named.values())
    powers = tuple(sorted(listed, key=lambda power: (sum(power), tuple(-p for p in power))))
    at = {power: place for place, power in enumerate(powers, start=1)}
    of_rows: Powers = ()
    if facts.totalled and not plain:
        of_row, of_rows, powers = products_of_rows(list(places), powers), (*powers, (0,) * len(places)), ()
    # The number of rows stands behind the totals of columns.
    base = {(): len(of_row) + 1} if facts.totalled else {}
    values: tuple[Value, ...] = of_row
    if weight is not None:
        values = (*(Weighted(value, weight) for value in of_row), weight)
    features = [{name: at[power] for name, power in named.items()} | base for named in whole]
    functions = [statistic.of_moments(own) for statistic, own in zip(statistics, features, strict=True)]
    if facts.weights is not None:
        functions = [function.weighted(float(facts.weights.most)) for function in functions]
    about = () if plain and not apart else powers, apart, (), read_by
    design = JointDesign(values, (), by, facts, missing, *about, of_rows=of_rows)
    limited = (
        function.of_records(*design.records) if isinstance(function, SumOfTotals) else function
        for function in functions
    )
    return replace(design, functions=tuple(limited))


def _adds_zeros(
    statistics: Sequence[Statistic],
    of_each: Sequence[Sequence[ValueOnGrid | Indicator]],
    by: tuple[Category, ...],
    facts: PublicFacts,
    missing: Missing,
) -> bool:
    """Whether a missing value counts as 0, and every record is present: of sums alone, in one cell, where n is public.

    Bounds and a step that share no unit but a very fine one would need more steps than a feature has.
    """
    one_cell = facts.relation is Relation.REPLACE_ONE and not by and not facts.totalled
    sums = all(statistic.is_total and not statistic.is_count for statistic in statistics)
    if missing is not Missing.DROP or not (one_cell and sums):
        return False
    grids = [value.grid for own in of_each for value in own if isinstance(value, ValueOnGrid)]
    return all(GridWithZero.of(grid).steps <= MOST_STEPS for grid in grids)


def _sums_with_zero(columns: Sequence[ValueOnGrid | Indicator], facts: PublicFacts, missing: Missing) -> JointDesign:
    """Return the release of the sums of these columns, where a missing value counts as 0."""
    values = tuple(dict.fromkeys(value for value in columns if isinstance(value, ValueOnGrid)))
    read_by = [values.index(value) for value in columns if isinstance(value, ValueOnGrid)]
    design = JointDesign(values, (), (), facts, missing, read_by=tuple((place,) for place in read_by), zeros=True)
    sums = (SumOfTotals(_axis_with_zero(place + 1, values[place].grid)) for place in read_by)
    return replace(design, functions=tuple(function.of_records(*design.records) for function in sums))


def _axis_with_zero(place: int, grid: Grid) -> ScaledMean:
    """Return how a mean is read from the total at a place, on the grid that 0 was put on."""
    low, high = min(grid.lower, Fraction(0)), max(grid.upper, Fraction(0))
    return ScaledMean(place, float((low + high) / 2), float((high - low) / 2))


def grid_of(value: Value) -> Grid:
    """Return the grid of a column, or of 0 and 1."""
    return value.grid if isinstance(value, ValueOnGrid) else Grid.from_bounds(value.column, (0, 1), 1)


def _whole(power: tuple[int, ...], own: Sequence[int], columns: int, absent: int) -> tuple[int, ...]:
    """Return the powers of a statistic's own columns among all columns of the release."""
    powers = [absent] * columns
    for at, degree in zip(own, power, strict=True):
        powers[at] = max(powers[at], 0) + degree
    return tuple(powers)
