"""Where noise comes from: one protocol with a secure implementation and, in `hedgerow.testing`, a seeded stand-in."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


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
