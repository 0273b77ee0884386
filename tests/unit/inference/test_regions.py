"""Regions of one number and of several: moved, taken apart, read from a record, and asked for the least α."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.unit.inference.test_joint_arithmetic import AGE, OTHER, RELEASE, X, Y

from hedgerow.errors import ParameterError
from hedgerow.inference.bootstrap.replicate_intervals import INTERVALS, file_error_parts
from hedgerow.inference.bootstrap.replicate_summary import Replicates, standard_error_parts
from hedgerow.inference.interval import Interval, parse_level
from hedgerow.inference.joint.arithmetic import FunctionsOfCells, JointCells, JointStatisticOfCells, JointValue
from hedgerow.inference.joint.estimates import estimate
from hedgerow.inference.joint.functions import MeanOfTotals, smooth_function
from hedgerow.inference.joint.totals import SideBySide
from hedgerow.inference.region import (
    JoinedRegions,
    LevelTest,
    RecordedRegion,
    Region,
    ReplicateRegion,
    ScoreRegion,
    WithheldRegion,
    least_alpha,
    pvalue_of,
)
from hedgerow.inference.region import _of_one_digit as least_of_one_digit
from hedgerow.inference.score_test import Quadratic, QuadraticTest

TABLE = QuadraticTest(
    np.array([1.0, 5.0, 9.0]), Quadratic(), Quadratic(constant=np.array([1.0, 4.0, 9.0])), -20.0, 30.0, "gaussian", "m"
)
CURVE = LevelTest(lambda level: (-level, 2.0 * level), "gaussian", -3.0, 4.0)
MEAN_OF_CELLS = estimate(MeanOfTotals(X), SideBySide((RELEASE,)))


def region(seed: int = 1, **changed: Any) -> ReplicateRegion:
    """Return the region of a mean by 20 replicates."""
    values = np.random.default_rng(seed).normal(500.0, 20.0, 20)
    replicates = Replicates.of(values, noise_variance=100.0, weights="multinomial")
    return replace(ReplicateRegion(replicates, 0.0, 1000.0, True, "calibrated", False), **changed)


def test_a_region_of_several_numbers_is_that_of_each() -> None:
    whole = ScoreRegion(TABLE)
    low, high = whole.interval(0.9)
    z = stats.norm.isf(0.05)
    assert low == pytest.approx([1.0 - z, 5.0 - 2.0 * z, 9.0 - 3.0 * z]) and high == pytest.approx(2.0 * TABLE.a - low)
    assert [whole.row(place).ends(0.9) for place in range(3)] == list(zip(low.tolist(), high.tolist(), strict=True))
    assert whole.methods == ("m",) and whole.possible == (-20.0, 30.0)
    assert (whole.joint, whole.records, whole.by_replicates()) == (None, None, None)


@pytest.mark.parametrize(("scale", "shift"), [(2.0, 1.0), (-3.0, 0.5), (0.0, 7.0)])
def test_a_moved_region_has_moved_ends_and_limits(scale: float, shift: float) -> None:
    moved = ScoreRegion(CURVE).moved(scale, shift, None)
    assert moved.ends(0.5) == tuple(sorted((scale * -0.5 + shift, scale * 1.0 + shift)))
    assert moved.possible == tuple(sorted((scale * -3.0 + shift, scale * 4.0 + shift)))
    twice = moved.moved(-1.0, 2.0, None)
    low, high = moved.ends(0.5)
    assert twice.ends(0.5) == (2.0 - high, 2.0 - low)


def test_nothing_is_left_of_an_infinite_end_where_the_scale_is_0() -> None:
    assert WithheldRegion().moved(0.0, 3.0, None).ends(0.95) == (3.0, 3.0)
    assert WithheldRegion().moved(-1.0, 3.0, None).ends(0.95) == (-math.inf, math.inf)
    assert ScoreRegion(LevelTest(lambda level: (-1e308, 1e308), "m")).moved(1e9, 0.0, None).ends(0.9)[1] == math.inf


def test_what_is_possible_of_several_is_from_the_least_to_the_most() -> None:
    both = JoinedRegions([ScoreRegion(CURVE), ScoreRegion(CURVE).moved(10.0, 0.0, None)])
    assert both.possible == (-30.0, 40.0) and both.methods == ("gaussian",)
    low, high = both.interval(0.5)
    assert (low.tolist(), high.tolist()) == ([-0.5, -5.0], [1.0, 10.0])
    assert both.row(1).ends(0.5) == (-5.0, 10.0) and both.row(0).ends(0.5) == (-0.5, 1.0)
    moved = both.moved(2.0, 1.0, None)
    assert moved.interval(0.5)[1].tolist() == [3.0, 21.0]


def test_several_regions_are_asked_by_the_method_that_was_named() -> None:
    both = JoinedRegions([region(1), region(2)])
    for name in INTERVALS:
        low, high = both.interval(0.9, name)
        expected = [INTERVALS[name](one.replicates, level=0.9) for one in (region(1), region(2))]
        assert [*zip(low.tolist(), high.tolist(), strict=True)] == expected
    assert both.interval(0.9)[0].tolist() == both.interval(0.9, "calibrated")[0].tolist()


def test_methods_of_a_bootstrap_begin_with_the_default_and_a_census_has_one() -> None:
    assert region().methods == ("calibrated", "conservative", "unbiased", "most-conservative")
    assert region(default="unbiased").methods == ("unbiased", "calibrated", "conservative", "most-conservative")
    assert region(census=True).methods == ("student",)
    assert region(default="unbiased").ends(0.9) == region().ends(0.9, "unbiased") != region().ends(0.9)


def test_errors_of_a_bootstrap_are_those_of_its_target() -> None:
    assert region().parts() == standard_error_parts(region().replicates)
    assert region(census=True).parts() == file_error_parts(region().replicates)


@pytest.mark.parametrize("census", [False, True])
def test_a_margin_is_added_at_both_ends_and_what_is_impossible_is_cut(census: bool) -> None:
    plain = region(census=census)
    method = plain.methods[0]
    low, high = plain.ends(0.9, method)
    assert replace(plain, margin=1.5).ends(0.9, method) == pytest.approx((low - 1.5, high + 1.5))
    assert replace(plain, low=low + 0.5, high=high - 0.25).ends(0.9, method) == pytest.approx((low + 0.5, high - 0.25))
    assert replace(plain, reliable=False, low=-7.0, high=8.0).ends(0.9, method) == (-7.0, 8.0)
    assert replace(plain, low=-7.0, high=2000.0).possible == (-7.0, 2000.0)


def test_alpha_of_the_conservative_intervals_changes_no_other() -> None:
    other = region().with_alpha("conservative", 0.3)
    z, chi = stats.norm.isf(0.05), stats.chi2.ppf(0.3, 19) / 19
    replicates = region().replicates
    half = z * math.sqrt(max(0.0, replicates.spread - 100.0 * chi) + 100.0 / 20.0)
    assert other.ends(0.9, "conservative") == pytest.approx((replicates.mean - half, replicates.mean + half))
    for name in ("calibrated", "unbiased", "most-conservative"):
        assert other.ends(0.9, name) == region().ends(0.9, name)
    assert region().with_alpha("conservative", 0.0).ends(0.9, "conservative") == pytest.approx(
        region().ends(0.9, "most-conservative")
    )
    for method, alpha, code in (("conservative", 1.0, "HG139"), ("conservative", -1e-9, "HG139"),
                                ("conservative", "x", "HG139"), ("calibrated", 0.05, "HG108")):  # fmt: skip
        with pytest.raises(ParameterError, match=code):
            region().with_alpha(method, alpha)
    with pytest.raises(ParameterError, match="HG108"):
        ScoreRegion(CURVE).with_alpha("gaussian", 0.05)


def test_a_moved_bootstrap_is_combined_by_the_replicates_that_it_was_made_from() -> None:
    weights = object()
    one, other = region(1, drawn=weights, averaged=50.0), region(2, drawn=weights)
    moved = one.moved(2.0, 1.0, None).moved(-1.0, 3.0, None)  # 2 − 2x
    assert (one.records, moved.records) == (50.0, None)
    assert moved.ends(0.9) == pytest.approx(tuple(2.0 - 2.0 * end for end in one.ends(0.9)[::-1]))
    by = moved.by_replicates()
    values = np.array(one.replicates.estimates)
    assert by.replicates.estimates == pytest.approx(2.0 - 2.0 * values) and by.shift == 2.0
    assert (by.low, by.high, by.averaged) == (-1998.0, 2.0, None)
    assert [(factor, cell is one) for factor, cell in by.terms] == [(-2.0, True)]
    assert one.by_replicates() is one
    total = by.plus(other.scaled(0.5, 4.0))
    assert total is not None
    expected = 6.0 - 2.0 * values + 0.5 * np.array(other.replicates.estimates)
    assert total.replicates.estimates == pytest.approx(expected) and total.shift == 6.0


def test_the_centre_of_a_sum_is_the_sum_of_the_centres_only_where_all_have_one() -> None:
    weights = object()
    values = np.random.default_rng(3).normal(500.0, 20.0, 20)
    centred = Replicates.of(values, noise_variance=1.0, centre=450.0, n=90.0)
    one, plain = region(1, replicates=centred, drawn=weights), region(2, drawn=weights)
    twice = one.scaled(2.0, 5.0)
    assert (twice.replicates.centre, twice.replicates.n, twice.replicates.noise_variance) == (905.0, 90.0, 4.0)
    # The offset (m* − c)²/n moves with the square of the scale.
    assert twice.replicates.centre_offset == pytest.approx(4.0 * centred.centre_offset)
    both = one.plus(replace(plain, replicates=replace(plain.replicates, weights="poisson", rate=1.0)))
    assert both is not None and both.replicates.centre is None and both.replicates.n is None
    unreliable = one.plus(replace(plain, reliable=False))
    assert unreliable is not None and not unreliable.reliable
    assert unreliable.ends(0.9) == (0.0, 2000.0) and unreliable.replicates.estimates == ()
    assert unreliable.replicates.mean == pytest.approx(one.replicates.mean + plain.replicates.mean)
    assert unreliable.replicates.n_resamples == 20
    gone = one.plus(one.scaled(-1.0, 0.0))
    assert gone is not None and (gone.low, gone.high, gone.margin) == (0.0, 0.0, 0.0)


def test_a_recorded_interval_is_that_of_its_level_alone() -> None:
    alone = RecordedRegion(1.0, 2.0, 0.95, "moments")
    assert alone.ends(0.95) == alone.possible == (1.0, 2.0) and alone.methods == ("moments",)
    with pytest.raises(ParameterError, match=r"HG108.*level 0\.95"):
        alone.ends(0.9)
    assert alone.joint is None


def test_a_recorded_interval_is_computed_at_other_levels_where_the_record_says_how() -> None:
    computed = ScoreRegion.of(AGE)
    told = RecordedRegion(1.0, 2.0, 0.95, "moments", computed)
    assert told.ends(0.95) == (1.0, 2.0) and told.ends(0.9) == computed.ends(0.9)
    assert told.possible == computed.possible and told.joint is AGE
    given = RecordedRegion(1.0, 2.0, 0.95, "moments", computed, joint=OTHER)
    assert given.joint is OTHER
    without = RecordedRegion(1.0, 2.0, 0.95, "moments", ScoreRegion(CURVE))
    with pytest.raises(ParameterError, match="HG108"):
        without.ends(0.9)


def test_a_region_of_a_value_knows_its_records_only_as_long_as_it_is_that_value() -> None:
    whole = ScoreRegion.of(AGE)
    assert whole.records == 300.0 and whole.joint is AGE and whole.methods == ("moments",)
    assert whole.moved(2.0, 0.0, AGE * 2.0).records is None
    assert ScoreRegion.of(AGE - OTHER).records is None


@pytest.mark.parametrize("kept", ["cells", "statistic", "functions", "nothing"])
def test_one_of_several_cells_knows_its_joint_law(kept: str) -> None:
    cells = JointCells(MEAN_OF_CELLS)
    columns: dict[str, Any] = {
        "cells": cells,
        "statistic": JointStatisticOfCells(RELEASE, MeanOfTotals(X)),
        "functions": FunctionsOfCells(RELEASE, (MeanOfTotals(X), MeanOfTotals(Y))),
        "nothing": None,
    }
    whole = ScoreRegion.of_cells(MEAN_OF_CELLS) if kept == "cells" else ScoreRegion(cells, columns[kept])
    row = whole.row(1)
    low, high = whole.interval(0.9)
    assert row.ends(0.9) == pytest.approx((low[1], high[1]), rel=1e-12)
    if kept == "nothing":
        assert row.joint is None
        return
    assert row.joint is not None and row.joint.estimate == pytest.approx(
        JointValue.of(RELEASE, 1, MeanOfTotals(Y if kept == "functions" else X)).estimate
    )
    assert (row.records == 500.0) == (kept == "cells")
    assert (row.joint is row.test) == (kept == "cells")  # type: ignore[attr-defined]  # a score region


def test_no_region_prints_what_it_computes_with() -> None:
    for made in (ScoreRegion.of(AGE), ScoreRegion.of_cells(MEAN_OF_CELLS), ScoreRegion(CURVE).moved(1.0, 0.0, AGE)):
        assert repr(made).count("JointValue(") + repr(made).count("JointCells(") <= 1
        assert "joint=" not in repr(made) and "column=" not in repr(made)


def test_a_region_sent_to_another_process_has_its_moves_and_its_joint_law() -> None:
    moved = ScoreRegion.of(AGE).moved(2.0, 1.0, AGE * 2.0 + 1.0)
    again = pickle.loads(pickle.dumps(moved))
    assert again.ends(0.9) == moved.ends(0.9) and again.moves == ((2.0, 1.0),) and again.joint is not None
    mine = JointValue.of(RELEASE, 0, smooth_function(lambda row: row["x"] ** 2, {"x": X}, (0.0, 6400.0)))
    sent = pickle.loads(pickle.dumps(ScoreRegion.of(mine)))
    assert isinstance(sent, RecordedRegion) and (sent.level, sent.method) == (0.95, "moments")
    assert sent.ends(0.95) == ScoreRegion.of(mine).ends(0.95)


def test_the_region_of_a_number_that_may_not_be_told_is_everything() -> None:
    nothing = WithheldRegion()
    assert nothing.withheld and not ScoreRegion(CURVE).withheld and not region().withheld
    assert nothing.methods == ("withheld",) and nothing.possible == nothing.ends(0.9) == (-math.inf, math.inf)
    assert nothing.row(3) is nothing and nothing.records is None
    base: type[Region] = WithheldRegion
    assert base.withheld


@settings(max_examples=60, deadline=None)
@given(away=st.floats(0.01, 6.5), sd=st.floats(1e-3, 1e3), side=st.sampled_from([-1.0, 1.0]))
def test_the_p_value_of_a_normal_number_is_two_tails(away: float, sd: float, side: float) -> None:
    test = LevelTest(lambda level: (-sd * stats.norm.isf((1 - level) / 2), sd * stats.norm.isf((1 - level) / 2)), "m")
    exact = 2.0 * stats.norm.sf(away)
    found = pvalue_of(ScoreRegion(test), side * away * sd)
    assert exact * (1.0 - 1e-9) <= found <= exact * (1.0 + 1e-4)


def test_the_least_alpha_is_1_inside_and_never_below_1e_12() -> None:
    assert least_alpha(lambda alpha: -1.0) == 1.0 and least_alpha(lambda alpha: 0.0) == 1.0
    assert least_alpha(lambda alpha: 1.0) == 1e-12
    for wanted in (0.9999, 0.5, 1e-3, 1e-6, 1e-11):
        found = least_alpha(lambda alpha, at=wanted: math.log(alpha / at))  # type: ignore[misc]  # one argument is asked for
        assert wanted * (1.0 - 1e-9) <= found <= wanted * (1.0 + 1e-4) + 1e-5
    # The least α that is tried is 1e-12: a value excluded from there on has it, one excluded a little later has not.
    assert least_alpha(lambda alpha: 1.0 if alpha > 0.9e-12 else -1.0) == 1e-12
    assert 1.1e-12 <= least_alpha(lambda alpha: math.log(alpha / 1.2e-12)) <= 1.3e-12
    # An interval that is everything possible below a level: infinite ends are read as far ones.
    assert least_alpha(lambda alpha: math.inf if alpha > 0.02 else -math.inf) == pytest.approx(0.02, rel=1e-4)


@pytest.mark.parametrize(
    ("exact", "expected"),
    [(0.0314, 0.04), (0.03, 0.03), (0.95, 1.0), (0.9, 0.9), (0.05, 0.05), (0.0501, 0.06), (0.0099, 0.01),
     (0.0101, 0.02), (0.1, 0.1), (0.11, 0.2), (3.2e-6, 4e-6), (1e-6, 1e-6), (1e-9, 1e-6), (0.00949, 0.01)],
)  # fmt: skip
def test_a_p_value_of_one_digit_is_the_next_one_above(exact: float, expected: float) -> None:
    asked: list[float] = []

    def outside(alpha: float) -> float:
        asked.append(alpha)
        return 1.0 if alpha >= exact * (1.0 - 1e-12) else -1.0

    assert least_of_one_digit(outside) == expected
    # Levels of which the curve is shipped are asked first; of the 54 steps few are tried.
    assert asked[0] == 0.05 and len(asked) <= 9
    if 0.01 < exact < 0.05:
        assert asked[1] == 0.01


def test_p_values_of_intervals_that_are_solved_for_have_one_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    one = region()
    low, high = one.ends(0.95, "unbiased")
    for value in (high + 0.5, low - 0.5):
        assert 0.04 < pvalue_of(one, value, "unbiased") < 0.05
    monkeypatch.setattr("hedgerow.inference.region._SOLVED", "unbiased")
    for method in (None, "unbiased"):
        assert pvalue_of(replace(one, default="unbiased"), high + 1e-6, method) == 0.05
    assert pvalue_of(one, (low + high) / 2.0, "unbiased") == 1.0


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1234567.891, 98765.4321, (1234560.0, 98765.5)),
        (0.000123456789, 0.0123456789, (0.000123456, 0.0123457)),
        (-2.00000049, -1.00000049, (-2.00001, -1.0)),
        (0.1, 0.3, (0.1, 0.3)),
        (-math.inf, math.inf, (-math.inf, math.inf)),
        (0.0, 10.0, (0.0, 10.0)),
        (1e-300, 1e300, (1e-300, 1e300)),
    ],
)
def test_an_end_is_rounded_outwards_to_six_significant_digits(
    low: float, high: float, expected: tuple[float, float]
) -> None:
    one = Interval(low, high, 0.95, "m", "x")
    assert tuple(one.outward()) == expected
    assert one.outward().level == 0.95 and one.outward().covers == "x"
    if math.isfinite(low):
        assert one.outward().low <= low and one.outward().high >= high


def test_an_interval_prints_and_is_recorded() -> None:
    assert (
        str(Interval(1234567.891, 2e7, 0.9, "m")) == "[1.23456e+06, 2e+07]: in 0.9 of such releases it holds the target"
    )
    assert str(Interval(0.0, math.inf, 0.95, "m", "the mean")) == "[0, inf]: in 0.95 of such releases it holds the mean"
    assert "in 0.9999999 of such" in str(Interval(0.0, 1.0, 0.9999999, "m")), "and not in 1 of them"
    record = Interval(-math.inf, 2.0, 0.95, "m").to_dict()
    assert record == {"low": None, "high": 2.0, "level": 0.95, "method": "m", "covers": ""}


@pytest.mark.parametrize(
    ("level", "remedy"), [(95, "0.95?"), *((level, "Try") for level in (0.0, 1.0, "x", -0.1, 1.0 - 2.0**-53, 1e-300))]
)
def test_a_level_lies_strictly_between_0_and_1(level: object, remedy: str) -> None:
    with pytest.raises(ParameterError, match="HG110") as refused:
        parse_level(level)
    assert remedy in str(refused.value)
    assert [parse_level(level) for level in (1e-12, 1.0 - 1e-12)] == [1e-12, 1.0 - 1e-12]


def test_a_value_read_among_all_cells_is_the_value_of_its_cell_and_prints_as_such() -> None:
    cells = JointCells(MEAN_OF_CELLS)
    alone = JointValue.of(MEAN_OF_CELLS.cells.blocks[0], 1, MeanOfTotals(X))
    assert cells.row(1) == alone != cells.row(0)
    assert "among" not in repr(cells.row(1)) and "ends_by_part" not in repr(cells)
