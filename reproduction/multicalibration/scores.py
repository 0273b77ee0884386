"""Scores and how they are judged: log loss (× 100, as the paper prints it), accuracy, and calibration in every group.

Groups are the paper's: conjunctions of the one-hot columns of race and sex that anyone satisfies, 5 + 2 + 10 = 17; the
metrics add "all". M = max |Σ residual|/n over group × ten buckets of the score; W = Σ |Σ residual| / Σ |group|.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .adult import RACES, SEXES, Part

__all__ = ["BUCKETS", "GROUPS", "Judged", "bucket", "judge", "members"]

BUCKETS, CLIP = 10, 1e-15
GROUPS = (
    *((race, None) for race in range(len(RACES))),
    *((None, sex) for sex in range(len(SEXES))),
    *((race, sex) for race in range(len(RACES)) for sex in range(len(SEXES))),
)
"""The 17 groups: race, sex or both."""


@dataclass(frozen=True, slots=True)
class Judged:
    """How good scores are: `loss` in nats, `accuracy`, `worst` (M) and `weighted` (W) calibration error."""

    loss: float
    accuracy: float
    worst: float
    weighted: float

    def __str__(self) -> str:
        return f"{100 * self.loss:.1f} / {self.accuracy:.3f}"


def members(part: Part) -> NDArray[np.bool_]:
    """Return who is in which of the 17 groups: (17, n)."""
    everyone = np.ones(len(part), dtype=bool)
    return np.array([
        (everyone if race is None else part.race == race) & (everyone if sex is None else part.sex == sex)
        for race, sex in GROUPS
    ])  # fmt: skip


def bucket(scores: NDArray[np.float64], k: int = BUCKETS) -> NDArray[np.int64]:
    """Return the interval of each score: [b/k, (b+1)/k), the last one closed; −1 outside [0, 1]."""
    inside = (scores >= 0) & (scores <= 1)
    return np.where(inside, np.minimum((scores * k).astype(np.int64), k - 1), -1)


def judge(scores: NDArray[np.float64], part: Part) -> Judged:
    """Return how good scores are; scores outside [0, 1] count as 0 or 1 in the loss and the buckets."""
    kept = np.clip(scores, 0.0, 1.0)
    p = np.clip(kept, CLIP, 1 - CLIP)
    loss = -np.where(part.label == 1, np.log(p), np.log1p(-p)).mean()
    cells = bucket(kept)
    residual = part.label - kept
    groups = np.vstack([np.ones(len(part), dtype=bool), members(part)])
    sums = np.abs([np.bincount(cells[group], weights=residual[group], minlength=BUCKETS) for group in groups])
    return Judged(
        float(loss),
        float(((kept >= 0.5) == (part.label == 1)).mean()),
        float(sums.max() / len(part)),
        float(sums.sum() / groups.sum()),
    )
