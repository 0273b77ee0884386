"""The operators of what one can compute with, by two methods: one combines two operands, one applies a function."""

from __future__ import annotations

from typing import Self


class Operators:
    """A value that ``+ − * /`` take, and log, exp and sqrt: by the methods of that name or by NumPy's functions.

    `combined` returns ``NotImplemented`` for an operand that it does not know, which is Python's own answer.
    """

    __slots__ = ()

    def combined(self, symbol: str, other: object, *, swapped: bool = False) -> Self:
        """Return ``self symbol other``, or with `swapped` ``other symbol self``; `symbol` is one of ``+ - * /``."""
        raise NotImplementedError

    def applied(self, name: str) -> Self:
        """Return ``log``, ``exp`` or ``sqrt`` of this."""
        raise NotImplementedError

    def log(self) -> Self:
        """Return the natural logarithm."""
        return self.applied("log")

    def exp(self) -> Self:
        """Return the exponential."""
        return self.applied("exp")

    def sqrt(self) -> Self:
        """Return the square root."""
        return self.applied("sqrt")

    def __add__(self, other: object) -> Self:
        return self.combined("+", other)

    def __radd__(self, other: object) -> Self:
        return self.combined("+", other, swapped=True)

    def __sub__(self, other: object) -> Self:
        return self.combined("-", other)

    def __rsub__(self, other: object) -> Self:
        return self.combined("-", other, swapped=True)

    def __mul__(self, other: object) -> Self:
        return self.combined("*", other)

    def __rmul__(self, other: object) -> Self:
        return self.combined("*", other, swapped=True)

    def __truediv__(self, other: object) -> Self:
        return self.combined("/", other)

    def __rtruediv__(self, other: object) -> Self:
        return self.combined("/", other, swapped=True)

    def __neg__(self) -> Self:
        return self.combined("*", -1.0, swapped=True)
