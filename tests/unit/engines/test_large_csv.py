"""CSV files larger than a thread's part, or than the memory: the same cells, and nothing left on the disk."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import duckdb
import pytest

from hedgerow.engines import files
from hedgerow.engines.files import CsvSource, open_file
from hedgerow.engines.incoming import arrivals
from hedgerow.engines.incoming.arrivals import PlainCsv, plain_csv

AWKWARD = ["1", "2.5", "", "é", " 7 ", "#a", "'q", "\\", "a\\", "\0", "\t", ";", "long" * 50]


def loaded(path: Path, in_parallel: bool | None, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Return the number of rows and a hash of all cells in their order."""
    if in_parallel is not None:
        monkeypatch.setattr(arrivals, "_looked_through", lambda path: PlainCsv(path, in_parallel))
    source = open_file(path)
    assert isinstance(source, CsvSource)
    with files._loaded(source.file, source.header, ["a", "c"]) as connection:
        (found,) = connection.execute("SELECT count(*), bit_xor(hash(rowid, c0, c2)) FROM cells").fetchall()
    return found


@pytest.mark.parametrize("ends", [["\n"], ["\r\n"], ["\n", "\r\n"]])
def test_several_threads_read_the_same_cells(ends: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each thread reads eight million bytes at a time; lines are short, long, and empty.
    chance, path = random.Random(3), tmp_path / "people.csv"
    some = [",".join(chance.choices(AWKWARD, k=chance.choice([0, 1, 2, 3, 3, 3, 6]))) for _ in range(20_000)]
    body = "".join(line + chance.choice(ends) for line in some)
    path.write_text('"a",b,c' + ends[0] + body * (20_000_000 // len(body.encode())), newline="")
    with plain_csv(str(path)) as (_, in_parallel):
        assert in_parallel
    assert loaded(path, None, monkeypatch) == loaded(path, False, monkeypatch)


@pytest.mark.parametrize(
    ("content", "in_parallel"),
    [
        (b"a,b\n1,2\n", True),
        (b"a,b\n1,2", True),
        (b'"a",b\n1,2\n', True),
        (b'"a",b\n1,"2"\n', False),
        (b"a,b\n1," + b"2" * 300 + b"\n", False),
        (b'a,b\n1,2\n"', False),
    ],
)
def test_one_thread_reads_where_a_cell_may_hold_a_line_end(
    content: bytes, in_parallel: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "_CHUNK", 100)
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    with plain_csv(str(path)) as found:
        assert found == (str(path), in_parallel)


def test_what_memory_does_not_hold_goes_to_a_private_folder_that_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, spilled = tmp_path / "people.csv", tmp_path / "spilled"
    path.write_bytes(b"v,w\n" + b"".join(b"%d,%d\n" % (i * 7919 % 999_983, i) for i in range(700_000)))
    spilled.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spilled))
    monkeypatch.setattr(files, "_SETTINGS", {**files._SETTINGS, "memory_limit": "16MB", "threads": 1})
    source = open_file(path)
    assert isinstance(source, CsvSource)
    with files._loaded(source.file, source.header, ["v", "w"]) as connection:
        (folder,) = spilled.iterdir()
        assert folder.stat().st_mode & 0o077 == 0
        assert sum(one.stat().st_size for one in folder.iterdir()) > 0
        total = sum(i * 7919 % 999_983 for i in range(700_000))
        assert connection.execute("SELECT sum(c0::BIGINT), count(*) FROM cells").fetchall() == [(total, 700_000)]
    assert list(spilled.iterdir()) == []
    with pytest.raises(ZeroDivisionError), files._loaded(source.file, source.header, ["v", "w"]):
        1 / 0  # noqa: B018  # an error of any kind
    assert list(spilled.iterdir()) == []


def test_a_machine_without_a_folder_for_it_still_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(b"v\n1\n2\n")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    assert open_file(path).count_rows() == 2


def test_several_threads_would_stumble_over_a_line_end_inside_a_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "people.csv"
    path.write_text("a,b,c\n" + '1,2,"3\n4"\n5,6,7\n' * 1_300_000)
    assert loaded(path, None, monkeypatch)[0] == 2_600_000
    with pytest.raises(duckdb.Error):
        loaded(path, True, monkeypatch)
