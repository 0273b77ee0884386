"""A linear model as plain JSON data, and back: regressors, grids and categories."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

from hedgerow.facts.columns import DEFAULT_STEPS, Grid, Scalar
from hedgerow.regression.features import Model
from hedgerow.regression.terms import Monomial, Regressor, Terms
from hedgerow.release.publication.write_file import write_lines


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
        "regressors": [_as_record(one) for one in regressors],
        "released": [_as_record(one) for one in model.regressors],
        "columns": {
            column: {"bounds": [str(grid.lower), str(grid.upper)], "steps": grid.steps, "declared": grid.declared}
            for column, grid in model.grids.items()
        },
        "categories": {column: list(values) for column, values in model.categories.items()},
    }


def request_record(
    formula: str,
    terms: Terms,
    declared: tuple[Mapping[str, Grid], Mapping[str, tuple[Scalar, ...]]],
    **further: Any,
) -> dict[str, Any]:
    """Return what was asked for as plain JSON data: a formula and its terms, columns and categories, and the rest."""
    grids, categories = declared
    return {
        "formula": formula,
        **terms.record(),
        "bounds": {
            column: [str(grid.lower), str(grid.upper), str(grid.step) if grid.declared else None]
            for column, grid in grids.items()
        },
        "categories": {column: list(values) for column, values in categories.items()},
        **{name: value for name, value in further.items() if value is not None},
    }


def model_of_request(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of the model that was asked for, `model_record`, or of the last submodel of it."""
    terms = Terms.from_record(asked)
    grids = {column: _grid_of(*one) for column, one in asked["bounds"].items()}
    categories = {column: tuple(values) for column, values in asked["categories"].items()}
    last = asked.get("submodel", asked)
    model = Model(terms.response, terms.regressors(categories), grids, categories)
    return model_record(model, str(last["formula"]), Terms.from_record(last).regressors(categories))


def model_of_record(record: Mapping[str, Any]) -> tuple[Model, tuple[Regressor, ...]]:
    """Return the model that was released, and the regressors of the fit.

    What is no such record raises LookupError, TypeError, ValueError or AttributeError.
    """
    fitted = tuple(map(_regressor, record["regressors"]))
    ball = None if record.get("clip_norm") is None else float(record["clip_norm"])
    return Model(str(record["response"]), *declared_of_record(record), ball=ball), fitted


def declared_of_record(
    record: Mapping[str, Any],
) -> tuple[tuple[Regressor, ...], dict[str, Grid], dict[str, tuple[Scalar, ...]]]:
    """Return the regressors that were released, the grids and the categories; what is none raises as above."""
    grids = {column: _grid(one) for column, one in record["columns"].items()}
    categories = {column: tuple(values) for column, values in record["categories"].items()}
    return tuple(map(_regressor, record["released"])), grids, categories


def written(record: Mapping[str, Any], path: str | Path | None = None) -> str:
    """Return a record as JSON text, and write it to `path` where one is given (HG118)."""
    text = json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
    if path is not None:
        write_lines(path, [text])
    return text


def _grid_of(low: str, high: str, step: str | None) -> Grid:
    """Return the grid between declared bounds, with a declared step or none."""
    lower, upper = Fraction(low), Fraction(high)
    if step is None:
        return Grid(lower, upper, DEFAULT_STEPS, declared=False)
    steps = (upper - lower) / Fraction(step)
    if steps.denominator != 1:
        raise ValueError("step")
    return Grid(lower, upper, int(steps))


def _grid(one: Mapping[str, Any]) -> Grid:
    low, high = map(Fraction, one["bounds"])
    return Grid(low, high, int(one["steps"]), bool(one["declared"]))


def _as_record(one: Regressor) -> dict[str, Any]:
    levels, powers = ([list(pair) for pair in part] for part in (one.monomial.levels, one.monomial.powers))
    return {"name": one.name, "levels": levels, "powers": powers}


def _regressor(one: Mapping[str, Any]) -> Regressor:
    levels = tuple((str(column), value) for column, value in one["levels"])
    powers = tuple((str(column), int(power)) for column, power in one["powers"])
    return Regressor(str(one["name"]), Monomial(levels, powers))
