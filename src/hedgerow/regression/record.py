"""The record of a regression: everything that was asked and released, from which every number is computed anew."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import VerificationError
from hedgerow.facts.columns import Grid
from hedgerow.mechanisms.certificate import Certificate, record_of
from hedgerow.mechanisms.joint_moments import JointMoments
from hedgerow.regression.features import Model
from hedgerow.regression.terms import Monomial, Regressor
from hedgerow.release.publication.write_file import write_lines

if TYPE_CHECKING:
    from hedgerow.regression.regression import Regression


def record_of_regressions(fits: Sequence[Regression], level: float) -> dict[str, Any]:
    """Return the record of one release, as plain JSON data; null stands for what is infinite or hidden."""
    first = fits[0]
    model, about = first.about.model, first.about
    asked = {
        "formula": about.formula,
        "response": model.response,
        "regressors": [_as_record(one) for one in first.regressors],
        "released": [_as_record(one) for one in model.regressors],
        "columns": {
            column: {"bounds": [str(grid.lower), str(grid.upper)], "steps": grid.steps, "declared": grid.declared}
            for column, grid in model.grids.items()
        },
        "categories": {column: list(values) for column, values in model.categories.items()},
    }
    cells = [
        {
            "cell": dict(one.cell),
            "records": one.nobs,
            "rsquared": one.rsquared if math.isfinite(one.rsquared) else None,
            "reliable": one.reliable,
            "coefficients": one.coefficients(level),
            "notes": list(one.notes),
            "released": one.released.tolist(),
        }
        for one in fits
    ]
    facts = {**about.facts, "notes": list(about.remarks)}
    if first.certificate is None:
        return {"release": facts | {"simulated": True}, "regression": asked, "fits": cells}
    return {"release": facts, "regression": asked, "fits": cells, "certificate": first.certificate.to_dict()}


def written(record: Mapping[str, Any], path: str | Path | None = None) -> str:
    """Return a record as JSON text, and write it to `path` where one is given (HG118)."""
    text = json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
    if path is not None:
        write_lines(path, [text])
    return text


def regressions_from_record(record: Mapping[str, Any] | str) -> tuple[Regression, ...]:
    """Return the fit of each cell, read anew from the released numbers of a record (HG502 where it is none).

    The coefficients that the record states are not looked at: they follow.
    """
    from hedgerow.regression.regression import About, Regression

    found: Any = record_of(record) if isinstance(record, str) else record
    try:
        asked, facts = found["regression"], dict(found["release"])
        certificate = Certificate.from_dict(found["certificate"])
        mechanism = certificate.mechanism
        grids = {column: _grid(one) for column, one in asked["columns"].items()}
        categories = {column: tuple(values) for column, values in asked["categories"].items()}
        model = Model(asked["response"], tuple(map(_regressor, asked["released"])), grids, categories)
        if not isinstance(mechanism, JointMoments) or _layout(mechanism) != [one.size - 1 for one in model.values]:
            raise ValueError
        notes = facts.pop("notes")
        about = About(model, str(asked["formula"]), mechanism, facts["n"], facts, tuple(notes))
        regressors = tuple(map(_regressor, asked["regressors"]))
        fits = tuple(
            Regression(about, np.array(one["released"], dtype=np.float64), regressors, certificate, dict(one["cell"]))
            for one in found["fits"]
        )
        if any(one.released.shape != (len(mechanism.names),) for one in fits) or len(fits) != mechanism.layout.cells:
            raise ValueError
        for one in fits:
            _ = one.fit.params
        return fits
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise VerificationError(
            "HG502",
            rule="A regression is read back from the record that it left.",
            finding="This is no such record.",
            remedy="Use the record as it was written, or the ledger's stored result.",
        ) from None


def _layout(mechanism: JointMoments) -> list[int]:
    return [feature.steps for feature in mechanism.layout.features]


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
