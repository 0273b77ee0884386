"""Hostile places for results: noticed before anything is spent where it can be; otherwise the release is not lost.

Held elsewhere, and not repeated (``tests/unit/cli/test_release.py``): a folder in use and --force, a link of a result's
name, data of a result's name, a folder under a file, a disk that fills up after the release, a closed pipe.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hedgerow as hg

CANARY = "424242.125"


@pytest.fixture
def people(doors: Any) -> Path:
    return doors.write("people.csv", f"age,sex\n41,1\n{CANARY},{CANARY}\n")


def release_to(doors: Any, people: Path, out: Path, *more: str) -> tuple[str | None, int]:
    asked = ["--relation", "add-remove", "--count", "--epsilon", "0.5", "--delta", "0", "--ledger", doors.ledger()]
    return doors.command("release", people, *asked, "--out", out, *more)


def a_file(folder: Path) -> Path:
    (folder / "there").write_text("mine")
    return folder / "there"


def a_full_folder(folder: Path) -> Path:
    (folder / "there").mkdir()
    (folder / "there" / "notes.txt").write_text("mine")
    return folder / "there"


def a_link_to_nothing(folder: Path) -> Path:
    (folder / "there").symlink_to(folder / "nowhere")
    return folder / "there"


def a_loop(folder: Path) -> Path:
    (folder / "there").symlink_to(folder / "there")
    return folder / "there"


def a_fifo(folder: Path) -> Path:
    os.mkfifo(folder / "there")
    return folder / "there"


def too_long(folder: Path) -> Path:
    return folder / ("x" * 5000)


REFUSED = {
    "path exists": (a_file, "HG118"),
    "folder in use": (a_full_folder, "HG119"),
    "symlink to nothing": (a_link_to_nothing, "HG118"),
    "symlink loop": (a_loop, "HG118"),
    "FIFO": (a_fifo, "HG118"),
    "name too long": (too_long, "HG118"),
    "NUL in the name": (lambda folder: f"{folder}/a\0b", "HG118"),
    "not a real file system": (lambda folder: "/proc/hedgerow", "HG118"),
    "a device": (lambda folder: "/dev/null/out", "HG118"),
}


@pytest.mark.parametrize("item", REFUSED)
def test_a_place_that_cannot_be_written_is_noticed_unspent(item: str, people: Path, doors: Any) -> None:
    make, code = REFUSED[item]
    assert release_to(doors, people, make(doors.folder)) == (code, 2)
    assert doors.entries() == []


def test_unwritable_is_noticed_unspent(people: Path, doors: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Path.mkdir

    def denied(self: Path, *given: Any, **named: Any) -> None:
        if self.name.startswith(".hedgerow-"):
            raise PermissionError(13, "Permission denied")
        made(self, *given, **named)

    monkeypatch.setattr(Path, "mkdir", denied)
    assert release_to(doors, people, doors.folder / "out") == ("HG118", 2)
    assert doors.entries() == [] and not (doors.folder / "out").exists()


def test_a_missing_parent_is_made_and_a_link_to_a_folder_followed(people: Path, doors: Any) -> None:
    assert release_to(doors, people, doors.folder / "a" / "b" / "out") == (None, 0)
    (doors.folder / "a" / "empty").mkdir()
    (doors.folder / "link").symlink_to(doors.folder / "a" / "empty")
    assert release_to(doors, people, doors.folder / "link") == (None, 0)
    assert doors.entries() == ["recorded"] * 2
    for folder in ("a/b/out", "a/empty"):
        texts = [path.read_bytes().decode("utf-8", "replace") for path in (doors.folder / folder).iterdir()]
        assert len(texts) == 7
        doors.texts += texts


@pytest.mark.parametrize("write", ["to_json", "to_csv"])
@pytest.mark.parametrize("make", [too_long, a_full_folder, a_loop, lambda folder: folder / "no" / "a.json"])
def test_a_result_that_cannot_be_written_is_not_lost(write: str, make: Any, people: Path, doors: Any) -> None:
    release = hg.open(people, relation="add-remove", ledger=doors.ledger()).release([hg.count()], epsilon=0.5, delta=0)
    with pytest.raises(hg.ParameterError, match="HG118") as caught:
        getattr(release, write)(make(doors.folder))
    assert caught.value.__context__ is None
    elsewhere = doors.folder / "elsewhere"
    getattr(release, write)(elsewhere)
    assert elsewhere.stat().st_size > 100 and doors.entries() == ["recorded"]
    doors.texts += [str(caught.value), elsewhere.read_text(encoding="utf-8")]


@pytest.mark.parametrize("closed", ["stdout", "stderr", "both"])
def test_closed_streams_lose_nothing(closed: str, people: Path, doors: Any) -> None:
    if sys.platform == "win32":
        pytest.skip("a shell that can close descriptors")
    streams = {"stdout": ">&-", "stderr": "2>&-", "both": ">&- 2>&-"}[closed]
    out = doors.folder / "out"
    command = (
        f'"$0" -m hedgerow release "{people}" --relation add-remove --count --epsilon 0.5 --delta 0 '
        f'--ledger "{doors.ledger()}" --request-id q1 --json {streams}'
    )
    ran = subprocess.run(
        ["sh", "-c", command, sys.executable], capture_output=True, text=True, check=False, timeout=120
    )
    doors.texts += [ran.stdout, ran.stderr]
    assert "Traceback" not in ran.stderr and ran.returncode in (0, 6)
    assert doors.entries() == ["recorded"]
    # Nobody saw it, but the ledger holds it: the same request under its id is answered from there.
    again = doors.command(
        *["release", people, "--relation", "add-remove", "--count", "--epsilon", "0.5", "--delta", "0", "--json"],
        *["--ledger", doors.ledger(), "--request-id", "q1"],
    )
    assert again == (None, 0) and doors.entries() == ["recorded"]
    assert len(json.loads(doors.texts[-2])["estimates"]) == 1 and not out.exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the device that is always full")
def test_a_full_standard_output_is_told_and_the_ledger_keeps_the_release(people: Path, doors: Any) -> None:
    asked = ["--relation", "add-remove", "--count", "--epsilon", "0.5", "--delta", "0", "--ledger", str(doors.ledger())]
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "hedgerow", "release", str(people), *asked],
            **{"stdout": full, "stderr": subprocess.PIPE, "text": True, "check": False, "timeout": 120},
        )
    doors.texts.append(ran.stderr)
    assert ran.returncode == 6 and ran.stderr.startswith("HG60") and "Traceback" not in ran.stderr
    assert doors.entries() == ["recorded"]
