"""A linear model as plain JSON data, and back: regressors, grids and categories."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

from hedgerow.facts.columns import Grid, Scalar
from hedgerow.regression.features import Model
from hedgerow.regression.terms import Monomial, Regressor
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
