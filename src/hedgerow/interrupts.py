"""How the command line ends on Ctrl-C and other signals: files are cleaned up, and the user learns what was spent.

A signal ends the process at once: what was registered by `undone` is cleaned up, one message says whether a price was
spent, and the exit code is 128 + the signal's number (130 for Ctrl-C, 143 for SIGTERM). No exception is raised, since
compiled code between the signal and its handler may swallow it. Where the process must not end, for example between a
reservation and the note that it was made, `held_back` makes the signal wait.

None of this is installed when hedgerow is used from Python: there Ctrl-C raises KeyboardInterrupt, as usual.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_UNSPENT = "Interrupted: no price was reserved, so nothing was spent."
_CODE = "HG605"
_RULE = "A release that is interrupted after its price was reserved stays spent."
_FINDING = "This one was interrupted after that."
_REMEDY = "Count its price as spent; where it was released under a --request-id, the same command may still show it."
_SPENT = f"{_CODE}: {_RULE}\n{_FINDING}\n{_REMEDY}\nMore: hedgerow explain {_CODE}"
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class _State:
    held = 0
    waiting: int | None = None
    spent = False
    as_json = False
    cleaning: list[Callable[[], object]] = []  # noqa: RUF012  # one process has one list


def end_on_signals() -> None:
    """Install the handlers described above; a signal that is ignored, as under nohup, stays ignored."""
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda received, _: _end(received))


@contextmanager
def held_back() -> Iterator[None]:
    """Make signals wait until the block ends.

    >>> with held_back():
    ...     pass
    """
    _State.held += 1
    try:
        yield
    finally:
        _State.held -= 1
        if not _State.held and _State.waiting is not None:
            _end(_State.waiting)


@contextmanager
def undone(clean: Callable[[], object]) -> Iterator[None]:
    """Run `clean` when the block ends, also if an exception or a signal ends it.

    It is registered before anything is made, so it must not fail if nothing is there yet.

    >>> with undone(lambda: print("cleaned")):
    ...     print("made")
    made
    cleaned
    """
    _State.cleaning.append(clean)
    try:
        yield
    finally:
        with held_back():
            _State.cleaning.remove(clean)
            clean()


def nothing_is_spent() -> None:
    """Note that a command begins: so far nothing is spent."""
    _State.spent = False


def price_is_spent() -> None:
    """Note that a price was reserved: from now on it is spent, even if the command fails."""
    _State.spent = True


def speak_json(wanted: bool) -> None:
    """Choose the form of messages on standard error: JSON, one object a line, or plain text."""
    _State.as_json = wanted


def speaks_json() -> bool:
    """Whether messages on standard error are JSON."""
    return _State.as_json


def interrupted(code: int) -> str:
    """Return the message for a command that was interrupted and ends with the exit code `code`.

    >>> nothing_is_spent(), speak_json(False)
    (None, None)
    >>> interrupted(130)
    'Interrupted: no price was reserved, so nothing was spent.'
    """
    if not _State.as_json:
        return _SPENT if _State.spent else _UNSPENT
    words = (_CODE, _RULE, _FINDING, _REMEDY) if _State.spent else (None, "", _UNSPENT, "")
    return json.dumps({"error": {**dict(zip(("code", "rule", "finding", "remedy"), words, strict=True)), "exit": code}})


def _end(number: int) -> None:
    if _State.held:
        _State.waiting = number
        return
    for clean in reversed(_State.cleaning):
        with suppress(Exception):
            clean()
    with suppress(OSError):
        os.write(2, (interrupted(128 + number) + "\n").encode())
    # Not by an exception, nor by sys.exit: both can be caught on their way out.
    os._exit(128 + number)
