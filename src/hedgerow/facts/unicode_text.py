"""Texts of a request are Unicode: one that is not can be stored by no engine and no ledger, and is refused first."""

from __future__ import annotations

from collections.abc import Mapping

from hedgerow.errors import ParameterError


def check_text(text: str, what: str) -> None:
    r"""Check that a text can be written as UTF-8 (HG211); a lone surrogate, as for a stray byte of a shell, can not.

    >>> check_text("größe", "A declared value")
    >>> check_text("gr\udcf6sse", "A declared value")
    Traceback (most recent call last):
        ...
    hedgerow.errors.ParameterError: HG211: Texts are Unicode. A declared value is not. Write it as UTF-8.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        pass
    else:
        return
    raise ParameterError("HG211", rule="Texts are Unicode.", finding=f"{what} is not.", remedy="Write it as UTF-8.")


def check_texts(found: object, what: str) -> None:
    """Check every text of plain data: mappings, their keys included, lists and tuples (HG211)."""
    if isinstance(found, str):
        check_text(found, what)
    elif isinstance(found, Mapping):
        for key, value in found.items():
            check_texts(key, what)
            check_texts(value, what)
    elif isinstance(found, (list, tuple)):
        for value in found:
            check_texts(value, what)
