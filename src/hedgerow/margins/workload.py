"""A workload: which tables of several columns are wanted, how much each matters, and the noise that serves it best.

With the residuals of `hedgerow.mechanisms.residual_margins` a cell of the table by A has noise of variance

    Σ_{B ⊆ A} σ_B² · k(A, B),   k(A, B) = Π_{i∈B} (1 − 1/n_i) · Π_{j∈A∖B} 1/n_j²,

the same in every cell. With a weight w_A on the variance of each table, σ_B² costs v_B = Σ_{A ⊇ B} w_A·k(A, B) and buys
p_B/σ_B² of the price, p_B = Π_{i∈B} (1 − 1/n_i). At a fixed price Σ p_B/σ_B² the weighted sum is least for
σ_B² ∝ √(p_B/v_B). Under add-remove that is the optimum; under replace-one the same proportions, at their own price,
come within .4 % of it on nine columns and within 2 % in 60 random layouts (`python -m benchmarks.margins`; not proven).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from hedgerow.mechanisms.residual_margins import ColumnSet

Floats = NDArray[np.float64]
_STEPS, _SLACK, _HEAVIEST = 200, 1e-3, 1e9


def tables_up_to(columns: int, order: int) -> tuple[ColumnSet, ...]:
    """Return all sets of so many columns, by size: from none, which is the total, to `order`.

    >>> tables_up_to(3, 2)
    ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2))
    """
    return tuple(table for size in range(order + 1) for table in combinations(range(columns), size))


def subsets(table: ColumnSet) -> Iterator[ColumnSet]:
    """Yield all subsets of a set of columns, by size."""
    return (part for size in range(len(table) + 1) for part in combinations(table, size))


def summed(numbers: Floats, table: ColumnSet, part: ColumnSet) -> Floats:
    """Return the totals of a table by some of its columns, of an array of the table's shape.

    >>> summed(np.array([[5.0, 1.0], [0.0, 2.0]]), (0, 3), (3,)).tolist()
    [5.0, 3.0]
    """
    return np.asarray(numbers.sum(axis=tuple(axis for axis, place in enumerate(table) if place not in part)))


@dataclass(frozen=True, slots=True)
class Workload:
    """The tables that are wanted, with their weights; and those that are known, which cost nothing.

    Attributes
    ----------
    sizes : tuple of int
        How many categories each column has.
    tables : tuple of tuple of int
        The sets of columns, with every subset of each.
    weights : tuple of float
        The weight of the variance of each table.
    known : frozenset of tuple of int
        The tables whose numbers are public, with every subset of each.

    Examples
    --------
    >>> two = Workload.up_to((2, 3), 2)
    >>> two.tables, two.released
    (((), (0,), (1,), (0, 1)), ((), (0,), (1,), (0, 1)))
    >>> [round(variance, 3) for variance in two.noise_variances(two.proportions()).values()]
    [0.91, 0.867, 0.871, 0.622]
    """

    sizes: tuple[int, ...]
    tables: tuple[ColumnSet, ...]
    weights: tuple[float, ...]
    known: frozenset[ColumnSet] = frozenset()

    @classmethod
    def up_to(cls, sizes: tuple[int, ...], order: int) -> Workload:
        """Return all tables up to an order; the tables of each order have the same weight together."""
        tables = tables_up_to(len(sizes), order)
        weights = tuple(1.0 / math.comb(len(sizes), len(table)) for table in tables)
        return cls(sizes, tables, weights)

    @property
    def released(self) -> tuple[ColumnSet, ...]:
        """The sets whose residuals are released: those that are not known."""
        return tuple(table for table in self.tables if table not in self.known)

    @property
    def order(self) -> int:
        """The largest number of group columns that a table has."""
        return max(map(len, self.tables))

    @property
    def largest(self) -> tuple[ColumnSet, ...]:
        """The tables that are in no other: all others are sums of their cells."""
        return tuple(table for table in self.tables if not any(set(table) < set(other) for other in self.tables))

    def length(self, table: ColumnSet) -> int:
        """Return how many cells a table has."""
        return math.prod(self.shape(table))

    def shape(self, table: ColumnSet) -> tuple[int, ...]:
        """Return how many categories each column of a table has."""
        return tuple(self.sizes[place] for place in table)

    @property
    def cells(self) -> int:
        """How many cells all tables have."""
        return sum(map(self.length, self.tables))

    def share(self, table: ColumnSet) -> float:
        """Return p: what one record adds to the squared residual of a table."""
        return math.prod(1.0 - 1.0 / self.sizes[place] for place in table)

    def part(self, table: ColumnSet, residual: ColumnSet) -> float:
        """Return k: how much of the variance of a residual is in a cell of a table."""
        rest = math.prod(self.sizes[place] for place in table if place not in residual)
        return self.share(residual) / rest**2

    def noise_variances(self, variances: Mapping[ColumnSet, float]) -> dict[ColumnSet, float]:
        """Return the noise variance of a cell of each table, by those of the residuals; what is not named has none."""
        return {
            table: math.fsum(variances.get(part, 0.0) * self.part(table, part) for part in subsets(table))
            for table in self.tables
        }

    def proportions(self) -> dict[ColumnSet, float]:
        """Return σ² of each released residual, up to one factor: the best for these weights under add-remove."""
        cost = dict.fromkeys(self.tables, 0.0)
        for table, weight in zip(self.tables, self.weights, strict=True):
            for part in subsets(table):
                cost[part] += weight * self.part(table, part)
        return {table: math.sqrt(self.share(table) / cost[table]) for table in self.released}

    def weighed(self, weights: Mapping[ColumnSet, float]) -> Workload:
        """Return it with other weights for some tables."""
        pairs = zip(self.tables, self.weights, strict=True)
        return replace(self, weights=tuple(weights.get(table, weight) for table, weight in pairs))

    def weight(self, table: ColumnSet) -> float:
        """Return the weight of a table."""
        return self.weights[self.tables.index(table)]


def meeting(
    workload: Workload, errors: Callable[[Workload], Mapping[ColumnSet, float]], targets: Mapping[ColumnSet, float]
) -> Workload | None:
    """Return the workload with such weights that named tables have no more noise than wanted; None where none do.

    Parameters
    ----------
    workload : Workload
    errors : callable
        From a workload to the noise sd of each table at the price in question.
    targets : mapping
        The largest noise sd of a table.

    Notes
    -----
    A table above its target has its weight multiplied by the ratio of the variances, again and again: the least
    weighted variance under upper bounds has such weights as multipliers. A weight never falls below the one given.
    """
    least = {table: workload.weight(table) for table in targets}
    for _ in range(_STEPS):
        found = errors(workload)
        ratios = {table: (found[table] / wanted) ** 2 for table, wanted in targets.items()}
        if all(ratio <= 1.0 for ratio in ratios.values()):
            return workload
        moved = {
            table: max(least[table], workload.weight(table) * (ratio * (1.0 + _SLACK)))
            for table, ratio in ratios.items()
        }
        if any(moved[table] > _HEAVIEST * least[table] for table in targets):
            return None
        workload = workload.weighed(moved)
    return None


def closed_sets(named: Sequence[ColumnSet]) -> frozenset[ColumnSet]:
    """Return the named sets with all of their subsets.

    >>> sorted(closed_sets([(0, 2)]))
    [(), (0,), (0, 2), (2,)]
    """
    return frozenset(part for table in named for part in subsets(table))
