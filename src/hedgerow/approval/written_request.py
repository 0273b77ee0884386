"""A request: what one person asks for, at which price, why and until when, as a file that another person approves.

The file is JSON. Its hash is the name of the request everywhere: signatures cover the hash, and the ledger keeps the
answer under the hash. So one signed request is run once, and a changed request is another request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from hedgerow.canonical import canonical, digest, value_of_json
from hedgerow.errors import HedgerowError, ParameterError
from hedgerow.facts.validation import check_texts, format_argument
from hedgerow.inputs import content_of

FORMAT = "hedgerow-request-1"
_LONGEST = 1000
_MOST_SIGNATURES = 10
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")


@dataclass(frozen=True)
class WrittenRequest:
    """A request for approval.

    Attributes
    ----------
    verb : str
        The command that is requested, such as ``release``.
    words : list of str
        The options of the command, such as ``["--count", "--by", "sex=0,1"]``.
    facts : mapping or None
        The public facts of the request, in the structure of a facts file, without the paths of data and ledger.
    n : int or None
        Under replace-one, the public number of records; under add-remove, a guess that the forecast of errors uses.
    asked_by : str
        The person who asks.
    purpose : str
        The purpose of the result.
    at : str
        When the request was made (UTC, ISO 8601).
    until : str
        The last day (UTC) on which the request may run.
    in_words : list of str
        The request, as sentences for the approver.
    asked : mapping
        The request as JSON data, completed by the facts file. A command runs only if its request equals this request.
    price : mapping
        The certificate, which states the highest price (ε at δ) of the request.
    expected : list of mapping
        The expected errors.
    signatures : int
        The number of people who must approve the request, as the facts file states.
    amends : str or None
        The name of the original request, if an approver reduced the original request to this request; else None.
    """

    verb: str
    words: tuple[str, ...]
    facts: Mapping[str, Any] | None
    n: int | None
    asked_by: str
    purpose: str
    at: str
    until: str
    in_words: tuple[str, ...]
    asked: Mapping[str, Any]
    price: Mapping[str, Any]
    expected: tuple[Mapping[str, Any], ...]
    signatures: int = 1
    amends: str | None = None

    def __post_init__(self) -> None:
        for name in ("asked_by", "purpose"):
            text = getattr(self, name)
            if not (isinstance(text, str) and text.strip() and len(text) <= _LONGEST and text.isprintable()):
                raise unfit_request(f"`{name}` is not a line of 1 to {_LONGEST} characters.")
        if as_date(self.until) is None:
            raise unfit_request("`until` is not a day, such as 2026-12-31.")
        if type(self.signatures) is not int or not 1 <= self.signatures <= _MOST_SIGNATURES:
            raise unfit_request(f"The number of signatures is not 1 to {_MOST_SIGNATURES}.")

    @property
    def epsilon(self) -> float:
        """The largest ε that the request may cost."""
        return float(self.price["epsilon"])

    @property
    def delta(self) -> float:
        """The δ of the price."""
        return float(self.price.get("delta", 0.0))

    @cached_property
    def id(self) -> str:
        """The name of the request, which is the hash of its canonical text."""
        return digest(canonical(self.to_dict()))

    def to_dict(self) -> dict[str, Any]:
        """Return the request as JSON data."""
        own = {part.name: getattr(self, part.name) for part in fields(self)}
        return {
            "format": FORMAT,
            **{name: list(value) if type(value) is tuple else value for name, value in own.items()},
        }

    def to_json(self) -> str:
        """Return the JSON text of the file that holds the request."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_dict(cls, record: object) -> WrittenRequest:
        """Return the request that JSON data describe; error HG320 says that the data are not a request."""
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise not_a_document("request", "It has another format.")
        check_texts(record, "A text of the request")
        own = {name: value for name, value in record.items() if name != "format"}
        try:
            if {name: type(own[name]) for name in _KINDS} != _KINDS or not _fits(own):
                raise ValueError
            listed = {name: tuple(own[name]) for name in ("words", "in_words", "expected")}
            made = cls(**own | listed)
            canonical(made.to_dict())
            _ = made.epsilon, made.delta
        except (TypeError, ValueError, KeyError, RecursionError) as cause:
            if isinstance(cause, HedgerowError):
                raise
            raise not_a_document("request", "A field is missing, unknown or of another kind.") from None
        return made


_KINDS: dict[str, type] = {
    **dict.fromkeys(("verb", "asked_by", "purpose", "at", "until"), str),
    **dict.fromkeys(("words", "in_words", "expected"), list),
    **dict.fromkeys(("asked", "price"), dict),
    "signatures": int,
}


def _fits(own: Mapping[str, Any]) -> bool:
    texts = [*own["words"], *own["in_words"], own["amends"] or ""]
    return (
        all(isinstance(text, str) for text in texts)
        and all(isinstance(row, dict) for row in own["expected"])
        and isinstance(own["facts"], dict | None)
        and (own["n"] is None or (type(own["n"]) is int and own["n"] > 0))
        and _TIME.fullmatch(own["at"]) is not None
    )


def as_date(text: object) -> date | None:
    """Return the day that ISO 8601 writes so, else None.

    >>> as_date("2026-12-31"), as_date("31.12.2026")
    (datetime.date(2026, 12, 31), None)
    """
    if not isinstance(text, str) or not re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def as_time(text: object) -> datetime | None:
    """Return the time in UTC that a document states, else None.

    >>> as_time("2026-12-31T10:00:00+00:00").hour, as_time("soon")
    (10, None)
    """
    if not isinstance(text, str) or not _TIME.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def read_json(path: str | Path, what: str) -> object:
    """Return the JSON data of a file (HG320)."""
    try:
        return value_of_json(content_of(path).decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        raise not_a_document(what, f"{format_argument(str(path))} cannot be read as JSON.") from None


def not_a_document(what: str, finding: str) -> ParameterError:
    """Return the refusal of a file that is not what it should be (HG320)."""
    return ParameterError(
        "HG320",
        rule=f"The file must be {'an' if what[0] in 'aeiou' else 'a'} {what} of hedgerow, unchanged.",
        finding=finding,
        remedy="Use the file that `hedgerow request` or `hedgerow approve` wrote. Nothing was read or spent.",
    )


def unfit_request(finding: str) -> ParameterError:
    """Return the refusal of a request that lacks what an approver must know (HG321)."""
    return ParameterError(
        "HG321",
        rule="A request states the question, the person who asks, the purpose and the last day, and contains public "
        "facts alone.",
        finding=finding,
        remedy="The command `hedgerow request release --help` shows all options.",
    )
