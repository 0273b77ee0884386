r"""The law of one record's part in one replicate, r·φ + Z, cut into cells on which the privacy loss is known.

`mixture` says which two laws form a pair and why that pair is enough; here they are evaluated: truncated with every
tail accounted for, in logarithms, for all values of a noisy count at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.loss_grid import LOSS_CAP

Array = NDArray[np.float64]

_COUNT_STEP, _COUNT_SHAKE = 0.07, 1.25  # lattice of the count in units of σ; width of its rounding in lattice steps
_MOST_COUNTS = 400  # values of y; with little noise their lattice is coarser, and the price a little higher
_REVEALED = 4.0  # κ/σ above which r itself is taken as released: a narrower count hardly says less
_TOLD, _TOLD_REACH = 0.1, 9.0  # width of a cell of the count, and how far they reach, in units of σ
_WIDEST_CELL = 0.05  # in units of σ: there the five-point rule is exact to 1e-14
# Gauss and Legendre's rule of five points, as `numpy.polynomial` has it: to import that takes longer than its use.
_NODES = (-0.906179845938664, -0.5384693101056831, 0.0, 0.5384693101056831, 0.906179845938664)
_WEIGHTS = (0.23692688505618928, 0.4786286704993663, 0.5688888888888887, 0.4786286704993663, 0.23692688505618928)
_MOST_OUTCOMES = 400_000
_UNIT = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class ResampledLaw:
    r"""The densities p(x, y) = Σ_r w_r(y) N(x; r·bound, σ²) and q, in one coordinate x for each value y of the count.

    p and q are the densities of what is released from two neighbouring sets of records. q is p(−x, y) for a symmetric
    pair of neighbours and N(x; 0, σ²) for a one-sided pair. log p/q does not decrease in x: its
    derivative is (bound/σ²)·(E_p[r|x] + E_q[r|x]), or (bound/σ²)·E_p[r|x].

    A count κr + N(0, σ²) that is released beside the value is replaced by a more informative one, whose price is an
    upper bound: a discrete Gaussian of variance σ² − w² on a lattice of step s ≥ .07σ with w = 1.25 s. Adding N(0, w²)
    to it gives the released count, up to a factor 1 ± 2e-13 (Poisson summation). So y runs over a lattice, and nothing
    is integrated approximately. Where κ > 4σ, r itself replaces the count, which is more informative still.

    Attributes
    ----------
    sd, bound : float
        σ and the shift of one unit of r.
    weights : float array (r, y)
        w_r(y); one column when there is no count.
    symmetric : bool
        Which q.
    low, high : float
        Range of x.
    left_out : float
        Upper bound of the mass outside the ranges of r, x and y, under p and under q.
    """

    sd: float
    bound: float
    weights: Array
    symmetric: bool
    low: float
    high: float
    left_out: float

    @classmethod
    def of(
        cls, *, sd: float, bound: float, rate: float, count_weight: float = 0.0, symmetric: bool, left_out: float
    ) -> Self:
        """Truncate r, x and y so that what is left out has mass at most `left_out` in all."""
        from hedgerow.special import gammaln, ndtri, pdtrc

        tail = left_out / 8.0
        most = math.ceil(rate)
        while pdtrc(most, rate) > tail:
            most += 1
        r = np.arange(most + 1.0)
        log_p = r * math.log(rate) - rate - gammaln(r + 1.0)
        reach = -float(ndtri(tail))
        high = _upper_end(np.exp(log_p), r * (bound / sd), tail) * sd
        weights = np.exp(log_p)[:, None]
        if count_weight > _REVEALED * sd:
            weights = np.diag(np.exp(log_p))
        elif count_weight:
            top = _upper_end(np.exp(log_p), r * (count_weight / sd), tail) * sd
            step = max(_COUNT_STEP * sd, (top + reach * sd) / _MOST_COUNTS)
            y = np.arange(math.floor(-reach * sd / step) - 1, math.ceil(top / step) + 2) * step
            variance = sd**2 - (_COUNT_SHAKE * step) ** 2
            log_w = log_p[:, None] - 0.5 * (y - count_weight * r[:, None]) ** 2 / variance
            weights = np.exp(log_w) * (step / math.sqrt(2.0 * math.pi * variance))
        return cls(sd, bound, weights, symmetric, -high if symmetric else -reach * sd, high, left_out)

    def with_count_cells(self, count_weight: float) -> Self:
        """Return the law with a count κr + N(0, σ²) beside the value that tells only which cell of .1σ it lies in."""
        from hedgerow.special import ndtr

        r = np.arange(self.weights.shape[0])
        shift = r * (count_weight / self.sd)
        ends = np.arange(-_TOLD_REACH, shift[-1] + _TOLD_REACH, _TOLD)[:, None] - shift
        side = np.where(ends[1:] > 0.0, -1.0, 1.0)
        inside = np.abs(np.asarray(ndtr(side * ends[1:]) - ndtr(side * ends[:-1])))
        return replace(self, weights=self.weights * inside.T)

    def rounding(self) -> float:
        """Return an upper bound of the relative error of a mass and of the absolute error of a loss.

        Exponents that matter are below the cap on losses; each inherits the rounding of x/σ up to 40 sd away.
        """
        largest = LOSS_CAP + 100.0 + 40.0 * self.high / self.sd + float(self.weights.shape[0])
        return 1e-12 + 4.0 * _UNIT * largest

    def log_p(self, x: Array) -> Array:
        """Return log p at (x, y), shape (x, y)."""
        mixed, scale = self._mixture(x)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(mixed) + scale[:, None], dtype=np.float64)

    def p(self, x: Array) -> Array:
        """Return the density p at (x, y), shape (x, y)."""
        mixed, scale = self._mixture(x)
        return np.asarray(mixed * np.exp(scale)[:, None], dtype=np.float64)

    def _mixture(self, x: Array) -> tuple[Array, Array]:
        """P as (sums of order 1) · e^scale, so that far tails keep their logarithm."""
        r = np.arange(self.weights.shape[0])
        exponent = -0.5 * ((x[:, None] - r * self.bound) / self.sd) ** 2
        top = exponent.max(axis=1)
        mixed = np.exp(exponent - top[:, None]) @ self.weights
        return mixed, top - math.log(self.sd * math.sqrt(2.0 * math.pi))

    def _log_centre(self, x: Array) -> Array:
        """Log N(x; 0, σ²), the q of a one-sided pair, shape (x, 1)."""
        return np.asarray((-0.5 * (x / self.sd) ** 2 - math.log(self.sd * math.sqrt(2.0 * math.pi)))[:, None])

    def losses(self, x: Array) -> Array:
        """Return log p/q at (x, y), nan where both underflow; `x` must be its own mirror if the pair is symmetric."""
        log_p = self.log_p(x)
        with np.errstate(invalid="ignore"):
            return np.asarray(log_p - (log_p[::-1] if self.symmetric else self._log_centre(x)))

    def edges(self, step: float | None) -> tuple[Array, float]:
        """Return ends of cells on which the loss rises by about `step` at most, and that step (chosen if None)."""
        points = max(400, 2 * math.ceil((self.high - self.low) / (0.2 * self.sd)))
        coarse = np.linspace(self.low, self.high, points + 1)
        width = coarse[1] - coarse[0]
        losses, log_p = self.losses(coarse), self.log_p(coarse)
        with np.errstate(invalid="ignore"):
            largest = np.fmax(log_p, log_p - losses) + math.log(self.sd)
        matters = (largest > math.log(self.left_out) - 7.0) & (np.abs(losses) <= LOSS_CAP)
        rise = np.zeros((points, losses.shape[1]))
        np.subtract(losses[1:], losses[:-1], out=rise, where=matters[1:] & matters[:-1])
        fastest = rise.max(axis=1)
        if step is None:
            step = float(max(fastest.sum() / 1500.0, 1e-12))
        cells = np.concatenate([[0.0], np.cumsum(np.maximum(fastest / step, width / (_WIDEST_CELL * self.sd)))])
        if not self.symmetric:
            return np.interp(np.linspace(0.0, cells[-1], math.ceil(cells[-1]) + 1), cells, coarse), step
        cells, coarse = cells[points // 2 :] - cells[points // 2], coarse[points // 2 :]
        right = np.interp(np.linspace(0.0, cells[-1], math.ceil(cells[-1]) + 1), cells, coarse)
        return np.concatenate([-right[:0:-1], [0.0], right[1:]]), step

    def slices(self, cells: int) -> Iterator[Self]:
        """Yield the law for a few values of the count at a time, so that `cells` of each fit in memory."""
        columns = max(1, _MOST_OUTCOMES // cells)
        for first in range(0, self.weights.shape[1], columns):
            yield replace(self, weights=self.weights[:, first : first + columns])

    def cell_masses(self, edges: Array) -> tuple[Array, Array]:
        """Return the masses of the cells under p and under q, each of shape (cell, y), by Gauss–Legendre."""
        centre, half = 0.5 * (edges[1:] + edges[:-1]), 0.5 * np.diff(edges)
        p = np.zeros((centre.size, self.weights.shape[1]))
        q = np.zeros((centre.size, 1))
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            at, share = centre + node * half, (weight * half)[:, None]
            p += share * self.p(at)
            if not self.symmetric:
                q += share * np.exp(self._log_centre(at))
        return p, p[::-1] if self.symmetric else q


def _upper_end(p: Array, shifts: Array, tail: float) -> float:
    """Return t, in sd, with Σ p_r Φ(shift_r − t) ≤ `tail`."""
    from hedgerow.special import ndtr

    low, high = 0.0, float(shifts[-1]) + 40.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if float(p @ ndtr(shifts - middle)) <= tail else (middle, high)
    return high
