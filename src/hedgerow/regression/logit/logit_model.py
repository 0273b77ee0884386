"""The features of a logistic regression: the regressors, scaled so that each fills a public range within [−1, 1].

A numeric column x = c + h·u enters as u ∈ [−1, 1]. Where the regressors span the same as products P of these u and of
levels, which they do in a model with all lower powers, the features are these products, 2P − 1 where P is 0 or more and
there is a constant: that is what the noise hides least. Otherwise each regressor is a feature, over its largest size.
Coefficients go back and forth by one matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import JointGrid, Query, ValueOnGrid
from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Category, Grid, Scalar, Selection
from hedgerow.facts.relation import UnitLimit
from hedgerow.mechanisms.newton_steps import NewtonSteps
from hedgerow.regression.features import declared_of_record, model_record
from hedgerow.regression.formula import Monomial, Regressor, expanded
from hedgerow.resampling.counted_values import Histogram

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_CONSTANT = Monomial()
_BITS, _FEWEST, _BITS_IN_ALL = 20, 6, 61  # of the grid of a column, and of all together, whose places are one integer
_AT_ONCE = 2**16


@dataclass(frozen=True)
class LogitModel:
    """A logistic model of whether a column equals a value.

    Attributes
    ----------
    response : str
    value : number, text or boolean
        The outcome counts as 1 where the response equals it; every other value is 0.
    regressors : tuple of Regressor
    grids : mapping
        The grid of each numeric column, as declared.
    categories : mapping
        The declared values of each category.
    computed : mapping
        What is read under the name of a column that the facts compute.
    """

    response: str
    value: Scalar
    regressors: tuple[Regressor, ...]
    grids: Mapping[str, Grid]
    categories: Mapping[str, tuple[Scalar, ...]]
    computed: Mapping[str, str] = field(default_factory=dict)

    def asked(self, formula: str) -> dict[str, Any]:
        """Return what was asked for as plain JSON data: the model, its columns and its outcome."""
        return {"family": "logit", "value": self.value} | model_record(self, formula, self.regressors)

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> LogitModel:
        """Return the model of such data; LookupError, TypeError, ValueError or AttributeError where it is none."""
        if record["family"] != "logit" or record["regressors"] != record["released"]:
            raise ValueError("this is no logistic regression")
        return cls(str(record["response"]), record["value"], *declared_of_record(record))

    @cached_property
    def axes(self) -> dict[str, tuple[float, float]]:
        """(c, h) of each numeric column, x = c + h·u."""
        return {column: (grid.centre, grid.half_range) for column, grid in self.grids.items()}

    @cached_property
    def products(self) -> tuple[Monomial, ...]:
        """All products of scaled columns and levels that the regressors are sums of, a constant first."""
        products = {
            product: None for regressor in self.regressors for product in expanded(regressor.monomial, self.axes)
        }
        return tuple(sorted(products, key=lambda monomial: monomial != _CONSTANT))

    @property
    def spanned(self) -> bool:
        """Whether the regressors span what the products do."""
        return len(self.products) == len(self.regressors)

    @cached_property
    def _rows(self) -> Floats:
        """Each regressor as a combination of the products."""
        place = {product: k for k, product in enumerate(self.products)}
        rows = np.zeros((len(self.regressors), len(place)))
        for k, regressor in enumerate(self.regressors):
            for product, factor in expanded(regressor.monomial, self.axes).items():
                rows[k, place[product]] = factor
        return rows

    @cached_property
    def _lines(self) -> tuple[tuple[float, float], ...]:
        """(α, β) of each product's feature, αP + β."""
        twice = self.products[0] == _CONSTANT
        return tuple(
            (2.0, -1.0) if twice and monomial != _CONSTANT and not _signed(monomial) else (1.0, 0.0)
            for monomial in self.products
        )

    @cached_property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """The range of each feature."""
        if self.spanned:
            return tuple(
                (1.0, 1.0)
                if monomial == _CONSTANT
                else (0.0 if (a, b) == (1.0, 0.0) and not _signed(monomial) else -1.0, 1.0)
                for monomial, (a, b) in zip(self.products, self._lines, strict=True)
            )
        sizes = (self._extent(regressor.monomial) for regressor in self.regressors)
        return tuple((low / max(-low, high), high / max(-low, high)) for low, high in sizes)

    def _extent(self, monomial: Monomial) -> tuple[float, float]:
        """Return the least and the largest value of a regressor."""
        ends = [1.0]
        for column, power in monomial.powers:
            low, high = self.grids[column].as_bounds()
            own = [low**power, high**power, *([0.0] if low < 0.0 < high else [])]
            ends = [end * other for end in ends for other in own]
        ends += [0.0] if monomial.levels else []
        return (min(ends), max(ends)) if max(map(abs, ends)) > 0.0 else (0.0, 1.0)

    @cached_property
    def back(self) -> Floats:
        """The matrix that makes coefficients of regressors from those of features."""
        if not self.spanned:
            return np.diag([1.0 / max(map(abs, self._extent(regressor.monomial))) for regressor in self.regressors])
        scaled = np.diag([a for a, _ in self._lines])
        scaled[:, 0] += [b for _, b in self._lines]
        return np.asarray(np.linalg.inv((self._rows @ np.linalg.inv(scaled)).T))

    @cached_property
    def used(self) -> dict[str, Grid]:
        """The grid on which each numeric column is read: as declared, else as fine as leaves room for the others."""
        left = [column for column, grid in self.grids.items() if not grid.declared]
        sizes = [grid.steps + 1.0 for grid in self.grids.values() if grid.declared]
        taken = float(sum(map(np.log2, [2.0, *sizes, *(len(values) for values in self.categories.values())])))
        # A little to spare on each grid: with 2^b steps there are 2^b + 1 places.
        bits = min(_BITS, int((_BITS_IN_ALL - taken) / max(1, len(left)) - 0.1))
        if left and bits < _FEWEST:
            raise ParameterError(
                "HG107",
                rule="The columns of a logistic regression are counted together and need at most 62 bits.",
                finding=f"There are {len(left)} columns without a step, and {max(bits, 0)} bits left for each.",
                remedy='Give coarse grid steps, such as bounds={"age": (0, 100, 1)}, or use fewer columns.',
                shell="Give coarse steps, as in --bounds age:0:100:1, or take fewer columns.",
            )
        return {column: replace(grid, steps=2**bits) if column in left else grid for column, grid in self.grids.items()}

    @property
    def coarse(self) -> tuple[str, ...]:
        """The columns that are read on a coarse grid that nobody declared."""
        undeclared = (column for column, grid in self.grids.items() if not grid.declared)
        return tuple(column for column in undeclared if self.used[column].steps < 1024)

    def features(self, places: Mapping[str, Integers], levels: Mapping[str, Integers], records: int) -> Floats:
        """Return the features of records, by their places on the grids and their categories: (records, P).

        Every operation is elementwise, so that a row is a function of its record alone.
        """
        columns = {}
        for name, grid in self.used.items():
            u = (2.0 * places[name].astype(np.float64) - grid.steps) / grid.steps
            columns[name] = u if self.spanned else grid.centre + grid.half_range * u
        products = self.products if self.spanned else tuple(regressor.monomial for regressor in self.regressors)
        lines = (
            self._lines
            if self.spanned
            else [(1.0 / max(map(abs, self._extent(monomial))), 0.0) for monomial in products]
        )
        features = []
        for monomial, (a, b) in zip(products, lines, strict=True):
            value = np.ones(records)
            for name, level in monomial.levels:
                value = value * (levels[name] == self.categories[name].index(level))
            for name, power in monomial.powers:
                for _ in range(power):
                    value = value * columns[name]
            features.append(a * value + b)
        return np.stack(features, axis=1)

    def query(self, chosen: tuple[Selection, ...] = (), unit: UnitLimit | None = None) -> Query:
        """Return the one question to the engine: how many records have each combination of columns and outcome.

        A record with a missing value, or with an undeclared one of a category, counts nowhere; `chosen` must leave out
        those whose outcome is missing. Of units of several rows, those that are kept are counted.
        """
        name = self.computed.get
        by = [Category.declared(name(column, column), list(values)) for column, values in self.categories.items()]
        outcome = Category.declared(name(self.response, self.response), [self.value], other=True)
        parts = tuple(ValueOnGrid(name(column, column), grid) for column, grid in self.used.items())
        return Query(JointGrid(parts) if parts else None, (*chosen, *by, outcome), unit, each_row=unit is not None)


def _signed(product: Monomial) -> bool:
    return any(power % 2 for _, power in product.powers)


@dataclass(frozen=True, eq=False)
class LogitRecords:
    """The records as their distinct combinations, each with the number of records that have it."""

    model: LogitModel
    histogram: Histogram

    def sums(self, mechanism: NewtonSteps, beta: tuple[float, ...]) -> Integers:
        """Return the exact sums of a step at these coefficients."""
        width = len(mechanism.ranges)
        total = np.zeros(width + width * (width + 1) // 2, dtype=np.int64)
        for features, outcome, count in self._batches():
            total += mechanism.sums(features, outcome, count, beta)
        return total

    def _batches(self) -> Iterator[tuple[Floats, Integers, Integers]]:
        data = self.histogram
        for start in range(0, len(data.count), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            yield (*self.features_of(data.cell[some], data.index[some]), data.count[some])

    def features_of(self, cell: Integers, index: Integers) -> tuple[Floats, Integers]:
        """Return features and outcome of a cell and a place on the grids."""
        model = self.model
        rest, other = np.divmod(cell, 2)
        levels: dict[str, Integers] = {}
        for name, values in reversed(list(model.categories.items())):
            rest, levels[name] = np.divmod(rest, len(values))
        read = tuple(ValueOnGrid(column, grid) for column, grid in model.used.items())
        places = dict(zip(model.used, JointGrid(read).indices(index) if read else [], strict=True))
        return model.features(places, levels, len(cell)), (1 - other).astype(np.int64)
