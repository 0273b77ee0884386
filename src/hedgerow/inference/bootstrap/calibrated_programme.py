"""The convex programme behind the calibrated interval: the smallest half-width that covers for every ν.

Units: a, the known part of one replicate's variance, is 1 (noise, and for Poisson weights the centre offset). With
ν ≥ 0 the unknown part, λ the rate of the weights and k replicates (private_bootstrap.md §4),

    m* − θ ~ N(0, λν + (1 + ν)/k)   independent of   S ~ (1 + ν) χ²_{k−1}/(k−1).

The interval is m* ± h(S), where h is linear in √S between knots, flat below the first, proportional to √S beyond the
last. Its coverage at each ν,

    C(ν) = E[2 Φ(h(S) / √(λν + (1 + ν)/k)) − 1],

is concave in the heights at the knots, and its mean width is linear in them. So "least mean width relative to the
oracle, with C(ν) ≥ level for every ν" is a convex programme; an interior-point (log-barrier) Newton method solves it
in about a second, from a start that is known to cover: h = t_{k−1} √((λ + 1/k) S), Student's interval of the noisy
spread, to which h returns for large S. Beyond the last ν of the grid only that end matters, and there C(ν) > level.

``python -m hedgerow.inference.bootstrap.calibrated_programme`` writes the table again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Ladder of caps on the variance ratio R = λkν (sampling over privacy variance); beyond the last a cap changes nothing
# that a reader could see.
CAPS = (0.1, 0.2, 0.3, 0.5, 0.8, 1.25, 2.0, 3.2, 5.0, 8.0, 12.5, 20.0, 32.0, 50.0, 80.0)
# Ladder of rates above 1, for totals over cells that share units: without caps.
RATES = (2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0)

_TOP = 400.0  # S from which h is Student's: the noise is then less than 1/800 of the half-width
_TOP_EXCESS = 2.5e-4  # Student's end is wider by this fraction, which keeps C(ν) > level as ν → ∞ despite round-off
_LOWEST_RATIO, _HIGHEST_RATIO = 0.1, 1e4  # the range of R, uniform in log R, over which mean width is least
_GRID_PER_KNOT = 5
_GAP = 2e-5  # duality gap of the mean relative width
_MARGIN = 3e-6  # coverage above the level at every checked ν, for those between them
_SHARE_OF_TAIL = 0.001  # the margin at most, over 1 − level
_HIGHEST_LEVEL = 1.0 - 1e-7  # above, coverage and level differ in too few of their digits


@dataclass(frozen=True, slots=True)
class CriticalCurve:
    """A half-width as a function of S = s²/a, in units of √a.

    Attributes
    ----------
    knots : array
        Knots in √S, rising.
    heights : array
        h at the knots, not falling; linear in √S between, flat below the first, proportional to √S beyond the last.
    ceiling : float
        S above it counts as it: what a cap on ν makes of a large spread. inf without a cap.

    Examples
    --------
    >>> curve = CriticalCurve(np.array([1.0, 2.0]), np.array([1.0, 3.0]), np.inf)
    >>> curve.half_width(np.array([0.0, 2.25, 16.0])).tolist()
    [1.0, 2.0, 6.0]
    """

    knots: Floats
    heights: Floats
    ceiling: float

    def half_width(self, ratio: Floats | float) -> Floats:
        """Return h(S) for each S ≥ 0 of `ratio`."""
        root = np.sqrt(np.minimum(np.asarray(ratio, dtype=np.float64), self.ceiling))
        return np.asarray(np.interp(root, self.knots, self.heights) * np.maximum(root / self.knots[-1], 1.0))


def _chi_square_at(normal: Floats, degrees: int) -> Floats:
    """Map standard normal values to χ²_d/d by Wilson and Hilferty's cube; used to place points, never as a law."""
    spread = 2.0 / (9.0 * degrees)
    return np.asarray(np.maximum(1.0 - spread + normal * math.sqrt(spread), 0.02) ** 3)


def knots(n_resamples: int, *, cap: float = math.inf, rate: float = 1.0) -> tuple[Floats, float]:
    """Return the knots in √S and the ceiling: dense where noise and spread are hard to tell apart."""
    degrees = n_resamples - 1
    low = _chi_square_at(np.array([-2.6, -1.7, -1.0, -0.4, 0.2, 0.8, 1.5]), degrees)
    ceiling = math.inf
    top = _TOP
    if math.isfinite(cap):
        top = ceiling = (1 + cap / (rate * n_resamples)) * float(_chi_square_at(np.array([3.0]), degrees)[0])
    first = float(low[-1]) - 1.0
    steps = max(2, math.ceil(math.log((top - 1.0) / first) / math.log(1.7)))
    high = 1.0 + np.geomspace(first, top - 1.0, steps + 1)[1:]
    return np.sqrt(np.concatenate([low, high])), ceiling


def _nuisances(places: Floats, *, n_resamples: int, cap: float, rate: float, density: int) -> Floats:
    """Return the ν at which coverage is held: `density` of them between each two knots, and far beyond the last."""
    inside = 2 * np.log(places[places > 1])
    corners = np.concatenate([[0.0], inside, inside[-1] + np.array([1.0, 2.0, 4.0, 8.0])])
    steps = np.arange((len(corners) - 1) * density + 1) / density
    nuisance = np.expm1(np.interp(steps, np.arange(len(corners)), corners))
    if math.isfinite(cap):
        highest = cap / (rate * n_resamples)
        nuisance = np.append(nuisance[nuisance < highest], highest)
    return np.asarray(nuisance)


def _chi_square_nodes(degrees: int, nodes: int) -> tuple[Floats, Floats]:
    """Return nodes and weights for expectations over χ²_d/d (trapezium rule in the cube-root scale)."""
    normal = np.linspace(-7.0, 7.0, nodes)
    spread = 2.0 / (9.0 * degrees)
    root = 1.0 - spread + normal * math.sqrt(spread)
    root = root[root > 1e-3]
    value = root**3
    # density of χ²_d/d times dX/d(root) = 3 root²; constants vanish when the weights are made to sum to 1
    exponent = (degrees / 2 - 1) * np.log(value) - degrees * value / 2 + 2 * np.log(root)
    weight = np.exp(exponent - exponent.max())
    return value, weight / weight.sum()


def coverage(
    curve: CriticalCurve, nuisance: Floats, *, n_resamples: int, rate: float = 1.0, nodes: int = 2001
) -> Floats:
    """Return the coverage C(ν) of m* ± h(S) at each ν of `nuisance`, under the model in this module's docstring."""
    from hedgerow.special import erf

    value, weight = _chi_square_nodes(n_resamples - 1, nodes)
    error = np.sqrt(rate * nuisance + (1 + nuisance) / n_resamples)
    half = curve.half_width((1 + nuisance)[:, None] * value[None, :])
    return np.asarray(erf(half / (error[:, None] * math.sqrt(2.0))) @ weight)


@dataclass(frozen=True, slots=True)
class _Programme:
    """The programme on its grid: C_i(g) = Σ_q w_q erf(Σ_j basis_iqj g_j), and width·g to be minimised."""

    basis: Floats  # nuisance × node × knot, h/(√2 error) for unit heights
    weight: Floats
    width: Floats
    rise: Floats  # first row: h at the lowest knot; the others: its rise from knot to knot
    floor: Floats  # what the rows of `rise` must exceed: the privacy noise alone, then 0
    level: float

    def slack(self, heights: Floats) -> Floats:
        from hedgerow.special import erf

        return np.concatenate([erf(self.basis @ heights) @ self.weight - self.level, self.rise @ heights - self.floor])

    def newton(self, heights: Floats, free: NDArray[np.bool_], pull: float) -> tuple[Floats, float]:
        """Return the Newton step of pull·width − Σ log slack over the free heights, and its decrement."""
        argument = self.basis @ heights
        density = self.weight * np.exp(-(argument**2)) * (2 / math.sqrt(math.pi))
        slopes = np.concatenate([np.einsum("iq,iqj->ij", density, self.basis), self.rise])
        inverse = 1 / self.slack(heights)
        gradient = pull * self.width - inverse @ slopes
        bend = (2 * argument * density * inverse[: len(argument), None]).ravel()
        flat = self.basis.reshape(-1, self.basis.shape[2])
        curvature = flat.T @ (flat * bend[:, None]) + (slopes * inverse[:, None] ** 2).T @ slopes
        step = np.zeros_like(heights)
        step[free] = -np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        return step, float(-gradient @ step)


def _assemble(
    places: Floats, ceiling: float, nuisance: Floats, *, n_resamples: int, level: float, rate: float
) -> _Programme:
    from hedgerow.special import erfinv

    value, weight = _chi_square_nodes(n_resamples - 1, 241)
    root = np.sqrt(np.minimum((1 + nuisance)[:, None] * value, ceiling))
    place = np.interp(root, places, np.arange(len(places), dtype=np.float64))
    below = np.minimum(place.astype(np.int64), len(places) - 2)
    part, beyond = place - below, np.maximum(root / places[-1], 1.0)
    basis = np.zeros((*root.shape, len(places)))
    np.put_along_axis(basis, below[..., None], (1 - part)[..., None], axis=2)
    np.put_along_axis(basis, below[..., None] + 1, (part * beyond)[..., None], axis=2)
    # Mean width over the oracle's, √(λν + 1/k), averaged over R = λkν uniform in log R.
    ratios = np.clip(rate * n_resamples * nuisance, _LOWEST_RATIO, _HIGHEST_RATIO)
    share = np.gradient(np.log(ratios)) + (1e-3 if len(ratios) > 1 else 1.0)
    share /= share.sum()
    oracle = np.sqrt(rate * nuisance + 1 / n_resamples)
    width = np.einsum("i,q,iqj->j", share / oracle, weight, basis)
    error = np.sqrt(rate * nuisance + (1 + nuisance) / n_resamples)
    basis /= (error * math.sqrt(2.0))[:, None, None]
    rise = np.diff(np.eye(len(places)), axis=0, prepend=0.0)
    floor = np.zeros(len(places))
    floor[0] = math.sqrt(2 / n_resamples) * float(erfinv(level))
    return _Programme(basis, weight, width, rise, floor, level)


def solve(n_resamples: int, *, level: float, cap: float = math.inf, rate: float = 1.0) -> CriticalCurve:
    """Return the half-width of least mean width whose coverage is at least `level` for every ν ≥ 0 (or R ≤ `cap`).

    Parameters
    ----------
    n_resamples : int
        k ≥ 5. With fewer, Student's end of h dominates and is used as it stands.
    level : float
        Coverage, in (0, 1).
    cap : float
        Public cap on R = λkν, the sampling variance over the privacy variance.
    rate : float
        λ of Poisson weights.

    Notes
    -----
    The curve is checked at the end on a grid four times as dense in ν and eight times in S; where it falls short (by
    less than 10⁻⁴ in practice), all of it is widened until it does not. Where no height passes this check, and for
    levels above 1 − 10⁻⁷, the interval is Student's.
    """
    from hedgerow.special import stdtrit

    # Of the lower tail: above, a level near 1 rounds to 1.
    student = -float(stdtrit(n_resamples - 1, (1 - level) / 2)) * math.sqrt(rate + 1 / n_resamples)
    of_student = CriticalCurve(np.array([0.0, 1.0]), np.array([0.0, student]), math.inf)
    if n_resamples < 5 or level > _HIGHEST_LEVEL:
        return of_student
    places, ceiling = knots(n_resamples, cap=cap, rate=rate)
    heights = student * (1 + _TOP_EXCESS) * places
    nuisance = _nuisances(places, n_resamples=n_resamples, cap=cap, rate=rate, density=_GRID_PER_KNOT)
    programme = _assemble(places, ceiling, nuisance, n_resamples=n_resamples, level=level, rate=rate)
    free = np.ones(len(heights), dtype=bool)
    free[-1] = math.isfinite(cap)
    heights = np.where(free, np.sqrt((1.15 * heights) ** 2 + 1.1 * programme.floor[0] ** 2), heights)
    pull = 1.0
    while True:
        heights = _centre(programme, heights, free, pull)
        if len(programme.slack(heights)) / pull < _GAP:
            break
        pull *= 8
    curve = CriticalCurve(places, heights, ceiling)
    return _widened(curve, n_resamples, level=level, cap=cap, rate=rate) or of_student


def _centre(programme: _Programme, heights: Floats, free: NDArray[np.bool_], pull: float) -> Floats:
    """Run Newton's method on the barrier problem at one pull, staying strictly inside the constraints."""

    def barrier(candidate: Floats) -> float:
        slack = programme.slack(candidate)
        return math.inf if slack.min() <= 0 else float(pull * programme.width @ candidate - np.log(slack).sum())

    for _ in range(60):
        step, decrement = programme.newton(heights, free, pull)
        if decrement < 1e-4:
            break
        # damped as for a self-concordant barrier: a full first step lands so near a constraint that it gets stuck
        length, start = 1.0 / (1.0 + math.sqrt(decrement)) if decrement > 0.25 else 1.0, barrier(heights)
        while barrier(heights + length * step) > start - 0.1 * length * decrement and length > 1e-8:
            length /= 2
        heights = heights + length * step
    return heights


def _widened(curve: CriticalCurve, n_resamples: int, *, level: float, cap: float, rate: float) -> CriticalCurve | None:
    """Return a curve as high as the check of `solve` needs; None where no such height was found."""
    dense = _nuisances(curve.knots, n_resamples=n_resamples, cap=cap, rate=rate, density=4 * _GRID_PER_KNOT)
    asked = level + min(_MARGIN, _SHARE_OF_TAIL * (1 - level))
    # With few replicates, levels near .99 need up to 28 rounds.
    for _ in range(50):
        short = asked - float(coverage(curve, dense, n_resamples=n_resamples, rate=rate).min())
        if short <= 0:
            return curve
        # At .95 coverage rises by about a fourth of the share by which all heights rise; nearer 1, as the tail does.
        tail = 0.05 / (1 - level) if level > 0.99 else 1.0
        share = max(4 * short * tail, 1e-6)
        curve = CriticalCurve(curve.knots, curve.heights * (1 + share), curve.ceiling)
    return None


def table(levels: tuple[float, ...] = (0.9, 0.95, 0.99)) -> dict[str, object]:
    """Solve for every level, k of the ladder, and cap or rate, as what the shipped file holds.

    Heights are rounded UP to five digits, so a curve in the file is never lower than the one that was checked.
    """
    from hedgerow.resampling.replicates import LADDER

    curves = {
        f"{level:g}": {
            str(k): {f"{cap:g}": _heights(k, level=level, cap=cap) for cap in (*CAPS, math.inf)} for k in LADDER
        }
        for level in levels
    }
    rates = {
        f"{level:g}": {str(k): {f"{rate:g}": _heights(k, level=level, rate=rate) for rate in RATES} for k in LADDER}
        for level in levels
    }
    return {"format": 1, "heights": "h at calibrated_programme.knots(k, cap, rate)", "curves": curves, "rates": rates}


def _heights(n_resamples: int, *, level: float, cap: float = math.inf, rate: float = 1.0) -> list[float]:
    curve = solve(n_resamples, level=level, cap=cap, rate=rate)
    return [_rounded_up(height) for height in curve.heights]


def _rounded_up(height: float) -> float:
    unit = 10.0 ** (math.floor(math.log10(height)) - 4)
    return float(f"{math.ceil(height / unit) * unit:.5g}")


def main() -> None:
    """Write the table beside this module."""
    import json
    from pathlib import Path

    text = json.dumps(table(), separators=(",", ":"))
    Path(__file__).with_name("calibrated_table.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
