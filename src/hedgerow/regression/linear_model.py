"""A linear model as a statistic that is planned, priced, drawn and recorded like any other."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from hedgerow.engines.query import SumsQuery, WeightOnGrid
from hedgerow.engines.source import ColumnSource
from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Category, CellLabels, Grid, Missing, Scalar
from hedgerow.facts.declared import Facts
from hedgerow.facts.expression import DerivedColumn
from hedgerow.facts.validation import as_float, format_argument
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.interval import normal_quantile
from hedgerow.mechanisms.joint.joint_moments import JointMoments, joint_moments
from hedgerow.mechanisms.joint.joint_numbers import JointLayout
from hedgerow.mechanisms.mechanism import Composition
from hedgerow.noise.lattice import AdditiveTable, NoiseSource
from hedgerow.regression.clustered import ClusterStep, TotalsOfUnits, rows_of_unit
from hedgerow.regression.coefficient_question import TYPICAL, TYPICAL_WEIGHT, CoefficientQuestion, reason_of
from hedgerow.regression.features import LinearFeatures
from hedgerow.regression.formula import FormulaTerms
from hedgerow.regression.least_squares import UNRELIABLE
from hedgerow.regression.sandwich import WEIGHTS, SecondStep, parse_robust, shares_exact, shares_query, weight_on_grid
from hedgerow.release.designs.design import Design, PublicFacts, complete
from hedgerow.release.designs.joint.chooser import JointChoice
from hedgerow.release.options import Resolver
from hedgerow.resampling.counted_values import GridSums
from hedgerow.statistics.statistic import Family, NamedGrid, Powers, Statistic


@dataclass(frozen=True, repr=False)
class LinearModel(Statistic):
    """The coefficients of a linear model."""

    model: LinearFeatures
    formula: str
    terms: FormulaTerms
    robust: str | None = None
    kind: ClassVar[str] = "ols"
    family: ClassVar[Family] = "moments"

    @property
    def grids(self) -> tuple[NamedGrid, ...]:
        """The numeric columns."""
        return tuple(self.model.grids.items())

    @property
    def columns(self) -> tuple[str, ...]:
        """The numeric columns and the categories."""
        return (*self.model.grids, *self.model.categories)

    @property
    def column(self) -> str:
        """The response."""
        return self.model.response

    @property
    def weighable(self) -> bool:
        """It is, with robust errors."""
        return True

    @property
    def powers(self) -> Powers:
        """None: it is no function of means of columns alone."""
        return ()

    def in_words(self, *, by_cell: bool = False) -> str:
        """Return what a coefficient is of."""
        return f"least-squares coefficient of {self.formula}, all columns clamped to their bounds"

    def public_record(self) -> list[Any]:
        """Return the model: its regressors, grids and categories."""
        grids = [[column, str(grid.lower), str(grid.upper), grid.steps] for column, grid in self.model.grids.items()]
        categories = [[column, list(values)] for column, values in self.model.categories.items()]
        further = [option for option in (self.model.ball, self.robust) if option is not None]
        return [
            "ols",
            self.formula,
            [regressor.name for regressor in self.model.regressors],
            grids,
            categories,
            *further,
        ]

    def renamed(self, name: Callable[[str], str]) -> Statistic:
        """Return the model of columns that may be computed; their names stay."""
        return replace(self, model=replace(self.model, computed={column: name(column) for column in self.columns}))


@dataclass(frozen=True)
class RegressionDesign(Design[JointMoments, AdditiveTable]):
    """How the moments of a linear model are asked, drawn and read."""

    statistic: LinearModel
    by: tuple[Category, ...]
    facts: PublicFacts
    missing: Missing
    guess: Mapping[str, Any] | None = None
    chosen: JointChoice | None = None
    robust_step: SecondStep | None = None
    cluster_step: ClusterStep | None = None
    gain: float | None = None
    method: str = "moments"

    @property
    def model(self) -> LinearFeatures:
        """The model."""
        return self.statistic.model

    @property
    def second(self) -> SecondStep | ClusterStep | None:
        """The second step, for errors that are robust or of clusters."""
        return self.robust_step or self.cluster_step

    @cached_property
    def layout(self) -> JointLayout:
        """The features as the mechanism sees them: a record has all of them, or is in no cell."""
        known = self.facts.in_one_cell(self.by, self.missing) and self.totals is None and self.weight is None
        most_rows = None if self.totals is None else self.totals.most_rows
        shares = None if self.weight is None else WEIGHTS
        return self.model.layout(
            "public" if known else "private", len(CellLabels(self.by)), most_rows=most_rows, shares=shares
        )

    @property
    def weight(self) -> WeightOnGrid | None:
        """The column of weights, by which records count."""
        return None if self.facts.weights is None else weight_on_grid(self.facts.weights)

    @cached_property
    def totals(self) -> TotalsOfUnits | None:
        """What is added up of units of several rows; None of rows."""
        limit = self.facts.limit
        return None if limit is None else TotalsOfUnits(self.model, limit.max_rows)

    @property
    def n(self) -> int | None:
        """The number of records of a cell, where it is public."""
        return self.facts.n if self.layout.presence == "public" else None

    def weighing(self) -> CoefficientQuestion:
        """Return what the weights are chosen for."""
        n = TYPICAL if self.facts.n is None else max(1.0, self.facts.n / self.layout.cells)
        n *= 1.0 if self.weight is None else TYPICAL_WEIGHT
        if self.totals is not None and self.facts.n is not None:
            n *= rows_of_unit(self.totals.most_rows)
        return CoefficientQuestion(self.model, self.layout, self.facts.relation, n, self.facts.census, self.guess)

    @property
    def reason(self) -> str:
        """Why this law of noise, and what share of the price a second step has."""
        reason = "" if self.chosen is None else reason_of(self.chosen, self.gain)
        errors = "robust errors" if self.totals is None else "errors of clusters"
        return reason if self.second is None else f"{reason}; {self.second.share:.0%} of the price for {errors}"

    @property
    def query(self) -> SumsQuery:
        """The one question to the engine."""
        if self.chosen is None:
            raise TypeError("no weights were chosen")
        if self.totals is not None and self.facts.limit is not None:
            return self.totals.query(self.by, self.missing, self.facts.limit)
        if self.weight is not None:
            return shares_query(self.chosen.mechanism, self.model.values, self.weight, self.by, self.missing)
        needed = frozenset(range(len(self.model.values)))
        return SumsQuery(self.model.values, self.chosen.mechanism.monomials(), self.by, needed, None, self.missing)

    def mechanism(self, mu: float) -> JointMoments:
        """Return the chosen law and weights at μ, of Laplace noise at ε."""
        if self.chosen is None:
            raise TypeError("no weights were chosen")
        weights = self.chosen.mechanism.weights()
        return joint_moments(self.chosen.law, self.layout, weights, mu, self.facts.relation)

    def steps(self, precision: float) -> tuple[JointMoments, ...]:
        """Return everything that is drawn at a precision: with a second step, which follows from the first, both."""
        if self.second is None:
            return (self.mechanism(precision),)
        first, second = self.second.precisions(precision)
        return self.mechanism(first), self.second.mechanism(second, self.weighing())

    def whole(self, precision: float) -> JointMoments | Composition:
        """Return the steps as the one mechanism that is priced."""
        steps = self.steps(precision)
        return steps[0] if len(steps) == 1 else Composition(steps)

    def added_up(self, mechanism: JointMoments) -> tuple[str, ...]:
        """Return what is added up in each cell."""
        return mechanism.names

    def table(self, data: GridSums, mechanism: JointMoments, source: NoiseSource) -> AdditiveTable:
        """Return the exact sums with noise: what becomes public."""
        complete(data, self.missing)
        if self.totals is not None:
            exact = self.totals.exact(mechanism, data)
        elif self.weight is not None:
            exact = shares_exact(mechanism, data, len(self.model.values))
        else:
            exact = mechanism.exact(data)
        return mechanism.noisy(exact, source, cells=CellLabels(self.by))

    def estimates(self, table: AdditiveTable) -> Sequence[Estimate]:
        """Return none: a `Regression` reads the table."""
        return ()


@dataclass(frozen=True, slots=True)
class ExpectedCoefficient:
    """The errors that a coefficient may be expected to have, and how large the noise in the moments is beside them."""

    term: str
    sampling_error: float
    privacy_error: float
    noise_ratio: float

    @property
    def standard_error(self) -> float:
        """The root of the sum of the two squares."""
        return math.hypot(self.sampling_error, self.privacy_error)

    @property
    def reliable(self) -> bool:
        """Whether a fit with this much noise would be relied on."""
        return self.noise_ratio < UNRELIABLE


def card_of_coefficients(title: str, expected: Sequence[ExpectedCoefficient], notes: Sequence[str]) -> str:
    """Return what a notebook shows of a planned regression: expected errors by coefficient."""
    from hedgerow.plots.notebook import ExpectedLine, card_of_expected

    lines = [
        ExpectedLine(
            coefficient.term + ("" if coefficient.reliable else " (not reliable)"),
            (coefficient.standard_error, coefficient.sampling_error, coefficient.privacy_error),
            normal_quantile(0.95) * coefficient.standard_error,
        )
        for coefficient in expected
    ]
    return card_of_expected(title, lines, level=0.95, notes=notes)


def planned_source(source: ColumnSource | None) -> ColumnSource:
    """Return what a regression was planned for."""
    if source is None:
        raise TypeError("this regression was planned without a source")
    return source


def _ball(given: object, terms: FormulaTerms) -> float | None:
    """Return the length of a ball (HG195 where it is none, or the terms are more than numeric columns)."""
    if given is None:
        return None
    number = as_float(given)
    alone = all(len(term) == 1 and term[0][1] == 1 for term in terms.terms)
    if number is None or not 0.01 <= number <= math.sqrt(len(terms.numeric)) or not alone:
        raise ParameterError(
            "HG195",
            rule="clip_norm is a length from 0.01 to the root of the number of columns, in half-ranges of their "
            "bounds, for a regression of numeric columns only.",
            finding=f"Found {format_argument(given)}." if alone else "A term is a category, a power or a product.",
            remedy="The usual value of clip_norm is 1. As an alternative leave the option clip_norm out.",
        )
    return number


def resolved_model(terms: FormulaTerms, formula: str, resolver: Resolver, options: dict[str, Any]) -> LinearModel:
    """Return the model, with bounds and categories of the call, else of the facts; they are taken out of the options.

    Raises
    ------
    ParameterError
        HG104 to HG107, HG111: a column without bounds or categories, or with such as cannot be.
    """
    ball, robust = _ball(options.pop("clip_norm", None), terms), parse_robust(options.pop("robust", None), terms)
    bounds, categories = (named_columns(options.pop(name, None), name) for name in ("bounds", "categories"))
    resolver.facts.allow(["ols"])
    require_facts(terms.numeric, terms.categories, resolver, bounds, categories)
    values = category_values(terms, resolver, categories)
    grids = declared_grids("ols", terms.numeric, resolver, bounds)
    made = resolver.statistic(
        LinearModel(
            LinearFeatures(terms.response, terms.regressors(values), grids, values, ball=ball), formula, terms, robust
        )
    )
    if not isinstance(made, LinearModel):
        raise TypeError("a linear model was built")
    return made


def with_functions(terms: FormulaTerms, facts: Facts | None, *given: object) -> Facts | None:
    """Return the facts in which the functions of one column that a formula has are computed columns.

    `given` are the response and the regressors as the call gives them: columns that `hedgerow.column` made have their
    expression and bounds with them.
    """
    listed = [each for part in given for each in (part if isinstance(part, (list, tuple)) else [part])]
    columns: dict[str, dict[str, Any]] = {name: {"expression": name} for name in terms.functions}
    for column in listed:
        if isinstance(column, DerivedColumn):
            columns[str(column)] = {"expression": column.text, "bounds": column.bounds, "step": column.step}
    for name, stated in columns.items():
        known = facts or Facts()
        facts = known if known.column(name).expression is not None else known.with_column(name, **stated)
    return facts


def category_values(terms: FormulaTerms, resolver: Resolver, given: Mapping[str, Any]) -> dict[str, tuple[Scalar, ...]]:
    """Return the values of each category, by the call, else by the facts (HG111 where neither has any)."""
    asked = {column: given.get(column) for column in terms.categories}
    groups = resolver.groups(asked, None, keyword="categories") or ()
    return {column: group.values for column, group in zip(asked, groups, strict=True)}


def require_facts(
    numeric: Sequence[str],
    levelled: Sequence[str],
    resolver: Resolver,
    bounds: Mapping[str, Any],
    categories: Mapping[str, Any],
) -> None:
    """Refuse a model whose columns lack several facts, all at once (HG111 where categories are among them, HG104)."""
    resolver.require(
        {
            "categories": [column for column in levelled if categories.get(column) is None],
            "bounds": [column for column in numeric if column not in bounds],
        }
    )


def declared_grids(kind: str, columns: Sequence[str], resolver: Resolver, bounds: Mapping[str, Any]) -> dict[str, Grid]:
    """Return the grid of each column, by the call, else by the facts (HG104 where neither has bounds)."""
    resolver.facts.allow([kind])
    grids = {}
    for column in columns:
        if column in bounds:
            grids[column] = Grid.from_bounds(column, *_bounds_of(bounds[column]))
            resolver.compare(column, grids[column])
        else:
            in_python = f'bounds={{"{column}": (LO, HI)}}; categories are written C({column})'
            grids[column] = resolver.grid(
                column, in_python, f"--bounds {column}:LO:HI. A category is written as C of it"
            )
    return grids


def _bounds_of(given: Any) -> tuple[Any, ...]:
    """Return ((low, high), step) of bounds that may have a step behind them."""
    listed = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    return ((listed[0], listed[1]), listed[2]) if len(listed) == 3 else (given,)


def named_columns(given: object, name: str) -> Mapping[str, Any]:
    """Return what a call says of columns, by their names (HG190)."""
    if given is None or isinstance(given, Mapping):
        return given or {}
    raise ParameterError(
        "HG190",
        rule=f"`{name}` of a regression names columns.",
        finding="Found another value.",
        remedy='Use the columns of the model as keys, for example bounds={"age": (0, 100)}, categories={"sex": [0, '
        "1]}.",
        shell="For example, write --bounds age:0:100 --categories sex=0,1.",
    )


def among_declared(where: object, categories: Mapping[str, Sequence[Scalar]]) -> object:
    """Return the condition with one more for each category: a record with another value is left out."""
    conditions = [f"`{column}` in [{', '.join(map(constant, values))}]" for column, values in categories.items()]
    if where is None or not conditions:
        return where if not conditions else " and ".join(conditions)
    return " and ".join([f"({where})", *conditions]) if isinstance(where, str) else where


def constant(value: Scalar) -> str:
    """Return a value as a condition writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        quoted = value.replace("'", "''")
        return f"'{quoted}'"
    return repr(value)
