"""Record texts read strictly: no field twice, no number that is none or beyond all use. Two readers see one record."""

from __future__ import annotations

import json
import math
from typing import Any

from hedgerow.errors import VerificationError

_LARGEST = 1e300
_DIGITS = 400


def record_of(text: str) -> Any:
    """Return the JSON data of a record's text.

    Raises
    ------
    VerificationError
        HG505: an object names a field twice. HG502: it is no JSON, or holds a number that no record has.

    Examples
    --------
    >>> record_of('{"epsilon": 1.0}')
    {'epsilon': 1.0}
    """
    try:
        record = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number, parse_int=_whole)
    except VerificationError:
        raise
    except (ValueError, RecursionError):
        raise unreadable_record("It is no JSON, and no report that holds some.") from None
    check_numbers(record)
    return record


def check_numbers(record: object) -> None:
    """Refuse numbers that are not finite, or larger than any that a record has (HG502).

    >>> check_numbers({"epsilon": [1.0, None, "text"]})
    """
    left = [record]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left.extend(value.values())
        elif isinstance(value, (list, tuple)):
            left.extend(value)
        elif isinstance(value, float) and not math.isfinite(value):
            raise _not_finite()
        elif isinstance(value, (int, float)) and abs(value) > _LARGEST:
            raise unreadable_record(f"One of its numbers is larger than {_LARGEST:g}.")


def unreadable_record(finding: str) -> VerificationError:
    """Return the refusal of what is no certificate (HG502)."""
    return VerificationError(
        "HG502",
        rule="A certificate is a JSON record with exactly the fields of the format.",
        finding=finding,
        remedy="Use the file that the release wrote.",
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise VerificationError(
            "HG505",
            rule="A record names each of its fields once.",
            finding="One is there twice: one reader would take the first, another the last.",
            remedy="Do not rely on this record; use the file that the release wrote.",
        )
    return fields


def _no_number(_: str) -> Any:
    raise _not_finite()


def _whole(text: str) -> int:
    if len(text) > _DIGITS:
        raise unreadable_record(f"One of its numbers is larger than {_LARGEST:g}.")
    return int(text)


def _not_finite() -> VerificationError:
    return unreadable_record("One of its numbers is no finite number.")
