"""The operators of what one can compute with, by two methods: one combines two operands, one applies a function.

How estimates are named in an expression, and how expressions of them are written.

A term is a statistic, in brackets its columns, and after a bar its cell: ``mean(age)``, ``ratio(tax, income)``,
``proportion(employed=1 | sex=0, region=North)``, ``count(| sex=0)``, ``quantile(income, 0.5)``. What holds other
characters than letters, digits, points, hyphens and underscores is put in quotation marks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Self


class Operators:
    """A value that ``+ − * /`` take, and log, exp and sqrt: by the methods of that name or by NumPy's functions.

    `_combined` returns ``NotImplemented`` for an operand that it does not know, which is Python's own answer.
    """

    __slots__ = ()

    def _combined(self, symbol: str, other: object, *, swapped: bool = False) -> Self:
        """Return ``self symbol other``, or ``other symbol self`` if `swapped`. `symbol` is one of ``+ - * /``."""
        raise NotImplementedError

    def _applied(self, name: str) -> Self:
        """Return the ``log``, ``exp`` or ``sqrt`` of this estimate."""
        raise NotImplementedError

    def log(self) -> Self:
        """Return the natural logarithm of this estimate."""
        return self._applied("log")

    def exp(self) -> Self:
        """Return the exponential of this estimate."""
        return self._applied("exp")

    def sqrt(self) -> Self:
        """Return the square root of this estimate."""
        return self._applied("sqrt")

    def __add__(self, other: object) -> Self:
        return self._combined("+", other)

    def __radd__(self, other: object) -> Self:
        return self._combined("+", other, swapped=True)

    def __sub__(self, other: object) -> Self:
        return self._combined("-", other)

    def __rsub__(self, other: object) -> Self:
        return self._combined("-", other, swapped=True)

    def __mul__(self, other: object) -> Self:
        return self._combined("*", other)

    def __rmul__(self, other: object) -> Self:
        return self._combined("*", other, swapped=True)

    def __truediv__(self, other: object) -> Self:
        return self._combined("/", other)

    def __rtruediv__(self, other: object) -> Self:
        return self._combined("/", other, swapped=True)

    def __neg__(self) -> Self:
        return self._combined("*", -1.0, swapped=True)


_BARE = re.compile(r"[\w.]([\w.-]*[\w.])?")
QUOTED = r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]+`"
"""A pattern of what `unquoted` takes: a text in quotation marks, which are doubled inside, or between backticks."""
_QUOTED = re.compile(QUOTED)
_BRACKETED = re.compile(r"\([^()]*\)")


def quoted(text: str) -> str:
    """Return a name or a value as an expression holds it, in quotation marks where it needs them.

    >>> quoted("age"), quoted("-1.5"), quoted("income per head"), quoted('the "old" one')
    ('age', '"-1.5"', '"income per head"', '"the ""old"" one"')
    """
    return text if _BARE.fullmatch(text) else '"' + text.replace('"', '""') + '"'


def unquoted(text: str) -> str:
    """Return what `quoted` was given.

    >>> unquoted("age"), unquoted('"the ""old"" one"'), unquoted("`a b`")
    ('age', 'the "old" one', 'a b')
    """
    return text[1:-1].replace(text[0] * 2, text[0]) if text[:1] in ("'", '"', "`") else text


def term_text(name: str, about: Sequence[tuple[str, ...]], cell: Mapping[str, Any]) -> str:
    """Return a term: its name, what stands in its brackets, each a text or a pair around ``=``, and its cell.

    >>> term_text("proportion", [("employed", "1")], {"sex": 0, "region": "North East"})
    'proportion(employed=1 | sex=0, region="North East")'
    >>> term_text("count", [], {"sex": 0})
    'count(| sex=0)'
    """
    inside = ", ".join("=".join(map(quoted, part)) for part in about)
    where = ", ".join(f"{quoted(column)}={quoted(str(value))}" for column, value in cell.items())
    bar = f"{' ' * bool(inside)}| {where}" if where else ""
    return f"{quoted(name)}({inside}{bar})"


def texts_of_cell(cell: Mapping[str, object]) -> dict[str, str]:
    """Return the categories of a cell as they print: by these a cell is named.

    >>> texts_of_cell({"sex": 0, "region": "North"}) == texts_of_cell({"region": "North", "sex": "0"})
    True
    """
    return {column: str(value) for column, value in cell.items()}


def operation_text(symbol: str, left: str, right: str) -> str:
    """Return two expressions under an operator, in brackets where they need them.

    >>> operation_text("-", "mean(age)", "a(x) - b(x)"), operation_text("*", "2", "mean(age | sex=0)")
    ('mean(age) - (a(x) - b(x))', '2 * mean(age | sex=0)')
    """
    first = left if symbol in "+-" else _in_brackets(left)
    return f"{first} {symbol} {_in_brackets(right)}"


def _in_brackets(text: str) -> str:
    """Return an operand, in brackets where it is an operation: then it has a space, or a sign, outside of brackets."""
    bare, before = _QUOTED.sub("q", text), ""
    while bare != before:
        bare, before = _BRACKETED.sub("", bare), bare
    return f"({text})" if " " in bare or bare.startswith("-") else text
