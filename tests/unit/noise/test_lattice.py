"""Noise on a lattice: wide enough, within 64 bits, and added to the sums without rounding."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from hedgerow.errors import ParameterError
from hedgerow.noise.lattice import (
    FINE,
    MIN_LATTICE_STEPS,
    AdditiveTable,
    LatticeNoise,
    lattice_noise,
    lattice_widths,
    on_lattice,
    require_positive,
)

# The narrowest and the widest noise that is drawn, and numbers between them.
NARROWEST, WIDEST = 2.0**-38, 2.0**52
WIDTHS = [math.nextafter(NARROWEST, 1.0), 1e-9, 0.3, 1.0, 3.0, 1000.5, 2.0**20, 2.0**20 + 0.5, 1e12, 2.0**51]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_lattice_is_never_narrower_than_asked_and_wider_by_one_step_at_most(width: float) -> None:
    noise = lattice_noise(width)
    asked, held = Fraction(width), Fraction(noise.width, 2**noise.bits)
    assert asked <= held < asked + Fraction(1, 2**noise.bits)
    assert FINE <= noise.width < 2 * FINE or (noise.bits == 0 and noise.width >= FINE)
    assert noise.in_units == float(held)
    # A width of fewer steps than FINE would be rounded by more than one part in a million.
    assert held / asked - 1 < Fraction(1, 10**6)


def test_widths_of_many_at_once_are_those_one_by_one() -> None:
    assert lattice_widths(np.array(WIDTHS)).tolist() == [lattice_noise(width).in_units for width in WIDTHS]


@pytest.mark.parametrize("width", [NARROWEST, WIDEST, 0.0, -1.0, math.inf, math.nan])
def test_widths_that_64_bits_cannot_carry_are_refused(width: float) -> None:
    with pytest.raises(ParameterError, match="HG107"):
        lattice_noise(width)
    with pytest.raises(ParameterError, match="HG107"):
        lattice_widths(np.array([1.0, width]))


def test_descriptions_of_a_lattice_are_checked() -> None:
    for bits in (0, 60):
        assert LatticeNoise(MIN_LATTICE_STEPS, bits).in_units == MIN_LATTICE_STEPS / 2.0**bits
    for width, bits in ((MIN_LATTICE_STEPS - 1, 0), (MIN_LATTICE_STEPS, -1), (MIN_LATTICE_STEPS, 61), (1e4, 0)):
        with pytest.raises(ParameterError, match="HG406"):
            LatticeNoise(width, bits)  # type: ignore[arg-type]  # as a record may say
    with pytest.raises(ParameterError, match="HG406"):
        LatticeNoise(10_000, 1.0)  # type: ignore[arg-type]  # as a record may say


@pytest.mark.parametrize("number", [0, -1, 0.0, -0.5, math.inf, math.nan, True])
def test_numbers_that_are_not_positive_and_finite_are_refused(number: float) -> None:
    require_positive(scale=0.5, cells=1)
    with pytest.raises(ParameterError, match="HG406"):
        require_positive(scale=1.0, cells=number)


@pytest.mark.parametrize("bits", [0, 1, 20, 60])
@pytest.mark.parametrize("largest", [0, 5, 2**40, 2**61 - 1])
def test_noise_is_added_as_an_exact_integer_whatever_the_size(largest: int, bits: int) -> None:
    sums = np.array([[largest, -largest], [largest // 3, 1]], dtype=np.int64)
    noise = np.array([[1, -1], [2**50 + 1, -(2**40)]], dtype=np.int64)
    exact = [
        float((Fraction(s) * 2**bits + z) / 2**bits)
        for s, z in zip(sums.ravel().tolist(), noise.ravel().tolist(), strict=True)
    ]
    for held in (sums, sums.astype(object)):
        added = on_lattice(held, noise, bits)
        assert added.dtype == np.float64 and added.shape == sums.shape
        assert added.ravel().tolist() == exact


def test_a_table_names_its_features_and_their_noise() -> None:
    values = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    table = AdditiveTable(({},) * 3, ("count", "sum"), values, np.array([0.5, 2.5]), "gaussian")
    assert table.column("sum").tolist() == [2.0, 4.0, 6.0]
    assert (table.sd("count"), table.sd("sum")) == (0.5, 2.5)
    assert table.sds("sum").tolist() == [2.5] * 3
    each = AdditiveTable(({},) * 3, ("count", "sum"), values, values / 10.0, "gaussian")
    assert each.sds("sum").tolist() == [0.2, 0.4, 0.6]
