"""A refusal for want of a public fact names the facts file that lies near. It is never used without being asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hedgerow.errors import HedgerowError

__all__ = ["advice", "naming_facts_nearby"]

_USUAL = "hedgerow.toml"


@contextmanager
def naming_facts_nearby(facts: object, source: object) -> Iterator[None]:
    """Let a refusal for want of a fact name a facts file beside the data or in this folder, where none was given."""
    try:
        yield
    except HedgerowError as refused:
        if facts is None and refused.facts_help and (words := advice(source)):
            refused.advise(words)
        raise


def advice(source: object) -> str:
    """Return where a facts file lies, in a sentence; nothing where there is none.

    >>> advice("no such folder/survey.csv")
    ''
    """
    if Path(_USUAL).is_file():
        return f'There is a {_USUAL} in this folder: to use it, give facts="{_USUAL}".'
    if isinstance(source, (str, os.PathLike)):
        beside = Path(os.fsdecode(source)).parent / _USUAL
        if beside.is_file():
            return f'There is a {_USUAL} beside the data: to use it, give facts="{beside}".'
    return ""
