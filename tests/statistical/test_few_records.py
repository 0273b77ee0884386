"""Means, shares and differences of few records: coverage of heavy skew, and what it costs where there is none.

4,000 runs a setting with fixed seeds, pure ε, n public. Truth accepted: the intervals that cover are not fewer than
Binomial(runs, .94) allows at p > 1e-6. Sabotages that are rejected at p < 1e-12: the range of the skewness passed over,
and counted on average only, as if a law with the largest skewness were as likely as any other; of differences also the
sampling variance of each group taken to be that at the estimate.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.statistical.simulations.few_records import FewRecords, Floats, over_yardstick

from hedgerow.inference.joint.totals import BlockVariances, SideBySide
from hedgerow.inference.score_test import QuadraticTest, correction

RUNS = 4000
WORST = "2 % ones, rest .5"


def p_value(setting: FewRecords) -> float:
    return float(stats.binom.cdf(round(setting.simulate(RUNS)["released"][0] * RUNS), RUNS, 0.94))


@pytest.mark.parametrize("epsilon", [3.0, 10.0])
@pytest.mark.parametrize("n", [30, 50, 100, 200])
@pytest.mark.parametrize("law", [WORST, "5 % ones, rest .5", "2 % ones, rest .2", "beta(2, 5)", "normal(.45, .15)"])
def test_means_of_few_records_cover(law: str, n: int, epsilon: float) -> None:
    assert p_value(FewRecords(law, n, epsilon)) > 1e-6


def passed_over(test: QuadraticTest) -> QuadraticTest:
    return replace(test, skew_unsure=0.0)


def on_average(test: QuadraticTest) -> QuadraticTest:
    return replace(test, skew_unsure=test.skew_unsure / math.sqrt(3.0))


@pytest.mark.parametrize("read", [passed_over, on_average], ids=lambda read: read.__name__)
def test_a_range_of_skewness_that_is_not_counted_whole_is_found_out(read: object) -> None:
    assert p_value(FewRecords(WORST, 100, 10.0, read=read)) < 1e-12  # type: ignore[arg-type]  # one of the two above


@pytest.mark.parametrize("statistic", ["mean", "share"])
@pytest.mark.parametrize("law", ["half ones", "uniform", "20 % ones"])
@pytest.mark.parametrize("n", [30, 100])
def test_values_that_fill_their_range_pay_little_for_it(law: str, n: int, statistic: str) -> None:
    assert (over_yardstick(FewRecords(law, n, 3.0, statistic).simulate(RUNS), RUNS) or math.inf) < 1.15


@pytest.mark.parametrize("statistic", ["difference", "from .5"])
@pytest.mark.parametrize("law", ["1 % ones", "5 % ones", WORST, "beta(2, 5)"])
@pytest.mark.parametrize("n", [50, 200])
def test_differences_of_few_records_cover(law: str, n: int, statistic: str) -> None:
    assert p_value(FewRecords(law, n, 10.0, statistic)) > 1e-6


def reading(monkeypatch: pytest.MonkeyPatch, **changed: Callable[[BlockVariances], Floats]) -> None:
    """Read differences with other skewnesses of the groups."""
    by_block = SideBySide.by_block

    def changing(cells: SideBySide, *given: Floats, **how: bool) -> BlockVariances:
        blocks = by_block(cells, *given, **how)
        return replace(blocks, **{name: change(blocks) for name, change in changed.items()})

    monkeypatch.setattr(SideBySide, "by_block", changing)


@pytest.mark.parametrize(("law", "n"), [("1 % ones", 200), ("5 % ones", 50)])
def test_variances_of_groups_that_are_those_at_the_estimate_are_found_out(
    law: str, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading(monkeypatch, skew=lambda blocks: 0.0 * blocks.skew, unsure=lambda blocks: 0.0 * blocks.unsure)
    assert p_value(FewRecords(law, n, 10.0, "from .5")) < 1e-12


def test_a_range_of_skewness_of_groups_that_is_passed_over_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    reading(monkeypatch, unsure=lambda blocks: 0.0 * blocks.unsure)
    assert p_value(FewRecords(WORST, 200, 10.0, "from .5")) < 1e-12


def test_an_interval_reaches_no_further_than_the_largest_skewness_moves_its_ends() -> None:
    z, one = np.array([1.96]), np.array([1.0])
    for unsure in (0.1, 0.5, 1.0, 3.0):
        shift = (1.0 + 2.0 * 1.96**2) / 6.0 * unsure
        wider = math.sqrt(correction(z, 0.0, unsure, one, one)[1][0])
        assert wider == pytest.approx(1.0 + min(shift**2 / 2.0, shift / 1.96))
