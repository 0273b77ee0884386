"""What a release and a table have in common: estimates with public facts and a price, and the ways to hand them on.

Converts columns to polars, pandas or pyarrow, whichever the caller has; all of them are optional.
"""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, overload

from hedgerow.errors import ParameterError
from hedgerow.facts.printed import OWN_NAMES
from hedgerow.inference.estimate import Estimate
from hedgerow.release.publication.formats import Published, write
from hedgerow.release.publication.write_file import optionally_written
from hedgerow.release.spend import Receivable

BACKENDS = {"polars": "DataFrame", "pandas": "DataFrame", "pyarrow": "table"}


def build_frame(columns: dict[str, list[Any]], backend: str | None) -> Any:
    """Return the columns as a frame of `backend`, or of the first library that is installed.

    Raises
    ------
    ParameterError
        HG208: the library is not known or not installed.
    """
    for name in (backend,) if backend is not None else BACKENDS:
        if name not in BACKENDS:
            raise _no_frame(f"Found backend {name!r}.")
        try:
            library = importlib.import_module(name)
        except ImportError:
            continue
        # Categories of one column may differ in type between groups; frames want one type a column.
        return getattr(library, BACKENDS[name])({key: _of_one_type(column) for key, column in columns.items()})
    raise _no_frame("None of them is installed." if backend is None else f"{backend} is not installed.")


def pivoted(columns: Mapping[str, list[Any]], across: Sequence[str], values: Sequence[str]) -> dict[str, list[Any]]:
    """Return columns in which the categories of some columns stand side by side, one row for each of the others.

    >>> pivoted({"sex": [0, 0, 1, 1], "age": ["a", "b"] * 2, "estimate": [1.0, 2.0, 3.0, 4.0]}, ["age"], ["estimate"])
    {'sex': [0, 1], 'a': [1.0, 3.0], 'b': [2.0, 4.0]}

    Raises
    ------
    ParameterError
        HG160: a column that holds no categories, or no number of each row.
    """
    named = ("statistic", "column", "term")
    groups = [name for name in columns if name in named or name not in OWN_NAMES]
    labels = {column: f"{column}_label" for column in across if f"{column}_label" in groups}
    for given, known in ((across, [name for name in groups if name not in named]), (values, list(columns))):
        if not given or not set(given) <= set(known) or len(set(given)) < len(given):
            raise ParameterError(
                "HG160",
                rule="The argument `across` must name columns of categories, each once. The argument `values` must "
                "name columns of the result.",
                finding=f"Found {', '.join(map(str, given)) or 'none'}.",
                remedy=f"The columns are: {', '.join(known)}.",
            )
    down = [name for name in groups if name not in (*across, *labels.values())]
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for place in range(len(columns[values[0]])):
        key = tuple(columns[name][place] for name in down)
        head = ", ".join(str(columns[labels.get(column, column)][place]) for column in across)
        cells = {head if len(values) == 1 else f"{head} {value}": columns[value][place] for value in values}
        rows.setdefault(key, {}).update(cells)
    heads = dict.fromkeys(head for cells in rows.values() for head in cells)
    beside = {name: [key[place] for key in rows] for place, name in enumerate(down)}
    return beside | {head: [cells.get(head) for cells in rows.values()] for head in heads}


def framed(
    columns: dict[str, list[Any]],
    backend: str | None,
    across: str | Sequence[str] | None,
    values: str | Sequence[str],
) -> Any:
    """Return columns as a frame, with categories side by side where that is asked (HG208, HG160)."""
    if across is not None:
        listed = ([names] if isinstance(names, str) else list(names) for names in (across, values))
        columns = pivoted(columns, *listed)
    return build_frame(columns, backend)


def _of_one_type(column: list[Any]) -> list[Any]:
    kinds = {type(value) for value in column if value is not None}
    if kinds <= {int, float} or len(kinds) <= 1:
        return column
    return [None if value is None else str(value) for value in column]


def _no_frame(finding: str) -> ParameterError:
    return ParameterError(
        "HG208",
        rule="A data frame needs polars, pandas or pyarrow.",
        finding=finding,
        remedy="Install one of these packages, or use .to_dict(), which needs no package.",
    )


REPLAYED = (
    "Answered from the ledger's record of this request: nothing was spent, and no new noise was drawn. If the data "
    "have changed since, these are still the numbers of the earlier data."
)
SIMULATED = "SIMULATED: seeded noise, not private, no certificate"
MOST_PRINTED = 200  # rows of a release of more than 100,000 cells
_FACTS = ("source", "relation", "unit", "target", "n", "missing")


def hidden_cells(estimates: Iterable[Estimate]) -> list[str]:
    """Return a sentence about cells that the noise hides: a misspelt category looks like that. From released numbers.

    >>> hidden_cells([])
    []
    """
    cells = list(
        dict.fromkeys(estimate._cell_in_words() for estimate in estimates if estimate.cell and not estimate.reliable)
    )
    if not cells:
        return []
    named = "; ".join(cells[:3]) + f"; and {len(cells) - 3:,} more" * (len(cells) > 3)
    return [
        f"So few records, or none, are in {named} that noise hides them. If you expected more, check the codes of the "
        "categories: one that no record has costs as much as any other."
    ]


class PriceRecord(Protocol):
    """What a result states of its price: a `Certificate` under dp; a statement that cannot be re-priced elsewhere."""

    @property
    def epsilon(self) -> float:
        """ε, as it is stated."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        ...

    def to_json(self) -> str:
        """Return JSON text."""
        ...

    def attack(self) -> str:
        """Return in a sentence how often an attacker guesses right, at most; empty where no bound is known."""
        ...


class Writable:
    """Numbers with the ways to hand them on: as a frame, as LaTeX and Markdown, and in a file of any format."""

    __slots__ = ()
    backend: str | None

    @abstractmethod
    def _publication(self, title: str | None = None, *, level: float = 0.95) -> Published:
        """Return the data that the output formats read, with intervals at `level`."""

    @abstractmethod
    def to_columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """Return the numbers as columns of equal length: name, groups, numbers, interval, notes."""

    def to_frame(
        self,
        backend: str | None = None,
        *,
        across: str | Sequence[str] | None = None,
        values: str | Sequence[str] = "estimate",
    ) -> Any:
        """Return a data frame.

        The frame belongs to the data frame library of the caller's data, or otherwise to the first installed library
        among polars, pandas and pyarrow.

        Parameters
        ----------
        backend : str, optional
            ``"polars"``, ``"pandas"`` or ``"pyarrow"``.
        across : str or list of str, optional
            Group columns whose categories become columns of the frame, side by side, under the labels of the
            categories. Without `across` the frame has one row for each estimate.
        values : str or list of str
            The numbers that the columns side by side show: ``"estimate"``, ``"standard_error"`` and others.

        Returns
        -------
        DataFrame or Table
            A frame with one row for each estimate, or one row for each combination of the other groups if `across` is
            given.

        Raises
        ------
        ParameterError
            HG208: no data frame library is installed; `to_dict` needs no library. HG160: a named column does not exist.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> data = pyarrow.table({"sex": ["f", "m"] * 500, "age": [1, 1, 2, 2] * 250})
        >>> survey = hg.open(data, relation="replace-one")
        >>> table = survey.contingency_table(by={"age": [1, 2], "sex": ["f", "m"]}, epsilon=1.0)
        >>> table.to_frame("pyarrow", across="sex").column_names
        ['statistic', 'column', 'age', 'f', 'm']
        """
        return framed(self.to_columns(), backend or self.backend, across, values)

    def to_latex(self, path: str | Path | None = None, *, level: float = 0.95, title: str | None = None) -> str:
        r"""Return the result as a LaTeX table, and write the table to `path` if a path is given.

        The table has booktabs rules, standard errors in brackets, and the notes and the price below the numbers. The
        LaTeX document needs ``\usepackage{booktabs}``, and the package ``longtable`` for more than 40 rows.

        Parameters
        ----------
        path : path, optional
            The path of the file to which the text is written. The file name may have any ending.
        level : float
            The confidence level of the intervals.
        title : str, optional
            The caption.

        Returns
        -------
        str

        Raises
        ------
        ParameterError
            HG118: the file cannot be written. HG110: the confidence level is invalid.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
        >>> print(survey.mean("age", bounds=(0, 100), epsilon=1.0).to_latex(title="Ages").splitlines()[3])
          \caption{Ages}
        """
        from hedgerow.release.publication.formats import tex

        return self._text(tex.latex_text, path, level, title)

    def to_markdown(self, path: str | Path | None = None, *, level: float = 0.95, title: str | None = None) -> str:
        """Return the result as a Markdown table, and write the table to `path` if a path is given.

        The method `write` of a result makes a Quarto document if the path ends with ``.qmd``.

        Parameters
        ----------
        path, level, title
            As in `to_latex`.

        Returns
        -------
        str

        Raises
        ------
        ParameterError
            HG118: the file cannot be written. HG110: the confidence level is invalid.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
        >>> print(survey.mean("age", bounds=(0, 100), epsilon=1.0).to_markdown(title="Ages").splitlines()[0])
        **Ages**
        """
        from hedgerow.release.publication.formats import markdown

        return self._text(markdown.markdown_text, path, level, title)

    def write(self, path: str | Path, *, level: float = 0.95, title: str | None = None, dark: bool = False) -> None:
        """Write the result to a file, in the format that the ending of the path names.

        Parameters
        ----------
        path : str or Path
            The path. The ending of the path names the format: ``.csv``, ``.json`` and others;
            ``.csv.gz`` and ``.json.gz`` are packed with gzip.
        level : float
            The confidence level of the intervals.
        title : str, optional
            The caption of the output, for formats that have captions.
        dark : bool
            Whether a PNG or PDF picture has the colours for a dark page. An SVG picture takes the light or dark colours
            of the page that shows the picture.

        Raises
        ------
        ParameterError
            HG118: no format has the ending of the path, or the file cannot be written.

        Examples
        --------
        >>> import pyarrow, tempfile, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
        >>> release = survey.mean("age", bounds=(0, 100), step=1, epsilon=1.0)
        >>> release.write(tempfile.mkdtemp() + "/means.json")
        """
        from hedgerow.plots.figure import on_dark_paper

        with on_dark_paper() if dark else nullcontext():
            write(self._publication(title, level=level), path)

    def _text(self, write: Callable[[Any], str], path: str | Path | None, level: float, title: str | None) -> str:
        return optionally_written(write(self._publication(title, level=level).printed()), path)


class Outputs(Writable, Sequence[Estimate]):
    """Estimates with the ways to hand them on that a result has, and what is read from a result has too."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Result(Receivable, Outputs):
    """A released result: the numbers, the public facts about the request and the source, and the price.

    Attributes
    ----------
    certificate : PriceRecord or None
        None for a simulated result, which is never certified.
    source : str
        The name of the source.
    relation : str
        The neighbouring relation, ``"replace-one"`` or ``"add-remove"``.
    unit : str
        The privacy unit, such as ``"row"``.
    target : str
        The quantity that intervals cover, ``"population"`` or ``"file"``.
    missing : str
        The policy for missing values.
    n : int or None
        The public number of records, under the neighbouring relation replace-one.
    where : str or None
        The condition that selects records, as it was given. None if the result uses all records. Under replace-one `n`
        is the number of all records.
    weights : mapping or None
        The column of weights, and the largest weight that a record may have. None if all records have the same weight.
    derived : mapping
        The expressions of the computed columns, by the names of these columns.
    date : str or None
        The date in UTC (ISO 8601) on which the noise was drawn. None for a simulated result, and for a record without
        a date.
    about : mapping
        The publisher and the purpose of the result, as the facts state them; see `hedgerow publish`.
    backend : str or None
        The caller's own frame library.
    ledger_head : str or None
        The head of the ledger after this result. A ledger that contains a head from an earlier report still contains
        all entries up to that head. None without a ledger.
    unrecorded : bool
        Whether the ledger holds only the price, because this result could not be written to the ledger (HG606).
    replayed : bool
        Whether the result was read from the ledger's record of the same request, at no further price. No record states
        this.
    """

    certificate: PriceRecord | None
    source: str
    relation: str
    unit: str
    target: str
    n: int | None
    missing: str
    where: str | None = None
    weights: Mapping[str, Any] | None = None
    derived: Mapping[str, str] = field(default_factory=dict)
    date: str | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    backend: str | None = None
    ledger_head: str | None = None
    unrecorded: bool = False
    replayed: bool = False

    @property
    def simulated(self) -> bool:
        """Whether the noise was seeded. A result with seeded noise is never certified."""
        return self.certificate is None

    @property
    def _large(self) -> bool:
        """Whether there are more cells than a record lists."""
        return False

    @property
    def _printed(self) -> Sequence[Estimate]:
        """The estimates that are printed: all, or the first of very many."""
        return self[:MOST_PRINTED] if self._large else self

    @abstractmethod
    def price(self) -> str:
        """Return the privacy price as one line of text. The line of a simulated result says that it has no price."""

    @overload
    def to_csv(self, path: None = None, *, level: float = 0.95) -> str: ...
    @overload
    def to_csv(self, path: str | Path, *, level: float = 0.95) -> None: ...
    def to_csv(self, path: str | Path | None = None, *, level: float = 0.95) -> str | None:
        """Return the result as CSV text, with one line for each number.

        If a path is given, write the text to this file and return nothing.

        Group columns keep their names, but a name that hedgerow itself uses, such as ``level``, gets the prefix
        ``by_``. The column ``NAME_label`` contains the labels of the categories of the group column NAME. A text that a
        spreadsheet would execute as a formula gets an apostrophe in front.

        Parameters
        ----------
        path : path, optional
            The file to write. If no path is given, the CSV text is returned, as by the method `to_csv` of pandas.
        level : float
            The confidence level of the intervals.

        Returns
        -------
        str or None

        Raises
        ------
        ParameterError
            HG118: the file cannot be written. HG110: the confidence level is invalid.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"sex": [0, 1] * 500}), relation="replace-one")
        >>> survey.count(by={"sex": [0, 1]}, epsilon=1.0).to_csv().splitlines()[0][:34]
        'statistic,column,sex,estimate,stan'
        """
        from hedgerow.release.publication.formats import csv

        if path is None:
            return csv.csv_text(self._publication(level=level))
        csv.write(self._publication(level=level), path)
        return None

    def _facts(self, notes: Sequence[str], methods: dict[str, str]) -> dict[str, Any]:
        """Return the record's part about the whole: what was asked of what, and how."""
        facts = {name: getattr(self, name) for name in _FACTS}
        facts |= {} if self.where is None else {"where": self.where}
        facts |= {} if self.weights is None else {"weights": dict(self.weights)}
        facts |= {"derived": dict(self.derived)} if self.derived else {}
        facts |= {} if self.date is None else {"date": self.date}
        facts |= {"about": dict(self.about)} if self.about else {}
        facts |= {"methods": methods, "notes": list(notes)}
        return facts | {"simulated": True} if self.simulated else facts
