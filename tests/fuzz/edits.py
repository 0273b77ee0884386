"""What may be done to JSON data and to a text: one edit at any depth, which two numbers and a name determine."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Path = tuple[Any, ...]
BIDI, STRAY = "\u202eevil\u2066", "\ud800"
HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 10**6, 10**12, 10**30, 0.5, -0.0, 1e-300, 5e-324, 1e15, 1e300, -1e300,
    float("nan"), float("inf"), float("-inf"), "", "x", "row", "add-remove", "replace-one", "geometric", "0", "1e999",
    BIDI, STRAY, "\0", "\x1b[2J", "a" * 5000, "9" * 5000, [], {}, [[]], [None], [0, 1], {"": 0},
    {"type": "composition"},    {"type": "composition", "parts": []}, {"type": "gaussian"}, {"type": []},
)  # fmt: skip
"""Values of every type and size."""


@dataclass(frozen=True)
class Edit:
    """An edit: its name in `EDITS`, which node it changes, and which of the values or nodes it takes."""

    name: str
    place: int
    other: int


def nodes(record: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every node below the root with its path, those of few steps first in each branch."""
    below = record.items() if isinstance(record, dict) else enumerate(record) if isinstance(record, list) else ()
    for name, value in below:
        yield (*path, name), value
        yield from nodes(value, (*path, name))


def _scaled(factor: float) -> Callable[[Any], Any]:
    def change(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return [value]
        return type(value)(value * factor) if abs(value) < 1e300 else -value

    return change


def _moved(value: Any) -> Any:
    return value + 1 if isinstance(value, (int, float)) else not value


def _other_type(value: Any) -> Any:
    if isinstance(value, str):
        return float(value) if value.replace(".", "").isascii() and value.replace(".", "", 1).isdecimal() else [value]
    return str(value) if isinstance(value, (int, float)) else list(value) if isinstance(value, dict) else {"0": value}


def _deeper(value: Any) -> Any:
    for at in range(150):
        value = [value] if at % 2 else {"parts": value, "type": "composition"}
    return value


CHANGES: dict[str, Callable[[Any], Any]] = {
    "doubled": _scaled(2.0),
    "smaller by a thousandth": _scaled(0.999),
    "negative": _scaled(-1.0),
    "one more": _moved,
    "of another type": _other_type,
    "in a list": lambda value: [value],
    "deeper": _deeper,
    "longer": lambda value: (
        value * 2 if isinstance(value, (str, list)) else {**value, "more": 1} if isinstance(value, dict) else value
    ),
    "reversed": lambda value: value[::-1] if isinstance(value, (str, list)) else value,
    "first dropped": lambda value: value[1:] if isinstance(value, (str, list)) else value,
}
"""What becomes of one value."""
NAMES = ("hostile", "dropped", "twice", "renamed", "copied", *CHANGES)


def edited(record: Any, edits: list[Edit], pool: list[Any]) -> Any:
    """Return a copy of a record with some edits; `pool` are records whose nodes may be copied into it."""
    made = copy.deepcopy(record)
    for edit in edits:
        found = list(nodes(made))
        if not found:
            return made
        path, value = found[edit.place % len(found)]
        holder: Any = made
        for step in path[:-1]:
            holder = holder[step]
        _change(holder, path[-1], value, edit, pool)
    return made


def _change(holder: Any, step: Any, value: Any, edit: Edit, pool: list[Any]) -> None:
    if edit.name == "hostile":
        holder[step] = copy.deepcopy(HOSTILE[edit.other % len(HOSTILE)])
    elif edit.name == "dropped":
        del holder[step]
    elif edit.name == "twice" and isinstance(holder, list):
        holder.insert(step, copy.deepcopy(value))
    elif edit.name in ("twice", "renamed"):
        if isinstance(holder, dict):
            holder[f"{step}{BIDI[: edit.other % len(BIDI)]}_"] = value if edit.name == "twice" else holder.pop(step)
    elif edit.name == "copied":
        others = [other for _, other in nodes(pool[edit.other % len(pool)])]
        named = [other for name, other in nodes(pool[edit.other % len(pool)]) if name[-1] == step]
        holder[step] = copy.deepcopy((named or others)[edit.place % len(named or others)])
    else:
        holder[step] = CHANGES[edit.name](value)


@dataclass(frozen=True)
class Splice:
    """A change of a text: where, what is put there, and how many bytes are left out or repeated."""

    place: int
    other: int
    size: int


_PIECES: tuple[bytes, ...] = (
    b"", b" ", b"\xff", b"\xed\xa0\x80", b"\0", b"\xef\xbb\xbf", b"NaN", b"-Infinity", b"1e999", b"9" * 5000, b'"',
    b"\\",    b"\\ud800", b"{", b"}", b"[" * 3000, b"]", b",", b":", b"0", b"-", b"e9", b'"epsilon": 0.1,', b"null",
    b'{"": {"": 1}}',    b"<", b">", b"<!--", b"</script>", b'<script id="record">',
    b'<b data-field="estimates.0.estimate">1</b>', b"&lt;",
    BIDI.encode(), b"\x1b[2J", b"\r\n",
)  # fmt: skip


def spliced(text: bytes, splices: list[Splice]) -> bytes:
    """Return a text with pieces put in, left out, repeated, or cut off."""
    for splice in splices:
        at, size = splice.place % (len(text) + 1), splice.size % 12
        piece = _PIECES[splice.other % len(_PIECES)]
        if splice.size % 5 == 0:
            piece = text[at : at + splice.size % 200]  # a piece of the text itself, once more
        text = text[:at] if splice.size % 37 == 1 else text[:at] + piece + text[at + size * (splice.size % 3 == 0) :]
    return text
