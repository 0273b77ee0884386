"""Recomputes the price of a record from the record alone: does it hold, whom does it protect, what is assumed.

A record is what a release wrote: ``certificate.json``, ``release.json``, ``table.json``, a model, a score, or
``report.html``, which contains ``release.json``. Its parts must agree (`hedgerow.reports.verify.verification`). A
record under bootstrap differential privacy is refused (HG415): its price does not follow from the record alone.

Whether the parts of a record fit one another: its product writes it again, and every field is compared.

What a record holds of what was asked, of what was drawn and of the mechanism decides all its other fields
(`hedgerow.release.record`). Nothing is judged that a record cannot show: `NOT_CHECKED` says what no record can,
and `Consistency.unchecked` names the fields of this one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.accounting.profile import Profile
from hedgerow.errors import HedgerowError, ParameterError, UncertifiedError, VerificationError
from hedgerow.facts.columns import MAX_STEPS
from hedgerow.facts.relation import Relation
from hedgerow.find.search import RECORD as SEARCH
from hedgerow.ledger.bootstrap_statement import GUARANTEE, BootstrapStatement
from hedgerow.margins.release_margins import RECORD as MARGINS
from hedgerow.margins.table_with_totals import RECORD as TABLE_WITH_TOTALS
from hedgerow.mechanisms.certificate import (
    Certificate,
    Point,
    as_stated,
    certify,
    check_numbers,
    holds,
    record_of,
    unreadable_record,
    versions_here,
)
from hedgerow.mechanisms.mechanism import as_record, parts_of
from hedgerow.multicalibration.calibrated_model import NOT_PROTECTED
from hedgerow.multicalibration.calibration_fit import RECORD as MODEL
from hedgerow.regression.regression_record import RECORD as REGRESSION
from hedgerow.release.designs.design import END_PAIR
from hedgerow.release.publication.read_file import FileTooLarge, read_text
from hedgerow.release.record import READING, RecordKind, Rewritten, fields_of_mechanism
from hedgerow.release.rewritten import RECORD as RELEASE
from hedgerow.reports.protection import ProtectionText, protection_of
from hedgerow.reports.verify.comparison import PAGE_TEXT, differences, has_any, is_page, page_contradictions, page_of
from hedgerow.tables.release_table import RECORD as TABLE
from hedgerow.testset.scored import RECORD as SCORE
from hedgerow.version import __version__

KINDS: tuple[RecordKind, ...] = (TABLE_WITH_TOTALS, TABLE, RELEASE, MARGINS, REGRESSION, SEARCH, MODEL, SCORE)
"""Every kind of record, and which field tells it; the first one that fits is taken."""


def asked_in_words(result: object) -> str | None:
    """Return what a recorded result was asked for, in a few words; None where its record does not say.

    >>> by = [{"column": "sex", "values": [0, 1]}]
    >>> request = {"statistics": [{"statistic": "mean", "column": "age"}, {"statistic": "count"}], "by": by}
    >>> asked_in_words(json.dumps({"release": {"where": "age > 3"}, "request": request, "estimates": []}))
    'mean of age, count by sex where age > 3'
    """
    try:
        record: Any = json.loads(result) if isinstance(result, (str, bytes)) else None
        return next((kind.in_words(record) for kind in KINDS if kind.field in record), None)
    except (ValueError, TypeError, LookupError, AttributeError):
        return None


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

_ALTERED = "Something that a record of its kind holds is missing, or of another kind."
_MOST_TOLD = 5
_OF_A_PRICE = ("certificate.profile.**", "certificate.mu", "certificate.epsilon_lower", "certificate.epsilon_lower_why")
"""What is computed beside ε: another version may give other figures, which hold too."""


@dataclass(frozen=True, slots=True)
class Consistency:
    """What came of comparing a record with itself.

    Attributes
    ----------
    contradictions : tuple of str
        In what it contradicts itself, in sentences; empty where its parts fit one another.
    unchecked : tuple of str
        The fields of the record that nothing in it determines, as `hedgerow.release.record.Rewritten` names them.
    """

    contradictions: tuple[str, ...]
    unchecked: tuple[str, ...] = ()


@np.errstate(all="ignore")  # what follows from an altered number may lie beyond the doubles, and is then another
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
    >>> from hedgerow.mechanisms.noisy_counts import GeometricCounts
    >>> made = certify(GeometricCounts(3.0, 2), Relation.ADD_REMOVE, unit="row", delta=0.0)
    >>> consistency(made.to_dict(), made).contradictions
    ()
    >>> about = {"relation": "add-remove", "unit": "row", "n": 100}
    >>> consistency({"certificate": made.to_dict(), "release": about, "estimates": []}, made).contradictions
    ('Something that a record of its kind holds is missing, or of another kind.',)
    """
    contradictions = list(_of_certificate(certificate))
    if not isinstance(record, Mapping) or "certificate" not in record:
        return Consistency(tuple(contradictions), ("unit", "assumptions.*", "versions.*"))
    kind = next((kind_of_record for kind_of_record in KINDS if kind_of_record.field in record), None)
    try:
        if kind is None:
            raise ValueError("it is of no kind")
        written = kind.rewrite(record, certificate)
        contradictions += [
            *written.found,
            *_of_facts(record, written, certificate),
            *_compared(record, written, certificate),
        ]
        for part in (*record.get("pooled", ()), *record.get("joined", ())):
            contradictions += consistency(part, Certificate.from_dict(part["certificate"])).contradictions
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, HedgerowError):
        return Consistency((*dict.fromkeys(contradictions), _ALTERED))
    # Whoever asked chose δ. The rounded ε is the same at each δ of a range, and the price holds. What is assumed may
    # be known to nobody but whoever asked, such as how a model was made.
    assumed = "certificate.assumptions.*" if certificate.assumptions else "certificate.assumptions"
    given = {"delta": "certificate.delta", "assumptions": assumed}
    chosen = [field for name, field in given.items() if name not in written.certified]
    # Another version may find a sharper price. The one that was stated then holds all the same.
    if not _priced_alike(record, certificate):
        chosen += _OF_A_PRICE
    parts = enumerate(parts_of(certificate.mechanism))
    # The fields of a part that need not change the price.
    unpriced = (place for at, part in parts for place in fields_of_mechanism(*part.not_priced, part=str(at)))
    named = (*written.unchecked, *chosen, *unpriced, "certificate.versions.*", *_beside(record, written))
    unchecked = (place for place in named if has_any(record, place))
    return Consistency(tuple(dict.fromkeys(contradictions)), tuple(unchecked))


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


def _of_facts(record: Mapping[str, Any], written: Rewritten, certificate: Certificate) -> Iterator[str]:
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
    several = written.counts_units or any(part.row_limit is not None for part in parts_of(certificate.mechanism))
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
    stated_certificate, certified = record["certificate"], json.loads(json.dumps(dict(written.certified)))
    places += [
        f"certificate.{name}" for name, value in certified.items() if [*differences(stated_certificate[name], value)]
    ]
    made = certify(
        certificate.mechanism,
        certificate.relation,
        unit=certificate.unit,
        delta=certificate.delta,
        assumptions=certificate.assumptions,
        narrowed=written.narrowed,
    )
    if _priced_alike(record, certificate):
        places += [f"certificate.{place}" for place in differences(stated_certificate, json.loads(made.to_json()))]
    for place in places[:_MOST_TOLD]:
        yield f"The field {place} is not what the rest of the record gives."
    if len(places) > _MOST_TOLD:
        yield f"So are {len(places) - _MOST_TOLD:,} more fields."


def _priced_alike(record: Mapping[str, Any], certificate: Certificate) -> bool:
    """Return whether this version gives a certificate to the last digit: the versions that it names are those here."""
    return "reading" in record and dict(certificate.versions) == versions_here()


def refuse_statement(record: object) -> None:
    """Raise an error for a statement of bootstrap-dp, whose price cannot be recomputed; accept any other record.

    Raises
    ------
    UncertifiedError
        HG415: the record is a statement of bootstrap-dp.
    VerificationError
        HG502: it is one, and it was altered.

    Examples
    --------
    >>> refuse_statement({"mechanism": {}})
    """
    stated = record.get("certificate", record) if isinstance(record, dict) else record
    about = record.get("table") if isinstance(record, dict) else None
    named = [part.get("guarantee") for part in (stated, about) if isinstance(part, dict)]
    if GUARANTEE not in named:
        return
    statement = BootstrapStatement.from_dict(stated)
    raise UncertifiedError(
        "HG415",
        rule="To verify a price, hedgerow computes the price again from the record alone.",
        finding=f"This record states epsilon = {statement.epsilon:.6g} of bootstrap-dp, {statement.relation}: that is "
        "NOT differential privacy, and the scale of its noise follows from the data, which the record must not tell.",
        remedy="Only the custodian can check the price of this release, because the check needs the data.",
    )


_LARGEST = 160 * 2**20
_MOST_POINTS = 100  # a certificate has four, and pricing each takes time


@dataclass(frozen=True, slots=True)
class CheckedPoint:
    """A stated (ε, δ), and the δ that the record's mechanism needs at that ε: it holds where that is no more."""

    epsilon: float
    delta: float
    delta_upper: float
    holds: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        numbers = {"epsilon": self.epsilon, "delta": self.delta, "delta_upper": self.delta_upper}
        return numbers | {"holds": self.holds}


@dataclass(frozen=True, slots=True)
class Verification:
    """What a record states, and whether it holds.

    Attributes
    ----------
    certificate : Certificate
    stated : CheckedPoint
        The (ε, δ) of the certificate.
    profile : tuple of CheckedPoint
        The points of its curve.
    contradictions : tuple of str
        In what the record contradicts itself.
    protection : ProtectionText
        Who is protected against what, what is assumed.
    unchecked : tuple of str
        The fields that nothing in the record determines, by their paths: ``"release.source"``.
    """

    certificate: Certificate
    stated: CheckedPoint
    profile: tuple[CheckedPoint, ...]
    contradictions: tuple[str, ...]
    protection: ProtectionText
    unchecked: tuple[str, ...] = ()

    @property
    def not_protected(self) -> tuple[str, ...]:
        """The sentences of the record about outputs that were made from the same records but are not in its price."""
        return tuple(text for text in self.certificate.assumptions if text.startswith(NOT_PROTECTED))

    @property
    def consistent(self) -> bool:
        """Whether the parts of the record fit one another."""
        return not self.contradictions

    @property
    def holds(self) -> bool:
        """Whether everything that is stated holds."""
        return self.consistent and self.stated.holds and all(point.holds for point in self.profile)

    def require(self) -> None:
        """Raise what an altered record deserves.

        Raises
        ------
        VerificationError
            HG501: something that is stated does not hold.
        """
        if self.holds:
            return
        wrong = sum(not point.holds for point in (self.stated, *self.profile))
        raise VerificationError(
            "HG501",
            rule="Every (ε, δ) on a certificate must be valid for the mechanism of the certificate.",
            finding=f"{wrong} of {1 + len(self.profile)} do not."
            if wrong
            else "They do, but the record contradicts itself. " + " ".join(self.contradictions),
            remedy="Do not rely on the price of this record. Either the record was altered, or a faulty version of "
            "hedgerow made the record.",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        protection, certificate = self.protection, self.certificate
        return {
            "holds": self.holds,
            "not_protected": list(self.not_protected),
            "stated": self.stated.to_dict(),
            "profile": [point.to_dict() for point in self.profile],
            **as_stated(certificate.bounds),
            "consistent": self.consistent,
            "contradictions": list(self.contradictions),
            "mechanism": as_record(certificate.mechanism),
            "relation": str(certificate.relation),
            "unit": certificate.unit,
            "protected": protection.who,
            "against": protection.against,
            "attack_success_upper": protection.success_upper,
            "assumptions": list(protection.assumptions),
            "not_covered": list(protection.not_covered),
            "not_checked": list(NOT_CHECKED),
            "unchecked_fields": list(self.unchecked),
            "made_by": dict(certificate.versions),
            "verified_by": {"hedgerow": __version__},
        }


def verify_record(record: object) -> Verification:
    """Price a record's mechanism anew and compare every stated point with it. Reads nothing but the record.

    Parameters
    ----------
    record : object
        JSON data: a certificate, or a release, table, score or model that holds one.

    Raises
    ------
    VerificationError
        HG502: the record is no certificate, or of a simulated release, which has none.
    ParameterError, UncertifiedError
        HG406, HG401, HG403: the mechanism contradicts itself, or has no certified price; HG415: the record states
        bootstrap differential privacy, which a record cannot prove.

    Examples
    --------
    >>> from hedgerow.mechanisms.certificate import certify
    >>> from hedgerow.mechanisms.noisy_counts import GaussianNoise
    >>> from hedgerow.facts.relation import Relation
    >>> record = certify(GaussianNoise(1.0, 1.0), Relation.REPLACE_ONE, unit="row", delta=1e-6).to_dict()
    >>> verify_record(record).holds, verify_record({**record, "epsilon": 1.0}).holds
    (True, False)
    """
    check_numbers(record)
    refuse_statement(record)
    stated: object = record
    if isinstance(record, dict) and "certificate" in record:
        stated = record["certificate"]
        if stated is None:
            raise unreadable_record("It has no certificate: a simulated release, or a model fitted without privacy.")
    certificate = Certificate.from_dict(stated)
    points = (Point(certificate.epsilon, certificate.delta), *certificate.profile)
    if len(points) > _MOST_POINTS:
        raise unreadable_record(f"Its curve has more than {_MOST_POINTS} points.")
    if json.loads(json.dumps(certificate.to_dict())) != stated:
        # A field that was passed over might change what the others mean to whoever reads it.
        raise unreadable_record("It has fields or values that the format does not have.")
    if any(part.finest_grid > MAX_STEPS for part in parts_of(certificate.mechanism)):
        # No release has that many, and pricing takes time and memory in proportion.
        raise unreadable_record("Its grid has more steps than a grid can have.")
    if isinstance(record, dict) and record.get("reading", READING) != READING:
        raise unreadable_record("It was written by formulas of another version than this one knows.")
    try:
        curve = certificate.reprice()
        # A further bound of a large ε is rounded up to δ = 1, which says nothing and is true.
        checked = [_checked(curve, point, certain=place > 0) for place, point in enumerate(points)]
        protection = protection_of(certificate, curve)
        unfounded = certificate.unfounded(curve)
    except HedgerowError:
        raise
    except (ArithmeticError, MemoryError, ValueError):
        raise unreadable_record("Its mechanism has parameters beyond anything that can be priced.") from None
    compared = consistency(record, certificate)
    return Verification(
        certificate=certificate,
        stated=checked[0],
        profile=tuple(checked[1:]),
        contradictions=(*compared.contradictions, *unfounded),
        protection=protection,
        unchecked=compared.unchecked,
    )


def read_record(path: str | Path) -> object:
    """Return the JSON data of a record's file; of a page, the data embedded in it.

    Raises
    ------
    ParameterError
        HG503: the file cannot be read.
    VerificationError
        HG502: it holds no JSON, or numbers that no record has. HG505: a field is named twice.
    """
    text = _read(Path(path))
    return record_of(page_of(text).record if is_page(text) else text)


def verify_file(path: str | Path) -> tuple[object, Verification]:
    """Return the record of a file, as `read_record` does, and what came of `verify_record`.

    Of a page the numbers that name a field of the record are compared with it; its other text is not checked.

    Raises
    ------
    ParameterError, VerificationError, UncertifiedError
        As `read_record` and `verify_record`.
    """
    text = _read(Path(path))
    if not is_page(text):
        record = record_of(text)
        return record, verify_record(record)
    page = page_of(text)
    record = record_of(page.record)
    verification = verify_record(record)
    wrong = page_contradictions(page, record)
    unchecked = (*verification.unchecked, PAGE_TEXT)
    return record, replace(verification, contradictions=(*verification.contradictions, *wrong), unchecked=unchecked)


def _checked(curve: Profile, point: Point, *, certain: bool) -> CheckedPoint:
    needed = curve.delta_upper(max(0.0, point.epsilon))
    # A negative ε, or a δ that is no probability, promises nothing that could hold; nor does a price at δ = 1.
    if point.epsilon < 0.0 or not 0.0 <= point.delta <= 1.0 or (point.delta == 1.0 and not certain):
        return CheckedPoint(point.epsilon, point.delta, needed, False)
    return CheckedPoint(point.epsilon, point.delta, needed, point.delta == 1.0 or holds(curve, point))


def _read(path: Path) -> str:
    try:
        # Regular files only: reading from a pipe or a device may never end.
        if path.is_file() and path.stat().st_size <= _LARGEST:
            with suppress(FileTooLarge):
                return read_text(path, most_bytes=_LARGEST)
        finding = f"{str(path)!r} is no file of up to {_LARGEST // 2**20} MB."
    except (OSError, ValueError):
        finding = f"{str(path)!r} cannot be read as UTF-8 text."
    raise ParameterError(
        "HG503",
        rule="A record is read from a file that hedgerow wrote.",
        finding=finding,
        remedy="Name the record in the folder of a release, for example release.json, table.json, margins.json or "
        "certificate.json, or its page, for example report.html. A large table has a certificate.json beside it.",
    )
