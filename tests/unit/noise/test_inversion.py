"""Exact draws of many integers: every threshold enclosed, every hard comparison settled, the law enumerated."""

import math
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.unit.noise.words import WORD, beside, scripted

from hedgerow.noise import inversion
from hedgerow.noise.inversion import Inversion, below_exp, settled, thresholds

LAWS = [(1, 0.3), (1, 1.0), (1, 6.5), (1, 20.0), (1, 300.0), (1, 2.0**20 + 0.1), (2, 0.3), (2, 4.2), (2, 64.0),
        (2, 777.7), (2, 2.0**30), (2, 1e-3)]  # fmt: skip


def exponential(exponent: Fraction) -> Fraction:
    """Return e^−x to some 90 digits, by another way than the sampler's: the series of e^(x/2^k), squared k times."""
    digits, halvings = 10**110, int(exponent).bit_length() + 3
    part = int(exponent * digits / 2**halvings)
    term = total = digits
    order = 0
    while term:
        order += 1
        term = term * part // (digits * order)
        total += term
    for _ in range(halvings):
        total = total * total // digits
    return Fraction(digits, total)


def exact_ends(law: Inversion) -> list[Fraction]:
    """Return T_j, up to weights below 10^−45."""
    weights = [Fraction(1)]
    while weights[-1] > Fraction(1, 10**45):
        weights.append(Fraction(int(exponential(law.exponent(law.step * len(weights))) * 10**90), 10**90))
    total = sum(weights, Fraction(0))
    return [left / total for left in accumulate(weights)]


@pytest.mark.parametrize(("power", "width"), LAWS)
def test_every_threshold_of_a_table_is_known_well(power: int, width: float) -> None:
    law = Inversion(power, width)  # type: ignore[arg-type]  # 1 or 2, from a list

    def off(table: NDArray[np.uint64]) -> float:
        places = range(len(table)) if len(table) < 700 else range(0, len(table), 5)
        return float(max(abs(Fraction(int(table[j]), WORD) - ends[j]) for j in places))

    ends = exact_ends(law)
    ends += [Fraction(1)] * (len(thresholds(law)) - len(ends))
    assert off(thresholds(law)) < 2.0**-46
    if 0.2 < width < 100:
        assert off(thresholds(Inversion(power, width * (1 + 1e-9)))) > 2.0**-40  # type: ignore[arg-type]  # 1 or 2, from a list


@pytest.mark.parametrize(("power", "width"), [(1, 1.0), (1, 6.5), (2, 4.2), (2, 777.7)])
def test_a_number_beside_a_threshold_falls_on_its_true_side(power: int, width: float) -> None:
    """For the one word that holds a threshold, the next word decides; the doubles alone would not know."""
    law = Inversion(power, width)  # type: ignore[arg-type]  # 1 or 2, from a list
    for place, end in list(enumerate(exact_ends(law)))[:8]:
        for word, more, expected in beside(end, place):
            words = scripted(*more)
            found = law._coarse(np.array([word], dtype=np.uint64), words)
            assert found.tolist() == [expected]


def test_doubles_alone_would_fail_beside_a_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inversion, "settled", lambda first, decided, words: 99)
    with pytest.raises(AssertionError):
        test_a_number_beside_a_threshold_falls_on_its_true_side(2, 4.2)


@settings(max_examples=60, deadline=None)
@given(st.fractions(min_value=Fraction(1, 10**9), max_value=60), st.integers(-2, 2), st.booleans())
def test_whether_a_number_is_below_an_exponential(exponent: Fraction, moved: int, more: bool) -> None:
    chance = exponential(exponent)
    cell, rest = divmod(chance * WORD, 1)
    known = min(max(int(cell) + moved, 0), WORD - 1)
    following = int(rest * WORD) + (1 if more else -1)
    if not 0 <= following < WORD:
        return
    found = settled(known, partial(below_exp, exponent), scripted(following))
    assert found is (Fraction(known * WORD + following, WORD**2) < chance)


@pytest.mark.parametrize(("power", "width"), [(1, 777.7), (2, 777.7)])
def test_what_is_kept_is_decided_exactly_on_both_sides(
    power: int, width: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number just below the chance is no surer than one just above: both are asked about, none far off."""
    law, asked = Inversion(power, width), list[int]()  # type: ignore[arg-type]  # 1 or 2, from a list

    def asked_about(first: int, *given: Any) -> bool:
        asked.append(first)
        return bool(settled(first, *given))

    monkeypatch.setattr(inversion, "settled", asked_about)
    start = law.step * 2
    chance = exponential(law.exponent(start + 1) - law.exponent(start)) * WORD
    for moved, unsure in ((-(2**20), True), (-1, True), (1, True), (2**20, True), (-(2**50), False), (2**40, False)):
        asked.clear()
        v = int(chance) + moved
        stays = law._stays(np.array([2]), np.array([1]), scripted(v))
        assert asked == ([v] if unsure else []) and stays.tolist() == [v < chance]


@pytest.mark.parametrize(("power", "width"), [(1, 1.0), (1, 100.0), (2, 3.0), (2, 150.0)])
def test_the_law_enumerated_is_the_one_that_is_priced(power: int, width: float) -> None:
    """From the table, all parts l and what is kept: the chance of every magnitude, without a draw."""
    law = Inversion(power, width)  # type: ignore[arg-type]  # 1 or 2, from a list
    step = law.step
    chances = np.diff(np.concatenate([[0.0], thresholds(law).astype(np.float64) / WORD]))
    coarse, part = (one.ravel() for one in np.meshgrid(np.arange(len(chances)), np.arange(step), indexing="ij"))
    kept = np.ones(coarse.size)
    if step > 1:
        # The least v that is refused, by bisection on what the sampler says.
        low, high = np.zeros(coarse.size), np.full(coarse.size, float(WORD - 2048))
        for _ in range(40):
            middle = (low + high) / 2
            stays = law._stays(coarse, part, lambda count, at=middle: at.astype(np.uint64))  # type: ignore[misc]  # a lambda has no types
            low, high = np.where(stays, middle, low), np.where(stays, high, middle)
        kept = low / WORD
    found = (chances[coarse] * kept).reshape(-1)
    found /= found.sum()
    magnitude = coarse * step + part
    meant = np.exp(-((magnitude / width) ** power) / power)
    assert np.abs(found / found[0] - meant).max() < 1e-8
    wrong = np.exp(-((magnitude / (1.001 * width)) ** power) / power)
    assert np.abs(found / found[0] - wrong).max() > 1e-5


def test_signs_and_zero() -> None:
    law = Inversion(1, 1.0)
    ends = thresholds(law)
    words = [0, int(ends[0]) + 2**30, 0, int(ends[0]) + 2**30]
    signs = [0, 0, 2**63, 2**63]
    assert law._batch(4, scripted(*words, *signs)).tolist() == [0, 1, -1]


def test_a_number_far_out_is_found_by_more_bits() -> None:
    found = Inversion(1, 1.0)._coarse(np.array([WORD - 1], dtype=np.uint64), scripted(WORD - 1, WORD - 2, 5))
    # 1 − U is about 2^−191, and e^−(m + 1) of the weights are left beyond m.
    assert found[0] == math.floor(191 * math.log(2.0))


def test_narrow_and_wide_noise_and_none() -> None:
    assert Inversion(2, 1e-6).draw(50).tolist() == [0] * 50
    assert Inversion(1, 1.0).draw(0).tolist() == []
    wide = Inversion(2, 2.0**53).draw(2000) / 2.0**53
    assert 0.9 < wide.std() < 1.1
