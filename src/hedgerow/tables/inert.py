"""Texts that a spreadsheet would run as a formula, made inert; texts with signs that steer a reader, made plain."""

from __future__ import annotations

__all__ = ["inert", "plain"]

_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
_SPACES = "\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"


def inert(text: str) -> str:
    """Return a text that no spreadsheet runs: with an apostrophe before what would start a formula.

    >>> inert("=1+1"), inert("north")
    ("'=1+1", 'north')
    """
    return f"'{text}" if text.lstrip(" " + _SPACES)[:1] in _STARTS and text else text


def plain(text: str) -> str:
    r"""Return a text with U+FFFD for every character that is not seen or turns the text around.

    >>> plain("a\u202eb") == "a\ufffdb"
    True
    """
    return "".join(sign if sign.isprintable() or sign in _SPACES else "\N{REPLACEMENT CHARACTER}" for sign in text)
