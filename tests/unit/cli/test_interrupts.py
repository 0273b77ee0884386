"""A signal ends a command at any moment: the code says which, the message agrees with the ledger, nothing is left."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.facts.budget import Budget
from hedgerow.interrupts import end_on_signals, held_back
from hedgerow.ledger.store import Ledger

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc to know when to send")
ASKED = ["--relation", "add-remove", "--mean", "age:0:100:1", "--epsilon", "1", "--ledger", "l", "--out", "o", "--json"]

# Imports everything once, then runs the command in one fork after another. Each fork sends itself a signal at the
# beginning of its n-th call of a Python function; the parent says how each ended and what it left.
ZYGOTE = r"""
import json, os, shutil, sys
import hedgerow.cli.main, hedgerow.reports, hedgerow.survey, matplotlib.pyplot, duckdb
from hedgerow.interrupts import end_on_signals, speak_json
from hedgerow.ledger.store import Ledger

where, points, arguments = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
OURS = ("/release/", "/ledger/", "/interrupts.", "/cli/", "contextlib")

def run(at, number, every):
    seen = 0
    def call(frame, event, _):
        nonlocal seen
        if event == "call" and (every or any(part in frame.f_code.co_filename for part in OURS)):
            seen += 1
            if seen == at:
                os.kill(os.getpid(), number)
    for name, path in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), name)
    # As the command does, before anything else.
    end_on_signals()
    speak_json("--json" in arguments)
    sys.setprofile(call)
    code = 0
    try:
        hedgerow.cli.main.app(args=arguments)
    except SystemExit as ended:
        code = ended.code
    finally:
        sys.setprofile(None)
        sys.stdout.flush()
        with open("calls", "w") as file:
            file.write(str(seen))
        os._exit(code)

os.chdir(where)
for at, number, every in points:
    shutil.copy("empty", "l")
    shutil.rmtree("o", ignore_errors=True)
    child = os.fork()
    if child == 0:
        run(at, number, every)
    _, status = os.waitpid(child, 0)
    with Ledger.open("l") as ledger:
        ledger.verify()
        states = [entry.state for entry in ledger.entries()]
    there = [name for _, folders, names in os.walk(".") for name in folders + names]
    left = [name for name in there if ".hedgerow-" in name or "-journal" in name]
    said = open("stderr").read()
    told = {"code": os.waitstatus_to_exitcode(status), "states": states, "left": left, "said": said, "at": at}
    told["printed"] = os.path.getsize("stdout")
    told["calls"] = int(open("calls").read()) if os.path.exists("calls") else None
    print(json.dumps(told), flush=True)
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "p.csv").write_text("age\n" + "41\n42\n" * 50, encoding="utf-8")
    Ledger.create(tmp_path / "empty", dataset="d", budget=Budget(9.0, 1e-6), relation="add-remove", unit="row").close()
    return tmp_path


def runs(place: Path, points: list[tuple[int, int, bool]]) -> list[dict[str, Any]]:
    arguments = json.dumps(["release", "p.csv", *ASKED])
    command = [sys.executable, "-c", ZYGOTE, str(place), json.dumps(points), arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=1800)
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(told: dict[str, Any], number: int) -> None:
    assert told["left"] == [] and "Traceback" not in told["said"], told
    if told["code"] == 0:
        assert told["states"] == ["recorded"] and told["printed"], told
        return
    assert told["code"] == 128 + number, told
    # Under --json every line on standard error is JSON, at any moment; notes may stand before the error.
    *notes, last = map(json.loads, told["said"].splitlines())
    assert all("note" in note for note in notes), told
    error = last["error"]
    assert error["exit"] == 128 + number, told
    if told["states"] == []:
        assert error["code"] is None, told
        assert error["finding"] == "Interrupted: no price was reserved, so nothing was spent.", told
    else:
        assert error["code"] == "HG605", told


def check_moments(place: Path, moments: int, seed: int) -> None:
    every, ours = (told["calls"] for told in runs(place, [(0, signal.SIGINT, True), (0, signal.SIGINT, False)]))
    rng = random.Random(seed)
    points = [
        (rng.randint(1, ours if place_ % 4 else every), (signal.SIGINT, signal.SIGTERM)[place_ % 2], not place_ % 4)
        for place_ in range(moments)
    ]
    found = runs(place, points)
    assert len(found) == moments
    for told, (_, number, _) in zip(found, points, strict=True):
        check(told, number)
    # Both sides of the reservation were met.
    assert {bool(told["states"]) for told in found if told["code"]} == {False, True}


def test_a_signal_at_any_moment_agrees_with_the_ledger(place: Path) -> None:
    check_moments(place, 8, 20261122)


@pytest.mark.long
def test_a_signal_at_many_moments_agrees_with_the_ledger(place: Path) -> None:
    check_moments(place, 150, 20261123)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("delay", [0.0, 0.2, 0.6])
def test_a_signal_during_imports_is_quiet(place: Path, number: int, delay: float) -> None:
    (place / "l").write_bytes((place / "empty").read_bytes())
    command = [sys.executable, "-m", "hedgerow", "release", "p.csv", *ASKED]
    process = subprocess.Popen(
        command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # make may have it ignored
    )  # fmt: skip
    while process.poll() is None and not catches(process.pid, signal.SIGTERM):
        time.sleep(0.002)
    time.sleep(delay)
    process.send_signal(number)
    _, said = process.communicate(timeout=300)
    with Ledger.open(place / "l") as ledger:
        states = [entry.state for entry in ledger.entries()]
    left = [path.name for path in place.rglob("*") if ".hedgerow-" in path.name or "-journal" in path.name]
    check({"code": process.returncode, "said": said, "states": states, "left": left, "printed": 1}, number)


def catches(pid: int, number: int) -> bool:
    """Return whether a process has a handler for a signal: from then on it may be sent."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return False
    caught = next(line for line in lines if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


def test_what_is_held_back_ends_the_process_after_it(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        end_on_signals()
        with held_back():
            with held_back():
                os.kill(os.getpid(), signal.SIGTERM)
            (tmp_path / "after").touch()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 143 and (tmp_path / "after").exists()


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("hedgerow.survey.open", "Interrupted: no price was reserved"),
        ("hedgerow.release.spend.NoLedger.reserve", "Interrupted: no price was reserved"),
        ("hedgerow.release.statistics_product.run_reserved", "HG605: "),
        ("hedgerow.release.publication.text.text_table", "HG605: "),
    ],
)
def test_an_exception_of_the_keyboard_says_whether_anything_was_spent(
    place: Path, monkeypatch: pytest.MonkeyPatch, target: str, said: str
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(target, interrupt)
    command = ["release", str(place / "p.csv"), "--relation", "add-remove", "--mean", "age:0:100:1", "--epsilon", "1"]
    result = CliRunner().invoke(app, command)
    assert (result.exit_code, result.stdout) == (130, "") and result.stderr.startswith(said)


def test_every_public_name_is_found_when_it_is_asked_for() -> None:
    assert [name for name in hg.__all__ if getattr(hg, name) is None] == []
    assert set(hg.__all__) <= set(dir(hg))
    with pytest.raises(AttributeError, match="epsilom"):
        hg.epsilom  # noqa: B018  # looking it up is the test
