"""Numbers as a reader meets them: as many digits as their error leaves, percentages never flattered."""

from __future__ import annotations

import math
from collections.abc import Sequence

_SPACE = "\N{NO-BREAK SPACE}"


def decimals(error: float | None) -> int | None:
    """Return the decimals that show two digits of an error; None where there is no error to go by.

    >>> decimals(0.17678), decimals(317.2), decimals(0.0)
    (2, 0, None)
    """
    if error is None or not error > 0.0 or not math.isfinite(error):
        return None
    return max(0, 1 - math.floor(math.log10(error)))


def number(value: float | None, places: int | None = None) -> str:
    """Return a number with thousands apart; a dash where there is none.

    >>> number(36864.2, 0), number(-0.5), number(float("inf")), number(None)
    ('36,864', '−0.5', '∞', '–')
    """
    if value is None:
        return "–"
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞"
    if places is None:
        text = f"{value:,.6g}" if abs(value) < 1e5 else f"{value:,.0f}"
    else:
        text = f"{value:,.{places}f}"
    return text.replace("-", "−")


def percent(share: float) -> str:
    """Return a share as a percentage, as it is.

    >>> percent(0.95)
    '95\N{NO-BREAK SPACE}%'
    """
    return f"{100.0 * share:.6g}{_SPACE}%"


def at_most_percent(share: float) -> str:
    """Return a share as a percentage, rounded up: whole ones, and tenths just under 100, where they matter.

    >>> at_most_percent(0.7011), at_most_percent(0.9949), at_most_percent(0.0001)
    ('71\N{NO-BREAK SPACE}%', '99.5\N{NO-BREAK SPACE}%', '1\N{NO-BREAK SPACE}%')
    """
    parts = 10 if 0.99 < share < 1.0 else 1
    # A last digit that only the multiplication made does not raise the figure.
    return f"{math.ceil(100.0 * share * parts - 1e-9) / parts:g}{_SPACE}%"


def joined(words: Sequence[str]) -> str:
    """Return words as a sentence lists them.

    >>> joined(["a", "b", "c"]), joined(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def plural(count: int, noun: str) -> str:
    """Return a number of things in words.

    >>> plural(1, "number"), plural(1200, "number")
    ('1 number', '1,200 numbers')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"
