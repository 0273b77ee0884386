"""Files: what is refused before it is opened, how CSV is read, and that no message ever quotes a cell."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from datetime import datetime, time
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hedgerow.engines.query import Indicator, Query, ValueOnGrid
from hedgerow.engines.source import count_units, open_in_order, open_source
from hedgerow.errors import DataError, ParameterError
from hedgerow.facts.columns import Category, Grid, Selection
from hedgerow.facts.expression import DerivedColumn

CANARY = "SECRET-4711"
TENS = Grid.from_bounds("v", (0, 10), 1)
VALUE = Query(ValueOnGrid("v", TENS))


def written(folder: Path, content: bytes | str, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(folder: Path, content: bytes | str, query: Query = VALUE) -> tuple[dict[int, int], int]:
    """Index → count of the one cell, and how many values are missing."""
    h = open_source(written(folder, content)).histogram(query)
    return dict(zip(h.index.tolist(), h.count.tolist(), strict=True)), int(h.missing[0])


def refused(source: object, code: str, **given: str) -> str:
    with pytest.raises(DataError) as caught:
        open_source(source, **given)
    assert caught.value.code == code
    return str(caught.value)


class TestPaths:
    def test_a_missing_file(self, tmp_path: Path) -> None:
        assert "no file" in refused(tmp_path / "none.csv", "HG201")

    @pytest.mark.parametrize(
        "name",
        [
            "*.csv",
            "a?.parquet",
            "a[1].csv",
            "http://host/a.csv",
            "s3://bucket/a.csv",
            "file:///a.csv",
            "",
            "a\0.csv",
            b"a.csv",
        ],
    )
    def test_patterns_and_addresses(self, name: object) -> None:
        refused(name, "HG202")

    @pytest.mark.parametrize("name", ["*.csv", "p[1].csv"])
    def test_a_pattern_is_refused_even_where_a_file_has_that_name(self, tmp_path: Path, name: str) -> None:
        refused(written(tmp_path, "v\n1\n", name), "HG202")

    def test_what_is_no_ordinary_file(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.csv")
        (tmp_path / "folder.parquet").mkdir()
        (tmp_path / "link.csv").symlink_to("/dev/zero")
        assert "folder" in refused(tmp_path, "HG202")
        for name in ("pipe.csv", "folder.parquet", "link.csv"):
            refused(tmp_path / name, "HG202")

    @pytest.mark.parametrize("name", ["people.xls", "people.csv.bz2", "people", "people.dbf"])
    def test_unknown_extensions(self, tmp_path: Path, name: str) -> None:
        refused(written(tmp_path, "v\n1\n", name), "HG202")

    @pytest.mark.parametrize("name", ["people.csv", "people.parquet", "people.duckdb"])
    def test_zero_bytes(self, tmp_path: Path, name: str) -> None:
        refused(written(tmp_path, b"", name), "HG206")

    @pytest.mark.parametrize("name", ["people.parquet", "people.duckdb", "people.db", "people.sqlite"])
    def test_contents_that_are_not_what_the_name_says(self, tmp_path: Path, name: str) -> None:
        path = written(tmp_path, f"%PDF-1.7 and so on\0{CANARY}", name)
        assert CANARY not in refused(path, "HG202")

    @pytest.mark.parametrize("name", ['o\'neil "q";--.csv', "ä ö.csv", "-x.csv", "{a}.csv", "a%20b.csv", "a\\b.csv"])
    def test_odd_names_are_read(self, tmp_path: Path, name: str) -> None:
        source = open_source(written(tmp_path, "v\n1\n", name))
        assert (source.count_rows(), source.name) == (1, str(tmp_path / name))

    def test_a_folder_that_is_a_pattern(self, tmp_path: Path) -> None:
        for folder in ("p[1]", "p1"):
            (tmp_path / folder).mkdir()
            written(tmp_path / folder, "v\n1\n")
        (tmp_path / "link").symlink_to(tmp_path / "p[1]")
        refused(tmp_path / "link" / "people.csv", "HG202")

    def test_a_file_that_changes_is_refused(self, tmp_path: Path) -> None:
        path = written(tmp_path, "v\n1\n")
        source = open_source(path)
        path.write_text("v\n1\n2\n")
        with pytest.raises(DataError, match=r"HG207.*was changed"):
            source.histogram(VALUE)

    def test_relative_paths_and_the_name_as_given(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        written(tmp_path, "v\n1\n")
        monkeypatch.chdir(tmp_path)
        assert open_source("people.csv").name == "people.csv"


class TestHeader:
    @pytest.mark.parametrize(
        ("line", "names"),
        [
            (b"v,w", ["v", "w"]),
            (b"\xef\xbb\xbfv;w", ["v", "w"]),
            (b"v\tw,x\ty", ["v", "w,x", "y"]),
            (b"v|w\r", ["v", "w"]),
            (b'"a,b,c";v', ["a,b,c", "v"]),
            (b' v , "w ""q"""', ["v", 'w "q"']),
            (b"v", ["v"]),
            ("größe,v".encode(), ["größe", "v"]),
        ],
    )
    def test_names_and_delimiter(self, tmp_path: Path, line: bytes, names: list[str]) -> None:
        source = open_source(written(tmp_path, line + b"\n"))
        assert dict(source.columns) == dict.fromkeys(names, "text-cell")

    @pytest.mark.parametrize("line", ["v,v", "v, v", "v,", "v,,w"])
    def test_repeated_and_empty_names(self, tmp_path: Path, line: str) -> None:
        refused(written(tmp_path, line + "\n1,2,3\n"), "HG205")

    @pytest.mark.parametrize("content", ["\n", " \n1\n", "\r\nv\r\n"])
    def test_a_blank_first_line(self, tmp_path: Path, content: str) -> None:
        refused(written(tmp_path, content), "HG206")

    @pytest.mark.parametrize(
        "content",
        [b"\xff\xfev\0\n\0", b"gr\xf6sse\n1\n", b'"v\n1,2\n', b"x" * 2**21, b"a,b\0\n", b"v," * 20_000 + b"w\n"],
    )
    def test_lines_that_are_no_header(self, tmp_path: Path, content: bytes) -> None:
        refused(written(tmp_path, content), "HG202")

    def test_the_rows_do_not_choose_the_delimiter(self, tmp_path: Path) -> None:
        assert read(tmp_path, "v,w\n1;2;3\n4;5;6\n7,0\n") == ({7: 1}, 2)

    def test_ten_thousand_columns(self, tmp_path: Path) -> None:
        names = ["v", *(f"c{i}" for i in range(9_999))]
        assert read(tmp_path, ",".join(names) + "\n3" + ",1" * 9_999 + "\n") == ({3: 1}, 0)


class TestCells:
    @pytest.mark.parametrize(
        ("cells", "expected"),
        [
            (["3", " 3 ", "3.0", "+3", "3e0", '"3"', '" 3"', "\t3"], ({3: 8}, 0)),
            (["", '""', "   ", "NA", "NaN", "inf", "-Infinity", "1e999", "3x", "1 2", "0x3", "None"], ({}, 12)),
            (["-5", "11", "1e300"], ({0: 1, 10: 2}, 0)),
            (["0.5", "1.5", "2.49999"], ({1: 1, 2: 2}, 0)),
        ],
    )
    def test_what_is_a_number(self, tmp_path: Path, cells: list[str], expected: object) -> None:
        assert read(tmp_path, "v,w\n" + "".join(f"{cell},x\n" for cell in cells)) == expected

    @pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
    def test_line_ends_and_no_last_one(self, tmp_path: Path, end: bytes) -> None:
        assert read(tmp_path, end.join([b"v,w", b"1,2", b"3,4"])) == ({1: 1, 3: 1}, 0)

    def test_short_long_and_blank_lines(self, tmp_path: Path) -> None:
        assert read(tmp_path, "w,v\n1\n1,2\n1,3,9,9\n\n1,4\n\n") == ({2: 1, 3: 1, 4: 1}, 1)

    def test_header_only(self, tmp_path: Path) -> None:
        assert read(tmp_path, "v,w") == read(tmp_path, "v,w\n") == ({}, 0)

    def test_quoted_line_breaks_and_delimiters(self, tmp_path: Path) -> None:
        assert read(tmp_path, 'w,v\n"a\nb",1\n"a,b",2\n"a""b",3\nx\n') == ({1: 1, 2: 1, 3: 1}, 1)

    def test_categories_are_trimmed_texts(self, tmp_path: Path) -> None:
        source = open_source(written(tmp_path, "v,g\n1, 1 \n1,1\n1,01\n1,\n1,1.0\n"))
        h = source.histogram(Query(VALUE.value, (Category.declared("g", [1]),)))
        assert (h.count.tolist(), h.outside) == ([2], 3)
        rest = source.histogram(Query(VALUE.value, (Category.declared("g", [" 1"], other=True),)))
        assert rest.cell_sums().tolist() == [2, 3]
        assert source.histogram(Query(Indicator("g", 1.0))).missing.tolist() == [1]

    @pytest.mark.parametrize("values", [[True, False], ["", "a"], [" "], ["a", " a"], [1, "1"]])
    def test_categories_that_no_cell_can_tell(self, tmp_path: Path, values: list[str]) -> None:
        source = open_source(written(tmp_path, "v,g\n1,1\n"))
        with pytest.raises(ParameterError, match="HG111"):
            source.check(Query(None, (Category.declared("g", values),)))

    def test_bytes_that_are_no_text_make_a_missing_record(self, tmp_path: Path) -> None:
        content = b"v,g\n1,\xe9\n2,a\n\xff,\x82\n3,a,\xe9\n"
        assert read(tmp_path, content) == ({1: 1, 2: 1, 3: 1}, 1)
        source = open_source(written(tmp_path, content))
        h = source.histogram(Query(VALUE.value, (Category.declared("g", ["a"]),)))
        assert (h.index.tolist(), h.outside, source.count_rows()) == ([2, 3], 2, 4)

    def test_whatever_the_bytes_every_question_counts_the_same_records(self, tmp_path: Path) -> None:
        chance = random.Random(20)
        pieces = [b"1", b"2.5", b",", b"\n", b'"', b"\r\n", b"\xe9", b"\xff", b"\0", b" ", b"x", b"\\", b"\xed\xa0\x80"]
        questions = [Query(None), VALUE, Query(ValueOnGrid("w", TENS), (Category.declared("v", ["1"], other=True),))]
        for _ in range(40):
            body = b"".join(chance.choices(pieces, k=40))
            source = open_source(written(tmp_path, b"v,w\n" + body))
            assert len({source.histogram(question).total() for question in questions}) == 1, body

    def test_only_needed_columns_are_kept(self, tmp_path: Path) -> None:
        from hedgerow.engines import files

        source = open_source(written(tmp_path, f"v,w,g\n1,{CANARY},a\n"))
        assert isinstance(source, files.CsvSource)
        with files._loaded(source.file, source.header, ["v", "g"]) as connection:
            assert connection.execute("SELECT * FROM cells").fetchall() == [("1", "a")]
            for statement in (
                "SELECT * FROM read_text('/etc/hostname')",
                f"COPY cells TO '{tmp_path}/copy.csv'",
                "SET enable_external_access = true",
                f"ATTACH '{tmp_path}/new.db'",
            ):
                with pytest.raises(duckdb.Error):
                    connection.execute(statement)

    def test_a_cell_is_never_quoted(self, tmp_path: Path) -> None:
        source = open_source(written(tmp_path, f'v,w\n{CANARY},"{CANARY}\n1{CANARY},2\n"{CANARY}"{CANARY}",1\n'))
        assert source.histogram(VALUE).total() == source.count_rows()
        assert CANARY not in repr(source)


class TestParquet:
    def test_folders_do_not_become_columns(self, tmp_path: Path) -> None:
        (tmp_path / "year=2020").mkdir()
        pq.write_table(pa.table({"v": [1.0]}), tmp_path / "year=2020" / "a.parquet")
        assert dict(open_source(tmp_path / "year=2020" / "a.parquet").columns) == {"v": "number"}

    def test_kinds_are_those_of_the_schema(self, tmp_path: Path) -> None:
        table = pa.table(
            {
                "decimal": pa.array([1, None], pa.decimal128(9, 2)),
                "whole": pa.array([1, 2], pa.uint8()),
                "half": pa.array([1.5, 2.0], pa.float32()),
                "truth": [True, None],
                "words": pa.array(["a", None]).dictionary_encode(),
                "day": pa.array([1, 2], pa.date32()),
                "list": [[1], [2]],
                "raw": [b"a", b"b"],
            }
        )
        pq.write_table(table, tmp_path / "a.parquet")
        kinds = ["number"] * 3 + ["boolean", "text", "date"] + ["other"] * 2
        assert list(open_source(tmp_path / "a.parquet").columns.values()) == kinds

    def test_names_that_differ_in_case_alone(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"v": [1.0], "V": [9.0]}), tmp_path / "a.parquet")
        refused(tmp_path / "a.parquet", "HG205")

    def test_a_damaged_file(self, tmp_path: Path) -> None:
        path = tmp_path / "a.parquet"
        pq.write_table(pa.table({"v": [CANARY] * 1000, "w": [float(i) for i in range(1000)]}), path, compression="none")
        whole = path.read_bytes()
        assert CANARY.encode() in whole
        assert CANARY not in refused(written(tmp_path, whole[:-50], "cut.parquet"), "HG207")
        torn = open_source(written(tmp_path, whole[:40] + b"\xff" * 600 + whole[640:], "torn.parquet"))
        with pytest.raises(DataError, match="HG207") as caught:
            torn.histogram(Query(Indicator("v", "x")))
        assert CANARY not in str(caught.value)
        assert caught.value.__context__ is None


class TestDuckdbFile:
    @pytest.fixture
    def database(self, tmp_path: Path) -> Path:
        path = tmp_path / "it's.duckdb"
        with duckdb.connect(path) as connection:
            connection.execute('CREATE TABLE "a ""b" AS SELECT 1.0 AS v')
            connection.execute("CREATE VIEW seen AS SELECT 2.0 AS v")
            connection.execute("CREATE SCHEMA other")
        return path

    def test_the_one_table_is_read(self, database: Path) -> None:
        assert open_source(database).histogram(VALUE).index.tolist() == [1]

    def test_a_view_by_its_name(self, database: Path) -> None:
        assert open_source(database, table="seen").histogram(VALUE).index.tolist() == [2]

    def test_several_unknown_and_none(self, database: Path, tmp_path: Path) -> None:
        with duckdb.connect(database) as connection:
            connection.execute('CREATE TABLE other."a ""b" AS SELECT 3.0 AS v')
        assert "several" in refused(database, "HG209")
        assert "several" in refused(database, "HG209", table='a "b')
        assert open_source(database, table='other.a "b').histogram(VALUE).index.tolist() == [3]
        assert "not there" in refused(database, "HG209", table='"; DROP TABLE seen; --')
        with duckdb.connect(tmp_path / "empty.duckdb"):
            pass
        assert "none" in refused(tmp_path / "empty.duckdb", "HG209")

    def test_tables_are_of_duckdb_files_alone(self, tmp_path: Path) -> None:
        refused(written(tmp_path, "v\n1\n"), "HG209", table="people")
        refused(pa.table({"v": [1]}), "HG209", table="people")

    def test_a_view_cannot_reach_another_file(self, tmp_path: Path) -> None:
        written(tmp_path, f"v\n{CANARY}\n", "other.csv")
        with duckdb.connect(tmp_path / "a.duckdb") as connection:
            connection.execute(f"CREATE VIEW leak AS SELECT * FROM read_csv('{tmp_path}/other.csv')")
        assert CANARY not in refused(tmp_path / "a.duckdb", "HG207", table="leak")

    def test_it_is_opened_for_reading(self, database: Path) -> None:
        before = database.read_bytes()
        open_source(database).count_rows()
        assert database.read_bytes() == before


def test_no_frame_library_is_needed(tmp_path: Path) -> None:
    written(tmp_path, "v,g\n1,a\n2,b\n")
    with duckdb.connect(tmp_path / "a.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT 1.0 AS v, 'a' AS g")
        connection.execute(f"COPY t TO '{tmp_path}/a.parquet'")
    program = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "polars", "pyarrow", "pyspark"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
import hedgerow.engines.source as source
assert not {"duckdb", "narwhals", "scipy"} & set(sys.modules), "a vendor was imported too early"
from hedgerow.engines.query import Query, ValueOnGrid
from hedgerow.facts.columns import Category, Grid
query = Query(ValueOnGrid("v", Grid.from_bounds("v", (0, 10), 1)), (Category.declared("g", ["a", "b"]),))
for path in sys.argv[1:]:
    print(source.open_source(path).histogram(query).total())
"""
    paths = [str(tmp_path / name) for name in ("people.csv", "a.parquet", "a.duckdb")]
    ran = subprocess.run([sys.executable, "-c", program, *paths], capture_output=True, text=True, check=False)
    assert (ran.stdout.split(), ran.stderr) == (["2", "1", "1"], "")


def test_units_are_counted_wherever_their_column_stands(tmp_path: Path) -> None:
    source = open_source(written(tmp_path, "v,person\n1,a\n2,a\n3,b\n4,\n"))
    assert count_units(source, "person") == 2


def test_parquet_timestamps_in_milliseconds_are_refused_by_the_schema(tmp_path: Path) -> None:
    """DuckDB makes microseconds of them while it reads, and stops at one that is too far away."""
    days, path = pa.array([0, 86_400_000, None], pa.int64()), tmp_path / "people.parquet"
    nested = pa.StructArray.from_arrays([days.view(pa.timestamp("ms")), pa.array([1, 2, 3])], ["d", "at"])
    v = pa.array([1.0, 2.0, 3.0])
    units = {unit: pa.array([0, 1, None], pa.int64()).view(pa.timestamp(unit)) for unit in ("s", "us", "ns")}
    noon = pa.array([0, 1, None], pa.int64()).view(pa.time64("us"))
    pq.write_table(pa.table({"nested": nested, "ms": days.view(pa.timestamp("ms")), "v": v, "t": noon, **units}), path)
    source = open_in_order(path)
    kinds = {"nested": "other", "ms": "other", "v": "number", "t": "other", "s": "other", "us": "date", "ns": "date"}
    assert dict(source.columns) == kinds
    year = ValueOnGrid(DerivedColumn.named("year", "year(ms)"), Grid.from_bounds("year", (1900, 2030), 1))
    with pytest.raises(DataError, match=r"HG204.*microseconds"):
        source.check(Query(year))
    with pytest.raises(ParameterError, match=r"HG111.*microseconds"):
        source.check(Query(None, (Selection.of("ms < '2026-01-01'"),)))
    for column in ("ms", "t", "nested"):
        with pytest.raises(DataError, match=r"HG204.*microseconds"):
            source.in_order(["v", column])
    assert source.in_order(["v"]) == [[1.0, 2.0, 3.0]]
    assert open_source(path).histogram(Query(None)).total() == 3


def test_moments_that_python_does_not_have_are_missing_where_records_are_joined(tmp_path: Path) -> None:
    """A key of a test set may be of any type; a far one must not stop the reader."""
    path, far = tmp_path / "people.duckdb", pa.array([0, 2**62], pa.int64())
    kinds = {"s": pa.timestamp("s"), "ms": pa.timestamp("ms"), "us": pa.timestamp("us"), "t": pa.time64("us")}
    table = pa.table({name: far.view(kind) for name, kind in kinds.items()})
    with duckdb.connect(path) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
    cells = dict(zip(kinds, open_in_order(path).in_order(list(kinds)), strict=True))
    assert [cells[name][0] for name in kinds] == [datetime(1970, 1, 1)] * 3 + [time()]
    assert [cells[name][1] for name in ("s", "ms", "t")] == [None] * 3
