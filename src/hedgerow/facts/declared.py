"""The facts that a custodian declares about a table, once for all releases: protection, columns, budget.

Everything here is public and comes from a codebook, a law or a decision; nothing is ever read off values. `Facts` is
made in Python, or read from a file by `Facts.read`; the file's fields are described in `facts_file`. `Protection` is
what is in force for one survey: an argument of the call where it was given, else the fact, else the default.

An error about a missing public fact names a facts file nearby. The file is never used unless it is asked for.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hedgerow.errors import ForbiddenError, HedgerowError, ParameterError
from hedgerow.facts.budget import Budget
from hedgerow.facts.column_function import dates_of
from hedgerow.facts.columns import (
    Bands,
    Category,
    Grid,
    Missing,
    Scalar,
    Selection,
    bands,
    checked_column,
    parse_missing,
    with_names,
)
from hedgerow.facts.expression import REGRESSIONS, DerivedColumn, kinds, sources_of
from hedgerow.facts.relation import Relation, Target, UnitLimit, parse_relation, parse_target, parse_unit
from hedgerow.facts.validation import format_argument


@dataclass(frozen=True, slots=True)
class DataFacts:
    """Where the records are: a path, its kind (by its extension where None), and the table of a DuckDB file."""

    path: str
    kind: str | None = None
    table: str | None = None


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """The declared facts about one column.

    If a declared fact is None, each call that needs the fact must give the fact.

    Parameters
    ----------
    bounds : (low, high) or None
        The lowest and the highest value of the column. A value outside these bounds is clamped: replaced by the nearest
        bound. For a column of dates or times, the bounds are two dates, from which the bounds of computed years, days
        and ages follow.
    step : number or None
        The distance between neighbouring grid values; every value is rounded to the nearest grid value. The step must
        divide the width of the bounds, high − low, exactly.
    categories : tuple or None
        The declared values of the column, each of which forms a group of records (a cell).
    bands : tuple or None
        Cut points that divide a numeric column into intervals (bands), which serve as categories. See `hedgerow.bands`.
    labels : tuple or None
        One label for each category or band. Every output shows the labels of the categories or bands.
    expression : str or None
        For a computed column, its expression: arithmetic on other columns. See `hedgerow.column`.
    hierarchies : mapping or None
        Groups of categories for each level of a hierarchy: ``{"country": {"England": ["N", "S"], "Wales": ["W"]}}``.
        Tables of margins also show the totals of the groups of categories.
    other : bool
        Return the fit of one cell; error HG194 says that no such cell exists.
    missing : Missing or None
        The policy for missing values of this column: how statistics treat them.
    source : str or None
        The source of the facts about the column, such as a codebook. If a release uses facts without a source, its
        certificate names these facts.

    Raises
    ------
    ParameterError
        HG104 to HG107: the bounds or the step are invalid. HG111: categories or labels of the column are invalid.
        HG114: the missing policy is unknown. HG132: the expression of the column is invalid. HG133: the cut points of
        the bands are invalid.

    Examples
    --------
    >>> ColumnFacts(bounds=(18, 95), step=1, source="codebook p. 12").bounds
    (18, 95)
    """

    bounds: tuple[float, float] | None = None
    step: float | None = None
    categories: tuple[Scalar, ...] | None = None
    other: bool = False
    missing: Missing | None = None
    source: str | None = None
    bands: tuple[float, ...] | None = None
    labels: tuple[str, ...] | None = None
    expression: str | None = None
    hierarchies: Mapping[str, Mapping[str, Sequence[Scalar]]] | None = None
    dates: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        if self.missing is not None:
            object.__setattr__(self, "missing", parse_missing(self.missing))
        if (dates := dates_of(self.bounds)) is not None:
            # A grid has numbers: dates are bounds of what is computed from them.
            object.__setattr__(self, "dates", dates)
            object.__setattr__(self, "bounds", None)
        for name in ("bounds", "categories", "bands", "labels"):
            value = getattr(self, name)
            if isinstance(value, Sequence) and not isinstance(value, str):
                object.__setattr__(self, name, tuple(value))

    @property
    def groups(self) -> tuple[Scalar, ...] | Mapping[Scalar, str] | Bands | None:
        """The categories of the column with their labels, or its bands, as `Category.declared` takes them."""
        if self.bands is not None:
            return bands(*self.bands, labels=self.labels)
        if self.labels is None or self.categories is None or len(self.labels) != len(self.categories):
            return self.categories if self.labels is None else {}
        return dict(zip(self.categories, self.labels, strict=True))

    @property
    def type(self) -> str | None:
        """``"number"``, ``"text"`` or ``"date"``, where the facts declare one of them; None where several may occur.

        >>> ColumnFacts(bounds=(0, 9)).type, ColumnFacts(categories=("a", "b")).type, ColumnFacts().type
        ('number', 'text', None)
        """
        if self.dates is not None:
            return "date"
        numbers = {isinstance(value, (int, float)) for value in self.categories or ()}
        if self.categories and not any(map(_reads_as_number, self.categories)):
            # A numeric column may have codes that are texts, such as "refused".
            return "text" if self.bounds is None and not any(numbers) else None
        return "number" if self.bounds or self.bands or numbers == {True} else None

    def checked(self, column: str) -> ColumnFacts:
        """Return the facts of this column if they agree with each other, and raise an error otherwise.

        The argument `column` is the column name that error messages show.
        """
        if self.bands is not None and self.categories is not None:
            raise ParameterError(
                "HG111",
                rule="A column has either categories or bands, not both.",
                finding=f"The facts declare both for column {column!r}.",
                remedy="Declare either the categories or the bands of the column.",
            )
        if self.labels is not None and self.categories is not None:
            with_names(column, self.categories, self.labels)
        if self.bounds is not None or self.step is not None:
            Grid.from_bounds(column, self.bounds, self.step)
        if self.dates is not None and self.dates[0] >= self.dates[1]:
            raise ParameterError(
                "HG105",
                rule="In a column of dates, the lower bound must lie before the upper bound.",
                finding=f"Column {column!r} has {self.dates[0]} and {self.dates[1]}.",
                remedy="Write the earlier date first, for example bounds = [2020-01-01, 2026-12-31].",
            )
        if self.groups is not None or self.other or self.labels is not None:
            Category.declared(column, self.groups, other=self.other)
        if self.expression is not None:
            DerivedColumn.named(column, self.expression)
        if self.missing is Missing.MIDPOINT and self.bounds is None:
            raise ParameterError(
                "HG114",
                rule='The policy missing="midpoint" needs a numeric column with bounds.',
                finding=f"The facts declare it for column {column!r} without bounds.",
                remedy='Declare bounds, or missing = "drop".',
            )
        return self


def _reads_as_number(value: Scalar) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Allowance:
    """What may be spent on a table in all, and what of it has been.

    Attributes
    ----------
    total : Budget
        ε at δ, for all releases together.
    spent : float or None
        An upper bound on the ε, at the same δ, of what was released so far; None where no ledger keeps count.
    """

    total: Budget
    spent: float | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """The declared public facts of one table, such as bounds, categories and the privacy budget.

    The facts are checked when a `Facts` object is made.

    Parameters
    ----------
    relation : Relation or None
        The neighbouring relation. If the facts do not state the relation, each call must state the relation.
    target : Target
    unit : "row" or UnitLimit
        The privacy unit: one row, or all rows of one person up to a limit.
    data : DataFacts or None
    columns : mapping of str to ColumnFacts
    budget : Budget or None
        The privacy budget for all releases together: ε at δ.
    ledger : str or None
        The path of the ledger file that records spending.
    statistics : tuple of str or None
        The names of the statistics that are allowed. None allows all statistics.
    signatures : int or None
        The number of people who must approve each request; None stands for one person.
    releases : tuple of mapping
        The requests for releases that the facts file lists. For each listed request, hedgerow can make a plan.
    about : mapping
        The publisher of the data, and the use for which the data are published. Records and reports show the publisher
        and the use of the data; no released number depends on the publisher or the use.
    folder : Path or None
        The folder of the facts file. Relative paths in the facts start from the folder of the facts file.

    Raises
    ------
    ParameterError
        HG103, HG104 to HG107, HG111, HG114 or HG115: a declared fact is invalid.

    Examples
    --------
    >>> facts = Facts(relation="replace-one", columns={"age": ColumnFacts(bounds=(18, 95), step=1)})
    >>> facts.column("age").bounds, facts.column("sex").bounds
    ((18, 95), None)
    """

    relation: Relation | None = None
    target: Target = Target.POPULATION
    unit: str | UnitLimit = "row"
    data: DataFacts | None = None
    columns: Mapping[str, ColumnFacts] = field(default_factory=dict)
    budget: Budget | None = None
    ledger: str | None = None
    statistics: tuple[str, ...] | None = None
    releases: tuple[Mapping[str, Any], ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    signatures: int | None = None

    def __post_init__(self) -> None:
        checked = {checked_column(name): facts.checked(name) for name, facts in self.columns.items()}
        object.__setattr__(self, "columns", MappingProxyType(checked))
        self._check_texts()
        if self.relation is not None:
            object.__setattr__(self, "relation", parse_relation(self.relation))
        object.__setattr__(self, "target", parse_target(self.target))
        object.__setattr__(self, "unit", UnitLimit.parse(self.unit) or "row")
        known = [*kinds(), *REGRESSIONS] if self.statistics else []
        unknown = [kind for kind in self.statistics or () if kind not in known]
        if unknown:
            raise ParameterError(
                "HG112",
                rule="The facts allow statistics by their names: " + ", ".join(known) + ".",
                finding=f"Found {format_argument(unknown[0])}.",
                remedy="Leave the list `statistics` out of the facts to allow all statistics.",
            )

    def __reduce__(self) -> tuple[Any, ...]:
        # A mapping proxy cannot be pickled.
        return type(self), tuple(
            dict(self.columns) if part.name == "columns" else getattr(self, part.name) for part in fields(self)
        )

    def _check_texts(self) -> None:
        """Check the conditions of releases (HG131), and that no column is computed from a computed one (HG132)."""
        for release in self.releases:
            if release.get("where") is not None:
                Selection.of(release["where"])
        computed = {name: self.computed(name) for name, facts in self.columns.items() if facts.expression is not None}
        for name, column in computed.items():
            for part in sources_of(column):
                if part in computed:
                    raise ParameterError(
                        "HG132",
                        rule="The expression of a computed column may use columns of the source only.",
                        finding=f"That of {name!r} is from {part!r}, which is computed itself.",
                        remedy="Write the expression of the other column in brackets.",
                    )

    @classmethod
    def read(cls, path: object) -> Facts:
        """Read a facts file.

        Relative paths in the facts file start from the folder of the facts file. The module `facts_file` describes the
        format of a facts file.

        Raises
        ------
        FactsError
            HG701: the facts file cannot be read. HG702: a field of the facts file is invalid.
        ParameterError
            HG105, HG106, HG111 or another code: a declared fact is invalid, and the code names the broken rule.
        """
        from hedgerow.facts.facts_file import fields_of_file

        return cls._of(*fields_of_file(path))

    @classmethod
    def from_dict(cls, record: object, *, folder: Path | None = None) -> Facts:
        """Make a `Facts` object from a mapping that has the structure of a facts file.

        Parameters
        ----------
        record : mapping
            The content of a facts file: relation, unit, columns, budget and other fields. ``hedgerow schema`` describes
            all fields.
        folder : Path, optional
            The folder from which relative paths in the record start.

        Returns
        -------
        Facts

        Raises
        ------
        FactsError
            HG702: a field is unknown, or the value of a field is invalid.

        Examples
        --------
        >>> Facts.from_dict({"relation": "add-remove", "columns": {"sex": {"categories": [0, 1]}}}).relation
        <Relation.ADD_REMOVE: 'add-remove'>
        """
        from hedgerow.facts.facts_file import fields_of

        return cls._of(fields_of(record), folder)

    @classmethod
    def _of(cls, fields: dict[str, Any], folder: Path | None) -> Facts:
        columns = {name: ColumnFacts(**column) for name, column in fields.pop("columns").items()}
        data = fields.pop("data")
        return cls(**fields, data=None if data is None else DataFacts(**data), columns=columns, folder=folder)

    def column(self, name: str) -> ColumnFacts:
        """Return the declared facts about a column.

        The returned facts are empty if no facts about the column are declared.
        """
        return self.columns.get(name, ColumnFacts())

    def types(self) -> dict[str, str]:
        """Return the declared type of each column that has a declared type; see `ColumnFacts.type`."""
        return {name: column.type for name, column in self.columns.items() if column.type is not None}

    def with_column(self, name: str, **facts: Any) -> Facts:
        """Return a copy of these facts in which the facts about one column are added or replaced.

        Parameters
        ----------
        name : str
            The name of the column.
        **facts
            The declared facts about the column, as fields of `ColumnFacts`: ``bounds``, ``step``, ``categories``,
            ``missing``, ``source`` and others.

        Returns
        -------
        Facts
            The new facts. The `Facts` object whose method is called does not change.

        Raises
        ------
        ParameterError or FactsError
            HG105 to HG107, HG111: the facts about the column do not fit together.

        Examples
        --------
        >>> Facts().with_column("age", bounds=(0, 100), source="codebook").column("age").bounds
        (0, 100)
        """
        return replace(self, columns={**self.columns, name: replace(self.column(name), **facts)})

    def ends(self, name: str) -> tuple[Any, Any] | None:
        """Return the bounds of a column: two numbers, or two dates for a column of dates."""
        return self.column(name).bounds or self.column(name).dates

    def computed(self, name: str) -> str:
        """Return a column by its name, with the expression that the facts declare for a computed column."""
        text = self.column(name).expression
        return name if text is None or isinstance(name, DerivedColumn) else DerivedColumn.named(name, text)

    @property
    def data_path(self) -> str | None:
        """Path of the records, relative paths from where the facts lie."""
        return None if self.data is None else self._located(self.data.path)

    @property
    def ledger_path(self) -> str | None:
        """Path of the ledger, likewise."""
        return None if self.ledger is None else self._located(self.ledger)

    def allow(self, kinds: Sequence[str]) -> None:
        """Raise an error if the facts do not allow a statistic.

        Raises
        ------
        ForbiddenError
            HG704: the statistic is not in the list `statistics` of the facts.

        Examples
        --------
        >>> Facts(statistics=("mean",)).allow(["mean"])
        """
        left_out = [kind for kind in kinds if self.statistics is not None and kind not in self.statistics]
        if left_out:
            raise ForbiddenError(
                "HG704",
                rule="The facts do not allow this statistic.",
                finding=f"{left_out[0]!r} is not among them: {', '.join(self.statistics or ()) or 'none is'}.",
                remedy="Ask the person who is responsible for the data and the facts file.",
            )

    def _located(self, path: str) -> str:
        # pathlib would rewrite a URL such as s3://… into a path that may exist; it is refused as it was written.
        return path if "://" in path or self.folder is None else str(self.folder / path)


@dataclass(frozen=True, slots=True)
class Protection:
    """Unit and target in force, the relation where one is stated, and in sentences which facts the call overrides."""

    stated: Relation | None
    unit: str | UnitLimit
    target: Target
    notes: tuple[str, ...]

    @property
    def related(self) -> bool:
        """Whether a relation is stated."""
        return self.stated is not None

    @property
    def relation(self) -> Relation:
        """The relation in force (HG103 where none is stated)."""
        return parse_relation(self.stated)


def protection_of(
    facts: Facts | None, *, relation: object = None, unit: object = None, target: object = None
) -> Protection:
    """Return what is in force: an argument where it was given, else the fact, else the default.

    Raises
    ------
    ParameterError
        HG103 an unknown relation, HG115 if unit or target is invalid.
    UncertifiedError
        HG402: the limit of rows of one unit is too large.

    Examples
    --------
    >>> protection_of(Facts(relation="add-remove"), target="file").notes
    ('target: file in this call, not population as in the facts',)
    """
    declared = Facts() if facts is None else facts
    pairs = {
        "relation": (relation, declared.relation),
        "unit": (unit, declared.unit),
        "target": (target, declared.target),
    }
    chosen = {name: fact if given is None else given for name, (given, fact) in pairs.items()}
    stated = None if chosen["relation"] is None else parse_relation(chosen["relation"])
    notes = tuple(
        f"{name}: {given} in this call, not {fact} as in the facts"
        for name, (given, fact) in pairs.items()
        if facts is not None and given is not None and fact is not None and given != fact
    )
    return Protection(stated, parse_unit(chosen["unit"]), parse_target(chosen["target"]), notes)


_USUAL = "hedgerow.toml"


@contextmanager
def naming_facts_nearby(facts: object, source: object) -> Iterator[None]:
    """Add to an error about a missing fact the facts file beside the data or in this folder, if none was given."""
    try:
        yield
    except HedgerowError as refused:
        if facts is None and refused.facts_help:
            advise(refused, source)
        raise


def advise(refused: HedgerowError, source: object) -> None:
    """Add to an error where a facts file lies and how to use it; without such a file add nothing."""
    if where := _place(source):
        path, words = where
        sentence = f"There is a {_USUAL} {words}: to use it, give"
        refused.advise(f'{sentence} hg.open(..., facts="{path}").', shell=f"{sentence} --facts {shlex.quote(path)}.")


def _place(source: object) -> tuple[str, str] | None:
    if Path(_USUAL).is_file():
        return _USUAL, "in this folder"
    if isinstance(source, (str, os.PathLike)):
        beside = Path(os.fsdecode(source)).parent / _USUAL
        if beside.is_file():
            return str(beside), "beside the data"
    return None
