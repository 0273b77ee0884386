"""The lattice on which noise lands: how fine it is, and how a wanted width becomes an integer one.

All noise is an integer. A coordinate with noise of width w (in units of the data's own integers) lives on a lattice of
2^bits steps to a unit, the coarsest on which the width is at least `FINE` steps, and the width is rounded UP to a whole
number of steps. Two things follow: the rounding costs less than one part in a million of the noise, and the discrete
Gaussian is priced as a continuous one whose width is smaller by two parts in 10¹² (see ``accounting/additive.py``).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.mechanisms.mechanism import LatticeNoise

FINE = 2**20


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
