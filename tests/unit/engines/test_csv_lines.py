"""Line ends of CSV files: LF, CR LF or CR alone, everywhere; and what one record holds changes no other."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

import pytest

from hedgerow.engines.incoming import arrivals
from hedgerow.engines.incoming.arrivals import plain_csv
from hedgerow.engines.query import Query, ValueOnGrid
from hedgerow.engines.source import open_source
from hedgerow.facts.columns import Category, Grid

AGE = ValueOnGrid("age", Grid.from_bounds("age", (0, 100), 1))


def ages(folder: Path, content: bytes) -> tuple[dict[int, int], int]:
    """Index → count, and how many values are missing; the number of records is the same on every path."""
    path = folder / "people.csv"
    path.write_bytes(content)
    h = open_source(path).histogram(Query(AGE))
    assert open_source(path).count_rows() == h.total()
    other = open_source(path).histogram(Query(None, (Category.declared("age", ["41"], other=True),)))
    assert other.total() == h.total()
    return dict(zip(h.index.tolist(), h.count.tolist(), strict=True)), int(h.missing[0])


@pytest.mark.parametrize(
    "content",
    [
        b"age,x\r\n41,a\r\n42,b\r43,c\r\n44,d\r\n",
        b"age,x\r\n41,a\r\n42,b\r\r\n43,c\r\n44,d\r\n",
        b"age,x\n41,a\n42,b\r43,c\n44,d\n",
        b"age,x\r41,a\r42,b\n43,c\r44,d\r",
        b"age,x\r\n41,a\r\n42,b\n43,c\n44,d",
        b"age,x\r\n41,a\r\n42,\r43,c\r\n44,d\r\n",
        b"\xef\xbb\xbfage,x\r\n\r\n41,a\r\n\r\r42,b\r\n43,\xff\r44,d\r\r",
    ],
)
def test_a_cr_alone_ends_a_record_as_a_crlf_does(tmp_path: Path, content: bytes) -> None:
    assert ages(tmp_path, content) == ({41: 1, 42: 1, 43: 1, 44: 1}, 0)


def test_whatever_ends_the_lines_the_records_are_those_between(tmp_path: Path) -> None:
    chance = random.Random(5)
    for _ in range(20):
        usual = chance.choice([b"\n", b"\r\n", b"\r"])
        lines = [b"%d,%s" % (chance.randrange(100), chance.choice([b"a", b"", b"\xff"])) for _ in range(12)]
        lines[chance.randrange(12)] = b""
        ends = [chance.choice([usual, usual, usual, b"\n", b"\r\n", b"\r"]) for _ in range(13)]
        content = b"".join(line + end for line, end in zip([b"age,x", *lines], ends, strict=True))
        expected: dict[int, int] = {}
        for line in filter(None, lines):
            age = int(line.split(b",")[0])
            expected[age] = expected.get(age, 0) + 1
        assert ages(tmp_path, content) == (expected, 0), content


def test_a_blank_line_is_a_record_only_where_it_is_a_cell(tmp_path: Path) -> None:
    assert ages(tmp_path, b"age,x\n41,a\n\n42,b\n\n") == ({41: 1, 42: 1}, 0)
    assert ages(tmp_path, b"age,x\n41,a\n \n42,b\n") == ({41: 1, 42: 1}, 1)
    assert ages(tmp_path, b"age\n41\n\n42\n") == ({41: 1, 42: 1}, 1)


def test_line_ends_inside_quotation_marks_are_text(tmp_path: Path) -> None:
    assert ages(tmp_path, b'age,x\r\n41,"a\rb"\r\n42,"a\r\nb"\r\n') == ({41: 1, 42: 1}, 0)


@pytest.mark.parametrize("devices", [True, False], ids=["/dev/fd", "a pipe with a name"])
def test_what_is_not_plain_comes_through_a_pipe(tmp_path: Path, devices: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Systems without /proc have no /dev/fd, or one of another make; nothing is left behind by either way."""
    if not devices:
        real = Path.exists
        monkeypatch.setattr(Path, "exists", lambda self: not str(self).startswith("/dev/fd") and real(self))
    monkeypatch.setattr(arrivals.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(arrivals, "_CHUNK", 7)
    descriptors, threads = len(list(Path("/dev/fd").iterdir())), threading.active_count()
    place = tmp_path / "people.csv"
    content = b"age,x\r\n" + b"41,\xff\r\n42,b\r" * 5_000
    place.write_bytes(content)
    expected = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\xff", "\uf7ff".encode())
    with plain_csv(str(place)) as (path, _):
        assert path != str(place)
        assert Path(path).read_bytes().replace(b"\r\n", b"\n") == expected
    with pytest.raises(ZeroDivisionError), plain_csv(str(place)) as (path, _):  # a reader that stops before the end
        1 / 0  # noqa: B018  # an error of any kind
    assert ages(tmp_path, content) == ({41: 5_000, 42: 5_000}, 0)
    place.write_bytes(content[:30])
    with plain_csv(str(place)) as (path, _):
        time.sleep(0.05)  # so few bytes are written, and the writer is gone, before the reader comes
        assert len(Path(path).read_bytes()) > 0
    assert [one.name for one in tmp_path.iterdir()] == ["people.csv"]
    assert (len(list(Path("/dev/fd").iterdir())), threading.active_count()) == (descriptors, threads)


def test_a_file_that_cannot_be_read_to_its_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "people.csv"
    place.write_bytes(b"age,x\n41,\xff\n" * 10)

    def broken(path: str, packing: str = "") -> object:
        yield b"age,x\n41,a\n\xff"
        raise OSError("the disk is gone")

    monkeypatch.setattr(arrivals, "_chunks", broken)
    with pytest.raises(OSError, match="disk"), plain_csv(str(place)) as (path, _):
        Path(path).read_bytes()


def test_a_plain_file_is_read_where_it_is(tmp_path: Path) -> None:
    place = tmp_path / "people.csv"
    place.write_bytes("age,x\r\n41,ö\n42,b".encode())
    with plain_csv(str(place)) as (path, _):
        assert path == str(place)
