"""Where the scores of a bin lie: released beside a count table, so that a bin is read at its mean and not its middle.

Scores of trees, neighbours and rounded files take few values. Were a bin read at its middle, a model that says .5 of
everybody and is right would be "corrected" by half the width of a bin. So one more column of whole numbers is released:

    U_b = ⌊Σ λ + ½⌋,        λ = (score − left end of its bin) / (width of its bin), in [0, 1]

over the records of bin b, of everybody. One record more adds λ to one sum and 0 or 1 to one U_b: U moves as counts of
disjoint cells do, and has their price. The sums are exact integers: λ is a fraction of the public grid of scores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.multicalibration.model.records import Records
from hedgerow.multicalibration.model.score_bins import HIGH, LOW, ScoreBins
from hedgerow.multicalibration.model.score_grid import STEPS
from hedgerow.noise.table import AdditiveTable

PLACED = ("placed",)
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BinMeans:
    """The score at which each bin is read, and the variance of its error; (bins,) each."""

    score: Floats
    variance: Floats


def exact_places(records: Records, bins: ScoreBins) -> Integers:
    """Return U of each bin, (bins,). PRIVATE."""
    low, width = _ends(bins)
    bin_ = bins.of(records.scores)
    total = np.zeros(bins.count, dtype=np.int64)
    np.add.at(total, bin_, records.count * (records.score - low[bin_]))
    return (2 * total + width) // (2 * width)


def means_of(places: AdditiveTable, count: Floats, count_sd: float, bins: ScoreBins) -> BinMeans:
    """Return the mean score of each bin as U and the noisy number N of its records tell it; post-processing.

    m = middle + (U − λ₀N)/N · width, with λ₀ where the middle lies, moved back towards the middle by how little is
    known: τ²/(τ² + v), where v is the variance of the noise in m and τ² = width²/12 that of a score anywhere in a bin.

    >>> held = AdditiveTable([{}] * 2, PLACED, np.array([[0.0], [0.0]]), np.zeros(1), "laplace")
    >>> means_of(held, np.array([0.0, 1000.0]), 0.0, ScoreBins(2)).score.round(3).tolist()
    [0.031, 0.5]
    """
    low, width = (part / STEPS for part in _ends(bins))
    share = (bins.centres - low) / width
    known = np.maximum(count, 1.0)
    # 1/12: U is rounded to a whole number.
    noise = (width / known) ** 2 * (places.sd(PLACED[0]) ** 2 + (share * count_sd) ** 2 + 1.0 / 12.0)
    prior = width**2 / 12.0
    trust = np.where(count > 0.0, prior / (prior + noise), 0.0)
    mean = bins.centres + trust * (places.column(PLACED[0]) - share * count) / known * width
    return BinMeans(np.clip(mean, np.maximum(low, LOW), np.minimum(low + width, HIGH)), prior * (1.0 - trust))


def _ends(bins: ScoreBins) -> tuple[Integers, Integers]:
    """Return the left end and the width of each bin in grid steps, such that no score lies outside its bin's ends."""
    ends = np.concatenate([[0.0], bins.edges, [1.0]]) * STEPS
    low = np.floor(ends[:-1]).astype(np.int64)
    return low, np.ceil(ends[1:]).astype(np.int64) - low
