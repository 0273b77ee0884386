"""Multicalibration with privacy: a classifier's scores made right in every group.

======================  =========================================================================================
`Multicalibrator`       the scikit-learn meta-estimator (needs the extra ``sklearn``)
`multicalibration_error`, `noise_floor`   how far from calibrated, and how far chance alone would put it
`hoped_alpha`, `least_cell`   which target one may hope for, and in how small a cell, before a fit
`cuts`, `masks`         how groups are declared, beside lists of values and predicates
`read_model`, `write_model`   a calibrated model as a small JSON file
======================  =========================================================================================

Each mechanism is a file of its own; ``mechanism.py`` is what they have in common.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hedgerow.multicalibration.declared_groups import cuts, family_of, masks
from hedgerow.multicalibration.metrics import (
    brier_score,
    log_loss,
    multicalibration_error,
    noise_floor,
    residuals_of,
)
from hedgerow.multicalibration.model_file import read_model, write_model
from hedgerow.multicalibration.report import hoped_alpha, least_cell

if TYPE_CHECKING:
    from hedgerow.multicalibration.estimator import Multicalibrator

__all__ = [
    "Multicalibrator",
    "brier_score",
    "cuts",
    "family_of",
    "hoped_alpha",
    "least_cell",
    "log_loss",
    "masks",
    "multicalibration_error",
    "noise_floor",
    "read_model",
    "residuals_of",
    "write_model",
]


def __getattr__(name: str) -> Any:
    # On use: the rest of the folder, and the command line, work without scikit-learn.
    if name == "Multicalibrator":
        try:
            from hedgerow.multicalibration.estimator import Multicalibrator
        except ModuleNotFoundError as missing:
            if (missing.name or "").partition(".")[0] != "sklearn":
                raise
            raise ImportError('Multicalibrator needs scikit-learn: pip install "hedgerow[sklearn]"') from None
        return Multicalibrator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
