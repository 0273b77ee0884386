"""The certificate: a JSON record of what ran and what it costs, which anyone can re-price from the record alone.

Texts of records are read strictly: no field twice, no number that is not finite or larger than any that a record has,
so that two readers see one record.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version
from typing import Any, ClassVar

from hedgerow.accounting.compose import least_mu, profile_of, why_no_mu
from hedgerow.accounting.lower_bounds import GAP, LowerBoundPairs
from hedgerow.accounting.profile import Profile, attack_success_upper
from hedgerow.errors import VerificationError
from hedgerow.facts.printed import at_most_percent
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.interface import Mechanism
from hedgerow.mechanisms.mechanism import as_record, from_record, parts_of
from hedgerow.version import __version__

_LARGEST = 1e300
_MOST_DIGITS = 400
_DECIMALS = 6
_FURTHER = ("mu", "mu_why", "epsilon_lower", "epsilon_lower_why")
_VENDORS = ("numpy", "scipy", "opendp")


def round_up(number: float, digits: int = _DECIMALS) -> float:
    """Return a number rounded up to `digits` decimals: against the user, as every stated price.

    >>> round_up(0.9996541193)
    0.999655
    """
    if not math.isfinite(number):
        return number
    scaled = math.ceil(number * 10**digits)
    rounded: float = scaled / 10**digits
    return rounded if rounded >= number else (scaled + 1) / float(10**digits)


def round_down(number: float, digits: int = _DECIMALS) -> float:
    """Return a number rounded down to `digits` decimals: what was proven, not more.

    >>> round_down(0.9996541193)
    0.999654
    """
    return -round_up(-number, digits)


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a privacy profile: (ε, δ) holds."""

    epsilon: float
    delta: float


@dataclass(frozen=True, slots=True)
class FurtherBounds:
    """μ and a proven lower bound on ε, each None with a reason where there is none.

    Attributes
    ----------
    mu : float or None
        The smallest μ whose Gaussian curve lies above the whole curve, rounded up to 1e-6 (`accounting.compose`).
    epsilon_lower : float or None
        A proven lower bound on the true ε at δ. The bound is within 0.005 of ε and rounded down to 1e-6.
    mu_why, epsilon_lower_why : str or None
        The reason if μ or the lower bound is missing. Certificates of early versions have neither the numbers nor the
        reasons.
    """

    mu: float | None = None
    mu_why: str | None = None
    epsilon_lower: float | None = None
    epsilon_lower_why: str | None = None


@dataclass(frozen=True, eq=False)
class Certificate:
    """The certificate of a release: who was protected, by which mechanism, and at which privacy price.

    Attributes
    ----------
    mechanism : Mechanism
        The mechanism, with every parameter that determines the privacy price.
    relation : str
        The neighbouring relation, which defines how two neighbouring data sets differ in one privacy unit.
    unit : str
        The privacy unit, which is who is protected.
    epsilon : float
        The privacy price at `delta`, rounded up to 1e-6.
    delta : float
        The δ at which ε is the price.
    profile : tuple of Point
        Further points (ε, δ) of the privacy profile. Each point is a valid upper bound.
    bound : str
        The text ``"upper"``, which says that the stated ε and δ are upper bounds.
    assumptions : tuple of str
        The assumptions on which the price rests. The list of assumptions is empty if the price relies only on the code
        and its libraries.
    versions : mapping
        The versions of the software that computed the price.
    stated : FurtherBounds or None
        The stated μ (of Gaussian differential privacy) and the stated lower bound on ε. If None, μ and the lower bound
        are computed only on demand, since the computation takes as long as the rest of a small release.
    narrowed : str or None
        The reason why no lower bound on ε is known, as in `certify`.
    curve : Profile or None
        The privacy profile of the mechanism, if it was computed before.
    """

    mechanism: Mechanism
    relation: Relation
    unit: str
    epsilon: float
    delta: float
    profile: tuple[Point, ...]
    bound: str
    assumptions: tuple[str, ...]
    versions: Mapping[str, str]
    stated: FurtherBounds | None = FurtherBounds()
    narrowed: str | None = None
    curve: Any = None  # a protocol, of which no instance is checked where a record is read
    __pydantic_config__: ClassVar[dict[str, bool]] = {"arbitrary_types_allowed": True}

    def __repr__(self) -> str:
        return (
            f"Certificate(epsilon={self.epsilon:.6g}, delta={self.delta:.3g}, relation={str(self.relation)!r}, "
            f"unit={self.unit!r}, mechanism={self.mechanism.type!r})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Certificate) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # as of every dataclass with equality that holds a mapping

    @cached_property
    def bounds(self) -> FurtherBounds:
        """μ and the lower bound."""
        if self.stated is not None:
            return self.stated
        curve = self.reprice() if self.curve is None else self.curve
        return further_bounds(self.mechanism, self.relation, curve, self.delta, narrowed=self.narrowed)

    @property
    def mu(self) -> float | None:
        """The μ of `bounds`."""
        return self.bounds.mu

    @property
    def mu_why(self) -> str | None:
        """Why there is no μ."""
        return self.bounds.mu_why

    @property
    def epsilon_lower(self) -> float | None:
        """The lower bound on ε of `bounds`."""
        return self.bounds.epsilon_lower

    @property
    def epsilon_lower_why(self) -> str | None:
        """Why there is no lower bound."""
        return self.bounds.epsilon_lower_why

    def reprice(self) -> Profile:
        """Return the privacy profile, computed again from the mechanism."""
        return profile_of(self.mechanism, self.relation)

    def verify(self) -> None:
        """Compute the price of the mechanism again, and compare the computed price with the stated price.

        Raises
        ------
        VerificationError
            HG501: the stated (ε, δ), a point of the privacy profile, μ or the lower bound is wrong.
        """
        curve = self.reprice()
        stated = [Point(self.epsilon, self.delta), *self.profile]
        wrong = [point for point in stated if not holds(curve, point)]
        unfounded = self.unfounded(curve)
        if wrong or unfounded or self.bound != "upper":
            raise VerificationError(
                "HG501",
                rule="Every (ε, δ) on a certificate must be valid for the mechanism of the certificate.",
                finding=f"{len(wrong)} of {len(stated)} do not." if wrong else " ".join(unfounded),
                remedy="Do not rely on this record. The record was altered, or a faulty version of hedgerow made the "
                "record.",
            )

    def unfounded(self, curve: Profile) -> tuple[str, ...]:
        """Return sentences that say whether the stated μ is too small, or the stated lower bound too large."""
        reasons = []
        if self.mu is not None and self.mu < least_mu(self.mechanism.terms(self.relation), curve) * (1.0 - 1e-8):
            reasons.append("Its μ is smaller than that of its mechanism.")
        if self.epsilon_lower is not None:
            proven = self.mechanism.attained(self.relation).epsilon_lower(self.delta)
            if self.epsilon_lower > proven * (1.0 + 1e-8) + 1e-9:
                reasons.append("Its lower bound on ε is larger than what its mechanism is proven to cost.")
        return tuple(reasons)

    def price(self) -> str:
        """Return the privacy price as one line of text: ε, δ, relation and unit."""
        return f"ε ≤ {self.epsilon:.6g} at δ = {self.delta:.3g}, {self.relation}, unit {self.unit}"

    def attack(self) -> str:
        """Return a sentence that says how often an attacker with even prior odds guesses right, at most."""
        return attack_in_words(self.reprice(), self.relation, self.unit)

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain JSON data."""
        return {
            "mechanism": as_record(self.mechanism),
            "relation": str(self.relation),
            "unit": self.unit,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "profile": [{"epsilon": point.epsilon, "delta": point.delta} for point in self.profile],
            "bound": self.bound,
            **as_stated(self.bounds),
            "assumptions": list(self.assumptions),
            "versions": dict(self.versions),
        }

    def to_json(self) -> str:
        """Return the certificate as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_dict(cls, record: object) -> Certificate:
        """Read a certificate from JSON data. Unknown or missing fields raise error HG502."""
        try:
            fields: Any = dict(record)  # type: ignore[call-overload]  # refused where it is none
            stated = {name: fields[name] for name in _FURTHER if name in fields}
            others = {name: value for name, value in fields.items() if name not in _FURTHER}
            given = {**others, "mechanism": from_record(fields["mechanism"]), "stated": stated}
            certificate: Certificate = _adapter().validate_python(given)
        except (ValueError, TypeError, KeyError):
            raise unreadable_record("Its fields do not fit.") from None
        if _canonical(certificate.to_dict()) != _canonical(record):
            # An extra field, a default filled in or a number read from a text: not the record that was written.
            raise unreadable_record("It is not what a release writes.")
        return certificate

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read a certificate from JSON text.

        The text contains a certificate, or the record of a release with a certificate.
        """
        record = record_of(text)
        if isinstance(record, dict) and "certificate" in record:
            record = record["certificate"]
        return cls.from_dict(record)


def attack_in_words(curve: Profile, relation: Relation, unit: str) -> str:
    """Return in a sentence how often an attacker with even odds guesses right, at most: (1 + δ(0))/2 of the curve.

    Parameters
    ----------
    curve : Profile
        The privacy profile of all that the attacker reads. If (ε, δ) alone is known, δ(0) ≤ (e^ε − 1 + 2δ)/(e^ε + 1).
    relation : Relation
    unit : str
        ``"row"``, or how a unit of several rows is declared.

    Examples
    --------
    >>> from hedgerow.accounting.profile import PureProfile
    >>> print(attack_in_words(PureProfile(1.0), Relation.ADD_REMOVE, "row")[:80])
    Someone who knows every other record and wonders whether one row is in the data,
    """
    one = "one row" if unit == "row" else "one unit"
    asked = f"which of two things {one} says" if relation is Relation.REPLACE_ONE else f"whether {one} is in the data"
    return (
        f"Someone who knows every other record and wonders {asked}, both equally likely (50\N{NO-BREAK SPACE}%), "
        f"guesses right at most {at_most_percent(attack_success_upper(curve))} of the time after reading the release."
    )


def certify(
    mechanism: Mechanism,
    relation: Relation,
    *,
    unit: str,
    delta: float,
    profile: Profile | None = None,
    assumptions: Sequence[str] = (),
    narrowed: str | None = None,
) -> Certificate:
    """Price a mechanism at δ and write the record.

    `narrowed` says why records may not differ as much as the description admits, so that no lower bound is known; it is
    empty where they may, also in all parts of a composition at once.

    >>> from hedgerow.mechanisms.noisy_counts import GeometricCounts
    >>> certify(GeometricCounts(3.0, 1), Relation.ADD_REMOVE, unit="row", delta=0.0)
    Certificate(epsilon=0.333334, delta=0, relation='add-remove', unit='row', mechanism='geometric')
    """
    curve = profile_of(mechanism, relation) if profile is None else profile
    epsilon = round_up(curve.epsilon_upper(delta))
    points = tuple(
        Point(round_up(epsilon * part), _round_up_delta(curve.delta_upper(round_up(epsilon * part))))
        for part in (0.25, 0.5, 0.75, 1.0)
    )
    about = "upper", tuple(assumptions), versions_here()
    return Certificate(mechanism, relation, unit, epsilon, delta, points, *about, None, narrowed, curve)


def further_bounds(
    mechanism: Mechanism, relation: Relation, curve: Profile, delta: float, *, narrowed: str | None = None
) -> FurtherBounds:
    """Return μ of a mechanism with this curve, and a lower bound on its ε.

    >>> from hedgerow.mechanisms.noisy_counts import GaussianNoise
    >>> one = GaussianNoise(1.0, 1.0)
    >>> found = further_bounds(one, Relation.REPLACE_ONE, profile_of(one, Relation.REPLACE_ONE), 1e-6)
    >>> found.mu, found.epsilon_lower, found.mu_why
    (1.000001, 4.886554, None)
    """
    terms = mechanism.terms(relation)
    if narrowed is None and len(parts_of(mechanism)) > 1:
        narrowed = "It was not shown that one pair of records is the worst for all parts."
    no_mu, attained = why_no_mu(terms), LowerBoundPairs((), narrowed) if narrowed else mechanism.attained(relation)
    lower, upper = attained.epsilon_lower(delta), curve.epsilon_upper(delta)
    near = upper - lower <= GAP
    proven = f" The pairs that are known prove ε ≥ {round_down(lower, 3):.3f}." if lower > 0.0 else ""
    return FurtherBounds(
        None if no_mu else round_up(least_mu(terms, curve)),
        no_mu,
        round_down(lower) if near else None,
        None if near else (attained.why or "Rounding hides the difference.") + proven,
    )


def bounds_in_words(bounds: FurtherBounds) -> tuple[str, ...]:
    """Return `further_bounds` in a line each; none where a record states none.

    >>> bounds_in_words(FurtherBounds(mu=1.0, epsilon_lower_why="Nothing is known."))
    ('μ ≤ 1: the curve lies below that of a Gaussian mechanism', 'no lower bound on ε: Nothing is known.')
    """
    mu, no_mu, lower, no_lower = bounds.mu, bounds.mu_why, bounds.epsilon_lower, bounds.epsilon_lower_why
    lines = (
        f"no μ: {no_mu}" if no_mu else None,
        None if mu is None else f"μ ≤ {mu:.6g}: the curve lies below that of a Gaussian mechanism",
        f"no lower bound on ε: {no_lower}" if no_lower else None,
        None if lower is None else f"ε ≥ {lower:.6g} at the same δ, proven",
    )
    return tuple(line for line in lines if line is not None)


def as_stated(bounds: FurtherBounds) -> dict[str, Any]:
    """Return `further_bounds` as JSON has them: a reason where there is no number, nothing where there is neither.

    >>> as_stated(FurtherBounds(mu_why="It has none."))
    {'mu': None, 'mu_why': 'It has none.'}
    """
    stated: dict[str, Any] = {}
    for name in _FURTHER[::2]:
        number, why = getattr(bounds, name), getattr(bounds, f"{name}_why")
        # A record without both was written before there were any.
        if number is not None or why is not None:
            stated |= {name: number} | ({} if why is None else {f"{name}_why": why})
    return stated


def mechanism_from_record(record: object) -> Mechanism:
    """Read a mechanism back from JSON data (HG502 if it is not a mechanism)."""
    try:
        mechanism = from_record(record)
    except ValueError:
        raise unreadable_record("Its fields do not fit.") from None
    if _canonical(as_record(mechanism)) != _canonical(record):
        raise unreadable_record("It is not what a release writes.")
    return mechanism


def holds(curve: Profile, point: Point) -> bool:
    """Return whether a stated (ε, δ) holds for a curve, up to the last digits in which libraries differ."""
    # One unit in the ninth digit: the same curve, computed by another version of a library.
    return curve.delta_upper(point.epsilon) <= point.delta * (1 + 1e-9) + 1e-15 or (
        curve.epsilon_upper(point.delta) <= point.epsilon * (1 + 1e-9)
    )


def _round_up_delta(delta: float) -> float:
    """Round a δ up to three digits."""
    if delta <= 0.0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(delta)) - 2)
    return float(f"{math.ceil(delta / unit) * unit:.3g}")


def _canonical(record: object) -> str:
    return json.dumps(_numbers_alike(record), sort_keys=True)


def _numbers_alike(record: object) -> object:
    """Return JSON data with 7 and 7.0 as one number; true stays apart from 1, and a text from what it spells."""
    if isinstance(record, dict):
        return {key: _numbers_alike(value) for key, value in record.items()}
    if isinstance(record, list):
        return [_numbers_alike(value) for value in record]
    return float(record) if isinstance(record, int) and not isinstance(record, bool) else record


@cache
def _adapter() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Certificate)


@cache
def versions_here() -> dict[str, str]:
    """Return the versions that a certificate names: of hedgerow, and of the libraries that prices are computed with."""
    return {"hedgerow": __version__, **{name: version(name) for name in _VENDORS}}


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
            if not _all_usual(value):
                left.extend(value)
        elif isinstance(value, float) and not math.isfinite(value):
            raise _not_finite()
        elif isinstance(value, (int, float)) and abs(value) > _LARGEST:
            raise unreadable_record(f"One of its numbers is larger than {_LARGEST:g}.")


def _all_usual(values: Sequence[Any]) -> bool:
    """Return whether all are numbers of one type that a record may have: lists of millions of them are long."""
    kinds = set(map(type, values))
    finite = kinds == {int} or (kinds == {float} and all(map(math.isfinite, values)))
    return finite and min(values) >= -_LARGEST and max(values) <= _LARGEST


def unreadable_record(finding: str) -> VerificationError:
    """Return the refusal of what is no certificate (HG502)."""
    return VerificationError(
        "HG502",
        rule="A certificate is a JSON record with exactly the fields of the format.",
        finding=finding,
        remedy="Use the file as the release wrote it.",
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise VerificationError(
            "HG505",
            rule="A record names each of its fields once.",
            finding="A field of the record occurs twice: some programs would use the first value, and others the last "
            "value.",
            remedy="Do not rely on this record; use the file that the release wrote.",
        )
    return fields


def _no_number(_: str) -> Any:
    raise _not_finite()


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise unreadable_record(f"One of its numbers is larger than {_LARGEST:g}.")
    return int(text)


def _not_finite() -> VerificationError:
    return unreadable_record("One of its numbers is no finite number.")
