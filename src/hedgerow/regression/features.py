"""The features of a linear model: bounded products of scaled columns, whose joint moments tell every fit of the model.

A numeric column x = c + h·u enters scaled, u ∈ [−1, 1]; a level of a category as 1 or 0. A feature f is a product P of
these, f = P where P may be negative and f = 2P − 1 where it is 0 or more, so that f fills [−1, 1]. The regressors and
the response are polynomials in u, so all their products Σ x_j x_k are linear in the sums of products of two features.

A product of two features that is a feature, a constant, or 0 for every record is not asked for again: of a category the
squares and all products of its levels are known from the counts of the levels, and (age · age) is (age²).

A linear model as plain JSON data, and back: regressors, grids and categories.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import ColumnProduct, InBall, Indicator, Value, ValueOnGrid
from hedgerow.facts.columns import DEFAULT_STEPS, Grid, Scalar
from hedgerow.mechanisms.joint.joint_numbers import JointFeature, JointLayout
from hedgerow.mechanisms.joint.joint_sensitivity import Of, Presence
from hedgerow.regression.formula import FormulaTerms, Monomial, Regressor, expanded
from hedgerow.release.publication.write_file import optionally_written
from hedgerow.resampling.counted_values import Monomial as Moment

Floats = NDArray[np.float64]
_BITS, _BITS_IN_ALL = 20, 41  # of the grid of a column, and of a product of columns: engines then add up exactly


@dataclass(frozen=True)
class LinearFeatures:
    """A linear model: regressors and a response, on declared grids.

    Attributes
    ----------
    response : str
    regressors : tuple of Regressor
    grids : mapping
        The grid of each numeric column, as declared.
    categories : mapping
        The declared values of each category.
    computed : mapping
        What each column is read as, where the facts compute it from others.
    ball : float or None
        The length to which the vector of all scaled columns is shrunk; there are then no categories and products.
    bits : int
        Of the largest product of columns.
    """

    response: str
    regressors: tuple[Regressor, ...]
    grids: Mapping[str, Grid]
    categories: Mapping[str, tuple[Scalar, ...]]
    computed: Mapping[str, str] = field(default_factory=dict)
    ball: float | None = None
    bits: int = _BITS_IN_ALL

    @cached_property
    def axes(self) -> dict[str, tuple[float, float]]:
        """(c, h) of each numeric column, x = c + h·u."""
        return {column: (grid.centre, grid.half_range) for column, grid in self.grids.items()}

    @cached_property
    def features(self) -> tuple[Monomial, ...]:
        """What is added up: all parts of the regressors and the response, simple ones first, the response last."""
        parts: dict[Monomial, None] = {}
        for regressor in self.regressors:
            columns = [[(column, k) for k in range(power + 1)] for column, power in regressor.monomial.powers]
            for chosen in product(*columns):
                powers = tuple((column, power) for column, power in chosen if power)
                parts[Monomial(regressor.monomial.levels, powers)] = None
        parts.pop(Monomial(), None)
        own = sorted(parts, key=lambda part: (len(part.levels) + part.degree, part.degree))
        return (*own, self.outcome)

    @property
    def outcome(self) -> Monomial:
        """The response, scaled."""
        return Monomial((), ((self.response, 1),))

    @cached_property
    def used(self) -> dict[str, Grid]:
        """The grid on which each numeric column is read: a fine one, unless the step is declared."""
        degree = max(feature.degree for feature in self.features)
        steps = 2 ** min(_BITS, self.bits // max(1, degree))
        as_declared = {
            column: self.ball is None and grid.declared and grid.steps <= steps for column, grid in self.grids.items()
        }
        return {
            column: grid if as_declared[column] else replace(grid, steps=steps, declared=False)
            for column, grid in self.grids.items()
        }

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """The features as an engine reads them; with a ball also whether a record was shrunk."""
        alone = tuple(self.value(feature) for feature in self.features)
        if self.ball is None:
            return alone
        columns = tuple(value for value in alone if isinstance(value, ValueOnGrid))
        return tuple(InBall(columns, place, self.reach) for place in (*range(len(alone)), None))

    def layout(
        self, presence: Presence, cells: int, *, most_rows: int | None = None, shares: int | None = None
    ) -> JointLayout:
        """Return the features as the mechanism sees them: a record has all of them, or is in no cell."""
        features = tuple(JointFeature(value.size - 1) for value in self.values)
        ball = None if self.ball is None else len(self.features)
        return JointLayout(features, presence, cells, ball=ball, most_rows=most_rows, shares=shares)

    @property
    def reach(self) -> int:
        """The length of the ball in centred grid integers."""
        return int((self.ball or 0.0) * 2**_BITS)

    def value(self, monomial: Monomial) -> Value:
        """Return a product of columns as an engine reads it."""
        factors: list[tuple[ValueOnGrid | Indicator, int]] = [
            *((Indicator(self.computed.get(column, column), value), 1) for column, value in monomial.levels),
            *(
                (ValueOnGrid(self.computed.get(column, column), self.used[column]), power)
                for column, power in monomial.powers
            ),
        ]
        return factors[0][0] if len(factors) == 1 and factors[0][1] == 1 else ColumnProduct(tuple(factors))

    @cached_property
    def scales(self) -> list[tuple[float, float]]:
        """(α, β) of each feature, f = αP + β."""
        if self.ball is not None:
            return [(2**_BITS / self.reach, 0.0)] * len(self.features)
        return [(1.0, 0.0) if any(p % 2 for _, p in feature.powers) else (2.0, -1.0) for feature in self.features]

    @cached_property
    def known(self) -> dict[Monomial, int]:
        """The place of each product of features among what is told: 0 is the number of records, then the features."""
        places = {Monomial(): 0} | {feature: place for place, feature in enumerate(self.features, start=1)}
        for i, j in self.pairs:
            made = self.features[i] * self.features[j]
            if made is not None:
                places[made] = len(places)
        return places

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The pairs of features whose products are asked for, one pair for each product that is not known otherwise."""
        pairs: dict[Monomial, tuple[int, int]] = {}
        features = set(self.features)
        for i, j in combinations_with_replacement(range(len(self.features)), 2):
            made = self.features[i] * self.features[j]
            if made is not None and made not in features:
                pairs.setdefault(made, (i, j))
        return tuple(pairs.values())

    @property
    def sums(self) -> tuple[Of, ...]:
        """What the release adds up: each feature, and the products of these pairs."""
        return (*((i,) for i in range(len(self.features))), *self.pairs)

    def moments(self) -> tuple[Moment, ...]:
        """Return the count and the sums, in the words of a release of joint moments."""
        return ((), *(_moment(of) for of in self.sums))

    @cached_property
    def untangled(self) -> Floats:
        """The matrix by which the totals of the products P follow from the count and the sums of features."""
        size, d = 1 + len(self.sums), len(self.features)
        matrix = np.zeros((size, size))
        matrix[0, 0] = 1.0
        for k, (alpha, beta) in enumerate(self.scales, start=1):
            matrix[k, k], matrix[k, 0] = 1.0 / alpha, -beta / alpha
        for place, (i, j) in enumerate(self.pairs, start=1 + d):
            (a, b), (c, e) = self.scales[i], self.scales[j]
            row = np.zeros(size)
            row[place], row[0] = 1.0, -b * e
            row -= a * e * matrix[1 + i] + c * b * matrix[1 + j]
            matrix[place] = row / (a * c)
        return matrix

    @cached_property
    def table(self) -> NDArray[np.intp]:
        """Where the product of two of (1, P_1, …) stands among the totals; −1 where it is 0 for every record."""
        every = (Monomial(), *self.features)
        place = [[-1 if (made := a * b) is None else self.known[made] for b in every] for a in every]
        return np.array(place, dtype=np.intp)

    def row(self, monomial: Monomial) -> Floats:
        """Return a regressor, or the response, as a combination of (1, P_1, …): float array (1 + features,)."""
        row = np.zeros(1 + len(self.features))
        for part, factor in expanded(monomial, self.axes).items():
            row[self.known[part]] = factor
        return row

    @cached_property
    def target(self) -> Floats:
        """The response as a combination of (1, P_1, …)."""
        return self.row(self.outcome)

    def rows(self, regressors: Sequence[Regressor]) -> Floats:
        """Return the combinations of several regressors, (regressors, 1 + features)."""
        return np.array([self.row(regressor.monomial) for regressor in regressors]).reshape(len(regressors), -1)

    def records(self, columns: Mapping[str, Floats], levels: Mapping[str, NDArray[np.intp]]) -> Floats:
        """Return (1, P_1, …) of records with these scaled columns and places of categories: (records, 1 + features)."""
        some = next(iter((*columns.values(), *levels.values())))
        columns_of_features = [np.ones(len(some))]
        for feature in self.features:
            value = np.ones(len(some))
            for column, level in feature.levels:
                value = value * (levels[column] == self.categories[column].index(level))
            for column, power in feature.powers:
                value = value * columns[column] ** power
            columns_of_features.append(value)
        return np.stack(columns_of_features, axis=1)


def _moment(of: Of) -> Moment:
    return tuple((i, of.count(i)) for i in sorted(set(of)))


class Declared(Protocol):
    """What a model declares, whatever its family."""

    @property
    def response(self) -> str:
        """The column of the response."""
        ...

    @property
    def regressors(self) -> tuple[Regressor, ...]:
        """The regressors that were released."""
        ...

    @property
    def grids(self) -> Mapping[str, Grid]:
        """The grid of each numeric column."""
        ...

    @property
    def categories(self) -> Mapping[str, tuple[Scalar, ...]]:
        """The declared values of each category."""
        ...


def model_record(model: Declared, formula: str, regressors: Sequence[Regressor]) -> dict[str, Any]:
    """Return a fit's regressors, and the model that was released, as plain JSON data."""
    return {
        "formula": formula,
        "response": model.response,
        "regressors": [_as_record(regressor) for regressor in regressors],
        "released": [_as_record(regressor) for regressor in model.regressors],
        "columns": {
            column: {"bounds": [str(grid.lower), str(grid.upper)], "steps": grid.steps, "declared": grid.declared}
            for column, grid in model.grids.items()
        },
        "categories": {column: list(values) for column, values in model.categories.items()},
    }


def request_record(
    formula: str,
    terms: FormulaTerms,
    declared: tuple[Mapping[str, Grid], Mapping[str, tuple[Scalar, ...]]],
    **further: Any,
) -> dict[str, Any]:
    """Return what was asked for as plain JSON data: a formula and its terms, columns and categories, and the rest."""
    grids, categories = declared
    return {
        "formula": formula,
        **terms.record(),
        "bounds": {column: _declared_bounds(grid) for column, grid in grids.items()},
        "categories": {column: list(values) for column, values in categories.items()},
        **{name: value for name, value in further.items() if value is not None},
    }


def model_of_request(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of the model that was asked for, `model_record`, or of the last submodel of it."""
    terms = FormulaTerms.from_record(asked)
    grids = {column: _grid_of(*bounds) for column, bounds in asked["bounds"].items()}
    categories = {column: tuple(values) for column, values in asked["categories"].items()}
    last = asked.get("submodel", asked)
    model = LinearFeatures(terms.response, terms.regressors(categories), grids, categories)
    return model_record(model, str(last["formula"]), FormulaTerms.from_record(last).regressors(categories))


def model_of_record(record: Mapping[str, Any]) -> tuple[LinearFeatures, tuple[Regressor, ...]]:
    """Return the model that was released, and the regressors of the fit.

    What is no such record raises LookupError, TypeError, ValueError or AttributeError.
    """
    fitted = tuple(map(_regressor, record["regressors"]))
    ball = None if record.get("clip_norm") is None else float(record["clip_norm"])
    return LinearFeatures(str(record["response"]), *declared_of_record(record), ball=ball), fitted


def declared_of_record(
    record: Mapping[str, Any],
) -> tuple[tuple[Regressor, ...], dict[str, Grid], dict[str, tuple[Scalar, ...]]]:
    """Return the regressors that were released, the grids and the categories; what is none raises as above."""
    grids = {column: _grid(grid) for column, grid in record["columns"].items()}
    categories = {column: tuple(values) for column, values in record["categories"].items()}
    return tuple(map(_regressor, record["released"])), grids, categories


def written(record: Mapping[str, Any], path: str | Path | None = None) -> str:
    """Return a record as JSON text, and write it to `path` where one is given (HG118)."""
    return optionally_written(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n", path)


def _declared_bounds(grid: Grid) -> list[str | None]:
    return [str(grid.lower), str(grid.upper), str(grid.step) if grid.declared else None]


def _grid_of(low: str, high: str, step: str | None) -> Grid:
    """Return the grid between declared bounds, with a declared step or none, as `_declared_bounds` writes them."""
    lower, upper = Fraction(low), Fraction(high)
    steps = DEFAULT_STEPS if step is None else int((upper - lower) / Fraction(step))
    grid = Grid(lower, upper, steps, declared=step is not None)
    if _declared_bounds(grid) != [low, high, step]:
        raise ValueError("bounds")
    return grid


def _grid(record: Mapping[str, Any]) -> Grid:
    low, high = map(Fraction, record["bounds"])
    return Grid(low, high, int(record["steps"]), bool(record["declared"]))


def _as_record(regressor: Regressor) -> dict[str, Any]:
    levels, powers = ([list(pair) for pair in part] for part in (regressor.monomial.levels, regressor.monomial.powers))
    return {"name": regressor.name, "levels": levels, "powers": powers}


def _regressor(record: Mapping[str, Any]) -> Regressor:
    levels = tuple((str(column), value) for column, value in record["levels"])
    powers = tuple((str(column), int(power)) for column, power in record["powers"])
    return Regressor(str(record["name"]), Monomial(levels, powers))
