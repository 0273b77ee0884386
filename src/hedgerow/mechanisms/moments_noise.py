"""The noise of a release of moments: one lattice a coordinate."""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow.mechanisms.layout import Widths
from hedgerow.noise.lattice import LatticeNoise


@dataclass(frozen=True, slots=True)
class MomentsNoise:
    """The lattice noise of each coordinate; None where it is not released."""

    count: LatticeNoise | None
    total: LatticeNoise
    square: LatticeNoise | None

    def widths(self) -> Widths:
        """Return the widths in units of the data's integers."""
        return Widths(
            self.count.in_units if self.count else None,
            self.total.in_units,
            self.square.in_units if self.square else None,
        )

    def coordinates(self) -> dict[str, LatticeNoise]:
        """Return what is released, by name, in order."""
        named = {"count": self.count, "total": self.total, "square": self.square}
        return {name: noise for name, noise in named.items() if noise is not None}
