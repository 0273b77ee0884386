"""Bins of the original score, equal in width on the logit scale, between two public ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Scores are not told apart, nor given out, beyond these: one wrong score of exactly 0 or 1 has an infinite log loss.
LOW, HIGH = 0.001, 0.999


@dataclass(frozen=True, slots=True)
class ScoreBins:
    """`count` bins of [0, 1]: their edges divide [logit .001, logit .999] evenly, the end bins reach to 0 and 1.

    Scores of classifiers crowd near 0 and 1, where bins of equal width would put unlike scores together.

    >>> ScoreBins(4).edges.round(3).tolist()
    [0.031, 0.5, 0.969]
    >>> ScoreBins(4).of(np.array([0.0, 0.4, 0.5, 1.0])).tolist()
    [0, 1, 2, 3]
    """

    count: int

    def _logits(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        end = np.log(HIGH / LOW)
        return np.asarray(1.0 / (1.0 + np.exp(-end * (2.0 * places / self.count - 1.0))), dtype=np.float64)

    @property
    def edges(self) -> NDArray[np.float64]:
        """The inner edges, (count − 1,); bin b is [edges[b − 1], edges[b])."""
        return self._logits(np.arange(1.0, self.count))

    @property
    def centres(self) -> NDArray[np.float64]:
        """The score that stands for a bin: its middle on the logit scale, (count,)."""
        return self._logits(np.arange(0.5, self.count))

    def of(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the bin of each score."""
        return np.searchsorted(self.edges, scores, side="right").astype(np.int64)
