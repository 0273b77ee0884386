"""Files and databases of any content and any names: each is released, or refused with a code before a value is read.

A column of a hostile name gives the number that a column of a plain name gives, from the same seed of the noise: a name
that became SQL, or named another column, would give another number.
"""

from __future__ import annotations

import csv
import io
import sqlite3
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import strategies as st
from tests.fuzz.edits import BIDI, Splice, spliced
from tests.fuzz.inputs import counts, refusal, tried
from tests.references.test_frozen_self import seeded

import hedgerow as hg
from hedgerow.formats import quoted_name

pytestmark = pytest.mark.entropy  # each question brings a seeded source of its own
PLACES = st.integers(0, 2**24)
SPLICES = st.lists(st.builds(Splice, PLACES, PLACES, PLACES), min_size=1, max_size=3)
AGES, SEXES = [41, 17, 99, 3, 56, 72, 18], ["f", "m", "f", "m", "m", "f", "f"]
WORDS = (
    "select", "SELECT *", "from", "table", "group", "order by", "null", "count", "rowid", "_rowid_", "oid", "value_0",
    "c1", "column0", "sex", "x", '"', '""', "'", "`", "[a]", ";", "--", "/*", "*/", "\\", "%s", "{0}", "$1", "?", ":a",
    "*",    '"; DROP TABLE people; --', "') FROM people; --", "a.b", "a,b", "a\tb", "a\nb", "a\rb", " a ", "\u00e4",
    "\u0061\u0308",    "\u00df", "\u0130", "\U0001f600", BIDI, "\u200b", "\ufeff", "\0", "\x1b[31m", "a" * 500, "1",
    "1e5", "-", "=1+1",
    "NaN",    "true", "", " ", "\u2028", "\x85", "\xa0",
)  # fmt: skip
NAMES = st.lists(st.sampled_from(WORDS) | st.text(max_size=3), min_size=1, max_size=3).map("".join)
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp1252", "utf-7", "cp037")
CELLS = st.sampled_from(
    ["41", " 41 ", "", "NaN", "inf", "-1e999", "1e308", "0x1F", "1_000", "1,5", "٣", "4 1", "1e", "--1", "+1", "1d",
    "\0",
     '"', '""', "'", "\n", "\r\n", "\\", "a" * 3000, "9" * 400, BIDI, "\x1b", "=1+1", "true", "2020-01-01", "NULL",
     "\\N", "\ufeff"]
)  # fmt: skip
ROWS = st.lists(st.lists(CELLS, max_size=4), max_size=6)
DIALECTS = st.fixed_dictionaries(
    {
        "delimiter": st.sampled_from(",;\t|"),
        "quoting": st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
        "lineterminator": st.sampled_from(["\n", "\r\n", "\r"]),
    }
)


def released(source: Path, number: str, group: str, table: str | None = None) -> list[float]:
    """Return the released sums of a column by group, from one seed."""
    with seeded(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        survey = hg.open(source, relation="add-remove", table=table)
        asked = [hg.sum(number, bounds=(0, 100), step=1), hg.count()]
        release = survey.release(asked, by={group: ["f", "m"]}, epsilon=5.0, delta=0)
    release.to_json()
    return [estimate.estimate for estimate in release]


def csv_file(path: Path, names: list[str], rows: list[list[Any]], **dialect: Any) -> Path:
    text = io.StringIO(newline="")
    writer = csv.writer(text, **dialect)
    writer.writerows([names, *rows])
    path.write_bytes(text.getvalue().encode("utf-8", "surrogatepass"))
    return path


def duckdb_file(path: Path, table: str, names: list[str]) -> None:
    _in_database(duckdb.connect(str(path)), table, names)


def sqlite_file(path: Path, table: str, names: list[str]) -> None:
    _in_database(sqlite3.connect(path), table, names)


def _in_database(connection: Any, table: str, names: list[str]) -> None:
    number, group = map(quoted_name, names)
    connection.execute(f"CREATE TABLE {quoted_name(table)} ({number} INTEGER, {group} VARCHAR)")
    connection.executemany(f"INSERT INTO {quoted_name(table)} VALUES (?, ?)", [*zip(AGES, SEXES, strict=True)])
    connection.commit()
    connection.close()


DATABASES: dict[str, Callable[[Path, str, list[str]], None]] = {"duckdb": duckdb_file, "sqlite": sqlite_file}


def check_names(kind: str, folder: Path, plain: list[float], drawn: tuple[str, str, str]) -> None:
    """Check that names are names: the numbers are those of plain names, or a refusal says why not."""
    table, number, group = drawn
    path = folder / f"people.{kind}"
    path.unlink(missing_ok=True)
    try:
        if kind == "csv":
            csv_file(path, [number, group], [*zip(AGES, SEXES, strict=True)], quoting=csv.QUOTE_ALL)
        else:
            DATABASES[kind](path, table, [number, group])
    except (duckdb.Error, sqlite3.Error, UnicodeError, ValueError, csv.Error):
        return  # the database has no such name
    found, code = refusal(lambda: released(path, number, group, None if kind == "csv" else table))
    assert code is not None or found == plain, (found, plain)


@counts(12, 5_000)
@pytest.mark.parametrize("kind", ["csv", *DATABASES])
def test_a_name_is_a_name_on_every_engine(kind: str, count: int, tmp_path: Path) -> None:
    plain = released(csv_file(tmp_path / "plain.csv", ["x", "g"], [*zip(AGES, SEXES, strict=True)]), "x", "g")
    tried(count, st.tuples(NAMES, NAMES, NAMES), partial(check_names, kind, tmp_path, plain))


def test_another_column_in_its_place_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = released(csv_file(tmp_path / "plain.csv", ["x", "g"], [*zip(AGES, SEXES, strict=True)]), "x", "g")
    monkeypatch.setitem(globals(), "AGES", AGES[::-1])
    with pytest.raises(AssertionError):
        check_names("csv", tmp_path, plain, ("t", "x", "g"))


def check_csv(folder: Path, drawn: tuple[list[str], list[list[str]], dict[str, Any], str, list[Splice]]) -> None:
    """Check that a file of any cells, in any encoding, and cut anywhere, is released or refused."""
    names, rows, dialect, encoding, splices = drawn
    path = folder / "people.csv"
    try:
        csv_file(path, names, rows, **dialect)
        content = path.read_bytes().decode().encode(encoding, "replace")
    except (csv.Error, UnicodeError):
        return
    path.write_bytes(spliced(content, splices[1:]))
    number, group = names[:2] if len(names) > 1 else ("age", "sex")
    refusal(lambda: released(path, number, group))


# Half of the headers are plain, so that what stands below them is read.
HEADERS = st.just(["age", "sex"]) | st.lists(NAMES | st.sampled_from(["age", "sex"]), max_size=4)
FILES = st.tuples(HEADERS, ROWS, DIALECTS, st.just("utf-8") | st.sampled_from(ENCODINGS), SPLICES)


@counts(40, 25_000)
def test_a_csv_file_may_be_anything(count: int, tmp_path: Path) -> None:
    tried(count, FILES, partial(check_csv, tmp_path))
