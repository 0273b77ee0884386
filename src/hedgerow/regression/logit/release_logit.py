"""A logistic regression under differential privacy: planned from public facts, priced, drawn step by step, recorded.

The errors that a logistic regression may be expected to have, by a guess that was made without the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.calibrate import least_noise
from hedgerow.clock import today
from hedgerow.engines.query import Query
from hedgerow.engines.source import ColumnSource
from hedgerow.errors import ParameterError
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Category, Selection
from hedgerow.facts.declared import Facts, Protection
from hedgerow.facts.relation import Relation, max_rows_of
from hedgerow.facts.validation import as_float, as_int, format_argument
from hedgerow.mechanisms.certificate import Certificate, certify
from hedgerow.mechanisms.newton_steps import MOST_FEATURES, UNIT, NewtonSteps, ReleasedStep, logistic
from hedgerow.noise.lattice import NoiseSource, require_drawable
from hedgerow.regression.clustered import rows_of_unit
from hedgerow.regression.coefficient_question import TYPICAL
from hedgerow.regression.coefficients import FitContext
from hedgerow.regression.features import request_record
from hedgerow.regression.formula import INTERCEPT, FormulaTerms
from hedgerow.regression.linear_model import (
    ExpectedCoefficient,
    card_of_coefficients,
    category_values,
    constant,
    declared_grids,
    named_columns,
    planned_source,
    require_facts,
    with_functions,
)
from hedgerow.regression.logit.logit_model import LogitModel, LogitRecords
from hedgerow.regression.logit.logit_regression import (
    LogitRegression,
    NewtonPath,
    NewtonStep,
    logit_from_record,
)
from hedgerow.regression.normal_regressors import NormalRegressors
from hedgerow.release.designs.design import PublicFacts, only_where, rows_kept
from hedgerow.release.designs.guess import correlations, laws_of, parse_guesses, typical_records
from hedgerow.release.execute import check_unchanged
from hedgerow.release.options import Resolver
from hedgerow.release.request import parse_budget
from hedgerow.release.spend import OpenedSource
from hedgerow.resampling.counted_values import Histogram

Floats = NDArray[np.float64]
SHARE = 0.5
_MIDDLING = 0.3  # the sd of a column about which nothing is guessed, in units of half its range


def expected_errors(
    model: LogitModel,
    mechanism: NewtonSteps,
    guess: Mapping[str, Any],
    effects: Mapping[str, float],
    *,
    n: float,
    share: object,
) -> tuple[ExpectedCoefficient, ...]:
    """Return the expected errors of each coefficient, where this share has the outcome.

    Raises
    ------
    ParameterError
        HG707: a guess that cannot be.
    """
    features = _guessed(model, guess)
    beta = _coefficients(model, features, effects, share)
    size, reach, start = len(model.ranges), np.abs(np.array(model.ranges)).max(axis=1), (0.0,) * len(model.ranges)

    def step(place: int, at: tuple[float, ...], normal: NormalRegressors | None = None) -> NewtonStep:
        mu, less = logistic(features @ np.array(at))
        second = n * ((features * (mu * less)[:, None]).T @ features / len(features))[np.triu_indices(size)]
        noise = mechanism.noise(place, at)
        sds = noise.gradient.in_units * UNIT, noise.curvature.in_units * UNIT
        told = ReleasedStep(np.zeros(size), second, *sds)
        return NewtonStep(at, np.zeros(0), told, reach, normal, mechanism.most_rows or 1)

    steps, normal = len(mechanism.precisions), None
    if mechanism.piloted:
        pilot = step(0, start)
        normal = NormalRegressors.of_curvature(pilot.told, pilot.released.curvature_sd)
    last = step(steps - 1, beta, normal)
    # The last step makes up for the noise of the one before it, and the noise of its own curvature meets that.
    before = step(steps - 2, start if normal is not None and steps == 2 else beta).noise if steps > 1 else None
    missed = np.zeros((size, size)) if before is None else before
    own = np.einsum("zij,jk,zkl->il", last.parts, missed, last.parts)
    noise = last.noise + last.inverse @ own @ last.inverse
    parts = (np.sqrt(np.diag(model.back @ part @ model.back.T)) for part in (last.sampling, noise))
    return tuple(
        ExpectedCoefficient(regressor.name, float(s), float(p), last.noise_ratio)
        for regressor, s, p in zip(model.regressors, *parts, strict=True)
    )


def _coefficients(
    model: LogitModel, features: Floats, effects: Mapping[str, float], share: object
) -> tuple[float, ...]:
    """Return the coefficients of features for these of regressors, the constant so that the share is met."""
    names, chance = [regressor.name for regressor in model.regressors], as_float(share)
    if chance is None or not 0.0 < chance < 1.0 or not set(effects) <= set(names) - {INTERCEPT}:
        given = ", ".join(map(format_argument, effects)) or "of none"
        raise ParameterError(
            "HG707",
            rule="A guess gives coefficients (without the intercept) and the share of records with the outcome, which "
            "lies in (0, 1).",
            finding=f"Found the share {format_argument(share)}, and coefficients {given}.",
            remedy='Guess the share of the outcome and some coefficients, for example share=0.3, effects={"age": '
            "0.02}.",
            shell="Such guesses are made in Python.",
        )
    beta = np.linalg.solve(model.back, np.array([float(effects.get(name, 0.0)) for name in names]))
    if model.ranges[0] != (1.0, 1.0):
        return tuple(beta.tolist())
    low, high = -50.0, 50.0
    for _ in range(60):
        beta[0] = (low + high) / 2.0
        low, high = (beta[0], high) if logistic(features @ beta)[0].mean() < chance else (low, beta[0])
    return tuple(beta.tolist())


def _guessed(model: LogitModel, given: Mapping[str, Any]) -> Floats:
    """Return the features of 4,096 records of a guess; categories have even chances."""
    guesses = parse_guesses(given)
    laws = laws_of(model.used, guesses, dict.fromkeys(model.used, (0.0, _MIDDLING)))
    indices = typical_records(laws, correlations(guesses)) if laws else np.zeros((4096, 0), dtype=np.int64)
    chance = np.random.default_rng(0)  # the same numbers in every plan: no data, no noise
    levels = {column: chance.integers(0, len(values), len(indices)) for column, values in model.categories.items()}
    return model.features({column: indices[:, k] for k, (column, *_) in enumerate(laws)}, levels, len(indices))


MOST_STEPS = 20
_PILOTED_STEPS, _NEWTON_STEPS = 2, 5
_LAST, _GROWTH = 0.65, 1.7
_AMPLE, _TIGHT = (4.0, 0.7), (8.0, 0.6)
"""How much more precise than the gradient the curvature is drawn, and the share of μ² of the last step."""
_FEW = 500.0
"""Noise may hide the curvature up to so many times n·μ a feature, under replace-one, where n is public."""
_LISTWISE = "Records with a missing value in any column of the model, or in an undeclared category, are left out."
_NOISY_WAY = "Later Newton steps are taken at coefficients that follow from noise: how far a record moves them varies."


@dataclass(frozen=True)
class PlannedLogit:
    """What runs if a logistic regression is released, and its price.

    Attributes
    ----------
    model : LogitModel
    formula : str
    facts : PublicFacts
    budget : Budget
    mechanism : NewtonSteps
    chosen : Selection
        The records that count.
    terms : FormulaTerms
        Of the formula.
    notes : tuple of str
        What the certificate must say.
    source : ColumnSource or None
        What it is planned for.
    """

    model: LogitModel
    formula: str
    facts: PublicFacts
    budget: Budget
    mechanism: NewtonSteps
    chosen: Selection
    terms: FormulaTerms
    notes: tuple[str, ...] = ()
    source: ColumnSource | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        steps, cost = len(self.mechanism.precisions), self.price
        return (
            f"<Plan of a logistic regression of {self.formula}, {steps} Newton steps, ε ≤ {cost.epsilon:.6g} at "
            f"δ = {cost.delta:.3g}, {cost.relation}>"
        )

    def _repr_html_(self) -> str:
        return card_of_coefficients(repr(self)[1:-1], self.expected(), ())

    @property
    def price(self) -> Certificate:
        """The certificate; it depends on public facts alone."""
        return certify(
            self.mechanism,
            self.facts.relation,
            unit=str(self.facts.unit),
            delta=self.budget.delta,
            assumptions=self.notes,
            narrowed=narrowed_by(self.mechanism),
        )

    @property
    def in_words(self) -> tuple[str, ...]:
        """What is asked for, in words."""
        model = f"logistic regression of {self.formula}, where {self.model.response} = {self.model.value} counts as 1"
        return (model, only_where(self.chosen.text), _LISTWISE)

    def expected(
        self,
        guess: Mapping[str, Any] | None = None,
        *,
        n: int | None = None,
        share: float = SHARE,
        effects: Mapping[str, float] | None = None,
    ) -> tuple[ExpectedCoefficient, ...]:
        """Return the errors that the coefficients may be expected to have, by a guess made without the data.

        Parameters
        ----------
        guess : {column: {"mean": …, "sd": …, "correlation": {other: …}}}, optional
            By default middling columns without correlation; categories have even chances.
        n : int, optional
            A guess of the number of records, where it is private; by default 10,000.
        share : float
            A guess of the share of records with the outcome.
        effects : {term: coefficient}, optional
            A guess of the coefficients, 0 by default; steep ones have larger errors.

        Raises
        ------
        ParameterError
            HG707: a guess that cannot be.
        """
        rows = rows_of_unit(self.mechanism.most_rows or 1)
        size = self.facts.n * rows if self.facts.n is not None else TYPICAL if n is None else n
        errors = expected_errors(self.model, self.mechanism, guess or {}, effects or {}, n=float(size), share=share)
        return (
            tuple(replace(coefficient, sampling_error=0.0) for coefficient in errors) if self.facts.census else errors
        )

    @property
    def request(self) -> dict[str, Any]:
        """What is asked for as plain JSON data, by which a repeated request is recognised."""
        return {
            "regression": self.model.asked(self.formula),
            "where": self.chosen.text,
            **self.facts.record(),
            "certificate": self.price.to_dict()["mechanism"],
        }

    @property
    def query(self) -> Query:
        """The one question to the engine."""
        return self.model.query((self.chosen,), self.facts.limit)

    def reading(self) -> AbstractContextManager[ColumnSource]:
        """Enter what is read, before the price is reserved."""
        return planned_source(self.source).reading([self.query])

    def draw(self, source: ColumnSource, noise: NoiseSource) -> NewtonPath:
        """Return what the steps released: the only touch of data."""
        histogram = source.histogram(self.query)
        check_unchanged(self.facts, histogram, source)
        return drawn_logit(self, histogram, noise)

    def read(self, noisy: NewtonPath) -> LogitRegression:
        """Return the fit."""
        return read_logit(self, noisy, self.price, planned_source(self.source).name, today())

    def write(self, result: LogitRegression) -> str:
        """Return the text that a ledger keeps."""
        return result.to_json()

    def from_record(self, text: str) -> LogitRegression:
        """Return what wrote a text."""
        return logit_from_record(text)


def plan_logit(
    formula: object, regressors: object, protection: Protection, facts: Facts | None, *, n: int | None, **options: Any
) -> PlannedLogit:
    """Return the plan of a logistic regression: from public facts alone.

    Parameters
    ----------
    formula, regressors
        As `FormulaTerms.parsed`.
    protection, facts, n
        Whom the guarantee protects, what is declared, and the public number of records.
    **options
        ``value``, ``steps``, ``bounds``, ``categories``, ``intercept``, ``where``, ``epsilon``, ``delta``, ``rho``,
        ``mu``.

    Raises
    ------
    HedgerowError
        HG190 to HG192 for the formula, HG196 for the steps; HG101 to HG104, HG111, HG131; HG401 at δ = 0; HG704 where
        the facts list the statistics that are allowed.
    """
    terms = FormulaTerms.parsed(formula, regressors, intercept=options.get("intercept", True))
    facts = with_functions(terms, facts, formula, regressors)
    resolver = Resolver.of(facts, options, related=protection.related)
    resolver.facts.allow(["logit"])
    model = _model(terms, resolver, options)
    where = options.get("where")
    given = None if where is None else resolver.selection(where).text
    present = f"`{model.response}` in [{constant(model.value)}] or `{model.response}` not in [{constant(model.value)}]"
    chosen = resolver.selection(present if given is None else f"({given}) and ({present})")
    budget, steps = parse_budget(options, facts), _steps(options.get("steps"), model)
    mechanism = least_noise(
        lambda mu: _newton_steps(model, steps, mu, protection, n), protection.relation, budget
    ).mechanism
    # Here, and not when a step meets its β: by then the price would be spent.
    require_drawable(mechanism.widest)
    public = PublicFacts(protection.relation, protection.unit, protection.target, n, given)
    return PlannedLogit(
        model, str(formula), public, budget, mechanism, chosen, terms, (*protection.notes, *resolver.notes)
    )


def narrowed_by(mechanism: NewtonSteps) -> str | None:
    """Return why records may not differ as much as several Newton steps allow."""
    return _NOISY_WAY if len(mechanism.precisions) > 1 else None


def precisions(mu: float, steps: int, last: float = _LAST) -> tuple[float, ...]:
    """Return μ_t of each step: the last one has so much of μ², those before grow by 1.7 from one to the next.

    >>> [round(mu**2, 3) for mu in precisions(1.0, 5)]
    [0.033, 0.057, 0.096, 0.164, 0.65]
    """
    if steps == 1:
        return (mu,)
    before = _GROWTH ** np.arange(steps - 1)
    shares = [*((1.0 - last) * before / before.sum()), last]
    return tuple(float(mu * np.sqrt(share)) for share in shares)


def _newton_steps(model: LogitModel, steps: int, mu: float, protection: Protection, n: int | None) -> NewtonSteps:
    """Return the steps at μ: where records are few, more of the price goes to the curvature and to the pilot."""
    relation, limit = protection.relation, max_rows_of(protection.unit)
    # A unit of several rows moves the sums by all of them.
    size = None if n is None else n * rows_of_unit(limit or 1) / (limit or 1)
    tight = relation is Relation.REPLACE_ONE and size is not None and size * mu <= _FEW * len(model.ranges)
    curvature, last = _TIGHT if tight else _AMPLE
    return NewtonSteps(model.ranges, precisions(mu, steps, last), curvature, relation.value, "joint", limit)


def _steps(given: object, model: LogitModel) -> int:
    usual = _PILOTED_STEPS if model.ranges[0] == (1.0, 1.0) else _NEWTON_STEPS
    steps = usual if given is None else as_int(given)
    if steps is None or not 1 <= steps <= MOST_STEPS:
        raise ParameterError(
            "HG196",
            rule=f"A logistic regression takes 1 to {MOST_STEPS} Newton steps.",
            finding=f"Found {format_argument(given)}.",
            remedy=f"{_PILOTED_STEPS} is the default, and {_NEWTON_STEPS} without an intercept.",
        )
    return steps


def _model(terms: FormulaTerms, resolver: Resolver, options: Mapping[str, Any]) -> LogitModel:
    """Return the model, with bounds and categories of the call, else of the facts."""
    bounds, categories = (named_columns(options.get(name), name) for name in ("bounds", "categories"))
    value = 1 if options.get("value") is None else options["value"]
    Category.declared(terms.response, [value])
    numeric = [column for column in terms.numeric if column != terms.response]
    require_facts(numeric, terms.categories, resolver, bounds, categories)
    values = category_values(terms, resolver, categories)
    grids = declared_grids("logit", numeric, resolver, bounds)
    named = terms.regressors(values)
    if len(named) > MOST_FEATURES:
        raise ParameterError(
            "HG192",
            rule=f"A logistic regression has at most {MOST_FEATURES} regressors.",
            finding=f"This one has {len(named)}.",
            remedy="Use fewer terms, or categories with fewer values.",
        )
    computed = {column: resolver.facts.computed(column) for column in (*grids, *values, terms.response)}
    return LogitModel(terms.response, value, named, grids, values, computed)


def planned_logit(formula: object, regressors: object, opened: OpenedSource, **options: Any) -> PlannedLogit:
    """Return the plan of a logistic regression on an opened source, its columns checked; no value is read."""
    plan = plan_logit(formula, regressors, opened.protection, opened.facts, n=opened.n, **options)
    if options.get("value") is None:
        _check_usual_value(plan.model, opened)
    opened.source.check(plan.query)
    return replace(plan, source=opened.source)


def _check_usual_value(model: LogitModel, opened: OpenedSource) -> None:
    """Refuse a text column as the outcome where no value was given: 1, the default, is no text (HG111)."""
    declared = None if opened.facts is None else opened.facts.column(model.response).type
    kind = opened.source.columns.get(model.response)
    if kind == "text" or (kind == "text-cell" and declared == "text"):
        raise ParameterError(
            "HG111",
            rule="If the response of a logistic regression is text, name the text that counts as 1.",
            finding=f"Column {format_argument(model.response)} holds texts by its declared type, and no `value` was "
            "given; the default is the number 1.",
            remedy='For example value="yes".',
            shell="For example, write --value yes.",
        )


def drawn_logit(plan: PlannedLogit, histogram: Histogram, noise: NoiseSource) -> NewtonPath:
    """Take the steps on these records, with noise: what each released is public."""
    records, mechanism = LogitRecords(plan.model, histogram), plan.mechanism
    return NewtonPath.run(
        mechanism, lambda step, beta: mechanism.noisy(records.sums(mechanism, beta), step, beta, noise)
    )


def read_logit(
    plan: PlannedLogit, path: NewtonPath, certificate: Certificate | None, source: str, date: str | None
) -> LogitRegression:
    """Return the fit; without a certificate it is marked simulated. Post-processing."""
    where = plan.facts.where
    about = FitContext(
        plan.model,
        plan.formula,
        plan.mechanism,
        plan.facts.n,
        {
            "source": source,
            **plan.facts.record(),
            "missing": "drop",
            **({} if where is None else {"where": where}),
            **({} if date is None else {"date": date}),
            "method": "newton-steps",
        },
        (
            *(() if where is None else (only_where(where),)),
            *(() if plan.facts.limit is None else (rows_kept(plan.facts.limit),)),
            _LISTWISE,
            *_rounded(plan.model),
        ),
        request_record(
            plan.formula,
            plan.terms,
            (plan.model.grids, plan.model.categories),
            where=where,
            value=plan.model.value,
        ),
    )
    numbers = np.array([step.numbers for step in path.steps])
    return LogitRegression(about, numbers, plan.model.regressors, certificate)


def _rounded(model: LogitModel) -> tuple[str, ...]:
    """Return what is said of columns that are read on a coarse grid."""
    return tuple(
        f"Column {column} is rounded to {model.used[column].steps} steps between its bounds, as no step is declared."
        for column in model.coarse
    )
