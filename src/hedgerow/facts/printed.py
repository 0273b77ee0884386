"""Numbers and texts in the form in which they are printed: by every table, page, picture, data file and terminal.

Numbers have as many digits as their error supports, and an upper bound in percent is rounded up. A text from the user's
files can neither run as a formula in a spreadsheet nor send control characters to a terminal. The only door to jinja2.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_SPACE = "\N{NO-BREAK SPACE}"
_SPACES = "\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"
_STARTS = frozenset("=+-@")
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})
_BREAKS = frozenset("\t\r\n")


def decimals(error: float | None) -> int | None:
    """Return the decimals that show two digits of an error; None where there is no error to go by.

    >>> decimals(0.17678), decimals(317.2), decimals(0.0)
    (2, 0, None)
    """
    if error is None or not error > 0.0 or not math.isfinite(error):
        return None
    return max(0, 1 - math.floor(math.log10(error)))


def number(value: float | None, places: int | None = None, *, minus: str = "−") -> str:
    """Return a number with a comma between thousands, to so many decimals or to six digits; a dash where there is none.

    >>> number(36864.2, 0), number(-0.5), number(-0.0), number(float("inf")), number(None)
    ('36,864', '−0.5', '0', '∞', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞"
    if places is None:
        text = f"{value:z,.6g}" if abs(value) < 1e5 else f"{value:,.0f}"
    else:
        text = f"{value:z,.{places}f}"
    return text.replace("-", minus)


def part_of(share: float, whole: int = 1) -> str:
    """Return a share of a whole with up to six digits, and with more just under the whole: a part is not the whole.

    >>> part_of(0.95), part_of(0.98333333), part_of(0.9999999), part_of(1.0)
    ('0.95', '0.983333', '0.9999999', '1')
    """
    text = f"{whole * share:.6g}"
    return f"{(whole * Decimal(repr(share))).normalize():f}" if share < 1.0 and float(text) == whole else text


def percent(share: float, *, space: str = _SPACE) -> str:
    """Return a share as a percentage, with digits as `part_of` has.

    >>> percent(0.95), percent(0.95, space=" "), percent(0.999999999, space="")
    ('95\N{NO-BREAK SPACE}%', '95 %', '99.9999999%')
    """
    return f"{part_of(share, 100)}{space}%"


def at_most_percent(share: float) -> str:
    """Return a share as a percentage, rounded up: whole ones, and more digits just under 100, where they matter.

    >>> at_most_percent(0.7011), at_most_percent(0.9949), at_most_percent(0.99995), at_most_percent(0.0001)
    ('71\N{NO-BREAK SPACE}%', '99.5\N{NO-BREAK SPACE}%', '99.995\N{NO-BREAK SPACE}%', '1\N{NO-BREAK SPACE}%')
    """
    parts = 1000 if 0.999 < share < 1.0 else 10 if 0.99 < share < 1.0 else 1
    # A last digit that only the multiplication made does not raise the figure.
    return f"{math.ceil(100.0 * share * parts - 1e-9) / parts:g}{_SPACE}%"


def joined(words: Sequence[str]) -> str:
    """Return words as a sentence lists them.

    >>> joined(["a", "b", "c"]), joined(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def starred(pvalue: float) -> str:
    """Return the stars of a p-value: one below 0.05, two below 0.01, three below 0.001.

    >>> starred(0.2), starred(0.04), starred(0.0001)
    ('', '*', '***')
    """
    return "*" * sum(pvalue < limit for limit in (0.05, 0.01, 0.001))


class Lines(str):
    r"""A text of several lines, which a prompt shows as `print` does.

    >>> Lines("a\nb")
    a
    b
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def plural(count: int, noun: str) -> str:
    """Return a number of things in words.

    >>> plural(1, "number"), plural(1200, "number")
    ('1 number', '1,200 numbers')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def printable(text: str, *, instead: str = "\N{REPLACEMENT CHARACTER}", keep: str = _SPACES) -> str:
    r"""Return a text with `instead` for every character that is invisible or changes the direction of reading.

    Parameters
    ----------
    text : str
    instead : str
        One character.
    keep : str
        Characters that stay although Python does not call them printable.

    Examples
    --------
    >>> printable("a\u202eb") == "a\ufffdb", printable("a\x1bb", instead="?")
    (True, 'a?b')
    """
    return "".join(sign if sign.isprintable() or sign in keep else instead for sign in text)


def for_terminal(text: str) -> str:
    r"""Return a text that cannot control a terminal: only printable characters and ends of lines.

    >>> for_terminal("a\x1b[2J\n")
    'a?[2J\n'
    """
    return printable(text, instead="?", keep="\n")


def neutralise_formula(cell: Any) -> Any:
    r"""Return a cell that no spreadsheet runs as a formula: a text that would start one gets an apostrophe in front.

    Programs differ in what they skip before a formula and in what they take for its first sign. So every invisible
    character is skipped (spaces, controls, marks of direction and of byte order), and a sign stands for all its widths:
    a full-width ＝ is an equals sign. A tab or an end of line in front may move a text to another cell.

    >>> [neutralise_formula(cell) for cell in ("=1+1", "north", "\u3000＝1+1", -1.5)]
    ["'=1+1", 'north', "'\u3000＝1+1", -1.5]
    """
    return f"'{cell}" if isinstance(cell, str) and _starts_formula(cell) else cell


@lru_cache(maxsize=4096)
def _starts_formula(text: str) -> bool:
    for sign in text:
        if sign in _BREAKS:
            return True
        if unicodedata.category(sign) in _INVISIBLE:
            continue
        # Decomposed: ⩵ is two equals signs. A minus sign proper is written for negative numbers, and starts none.
        seen = unicodedata.normalize("NFKC", sign).lstrip()
        return seen[:1] in _STARTS
    return False


_INERT = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"}


def json_for_script(record: Mapping[str, Any]) -> Markup:
    r"""Return JSON that can stand in a script element whatever texts it holds; a parser reads the same record.

    >>> print(json_for_script({"cell": "</script>"}))
    {
      "cell": "\u003c/script\u003e"
    }
    """
    from markupsafe import Markup

    text = json.dumps(record, indent=2, ensure_ascii=True, allow_nan=False)
    return Markup(text.translate(_INERT))  # inert as it stands; escaping it would change the record


@cache
def page_templates(package: str) -> Environment:
    """Return the templates of a package: every text is escaped, after `printable`, and an unknown name is an error.

    ``head.html``, with which every page begins, forbids all scripts and all connections.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("hedgerow.facts")]),
        autoescape=True,
        undefined=StrictUndefined,
        # Markup is a str too, and already what it should be.
        finalize=lambda value: printable(value) if isinstance(value, str) and not hasattr(value, "__html__") else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )


_NUMBERS = ("estimate", "standard_error", "sampling_error", "bootstrap_error", "privacy_error", "low", "high", "level")
_WORDS = ("statistic", "column", "method", "n_resamples", "reliable", "note", "letter", "summed_over", "guarantee")
OWN_NAMES = frozenset(_NUMBERS + _WORDS)
"""The names that hedgerow gives to columns of frames and files. A column of groups of such a name gets ``by_``."""


def group_headings(
    groups: Sequence[str], labelled: Sequence[str] = (), *, further: Iterable[str] = ()
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the heading of each column of groups, and that of its labels; no two headings are equal.

    `further` are names of our own that this frame or file has beside `OWN_NAMES`.

    >>> group_headings(["sex", "level"], ["sex"])
    ({'sex': 'sex', 'level': 'by_level'}, {'sex': 'sex_label'})
    """
    own = {*OWN_NAMES, *further}
    taken = {*own, *groups}
    headings = {group: _heading(group, taken) if group in own else group for group in groups}
    return headings, {group: _heading(f"{group}_label", taken) for group in labelled}


def _heading(name: str, taken: set[str]) -> str:
    while name in taken:
        name = f"by_{name}"
    taken.add(name)
    return name
