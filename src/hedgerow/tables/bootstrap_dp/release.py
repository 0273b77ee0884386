"""A table under bootstrap differential privacy: requested by name; the scale of its noise depends on the data.

What goes out are noisy numbers on a public grid and a statement in public words; see `BootstrapStatement`. No standard
error, interval or letter goes out with them, since each would tell the scale of the noise, and the scale tells about
the extremes of D. The custodian has them in memory: `BootstrapTable.for_the_custodian`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.clock import today
from hedgerow.engines.query import Query
from hedgerow.engines.source import ColumnSource
from hedgerow.errors import VerificationError
from hedgerow.inference.cells import Subject
from hedgerow.ledger.bootstrap_statement import BootstrapStatement
from hedgerow.noise.source import NoiseSource
from hedgerow.release.bootstrap_dp.custodian import CustodianFigures, Token, figures_of, keep
from hedgerow.release.bootstrap_dp.release import METHOD
from hedgerow.release.cells.cells import TableCells
from hedgerow.release.cells.margins import ConsistentTable
from hedgerow.release.cells.shape import TableShape
from hedgerow.release.designs.design import apply_policy
from hedgerow.release.execute import changed
from hedgerow.release.opened import OpenedSource
from hedgerow.release.spend import spend
from hedgerow.statistics.statistic import Asked
from hedgerow.tables.bootstrap_dp.noise import count_widths, draw, extremes_of, total_widths
from hedgerow.tables.bootstrap_dp.plan import BootstrapPlan, bootstrap_plan
from hedgerow.tables.protected import ProtectedTable

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BootstrapTable(ProtectedTable):
    """A table under ε-bootstrap differential privacy for D, which is NOT differential privacy.

    As `ProtectedTable`, with ``certificate`` a `BootstrapStatement`, and no errors.
    """

    token: Token | None = field(default=None, repr=False)

    def for_the_custodian(self) -> CustodianFigures:
        """Return sensitivities, noise and intervals, for the eyes of D's custodian: confidential, in memory alone.

        Raises
        ------
        ParameterError
            HG159: the table was read back, sent or written.
        """
        return figures_of(self.token)


def bootstrap_table(
    asked: Asked,
    opened: OpenedSource,
    *,
    guarantee: object = None,
    margins: bool = False,
    request_id: str | None = None,
    **options: Any,
) -> BootstrapTable:
    """Release a table of counts or totals. Guarantee: ε-bootstrap differential privacy for D; NOT differential privacy.

    For data sets D1, D2 ∈ Dⁿ, whose n rows are rows of D and which differ in one of them, P(table | D1) ≤ e^ε·P(table |
    D2). Whom that leaves unprotected is in ``table.certificate.unprotected`` and in every output.

    Parameters
    ----------
    asked : statistic
        `hg.sum` or `hg.count`.
    opened : OpenedSource
        The source and its public facts; relation ``"replace-one"``, unit ``"row"``.
    guarantee : "bootstrap-dp"
        To be named: without it the release is refused.
    margins : bool
        Add totals, at no further price.
    request_id : str, optional
        With a ledger: the same request under the same id is answered from its record.
    **options
        As `hedgerow.tables.bootstrap_dp.plan.bootstrap_plan`.

    Raises
    ------
    UncertifiedError
        HG413, HG414: nothing was read or spent.
    LedgerError
        HG316: the ledger is for differential privacy.
    SpentError
        After the data were read: the price counts as spent.

    Notes
    -----
    O'Keefe & Charest (2018), Definitions 5, 9, 10 and section 5.2, with the sensitivities of
    `hedgerow.tables.bootstrap_dp.table_sensitivity` in place of the published ones.
    """
    plan = bootstrap_plan(asked, opened, guarantee=guarantee, **options)
    table = spend(_TableProduct(plan, opened, plan.statement()), opened.account(request_id))
    with_margins: Callable[[], Any] = table.with_margins
    return with_margins() if margins else table


@dataclass(frozen=True, slots=True)
class _TableProduct:
    """A table under bootstrap-dp as what spends."""

    plan: BootstrapPlan
    opened: OpenedSource
    price: BootstrapStatement

    @property
    def request(self) -> dict[str, Any]:
        return self.plan.public_record()

    def reading(self) -> AbstractContextManager[ColumnSource]:
        return self.opened.source.reading([self.plan.query])

    def draw(self, source: ColumnSource, noise: NoiseSource) -> BootstrapTable:
        return _drawn(self.plan, replace(self.opened, source=source), self.price, noise)

    def read(self, noisy: BootstrapTable) -> BootstrapTable:
        return noisy

    def write(self, result: BootstrapTable) -> str:
        return _as_text(result)

    def from_record(self, text: str) -> BootstrapTable:
        return _table(self.plan, self.opened, self.price, *_values_of(text, self.plan))


def _drawn(
    plan: BootstrapPlan, opened: OpenedSource, statement: BootstrapStatement, noise: NoiseSource
) -> BootstrapTable:
    histogram = opened.source.histogram(plan.query)
    if histogram.total() != plan.n:
        raise changed()
    if not plan.statistic.is_count:
        grid = plan.statistic.grid
        histogram = apply_policy(histogram, plan.missing, grid.steps)
        start, stride, unit = grid.about_zero()
        y = start + stride * histogram.index
        sums, widths = histogram.cell_sums(y), total_widths(extremes_of(histogram, y), plan.option, step=stride)
    else:
        # A count counts rows, with or without values.
        sums, widths, unit = histogram.cell_sums(), count_widths(histogram.cells), Fraction(1)
    noisy, scales = draw(sums, widths, statement.epsilon, noise)
    step = float(unit)
    # Divided once, so that a tenth is printed as .1; reading integers as doubles is post-processing.
    values = np.array([float(number * unit) for number in noisy], dtype=np.float64)
    token = keep(CustodianFigures(values, widths * step, scales, step, plan.everywhere()))
    return replace(_table(plan, opened, statement, values, today()), token=token)


def _table(
    plan: BootstrapPlan, opened: OpenedSource, statement: BootstrapStatement, values: Floats, date: str | None
) -> BootstrapTable:
    subject = Subject(plan.statistic.name, plan.statistic.column, METHOD, plan.covers)
    counted = subject.statistic == "count"
    cells = TableCells.without_errors(TableShape.of(plan.by), values, counted=counted, subject=subject)
    return BootstrapTable(
        table=ConsistentTable(cells),
        guarantee="bootstrap-dp",
        option=plan.option,
        reason=plan.reason,
        certificate=statement,
        source=opened.source.name,
        relation=statement.relation,
        unit=statement.unit,
        target=str(opened.protection.target),
        n=plan.n,
        missing=str(plan.missing),
        date=date,
        remarks=(*plan.remarks, *statement.unprotected),
        unit_value=float(plan.statistic.grid.about_zero()[2]) if not plan.statistic.is_count else 1.0,
        backend=opened.backend,
    )


def _as_text(table: BootstrapTable) -> str:
    """Return what the ledger keeps: the noisy numbers, and what was stated of them."""
    price = table.certificate
    record = {
        "release": {name: getattr(table, name) for name in ("source", "relation", "unit", "n", "date")},
        "noisy": table.cells.values.tolist(),
        "certificate": None if price is None else price.to_dict(),
    }
    return json.dumps(record, ensure_ascii=False, allow_nan=False)


def _values_of(text: str, plan: BootstrapPlan) -> tuple[Floats, str | None]:
    try:
        record = json.loads(text)
        values = np.array(record["noisy"], dtype=np.float64)
        if values.shape != (Query(None, plan.by).cells,):
            raise ValueError
        return values, record["release"].get("date")
    except (KeyError, TypeError, ValueError):
        raise VerificationError(
            "HG502",
            rule="A table is read back from the record that it left in the ledger.",
            finding="This is no such record.",
            remedy="Give the request another id, at its price.",
        ) from None
