"""The source of released noise: what it refuses, and how much it draws."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.unit.noise.words import scripted

from hedgerow.errors import ParameterError
from hedgerow.noise.secure import MANY, Poisson, SecureNoise


@pytest.mark.parametrize("draw", [SecureNoise().discrete_gaussian, SecureNoise().two_sided_geometric])
def test_noise_that_64_bits_would_cut_off_is_refused(draw: Callable[[float, int], NDArray[np.int64]]) -> None:
    assert draw(2.0**53, 3).dtype == np.int64
    with pytest.raises(ParameterError, match="HG107"):
        draw(2.0**54, 3)


@pytest.mark.parametrize("size", [0, 1, 7, MANY, MANY + 1])
@pytest.mark.parametrize("draw", [SecureNoise().discrete_gaussian, SecureNoise().two_sided_geometric])
def test_so_many_numbers_as_asked_for_are_drawn_by_either_sampler(
    draw: Callable[[float, int], NDArray[np.int64]], size: int
) -> None:
    drawn = draw(50.0, size)
    assert drawn.shape == (size,) and drawn.dtype == np.int64
    assert len(set(drawn.tolist())) >= min(size, 3), "equal numbers would be no noise"


def test_a_poisson_number_without_a_mean_has_mean_1_as_in_numpy() -> None:
    drawn = np.array([SecureNoise().generator().poisson() for _ in range(3)])
    assert drawn.shape == (3,)
    many = SecureNoise().generator().poisson(size=40_000)
    # Mean and variance are 1; six standard errors are .03, and a mean of .9 is rejected.
    assert abs(many.mean() - 1.0) < 0.03 < abs(many.mean() - 0.9)


def test_a_poisson_number_that_the_guide_knows_takes_no_more_words() -> None:
    # 8 bits of the first word are read; U = .5 lies far from both ends of the number 1, e^−1 and 2e^−1.
    assert Poisson(Fraction(1)).draw(1, scripted(2**15)).tolist() == [1]
