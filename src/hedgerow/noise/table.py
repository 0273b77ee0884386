"""The released additive table: the one primitive that means, tables, test sets and multicalibration read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class AdditiveTable:
    """Noisy sums: cells × features, or cells × features × replicates. All that is computed from it is post-processing.

    Attributes
    ----------
    cells : sequence of mapping
        {column: category} of each row; ``({},)`` for an ungrouped release.
    features : tuple of str
        What was added up, by name.
    values : float array, (cells, features) or (cells, features, replicates)
        The noisy sums, each an integer multiple of its lattice step.
    noise_sd : float array, (features,) or (cells, features)
        Standard deviation of the noise on each feature, the same in every replicate; and in every cell, unless it is
        given cell by cell.
    noise_law : str
        ``"gaussian"``, ``"laplace"`` or ``"averaged-laplace-k"``: the shape that intervals assume (drawn: its discrete
        form).
    """

    cells: Sequence[Mapping[str, Any]]
    features: tuple[str, ...]
    values: NDArray[np.float64]
    noise_sd: NDArray[np.float64]
    noise_law: str

    def column(self, feature: str) -> NDArray[np.float64]:
        """Return one feature's noisy sums, cell by cell (and replicate by replicate)."""
        return np.asarray(self.values[:, self.features.index(feature)], dtype=np.float64)

    def sd(self, feature: str) -> float:
        """Return the standard deviation of one feature's noise, where it is the same in every cell."""
        return float(self.noise_sd[self.features.index(feature)])

    def sds(self, feature: str) -> NDArray[np.float64]:
        """Return the standard deviation of one feature's noise, cell by cell."""
        spread = self.noise_sd[..., self.features.index(feature)]
        return np.asarray(np.broadcast_to(spread, len(self.values)), dtype=np.float64)
