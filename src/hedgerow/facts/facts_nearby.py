"""An error about a missing public fact names a facts file nearby. The file is never used unless it is asked for."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hedgerow.errors import HedgerowError

_USUAL = "hedgerow.toml"


@contextmanager
def naming_facts_nearby(facts: object, source: object) -> Iterator[None]:
    """Add to an error about a missing fact the facts file beside the data or in this folder, if none was given."""
    try:
        yield
    except HedgerowError as refused:
        if facts is None and refused.facts_help:
            advise(refused, source)
        raise


def advise(refused: HedgerowError, source: object) -> None:
    """Add to an error where a facts file lies and how to use it; without such a file add nothing."""
    if where := _place(source):
        path, words = where
        sentence = f"There is a {_USUAL} {words}: to use it, give"
        refused.advise(f'{sentence} hg.open(..., facts="{path}").', shell=f"{sentence} --facts {shlex.quote(path)}.")


def _place(source: object) -> tuple[str, str] | None:
    if Path(_USUAL).is_file():
        return _USUAL, "in this folder"
    if isinstance(source, (str, os.PathLike)):
        beside = Path(os.fsdecode(source)).parent / _USUAL
        if beside.is_file():
            return str(beside), "beside the data"
    return None
