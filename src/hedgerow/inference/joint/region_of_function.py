"""The ends of {h(T) : (T̂ − T)'W⁻¹(T̂ − T) ≤ c²}: the values of a function over the totals that a release allows.

With W = LL' and T = T̂ + Lu the totals are a ball |u| ≤ c, on which h is made as large and as small as it gets. Where h
is nearly its tangent, the fixed point of u ← c·L'∇h/|L'∇h| is there after a few steps. Elsewhere each step takes the
largest value over the whole ball of the second-order model of h at u, which is found exactly (Moré & Sorensen 1983),
from several starts: an extremum inside the ball is an end, and of two hills the higher one is.

*The critical value.* A level set that is curved lies nearer to the truth on one side than a flat one. At the point
where it touches the ball, let K be the largest curvature |κ| of the level set in coordinates u and r one more than
the directions in which it is curved (`_curvature`). Then

    P(| |N_r + e/K| − 1/K | ≤ c) = level

is the level of the distance to a sphere of radius 1/K, with N_r of r independent normal numbers and e a unit vector.
For K = 0 it is that of one normal number, at an extremum in r directions (K → ∞) that of √χ²_r (the geometry of Andrews
& Mikusheva 2016, Econometrica 84). The ball grows by c over the normal critical value until the point stays.

*Poles.* Where h jumps from one infinity to the other inside the ball, anything possible is its interval; where h is not
defined on the way, its range ends the interval. An end that has not moved from the estimate although h has a slope
there is a failed search, and becomes what is possible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.interval import normal_quantile
from hedgerow.inference.joint.functions import FunctionOfTotals, Numbers, gradient, value_of
from hedgerow.inference.joint.totals import SideBySide

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Radii = Callable[[SideBySide, Floats], tuple[Floats, Floats, Floats]]
_CLIMBS = 40
_ENOUGH = 1e-6  # of a standard error
_BENT = 0.15  # relative change of the slopes from which a function is searched over the whole ball
_UNMOVED = 1e-6
_IMAGINARY = 1e-30
_STEP = 0.02  # of a standard error: for second derivatives
_ROUNDS, _SAME = 8, 0.003
_SEARCHES, _HALVINGS = 30, 9
_CRITICAL_HALVINGS = 18
_NEWTON_STEPS, _TINY = 40, 2.0**-50
_POINTS = 13
_AT_ONCE = 4096  # rows of which a function is computed at once
_FORESEEN = 0.02  # of the gain that a model of second order tells


@dataclass(frozen=True, eq=False)
class Ball:
    """A function over the ellipsoids of rows, in coordinates u: T = T̂ + Lu."""

    function: FunctionOfTotals
    centre: Floats
    axes: Floats

    @classmethod
    def of(cls, function: FunctionOfTotals, cells: SideBySide) -> Ball:
        """Return the ball of W, the sum of the noise covariance and of what is positive of the sampling covariance."""
        public = [place.start for block, place in zip(cells.blocks, cells.places, strict=True) if block.count_is_public]
        known = np.delete(np.arange(cells.totals.shape[1]), public)
        inside = (slice(None), known[:, None], known)
        spread, vectors = np.linalg.eigh(_likely(covariance_of_totals(function, cells), cells)[inside])
        positive = (vectors * np.maximum(spread, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1)
        spread, vectors = np.linalg.eigh(positive + cells.noise[inside[1:]])
        axes = np.zeros((*cells.totals.shape, len(known)))
        axes[:, known] = vectors * np.sqrt(np.maximum(spread, 0.0))[:, None, :]
        return cls(function, cells.totals, axes)

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return int(self.axes.shape[2])

    def rows(self, index: NDArray[np.intp]) -> Ball:
        """Return the balls of some of the rows, which may be named more than once."""
        return Ball(self.function, self.centre[index], self.axes[index])

    def totals(self, u: Floats) -> Floats:
        """Return T of each row."""
        return np.asarray(self.centre + np.einsum("rij,rj->ri", self.axes, u))

    def along(self, u: Floats, direction: Floats) -> tuple[Floats, Floats]:
        """Return the value at u and the slope in a direction of u."""
        step = np.einsum("rij,rj->ri", self.axes, direction)
        with np.errstate(all="ignore"):
            value = self.function(self.totals(u) + 1j * _IMAGINARY * step)
        return value.real, value.imag / _IMAGINARY

    def pulled(self, slopes: Floats) -> Floats:
        """Return slopes of the totals as slopes of u."""
        return np.asarray(np.einsum("rij,ri->rj", self.axes, slopes))

    def slopes(self, u: Floats) -> Floats:
        """Return the gradient in u."""
        return self.pulled(gradient(self.function, self.totals(u)))

    def bends(self, u: Floats) -> Floats:
        """Return the second derivatives in u: differences of slopes by a complex step."""
        rows, unit, bends = len(u), np.eye(self.size), np.empty((len(u), self.size, self.size))
        first, second = np.triu_indices(self.size)
        most = max(1, _AT_ONCE // max(1, rows))
        for start in range(0, len(first), most):
            i, j = first[start : start + most], second[start : start + most]
            at, step, along = np.tile(u, (len(i), 1)), *(np.repeat(unit[axis], rows, axis=0) for axis in (i, j))
            ball, moved = self.rows(np.tile(np.arange(rows), 2 * len(i))), [at + _STEP * step, at - _STEP * step]
            slopes = ball.along(np.concatenate(moved), np.tile(along, (2, 1)))[1]
            above, below = slopes.reshape(2, len(i), rows)
            bends[:, i, j] = bends[:, j, i] = ((above - below) / (2.0 * _STEP)).T
        return bends


def _likely(covariance: Floats, cells: SideBySide) -> Floats:
    """Return a sampling covariance without what its noise makes of it: each entry by the share that stands clear."""
    noise = np.zeros(covariance.shape[1:])
    for block, place in zip(cells.blocks, cells.places, strict=True):
        rows, columns = (place.start + 1 + index for index in np.triu_indices(block.features))
        # The products come behind the totals, the upper triangle by rows.
        of_products = np.square(block.mixing[1 + block.features :]).sum(axis=1)
        noise[rows, columns] = noise[columns, rows] = of_products
    diagonal = np.sqrt(np.maximum(np.einsum("rii->ri", covariance), 0.0))
    kept = np.maximum(1.0 - noise / np.maximum(np.square(covariance), np.finfo(float).tiny), 0.0)
    most = diagonal[:, :, None] * diagonal[:, None, :]
    off = np.clip(covariance * kept, -most, most)
    return np.where(np.eye(covariance.shape[1], dtype=bool), np.square(diagonal)[:, :, None], off)


def covariance_of_totals(function: FunctionOfTotals, cells: SideBySide) -> Floats:
    """Return the sampling covariance of the totals, of a function of means given the counts."""
    return cells.sampling if function.homogeneous else cells.sampling + cells.counting


def curved_critical_value(curvature: Floats, size: Floats, freedom: Floats, level: float) -> tuple[Floats, Floats]:
    """Return c with P(| |N_r + e/K| − 1/K | ≤ c) = level, and how far that is from one normal number to √χ²_r.

    It is at least that of one normal number.

    Where W is an estimate with ν degrees of freedom, the region is widest where W is too small: in r directions c² is
    larger by what Hotelling's T² with ν has over χ²_r, less what Student's t² has over χ²_1, as r directions count.

    >>> exact = np.full(3, np.inf)
    >>> sharp, _ = curved_critical_value(np.array([0.0, 2.0, 1e6]), np.array([3.0, 3.0, 3.0]), exact, 0.95)
    >>> sharp.round(3).tolist()  # of one normal number, in between, and of the root of a χ² with 3 degrees of freedom
    [1.96, 2.407, 2.795]
    """
    from hedgerow.special import chdtri, chndtr, fdtri

    z = normal_quantile(level)
    most = np.sqrt(chdtri(size, 1.0 - level))
    critical = np.full_like(curvature, z)

    def inside(rows: NDArray[np.intp], reach: Floats) -> Floats:
        away = 1.0 / np.clip(curvature[rows], 1e-3, 1e4)
        outer = chndtr(np.square(away + reach), size[rows], away**2)
        return np.asarray(outer - chndtr(np.square(np.maximum(away - reach, 0.0)), size[rows], away**2))

    rows = np.flatnonzero(curvature * size > _BENT)
    rows = rows[inside(rows, critical[rows]) < level]
    low, high = critical[rows], np.maximum(most[rows], z) + 0.5 * np.minimum(curvature[rows], 1.0) * size[rows]
    for _ in range(_CRITICAL_HALVINGS):
        middle = 0.5 * (low + high)
        few = inside(rows, middle) < level
        low, high = np.where(few, middle, low), np.where(few, high, middle)
    critical[rows] = high
    counted = np.clip((critical - z) / np.maximum(most - z, 1e-9), 0.0, 1.0)
    nu = np.clip(freedom, size + 2.0, 1e9)
    several = size * nu / (nu - size + 1.0) * fdtri(size, nu - size + 1.0, level) / most**2
    wider = np.maximum(several / (fdtri(1.0, nu, level) / z**2) - 1.0, 0.0)
    return critical * np.sqrt(1.0 + counted * wider), counted


def ends(
    function: FunctionOfTotals, cells: SideBySide, slopes: Floats, radii: Radii, level: float
) -> tuple[Floats, Floats]:
    """Return the least and the largest value in each row.

    `slopes` are those at the released totals. `radii` gives, for cells and the slopes of a tangent, how many of its
    standard errors the region reaches below and above.
    """
    radius, ball = radii(cells, slopes), Ball.of(function, cells)
    low, low_bent = _climb(ball, cells, slopes, -radius[0])
    high, high_bent = _climb(ball, cells, slopes, radius[1])
    bent = low_bent | high_bent | ~(bend(ball) < _BENT)
    if bent.any():
        index = np.flatnonzero(bent)
        search = _Search(ball, cells, radii, level).rows(index)
        low[index], low_sure = search.end(-1.0, radius[0][index])
        high[index], high_sure = search.end(1.0, radius[1][index])
        other = np.flatnonzero(~(low_sure & high_sure))
        poles = index[other[search.rows(other).has_pole(np.maximum(radius[0], radius[1])[index[other]])]]
        low[poles], high[poles] = function.low, function.high
    return low, high


def bend(ball: Ball) -> Floats:
    """Return K·(r − 1) of the level set through the released totals: 0 of a linear function."""
    at = np.zeros((len(ball.centre), ball.size))
    curvature, directions = _curvature(ball.slopes(at), ball.bends(at))
    return curvature * directions


def _climb(ball: Ball, cells: SideBySide, slopes: Floats, radius: Floats) -> tuple[Floats, Flags]:
    """Return h at the fixed point of T ← T̂ + radius·W∇h(T)/√(∇h'W∇h), and where h is too far from its tangent there."""
    function = ball.function
    covariance, sign = covariance_of_totals(function, cells), np.sign(radius)
    first, at, best = slopes, cells.totals, value_of(function, cells.totals)
    bent = ~np.isfinite(best)
    climbing, enough = ~bent, np.zeros_like(best)  # each row by itself: its interval does not depend on other rows
    for climb in range(_CLIMBS):
        moved = np.einsum("rij,rj->ri", covariance, slopes)
        sampled = np.einsum("ri,ri->r", slopes, moved) > 0.0
        moved = np.where(sampled[:, None], moved, 0.0) + np.einsum("rj,ij->ri", slopes, cells.noise)
        size = np.sqrt(np.maximum(np.einsum("ri,ri->r", slopes, moved), 0.0))
        enough = enough if climb else _ENOUGH * size
        new = cells.totals + moved * (radius / np.where(size > 0.0, size, np.inf))[:, None]
        at = np.where(climbing[:, None], new, at)
        gained = np.where(climbing, sign * (value_of(function, at) - best), 0.0)
        slopes = gradient(function, at)
        bent |= climbing & ~(np.isfinite(gained) & np.isfinite(slopes).all(axis=1))
        best = np.where((gained > 0.0) & ~bent, best + sign * gained, best)
        climbing &= ~bent & ((gained > enough) | (climb == 0))
        if not climbing.any():
            break
        slopes = np.where(bent[:, None], 0.0, slopes)
    change, whole = (np.linalg.norm(ball.pulled(part), axis=1) for part in (slopes - first, first))
    return best, bent | climbing | ~(change <= _BENT * whole)


def _curvature(slopes: Floats, bends: Floats) -> tuple[Floats, Floats]:
    """Return the largest curvature K of the level set through a point, and r − 1: in how many directions it is curved.

    A direction counts by κ/K, or by κ where that is more, at most 1; the sign of more weight counts.
    """
    size = np.linalg.norm(slopes, axis=1)
    normal = slopes / np.where(size > 0.0, size, 1.0)[:, None]
    tangent = np.eye(slopes.shape[1]) - normal[:, :, None] * normal[:, None, :]
    finite = np.isfinite(bends).all(axis=(1, 2)) & np.isfinite(size)
    flat = np.where(finite[:, None, None], tangent @ np.where(finite[:, None, None], bends, 0.0) @ tangent, 0.0)
    kappa = np.linalg.eigvalsh(flat) / np.where(size > 0.0, size, np.finfo(float).tiny)[:, None]
    curvature = np.abs(kappa).max(axis=1, initial=0.0)
    counted = np.minimum(np.abs(kappa) / np.clip(curvature, np.finfo(float).tiny, 1.0)[:, None], 1.0)
    directions = np.maximum(*(np.where(sign * kappa > 0.0, counted, 0.0).sum(axis=1) for sign in (1.0, -1.0)))
    return np.where(finite, curvature, np.inf), np.where(finite, directions, 1.0)


def _top(slopes: Floats, bends: Floats, radius: Floats) -> Floats:
    """Return the u of |u| ≤ radius where slopes·u + u'Bu/2 is largest: (μ − B)u = slopes, μ by Newton's method."""
    spread, axes = np.linalg.eigh(bends)
    parts = np.einsum("rji,rj->ri", axes, slopes)
    # Of (μ − B)u = slopes with μ = λ + ν, λ ≥ 0 the strongest bend.
    below = np.maximum(spread[:, -1:], 0.0) - spread
    size_of_slopes = np.linalg.norm(parts, axis=1)
    # No part alone may be longer than the radius; where ν = 0, the bends alone hold u back.
    nu = np.maximum((np.abs(parts) / radius[:, None] - below).max(axis=1), size_of_slopes / radius * _TINY + 1e-300)
    moving = np.ones(len(nu), dtype=bool)  # each row by itself: it does not depend on other rows
    for _ in range(_NEWTON_STEPS):
        divisor = nu[:, None] + below
        squares = np.square(parts / divisor)
        square = np.add.reduce(squares, axis=1)
        steep = np.add.reduce(squares / divisor, axis=1)
        # 1/|u| is concave in ν: each step stays below the root.
        step = (np.sqrt(square) / radius - 1.0) * square / np.where(steep > 0.0, steep, 1.0)
        moving &= step > _TINY * nu
        if not moving.any():
            break
        nu = np.where(moving, nu + step, nu)
    u = parts / (nu[:, None] + below)
    size = np.linalg.norm(u, axis=1)
    u *= np.where(size > radius, radius / np.where(size > 0.0, size, 1.0), 1.0)[:, None]
    rest = radius**2 - np.einsum("ri,ri->r", u, u)
    # Along the strongest bend nothing may hold u back: then any of two points of the boundary is the top.
    up = (spread[:, -1] > 0.0) & (rest > 0.0)
    last = np.sqrt(u[:, -1] ** 2 + np.where(up, rest, 0.0))
    u[:, -1] = np.where(up, np.copysign(last, u[:, -1]), u[:, -1])
    return np.asarray(np.einsum("rij,rj->ri", axes, u))


@dataclass(frozen=True, eq=False)
class _Search:
    """The search of ends over the balls of rows where the function is far from its tangent."""

    ball: Ball
    cells: SideBySide
    radii: Radii
    level: float

    def rows(self, index: NDArray[np.intp]) -> _Search:
        """Return the search of some of the rows."""
        return replace(self, ball=self.ball.rows(index), cells=self.cells.rows(index))

    def end(self, sign: float, radius: Floats) -> tuple[Floats, Flags]:
        """Return the largest (sign 1) or least (−1) value in each row, and where h is its second-order model."""
        ball, limit = self.ball, self.ball.function.high if sign > 0.0 else self.ball.function.low
        at = np.zeros((len(radius), ball.size))
        gradient_at, before = gradient(ball.function, ball.centre), value_of(ball.function, ball.centre)
        begun = ball.slopes(at)
        starts = self._starts(sign, begun)
        critical, value, lost = radius * self._narrower(gradient_at), before.copy(), np.zeros(len(radius), dtype=bool)
        here = np.arange(len(radius))  # each row by itself: its interval does not depend on other rows
        earlier = np.full((2, len(radius)), np.nan)
        sure = np.ones(len(radius), dtype=bool)
        for _ in range(_ROUNDS):
            some = self.rows(here)
            u, value[here], lost[here], foreseen = some._best(sign, critical[here], starts[:1])
            sure[here] &= foreseen & ~lost[here]
            rest = np.flatnonzero(~sure[here])
            if len(rest):
                others = [start[rest] for start in starts]
                u[rest], value[here[rest]], lost[here[rest]], _ = some.rows(rest)._best(
                    sign, critical[here[rest]], others
                )
            size = np.linalg.norm(u, axis=1)
            touching = (size > critical[here] * (1.0 - 1e-6)) & ~lost[here]
            wanted = np.where(touching, some._critical(sign, u), critical[here])
            moved = ~(np.abs(wanted - critical[here]) <= _SAME * critical[here])
            starts = [starts[0][moved], (u / np.maximum(size, 1e-300)[:, None])[moved]]
            # To where a line through the last two rounds meets itself.
            pace = (wanted - earlier[1]) / (critical[here] - earlier[0])
            pace = np.where(np.isfinite(pace), np.clip(pace, -1.0, 0.8), 0.0)
            earlier = np.stack([critical[here], wanted])[:, moved]
            critical[here] += (wanted - critical[here]) / (1.0 - pace)
            here = here[moved]
            if not len(here):
                break
        steep = np.linalg.norm(begun, axis=1) * critical
        lost |= ~np.isfinite(value) | ~(sign * (value - before) > _UNMOVED * steep) & (steep > 0.0)
        return np.where(lost, limit, value + _UNMOVED * (value - before)), sure & ~lost

    def _starts(self, sign: float, slopes: Floats) -> list[Floats]:
        """Return unit vectors to start from: none, up and down the slope, along the strongest bend."""
        middle = np.zeros_like(slopes)
        size = np.linalg.norm(slopes, axis=1, keepdims=True)
        up = slopes / np.where(size > 0.0, size, 1.0)
        bends = np.nan_to_num(sign * self.ball.bends(middle), posinf=0.0, neginf=0.0)
        return [middle, up, -up, np.linalg.eigh(bends)[1][:, :, -1]]

    def _critical(self, sign: float, u: Floats) -> Floats:
        """Return the radius for the tangent where the ball is touched, and for the curvature of the level set there."""
        ball, cells = self.ball, self.cells
        slopes = np.nan_to_num(gradient(ball.function, ball.totals(u)), posinf=0.0, neginf=0.0)
        curvature, directions = _curvature(ball.pulled(slopes), ball.bends(u))
        below, above, freedom = self.radii(cells, slopes)
        curved, counted = curved_critical_value(curvature, 1.0 + directions, freedom, self.level)
        # What moves both ends one way does not move a point: there both ends are as far.
        flat = above if sign > 0.0 else below
        radius = flat + counted * np.maximum(0.5 * (below + above) - flat, 0.0)
        return radius * self._narrower(slopes) * curved / normal_quantile(self.level)

    def _narrower(self, slopes: Floats) -> Floats:
        """Return the standard error of a tangent over that which the ball gives it: at most 1."""
        covariance = covariance_of_totals(self.ball.function, self.cells)
        sampled = np.maximum(np.einsum("ri,rij,rj->r", slopes, covariance, slopes), 0.0)
        size = np.linalg.norm(self.ball.pulled(slopes), axis=1)
        error = np.sqrt(sampled + self.cells.noise_covariance(slopes, slopes))
        return np.where(size > 0.0, error / np.where(size > 0.0, size, 1.0), 1.0)

    def _best(self, sign: float, radius: Floats, starts: list[Floats]) -> tuple[Floats, Floats, Flags, Flags]:
        """Return (u, value, lost, foreseen) of the best of several searches.

        Lost is where the function ends on the way, foreseen where the model at the first start expected the gain.
        """
        rows, many = len(radius), len(starts)
        index = np.tile(np.arange(rows), many)
        ball, wide = self.ball.rows(index), radius[index]
        u = np.concatenate(starts) * wide[:, None]
        best = sign * value_of(ball.function, ball.totals(u))
        searching = np.asarray(np.isfinite(best))
        lost, best = np.zeros(len(u), dtype=bool), np.where(searching, best, -np.inf)
        foreseen = np.zeros(len(u), dtype=bool)
        for search in range(_SEARCHES):
            here = np.flatnonzero(searching)
            if not len(here):
                break
            some = ball.rows(here)
            slopes, bends = sign * some.slopes(u[here]), sign * some.bends(u[here])
            defined = np.asarray(np.isfinite(slopes).all(axis=1) & np.isfinite(bends).all(axis=(1, 2)))
            slopes, bends = np.where(defined[:, None], slopes, 0.0), np.where(defined[:, None, None], bends, 0.0)
            u_here, before = u[here], best[here].copy()
            target = _top(slopes - np.einsum("rij,rj->ri", bends, u_here), bends, wide[here])
            way = target - u_here
            expected = np.einsum("ri,ri->r", way, slopes + 0.5 * np.einsum("rij,rj->ri", bends, way))
            for halving in range(_HALVINGS):
                if halving == 1:  # from here on uphill: bends that turn up are left out
                    spread, axes = np.linalg.eigh(bends)
                    bends = (axes * np.minimum(spread, 0.0)[:, None, :]) @ axes.transpose(0, 2, 1)
                    target = _top(slopes - np.einsum("rij,rj->ri", bends, u_here), bends, wide[here])
                waiting = defined & ~(best[here] > before)
                if not waiting.any():
                    break
                trial = u_here + 0.5 ** max(halving - 1, 0) * (target - u_here)
                value = sign * value_of(some.function, some.totals(trial))
                lost[here] |= waiting & ~np.isfinite(value)
                better = waiting & (value > before)
                u[here[better]], best[here[better]] = trial[better], value[better]
            gained = best[here] - before
            if search == 0:
                foreseen[here] = np.abs(gained - expected) <= _FORESEEN * expected
            enough = _ENOUGH * np.maximum(np.linalg.norm(slopes, axis=1), 1e-300) * wide[here]
            searching[here] = np.asarray(defined & (gained > enough))
        row = np.arange(rows)
        place = row + rows * best.reshape(many, rows).argmax(axis=0)
        return u[place], sign * best[place], lost[row] | lost[place], foreseen[row]

    def has_pole(self, radius: Floats) -> Flags:
        """Return where the function jumps from one infinity to the other on a line through the ball.

        Between two points on either side of a pole it goes against its slopes at both of them.
        """
        ball, poles = self.ball, np.zeros(len(radius), dtype=bool)
        middle = np.zeros((len(radius), ball.size))
        of_divisors = []
        for place in range(len(ball.function.divisors(ball.centre[:1]))):

            def divisor(totals: Numbers, place: int = place) -> Numbers:
                return ball.function.divisors(totals)[place]

            of_divisors.append(ball.pulled(gradient(divisor, ball.centre)))
        bends = np.linalg.eigh(np.nan_to_num(ball.bends(middle), posinf=0.0, neginf=0.0))[1]
        lines = [ball.slopes(middle), *of_divisors, bends[:, :, 0], bends[:, :, -1], *np.swapaxes(ball.axes, 0, 1)]
        places = np.linspace(-1.0, 1.0, _POINTS)[:, None] * radius
        for line in lines:
            size = np.linalg.norm(np.nan_to_num(line), axis=1, keepdims=True)
            unit = np.nan_to_num(line) / np.where(size > 0.0, size, 1.0)
            values, slopes = zip(*(ball.along(place[:, None] * unit, unit) for place in places), strict=True)
            rise, slope = np.diff(values, axis=0), np.sign(slopes)
            poles |= ((rise * slope[:-1] < 0.0) & (rise * slope[1:] < 0.0)).any(axis=0)
        return poles
