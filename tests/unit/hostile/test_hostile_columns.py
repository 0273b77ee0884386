"""Hostile columns: names that mean to break out, and contents of every kind that is not a plain number.

Held elsewhere, and not repeated: every kind of number, text and boolean on every engine, cell by cell
(``tests/contracts/test_engines.py``); which texts are numbers (``tests/unit/engines/test_engine_files.py``); odd frames
(``tests/unit/engines/test_engine_frames.py``); names in a facts file (``tests/unit/cli/test_facts.py``).
"""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

import hedgerow as hg
from hedgerow.engines.query import Query, ValueOnGrid
from hedgerow.facts.columns import Grid

CANARY = "424242.125"
NAMES = {
    '"; DROP TABLE': 'x"; DROP TABLE l; --',
    "closing bracket": "x'); DROP TABLE cells; --",
    "newline": "age\nof\r\nall",
    "escape codes": "\x1b[31mage\x1b[0m\x07",
    "=cmd|": "=cmd|' /C calc'!A0",
    "at": "@SUM(1+1)",
    "script": "</script><script>alert(1)</script>",
    "pattern": "^.*$",
    "star": "*",
    "braces": "{0}{{x}}%s%n",
    "text that runs backwards": "\u202egnihtyna",
    "zero width": "a\u200bge",
    "very long": "age" * 1000,
    "a role's own name": "value_0",
    "a column of the file's own names": "c1",
}
FORMATS = ("csv", "parquet", "pandas")


def source(doors: Any, kind: str, columns: dict[str, list[Any]]) -> Any:
    import pandas
    import polars
    import pyarrow
    import pyarrow.parquet

    if kind == "csv":
        text = io.StringIO(newline="")
        writer = csv.writer(text, quoting=csv.QUOTE_ALL)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        return doors.write("people.csv", text.getvalue())
    if kind == "parquet":
        pyarrow.parquet.write_table(pyarrow.table(columns), doors.folder / "people.parquet")
        return doors.folder / "people.parquet"
    return {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "pyarrow": pyarrow.table}[kind](columns)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("item", NAMES)
def test_a_name_is_a_name_and_nothing_else(item: str, kind: str, doors: Any) -> None:
    name = NAMES[item]
    columns = {name: [41.0, float(CANARY)], "sex": ["f", CANARY]}
    # The header of a CSV file is one line; DuckDB reads "*" as all columns, so it is refused there.
    code = {("csv", "newline"): "HG202", ("parquet", "star"): "HG205"}.get((kind, item))
    found = source(doors, kind, columns)
    assert doors.api(found, lambda: hg.sum(name, bounds=(0, 100), step=1), by={"sex": ["f", "m"]}, delta=0) == code
    if kind in ("csv", "parquet"):
        told = doors.cli(found, "--sum", f"{name}:0:100:1", "--by", "sex=f,m")
        assert told == (code, 0 if code is None else 2)
        assert "\x1b" not in doors.texts[-1] and "\x1b" not in doors.texts[-2]
        assert len(doors.entries()) == (2 if code is None else 0)


def test_names_are_inert_in_every_file_of_a_release(doors: Any) -> None:
    found = source(doors, "parquet", {NAMES["=cmd|"]: [41.0], NAMES["script"]: ["<b>"], "g": [CANARY]})
    asked = ["--mean", f"{NAMES['=cmd|']}:0:100:1", "--by", f"{NAMES['script']}=<b>,+1", "--by", "g=a"]
    assert doors.cli(found, *asked, out=True) == (None, 0)
    out = doors.folder / "out"
    with (out / "estimates.csv").open(newline="", encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert any(cell.startswith("'=cmd|") for cell in cells)
    assert not any(cell[:1] in ("=", "@") for cell in cells)
    for name in ("report.html", "estimates.svg"):
        assert "<script>alert" not in (out / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("item", "columns", "code"),
    [
        ("missing", ["sex", "wage"], "HG203"),
        ("missing but for its case", ["Age", "sex"], "HG203"),
        ("duplicate", ["age", "sex", "age"], "HG205"),
        ("duplicate but for blanks", ["age", " age "], "HG205"),
        ("empty name", ["age", ""], "HG205"),
        ("blank name", ["age", " \t "], "HG205"),
    ],
)
def test_columns_that_cannot_be_told(item: str, columns: list[str], code: str, doors: Any) -> None:
    found = doors.write("people.csv", ",".join(columns) + "\n" + ",".join([CANARY] * len(columns)) + "\n")
    assert doors.api(found, lambda: hg.mean("age", bounds=(0, 100), step=1)) == code
    assert doors.cli(found, "--mean", "age:0:100:1", out=True) == (code, 2)
    assert doors.entries() == []


# Item: (cells of a CSV file, what they count as on the grid 0, 1, …, 100: {place: records}, missing).
CELLS: dict[str, tuple[list[str], dict[int, int], int]] = {
    "mixed types": (["41", "forty", "true", "2020-01-01", CANARY], {41: 1, 100: 1}, 3),
    "booleans": (["true", "false", "True", "1", "0"], {0: 1, 1: 1}, 3),
    "dates": (["2020-01-01", "01/02/2020", "12:30"], {}, 3),
    "decimal comma": (['"41,5"', '"1.000,5"', "41.4"], {41: 1}, 2),
    "all NaN": (["NaN", "nan", "", "NA"], {}, 4),
    "one NaN": (["NaN", "41"], {41: 1}, 1),
    "±inf": (["inf", "-inf", "Infinity", "1e999", "-1e999"], {}, 5),
    "1e308": (["1e308", "-1e308", "1.7976931348623157e308"], {0: 1, 100: 2}, 0),
    "2^70": ([str(2**70), str(-(2**70)), str(2**63)], {0: 1, 100: 2}, 0),
    "tiny": (["5e-324", "-5e-324", "-0.0"], {0: 3}, 0),
    "constant": (["7"] * 5, {7: 5}, 0),
    "formulas": (["=41", "@41", "+41"], {41: 1}, 2),
}


@pytest.mark.parametrize("item", CELLS)
def test_contents_are_no_errors_but_have_a_value(item: str, doors: Any) -> None:
    cells, places, missing = CELLS[item]
    path = doors.write("people.csv", "age,sex\n" + "".join(f"{cell},{CANARY}\n" for cell in cells))
    counted = hg.open(path, relation="add-remove").source.histogram(
        Query(ValueOnGrid("age", Grid.from_bounds("age", (0, 100), 1)))
    )
    assert dict(zip(counted.index.tolist(), counted.count.tolist(), strict=True)) == places
    assert counted.missing.tolist() == [missing]
    assert doors.api(path, lambda: hg.mean("age", bounds=(0, 100), step=1)) is None
    assert doors.cli(path, "--mean", "age:0:100:1") == (None, 0)
    assert doors.entries() == ["recorded"] * 2


@pytest.mark.parametrize("kind", ["parquet", "pandas", "polars", "pyarrow"])
@pytest.mark.parametrize(
    ("item", "values", "code"),
    [
        ("booleans", [True, False], "HG204"),
        ("texts", ["41", CANARY], "HG204"),
        ("all NaN", [float("nan")] * 3, None),
        ("±inf and 1e308", [float("inf"), float("-inf"), 1e308, -1e308, float(CANARY)], None),
        ("constant", [7, 7, 7], None),
    ],
)
def test_types_are_those_of_the_schema(item: str, values: list[Any], code: str | None, kind: str, doors: Any) -> None:
    found = source(doors, kind, {"age": values})
    assert doors.api(found, lambda: hg.mean("age", bounds=(0, 100), step=1)) == code
    if kind == "parquet":
        assert doors.cli(found, "--mean", "age:0:100:1") == (code, 0 if code is None else 2)
        assert len(doors.entries()) == (2 if code is None else 0)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_dates_and_integers_of_any_size_in_frames(kind: str, doors: Any) -> None:
    import datetime

    days = source(doors, kind, {"age": [datetime.date(2020, 1, 1)]})
    # pandas holds dates as objects, which count as texts whatever is in them.
    assert doors.api(days, lambda: hg.mean("age", bounds=(0, 100), step=1)) == "HG204"
    # Arrow casts no integer beyond 2^53 to a double, so they are left to the other engines.
    large = source(doors, kind, {"age": [2**53, -(2**53)] if kind == "pyarrow" else [2**63 - 1, -(2**63)]})
    assert doors.api(large, lambda: hg.mean("age", bounds=(0, 100), step=1)) is None
    assert doors.entries() == ["recorded"]
