"""What a caller gave: as a number, as text, and in the words of a message. For arguments only, never for data.

=============  ===============================================================================
`as_fraction`  the number as it prints, a `Fraction`: for bounds and steps
`as_float`     a finite float: for budgets, levels, shares
`as_int`       an int: for counts of things; a float such as 50.0 is refused
`plain`        NumPy's scalar as Python's own, which JSON keeps; anything else as it is
=============  ===============================================================================

Numbers may be Python's, NumPy's, `Decimal` or `Fraction`; a boolean is not a number. Texts must be Unicode, since no
engine and no ledger stores others.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hedgerow.errors import ParameterError

_NO_TEXTS = frozenset((int, float, bool, type(None)))  # of thousands of categories, most often


def format_argument(given: object) -> str:
    """Return what was given, cut short: a number of 5,000 digits has no use in a message, nor in Python's own words."""
    try:
        text = repr(given)
    except ValueError:
        return "a number too long to print"
    return text if len(text) <= 80 else f"{text[:77]}…"


def one_of(given: object, names: Collection[str], what: str, *, code: str, remedy: str) -> str:
    """Return what was given where it is one of these names, else refuse with this code; `what` begins the rule.

    >>> one_of("dp", ["dp", "none"], "`guarantee`", code="HG154", remedy="")
    'dp'
    """
    if isinstance(given, str) and given in names:
        return given
    raise ParameterError(
        code,
        rule=f"{what} must be one of " + ", ".join(f'"{name}"' for name in names) + ".",
        finding=f"Found {format_argument(given)}.",
        remedy=remedy,
    )


def kind_of(given: object) -> str:
    """Return the type of what was given, with its article; its content stays out, since an array may hold data.

    >>> kind_of("age"), kind_of(3)
    ('a str', 'an int')
    """
    name = type(given).__name__
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


def plain(value: Any) -> Any:
    """Return a scalar of NumPy, or an array without dimensions, as Python's own; anything else as it is.

    >>> import numpy as np
    >>> plain(np.int64(3)), plain(np.array(0.5)), plain(np.bool_(True)), plain("a")
    (3, 0.5, True, 'a')
    """
    # Recognised by its dtype, so that NumPy need not be imported. Dates, durations and masked values are not numbers.
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind not in ("b", "i", "u", "f", "U") or getattr(value, "ndim", None) != 0 or hasattr(value, "mask"):
        return value
    item = value.item()
    # Python has no type for a long double, so it becomes a float.
    return item if isinstance(item, (bool, int, float, str)) else float(item)


def all_plain(values: Iterable[object]) -> bool:
    """Return whether all are Python's own integers, texts or booleans, as thousands of categories most often are.

    >>> all_plain([1, "a", True]), all_plain([1, 0.5])
    (True, False)
    """
    return {int, str, bool}.issuperset(map(type, values))


def as_fraction(value: object) -> Fraction | None:
    """Return a number as the decimal that it prints as; None for what is not a finite number.

    >>> as_fraction(0.1), as_fraction(Fraction(1, 3)), as_fraction(Decimal("0.1"))
    (Fraction(1, 10), Fraction(1, 3), Fraction(1, 10))
    >>> as_fraction(True), as_fraction(float("nan"))
    (None, None)
    """
    number = plain(value)
    if isinstance(number, bool):
        return None
    if isinstance(number, int):
        return Fraction(int(number))
    if isinstance(number, Fraction):
        return number
    if isinstance(number, Decimal):
        # An exponent of millions would fill the memory with digits.
        sensible = number.is_finite() and (number == 0 or abs(number.adjusted()) <= _MOST_DIGITS)
        return Fraction(number) if sensible and len(number.as_tuple().digits) <= _MOST_DIGITS else None
    if isinstance(number, float) and math.isfinite(number):
        # A subclass may print as another number than it is.
        return Fraction(float.__repr__(number))
    return None


_MOST_DIGITS = 400


def as_float(value: object) -> float | None:
    """Return a number as a float; None for what is not a number, not finite, or too large for a float.

    >>> as_float(Fraction(1, 4)), as_float(1), as_float("1"), as_float(10**400)
    (0.25, 1.0, None, None)
    """
    number = as_fraction(value)
    if number is None:
        return None
    try:
        return float(number)
    except OverflowError:
        return None


def as_int(value: object) -> int | None:
    """Return a whole number as an int; None for anything else, floats such as 50.0 included.

    >>> import numpy as np
    >>> as_int(np.int32(50)), as_int(Decimal(50)), as_int(50.0), as_int(True)
    (50, 50, None, None)
    """
    number = plain(value)
    if isinstance(number, float):
        return None
    fraction = as_fraction(number)
    return None if fraction is None or fraction.denominator != 1 else int(fraction)


def check_text(text: str, what: str) -> None:
    r"""Check that a text can be written as UTF-8 (HG211); a lone surrogate, which stands for an invalid byte, cannot.

    >>> check_text("größe", "A value")
    >>> check_text("gr\udcf6sse", "A value")
    Traceback (most recent call last):
        ...
    hedgerow.errors.ParameterError: HG211: Every text must be valid Unicode. A value is not. Write the text as UTF-8.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        pass
    else:
        return
    raise ParameterError(
        "HG211", rule="Every text must be valid Unicode.", finding=f"{what} is not.", remedy="Write the text as UTF-8."
    )


def check_texts(data: object, what: str) -> None:
    """Check every text of plain data: mappings, their keys included, lists and tuples (HG211)."""
    if isinstance(data, str):
        check_text(data, what)
    elif isinstance(data, Mapping):
        for key, value in data.items():
            check_texts(key, what)
            check_texts(value, what)
    elif isinstance(data, (list, tuple)) and not _NO_TEXTS.issuperset(map(type, data)):
        for value in data:
            check_texts(value, what)
