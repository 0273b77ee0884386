"""Histogram rounds under attack: a record in as many groups as there can be, with the residual that moves most.

In bucket 0 of every one of its M groups a record with score 0 and label 1 adds (S, 1) in every round: index 1 here. One
with the highest score of that bucket and label 0 adds (−W, 1): index 0. Cell 1 stands for the same record in another
bucket. Scores of later rounds may follow from earlier ones; an attacker gains most if they stay where they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.mechanisms.histogram_rounds import HistogramRounds
from hedgerow.noise.source import NoiseSource
from hedgerow.release.draw.histogram_rounds import noisy_round
from hedgerow.resampling.histogram import Histogram

Floats = NDArray[np.float64]


def rounds_contribution(mechanism: HistogramRounds, index: int) -> tuple[Floats, Floats]:
    """Return what a record adds to its cells, and the widths of the noise there: residual sums, then counts.

    >>> from hedgerow.noise.lattice import LatticeNoise
    >>> fine = LatticeNoise(1000, 0)
    >>> once = HistogramRounds(1, 9, 10, most_groups=2, steps=100, residual=fine, count=fine)
    >>> rounds_contribution(once, 1)[0].tolist(), rounds_contribution(once, 0)[0].tolist()
    ([100.0, 100.0, 1.0, 1.0], [-10.0, -10.0, 1.0, 1.0])
    """
    times = mechanism.rounds * mechanism.most_groups
    moved = float(mechanism.steps if index else -mechanism.widest_bucket)
    widths = (mechanism.residual.in_units, mechanism.count.in_units)
    return np.repeat([moved, 1.0], times), np.repeat(widths, times)


def rounds_outputs(mechanism: HistogramRounds, data: Histogram, n: int, noise: NoiseSource) -> Floats:
    """Return `n` releases of all rounds, (n, 2 buckets, 2·rounds·M), drawn by the function that a fit calls."""
    times = mechanism.rounds * mechanism.most_groups
    exact = np.zeros((2, 2, times), dtype=np.int64)
    for cell, index, count in zip(data.cell, data.index, data.count, strict=True):
        moved = rounds_contribution(mechanism, int(index))[0].astype(np.int64)
        exact[:, int(cell)] += int(count) * moved.reshape(2, times)
    residual, counts = (np.broadcast_to(side, (n, *side.shape)) for side in exact)
    return np.concatenate(noisy_round(residual, counts, mechanism, noise), axis=2)
