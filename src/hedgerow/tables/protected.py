"""`ProtectedTable`: a table of counts or totals with its errors, its totals, its guarantee by name and its price."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Scalar
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.estimates_of_cells import Columns, finite
from hedgerow.inference.interval import parse_level, quantiles_of
from hedgerow.ledger.guarantee import GUARANTEES
from hedgerow.mechanisms.interface import AtomicMechanism
from hedgerow.mechanisms.laws import gaussian_half_width
from hedgerow.release.cells.margins import ConsistentTable, ReleasedMargin, add_up, consistent_table
from hedgerow.release.cells.shape import Hierarchy, TableShape
from hedgerow.release.cells.table_cells import TableCells
from hedgerow.release.designs.design import MIDPOINT
from hedgerow.release.publication.formats.json import record_parts
from hedgerow.release.publication.publication import Publication
from hedgerow.release.publication.shared import REPLAYED, SIMULATED
from hedgerow.release.publication.write_file import write_lines
from hedgerow.release.record import READING
from hedgerow.tables.two_way import TwoWayReadings, columns_of_groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes


AS_DRAWN = (
    "Numbers stand as they were drawn: noise was added and nothing was cut, so counts may be negative and totals lie "
    "outside what is possible. They are unbiased and add up."
)
AS_READ = (
    "Numbers outside what is possible were moved to the nearest possible one, so small cells, and totals over them, "
    "are too large on average."
)
_NO_VALUE = "Records without a value of {} add nothing."
_UNITS = "At most {} of each {} are used, drawn at random where there are more; rows without {} are left out."


def disclosures_of(table: ProtectedTable) -> tuple[str, ...]:
    """Return sentences for readers, from public facts: n, the unit, how missing values count, what was assumed."""
    return (*_size(table), *_rows_used(table.unit), *_missing(table), *_assumed(table))


def _size(table: ProtectedTable) -> tuple[str, ...]:
    if table.n is None:
        return ()
    whose = "records" if table.unit == "row" else f"units ({table.unit.partition(',')[0]})"
    return (f"The file has n = {table.n:,} {whose}: public under replace-one, exact.",)


def _rows_used(unit: str) -> tuple[str, ...]:
    column, separator, most = unit.rpartition(", at most ")
    return (_UNITS.format(most, column, column),) if separator else ()


def _missing(table: ProtectedTable) -> tuple[str, ...]:
    if table.column is None:
        return ()
    said = {"midpoint": MIDPOINT, "drop": _NO_VALUE.format(table.column)}
    return (said[table.missing],) if table.missing in said else ()


def _assumed(table: ProtectedTable) -> tuple[str, ...]:
    """Return what the price rests on beside proofs; a bootstrap-dp statement says it in the words of its remarks."""
    if table.guarantee == "dp":
        return tuple(f"The guarantee rests on this: {text}." for text in getattr(table.certificate, "assumptions", ()))
    if table.option == "public-membership":
        return ("Which cell every record belongs to is public, as declared: nothing is promised about it.",)
    return ()


Floats = NDArray[np.float64]
# A notebook shows a table up to here, and a line in its place beyond.
_SHOWN, _DRAWN = 2000, 400
TableGuarantee = Literal["dp", "bootstrap-dp"]


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ProtectedTable(TwoWayReadings):
    """A released table: a sequence of `Estimate`, one for each cell, in row-major order.

    The attribute ``guarantee`` names the privacy guarantee. Under the guarantee ``dp``, everything in the table is (ε,
    δ)-differentially private, at the price of ``certificate``. All methods are post-processing of released numbers and
    cost no further budget.

    The cells of a table are stored as arrays. An `Estimate` object for a cell is made only on request. The table shows
    the noisy numbers unchanged, as they were drawn. The noisy numbers are unbiased, so a total can be fractional and a
    count negative. The methods `nonnegative` and `rounded` return tables with changed numbers.

    Attributes
    ----------
    table : ConsistentTable
        The cells and their totals, as plain arrays.
    guarantee : {"dp", "bootstrap-dp"}
    option : str
        The kind of sensitivity that determines the noise.
    reason : str
        The reason why hedgerow chose this kind of sensitivity (`option`); the reason follows from public facts.
    unit_value : float
        The size of one integer step of the noise, in the unit of the column. For a count, one step of the noise is 1.
    mechanism : AtomicMechanism or None
        The mechanism that drew the noise. The attribute `mechanism` is None for a simulated table, and if the
        parameters of the noise are confidential.
    request : dict
        The request as plain JSON data.
    noisy : tuple of dict
        The noisy numbers as plain JSON data. All other parts of the record follow from the request and the noisy
        numbers.
    steps : tuple of dict
        The list of changes, such as rounding, that made the shown numbers from the noisy numbers, as plain JSON data.
    """

    table: ConsistentTable
    guarantee: TableGuarantee
    option: str
    reason: str
    unit_value: float = 1.0
    mechanism: AtomicMechanism | None = None
    request: Mapping[str, Any] = field(default_factory=dict)
    noisy: tuple[Mapping[str, Any], ...] = ()
    steps: tuple[Mapping[str, Any], ...] = ()

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
        from hedgerow.release.publication.text import text_of

        text = text_of(self._publication())
        return f"{text.rstrip()}\n{REPLAYED}" if self.replayed else text

    @property
    def shape(self) -> TableShape:
        """The columns of the table and their categories."""
        return self.table.interior.shape

    @property
    def cells(self) -> TableCells:
        """The cells as arrays."""
        return self.table.interior

    @property
    def estimates(self) -> Sequence[Estimate]:
        """The estimates of the cells, as a sequence. Each estimate is made when it is requested."""
        return self.cells

    @property
    def guarantee_name(self) -> str:
        """The guarantee as a word, which never promises more than was kept."""
        if self.simulated:
            return "simulated (NOT private)"
        return "dp" if self.guarantee == "dp" else f"{self.guarantee} (NOT differential privacy)"

    @property
    def statistic(self) -> str:
        """The statistic of every cell, either ``"count"`` or ``"sum"``."""
        return self.cells.subject.statistic

    @property
    def column(self) -> str | None:
        """The column of a sum."""
        return self.cells.subject.column

    @property
    def method(self) -> str:
        """The method that drew the numbers, ``"geometric"``, ``"gaussian"``, ``"moments"`` or ``"bootstrap"``."""
        return self.cells.subject.method

    @property
    def covers(self) -> str:
        """The quantity that the intervals cover, in words."""
        return self.cells.subject.covers

    @property
    def margins(self) -> Mapping[tuple[str, ...], TableCells]:
        """The totals by the columns that they keep. The key ``()`` has the grand total. Empty without margins."""
        return self.table.margins

    @property
    def values(self) -> Floats:
        """The numbers as an array of the table's shape."""
        return self.cells.published.reshape(self.shape.shape)

    def _noted(self, notes: Sequence[str]) -> Self:
        """Return the result with more notes."""
        return replace(self, remarks=(*self.remarks, *notes))

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers about the table as a whole."""
        return (*self.remarks, *disclosures_of(self), *self.as_drawn, *self.table.notes)

    @property
    def as_drawn(self) -> tuple[str, ...]:
        """A sentence which says that the shown numbers are the drawn numbers. Empty if other numbers are shown."""
        if self.cells.shown is not None:
            return ()
        return (AS_READ if self.method == "bootstrap" else AS_DRAWN,)

    def at(self, **cell: Scalar) -> Estimate:
        """Return the estimate of one cell.

        The cell is given by column and category; error HG160 says that no such cell exists.
        """
        return self[self.shape.place(cell)]

    def margin(self, *columns: str) -> Sequence[Estimate]:
        """Return the marginal totals: the sums over all columns except the named columns.

        Without named columns, return the grand total.

        Raises
        ------
        ParameterError
            HG160: a named column is unknown, or the table has no marginal totals.
        """
        return self.table.margin(columns)

    def subject(self) -> str:
        """Return the subject of the cells in words, such as ``sum of income by region, sex``."""
        what = self.statistic if self.column is None else f"{self.statistic} of {self.column}"
        return f"{what} by {', '.join(self.shape.columns)}"

    def price(self) -> str:
        """Return guarantee, price, relation and unit in one line, which says if the table is simulated."""
        if self.certificate is None:
            return SIMULATED
        cost = self.certificate
        delta = getattr(cost, "delta", 0.0)
        at = f" at δ = {delta:.3g}" if self.guarantee == "dp" else ""
        return f"{GUARANTEES[self.guarantee]}, ε ≤ {cost.epsilon:.6g}{at}, {self.relation}, unit {self.unit}"

    def columns(self, level: float = 0.95) -> Columns:
        """Return estimates, errors and interval ends of all cells as arrays. HG110: invalid confidence level."""
        return self.cells.columns(level)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the interval ends (low, high) of all cells as arrays. HG110: invalid confidence level."""
        columns = self.columns(level)
        return columns.low, columns.high

    def accuracy(self, gamma: float = 0.05) -> float:
        """Return h such that the noise of ALL cells stays within ± h with probability at least 1 − γ.

        The bound h is in the unit of the column. The bound h applies to the difference between a noisy total and the
        total of the file's clamped values, if the noisy total is not rounded. For geometric noise (discrete Laplace),
        single or averaged, h is exact. For discrete Gaussian noise, h is computed from the normal distribution if the
        standard deviation is at least 1,000 lattice steps; for counts, h is half a step wider. If a number is the sum
        of several drawn numbers, h is the larger of two values: one for the normal distribution, and one for a single
        drawn number with the same standard deviation. The distribution of a sum of drawn numbers lies between the
        normal distribution and the distribution of a single drawn number. If cells are adjusted to a known total, h is
        doubled, because the mean of all noise was subtracted from each cell.

        Raises
        ------
        ParameterError
            HG153: the guarantee of the table keeps the size of the noise confidential. HG157: γ is invalid.
        """
        size, drawn = len(self), self.drawn or self.cells
        plain = None if self.mechanism is None else self.mechanism.half_width(size, gamma)
        if plain is not None:
            reach = self.unit_value * plain
        elif self.mechanism is not None and self.unit == "row":
            sd = math.sqrt(np.max(drawn.noise_variance))
            normal, level = gaussian_half_width(sd, cells=size, gamma=gamma), math.exp(math.log1p(-gamma) / size)
            reach = max(normal, float(quantiles_of(drawn.noise_law, level, np.zeros(1), np.array([sd]))[0]))
        else:
            raise ParameterError(
                "HG153",
                rule="The accuracy of a table follows from its certificate if each cell has one number with plain "
                "noise.",
                finding="For this table no half-width of all cells is known, or its noise is confidential.",
                remedy='Ask for the intervals of the cells, or release the table with guarantee="dp" and unit "row".',
            )
        if self.drawn is None or self.known_total is None:
            return reach
        # |Z_i − mean(Z)| ≤ (1 − 1/k)·h + (1 − 1/k)·h where every |Z| ≤ h.
        return 2.0 * (1.0 - 1.0 / len(self)) * reach

    def letters(self) -> NDArray[np.str_]:
        """Return a quality flag (a letter) for each cell, from its coefficient of variation."""
        from hedgerow.release.cells.printed_numbers import reliability_letters

        return reliability_letters(self.cells)

    def with_margins(self, hierarchies: Sequence[Hierarchy] = ()) -> Self:
        """Return the table with totals over every set of its columns, computed at no further price.

        If the grand total is public, the table is adjusted to add up to this total. The grand total is public if
        records are counted under replace-one and every column has a cell for all other values. The adjustment is a
        weighted least-squares fit of the cells.
        """
        known = () if self.known_total is None else (ReleasedMargin((), np.array([self.known_total]), 0.0),)
        # From the cells as drawn: adjusted ones no longer have independent noise, and would seem to gain by it again.
        made = consistent_table(self.drawn or self.cells, released=known, hierarchies=hierarchies)
        shown = self.cells.shown
        step = {"step": "margins", "hierarchies": [hierarchy.record() for hierarchy in hierarchies]}
        return self._showing(made if shown is None else add_up(made, made.interior.with_shown(shown)), step)

    def nonnegative(self) -> Self:
        """Return the table without negative cells and with the same grand total. The errors of the cells do not change.

        Positive cells change by fractions to keep the grand total; for whole numbers, use `rounded` afterwards.
        """
        from hedgerow.release.cells.printed_numbers import non_negative

        return self._showing(non_negative(self.table), {"step": "nonnegative"})

    def rounded(self, base: float = 1.0) -> Self:
        """Return the table with cells and totals rounded to multiples of `base`. Error HG164: `base` is invalid."""
        from hedgerow.release.cells.printed_numbers import whole_numbers

        return self._showing(whole_numbers(self.table, base=base), {"step": "rounded", "base": base})

    def after(self, steps: Sequence[Mapping[str, Any]]) -> Self:
        """Return the table after changes such as rounding, given as the field `steps` of a record states them."""
        table = self
        for step in steps:
            match step["step"]:
                case "margins":
                    table = table.with_margins([Hierarchy.from_record(level) for level in step["hierarchies"]])
                case "nonnegative":
                    table = table.nonnegative()
                case "rounded":
                    table = table.rounded(step["base"])
                case other:
                    raise ValueError(other)
        return table

    def _publication(self, title: str | None = None, *, level: float = 0.95, **options: Any) -> Publication:
        """Return the table for printing: caption, cells, totals, footnotes, guarantee and price.

        Parameters
        ----------
        title : str, optional
            The caption. The default is the subject of the cells, in words.
        level : float
            The confidence level of the intervals.
        **options
            The options of `Publication`: ``unit``, ``across``, ``errors``, ``letters``, ``bands``, ``notes``.

        Returns
        -------
        Publication

        Raises
        ------
        ParameterError
            HG110: the confidence level is invalid. HG126: an option is unknown.

        Examples
        --------
        >>> import pyarrow, tempfile, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"sex": [0, 1] * 500}), relation="replace-one")
        >>> table = survey.contingency_table(by={"sex": [0, 1]}, epsilon=1.0)
        >>> table._publication("Men and women").title
        'Men and women'
        """
        verb = "estimates" if self.guarantee == "dp" else "is"
        covers = (f"Each number {verb} {self.covers}.",) if self.covers else ()
        cut = self.as_drawn if self.method == "bootstrap" else ()
        notes = (*self.remarks, *disclosures_of(self), *cut, *covers, *options.pop("notes", ()))
        caption = self.subject()[:1].upper() + self.subject()[1:] if title is None else title
        known: dict[str, Any] = {"measure": "count" if self.statistic == "count" else "total"}
        known |= {"guarantee_name": self.guarantee_name, "level": level, "recorded": self}
        return Publication(caption, self.table, f"Guarantee: {self.price()}.", notes=notes, **(known | options))

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return plain JSON data: ``release``, ``table``, ``estimates`` at `level`, and ``certificate``."""
        return {**self._head(level), "estimates": [*self.cells.entries(parse_level(level))], **self.determining(level)}

    def to_json(self, path: str | Path | None = None, *, level: float = 0.95) -> str:
        """Return the JSON text of the table, and write the text to `path` if a path is given.

        For a large table, give a path. The text of a large table is then written to the file cell by cell, and the
        returned text is empty.

        Parameters
        ----------
        path : str or Path, optional
            The path of the file to which the text is written.
        level : float
            The confidence level of the intervals.

        Returns
        -------
        str
            The JSON text. The text is empty if a large table was written to a path.

        Raises
        ------
        ParameterError
            HG118: the file cannot be written. HG110: the confidence level is invalid.

        Examples
        --------
        >>> import pyarrow, tempfile, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"sex": [0, 1] * 500}), relation="replace-one")
        >>> table = survey.contingency_table(by={"sex": [0, 1]}, epsilon=1.0)
        >>> table.to_json()[0]
        '{'
        """
        if path is None:
            return "".join(self.json_parts(level))
        write_lines(path, self.json_parts(level))
        return ""

    def json_parts(self, level: float = 0.95, **more: Any) -> Iterator[str]:
        """Yield the JSON text of the table in parts; the further fields `more` stand at the end of the text.

        Parameters
        ----------
        level : float
            The confidence level of the intervals.
        **more
            Further fields, which are added at the end of the JSON text.

        Returns
        -------
        iterator of str

        Raises
        ------
        ParameterError
            HG110: the confidence level is not between 0 and 1.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"sex": [0, 1] * 500}), relation="replace-one")
        >>> table = survey.contingency_table(by={"sex": [0, 1]}, epsilon=1.0)
        >>> "".join(table.json_parts()) == table.to_json()
        True
        """
        entries = self.cells.entries(parse_level(level))
        return record_parts({**self._head(level), "estimates": entries, **self.determining(level), **more})

    def _head(self, level: float) -> dict[str, Any]:
        axes = [
            {"column": axis.column, "categories": list(axis.categories), "other": axis.other}
            | ({"labels": list(axis.names)} if axis.names else {})
            for axis in self.shape.axes
        ]
        margins = [
            {"by": list(columns), "estimates": [*cells.entries(level)]} for columns, cells in self.margins.items()
        ]
        about = {"statistic": self.statistic, "column": self.column, "guarantee": self.guarantee, "option": self.option}
        facts = self._facts(self.notes, {self.method: self.reason})
        return {"release": facts, "table": {**about, "by": axes, "margins": margins}}

    def determining(self, level: float = 0.95) -> dict[str, Any]:
        """Return the last fields of the record: percentages, tests, and the data that determine all other parts."""
        asked = {"request": self.request, "noisy": list(self.noisy), "steps": list(self.steps), "reading": READING}
        return (
            (asked if self.request else {})
            | self.recorded_readings(level)
            | {"certificate": None if self.certificate is None else self.certificate.to_dict()}
        )

    def to_columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """Return the cells as columns of equal length: statistic, groups, numbers, interval, notes."""
        read, size = self.columns(level), len(self)
        columns: dict[str, list[Any]] = {"statistic": [self.statistic] * size, "column": [self.column] * size}
        columns |= columns_of_groups(self.shape)
        columns |= {name: finite(getattr(read, name)) for name in read._fields if name != "reliable"}
        columns |= {"level": [level] * size, "method": [self.method] * size, "reliable": read.reliable.tolist()}
        return columns | {"guarantee": [self.guarantee_name] * size}

    def to_xlsx(self, path: str | Path, *, level: float = 0.95, title: str | None = None) -> None:
        """Write the table with its standard errors as an Excel workbook.

        Parameters
        ----------
        path : str or Path
        level : float
            The confidence level of the intervals.
        title : str, optional
            The caption.

        Raises
        ------
        ParameterError
            HG163: the Python package openpyxl is not installed. HG118: the file cannot be written.

        Examples
        --------
        >>> import pyarrow, tempfile, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"sex": [0, 1] * 500}), relation="replace-one")
        >>> table = survey.contingency_table(by={"sex": [0, 1]}, epsilon=1.0)
        >>> table.to_xlsx(tempfile.mkdtemp() + "/table.xlsx")
        """
        from hedgerow.release.publication.formats import xlsx

        xlsx.write(self._publication(title, level=level), path)

    def to_html(self, path: str | Path | None = None, *, level: float = 0.95, title: str | None = None) -> str:
        """Return the table as an HTML page, and write the page to `path` if a path is given.

        Parameters
        ----------
        path : str or Path, optional
            The path of the file to which the page is written.
        level : float
            The confidence level of the intervals.
        title : str, optional
            The caption.

        Returns
        -------
        str
            The HTML text of the page.

        Raises
        ------
        ParameterError
            HG118: the file cannot be written. HG110: the confidence level is invalid.

        Examples
        --------
        >>> import pyarrow, tempfile, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"sex": [0, 1] * 500}), relation="replace-one")
        >>> table = survey.contingency_table(by={"sex": [0, 1]}, epsilon=1.0)
        >>> "<table" in table.to_html()
        True
        """
        from hedgerow.release.publication.formats import html

        publication = self._publication(title, level=level)
        return html.html_page(publication) if path is None else html.write(publication, path)

    def plot(self, ax: Axes | None = None, *, kind: Literal["heat", "bar"] = "heat", title: str | None = None) -> Axes:
        """Draw the cells of the table without the totals.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes of matplotlib in which the picture is drawn. If no axes are given, a new figure is made.
        kind : {"heat", "bar"}
            The kind of plot: a heat map, or grouped bars with error bars.
        title : str, optional
            The caption.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ParameterError
            HG164: the kind is unknown, or the table has more cells than the plot can show.

        Examples
        --------
        >>> import pyarrow, tempfile, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"sex": [0, 1] * 500}), relation="replace-one")
        >>> table = survey.contingency_table(by={"sex": [0, 1]}, epsilon=1.0)
        >>> len(table.plot(kind="bar").patches)
        2
        """
        from hedgerow.plots.figure import shown_in_notebook
        from hedgerow.release.publication.formats.pictures import draw_publication

        with shown_in_notebook():
            return draw_publication(self._publication(title), kind=kind, ax=ax)

    def _repr_html_(self) -> str:
        from hedgerow.plots.notebook import Card
        from hedgerow.release.publication.formats.html import html_table

        if len(self) > _SHOWN:
            return Card(caption=repr(self)).html()
        alt = "The cells of the table, shaded by their numbers."
        drawn = self.plot if len(self) <= _DRAWN else None
        return html_table(self._publication()) + Card(picture=drawn, alt=alt).html()

    def _showing(self, table: ConsistentTable, step: Mapping[str, Any]) -> Self:
        """Return the same release with other numbers shown, after one more step."""
        return replace(self, table=table, drawn=self.drawn or self.cells, steps=(*self.steps, step))
