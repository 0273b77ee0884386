"""Texts that a spreadsheet would run as a formula, made inert; texts with signs that steer a reader, made plain."""

from __future__ import annotations

import unicodedata
from typing import Any

_SPACES = "\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"
_STARTS = frozenset("=+-@")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})
_STEERING = frozenset("\t\r\n")


def inert(cell: Any) -> Any:
    r"""Return a cell that no spreadsheet runs: a text gets an apostrophe where it would start a formula.

    Programs differ in what they skip before a formula and in what they take for its first sign. So everything that is
    not seen is skipped (spaces, controls, marks of direction and of byte order), and a sign stands for all its widths:
    a full-width ＝ is an equals sign. A tab or an end of line in front may move a text to another cell.

    >>> inert("=1+1"), inert("north"), inert("\u3000＝1+1"), inert(-1.5)
    ("'=1+1", 'north', "'\u3000＝1+1", -1.5)
    """
    return f"'{cell}" if isinstance(cell, str) and _starts_a_formula(cell) else cell


def _starts_a_formula(text: str) -> bool:
    for sign in text:
        if sign in _STEERING:
            return True
        if unicodedata.category(sign) in _UNSEEN:
            continue
        # Decomposed: ⩵ is two equals signs. A minus sign proper is written for negative numbers, and starts none.
        seen = unicodedata.normalize("NFKC", sign).lstrip()
        return seen[:1] in _STARTS
    return False


def plain(text: str) -> str:
    r"""Return a text with U+FFFD for every character that is not seen or turns the text around.

    >>> plain("a\u202eb") == "a\ufffdb"
    True
    """
    return "".join(sign if sign.isprintable() or sign in _SPACES else "\N{REPLACEMENT CHARACTER}" for sign in text)
