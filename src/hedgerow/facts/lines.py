"""How wide printed lines are: paragraphs, tables and commands are fitted to the terminal, numbers are never broken.

Without a known width, as in a pipe or from Python, paragraphs have 100 characters at most and tables stay whole.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

PROSE = 100
"""Longer lines of prose are hard to read, however wide a terminal is."""

_width: ContextVar[int | None] = ContextVar("_width", default=None)
_SPACE = "\N{NO-BREAK SPACE}"
# Inside an interval, around a relation and before a percent sign a line is not broken.
_HELD = re.compile(r"(?<=[≤≥=±+]) (?=\S)|(?<=\S) (?=[≤≥=±+] )|(?<=\d) (?=%)|(?<=,) (?=[^\s\[]+\](?:\W|$))")


@contextmanager
def fitting(width: int | None) -> Iterator[None]:
    """Fit what a block makes to lines of so many characters; None where no width is known.

    >>> with fitting(24):
    ...     print(paragraph("The price is ε ≤ 0.5, and μ ≤ 1."))
    The price is ε ≤ 0.5,
    and μ ≤ 1.
    """
    token = _width.set(width)
    try:
        yield
    finally:
        _width.reset(token)


def line_width() -> int | None:
    """Return the width that lines are fitted to; None where no width is known."""
    return _width.get()


def paragraph(text: str, *, indent: str = "", most: int = PROSE) -> str:
    """Return a text in lines of at most `most` characters, fewer on a narrower terminal, broken between words."""
    width = line_width()
    filled = textwrap.fill(
        _HELD.sub(_SPACE, text),
        most if width is None else min(most, width),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return filled.replace(_SPACE, " ")


def command(text: str, *, indent: str = "  ") -> str:
    r"""Return a command that a shell reads as one, in lines that fit: all but the last end in a backslash.

    >>> with fitting(24):
    ...     print(command("hedgerow release survey.csv --count"))
      hedgerow release \
        survey.csv --count
    """
    width = line_width()
    if width is None or len(indent + text) <= width:
        return indent + text
    parts = textwrap.wrap(text, width - len(indent) - 4, break_long_words=False, break_on_hyphens=False)
    return f" \\\n{indent}  ".join([indent + parts[0], *parts[1:]])


def fitted(text: str, width: int) -> str:
    r"""Return a text whose longer lines are broken between words, each part indented as its line is.

    >>> print(fitted("a line that is long\nshort", 12))
    a line that
    is long
    short
    """
    with fitting(width):
        return "\n".join(
            line if len(line) <= width else paragraph(line.strip(), indent=_indent(line), most=width)
            for line in text.split("\n")
        )


def column_parts(left: int, widths: Sequence[int], width: int | None) -> list[tuple[int, int]]:
    """Return the columns (start, stop) of each part of a table that is cut to fit, beside `left` characters of heads.

    >>> column_parts(10, [8, 8, 8], 32), column_parts(10, [8, 8, 8], None)
    ([(0, 2), (2, 3)], [(0, 3)])
    """
    parts, start, used = [], 0, left
    for place, wide in enumerate(widths):
        if width is not None and place > start and used + 2 + wide > width:
            parts.append((start, place))
            start, used = place, left
        used += 2 + wide
    return [*parts, (start, len(widths))]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
