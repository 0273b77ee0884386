"""Noise on a lattice, as every description of a mechanism states it: an integer width, and how fine the lattice is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hedgerow.errors import ParameterError

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
                "HG406", rule=f"`{name}` of a mechanism must be positive and finite.", finding=f"Found {number!r}."
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
                finding=f"Found width {self.width!r}, bits {self.bits!r}.",
            )

    @property
    def in_units(self) -> float:
        """The width in units of the data's integers."""
        return self.width / 2.0**self.bits
