"""The numbers of margins that are shown: non-negative, whole, of known totals, and of groups of categories."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from tests.unit.margins.drawn_margins import BY, COMPLETE, crossed, drawn, many, people, planned, summed

import hedgerow as hg
from hedgerow.facts.declared import Facts
from hedgerow.margins import agreeing_fit, agreeing_rounding
from hedgerow.margins.shown_margins import AGREE
from hedgerow.reports.verify.verification import verify_record
from hedgerow.testing.simulated import SimulatedNoise


def test_numbers_that_are_shown_are_non_negative_agree_and_come_nearer() -> None:
    table = people(800)
    whole, survey = crossed(table), hg.open(table, relation="add-remove")
    raw_error, fit_error = 0.0, 0.0
    for seed in range(3):
        margins = drawn(survey, SimulatedNoise(seed), weights="equal")
        shown = margins.nonnegative()
        assert shown.shown is not None and shown.shown.gap is not None and shown.shown.gap <= 2e-3
        for columns in margins.tables():
            cells = shown.table(*columns).values
            assert cells.min() >= 0.0
            for axis in range(cells.ndim):
                fewer = columns[:axis] + columns[axis + 1 :]
                assert np.allclose(cells.sum(axis=axis), shown.table(*fewer).values, rtol=0, atol=1e-9)
            raw_error += float(((margins.table(*columns).values - summed(whole, columns)) ** 2).mean())
            fit_error += float(((cells - summed(whole, columns)) ** 2).mean())
            # Intervals are those of what was drawn, cut at 0.
            before, after = margins.table(*columns).columns(), shown.table(*columns).columns()
            assert np.array_equal(before.high, after.high) and after.low.min() >= 0.0
        rounded = shown.rounded()
        for columns in margins.tables():
            cells = rounded.table(*columns).values
            assert np.array_equal(cells, np.rint(cells)) and cells.min() >= 0.0
            assert np.abs(cells - shown.table(*columns).values).max() < 3.0
            for axis in range(cells.ndim):
                fewer = columns[:axis] + columns[axis + 1 :]
                assert np.array_equal(cells.sum(axis=axis), rounded.table(*fewer).values)
        assert rounded.shown is not None and rounded.shown.largest_difference == 0.0 and AGREE in rounded.notes
    assert fit_error < raw_error


def test_margins_that_an_earlier_version_showed_hold_and_tables_of_two_columns_come_nearer_now() -> None:
    """The step of an earlier version names no weights: it is read by those of then, which another step contradicts."""
    survey, before, now = hg.open(people(800), relation="add-remove"), 0.0, 0.0
    whole = crossed(people(800))
    for margins in many(survey, map(SimulatedNoise, range(5)), weights="equal"):
        earlier, shown = margins.after([{"step": "nonnegative"}]), margins.nonnegative()
        assert shown.after([]).steps == ({"step": "nonnegative", "held": "by order"},)
        for columns in margins.tables():
            truth = summed(whole, columns)
            before += float(((earlier.table(*columns).values - truth) ** 2).mean()) * (len(columns) == 2)
            now += float(((shown.table(*columns).values - truth) ** 2).mean()) * (len(columns) == 2)
    assert now < before
    released = survey.margins(by=BY, order=3, epsilon=1.0)
    record = json.loads(released.after([{"step": "nonnegative"}]).to_json())
    assert verify_record(record).holds and verify_record(json.loads(released.nonnegative().to_json())).holds
    for held in ("by order", "by another"):
        assert not verify_record({**record, "steps": [{"step": "nonnegative", "held": held}]}).holds


def test_a_total_that_noise_put_above_a_public_number_is_shown_as_this_number() -> None:
    """Where values may be missing the total of the tables is noisy, though n is public: n is the most that is shown."""
    survey, above = hg.open(people(800), relation="replace-one"), 0
    for seed in range(6):
        margins = drawn(survey, SimulatedNoise(seed))
        above += float(margins.residuals.values[()]) > 800.0
        for shown in (margins.nonnegative(), margins.nonnegative().rounded()):
            assert all(estimate.estimate <= estimate.confidence_interval(0.95).high for estimate in shown.cells(()))
            assert shown.cells(()).estimate[0] <= 800.0
    assert above > 0


def test_one_table_and_its_totals_are_rounded_so_that_they_agree_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    survey = hg.open(people(800), relation="add-remove")
    for most in (agreeing_rounding._MOST_MOVES, 0):  # without a search all tables are totals of the largest one
        monkeypatch.setattr(agreeing_rounding, "_MOST_MOVES", most)
        margins = drawn(survey, SimulatedNoise(1), order=4).nonnegative().rounded()
        assert margins.shown is not None and margins.shown.largest_difference == 0.0
        assert any("All tables agree" in note for note in margins.notes)


def test_where_no_agreeing_whole_numbers_are_found_the_difference_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sabotage of the search: without moves each table is rounded by itself, and a note says how far they differ."""
    monkeypatch.setattr(agreeing_rounding, "_MOST_MOVES", 0)
    margins = drawn(hg.open(people(800), relation="add-remove"), SimulatedNoise(0)).nonnegative().rounded()
    assert margins.shown is not None and margins.shown.largest_difference > 0.0 and AGREE not in margins.notes
    assert any(f"{margins.shown.largest_difference:,.0f} at most" in note for note in margins.notes)


def test_of_a_total_that_is_not_positive_nothing_is_left_but_empty_cells() -> None:
    survey, totals = hg.open(people(6, seed=4), relation="add-remove"), []
    for margins in many(survey, map(SimulatedNoise, range(8)), epsilon=0.1):
        totals.append(float(margins.table().values))
        shown = margins.nonnegative()
        assert shown.shown is not None and shown.shown.largest_difference == 0.0
        assert float(shown.table().values) == pytest.approx(max(totals[-1], 0.0))
    assert min(totals) < 0.0 < max(totals)


def test_whole_numbers_are_near_those_that_were_drawn_and_add_up() -> None:
    """Of 6 numbers in all, noise of 30 and half of the cells empty: whole, agreeing, the known table kept."""
    table = people(6, seed=4)
    survey, sex = hg.open(table, relation="add-remove"), summed(crossed(table), ("sex",))
    for options in ({}, {"order": 1}, {"order": 2}, {"order": 4}, {"known": {"sex": sex}}):
        margins = drawn(survey, SimulatedNoise(3), **options)
        for before in (margins, margins.nonnegative()):
            rounded = before.rounded()
            assert rounded.shown is not None and rounded.shown.largest_difference == 0.0
            for columns in margins.tables():
                cells = rounded.table(*columns).values
                assert np.array_equal(cells, np.rint(cells)) and (cells.min() >= 0.0 or before is margins)
                assert np.abs(cells - before.table(*columns).values).max() < 4.0
            if options.get("known"):
                assert np.array_equal(rounded["sex"].values, sex)


def test_known_totals_are_kept_and_leave_the_price() -> None:
    table = people(2000)
    whole, survey = crossed(table), hg.open(table, relation="replace-one")
    pairs = {columns: summed(whole, columns) for columns in combinations(BY, 2)}
    without, with_known = (planned(survey, **COMPLETE, known=known) for known in (None, pairs))
    last = without.expected()[-1].privacy_error, with_known.expected()[-1].privacy_error
    assert last[1] < 0.75 * last[0]
    assert all((one.privacy_error == 0.0) == (len(one.columns) <= 2) for one in with_known.expected())
    margins = drawn(survey, SimulatedNoise(1), **COMPLETE, known=pairs)
    for columns in pairs:
        assert np.allclose(margins.table(*columns).values, pairs[columns], atol=1e-8)
    single = drawn(survey, SimulatedNoise(1), known={"sex": {"f": 1100, "m": 900}})
    assert single["sex"].values.tolist() == pytest.approx([1100.0, 900.0])
    assert any("Known totals" in note and "sex" in note for note in single.notes)


@pytest.mark.parametrize("columns", [(("job",),), (("region", "job"), ("sex",)), tuple(combinations(BY, 2))])
def test_non_negative_numbers_agree_beside_known_totals_of_which_some_are_0(
    columns: tuple[tuple[str, ...], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sabotage: cells that known totals leave empty are not emptied; they are then below 0, and a note says so."""
    table = people(40)
    survey, whole = hg.open(table, relation="replace-one"), crossed(table)
    known = {names: summed(whole, names) for names in columns}
    assert min(numbers.min() for numbers in known.values()) == 0.0
    margins = drawn(survey, SimulatedNoise(1), **COMPLETE, known=known)
    shown = margins.nonnegative()
    assert AGREE in shown.notes
    for names in shown.tables():
        cells = shown.table(*names).values
        assert cells.min() >= 0.0 and (names not in known or np.allclose(cells, known[names], rtol=0, atol=1e-9))
        for axis in range(cells.ndim):
            fewer = names[:axis] + names[axis + 1 :]
            assert np.allclose(cells.sum(axis=axis), shown.table(*fewer).values, rtol=0, atol=1e-9)
    assert all(np.array_equal(shown.rounded().table(*names).values, known[names]) for names in known)
    monkeypatch.setattr(agreeing_fit._Problem, "_emptied", lambda problem, residuals, positive: residuals)
    assert AGREE not in margins.nonnegative().notes


GROUPS: dict[str, Any] = {"region": {"coast": {"inland": ["S"], "sea": ["N", "W"]}}}
FACTS = Facts.from_dict(
    {
        "columns": {
            "sex": {"categories": ["f", "m"]},
            "region": {"categories": ["N", "S", "W"], "hierarchies": {"coast": {"inland": ["S"], "sea": ["N", "W"]}}},
        }
    }
)


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_groups_of_categories_add_up_in_every_table_and_have_their_errors(steps: int) -> None:
    margins = drawn(hg.open(people(500), relation="add-remove"), SimulatedNoise(1), hierarchies=GROUPS)
    margins = [margins, margins.nonnegative(), margins.nonnegative().rounded()][steps]
    by_coast = {}
    for columns in margins.tables():
        table = margins.table(*columns)
        if "region" not in columns:
            assert not table.table.hierarchies
            continue
        named = tuple("coast" if column == "region" else column for column in columns)
        group = table.table.margin(named)
        axis, cells = columns.index("region"), table.values
        sums = np.stack([cells.take([1], axis).sum(axis), cells.take([0, 2], axis).sum(axis)], axis)
        assert group.published == pytest.approx(sums.reshape(-1), abs=1e-6)
        by_coast[named] = group
    alone = by_coast["coast",]
    for named, group in by_coast.items():
        axes = tuple(place for place, name in enumerate(named) if name != "coast")
        assert group.published.reshape(group.shape.shape).sum(axis=axes) == pytest.approx(alone.published, abs=1e-6)
    # One of three categories, and two: the noise of a sum of two is larger than that of one, less than of two apart.
    of_one = margins["region"].cells.noise_variance
    assert alone.noise_variance[0] == pytest.approx(of_one, rel=1e-9)
    assert of_one < alone.noise_variance[1] < 2.0 * of_one


def test_groups_are_in_the_files_and_in_a_record_that_verifies() -> None:
    survey = hg.open(people(500), relation="replace-one", facts=FACTS)
    made = survey.margins(by=["region", "sex"], order=2, epsilon=1.0).nonnegative().rounded()
    lines = made.to_csv().splitlines()
    assert lines[0].startswith("region,sex,coast,columns,") and sum(",sea,coast," in line for line in lines) == 1
    assert sum("coast × sex" in line for line in lines) == 4 and "inland" in made["region", "sex"].to_html()
    record = json.loads(made.to_json())
    assert [table["by"] for table in record["margins"]["tables"]][2:4] == [["coast"], ["sex"]]
    assert verify_record(record).holds and verify_record(json.loads(json.dumps(made.kept_record()))).holds
    for change in ("estimate", "noise_sd", "high"):
        wrong = json.loads(made.to_json())
        wrong["margins"]["tables"][2][change][1] += 1.0
        assert not verify_record(wrong).holds
    other = json.loads(made.to_json())
    other["request"]["margins"]["hierarchies"][0]["groups"] = [["inland", ["N"]], ["sea", ["S", "W"]]]
    assert not verify_record(other).holds
    # What the call says comes before the facts.
    named = survey.margins(by=["region", "sex"], order=2, epsilon=1.0, hierarchies={"region": {}})
    assert not named.hierarchies
