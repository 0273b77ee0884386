"""A linear model as a statistic that is planned, priced, drawn and recorded like any other."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hedgerow.accounting.calibrate import least_noise
from hedgerow.engines.query import SumsQuery, WeightOnGrid
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Category, CellLabels, Grid, Missing, Scalar
from hedgerow.facts.declared import Facts, Protection
from hedgerow.facts.given import as_float, format_argument
from hedgerow.facts.relation import Target, UnitLimit
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.interval import normal_quantile
from hedgerow.mechanisms.joint.numbers import JointFeature, JointLayout
from hedgerow.mechanisms.joint_moments import JointMoments, joint_moments
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE, Law
from hedgerow.mechanisms.mechanism import Composition, Single
from hedgerow.noise.source import NoiseSource
from hedgerow.noise.table import AdditiveTable
from hedgerow.regression.choice import TYPICAL, TYPICAL_WEIGHT, Weighing, guessed_records, noise_parts, reason_of
from hedgerow.regression.features import Model
from hedgerow.regression.moments import UNRELIABLE, Fit, Moments
from hedgerow.regression.robust.second_step import SecondStep, choose_second, parse_robust
from hedgerow.regression.shares import BITS_IN_ALL, WEIGHTS, shares_exact, shares_query, weight_on_grid
from hedgerow.regression.terms import Terms
from hedgerow.release.designs.chooser import Choice, choose
from hedgerow.release.designs.design import PlannedStatistic, PublicFacts, check_midpoint, complete
from hedgerow.release.plan import Plan
from hedgerow.release.request import Context, parse_request
from hedgerow.release.resolve import Resolver
from hedgerow.resampling.grid_sums import GridSums
from hedgerow.resampling.histogram import Histogram
from hedgerow.statistics.statistic import Family, NamedGrid, Powers, Statistic

_LAWS: dict[str, tuple[Law, ...]] = {"auto": (), "laplace": (LAPLACE,), "gaussian": (GAUSSIAN,)}


@dataclass(frozen=True, repr=False)
class LinearModel(Statistic):
    """The coefficients of a linear model."""

    model: Model
    formula: str
    terms: Terms
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
        further = [one for one in (self.model.ball, self.robust) if one is not None]
        return ["ols", self.formula, [one.name for one in self.model.regressors], grids, categories, *further]

    def renamed(self, name: Callable[[str], str]) -> Statistic:
        """Return the model of columns that may be computed; their names stay."""
        return replace(self, model=replace(self.model, computed={column: name(column) for column in self.columns}))


@dataclass(frozen=True)
class RegressionDesign:
    """How the moments of a linear model are asked, drawn and read."""

    statistic: LinearModel
    by: tuple[Category, ...]
    facts: PublicFacts
    missing: Missing
    guess: Mapping[str, Any] | None = None
    chosen: Choice | None = None
    second: SecondStep | None = None
    method: str = "moments"

    @property
    def model(self) -> Model:
        """The model."""
        return self.statistic.model

    @cached_property
    def layout(self) -> JointLayout:
        """The features as the mechanism sees them: a record has all of them, or is in no cell."""
        features = tuple(JointFeature(value.size - 1) for value in self.model.values)
        known = self.facts.in_one_cell(self.by, self.missing)
        ball = None if self.model.ball is None else len(self.model.features)
        cells = len(CellLabels(self.by))
        if self.weight is not None:
            return JointLayout(features, "private", cells, ball=ball, shares=WEIGHTS)
        return JointLayout(features, "public" if known else "private", cells, ball=ball)

    @property
    def weight(self) -> WeightOnGrid | None:
        """The column of weights, by which records count."""
        return None if self.facts.weights is None else weight_on_grid(self.facts.weights)

    @property
    def n(self) -> int | None:
        """The number of records of a cell, where it is public."""
        return self.facts.n if self.layout.presence == "public" else None

    def weighing(self) -> Weighing:
        """Return what the weights are chosen for."""
        n = TYPICAL if self.facts.n is None else max(1.0, self.facts.n / self.layout.cells)
        n *= 1.0 if self.weight is None else TYPICAL_WEIGHT
        return Weighing(self.model, self.layout, self.facts.relation, n, self.facts.census, self.guess)

    @property
    def reason(self) -> str:
        """Why this law of noise, and what share of the price a second step has."""
        told = "" if self.chosen is None else reason_of(self.chosen)
        return told if self.second is None else f"{told}; {self.second.share:.0%} of the price for robust errors"

    @property
    def query(self) -> SumsQuery:
        """The one question to the engine."""
        if self.chosen is None:
            raise TypeError("no weights were chosen")
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

    def steps(self, precision: float) -> JointMoments | Composition:
        """Return everything that is drawn at a precision: with a second step, which follows from the first, both."""
        if self.second is None:
            return self.mechanism(precision)
        first, second = self.second.precisions(precision)
        return Composition((self.mechanism(first), self.second.mechanism(second, self.weighing())))

    def added_up(self, mechanism: Single) -> tuple[str, ...]:
        """Return what is added up in each cell."""
        return mechanism.names if isinstance(mechanism, JointMoments) else ()

    def table(self, data: Histogram | GridSums, mechanism: Single, source: NoiseSource) -> AdditiveTable:
        """Return the exact sums with noise: what becomes public."""
        if not isinstance(mechanism, JointMoments) or not isinstance(data, GridSums):
            raise TypeError(f"{mechanism.type} releases no joint moments")
        complete(data, self.missing)
        weighted = self.weight is not None
        exact = shares_exact(mechanism, data, len(self.model.values)) if weighted else mechanism.exact(data)
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
            one.term + ("" if one.reliable else " (not reliable)"),
            (one.standard_error, one.sampling_error, one.privacy_error),
            normal_quantile(0.95) * one.standard_error,
        )
        for one in expected
    ]
    return card_of_expected(title, lines, level=0.95, notes=notes)


class RegressionPlan(Plan):
    """What runs if a regression is released, and its price."""

    __slots__ = ()

    @property
    def design(self) -> RegressionDesign:
        """The one design."""
        (item,) = self.items
        if not isinstance(item.design, RegressionDesign):
            raise TypeError("a regression has one design")
        return item.design

    @property
    def first(self) -> JointMoments:
        """What the coefficients are read from."""
        mechanism = self.items[0].mechanism
        if not isinstance(mechanism, JointMoments):
            raise TypeError("a regression is one release of joint moments")
        return mechanism

    @property
    def second(self) -> JointMoments | None:
        """What robust errors are read from."""
        mechanism = self.mechanism
        found = mechanism.parts[1] if isinstance(mechanism, Composition) else None
        return found if isinstance(found, JointMoments) else None

    def expected(
        self, guess: Mapping[str, Any] | None = None, *, n: int | None = None
    ) -> tuple[ExpectedCoefficient, ...]:
        """Return the errors that the coefficients of a cell may be expected to have, by a guess made without the data.

        Parameters
        ----------
        guess : {column: {"mean": …, "sd": …, "correlation": {other: …}}}, optional
            By default that of the call, else middling columns of little correlation.
        n : int, optional
            A guess of the number of records, where it is private; by default 10,000.

        Raises
        ------
        ParameterError
            HG707: a guess that cannot be.
        """
        design = self.design
        records = guessed_records(design.model, (design.guess or {}) if guess is None else guess)
        size = (float(n) if n is not None else TYPICAL) if self.facts.n is None else self.facts.n / design.layout.cells
        mechanism = self.first
        model, public = design.model, design.layout.presence == "public"
        heavy = size * (1.0 if design.weight is None else TYPICAL_WEIGHT)  # of weights the sum over the largest
        mixing = mechanism.reading(model.moments(), n=size if public else None).mixing
        second = records.T @ records / len(records)
        noise = noise_parts(model, mixing, heavy)
        moments = Moments(size, second, noise, mechanism.noise_law.name, self.facts.census)
        fit = Fit(moments, model.rows(model.regressors), model.target)
        # The guessed moments are the truth: nothing of σ̂² is the noise's.
        plain = Fit(replace(moments, noise=np.zeros((1, *second.shape))), fit.rows, fit.response)
        errors = np.sqrt(np.diag(plain.sampling_covariance)), np.sqrt(np.diag(fit.noise_covariance))
        return tuple(
            ExpectedCoefficient(one.name, float(sampling), float(noise), fit.noise_ratio)
            for one, sampling, noise in zip(model.regressors, *errors, strict=True)
        )

    def _expected_card(self, title: str, notes: Sequence[str]) -> str:
        return card_of_coefficients(title, self.expected(), notes)

    def notes(self) -> tuple[str, ...]:
        """Return what a reader must know about the release as a whole, from public facts."""
        weights = self.facts.weights
        return (*super().notes(), *(() if weights is None else (f"Records count {weights.in_words}.",)))

    def narrowed(self) -> str:
        """Return why records may not differ as much as the mechanism allows; empty where columns vary freely."""
        model = self.design.model
        if self.second is not None:
            return "The second step is taken at coefficients that follow from noise: how far a record moves it varies."
        if model.ball is not None:
            return "Columns are shrunk together: the worst records may not be among those that are known."
        if any(one.degree + len(one.levels) > 1 for one in model.features):
            return "A product of columns is released too: it does not vary freely."
        if any(len(values) > 2 for values in model.categories.values()):
            return "The levels of a category exclude each other: they do not vary freely."
        return super().narrowed()


def plan_regression(
    formula: object,
    regressors: object,
    protection: Protection,
    facts: Facts | None,
    *,
    n: int | None,
    **options: Any,
) -> RegressionPlan:
    """Return the plan of a regression: from public facts alone.

    Parameters
    ----------
    formula, regressors
        As `Terms.parsed`.
    protection, facts, n
        Whom the guarantee protects, what is declared, and the public number of records.
    **options
        ``bounds``, ``categories``, ``intercept``, ``guess``; the others as in `Survey.release`.

    Raises
    ------
    HedgerowError
        HG190 to HG192 for the formula, HG197 for robust errors; HG402 units of several rows; else as
        `release.plan.planned`.
    """
    require_rows(protection)
    terms = Terms.parsed(formula, regressors, intercept=options.pop("intercept", True))
    guess = options.pop("guess", None)
    declared = facts or Facts()
    asked = _resolved(terms, str(formula), Resolver(declared), options)
    if options.get("weights") is not None:
        # Errors of equal variances are wrong with weights.
        model = replace(asked.model, bits=BITS_IN_ALL)
        asked = replace(asked, model=model, robust=asked.robust or parse_robust(True, terms))
    if protection.target is Target.FILE:
        asked = replace(asked, robust=None)  # of a census no error is one of sampling
    options["where"] = _of_declared(options.get("where"), asked.model.categories)
    request = parse_request(asked, context=Context(facts=facts), **options)
    (policy,) = request.policies
    check_midpoint(asked, policy)
    (statistic,) = request.statistics
    if not isinstance(statistic, LinearModel) or request.noise not in _LAWS:
        raise _unserved(request.noise)
    if statistic.model.ball is not None and request.noise == "laplace":
        raise ParameterError(
            "HG188",
            rule="The noise of a regression in a ball is Gaussian.",
            finding="Laplace noise was asked for.",
            remedy="Leave `noise` out.",
        )
    request = replace(request, notes=(*protection.notes, *request.notes))
    public = PublicFacts(protection.relation, protection.unit, protection.target, n, request.where, request.weights)
    design = RegressionDesign(statistic, request.by, public, policy, guess)
    laws = _LAWS[request.noise] or ((GAUSSIAN,) if request.budget.mu is not None else ())
    design = _chosen(design, statistic.robust, request.budget, laws)
    calibrated = least_noise(design.steps, public.relation, request.budget)
    first = calibrated.mechanism
    item = PlannedStatistic(statistic, design, first if isinstance(first, JointMoments) else first.parts[0])
    return RegressionPlan(request, public, (item,), calibrated)


def _chosen(design: RegressionDesign, robust: str | None, budget: Budget, laws: tuple[Law, ...]) -> RegressionDesign:
    """Return the design with its law and weights; with a second step those of least forecast length in both steps.

    What a share of the price costs depends on the law, so that the best one for the first step alone may not be.
    """
    asked = design.weighing()
    best = choose(asked, budget, asked.relation, laws=laws if asked.layout.ball is None else (GAUSSIAN,))
    if robust is None:
        return replace(design, chosen=best)
    choices = [best, *([] if best.runner_up is None else [best.runner_up])]
    steps = [(choose_second(robust, asked, chosen), chosen) for chosen in choices]
    second, chosen = min(steps, key=lambda one: one[0].length)
    return replace(design, chosen=chosen, second=second)


def require_rows(protection: Protection) -> None:
    """Refuse units of several rows (HG402)."""
    if isinstance(protection.unit, UnitLimit):
        raise UncertifiedError(
            "HG402",
            rule="A regression protects rows.",
            finding=f"Found the unit {protection.unit}.",
            remedy="Bring the data to one row per unit first.",
        )


def _unserved(noise: str) -> ParameterError:
    return ParameterError(
        "HG188",
        rule="A regression has Laplace or Gaussian noise.",
        finding=f"Found {noise}.",
        remedy="Leave `noise` out.",
    )


def _ball(given: object, terms: Terms) -> float | None:
    """Return the length of a ball (HG195 where it is none, or the terms are more than numeric columns)."""
    if given is None:
        return None
    number = as_float(given)
    alone = all(len(term) == 1 and term[0][1] == 1 for term in terms.terms)
    if number is None or not 0.01 <= number <= math.sqrt(len(terms.numeric)) or not alone:
        raise ParameterError(
            "HG195",
            rule="A ball has a length from 0.01 to the root of the number of columns, in half-ranges of their bounds, "
            "and is for a regression of numeric columns alone.",
            finding=f"Found {format_argument(given)}." if alone else "A term is a category, a power or a product.",
            remedy="A length of 1 is usual; or give none.",
        )
    return number


def _resolved(terms: Terms, formula: str, resolver: Resolver, options: dict[str, Any]) -> LinearModel:
    """Return the model, with bounds and categories of the call, else of the facts; they are taken out of the options.

    Raises
    ------
    ParameterError
        HG104 to HG107, HG111: a column without bounds or categories, or with such as cannot be.
    """
    ball, robust = _ball(options.pop("clip_norm", None), terms), parse_robust(options.pop("robust", None), terms)
    bounds, categories = (named_columns(options.pop(name, None), name) for name in ("bounds", "categories"))
    values = category_values(terms, resolver, categories)
    grids = declared_grids("ols", terms.numeric, resolver, bounds)
    made = resolver.statistic(
        LinearModel(Model(terms.response, terms.regressors(values), grids, values, ball=ball), formula, terms, robust)
    )
    if not isinstance(made, LinearModel):
        raise TypeError("a linear model was built")
    return made


def category_values(terms: Terms, resolver: Resolver, given: Mapping[str, Any]) -> dict[str, tuple[Scalar, ...]]:
    """Return the values of each category, by the call, else by the facts (HG111 where neither has any)."""
    found = {column: resolver.groups({column: given.get(column)}, None) or () for column in terms.categories}
    return {column: groups[0].values for column, groups in found.items()}


def declared_grids(kind: str, columns: Sequence[str], resolver: Resolver, bounds: Mapping[str, Any]) -> dict[str, Grid]:
    """Return the grid of each column, by the call, else by the facts (HG104 where neither has bounds)."""
    resolver.facts.allow([kind])
    found = {}
    for column in columns:
        if column in bounds:
            found[column] = Grid.from_bounds(column, *_bounds_of(bounds[column]))
            resolver.compare(column, found[column])
        else:
            in_python = f'bounds={{"{column}": (LO, HI)}}; categories are written C({column})'
            found[column] = resolver.grid(
                column, in_python, f"--bounds {column}:LO:HI. A category is written as C of it"
            )
    return found


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
        finding="Found something else.",
        remedy='For example bounds={"age": (0, 100)}, categories={"sex": [0, 1]}.',
        shell="For example --bounds age:0:100 --categories sex=0,1.",
    )


def _of_declared(where: object, categories: Mapping[str, Sequence[Scalar]]) -> object:
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
