"""Attacks on tables whose noise is claimed to be ε-bootstrap private: the worst pair of rows of D, told apart.

A table is additive, so neighbours in Dⁿ that differ in the rows r and r' give tables that differ by φ(r) − φ(r'), in
two cells at most. With two-sided geometric or Laplace noise of scale b_i in cell i the loss of the pair is

    Σ_i |φ_i(r) − φ_i(r')|/b_i,

reached in a quarter of the outputs; a cell of scale 0 that differs gives the pair away. `worst_pair` finds the pair of
greatest loss among all rows of D, exactly; `attack_pair` draws the two cells and certifies a lower bound on ε
(Clopper–Pearson), whatever scales are claimed to suffice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.audit.attack import Attack, threshold_attack
from hedgerow.errors import ParameterError
from hedgerow.noise.lattice import NoiseSource
from hedgerow.tables.bootstrap_table import CellExtremes

Floats = NDArray[np.float64]
_CHUNK = 1 << 18


@dataclass(frozen=True, slots=True)
class RowPair:
    """Two rows of D as what they add to a table, and how far apart they are.

    Attributes
    ----------
    first, second : (cell, value) or None
        None: adds to no cell.
    loss : float
        Σ |φ_i(r) − φ_i(r')|/b_i at the scales that it was found for; infinite where a cell without noise differs.
    """

    first: tuple[int, float] | None
    second: tuple[int, float] | None
    loss: float


def worst_pair(table: CellExtremes, scales: ArrayLike, *, same_cell: bool = False) -> RowPair:
    """Return the pair of rows of D that noise of these scales tells apart best.

    Parameters
    ----------
    table : CellExtremes
        The extremes of each cell: a worst pair consists of such rows, since the loss is convex in each value.
    scales : float array, one entry a cell, or one for all
        b_i.
    same_cell : bool
        Pairs within a cell only, for tables whose membership is public.

    Examples
    --------
    >>> table = CellExtremes.of([100.0, 101.0, 90.0], [0, 0, 1])
    >>> worst_pair(table, 1.0).loss, worst_pair(table, 1.0, same_cell=True).loss
    (191.0, 1.0)
    """
    b = np.broadcast_to(np.asarray(scales, dtype=np.float64), table.low.shape)
    inside = [RowPair((i, low), (i, high), _parts([high - low], [b[i]])) for i, low, high in _occupied(table)]
    inside += [
        RowPair((i, end), None, _parts([end], [b[i]]))
        for i, low, high in _occupied(table)
        for end in (low, high)
        if table.void[i]
    ]
    if same_cell:
        return max(inside, key=lambda pair: pair.loss, default=RowPair(None, None, 0.0))
    far = sorted(((_parts([end], [b[i]]), i, end) for i, *ends in _occupied(table) for end in ends), reverse=True)
    across = [
        RowPair((i, x), (j, y), one + other) for one, i, x in _one_each(far) for other, j, y in _one_each(far) if i < j
    ]
    alone = [RowPair((i, x), None, one) for one, i, x in far if table.nowhere]
    return max([*inside, *across, *alone], key=lambda pair: pair.loss, default=RowPair(None, None, 0.0))


def attack_pair(
    pair: RowPair, scales: ArrayLike, *, noise: NoiseSource, runs: int, step: float = 1.0, alpha: float = 1e-3
) -> Attack:
    """Return a certified lower bound on ε from outputs on two neighbours that differ in a pair of rows.

    Parameters
    ----------
    pair : RowPair
    scales : float array, one entry a cell, or one for all
        b_i > 0 of the noise in the cells that the pair touches, in the unit of the values.
    noise : NoiseSource
        Draws two-sided geometric integers on a grid of `step`; a step far below b_i stands for Laplace noise.
    runs : int
        Outputs on each neighbour.
    step, alpha : float
        The grid, of which the values are whole multiples, and the probability that the bound is wrong. Outputs are
        whole steps: added up as floating-point numbers, their last digits would tell the neighbours apart.

    Raises
    ------
    ParameterError
        HG156: a value that is no whole multiple of the step.

    Examples
    --------
    >>> from hedgerow.testing.simulated import SimulatedNoise
    >>> pair = worst_pair(CellExtremes.of([1.0, 1.0], [0, 1]), 1.0)
    >>> attack_pair(pair, 1.0, noise=SimulatedNoise(1), runs=200_000).epsilon_lower > 1.8  # claimed: 1
    True
    """
    cells = sorted({row[0] for row in (pair.first, pair.second) if row is not None})
    every = np.broadcast_to(np.asarray(scales, dtype=np.float64), max(np.size(scales), cells[-1] + 1))
    b = every[cells]
    first, second = _added(pair.first, cells, step), _added(pair.second, cells, step)

    def score(outputs: Floats) -> Floats:
        return np.asarray((step * (np.abs(outputs - second) - np.abs(outputs - first)) / b).sum(axis=1))

    samplers = (_Sampler(side, b, step, noise) for side in (first, second))
    found = threshold_attack(*samplers, score, delta=0.0, runs=runs, alpha=alpha)
    return replace(found, name="rows of D, likelihood ratio")


@dataclass(frozen=True, slots=True)
class _Sampler:
    centre: Floats
    scales: Floats
    step: float
    noise: NoiseSource

    def __call__(self, runs: int) -> Iterable[Floats]:
        for start in range(0, runs, _CHUNK):
            size = min(_CHUNK, runs - start)
            drawn = [self.noise.two_sided_geometric(float(scale) / self.step, size) for scale in self.scales]
            yield self.centre + np.stack(drawn, axis=1)


def _occupied(table: CellExtremes) -> list[tuple[int, float, float]]:
    return [(int(i), float(table.low[i]), float(table.high[i])) for i in np.flatnonzero(table.occupied)]


def _one_each(far: list[tuple[float, int, float]]) -> list[tuple[float, int, float]]:
    """Return the farthest row of each of the two farthest cells."""
    kept: dict[int, tuple[float, int, float]] = {}
    for one in far:
        kept.setdefault(one[1], one)
    return list(kept.values())[:2]


def _parts(moved: list[float], scales: list[float]) -> float:
    return sum(
        0.0 if x == 0.0 else math.inf if b == 0.0 else abs(x) / float(b) for x, b in zip(moved, scales, strict=True)
    )


def _added(row: tuple[int, float] | None, cells: list[int], step: float) -> Floats:
    values = np.array([0.0 if row is None or row[0] != cell else row[1] for cell in cells])
    steps = np.rint(values / step)
    if not np.allclose(steps * step, values, rtol=1e-12, atol=0.0):
        raise ParameterError(
            "HG156",
            rule="Rows are attacked on the grid on which a table is released.",
            finding="A value is no whole multiple of `step`.",
            remedy="Take a step of which it is one.",
        )
    return steps
