"""`SyntheticFiles`: the files as frames, what they carry, and how an analysis of them is pooled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.columns import Category
from hedgerow.facts.printed import group_headings
from hedgerow.inference.interval import parse_level
from hedgerow.release.publication.shared import build_frame
from hedgerow.synthetic.fit_report import (
    CheckedCell,
    FittedTable,
    ReleasedMargins,
    check_cells,
    fit_tables,
    weak_tables,
)
from hedgerow.synthetic.pooling import Pooled, pool
from hedgerow.synthetic.synthesis import SyntheticRows
from hedgerow.synthetic.written_files import write_files

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SyntheticFiles:
    """Synthetic files that are computed from released margins alone.

    Guarantee: the files are post-processing of the release, so they cost no further budget, and the certificate of the
    release holds for them.

    Attributes
    ----------
    margins : ReleasedMargins
        The release: `hedgerow.margins.margin_tables.Margins`.
    rows : SyntheticRows
        The fitted distributions, and the rows that are drawn from them.
    seeds : tuple of int
        The seeds of the random numbers within bands: one for each synthetic file, then one for each file of the centre
        (drawn from the fit itself).
    """

    margins: ReleasedMargins
    rows: SyntheticRows
    seeds: tuple[int, ...]

    @property
    def order(self) -> int:
        """The largest number of columns whose interactions the files carry."""
        return self.margins.residuals.workload.order

    @property
    def n_files(self) -> int:
        """The number of files by re-release; there are as many files of the centre."""
        return len(self.rows.files)

    @property
    def n_rows(self) -> int:
        """The number of rows of each file."""
        return len(self.rows.files[0])

    @property
    def files(self) -> Sequence[Any]:
        """The files by re-release as data frames, which are built when they are read."""
        return _Frames(self, 0)

    @property
    def centre_files(self) -> Sequence[Any]:
        """The files that were drawn from the fitted law itself, as data frames."""
        return _Frames(self, self.n_files)

    def __repr__(self) -> str:
        names = ", ".join(str(axis.column) for axis in self.margins.axes)
        files = f"{self.n_files} files of {self.n_rows:,} rows"
        return f"<SyntheticFiles: {files}, columns {names}, interactions of up to {self.order}, {self.margins.price()}>"

    def columns(self, place: int) -> dict[str, list[Any]]:
        """Return one file as columns; files of the centre (drawn from the fit itself) come after the other files.

        The values of a category keep their declared type: text, whole number, or truth value; a text that is a date
        becomes a date. The label of a category is in a column of its own. In a column of texts, the category for all
        undeclared values is called "other"; in any other column it is None. A number within a band is drawn uniformly:
        a whole number if all cut points are whole.
        """
        levels = (*self.rows.files, *self.rows.centre_files)[place]
        axes = self.margins.axes
        labelled = [str(axis.column) for axis in axes if axis.names]
        headings, of_labels = group_headings([str(axis.column) for axis in axes], labelled)
        made: dict[str, list[Any]] = {}
        for at, axis in enumerate(axes):
            rng = np.random.default_rng([self.seeds[place], at])
            made[headings[str(axis.column)]] = values_of(axis, levels[:, at], rng)
            if axis.names:
                names = [*axis.names, *(["other"] * axis.other)]
                made[of_labels[str(axis.column)]] = [names[level] for level in levels[:, at].tolist()]
        return made

    def sql_types(self) -> dict[str, str]:
        """Return the SQL type of each column of the synthetic files."""
        axes = {str(axis.column): axis for axis in self.margins.axes}
        headings, of_labels = group_headings(list(axes), [name for name, axis in axes.items() if axis.names])
        made = {}
        for name, axis in axes.items():
            made[headings[name]] = _kind(axis)
            if name in of_labels:
                made[of_labels[name]] = "VARCHAR"
        return made

    def pool(self, analysis: Callable[[Any], Any]) -> Pooled:
        """Return the pooled estimates of an analysis that is run on every synthetic file.

        Parameters
        ----------
        analysis : callable
            A function of a data frame that returns a fit with ``params`` and ``bse``, or a pair (estimates, variances).

        Returns
        -------
        Pooled
            The pooled estimates of `hedgerow.pool`, corrected with the files of the centre (drawn from the fit itself).
            If the analysis uses so few columns that the release answers it directly, a note says so. Another note names
            the weak tables (`FittedTable.weak`) that the analysis rests on: the table of its columns if the release has
            this table, and all pairs of its columns otherwise.

        Raises
        ------
        ParameterError
            HG250: the files give different numbers of results, or results with different names.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> people = pyarrow.table({"sex": [0, 1] * 500, "old": [0, 0, 1, 1] * 250, "rich": [0] * 900 + [1] * 100})
        >>> survey = hg.open(people, relation="replace-one")
        >>> margins = survey.margins(by={"sex": [0, 1], "old": [0, 1], "rich": [0, 1]}, order=2, epsilon=5.0)
        >>> def share(file):
        ...     rich = file["rich"].to_numpy().mean()
        ...     return rich, rich * (1 - rich) / len(file)
        >>> pooled = margins.synthesize(n_files=10, rng=1).pool(share)
        >>> 0.05 < pooled[0].estimate < 0.15, pooled.notes[0][:43]
        (True, 'The analysis uses the columns rich alone. T')
        """
        answers = [analysis(frame) for frame in self.files]
        centre = [analysis(frame) for frame in self.centre_files]
        paired = isinstance(answers[0], tuple)
        pooled = pool(
            [answer[0] for answer in answers] if paired else answers,
            [answer[1] for answer in answers] if paired else None,
            centre=[answer[0] for answer in centre] if paired else centre,
        )
        needed, notes = self._needed(analysis), list(pooled.notes)
        if len(needed) <= self.order:
            notes.append(
                f"The analysis uses the columns {', '.join(needed)} alone. The release has their table, which answers "
                "questions about shares and differences better, without the error of a fit: see Margins.ask."
            )
        if weak := weak_tables(self.margins, self.rows, needed):
            notes.append(
                f"Weak tables: {', '.join(map(' × '.join, weak))}. In each, more than 1 % of the records lie in cells "
                "with fewer records than two standard deviations of the noise. Slopes and differences that rest on "
                "these tables can be wrong, and intervals can miss the truth far more often than stated."
            )
        return Pooled(pooled.estimates, tuple(notes))

    def _needed(self, analysis: Callable[[Any], Any]) -> tuple[str, ...]:
        """Return the columns without which an analysis fails."""
        whole = self.columns(0)
        needed = []
        for name in (str(axis.column) for axis in self.margins.axes):
            rest = {heading: column for heading, column in whole.items() if heading not in (name, f"{name}_label")}
            try:
                analysis(build_frame(rest, self.margins.backend))
            except Exception:
                # Any error of the user's own code says that the column is missing.
                needed.append(name)
        return tuple(needed)

    def fitted_tables(self) -> tuple[FittedTable, ...]:
        """Return, for each released table, its distance from the synthetic files and its number of biased cells.

        A cell is flagged as biased if the mean of the refits (fits to simulated repetitions of the release) differs
        from the fitted distribution by more than a quarter of the refits' standard deviation, plus 1.645 standard
        errors of that mean.
        """
        return fit_tables(self.margins, self.rows)

    def checked_cells(self, count: int = 20, level: float = 0.95) -> tuple[CheckedCell, ...]:
        """Return random cells of large tables with three estimates: of the release, the pooled files, and one file.

        The chosen cells have 20 records or more in the fitted distribution. For each cell, the result states the share
        of files whose own interval contains the number of the fitted distribution. The share of these files shows how
        often the interval of a single file would contain the number of the population.

        Parameters
        ----------
        count : int
            The method returns at most this number of cells.
        level : float
            The confidence level of the intervals.

        Returns
        -------
        tuple of CheckedCell

        Raises
        ------
        ParameterError
            HG110: the confidence level is not between 0 and 1.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"a": [0, 1] * 500, "b": [0, 0, 1, 1] * 250}), relation="replace-one")
        >>> files = survey.margins(by={"a": [0, 1], "b": [0, 1]}, order=2, epsilon=5.0).synthesize(n_files=5, rng=1)
        >>> [cell.name for cell in files.checked_cells()]
        ['a=0, b=0', 'a=0, b=1', 'a=1, b=0', 'a=1, b=1']
        """
        return check_cells(self.margins, self.rows, count, parse_level(level))

    def plot(self, *, count: int = 6, level: float = 0.95, ax: Axes | None = None) -> Axes:
        """Draw random cells with three intervals each: of the release, of the pooled files, and of one file alone.

        Parameters
        ----------
        count : int
            The number of cells.
        level : float
            The confidence level of the intervals.
        ax : matplotlib Axes, optional
            If no axes are given, a new figure is made.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ParameterError
            HG110: the confidence level is not between 0 and 1.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"a": [0, 1] * 500, "b": [0, 0, 1, 1] * 250}), relation="replace-one")
        >>> files = survey.margins(by={"a": [0, 1], "b": [0, 1]}, order=2, epsilon=5.0).synthesize(n_files=5, rng=1)
        >>> files.plot(count=2).get_xlabel()
        'records'
        """
        from hedgerow.plots.bars import ErrorBar, draw_grouped_bars
        from hedgerow.plots.figure import shown_in_notebook

        bars = [
            ErrorBar(kind, *numbers, None, True, cell.name)
            for cell in self.checked_cells(count, level)
            for kind, numbers in (
                ("release", cell.released),
                ("files, pooled", cell.pooled),
                ("one file alone", cell.one_file),
            )
        ]
        with shown_in_notebook():
            return draw_grouped_bars(bars, level=parse_level(level), unit="records", ax=ax)

    def write(self, path: str | Path, *, force: bool = False) -> tuple[str, ...]:
        """Write all synthetic files as CSV and Parquet, with a README, the record of the release and its certificate.

        Parameters
        ----------
        path : path
            The folder for the files, which is made if it does not exist.
        force : bool
            Whether to replace files in a folder that is not empty.

        Returns
        -------
        tuple of str
            The names of the written files.

        Raises
        ------
        ParameterError
            HG118: the folder cannot be written. HG119: the folder is not empty.

        Examples
        --------
        >>> import pyarrow, tempfile, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"a": [0, 1] * 500, "b": [0, 0, 1, 1] * 250}), relation="replace-one")
        >>> margins = survey.margins(by={"a": [0, 1], "b": [0, 1]}, order=2, epsilon=5.0)
        >>> margins.synthesize(n_files=2, rng=1).write(tempfile.mkdtemp())[:2]
        ('README.md', 'file_01.csv')
        """
        return write_files(self.margins, self.rows, self.columns, self.sql_types(), path, force=force)


@dataclass(frozen=True, slots=True)
class _Frames(Sequence[Any]):
    """The frames of files from one place on, each built when it is read."""

    files: SyntheticFiles
    start: int

    def __len__(self) -> int:
        return self.files.n_files

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        return build_frame(self.files.columns(self.start + range(len(self))[index]), self.files.margins.backend)

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))


def values_of(axis: Category, levels: NDArray[np.int16], rng: np.random.Generator) -> list[Any]:
    """Return the value of each level of a column, drawn within its band where it has bands."""
    if not axis.edges:
        every = [*typed_values(axis), *([_other(axis)] * axis.other)]
        return [every[level] for level in levels.tolist()]
    edges = np.array(axis.edges)
    outside = levels >= len(axis.values)
    held = np.where(outside, 0, levels)
    low, high = edges[held], edges[held + 1]
    if all(float(edge).is_integer() for edge in axis.edges):
        # The last band is closed: its upper cut point is a value of it.
        last = (held == len(axis.values) - 1).astype(np.int64)
        numbers = rng.integers(low.astype(np.int64), high.astype(np.int64) + last).tolist()
    else:
        numbers = rng.uniform(low, high).tolist()
    return [None if out else number for number, out in zip(numbers, outside.tolist(), strict=True)]


def typed_values(axis: Category) -> list[Any]:
    """Return the declared values; where all are texts of dates, as dates."""
    texts = [value for value in axis.values if isinstance(value, str)]
    try:
        return [date.fromisoformat(text) for text in texts] if len(texts) == len(axis.values) else [*axis.values]
    except ValueError:
        return [*axis.values]


def _other(axis: Category) -> str | None:
    return "other" if all(isinstance(value, str) for value in typed_values(axis)) else None


def _kind(axis: Category) -> str:
    if axis.edges:
        return "BIGINT" if all(float(edge).is_integer() for edge in axis.edges) else "DOUBLE"
    found = {type(value) for value in typed_values(axis)}
    names = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", date: "DATE"}
    if found == {int, float}:
        return "DOUBLE"
    return names.get(found.pop(), "VARCHAR") if len(found) == 1 else "VARCHAR"
