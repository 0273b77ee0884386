"""The lattice on which noise lands: how fine it is, and how a wanted width becomes an integer one.

All noise is an integer. A coordinate with noise of width w (in units of the data's own integers) lives on a lattice of
2^bits steps to a unit, the coarsest on which the width is at least `FINE` steps, and the width is rounded UP to a whole
number of steps. Two things follow: the rounding costs less than one part in a million of the noise, and the discrete
Gaussian is priced as a continuous one whose width is smaller by two parts in 10¹² (see
``accounting/dominating_pairs.py``).

Where noise comes from: one protocol with a secure implementation and, in `hedgerow.testing`, a seeded one for studies.

The released additive table: the one primitive that means, tables, test sets and multicalibration read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.validation import format_argument

FINE = 2**20
MIN_LATTICE_STEPS = 1000
# Proofs add statistic and noise as integers without an end; at this scale a sum leaves 64 bits once in e^500.
_WIDEST = 2.0**53
_NARROWEST, _WIDEST_OF_SUM = 2.0**-38, 2.0**52


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
            remedy="Choose coarser grid steps, fewer statistics, or a larger epsilon.",
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
    if not _NARROWEST < width < _WIDEST_OF_SUM:
        raise _does_not_fit(width)
    bits = max(0, math.ceil(math.log2(FINE / width)))
    return LatticeNoise(math.ceil(width * 2.0**bits), bits)


def lattice_widths(widths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the widths of `lattice_noise` in units, of many at once; HG107 as there.

    >>> lattice_widths(np.array([3.0, 0.3])).tolist() == [lattice_noise(width).in_units for width in (3.0, 0.3)]
    True
    """
    if not (fits := (widths > _NARROWEST) & (widths < _WIDEST_OF_SUM)).all():
        raise _does_not_fit(float(widths[~fits][0]))
    steps = 2.0 ** np.maximum(0.0, np.ceil(np.log2(FINE / widths)))
    return np.asarray(np.ceil(widths * steps) / steps)


def _does_not_fit(width: float) -> ParameterError:
    return ParameterError(
        "HG107",
        rule="The noise of a release must fit 64-bit integers.",
        finding=f"A width of {width:.3g} grid units does not.",
        remedy="Choose a coarser grid step, or an epsilon nearer to 1.",
    )


def on_lattice(sums: NDArray[Any], noise: NDArray[np.int64], bits: int) -> NDArray[np.float64]:
    """Return (sums·2^bits + noise)/2^bits: added as exact integers, then read as numbers.

    Reading as a double is post-processing of the exact integer, so it cannot cost privacy.

    >>> on_lattice(np.array([5]), np.array([1]), 2).tolist()
    [5.25]
    """
    kind = np.int64 if (int(np.abs(sums).max(initial=0)) << bits) < 2**62 else object
    exact = sums.astype(kind, copy=False) * (1 << bits) + noise
    return np.asarray(exact / (1 << bits), dtype=np.float64)


class NoiseSource(Protocol):
    """Draws integers of two laws; `secure` says whether a release may use it."""

    @property
    def secure(self) -> bool:
        """Whether a release may use this source: its numbers are cryptographically random."""
        ...

    def discrete_gaussian(self, width: float, size: int) -> NDArray[np.int64]:
        """Return `size` independent integers, P(Z = z) ∝ exp(−z²/2 width²)."""
        ...

    def two_sided_geometric(self, scale: float, size: int) -> NDArray[np.int64]:
        """Return `size` independent integers, P(Z = z) ∝ exp(−|z|/scale)."""
        ...

    def generator(self) -> np.random.Generator:
        """Return a generator for resampling weights."""
        ...


@dataclass(frozen=True, slots=True)
class AdditiveTable:
    """Noisy sums: cells × features, or cells × features × replicates. All that is computed from it is post-processing.

    Attributes
    ----------
    cells : sequence of mapping
        {column: category} of each row; ``({},)`` for an ungrouped release.
    features : tuple of str
        What was added up, by name.
    values : float array, (cells, features) or (cells, features, replicates)
        The noisy sums, each an integer multiple of its lattice step.
    noise_sd : float array, (features,) or (cells, features)
        Standard deviation of the noise on each feature, the same in every replicate; and in every cell, unless it is
        given cell by cell.
    noise_law : str
        ``"gaussian"``, ``"laplace"`` or ``"averaged-laplace-k"``: the shape that intervals assume (drawn: its discrete
        form).
    """

    cells: Sequence[Mapping[str, Any]]
    features: tuple[str, ...]
    values: NDArray[np.float64]
    noise_sd: NDArray[np.float64]
    noise_law: str

    def column(self, feature: str) -> NDArray[np.float64]:
        """Return one feature's noisy sums, cell by cell (and replicate by replicate)."""
        return np.asarray(self.values[:, self.features.index(feature)], dtype=np.float64)

    def sd(self, feature: str) -> float:
        """Return the standard deviation of one feature's noise, where it is the same in every cell."""
        return float(self.noise_sd[self.features.index(feature)])

    def sds(self, feature: str) -> NDArray[np.float64]:
        """Return the standard deviation of one feature's noise, cell by cell."""
        spread = self.noise_sd[..., self.features.index(feature)]
        return np.asarray(np.broadcast_to(spread, len(self.values)), dtype=np.float64)
