"""The estimates of one statistic, cell by cell, held as arrays: an `Estimate` is made when it is asked for.

A table of a million cells is a few arrays, not a million objects; what is read of one cell is read from the same
arrays, by the same formulas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.estimate import Estimate
from hedgerow.inference.score import ScoreArrays

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Readings(Sequence[Estimate]):
    """One statistic of every cell, with its errors. Post-processing of what was released.

    Attributes
    ----------
    statistic, column, method, covers : str
        As in `Estimate`.
    cells : sequence of mapping
        {column: category} of each.
    value, sampling_error, privacy_error : float array
        In the column's unit.
    known : bool array
        False where the noise leaves no error to give.
    reliable : bool array
        False where a number does not stand clear of its noise.
    unsure : str
        What is said of a number that is not reliable.
    remark : str or None
        What is said of every number.
    basis : ScoreArrays
        What intervals at any level are computed from.
    """

    statistic: str
    column: str | None
    cells: Sequence[Mapping[str, Any]]
    method: str
    covers: str
    value: Floats
    sampling_error: Floats
    privacy_error: Floats
    known: NDArray[np.bool_]
    reliable: NDArray[np.bool_]
    unsure: str
    remark: str | None
    basis: ScoreArrays

    def __len__(self) -> int:
        return len(self.value)

    @overload
    def __getitem__(self, index: int) -> Estimate: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Estimate]: ...
    def __getitem__(self, index: int | slice) -> Estimate | Sequence[Estimate]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        known = bool(self.known[place])
        return Estimate(
            statistic=self.statistic,
            column=self.column,
            cell=self.cells[place],
            estimate=float(self.value[place]),
            sampling_error=float(self.sampling_error[place]) if known else None,
            bootstrap_error=0.0 if known else None,
            privacy_error=float(self.privacy_error[place]) if known else None,
            method=self.method,
            n_resamples=None,
            reliable=bool(self.reliable[place]),
            note=self.note(place),
            covers=self.covers,
            basis=self.basis.row(place),
        )

    def note(self, place: int) -> str | None:
        """Return what a reader must know about one number."""
        said = [] if self.reliable[place] else [self.unsure]
        return " ".join([*said, *([self.remark] if self.remark else [])]) or None
