"""The record of a search, written again from what was asked and from the noisy counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation, Target
from hedgerow.find.found import Bounds, Categories
from hedgerow.find.search import BoundsSearch, CategoriesSearch, Place, spent_on
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.counts import GeometricCounts
from hedgerow.mechanisms.mechanism import as_record
from hedgerow.mechanisms.stable_categories import StableCategories
from hedgerow.release.receipt import receipts
from hedgerow.release.record.kind import READING, Record, RecordKind, Rewritten

_RARE = 1e-9
_OTHER = "Its numbers are not those that the mechanism of its certificate gives."
_WIDTH = "Its negative counts show noise of another width than that of its certificate."
_OF_BEFORE = {"epsilon": 1.0}  # no number of a record depends on it once the mechanism is known
_FACTS = ("release.source", "release.date", "release.target")


def rewrite(record: Record, certificate: Certificate) -> Rewritten:
    """Return the record of a search as it is written from its request, its noisy counts and its mechanism."""
    found, counts = record["found"], record["found"]["noisy_counts"]
    if not all(type(one) is int for one in counts):
        raise TypeError("counts")
    before, asked = "reading" not in record, record.get("request", {**_OF_BEFORE, **found, **record["release"]})
    search = _search(found["kind"], asked, certificate, drawn=before)
    known: tuple[str, ...] = ()
    if isinstance(search, BoundsSearch):
        answer = search.answer(np.array(counts, dtype=np.int64))
        # Ends of cells are exact: two of them may be closer to each other than numbers that were computed.
        contradicted = (() if found["ends"] == answer["ends"] else (_OTHER,)) + (
            (_WIDTH,) if _contradicted_by_noise(counts, search.mechanism.scale) else ()
        )
    else:
        answer = search.answer(zip(found["values"], counts, strict=True))
        contradicted = () if _are_listed(found["values"], counts, search.mechanism) else (_OTHER,)
        known = ("found.values.*",)
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


def _search(
    kind: str, asked: Mapping[str, Any], certificate: Certificate, *, drawn: bool
) -> BoundsSearch | CategoriesSearch:
    """Return the search that was asked for; with the mechanism that was `drawn`, where the ε asked for is not known."""
    place, relation, made = Place(str(asked["column"])), certificate.relation, certificate.mechanism
    if kind == Bounds.kind:
        given = {"epsilon": asked["epsilon"], "share": asked["share"], "around": asked["around"]}
        bounds = BoundsSearch.of(place, relation, **given)
        if not isinstance(made, GeometricCounts) or made.cells != bounds.grid.cells:
            raise TypeError(made.type)
        return replace(bounds, mechanism=made) if drawn else bounds
    if kind != Categories.kind or not isinstance(made, StableCategories):
        raise TypeError(made.type)
    if drawn:
        return CategoriesSearch(place, made, Budget(1.0, certificate.delta))
    return CategoriesSearch.of(place, relation, epsilon=asked["epsilon"], delta=asked["delta"])


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


def _contradicted_by_noise(counts: Sequence[int], scale: float) -> bool:
    """Whether negative counts, whatever the true ones are, would be so small or so large with a chance below 1e-9.

    Below 0 the law of a count plus two-sided geometric noise has no memory: −X − 1 is geometric with α = e^(−1/scale),
    and the sum of m of them is negative binomial.

    >>> _contradicted_by_noise([-40, 30, -3] * 100, 20.0), _contradicted_by_noise([-2, 3, -1] * 100, 20.0)
    (False, True)
    """
    from hedgerow.special import betainc

    below = [-one - 1 for one in counts if one < 0]
    if not below:
        return False
    shown, total = -np.expm1(-1.0 / scale), float(sum(below))
    as_small = betainc(len(below), total + 1.0, shown)
    as_large = betainc(total, len(below), 1.0 - shown) if total else 1.0
    return bool(min(as_small, as_large) < _RARE)


def _are_listed(values: Sequence[Any], counts: Sequence[int], mechanism: StableCategories) -> bool:
    """Whether each value is listed once, with a count that reaches the threshold."""
    once = len({(type(one), one) for one in values}) == len(values)
    return once and min(counts, default=mechanism.threshold) >= mechanism.threshold
