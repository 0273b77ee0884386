"""Who is protected against what, and what that rests on: a certificate in plain words, read off its record alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hedgerow.accounting.profile import Profile, attack_hits_upper, attack_success_upper
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.certificate import Certificate, attack_in_words, bounds_in_words
from hedgerow.mechanisms.mechanism import parts_of

EXACT_NOISE = (
    "Noise is drawn as whole numbers from the operating system's entropy, never as floating-point numbers. How long a "
    "release takes is not protected."
)
FALSE_ALARMS = (0.01, 0.05, 0.1)
_OPPONENT = (
    "anyone who reads the release, whatever they know already, even every other record, and whatever they compute, "
    "now or later"
)
_NOT_COVERED = (
    "Other releases from the same data: each has a price, and prices add up.",
    "What the numbers say about a group. A release is made to tell that, and it may tell something about a person who "
    "is not even in the data.",
    "Whoever can read the data itself, or watch the process that released it.",
)
_PUBLIC_SIZE = "How many {} there are, and so whether a given person is among them: public under replace-one."
_PUBLIC_CELLS = "Which cell each row belongs to, and how many rows each cell has: public, as was declared."
_OUTSIDE = (
    "Bounds, steps and categories were declared from outside the data, or found by a release with a price of its own; "
    "none was read off the data."
)
_DRAWN = "What the record says is what ran, with noise that nobody saw: a record can be re-priced, not replayed."
_ONE_ROW = "No person has more than one row: whoever has several is protected for each, not for all of them together."


@dataclass(frozen=True, slots=True)
class ProtectionText:
    """A certificate in words.

    Attributes
    ----------
    who, against, promise, attack : str
        Whole sentences.
    price : str
        ε and δ, with a word on each.
    bounds : tuple of str
        μ and the lower bound on ε, or why there is none.
    assumptions : tuple of str
        Those of the certificate first, then those of every release.
    not_covered : tuple of str
        What the promise leaves out.
    success_upper : float
        How often an attacker with even odds can guess right, at most.
    hits_upper : tuple of (float, float)
        (false alarms, hits at most).
    """

    who: str
    against: str
    promise: str
    price: str
    bounds: tuple[str, ...]
    attack: str
    assumptions: tuple[str, ...]
    not_covered: tuple[str, ...]
    success_upper: float
    hits_upper: tuple[tuple[float, float], ...]


def protection_of(certificate: Certificate, curve: Profile) -> ProtectionText:
    """Return a certificate in words, given its curve (`Certificate.reprice`).

    >>> from hedgerow.mechanisms.certificate import certify
    >>> from hedgerow.mechanisms.noisy_counts import GaussianNoise
    >>> record = certify(GaussianNoise(1.0, 1.0), Relation.REPLACE_ONE, unit="row", delta=1e-6)
    >>> text = protection_of(record, record.reprice())
    >>> round(text.success_upper, 3), text.who
    (0.691, 'Every row of the table, taken as one person: what it says.')
    """
    replaced = certificate.relation is Relation.REPLACE_ONE
    single = certificate.unit == "row"
    unit = "Every row of the table, taken as one person" if single else f"Every unit ({certificate.unit})"
    unit_words = "one row" if single else "one unit"
    differ = (
        f"say different things in {unit_words}"
        if replaced
        else f"differ by {unit_words}, there in the one and not in the other"
    )
    return ProtectionText(
        who=f"{unit}: " + ("what it says." if replaced else "what it says, and whether it is there at all."),
        against=_OPPONENT[0].upper() + _OPPONENT[1:] + ".",
        promise=_promise(certificate, differ),
        price=price_in_words(certificate),
        bounds=bounds_in_words(certificate.bounds),
        attack=attack_in_words(curve, certificate.relation, certificate.unit),
        assumptions=(*certificate.assumptions, _OUTSIDE, _DRAWN, *((_ONE_ROW,) if single else ())),
        not_covered=(*_public(certificate), *_NOT_COVERED),
        success_upper=attack_success_upper(curve),
        hits_upper=tuple((alarms, attack_hits_upper(curve, alarms)) for alarms in FALSE_ALARMS),
    )


def _public(certificate: Certificate) -> tuple[str, ...]:
    """Return what is public by the relation, or by the mechanism: a record need not say it in words of its own."""
    size = _PUBLIC_SIZE.format("rows" if certificate.unit == "row" else "units")
    cells = any(part.tells_cells for part in parts_of(certificate.mechanism))
    return (
        *((size,) if certificate.relation is Relation.REPLACE_ONE else ()),
        *((_PUBLIC_CELLS,) if cells else ()),
    )


def price_in_words(certificate: Certificate) -> str:
    """Return ε and δ with the relation and the unit.

    >>> from hedgerow.mechanisms.certificate import certify
    >>> from hedgerow.mechanisms.noisy_counts import GeometricCounts
    >>> price_in_words(certify(GeometricCounts(3.0, 1), Relation.ADD_REMOVE, unit="row", delta=0.0))
    'ε ≤ 0.333334 at δ = 0, add-remove, unit row'
    """
    return (
        f"ε ≤ {certificate.epsilon:.6g} at δ = {certificate.delta:.3g}, {certificate.relation}, unit {certificate.unit}"
    )


def _promise(certificate: Certificate, differ: str) -> str:
    factor = _factor(certificate.epsilon)
    added = "" if certificate.delta == 0.0 else f", plus {certificate.delta:.3g}"
    return (
        f"Take two tables that {differ}. Whatever set of outcomes one looks at, its chance under the one table is at "
        f"most {factor} times its chance under the other{added}."
    )


def _factor(epsilon: float) -> str:
    """e^ε, rounded up to three digits."""
    if not epsilon < 700.0:
        return "any number of"
    value = math.exp(epsilon)
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return f"{math.ceil(value / unit - 1e-9) * unit:,.3g}"
