"""What a search found, with its price: `Bounds` of numbers, `Categories` that occur. Their answers are public facts."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from hedgerow.errors import VerificationError
from hedgerow.facts.columns import Scalar
from hedgerow.facts.printed import number
from hedgerow.facts.written import column_lines
from hedgerow.mechanisms.certificate import Certificate, record_of
from hedgerow.release.designs.design import only_where
from hedgerow.release.publication.result import REPLAYED
from hedgerow.release.publication.write_file import write_lines
from hedgerow.release.receipt import Receivable
from hedgerow.release.record.kind import READING


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Found(Receivable):
    """The answer of one search: a release of its own.

    Attributes
    ----------
    certificate : Certificate
        What ran, whom it protects, what it costs.
    about : dict
        What was asked of what: source, relation, unit, target, n (under replace-one), date.
    found : dict
        The answer and the noisy counts that it was read from, as plain JSON data; all of it is priced.
    request : dict or None
        What was asked for, as plain JSON data; None of a record of an earlier version.
    ledger_head, unrecorded, replayed
        As on every release.
    notes : tuple of str
        What a reader must know of the price, in sentences.
    """

    kind: ClassVar[str]
    how: ClassVar[str]
    """How the answer was found, in a sentence."""
    certificate: Certificate
    about: dict[str, Any]
    found: dict[str, Any]
    request: dict[str, Any] | None = None
    ledger_head: str | None = field(default=None, compare=False)
    unrecorded: bool = field(default=False, compare=False)
    replayed: bool = field(default=False, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def column(self) -> str:
        """The column that was looked at."""
        return str(self.found["column"])

    @property
    def source(self) -> str:
        """Where the facts are known from, for the facts file."""
        chosen = "" if self.where is None else f" where {self.where}"
        dated = f", {self.about['date']}" if self.about.get("date") else ""
        return f"hedgerow find {self.kind}{chosen}, {self.price()}{dated}"

    @property
    def where(self) -> str | None:
        """Which records count, as it was written; None for all."""
        return self.about.get("where")

    def facts(self) -> dict[str, Any]:
        """Return the answer by the names of the facts of a column, and what computes it; empty without an answer."""
        found = self.answer()
        text = self.about.get("derived", {}).get(self.column)
        return found if not found or text is None else {"expression": text, **found}

    def answer(self) -> dict[str, Any]:
        """Return the answer alone by the names of the facts of a column; empty where nothing was found."""
        raise NotImplementedError

    def summary(self) -> str:
        """Return the answer in a sentence."""
        raise NotImplementedError

    @property
    def summary_fields(self) -> tuple[str, ...]:
        """Where the numbers of the summary stand on record."""
        return ()

    @property
    def counted(self) -> tuple[tuple[Scalar, int], ...]:
        """The values that were found, each with its noisy count."""
        return ()

    def remarks(self) -> tuple[str, ...]:
        """Return what a reader must know about the answer, in sentences."""
        return (*self.meaning(), *(() if self.where is None else (only_where(self.where),)), *self.notes)

    def meaning(self) -> tuple[str, ...]:
        """Return what the answer says and what it does not, in sentences."""
        raise NotImplementedError

    def price(self) -> str:
        """Return the price in a line: ε, δ, relation and unit."""
        return self.certificate.price()

    def to_toml(self) -> str:
        """Return the lines of a facts file about the column; an empty text where nothing was found."""
        found = self.facts()
        return column_lines(self.column, found | {"source": self.source}) if found else ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data: what was asked, the answer with the noisy counts behind it, the certificate."""
        noted = {"notes": list(self.notes)} if self.notes else {}
        asked = {} if self.request is None else {"reading": READING, "request": self.request}
        told = {"release": {**self.about, **noted}, **asked, "found": self.found}
        return {**told, "certificate": self.certificate.to_dict()}

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the JSON text, and write it to `path` where one is given (HG118 where it cannot be written)."""
        text = json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"
        if path is not None:
            write_lines(path, [text])
        return text

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.column!r}: {self.summary()} {self.price()}>"

    def __str__(self) -> str:
        return "\n".join([self.summary(), self.price(), *self.remarks(), *((REPLAYED,) if self.replayed else ())])


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Bounds(Found):
    """Bounds between which most values of a column lie; ``.bounds`` goes wherever bounds are declared."""

    kind: ClassVar[str] = "bounds"
    how: ClassVar[str] = (
        "How many values lie in each cell of a public grid was counted, noise was added to every count, and "
        "the bounds were read off the noisy counts."
    )

    @property
    def bounds(self) -> tuple[float, float] | None:
        """(low, high); None where the noise hides where the values lie."""
        given = self.found["bounds"]
        return None if given is None else (given[0], given[1])

    @property
    def share(self) -> float:
        """The share of the values that the bounds are to hold."""
        return float(self.found["share"])

    @property
    def summary_fields(self) -> tuple[str, ...]:
        """Where the ends stand on record."""
        return () if self.bounds is None else ("found.bounds.0", "found.bounds.1")

    def answer(self) -> dict[str, Any]:
        """Return the bounds, where there are some."""
        return {} if self.bounds is None else {"bounds": list(self.bounds)}

    def summary(self) -> str:
        """Return the bounds in a sentence."""
        if self.bounds is None:
            return "No bounds: the noise hides where the values lie."
        low, high = self.bounds
        return f"Bounds {number(low)} to {number(high)}."

    def meaning(self) -> tuple[str, ...]:
        """Return what the bounds are, and how to find narrower ones."""
        if self.bounds is None:
            return ("The price is spent. A larger epsilon, or more records, would show where they lie.",)
        low, high = self.bounds
        aimed = f"They were chosen to hold at least {self.share:.4g} of the values; values beyond them are clamped."
        if low * high > 0.0 and max(abs(low), abs(high)) < 4.0 * min(abs(low), abs(high)) and not self.found["around"]:
            return (
                aimed,
                f"They are wide for how far they lie from 0: a search around {(low + high) / 2:g} finds narrower ones.",
            )
        return (aimed,)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Categories(Found):
    """Values of a column that many records have; ``.values`` goes wherever categories are declared."""

    kind: ClassVar[str] = "categories"
    how: ClassVar[str] = (
        "How often each value occurs was counted, noise was added to every count, and the values whose "
        "noisy counts reach a public threshold were kept."
    )

    @property
    def values(self) -> tuple[Scalar, ...]:
        """The values, sorted."""
        return tuple(self.found["values"])

    @property
    def counts(self) -> tuple[int, ...]:
        """The noisy count of each value; too high on average where it is near the threshold, since it was selected."""
        return tuple(self.found["noisy_counts"])

    @property
    def counted(self) -> tuple[tuple[Scalar, int], ...]:
        """The values, each with its noisy count."""
        return tuple(zip(self.values, self.counts, strict=True))

    def answer(self) -> dict[str, Any]:
        """Return the categories, where there are some; a cell for the rest goes with them, if its name is free."""
        rest = {} if "other" in self.values else {"other": True}
        return {"categories": list(self.values), **rest} if self.values else {}

    def summary(self) -> str:
        """Return how many values were found."""
        return f"{len(self.values):,} categor{'y' if len(self.values) == 1 else 'ies'}."

    def meaning(self) -> tuple[str, ...]:
        """Return which values are left out."""
        threshold = self.found["threshold"]
        return (f"Values are shown whose noisy count is {threshold:,} or more; rarer ones are left out.",)


def found_from_record(text: str) -> Found:
    """Return what a search found, from the JSON that it wrote (HG502 where it is no such record)."""
    record = record_of(text)
    try:
        kind = {one.kind: one for one in (Bounds, Categories)}[record["found"]["kind"]]
        certificate = Certificate.from_dict(record["certificate"])
        asked = dict(record["request"]) if "reading" in record else None
        about, answer = dict(record["release"]), dict(record["found"])
        notes = tuple(about.pop("notes", ()))
        return kind(certificate=certificate, about=about, found=answer, request=asked, notes=notes)
    except (KeyError, TypeError, ValueError):
        raise VerificationError(
            "HG502",
            rule="What was found is read back from the JSON that the search wrote.",
            finding="This is no such record.",
            remedy="Use found.json as it was written, or the ledger's stored result.",
        ) from None
