r"""The curve of many independent replicates: loss grids folded by tilted FFT, an upper bound.

An untilted FFT leaves round-off of about 1e-17 a bin in δ, enough to move ε(1e-9) by .001 (private_bootstrap.md §2).
Tilting by e^{θl} makes it relative to δ near a saddle point, and what remains is bounded and added. Relative errors r
of the masses of one replicate are paid here too: if P ≤ (1 + r)P' and Q ≥ (1 − r)Q' event by event, then
δ(ε) ≤ (1 + r) δ'(ε + log(1 − r) − log(1 + r)), and k replicates pay k times.

`loss_grid` holds the grids and curves; `mixture` builds one replicate's grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.loss_grid import LOSS_CAP, LossGrid

Array = NDArray[np.float64]

_UNIT = float(np.finfo(np.float64).eps)
_TAIL = 1e-20  # P-mass that a window may leave above itself; it is added to δ, whose floor in a budget is 1e-12
_TILT_LEVELS = (1e-3, 1e-10)  # the δ at which each tilt is sharpest; one tilt serves about six sd on either side
_GENTLE = 12.0  # e^{12} from end to end: with little noise a sharper tilt would let the far tail dominate and wrap
_SHARPEST, _OUTSIDE = 8.0, 32.0  # for lower bounds: of a tilt, in units of 1/sd; e^−32 of the tilted mass is cut off
_MOST_BINS = 2**21
_AT_ONCE = 2**15  # numbers of which moments are computed at once: what fits a processor's cache
_EXPONENT = 700.0  # e^{±700} is still a float
_UNTILT = 250.0  # tilting back by more gives bounds far above 1; e^{250 + 300} is still a float in `_hockey_stick`


def composed_curve(parts: Sequence[tuple[LossGrid, int]], *, relative: float = 0.0) -> Array:
    r"""Return upper bounds of δ(j·step), j = 0, 1, …, of independent pairs, each taken a number of times.

    The masses are tilted to f(l)e^{θl}/M(θ), folded by FFT and tilted back: round-off is then relative to δ near the
    saddle point instead of absolute. With f_i tilted and k_i its multiplicity, the error of the folded mass g obeys
    ‖Δg‖₂ ≤ e·Σ k_i‖f_i‖₂ + (e + 8uΣk_i)‖g‖₂, e = 16u·log₂N (Higham, *Accuracy and Stability*, thm 24.2, with a
    margin), and by Cauchy–Schwarz moves δ(ε) by at most M e^{−θε}‖Δg‖₂·min((2θh)^{−1/2}, (4θ³h)^{−1/2}), which is
    added. What wraps around from below only adds; what lies above the window is bounded by Chernoff and added.

    Parameters
    ----------
    parts : sequence of (LossGrid, int)
        Pairs on one common step, with their multiplicities.
    relative : float
        Relative error of each mass of one replicate, already multiplied by the number of replicates: δ is multiplied
        by e^r and read at ε − 4r.
    """
    step = parts[0][0].step
    missing = sum(times * -math.log1p(-min(grid.infinity, 1.0 - 1e-16)) for grid, times in parts)
    infinity = -math.expm1(-missing)
    pad = max(1, math.ceil(4.0 * relative / step))
    if any(float(grid.mass.sum()) == 0.0 for grid, _ in parts):
        return np.ones(2)
    if len(parts) == 1 and parts[0][1] == 1:
        delta = _single(parts[0][0], pad)
    else:
        delta = _folded(parts, pad)
    delta = np.minimum(1.0, (delta + infinity) * math.exp(relative))
    share = math.expm1(-4.0 * relative) / math.expm1(-pad * step)
    shifted = delta[pad:] + share * (delta[:-pad] - delta[pad:])
    return np.asarray(np.minimum(1.0, shifted * (1.0 + 1e-12)), dtype=np.float64)


def _hockey_stick(mass: Array, step: float) -> Array:
    """δ_j = Σ_{l>j} m_l (1 − e^{(j−l)h}) = (1 − e^{−h}) y_j with y_j = T_{j+1} + e^{−h} y_{j+1}, T the tail sums.

    All terms are positive, so nothing cancels. The recursion runs in blocks, each on one scale factor.
    """
    tail = np.append(np.cumsum(mass[::-1])[::-1], 0.0)
    sums = np.zeros(mass.size)
    block = max(1, int(300.0 / step))  # e^{300}: as far as one factor is taken
    carried = 0.0
    for stop in range(mass.size, 0, -block):
        begin = max(0, stop - block)
        scale = np.exp(np.arange(stop - begin) * -step)
        inner = np.cumsum((tail[begin + 1 : stop + 1] * scale)[::-1])[::-1] / scale
        sums[begin:stop] = inner + carried * math.exp(-step) * scale[::-1]
        carried = float(sums[begin])
    # Each running sum of n positive terms is off by less than n·u of itself, whatever the terms.
    return -math.expm1(-step) * (1.0 + 4.0 * mass.size * _UNIT) * sums


def _single(grid: LossGrid, pad: int) -> Array:
    """δ of one pair at (−pad, −pad + 1, …)·step."""
    first = min(grid.start, -pad)
    mass = np.zeros(max(grid.start + grid.mass.size, 1) - first + 1)
    mass[grid.start - first : grid.start - first + grid.mass.size] = grid.mass
    return _hockey_stick(mass, grid.step)[-pad - first :]


def _log_moments(grid: LossGrid, thetas: Sequence[float]) -> list[float]:
    """Log Σ f(l) e^{θl} over the finite losses, of each θ."""
    used = grid.mass > 0.0
    logs, losses = np.log(grid.mass[used]), grid.losses()[used]
    many, moments = max(1, _AT_ONCE // max(1, logs.size)), list[float]()
    for start in range(0, len(thetas), many):
        exponents = logs + np.array(thetas[start : start + many])[:, None] * losses
        tops = exponents.max(axis=1)
        sums = np.exp(exponents - tops[:, None]).sum(axis=1)
        moments += [top + math.log(total) for top, total in zip(tops.tolist(), sums.tolist(), strict=True)]
    return moments


def _total_moments(parts: Sequence[tuple[LossGrid, int]], thetas: Sequence[float]) -> list[float]:
    """Log E e^{θl} of the folded loss, of each θ."""
    each = [[times * moment for moment in _log_moments(grid, thetas)] for grid, times in parts]
    return [sum(moments) for moments in zip(*each, strict=True)]


def _coarser(grid: LossGrid, bins: int = 1500) -> LossGrid:
    """Return the same law in fewer bins, roughly: good enough to choose a window, never to certify."""
    every = max(1, -(-grid.mass.size // bins))
    mass = np.add.reduceat(grid.mass, np.arange(0, grid.mass.size, every))
    return LossGrid(round((grid.start + 0.5 * (every - 1)) / every), grid.step * every, mass, grid.infinity)


@dataclass(frozen=True, slots=True)
class _Window:
    """Where the folded loss is computed: `bins` grid points from index `first`; which tilts serve it."""

    first: int
    bins: int
    tilts: tuple[float, ...]
    top_tilt: float

    @classmethod
    def around(cls, parts: Sequence[tuple[LossGrid, int]]) -> _Window:
        """Choose by Chernoff bounds on a coarse copy; a poor choice costs tightness only."""
        step = parts[0][0].step
        rough = [(_coarser(grid), times) for grid, times in parts]
        sd = math.sqrt(sum(times * grid.variance() for grid, times in parts)) + step
        furthest = max(abs(_reach(parts, _most)), 1) * step  # a rare huge loss needs tilts far below 1/sd
        thetas: list[float] = np.geomspace(min(1e-2 / sd, 1.0 / furthest), 1e3 / sd, 60).tolist()
        moment_at = dict(zip(thetas, _total_moments(rough, thetas), strict=True))

        def saddle(level: float) -> float:
            return min(thetas, key=lambda theta: (moment_at[theta] - math.log(level)) / theta)

        tilts = tuple(saddle(level) for level in _TILT_LEVELS)
        top_tilt = saddle(_TAIL)
        shifts = thetas[::3]
        whole, *below = _total_moments(rough, [0.0, *(-s for s in shifts)])
        above = _total_moments(rough, [tilts[-1] + s for s in shifts])
        low = max((whole - moment - 40.0) / s for s, moment in zip(shifts, below, strict=True))
        high = min((moment - moment_at[tilts[-1]] + 40.0) / s for s, moment in zip(shifts, above, strict=True))
        high = max(high, (moment_at[top_tilt] - math.log(_TAIL)) / top_tilt)
        low, high = max(low, _reach(parts, _least) * step), min(high, (_reach(parts, _most) + 1) * step, LOSS_CAP)
        first = math.floor(low / step)
        bins = max(2, min(math.ceil(high / step) - first + 2, _MOST_BINS))
        return cls(first, bins, (_GENTLE / (bins * step), *tilts), top_tilt)


def _least(grid: LossGrid) -> int:
    return grid.start


def _most(grid: LossGrid) -> int:
    return grid.start + grid.mass.size - 1


def _reach(parts: Sequence[tuple[LossGrid, int]], end: Callable[[LossGrid], int]) -> int:
    return sum(times * end(grid) for grid, times in parts)


def _folded(parts: Sequence[tuple[LossGrid, int]], pad: int) -> Array:
    """δ of the finite losses of the folded pair at (−pad, −pad + 1, …)·step."""
    step = parts[0][0].step
    window = _Window.around(parts)
    last = window.first + window.bins
    if last * step <= 2 * step or window.first * step >= LOSS_CAP:
        return np.ones(pad + 2)
    bins = fast_length(window.bins)
    each = [_log_moments(grid, (*window.tilts, window.top_tilt)) for grid, _ in parts]
    *moments, of_top = zip(*each, strict=True)
    above = sum(times * moment for (_, times), moment in zip(parts, of_top, strict=True))
    beyond = 0.0
    if window.first + bins <= _reach(parts, _most):
        beyond = math.exp(min(0.0, above - window.top_tilt * (window.first + bins) * step))
    best = np.ones(window.first + bins + pad)
    for theta, of_parts in zip(window.tilts, moments, strict=True):
        best = np.minimum(best, _tilted(parts, of_parts, theta, window.first, bins, pad))
    return np.minimum(best + beyond, 1.0)


def fast_length(least: int) -> int:
    """Return the least number from `least` on whose prime factors are 2, 3 and 5: FFTs of so many numbers are fast.

    >>> fast_length(7), fast_length(104_700)
    (8, 104976)
    """
    best = 1 << (least - 1).bit_length()
    for five in range(best.bit_length()):
        odd = 5**five
        while odd < best:
            best = min(best, odd << max(0, (-(-least // odd) - 1).bit_length()))
            odd *= 3
    return best


def _norm(values: Array) -> float:
    """√Σv², without linear algebra: on vectors of this length its threads cost more than they give."""
    return math.sqrt(float(np.square(values).sum()))


def _power(values: NDArray[np.complex128], times: int) -> NDArray[np.complex128]:
    """Return the powers by repeated squaring, twenty times faster than by logarithms.

    A product of two is off by √5·u of itself at most (Brent, Percival and Zimmermann, 2007), a power by √5·u·times.
    """
    power, square = np.ones_like(values) if times % 2 == 0 else values.copy(), values
    while times := times // 2:
        square = square * square
        if times % 2:
            power *= square
    return power


def _tilted(
    parts: Sequence[tuple[LossGrid, int]], moments: Sequence[float], theta: float, first: int, bins: int, pad: int
) -> Array:
    """One tilt's upper bounds of δ at (−pad, …, first + bins − 1)·step; 1 below the window."""
    step = parts[0][0].step
    folded, error, log_moment = _convolved(parts, moments, theta, first, bins)
    start = max(first, -pad)  # losses under −pad·step add nothing to the δ that are asked for
    losses = np.arange(start, first + bins) * step
    untilt = np.exp(np.minimum(log_moment - theta * losses, _UNTILT))
    delta = np.ones(first + bins + pad)
    delta[start + pad :] = _hockey_stick(folded[start - first :] * untilt, step) + error * untilt
    return delta


def _convolved(
    parts: Sequence[tuple[LossGrid, int]], moments: Sequence[float], theta: float, first: int, bins: int
) -> tuple[Array, float, float]:
    """Return the tilted masses of the folded pair from index `first` on, how far δ·e^{θε}/M is off, and log M(θ)."""
    step = parts[0][0].step
    spectrum, error, origin, log_moment, rounds = np.ones(bins // 2 + 1, dtype=np.complex128), 0.0, 0, 0.0, 0
    for (grid, times), moment in zip(parts, moments, strict=True):
        tilted = np.where(grid.mass > 0.0, grid.mass, 0.0) * np.exp(
            np.clip(theta * grid.losses() - moment, -_EXPONENT, _EXPONENT)
        )
        wrapped = np.bincount(np.arange(tilted.size) % bins, tilted, bins)
        spectrum *= _power(np.fft.rfft(wrapped), times)
        error += times * _norm(np.asarray(wrapped, dtype=np.float64))
        origin, log_moment, rounds = origin + times * grid.start, log_moment + times * moment, rounds + times
    folded = np.maximum(np.roll(np.fft.irfft(spectrum, bins), -((first - origin) % bins)), 0.0)
    rounding = 16.0 * _UNIT * math.log2(bins)
    error = rounding * error + (rounding + 8.0 * _UNIT * rounds) * _norm(folded)
    weight = min((2.0 * theta * step) ** -0.5, (4.0 * theta**3 * step) ** -0.5)
    return folded, error * weight, log_moment


def folded_lower(parts: Sequence[tuple[LossGrid, int]], delta: float, *, shift: int = 0) -> float:
    r"""Return a lower bound of the largest ε with δ(ε) > `delta` for independent pairs; 0 where there is none.

    As `composed_curve`, but what upper bounds add is taken off here: the round-off, and the tilted mass
    outside the window, which wraps around (bounded by Chernoff) and moves δ(ε) by at most M e^{−θε} times itself.

    Parameters
    ----------
    parts : sequence of (LossGrid, int)
        Pairs whose masses and losses are not above the true ones, with their multiplicities.
    delta : float
    shift : int
        How many steps are added to the loss of the whole.
    """
    rough = [(_coarser(grid), times) for grid, times in parts]
    farthest = max(abs(_reach(parts, _least)), abs(_reach(parts, _most)), 1) * parts[0][0].step
    sd = max(math.sqrt(sum(times * grid.variance() for grid, times in parts)), 1e-2 * min(farthest, 1.0))
    thetas: list[float] = np.geomspace(1e-2 / sd, 1e3 / sd, 60).tolist()
    bounds = [
        (moment - math.log(delta)) / tilt for tilt, moment in zip(thetas, _total_moments(rough, thetas), strict=True)
    ]
    theta = thetas[bounds.index(min(bounds))]
    # Near the largest loss of all a sharper tilt would serve the last few grid points alone.
    theta = min(theta, _SHARPEST / sd)
    return _lower_at(parts, delta, theta, thetas, shift) or _lower_at(parts, delta, 0.1 * theta, thetas, shift)


def _lower_at(
    parts: Sequence[tuple[LossGrid, int]], delta: float, theta: float, shifts: Sequence[float], shift: int
) -> float:
    """Return the bound that one tilt finds, 0 where it finds none."""
    step, rough = parts[0][0].step, [(_coarser(grid), times) for grid, times in parts]
    ends, outside = [_reach(parts, _least), _reach(parts, _most)], 0.0
    few = shifts[::3]
    (at,), (exactly,) = _total_moments(rough, [theta]), _total_moments(parts, [theta])
    for place, sign in enumerate((-1, 1)):
        shifted = _total_moments(rough, [theta + sign * shift for shift in few])
        # The end is `end` times the sign.
        end, s = min(((moment - at + _OUTSIDE) / shift, shift) for moment, shift in zip(shifted, few, strict=True))
        index = sign * math.ceil(end / step)
        if sign * index < sign * ends[place]:
            ends[place] = index
            # The coarser grids may choose an end badly: there Chernoff's bound is of no use, and all may lie outside.
            beyond = _total_moments(parts, [theta + sign * s])[0] - exactly - sign * s * index * step
            outside += math.exp(min(0.0, beyond))
    first = min(ends[0], -shift)  # also where every loss is positive, ε is looked for from 0 on
    bins = fast_length(max(2, min(ends[1] - first + 1, _MOST_BINS)))
    if first + bins <= ends[1] or first + bins + shift <= 1:
        return 0.0
    moments = [_log_moments(grid, [theta])[0] for grid, _ in parts]
    folded, error, log_moment = _convolved(parts, moments, theta, first, bins)
    start = max(first, -shift)
    losses = np.arange(start, first + bins) * step
    untilt = np.exp(np.minimum(log_moment - theta * losses, _UNTILT))
    sure = math.exp(-1e-11 - 1e-12 * sum(times for _, times in parts)) / (1.0 + 8.0 * bins * _UNIT)
    deltas = _hockey_stick(folded[start - first :] * untilt, step) * sure - (error + outside) * untilt
    above = np.flatnonzero(deltas > delta)
    if above.size == 0:
        return 0.0
    last = int(above[-1])
    after = float(deltas[last + 1]) if last + 1 < deltas.size else -math.inf
    share = min(1.0, (float(deltas[last]) - delta) / (float(deltas[last]) - after))
    return (start + last + shift) * step + math.log1p(share * math.expm1(step))
