"""How a product's record is checked: the product reads the record and writes it again, and the two are compared.

A record holds what was asked, what was drawn, and its price. All its other fields follow from these. A product that
leaves records has a `RecordKind`; `hedgerow.reports.verify.verification` lists them and compares every field. No field
is checked by a list kept by hand: a field that nothing on record determines is copied, and its kind names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hedgerow.mechanisms.certificate import Certificate

Record = Mapping[str, Any]
READING = 1
"""The version of the formulas by which a record is written again, on record as ``reading``.

A record without it was written before there were any: it holds less of what determines it.
"""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A record as its product writes it from what determines it.

    Attributes
    ----------
    record : mapping
        The JSON data, without the certificate.
    unchecked : tuple of str
        The fields that were copied, since nothing on record determines them: ``"release.source"``. Parts are separated
        by dots; ``*`` stands for one part, such as a place in a list, and ``**`` at the end for all that is below.
    found : tuple of str
        What else contradicts itself, in sentences.
    certified : mapping
        The fields of the certificate that follow from what was asked, such as ``assumptions``; each is compared.
    narrowed : str or None
        Why records may not differ as much as the mechanism allows, as `hedgerow.mechanisms.certificate.certify` takes
        it; None where the product gives no reason.
    """

    record: Record
    unchecked: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    certified: Mapping[str, Any] = field(default_factory=dict)
    narrowed: str | None = None


@dataclass(frozen=True, slots=True)
class RecordKind:
    """One kind of record.

    Attributes
    ----------
    name : str
        In words: ``"a release"``.
    field : str
        The top-level field that records of this kind alone have.
    rewrite : callable
        (record, certificate) → `Rewritten`. It may raise what reading a record that is none raises: `LookupError`,
        `TypeError`, `ValueError`, `AttributeError`, `ArithmeticError`, or a `HedgerowError`.
    """

    name: str
    field: str
    rewrite: Callable[[Record, Certificate], Rewritten]
