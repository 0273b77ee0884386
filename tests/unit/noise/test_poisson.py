"""Exact Poisson numbers: every threshold enclosed, every hard comparison settled, the law of the guide enumerated."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.unit.noise.words import WORD, beside, scripted

from hedgerow.errors import ParameterError
from hedgerow.noise import secure
from hedgerow.noise.secure import LARGEST_MEAN, Poisson, SecureNoise, thresholds

DIGITS = 10**60
MEANS = [
    Fraction(1, 1000),
    Fraction(0.3),
    Fraction(1),
    Fraction(7, 2),
    Fraction(152),
    Fraction(1526.25),
    Fraction(10**5),
]


def exact_ends(law: Poisson) -> tuple[int, list[Fraction]]:
    """Return the first number and T_j from it on, up to weights of 10^−45, in integers of 60 digits."""
    mode = math.floor(law.mean)
    up, down, j = [DIGITS], [DIGITS], mode
    while up[-1] > DIGITS // 10**45:
        j += 1
        up.append(int(up[-1] * law.mean / j))
    j = mode
    while j > 0 and down[-1] > DIGITS // 10**45:
        down.append(int(down[-1] * j / law.mean))
        j -= 1
    sums, total = [], 0
    for weight in down[:0:-1] + up:
        total += weight
        sums.append(total)
    return j, [Fraction(one, total) for one in sums]


@pytest.mark.parametrize("mean", [*MEANS, pytest.param(Fraction(LARGEST_MEAN), marks=pytest.mark.long)])
def test_every_threshold_of_a_table_is_known_well(mean: Fraction) -> None:
    first, ends = exact_ends(Poisson(mean))

    def off(law: Poisson) -> float:
        low, table = thresholds(law)
        meant = [*ends[low - first :], *[Fraction(1)] * len(table)]
        places = range(0, len(table), 1 + len(table) // 500)
        return float(max(abs(Fraction(int(table[one]), WORD) - meant[one]) for one in places))

    assert off(Poisson(mean)) < 2.0**-44
    assert off(Poisson(min(mean * Fraction(1 + 1e-7), Fraction(LARGEST_MEAN - 1)))) > 2.0**-35


@pytest.mark.parametrize("mean", [Fraction(1), Fraction(152)])
def test_a_number_beside_a_threshold_falls_on_its_true_side(mean: Fraction) -> None:
    """For the one word that holds a threshold, the next word decides; the doubles alone would not know."""
    law = Poisson(mean)
    first, ends = exact_ends(law)
    for place, end in list(enumerate(ends))[len(ends) // 4 : len(ends) // 2 : 5]:
        for word, more, expected in beside(end, place):
            start, left = np.array([word >> 48], dtype=np.uint16), (word & (2**48 - 1)) << 16
            words = scripted(left, *more)
            assert law._looked_up(start, words).tolist() == [first + expected]


def test_doubles_alone_would_fail_beside_a_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secure, "settled", lambda known, decided, words: -7)
    with pytest.raises(AssertionError):
        test_a_number_beside_a_threshold_falls_on_its_true_side(Fraction(1))


def enumerated(law: Poisson, bits: int) -> NDArray[np.float64]:
    """Return the chance of each number of the table, from all that the guide tells and what the table says besides."""
    low, ends = thresholds(law)
    guide, size = secure._guide(law, bits), 2.0**-bits
    chances = np.zeros(len(ends) + 1)
    np.add.at(chances, guide[guide >= 0] - low, size)
    for cell in np.flatnonzero(guide < 0).tolist():
        cuts = np.clip(ends / 2.0**64, cell * size, (cell + 1) * size)
        chances += np.diff(cuts, prepend=cell * size, append=(cell + 1) * size)
    return chances


@pytest.mark.parametrize("mean", MEANS)
def test_the_law_enumerated_is_the_one_that_is_priced(mean: Fraction) -> None:
    """All cells of the guide, and what lies between thresholds in those that it leaves open; 1 % more is seen."""
    low, ends = thresholds(Poisson(mean))
    numbers = np.arange(low, low + len(ends) + 1)
    for bits in (8, 12):
        found = enumerated(Poisson(mean), bits)
        assert np.abs(found - stats.poisson.pmf(numbers, float(mean))).max() < 1e-10
        assert np.abs(found - stats.poisson.pmf(numbers, 1.01 * float(mean))).max() > 1e-6


def test_a_guide_that_tells_cells_with_a_threshold_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(law: Poisson, bits: int) -> NDArray[np.int32]:
        low, ends = thresholds(law)
        cells = np.arange(2**bits, dtype=np.uint64) << np.uint64(64 - bits)
        return (low + np.searchsorted(ends, cells, side="right")).astype(np.int32)

    monkeypatch.setattr(secure, "_guide", careless)
    with pytest.raises(AssertionError):
        test_the_law_enumerated_is_the_one_that_is_priced(Fraction(152))


@pytest.mark.parametrize("mean", [0.3, 1.0, 1526.0, 4e5, float(LARGEST_MEAN)])
def test_numbers_of_the_secure_generator_have_the_law(mean: float) -> None:
    """100,000 numbers in fifty cells; a mean that is off by a twentieth, or by a twentieth of its sd, is rejected."""
    drawn = SecureNoise().generator().poisson(mean, 100_000)

    def p_value(claimed: float) -> float:
        inner = np.unique(stats.poisson.ppf(np.arange(0.02, 0.99, 0.02), claimed))
        ends = np.concatenate([[-1.0], inner[:-1] if len(inner) > 1 else inner, [np.inf]])
        expected = np.diff(stats.poisson.cdf(ends, claimed)) * len(drawn)
        observed = np.histogram(drawn, np.append(ends[:-1] + 0.5, np.inf))[0]
        return float(stats.chisquare(observed, expected).pvalue)

    assert p_value(mean) > 1e-6
    assert p_value(mean + 0.05 * min(mean, math.sqrt(mean))) < 1e-9


def test_shapes_and_what_is_refused() -> None:
    generator = SecureNoise().generator()
    assert generator.poisson(2.0, (3, 4)).shape == (3, 4)
    assert generator.poisson(Fraction(0), 3).tolist() == [0, 0, 0]
    assert generator.poisson(2.0, 0).tolist() == []
    for mean in (LARGEST_MEAN + 1, -1):
        with pytest.raises(ParameterError, match="HG406"):
            generator.poisson(mean, 1)


def test_numbers_far_out_are_found_by_more_bits() -> None:
    law = Poisson(Fraction(1))
    top = np.array([2**16 - 1], dtype=np.uint16)
    # 1 − U is about 2^−127, and the weights beyond j about e^−1/(j + 1)!.
    found = law._looked_up(top, scripted(WORD - 1, WORD - 2, 5))
    assert stats.poisson.sf(found[0] - 1, 1.0) > 2.0**-127 > stats.poisson.sf(found[0], 1.0)
    low = Poisson(Fraction(152))._looked_up(np.zeros(1, np.uint16), scripted(0, 2**63, 7))
    assert stats.poisson.cdf(low[0] - 1, 152.0) < 2.0**-65 < stats.poisson.cdf(low[0], 152.0)
