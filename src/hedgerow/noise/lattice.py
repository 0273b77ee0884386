"""The lattice on which noise lands: how fine it is, and how a wanted width becomes an integer one.

All noise is an integer. A coordinate with noise of width w (in units of the data's own integers) lives on a lattice of
2^bits steps to a unit, the coarsest on which the width is at least `FINE` steps, and the width is rounded UP to a whole
number of steps. Two things follow: the rounding costs less than one part in a million of the noise, and the discrete
Gaussian is priced as a continuous one whose width is smaller by two parts in 10¹² (see ``accounting/terms.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.given import format_argument

FINE = 2**20
MIN_LATTICE_STEPS = 1000
# Proofs add statistic and noise as integers without an end; at this scale a sum leaves 64 bits once in e^500.
_WIDEST = 2.0**53


def require_positive(**numbers: float) -> None:
    """Refuse numbers of a mechanism that are not positive and finite (HG406).

    >>> require_positive(scale=1.0, cells=2)
    """
    for name, number in numbers.items():
        if isinstance(number, bool) or not (math.isfinite(number) and number > 0):
            raise ParameterError(
                "HG406",
                rule=f"`{name}` of a mechanism must be positive and finite.",
                finding=f"Found {format_argument(number)}.",
            )


def require_drawable(*scales: float) -> None:
    """Refuse scales of two-sided geometric noise that 64-bit integers could not carry (HG107).

    >>> require_drawable(1.0, 2.0**53)
    """
    if max(scales) > _WIDEST:
        raise ParameterError(
            "HG107",
            rule="The noise of a release must fit 64-bit integers.",
            finding=f"A scale of {max(scales):.3g} does not.",
            remedy="Choose coarser statistics, fewer answers, or a larger epsilon.",
        )


@dataclass(frozen=True, slots=True)
class LatticeNoise:
    """Integer noise of width `width` on a lattice of 2^bits steps to a unit."""

    width: int
    bits: int

    def __post_init__(self) -> None:
        whole = isinstance(self.width, int) and isinstance(self.bits, int)
        if not whole or self.width < MIN_LATTICE_STEPS or not 0 <= self.bits <= 60:
            raise ParameterError(
                "HG406",
                rule=f"Lattice noise is at least {MIN_LATTICE_STEPS} steps wide, with 0 to 60 bits.",
                finding=f"Found width {format_argument(self.width)}, bits {format_argument(self.bits)}.",
            )

    @property
    def in_units(self) -> float:
        """The width in units of the data's integers."""
        return self.width / 2.0**self.bits


def lattice_noise(width: float) -> LatticeNoise:
    """Return the integer width and the lattice for noise at least `width` wide.

    Raises
    ------
    ParameterError
        HG107: the width is so large or so small that 64-bit noise could not carry it.

    Examples
    --------
    >>> lattice_noise(3.0)
    LatticeNoise(width=1572864, bits=19)
    >>> lattice_noise(3.0).in_units
    3.0
    """
    if not 2.0**-38 < width < 2.0**52:
        raise ParameterError(
            "HG107",
            rule="The noise of a release must fit 64-bit integers.",
            finding=f"A width of {width:.3g} grid units does not.",
            remedy="Choose a coarser step, or an epsilon nearer to 1.",
        )
    bits = max(0, math.ceil(math.log2(FINE / width)))
    return LatticeNoise(math.ceil(width * 2.0**bits), bits)


def on_lattice(sums: NDArray[np.int64], noise: NDArray[np.int64], bits: int) -> NDArray[np.float64]:
    """Return (sums·2^bits + noise)/2^bits: added as exact integers, then read as numbers.

    Reading as a double is post-processing of the exact integer, so it cannot cost privacy.

    >>> on_lattice(np.array([5]), np.array([1]), 2).tolist()
    [5.25]
    """
    if sums.dtype == object or (int(np.abs(sums).max(initial=0)) << bits) >= 2**62:
        exact = [(int(s) << bits) + int(z) for s, z in zip(sums.ravel(), noise.ravel(), strict=True)]
        return np.array([total / (1 << bits) for total in exact], dtype=np.float64).reshape(sums.shape)
    return np.asarray(((sums << bits) + noise) / 2.0**bits, dtype=np.float64)
