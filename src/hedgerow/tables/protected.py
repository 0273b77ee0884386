"""`ProtectedTable`: a table of counts or totals with its errors, its totals, its guarantee by name and its price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.columns import Scalar
from hedgerow.inference.cells import Columns
from hedgerow.inference.estimate import Estimate, parse_level
from hedgerow.release.result.frame import build_frame
from hedgerow.release.result.result import REPLAYED
from hedgerow.tables.cells.cells import TableCells
from hedgerow.tables.cells.shape import Hierarchy, TableShape
from hedgerow.tables.disclosures import AS_DRAWN, AS_READ, disclosures_of, named_guarantee
from hedgerow.tables.half_width import half_width
from hedgerow.tables.publication.publication import Publication
from hedgerow.tables.totals.margins import ConsistentTable, ReleasedMargin, add_up, consistent_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
# A notebook shows a table up to here, and a line in its place beyond.
_SHOWN = 2000
TableGuarantee = Literal["dp", "bootstrap-dp"]
GUARANTEES: Mapping[str, str] = {
    "dp": "differential privacy",
    "bootstrap-dp": "bootstrap differential privacy, which is NOT differential privacy",
}


class PriceRecord(Protocol):
    """What a table states of its price: a `Certificate` under dp; a statement that cannot be re-priced elsewhere."""

    @property
    def epsilon(self) -> float:
        """ε, as it is stated."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ProtectedTable(Sequence[Estimate]):
    """A released table: a sequence of `Estimate`, one a cell, in row-major order of its axes.

    Guarantee   that of ``guarantee``: (ε, δ)-differential privacy of everything in the table under ``dp``, priced by
    ``certificate``. All that the methods do is post-processing of what was released, at no further price.

    Cells are held as arrays; an `Estimate` is made when it is asked for. Numbers stand as they were drawn: fractional
    totals and negative counts are the noise's, and unbiased; `nonnegative` and `rounded` mend how they look.

    Attributes
    ----------
    table : ConsistentTable
        Cells and totals as plain arrays.
    guarantee : {"dp", "bootstrap-dp"}
    option, reason : str
        Which sensitivity, and why; from public facts.
    certificate : Certificate or None
        None for a simulated table, which is never certified.
    unit_value : float
        What one of the integers that were added up is worth in the column's unit; 1 for a count.
    source, relation, unit, target, missing : str
        What was asked of what; public.
    n : int or None
        The number of records, under replace-one.
    remarks : tuple of str
        What a reader must know about the table as a whole.
    backend : str or None
        The caller's own frame library.
    ledger_head : str or None
        The head of the ledger after this table, where there is one.
    unrecorded : bool
        Whether the ledger holds the price alone, since this result could not be written there (HG606).
    replayed : bool
        Whether the ledger's record of the same request answered, at no further price; said here, and in no record.
    known_total : float or None
        The grand total, where it is public.
    drawn : TableCells or None
        The cells as they were drawn, where other ones are shown.
    """

    table: ConsistentTable
    guarantee: TableGuarantee
    option: str
    reason: str
    certificate: PriceRecord | None
    source: str
    relation: str
    unit: str
    target: str
    n: int | None
    missing: str
    remarks: tuple[str, ...] = ()
    unit_value: float = 1.0
    backend: str | None = None
    ledger_head: str | None = None
    unrecorded: bool = False
    replayed: bool = False
    known_total: float | None = None
    drawn: TableCells | None = None

    @overload
    def __getitem__(self, index: int) -> Estimate: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Estimate]: ...
    def __getitem__(self, index: int | slice) -> Estimate | Sequence[Estimate]:
        return self.cells[index]

    def __len__(self) -> int:
        return self.shape.size

    def __repr__(self) -> str:
        shape = " × ".join(str(levels) for levels in self.shape.shape)
        again = ", replayed" if self.replayed else ""
        return f"<ProtectedTable, {self.subject()}, {shape} cells, {self.price()}{again}>"

    def __str__(self) -> str:
        from hedgerow.tables.publication.write_text import text_of

        text = text_of(self.publication())
        return f"{text.rstrip()}\n{REPLAYED}" if self.replayed else text

    @property
    def shape(self) -> TableShape:
        """The axes and their categories."""
        return self.table.interior.shape

    @property
    def cells(self) -> TableCells:
        """The cells as arrays."""
        return self.table.interior

    @property
    def estimates(self) -> Sequence[Estimate]:
        """The cells, one by one; each estimate is made when it is asked for."""
        return self.cells

    @property
    def statistic(self) -> str:
        """``"count"`` or ``"sum"``."""
        return self.cells.subject.statistic

    @property
    def column(self) -> str | None:
        """The column of a sum."""
        return self.cells.subject.column

    @property
    def method(self) -> str:
        """What was drawn: ``"geometric"``, ``"gaussian"``, ``"moments"``, ``"bootstrap"``."""
        return self.cells.subject.method

    @property
    def covers(self) -> str:
        """What intervals are about, in words."""
        return self.cells.subject.covers

    @property
    def margins(self) -> Mapping[tuple[str, ...], TableCells]:
        """{columns kept: totals over the others}; empty without `with_margins`. ``()`` is the grand total."""
        return self.table.margins

    @property
    def values(self) -> Floats:
        """The numbers as an array of the table's shape."""
        return self.cells.published.reshape(self.shape.shape)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know about the table as a whole."""
        return (*self.remarks, *disclosures_of(self), *self.as_drawn, *self.table.notes)

    @property
    def as_drawn(self) -> tuple[str, ...]:
        """Whether the numbers stand as they were drawn, in a sentence; nothing where other ones are shown."""
        if self.cells.shown is not None:
            return ()
        return (AS_READ if self.method == "bootstrap" else AS_DRAWN,)

    @property
    def simulated(self) -> bool:
        """Whether the noise was seeded, so that nothing is certified."""
        return self.certificate is None

    def at(self, **cell: Scalar) -> Estimate:
        """Return the estimate of one cell, each column with its category (HG160 where there is none)."""
        return self[self.shape.place(cell)]

    def margin(self, *columns: str) -> Sequence[Estimate]:
        """Return the totals that keep these columns, added over all others; the grand total without any.

        Raises
        ------
        ParameterError
            HG160: there are none by that name, or the table has no margins yet.
        """
        return self.table.margin(columns)

    def subject(self) -> str:
        """Return what the cells are, in words: ``sum of income by region, sex``."""
        what = self.statistic if self.column is None else f"{self.statistic} of {self.column}"
        return f"{what} by {', '.join(self.shape.columns)}"

    def price(self) -> str:
        """Return guarantee, price, relation and unit in a line; or that the table is simulated."""
        if self.certificate is None:
            return "SIMULATED: seeded noise, not private, no certificate"
        cost = self.certificate
        delta = getattr(cost, "delta", 0.0)
        at = f" at δ = {delta:.3g}" if self.guarantee == "dp" else ""
        return f"{GUARANTEES[self.guarantee]}, ε ≤ {cost.epsilon:.6g}{at}, {self.relation}, unit {self.unit}"

    def columns(self, level: float = 0.95) -> Columns:
        """Return estimates, errors and interval ends of all cells as arrays (HG110 for the level)."""
        return self.cells.columns(level)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return (low, high) of all cells as arrays (HG110 for the level)."""
        found = self.columns(level)
        return found.low, found.high

    def accuracy(self, gamma: float = 0.05) -> float:
        """Return h such that the noise of ALL cells stays within ± h with probability at least 1 − γ.

        In the column's unit, about the clamped numbers of this file, before any rounding. Exact for the integers that
        were drawn where their noise is two-sided geometric, alone or averaged; for discrete Gaussian noise it is the
        normal law's, at 1,000 lattice steps or more to a standard deviation, or widened by half a step for counts.
        Cells that were adjusted to a known total get twice as much: the mean of all noise was taken off each.

        Raises
        ------
        ParameterError
            HG153: the guarantee does not let the noise be told; HG157 for γ.
        """
        return half_width(self, gamma)

    def letters(self) -> NDArray[np.str_]:
        """Return a reliability letter for each cell, by its coefficient of variation; see `tables.cells.letters`."""
        from hedgerow.tables.cells.letters import reliability_letters

        return reliability_letters(self.cells)

    def with_margins(self, hierarchies: Sequence[Hierarchy] = ()) -> ProtectedTable:
        """Return the table with totals over every set of its columns, all adding up, at no further price.

        A grand total that is public is kept to: n, where records are counted under replace-one and every axis has a
        cell for the rest. The cells are then adjusted to add up to it by weighted least squares.
        """
        known = () if self.known_total is None else (ReleasedMargin((), np.array([self.known_total]), 0.0),)
        # From the cells as drawn: adjusted ones no longer have independent noise, and would seem to gain by it again.
        made = consistent_table(self.drawn or self.cells, released=known, hierarchies=hierarchies)
        shown = self.cells.shown
        return self._showing(made if shown is None else add_up(made, made.interior.with_shown(shown)))

    def nonnegative(self) -> ProtectedTable:
        """Return the table with no cell below zero and its grand total kept; errors stay those of the cells before.

        What cells below zero lacked is shared by the others in fractions, so `rounded` comes after it.
        """
        from hedgerow.tables.totals.adjusted import non_negative

        return self._showing(non_negative(self.table))

    def rounded(self, base: float = 1.0) -> ProtectedTable:
        """Return the table with every cell a multiple of `base` (HG164), totals the sums of those shown."""
        from hedgerow.tables.totals.adjusted import whole_numbers

        return self._showing(whole_numbers(self.table, base=base))

    def publication(self, title: str | None = None, **options: Any) -> Publication:
        """Return the table as it is printed: caption, cells, totals, footnotes, the guarantee and its price.

        Parameters
        ----------
        title : str, optional
            The caption; by default what the cells are, in words.
        **options
            As `Publication`: ``unit``, ``across``, ``errors``, ``letters``, ``bands``, ``level``, ``notes``.
        """
        verb = "estimates" if self.guarantee == "dp" else "is"
        covers = (f"Each number {verb} {self.covers}.",) if self.covers else ()
        cut = self.as_drawn if self.method == "bootstrap" else ()
        notes = (*self.remarks, *disclosures_of(self), *cut, *covers, *options.pop("notes", ()))
        caption = self.subject()[:1].upper() + self.subject()[1:] if title is None else title
        known = {"measure": "count" if self.statistic == "count" else "total", "guarantee_name": named_guarantee(self)}
        return Publication(caption, self.table, f"Guarantee: {self.price()}.", notes=notes, **(known | options))

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return plain JSON data: ``release``, ``table``, ``estimates`` with intervals at `level`, ``certificate``."""
        from hedgerow.tables.write_json import table_as_dict

        return table_as_dict(self, parse_level(level))

    def to_json(self, path: str | Path | None = None, *, level: float = 0.95) -> str:
        """Return the JSON text, and write it to `path` where one is given (HG118 where it cannot be written).

        A large table is better given a path: it is then written cell by cell, and the text returned is empty.
        """
        from hedgerow.tables.write_json import table_json, write_table_json

        if path is None:
            return table_json(self, parse_level(level))
        write_table_json(self, path, parse_level(level))
        return ""

    def to_columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """Return the cells as columns of equal length: statistic, groups, numbers, interval, notes."""
        from hedgerow.tables.write_json import table_columns

        return table_columns(self, parse_level(level))

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame in the caller's own library, else the first installed of polars, pandas, pyarrow.

        Raises
        ------
        ParameterError
            HG208: none is installed; `to_dict` needs none.
        """
        return build_frame(self.to_columns(), backend or self.backend)

    def to_csv(self, path: str | Path, *, level: float = 0.95) -> None:
        """Write the table as CSV (HG118 where it cannot be written)."""
        from hedgerow.tables.publication.write_csv import write_csv

        write_csv(self.publication(level=level), path)

    def to_xlsx(self, path: str | Path, *, level: float = 0.95, title: str | None = None) -> None:
        """Write the table as a workbook with its standard errors (HG163 without openpyxl, HG118 if not writable)."""
        from hedgerow.tables.publication.write_xlsx import write_xlsx

        write_xlsx(self.publication(title, level=level, errors=True), path)

    def to_html(self, path: str | Path | None = None, *, level: float = 0.95, title: str | None = None) -> str:
        """Return the table as a page, and write it to `path` where one is given (HG118)."""
        from hedgerow.tables.publication.write_html import write_html

        return write_html(self.publication(title, level=level), path)

    def plot(self, ax: Axes | None = None, *, kind: Literal["heat", "bar"] = "heat", title: str | None = None) -> Axes:
        """Draw a heat map, or grouped bars with error bars; return the axes (HG164 for another kind, or too many)."""
        from hedgerow.plots.figure import shown_in_notebook
        from hedgerow.tables.publication.picture import draw_publication

        with shown_in_notebook():
            return draw_publication(self.publication(title), kind=kind, ax=ax)

    def _repr_html_(self) -> str:
        if len(self) > _SHOWN:
            return f"<p>{escape(repr(self))}</p>"
        from hedgerow.tables.publication.write_html import html_table

        return html_table(self.publication())

    def _showing(self, table: ConsistentTable) -> ProtectedTable:
        """Return the same release with other numbers shown."""
        return replace(self, table=table, drawn=self.drawn or self.cells)
