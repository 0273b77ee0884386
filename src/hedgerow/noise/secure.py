"""Noise for releases: exact discrete samplers and the operating system's entropy; it takes no seed.

The only door to OpenDP and to the generator behind released resampling. OpenDP's submodules are imported, not its
prelude, which drags in data-frame libraries where they are installed.

Up to `MANY` numbers are drawn by ``make_gaussian`` and ``make_laplace`` on 64-bit integers, both ``contrib``
constructors of OpenDP (not all of their proofs are vetted). They draw from OpenSSL's generator, which mixes in the
process id, so a forked child does not repeat its parent; a test holds that. More numbers, of the same law, are drawn by
`hedgerow.noise.inversion` from the operating system: OpenDP takes 5 to 9 µs for each, that .1 µs. Weights of a
bootstrap come from `hedgerow.noise.poisson`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.noise.inversion import Inversion
from hedgerow.noise.lattice import require_drawable
from hedgerow.noise.poisson import Poisson

MANY = 1 << 9


class SecureNoise:
    """The noise source of every release. There is nothing to configure and nothing to seed.

    >>> SecureNoise().two_sided_geometric(1.0, 4).dtype
    dtype('int64')
    """

    secure: bool = True

    def discrete_gaussian(self, width: float, size: int) -> NDArray[np.int64]:
        """Return `size` independent integers, P(Z = z) ∝ exp(−z²/2 width²), exactly (HG107 beyond a width of 2⁵³)."""
        require_drawable(width)
        return Inversion(2, float(width)).draw(size) if size > MANY else _drawn(_gaussian(float(width)), size)

    def two_sided_geometric(self, scale: float, size: int) -> NDArray[np.int64]:
        """Return `size` independent integers, P(Z = z) ∝ exp(−|z|/scale), exactly (HG107 beyond a scale of 2⁵³)."""
        # The sampler cuts noise off at ±2⁶³: wide enough noise, cut there and added outside, would show the sum.
        require_drawable(scale)
        return Inversion(1, float(scale)).draw(size) if size > MANY else _drawn(_geometric(float(scale)), size)

    def generator(self) -> np.random.Generator:
        """Return a generator keyed by the operating system's entropy (AES in counter mode), its Poisson law exact.

        Keyed afresh at each call, so no state outlives a release and a forked child cannot share one.
        """
        from randomgen import AESCounter

        key = int.from_bytes(os.urandom(16), "little")
        counter = int.from_bytes(os.urandom(16), "little")
        return SecureGenerator(AESCounter(key=key, counter=counter))


class SecureGenerator(np.random.Generator):
    """NumPy's generator, but for its Poisson numbers: those are sampled exactly, of one mean a call."""

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Any:
        """Return independent integers, P(Z = z) = e^−lam · lam^z / z!, exactly (HG406 beyond a mean of 2²²)."""
        shape = () if size is None else size
        drawn = Poisson(Fraction(lam)).draw(math.prod(np.atleast_1d(shape).tolist()), self.bit_generator.random_raw)
        return drawn.reshape(shape)


_Sampler = Callable[[NDArray[np.int64]], list[int]]


def _drawn(sampler: _Sampler, size: int) -> NDArray[np.int64]:
    # An array is handed over as it is; a list is checked number by number.
    return np.asarray(sampler(np.zeros(size, np.int64)), dtype=np.int64) if size else np.zeros(0, np.int64)


@cache
def _opendp() -> tuple[Any, Any, Any]:
    import opendp.domains as domains
    import opendp.measurements as measurements
    import opendp.metrics as metrics
    from opendp.mod import enable_features

    enable_features("contrib")
    return domains, measurements, metrics


def _gaussian(width: float) -> _Sampler:
    domains, measurements, metrics = _opendp()
    integers = domains.vector_domain(domains.atom_domain(T="i64"))
    sampler: _Sampler = measurements.make_gaussian(integers, metrics.l2_distance(T="f64"), scale=width)
    return sampler


def _geometric(scale: float) -> _Sampler:
    domains, measurements, metrics = _opendp()
    integers = domains.vector_domain(domains.atom_domain(T="i64"))
    sampler: _Sampler = measurements.make_laplace(integers, metrics.l1_distance(T="f64"), scale=scale)
    return sampler
