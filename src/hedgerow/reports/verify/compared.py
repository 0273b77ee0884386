"""Two texts of one record, field by field: the fields in which they differ."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# Numbers are computed anew, perhaps by another version of a library: they agree in their first digits.
_CLOSE, _TINY = 1e-6, 1e-9


def differences(stated: Any, computed: Any, place: str = "") -> Iterator[str]:
    """Yield the path of each field that differs, is missing or is too much: ``"estimates.0.standard_error"``.

    Numbers agree where they differ by less than 1e-6 of their size, or by 1e-9; a truth value is no number.

    >>> list(differences({"a": [1.0, 2.0], "b": "x"}, {"a": [1.0, 2.5], "c": 1}))
    ['a.1', 'b', 'c']
    """
    if isinstance(stated, Mapping) and isinstance(computed, Mapping):
        for name in dict.fromkeys((*stated, *computed)):
            below = f"{place}.{name}" if place else str(name)
            if name in stated and name in computed:
                yield from differences(stated[name], computed[name], below)
            else:
                yield below
    elif isinstance(stated, (list, tuple)) and isinstance(computed, (list, tuple)):
        if len(stated) != len(computed):
            yield place
            return
        for at, (one, other) in enumerate(zip(stated, computed, strict=True)):
            yield from differences(one, other, f"{place}.{at}" if place else str(at))
    elif not same(stated, computed):
        yield place


def same(stated: Any, computed: Any) -> bool:
    """Return whether two values of JSON data are the same, numbers up to rounding.

    >>> same(1.0, 1), same(True, 1), same(1.0, 1.0 + 1e-8), same("1", 1)
    (True, False, True, False)
    """
    numbers = [isinstance(one, (int, float)) and not isinstance(one, bool) for one in (stated, computed)]
    if all(numbers):
        return math.isclose(stated, computed, rel_tol=_CLOSE, abs_tol=_TINY)
    return type(stated) is type(computed) and bool(stated == computed)


def is_among(place: str, patterns: Sequence[str]) -> bool:
    """Return whether a path is one of some patterns: ``*`` is any one part, ``**`` at the end all that is below.

    >>> is_among("release.about.name", ["release.about.**"]), is_among("a.3.b", ["a.*.b"]), is_among("a.b", ["a"])
    (True, True, False)
    """
    return any(_fits(place.split("."), pattern.split(".")) for pattern in patterns)


def has_any(record: Any, pattern: str) -> bool:
    """Return whether a record has a field of a pattern, as `is_among` reads it.

    >>> has_any({"a": [{"b": 1}]}, "a.*.b"), has_any({"a": []}, "a.*.b"), has_any({"a": {}}, "a.**")
    (True, False, False)
    """
    name, _, rest = pattern.partition(".")
    if name in ("*", "**"):
        below = list(record.values()) if isinstance(record, Mapping) else record if isinstance(record, list) else []
        return any(not rest or has_any(one, rest) for one in below)
    if not isinstance(record, Mapping):
        return isinstance(record, list) and name.isdecimal() and has_any(record[int(name) : int(name) + 1], f"*.{rest}")
    return name in record and (not rest or has_any(record[name], rest))


def _fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    if pattern[-1] == "**":
        parts, pattern = parts[: len(pattern) - 1], pattern[:-1]
    return len(parts) == len(pattern) and all(
        wanted in ("*", part) for part, wanted in zip(parts, pattern, strict=True)
    )
