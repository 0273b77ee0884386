"""Competing causes of an event: the share of the records to which one cause has come before a time, with its errors.

With the notation of `hedgerow.inference.survival.life_table`, D_cj the events of cause c in interval j, and S the share
without any event,

    F_c(t_k) = Σ_{j≤k} S(t_{j−1}) h_cj,   h_cj = D_cj/r_j        (Aalen and Johansen 1978)

All is a function of the counts with the slopes ∇F_c = Σ_j S(t_{j−1}) (h_cj ∇log S(t_{j−1}) + ∇h_cj), so sampling and
noise enter as they do in survival: Σ g² c + σ² Σ g². The F_c of one cell are computed from the same counts, so their
errors are correlated; `CumulativeIncidence.joint` keeps the correlation. One minus Kaplan and Meier's curve with the
other causes as censored records is larger than F_c, and is the share of nobody.

Noise moves the mean of h_cj by σ²(D_cj Σ ρ²/r_j³ − 1/r_j²), with ρ the coefficients of r_j, and that of its product
with S by S σ² ∇log S·∇h_cj. Both are taken off. Records that leave evenly have another h_cj, of `EvenLifeTables`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.joint.arithmetic import FunctionsOfCells
from hedgerow.inference.score_test import QuadraticTest
from hedgerow.inference.survival.life_table import ErrorsOfTotals, Floats, LifeTables, ReadWithErrors


@dataclass(frozen=True, eq=False)
class CumulativeIncidence:
    """The cumulative incidence of every cause in every cell, from noisy life tables.

    Attributes
    ----------
    life : LifeTables

    >>> counts = np.array([[10.0, 8.0, 5.0, 4.0, 0.0, 0.0, 73.0]])
    >>> both = CumulativeIncidence(LifeTables(counts, (1.0, 2.0), 0.0, "gaussian", False, 0.5, causes=2))
    >>> both.shares[:, 0].round(3).tolist()
    [[0.1, 0.18], [0.05, 0.09]]
    >>> both.read(0, 1).sampling_error.round(4).tolist()
    [0.0384]
    """

    life: LifeTables

    @cached_property
    def _before(self) -> tuple[Floats, Floats]:
        """S(t_{j−1}) and the slopes of its logarithm: (cells, K) and (cells, K, classes)."""
        share, slopes = self.life.survival, self.life.slopes
        started = np.ones((len(share), 1)), np.zeros_like(slopes[:, :1])
        return np.hstack([started[0], share[:, :-1]]), np.concatenate([started[1], slopes[:, :-1]], axis=1)

    @cached_property
    def shares(self) -> Floats:
        """F_c(t_k), which never falls: float array (causes, cells, K)."""
        (hazards, slopes), (before, of_log) = self.life.hazards, self._before
        together = self.life.noise_sd**2 * np.einsum("ckm,dckm->dck", of_log, slopes)
        steps = before * (hazards - together)
        return np.asarray(np.maximum.accumulate(np.clip(np.cumsum(steps, axis=2), 0.0, 1.0), axis=2))

    @cached_property
    def slopes(self) -> Floats:
        """The slopes of F_c(t_k) along the counts: float array (causes, cells, K, classes)."""
        (hazards, slopes), (before, of_log) = self.life.hazards, self._before
        steps = before[..., None] * (hazards[..., None] * of_log + slopes)
        return np.asarray(np.cumsum(steps, axis=2))

    @cached_property
    def reliable(self) -> NDArray[np.bool_]:
        """Whether all that is divided by stands clear of its noise: bool array (cells, K)."""
        before = np.hstack([np.ones((len(self.life.counts), 1), dtype=bool), self.life.reliable[:, :-1]])
        return np.asarray(before & self.life.observed)

    def read(self, cause: int, place: int) -> ReadWithErrors:
        """Return the share to which a cause has come before a cut, in every cell."""
        slopes, life = self.slopes[cause, :, place], self.life
        errors = np.sqrt(np.maximum(life.sampling_variance(slopes), 0.0)), np.sqrt(life.noise(slopes))
        return ReadWithErrors(self.shares[cause, :, place], *errors, self.reliable[:, place])

    def _test(self, cause: int, place: int) -> QuadraticTest:
        share, slopes = self.shares[cause, :, place], self.slopes[cause, :, place]
        return self.life.test_of(place, share, slopes, self.reliable[:, place])

    def ends(self, cause: int, place: int, level: float) -> tuple[Floats, Floats]:
        """Return the interval of the share at a cut, in every cell.

        Where it cannot be read, the share is at least that of the last cut that can: its interval begins there.
        """
        low, high = (end.copy() for end in self._test(cause, place).accepted(level))
        last = self.reliable[:, : place + 1].sum(axis=1) - 1
        for earlier in np.unique(last[(last >= 0) & (last < place)]).tolist():
            here = last == earlier
            low[here] = self._test(cause, earlier).accepted(level)[0][here]
        return low, high

    def joint(self, place: int) -> tuple[FunctionsOfCells, ...]:
        """Return, for the shares of all causes at a cut, what one computes with: together they have one joint law."""
        totals, roots = self.life.errors_of(np.moveaxis(self.slopes[:, :, place], 0, 1))
        shares, clear = self.shares[:, :, place], self.reliable[:, place]
        return tuple(
            FunctionsOfCells(
                totals,
                tuple(
                    ErrorsOfTotals(
                        float(shares[cause, cell]), tuple(roots[cell, cause].tolist()), in_logs=False, clear=bool(ok)
                    )
                    for cell, ok in enumerate(clear)
                ),
            )
            for cause in range(self.life.causes)
        )
