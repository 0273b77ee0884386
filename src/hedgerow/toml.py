"""TOML that others wrote, read in a time that grows with its length alone."""

from __future__ import annotations

import re
import tomllib
from typing import Any

MOST_NAMES = 16
"""How many names a dotted key may join. A key of a facts file joins three; `tomllib` takes the square of the number."""

_STRING_OR_COMMENT = re.compile(
    r'''
      """(?:[^"\\]|\\.?|"(?!""))*+(?:"{3,5}|\Z)
    | \'\'\'(?:[^']|'(?!\'\'))*+(?:'{3,5}|\Z)
    | "(?:[^"\\\n]|\\[^\n]?)*+"?
    | '[^'\n]*+'?
    | (?P<comment>\#[^\n]*+)
    ''',
    re.VERBOSE | re.DOTALL,
)
_LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{MOST_NAMES}}}")


class LongKeyError(ValueError):
    """A dotted key joins more than `MOST_NAMES` names."""


def read_toml(text: str) -> dict[str, Any]:
    """Return what a text of TOML says.

    Raises
    ------
    LongKeyError
        A key joins more than `MOST_NAMES` names; nothing was parsed.
    ValueError, RecursionError
        The text is no TOML, holds a number of thousands of digits, or nests brackets thousands deep.

    Examples
    --------
    >>> read_toml('columns."net.income".bounds = [0, 1]  # a.b.c')
    {'columns': {'net.income': {'bounds': [0, 1]}}}
    """
    # A quoted name is one name; the dots in a text or a comment join nothing.
    if _LONG_KEY.search(_STRING_OR_COMMENT.sub(lambda match: "" if match["comment"] else "s", text)):
        raise LongKeyError
    return tomllib.loads(text)
