"""Recomputes the price of a record from the record alone: does it hold, whom does it protect, what is assumed.

A record is what a release wrote: ``certificate.json``, ``release.json``, ``table.json``, a model, a score, or
``report.html``, which contains ``release.json``. Its parts must agree (`hedgerow.reports.verify.consistency`). A
record under bootstrap differential privacy is refused (HG415): its price does not follow from the record alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hedgerow.accounting.profile import Profile
from hedgerow.errors import ParameterError, UncertifiedError, VerificationError
from hedgerow.facts.columns import MAX_STEPS
from hedgerow.ledger.bootstrap_statement import GUARANTEE, BootstrapStatement
from hedgerow.mechanisms.certificate import (
    Certificate,
    Point,
    as_stated,
    check_numbers,
    holds,
    record_of,
    unreadable_record,
)
from hedgerow.mechanisms.mechanism import (
    as_record,
    parts_of,
)
from hedgerow.multicalibration.model.model import NOT_PROTECTED
from hedgerow.release.record.kind import READING
from hedgerow.reports.protection import Protection, protection_of
from hedgerow.reports.verify.consistency import NOT_CHECKED, consistency
from hedgerow.reports.verify.shown_page import PAGE_TEXT, is_page, page_contradictions, page_of
from hedgerow.version import __version__


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
        rule="A price is verified by computing it anew from the record alone.",
        finding=f"This record states epsilon = {statement.epsilon:.6g} of bootstrap-dp, {statement.relation}: that is "
        "NOT differential privacy, and the scale of its noise follows from the data, which the record must not tell.",
        remedy="Only D's custodian can check it, with the data; whoever has the record has the custodian's word.",
    )


_LARGEST = 64 * 2**20
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
    protection : Protection
        Who is protected against what, what is assumed.
    unchecked : tuple of str
        The fields that nothing in the record determines, by their paths: ``"release.source"``.
    """

    certificate: Certificate
    stated: CheckedPoint
    profile: tuple[CheckedPoint, ...]
    contradictions: tuple[str, ...]
    protection: Protection
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
            rule="Every (ε, δ) on a certificate must hold for the mechanism that it records.",
            finding=f"{wrong} of {1 + len(self.profile)} do not."
            if wrong
            else "They do, but the record contradicts itself. " + " ".join(self.contradictions),
            remedy="Do not rely on this record: it was altered, or made by a faulty version.",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        told, certificate = self.protection, self.certificate
        return {
            "holds": self.holds,
            "not_protected": list(self.not_protected),
            "stated": self.stated.to_dict(),
            "profile": [point.to_dict() for point in self.profile],
            **as_stated(certificate.further()),
            "consistent": self.consistent,
            "contradictions": list(self.contradictions),
            "mechanism": as_record(certificate.mechanism),
            "relation": str(certificate.relation),
            "unit": certificate.unit,
            "protected": told.who,
            "against": told.against,
            "attack_success_upper": told.success_upper,
            "assumptions": list(told.assumptions),
            "not_covered": list(told.not_covered),
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
    >>> from hedgerow.mechanisms.mechanism import GaussianNoise
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
        told = protection_of(certificate, curve)
        unfounded = certificate.unfounded(curve)
    except (ArithmeticError, MemoryError):
        raise unreadable_record("Its mechanism has parameters beyond anything that can be priced.") from None
    compared = consistency(record, certificate)
    return Verification(
        certificate=certificate,
        stated=checked[0],
        profile=tuple(checked[1:]),
        contradictions=(*compared.contradictions, *unfounded),
        protection=told,
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
    found = verify_record(record)
    wrong = page_contradictions(page, record)
    unchecked = (*found.unchecked, PAGE_TEXT)
    return record, replace(found, contradictions=(*found.contradictions, *wrong), unchecked=unchecked)


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
            return path.read_text(encoding="utf-8-sig")
        finding = f"{str(path)!r} is no file of up to {_LARGEST // 2**20} MB."
    except (OSError, ValueError):
        finding = f"{str(path)!r} cannot be read as UTF-8 text."
    raise ParameterError(
        "HG503",
        rule="A record is verified from a file that a release wrote.",
        finding=finding,
        remedy="Name certificate.json, release.json or report.html in the folder of the release; beside a large table "
        "lies its certificate.json.",
    )
