"""The released additive table: the one primitive that means, tables, test sets and multicalibration read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["AdditiveTable"]


@dataclass(frozen=True, slots=True)
class AdditiveTable:
    """Noisy sums: cells × features, or cells × features × replicates. All that is computed from it is post-processing.

    Attributes
    ----------
    cells : tuple of mapping
        {column: category} of each row; ``({},)`` for an ungrouped release.
    features : tuple of str
        What was added up, by name.
    values : float array, (cells, features) or (cells, features, replicates)
        The noisy sums, each an integer multiple of its lattice step.
    noise_sd : float array, (features,)
        Standard deviation of the noise on each feature, the same in every cell and replicate.
    noise_law : str
        ``"gaussian"`` or ``"laplace"``: the shape that intervals assume (its discrete form was drawn).
    """

    cells: tuple[Mapping[str, Any], ...]
    features: tuple[str, ...]
    values: NDArray[np.float64]
    noise_sd: NDArray[np.float64]
    noise_law: str

    def column(self, feature: str) -> NDArray[np.float64]:
        """Return one feature's noisy sums, cell by cell (and replicate by replicate)."""
        return np.asarray(self.values[:, self.features.index(feature)], dtype=np.float64)

    def sd(self, feature: str) -> float:
        """Return the standard deviation of one feature's noise."""
        return float(self.noise_sd[self.features.index(feature)])
