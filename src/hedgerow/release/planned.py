"""A plan from public facts alone: what was asked, whom it protects, and n where it is public."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hedgerow.facts.declared import Facts
from hedgerow.facts.unit import UnitLimit
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.plan import Plan, make_plan
from hedgerow.release.request.request import parse_request
from hedgerow.release.request.told import Told


def planned(statistics: object, told: Told, facts: Facts | None, *, n: int | None, **options: Any) -> Plan:
    """Return the plan of a release: `options` as in `Survey.release`, the rest from the facts. No source is needed.

    Raises
    ------
    HedgerowError
        As `parse_request` and `make_plan`.

    Examples
    --------
    >>> from hedgerow.release.request.told import told_facts
    >>> from hedgerow.resampling.statistic import count
    >>> planned(count(), told_facts(None, relation="add-remove"), None, n=None, epsilon=1.0)
    <Plan of 1 statistic of 1 cell, ε ≤ 0.9997 at δ = 1e-06, add-remove>
    """
    request = parse_request(statistics, facts=facts, units=isinstance(told.unit, UnitLimit), **options)
    request = replace(request, notes=(*told.notes, *request.notes))
    return make_plan(request, PublicFacts(told.relation, told.unit, told.target, n))
