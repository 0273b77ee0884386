"""``none``: Algorithms 1 and 2 of Fishman, Mugunthan and Tanzer, without privacy and with projection to [0, 1].

No guarantee: the model is a function of the records as they are, and carries no certificate.

For every group and bucket of the current score in turn, with mean label ȳ and mean score p̄ over the records S_i in it:
shift them by ȳ − p̄ when |ȳ − p̄| ≥ α/2 (from 2ωN with ω = α|S_i|/4n, figure 1) and |S_i| ≥ α|S|/k, S the group, as in
Hébert-Johnson et al. (the paper prints α|S_i|/k, which always holds, since S_i stands on both sides). Repeat until
nothing is shifted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.budget import Budget
from hedgerow.multicalibration.mechanisms.mechanism import (
    PUBLISHED_ALPHA,
    CalibrationMechanism,
    Fitted,
    Setting,
    check_parameter,
)
from hedgerow.multicalibration.model.model import Patch, Patches, Residuals
from hedgerow.multicalibration.model.records import HIGH, LOW, STEPS, Records, bucket_of, from_grid
from hedgerow.noise.source import NoiseSource

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NoPrivacy(CalibrationMechanism[None]):
    """Algorithms 1 and 2 without noise.

    Parameters
    ----------
    low, high : float
        The range of the output. (0, 1) is the algorithm as published; with the default, a wrong score of exactly 0 or 1
        does not have an infinite log loss.
    most_sweeps : int
        The most sweeps, for families in which groups shift one another back and forth.
    """

    low: float = LOW
    high: float = HIGH
    most_sweeps: int = 100

    name: ClassVar[str] = "none"

    def __post_init__(self) -> None:
        fits = 0.0 <= self.low < self.high <= 1.0
        check_parameter(fits, "The range of the output lies in [0, 1].", self.low, self.high)

    def describe(self, setting: Setting, budget: Budget) -> None:
        """Return None: nothing here is private."""
        return

    def run(self, setting: Setting, described: object, records: Records, noise: NoiseSource) -> Fitted:
        """Run Algorithm 1 to its end."""
        members = [np.flatnonzero(inside[records.pattern]) for inside in records.membership.T]
        current = records.score.copy()
        patches: list[Patch] = []
        for _ in range(self.most_sweeps):
            before = len(patches)
            for group, rows in enumerate(members):
                self._one_group(setting, records, group, rows, current, patches)
            if len(patches) == before:
                break
        model = Patches(setting.n_buckets, tuple(patches), self.low, self.high)
        return Fitted(
            model,
            exact_residuals(records, records.score, setting),
            exact_residuals(records, np.clip(current, round(self.low * STEPS), round(self.high * STEPS)), setting),
        )

    def _one_group(
        self, setting: Setting, records: Records, group: int, rows: Integers, current: Integers, patches: list[Patch]
    ) -> None:
        """Go through the buckets of one group in order; a record that is shifted up may be in a later one again."""
        k, count = setting.n_buckets, records.count[rows]
        alpha = PUBLISHED_ALPHA if setting.alpha is None else setting.alpha
        enough = alpha * float(count.sum()) / k
        bucket, gap = bucket_of(current[rows], k), records.label[rows] * STEPS - current[rows]
        for b in range(k):
            inside = np.flatnonzero(bucket == b)
            size = float(count[inside].sum())
            if size < enough or size <= 0.0:
                continue
            mean = float((count[inside] * gap[inside]).sum()) / size
            shift = round(mean)
            if abs(mean) < alpha / 2.0 * STEPS or shift == 0:
                continue
            patches.append(Patch(np.array([[group, b]]), np.array([shift])))
            moved = rows[inside]
            current[moved] = np.clip(current[moved] + shift, 0, STEPS)
            bucket[inside] = bucket_of(current[moved], k)
            gap[inside] = records.label[moved] * STEPS - current[moved]


def exact_residuals(records: Records, score: Integers, setting: Setting) -> Residuals:
    """Return the residuals of the records themselves at these scores (grid indices). PRIVATE."""
    k, member, n, p = setting.n_buckets, records.membership, records.total(), from_grid(score)
    key = records.pattern * k + bucket_of(score, k)
    values = (records.count * (records.label - p), records.count, records.count * p)
    by_pattern = [np.bincount(key, v, minlength=len(member) * k).reshape(-1, k) for v in values]
    sums = np.stack([member.T.astype(np.float64) @ summed for summed in by_pattern])
    # A score of exactly 0 or 1 counts as half a grid step from it.
    inside = np.clip(p, 0.5 / STEPS, 1.0 - 0.5 / STEPS)
    losses = -np.where(records.label == 1, np.log(inside), np.log1p(-inside)), (records.label - p) ** 2
    log_loss, brier = (float((records.count * loss).sum()) / max(n, 1.0) for loss in losses)
    return Residuals.exact(setting.family.names, sums, n, log_loss=log_loss, brier=brier)
