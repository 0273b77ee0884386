"""A checkpoint: how a ledger stood when this user last read or wrote all of it, so that a large one opens quickly.

It says: the file whose bytes have this SHA-256 was checked, link by link, and this is its head and its total. When a
ledger is opened, its bytes are hashed under SQLite's lock. If they are the same, nothing was edited since, and there is
nothing to check again; if one byte differs, the file is checked from its first link on, as without a checkpoint.

It is kept in a folder of the user's own (``$XDG_CACHE_HOME/hedgerow``, else ``~/.cache/hedgerow``), not beside the
ledger: whoever may write the ledger cannot write there. It is believed only where it belongs to this user and nobody
else may write it. It holds the ids of requests and the total, no result, and may be removed at any time.
"""

from __future__ import annotations

import base64
import json
import os
import stat
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.accounting.loss_grid import LossGrid
from hedgerow.errors import HedgerowError
from hedgerow.ledger.entry import Head, canonical, digest
from hedgerow.ledger.total import RunningTotal
from hedgerow.version import __version__

LEAST_LINKS = 400
"""A shorter ledger is checked as quickly as it is hashed."""

_FORMAT = f"hedgerow-checkpoint-1 {__version__}"  # another version may add up in another way
_NUMBERS = ("micro", "_count", "_pure", "_pure_micro", "_squares", "_wide_squares")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What is known of a file with these bytes.

    Attributes
    ----------
    bytes_hash : str
        SHA-256 of the whole file.
    head : Head
        Its last link.
    last : str
        The hash of its last reservation.
    stated : int
        The total that this reservation states, in millionths.
    of_test_set : bool
        Whether it counts the looks at a test set.
    places : dict
        Of each request id, the counters of its reservation and of its record, 0 where there is none.
    total : dict
        What was composed of its mechanisms, as `composed` reads it back.
    """

    bytes_hash: str
    head: Head
    last: str
    stated: int
    of_test_set: bool
    places: Mapping[str, tuple[int, int]]
    total: Mapping[str, Any]


def load(ledger: Path, bytes_hash: Callable[[], str]) -> Checkpoint | None:
    """Return what is known of a ledger whose bytes have this hash, None where that is nothing."""
    try:
        sealed, body = _read(_place(ledger)).split("\n", 1)
        if sealed != digest(body):
            return None
        record = json.loads(body)
        if record["format"] != _FORMAT or record["bytes"] != bytes_hash():
            return None
        places = dict(zip(record["requests"], zip(record["reserved"], record["recorded"], strict=True), strict=True))
        head, test_set = Head.parse(record["head"]), record["test set"]
        return Checkpoint(record["bytes"], head, record["last"], record["stated"], test_set, places, record["total"])
    except (OSError, ValueError, KeyError, TypeError, HedgerowError):
        return None


def save(ledger: Path, known: Checkpoint) -> None:
    """Keep what is known of a ledger; where it cannot be kept, the next opening takes longer."""
    body = canonical(
        {
            "format": _FORMAT,
            "bytes": known.bytes_hash,
            "head": str(known.head),
            "last": known.last,
            "stated": known.stated,
            "test set": known.of_test_set,
            "requests": list(known.places),
            "reserved": [reserved for reserved, _ in known.places.values()],
            "recorded": [recorded for _, recorded in known.places.values()],
            "total": known.total,
        }
    )
    with suppress(OSError):
        place = _place(ledger)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, written = tempfile.mkstemp(dir=place.parent)
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(f"{digest(body)}\n{body}")
            Path(written).replace(place)
        except BaseException:
            Path(written).unlink(missing_ok=True)
            raise


def _place(ledger: Path) -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        folder = Path(base) if base.startswith("/") else Path("~/.cache").expanduser()
    except RuntimeError:
        raise OSError("this user has no home") from None
    return folder / "hedgerow" / "ledgers" / digest(os.fsencode(ledger))


def _read(place: Path) -> str:
    """Return the text of a file that only this user may have written."""
    if not hasattr(os, "geteuid"):
        raise OSError("this system has no owners of files")
    with os.fdopen(os.open(place, os.O_RDONLY | os.O_NOFOLLOW), encoding="ascii") as file:
        for found in (os.fstat(file.fileno()), place.parent.stat()):
            if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o022:
                raise OSError("others may write here")
        return file.read()


def record_of(total: RunningTotal) -> dict[str, Any] | None:
    """Return a total as JSON data; None where it still lists its mechanisms, as that of a few does."""
    if total.micro is None or total._few:
        return None
    # Numbers as texts, since infinity is no JSON.
    found: dict[str, Any] = {name: repr(getattr(total, name)) for name in _NUMBERS}
    fold = total._fold
    if fold is not None:
        mass = base64.b64encode(fold.mass.astype("<f8").tobytes()).decode()
        found["fold"] = [fold.start, repr(fold.step), mass, repr(fold.infinity)]
    return {**found, "short": total._few is not None}


def composed(record: Mapping[str, Any], nothing: RunningTotal) -> RunningTotal:
    """Return the total that `record_of` wrote down, in the ledger whose total of no entries is `nothing`."""
    numbers: dict[str, Any] = {name: type(getattr(nothing, name))(record[name]) for name in _NUMBERS}
    fold = None
    if "fold" in record:
        start, step, mass, infinity = record["fold"]
        law = np.frombuffer(base64.b64decode(mass), dtype="<f8").astype(np.float64)
        fold = LossGrid(start, float(step), law, float(infinity))
    return replace(nothing, **numbers, _few=() if record["short"] else None, _fold=fold)
