"""The line that says what runs: after a while, where somebody watches, and without a trace."""

from __future__ import annotations

import io
import sys
import threading
import time
from types import SimpleNamespace

import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow import progress
from hedgerow.interrupts import speak_json
from hedgerow.progress import working


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal on which the line comes at once."""
    found = Terminal()
    # pytest changes the true one between the parts of a test.
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=found, modules=sys.modules))
    monkeypatch.setattr(progress, "_AFTER", 0.0)
    monkeypatch.setattr(progress, "_EVERY", 0.01)
    return found


def shown(terminal: Terminal, sought: str) -> bool:
    """Wait until the line says something; no longer than ten seconds."""
    for _ in range(1000):
        if sought in terminal.getvalue():
            return True
        time.sleep(0.01)
    return False


def test_a_terminal_shows_what_runs_and_its_share_and_keeps_nothing(terminal: Terminal) -> None:
    with working("Planning") as work:
        assert shown(terminal, "Planning 00:0")
        work.show("majority", 0.25)
        assert shown(terminal, "majority  25 % |######")
    last = terminal.getvalue().split("\r")
    assert last[-1] == "" and last[-2].strip() == "", "the line is blank in the end"
    assert not [one for one in threading.enumerate() if one.daemon and "draw" in one.name]


def test_what_is_over_soon_shows_nothing(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_AFTER", 30.0)
    with working("Planning"):
        pass
    assert terminal.getvalue() == ""


def test_a_block_in_another_has_no_line_of_its_own(terminal: Terminal) -> None:
    with working("Releasing"), working("Planning") as inner:
        inner.show("Drawing", 0.5)
        assert shown(terminal, "Drawing  50 %")
    assert "Planning" not in terminal.getvalue()


@pytest.mark.parametrize("silent", ["pipe", "json", "no stream", "closed", "thread"])
def test_nobody_who_does_not_watch_is_told(silent: str, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    stream: io.StringIO | None = terminal
    if silent == "pipe":
        stream = io.StringIO()
    elif silent == "no stream":
        stream = None
    elif silent == "closed":
        terminal.close()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream, modules=sys.modules))
    speak_json(silent == "json")

    def run() -> None:
        with working("Planning") as work:
            time.sleep(0.1)
            work.show("Drawing", 0.5)

    try:
        if silent == "thread":
            other = threading.Thread(target=run)
            other.start()
            other.join()
        else:
            run()
    finally:
        speak_json(False)
    assert silent in ("closed", "no stream") or stream is None or stream.getvalue() == ""


def test_an_error_ends_the_line(terminal: Terminal) -> None:
    with pytest.raises(ValueError, match="mine"), working("Planning"):
        assert shown(terminal, "Planning")
        raise ValueError("mine")
    assert terminal.getvalue().endswith("\r")


def test_a_release_says_that_it_runs_and_its_numbers_are_those_of_silence(terminal: Terminal) -> None:
    def slow(means: dict[str, float]) -> float:
        time.sleep(0.0002)
        return means["x"]

    survey = hg.open(pa.table({"x": [1.0, 2.0, 3.0] * 50}), relation="replace-one")
    asked = hg.function(slow, columns={"x": (0, 4)}, name="slow")
    survey.release([asked], epsilon=1.0)
    assert "Planning, reading and releasing" in terminal.getvalue()
