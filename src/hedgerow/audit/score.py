"""Scores: one number an output, large where the first of two neighbours is the likelier. Any score is a fair attack.

`likelihood_ratio` is the strongest where densities are known. A record that adds r·φ to noise of widths w, independent
across coordinates, changes the log-density of its cell by

=============  =====================================================================================
Gaussian       Σ (x_i φ_i − φ_i²/2)/w_i²
Laplace        Σ (|x_i| − |x_i − φ_i|)/w_i
averaged       Σ log f(x_i − φ_i) − log f(x_i), f the law of a sum of Laplace numbers, read off a table
resampled      log Σ_r p_r exp(r s − r² c²/2),  s = Σ x_i φ_i/w_i²,  c² = Σ φ_i²/w_i²,  p_r Poisson(λ)
=============  =====================================================================================

so the log-ratio of two neighbours is the first record's change minus the second's, summed over replicates. The last row
depends on the output through s alone, and is read off a table. Discrete laws have the same form on their lattice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.mechanisms.mechanism import Mechanism, Neighbours

Floats = NDArray[np.float64]
Score = Callable[[Floats], Floats]


def likelihood_ratio(mechanism: Mechanism, pair: Neighbours) -> Score:
    """Return the exact log-likelihood ratio log p_first/p_second as a score of outputs (n, cells, features[, k])."""
    present = [
        (sign, record.cell, mechanism.change(record))
        for sign, record in ((1.0, pair.first), (-1.0, pair.second))
        if record is not None
    ]

    def score(outputs: Floats) -> Floats:
        total = np.zeros(len(outputs))
        for sign, cell, change in present:
            total += sign * change(outputs[:, cell])
        return total

    return score


def summed(outputs: Floats) -> Floats:
    """Return the sum of each output's numbers: the plainest one-dimensional score."""
    return np.asarray(outputs.reshape(len(outputs), -1).sum(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class HistogramScore:
    """A log-ratio learnt from outputs alone, on a grid of quantiles: an attack on vectors whose densities are unknown.

    Attributes
    ----------
    edges : tuple of float arrays
        Inner edges of the bins, a coordinate each.
    ratio : float array
        log((hits under the first + ½)/(hits under the second + ½)) of each bin.
    """

    edges: tuple[Floats, ...]
    ratio: Floats

    @classmethod
    def fit(cls, first: Floats, second: Floats, *, bins: int = 12) -> HistogramScore:
        """Learn from outputs on each of two neighbours, which the bound must not reuse.

        >>> rng = np.random.default_rng(1)
        >>> learnt = HistogramScore.fit(rng.normal(1, 1, (5000, 2)), rng.normal(0, 1, (5000, 2)))
        >>> bool(learnt(np.array([[2.0, 2.0]]))[0] > learnt(np.array([[-1.0, -1.0]]))[0])
        True
        """
        first, second = (part.reshape(len(part), -1) for part in (first, second))
        both = np.concatenate([first, second])
        inner = np.linspace(0.0, 1.0, bins + 1)[1:-1]
        edges = tuple(np.unique(np.quantile(column, inner)) for column in both.T)
        shape = tuple(len(ends) + 1 for ends in edges)
        hits = [np.bincount(_bins(part, edges), minlength=int(np.prod(shape))) + 0.5 for part in (first, second)]
        return cls(edges, np.log(hits[0] / hits[1]))

    def __call__(self, outputs: Floats) -> Floats:
        """Return the learnt log-ratio of each output."""
        return np.asarray(self.ratio[_bins(outputs.reshape(len(outputs), -1), self.edges)])


def _bins(outputs: Floats, edges: tuple[Floats, ...]) -> NDArray[np.int64]:
    place = np.zeros(len(outputs), dtype=np.int64)
    for column, ends in zip(outputs.T, edges, strict=True):
        place = place * (len(ends) + 1) + np.searchsorted(ends, column, side="right")
    return place
