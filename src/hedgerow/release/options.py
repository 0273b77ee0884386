"""The keywords of a release, its plan and a table, declared once: for type checkers, for help and for refusals.

Completes a call from the facts: bounds and step, categories, missing policy.

Arguments of a call override the facts. The certificate names every fact that is used without a source, and every fact
that the call overrides.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict

from hedgerow.errors import FactsError, ParameterError
from hedgerow.facts.columns import Bands, Category, Grid, Missing, Scalar, Selection, checked_column
from hedgerow.facts.declared import ColumnFacts, Facts
from hedgerow.facts.expression import DerivedColumn
from hedgerow.facts.printed import joined
from hedgerow.facts.relation import Weights
from hedgerow.facts.written import toml_key
from hedgerow.statistics.statistic import NeedsBounds, Statistic, StatisticRequest

By = Mapping[str, Sequence[Scalar] | Mapping[Scalar, str] | Bands | None] | Sequence[str]
Noise = Literal["auto", "laplace", "geometric", "gaussian", "averaged-laplace"]
"""The built-in laws of noise by name; any other registered law is named by a text too."""
Estimator = Literal["auto", "moments", "bootstrap", "bounded-bootstrap"]
UnitWeight = Literal["rows", "unit"]
Policy = Literal["drop", "midpoint", "error-if-declared-complete"]
REPLICATED = ("bootstrap", "bounded-bootstrap")
ESTIMATORS = ("auto", "moments", *REPLICATED)
AVERAGED_LAPLACE = "averaged-laplace"


class SharedOptions(TypedDict, total=False):
    """Keywords of both a release and a table; see `Survey.release`."""

    epsilon: float | None
    rho: float | None
    mu: float | None
    delta: float | None
    noise: Noise | str | None
    n_draws: int | None
    missing: Policy | None
    share: Sequence[float] | None
    other: bool | None
    where: str | None
    n_resamples: int | None
    interval: str | None


class UngroupedOptions(SharedOptions, total=False):
    """Keywords of a release without groups, apart from the statistics."""

    weights: tuple[str, float] | None
    unit_weight: UnitWeight | None
    estimator: Estimator | None
    request_id: str | None


class PlanOptions(SharedOptions, total=False):
    """Keywords of `Survey.plan`, apart from the statistics."""

    by: By | None
    weights: tuple[str, float] | None
    unit_weight: UnitWeight | None
    estimator: Estimator | None


class ReleaseOptions(PlanOptions, total=False):
    """Keywords of `Survey.release`, apart from the statistics."""

    request_id: str | None


class RegressionOptions(TypedDict, total=False):
    """Keywords of a regression, apart from its formula; see `Survey.ols`."""

    bounds: Mapping[str, Any] | None
    categories: Mapping[str, Sequence[Scalar]] | None
    intercept: bool
    clip_norm: float | None
    robust: bool | str
    weights: tuple[str, float] | None
    guess: Mapping[str, Any] | None
    by: By | None
    other: bool | None
    where: str | None
    epsilon: float | None
    rho: float | None
    mu: float | None
    delta: float | None
    noise: str | None
    missing: str | None
    request_id: str | None


class LogitOptions(TypedDict, total=False):
    """Keywords of a logistic regression, apart from its formula; see `Survey.logit`."""

    value: Scalar
    steps: int
    bounds: Mapping[str, Any] | None
    categories: Mapping[str, Sequence[Scalar]] | None
    intercept: bool
    where: str | None
    epsilon: float | None
    rho: float | None
    mu: float | None
    delta: float | None
    request_id: str | None


class TableOptions(SharedOptions, total=False):
    """Keywords of a table, apart from its groups and its guarantee; see `Survey.magnitude_table`."""

    weights: tuple[str, float] | None
    sensitivity: str
    margins: bool
    cell_bounds: Any
    part: tuple[str, str] | None
    request_id: str | None


Values = Iterable[Scalar] | Mapping[Scalar, str] | Bands
BUDGETS = ("epsilon", "rho", "mu")
_MISSING = {"relation": "HG103", "epsilon": "HG101", "bounds": "HG104", "categories": "HG111"}
_TO_FILL_IN = {"bounds": "bounds = [LO, HI]\n", "categories": "categories = [VALUE, VALUE]\n"}
_RELATION_TO_FILL_IN = """
# "replace-one": the number of records is public. "add-remove": the number of records is private.
relation = "RELATION"  # above all lines in square brackets
"""


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolves the parts of a request against the facts, and notes what the certificate must say.

    Attributes
    ----------
    facts : Facts
        Empty ones where a call has none.
    notes : list of str
        The sentences so far, each once.
    absent : tuple of str
        Which of "relation" and "epsilon" the request lacks.
    """

    facts: Facts = field(default_factory=Facts)
    notes: list[str] = field(default_factory=list)
    absent: tuple[str, ...] = ()

    @classmethod
    def of(cls, facts: Facts | None, options: Mapping[str, Any], *, related: bool = True) -> Resolver:
        """Return what completes a call of these options, where a relation is stated or is not (`related`)."""
        priced = any(options.get(name) is not None for name in BUDGETS)
        absent = [name for name, there in (("relation", related), ("epsilon", priced)) if not there]
        return cls(facts or Facts(), absent=tuple(absent))

    def statistic(self, asked: StatisticRequest) -> Statistic:
        """Return the statistic with its bounds.

        Raises
        ------
        ForbiddenError
            HG704: the facts leave it out.
        ParameterError
            HG104: neither call nor facts have bounds.
        """
        self.facts.allow([asked.kind])
        if isinstance(asked, NeedsBounds):
            return asked.build([(self.facts.computed(column), self._grid(asked, column)) for column in asked.columns])
        asked = asked.renamed(self.facts.computed)
        for column, grid in asked.grids:
            self.compare(column, grid)
        return asked

    def require_all(self, statistics: Sequence[StatisticRequest], by: object) -> None:
        """Refuse a call that lacks several public facts, all at once; a single one is refused where it is used.

        Raises
        ------
        ForbiddenError
            HG704: the facts leave a statistic out.
        ParameterError
            HG103, HG101, HG104 or HG111, as `require`.
        """
        self.facts.allow([asked.kind for asked in statistics])
        unbounded = [asked for asked in statistics if isinstance(asked, NeedsBounds)]
        numeric = [(column, asked) for asked in unbounded for column in asked.columns]
        grouped = [column for column, values in declared_groups(by) or () if values is None]
        lacks = self._lacks("bounds")
        forms = [(asked.in_python, asked.in_shell(column)) for column, asked in numeric if lacks(column)]
        self.require({"bounds": [column for column, _ in numeric], "categories": grouped}, forms)

    def require(
        self, needed: Mapping[Literal["bounds", "categories"], Iterable[str]], forms: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Refuse a request that lacks several facts: the relation, epsilon, and what is needed of columns.

        The code is that of the first kind that is missing: HG103 for the relation, HG101 for epsilon, HG104 for bounds,
        HG111 for categories. The remedy ends in lines for a facts file, with the names of the columns and words in
        place of values. `forms` say how a call gives bounds, in Python and on the command line: the first is the
        example.
        """
        lacking = {kind: [*dict.fromkeys(filter(self._lacks(kind), columns))] for kind, columns in needed.items()}
        named = [(kind, columns) for kind, columns in lacking.items() if columns]
        if len(self.absent) + sum(len(columns) for _, columns in named) < 2:
            return
        missing = [f"no `{name}`" for name in self.absent]
        missing += [f"no {kind} of {joined([*map(repr, columns)])}" for kind, columns in named]
        listed = f"{', '.join(missing[:-1])}{',' * (len(missing) > 2)} and {missing[-1]}"
        raise ParameterError(
            _MISSING[[*self.absent, *(kind for kind, _ in named)][0]],
            rule="The relation, the price, bounds and categories are declared and never read from the data.",
            finding=f"Found {listed}, neither in the call nor in a facts file.",
            remedy=self._to_declare(dict(named), forms[0][0] if forms else "", shell=False),
            shell=self._to_declare(dict(named), forms[0][1] if forms else "", shell=True),
            facts_help=True,
        )

    def _to_declare(self, named: Mapping[str, Sequence[str]], form: str, *, shell: bool) -> str:
        """Return how to declare what is missing, and last the lines for a facts file, with words to fill in."""
        said = ["Give epsilon=1.0 in the call: each call states its own price."] if "epsilon" in self.absent else []
        if named:
            searches = " and ".join(_search(kind, columns[0])[shell] for kind, columns in named.items())
            finds = "find" if len(named) > 1 else "finds"
            such = f"Give the {joined([*named])} of the codebook" + (f" in the call, such as {form}" if form else "")
            said.append(f"{such}; if they are unknown, {searches} {finds} them, at a price.")
        by_column = {"": _RELATION_TO_FILL_IN} if "relation" in self.absent else {}
        for kind, columns in named.items():
            for column in columns:
                header = f"\n[columns.{toml_key(column)}]\n"
                by_column[column] = by_column.get(column, header) + _TO_FILL_IN[kind]
        use = "give --facts hedgerow.toml" if shell else 'open the source with facts="hedgerow.toml"'
        said.append(f"For a facts file, write these lines with your values into hedgerow.toml, and {use}:")
        return f"{' '.join(said)}\n{''.join(by_column.values()).rstrip()}"

    def _fact(self, column: str) -> ColumnFacts:
        """Return the facts about a column; a function of one column has bounds by those of its column."""
        fact, named = self.facts.column(column), self.facts.computed(column)
        if fact.bounds is not None or not isinstance(named, DerivedColumn):
            return fact
        return replace(fact, bounds=named.image(self.facts.ends))

    def _lacks(self, kind: str) -> Callable[[str], bool]:
        def lacks(column: str) -> bool:
            facts = self._fact(column)
            # A column that is computed in the call is declared in the call.
            return (
                not isinstance(column, DerivedColumn) and (facts.bounds if kind == "bounds" else facts.groups) is None
            )

        return lacks

    def selection(self, where: object) -> Selection:
        """Return the records that a condition selects; columns that the facts compute are computed (HG131)."""
        selection = Selection.of(where)
        return selection.renamed(self.facts.computed)

    def weights(self, given: object) -> Weights:
        """Return the weights of a call; a column that the facts compute is computed (HG134)."""
        weights = Weights.declared(given)
        return weights.renamed(self.facts.computed(weights.column))

    def groups(self, by: object, other: bool | None, *, keyword: str = "by") -> tuple[Category, ...] | None:
        """Return the categories of each group; None where `by` is no list of names and no mapping.

        The argument `keyword` is the name by which a call gives categories, for the refusal.

        Raises
        ------
        ParameterError
            HG111: a column whose categories are declared neither by the call nor by the facts.
        """
        listed = declared_groups(by)
        return None if listed is None else tuple(self._category(*each, other, keyword) for each in listed)

    def policy(self, statistic: Statistic, given: Missing | None) -> Missing:
        """Return what a missing value of a statistic's columns counts as: by the call, the facts, else ``drop``.

        Raises
        ------
        FactsError
            HG705: the columns of one statistic have different policies.
        """
        columns = statistic.columns
        declared = {column: self.facts.column(column).missing for column in columns}
        if given is not None:
            for column, fact in declared.items():
                if fact is not None and fact is not given:
                    self._note(f"missing policy of column {column}: {given} in this call, not {fact} as in the facts")
            return given
        policies = {fact or Missing.DROP for fact in declared.values()}
        if len(policies) > 1:
            raise FactsError(
                "HG705",
                rule="All columns of one statistic must have the same missing policy.",
                finding=f"The facts give different ones to {' and '.join(repr(column) for column in columns)}.",
                remedy='Name one policy in the call, e.g. missing="drop".',
            )
        for column, fact in declared.items():
            if fact is not None:
                self.sourced("missing policy", column)
        return policies.pop() if policies else Missing.DROP

    def _grid(self, asked: NeedsBounds, column: str) -> Grid:
        fact = self._fact(column)
        if isinstance(column, DerivedColumn) and column.bounds is not None:
            # Declared with the column, in this call.
            step = column.step if asked.step is None else asked.step
            grid = Grid.from_bounds(column, column.bounds, step)
            return grid if step is not None or asked.steps is None else replace(grid, steps=asked.steps)
        grid = self.grid(column, asked.in_python, asked.in_shell(column))
        if asked.step is not None:
            grid = Grid.from_bounds(column, fact.bounds, asked.step)
            if fact.step is not None:
                self.compare(column, grid)
            return grid
        if asked.steps is not None and grid.steps > 2 * asked.steps:
            # A quantile reads every grid value as a cell of its own: with a much finer step the noise would hide it.
            return replace(Grid.from_bounds(column, fact.bounds), steps=asked.steps)
        return grid

    def grid(self, column: str, in_python: str, in_shell: str) -> Grid:
        """Return the grid that the facts declare; HG104, with how a call writes bounds, where they declare none."""
        fact = self._fact(column)
        if fact.bounds is None:
            raise ParameterError(
                "HG104",
                rule="A numeric statistic needs declared bounds, so that no person can change its value without limit.",
                finding=f"Column {column!r} has none, neither in the call nor in a facts file.",
                remedy=f"Give the bounds from the codebook: {in_python}.{_if_unknown('bounds', column)[0]}",
                shell=f"Give the bounds from the codebook: {in_shell}.{_if_unknown('bounds', column)[1]}",
                facts_help=True,
            )
        self.sourced("bounds", column)
        return Grid.from_bounds(column, fact.bounds, fact.step)

    def compare(self, column: str, grid: Grid) -> None:
        """Note how bounds of the call differ from those of the facts."""
        fact = self.facts.column(column)
        if fact.bounds is None:
            return
        declared = Grid.from_bounds(column, fact.bounds, fact.step)
        low, high = declared.as_bounds()
        if grid.as_bounds() != (low, high):
            own = "[{:.15g}, {:.15g}]".format(*grid.as_bounds())
            self._note(f"bounds of column {column}: {own} in this call, not [{low:.15g}, {high:.15g}] as in the facts")
        else:
            self.sourced("bounds", column)

    def _category(self, column: str, values: Values | None, other: bool | None, keyword: str) -> Category:
        fact = self.facts.column(column)
        if values is None:
            if fact.groups is None:
                in_python, in_shell = _if_unknown("categories", column)
                raise ParameterError(
                    "HG111",
                    rule="The categories of a group are declared and never read from the data.",
                    finding=f"Column {column!r} has none, neither in the call nor in a facts file.",
                    remedy=f'List them, e.g. {keyword}={{"{column}": [0, 1]}}.{in_python}',
                    shell=f"List them, e.g. --{keyword} {shlex.quote(column)}=0,1.{in_shell}",
                    facts_help=True,
                )
            self.sourced("categories", column)
            name = self.facts.computed(column)
            return Category.declared(name, fact.groups, other=fact.other if other is None else other)
        made = Category.declared(self.facts.computed(column), values, other=bool(other))
        if fact.groups is not None:
            declared = Category.declared(column, fact.groups, other=fact.other)
            if (made.values, made.other, made.edges) != (declared.values, declared.other, declared.edges):
                self._note(f"categories of column {column}: those of this call, not those of the facts")
            else:
                self.sourced("categories", column)
        return made

    def sourced(self, what: str, column: str) -> None:
        """Note that a fact that is used has no source."""
        if column in self.facts.columns and not self.facts.column(column).source:
            self._note(f"{what} of column {column}: no source given")

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def _search(kind: str, column: str) -> tuple[str, str]:
    """Return what finds a fact about a column, in Python and on the command line.

    >>> _search("bounds", "income")
    ('survey.find_bounds("income", epsilon=0.1)', '`hedgerow find bounds SOURCE income --epsilon 0.1`')
    """
    computed = isinstance(column, DerivedColumn) and column == column.text
    in_python, in_shell = (f'hg.column("{column}")', f"({column})") if computed else (f'"{column}"', column)
    epsilon = {"bounds": 0.1, "categories": 0.5}[kind]
    shell = f"`hedgerow find {kind} SOURCE {shlex.quote(in_shell)} --epsilon {epsilon}`"
    return f"survey.find_{kind}({in_python}, epsilon={epsilon})", shell


def _if_unknown(kind: str, column: str) -> tuple[str, str]:
    """Return the sentence about facts that nobody knows, in Python and on the command line."""
    in_python, in_shell = _search(kind, column)
    said = " If they are unknown, {} finds them, at a price."
    return said.format(in_python), said.format(in_shell)


def declared_groups(by: object) -> list[tuple[str, Values | None]] | None:
    """Return (column, categories) of each group, None for categories that the facts must give.

    >>> declared_groups(["sex", "region"]), declared_groups({"sex": [0, 1]})
    ([('sex', None), ('region', None)], [('sex', [0, 1])])
    """
    if isinstance(by, dict) or hasattr(by, "items"):
        return list(by.items())
    if isinstance(by, str):
        return [(by, None)]
    if isinstance(by, Sequence) and by:
        names = [checked_column(name) for name in by]
        if len(set(names)) < len(names):
            raise ParameterError(
                "HG111",
                rule="Each column is named once in `by`.",
                finding="A column is named twice.",
                remedy='For example by=["sex", "region"].',
            )
        return [(name, None) for name in names]
    return None
