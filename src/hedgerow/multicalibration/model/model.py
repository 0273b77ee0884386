"""A calibrated model: calibrations, one a class above two classes, with the public facts that they were made from.

Everything in a private model is a function of noisy releases and public facts, so it may be published with its
certificate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.certificate import Certificate
from hedgerow.errors import DataError
from hedgerow.facts.columns import Scalar
from hedgerow.multicalibration.groups.attribute import Column, Columns
from hedgerow.multicalibration.groups.family import Family
from hedgerow.multicalibration.model.calibration import Calibration
from hedgerow.multicalibration.model.residuals import Residuals


@dataclass(frozen=True)
class Model:
    """A public function of scores and groups.

    Attributes
    ----------
    family : Family
        The groups.
    classes : tuple
        The labels: two, or more.
    calibrations : tuple of Calibration
        One for the second of two classes, or one a class.
    n_buckets : int
        k, in which calibration was asked for and is reported.
    mechanism : str
        Which mechanism made it.
    before, after : tuple of Residuals or None
        Residuals before and after, of each calibration; readings of what was released.
    certificate : Certificate or None
        What it cost; None for ``none``.
    score : str, int or None
        The column in which scores stand, where they came precomputed.
    n : int or None
        The number of records, under replace-one, where it is public and stated.
    """

    family: Family
    classes: tuple[Scalar, ...]
    calibrations: tuple[Calibration, ...]
    n_buckets: int
    mechanism: str
    before: tuple[Residuals | None, ...]
    after: tuple[Residuals | None, ...]
    certificate: Certificate | None
    score: Column | None = None
    n: int | None = None

    def calibrated(self, columns: Columns, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the calibrated probability of every class, (records, classes); rows add up to 1.

        Parameters
        ----------
        columns : Columns
            The records' columns, for their groups.
        scores : float array, (records,) or (records, classes)
            The original probability of the second of two classes, or of each class.

        Raises
        ------
        DataError
            HG166: a column is missing, or the scores have another shape.
        """
        given = np.asarray(scores, dtype=np.float64)
        given = given[:, None] if given.ndim == 1 else given
        if given.shape != (len(columns), len(self.calibrations)):
            raise DataError(
                "HG166",
                rule="There is one score a record, or one a class above two classes.",
                finding=f"Found {given.shape[-1]} columns of scores for {len(self.calibrations)}.",
            )
        classes = self.family.classes(columns)
        made = np.stack(
            [one.apply(self.family, classes, given[:, place]) for place, one in enumerate(self.calibrations)], axis=1
        )
        if made.shape[1] == 1:
            return np.concatenate([1.0 - made, made], axis=1)
        total = made.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, made / np.where(total > 0.0, total, 1.0), 1.0 / made.shape[1])
