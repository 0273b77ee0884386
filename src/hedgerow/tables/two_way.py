"""Percentages and a test of independence, read from the noisy counts of a table: post-processing, at no price."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, get_args, overload

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.printed import Lines, group_headings, joined
from hedgerow.facts.validation import format_argument
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.estimates_of_cells import Subject, finite
from hedgerow.inference.region import ScoreRegion
from hedgerow.inference.score_test import Quadratic, QuadraticTest
from hedgerow.release.cells.margins import ConsistentTable
from hedgerow.release.cells.shape import TableShape
from hedgerow.release.cells.table_cells import TableCells
from hedgerow.release.publication.publication import Publication
from hedgerow.release.publication.shared import Outputs, Result
from hedgerow.release.publication.text import text_of
from hedgerow.tables.chi_squared import N_RESAMPLES, CellNoise, IndependenceTest, independence

Floats = NDArray[np.float64]
Reading = Literal["percentages", "independence"]
Part = Literal["row", "column", "all"]


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class TwoWayReadings(Result):
    """The further readings of tables of counts: percentages, and a test of independence.

    Attributes
    ----------
    remarks : tuple of str
        Notes for readers about the table as a whole.
    known_total : float or None
        The grand total, if the grand total is public.
    drawn : TableCells or None
        The cells as they were drawn, if the shown cells differ.
    readings : mapping
        The further readings that the record holds: the columns of ``"percentages"`` and of ``"independence"``.
    """

    remarks: tuple[str, ...] = ()
    known_total: float | None = None
    drawn: TableCells | None = None
    readings: Mapping[Reading, tuple[str, ...]] = field(default_factory=dict)

    @property
    @abstractmethod
    def cells(self) -> TableCells:
        """The cells as arrays."""

    @property
    @abstractmethod
    def guarantee_name(self) -> str:
        """The guarantee as a word in a column, or below a picture."""

    @abstractmethod
    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return the record of the table as plain JSON data, with confidence intervals at `level`."""

    @abstractmethod
    def json_parts(self, level: float = 0.95) -> Iterator[str]:
        """Yield the JSON text of the table in parts."""

    def reading(self, *, percentages: str | None = None, independence: bool = False) -> Self:
        """Return the table with percentages and a test of independence added to its record, at no price.

        Parameters
        ----------
        percentages : {"row", "column", "all"}, optional
            The whole that counts as 100 %: each row of the printed table, each column, or all cells together.
        independence : bool
            Whether the record includes the test that the two columns of the table are independent.

        Returns
        -------
        ProtectedTable

        Raises
        ------
        ParameterError
            HG116: the value of `percentages` is not "row", "column" or "all". HG160, HG130, HG161: the errors of the
            methods `percentages` and `independence`.

        Examples
        --------
        >>> import hedgerow as hg, pyarrow
        >>> data = pyarrow.table({"sex": [0, 1] * 500, "job": ["a", "a", "b", "b"] * 250})
        >>> survey = hg.open(data, relation="replace-one")
        >>> table = survey.contingency_table(by={"sex": [0, 1], "job": ["a", "b"]}, epsilon=1.0)
        >>> table.reading(percentages="row").to_dict()["percentages"]["of"]
        ['sex']
        """
        columns, drawn = self.cells.shape.columns, self.drawn or self.cells
        check_readings(percentages, independence, columns, counted=drawn.counted, unit=self.unit, census=drawn.census)
        within = {"row": columns[:-1], "column": columns[-1:] if len(columns) > 1 else (), "all": ()}
        asked: dict[Reading, tuple[str, ...]] = {}
        if percentages is not None:
            asked["percentages"] = self.percentages(within[percentages]).of
        if independence:
            asked["independence"] = self.independence().columns
        return replace(self, readings={**self.readings, **asked})

    def recorded_readings(self, level: float) -> dict[str, Any]:
        """Return the fields of the record for percentages and tests, with confidence intervals at `level`."""
        record: dict[str, Any] = {}
        if "percentages" in self.readings:
            shares = self.asked_percentages()
            record["percentages"] = {"of": list(shares.of), "estimates": [*shares.cells.entries(level)]}
        if "independence" in self.readings:
            record["independence"] = self.asked_independence().to_dict()
        return record

    def asked_percentages(self) -> Percentages:
        """Return the percentages that are part of the record."""
        return self.percentages(self.readings["percentages"])

    def asked_independence(self) -> IndependenceTest:
        """Return the test of independence that is part of the record."""
        return self.independence(*self.readings["independence"])

    def percentages(self, of: str | Sequence[str] = ()) -> Percentages:
        """Return each cell, with its errors, as a percentage of the total of its row, of its column, or of all cells.

        The percentage is p = 100·N/T, where N is the count of a cell and T is a total. The total T is the sum over all
        cells that share the cell's categories of the columns `of`. T is noisy too. The interval holds each p for which
        100·N − p·T differs from 0 by no more than sampling (variance T·p·(100 − p)) and noise (variance (100 − p)²·v +
        p²·w) allow. In the formula of the interval, v is the noise variance of the cell, and w is the noise variance of
        the sum of the other cells of the total.

        Parameters
        ----------
        of : str or list of str
            The columns within whose categories the percentages add up to 100 %. If the rows of the printed table are
            categories of sex, ``of="sex"`` gives row percentages. If no column is named, the percentages of all cells
            add up to 100 %.

        Returns
        -------
        Percentages
            The percentages, as a sequence of estimates with the outputs of a table, such as ``.to_latex()`` and
            ``.to_frame(across="region")``.

        Raises
        ------
        ParameterError
            HG160: the table does not have one of the named columns. HG130: percentages are not available for a table of
            totals, or if a privacy unit can have several rows. HG161: the guarantee of the table does not allow to show
            errors.

        Examples
        --------
        >>> import hedgerow as hg, pyarrow
        >>> data = pyarrow.table({"sex": [0, 1] * 500, "job": ["a", "a", "b", "b"] * 250})
        >>> survey = hg.open(data, relation="replace-one")
        >>> table = survey.contingency_table(by={"sex": [0, 1], "job": ["a", "b"]}, epsilon=1.0)
        >>> shares = table.percentages(of="sex")
        >>> abs(shares[0].estimate - 50.0) < 5.0, shares[0].statistic
        (True, 'percentage of sex')
        """
        kept = (of,) if isinstance(of, str) else tuple(of)
        known = None if kept else self.known_total
        cells = percentage_cells(_counts(self, kept), kept, known, self._noise_of_totals(kept))
        return Percentages(self, cells, kept)

    def _noise_of_totals(self, kept: Sequence[str]) -> tuple[Floats, Floats] | None:
        """Return the noise covariance of a cell and its total, and the variance of the total; None: independent."""
        return None

    def independence(
        self,
        *columns: str,
        n_resamples: int = N_RESAMPLES,
        rng: int | np.random.Generator = 0,
    ) -> IndependenceTest:
        """Return the χ² test that two columns are independent.

        The distribution of the test statistic includes the noise.

        The test statistic is Q = Σ (Y − E)²/(E + v), where v is the noise variance of a cell. Y is the noisy count of a
        cell, and E is the count that the noisy totals of rows and columns predict under independence. Under
        independence, Q does not follow a χ² distribution, because of the noise. So the distribution of Q is simulated:
        tables with expected counts E are drawn, and noise is added as in the release. The p-value is (1 + the number of
        simulated tables whose Q is at least as large) / (1 + the number of simulated tables).

        Parameters
        ----------
        *columns : str
            The names of two columns of the table. The counts are summed over all other columns of the table. The
            columns may be left out if the table has only two columns.
        n_resamples : int
            The number of simulated tables.
        rng : int or Generator
            The random generator of the simulated tables, or its seed. The same table and the same seed give the same
            p-value.

        Returns
        -------
        IndependenceTest
            The test, with ``.statistic``, ``.pvalue``, ``.df`` and ``.expected``.

        Raises
        ------
        ParameterError
            HG160: the arguments are not exactly two columns of the table. HG130: the test is not available for a table
            of totals, for privacy units with several rows, or for a census. HG161: the guarantee of the table does not
            allow to show errors.

        Notes
        -----
        The test follows Gaboardi, Lim, Rogers & Vadhan (2016), "Differentially private chi-squared hypothesis testing",
        section 5. The denominators of the test statistic include the noise (Kifer & Rogers 2017). The command
        ``python -m benchmarks.independence`` measures the level and the power of the test.

        Examples
        --------
        >>> import hedgerow as hg, pyarrow
        >>> data = pyarrow.table({"sex": [0, 1] * 500, "job": ["a", "a", "b", "b"] * 250})
        >>> survey = hg.open(data, relation="replace-one")
        >>> table = survey.contingency_table(by={"sex": [0, 1], "job": ["a", "b"]}, epsilon=1.0)
        >>> table.independence().pvalue > 0.001
        True
        """
        named = columns or self.cells.shape.columns
        cells = _counts(self, named)
        _check_two(named, cells.shape.columns, census=cells.census)
        others = tuple(at for at, column in enumerate(cells.shape.columns) if column not in named)
        counts = cells.grid.sum(axis=others)
        counts = counts if tuple(c for c in cells.shape.columns if c in named) == named else counts.T
        whole, noise = self.known_total, self._cell_noise(named)
        return independence(counts, noise, n=whole, n_resamples=n_resamples, rng=rng, names=(named[0], named[1]))

    def _cell_noise(self, named: Sequence[str]) -> CellNoise:
        """Return the noise of each number of the table by two columns."""
        cells = self.drawn or self.cells
        (own, *different) = set(np.unique(np.broadcast_to(cells.noise_variance, cells.shape.size)).tolist())
        if different:
            raise _no_law("The noise of its cells differs from one to the other.")
        added = math.prod(axis.levels for axis in cells.shape.axes if axis.column not in named)
        return CellNoise(cells.noise_law, own, added)


def check_readings(
    percentages: object, independence: bool, columns: Sequence[str], *, counted: bool, unit: str, census: bool
) -> None:
    """Refuse readings that a table of these columns cannot have; before the table is paid for.

    Raises
    ------
    ParameterError
        HG116: the value of `percentages` is not "row", "column" or "all". HG160: a test of other than two columns.
        HG130: a table of totals; a unit of several rows; a test in a census.
    """
    if percentages is None and not independence:
        return
    if percentages not in (None, *get_args(Part)):
        raise ParameterError(
            "HG116",
            rule="Percentages are those of each row, of each column, or of all cells.",
            finding=f"Found {format_argument(percentages)}.",
            remedy="Name one of row, column and all.",
        )
    _check_law(counted=counted, unit=unit)
    if independence:
        _check_two(columns, columns, census=census)


def _check_two(named: Sequence[str], columns: Sequence[str], *, census: bool) -> None:
    if len(named) != 2 or len(set(named)) != 2:
        raise _unknown("A test of independence is about two columns", columns)
    if census:
        raise _no_law("Its target is the file, in which nothing is left to chance.")


def _check_law(*, counted: bool, unit: str) -> None:
    if not counted:
        raise _no_law("It holds totals of a column, or of weights.")
    if unit != "row":
        raise _no_law(f"Its unit is {unit}, which may have rows in several cells.")


def percentage_cells(
    cells: TableCells, kept: Sequence[str], known: float | None, shared: tuple[Floats, Floats] | None = None
) -> TableCells:
    """Return counts as percentages of the total of those that share their categories of some columns.

    `known` is that total where it is public, of all cells alone. `shared` is the noise covariance of a cell and its
    total, and the noise variance of the total; without it the noise of cells is independent.
    """
    axes = tuple(at for at, column in enumerate(cells.shape.columns) if column not in kept)
    noise = np.broadcast_to(cells.noise_variance, cells.shape.size).reshape(cells.shape.shape)
    total = np.full(cells.shape.size, known) if known is not None else _spread(cells.grid, axes)
    own = noise.reshape(-1)
    cross, whole = (own, _spread(noise, axes)) if shared is None else shared
    if known is not None:
        cross, whole = np.zeros(1), np.zeros(1)
    positive = np.maximum(total, 1.0)
    subject = _subject(kept, cells.subject.covers)
    test = QuadraticTest(
        100.0 * cells.values,
        sampling=Quadratic(0.0, 0.0 if cells.census else 100.0 * positive, 0.0 if cells.census else -positive),
        noise=Quadratic(1e4 * own, -200.0 * cross, whole),
        low=0.0,
        high=100.0,
        noise_law=cells.noise_law,
        method=cells.subject.method,
        b=total,
        reliable=total > 2.0 * np.sqrt(whole),
    )
    theta = np.clip(100.0 * cells.values / positive, 0.0, 100.0)
    parts = (test.sampling.at(theta), test.noise.at(theta))
    sampling, privacy = (np.maximum(part, 0.0) / positive**2 for part in parts)
    return TableCells(
        cells.shape,
        theta,
        sampling,
        privacy,
        cells.noise_law,
        census=cells.census,
        low=0.0,
        high=100.0,
        subject=subject,
        region=ScoreRegion(test),
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Percentages(Outputs):
    """The cells of a table as percentages, in the order of the table's cells.

    Attributes
    ----------
    table : ProtectedTable
        The table from which the percentages were computed. Percentages are computed from released numbers, at no
        further price.
    cells : TableCells
    of : tuple of str
        The columns within whose categories the percentages add up to 100 %.
    """

    table: TwoWayReadings
    cells: TableCells
    of: tuple[str, ...]

    @overload
    def __getitem__(self, index: int) -> Estimate: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Estimate]: ...
    def __getitem__(self, index: int | slice) -> Estimate | Sequence[Estimate]:
        return self.cells[index]

    def __len__(self) -> int:
        return self.cells.shape.size

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.cells)

    def at(self, **cell: Any) -> Estimate:
        """Return the percentage of one cell; error HG160 says that no such cell exists."""
        return self[self.cells.shape.place(cell)]

    @property
    def whole(self) -> str:
        """What has 100 %, in a sentence."""
        return f"Each category of {joined(self.of)} has 100 %." if self.of else "All cells together have 100 %."

    @property
    def backend(self) -> str | None:  # type: ignore[override]  # read from the table, not a field
        """The caller's own frame library."""
        return self.table.backend

    def __repr__(self) -> str:
        return f"<Percentages, {len(self)} cells, {self.table.price()}>"

    def __str__(self) -> str:
        return Lines(text_of(self._publication()))

    def _publication(self, title: str | None = None, *, level: float = 0.95) -> Publication:
        """Return the percentages as they are printed: with standard errors, without letters.

        Parameters
        ----------
        title : str, optional
            The caption of the table.
        level : float
            Of the intervals.

        Returns
        -------
        Publication

        Raises
        ------
        ParameterError
            HG110: the confidence level is not between 0 and 1.

        Examples
        --------
        >>> import hedgerow as hg, pyarrow
        >>> data = pyarrow.table({"sex": [0, 1] * 500, "job": ["a", "a", "b", "b"] * 250})
        >>> survey = hg.open(data, relation="replace-one")
        >>> table = survey.contingency_table(by={"sex": [0, 1], "job": ["a", "b"]}, epsilon=1.0)
        >>> table.percentages("sex")._publication().title
        'Percentages by sex and job'
        """
        by = joined(self.cells.shape.columns)
        caption = f"Percentages by {by}" if title is None else title
        guarantee = f"Guarantee: {self.table.price()}."
        return Publication(
            caption,
            ConsistentTable(self.cells),
            guarantee,
            "%",
            errors=True,
            letters=False,
            level=level,
            notes=(self.whole, *self.table.remarks),
            guarantee_name=self.table.guarantee_name,
            recorded=replace(self.table, readings={**self.table.readings, "percentages": self.of}),
            field_of_cells="percentages.estimates",
        )

    def to_columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """Return percentages as columns of equal length: groups, numbers, bounds. HG110: invalid confidence level."""
        read = self.cells.columns(level)
        columns: dict[str, list[Any]] = {"statistic": [self.cells.subject.statistic] * len(self)}
        columns |= columns_of_groups(self.cells.shape)
        columns |= {name: finite(getattr(read, name)) for name in read._fields if name != "reliable"}
        return columns | {"level": [level] * len(self), "reliable": read.reliable.tolist()}

    def _repr_html_(self) -> str:
        from hedgerow.release.publication.formats.html import html_table

        return html_table(self._publication())


def columns_of_groups(shape: TableShape) -> dict[str, list[Any]]:
    """Return the categories of each cell by column, and their labels where there are some.

    >>> from hedgerow.release.cells.shape import TableDimension
    >>> columns_of_groups(TableShape((TableDimension("sex", (0, 1), names=("men", "women")),)))
    {'sex': [0, 1], 'sex_label': ['men', 'women']}
    """
    cells, labelled = list(shape.cells()), [axis.column for axis in shape.axes if axis.names]
    headings, of_labels = group_headings(shape.columns, labelled)
    columns = {headings[group]: [cell[group] for cell in cells] for group in shape.columns}
    names = [shape.names_of(cell) for cell in cells] if labelled else []
    return columns | {of_labels[group]: [named.get(group) for named in names] for group in labelled}


def _counts(table: TwoWayReadings, named: Sequence[str]) -> TableCells:
    """Return the cells as they were drawn, which have independent noise (HG160, HG130, HG161)."""
    cells = table.drawn or table.cells
    cells.check_given()
    if not set(named) <= set(cells.shape.columns) or len(set(named)) < len(named):
        raise _unknown("Columns of a table are named", cells.shape.columns)
    _check_law(counted=cells.counted, unit=table.unit)
    return cells


def _spread(grid: Floats, axes: tuple[int, ...]) -> Floats:
    """Return for each cell the sum over some axes, in the order of the cells."""
    return np.asarray(np.broadcast_to(grid.sum(axis=axes, keepdims=True), grid.shape)).reshape(-1)


def _subject(kept: Sequence[str], covers: str) -> Subject:
    counted = covers.rpartition("; ")[2]
    whole = f"of {', '.join(kept)}" if kept else "of all"
    of = f"records that share its {joined(list(kept))}" if kept else "all records of the table"
    return Subject(f"percentage {whole}", None, "table", f"the percentage that the cell has {'of the'} {of}; {counted}")


def _unknown(rule: str, columns: Sequence[str]) -> ParameterError:
    return ParameterError(
        "HG160",
        rule=f"{rule}, each once.",
        finding="Found others.",
        remedy=f"The columns are {', '.join(columns)}.",
    )


def _no_law(finding: str) -> ParameterError:
    return ParameterError(
        "HG130",
        rule="Percentages and tests of independence are computed from counts of rows, with each row in one cell.",
        finding=finding,
        remedy="Release a contingency table of rows; percentages of another table can be computed from its cells.",
    )
