"""Residual sums by group and bucket: what every calibration error is read from, exact or noisy.

A **cell** is a group × bucket of the prediction. With y the labels and p the predictions of its records, R = Σ (y − p)
and N is their number. Where a noisy table was released, R and N come from it and carry their noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Loss:
    """A mean loss and the standard deviation of the privacy noise in it (0 where it is exact)."""

    value: float
    noise_sd: float


@dataclass(frozen=True, slots=True)
class Residuals:
    """R, N and Σ p of every cell, with the standard deviation of the privacy noise in them.

    Attributes
    ----------
    groups : tuple of str
        Names of the groups, the rows of the arrays.
    residual, count, predicted : float array, (groups, buckets)
        R = Σ (y − p), N, and Σ p. Noisy counts may be negative; they are kept as they were released.
    residual_sd, count_sd : float array, (groups, buckets)
        Standard deviation of the privacy noise on R and on N; 0 where they are exact.
    n : float
        The number of records: exact, public, or read from the noisy table.
    private : bool
        Whether these are readings of something released; exact residuals are data, and are never released.
    log_loss, brier : Loss or None
        Mean losses of the scores, where what was released tells them.
    """

    groups: tuple[str, ...]
    residual: Floats
    count: Floats
    predicted: Floats
    residual_sd: Floats
    count_sd: Floats
    n: float
    private: bool
    log_loss: Loss | None = None
    brier: Loss | None = None

    @classmethod
    def exact(
        cls,
        groups: tuple[str, ...],
        residual: Floats,
        count: Floats,
        predicted: Floats,
        *,
        n: float,
        log_loss: float,
        brier: float,
    ) -> Residuals:
        """Return residuals without noise."""
        none = np.zeros_like(residual)
        losses = Loss(log_loss, 0.0), Loss(brier, 0.0)
        return cls(groups, residual, count, predicted, none, none, n, False, *losses)
