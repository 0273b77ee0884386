"""What every output of a table says beside its numbers: its guarantee by name, n, what was declared or left out."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.text
import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.errors import ParameterError
from hedgerow.tables.protected import ProtectedTable

mpl.use("Agg")

N = 300
_RNG = np.random.default_rng(8)
FIRMS = pa.table(
    {
        "output": _RNG.integers(0, 101, N).astype(float),
        "region": _RNG.choice(["north", "Total"], N),
        "owner": np.arange(N) // 3,
    }
)
BY: dict[str, list[Any]] = {"region": ["Total", "north"]}


def totals(unit: Any = "row", **options: Any) -> ProtectedTable:
    survey = hg.open(FIRMS, relation="replace-one", unit=unit)
    return survey.magnitude_table("output", bounds=(0, 100), step=1, by=BY, epsilon=1.0, **options)


def test_n_and_the_policy_for_missing_values_are_said_where_they_are_public() -> None:
    said = str(totals())
    assert "The file has n = 300 records: public under replace-one, exact." in said
    assert "Records without a value of output add nothing." in said
    counts = str(hg.open(FIRMS, relation="add-remove").contingency_table(by=BY, epsilon=1.0))
    assert "n = " not in counts and "300 records" not in counts and "without a value" not in counts


def test_midpoints_are_said_on_every_output(tmp_path: Path) -> None:
    table = totals(missing="midpoint")
    assert "Missing values count as the midpoint of the bounds." in str(table)
    assert "Missing values count as the midpoint of the bounds." in table.to_html()
    assert "Missing values count as the midpoint of the bounds." in table.to_dict()["release"]["notes"]


@pytest.mark.parametrize("guarantee", ["dp", "bootstrap-dp"])
def test_public_membership_is_printed_as_the_declaration_that_it_is(guarantee: Any) -> None:
    table = totals(sensitivity="public-membership", missing="midpoint", guarantee=guarantee)
    for said in (str(table), table.to_html()):
        assert "cell every record belongs to is public, as declared" in " ".join(said.split())
    assert "is public, as declared" not in str(totals(missing="midpoint", guarantee=guarantee))


def test_replicates_do_not_claim_that_nothing_was_cut() -> None:
    table = totals({"column": "owner", "max_rows": 3}, n_resamples=20)
    assert not any("nothing was cut" in note for note in table.notes)
    said = " ".join(str(table).split())
    assert "Numbers outside what is possible were moved to the nearest possible one" in said
    assert "At most 3 rows of each owner are used" in said and "n = 100 units (owner)" in said
    counts = hg.open(FIRMS, relation="replace-one", unit={"column": "owner", "max_rows": 3})
    assert "count\n" in str(counts.contingency_table(by=BY, epsilon=1.0))  # the heading above the numbers


def test_data_files_frames_and_pictures_name_the_guarantee(tmp_path: Path) -> None:
    for guarantee, name in (("dp", "dp"), ("bootstrap-dp", "bootstrap-dp (NOT differential privacy)")):
        table = totals(guarantee=guarantee, margins=True)
        table.to_csv(tmp_path / "table.csv")
        rows = list(csv.DictReader((tmp_path / "table.csv").read_text(encoding="utf-8").splitlines()))
        assert len(rows) == 3 and {row["guarantee"] for row in rows} == {name}
        assert set(table.to_columns()["guarantee"]) == {name}
        figures = [table.plot(kind=kind).figure for kind in ("heat", "bar")]
        for figure in figures:
            texts = [text.get_text() for text in figure.findobj(mpl.text.Text)]
            assert any("NOT differential privacy" in text for text in texts) is (guarantee != "dp")
        assert table[0].note is None or ("NOT differential privacy" in table[0].note) is (guarantee != "dp")


def test_bounds_are_printed_in_full() -> None:
    survey = hg.open(FIRMS, relation="replace-one")
    for guarantee in ("dp", "bootstrap-dp"):
        table = survey.magnitude_table("output", bounds=(0, 1_234_567), step=1, by=BY, epsilon=1.0, guarantee=guarantee)
        assert "[0, 1234567]" in table.covers


def test_a_number_is_called_an_estimate_and_not_the_truth() -> None:
    said = " ".join(
        str(hg.open(FIRMS, relation="replace-one", target="file").contingency_table(by=BY, epsilon=1.0)).split()
    )
    assert "Each number estimates this file's number of records" in said
    assert "Each number is this file's" not in said


def test_mended_numbers_are_not_said_to_have_been_left_as_they_were() -> None:
    rare = {"region": ["north", *(f"nowhere {place}" for place in range(30))]}
    table = hg.open(FIRMS, relation="replace-one").contingency_table(by=rare, epsilon=0.5, margins=True)
    assert "they were left so" in " ".join(str(table).split())
    for mended in (table.nonnegative(), table.rounded().nonnegative(), table.nonnegative().rounded()):
        assert mended.values.min() >= 0.0 and "left so" not in " ".join(str(mended).split())
    rounded = table.rounded(5)
    assert rounded.values.min() < 0.0
    assert "A number below zero comes from the noise" in " ".join(str(rounded).split())


def test_a_category_called_total_has_no_rule_above_it() -> None:
    table = hg.open(FIRMS, relation="replace-one").contingency_table(by={"region": ["north", "Total"]}, epsilon=1.0)
    lines = str(table.with_margins()).splitlines()
    places = [place for place, line in enumerate(lines) if line.startswith("Total")]
    assert len(places) == 2
    assert [lines[place - 1].startswith("---") for place in places] == [False, True]


def test_a_total_that_was_not_asked_for_says_how_to_have_it() -> None:
    with pytest.raises(ParameterError, match="margins=True"):
        totals().margin()


def test_an_impossible_number_has_an_interval_that_is_no_point() -> None:
    # Noise of sd 11 on totals of at most 20: many estimates are impossible. A point would claim to know the total.
    few = pa.table({"sex": [0] * 20, "v": [1.0] * 20})
    survey = hg.open(few, relation="replace-one", target="file")
    beyond = 0
    for _ in range(40):
        table = survey.magnitude_table("v", bounds=(0, 1), step=1, by={"sex": [0, 1]}, epsilon=0.25, margins=True)
        for one in (*table, *table.margin()):
            interval = one.confidence_interval()
            beyond += not 0.0 <= one.estimate <= 20.0
            assert interval.high - interval.low > 5.0
    assert beyond > 20
