"""What the second step of a regression released of a cell: how it was asked for, recorded and read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import ClippedSquare, WeightOnGrid
from hedgerow.mechanisms.joint_moments import JointMoments
from hedgerow.mechanisms.mechanism import Single
from hedgerow.regression.features import Model
from hedgerow.regression.moments import Fit
from hedgerow.regression.robust.sandwich import RobustFit
from hedgerow.regression.robust.second_step import KINDS, Middle, Residual, clip_of

Floats = NDArray[np.float64]
CLASSICAL = (
    "Standard errors of a submodel are those of equal variances: robust ones need the residuals of the submodel, which "
    "were not released."
)
_UNSURE = "The noise of the second step is as large as some sampling variances that it tells: intervals are long."


@dataclass(frozen=True, eq=False)
class SecondNumbers:
    """The noisy numbers of the second step of a cell, and the clip of its residuals.

    Attributes
    ----------
    kind : "HC0" or "HC1"
    mechanism : JointMoments
        How the numbers are read.
    clip : float
        In the unit of the response.
    released : float array
    weighted : bool
        Whether the residuals were multiplied by weights.
    """

    kind: str
    mechanism: JointMoments
    clip: float
    released: Floats
    weighted: bool = False

    def robust_fit(self, fit: Fit, model: Model) -> RobustFit:
        """Return a fit with the errors that these numbers tell."""
        middle, n = Middle.of(model), max(fit.moments.n, 1.0)
        reading = self.mechanism.reading(middle.moments)
        told = self.clip**2 / n * middle.products(reading.values(self.released[None, :])[0])
        noise = self.clip**2 * _noise(middle, self.mechanism, n)
        return RobustFit(fit.moments, fit.rows, fit.response, fit.constant, told, noise, self.kind, self.weighted)

    def notes(self, fit: RobustFit) -> tuple[str, ...]:
        """Return what a reader must know, in sentences."""
        told = [
            f"Standard errors are robust ({self.kind}): they hold where variances of residuals differ from record to "
            f"record. Residuals were clipped at {self.clip:.4g} for them."
        ]
        if fit.cut > 0.0:
            told.append(
                f"The clip takes off about {fit.cut:.0%} of the residual's variance; all variances are raised by it."
            )
        if fit.reliable and bool(np.any(fit.unsure > np.diag(fit.sampling_covariance))):
            told.append(_UNSURE)
        return tuple(told)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {"clip": self.clip, "released": self.released.tolist()}


def second_of(
    record: Mapping[str, Any], kind: str, parts: Sequence[Single], model: Model, *, weighted: bool
) -> SecondNumbers:
    """Return the second step of a record; what is none raises LookupError, TypeError or ValueError."""
    mechanism = JointMoments.of_record(parts[1])
    middle, clip = Middle.of(model), float(record["clip"])
    released = np.array(record["released"], dtype=np.float64)
    if kind not in KINDS or not 0.0 < clip < np.inf:
        raise ValueError
    if mechanism.layout != middle.layout(mechanism.layout.cells) or released.shape != (len(mechanism.names),):
        raise ValueError
    return SecondNumbers(kind, mechanism, clip, released, weighted)


def residual_query(
    fit: Fit, middle: Middle, mechanism: JointMoments, weight: WeightOnGrid | None
) -> tuple[ClippedSquare, float]:
    """Return how the engine computes the shares of records at the coefficients of a fit, and the clip."""
    residual = Residual.of(middle.model, fit)
    clip = clip_of(fit, residual, _noise(middle, mechanism, max(fit.moments.n, 1.0)))
    return residual.share(middle.model, clip, weight), clip


def _noise(middle: Middle, mechanism: JointMoments, n: float) -> Floats:
    """Return what each part of the second step's noise adds to Σ s² P P'/N: (parts, p, p)."""
    mixing = mechanism.reading(middle.moments).mixing
    return np.ascontiguousarray(np.moveaxis(middle.products(mixing / n), 2, 0))
