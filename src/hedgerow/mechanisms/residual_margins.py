"""All tables of several columns at once, from one vector of integer residuals: the mechanism and its price.

A record has one of n_i categories in each of d columns and adds an integer y to its cell of every table; counts have
y = 1. For a set A of columns let N_A = Π_{i∈A} n_i and P_A = ⊗_{i∈A} (I − 11'/n_i), which takes the means along every
axis off a table. The residual of A is the integer table N_A·P_A·(table by A). Released is each residual plus integer
noise, the noise of A being σ_A·N_A wide. A table by A is the sum over B ⊆ A of the residuals of B, each spread evenly
over the columns that it lacks: so all tables add up (ResidualPlanner, Xiao, He, Zhang & Kifer, NeurIPS 2023).

The price. With p_A = Π_{i∈A} (1 − 1/n_i) one record adds y²·p_A to the squared length of residual A over N_A². Two
records that differ in the columns D have the product y·y'·g_A(D) there, g_A(D) = Π_{i∈A∖D} (1 − 1/n_i) ·
Π_{i∈A∩D} (−1/n_i). So μ² is

==============  =======================================================  ==============================================
pair            μ²                                                       exists under
==============  =======================================================  ==============================================
one-sided       Σ_A y²·p_A/σ_A²                                          add-remove; replace-one, where a record may
                                                                         lie in no cell
replaced        Σ_A [(y² + y'²)·p_A − 2·y·y'·g_A(D)]/σ_A²                replace-one
==============  =======================================================  ==============================================

The second is convex in (y, y'), so largest at the ends of y; what is priced is its largest value over ALL sets D. That
all columns differ is often the dearest, but not always: to price that set alone would be too low by up to a third.
Beyond `MOST_SEARCHED` columns the sets are too many, and |g_A(D)| ≤ p_A/(min n_i − 1) for A∩D ≠ ∅ bounds them.

A unit of at most L rows costs L times the μ of a row, by the triangle inequality; L equal rows attain it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise, product
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.dominating_pairs import ROUND_UP
from hedgerow.accounting.lower_bounds import ExactPair
from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.interface import AuditRecord, Floats, Neighbours, Specimen
from hedgerow.mechanisms.laws import Additive
from hedgerow.noise.lattice import AdditiveTable, LatticeNoise, NoiseSource, lattice_noise, on_lattice
from hedgerow.resampling.counted_values import Histogram

MOST_SEARCHED = 16
"""Columns up to which every set D is priced."""
MOST_NUMBERS = 10_000_000
"""Numbers of a vector that is drawn and held."""
Integers = NDArray[np.int64]
ColumnSet = tuple[int, ...]
_BRUTE = 64  # joint cells up to which an audit compares all pairs of records


@dataclass(frozen=True, slots=True)
class ResidualMargins(Additive):
    """Integer residuals of many tables, each plus discrete Gaussian noise on a lattice of its own.

    Attributes
    ----------
    sizes : tuple of int
        n_i ≥ 2, the number of categories of each column.
    margins : tuple of tuple of int
        The sets A whose residuals are released, each as rising places of columns; () is the number of all records.
    noise : tuple of LatticeNoise
        The noise on each number of residual A, in the units of the integers N_A·P_A: σ_A·N_A wide.
    exhaustive : bool
        Whether every record lies in a cell.
    low, high : int
        The least and the most that a record may add to its cell; 1 and 1 for counts.
    rows : int or None
        The limit of rows of a unit of several rows.

    Examples
    --------
    Two records that differ in one column are the farthest here: where both differ, the residual of both stays.

    >>> one = lattice_noise(4.0)
    >>> tables = ResidualMargins((2, 2), ((), (0,), (1,), (0, 1)), (one, one, one, one), exhaustive=True)
    >>> round(tables.mu(Relation.REPLACE_ONE) ** 2, 6), round(tables.mu(Relation.ADD_REMOVE) ** 2, 6)
    (1.5, 0.5625)
    """

    sizes: tuple[int, ...]
    margins: tuple[tuple[int, ...], ...]
    noise: tuple[LatticeNoise, ...]
    exhaustive: bool
    low: int = 1
    high: int = 1
    rows: int | None = None
    type: Literal["residual-margins"] = "residual-margins"
    methods: ClassVar[tuple[str, ...]] = ("margins",)

    def __post_init__(self) -> None:
        columns = range(len(self.sizes))
        rising = all(a < b for margin in self.margins for a, b in pairwise(margin))
        named = {place for margin in self.margins for place in margin} <= set(columns)
        each = bool(self.margins) and len(set(self.margins)) == len(self.margins) == len(self.noise)
        sound = rising and named and each and all(type(size) is int and size >= 2 for size in self.sizes)
        sound = sound and type(self.low) is int and type(self.high) is int and self.low <= self.high
        sound = sound and 0 < max(abs(self.low), abs(self.high)) < 2**31
        # A unit may have fewer rows than its limit.
        sound = sound and (self.rows is None or (self.rows >= 1 and not self.exhaustive))
        if not sound or self.numbers > MOST_NUMBERS:
            raise ParameterError(
                "HG406",
                rule="Residuals of tables have columns of 2 categories or more, different sets of them, noise for "
                f"each, and {MOST_NUMBERS:,} numbers in all at most.",
                finding="The given numbers do not follow the rule.",
            )

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many numbers each residual has: N_A."""
        return tuple(math.prod(self.sizes[place] for place in margin) for margin in self.margins)

    @property
    def numbers(self) -> int:
        """How many numbers are released."""
        return sum(self.lengths)

    @property
    def variances(self) -> tuple[float, ...]:
        """σ_A² of each residual, in units of what is counted."""
        pairs = zip(self.noise, self.lengths, strict=True)
        return tuple((noise.in_units / length) ** 2 for noise, length in pairs)

    @property
    def row_limit(self) -> int | None:
        """The limit of rows of a unit."""
        return self.rows

    def nearly_mu(self, relation: Relation) -> float:
        """Return `mu`."""
        return self.mu(relation)

    def mu(self, relation: Relation) -> float:
        """Return √ of the largest squared distance of two neighbours, in widths of the noise."""
        precisions = tuple(1.0 / variance for variance in self.variances)
        square = farthest(self.sizes, self.margins, precisions, relation, self.exhaustive, (self.low, self.high))
        return math.sqrt(square) * (self.rows or 1) * ROUND_UP

    def table_spread(self, features: Sequence[str]) -> Floats:
        """Return the sd of the noise on each number, residual after residual: (numbers, 1)."""
        widths = [noise.in_units for noise in self.noise]
        return np.repeat(np.array(widths), self.lengths)[:, None]

    def exact(self, levels: Sequence[Integers], added: Integers) -> Iterator[Integers]:
        """Yield the exact integer residuals of records, residual after residual, each flat.

        Parameters
        ----------
        levels : sequence of int arrays
            For each column the category of each kind of record.
        added : int array
            What all records of a kind add to their cell: for counts, how many they are.
        """
        total = int(np.abs(added).sum())
        for margin, length in zip(self.margins, self.lengths, strict=True):
            shape = [self.sizes[place] for place in margin]
            flat = np.zeros(added.shape, dtype=np.int64)
            for place in margin:
                flat = flat * self.sizes[place] + levels[place]
            # Beyond 2⁵³ doubles are not exact, and beyond 2⁶³ integers wrap.
            table = np.zeros(length, dtype=np.int64 if total * length < 2**62 else object)
            if total < 2**53:
                table += np.rint(np.bincount(flat, weights=added, minlength=length)).astype(np.int64)
            else:
                np.add.at(table, flat, added)
            yield contrasts(table.reshape(shape)).reshape(-1)

    def noisy(self, exact: Sequence[Integers], source: NoiseSource) -> AdditiveTable:
        """Return the residuals with their noise as one table of one feature: all that is in it is public."""
        drawn = [
            on_lattice(table, self.noise_law.draw(source, float(noise.width), len(table)), noise.bits)
            for table, noise in zip(exact, self.noise, strict=True)
        ]
        cells: Sequence[Mapping[str, Any]] = ({},) * self.numbers
        spread = self.table_spread(())
        return AdditiveTable(cells, ("residual",), np.concatenate(drawn)[:, None], spread, self.noise_law.name)

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return layouts where all columns differ in the dearest pair, where one does, and where there is one record.

        Of two columns of two categories, the residual of both stays where it was if both change.
        """
        near, far = Relation.ADD_REMOVE, Relation.REPLACE_ONE
        few, all_four = ((0,), (1,), (0, 1)), ((), (0,), (1,), (0, 1))
        chosen = (
            ("margins of two columns", (2, 3), all_four, (3.0, 1.0, 1.5, 2.0), far, True),
            ("margins, one column changed", (2, 2), few, (9.0, 9.0, 0.5), far, True),
            ("margins, n private", (2, 3), all_four, (3.0, 1.0, 1.5, 2.0), near, True),
            ("margins, some records in no cell", (2, 2), all_four, (0.4, 3.0, 3.0, 4.0), far, False),
            ("a table with its totals, cells first", (2, 3), all_four, (1.7, 2.5, 2.0, 3.4), far, False),
        )
        return tuple(
            Specimen(
                name,
                residual_margins(sizes, margins, variances, mu=1.0, relation=relation, exhaustive=exhaustive),
                relation,
                1e-3,
            )
            for name, sizes, margins, variances, relation, exhaustive in chosen
        )

    def _record(self, columns: ColumnSet, end: int) -> AuditRecord:
        """Return a record by its categories and by which end of what it may add it adds."""
        place = 0
        for size, level in zip(self.sizes, columns, strict=True):
            place = place * size + level
        return AuditRecord(0, 2 * place + end)

    def worst_pairs(self, relation: Relation) -> tuple[Neighbours, ...]:
        """Return the records that lie farthest apart; of few joint cells by brute force over all pairs.

        Categories of a column are alike, so of many joint cells those are compared that differ in a set of columns: in
        every set up to 16 columns, else in one column or in all.
        """
        ends = (0, 1) if self.low != self.high else (1,)
        largest = int(abs(self.high) >= abs(self.low))
        alone = Neighbours("one-sided", self._record((0,) * len(self.sizes), largest), None, 1)
        if relation is not Relation.REPLACE_ONE:
            return (alone,)
        if math.prod(self.sizes) <= _BRUTE:
            records = [self._record(cell, end) for cell in product(*map(range, self.sizes)) for end in ends]
            vectors = [self._in_widths(record) for record in records]
            places = combinations(range(len(records)), 2)
            first, second = max(places, key=lambda pair: float(((vectors[pair[0]] - vectors[pair[1]]) ** 2).sum()))
            pair = records[first], records[second]
        else:
            pair = self._farthest_changed(ends)
        replaced = Neighbours("replaced", *pair, 1)
        return (replaced,) if self.exhaustive else (replaced, alone)

    def _farthest_changed(self, ends: Sequence[int]) -> tuple[AuditRecord, AuditRecord]:
        """Return the farthest of the pairs that differ in a set of columns, by products of the vectors themselves."""
        count = len(self.sizes)
        contrast = [(size * np.eye(size) - 1.0) / size for size in self.sizes]
        products_of_pairs = [(float(rows[0] @ rows[0]), float(rows[0] @ rows[1])) for rows in contrast]
        precisions = [1.0 / variance for variance in self.variances]
        alike, every = (0,) * count, (1,) * count
        cross = {alike: 0.0, every: 0.0}
        if count <= MOST_SEARCHED:
            over = over_sets(self.margins, precisions, products_of_pairs)
            cross = {
                tuple(map(int, np.unravel_index(at, over.shape))): float(over.flat[at]) for at in (0, over.argmin())
            }
        own, values = cross[alike], (self.low, self.high)

        def square(changed: ColumnSet, first: int, second: int) -> float:
            y, z = values[first], values[second]
            return (y * y + z * z) * own - 2.0 * y * z * cross[changed]

        changed, first, second = max(product(cross, ends, ends), key=lambda pair: square(*pair))
        if count > MOST_SEARCHED:
            changed = every
        return self._record(alike, first), self._record(changed, second)

    def _tables(self, record: AuditRecord) -> Iterator[Integers]:
        """Yield what one record, or a unit of as many equal rows as it may have, adds to each residual."""
        place, end = divmod(record.index, 2)
        levels = np.unravel_index(place, self.sizes) if self.sizes else ()
        added = np.array([(self.low, self.high)[end] * (self.rows or 1)], dtype=np.int64)
        return self.exact([np.array([level], dtype=np.int64) for level in levels], added)

    def contribution(self, record: AuditRecord) -> tuple[Floats, Floats]:
        """Return what one record adds to all residuals, and the widths of the noise there."""
        moved = np.concatenate([*self._tables(record)]).astype(np.float64)
        return moved, self.table_spread(())[:, 0]

    def _in_widths(self, record: AuditRecord) -> Floats:
        moved, widths = self.contribution(record)
        return moved / widths

    def _exact(self, pair: Neighbours) -> ExactPair:
        """As for any sum; numbers of one residual that move alike are counted together, since there are thousands."""
        sides = [record for record in (pair.first, pair.second) if record is not None]
        moved: Counter[tuple[int, LatticeNoise]] = Counter()
        for noise, *tables in zip(self.noise, *map(self._tables, sides), strict=True):
            difference = tables[0] if len(tables) == 1 else tables[0] - tables[1]
            steps, times = np.unique(np.abs(difference), return_counts=True)
            moved.update({(int(step), noise): int(many) for step, many in zip(steps, times, strict=True) if step})
        law = self.noise_law
        return tuple(
            (law.exact(step * 2.0**noise.bits, float(noise.width)), times) for (step, noise), times in moved.items()
        )

    def outputs(self, data: Histogram, n: int, noise: NoiseSource) -> Floats:
        """Return `n` outputs, (n, 1, numbers)."""
        exact = [np.zeros(length, dtype=np.int64) for length in self.lengths]
        for index, count in zip(data.index.tolist(), data.count.tolist(), strict=True):
            for table, added in zip(exact, self._tables(AuditRecord(0, index)), strict=True):
                table += count * added
        drawn = [
            on_lattice(np.tile(table, n), self.noise_law.draw(noise, float(own.width), n * len(table)), own.bits)
            for table, own in zip(exact, self.noise, strict=True)
        ]
        return np.concatenate([part.reshape(n, -1) for part in drawn], axis=1)[:, None, :]

    @property
    def size(self) -> int:
        """Roughly how many times three numbers there are to an output."""
        return 1 + self.numbers // 3

    @property
    def bits(self) -> Integers:
        """The lattice of each number."""
        return np.repeat(np.array([noise.bits for noise in self.noise]), self.lengths)


def contrasts(table: NDArray[Any]) -> NDArray[Any]:
    """Return N_A·P_A of a table: along every axis n_i times the numbers, less their sum. Exact for integers.

    >>> contrasts(np.array([[5, 1], [0, 2]])).tolist()
    [[6, -6], [-6, 6]]
    """
    for axis, size in enumerate(table.shape):
        table = size * table - table.sum(axis=axis, keepdims=True)
    return table


def residual_margins(
    sizes: tuple[int, ...],
    margins: tuple[tuple[int, ...], ...],
    variances: Sequence[float],
    *,
    mu: float,
    relation: Relation,
    exhaustive: bool,
    ends: tuple[int, int] = (1, 1),
    rows: int | None = None,
) -> ResidualMargins:
    """Return the mechanism with noise variances in these proportions that costs μ, rounded up to the lattice.

    >>> made = residual_margins((2, 3), ((0,), (1,)), (1.0, 2.0), mu=0.5, relation=Relation.ADD_REMOVE, exhaustive=True)
    >>> round(made.mu(Relation.ADD_REMOVE), 5)
    0.5
    """
    precisions = tuple(1.0 / variance for variance in variances)
    scale = math.sqrt(farthest(sizes, margins, precisions, relation, exhaustive, ends)) * (rows or 1) / mu
    lengths = [math.prod(sizes[place] for place in margin) for margin in margins]
    noise = tuple(
        lattice_noise(scale * math.sqrt(variance) * length) for variance, length in zip(variances, lengths, strict=True)
    )
    return ResidualMargins(sizes, margins, noise, exhaustive, *ends, rows)


@lru_cache(maxsize=256)
def farthest(
    sizes: tuple[int, ...],
    margins: tuple[tuple[int, ...], ...],
    precisions: tuple[float, ...],
    relation: Relation,
    exhaustive: bool,
    ends: tuple[int, int] = (1, 1),
) -> float:
    """Return the largest squared distance of two neighbours, an upper bound for more than 16 columns; see the module.

    Parameters
    ----------
    sizes, margins, exhaustive
        As of `ResidualMargins`.
    precisions : tuple of float
        1/σ_A² of each residual.
    ends : (int, int)
        The least and the most that a record adds.

    Examples
    --------
    Of two columns of two categories, the residual of both moves where ONE column differs:

    >>> farthest((2, 2), ((0, 1),), (1.0,), Relation.REPLACE_ONE, True)
    1.0
    """
    shares = [math.prod(1.0 - 1.0 / sizes[place] for place in margin) for margin in margins]
    alone = math.fsum(precision * share for precision, share in zip(precisions, shares, strict=True))
    one_sided = float(max(end * end for end in ends)) * alone
    if relation is not Relation.REPLACE_ONE:
        return one_sided
    least, most = products_of_records(sizes, margins, precisions, shares)
    pairs = [(y, z) for y in ends for z in ends]
    # The product enters with the sign of −y·z: with equal signs the least of it is the worst.
    replaced = max((y * y + z * z) * alone - 2.0 * y * z * (least if y * z > 0 else most) for y, z in pairs)
    return replaced if exhaustive else max(replaced, one_sided)


def products_of_records(
    sizes: tuple[int, ...],
    margins: tuple[tuple[int, ...], ...],
    precisions: Sequence[float],
    shares: Sequence[float],
) -> tuple[float, float]:
    """Return the least and the largest Σ_A g_A(D)/σ_A² over all sets D, the empty one among them; or bounds of both."""
    largest = math.fsum(precision * share for precision, share in zip(precisions, shares, strict=True))
    if len(sizes) > MOST_SEARCHED:
        lowest = math.fsum(
            precision * share * (-1.0 / (min(sizes[place] for place in margin) - 1.0) if margin else 1.0)
            for margin, precision, share in zip(margins, precisions, shares, strict=True)
        )
        return lowest, largest
    over = over_sets(margins, precisions, [(1.0 - 1.0 / size, -1.0 / size) for size in sizes])
    return float(over.min()), largest


def over_sets(
    margins: Sequence[ColumnSet], precisions: Sequence[float], factors: Sequence[tuple[float, float]]
) -> Floats:
    """Return Σ_A precision_A Π_{i∈A} factor_i for every set of columns: one axis a column, at 1 where it is in the set.

    >>> over_sets([(0,), (0, 1)], [1.0, 10.0], [(0.5, -0.5), (0.5, -0.5)]).tolist()
    [[3.0, -2.0], [-3.0, 2.0]]
    """
    count = len(factors)
    total = np.zeros((2,) * count)
    for margin, precision in zip(margins, precisions, strict=True):
        term = np.full((1,) * count, precision)
        for place in margin:
            term = term * np.reshape(factors[place], [-1 if axis == place else 1 for axis in range(count)])
        total += term
    return total
