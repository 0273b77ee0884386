"""The record of a search, written again from what was asked and from the noisy counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hedgerow.facts.relation import Relation, Target
from hedgerow.find.found import Bounds, Categories
from hedgerow.find.search import BoundsSearch, CategoriesSearch, Place, Search, spent_on
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.mechanism import as_record
from hedgerow.release.receipt import receipts
from hedgerow.release.record.kind import READING, Record, RecordKind, Rewritten

_SEARCHES: dict[str, type[Search]] = {Bounds.kind: BoundsSearch, Categories.kind: CategoriesSearch}
_OF_BEFORE = {"epsilon": 1.0}  # no number of a record depends on it once the mechanism is known
_FACTS = ("release.source", "release.date", "release.target")


def rewrite(record: Record, certificate: Certificate) -> Rewritten:
    """Return the record of a search as it is written from its request, its noisy counts and its mechanism."""
    found, counts = record["found"], record["found"]["noisy_counts"]
    if not all(type(one) is int for one in counts):
        raise TypeError("counts")
    before, asked = "reading" not in record, record.get("request", {**_OF_BEFORE, **found, **record["release"]})
    search = _SEARCHES[found["kind"]].of_record(Place(str(asked["column"])), asked, certificate, drawn=before)
    answer, contradicted, known = search.answered_again(found)
    where = {name: asked[name] for name in ("where", "derived") if name in asked}
    again: dict[str, Any] = {"release": _facts(record, certificate, where), "found": answer}
    if before:
        del answer["noisy_total"]
        known = (*known, "release.where", "release.derived.*", "found.column", "found.noisy_counts.*")
    else:
        again |= {"reading": READING, "request": {**search.request(), **where, **spent_on(search)}}
    certified = {"mechanism": as_record(search.mechanism), "unit": "row", "delta": search.delta}
    return Rewritten(again, (*_unknown(certificate), *known), contradicted, certified)


RECORD = RecordKind("a search", "found", rewrite)


def _facts(record: Record, certificate: Certificate, where: Mapping[str, Any]) -> dict[str, Any]:
    about, public = record["release"], certificate.relation is Relation.REPLACE_ONE
    n, dated = about["n"], {"date": about["date"]} if "date" in about else {}
    if public and (type(n) is not int or n < 0):
        raise TypeError("n")
    # Its own sentences stand on no record: a note says what became of the price.
    notes = [one for one in about.get("notes", ()) if one in receipts()]
    return {
        "source": about["source"],
        "relation": str(certificate.relation),
        "unit": certificate.unit,
        "target": str(Target(about["target"])),
        "n": n if public else None,
        "missing": "drop",
        **where,
        **dated,
        **({"notes": notes} if notes else {}),
    }


def _unknown(certificate: Certificate) -> tuple[str, ...]:
    """Return the facts of a release that no search depends on."""
    return (*_FACTS, "release.n") if certificate.relation is Relation.REPLACE_ONE else _FACTS
