"""A workload of margins under differential privacy: planned from public facts, priced, drawn, read, recorded."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hedgerow.accounting.calibrate import Calibrated, least_noise
from hedgerow.clock import today
from hedgerow.engines.source import ColumnSource
from hedgerow.errors import HedgerowError, ParameterError, SpentError, VerificationError
from hedgerow.facts.columns import Category, Missing, checked_column
from hedgerow.facts.relation import UnitLimit, max_rows_of
from hedgerow.facts.validation import as_float, format_argument
from hedgerow.margins.asked_margins import (
    CELLS_FIRST,
    Floats,
    closed,
    named_table,
    parse_hierarchies,
    parse_known,
    parse_workload,
    weighed,
)
from hedgerow.margins.crossing import Crossing
from hedgerow.margins.margin_tables import REASON, Margins, table_line
from hedgerow.margins.residuals import TableResiduals
from hedgerow.margins.workload import Workload, meeting
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.mechanism import parts_of
from hedgerow.mechanisms.residual_margins import ColumnSet, ResidualMargins, residual_margins
from hedgerow.noise.lattice import AdditiveTable, NoiseSource
from hedgerow.release.cells.margins import check_hierarchies
from hedgerow.release.cells.shape import Hierarchy, TableShape
from hedgerow.release.designs.design import LEFT_OUT, Design, PlannedStatistic, PublicFacts, complete, only_where
from hedgerow.release.execute import certificate_of, draw_tables, read_histograms
from hedgerow.release.plan import Plan, PlanHolder
from hedgerow.release.record import (
    Record,
    RecordKind,
    Rewritten,
    facts_of,
    request_of,
    request_record,
    statistics_in_words,
    table_record,
)
from hedgerow.release.request import Context, Request, parse_request
from hedgerow.release.rewritten import OF_THE_CUSTODIAN, certified_by
from hedgerow.release.spend import OpenedSource, receipts
from hedgerow.resampling.counted_values import Histogram
from hedgerow.statistics.mean import count, sum
from hedgerow.statistics.statistic import Statistic

_ANY_NUMBER = 2**62
_NO_WEIGHT = 1e-9  # beside weights of about 1
MOST_LOST = 1.05
"""How much more noise the cells of the largest tables may have where their totals are served too."""
_COMPLETE = "every record has a declared category of each column of the margins, as declared"
NO_VALUE = "Records without a value of {} add nothing."


@dataclass(frozen=True, slots=True)
class MarginsDesign(Design[ResidualMargins, AdditiveTable]):
    """How the residuals of all tables are asked, drawn and recorded."""

    drawn_by = ResidualMargins
    statistic: Statistic
    by: tuple[Category, ...]
    facts: PublicFacts
    missing: Missing
    workload: Workload
    method: str = "margins"
    reason: str = REASON

    @property
    def exhaustive(self) -> bool:
        """Whether every record lies in a cell, with a value where values are added up."""
        selected = any(not category.shown for category in self.by)
        declared = self.missing is Missing.DECLARED_COMPLETE
        everywhere = declared or (self.statistic.is_count and all(category.other for category in self.by))
        return everywhere and not selected and self.facts.limit is None

    @property
    def integers(self) -> tuple[int, int, float]:
        """(start, stride, unit): a row with grid index t adds start + stride·t units; 1 where records are counted."""
        grids = self.statistic.grids
        start, stride, unit = (1, 0, 1) if not grids else grids[0][1].about_zero()
        return start, stride, float(unit)

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the most that a row adds, in these units."""
        start, stride, _ = self.integers
        return start, start + stride * (self.statistic.grids[0][1].steps if self.statistic.grids else 0)

    @property
    def public_total(self) -> int | None:
        """The number of records in all cells, where it is public."""
        return self.facts.n if self.exhaustive and self.statistic.is_count else None

    @property
    def query(self) -> Crossing:
        """The one question to the engine."""
        return Crossing(self.statistic.counted, self.by, self.facts.limit, self.missing)

    def mechanism(self, mu: float) -> ResidualMargins:
        """Return the residuals with the noise that serves the weights best, at a price of μ."""
        workload = self.workload
        proportions = workload.proportions()
        return residual_margins(
            workload.sizes,
            workload.released,
            [proportions[table] for table in workload.released],
            mu=mu,
            relation=self.facts.relation,
            exhaustive=self.exhaustive,
            ends=self.ends,
            rows=max_rows_of(self.facts.limit),
        )

    def table(self, data: Histogram, mechanism: ResidualMargins, source: NoiseSource) -> AdditiveTable:
        """Return the exact residuals with noise: what becomes public."""
        complete(data, self.missing)
        if self.missing is Missing.DECLARED_COMPLETE and self.exhaustive and data.outside:
            raise SpentError(
                "HG602",
                rule="A column that was declared complete must have a declared category in every record.",
                finding="These have not. The data were read, so the price of this call counts as spent.",
                remedy='Release the column with missing="drop", or with a category for all other values.',
            )
        query, (start, stride, _) = self.query, self.integers
        return mechanism.noisy([*mechanism.exact(query.levels(data), query.added(data, start, stride))], source)


@dataclass(frozen=True, slots=True)
class ExpectedTable:
    """The noise that one table of the margins is expected to have, computed before budget is spent.

    Attributes
    ----------
    columns : tuple of str
        The columns of the table.
    cells : int
        The number of cells in the table.
    weight : float
        The weight of the table, by which precision is divided among the tables.
    privacy_error : float
        The standard deviation of the noise of each cell. The standard deviation is 0 if the table is public.
    """

    columns: tuple[str, ...]
    cells: int
    weight: float
    privacy_error: float


@dataclass(frozen=True, slots=True, repr=False)
class PlannedMargins(PlanHolder):
    """The plan of a release of margins: the price, and the noise of each table.

    Attributes
    ----------
    plan : Plan
        The request, the public facts and the price.
    design : MarginsDesign
    known : mapping
        {places of columns: numbers} of the tables that are known.
    opened : OpenedSource or None
        What it is planned for.
    hierarchies : tuple of Hierarchy
        Groups of categories, whose totals are sums of the cells of every table.
    """

    plan: Plan
    design: MarginsDesign
    known: Mapping[ColumnSet, Floats]
    opened: OpenedSource | None = field(default=None, compare=False)
    hierarchies: tuple[Hierarchy, ...] = ()

    def __repr__(self) -> str:
        workload = self.design.workload
        what = f"{len(workload.tables):,} tables of up to {workload.order} columns, {workload.cells:,} cells"
        return f"<Margins planned: {what}, ε ≤ {self.epsilon:.6g} at δ = {self.delta:.3g}, {self.plan.facts.relation}>"

    def __str__(self) -> str:
        lines = (table_line(table.columns, table.cells, table.privacy_error) for table in self.expected())
        return "\n".join([repr(self), *lines])

    @property
    def mechanism(self) -> ResidualMargins:
        """What runs."""
        (item,) = self.plan.items
        if item.mechanism is None:
            raise TypeError("something is drawn of every workload")
        return ResidualMargins.of_record(item.mechanism)

    @property
    def price(self) -> Certificate:
        """The certificate; it depends on public facts alone."""
        return certificate_of(self.plan)

    @property
    def request(self) -> dict[str, Any]:
        """What is asked for as plain JSON data, by which a repeated request is recognised."""
        workload = self.design.workload
        return {
            **self.plan.public_record(),
            "margins": {**self._margins_record(), "weights": list(workload.weights)},
        }

    @property
    def in_words(self) -> tuple[str, ...]:
        """What is asked for, in words."""
        known = [
            f"known totals by {', '.join(table['by']) or 'nothing'}: {', '.join(f'{v:.15g}' for v in table['values'])}"
            for table in self._known_record()
        ]
        levels = [level.in_words for level in self.hierarchies]
        return (f"all tables of up to {self.design.workload.order} columns", *self.plan.in_words, *known, *levels)

    def expected(self, *, n: int | None = None) -> tuple[ExpectedTable, ...]:
        """Return each table with the noise that its cells will have.

        Parameters
        ----------
        n : int, optional
            A guess of the number of records, as other plans take it; this noise does not depend on it.

        Returns
        -------
        tuple of ExpectedTable
            One entry for each table: first the total, then the tables of one column, of two columns, and so on.
        """
        workload = self.design.workload
        spread, unit = _noise(workload, self.mechanism), self.design.integers[2]
        return tuple(
            ExpectedTable(self.columns(table), workload.length(table), weight, spread[table] * unit)
            for table, weight in zip(workload.tables, workload.weights, strict=True)
        )

    def columns(self, table: ColumnSet) -> tuple[str, ...]:
        """Return the columns of a table."""
        groups = self.plan.request.groups
        return tuple(str(groups[place].column) for place in table)

    def notes(self) -> tuple[str, ...]:
        """Return what a reader must know about the release as a whole, from public facts."""
        where = self.plan.request.where
        selected = () if where is None else (only_where(where),)
        rest = any(not group.other for group in self.plan.request.groups) and not self.design.exhaustive
        known = [", ".join(self.columns(table)) or "all records" for table in self.known if table]
        column = self.design.statistic.column
        values = () if column is None or self.design.exhaustive else (NO_VALUE.format(column),)
        told = (f"Known totals, which were given and not released: {'; '.join(known)}.",) if known else ()
        return (*selected, *((LEFT_OUT,) if rest else ()), *values, *told)

    def reading(self) -> AbstractContextManager[ColumnSource]:
        """Reach the source for the question of the plan."""
        return self._opened().source.reading(self.plan.sent())

    def draw(self, source: ColumnSource, noise: NoiseSource) -> AdditiveTable:
        """Count, and add noise: the only touch of data."""
        (drawn,) = draw_tables(self.plan, read_histograms(self.plan, source), noise)
        if drawn is None:
            raise TypeError("something is drawn of every workload")
        return drawn

    def read(self, noisy: AdditiveTable) -> Margins:
        """Return the tables that the noisy residuals tell."""
        opened = self._opened()
        made = self.tables(noisy, self.price, source=opened.source.name, date=today())
        return replace(made, about=opened.about, backend=opened.backend)

    def tables(
        self, noisy: AdditiveTable, certificate: Certificate | None, *, source: str, date: str | None = None
    ) -> Margins:
        """Return the tables; without a certificate they are marked simulated. Post-processing."""
        asked, facts, design = self.plan.request, self.plan.facts, self.design
        unit = design.integers[2]
        known = {table: numbers / unit for table, numbers in self.known.items()}
        residuals = TableResiduals.read(design.workload, self.mechanism, noisy.column("residual"), known).scaled(unit)
        return Margins(
            certificate=certificate,
            source=source,
            **facts.record(),
            missing=str(asked.missing),
            where=asked.where,
            derived=asked.derived,
            date=date,
            axes=asked.groups,
            residuals=residuals,
            facts=facts,
            statistic=design.statistic,
            hierarchies=self.hierarchies,
            remarks=self.notes(),
            request={**request_record(asked, facts.n), "margins": self._margins_record()},
            noisy=(table_record(noisy),),
        )

    def write(self, result: Margins) -> str:
        """Return the record that the ledger keeps."""
        return json.dumps(result.kept_record(), ensure_ascii=False, allow_nan=False)

    def from_record(self, text: str) -> Margins:
        """Return the result that wrote a text (HG502 where it is another kind of record)."""
        opened = self._opened()
        made = margins_from_record(json.loads(text))
        return replace(made, source=opened.source.name, about=opened.about, backend=opened.backend)

    def _opened(self) -> OpenedSource:
        if self.opened is None:
            raise TypeError("the margins were planned without a source")
        return self.opened

    def _known_record(self) -> list[dict[str, Any]]:
        given = [table for table in self.known if not any(set(table) < set(other) for other in self.known)]
        named = [table for table in given if table or self.design.public_total is None]
        return [{"by": list(self.columns(table)), "values": self.known[table].reshape(-1).tolist()} for table in named]

    def _margins_record(self) -> dict[str, Any]:
        groups = {"hierarchies": [level.record() for level in self.hierarchies]} if self.hierarchies else {}
        return {"order": self.design.workload.order, "known": self._known_record(), **groups}


def _noise(workload: Workload, mechanism: ResidualMargins) -> dict[ColumnSet, float]:
    variances = dict(zip(mechanism.margins, mechanism.variances, strict=True))
    return {table: math.sqrt(variance) for table, variance in workload.noise_variances(variances).items()}


def plan_margins(
    opened: OpenedSource,
    *,
    by: Any,
    order: object = 3,
    weights: object = None,
    known: object = None,
    target_se: object = None,
    hierarchies: object = None,
    total: object = None,
    bounds: Any = None,
    step: Any = None,
    **options: Any,
) -> PlannedMargins:
    """Return the plan of a workload on an opened source, its columns checked; no value is read.

    Raises
    ------
    HedgerowError
        HG160 and HG162 for hierarchies, HG240 for the workload and its weights, HG241 for known totals, HG242 for
        targets that no weights meet; else as `release.request.parse_request`.
    """
    options.pop("request_id", None)
    if not by:
        raise ParameterError(
            "HG240",
            rule="Margins need at least one column in `by`.",
            finding="None was given.",
            remedy='Name group columns and categories, for example by={"sex": [0, 1], "region": ["N", "S"]}.',
            shell="For example, write --by sex=0,1 --by region=N,S.",
        )
    protection, facts = opened.protection, opened.facts
    units = isinstance(protection.unit, UnitLimit)
    context = Context(facts, units, most_cells=_ANY_NUMBER, related=protection.related)
    asked = count() if total is None else sum(checked_column(total), bounds=bounds, step=step)
    request = parse_request(asked, context=context, by=by, noise="gaussian", **options)
    (policy,), (statistic,) = request.policies, request.statistics
    _check_served(request.budget.delta, policy)
    public = PublicFacts(protection.relation, protection.unit, protection.target, opened.n, request.where)
    if not statistic.is_count and not public.census and statistic.grids[0][1].as_bounds()[0] < 0.0:
        raise ParameterError(
            "HG240",
            rule="A release of margins of totals contains no second moments. The sampling errors of totals are "
            "bounded only if no record adds a negative value.",
            finding="The bounds begin below 0, and the target of the intervals is the population.",
            remedy='Open the source with target="file": the intervals are then about the records of the file.',
        )
    workload, groups = parse_workload(request.groups, order), parse_hierarchies(hierarchies, request.groups, facts)
    design = MarginsDesign(statistic, request.by, public, policy, workload)
    complete_notes = (_COMPLETE,) if policy is Missing.DECLARED_COMPLETE and design.exhaustive else ()
    request = replace(request, notes=(*protection.notes, *request.notes, *complete_notes))
    totals = parse_known(known, request.groups, workload, design.public_total, counts=statistic.is_count)
    workload = replace(weighed(workload, weights, request.groups), known=closed(totals))
    if not workload.released:
        raise ParameterError(
            "HG241",
            rule="Margins release only tables that are not known yet.",
            finding="Every table of these margins is already known.",
            remedy="Raise the order of the margins, or leave one of the known tables out.",
        )
    design = replace(design, workload=workload)
    calibrated = least_noise(design.mechanism, public.relation, request.budget)
    targets = _cells_first(design, calibrated.precision) if weights == CELLS_FIRST else {}
    if target_se is not None:
        for table, wanted in _targets(target_se, request.groups, workload).items():
            targets[table] = min(wanted / design.integers[2], targets.get(table, math.inf))
    if targets:
        design = replace(design, workload=_met(design, targets, calibrated.precision))
        calibrated = least_noise(design.mechanism, public.relation, request.budget)
    return planned_by(design, request, calibrated, totals, opened, groups)


def planned_by(
    design: MarginsDesign,
    request: Request,
    calibrated: Calibrated[ResidualMargins],
    known: Mapping[ColumnSet, Floats],
    opened: OpenedSource,
    hierarchies: tuple[Hierarchy, ...] = (),
) -> PlannedMargins:
    """Return the plan of a design whose noise was found."""
    opened.source.check(design.query)
    items = (PlannedStatistic(design.statistic, design, calibrated.mechanism),)
    plan = Plan(request, design.facts, items, calibrated, source=opened.source)
    return PlannedMargins(plan, design, known, opened, hierarchies)


def _check_served(delta: float, policy: Missing) -> None:
    if delta == 0.0:
        raise ParameterError(
            "HG117",
            rule="The noise of margins is Gaussian, which needs δ > 0.",
            finding="Found delta=0.",
            remedy="Leave delta out to use its default, or release single tables with Laplace noise.",
        )
    if policy is Missing.MIDPOINT:
        raise ParameterError(
            "HG114",
            rule='`missing="midpoint"` is for numbers between bounds; a category has no midpoint.',
            finding='The policy "midpoint" was given for margins, which are counted by categories.',
            remedy='Release the margins with missing="drop" or other=True.',
        )


def _targets(given: object, by: tuple[Category, ...], workload: Workload) -> dict[ColumnSet, float]:
    if not isinstance(given, Mapping) or not given:
        rule = "`target_se` maps tables to standard deviations of their noise."
        raise _unmet(rule, f"Found {format_argument(given)}.")
    targets: dict[ColumnSet, float] = {}
    for name, wanted in given.items():
        number = as_float(wanted)
        if number is None or not 0.0 < number < math.inf:
            raise _unmet("A target is a positive number.", f"Found {format_argument(wanted)}.")
        targets[named_table(name, by, workload, "HG242")] = number
    return targets


def _cells_first(design: MarginsDesign, mu: float) -> dict[ColumnSet, float]:
    """Return noise sds of the largest tables: 1.05 times what they have where no other table matters."""
    workload = design.workload
    wanted = [table for table in workload.largest if table in workload.released]
    smaller = {table: _NO_WEIGHT for table in workload.tables if table not in wanted}
    alone = replace(design, workload=workload.weighed(smaller))
    spread = _noise(alone.workload, alone.mechanism(mu))
    return {table: MOST_LOST * spread[table] for table in wanted}


def served(design: MarginsDesign, weights: object, mu: float) -> tuple[MarginsDesign, dict[ColumnSet, float]]:
    """Return the design with the default weights or those of ``"cells"``, and the noise of each table at μ."""
    if weights == CELLS_FIRST:
        design = replace(design, workload=_met(design, _cells_first(design, mu), mu))
    return design, _noise(design.workload, design.mechanism(mu))


def _met(design: MarginsDesign, targets: Mapping[ColumnSet, float], mu: float) -> Workload:
    """Return the workload with weights that meet the targets at this μ (HG242 where none do)."""
    # A little below, since the price is met up to a tolerance.
    close = {table: wanted * (1.0 - 1e-4) for table, wanted in targets.items()}

    def errors(workload: Workload) -> dict[ColumnSet, float]:
        return _noise(workload, replace(design, workload=workload).mechanism(mu))

    found = meeting(design.workload, errors, close)
    if found is None:
        groups = [category for category in design.by if category.shown]
        table = next(iter(targets))
        named = " × ".join(str(groups[place].column) for place in table) or "all records"
        raise _unmet(
            "Weights of tables trade the noise of one for that of others, at one price.",
            f"No weights meet the targets at this price; that of {named} is among them.",
        )
    return found


def _unmet(rule: str, finding: str) -> ParameterError:
    return ParameterError(
        "HG242", rule=rule, finding=finding, remedy="Raise the noise target or epsilon, or lower the order of margins."
    )


def margins_from_record(record: Any, *, shown: bool = True) -> Margins:
    """Return the margins from their record, so that further numbers can be computed from the margins.

    Parameters
    ----------
    record : mapping
        The record of the margins, as plain JSON data.
    shown : bool
        Whether to compute the shown numbers again, which may take several seconds. If `shown` is False, the margins
        show the noisy numbers.

    Returns
    -------
    Margins

    Raises
    ------
    VerificationError
        HG502: the data are not a record of margins.

    Examples
    --------
    >>> import pyarrow, hedgerow as hg
    >>> survey = hg.open(pyarrow.table({"a": [0, 1] * 500, "b": [0, 0, 1, 1] * 250}), relation="replace-one")
    >>> margins = survey.margins(by={"a": [0, 1], "b": [0, 1]}, order=2, epsilon=1.0)
    >>> margins_from_record(json.loads(margins.to_json())).ask("count(| a=0)") == margins.ask("count(| a=0)")
    True
    """
    try:
        asked = record if shown else {**record, "steps": []}
        return read_margins(asked, Certificate.from_dict(record["certificate"]))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, HedgerowError):
        raise VerificationError(
            "HG502",
            rule="Margins are read only from a record that hedgerow wrote.",
            finding="The given text is another kind of record.",
            remedy="Use the unchanged margins.json; or, if the request is in the ledger, give the request another id "
            "and pay its price.",
        ) from None


def read_margins(record: Record, certificate: Certificate) -> Margins:
    """Return the margins of a record, after its steps.

    Raises
    ------
    KeyError, IndexError, TypeError, ValueError, HedgerowError
        It is no such record.
    """
    return planned_again(record, certificate)[0]


def planned_again(record: Record, certificate: Certificate) -> tuple[Margins, PlannedMargins]:
    """Return the margins of a record, and the plan that it follows from."""
    request, (part,) = request_of(record), parts_of(certificate.mechanism)
    mechanism, facts = ResidualMargins.of_record(part), facts_of(record, request)
    (policy,), (statistic,) = request.policies, request.statistics
    asked = record["request"]["margins"]
    workload = parse_workload(request.groups, asked["order"])
    design = MarginsDesign(statistic, request.by, facts, policy, workload)
    given = {tuple(table["by"]): table["values"] for table in asked["known"]}
    known = parse_known(given, request.groups, workload, design.public_total, counts=statistic.is_count)
    design = replace(design, workload=replace(workload, known=closed(known)))
    fits = (mechanism.sizes, mechanism.margins) == (workload.sizes, design.workload.released)
    stated = (mechanism.exhaustive, mechanism.rows, (mechanism.low, mechanism.high))
    if not fits or stated != (design.exhaustive, max_rows_of(facts.limit), design.ends):
        raise ValueError("the mechanism has other tables than what was asked")
    plan = Plan(request, facts, (PlannedStatistic(statistic, design, mechanism),), None)
    groups = [Hierarchy.from_record(level) for level in asked.get("hierarchies", ())]
    check_hierarchies(TableShape.of(request.groups), groups)
    planned = PlannedMargins(plan, design, known, hierarchies=tuple(groups))
    (table,) = record["noisy"]
    values = np.array(table["values"], dtype=np.float64).reshape(table["shape"])
    if table["features"] != ["residual"] or values.shape != (mechanism.numbers, 1):
        raise ValueError("the noisy numbers are none of the mechanism")
    drawn = AdditiveTable(({},) * len(values), ("residual",), values, mechanism.table_spread(()), mechanism.table_law)
    about = record["release"]
    made = planned.tables(drawn, certificate, source=about["source"], date=about.get("date"))
    own = [note for note in about.get("notes", ()) if note in receipts()]
    made = replace(made, remarks=(*made.remarks, *own), about=about.get("about", {}))
    # Steps of the record of one table with its totals are steps of this table.
    return made if "table" in record else made.after(record["steps"]), planned


def rewritten_margins(record: Record, certificate: Certificate) -> Rewritten:
    """Return the record as margins write it from what was asked, the noisy residuals and the mechanism."""
    made, planned = planned_again(record, certificate)
    whole = "tables" in record["margins"]
    written = made.to_dict(float(record["margins"]["level"])) if whole else made.kept_record()
    counts_units = planned.plan.facts.limit is not None
    return Rewritten(
        {name: value for name, value in written.items() if name != "certificate"},
        (*OF_THE_CUSTODIAN, "release.methods.*"),
        certified=certified_by(planned.plan),
        narrowed=planned.plan.narrowed(),
        counts_units=counts_units,
    )


def _asked(record: Record) -> str:
    return f"{statistics_in_words(record)} in tables of up to {record['request']['margins']['order']} columns"


RECORD = RecordKind("margins", "margins", rewritten_margins, _asked)
