"""Privacy profiles of the Poisson-resampled Gaussian release, as upper bounds (private_bootstrap.md §2).

One replicate releases Σ_j r_j φ_j + Z with r_j ~ Poisson(λ) and Z ~ N(0, σ²) in each coordinate. Given the other
records only the law of r·φ + Z of one record matters. Three kinds of pair exist; each comes in both orders:

=============  ===============================  ==========================  =====================================
kind           P                                Q                           who needs it
=============  ===============================  ==========================  =====================================
``one-sided``  Σ_r p_r N(rC, σ²)                N(0, σ²)                    add/remove; missing against present
``same-cell``  Σ_r p_r N(r(a, κ), σ²I)          Σ_r p_r N(r(−a, κ), σ²I)    replace-one, the value changes
``across``     one-sided at C, and independently the same reversed          replace-one, the cell changes
=============  ===============================  ==========================  =====================================

a is the bound on |φ| of the value (R/2 after centring at the midpoint), κ the weight of a count released beside it and
C = √(a² + κ²). In each pair log dP/dQ is monotone in the first coordinate, so outcomes are cut into cells between whose
ends the loss is known, and `Outcomes.spread` keeps every δ(ε) an upper bound.

What a discrete Gaussian on a lattice costs follows from the continuous one by post-processing: see `priced_noise_sd`.

The pair of replace-one that was scanned, not proven
----------------------------------------------------
For values v, w in [−a, a] the pair (a, −a) dominates (v, w): proven for opposite signs, and for equal signs
0 ≤ w < v in the order P_v‖P_w (private_bootstrap.md §2). The order P_w‖P_v at ε > 0 was scanned over the ranges below,
and parameters outside them are refused. Add/remove needs no scan.

Scanned (largest ratio δ(P_w‖P_v)/δ_end over 11 values and 40 ε, wherever δ_end > 1e-14): σ/R in {.1, .15, .2, .3, .5,
.7, 1, 2, 3, 7, 20, 70, 200, 700, 2000} × λ in {.1, .2, .5, 1, 2, 3.5, 5}. It is .998 at σ/R = .1, λ = 5, falls with σ
and rises with λ: at λ = 1 .990 (.1), .736 (.3), .586 (.7), .515 (2), .500 from 20 on. With a count beside the value
(κ/a in {.25, .5, 1, 2, 4}, σ/R in {.1, .3, 1, 5, 50, 2000}, λ in {.1, 1, 5}, 5 values, 12 ε) at most .9996. The
largest ratio always lies at w = 0 and ε → 0, which is proven.

What is proven of P_w‖P_v: wherever the best event is a lower tail, P_w(x ≤ t) ≤ P_0(x ≤ t) and P_v(x ≤ t) ≥
P_a(x ≤ t) give δ(P_w‖P_v) ≤ δ(P_0‖P_a) ≤ δ_end. The scan covers the events that are not tails.

The law of one record's part in one replicate, r·φ + Z, cut into cells on which the privacy loss is known.

`mixture` says which two laws form a pair and why that pair is enough; here they are evaluated: truncated with every
tail accounted for, in logarithms, for all values of a noisy count at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.loss_fold import composed_curve
from hedgerow.accounting.loss_grid import LOSS_CAP, Curve, LossGrid, Outcomes, highest, joined
from hedgerow.accounting.lower_bounds import ExactLaw, ExactPair
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import positive_number
from hedgerow.facts.validation import format_argument

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
_WITHOUT_THREADS = 250_000  # multiplications of a product of matrices for which OpenBLAS starts no thread
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
        mixed = _times(np.exp(exponent - top[:, None]), self.weights)
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


def _times(left: Array, right: Array) -> Array:
    """Return the product of two matrices, without the threads of linear algebra: here they cost more than they give."""
    if right.shape[1] == 1:
        return np.asarray(np.einsum("xr,ry->xy", left, right))
    rows = max(1, _WITHOUT_THREADS // right.size)
    blocks = [left[first : first + rows] @ right for first in range(0, left.shape[0], rows)]
    return np.concatenate(blocks)


def _upper_end(p: Array, shifts: Array, tail: float) -> float:
    """Return t, in sd, with Σ p_r Φ(shift_r − t) ≤ `tail`."""
    from hedgerow.special import ndtr

    low, high = 0.0, float(shifts[-1]) + 40.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if float(p @ ndtr(shifts - middle)) <= tail else (middle, high)
    return high


_TAIL = 2e-20  # P-mass that all replicates together may leave out, five orders under the least δ of a budget
_LEAST, _MOST_STEPS = 1e-30, 8000  # of a lower bound: mass that it leaves out; steps of loss on either side of 0
_SHAKE = 2.0  # width, in lattice steps, of the randomised rounding that turns a continuous release into a lattice one
# Of ε, in sd of the loss, spent on the grid; rough with a count, where the plane of outcomes is larger, and for a pair
# whose μ is far below the largest.
_TOLERANCE, _ROUGH_TOLERANCE = 4e-5, 4e-4
NEAR = 0.9
"""Of the largest μ of the pairs of a release: a pair below it is bounded roughly, and no lower bound looks at it."""
_FEW = 40  # values of the count

PRICED_NOISE = (0.02, 1e9)
"""σ/bound that is priced at all: below, every loss exceeds the cap; above, rounding exceeds the loss."""
PRICED_RATE = (0.0, 100.0)
"""λ that is priced at all."""
SCANNED_NOISE = (0.1, 2000.0)
"""σ/R, R = 2a: less noise protects nobody, more was not looked at."""
SCANNED_RATE = (0.1, 5.0)
"""λ: the Poisson rate of the weights."""
SCANNED_COUNT_WEIGHT = (0.0, 4.0)
"""κ/a: the weight of a count beside the value; the average over the count is scanned as a whole."""


class PairKind(StrEnum):
    """Which two neighbours: see the table at the top of the module."""

    ONE_SIDED = "one-sided"
    SAME_CELL = "same-cell"
    ACROSS = "across"


@dataclass(frozen=True, slots=True)
class MixturePair:
    r"""One kind of neighbour of a resampled release, both orders.

    Attributes
    ----------
    kind : PairKind
        Which pair.
    noise_sd : float
        σ, one replicate's, continuous (see `priced_noise_sd`).
    bound : float
        C for ``one-sided`` and ``across``; a for ``same-cell``, in the unit of `noise_sd`.
    rate : float
        λ, the Poisson rate of the weights.
    count_weight : float
        κ of ``same-cell``; 0 where no count is released beside the value.
    """

    kind: PairKind
    noise_sd: float
    bound: float
    rate: float = 1.0
    count_weight: float = 0.0

    def __post_init__(self) -> None:
        for name in ("noise_sd", "bound", "rate"):
            object.__setattr__(self, name, positive_number(name, getattr(self, name)))
        if not 0.0 <= self.count_weight < math.inf:
            raise ParameterError(
                "HG101",
                rule="`count_weight` must be 0 or a positive, finite number.",
                finding=f"Found {format_argument(self.count_weight)}.",
                remedy="For the mean of each group, the default weight of the count is 1.0.",
            )
        _require(PRICED_NOISE[0] <= self.noise_sd / self.bound <= PRICED_NOISE[1], "noise_sd / bound", PRICED_NOISE)
        _require(self.rate <= PRICED_RATE[1], "rate", PRICED_RATE)


def _require(holds: bool, name: str, interval: tuple[float, float]) -> None:
    if not holds:
        raise UncertifiedError(
            "HG403",
            rule=f"A resampled release is priced for {name} from {interval[0]:g} to {interval[1]:g}.",
            finding="The given value lies outside the range of the rule.",
            remedy="Below the priced range, no ε under 600 would hold. Above the priced range, the price is lost in "
            "rounding or takes too long to compute.",
        )


@dataclass(frozen=True, slots=True)
class ResampledPair(ExactLaw):
    """One replicate of a pair, in one order, cut into cells of exact masses: what it costs at least.

    `pair` is one-sided or of the same cell; a pair across cells is two one-sided ones. A count beside the value is
    told up to a tenth of its noise, which is post-processing.

    >>> p, q = ResampledPair(MixturePair(PairKind.SAME_CELL, noise_sd=1.0, bound=0.5)).cells(0.01)
    >>> bool(0.999999 < p.sum() <= 1.0)
    True
    """

    pair: MixturePair
    reversed: bool = False
    smooth: ClassVar[bool] = True

    @property
    def largest(self) -> float:
        """Infinite: the tail of a Poisson law beats every Gaussian."""
        return math.inf

    def cells(self, step: float) -> tuple[Array, Array]:
        """Return the masses of cells between whose ends the loss rises by `step`."""
        law = self._law()
        p, q = law.cell_masses(self._edges(law, step))
        q = np.broadcast_to(q, p.shape)
        p, q = (q, p) if self.reversed else (p, q)
        # Of the mass that was left out of q nothing is known but how much there is.
        return np.asarray(p * (1.0 - law.rounding())).ravel(), (q * (1.0 + law.rounding()) + law.left_out).ravel()

    def _law(self) -> ResampledLaw:
        symmetric = self.pair.kind is PairKind.SAME_CELL
        law = ResampledLaw.of(
            sd=self.pair.noise_sd, bound=self.pair.bound, rate=self.pair.rate, symmetric=symmetric, left_out=_LEAST
        )
        return law.with_count_cells(self.pair.count_weight) if self.pair.count_weight else law

    def _edges(self, law: ResampledLaw, step: float) -> Array:
        coarse, _ = law.edges(None)
        if law.weights.shape[1] > 1:
            return coarse
        losses = law.losses(coarse)[:, 0]
        known = np.isfinite(losses)
        coarse, losses = coarse[known], np.maximum.accumulate(losses[known])
        ends = math.ceil(losses[0] / step), math.floor(losses[-1] / step)
        at = np.arange(max(ends[0], -_MOST_STEPS), min(ends[1], _MOST_STEPS) + 1) * step
        edges = np.union1d(coarse, np.interp(at, losses, coarse))
        if not law.symmetric:
            return edges
        right = edges[edges > 0.0]
        return np.concatenate([-right[::-1], [0.0], right])


def exact_pairs(pair: MixturePair, times: int) -> tuple[ExactPair, ...]:
    """Return `times` replicates of a pair in each of its orders."""
    if pair.kind is PairKind.SAME_CELL:
        return (((ResampledPair(pair), times),),)
    one_sided = replace(pair, kind=PairKind.ONE_SIDED)
    forward, backward = (ResampledPair(one_sided), times), (ResampledPair(one_sided, reversed=True), times)
    return ((forward, backward),) if pair.kind is PairKind.ACROSS else ((forward,), (backward,))


def nearly_mu(pair: MixturePair, times: int) -> float:
    """Return √k times what one replicate moves over its spread, Poisson draws included: near a price, not a bound.

    >>> round(nearly_mu(MixturePair(PairKind.SAME_CELL, noise_sd=1000**0.5, bound=0.5), 1000), 2)
    1.0
    """
    moved = {PairKind.ONE_SIDED: 1.0, PairKind.SAME_CELL: 2.0, PairKind.ACROSS: math.sqrt(2.0)}[pair.kind] * pair.bound
    return pair.rate * moved * math.sqrt(times / (pair.noise_sd**2 + pair.rate * pair.bound**2))


def priced_noise_sd(noise_sd: float, *, lattice_steps: float) -> float:
    r"""Return the sd S' = S√(1 − (2/S)²) of continuous noise that protects no better than the lattice noise.

    Let X ~ N(v, S² − w²), v an integer, w = 2, and round X at random to an integer z with weights ∝ e^{−(z−X)²/2w²}.
    By Poisson summation Σ_z e^{−(z−x)²/2w²} = √(2π)·w·(1 + 2Σ_{m≥1} e^{−2π²w²m²} cos 2πmx) for every real x, so the
    result has, up to a factor 1 ± η with η ≤ 4e^{−2π²w²} = 3e-34, the discrete Gaussian law of centre v and parameter
    S. The rounding knows nothing of v: it is post-processing, coordinate by coordinate (each with its own S), and so
    it is for every mixture over integer v. k replicates of d coordinates shift ε by at most 2kdη(1 + η), which the
    rounding allowance of `release_curve` (over 1e-12 a replicate) contains.

    Parameters
    ----------
    noise_sd : float
        sd of one replicate's noise, in the data's unit.
    lattice_steps : float
        The same in steps of the lattice, S; for several coordinates, the least.

    Raises
    ------
    UncertifiedError
        HG404: fewer than 8 steps, where the rounding would cost over 3 % of the noise.

    Examples
    --------
    >>> 1.0 - priced_noise_sd(1.0, lattice_steps=1000) < 2.01e-6
    True
    """
    if not lattice_steps >= 4.0 * _SHAKE:
        raise UncertifiedError(
            "HG404",
            rule=f"Noise on a lattice must span at least {4 * _SHAKE:g} of its steps to be priced as continuous.",
            finding=f"Found {format_argument(lattice_steps)}.",
            remedy="Use a finer lattice for the noise, or more noise.",
        )
    return noise_sd * math.sqrt(1.0 - (_SHAKE / lattice_steps) ** 2)


def require_scanned(*, noise_sd: float, bound: float, rate: float, count_weight: float = 0.0) -> None:
    """Refuse a replace-one release outside the scanned ranges.

    Raises
    ------
    UncertifiedError
        HG403, with the quantity that is outside and its range.

    Examples
    --------
    >>> require_scanned(noise_sd=7.0, bound=0.5, rate=1.0)
    """
    # What is declared comes before the noise, which a search may have chosen.
    stated = (
        ("rate", rate, SCANNED_RATE),
        ("noise_sd / range", noise_sd / (2.0 * bound), SCANNED_NOISE),
        ("count_weight / bound", count_weight / bound, SCANNED_COUNT_WEIGHT),
    )
    for name, value, (low, high) in stated:
        if not low * (1.0 - 1e-9) <= value <= high * (1.0 + 1e-9):
            raise UncertifiedError(
                "HG403",
                rule=f"A resampled release under replace-one is certified for {name} from {low:g} to {high:g}.",
                finding=f"Found {value:.6g}.",
                remedy='Use a value in the certified range, the plain Gaussian mechanism, or "add-remove", whose '
                "range is far wider.",
            )


def release_curve(pairs: Sequence[MixturePair], *, n_resamples: int) -> Curve:
    r"""Return an upper bound of the release's δ(ε): the largest, over `pairs`, of the k-fold curves.

    Upper at every step: cells of outcomes are spread, never rounded down (`loss_grid`); Poisson, Gaussian and count
    tails that are left out, k·(≤ 2e-20/k), are mass at +∞; FFT round-off is bounded and added (`loss_fold`); errors of
    the masses shift ε. A release has the same pair in all k replicates, so the maximum is taken after composing; the
    result is symmetric and can be composed with other releases through `Curve.loss_grid`.

    Parameters
    ----------
    pairs : sequence of MixturePair
        The kinds of neighbour whose curves must all be paid.
    n_resamples : int
        k ≥ 1.

    Raises
    ------
    ParameterError
        HG101 where `n_resamples` is not a positive integer.

    Examples
    --------
    A replace-one release of total ρ = ½ with k = 20 (private_bootstrap.md §3 has 4.866):

    >>> pair = MixturePair(PairKind.SAME_CELL, noise_sd=20**0.5, bound=0.5)
    >>> round(release_curve([pair], n_resamples=20).epsilon_upper(1e-6), 2)
    4.87
    """
    if isinstance(n_resamples, bool) or not isinstance(n_resamples, (int, np.integer)) or n_resamples < 1:
        raise ParameterError(
            "HG101", rule="`n_resamples` must be a positive integer.", finding=f"Found {format_argument(n_resamples)}.",
            remedy="Try n_resamples=20.",
        )  # fmt: skip
    near = [nearly_mu(pair, int(n_resamples)) for pair in pairs]
    fine = [mu >= NEAR * max(near) and not pair.count_weight for mu, pair in zip(near, pairs, strict=True)]
    tolerances = [_TOLERANCE if is_fine else _ROUGH_TOLERANCE for is_fine in fine]
    return highest([_pair_curve(pair, int(n_resamples), at) for pair, at in zip(pairs, tolerances, strict=True)])


@lru_cache(maxsize=16)
def _pair_curve(pair: MixturePair, times: int, tolerance: float = _TOLERANCE) -> Curve:
    law = _law(pair, times)
    # To choose a step, some values of the count tell enough.
    rough = _grids(replace(law, weights=law.weights[:, :: max(1, law.weights.shape[1] // _FEW)]), None)
    variances = [times * grid.variance() for grid in rough]
    sd = math.sqrt(sum(variances) if pair.kind is PairKind.ACROSS else max(variances))
    step = step_of(sd, rough, times, tolerance)
    grids = _grids(law, step)
    relative = times * law.rounding()
    if pair.kind is PairKind.ACROSS:
        return Curve(step, composed_curve([(grid, times) for grid in grids], relative=relative))
    return highest([Curve(step, composed_curve([(grid, times)], relative=relative)) for grid in grids])


def step_of(sd: float, rough: Iterable[LossGrid], factors: int, tolerance: float) -> float:
    """Return a width of the grid that costs about `tolerance` of ε, from rough grids of the factors.

    `sd` is that of the loss of all factors. Spreading adds about h²/6 to the variance of a factor and half of it to its
    mean: h²k(1 + 7/sd)/12 in ε for k factors.
    """
    largest = max(float(np.abs(grid.losses()).max()) for grid in rough)
    if not (sd > 0.0 and largest > 0.0):
        return 0.25  # every loss is above the cap, or there is none
    step = min(math.sqrt(12.0 * tolerance * sd / (factors * (1.0 + 7.0 / sd))), 0.25)
    return max(step, 60.0 * sd / 2**20, largest / 2**18)


def _law(pair: MixturePair, times: int) -> ResampledLaw:
    return ResampledLaw.of(
        sd=pair.noise_sd,
        bound=pair.bound,
        rate=pair.rate,
        count_weight=pair.count_weight,
        symmetric=pair.kind is PairKind.SAME_CELL,
        left_out=_TAIL / times,
    )


def _grids(law: ResampledLaw, step: float | None) -> tuple[LossGrid, ...]:
    """One replicate's P‖Q, and Q‖P where it differs; of an across pair these are the two halves."""
    edges, step = law.edges(step)
    cells = edges.size - 1
    negligible = 1e-3 * law.left_out / (cells * law.weights.shape[1])
    forward, backward = [], []
    left_out = law.left_out
    for part in law.slices(cells):
        losses = part.losses(edges)
        low, high = losses[:-1], losses[1:]
        p, q = part.cell_masses(edges)
        forward.append(Outcomes(p, q, low, high).spread(step, infinity=left_out, negligible=negligible))
        if not law.symmetric:  # in a symmetric pair x → −x swaps P and Q
            backward.append(Outcomes(q, p, -high, -low).spread(step, infinity=left_out, negligible=negligible))
        left_out = 0.0
    return tuple(joined(grids) for grids in (forward, backward) if grids)
