"""The files that no output may replace: those that this process has read, and all ledgers, secrets and facts files.

This one rule holds for everything that hedgerow writes. A file is recognised under any name: a link, a relative path,
another case. Code that opens data, facts or a ledger calls `note_input`; code that writes calls `why_kept` first.
"""

from __future__ import annotations

import os
from pathlib import Path

from hedgerow.toml import read_toml

_READ: set[Path] = set()
_KINDS = {b"SQLite format 3\0": "a ledger", b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7": "the journal of a ledger"}
_SECRET = b"hedgerow-testset-"
_FACTS = {"relation", "target", "unit", "data", "budget", "ledger", "statistics", "columns", "release", "about"}
MOST_BYTES = 8 * 2**20
"""Of a file that a person wrote, such as facts, a request or public totals."""


def note_input(*paths: str | os.PathLike[str] | None) -> None:
    """Note files that are read, so that no output replaces them while this process runs."""
    for path in paths:
        if path is not None and "\0" not in os.fspath(path):
            _READ.add(Path(os.path.realpath(path)))


def content_of(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file that a person wrote; OSError or ValueError where that cannot be, or it is larger."""
    with Path(path).open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError
    return content


def why_kept(place: str | os.PathLike[str]) -> str | None:
    """Return in a few words why a file must not be overwritten; None if it may be, or does not exist.

    >>> import tempfile
    >>> facts = Path(tempfile.mkdtemp()) / "hedgerow.toml"
    >>> why_kept(facts)
    >>> _ = facts.write_text("")
    >>> why_kept(facts)
    'a facts file'
    """
    try:
        ordinary = Path(place).is_file()  # a pipe would be waited for
    except (OSError, ValueError):
        # An impossible path: the code that writes there reports it.
        return None
    if not ordinary:
        return None
    try:
        asked = Path(place).stat()  # once, and not for each file that was read
        if any(path.exists() and os.path.samestat(path.stat(), asked) for path in _READ):
            return "a file that was read: data, facts or a ledger"
        if ".toml" in (Path(place).suffix.lower(), Path(place).resolve().suffix.lower()):
            return "a facts file"
        with Path(place).open("rb") as opened:
            start = opened.read(MOST_BYTES)
    except (OSError, ValueError):
        # A file that cannot be read may be one of these.
        return "a file that may not be read"
    if _SECRET in start[:200]:
        return "the secret of a test set"
    by_magic = next((kind for magic, kind in _KINDS.items() if start.startswith(magic)), None)
    return "a facts file" if by_magic is None and _holds_facts(start) else by_magic


def _holds_facts(content: bytes) -> bool:
    """Return whether a file of any name holds public facts: no output of hedgerow is TOML."""
    try:
        return not _FACTS.isdisjoint(read_toml(content.decode("utf-8-sig")))
    except (ValueError, RecursionError):
        return False
