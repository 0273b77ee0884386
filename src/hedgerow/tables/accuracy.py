"""How near a noisy table is to the true one, all cells together: γ-accuracy, and what a smaller sensitivity gains.

With k numbers, each plus independent noise of one law, the half-width h at γ is such that

    P(all k errors are at most h) ≥ 1 − γ.

For Laplace noise of scale b = Δ/ε it is h = ln(k/γ)·b, and O'Keefe & Charest call 1/h the γ-accuracy (their eq. 3).
Their Theorem 4 prints "≥ γ"; the theorem that they quote (Dwork & Roth, 2014, 3.8) and the truth is ≥ 1 − γ. As printed
it says too little for a small γ and is false for a large one: the probability itself is (1 − γ/k)^k.

What a release draws are integers on a grid. There h = ln(k/γ)·b can fall a little short, because P(|Z| ≥ m) of
two-sided geometric noise is 2α^m/(1 + α) with α = e^(−1/b), which is more than e^(−m/b); `geometric_half_width` is
exact.

These are functions of public noise scales. Under bootstrap differential privacy the scale is confidential, and so is
everything on this page for it.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.facts.given import shown
from hedgerow.mechanisms.mechanism import (
    AveragedLaplaceCounts,
    AveragedLaplaceMoments,
    CellTotals,
    GaussianCounts,
    GeometricCounts,
    MomentsGaussian,
    MomentsGeometric,
)
from hedgerow.noise.lattice import LatticeNoise


def laplace_half_width(sensitivity: float, epsilon: float, *, cells: int = 1, gamma: float = 0.05) -> float:
    """Return h = ln(k/γ)·Δ/ε: with probability at least 1 − γ all k numbers plus Laplace noise are this near.

    Parameters
    ----------
    sensitivity, epsilon : float
        Δ and ε; the noise has scale Δ/ε.
    cells : int
        k.
    gamma : float
        γ, below 1.

    Raises
    ------
    ParameterError
        HG157: a number that is not positive, or a γ that is no probability below 1.

    Notes
    -----
    Union bound over P(|Y| > h) = e^(−h/b) = γ/k. Dwork & Roth (2014), Theorem 3.8; O'Keefe & Charest, Theorem 4, with
    its probability put right.

    Examples
    --------
    >>> round(laplace_half_width(1.0, 1.0, cells=1, gamma=0.05), 4)
    2.9957
    """
    _checked(sensitivity=sensitivity, epsilon=epsilon, cells=cells, gamma=gamma)
    return math.log(cells / gamma) * sensitivity / epsilon


def laplace_accuracy(sensitivity: float, epsilon: float, *, cells: int = 1, gamma: float = 0.05) -> float:
    """Return the γ-accuracy 1/h of O'Keefe & Charest's eq. 3: the larger, the nearer.

    >>> laplace_accuracy(2.0, 1.0, gamma=0.05) / laplace_accuracy(1.0, 1.0, gamma=0.05)
    0.5
    """
    return 1.0 / laplace_half_width(sensitivity, epsilon, cells=cells, gamma=gamma)


def laplace_probability(*, cells: int = 1, gamma: float = 0.05) -> float:
    """Return P(all k errors ≤ ln(k/γ)·b) for Laplace noise of scale b: (1 − γ/k)^k, which is at least 1 − γ.

    >>> laplace_probability(cells=1, gamma=0.05), round(laplace_probability(cells=9, gamma=0.05), 5)
    (0.95, 0.9511)
    """
    _checked(cells=cells, gamma=gamma)
    return math.exp(cells * math.log1p(-gamma / cells))


def geometric_half_width(scale: float, *, cells: int = 1, gamma: float = 0.05) -> int:
    """Return the least whole m with P(all |Z_i| ≤ m) ≥ 1 − γ for k independent two-sided geometric integers. Exact.

    Parameters
    ----------
    scale : float
        b of P(Z = z) ∝ e^(−|z|/b), in steps of the grid; so is m.
    cells, gamma : int, float
        k and γ.

    Raises
    ------
    ParameterError
        HG157: as `laplace_half_width`.

    Notes
    -----
    P(|Z| > m) = 2α^(m+1)/(1 + α), and (1 − P(|Z| > m))^k ≥ 1 − γ is solved for m.

    Examples
    --------
    >>> geometric_half_width(1.0, cells=9, gamma=0.05), round(laplace_half_width(1.0, 1.0, cells=9, gamma=0.05), 2)
    (5, 5.19)
    """
    _checked(scale=scale, cells=cells, gamma=gamma)
    allowed = -math.expm1(math.log1p(-gamma) / cells)
    guess = scale * math.log(2.0 / (allowed * (1.0 + math.exp(-1.0 / scale))))
    m = max(0, math.ceil(guess) - 2)
    while geometric_probability(m, scale, cells=cells) < 1.0 - gamma:
        m += 1
    return m


def geometric_probability(half_width: int, scale: float, *, cells: int = 1) -> float:
    """Return P(all |Z_i| ≤ m) of k independent two-sided geometric integers: (1 − 2α^(m+1)/(1 + α))^k.

    >>> round(geometric_probability(0, 1.0), 6)  # P(Z = 0) = (1 − α)/(1 + α)
    0.462117
    """
    _checked(scale=scale, cells=cells)
    beyond = 2.0 * math.exp(-(half_width + 1) / scale) / (1.0 + math.exp(-1.0 / scale))
    return math.exp(cells * math.log1p(-beyond)) if beyond < 1.0 else 0.0


def gaussian_half_width(sd: float, *, cells: int = 1, gamma: float = 0.05) -> float:
    """Return h with P(all k errors ≤ h) = 1 − γ for independent Gaussian noise of one sd.

    >>> round(gaussian_half_width(1.0, cells=1, gamma=0.05), 3)
    1.96
    """
    from scipy.special import ndtri

    _checked(sd=sd, cells=cells, gamma=gamma)
    beyond = -math.expm1(math.log1p(-gamma) / cells)
    return -float(ndtri(beyond / 2.0)) * sd


def summed_half_width(draws: int, scale: float, *, cells: int = 1, gamma: float = 0.05) -> int:
    """Return the least whole m with P(all |Z_i| ≤ m) ≥ 1 − γ, each Z_i a sum of `draws` two-sided geometric integers.

    Parameters
    ----------
    draws : int
        How many integers make the noise on one number.
    scale, cells, gamma
        As in `geometric_half_width`, which it is for one draw.

    Raises
    ------
    ParameterError
        HG157: as `laplace_half_width`.

    Examples
    --------
    >>> summed_half_width(1, 1.0, cells=9), summed_half_width(10, 1.0, cells=9)
    (5, 13)
    """
    from hedgerow.accounting.averaged import SummedLaw

    _checked(scale=scale, cells=cells, gamma=gamma)
    law, allowed = SummedLaw(draws, scale), -math.expm1(math.log1p(-gamma) / cells)

    def short(m: int) -> bool:
        return 2.0 * float(law.tail(np.array([m + 1.0]))[0]) > allowed

    low, high = -1, 1
    while short(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if short(middle) else (low, middle)
    return high


def accuracy_gain_ratio(sensitivity: float, bootstrap_sensitivity: float) -> float:
    """Return Δf/Δ_D f, the ratio of the γ-accuracies at one ε: how much narrower bootstrap privacy's noise is.

    Never below 1 for the correct Δ_D f where D lies within the declared bounds, since then Dⁿ ⊆ Uⁿ; infinite where
    Δ_D f = 0.

    Notes
    -----
    O'Keefe & Charest, Result 12, second form. Its proof takes Δ_D f > 0.

    Examples
    --------
    >>> round(accuracy_gain_ratio(17_610, 8_766), 3)  # Table 4, Mixed-High
    2.009
    """
    _checked(sensitivity=sensitivity)
    return math.inf if bootstrap_sensitivity == 0.0 else sensitivity / bootstrap_sensitivity


def accuracy_gain_difference(
    sensitivity: float, bootstrap_sensitivity: float, epsilon: float, *, cells: int = 1, gamma: float = 0.05
) -> float:
    """Return the difference of the two γ-accuracies, Result 12's first form.

    >>> round(accuracy_gain_difference(2.0, 1.0, 1.0, gamma=0.05), 4)
    0.1669
    """
    gained = laplace_accuracy(bootstrap_sensitivity, epsilon, cells=cells, gamma=gamma)
    return gained - laplace_accuracy(sensitivity, epsilon, cells=cells, gamma=gamma)


def _checked(**numbers: float) -> None:
    for name, number in numbers.items():
        fits = 0.0 < number < (1.0 if name == "gamma" else math.inf)
        if not fits or (name == "cells" and number != int(number)):
            raise ParameterError(
                "HG157",
                rule="An accuracy has positive finite numbers, whole cells and a gamma below 1.",
                finding=f"Found {name}={shown(number)}.",
                remedy="Try gamma=0.05.",
            )


def half_width(mechanism: object, cells: int, gamma: float) -> float:
    """Return h with P(all cells within ± h of the file's own clamped numbers) ≥ 1 − γ, in units of what is added up.

    Raises
    ------
    ParameterError
        HG153: the noise of this table is not one plain number a cell, or may not be told; HG157 for γ.
    """
    match mechanism:
        case GeometricCounts(scale=scale):
            return geometric_half_width(scale, cells=cells, gamma=gamma)
        case GaussianCounts(sd=sd):
            # An integer within ± h of the normal law rounded: half a step more covers both.
            return gaussian_half_width(sd, cells=cells, gamma=gamma) + 0.5
        case MomentsGeometric(noise=noise):
            steps = geometric_half_width(float(noise.total.width), cells=cells, gamma=gamma)
            return steps / 2.0**noise.total.bits
        case MomentsGaussian(noise=noise):
            return gaussian_half_width(noise.total.in_units, cells=cells, gamma=gamma)
        case AveragedLaplaceCounts(scale=scale, draws=draws):
            return summed_half_width(draws, scale, cells=cells, gamma=gamma)
        case AveragedLaplaceMoments(noise=noise, draws=draws):
            steps = summed_half_width(draws, float(noise.total.width), cells=cells, gamma=gamma)
            return steps / 2.0**noise.total.bits
        case CellTotals():
            return _unequal(mechanism, gamma)
    raise ParameterError(
        "HG153",
        rule="The accuracy of a table follows from its certificate, where each cell has one number of plain noise.",
        finding="This table has none, or its noise may not be told.",
        remedy='Ask for the intervals of its cells, or release it with guarantee="dp" and unit "row".',
    )


def _unequal(mechanism: CellTotals, gamma: float) -> float:
    """Return the least h, to a millionth, with P(all |Z_i| ≤ h) ≥ 1 − γ, in units of y: one number for all cells.

    It is what the widest noise needs, of as many cells as have it; cells with narrower noise keep to far less.
    """
    many = np.bincount(mechanism.kind_of).tolist()
    noises = Counter[LatticeNoise]()
    for kind, cells in zip(mechanism.kinds, many, strict=True):
        noises[kind.total] += cells
    low, high = (
        max(_of_one_width(mechanism.law, noise, gamma, cells) for noise in noises)
        for cells in (1, len(mechanism.kind_of))
    )
    while high > low * (1.0 + 1e-6):
        middle = (low + high) / 2.0
        kept = math.prod(_chance(mechanism.law, noise, middle, cells) for noise, cells in noises.items())
        low, high = (low, middle) if kept >= 1.0 - gamma else (middle, high)
    return high


def _of_one_width(law: str, noise: LatticeNoise, gamma: float, cells: int) -> float:
    if law == "gaussian":
        return gaussian_half_width(noise.in_units, cells=cells, gamma=gamma)
    return geometric_half_width(float(noise.width), cells=cells, gamma=gamma) / 2.0**noise.bits


def _chance(law: str, noise: LatticeNoise, half_width: float, cells: int) -> float:
    """Return P(all |Z| ≤ h) of cells with the same noise; of discrete Gaussian noise by the normal law."""
    if law == "gaussian":
        return math.erf(half_width / noise.in_units / math.sqrt(2.0)) ** cells
    return geometric_probability(math.floor(half_width * 2.0**noise.bits), float(noise.width), cells=cells)
