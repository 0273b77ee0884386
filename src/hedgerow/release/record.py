"""What a record holds of a release: what was asked, and the noisy numbers; and the release, read again from both.

``request`` is what was asked, ``noisy`` what was drawn: each table as the mechanism made it, cells × features, or cells
× features × replicates. Counts of a whole column stand under ``distributions``. All else on a record follows from these
and from the certificate's mechanism, and is computed anew. There are three exceptions. The code of a function of one's
own is not on record, so its numbers are copied. The source, the date and who publishes are known to the custodian
alone. The reasons of the methods rest on a search among designs, which is not repeated.

With what a record keeps of joint moments a reader computes any smooth function of what was released.

The record of any product is checked in one way: the product reads the record and writes it again, and the two are
compared. A product that leaves records has a `RecordKind`; `hedgerow.reports.verify.verification` lists them and
compares every field. No field is checked by a list kept by hand: a field that nothing on record determines is copied,
and its kind names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import accumulate
from typing import Any, TypeVar, overload

import numpy as np

from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Category, CellLabels, Missing, Selection
from hedgerow.facts.expression import DerivedColumn
from hedgerow.facts.relation import Relation, Target, Weights, parse_unit_weight, unit_of_text
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.joint.arithmetic import JointValue, counted_cells, table_of
from hedgerow.inference.joint.function_record import function_of
from hedgerow.inference.joint.totals import JointTotals
from hedgerow.inference.region import Region, ScoreRegion
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.interface import AtomicMechanism, Floats, Mechanism
from hedgerow.mechanisms.joint.joint_moments import JointMoments
from hedgerow.mechanisms.mechanism import parts_of
from hedgerow.noise.lattice import AdditiveTable
from hedgerow.release.designs.column_distribution import DistributionStatistic
from hedgerow.release.designs.design import Design, PartOfRecord, PlannedStatistic, PublicFacts, Recorded
from hedgerow.release.designs.joint.joint_choice import JointQuestion
from hedgerow.release.designs.joint.joint_release import joint_totals
from hedgerow.release.designs.joint.joint_statistic import JointStatistic
from hedgerow.release.designs.joint.unit_products import across_cells, read_as
from hedgerow.release.designs.plain_counts import CountsDesign
from hedgerow.release.designs.row_bootstrap import BootstrapDesign
from hedgerow.release.designs.sums import CellTotalsDesign, MomentsDesign
from hedgerow.release.designs.survival_design import SurvivalDesign
from hedgerow.release.designs.unit_bootstrap import UnitBootstrapDesign
from hedgerow.release.many_cells import NOT_LISTED
from hedgerow.release.plan import Plan
from hedgerow.release.request import LISTED_CELLS, Request, parse_estimator
from hedgerow.statistics.registry import classes, statistic_from_record
from hedgerow.statistics.statistic import Powers

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
    counts_units : bool
        Whether units of several rows were counted once each, by a mechanism that is priced for one row of a unit.
    """

    record: Record
    unchecked: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    certified: Mapping[str, Any] = field(default_factory=dict)
    narrowed: str | None = None
    counts_units: bool = False


def fields_of_mechanism(*fields: str, part: str = "*") -> tuple[str, ...]:
    """Return the fields of a mechanism as a record names them, where it stands alone and where it is one of several.

    One of the two names no field of a record.

    >>> fields_of_mechanism("scale")
    ('certificate.mechanism.scale', 'certificate.mechanism.parts.*.scale')
    """
    return tuple(f"certificate.mechanism.{place}{field}" for field in fields for place in ("", f"parts.{part}."))


NOISE_OF_NUMBERS = fields_of_mechanism("coordinates.*.noise.*", "coordinates.*.coarse")
"""The noise of numbers, where a record states no error that would show the noise."""


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
    asked : callable
        record → what was asked for, in a few words, without groups and conditions. It may raise the same.
    """

    name: str
    field: str
    rewrite: Callable[[Record, Certificate], Rewritten]
    asked: Callable[[Record], str]

    def in_words(self, record: Record) -> str:
        """Return what a record was asked for: statistics or a formula, its groups, and its condition."""
        request, about = record.get("request", {}), record.get("release", {})
        by, where = request.get("by", ()), about.get("where", request.get("where"))
        groups = list(by) if isinstance(by, Mapping) else [group["column"] for group in by]
        return (
            self.asked(record) + (f" by {', '.join(groups)}" if groups else "") + (f" where {where}" if where else "")
        )


def statistics_in_words(record: Record) -> str:
    """Return the statistics of a record with their columns.

    >>> statistics = [{"statistic": "mean", "column": "age"}, {"statistic": "count"}]
    >>> statistics_in_words({"request": {"statistics": statistics}})
    'mean of age, count'
    """
    return ", ".join(map(_statistic_in_words, record["request"]["statistics"]))


def _statistic_in_words(asked: Mapping[str, Any]) -> str:
    columns = [asked[key] for key in ("column", "numerator", "denominator") if isinstance(asked.get(key), str)]
    columns += [column for column in asked.get("columns", ()) if isinstance(column, str)]
    return f"{asked['statistic']} of {', '.join(columns)}" if columns else str(asked["statistic"])


_PAID = Budget(1.0)  # what was asked for is paid: the certificate says at which price


def request_record(request: Request, n: int | None) -> dict[str, Any]:
    """Return what was asked, of how many records where that is public, as plain JSON data: see `request_of`.

    What the mechanism was chosen for (the budget, its shares, the law) is not needed: the mechanism is on record.
    """
    given = {"n_resamples": request.n_resamples, "interval": request.interval}
    return {
        "statistics": [statistic.record() for statistic in request.statistics],
        "by": [group.record() for group in request.groups],
        "missing": [str(policy) for policy in request.policies],
        "n": n,
        "estimator": request.estimator,
        "membership": request.membership,
        "notes": list(request.notes),
        **{name: value for name, value in given.items() if value is not None},
        **({"unit_weight": request.unit_weight} if request.unit_weight == "unit" else {}),
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

    groups = [replace(category, column=name(category.column)) for category in map(Category.from_record, asked["by"])]
    chosen = [] if about.get("where") is None else [Selection.of(about["where"]).renamed(name)]
    statistics = tuple(statistic_from_record(entry).renamed(name) for entry in asked["statistics"])
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
        unit_weight=parse_unit_weight(asked.get("unit_weight"), units=unit_of_text(about["unit"]) != "row"),
    )


def facts_of(record: Record, request: Request) -> PublicFacts:
    """Return the public facts that a record states."""
    about = record["release"]
    unit, target = unit_of_text(about["unit"]), Target(about["target"])
    n = record["request"]["n"]
    return PublicFacts(
        Relation(about["relation"]), unit, target, n, request.where, request.weights, request.unit_weight
    )


def noisy_record(plan: Plan, tables: Sequence[AdditiveTable | None]) -> list[dict[str, Any]]:
    """Return the noisy numbers of each table that was drawn, in the order of the mechanism's parts, as JSON data."""
    noisy: dict[int, dict[str, Any]] = {}
    for item, table in zip(plan.items, tables, strict=True):
        if item.design is not None and table is not None and table.features:
            noisy.setdefault(id(item.design.drawn), table_record(table))
    return list(noisy.values())


class KeptParts(Sequence[dict[str, Any]]):
    """What a record keeps of what was drawn, each part made when it is first read, and then kept.

    A list of 100,000 cells takes as long as their release.

    >>> parts = KeptParts([lambda: {"cells": []}])
    >>> len(parts), parts[0], parts == ({"cells": []},)
    (1, {'cells': []}, True)
    """

    __slots__ = ("_parts",)

    def __init__(self, parts: Iterable[Callable[[], dict[str, Any]]]) -> None:
        self._parts = tuple(map(cache, parts))

    def __len__(self) -> int:
        return len(self._parts)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | Sequence[dict[str, Any]]:
        return [part() for part in self._parts[index]] if isinstance(index, slice) else self._parts[index]()

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, (tuple, KeptParts)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as of the mappings in it

    def __reduce__(self) -> tuple[type[tuple[Any, ...]], tuple[tuple[dict[str, Any], ...]]]:
        return tuple, (tuple(self),)


def kept_records(plan: Plan, estimates: Sequence[Estimate]) -> dict[str, KeptParts]:
    """Return what a record keeps of what was drawn beside its noisy numbers: lists of plain JSON data, by field.

    ``joint`` holds, for each joint release, its features and its noisy moments by cell. Its ``noise_covariance`` is
    that of (N, Σf, Σff' above the diagonal and on it, row by row), the same in each cell. Of more than 64 numbers it is
    left out, since it follows from the mechanism on the certificate. Its ``functions`` are those of each statistic with
    how it was read. ``distributions`` holds the noisy counts of whole columns. ``estimates``
    are the places of the estimates that were read from each; of more than 100,000 cells, that of the first cell alone,
    and no moments.
    """
    parts: dict[int, tuple[PartOfRecord, list[int], list[dict[str, Any]]]] = {}
    for places, item in plan.places():
        part = None if item.design is None else item.design.part_of_record(estimates[places[0]])
        if item.design is None or part is None:
            continue
        of_each = places[:1] if len(places) > LISTED_CELLS else places
        _, read, functions = parts.setdefault(id(item.design.drawn), (part, [], []))
        read += of_each
        if part.function is not None:
            functions.append({"estimates": list(of_each), "function": part.function})

    def whole(part: PartOfRecord, read: list[int], functions: list[dict[str, Any]]) -> dict[str, Any]:
        return {"estimates": read, **({"functions": functions} if functions else {}), **part.whole()}

    return {
        name: KeptParts(partial(whole, *about) for about in parts.values() if about[0].name == name)
        for name in ("joint", "distributions")
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
    SurvivalDesign,
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
            next((part for part in record.get("distributions", ()) if starts[own[0]] in part["estimates"]), None),
        )
        own_designs = next(filter(None, (kind.of_record(about) for kind in _DESIGNS)), ())
        designs |= dict(zip(own, own_designs, strict=True))
    items = (
        PlannedStatistic(statistic, designs.get(at), None if place is None else parts[place])
        for at, (statistic, place) in enumerate(zip(request.statistics, places, strict=True))
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
    tables_by_field = {name: iter(record.get(name, ())) for name in {design.kept_in for design in _DESIGNS}}
    tables = plan.each_drawn(
        lambda design, mechanism: design.table_on_record(next(tables_by_field[design.kept_in], {}), mechanism, cells)
    )
    if any(next(left, None) is not None for left in tables_by_field.values()):
        raise ValueError("the record holds more tables than were asked for")
    return tables


def regions_of_tables(record: Record, certificate: Certificate) -> dict[int, Region]:
    """Return the regions of the estimates that a table of counts for several statistics tells, by their places.

    Raises
    ------
    KeyError, IndexError, TypeError, ValueError, HedgerowError
        It is no such record.
    """
    request = request_of(record) if "request" in record else None
    if request is None or all(statistic.shared_table is None for statistic in request.statistics):
        return {}
    plan = plan_of(record, certificate, request)
    return {
        place: estimate._region
        for (places, item), table in zip(plan.places(), tables_of(record, plan), strict=True)
        if item.design is not None and item.statistic.shared_table is not None
        for place, estimate in zip(places, item.design.estimates(table), strict=True)
    }


def method_of(record: Record, place: int) -> str:
    """Return the method of an estimate; of a table, which has one for all its cells, that of the table."""
    if "table" in record:
        (method,) = record["release"]["methods"]
        return str(method)
    if NOT_LISTED in record:
        return str(record[NOT_LISTED]["methods"][place // record[NOT_LISTED]["cells"]])
    return str(record["estimates"][place]["method"])


def _parts_by_place(record: Record, request: Request, cells: int) -> Iterator[int | None]:
    """Yield, for each statistic, which part of the mechanism made it; None where its answer is public.

    Statistics that joint moments, or one table of counts, tell share a part. Parts come in the order in which
    statistics first need them.
    """
    shared = {
        int(place): (name, at)
        for name in ("joint", "distributions")
        for at, part in enumerate(record.get(name, ()))
        for place in part["estimates"]
    }
    seen: dict[object, int] = {}
    at = 0
    for place, (statistic, missing) in enumerate(zip(request.statistics, request.policies, strict=True)):
        public = method_of(record, at) == "public"
        own: object = ("own", place) if statistic.shared_table is None else (statistic.shared_table, missing)
        yield None if public else seen.setdefault(shared.get(at, own), len(seen))
        at += 1 if public else cells


P = TypeVar("P", bound=AtomicMechanism)


def moved(record: Mapping[str, Any], before: int) -> dict[str, Any]:
    """Return a part of a record as it stands behind so many estimates of other releases."""
    functions = [
        {**function, "estimates": [before + place for place in function["estimates"]]}
        for function in record["functions"]
    ]
    return {**record, "estimates": [before + place for place in record["estimates"]], "functions": functions}


def joint_values(
    records: Sequence[Mapping[str, Any]], mechanism: Mechanism, about: RecordedFacts
) -> dict[int, ScoreRegion]:
    """Return the regions of the estimates of a record, by their places: they know what one computes with.

    Parameters
    ----------
    records : sequence of mapping
        The parts of a record under ``joint``. One without functions, as written before they were kept, tells nothing.
    mechanism : Mechanism
        What is priced: it tells the noise on the moments.
    about : RecordedFacts
        What the record says of its release.

    Raises
    ------
    KeyError, TypeError, ValueError, AttributeError, IndexError
        It is no such record.
    """
    classes()  # the file of a statistic defines its function of totals
    regions: dict[int, ScoreRegion] = {}
    for entry, part in with_parts(records, JointStatistic.parts(mechanism), counted=False):
        whole = totals_of(entry, part, about)
        totals = whole.totals  # put together of all cells at each call
        for read in entry.get("functions", ()):
            for cell, place in enumerate(read["estimates"]):
                function = function_of(read["function"], totals[cell], cell)
                if function is not None:
                    regions[int(place)] = ScoreRegion.of(JointValue.of(whole, cell, function))
    for entry, counts in with_parts(records, CountsDesign.parts(mechanism), counted=True):
        features = tuple(str(name) for name in entry["counted"])
        sums = np.array([cell["sums"] for cell in entry["cells"]], dtype=np.float64)
        table = table_of(sums, features, counts.table_spread(features), counts.noise_law.name)
        several = counts.rows is not None
        numbers, column = counted_cells(
            table, n=about.n, census=about.census, method=counts.methods[0], several=several
        )
        region = ScoreRegion(numbers.test, column)
        regions |= {int(place): region.row(cell) for cell, place in enumerate(entry["estimates"])}
    return regions


def with_parts(
    records: Sequence[Mapping[str, Any]], parts: Sequence[P], *, counted: bool
) -> Iterator[tuple[Mapping[str, Any], P]]:
    """Yield the parts of a record under ``joint`` that are counts, or that are not, each with its mechanism.

    Releases that were pooled, or written by another version, keep fewer; then their mechanisms are not told apart. Of
    more than 100,000 cells no moments are kept.
    """
    own = [part for part in records if ("counted" in part) is counted and "cells" in part]
    if len(own) == len(parts):
        yield from zip(own, parts, strict=True)


def totals_of(record: Mapping[str, Any], mechanism: JointMoments, about: RecordedFacts) -> JointTotals:
    """Return the noisy moments on record, with the noise of the mechanism on them."""
    powers = _powers(record)
    totals, products = (
        np.array([cell[name] for cell in record["cells"]], dtype=np.float64) for name in ("sums", "second_moments")
    )
    between = np.array([cell.get("across", []) for cell in record["cells"]], np.float64)
    across = across_cells(between, mechanism, mechanism.noise_sds())
    matrix = None if _plain(powers) or mechanism.layout.added is None else read_as(powers)
    return JointTotals(
        totals[:, 0],
        totals[:, 1:],
        products,
        _mixing(mechanism, powers, about),
        str(record["noise_law"]),
        about.n,
        None if _plain(powers) else powers,
        about.census,
        mechanism.layout.added,
        mechanism.layout.parts or 1,
        across=across if across is None or matrix is None else across.with_features(matrix[:, 1:]),
    )


@dataclass(frozen=True, slots=True)
class RecordedFacts:
    """What a record says of its release: the public number of records, or None, and whether it is of a census."""

    n: int | None
    census: bool


def _powers(record: Mapping[str, Any]) -> Powers:
    return tuple(tuple(int(power) for power in each) for each in record["powers"])


def _plain(powers: Powers) -> bool:
    return all(sum(power) == 1 for power in powers)


def _mixing(mechanism: JointMoments, powers: Powers, about: RecordedFacts) -> Floats:
    """Return the noise on (N, Σf, Σff') as independent numbers of variance 1, mixed."""
    layout, n, read = mechanism.layout, about.n, () if _plain(powers) else powers
    of_records, of_rows = (read, ()) if layout.added is None else ((), read)
    asked = JointQuestion(layout, (), 1.0, n is not None, about.census, True, of_records, of_rows=of_rows)
    numbers = np.zeros((1, len(mechanism.names)))
    table = AdditiveTable(({},), mechanism.names, numbers, mechanism.noise_sds(), mechanism.noise_law.name)
    return joint_totals(table, mechanism, asked, n=n).mixing
