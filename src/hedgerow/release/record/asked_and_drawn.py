"""What a record holds of a release: what was asked, and the noisy numbers; and the release, read again from both.

``request`` is what was asked, ``noisy`` what was drawn: each table as the mechanism made it, cells × features, or cells
× features × replicates. Counts of a whole column stand under ``distributions``. All else on a record follows from these
and from the certificate's mechanism, and is computed anew. There are three exceptions. The code of a function of one's
own is not on record, so its numbers are copied. The source, the date and who publishes are known to the custodian
alone. The reasons of the methods rest on a search among designs, which is not repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Category, CellLabels, Missing, Selection
from hedgerow.facts.expression import DerivedColumn
from hedgerow.facts.relation import Relation, Target, unit_of_text
from hedgerow.facts.weights import Weights
from hedgerow.inference.estimate import Estimate
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.mechanism import parts_of
from hedgerow.noise.table import AdditiveTable
from hedgerow.release.designs.bootstrap import BootstrapDesign
from hedgerow.release.designs.cell_totals import CellTotalsDesign
from hedgerow.release.designs.counts import CountsDesign
from hedgerow.release.designs.design import Design, PartOfRecord, PlannedStatistic, PublicFacts, Recorded
from hedgerow.release.designs.distribution import DistributionStatistic
from hedgerow.release.designs.joint_statistic import JointStatistic
from hedgerow.release.designs.moments import MomentsDesign
from hedgerow.release.designs.unit_bootstrap import UnitBootstrapDesign
from hedgerow.release.plan import Plan
from hedgerow.release.record.kind import Record
from hedgerow.release.request import Request, parse_estimator
from hedgerow.statistics.registry import statistic_from_record

_PAID = Budget(1.0)  # what was asked for is paid: the certificate says at which price


def request_record(request: Request, n: int | None) -> dict[str, Any]:
    """Return what was asked, of how many records where that is public, as plain JSON data: see `request_of`.

    What the mechanism was chosen for (the budget, its shares, the law) is not needed: the mechanism is on record.
    """
    given = {"n_resamples": request.n_resamples, "interval": request.interval}
    return {
        "statistics": [one.record() for one in request.statistics],
        "by": [one.record() for one in request.groups],
        "missing": [str(policy) for policy in request.policies],
        "n": n,
        "estimator": request.estimator,
        "membership": request.membership,
        "notes": list(request.notes),
        **{name: value for name, value in given.items() if value is not None},
    }


def request_of(record: Record) -> Request:
    """Return what a record says was asked.

    Raises
    ------
    KeyError, TypeError, ValueError, HedgerowError
        It is no such record.
    """
    asked, about = record["request"], record["release"]
    derived, weights = about.get("derived", {}), about.get("weights")

    def name(column: str) -> str:
        return DerivedColumn.named(column, derived[column]) if column in derived else column

    groups = [replace(one, column=name(one.column)) for one in map(Category.from_record, asked["by"])]
    chosen = [] if about.get("where") is None else [Selection.of(about["where"]).renamed(name)]
    statistics = tuple(statistic_from_record(one).renamed(name) for one in asked["statistics"])
    return Request(
        statistics,
        (*groups, *chosen),
        _PAID,
        parse_estimator(asked["estimator"]),
        "auto",
        tuple(map(Missing, asked["missing"])),
        (1.0 / len(statistics),) * len(statistics),
        asked.get("n_resamples"),
        asked.get("interval"),
        tuple(asked["notes"]),
        bool(asked["membership"]),
        weights=None if weights is None else Weights.declared((name(weights["column"]), weights["most"])),
    )


def facts_of(record: Record, request: Request) -> PublicFacts:
    """Return the public facts that a record states."""
    about = record["release"]
    unit, target = unit_of_text(about["unit"]), Target(about["target"])
    n = record["request"]["n"]
    return PublicFacts(Relation(about["relation"]), unit, target, n, request.where, request.weights)


def noisy_record(plan: Plan, tables: Sequence[AdditiveTable | None]) -> list[dict[str, Any]]:
    """Return the noisy numbers of each table that was drawn, in the order of the mechanism's parts, as JSON data."""
    found: dict[int, dict[str, Any]] = {}
    for item, table in zip(plan.items, tables, strict=True):
        if item.design is not None and table is not None and table.features:
            found.setdefault(id(item.design.drawn), table_record(table))
    return list(found.values())


def kept_records(plan: Plan, estimates: Sequence[Estimate]) -> dict[str, tuple[dict[str, Any], ...]]:
    """Return what a record keeps of what was drawn beside its noisy numbers: lists of plain JSON data, by field.

    ``joint`` holds, for each joint release, its features and its noisy moments by cell. Its ``noise_covariance`` is
    that of (N, Σf, Σff' above the diagonal and on it, row by row), the same in each cell; its ``functions`` are those
    of each statistic with how it was read. ``distributions`` holds the noisy counts of whole columns. ``estimates``
    are the places of the estimates that were read from each.
    """
    kept: dict[int, PartOfRecord] = {}
    for places, item in plan.places():
        part = None if item.design is None else item.design.part_of_record(estimates[places[0]])
        if item.design is None or part is None:
            continue
        whole = kept.setdefault(id(item.design.drawn), part).whole
        whole["estimates"] += places
        if part.function is not None:
            whole["functions"].append({"estimates": list(places), "function": part.function})
    return {
        name: tuple(part.whole for part in kept.values() if part.name == name) for name in ("joint", "distributions")
    }


def table_record(table: AdditiveTable) -> dict[str, Any]:
    """Return the noisy numbers of a table as plain JSON data, cell by cell.

    >>> table_record(AdditiveTable(({},), ("count",), np.array([[7.0]]), np.array([2.0]), "gaussian"))
    {'features': ['count'], 'shape': [1, 1], 'values': [7.0]}
    """
    values = table.values
    return {"features": list(table.features), "shape": list(values.shape), "values": values.reshape(-1).tolist()}


_DESIGNS: tuple[type[Design[Any, Any]], ...] = (
    JointStatistic,
    DistributionStatistic,
    CountsDesign,
    MomentsDesign,
    CellTotalsDesign,
    UnitBootstrapDesign,
    BootstrapDesign,
)


def plan_of(record: Record, certificate: Certificate, request: Request) -> Plan:
    """Return the plan that a record was made by, with the mechanism of its certificate.

    Raises
    ------
    KeyError, IndexError, TypeError, ValueError, HedgerowError
        What was asked does not fit the mechanism.
    """
    facts, parts = facts_of(record, request), parts_of(certificate.mechanism)
    cells = len(CellLabels(request.by))
    places = list(_parts_by_place(record, request, cells))
    if len({place for place in places if place is not None}) != len(parts):
        raise ValueError("the mechanism has another number of parts than what was asked")
    starts = list(accumulate((1 if place is None else cells for place in places), initial=0))
    designs: dict[int, Design[Any, Any]] = {}
    for part, mechanism in enumerate(parts):
        own = [at for at, place in enumerate(places) if place == part]
        about = Recorded(
            tuple(request.statistics[at] for at in own),
            request.by,
            facts,
            request.policies[own[0]],
            mechanism,
            method_of(record, starts[own[0]]),
            request.estimator,
            request.interval,
            request.n_resamples,
            request.membership,
            next((one for one in record.get("distributions", ()) if starts[own[0]] in one["estimates"]), None),
        )
        found = next(filter(None, (kind.of_record(about) for kind in _DESIGNS)), ())
        designs |= dict(zip(own, found, strict=True))
    items = (
        PlannedStatistic(one, designs.get(at), None if place is None else parts[place])
        for at, (one, place) in enumerate(zip(request.statistics, places, strict=True))
    )
    return Plan(request, facts, tuple(items), None)


def tables_of(record: Record, plan: Plan) -> list[AdditiveTable | None]:
    """Return the noisy tables on record, for each statistic of a plan; None where its answer is public.

    Raises
    ------
    KeyError, IndexError, TypeError, ValueError
        They are none of the plan.
    """
    cells = CellLabels(plan.request.by)
    kept = {name: iter(record.get(name, ())) for name in {one.kept_in for one in _DESIGNS}}
    tables = plan.each_drawn(
        lambda design, mechanism: design.table_on_record(next(kept[design.kept_in], {}), mechanism, cells)
    )
    if any(next(left, None) is not None for left in kept.values()):
        raise ValueError("the record holds more tables than were asked for")
    return tables


def method_of(record: Record, place: int) -> str:
    """Return the method of an estimate; of a table, which has one for all its cells, that of the table."""
    if "table" in record:
        (method,) = record["release"]["methods"]
        return str(method)
    return str(record["estimates"][place]["method"])


def _parts_by_place(record: Record, request: Request, cells: int) -> Iterator[int | None]:
    """Yield, for each statistic, which part of the mechanism made it; None where its answer is public.

    Statistics that joint moments, or the counts of one column, tell share a part. Parts come in the order in which
    statistics first need them.
    """
    shared = {
        int(place): (name, at)
        for name in ("joint", "distributions")
        for at, one in enumerate(record.get(name, ()))
        for place in one["estimates"]
    }
    seen: dict[object, int] = {}
    at = 0
    for statistic in range(len(request.statistics)):
        public = method_of(record, at) == "public"
        yield None if public else seen.setdefault(shared.get(at, ("own", statistic)), len(seen))
        at += 1 if public else cells
