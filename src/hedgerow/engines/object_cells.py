r"""Cells that may hold any object, as pandas keeps them, made into texts: no object can make a release fail.

What becomes of a cell depends on that cell alone. A text stands for itself; one that is no Unicode text (a lone
surrogate, which no engine stores) is written in hexadecimal, so that two that differ still do and none is a declared
value that anybody would write. Any other object is the text that it prints as, and missing where it prints as none.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from decimal import Decimal

import numpy as np

from hedgerow.user_code import quietly, silence

_ESCAPE = "\uffff"
"""A code point that is no character: no text begins with it, and one that does is escaped too."""
_MISSING = frozenset({"NoneType", "NAType", "NaTType"})
"""Types of None, of pandas.NA and of pandas.NaT, by name: pandas need not be installed."""


def as_texts(cells: Iterable[object]) -> list[str | None]:
    r"""Return each cell as a text, None where it is missing.

    >>> as_texts(["a", 5, True, None, float("nan"), "x\udcff", (1, 2), Decimal("sNaN")])
    ['a', '5', 'True', None, None, '\uffff78edb3bf', '(1, 2)', None]
    """
    with silence():
        return [cell if type(cell) is str and cell.isascii() else _text(cell) for cell in cells]


def _text(cell: object) -> str | None:
    # An object's own code, a whole number of too many digits, a list that holds itself: what fails is missing.
    # Joined, a text of somebody else's type becomes a plain one.
    text = quietly(lambda: None if _missing(cell) else "".join((str(cell),)))
    if text is None:
        return None
    if not text.startswith(_ESCAPE):
        with suppress(UnicodeEncodeError):
            text.encode()
            return text
    return _ESCAPE + text.encode("utf-8", "surrogatepass").hex()


def _missing(cell: object) -> bool:
    if isinstance(cell, Decimal):
        return cell.is_nan()  # to compare a signalling one is an error
    if isinstance(cell, (float, np.floating)):
        return bool(cell != cell)
    if isinstance(cell, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(cell))
    return type(cell).__name__ in _MISSING
