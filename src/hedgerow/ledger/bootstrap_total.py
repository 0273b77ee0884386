"""The total of a ledger for bootstrap differential privacy: ε adds up, and disjoint parts cost what the dearest costs.

* Result 7 of O'Keefe & Charest: releases for the SAME D cost Σ ε together.
* Result 8, under the assumption that it needs: where the part of D that every row belongs to is public, a row becomes
  another row of its own part, and releases from disjoint parts cost the most that any one part costs. As printed it is
  false, see docs/methods/bootstrap_dp.md.

So the total is Σ ε of releases from the whole, plus, for each column by which D was parted, the largest Σ ε of a part.
It holds between data sets whose rows are rows of D that agree on every column taken as public in any entry.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from hedgerow.ledger.bootstrap_statement import BootstrapNoise
from hedgerow.mechanisms.certificate import round_up


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
