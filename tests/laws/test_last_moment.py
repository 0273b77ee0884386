"""No date, moment or time of a record changes how a call ends: the least and the largest that each type can hold.

Neighbours differ as in `test_last_record`. A far value stands in the column that is asked about, or in one that nobody
asks about, before the column that is asked about and behind it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import narwhals.stable.v2 as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.laws.test_last_record import _FOLDER, ROWS, Entry, V, ending, folder, in_memory, ones_and_twos, priced_once

import hedgerow as hg
from hedgerow.engines import files, frames
from hedgerow.formats import quoted_name

__all__ = ["folder", "priced_once"]  # fixtures


def stored(kind: Any, integers: list[int | None]) -> Any:
    """Return a column of days, moments or durations, made of the integers that it is stored by."""
    return pa.array(integers, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)


def far_integers(kind: Any) -> list[int | None]:
    """Return the least and the largest integers of a type, and others that overflow what is computed of them."""
    most = 2 ** (kind.bit_width - 1) - 1
    powers = [sign * 10**digits for digits in range(4, 19) if 10**digits < most for sign in (1, -1)]
    return [None, 0, most, most - 1, -most - 1, -most, most // 2, -most // 2, *powers]


def in_parquet(table: pa.Table) -> Any:
    place = Path(tempfile.mkdtemp(dir=_FOLDER[0])) / "people.parquet"
    pq.write_table(table, place)
    return place


def in_duckdb(table: pa.Table) -> Any:
    database, numbers = in_memory()
    connection, name = database.cursor(), f"moments{next(numbers)}"
    connection.register("given", table)
    connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    return connection.table(name)


def in_duckdb_file(table: pa.Table) -> Any:
    place = Path(tempfile.mkdtemp(dir=_FOLDER[0])) / "people.duckdb"
    with duckdb.connect(place) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
    return place


def in_folders(table: pa.Table) -> Any:
    place = Path(tempfile.mkdtemp(dir=_FOLDER[0]))
    (place / "part=1").mkdir()
    pq.write_table(table, place / "part=1" / "people.parquet")
    return place


def without_first_name(table: pa.Table) -> Any:
    """Return a Parquet file whose first column has no name, as where pandas writes the names of rows."""
    return in_parquet(table.add_column(0, "", [pa.array(range(len(table)))]))


def in_pandas(table: pa.Table) -> Any:
    return pd.DataFrame({name: pd.Series(pd.arrays.ArrowExtensionArray(table[name])) for name in table.column_names})


def in_numpy(table: pa.Table) -> Any:
    return pd.DataFrame({name: table[name].to_numpy() for name in table.column_names})


LIBRARIES: dict[str, Callable[[pa.Table], Any]] = {
    **{
        "pyarrow": lambda table: table,
        "polars": pl.from_arrow,
        "polars lazy": lambda table: pl.from_arrow(table).lazy(),
    },
    **{"pandas": in_pandas, "pandas of numpy": in_numpy, "duckdb": in_duckdb, "duckdb file": in_duckdb_file},
    **{"parquet": in_parquet, "parquet in folders": in_folders, "parquet with names of rows": without_first_name},
    "duckdb over parquet": lambda table: duckdb.connect().read_parquet(str(in_parquet(table))),
}


MOMENTS = [pa.date32(), *map(pa.timestamp, ("s", "ms", "us", "ns"))]
UNASKED = [
    *MOMENTS,
    *(pa.timestamp("ms", "UTC"), pa.timestamp("us", "UTC"), pa.date64()),
    *(pa.time32("ms"), pa.time64("us"), pa.time64("ns"), pa.duration("s"), pa.duration("us")),
]


def holds(library: str, kind: Any, integers: list[int | None]) -> bool:
    # A database holds in a file what it holds in memory, and a folder of Parquet files what one file holds.
    build = LIBRARIES["parquet" if "parquet" in library else library.replace("duckdb file", "duckdb")]
    try:
        build(pa.table({"x": stored(kind, integers)}))
    except BaseException:  # polars panics
        return False
    return True


@cache
def far_in(library: str, kind: Any) -> list[int | None]:
    """Return the far integers of a type that a library can hold, none where it has no such type."""
    far = far_integers(kind)
    return far if holds(library, kind, far) else [cell for cell in far if holds(library, kind, [0, cell])]


def beside(library: str, first: bool) -> Iterator[Any]:
    """Yield a source with near, then with far values in the columns that nobody asks about, `first` before `v`."""
    kinds = {str(kind): (kind, far) for kind in UNASKED if (far := far_in(library, kind))}
    rows = ROWS + max(len(far) for _, far in kinds.values())
    v = {"v": pa.array(ones_and_twos([0] * rows))}
    for evil in (False, True):
        others = {name: ending_in(kind, far if evil else [], rows) for name, (kind, far) in kinds.items()}
        yield LIBRARIES[library](pa.table(others | v if first else v | others))


def ending_in(kind: Any, far: list[int | None], rows: int) -> Any:
    return stored(kind, [0] * (rows - len(far)) + far)


def moments(library: str, kind: Any, one_by_one: bool) -> Iterator[Any]:
    """Yield a source whose column `x` has near values, then one with a far value, or with all of them."""
    far = far_in(library, kind)
    rows = ROWS if one_by_one else ROWS + len(far)
    for last in [[], *([value] for value in far)] if one_by_one else [[], far]:
        columns = {"x": ending_in(kind, last, rows), "v": pa.array(ones_and_twos([0] * rows))}
        yield LIBRARIES[library](pa.table(columns))


PART = [
    hg.mean(hg.column("year(x)", bounds=(1900, 2030), step=1)),
    hg.mean(hg.column("days(x) + hour(x)", bounds=(-30_000, 30_000), step=1)),
    hg.mean(hg.column("age(x, '2026-03-01')", bounds=(0, 150), step=1)),
]
DATED = [
    Entry("parts of a date", lambda s, _: s.release(PART, epsilon=1, delta=0)),
    Entry(
        "in groups, where",
        lambda s, _: s.release(
            [V, hg.count()],
            by={hg.column("month(x)"): [1, 2], hg.column("weekday(x)"): [4]},
            where="not x < '2020-06-01' or x == '1970-01-01 00:00' or x in ['1999-01-01']",
            epsilon=1,
            delta=0,
        ),
    ),
]
OTHERS = [
    Entry("mean and count of v", lambda s, _: s.release([V, hg.count()], epsilon=1, delta=0)),
    Entry("share of v", lambda s, _: s.release([hg.proportion("v", value=1)], where="v < 9", epsilon=1, delta=0)),
    Entry("by v", lambda s, _: s.release([hg.count()], by={"v": [1, 2]}, epsilon=1, delta=0)),
]


def endings_beside(library: str, first: bool, capfd: pytest.CaptureFixture[str]) -> list[tuple[Any, ...]]:
    return [tuple(ending(source, entry, [1, 2], capfd) for entry in OTHERS) for source in beside(library, first)]


def endings_of_moments(
    library: str, kind: Any, capfd: pytest.CaptureFixture[str], *, one_by_one: bool = False
) -> list[tuple[Any, ...]]:
    sources = moments(library, kind, one_by_one)
    return [tuple(ending(source, entry, [1, 2], capfd) for entry in DATED) for source in sources]


def check_moments(library: str, kind: Any, capfd: pytest.CaptureFixture[str], *, one_by_one: bool = False) -> None:
    near, *far = endings_of_moments(library, kind, capfd, one_by_one=one_by_one)
    refused = library.startswith("parquet") and kind in (pa.timestamp("s"), pa.timestamp("ms"))
    assert {shown[0][0] for shown in near} == {"DataError" if refused else "released"}, near
    assert all(shown == near for shown in far)


# A relation of DuckDB over Parquet is a computation of the caller: see the known holes.
READ_BY_US = [library for library in LIBRARIES if library != "duckdb over parquet"]


@pytest.mark.parametrize("kind", MOMENTS, ids=str)
@pytest.mark.parametrize("library", ["pyarrow", "polars lazy", "pandas", "pandas of numpy", "duckdb file", "parquet"])
@pytest.mark.usefixtures("priced_once")
def test_no_far_date_changes_how_a_release_ends(library: str, kind: Any, capfd: pytest.CaptureFixture[str]) -> None:
    check_moments(library, kind, capfd)


@pytest.mark.long
@pytest.mark.parametrize("kind", MOMENTS, ids=str)
@pytest.mark.parametrize("library", READ_BY_US)
@pytest.mark.usefixtures("priced_once")
def test_no_far_date_in_the_last_record_changes_how_a_release_ends(
    library: str, kind: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    check_moments(library, kind, capfd, one_by_one=True)


@pytest.mark.parametrize(
    ("library", "kind"),
    [
        *((library, MOMENTS[0]) for library in ("pyarrow", "polars", "pandas", "parquet", "duckdb")),
        *(("duckdb", pa.timestamp(unit)) for unit in ("s", "ms")),
    ],
    ids=str,
)
@pytest.mark.usefixtures("priced_once")
def test_a_date_that_an_engine_cannot_convert_is_seen(
    library: str, kind: Any, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sabotage: a date is converted as it is."""

    def converted(date: Any, dtype: Any, **_: bool) -> Any:
        return date.cast(nw.Datetime("us")) if dtype == nw.Date else date

    monkeypatch.setattr(frames, "within_years", converted)
    near, far = endings_of_moments(library, kind, capfd)
    assert near != far


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.usefixtures("priced_once")
def test_no_column_that_nobody_asks_about_changes_how_a_release_ends(
    library: str, first: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    near, far = endings_beside(library, first, capfd)
    assert {shown[0][0] for shown in near} == {"released"}, near
    assert near == far


@pytest.mark.parametrize("library", ["parquet", "parquet in folders", "parquet with names of rows"])
@pytest.mark.parametrize("sabotage", ["footers that stop the reader", "columns that stop the reader"])
@pytest.mark.usefixtures("priced_once")
def test_a_column_that_nobody_asks_about_and_that_stops_the_reader_is_seen(
    library: str, sabotage: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if sabotage == "footers that stop the reader":
        monkeypatch.setattr(files, "_choose", lambda connection, statement: connection.execute(statement))
    else:
        monkeypatch.setattr(files, "_read", lambda name, _: quoted_name(name))
    near, far = endings_beside(library, True, capfd)
    assert near != far
