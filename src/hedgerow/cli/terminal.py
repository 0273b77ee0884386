"""Writing to standard output and standard error, where either may be closed, full, or of a small alphabet."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any, TextIO

from hedgerow.errors import ParameterError
from hedgerow.interrupts import speaks_json


class OutputClosed(Exception):
    """Whoever read standard output has stopped reading."""


def write_stdout(text: str) -> None:
    """Write a text and a line's end to standard output, at once.

    Raises
    ------
    OutputClosed
        Nobody reads it, as after ``| head -1``.
    ParameterError
        HG118: it cannot be written, as on a full disk.
    """
    stream = sys.stdout
    if stream is None:
        # Python was started with a closed descriptor.
        raise OutputClosed
    failure: Exception | None = None
    try:
        _write(stream, text)
    except BrokenPipeError:
        failure = OutputClosed()
    except (OSError, ValueError):
        failure = ParameterError(
            "HG118",
            rule="The result must be written somewhere.",
            finding="Standard output cannot be written.",
            remedy="Is the disk full?",
        )
    if failure is not None:
        _discard(stream)
        raise failure


def write_json(record: dict[str, Any]) -> None:
    """Write a record to standard output as JSON, in ASCII where the terminal knows no more."""
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    write_stdout(json.dumps(record, indent=2, ensure_ascii=encoding != "utf8", allow_nan=False))


def write_note(text: str) -> None:
    """Write a note and a line's end to standard error; under ``--json`` it is ``{"note": text}``."""
    write_stderr(json.dumps({"note": text}) if speaks_json() else text)


def write_warning(text: str) -> None:
    """Write a warning and a line's end to standard error; under ``--json`` it is ``{"warning": text}``."""
    write_stderr(json.dumps({"warning": text}) if speaks_json() else f"Warning: {text}")


def write_stderr(text: str) -> None:
    """Write a text and a line's end to standard error, in whatever language; where it is closed, nobody is told."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            _write(sys.stderr, text)


def _write(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, errors="replace").decode(encoding) + "\n")
    stream.flush()


def _discard(stream: TextIO) -> None:
    """Send what is still buffered nowhere, or Python would complain about it on its way out."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
