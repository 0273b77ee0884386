"""Hostile files: each item is refused with a code before anything is spent, or has a defined value; on both doors.

The rows below add the ledger and the second door to what is held elsewhere:

* the reading itself, cell by cell: ``tests/unit/engines/test_engine_files.py``;
* empty, missing, blank and repeated headers, one command each: ``tests/unit/cli/test_release.py``, ``BAD``;
* header only and one row, under both relations: the same file, ``test_what_is_small_or_all_missing_is_no_error``;
* a hundred thousand rows of one person, and all engines alike: ``tests/contracts``;
* peak memory: ``benchmarks/hostile_memory.py``.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hedgerow as hg

CANARY = "424242.125"
MEAN = "age:0:100:1"


def asked() -> list[Any]:
    return [hg.mean("age", bounds=(0, 100), step=1), hg.count()]


def fifo(folder: Path) -> Path:
    os.mkfifo(folder / "pipe.csv")
    return folder / "pipe.csv"


def folder_of_that_name(folder: Path) -> Path:
    (folder / "people.csv").mkdir()
    return folder / "people.csv"


def loop(folder: Path) -> Path:
    (folder / "a.csv").symlink_to(folder / "b.csv")
    (folder / "b.csv").symlink_to(folder / "a.csv")
    return folder / "a.csv"


def passwords(folder: Path) -> Path:
    # The names of the first line must not be quoted, as they are a record.
    (folder / "passwd").write_text(f"{CANARY}:{CANARY},{CANARY}:{CANARY}\n")
    (folder / "link.csv").symlink_to(folder / "passwd")
    return folder / "link.csv"


def bytes_of(content: str | bytes, name: str = "people.csv") -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def named(name: str) -> Callable[[Path], str]:
    return lambda folder: name


# Item: (how to make it, the code of its refusal or None where it is released).
FILES: dict[str, tuple[Callable[[Path], object], str | None]] = {
    "empty": (bytes_of(""), "HG206"),
    "header only": (bytes_of("age,sex\n"), None),
    "one row": (bytes_of(f"age,sex\n{CANARY},1\n"), None),
    "missing": (named("nosuch.csv"), "HG201"),
    "directory": (folder_of_that_name, "HG202"),
    "FIFO": (fifo, "HG202"),
    "symlink loop": (loop, "HG201"),
    "device behind a symlink": (
        lambda folder: [(folder / "z.csv").symlink_to("/dev/zero"), folder / "z.csv"][1],
        "HG202",
    ),
    "non-UTF-8 header": (bytes_of(b"\xe2ge\n1\n"), "HG202"),
    "non-UTF-8 cells": (bytes_of(b"age,sex\n\xff" + CANARY.encode() + b",1\n41,\xe9\n"), None),
    "BOM": (bytes_of(b"\xef\xbb\xbfage,sex\n41,1\n"), None),
    "UTF-16": (bytes_of(f"age,sex\n{CANARY},1\n".encode("utf-16")), "HG202"),
    "UTF-16 without a BOM": (bytes_of(f"age,sex\n{CANARY},1\n".encode("utf-16-le")), "HG202"),
    "NUL bytes in the header": (bytes_of(b"age\0,sex\n1,2\n"), "HG202"),
    "NUL bytes in cells": (bytes_of(f"age,sex\n{CANARY}\0,1\n\0,\0\n"), None),
    "CRLF": (bytes_of(f"age,sex\r\n41,1\r\n{CANARY},2\r\n"), None),
    "mixed ends": (bytes_of(f"age,sex\r\n41,1\n42,1\r43,1\r\n{CANARY},1"), None),
    "unterminated quote": (bytes_of(f'age,sex\n41,1\n"{CANARY},1\n43,{CANARY}\n'), None),
    "unterminated quote in the header": (bytes_of(f'"age,sex\n{CANARY},1\n'), "HG202"),
    "ragged rows": (bytes_of(f"age,sex\n41\n{CANARY},1,{CANARY},{CANARY}\n\n,,,,\n"), None),
    "10⁶ columns": (bytes_of(",".join(f"c{place}" for place in range(10**6)) + "\n"), "HG202"),
    "10⁴ cells more than the header": (bytes_of("age,sex\n" + f"{CANARY}," * 10_000 + "\n"), None),
    "a 20 MB field": (bytes_of("age,sex\n" + CANARY * (2 * 2**20) + ",1\n41,1\n"), None),
    "gzip bomb": (bytes_of(gzip.compress(b"age,sex\n" + b"41,1\n" * 10**6)), "HG202"),
    "gzip bomb by its own name": (bytes_of(gzip.compress(b"age\n" + b"41\n" * 10**6), "people.csv.gz"), None),
    "a cut gzip file": (bytes_of(gzip.compress(b"age\n" + b"41\n" * 9)[:12], "people.csv.gz"), "HG207"),
    "glob": (named("*.csv"), "HG202"),
    "glob that matches one file": (lambda folder: bytes_of("age\n1\n")(folder).with_name("peopl?.csv"), "HG202"),
    "http path": (named("http://127.0.0.1:9/people.csv"), "HG202"),
    "s3 path": (named("s3://bucket/people.parquet"), "HG215"),
    "../../etc/passwd": (named("/proc/self/root/../../etc/passwd"), "HG202"),
    "passwords behind a symlink": (passwords, "HG205"),
    "a record in place of the header": (bytes_of(f"{CANARY},{CANARY}\n{CANARY},1\n"), "HG205"),
    "a header that is not there": (bytes_of(f"{CANARY},1\n41,1\n"), "HG203"),
    "text called .parquet": (bytes_of(f"age\n{CANARY}\n", "people.parquet"), "HG202"),
    "text called .duckdb": (bytes_of(f"age\n{CANARY}\n", "people.duckdb"), "HG202"),
    "a cut Parquet file": (bytes_of(b"PAR1" + CANARY.encode() * 9 + b"PAR1", "people.parquet"), "HG207"),
    "a cut DuckDB file": (bytes_of(b"\0" * 8 + b"DUCK" + CANARY.encode() * 999, "people.duckdb"), "HG207"),
}


@pytest.mark.parametrize("item", FILES)
def test_each_is_refused_unspent_or_released(item: str, doors: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    make, code = FILES[item]
    monkeypatch.chdir(doors.folder)
    source = make(doors.folder)
    assert doors.api(source, asked) == code
    assert doors.cli(source, "--mean", MEAN, "--count", out=code is not None) == (code, 0 if code is None else 2)
    assert doors.entries() == (["recorded"] * 2 if code is None else [])
    assert code is None or not (doors.folder / "out").exists()


@pytest.mark.parametrize("item", [name for name, (_, code) in FILES.items() if code is None])
def test_where_the_number_of_records_is_public_they_are_released_too(item: str, doors: Any) -> None:
    source = FILES[item][0](doors.folder)
    assert doors.api(source, asked, relation="replace-one") is None
    assert doors.entries("replace-one") == ["recorded"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_no_permission(doors: Any) -> None:
    source = doors.write("people.csv", f"age,sex\n{CANARY},1\n")
    source.chmod(0)
    assert (doors.api(source, asked), doors.cli(source, "--mean", MEAN)) == ("HG207", ("HG207", 2))
    assert doors.entries() == []


def test_no_permission_as_the_system_reports_it(doors: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source = doors.write("people.csv", f"age,sex\n{CANARY},1\n")
    opened = Path.open

    def denied(self: Path, *arguments: Any, **options: Any) -> Any:
        if self == source:
            raise PermissionError(13, f"Permission denied: {CANARY}")
        return opened(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", denied)
    assert (doors.api(source, asked), doors.cli(source, "--mean", MEAN)) == ("HG207", ("HG207", 2))
    assert doors.entries() == []


@pytest.mark.parametrize("change", ["longer", "same size", "replaced", "removed"])
def test_a_file_changed_between_plan_and_read_is_noticed_unspent(change: str, doors: Any) -> None:
    source = doors.write("people.csv", f"age,sex\n41,1\n{CANARY},1\n")
    survey = hg.open(source, relation="add-remove", ledger=doors.ledger())
    survey.plan(asked(), epsilon=0.5)
    if change == "longer":
        source.write_text(f"age,sex\n{CANARY},1\n" * 2)
    elif change == "same size":
        source.write_text(f"age,sex\n42,1\n{CANARY},1\n")
        os.utime(source, ns=(1, 1))
    else:
        source.unlink()
        if change == "replaced":
            doors.write("people.csv", f"age,sex\n41,1\n{CANARY},1\n")
            os.utime(source, ns=(1, 1))
    with pytest.raises(hg.DataError, match="HG207") as caught:
        survey.release(asked(), epsilon=0.5)
    doors.texts.append(repr(caught.value))
    assert doors.entries() == []


def test_a_file_changed_while_it_is_read_stays_spent(doors: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from hedgerow.ledger.store import Ledger

    source = doors.write("people.csv", f"age,sex\n41,1\n{CANARY},1\n")
    reserve = Ledger.reserve

    def reserve_then_change(self: Ledger, *arguments: Any, **options: Any) -> Any:
        found = reserve(self, *arguments, **options)
        source.write_text(f"age,sex\n{CANARY},1\n" * 3)
        return found

    monkeypatch.setattr(Ledger, "reserve", reserve_then_change)
    assert doors.api(source, asked) == "HG601"
    assert doors.entries() == ["reserved"]
    assert doors.cli(source, "--mean", MEAN) == ("HG601", 6)
    assert doors.entries() == ["reserved", "reserved"]
