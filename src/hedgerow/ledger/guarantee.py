"""One guarantee per ledger: differential privacy or bootstrap differential privacy, never added up together.

A ledger is created for one of the two. What a certificate prices and what a statement promises are held between
different pairs of data sets, so their sum is the price of nothing; each is refused where the other is kept (HG316).

The total for differential privacy is in `hedgerow.ledger.total`. That for bootstrap differential privacy is here:

* Result 7 of O'Keefe & Charest: releases for the SAME D cost Σ ε together.
* Result 8, under the assumption that it needs: where the part of D that every row belongs to is public, a row becomes
  another row of its own part, and releases from disjoint parts cost the most that any one part costs. As printed it is
  false, see docs/methods/bootstrap_dp.md.

So the total is Σ ε of releases from the whole, plus, for each column by which D was parted, the largest Σ ε of a part.
It holds between data sets whose rows are rows of D that agree on every column taken as public in any entry.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from hedgerow.canonical import canonical
from hedgerow.errors import LedgerError, ParameterError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.facts.validation import one_of
from hedgerow.ledger.bootstrap_statement import GUARANTEE, BootstrapNoise, BootstrapStatement
from hedgerow.ledger.ledger_entry import other_protection
from hedgerow.ledger.total import RunningTotal
from hedgerow.mechanisms.certificate import Certificate, mechanism_from_record, round_up
from hedgerow.mechanisms.interface import Mechanism
from hedgerow.mechanisms.mechanism import as_record


@dataclass(frozen=True, slots=True)
class BootstrapTotal:
    """ε of all releases so far, in millionths, rounded up; `plus` returns that with one more.

    Examples
    --------
    >>> noise = lambda epsilon, *part: BootstrapNoise(epsilon, "sum", "whole-table", 4, "1", part[:1], part or None)
    >>> total = BootstrapTotal().plus(noise(0.5)).plus(noise(0.25))
    >>> total.micro
    750000
    >>> total.plus(noise(1.0, "region", "north")).plus(noise(0.75, "region", "south")).micro
    1750000
    """

    whole: int = 0
    parts: Mapping[tuple[str, str], int] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def micro(self) -> int | None:
        """ε in millionths."""
        dearest: dict[str, int] = {}
        for (column, _), spent in self.parts.items():
            dearest[column] = max(dearest.get(column, 0), spent)
        return self.whole + sum(dearest.values())

    def plus(self, mechanism: BootstrapNoise) -> BootstrapTotal:
        """Return the total with one more release; this one is left as it was."""
        price = math.ceil(round(round_up(mechanism.epsilon) * 1e6, 3))
        if mechanism.part is None:
            return BootstrapTotal(self.whole + price, self.parts)
        spent = {**self.parts, mechanism.part: self.parts.get(mechanism.part, 0) + price}
        return BootstrapTotal(self.whole, MappingProxyType(spent))


GUARANTEES: Mapping[str, str] = {
    "dp": "differential privacy",
    GUARANTEE: "bootstrap differential privacy, which is NOT differential privacy",
}
Price = Certificate | BootstrapStatement
Noise = Mechanism | BootstrapNoise
Total = RunningTotal | BootstrapTotal


def check_guarantee(guarantee: object) -> str:
    """Return the name of a guarantee (HG154 where there is none of that name).

    >>> check_guarantee("dp")
    'dp'
    """
    remedy = (
        '"dp" is differential privacy. The guarantee "bootstrap-dp" is weaker than differential privacy, and its '
        "printed statement says which people the guarantee does not protect."
    )
    return one_of(guarantee, GUARANTEES, "`guarantee`", code="HG154", remedy=remedy)


def guarantee_of_ledger(guarantee: object, budget: Budget, relation: str, family: str) -> str:
    """Return the guarantee of a ledger (HG314); bootstrap privacy has no δ, no family, replaced rows only."""
    if not isinstance(guarantee, str) or guarantee not in GUARANTEES:
        raise _malformed('`guarantee` must be "dp" or "bootstrap-dp".', "This one is neither.")
    if guarantee == GUARANTEE and (budget.delta != 0.0 or relation != Relation.REPLACE_ONE or family != "any"):
        raise _malformed(
            'A ledger for "bootstrap-dp" adds up ε alone, between data sets in which one row was replaced.',
            "This one has a delta above 0, another relation, or Gaussian noise only.",
        )
    return guarantee


def priced(price: Price, *, guarantee: str, relation: Relation, unit: str) -> Noise:
    """Return the noise as a ledger will hold it: what is written down is what is priced.

    Raises
    ------
    LedgerError
        HG316: the ledger is for the other guarantee; HG309: for another relation or unit.
    """
    if isinstance(price, BootstrapStatement):
        if guarantee != GUARANTEE:
            raise _other_guarantee("This ledger adds up differential privacy; the request is for bootstrap-dp.")
        if price.unit != unit:
            raise other_protection(relation, unit, (price.relation, price.unit))
        return BootstrapNoise.from_dict(json.loads(canonical(price.mechanism.to_dict())))
    if guarantee == GUARANTEE:
        raise _other_guarantee("This ledger adds up bootstrap-dp; the request is for differential privacy.")
    if (price.relation, price.unit, price.bound) != (relation, unit, "upper"):
        raise other_protection(relation, unit, (price.relation, price.unit))
    return mechanism_from_record(json.loads(canonical(as_record(price.mechanism))))


def noise_record(noise: Noise) -> dict[str, Any]:
    """Return what a link of the chain holds of the noise."""
    return noise.to_dict() if isinstance(noise, BootstrapNoise) else as_record(noise)


def noise_from_record(record: Mapping[str, Any], *, guarantee: str) -> Noise:
    """Read the noise of a link back, of the ledger's guarantee only."""
    return BootstrapNoise.from_dict(record) if guarantee == GUARANTEE else mechanism_from_record(record)


def with_one_more(total: Total, noise: Noise) -> Total:
    """Return a total with one more entry of its own guarantee."""
    match total, noise:
        case BootstrapTotal(), BootstrapNoise():
            return total.plus(noise)
        case RunningTotal(), _ if not isinstance(noise, BootstrapNoise):
            return total.plus(noise)
    raise _other_guarantee("Entries of both were to be added up.")


def _other_guarantee(finding: str) -> LedgerError:
    return LedgerError(
        "HG316",
        rule="A ledger holds prices of one guarantee, differential privacy or bootstrap-dp, since the sum of prices "
        "of both guarantees has no meaning.",
        finding=finding,
        remedy="Use a ledger of the request's own guarantee, made with `hedgerow ledger create`. Nothing was spent.",
    )


def _malformed(rule: str, finding: str) -> ParameterError:
    return ParameterError("HG314", rule=rule, finding=finding, remedy="Nothing was spent.")
