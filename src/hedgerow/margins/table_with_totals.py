"""A table of counts whose totals are bought with its cells, where this is better: as what spends, and from its record.

A table with margins can be released in two ways at one price: its cells alone, whose sums are the totals, or the
residuals of all tables of its columns. Both forecasts follow from public facts (`hedgerow.margins.beside_table`). The
residuals are taken where a total has at least 1.25 times less noise by them and no number has more than 5 % more. That
is so for most tables with Gaussian noise. Laplace noise is mostly less for the cells, so such a table stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from hedgerow.accounting.calibrate import least_noise
from hedgerow.clock import today
from hedgerow.engines.source import ColumnSource
from hedgerow.facts.columns import Missing
from hedgerow.margins.asked_margins import CELLS_FIRST, parse_known
from hedgerow.margins.beside_table import TotalsForecast, design_of_totals, forecasts_of_totals
from hedgerow.margins.margin_table import MarginTable
from hedgerow.margins.release_margins import PlannedMargins, planned_again, planned_by, served
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.noise.lattice import AdditiveTable, NoiseSource
from hedgerow.release.record import Record, RecordKind, Rewritten, statistics_in_words
from hedgerow.release.rewritten import certified_by, level_of
from hedgerow.release.spend import OpenedSource
from hedgerow.statistics.statistic import StatisticRequest
from hedgerow.tables.protected import ProtectedTable
from hedgerow.tables.release_table import (
    UNCHECKED,
    TableProduct,
    as_recorded,
    kept_record,
    release_table,
    table_from_record,
)

_LAWS = (None, "auto", "gaussian")


def release_better_table(asked: StatisticRequest, opened: OpenedSource, **options: Any) -> ProtectedTable:
    """Release a table, of counts with their totals where this is better; see `tables.release_table.release_table`."""
    return release_table(asked, opened, planned=PlannedTable.planned, **options)


@dataclass(frozen=True, slots=True)
class PlannedTable:
    """A table as what spends.

    Attributes
    ----------
    own : TableProduct
        Its cells alone.
    totals : PlannedMargins or None
        Its cells with its totals, where this is better.
    reason : str
        The forecast by which this is so.
    """

    own: TableProduct
    totals: PlannedMargins | None
    reason: str

    @classmethod
    def planned(cls, own: TableProduct, *, margins: bool, options: Mapping[str, Any]) -> PlannedTable:
        """Return what is released: the better of the two ways where the table has margins, else the cells alone."""
        forecast = _better(own) if margins and options.get("noise") in _LAWS else None
        return cls(own, *((None, "") if forecast is None else (_with_totals(own), _reason(forecast))))

    @property
    def _chosen(self) -> TableProduct | PlannedMargins:
        return self.own if self.totals is None else self.totals

    @property
    def price(self) -> Certificate:
        """The certificate; it depends on public facts alone."""
        return self._chosen.price

    @property
    def request(self) -> dict[str, Any]:
        """What was asked, however it is released: an id that an earlier version has answered is answered again."""
        return self.own.request

    @property
    def in_words(self) -> tuple[str, ...]:
        """What was asked, in words."""
        return (*self.own.in_words, *((self.reason,) if self.reason else ()))

    def expected(self, *, n: int | None = None) -> Any:
        """Return the errors to expect; where n is private it is a guess."""
        return self._chosen.expected(n=n)

    def reading(self) -> AbstractContextManager[ColumnSource]:
        """Reach the source for the question of the plan."""
        return self._chosen.reading()

    def draw(self, source: ColumnSource, noise: NoiseSource) -> AdditiveTable:
        """Count or add up, and add noise: the only touch of data."""
        return self._chosen.draw(source, noise)

    def read(self, noisy: AdditiveTable) -> ProtectedTable:
        """Return the table that the noisy numbers tell."""
        if self.totals is None:
            return self.own.read(noisy)
        opened = self.own.opened
        made = self.totals.tables(noisy, self.price, source=opened.source.name, date=today())
        table = replace(made.whole_table(self.totals.mechanism), reason=self.reason)
        return replace(table, about=opened.about, backend=opened.backend)

    def write(self, result: ProtectedTable) -> str:
        """Return the record that the ledger keeps."""
        return self.own.write(result)

    def from_record(self, text: str) -> ProtectedTable:
        """Return the table that wrote a text (HG502 where it is another kind of record)."""
        record, opened = json.loads(text), self.own.opened
        if not isinstance(record, dict) or RECORD.field not in record:
            return self.own.from_record(text)
        return replace(
            any_table_from_record(record), source=opened.source.name, about=opened.about, backend=opened.backend
        )


def _better(own: TableProduct) -> TotalsForecast | None:
    """Return the forecast of the cells with their totals, where it is the better one; from public facts."""
    plan = own.choice.plan
    # Units of several rows have sampling errors by the moments of their rows, which margins bound. A column that was
    # declared complete may have values of no category, which margins refuse.
    served_alone = plan.facts.limit is not None or plan.request.policies[0] is Missing.DECLARED_COMPLETE
    first = () if served_alone else forecasts_of_totals(plan)[:1]
    return next((forecast for forecast in first if forecast.better), None)


def _with_totals(own: TableProduct) -> PlannedMargins:
    plan, opened = own.choice.plan, own.opened
    design, budget = design_of_totals(plan), plan.request.budget
    assert design is not None  # there is a forecast
    mu = least_noise(design.mechanism, plan.facts.relation, budget).precision
    design, _ = served(design, CELLS_FIRST, mu)
    calibrated = least_noise(design.mechanism, plan.facts.relation, budget)
    known = parse_known(None, plan.request.groups, design.workload, design.public_total)
    return planned_by(design, plan.request, calibrated, known, opened)


def _reason(forecast: TotalsForecast) -> str:
    *_, cells = forecast.columns
    most = max(forecast.gains, key=lambda table: forecast.gains[table])
    cell, total = (
        f"± {forecast.of_margins[table]:.3g} in place of ± {forecast.of_table[table]:.3g}" for table in (cells, most)
    )
    named = f"a total by {' × '.join(forecast.columns[most])}" if most else "the grand total"
    return f"totals are released with the cells, at one price: noise of {cell} a cell, of {total} {named}"


def any_table_from_record(record: Any) -> ProtectedTable:
    """Return the table of a record, of its cells alone or with its totals; see `tables.release_table`.

    Raises
    ------
    VerificationError
        HG502: the data are not the record of a table.

    Examples
    --------
    >>> import hedgerow as hg, pyarrow
    >>> people = pyarrow.table({"a": [0, 1, 2, 3] * 250, "b": [0, 0, 1, 1, 2] * 200})
    >>> survey = hg.open(people, relation="replace-one")
    >>> table = survey.contingency_table(by={"a": range(9), "b": range(9)}, mu=0.3, margins=True)
    >>> any_table_from_record(table.to_dict()).to_json() == table.to_json()
    True
    """
    with_totals = isinstance(record, dict) and RECORD.field in record
    return table_from_record(record, reread=_reread if with_totals else None)


def _reread(record: Record, certificate: Certificate) -> tuple[MarginTable, PlannedMargins]:
    made, planned = planned_again(record, certificate)
    return as_recorded(made.whole_table(planned.mechanism), record), planned


def _rewritten(record: Record, certificate: Certificate) -> Rewritten:
    table, planned = _reread(record, certificate)
    written = table.to_dict(level_of(record)) if "estimates" in record else kept_record(table)
    return Rewritten(written, UNCHECKED, certified=certified_by(planned.plan), narrowed=planned.plan.narrowed())


RECORD = RecordKind("a table", "workload", _rewritten, lambda record: f"table of {statistics_in_words(record)}")
