"""No value of a record changes how a call ends: every entry, every type of column, values that break what is careless.

Neighbours differ in their last record. Everything that is not paid for must be the same for both: whether the call
ends, the code and text of its refusal, its warnings, what it prints, its certificate and the cells that it releases.
"""

from __future__ import annotations

import itertools
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

import hedgerow as hg
from hedgerow import survey as survey_module
from hedgerow.engines import frames

ROWS = 12


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


EVIL: list[Any] = [
    *(None, float("nan"), float("inf"), -float("inf"), -0.0, 5e-324, 1e308),
    *(0, 2**53 + 1, 2**63, -(2**63), 2**64 - 1, 10**30, 10**400, True, False),
    *(Decimal("1e30"), Decimal("NaN"), Decimal("sNaN"), Decimal("0.5")),
    *("", "b", "z", "nor\udcff", "\uffff", "a\0b", "nan", "1e999", "x" * 100_000, b"\xff", date(2020, 1, 1)),
]
# What a pandas column of objects may hold besides; other libraries fail in odd ways when they are given such cells.
OBJECTS: list[Any] = [
    *(pd.NA, pd.NaT, pd.Timestamp(0), 10**5000, (1, 2), [1], np.array([1, 2]), {"a": 1}),
    *(np.float32("nan"), np.datetime64("NaT", "s"), Unprintable()),
]

CSV_CELLS = [
    *(b"", b'""', b" ", b"nan", b"1e999", b"9" * 400, b"-0.0", b"0x10", b"b", b"z", b"nor\xff", b"\xed\xa0\x80"),
    *(b"a\0b", b"x" * 100_000, b'"a""b"', b'"a\nb"', b"5,5,5,5", b"5\r", b"\xef\xbb\xbf5", "５".encode(), b"true"),
]

# A list fills the cells beside the header too. A pair is a number and its format: here no date has such a number.
EXCEL_CELLS: list[Any] = [
    *([5, "note"], [None, "note", "note"], (1e9, "yyyy-mm-dd"), (-1e6, "yyyy-mm-dd"), (1e300, "[h]:mm"), (0, "hh:mm")),
    *("#N/A", "=1/0", timedelta(days=3), time(1, 2), datetime(1900, 1, 1)),
]


def ones_and_twos(cells: list[Any]) -> list[float]:
    return [1.0 + place % 2 for place in range(len(cells))]


def series(dtype: Any) -> Callable[[list[Any]], Any]:
    return lambda cells: pd.DataFrame({"x": pd.Series(cells, dtype=dtype), "v": ones_and_twos(cells)})


def arrow(kind: Any, encode: bool = False) -> Callable[[list[Any]], Any]:
    def table(cells: list[Any]) -> Any:
        column = pa.array(cells, kind)
        return pa.table({"x": column.dictionary_encode() if encode else column, "v": ones_and_twos(cells)})

    return table


def polars(kind: Any, lazy: bool = False) -> Callable[[list[Any]], Any]:
    def frame(cells: list[Any]) -> Any:
        made = pl.DataFrame({"x": pl.Series(cells, dtype=kind), "v": ones_and_twos(cells)})
        return made.lazy() if lazy else made

    return frame


@cache
def in_memory() -> tuple[duckdb.DuckDBPyConnection, Iterator[int]]:
    """Return one database for all relations, which takes longer to make than a table, and the numbers of its tables."""
    return duckdb.connect(), itertools.count()


def relation(kind: str) -> Callable[[list[Any]], Any]:
    def table(cells: list[Any]) -> Any:
        database, numbers = in_memory()
        connection, name = database.cursor(), f"t{next(numbers)}"
        connection.execute(f"CREATE TABLE {name}(x {kind}, v DOUBLE)")
        connection.executemany(f"INSERT INTO {name} VALUES (?, ?)", list(zip(cells, ones_and_twos(cells), strict=True)))
        return connection.table(name)

    return table


def parquet(kind: Any, encode: bool = False) -> Callable[[list[Any]], Any]:
    def file(cells: list[Any]) -> Any:
        place = Path(tempfile.mkdtemp(dir=_FOLDER[0])) / "people.parquet"
        pq.write_table(arrow(kind, encode)(cells), place)
        return place

    return file


def database(kind: str) -> Callable[[list[Any]], Any]:
    def file(cells: list[Any]) -> Any:
        place = Path(tempfile.mkdtemp(dir=_FOLDER[0])) / "people.duckdb"
        with duckdb.connect(place) as connection:
            connection.execute(f"CREATE TABLE t(x {kind}, v DOUBLE)")
            connection.executemany("INSERT INTO t VALUES (?, ?)", list(zip(cells, ones_and_twos(cells), strict=True)))
        return place

    return file


_FOLDER: list[str] = []


def csv(cells: list[Any]) -> Any:
    place = Path(tempfile.mkdtemp(dir=_FOLDER[0])) / "people.csv"
    texts = [cell if isinstance(cell, bytes) else str(cell).encode() for cell in cells]
    place.write_bytes(b"v,x\n" + b"".join(b"%d,%s\n" % (1 + i % 2, text) for i, text in enumerate(texts)))
    return place


def excel(cells: list[Any]) -> Any:
    if {"nor\udcff", "\uffff"} & {cell for cell in cells if isinstance(cell, str)}:
        raise ValueError("XML holds no such characters, and what is written is no workbook")
    book = openpyxl.Workbook()
    book.active.append(["v", "x"])
    for v, cell in zip(ones_and_twos(cells), cells, strict=True):
        value, form = cell if isinstance(cell, tuple) else (cell, None)
        book.active.append([v, *(value if isinstance(value, list) else [value])])
        if form:
            book.active.cell(book.active.max_row, 2).number_format = form
    place = Path(tempfile.mkdtemp(dir=_FOLDER[0])) / "people.xlsx"
    book.save(place)
    return place


def statistical(suffix: str, dtype: str, form: str | None = None) -> Callable[[list[Any]], Any]:
    """A column of numbers, of texts, or of numbers that a format makes dates."""

    def file(cells: list[Any]) -> Any:
        if any(isinstance(cell, str) and len(cell) > 32_767 for cell in cells):
            raise ValueError("SPSS holds no longer text, and what is written is another file")
        frame = pd.DataFrame({"v": ones_and_twos(cells), "x": pd.Series(cells, dtype=dtype)})
        place = Path(tempfile.mkdtemp(dir=_FOLDER[0])) / f"people.{suffix}"
        write = getattr(pyreadstat, f"write_{suffix}")
        write(frame, place, variable_format={"x": form} if form else None)
        return place

    return file


NUMBERS: dict[str, Callable[[list[Any]], Any]] = {
    **{f"pandas {kind}": series(kind) for kind in ("float64", "float32", "float16", "int64", "uint64")},
    **{f"pandas {kind}": series(kind) for kind in ("Float64", "Float32", "Int64", "UInt64")},
    **{f"pandas {kind}": series(kind) for kind in ("int64[pyarrow]", "uint64[pyarrow]", "double[pyarrow]")},
    "pandas decimal[pyarrow]": series(pd.ArrowDtype(pa.decimal128(38, 2))),
    **{f"polars {kind}": polars(kind) for kind in (pl.Float64, pl.Float32, pl.Int64, pl.UInt64, pl.Int128)},
    "polars Decimal": polars(pl.Decimal(38, 2)),
    "polars lazy UInt64": polars(pl.UInt64, lazy=True),
    **{f"pyarrow {kind}": arrow(kind) for kind in (pa.int64(), pa.uint64(), pa.float16(), pa.float64())},
    "pyarrow decimal": arrow(pa.decimal128(38, 2)),
    **{f"duckdb {kind}": relation(kind) for kind in ("DOUBLE", "FLOAT", "BIGINT", "HUGEINT", "UHUGEINT")},
    "duckdb DECIMAL": relation("DECIMAL(38, 2)"),
    **{f"parquet {kind}": parquet(kind) for kind in (pa.uint64(), pa.float64(), pa.decimal128(38, 2))},
    "duckdb file HUGEINT": database("HUGEINT"),
    "csv numbers": csv,
    "excel numbers": excel,
    **{f"{suffix} numbers": statistical(suffix, "float64") for suffix in ("dta", "sav")},
    "dta days": statistical("dta", "float64", "%td"),
    "dta moments": statistical("dta", "float64", "%tc"),
    "sav days": statistical("sav", "float64", "DATE11"),
    "sav moments": statistical("sav", "float64", "DATETIME20"),
}
TEXTS: dict[str, Callable[[list[Any]], Any]] = {
    **{f"pandas {kind}": series(kind) for kind in ("object", "str", "string[python]", "string[pyarrow]", "category")},
    "polars String": polars(pl.String),
    "polars lazy String": polars(pl.String, lazy=True),
    "polars Categorical": polars(pl.Categorical),
    "polars Enum": polars(pl.Enum(["a", "b", "z", ""])),
    "pyarrow string": arrow(pa.string()),
    "pyarrow large_string": arrow(pa.large_string()),
    "pyarrow dictionary": arrow(pa.string(), encode=True),
    "duckdb VARCHAR": relation("VARCHAR"),
    "duckdb ENUM": relation("ENUM('a', 'b', 'z', '')"),
    "parquet string": parquet(pa.string()),
    "parquet dictionary": parquet(pa.string(), encode=True),
    "duckdb file VARCHAR": database("VARCHAR"),
    "csv texts": csv,
    "excel texts": excel,
    **{f"{suffix} texts": statistical(suffix, "object") for suffix in ("dta", "sav")},
}
TRUTHS: dict[str, Callable[[list[Any]], Any]] = {
    **{f"pandas {kind}": series(kind) for kind in ("bool", "boolean", "bool[pyarrow]")},
    "polars Boolean": polars(pl.Boolean),
    "pyarrow bool": arrow(pa.bool_()),
    "duckdb BOOLEAN": relation("BOOLEAN"),
    "parquet bool": parquet(pa.bool_()),
}
REFUSED: dict[str, Callable[[list[Any]], Any]] = {
    "polars Object": polars(pl.Object),
    "pandas object of numbers": series("object"),
    "pandas object of truths": series("object"),
    "pyarrow dictionary of numbers": arrow(pa.int64(), encode=True),
    "pyarrow string_view": arrow(pa.string_view()),
    "pyarrow binary": arrow(pa.binary()),
    "pyarrow decimal256": arrow(pa.decimal256(76, 2)),
    "duckdb BLOB": relation("BLOB"),
}
BASES: dict[str, Any] = {
    **dict.fromkeys(NUMBERS, 5),
    **dict.fromkeys(TEXTS, "a"),
    **dict.fromkeys(TRUTHS, True),
    **{"polars Object": 5, "pandas object of numbers": 5, "pandas object of truths": True},
    **{"pyarrow dictionary of numbers": 5, "pyarrow string_view": "a", "pyarrow binary": b"a"},
    **{"pyarrow decimal256": Decimal(5), "duckdb BLOB": b"a"},
}
# Their files declare dates: numbers are asked of no such column.
DATES = ("dta days", "dta moments", "sav days", "sav moments")
KINDS = NUMBERS | TEXTS | TRUTHS | REFUSED


@dataclass(frozen=True)
class Entry:
    """One call of the package on an opened survey; `unit` is what the call is opened with."""

    name: str
    ask: Callable[[Any, list[Any]], Any]
    takes: tuple[str, ...] = ("number", "text", "truth")
    unit: Any = "row"


def feature(columns: Any) -> Any:
    return columns["x"] * 2.0


NUMBER = [
    hg.mean("x", bounds=(0, 10), step=1),
    hg.sum("x", bounds=(0, 10), step=1),
    hg.proportion("x", value=6),
]
QUANTILE = hg.quantile("x", 0.5, bounds=(0, 10), step=1)
OWN = hg.bootstrap(
    lambda total: total["f"] / total["count"], columns={"x": (0, 10, 1)}, features={"f": (feature, (0, 20))}, name="q"
)
# Too many combinations to count each: records are read one batch at a time.
FINE = hg.bootstrap(
    lambda total: total["x"] / total["v"], columns={"x": (0, 10, 0.001), "v": (0, 10, 0.001)}, name="streamed"
)
V = hg.mean("v", bounds=(0, 10), step=1)
PERSON = {"column": "x", "max_rows": 2}

YEARS = hg.column("year(x)", bounds=(1900, 2100), step=1)
PER_X = hg.column("v / (x - 5) * x", bounds=(0, 10), step=1)


def condition(values: list[Any]) -> str:
    constant = {bool: str(values[1]).lower()}.get(type(values[1]), repr(values[1]))
    return f"not x != {constant} or x in [{constant}] or not (x > {constant} and v >= 1)"


ENTRIES = [
    Entry("mean, sum, proportion", lambda s, _: s.release(NUMBER, epsilon=1, delta=0), ("number",)),
    Entry("proportion", lambda s, values: s.release([hg.proportion("x", value=values[1])], epsilon=1, delta=0)),
    Entry("by", lambda s, values: s.release([V, hg.count()], by={"x": values}, epsilon=1, delta=0)),
    Entry("where", lambda s, values: s.release([V, hg.count()], where=condition(values), epsilon=1, delta=0)),
    Entry(
        "computed, in bands",
        lambda s, _: s.release([hg.mean(PER_X)], by={"x": hg.bands(0, 5, 1e15)}, where="x < 9", epsilon=1, delta=0),
        ("number",),
    ),
    Entry("unit", lambda s, _: s.release([V], epsilon=1, n_resamples=3), ("number", "text"), PERSON),
    Entry("dates", lambda s, _: s.release([V, hg.count()], by={"x": ["1960-01-06"]}, epsilon=1, delta=0), ("date",)),
    Entry(
        "years",
        lambda s, _: s.release([hg.mean(YEARS)], where="not x >= '1960-01-06' or x < '1999-01-01'", epsilon=1, delta=0),
        ("date",),
    ),
]
MORE = [
    Entry("quantile", lambda s, _: s.release([QUANTILE], epsilon=1, n_resamples=3), ("number",)),
    Entry("own function", lambda s, _: s.release([OWN], epsilon=1, n_resamples=3), ("number",)),
    Entry("own function, streamed", lambda s, _: s.release([FINE], epsilon=1, n_resamples=3), ("number",)),
    Entry("rest", lambda s, values: s.release([hg.count()], by={"x": values}, other=True, epsilon=1, delta=0)),
    Entry(
        "totals", lambda s, _: s.magnitude_table("x", bounds=(0, 10), step=1, by={"v": [1, 2]}, epsilon=1), ("number",)
    ),
    Entry("counts", lambda s, values: s.contingency_table(by={"x": values}, epsilon=1, margins=True)),
    Entry("number of units", lambda s, _: s.release([hg.count()], epsilon=1), ("number", "text"), PERSON),
]


def role(kind: str) -> str:
    if kind in DATES:
        return "date"
    base = BASES[kind]
    return "truth" if base is True else "text" if isinstance(base, (str, bytes)) else "number"


def ending(source: Any, entry: Entry, values: list[Any], capfd: pytest.CaptureFixture[str]) -> tuple[Any, ...]:
    """Return all that the call shows and nobody has paid for."""
    # Under add-remove alone may an id change: the number of units is public otherwise.
    whom = "replace-one" if entry.unit == "row" else "add-remove"
    capfd.readouterr()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            opened = hg.open(source, relation=whom, unit=entry.unit)
            release = entry.ask(opened, values)
            cells = [(one.statistic, one.column, str(dict(one.cell))) for one in release]
            said = ("released", opened.n, cells, release.certificate.to_json())
        except Exception as refused:
            said = (type(refused).__name__, getattr(refused, "code", ""), str(refused), repr(refused.__context__))
    printed = capfd.readouterr()
    return said, sorted((one.category.__name__, str(one.message)) for one in told), printed.out, printed.err


def evil_cells(kind: str, one_by_one: bool) -> list[Any]:
    """Return the cells that a column of this type can hold; together, unless they are put there one by one."""
    found: list[Any] = []
    loose = kind.startswith("pandas") and "[" not in kind and role(kind) == "text"
    own = EXCEL_CELLS if kind.startswith("excel") else OBJECTS if loose else []
    for cell in CSV_CELLS if kind.startswith("csv") else EVIL + own:
        found += [cell] if holds(kind, [BASES[kind], *([] if one_by_one else found), cell]) else []
    assert found
    return found


def holds(kind: str, cells: list[Any]) -> bool:
    try:
        # A database holds in a file what it holds in memory, where a table is made at once.
        KINDS[kind.replace("duckdb file", "duckdb")](cells)
    except BaseException:  # polars panics
        return False
    return True


def neighbours(kind: str, one_by_one: bool) -> Iterator[tuple[str, Any]]:
    """Yield the source of base cells, then one for each evil last cell; or, as quickly, one with all of them."""
    base, build, evil = BASES[kind], KINDS[kind], evil_cells(kind, one_by_one)
    rows = ROWS if one_by_one else ROWS + len(evil)
    yield "none", build([base] * rows)
    for last in [[cell] for cell in evil] if one_by_one else [evil]:
        yield " ".join(type(cell).__name__ for cell in last), build([base] * (rows - len(last)) + last)


def differences(
    kind: str, entries: list[Entry], capfd: pytest.CaptureFixture[str], *, one_by_one: bool = False
) -> tuple[dict[str, Any], list[str]]:
    """Return each entry's ending on the base, and which endings differ from it."""
    values = {"truth": [False, True], "text": ["a", "b"]}.get(role(kind), [5, 6])
    first: dict[str, Any] = {}
    found = []
    for (name, source), entry in itertools.product(neighbours(kind, one_by_one), entries):
        if role(kind) in entry.takes:
            shown = ending(source, entry, values, capfd)
            if shown != first.setdefault(entry.name, shown):
                found.append(f"{kind}, {entry.name}, {name}: {str(shown)[:300]}")
    return first, found


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[None]:
    _FOLDER[:] = [str(tmp_path)]
    yield
    _FOLDER.clear()


@pytest.fixture
def priced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan and price equal requests once: both are functions of public facts, which are the key, and of no data."""
    for name in ("planned", "certificate_of"):
        monkeypatch.setattr(survey_module, name, _remembered(getattr(survey_module, name)))


def _remembered(made: Callable[..., Any]) -> Callable[..., Any]:
    def remembered(*args: Any, **options: Any) -> Any:
        key = repr((made.__name__, args, sorted(options.items())))
        if key not in _MADE:
            _MADE[key] = made(*args, **options)
        return _MADE[key]

    return remembered


_MADE: dict[str, Any] = {}


def check(kind: str, entries: list[Entry], capfd: pytest.CaptureFixture[str], *, one_by_one: bool = False) -> None:
    first, found = differences(kind, entries, capfd, one_by_one=one_by_one)
    assert not found, "\n".join(found)
    endings = {shown[0][0] for shown in first.values()}
    assert endings == {"released"} or kind in REFUSED, first


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("priced_once")
def test_no_record_changes_how_a_release_ends(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    """All evil cells at once: where one of them changed the ending, so would all.

    Two kinds beside each other share the calls; the long test asks each kind all of them.
    """
    check(kind, ENTRIES[list(KINDS).index(kind) % 2 :: 2], capfd)


@pytest.mark.parametrize("kind", ["pandas decimal[pyarrow]", "csv numbers", "csv texts", "pandas object"])
@pytest.mark.usefixtures("priced_once")
def test_no_record_changes_how_other_calls_end(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    check(kind, MORE, capfd)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("priced_once")
def test_the_only_value_of_a_column_changes_no_ending(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    """The other records miss the value: engines answer NULL where no record has one."""
    missing = b"" if kind.startswith("csv") else None
    if missing is None and not holds(kind, [None] * ROWS):
        return
    values = {"truth": [False, True], "text": ["a", "b"]}.get(role(kind), [5, 6])
    none, one = (KINDS[kind]([missing] * ROWS + [last]) for last in (missing, BASES[kind]))
    for entry in ENTRIES[1:4]:
        assert ending(none, entry, values, capfd) == ending(one, entry, values, capfd), entry.name


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("priced_once")
def test_no_last_record_changes_how_any_call_ends(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    check(kind, ENTRIES + MORE, capfd, one_by_one=True)


@pytest.mark.parametrize("kind", ["pandas int64[pyarrow]", "pandas object"])
@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.usefixtures("priced_once")
def test_an_engine_that_stumbles_over_a_value_is_seen(
    kind: str, one_by_one: bool, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sabotage: whole numbers of Arrow are not clamped, and objects are left to the engine to be made texts."""
    monkeypatch.setattr(frames, "arrow_columns", lambda _: frozenset())
    monkeypatch.setattr(frames, "_with_texts", lambda frame, _: frame)
    assert differences(kind, ENTRIES[1:3], capfd, one_by_one=one_by_one)[1]
