"""Sources that are not one plain file hold the same records as the plain file that they were made from."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

import openpyxl
import pandas
import pyarrow as pa
import pyreadstat
import pytest
from pyarrow import parquet

import hedgerow as hg
from hedgerow.engines.incoming import arrivals
from hedgerow.engines.query import Indicator, Query
from hedgerow.engines.source import open_source
from hedgerow.facts.columns import Category, Selection

ROWS = [("age", "sex", "name"), (41, 1, "a"), (58.5, 2, "b,c"), (None, 1, 'd"e'), (0.1, None, "é")]
LINES = "".join(
    ",".join("" if cell is None else f'"{str(cell).replace(chr(34), chr(34) * 2)}"' for cell in row) + "\r\n"
    for row in ROWS
)


def text_of(source: object, table: str | None = None) -> list[list[object]]:
    """Return the cells of a source, by whatever way it came."""
    opened = open_source(source, table=table)
    return opened.in_order(list(opened.columns))  # type: ignore[attr-defined]  # a source of a file


def packed(pack: Callable[[bytes], bytes], suffix: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / f"people.csv{suffix}"
        path.write_bytes(pack(LINES.encode()))
        return path

    return make


def frame() -> pandas.DataFrame:
    return pandas.DataFrame(ROWS[1:], columns=ROWS[0]).astype({"age": float, "sex": float})


def stata(folder: Path) -> Path:
    frame().to_stata(folder / "people.dta", write_index=False, version=118)
    return folder / "people.dta"


def spss(folder: Path) -> Path:
    pyreadstat.write_sav(frame(), folder / "people.sav", variable_value_labels={"sex": {1: "men", 2: "women"}})
    return folder / "people.sav"


def excel(folder: Path) -> Path:
    book = openpyxl.Workbook()
    for row in ((None, None, None), *ROWS):
        book.active.append(row)
    book.save(folder / "people.xlsx")
    return folder / "people.xlsx"


# Python has this since 3.14.
zstandard = import_module("compression.zstd" if sys.version_info >= (3, 14) else "zstandard")
WAYS = {
    "gzip": packed(gzip.compress, ".gz"),
    "zstandard": packed(zstandard.compress, ".zst"),
    "Stata": stata,
    "SPSS": spss,
    "Excel": excel,
}


@pytest.mark.parametrize("way", WAYS)
def test_the_records_are_those_of_the_plain_file(way: str, tmp_path: Path) -> None:
    plain = tmp_path / "plain.csv"
    plain.write_bytes(LINES.encode())
    found, expected = text_of(WAYS[way](tmp_path)), text_of(plain)
    assert found == expected and expected[1] == ["1", "2", "1", None]


def test_a_category_is_found_under_its_code(tmp_path: Path) -> None:
    for way in WAYS.values():
        counted = open_source(way(tmp_path)).histogram(Query(Indicator("sex", 2), by=(Category("sex", (1, 2)),)))
        assert counted.count.tolist() == [2, 1] and counted.outside == 1


def piped(data: bytes, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    return "-"


def as_parquet(rows: int, start: int = 0) -> pa.Table:
    return pa.table(
        {"age": [float(start + place) for place in range(rows)], "sex": [place % 2 for place in range(rows)]}
    )


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_standard_input_is_read_as_often_as_needed(
    pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = piped(pack(LINES.encode()), monkeypatch)
    survey = hg.open(source, relation="replace-one")
    assert survey.n == 4 and survey.source.name == "standard input"
    for _ in range(2):
        assert len(survey.mean("age", bounds=(0, 100), by={"sex": [1, 2]}, epsilon=1.0)) == 2


def test_standard_input_may_be_parquet(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    parquet.write_table(as_parquet(7), written)
    assert hg.open(piped(written.getvalue(), monkeypatch), relation="replace-one").n == 7


def test_nothing_on_standard_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(hg.DataError, match="HG206"):
        hg.open(piped(b"", monkeypatch), relation="replace-one")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(hg.DataError, match="HG202"):
        hg.open("-", relation="replace-one")


def test_a_folder_of_parquet_is_one_source(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    for place in range(3):
        parquet.write_table(as_parquet(10, 10 * place), folder / f"part-{place}.parquet")
    (folder / "_SUCCESS").write_text("")
    whole = [[float(place) for place in range(30)], [place % 2 for place in range(10)] * 3]
    for source in (folder, f"{folder}/", str(folder / "*.parquet")):
        assert text_of(source) == whole
        assert hg.open(source, relation="replace-one").n == 30
    assert text_of(str(folder / "part-[02].parquet".replace("[02]", "*2"))) == [whole[0][20:], whole[1][20:]]


def test_a_folder_that_changes_or_differs_is_refused(tmp_path: Path) -> None:
    for place in range(2):
        parquet.write_table(as_parquet(10), tmp_path / f"{place}.parquet")
    survey = hg.open(tmp_path, relation="replace-one")
    parquet.write_table(as_parquet(9), tmp_path / "1.parquet")
    with pytest.raises(hg.DataError, match="HG207"):
        survey.mean("age", bounds=(0, 100), epsilon=1.0)
    parquet.write_table(pa.table({"age": ["x"], "sex": [1]}), tmp_path / "1.parquet")
    with pytest.raises(hg.DataError, match="HG205"):
        hg.open(tmp_path, relation="replace-one")
    (tmp_path / "none").mkdir()
    with pytest.raises(hg.DataError, match="HG202"):
        hg.open(tmp_path / "none", relation="replace-one")
    with pytest.raises(hg.DataError, match="HG201"):
        hg.open(tmp_path / "none" / "*.parquet", relation="replace-one")


def test_folders_whose_names_are_values_are_a_column_of_texts(tmp_path: Path) -> None:
    table = as_parquet(30).append_column("site", pa.array(["York", "Hull", None] * 10))
    table = table.append_column("year", pa.array([2020, 2021] * 15))
    parquet.write_to_dataset(table, tmp_path / "x=1" / "hive", partition_cols=["site", "year"])
    survey = hg.open(tmp_path / "x=1" / "hive", relation="replace-one")
    assert survey.n == 30
    assert dict(survey.source.columns) == {"age": "number", "sex": "number", "site": "text", "year": "text"}
    sites = (Category("site", ("Hull", "York")), Category("year", ("2020", "2021")))
    counted = survey.source.histogram(Query(None, by=sites))
    assert (counted.cell_sums() + counted.missing).tolist() == [5, 5, 5, 5] and counted.outside == 10
    where = Category.declared("sex", [0, 1]), Selection.of("site == 'York' and age < 15")
    counted = survey.source.histogram(Query(None, by=where))
    assert int((counted.cell_sums() + counted.missing).sum()) == 5
    parquet.write_table(table, tmp_path / "x=1" / "hive" / "more.parquet")
    with pytest.raises(hg.DataError, match="HG205"):
        hg.open(tmp_path / "x=1" / "hive", relation="replace-one")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("s3://key:hunter2@bucket/a.parquet", "HG202(.|\n)*a user, a password or a query string"),
        ("https://example.org/a.parquet?sig=hunter2", "HG202(.|\n)*a user, a password or a query string"),
        ("az://b/a.parquet", "HG215(.|\n)*azure"),
    ],
)
def test_the_url_of_a_file_says_how_duckdb_reads_it(url: str, message: str) -> None:
    with pytest.raises(hg.DataError, match=message) as refused:
        hg.open(url, relation="replace-one")
    assert "hunter2" not in str(refused.value)


def test_a_sheet_is_named_where_there_are_several(tmp_path: Path) -> None:
    path = excel(tmp_path)
    book = openpyxl.load_workbook(path)
    book.create_sheet("more").append(["x"])
    book.save(path)
    with pytest.raises(hg.DataError, match=r"HG209.*Sheet, more"):
        open_source(path)
    assert len(text_of(path, "Sheet")[0]) == 4
    with pytest.raises(hg.DataError, match="HG209"):
        open_source(path, table="nosuch")


def sheet(path: Path, last: Sequence[object]) -> Path:
    """Write a workbook of 12 records of two columns; the last record is what is asked for."""
    book = openpyxl.Workbook()
    for row in (("x", "g"), *[(place % 5, "a") for place in range(11)], last):
        book.active.append(row)
    book.save(path)
    return path


LAST_ROWS = {
    "a note beside it": (1, "a", None, "note"),
    "an empty row": (None, None),
    "a short row": (1,),
    "an empty row with a note": (None, None, "note"),
}


@pytest.mark.parametrize("last", LAST_ROWS)
def test_no_last_row_of_a_sheet_changes_the_other_rows_or_their_number(last: str, tmp_path: Path) -> None:
    usual, odd = sheet(tmp_path / "usual.xlsx", (1, "a")), sheet(tmp_path / "odd.xlsx", LAST_ROWS[last])
    assert hg.open(odd, relation="replace-one").n == hg.open(usual, relation="replace-one").n == 12
    x, g = text_of(odd)
    assert (x[:-1], g[:-1]) == tuple(cells[:-1] for cells in text_of(usual))
    assert (x[-1], g[-1]) == tuple(None if cell is None else str(cell) for cell in (*LAST_ROWS[last], None)[:2])


def test_empty_rows_of_a_sheet_are_records_below_the_header_alone(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in ((None,), ("x", "g"), (1, "a"), (None, None), (2, "b")):
        book.active.append(row)
    book.active["A9"] = 3
    book.save(tmp_path / "gaps.xlsx")
    assert text_of(tmp_path / "gaps.xlsx")[0] == ["1", None, "2", None, None, None, "3"]


def test_a_damaged_file_of_another_program_says_nothing_of_it(tmp_path: Path) -> None:
    for name in ("people.dta", "people.sav", "people.xlsx"):
        (tmp_path / name).write_bytes(b"CANARY" * 99)
        with pytest.raises(hg.DataError, match="HG207") as caught:
            open_source(tmp_path / name)
        assert "CANARY" not in str(caught.value) and caught.value.__context__ is None


@pytest.mark.parametrize("name", ["people.dta", "people.xlsx", "people.csv.zst"])
def test_a_library_that_is_not_installed_is_named_with_another_way(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "find_spec", lambda _: None)
    monkeypatch.setattr(arrivals.sys, "version_info", (3, 11))
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(hg.DataError, match=r"hedgerow\[files\].*CSV first"):
        open_source(tmp_path / name)


def test_a_copy_is_gone_with_its_source(tmp_path: Path) -> None:
    opened = open_source(excel(tmp_path))
    path = Path(opened.file.path)  # type: ignore[attr-defined]  # a source of a file
    assert path.exists()
    del opened
    assert not path.exists()


def test_the_command_line_reads_standard_input() -> None:
    asked = ["release", "-", "--relation", "replace-one", "--mean", "age:0:100:1", "--epsilon", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "hedgerow", *asked], input=LINES.encode(), capture_output=True, timeout=120
    )
    assert done.returncode == 0 and b"mean of age" in done.stdout, done.stderr
