"""Two texts of one record, field by field: the fields in which they differ.

The numbers of a page, compared with the record that the page holds.

A number of the record carries its field on the page (``data-field``), whatever the page looks like, so that pages of
every version can be compared. A page shows fewer digits than the record: a number may differ by half a unit of its last
digit, and an end of an interval, which is rounded outwards, by one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
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
        for at, (value, other) in enumerate(zip(stated, computed, strict=True)):
            yield from differences(value, other, f"{place}.{at}" if place else str(at))
    elif not same(stated, computed):
        yield place


def same(stated: Any, computed: Any) -> bool:
    """Return whether two values of JSON data are the same, numbers up to rounding.

    >>> same(1.0, 1), same(True, 1), same(1.0, 1.0 + 1e-8), same("1", 1)
    (True, False, True, False)
    """
    numbers = [isinstance(value, (int, float)) and not isinstance(value, bool) for value in (stated, computed)]
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
        return any(not rest or has_any(value, rest) for value in below)
    if not isinstance(record, Mapping):
        return isinstance(record, list) and name.isdecimal() and has_any(record[int(name) : int(name) + 1], f"*.{rest}")
    return name in record and (not rest or has_any(record[name], rest))


def _fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    if pattern[-1] == "**":
        parts, pattern = parts[: len(pattern) - 1], pattern[:-1]
    return len(parts) == len(pattern) and all(
        wanted in ("*", part) for part, wanted in zip(parts, pattern, strict=True)
    )


PAGE_TEXT = "the text of the page, but for the numbers that name a field of the record"
_NUMBER = re.compile(r"[-−]?(?:∞|\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?)|–|none")
_MOST_TOLD = 5
_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)


@dataclass(frozen=True, slots=True)
class Page:
    """What a page holds: the text of its record, and each text that names fields of it."""

    record: str
    shown: tuple[tuple[tuple[str, ...], str], ...]


def is_page(text: str) -> bool:
    """Return whether a text is HTML, and no JSON.

    >>> is_page("  <!doctype html>"), is_page("{}")
    (True, False)
    """
    return text.lstrip()[:1] == "<"


def page_of(text: str) -> Page:
    """Return the record of a page and the texts that name its fields.

    >>> page_of('<b data-field="n">1,000</b><script id="record">{"n": 1000}</script>')
    Page(record='{"n": 1000}', shown=((('n',), '1,000'),))
    """
    reader = _PageReader()
    reader.feed(text)
    reader.close()
    return Page("".join(reader.record), tuple((fields, "".join(parts)) for fields, parts in reader.shown))


def page_contradictions(page: Page, record: Any) -> Iterator[str]:
    """Yield in sentences which numbers of a page are not those of its record, and which of the record are missing.

    >>> page = page_of('<b data-field="n">1,001</b><script id="record">{"n": 1000}</script>')
    >>> list(page_contradictions(page, {"n": 1000}))
    ['The page shows another number for n than its record.']
    """
    wrong = [name for fields, text in page.shown for name in _wrong(fields, text, record)]
    named = {name for fields, _ in page.shown for name in fields}
    # An earlier page names no field at all. One of today names that of every estimate.
    if isinstance(record, Mapping) and (named or "reading" in record):
        # A page of percentages shows these in place of the counts.
        shares = any(name.startswith("percentages.") for name in named)
        holder, place = (record.get("percentages", {}), "percentages.") if shares else (record, "")
        wanted = {f"{place}estimates.{at}.estimate" for at in range(len(holder.get("estimates", ())))}
        if missing := len(wanted - named):
            yield f"The page does not show {missing:,} of the {len(wanted):,} estimates of its record."
    for name in dict.fromkeys(wrong[:_MOST_TOLD]):
        yield f"The page shows another number for {name} than its record."
    if len(wrong) > _MOST_TOLD:
        yield f"So are {len(wrong) - _MOST_TOLD:,} more numbers of the page."


def _wrong(fields: tuple[str, ...], text: str, record: Any) -> Iterator[str]:
    """Yield the fields whose number in a text is not that of the record."""
    numbers = _NUMBER.findall(text)
    for place, name in enumerate(fields):
        stated = _value(record, name)
        room = 1.0 if name.endswith((".low", ".high")) else 0.5
        if place >= len(numbers) or stated is _ABSENT or not _agrees(numbers[place], stated, room):
            yield name


_ABSENT = object()


def _value(record: Any, name: str) -> Any:
    for part in name.split("."):
        if isinstance(record, Mapping) and part in record:
            record = record[part]
        elif isinstance(record, list) and part.isdecimal() and int(part) < len(record):
            record = record[int(part)]
        else:
            return _ABSENT
    return record


def _agrees(text: str, stated: Any, room: float = 0.5) -> bool:
    """Whether a printed number is that of the record, up to so many units of its last digit.

    Where it has an exponent, it is of the record's order of magnitude: the last digit of 0e9 has room for any number.

    >>> _agrees("1,234.5", 1234.46), _agrees("1,234.5", 1234.7), _agrees("–", None), _agrees("1e-06", 1e-6)
    (True, False, True, True)
    """
    if stated is None or isinstance(stated, bool) or not isinstance(stated, (int, float)):
        return stated is None and (text in ("–", "none") or text.endswith("∞"))
    if not text[-1:].isdigit():
        return False
    number = text.replace(",", "").replace("−", "-")
    mantissa, _, exponent = number.partition("e")
    if exponent and not (float(mantissa) and stated and abs(float(exponent) - math.log10(abs(stated))) < 1.0 + 1e-6):
        return False
    unit = float(f"1e{int(exponent or 0) - len(mantissa.partition('.')[2])}")
    return math.isclose(float(number), stated, rel_tol=1e-9, abs_tol=room * unit * (1.0 + 1e-6))


@dataclass
class _Open:
    """An element that names fields, while it is read."""

    tag: str
    depth: int
    parts: list[str]


class _PageReader(HTMLParser):
    """Collects the record and the texts of elements that name fields."""

    def __init__(self) -> None:
        super().__init__()
        self.record: list[str] = []
        self.shown: list[tuple[tuple[str, ...], list[str]]] = []
        self._open: list[_Open] = []
        self._depth = 0
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._inside = tag == "script" and given.get("id") == "record" and not self.record
        if tag in _VOID:
            return
        self._depth += 1
        if given.get("data-field"):
            parts: list[str] = []
            self.shown.append((tuple(str(given["data-field"]).split()), parts))
            self._open.append(_Open(tag, self._depth, parts))

    def handle_endtag(self, tag: str) -> None:
        self._inside = False
        if tag in _VOID:
            return
        if self._open and self._open[-1].depth >= self._depth:
            self._open.pop()
        self._depth -= 1

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.record.append(data)
        for element in self._open:
            element.parts.append(data)
