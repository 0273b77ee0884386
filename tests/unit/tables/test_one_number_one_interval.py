"""One number has one interval: every file, frame and estimate of a table, whatever was done to it, says the same.

All are compared with the `Estimate` of the cell; as drawn, that is compared with what the release reads, to the last
digit. Sabotage: a second model of the errors behind the files.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.facts.declared import Protection
from hedgerow.facts.relation import Relation, Target, UnitLimit
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.estimates_of_cells import HIDDEN
from hedgerow.inference.interval import Interval
from hedgerow.release.cells.margins import ConsistentTable
from hedgerow.release.cells.printed_numbers import STATISTICS_CANADA
from hedgerow.release.cells.shape import Hierarchy
from hedgerow.release.cells.table_cells import FOLLOWS
from hedgerow.release.execute import draw_tables, read_histograms
from hedgerow.release.publication.formats.csv import csv_text
from hedgerow.release.publication.formats.html import html_page
from hedgerow.release.publication.formats.xlsx import xlsx_bytes
from hedgerow.release.publication.text import text_of
from hedgerow.tables.protected import ProtectedTable
from hedgerow.tables.release_table import read_table
from hedgerow.tables.table_options import choose, choose_by_cell
from hedgerow.testing.simulated import SimulatedNoise

N = 240
_RNG = np.random.default_rng(3)
PEOPLE = pa.table(
    {
        "id": np.arange(N) // 2,
        "pay": _RNG.exponential(15.0, N).clip(0, 100).round(),
        "sex": _RNG.integers(0, 2, N),
        "region": _RNG.integers(0, 4, N),
    }
)
BY: dict[str, list[Any]] = {"sex": [0, 1], "region": [0, 1, 2, 3]}
COUNT, SUM = hg.count(), hg.sum("pay", bounds=(-20, 100), step=1)
COMPLETE = {"missing": "error-if-declared-complete"}
SETTINGS: dict[str, dict[str, Any]] = {
    "counts": {"asked": COUNT},
    "counts, little budget": {"asked": COUNT, "epsilon": 0.1},
    "counts, averaged": {"asked": COUNT, "noise": "averaged-laplace"},
    "counts, add-remove": {"asked": COUNT, "relation": "add-remove", "noise": "gaussian"},
    "counts of n": {"asked": COUNT, "by": {"sex": [0], "region": [0, 1]}, "other": True},
    "counts, file": {"asked": COUNT, "target": "file"},
    "totals": {"asked": SUM},
    "totals, add-remove": {"asked": SUM, "relation": "add-remove"},
    "totals, Gaussian": {"asked": SUM, "noise": "gaussian", "missing": "midpoint"},
    "totals, file": {"asked": SUM, "target": "file"},
    "totals, bounds by cell": {"asked": SUM, "cell_bounds": {"sex": {0: (0, 50)}}},
    "totals, public": {"asked": SUM, "sensitivity": "public-membership", "epsilon": 16.0, **COMPLETE},
    "totals, public, file": {"asked": SUM, "sensitivity": "public-membership", "target": "file", **COMPLETE},
    "counts of units": {"asked": COUNT, "unit": UnitLimit("id", 2)},
    "totals of units": {"asked": SUM, "unit": UnitLimit("id", 2), "relation": "add-remove", "epsilon": 4.0},
    "totals of units, little budget": {"asked": SUM, "unit": UnitLimit("id", 2), "epsilon": 0.2},
    "counts of units, replicates": {"asked": COUNT, "unit": UnitLimit("id", 2), "n_resamples": 20},
    "totals of units, replicates": {"asked": SUM, "unit": UnitLimit("id", 2), "relation": "add-remove", "epsilon": 4.0}
    | {"n_resamples": 20},
    "totals, about zero": {"asked": hg.sum("pay", bounds=(30, 100), step=1), "target": "file"},
}
MENDED: dict[str, Callable[[ProtectedTable], ProtectedTable]] = {
    "as drawn": lambda table: table,
    "rounded": lambda table: table.rounded(),
    "with totals": lambda table: table.with_margins(),
    "all of it": lambda table: table.with_margins().nonnegative().rounded(5.0),
}
NUMBERS = ("estimate", "standard_error", "sampling_error", "bootstrap_error", "privacy_error")
Row = tuple[Any, ...]


def simulated(setting: str, **given: Any) -> tuple[ProtectedTable, Sequence[Estimate]]:
    """Return a table, and what the release reads of its draws."""
    options = {"by": BY, "epsilon": 2.0, "relation": "replace-one", "unit": "row", "target": "population"}
    options |= SETTINGS[setting] | given
    asked, unit = options.pop("asked"), options.pop("unit")
    told = Protection(Relation(options.pop("relation")), unit, Target(options.pop("target")), ())
    limit = None if unit == "row" else (unit.column, unit.max_rows)
    opened = hg.open(PEOPLE, relation=str(told.relation), unit=limit)
    choosing = choose_by_cell if "cell_bounds" in options else choose
    choice = choosing(asked, told, None, n=opened.n if told.relation is Relation.REPLACE_ONE else None, **options)
    (drawn,) = draw_tables(choice.plan, read_histograms(choice.plan, opened.source), SimulatedNoise(5))
    assert drawn is not None
    design = choice.plan.items[0].design
    assert design is not None
    return read_table(choice, drawn, None, source="simulated"), design.estimates(drawn)


def of_estimate(one: Estimate) -> Row:
    interval = one.confidence_interval(0.9)
    return (*(getattr(one, name) for name in NUMBERS), interval.low, interval.high, one.reliable)


def of_json(one: dict[str, Any]) -> Row:
    low, high = (one["confidence_interval"][end] for end in ("low", "high"))
    ends = -math.inf if low is None else low, math.inf if high is None else high
    return (*(one[name] for name in NUMBERS), *ends, one["reliable"])


def of_file(row: dict[str, Any]) -> Row:
    ends = [-math.inf if row["low"] is None else row["low"], math.inf if row["high"] is None else row["high"]]
    numbers = [float(row[name]) for name in NUMBERS] + [float(end) for end in ends]
    return (*numbers, str(row["reliable"]) == "True")


def outputs(table: ProtectedTable) -> dict[str, list[Row]]:
    """Return what every output says, read back: cells, and behind them totals where it has any."""
    shown = table._publication(level=0.9)
    head, *rows = openpyxl.load_workbook(io.BytesIO(xlsx_bytes(shown)))["Cells"].values
    columns = table.to_columns(0.9)
    record = json.loads(table.to_json(level=0.9))
    listed = record["estimates"] + [one for margin in record["table"]["margins"] for one in margin["estimates"]]
    frame = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return {
        "JSON": [of_json(one) for one in listed],
        "CSV": [of_file(row) for row in csv.DictReader(io.StringIO(csv_text(shown)))],
        "XLSX": [of_file(dict(zip(head, row, strict=True))) for row in rows],
        "frame": [of_file(row) for row in frame],
    }


def same(found: Sequence[Row], expected: Sequence[Row]) -> bool:
    """Return whether all rows are equal; a workbook keeps sixteen digits."""
    return all(
        math.isclose(a, b, rel_tol=1e-14) or a == b
        for one, other in zip(found, expected, strict=False)
        for a, b in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("mended", MENDED)
@pytest.mark.parametrize("setting", SETTINGS)
def test_every_output_says_what_the_estimate_says(setting: str, mended: str) -> None:
    table = MENDED[mended](simulated(setting)[0])
    margins = [one for kept in table.margins for one in table.margin(*kept)]
    expected = [of_estimate(one) for one in (*table, *margins)]
    for name, found in outputs(table).items():
        assert len(found) == (len(table) if name == "frame" else len(expected))
        assert same(found, expected), name
    if mended == "all of it":
        assert all(row[0] % 5.0 == 0.0 for row in expected)


@pytest.mark.parametrize("setting", SETTINGS)
def test_an_estimate_has_the_errors_that_the_release_reads_whatever_is_shown(setting: str) -> None:
    """To the last digit: a table has no model of its own. Rounding neither narrows nor widens."""
    table, read = simulated(setting)
    for shown in (table, table.rounded(), table.nonnegative(), table.nonnegative().rounded(10.0)):
        assert [of_estimate(one)[1:] for one in shown] == [of_estimate(one)[1:] for one in read]


@pytest.mark.parametrize("setting", SETTINGS)
def test_nothing_that_a_release_says_of_a_number_is_lost_in_a_table(setting: str) -> None:
    """Notes and replicates: of cells as the release reads them, and in JSON whole. Sabotage: `cells` without them."""
    table, read = simulated(setting)
    totals = table.with_margins()
    for one, other in zip(table, read, strict=True):
        assert one.replicates == other.replicates and (other.note or "") in (one.note or "")
    found = [one for margin in totals.to_dict(0.9)["table"]["margins"] for one in margin["estimates"]]
    margins = [one for kept in totals.margins for one in totals.margin(*kept)]
    assert [*totals.to_dict(0.9)["estimates"], *found] == [one.to_dict(0.9) for one in (*totals, *margins)]
    assert ("units" in setting) is all("at most 2 rows" in (one.note or "") for one in margins)
    if "replicates" in setting:
        assert all(len(one.replicates) == one.n_resamples == 20 for one in margins)
    if setting == "totals of units, little budget":
        assert any(HIDDEN in one.note for one in table)


@pytest.mark.parametrize("setting", [name for name in SETTINGS if "bounds by cell" not in name and "of n" not in name])
def test_a_total_over_one_category_is_its_cell(setting: str) -> None:
    """The rule for totals, on the least of them: an axis with one category. So it is the rule of the cells."""
    table, _ = simulated(setting, by={"sex": [0], "region": [0, 1, 2, 3]})
    for cell, total in zip(table, table.with_margins().margin("region"), strict=True):
        assert of_estimate(total) == pytest.approx(of_estimate(cell), rel=1e-9)


def test_a_second_model_is_caught() -> None:
    """Sabotage: files read cells without degrees of freedom, the noise of the variance, or replicates."""
    for setting in ("totals, public", "totals of units"):
        table, _ = simulated(setting)
        second = replace(
            table.cells,
            region=FOLLOWS,
            freedom=math.inf,
            second_moment_variance=0.0,
            sampling_variance=9.0,
        )
        broken = replace(table, table=ConsistentTable(second))
        expected = [of_estimate(one) for one in table]
        agreeing = {name for name, found in outputs(broken).items() if same(found, expected)}
        assert agreeing == set()  # all of them read the same cells
        assert same(outputs(table)["CSV"], expected)


def test_totals_over_units_allow_for_units_with_rows_in_several_cells() -> None:
    """A spread, or a second moment, is read for as many cells as a unit may have rows in."""
    table, _ = simulated("totals of units, replicates")
    assert {one._region.replicates.rate for one in table} == {1.0}
    assert table.with_margins().margin()[0]._region.replicates.rate == 2.0
    for setting in ("totals of units", "counts of units"):
        table, _ = simulated(setting, epsilon=0.5)
        cells, (whole,) = table.cells.moments, table.with_margins().margin()[0]._joint.releases
        assert whole.sums[0] == pytest.approx(cells.sums.sum(axis=0))
        # A count of rows needs no second moment: Σ r² ≤ 2 Σ r.
        squares = cells.sums if setting == "counts of units" else cells.products
        assert whole.products[0].ravel() == pytest.approx(2.0 * squares.sum(axis=0).ravel())


@pytest.mark.parametrize("setting", ["totals of units", "counts of units"])
def test_totals_over_units_are_read_as_the_sums_of_their_cells(setting: str) -> None:
    """Of little noise, products between cells are added up: the interval of a sum of estimates of one release."""
    table, cells = simulated(setting, epsilon=50.0)
    for kept in ("sex", "region"):
        for total in table.with_margins().margin(kept):
            own = [one for one in cells if one.cell[kept] == total.cell[kept]]
            summed = sum(own[1:], own[0])
            assert total.standard_error == pytest.approx(summed.standard_error, rel=1e-9)
            ends = [one.confidence_interval() for one in (total, summed)]
            wide, as_wide = (one.high - one.low for one in ends)
            # How many units are behind each cell is guessed apart.
            assert wide == pytest.approx(as_wide, rel=0.05)


@pytest.mark.parametrize("setting", ["totals of units", "counts of units"])
def test_totals_of_groups_are_read_as_totals_over_as_many_cells(setting: str) -> None:
    """Groups of three categories and of one: each as the total of a table that has these categories alone."""
    table, _ = simulated(setting)
    groups = Hierarchy.of("region", "part", {"most": [0, 1, 2], "rest": [3]})
    most, rest = table.with_margins([groups]).margin("part")
    assert of_estimate(rest) == pytest.approx(of_estimate(table.with_margins().margin("region")[3]), rel=1e-9)
    assert most.privacy_error == pytest.approx(3.0**0.5 * rest.privacy_error)
    ends = [one.confidence_interval() for one in (most, rest)]
    assert all(one.low < each.estimate < one.high for one, each in zip(ends, (most, rest), strict=True))


def test_letters_are_those_of_intervals_and_hidden_sampling_errors_have_a_star() -> None:
    """Where the noise hides the sampling error. Sabotage: letters by standard errors promise more."""
    table, _ = simulated("totals of units", epsilon=0.7)
    columns, letters = table.columns(), table.letters()
    half, size = (columns.high - columns.low) / 2.0, np.abs(columns.estimate)
    limits = {letter: limit for letter, limit, _ in STATISTICS_CANADA.bands} | {"F": math.inf}
    allowed = np.array([limits[letter] for letter in letters])
    assert np.all(half <= 1.96 * allowed * size)
    assert np.any(half > 1.96 * 1.05 * columns.standard_error)
    hidden = columns.sampling_error == 0.0
    assert 0 < hidden.sum() < len(table)
    publication = table._publication(errors=True)
    text, page = text_of(publication), html_page(publication)
    assert text.count("*") == 1 + hidden.sum() and "* The noise hides the sampling error" in text
    assert page.count("*</") == hidden.sum()
    plain, _ = simulated("counts of units", epsilon=100.0)
    assert "*" not in text_of(plain._publication(errors=True))


def test_errors_that_are_withheld_are_in_no_output() -> None:
    opened = hg.open(PEOPLE, relation="replace-one")
    for table in (
        opened.contingency_table(by=BY, epsilon=1.0, guarantee="bootstrap-dp", margins=True),
        opened.magnitude_table("pay", bounds=(0, 100), step=1, by=BY, epsilon=1.0, guarantee="bootstrap-dp").rounded(),
    ):
        for one in (*table, *(one for kept in table.margins for one in table.margin(*kept))):
            errors, interval = of_estimate(one)[1:5], one.confidence_interval()
            assert errors == (None,) * 4 and not one.reliable
            assert (interval.low, interval.high) == (-math.inf, math.inf)
        record = table.to_dict()["estimates"]
        assert [one["estimate"] for one in record] == [one.estimate for one in table]
        assert all(one[name] is None for one in record for name in NUMBERS[1:])
        (head, *_) = csv.reader(io.StringIO(csv_text(table._publication())))
        assert not {*NUMBERS[1:], "low", "high", "reliable"} & set(head)


@pytest.mark.parametrize(("places", "low", "high"), [(0, -3.0, 13.0), (1, -2.4, 12.4), (None, -2.34568, 12.3457)])
def test_ends_are_rounded_outwards_for_print(places: int | None, low: float, high: float) -> None:
    shown = Interval(-2.345675, 12.345612, 0.95, "gaussian").outward(places)
    assert (shown.low, shown.high) == (low, high)
    for end in (0.0, 0.1, -0.3, 2.0, 1e-12, 1e25, math.inf, -math.inf):
        assert Interval(end, end, 0.95, "").outward().low == end == Interval(end, end, 0.95, "").outward().high


def test_a_printed_interval_holds_the_interval() -> None:
    """200 intervals, as sentence, row of a text and of a page: no end is printed inside the interval."""
    table, _ = simulated("totals")
    for level in np.linspace(0.5, 0.999, 25):
        for one in table:
            exact, shown = one.confidence_interval(float(level)), one.confidence_interval(float(level)).outward()
            assert float(f"{shown.low:.6g}") <= exact.low and exact.high <= float(f"{shown.high:.6g}")
            assert shown.high - shown.low <= (exact.high - exact.low) * 1.001
