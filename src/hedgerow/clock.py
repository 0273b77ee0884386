"""The clock: the one place where hedgerow reads the time. Tests and the frozen record put another in its place."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """Return the time, in UTC.

    >>> now().utcoffset().total_seconds()
    0.0
    """
    return datetime.now(UTC)


def today() -> str:
    """Return the date in UTC as ISO 8601 writes it.

    >>> len(today())
    10
    """
    return now().date().isoformat()
