"""Reading a noisy count table: rounds of calibration and residuals before and after. Post-processing, all of it.

This file sees a released table and public facts. It has no access to records, to noise or to a budget.

A cell of a sweep is a set of (atom, bin) pairs: those of a group whose current score c lies in one of the k buckets, or
those of a group in one score bin. With noisy counts n₁, n₀ of labels 1 and 0, N = n₀ + n₁ and R = Σ (n₁ − N c):

    var R = s² Σ ((1 − c)² + c²) + Σ max(N, 0) c (1 − c)          privacy noise of sd s, and binomial noise of labels

A cell moves when |R| > z √var R, by (R / N)(1 − var R / R²): the positive-part shrinkage keeps noise from being learnt.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.multicalibration.groups.blocks import members_of
from hedgerow.multicalibration.mechanisms.bin_means import BinMeans
from hedgerow.multicalibration.mechanisms.mechanism import Fitted, Setting
from hedgerow.multicalibration.model.calibration import Shifts
from hedgerow.multicalibration.model.residuals import Loss, Residuals
from hedgerow.multicalibration.model.score_bins import HIGH, LOW, ScoreBins
from hedgerow.noise.table import AdditiveTable

BINARY = ("label=0", "label=1")
SWEEPS = 20

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Counts:
    """Noisy counts of labels 1 and 0, (atoms, bins), and the sd of their noise."""

    ones: Floats
    zeros: Floats
    sd: float

    @property
    def all(self) -> Floats:
        return self.ones + self.zeros


def read_table(
    released: tuple[AdditiveTable, ...], setting: Setting, means: BinMeans, bins: ScoreBins, *, z: float
) -> Fitted:
    """Return the calibration that a released table, the first, supports, and its residuals before and after."""
    table = released[0]
    shape = (setting.family.atoms, bins.count)
    zeros, ones = (table.column(name).reshape(shape) for name in BINARY)
    counts = _Counts(ones, zeros, table.sd(BINARY[0]))
    members = members_of(setting.family, setting.family.atom_classes())
    original = np.broadcast_to(means.score, shape)
    calibrated = _sweeps(counts, original, members, setting.n_buckets, z)
    return Fitted(
        # To the millionth, the grid of scores: a model file is read by people too.
        Shifts(bins.edges, np.round(calibrated - original, 6) + 0.0, LOW, HIGH),
        _residuals(counts, original, members, setting, means),
        _residuals(counts, calibrated, members, setting, means),
        released,
    )


def _sweeps(counts: _Counts, original: Floats, members: list[Integers], n_buckets: int, z: float) -> Floats:
    current = original.copy()
    score_bins = np.broadcast_to(np.arange(original.shape[1]), original.shape)
    for _ in range(SWEEPS):
        moved = False
        for atoms, cell, cells in _cells(current, members, score_bins, n_buckets):
            delta = _moves(counts, current, atoms, cell, cells, z)
            if delta.any():
                moved = True
                current[atoms] = np.clip(current[atoms] + delta[cell], LOW, HIGH)
        if not moved:
            break
    return current


def _cells(
    current: Floats, members: list[Integers], score_bins: Integers, n_buckets: int
) -> Iterator[tuple[Integers, Integers, int]]:
    """Yield, group by group, its atoms and the cell of each (atom, bin): buckets of the current score, then bins."""
    for atoms in members:
        yield atoms, _bucket(current[atoms], n_buckets), n_buckets
        yield atoms, score_bins[atoms], score_bins.shape[1]


def _bucket(score: Floats, n_buckets: int) -> Integers:
    return np.minimum((score * n_buckets).astype(np.int64), n_buckets - 1)


def _moves(counts: _Counts, current: Floats, atoms: Integers, cell: Integers, cells: int, z: float) -> Floats:
    """Return how far each cell moves; 0 where its residual is within its noise."""
    c, ones, n = current[atoms], counts.ones[atoms], counts.all[atoms]
    flat = cell.ravel()
    size = np.bincount(flat, n.ravel(), minlength=cells)
    residual = np.bincount(flat, (ones - n * c).ravel(), minlength=cells)
    spread = counts.sd**2 * ((1.0 - c) ** 2 + c**2) + np.maximum(n, 0.0) * c * (1.0 - c)
    variance = np.bincount(flat, spread.ravel(), minlength=cells)
    # Where N itself is lost in noise, R/N could be anything: such a cell holds next to nobody, and stays.
    lost = counts.sd * np.sqrt(2.0 * np.bincount(flat, minlength=cells))
    moves = (size > np.maximum(z * lost, 1.0)) & (residual**2 > z**2 * variance)
    # |R| ≤ N holds for the true counts; where noise breaks it, the larger of the two divides.
    mean = residual / np.maximum(np.maximum(size, np.abs(residual)), 1e-9)
    shrink = np.maximum(0.0, 1.0 - variance / np.maximum(residual**2, 1e-9))
    return np.where(moves, mean * shrink, 0.0)


def _residuals(counts: _Counts, score: Floats, members: list[Integers], setting: Setting, means: BinMeans) -> Residuals:
    """Return R, N and Σ p of group × bucket with the sd of their privacy noise."""
    k = setting.n_buckets
    n, s2 = counts.all, counts.sd**2
    values = (
        counts.ones - n * score,
        n,
        n * score,
        s2 * ((1.0 - score) ** 2 + score**2),
        np.full(score.shape, 2.0 * s2),
    )
    bucket = _bucket(score, k)
    sums = np.stack([[np.bincount(bucket[a].ravel(), v[a].ravel(), minlength=k) for a in members] for v in values])
    placed = np.stack([_from_places(n[a], bucket[a], means, k) for a in members])
    total = float(setting.n) if setting.n is not None else float(n.sum())
    names = setting.family.names
    losses = _loss(counts, -np.log(score), -np.log1p(-score), total), _loss(counts, (1 - score) ** 2, score**2, total)
    return Residuals(
        names, sums[0], sums[1], sums[2], np.sqrt(sums[3] + placed), np.sqrt(sums[4]), total, True, *losses
    )


def _from_places(count: Floats, bucket: Integers, means: BinMeans, k: int) -> Floats:
    """Return the variance in R of each bucket of a group, as far as it comes from where the scores of bins lie.

    All records of a bin are read at one score, so its error moves R by as much as the cell has records of that bin.
    """
    bins = count.shape[1]
    held = np.bincount((bucket * bins + np.arange(bins)).ravel(), count.ravel(), minlength=k * bins).reshape(k, bins)
    return np.asarray((np.maximum(held, 0.0) ** 2 * means.variance).sum(axis=1), dtype=np.float64)


def _loss(counts: _Counts, of_one: Floats, of_zero: Floats, n: float) -> Loss:
    """Return (1/n) Σ (n₁ l₁ + n₀ l₀): linear in the noisy counts, so unbiased for the binned scores, at no price."""
    total = float((counts.ones * of_one + counts.zeros * of_zero).sum())
    spread = counts.sd * float(np.sqrt((of_one**2 + of_zero**2).sum()))
    return Loss(total / max(n, 1.0), spread / max(n, 1.0))
