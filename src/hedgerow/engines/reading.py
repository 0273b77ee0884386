"""Reading without quoting: whatever goes wrong once data are touched is one fixed sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hedgerow.errors import DataError, HedgerowError

T = TypeVar("T")


def unreadable() -> DataError:
    """Return the one error of a reader that failed (HG207): fixed text, never the reader's own words."""
    return DataError(
        "HG207",
        rule="A source must be readable as what it is.",
        finding="Reading it failed; the reader's own message is withheld, as it may quote data.",
        remedy="Check that the source is complete and not in use, by the program that wrote it.",
    )


def withheld(read: Callable[[], T]) -> T:
    """Return what `read` returns; should it fail, raise HG207 without a trace of the cause.

    Hedgerow's own refusals pass. Panics of compiled readers derive from BaseException and are withheld too.
    """
    try:
        return read()
    except (HedgerowError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # whatever a reader raises may quote a cell, so none of it is kept
        failure = unreadable()
    # Raised outside the handler: inside it, __context__ would still carry the reader's message.
    raise failure from None
