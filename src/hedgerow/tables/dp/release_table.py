"""A table under differential privacy: planned and priced from public facts, drawn, read, recorded.

The one price is that of `hedgerow.release`: the same plan, mechanism, certificate, ledger and order of spending as any
release. What is new is how it is read: as arrays, with totals.
"""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.clock import today
from hedgerow.engines.source import ColumnSource, Source
from hedgerow.errors import VerificationError
from hedgerow.facts.columns import CellLabels
from hedgerow.inference.cells import Cells, Subject
from hedgerow.inference.joint.counted import CountedCells
from hedgerow.inference.score import ScoreArrays
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.noise.source import NoiseSource
from hedgerow.noise.table import AdditiveTable
from hedgerow.release.cells.cells import ResampledCells, TableCells
from hedgerow.release.cells.margins import ConsistentTable
from hedgerow.release.cells.shape import TableShape
from hedgerow.release.designs.cell_totals import CellTotalsDesign
from hedgerow.release.designs.moments import MomentsDesign, noisy_moments_of
from hedgerow.release.designs.unit_bootstrap import UnitBootstrapDesign
from hedgerow.release.execute import certificate_of, draw_tables, read_histograms
from hedgerow.release.opened import OpenedSource
from hedgerow.release.plan import Plan
from hedgerow.release.record.asked_and_drawn import request_record, table_of, table_record
from hedgerow.release.spend import spend
from hedgerow.statistics.statistic import Asked
from hedgerow.tables.dp.choice import Choice, choose
from hedgerow.tables.dp.choice_by_cell import choose_by_cell
from hedgerow.tables.protected import ProtectedTable

Floats = NDArray[np.float64]


def cells_of(plan: Plan, table: AdditiveTable) -> TableCells:
    """Return the cells' estimates, errors and intervals as the release reads them; each is made when it is asked for.

    One unbiased number per cell, the one that is added up: a table cut cell by cell would not add up. (Replicates alone
    are cut, as they are read.)
    """
    (item,) = plan.items
    shape, facts, design = TableShape.of(plan.request.by), plan.facts, item.design
    counted = item.statistic.name == "count"
    if isinstance(design, UnitBootstrapDesign):
        resampled = ResampledCells.of(design, table)
        first, values = resampled.estimates[0], np.array([one.estimate for one in resampled.estimates])
        subject = Subject(first.statistic, first.column, first.method, first.covers)
        return TableCells.replicated(shape, values, resampled, counted=counted, census=facts.census, subject=subject)
    cells = None if design is None else design.estimates(table)
    basis = None if not isinstance(cells, Cells) else cells.basis
    basis = basis.numbers.basis if isinstance(basis, CountedCells) else basis
    if not isinstance(cells, Cells) or not isinstance(basis, ScoreArrays):
        raise TypeError("a table has groups, so something is drawn, of every cell alike")
    sampling, privacy = cells.sampling_error**2, cells.privacy_error**2
    known = isinstance(design, MomentsDesign) and not design.about_zero
    square, noise = _second_moment(design, table)
    if known:
        # What the release adds to a sampling variance is half a standard deviation of its noise.
        noise = np.square(2.0 * (basis.sampling.constant - sampling))
    return TableCells(
        shape,
        basis.a,
        sampling,
        privacy if isinstance(design, CellTotalsDesign) else float(privacy[0]),
        table.noise_law,
        n=None if known else facts.n,
        census=facts.census,
        counted=counted,
        second_moment=square,
        second_moment_variance=noise,
        low=basis.low,
        high=basis.high,
        freedom=basis.freedom,
        skew=(basis.skew, basis.skew_unsure),
        subject=cells.subject,
        basis=basis,
    )


def _second_moment(design: object, table: AdditiveTable) -> tuple[Floats | None, Floats | float]:
    """Return Σx² of each cell in the column's unit and the variance of its noise, where a record may be in any cell."""
    match design:
        case CellTotalsDesign():
            moments, unit = design.moments(table), design.unit
        case MomentsDesign() if design.about_zero:
            unit = float(design.statistic.grid.about_zero()[2]) * design.layout.reach
            moments = noisy_moments_of(design, table)
        case _:
            return None, 0.0
    square = None if moments.square is None else unit**2 * moments.square
    return square, np.square(unit**2 * moments.square_sd)


def protected_table(
    asked: Asked, opened: OpenedSource, *, margins: bool = False, request_id: str | None = None, **options: Any
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
    **options
        As `hedgerow.tables.dp.choice.choose`; with ``cell_bounds``, bounds that differ from cell to cell, as
        `hedgerow.tables.dp.choice_by_cell.choose_by_cell`.

    Raises
    ------
    HedgerowError
        Before the data are read nothing is spent; after, `SpentError` says that the price counts as spent.
    """
    choosing = choose if options.get("cell_bounds") is None else choose_by_cell
    given = {name: value for name, value in options.items() if name != "cell_bounds" or value is not None}
    choice = choosing(asked, opened.protection, opened.facts, n=opened.n, **given)
    table = spend(_TableProduct(choice, certificate_of(choice.plan), opened), opened.account(request_id))
    return table.with_margins() if margins else table


@dataclass(frozen=True, slots=True)
class _TableProduct:
    """A table as what spends."""

    choice: Choice
    price: Certificate
    opened: OpenedSource

    @property
    def request(self) -> dict[str, Any]:
        return self.choice.public_record()

    def reading(self) -> AbstractContextManager[ColumnSource]:
        return self.opened.source.reading(self.choice.plan.sent())

    def draw(self, source: ColumnSource, noise: NoiseSource) -> AdditiveTable:
        return _drawn(self.choice, source, noise)

    def read(self, noisy: AdditiveTable) -> ProtectedTable:
        return self._dated(noisy, today())

    def write(self, result: ProtectedTable) -> str:
        return json.dumps(kept_record(result), ensure_ascii=False, allow_nan=False)

    def from_record(self, text: str) -> ProtectedTable:
        return self._dated(*_from_text(self.choice, text))

    def _dated(self, noisy: AdditiveTable, date: str | None) -> ProtectedTable:
        table = read_table(self.choice, noisy, self.price, source=self.opened.source.name)
        about = {} if self.opened.facts is None else dict(self.opened.facts.about)
        return replace(table, date=date, about=about, backend=self.opened.backend)


def read_table(choice: Choice, drawn: AdditiveTable, certificate: Certificate | None, *, source: str) -> ProtectedTable:
    """Return what was drawn as a table; without a certificate it is marked simulated. Post-processing."""
    plan, facts = choice.plan, choice.plan.facts
    (item,) = plan.items
    cells = cells_of(plan, drawn)
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
        derived=plan.request.derived,
        remarks=plan.notes() if choice.remark is None else (choice.remark, *plan.notes()),
        unit_value=_unit_of(item.design),
        known_total=float(facts.n) if exhaustive and facts.n is not None and cells.counted else None,
        request=request_record(plan.request, facts.n),
        noisy=(table_record(drawn),),
    )


def _unit_of(design: object) -> float:
    if isinstance(design, CellTotalsDesign):
        return design.unit
    if not isinstance(design, MomentsDesign):
        return 1.0
    grid = design.statistic.grid
    return float(grid.about_zero()[2]) if design.about_zero else grid.half_step


def _drawn(choice: Choice, source: Source, noise: NoiseSource) -> AdditiveTable:
    (drawn,) = draw_tables(choice.plan, read_histograms(choice.plan, source), noise)
    if drawn is None:
        raise TypeError("a table has groups, so something is drawn")
    return drawn


def kept_record(table: ProtectedTable) -> dict[str, Any]:
    """Return what the ledger keeps: what was asked and the noisy numbers, from which the rest follows; the price."""
    about = {name: getattr(table, name) for name in ("source", "relation", "unit", "n", "target", "where", "date")}
    derived = {"derived": dict(table.derived)} if table.derived else {}
    head = {"release": {**about, **derived, "methods": {table.method: table.reason}}}
    return {**head, "table": {"guarantee": "dp", "option": table.option}, **table.determining()}


def _from_text(choice: Choice, text: str) -> tuple[AdditiveTable, str | None]:
    """Return the noisy numbers that a ledger kept, and their date (HG502 where it holds something else)."""
    (item,) = choice.plan.items
    try:
        record = json.loads(text)
        # Before what was asked was on record, there were the noisy numbers alone.
        noisy = record["noisy"] if isinstance(record["noisy"], dict) else record["noisy"][0]
        if item.design is None or item.mechanism is None:
            raise ValueError
        cells, features = CellLabels(choice.plan.request.by), item.design.added_up(item.mechanism)
        return table_of(noisy, item.mechanism, cells, features), record["release"].get("date")
    except (KeyError, TypeError, ValueError, AttributeError):
        raise VerificationError(
            "HG502",
            rule="A table is read back from the record that it left in the ledger.",
            finding="This is no such record.",
            remedy="Give the request another id, at its price.",
        ) from None
