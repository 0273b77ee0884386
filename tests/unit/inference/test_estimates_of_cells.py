"""Numbers of many cells as arrays: they say what the single estimates say, and notes where a number says little."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Category, CellLabels
from hedgerow.inference import estimates_of_cells
from hedgerow.inference.bootstrap.replicate_summary import Replicates
from hedgerow.inference.estimates_of_cells import (
    HIDDEN,
    WIDE,
    Cells,
    Columns,
    Estimates,
    Subject,
    alike,
    columns_of_entries,
    finite,
)
from hedgerow.inference.interval import normal_quantile
from hedgerow.inference.region import JoinedRegions, LevelTest, ReplicateRegion, ScoreRegion, WithheldRegion
from hedgerow.inference.score_test import Quadratic, QuadraticTest

NORMAL = 1.959963984540054
MEAN = Subject(
    "mean", "x", "moments", "the population mean of x; noise is counted", "Too noisy.", "Rows are dropped.", True
)
LABELS = CellLabels((Category.declared("sex", [0, 1]), Category.declared("region", ["n", "s", "w"])))
VALUES = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


def score(values: np.ndarray[Any, Any], sd: float) -> ScoreRegion:
    """Return the region of numbers with normal noise of one standard deviation."""
    return ScoreRegion(QuadraticTest(values, Quadratic(), Quadratic(sd**2), -math.inf, math.inf, "gaussian", "moments"))


def cells(**changed: Any) -> Cells:
    """Return six cells: the second has no errors, the third is not reliable, the fourth has no visible sampling."""
    errors = np.array([0.5, math.nan, 0.5, 0.0, 0.5, 0.5]), np.array([0.3, math.nan, 0.3, 0.4, 0.3, 0.3])
    clear = np.array([True, True, False, True, True, True])
    made = Cells.plain(MEAN, LABELS, VALUES, errors, score(VALUES, 0.5), reliable=clear)
    return replace(made, **changed) if changed else made


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Named(Cells):
    """Cells with labels of categories, and replicates, as those of a release may have."""

    @property
    def names(self) -> Mapping[str, Mapping[Any, str]]:
        return {"region": {"n": "north", "s": "south"}, "age": {0: "young"}}

    def replicates(self, index: int) -> tuple[float, ...] | None:
        return (float(index), 0.5) if index % 2 else None


def test_a_single_estimate_has_the_numbers_of_its_cell() -> None:
    one, bare, hidden = (cells()[place] for place in (0, 1, 3))
    assert (one.statistic, one.column, one.method, one.covers) == ("mean", "x", "moments", MEAN.covers)
    assert dict(one.cell) == {"sex": 0, "region": "n"} and dict(cells()[-1].cell) == {"sex": 1, "region": "w"}
    assert (one.estimate, one.sampling_error, one.bootstrap_error, one.privacy_error) == (1.0, 0.5, 0.0, 0.3)
    assert tuple(one.confidence_interval(0.95)) == pytest.approx((1.0 - NORMAL * 0.5, 1.0 + NORMAL * 0.5), rel=1e-9)
    assert one.n_resamples is None and one.replicates is None
    assert (bare.sampling_error, bare.bootstrap_error, bare.privacy_error) == (None, None, None)
    assert bare.standard_error is None
    assert hidden.standard_error == 0.4
    assert [made.estimate for made in cells()[4:1:-2]] == [5.0, 3.0]
    with pytest.raises(IndexError):
        cells()[6]


@pytest.mark.parametrize("part", [1, 2, 4, 6])
@pytest.mark.parametrize("kind", [Cells, Named])
def test_what_is_written_of_arrays_is_what_is_written_of_each(
    kind: type[Cells], part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`entries` and `in_columns` make no estimate, in parts of any size."""
    monkeypatch.setattr(estimates_of_cells, "_PART", part)
    made = kind(**fields_of())
    by_name = made.names
    one_by_one = [estimate._labelled(by_name).to_dict(0.5) for estimate in made]
    assert list(made.entries(0.5)) == one_by_one
    assert [entry.get("labels") for entry in one_by_one[1:3]] == (
        [{"region": "south"}, None] if by_name else [None] * 2
    )
    assert ("replicates" in one_by_one[1], "replicates" in one_by_one[2]) == (kind is Named, False)
    json.dumps(one_by_one, allow_nan=False)
    columns, listed = made.in_columns(0.5), columns_of_entries(one_by_one)
    assert columns == listed | ({"labels": {"region": ["north", "south", None] * 2}} if by_name else {})
    assert columns["level"] == [0.5] * 6 and columns["value"] == [None] * 6
    assert columns["cell"] == {"sex": [0, 0, 0, 1, 1, 1], "region": ["n", "s", "w"] * 2}


def fields_of() -> dict[str, Any]:
    """Return the fields of the six cells."""
    made = cells()
    names = ("subject", "labels", "estimate", "sampling_error", "bootstrap_error", "privacy_error", "reliable")
    return {name: getattr(made, name) for name in (*names, "region", "wide")}


def test_columns_have_the_ends_and_errors_of_all_cells() -> None:
    read = cells().columns(0.9)
    z = 1.6448536269514722
    assert np.asarray(read.low) == pytest.approx(VALUES - 0.5 * z) and read.high == pytest.approx(VALUES + 0.5 * z)
    assert read.standard_error[[0, 3]] == pytest.approx([math.hypot(0.5, 0.3), 0.4]) and np.isnan(
        read.standard_error[1]
    )
    assert np.array_equal(read.standard_error, cells().standard_error, equal_nan=True)
    assert np.array_equal(cells().interval(0.9), (read.low, read.high))
    assert np.array_equal(cells().interval(), cells().interval(0.95))
    assert np.array_equal(cells().columns().low, cells().columns(0.95).low)
    assert Columns._fields[-1] == "reliable" and read.reliable.tolist() == [True, True, False, True, True, True]
    for ask in (cells().interval, cells().columns):
        with pytest.raises(ParameterError, match="HG110"):
            ask(95)


def test_notes_say_what_a_reader_must_know_of_each_number() -> None:
    made = cells(wide=np.array([False, False, False, False, False, True]), reliable=np.array([True] * 2 + [False] * 4))
    remark = MEAN.remark
    expected = [remark, remark, f"Too noisy. {remark}", f"{HIDDEN} Too noisy. {remark}", f"Too noisy. {remark}"]
    assert made.notes() == [*expected, f"{WIDE} {remark}"]
    assert [made.note(place) for place in range(6)] == made.notes()
    known = replace(made, subject=replace(MEAN, sampled=False, remark=None))
    assert known.notes() == [None, None, "Too noisy.", "Too noisy.", "Too noisy.", WIDE]
    assert replace(known, wide=None).notes() == [None, None, *["Too noisy."] * 4]


def test_each_kind_of_note_is_told_apart() -> None:
    """Reliable or not, wide or not, with a sampling error or without: eight numbers with notes of their own."""
    flags = [(reliable, wide, seen) for reliable in (True, False) for wide in (True, False) for seen in (0.0, 0.5)]
    reliable, wide, seen = (np.array(part) for part in zip(*flags, strict=True))
    values, none = np.arange(8.0), np.zeros(8)
    made = Cells(
        MEAN, [{}] * 8, values, seen, none, none, reliable.astype(bool), score(values, 0.5), wide=wide.astype(bool)
    )
    assert made.notes() == [made.note(place) for place in range(8)]
    assert len(set(made.notes())) == 6  # a reliable number needs no word about its width


@pytest.mark.parametrize(
    ("error", "width", "expected"),
    [
        (0.52, 0.96, True),  # wide as it stands
        (0.52, 0.95, True),
        (0.52, 0.94, False),
        (0.48, 0.99, False),  # no error is so large that its interval has to be computed
        (0.50, 0.96, True),
        (1.01, 0.10, True),  # wide by the standard error
        (0.98, 0.10, False),
    ],
)
def test_an_interval_that_holds_nearly_all_that_is_possible_is_told(error: float, width: float, expected: bool) -> None:
    """`error`: the width of the interval that the standard error tells, in parts of what is possible."""
    part = 20.0 * error / (2.0 * NORMAL) * (1.0 + 1e-12)
    errors = np.array([0.6 * part]), np.array([0.8 * part])
    region = ScoreRegion(LevelTest(lambda level: (-10.0 * width, 10.0 * width) if level == 0.95 else (-9.9, 9.9), "m"))
    made = Cells.plain(MEAN, [{}], np.zeros(1), errors, region, possible=20.0)
    assert (bool(made.wide[0]), bool(made.reliable[0])) == (expected, not expected)  # type: ignore[index]  # given
    assert made.notes() == [f"{WIDE} {MEAN.remark}" if expected else MEAN.remark]
    swamped = Cells.plain(MEAN, [{}], np.zeros(1), errors, region, possible=20.0, reliable=np.array([False]))
    assert not swamped.reliable[0] and swamped.note(0) == f"Too noisy. {MEAN.remark}"


def test_no_interval_is_computed_where_none_can_be_wide() -> None:
    def refused(level: float) -> tuple[float, float]:
        raise AssertionError("an interval was computed")

    region = ScoreRegion(LevelTest(refused, "moments"))
    made = Cells.plain(MEAN, [{}], np.zeros(1), (np.full(1, 0.1), np.full(1, 0.1)), region, possible=20.0)
    assert made.reliable.all() and made.wide is not None and not made.wide.any()


def test_half_and_all_of_what_is_possible_count_as_wide() -> None:
    """The standard error tells an interval of exactly this width."""
    errors = np.array([3.0]), np.array([4.0])
    width = 2.0 * normal_quantile(0.95) * 5.0
    for possible, ends, expected in ((2.0 * width, width, True), (width, 0.1 * width, True), (2.0 * width, 1.0, False)):
        region = ScoreRegion(LevelTest(lambda level, far=ends: (-far, far), "moments"))  # type: ignore[misc]  # one argument is asked for
        assert Cells.plain(MEAN, [{}], np.zeros(1), errors, region, possible=possible).wide == [expected]


def test_one_wide_cell_does_not_change_another() -> None:
    errors, none = np.array([0.1, 30.0]), np.zeros(2)
    made = Cells.plain(MEAN, [{}, {}], np.zeros(2), (errors, none), score(np.zeros(2), 0.1), possible=20.0)
    assert made.reliable.tolist() == [True, False]


def test_the_interval_of_a_bootstrap_is_named_by_its_default() -> None:
    replicates = Replicates(10.0, 4.0, 20, 1.0, weights="multinomial")
    region = ReplicateRegion(replicates, 0.0, 100.0, True, "unbiased", False)
    both = JoinedRegions([region, region])
    ones = np.ones(2)
    made = Cells(MEAN, [{}, {}], np.full(2, 10.0), ones, ones, ones, ones.astype(bool), both)
    assert made.interval_method == "unbiased" == made[1].confidence_interval().method
    assert [entry["confidence_interval"]["method"] for entry in made.entries()] == ["unbiased"] * 2
    assert [entry["confidence_interval"]["level"] for entry in made.entries()] == [0.95] * 2


def test_errors_that_are_withheld_are_none_and_the_interval_is_all_that_is_possible() -> None:
    unknown = np.full(2, math.nan)
    made = Cells(MEAN, [{}, {}], np.ones(2), unknown, unknown, unknown, np.ones(2, bool), WithheldRegion())
    entry = next(made.entries())
    assert entry == made[0].to_dict()
    assert entry["standard_error"] is None and entry["confidence_interval"]["low"] is None
    assert entry["confidence_interval"]["method"] == "withheld"


def test_a_number_without_a_sampling_error_has_no_standard_error() -> None:
    none = np.full(1, math.nan)
    made = Cells.plain(MEAN, [{}], np.zeros(1), (none, np.ones(1)), score(np.zeros(1), 1.0))
    assert (made[0].bootstrap_error, made[0].privacy_error, made[0].standard_error) == (None, 1.0, None)
    assert Cells.plain(MEAN, [{}], np.zeros(1), (np.ones(1), none), score(np.zeros(1), 1.0))[0].bootstrap_error == 0.0


def test_a_number_is_not_said_to_be_sampled_unless_it_is() -> None:
    plain = Subject("count", None, "geometric", "all records; noise is counted", "Too noisy.")
    made = Cells.plain(plain, [{}], np.zeros(1), (np.zeros(1), np.ones(1)), score(np.zeros(1), 1.0))
    assert made.notes() == [None]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Withheld(Cells):
    """Cells whose errors may not be asked for."""

    def check_given(self) -> None:
        raise ParameterError("HG161", rule="No errors.", finding="", remedy="")


def test_the_intervals_of_cells_are_refused_where_their_errors_are_withheld() -> None:
    with pytest.raises(ParameterError, match="HG161"):
        Withheld(**fields_of()).interval()


def test_columns_of_statistics_of_other_cells_are_filled_with_none() -> None:
    """A table of a count of all records and of means by sex and region has the columns of both, in order."""
    labels = [{"sex": 0}, {"sex": 1}]
    values = np.array([7.0, 8.0])
    by_sex = Cells.plain(replace(MEAN, column="y"), labels, values, (0.1 * values, 0.1 * values), score(values, 1.0))
    named = Named(**fields_of())
    both = Estimates([by_sex, (), named, [cells()[0]]])
    assert len(both) == 9 and len(Estimates([])) == 0
    columns = both.in_columns(0.9)
    assert columns["column"] == ["y", "y", *["x"] * 7]
    assert columns["cell"]["sex"] == [0, 1, 0, 0, 0, 1, 1, 1, 0]
    assert columns["cell"]["region"] == [None, None, "n", "s", "w", "n", "s", "w", "n"]
    assert columns["labels"] == {"region": [None, None, "north", "south", None, "north", "south", None, None]}
    assert columns["estimate"] == [7.0, 8.0, *VALUES.tolist(), 1.0] and columns["level"] == [0.9] * 9
    assert [entry["estimate"] for entry in both.entries(0.9)] == columns["estimate"]
    assert [entry["confidence_interval"]["low"] for entry in both.entries(0.9)] == columns["low"]
    assert next(both.entries())["confidence_interval"]["level"] == 0.95
    assert Estimates([]).in_columns(0.9)["estimate"] == []


def test_estimates_side_by_side_are_found_by_their_place() -> None:
    made = Estimates([cells(), [], cells(estimate=-VALUES)])
    assert len(made) == 12 and len(made.parts) == 2
    assert [one.estimate for one in made] == [*VALUES, *-VALUES]
    assert [made[place].estimate for place in (0, 5, 6, 11, -1, -12)] == [1.0, 6.0, -1.0, -6.0, -6.0, 1.0]
    assert made[7] is made[7] is made[-5]
    assert made == tuple(made) and made != tuple(made)[:-1] and made != [*made]
    with pytest.raises(TypeError):
        hash(made)
    sent = pickle.loads(pickle.dumps(Estimates([[1.0], [2.0]])))  # type: ignore[list-item]  # numbers stand for them
    assert sent == (1.0, 2.0) and type(sent) is tuple
    assert repr(Estimates([[1, 2], [3, 4]])) == "(1, 2, 3, 4)"  # type: ignore[list-item]  # as above
    assert repr(Estimates([[1, 2], [3, 4, 5]])) == "(1, 2, 3, 4, … 1 more)"  # type: ignore[list-item]  # as above


def test_estimates_that_differ_in_their_cells_alone_are_told_with_them() -> None:
    one = cells()[4]
    found = [(place, [*map(dict, labels)]) for place, labels in alike(Estimates([cells(), [one, one], cells()]))]
    whole = [dict(label) for label in LABELS]
    assert found == [(0, whole), (6, [dict(one.cell)]), (7, [dict(one.cell)]), (8, whole)]
    assert [place for place, _ in alike([one, one])] == [0, 1]
    assert [place for place, _ in alike(cells())] == [0]


def test_labels_of_cells_are_listed_by_column() -> None:
    hidden = CellLabels((Category.declared("a", [0, 1]), Category.declared("b", ["x", "y"])))
    for labels in (hidden, [dict(label) for label in hidden], [dict(hidden[1])], []):
        ones = np.ones(len(labels))
        made = Cells(MEAN, labels, ones, ones, ones, ones, ones.astype(bool), score(ones, 1.0))
        expected = {0: {}, 1: {"a": [0], "b": ["y"]}, 4: {"a": [0, 0, 1, 1], "b": ["x", "y", "x", "y"]}}[len(labels)]
        assert made.in_columns(0.95)["cell"] == expected


def test_numbers_that_json_does_not_know_are_none() -> None:
    assert finite(np.array([1.0, math.inf, -math.inf, math.nan])) == [1.0, None, None, None]
