"""Whether the parts of a record fit one another: its product writes it again, and every field is compared.

What a record holds of what was asked, of what was drawn and of the mechanism decides all its other fields
(`hedgerow.release.record.kind`). Nothing is judged that a record cannot show: `NOT_CHECKED` says what no record can,
and `Consistency.unchecked` names the fields of this one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from hedgerow.errors import HedgerowError
from hedgerow.facts.relation import Relation
from hedgerow.find.recorded import RECORD as SEARCH
from hedgerow.mechanisms.certificate import Certificate, certify
from hedgerow.mechanisms.mechanism import parts_of
from hedgerow.multicalibration.recorded import RECORD as MODEL
from hedgerow.regression.recorded import RECORD as REGRESSION
from hedgerow.release.designs.design import END_PAIR
from hedgerow.release.record.kind import RecordKind, Rewritten
from hedgerow.release.rewritten import RECORD as RELEASE
from hedgerow.reports.verify.compared import differences, has_any
from hedgerow.tables.dp.rewritten import RECORD as TABLE
from hedgerow.testset.recorded import RECORD as SCORE

KINDS: tuple[RecordKind, ...] = (TABLE, RELEASE, REGRESSION, SEARCH, MODEL, SCORE)
"""Every kind of record, and which field tells it; the first one that fits is taken."""

NOT_CHECKED = (
    "Whether a row is what the unit says (a person, a household), and whether the unit was another one: a text that "
    "was changed wherever it stands looks as if it had been written so.",
    "Whether two records can be the worst for all parts of a release at once, on which a lower bound on its ε rests.",
    "Whether the assumptions are true, and whether more were made than the mechanism and the record itself show.",
    "Whether this mechanism is the one that ran, on these data, with noise that nobody saw; or whether the noisy "
    "numbers and all that follows from them were changed together.",
    "The text of a page around its numbers, and other releases from the same data.",
)
"""What no record can show about itself."""

_OF_CERTIFICATE = ("certificate.versions.*",)
_ALTERED = "Something that a record of its kind holds is missing, or of another kind."
_MOST_TOLD = 5


@dataclass(frozen=True, slots=True)
class Consistency:
    """What came of comparing a record with itself.

    Attributes
    ----------
    contradictions : tuple of str
        In what it contradicts itself, in sentences; empty where its parts fit one another.
    unchecked : tuple of str
        The fields of the record that nothing in it determines, as `hedgerow.release.record.kind.Rewritten` names them.
    """

    contradictions: tuple[str, ...]
    unchecked: tuple[str, ...] = ()


def consistency(record: object, certificate: Certificate) -> Consistency:
    """Return in what a record contradicts itself, and which of its fields could not be checked.

    Parameters
    ----------
    record : object
        JSON data: a certificate, or a release, table, score or model that holds one.
    certificate : Certificate
        The one in it.

    Examples
    --------
    >>> from hedgerow.mechanisms.mechanism import GeometricCounts
    >>> made = certify(GeometricCounts(3.0, 2), Relation.ADD_REMOVE, unit="row", delta=0.0)
    >>> consistency(made.to_dict(), made).contradictions
    ()
    >>> about = {"relation": "add-remove", "unit": "row", "n": 100}
    >>> consistency({"certificate": made.to_dict(), "release": about, "estimates": []}, made).contradictions
    ('Something that a record of its kind holds is missing, or of another kind.',)
    """
    found = list(_of_certificate(certificate))
    if not isinstance(record, Mapping) or "certificate" not in record:
        return Consistency(tuple(found), ("unit", "assumptions.*", "versions.*"))
    kind = next((one for one in KINDS if one.field in record), None)
    try:
        if kind is None:
            raise ValueError("it is of no kind")
        written = kind.rewrite(record, certificate)
        found += [*written.found, *_of_facts(record, certificate), *_compared(record, written, certificate)]
        for one in (*record.get("pooled", ()), *record.get("joined", ())):
            found += consistency(one, Certificate.from_dict(one["certificate"])).contradictions
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, HedgerowError):
        return Consistency((*dict.fromkeys(found), _ALTERED))
    named = (*written.unchecked, *_OF_CERTIFICATE, *_beside(record, written))
    unchecked = (one for one in named if has_any(record, one))
    return Consistency(tuple(dict.fromkeys(found)), tuple(unchecked))


def _of_certificate(certificate: Certificate) -> Iterator[str]:
    if certificate.bound != "upper":
        yield "Its bound is no upper one."
    for part in parts_of(certificate.mechanism):
        if part.row_limit is not None and not _unit_of(part.row_limit, certificate.unit):
            yield f"Its unit is not one of at most {part.row_limit} rows, for which the mechanism was priced."
        if (
            part.end_pair_computed
            and certificate.relation is Relation.REPLACE_ONE
            and END_PAIR not in certificate.assumptions
        ):
            yield "An assumption on which the price of its mechanism rests is missing."


def _unit_of(rows: int, unit: str) -> bool:
    return unit.endswith(f", at most {rows} row{'s' if rows > 1 else ''}")


def _of_facts(record: Mapping[str, Any], certificate: Certificate) -> Iterator[str]:
    """Yield where what a record says of the whole is none of the relation, the unit or the calendar."""
    about = record.get("release")
    if about is None:
        return
    if (about["relation"], about["unit"]) != (str(certificate.relation), certificate.unit):
        yield "The release names another relation or another unit than its certificate."
    if about.get("n") is not None and certificate.relation is not Relation.REPLACE_ONE:
        yield "The number of records is stated, which is public under replace-one and private under add-remove."
    if about.get("date") is not None and not _is_date(about["date"]):
        yield "Its date is none of the calendar."
    several = any(part.row_limit is not None for part in parts_of(certificate.mechanism))
    if not several and certificate.unit != "row":
        yield "Its unit has several rows, and its mechanism was priced for one."


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _beside(record: Mapping[str, Any], written: Rewritten) -> Iterator[str]:
    """Yield the fields beside a record, which its product does not write: a command adds some, such as ``replayed``."""
    for name in record:
        if name not in written.record and name != "certificate":
            yield from (name, f"{name}.**")


def _compared(record: Mapping[str, Any], written: Rewritten, certificate: Certificate) -> Iterator[str]:
    """Yield which fields of a record, its certificate included, are not what its product writes."""
    computed = {name: value for name, value in written.record.items() if name != "certificate"}
    # A command writes fields of its own beside a record: `_beside` names them.
    stated = {name: value for name, value in record.items() if name in computed}
    # As JSON has it, so that a tuple is a list and a text of an enumeration a text.
    places = list(differences(stated, json.loads(json.dumps(computed))))
    told, certified = record["certificate"], json.loads(json.dumps(dict(written.certified)))
    places += [f"certificate.{name}" for name, value in certified.items() if [*differences(told[name], value)]]
    made = certify(
        certificate.mechanism,
        certificate.relation,
        unit=certificate.unit,
        delta=certificate.delta,
        assumptions=certificate.assumptions,
        narrowed=written.narrowed,
    )
    # Another version may find a sharper price. The one that was stated then holds all the same.
    if "reading" in record and dict(certificate.versions) == dict(made.versions):
        places += [f"certificate.{place}" for place in differences(told, json.loads(made.to_json()))]
    for place in places[:_MOST_TOLD]:
        yield f"The field {place} is not what the rest of the record gives."
    if len(places) > _MOST_TOLD:
        yield f"So are {len(places) - _MOST_TOLD:,} more fields."
