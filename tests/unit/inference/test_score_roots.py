"""Score intervals and quantiles of noise against the roots of their inequality and against quadrature."""

from __future__ import annotations

import math
from dataclasses import asdict

import numpy as np
import pytest
from tests.unit.inference.score_oracle import Score, quantile

from hedgerow.inference.interval import noise_quantile, quantiles_of
from hedgerow.inference.score_test import Quadratic, QuadraticTest

CASES = {
    "a sum": Score(a=37.0, sampling=(9.0, 0.0, 0.0), noise=(4.0, 0.0, 0.0)),
    "a count": Score(a=12.0, sampling=(0.0, 1.0, 0.0), noise=(4.0, 0.0, 0.0), low=0.0, margin=0.5),
    "few of many": Score(a=3.0, sampling=(0.0, 1.0, -0.01), noise=(4.0, 0.0, 0.0), low=0.0, high=100.0),
    "a proportion": Score(
        a=30.0, b=95.0, sampling=(0.0, 95.0, -95.0), noise=(9.0, -18.0, 18.0), low=0.0, high=1.0, margin=0.5 / 95.0
    ),
    "a mean": Score(
        a=400.0,
        b=52.0,
        sampling=(52.0 * 30.0, 0.0, 0.0),
        noise=(100.0, -8.0, 2.25),
        low=-10.0,
        high=30.0,
        shift=10.0,
        freedom=51.0,
        skew=3.0,
        unsure=8.0,
    ),
    "a mean of few": Score(
        a=-9.0, b=4.0, sampling=(20.0, 0.0, 0.0), noise=(2.0, 0.0, 0.1), freedom=3.0, skew=-2.0, unsure=0.5, shift=5.0
    ),
    "a mean far below what is possible": Score(
        a=-400.0, b=20.0, sampling=(20.0, 0.0, 0.0), noise=(9.0, 0.0, 1.0), low=-3.0, high=9.0, shift=3.0, freedom=19.0
    ),
    "a mean far above what is possible": Score(
        a=400.0, b=20.0, sampling=(20.0, 0.0, 0.0), noise=(9.0, 0.0, 1.0), low=-3.0, high=9.0, shift=3.0, freedom=19.0
    ),
    "a count that is all noise": Score(a=5.0, b=2.0, noise=(9.0, 0.0, 4.0), low=-1.0, high=1.0),
    "a divisor below 0": Score(a=50.0, b=-20.0, noise=(9.0, 0.0, 1.0), low=-30.0, high=1.0),
    "nothing to divide by": Score(a=5.0, b=0.0, sampling=(1.0, 0.0, 0.0), noise=(2.0, 0.0, 0.0), low=-7.0, high=4.0),
}
LAWS = ("gaussian", "laplace")


def arrays(cases: list[Score], reliable: list[bool]) -> QuadraticTest:
    """Return the same tests side by side: every number is an array but the shift, which is that of all."""
    column = {name: np.array([getattr(case, name) for case in cases]) for name in asdict(cases[0])}
    parts = {name: Quadratic(*np.array([getattr(case, name) for case in cases]).T) for name in ("sampling", "noise")}
    return QuadraticTest(
        a=column["a"],
        b=column["b"],
        **parts,
        low=column["low"],
        high=column["high"],
        noise_law=cases[0].law,
        method="",
        shift=column["shift"],  # type: ignore[arg-type]  # of several shifts side by side, too
        freedom=column["freedom"],
        reliable=np.array(reliable),
        margin=column["margin"],
        skew=column["skew"],
        skew_unsure=column["unsure"],
    )


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("law", LAWS)
def test_the_ends_are_the_roots(law: str, level: float) -> None:
    cases = [Score(**{**asdict(case), "law": law}) for case in CASES.values()]
    low, high = arrays(cases, [True] * len(cases)).accepted(level)
    for place, (name, case) in enumerate(zip(CASES, cases, strict=True)):
        expected = case.ends(level)
        # Quantiles of Laplace noise are rounded outwards by 1e-12; roots lose half the digits where they meet.
        assert (low[place], high[place]) == pytest.approx(expected, rel=1e-8, abs=1e-8), name


def test_each_cell_is_by_itself_and_what_is_not_reliable_may_be_anything() -> None:
    cases = list(CASES.values())
    every = arrays(cases, [place % 2 == 0 for place in range(len(cases))])
    low, high = every.accepted(0.9)
    for place, case in enumerate(cases):
        row = every.row(place).accepted(0.9)
        assert (row[0][0], row[1][0]) == (low[place], high[place]) and row[0].shape == (1,)
        if place % 2:
            assert (low[place], high[place]) == (case.low, case.high)
    some = every.rows(slice(3, 6)).accepted(0.9)
    assert some[0].tolist() == low[3:6].tolist() and some[1].tolist() == high[3:6].tolist()
    # Numbers that stand for all cells, and no skewness, by default.
    plain = QuadraticTest(np.array([3.0, 5.0]), Quadratic(1.0), Quadratic(2.0), 0.0, 4.0, "gaussian", "")
    for place, a in enumerate((3.0, 5.0)):
        expected = Score(a=a, sampling=(1.0, 0.0, 0.0), noise=(2.0, 0.0, 0.0), low=0.0, high=4.0).ends(0.95)
        assert [float(end[place]) for end in plain.accepted(0.95)] == pytest.approx(expected, rel=1e-12)
        assert [float(end[0]) for end in plain.row(place).accepted(0.95)] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("level", [0.3, 0.95, 0.9999])
@pytest.mark.parametrize(
    ("sampling", "noise"), [(0.0, 1.0), (1.0, 0.0), (3.0, 0.2), (1.0, 1.0), (0.3, 2.0), (1.0, 9.0)]
)
def test_quantiles_of_a_normal_and_a_laplace_number_are_exact_and_not_too_small(
    level: float, sampling: float, noise: float
) -> None:
    exact = quantile("laplace", level, sampling, noise)
    assert -1e-13 < noise_quantile(level, sampling, noise) / exact - 1.0 < 5e-12


@pytest.mark.parametrize("draws", [2, 9])
@pytest.mark.parametrize("level", [0.5, 0.99])
def test_quantiles_of_sums_are_rounded_outwards_by_little(draws: int, level: float) -> None:
    for sampling, noise in ((0.0, 2.0), (1.0, 2.0), (2.0, 0.5), (1.0, 0.0)):
        law = f"averaged-laplace-{draws}"
        found = float(quantiles_of(law, level, np.array([sampling]), np.array([noise]))[0])
        # Lines between 257 points of the curve, and 1e-5 outwards.
        assert 1e-6 < found / quantile(law, level, sampling, noise) - 1.0 < 1.4e-5


def test_a_table_of_cells_has_the_quantiles_of_its_cells() -> None:
    sampling, noise = np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.0, 2.0])
    for law in (*LAWS, "averaged-laplace-3"):
        alone = [quantiles_of(law, 0.9, sampling[i : i + 1], noise[i : i + 1])[0] for i in range(3)]
        assert quantiles_of(law, 0.9, sampling, noise).tolist() == alone
        assert quantiles_of(law, 0.9, sampling[:, None], noise)[2].tolist()[2] == alone[2]
    assert math.isclose(quantiles_of("gaussian", 0.9, sampling, noise)[2], 8.0**0.5 * 1.6448536269514722)
