"""A table under differential privacy: planned and priced from public facts, drawn, read, recorded.

The one price is that of `hedgerow.release`: the same plan, mechanism, certificate, ledger and order of spending as any
release. What is new is how it is read: as arrays, with totals.

Which guarantee a table is released under: chosen by name, and only by name.

A table under differential privacy, written again from its record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from hedgerow.clock import today
from hedgerow.engines.source import ColumnSource, Source
from hedgerow.errors import HedgerowError, ParameterError, VerificationError
from hedgerow.facts.validation import format_argument
from hedgerow.ledger.guarantee import check_guarantee
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.noise.lattice import AdditiveTable, NoiseSource
from hedgerow.release.cells.margins import ConsistentTable
from hedgerow.release.execute import certificate_of, draw_tables, read_histograms
from hedgerow.release.forecast import Forecast
from hedgerow.release.plan import Plan
from hedgerow.release.record import (
    Record,
    RecordKind,
    Rewritten,
    plan_of,
    request_of,
    request_record,
    statistics_in_words,
    table_record,
    tables_of,
)
from hedgerow.release.result import recorded_estimate
from hedgerow.release.rewritten import OF_THE_CUSTODIAN, certified_by, level_of
from hedgerow.release.spend import OpenedSource, Product, receipts, spend
from hedgerow.statistics.statistic import StatisticRequest
from hedgerow.tables.bootstrap_table import bootstrap_table
from hedgerow.tables.protected import ProtectedTable
from hedgerow.tables.table_options import TableChoice, choose, choose_by_cell

T = TypeVar("T", bound=ProtectedTable)
Planned = Callable[..., Product[Any, AdditiveTable, ProtectedTable]]


def protected_table(
    asked: StatisticRequest,
    opened: OpenedSource,
    *,
    margins: bool = False,
    request_id: str | None = None,
    planned: Planned | None = None,
    **options: Any,
) -> ProtectedTable:
    """Release a table of counts or totals. Guarantee: (ε, δ)-differential privacy of everything in it.

    Parameters
    ----------
    asked : statistic
        `hg.sum` or `hg.count`.
    opened : OpenedSource
        The source and its public facts.
    margins : bool
        Add consistent totals, at no further price.
    request_id : str, optional
        With a ledger: the same request under the same id is answered from its record.
    planned : callable, optional
        (the table as it is planned alone, whether it has margins, options) → what is released in its place.
    **options
        As `hedgerow.tables.table_options.choose`; with ``cell_bounds``, bounds that differ from cell to cell, as
        `hedgerow.tables.table_options.choose_by_cell`.

    Raises
    ------
    HedgerowError
        If an error is raised before the data are read, nothing is spent. If a release fails after the data are read, a
        `SpentError` says that the price counts as spent.
    """
    choosing = choose if options.get("cell_bounds") is None else choose_by_cell
    given = {name: value for name, value in options.items() if name != "cell_bounds" or value is not None}
    choice = choosing(asked, opened.protection, opened.facts, n=opened.n, **given)
    product: Product[Any, AdditiveTable, ProtectedTable] = TableProduct(choice, certificate_of(choice.plan), opened)
    if planned is not None:
        product = planned(product, margins=margins, options=given)
    table = spend(product, opened.account(request_id))
    return table.with_margins() if margins else table


@dataclass(frozen=True, slots=True)
class TableProduct:
    """A table as what spends."""

    choice: TableChoice
    price: Certificate
    opened: OpenedSource

    @property
    def request(self) -> dict[str, Any]:
        """What was asked, as public plain JSON data."""
        return self.choice.public_record()

    @property
    def in_words(self) -> tuple[str, ...]:
        """What was asked, in words."""
        return self.choice.plan.in_words

    def expected(self, *, n: int | None = None) -> Forecast:
        """Return the errors to expect; where n is private it is a guess."""
        return self.choice.plan.forecast(n=n)

    def reading(self) -> AbstractContextManager[ColumnSource]:
        """Reach the source for the question of the plan."""
        return self.opened.source.reading(self.choice.plan.sent())

    def draw(self, source: ColumnSource, noise: NoiseSource) -> AdditiveTable:
        """Count or add up, and add noise: the only touch of data."""
        return _drawn(self.choice, source, noise)

    def read(self, noisy: AdditiveTable) -> ProtectedTable:
        """Return the table that the noisy numbers tell."""
        return self._dated(noisy, today())

    def write(self, result: ProtectedTable) -> str:
        """Return the record that the ledger keeps."""
        return json.dumps(kept_record(result), ensure_ascii=False, allow_nan=False)

    def from_record(self, text: str) -> ProtectedTable:
        """Return the table that wrote a text (HG502 where it is another kind of record)."""
        noisy, date, choice, price = _from_text(self.choice, text)
        return replace(self, choice=choice, price=price)._dated(noisy, date)

    def _dated(self, noisy: AdditiveTable, date: str | None) -> ProtectedTable:
        table = read_table(self.choice, noisy, self.price, source=self.opened.source.name)
        return replace(table, date=date, about=self.opened.about, backend=self.opened.backend)


def read_table(
    choice: TableChoice, drawn: AdditiveTable, certificate: Certificate | None, *, source: str
) -> ProtectedTable:
    """Return what was drawn as a table; without a certificate it is marked simulated. Post-processing."""
    plan, facts = choice.plan, choice.plan.facts
    (item,) = plan.items
    design, cells = choice.design, choice.design.table_cells(drawn)
    exhaustive = facts.n is not None and facts.limit is None and all(axis.other for axis in plan.request.by)
    return ProtectedTable(
        table=ConsistentTable(cells),
        guarantee="dp",
        option=choice.option,
        reason=choice.reason,
        certificate=certificate,
        source=source,
        relation=str(facts.relation),
        unit=str(facts.unit),
        target=str(facts.target),
        n=facts.n,
        missing=str(plan.request.missing),
        where=plan.request.where,
        weights=None if plan.request.weights is None else plan.request.weights.public_record(),
        derived=plan.request.derived,
        remarks=plan.notes() if design.table_remark is None else (design.table_remark, *plan.notes()),
        unit_value=design.unit_value,
        mechanism=None if certificate is None else item.mechanism,
        known_total=float(facts.n) if exhaustive and facts.n is not None and cells.counted else None,
        request=request_record(plan.request, facts.n),
        noisy=(table_record(drawn),),
    )


def _drawn(choice: TableChoice, source: Source, noise: NoiseSource) -> AdditiveTable:
    (drawn,) = draw_tables(choice.plan, read_histograms(choice.plan, source), noise)
    if drawn is None:
        raise TypeError("a table has groups, so something is drawn")
    return drawn


def kept_record(table: ProtectedTable) -> dict[str, Any]:
    """Return what the ledger keeps: what was asked and the noisy numbers, from which the rest follows; the price."""
    about = {name: getattr(table, name) for name in ("source", "relation", "unit", "n", "target", "where", "date")}
    derived = {"derived": dict(table.derived)} if table.derived else {}
    derived |= {"weights": dict(table.weights)} if table.weights else {}
    head = {"release": {**about, **derived, "methods": {table.method: table.reason}}}
    return {**head, "table": {"guarantee": "dp", "option": table.option}, **table.determining()}


def _from_text(choice: TableChoice, text: str) -> tuple[AdditiveTable, str | None, TableChoice, Certificate]:
    """Return what a ledger kept, by the plan and the price that it was drawn at (HG502 where it holds another thing).

    An earlier version may have planned the same request in another way.
    """
    try:
        record = json.loads(text)
        if "request" not in record:
            # Before what was asked was on record, there were the noisy numbers alone.
            request = request_record(choice.plan.request, choice.plan.facts.n)
            record |= {"request": request, "noisy": [record["noisy"]]}
        certificate = Certificate.from_dict(record["certificate"])
        plan = plan_of(record, certificate, request_of(record))
        (drawn,) = tables_of(record, plan)
        if drawn is None:
            raise ValueError
        return drawn, record["release"].get("date"), replace(choice, plan=plan), certificate
    except (KeyError, TypeError, ValueError, AttributeError, HedgerowError):
        raise VerificationError(
            "HG502",
            rule="A table is read from the record that it left in the ledger.",
            finding="The given text is another kind of record.",
            remedy="Give the request another id, and pay its price.",
        ) from None


def release_table(
    asked: StatisticRequest, opened: OpenedSource, *, guarantee: object = "dp", **options: Any
) -> ProtectedTable:
    """Return the table released under the guarantee that was named.

    Raises
    ------
    ParameterError
        HG127 a `part` under dp; HG154: there is no guarantee of that name.
    HedgerowError
        As `protected_table`.
    """
    if guarantee == "dp":
        if options.pop("part", None) is not None:
            raise ParameterError(
                "HG127",
                rule="`part` of a larger table is only for bootstrap-dp, where the parts share one price.",
                finding="The option was given under dp.",
                remedy="Leave `part` out. Under dp each part of a table is a release, and the ledger adds up the "
                "prices.",
            )
        return protected_table(asked, opened, **options)
    if options.get("cell_bounds") is not None and guarantee == "bootstrap-dp":
        raise ParameterError(
            "HG155",
            rule="The option `cell_bounds` is for totals under dp. Under bootstrap-dp the data themselves determine "
            "the noise.",
            finding=f"Found guarantee={format_argument(guarantee)}.",
            remedy="Leave `cell_bounds` out.",
        )
    for name in ("cell_bounds", "planned"):
        options.pop(name, None)
    return bootstrap_table(asked, opened, guarantee=check_guarantee(guarantee), **options)


# The simulated p-value follows from the random numbers of a version of NumPy.
UNCHECKED: tuple[str, ...] = (*OF_THE_CUSTODIAN, "release.methods.*", "independence.pvalue")


def rewritten_table(record: Record, certificate: Certificate) -> Rewritten:
    """Return the record as a table, or what a ledger keeps of one, is written from what was asked and drawn."""
    if record["table"]["guarantee"] != "dp":
        raise ValueError("a certificate prices no other guarantee")
    if "request" not in record and "reading" not in record:
        return _earlier(record)
    table, plan = _reread(record, certificate)
    written = table.to_dict(level_of(record)) if "estimates" in record else kept_record(table)
    unchecked = UNCHECKED
    if not record["table"].get("margins", True):  # what a ledger keeps of a table has no such field
        unchecked += tuple(_across_cells(record))
    return Rewritten(written, unchecked, certified=certified_by(plan), narrowed=plan.narrowed())


def _across_cells(record: Record) -> Iterator[str]:
    """Yield the drawn numbers of products across cells, which serve the errors of sums over cells alone."""
    for at, noisy in enumerate(record.get("noisy", ())):
        names = noisy["features"]
        for place in range(len(noisy["values"])):
            if names[place % len(names)].startswith("across "):
                yield f"noisy.{at}.values.{place}"


def table_from_record(
    record: Any, *, reread: Callable[[Record, Certificate], tuple[ProtectedTable, Any]] | None = None
) -> ProtectedTable:
    """Return the table of a record, with which percentages and tests are computed at no price.

    Parameters
    ----------
    record : dict
        The record as `ProtectedTable.to_dict` returns it.
    reread : callable, optional
        (record, its certificate) → the table and its plan, of another way to release a table.

    Returns
    -------
    ProtectedTable

    Raises
    ------
    VerificationError
        HG502: the data are not the record of a table, or were altered.

    Examples
    --------
    >>> import hedgerow as hg, pyarrow
    >>> survey = hg.open(pyarrow.table({"sex": [0, 1] * 500}), relation="replace-one")
    >>> table = survey.contingency_table(by={"sex": [0, 1]}, epsilon=1.0)
    >>> table_from_record(table.to_dict()).to_json() == table.to_json()
    True
    """
    try:
        return (reread or _reread)(record, Certificate.from_dict(record["certificate"]))[0]
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, HedgerowError):
        raise VerificationError(
            "HG502",
            rule="A table is read only from a record that hedgerow wrote.",
            finding="The given data are another kind of record, or were altered.",
            remedy="Name the unchanged table.json or table.html of a table under differential privacy; or, if the "
            "request is in the ledger, give the request another id and pay its price.",
        ) from None


def _reread(record: Record, certificate: Certificate) -> tuple[ProtectedTable, Plan]:
    """Return the table of a record, with what it shows, and its plan."""
    about, plan = record["release"], plan_of(record, certificate, request_of(record))
    (drawn,) = tables_of(record, plan)
    if drawn is None:
        raise ValueError("a table has groups, so something is drawn")
    ((_, reason),) = about["methods"].items()
    choice = TableChoice(plan, record["table"]["option"], reason)
    choice = replace(choice, option=choice.design.sensitivity or choice.option)
    return as_recorded(read_table(choice, drawn, certificate, source=about["source"]), record), plan


def as_recorded(table: T, record: Record) -> T:
    """Return the table with what its record says beside the drawn numbers: date, own notes, readings, steps."""
    about = record["release"]
    own = [note for note in about.get("notes", ()) if note in receipts()]
    ((_, reason),) = about["methods"].items()
    stated = {"remarks": (*table.remarks, *own), "date": about.get("date"), "about": about.get("about", {})}
    readings = {"percentages": "of", "independence": "columns"}
    stated["readings"] = {name: tuple(record[name][named]) for name, named in readings.items() if name in record}
    return replace(table, reason=reason, **stated).after(record["steps"])


def _earlier(record: Record) -> Rewritten:
    """Return a record of an earlier version, which holds no more of what was drawn than the estimates."""
    level = level_of(record) if "estimates" in record else 0.95

    def again(entries: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        return (recorded_estimate(entry, None).to_dict(level) for entry in entries)

    # Any other field is none of an earlier table.
    written = {name: record[name] for name in ("release", "table", "estimates", "noisy") if name in record}
    if "estimates" in record:
        margins = [{**margin, "estimates": [*again(margin["estimates"])]} for margin in record["table"]["margins"]]
        written |= {"estimates": [*again(record["estimates"])], "table": {**record["table"], "margins": margins}}
    about = record["release"]
    whole = ("release.**", "table.**", "estimates.**", "noisy.**")
    return Rewritten(written, whole, certified={"relation": about["relation"], "unit": about["unit"]})


RECORD = RecordKind("a table", "table", rewritten_table, lambda record: f"table of {statistics_in_words(record)}")
