"""A regression under differential privacy: planned from public facts, priced, drawn, read, recorded."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hedgerow.accounting.calibrate import least_noise
from hedgerow.clock import today
from hedgerow.engines.source import ColumnSource, Source, sums_together
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import CellLabels
from hedgerow.facts.declared import Facts, Protection
from hedgerow.facts.relation import Target, UnitLimit
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.interface import Mechanism
from hedgerow.mechanisms.joint.joint_moments import JointMoments
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE, Law
from hedgerow.noise.lattice import AdditiveTable, NoiseSource
from hedgerow.regression.clustered import (
    KINDS_OF_CLUSTERS,
    ClusterRelease,
    TotalsOfUnits,
    choose_cluster_step,
    design_effect,
    rows_of_unit,
)
from hedgerow.regression.coefficient_question import TYPICAL, TYPICAL_WEIGHT, guessed_records
from hedgerow.regression.coefficients import FitContext
from hedgerow.regression.features import request_record, written
from hedgerow.regression.formula import FormulaTerms
from hedgerow.regression.least_squares import LeastSquaresFit, RegressionMoments, noise_parts
from hedgerow.regression.linear_model import (
    ExpectedCoefficient,
    LinearModel,
    RegressionDesign,
    among_declared,
    card_of_coefficients,
    planned_source,
    resolved_model,
    with_functions,
)
from hedgerow.regression.regression import Regression, RegressionByCell, regressions_from_record
from hedgerow.regression.sandwich import (
    BITS_IN_ALL,
    SandwichRelease,
    choose_second,
    parse_robust,
    residual_query,
    shares_exact,
    shares_query,
)
from hedgerow.release.designs.design import PlannedStatistic, PublicFacts, check_midpoint, rows_kept
from hedgerow.release.designs.guess import parse_guesses
from hedgerow.release.designs.joint.chooser import choose
from hedgerow.release.execute import Answer, certificate_of, check_unchanged, draw_tables, read_histograms
from hedgerow.release.options import Resolver
from hedgerow.release.plan import Plan, PlanHolder
from hedgerow.release.request import Context, parse_request
from hedgerow.release.spend import OpenedSource

_LAWS: dict[str, tuple[Law, ...]] = {"auto": (), "laplace": (LAPLACE,), "gaussian": (GAUSSIAN,)}
Made = tuple[Regression, ...]


@dataclass(frozen=True, slots=True, repr=False)
class PlannedRegression(PlanHolder):
    """What runs if a regression is released: a plan of one design, whose second step follows from the first.

    Attributes
    ----------
    plan : Plan
        The request, the public facts, and the price.
    design : RegressionDesign
    first : JointMoments
        What the coefficients are read from.
    second : JointMoments or None
        What robust errors are read from.
    source : ColumnSource or None
        What it is planned for.
    """

    plan: Plan
    design: RegressionDesign
    first: JointMoments
    second: JointMoments | None = None
    source: ColumnSource | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        return repr(self.plan)

    def __str__(self) -> str:
        return str(self.plan)

    def _repr_html_(self) -> str:
        title, notes = self.plan.headline()
        return card_of_coefficients(title, self.expected(), notes)

    @property
    def mechanism(self) -> Mechanism:
        """What runs as a whole."""
        return self.plan.mechanism

    @property
    def price(self) -> Certificate:
        """The certificate; it depends on public facts alone."""
        return certificate_of(self.plan, narrowed=self.narrowed())

    @property
    def request(self) -> dict[str, Any]:
        """What is asked for as plain JSON data, by which a repeated request is recognised."""
        return self.plan.public_record()

    @property
    def in_words(self) -> tuple[str, ...]:
        """What is asked for, in words."""
        return self.plan.in_words

    def expected(
        self, guess: Mapping[str, Any] | None = None, *, n: int | None = None
    ) -> tuple[ExpectedCoefficient, ...]:
        """Return the errors that the coefficients of a cell may be expected to have, by a guess made without the data.

        Parameters
        ----------
        guess : {column: {"mean": …, "sd": …, "correlation": {other: …}}}, optional
            By default that of the call, else middling columns of little correlation.
        n : int, optional
            A guess of the number of records, where it is private; by default 10,000. Of units of several rows it is a
            guess of the number of rows; a unit is taken to have 1 to its limit with even chances, and half of the
            variation to be between units.

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
        if design.totals is not None:
            size *= rows_of_unit(design.totals.most_rows) if n is None and self.facts.n is not None else 1.0
        heavy = size * (1.0 if design.weight is None else TYPICAL_WEIGHT)  # of weights the sum over the largest
        mixing = mechanism.reading(model.moments(), n=size if public else None).mixing
        second = records.T @ records / len(records)
        noise = noise_parts(model, mixing, heavy)
        moments = RegressionMoments(size, second, noise, mechanism.noise_law.name, self.facts.census)
        fit = LeastSquaresFit(moments, model.rows(model.regressors), model.target)
        # The guessed moments are the truth: nothing of σ̂² is the noise's.
        plain = LeastSquaresFit(replace(moments, noise=np.zeros((1, *second.shape))), fit.rows, fit.response)
        dependent = 1.0 if design.totals is None else design_effect(design.totals.most_rows)
        errors = np.sqrt(dependent * np.diag(plain.sampling_covariance)), np.sqrt(np.diag(fit.noise_covariance))
        return tuple(
            ExpectedCoefficient(regressor.name, float(sampling), float(noise), fit.noise_ratio)
            for regressor, sampling, noise in zip(model.regressors, *errors, strict=True)
        )

    def notes(self) -> tuple[str, ...]:
        """Return the notes about the release as a whole, which follow from public facts."""
        weights, limit = self.facts.weights, self.facts.limit
        kept = () if limit is None else (rows_kept(limit),)
        return (*self.plan.notes(), *kept, *(() if weights is None else (f"Records count {weights.in_words}.",)))

    def narrowed(self) -> str:
        """Return the reason why neighbouring data sets differ less than the mechanism allows.

        The text is empty if the columns of a record can vary freely.
        """
        model = self.design.model
        if self.second is not None:
            return "The second step is taken at coefficients that follow from noise: how far a record moves it varies."
        if model.ball is not None:
            return "Columns are shrunk together: the worst records may not be among those that are known."
        if any(feature.degree + len(feature.levels) > 1 for feature in model.features):
            return "A product of columns is released too: it does not vary freely."
        if any(len(values) > 2 for values in model.categories.values()):
            return "The levels of a category exclude each other: they do not vary freely."
        return self.plan.narrowed()

    def reading(self) -> AbstractContextManager[ColumnSource]:
        """Enter what is read, before the price is reserved."""
        return planned_source(self.source).reading(self.plan.sent())

    def draw(self, source: ColumnSource, noise: NoiseSource) -> Made:
        """Return the fit of each cell: the only touch of data."""
        drawn = drawn_regression(self, read_histograms(self.plan, source), noise)
        made = read_regression(self, drawn, self.price, planned_source(self.source).name, today())
        if self.design.totals is not None:
            return with_errors_of_clusters(self, made, source, noise)
        return with_robust_errors(self, made, source, noise)

    def read(self, noisy: Made) -> Regression | RegressionByCell:
        """Return the fit, or those of the cells."""
        return noisy[0] if self.plan.request.groups == () else RegressionByCell(noisy)

    def write(self, result: Regression | RegressionByCell) -> str:
        """Return the text that a ledger keeps."""
        return written(result.to_dict())

    def from_record(self, text: str) -> Regression | RegressionByCell:
        """Return what wrote a text."""
        return self.read(regressions_from_record(text))


def plan_regression(
    formula: object,
    regressors: object,
    protection: Protection,
    facts: Facts | None,
    *,
    n: int | None,
    **options: Any,
) -> PlannedRegression:
    """Return the plan of a regression: from public facts alone.

    Parameters
    ----------
    formula, regressors
        As `FormulaTerms.parsed`.
    protection, facts, n
        Whom the guarantee protects, what is declared, and the public number of records.
    **options
        ``bounds``, ``categories``, ``intercept``, ``guess``; the others as in `Survey.release`.

    Raises
    ------
    HedgerowError
        HG190 to HG192 for the formula, HG197 for robust errors; HG188 for the noise; HG402 for units of several rows
        with weights, or with too many terms; else as `release.plan.planned`.
    """
    terms = FormulaTerms.parsed(formula, regressors, intercept=options.pop("intercept", True))
    guess = options.pop("guess", None)
    facts = with_functions(terms, facts, formula, regressors)
    resolver = Resolver.of(facts, options, related=protection.related)
    asked = resolved_model(terms, str(formula), resolver, options)
    if options.get("weights") is not None:
        # Errors of equal variances are wrong with weights.
        model = replace(asked.model, bits=BITS_IN_ALL)
        asked = replace(asked, model=model, robust=asked.robust or parse_robust(True, terms))
    if isinstance(protection.unit, UnitLimit):
        asked = _of_units(asked, protection.unit, options)
    if protection.target is Target.FILE:
        asked = replace(asked, robust=None)  # of a census no error is one of sampling
    options["where"] = among_declared(options.get("where"), asked.model.categories)
    request = parse_request(asked, context=Context(facts, related=protection.related), **options)
    (policy,) = request.policies
    check_midpoint(asked, policy)
    (statistic,) = request.statistics
    if not isinstance(statistic, LinearModel) or request.noise not in _LAWS:
        raise _unserved(request.noise)
    several = isinstance(protection.unit, UnitLimit)
    if (statistic.model.ball is not None or several) and request.noise == "laplace":
        raise ParameterError(
            "HG188",
            rule=f"The noise of a regression with {'several rows a unit' if several else 'clip_norm'} is Gaussian.",
            finding="Laplace noise was requested.",
            remedy="Leave `noise` out.",
        )
    request = replace(request, notes=(*protection.notes, *request.notes))
    public = PublicFacts(protection.relation, protection.unit, protection.target, n, request.where, request.weights)
    design = RegressionDesign(statistic, request.by, public, policy, None if guess is None else parse_guesses(guess))
    laws = _LAWS[request.noise] or ((GAUSSIAN,) if request.budget.mu is not None else ())
    design = _chosen(design, statistic.robust, request.budget, laws)
    calibrated = least_noise(design.whole, public.relation, request.budget)
    first, *further = design.steps(calibrated.precision)
    plan = Plan(request, public, (PlannedStatistic(statistic, design, first),), calibrated)
    return PlannedRegression(plan, design, first, further[0] if further else None)


def _chosen(design: RegressionDesign, robust: str | None, budget: Budget, laws: tuple[Law, ...]) -> RegressionDesign:
    """Return the design with its law and weights; with a second step those of least forecast length in both steps.

    What a share of the price costs depends on the law, so that the best one for the first step alone may not be.
    """
    asked = design.weighing().checked()
    laws = laws if asked.layout.ball is None and design.totals is None else (GAUSSIAN,)
    best = asked.settled(choose(asked, budget, asked.relation, laws=laws))
    if asked.guess is not None:
        plain = replace(asked, guess=None)
        without = plain.settled(choose(plain, budget, asked.relation, laws=laws))
        design = replace(design, gain=math.exp(0.5 * (asked.score(without) - best.score)))
    if robust is None:
        return replace(design, chosen=best)
    if design.totals is not None:
        step = choose_cluster_step(robust, asked, best, design.model, design.totals.most_rows)
        return replace(design, chosen=best, cluster_step=step)
    choices = [best, *([] if best.runner_up is None else [best.runner_up])]
    steps = [(choose_second(robust, asked, chosen), chosen) for chosen in choices]
    second, chosen = min(steps, key=lambda step: step[0].length)
    return replace(design, chosen=chosen, robust_step=second)


def _of_units(asked: LinearModel, unit: UnitLimit, options: Mapping[str, Any]) -> LinearModel:
    """Return the model of units of several rows, with errors of clusters (HG402 with weights or too many terms)."""
    if options.get("weights") is not None:
        raise UncertifiedError(
            "HG402",
            rule="Weighted regressions have a proven price only if the privacy unit is one row.",
            finding="Units have several.",
            remedy='Use unit="row", or bring the data to one row per unit first.',
        )
    model = TotalsOfUnits.of(asked.model, unit.max_rows).model
    return replace(asked, model=model, robust=KINDS_OF_CLUSTERS[asked.robust or "HC1"])


def _unserved(noise: str) -> ParameterError:
    return ParameterError(
        "HG188",
        rule="The noise of a regression must be Laplace or Gaussian.",
        finding=f"Found {noise}.",
        remedy="Leave `noise` out.",
    )


def planned_regression(formula: object, regressors: object, opened: OpenedSource, **options: Any) -> PlannedRegression:
    """Return the plan of a regression on an opened source, its columns checked; no value is read."""
    plan = plan_regression(formula, regressors, opened.protection, opened.facts, n=opened.n, **options)
    opened.source.check(plan.design.query)
    return replace(plan, source=opened.source, plan=replace(plan.plan, source=opened.source))


def drawn_regression(plan: PlannedRegression, answers: dict[Any, Answer], noise: NoiseSource) -> AdditiveTable:
    """Return the noisy numbers."""
    (drawn,) = draw_tables(plan.plan, answers, noise)
    if drawn is None:
        raise TypeError("something is drawn of every regression")
    return drawn


def read_regression(
    plan: PlannedRegression, drawn: AdditiveTable, certificate: Certificate | None, source: str, date: str | None
) -> Made:
    """Return the fit of each cell; without a certificate it is marked simulated. Post-processing."""
    design, facts, asked = plan.design, plan.facts, plan.plan.request
    about = FitContext(
        design.model,
        design.statistic.formula,
        plan.first,
        facts.n,
        {
            "source": source,
            **facts.record(),
            "missing": asked.missing,
            **({} if asked.where is None else {"where": asked.where}),
            **({} if facts.weights is None else {"weights": facts.weights.public_record()}),
            **({} if date is None else {"date": date}),
            "methods": {"moments": design.reason},
        },
        plan.notes(),
        request_record(
            design.statistic.formula,
            design.statistic.terms,
            (design.model.grids, design.model.categories),
            missing=asked.missing,
            where=asked.where,
            weights=None if facts.weights is None else facts.weights.public_record(),
            by={
                category.column: [category.label(level) for level in range(category.levels)]
                for category in design.by
                if category.shown
            },
            narrowed=plan.narrowed(),
        ),
        shrinks=True,
    )
    return tuple(
        Regression(about, released, design.model.regressors, certificate, dict(cell))
        for cell, released in zip(drawn.cells, drawn.values, strict=True)
    )


def with_robust_errors(plan: PlannedRegression, made: Made, source: Source, noise: NoiseSource) -> Made:
    """Take the second step of every cell at the coefficients of the first, where one was priced."""
    step, mechanism, design = plan.design.robust_step, plan.second, plan.design
    if step is None or mechanism is None:
        return made
    middle = step.middle
    asked = [residual_query(fit.fit, middle, mechanism, design.weight) for fit in made]
    queries = [shares_query(mechanism, middle.values, share, design.by, design.missing) for share, _ in asked]
    answers = sums_together(source, queries)
    for answer in answers.values():
        check_unchanged(plan.facts, answer, source)
    each = [shares_exact(mechanism, answers[query], len(middle.values)) for query in queries]
    exact = np.stack([sums[cell] for cell, sums in enumerate(each)])
    drawn = mechanism.noisy(exact, noise, cells=CellLabels(design.by)).values
    return tuple(
        replace(fit, second=SandwichRelease(step.kind, mechanism, clip, numbers, design.weight is not None))
        for fit, (_, clip), numbers in zip(made, asked, drawn, strict=True)
    )


def with_errors_of_clusters(plan: PlannedRegression, made: Made, source: Source, noise: NoiseSource) -> Made:
    """Take the second step of every cell at the coefficients of the first, with units of several rows as clusters."""
    step, mechanism, design, unit = plan.design.cluster_step, plan.second, plan.design, plan.facts.limit
    if step is None or mechanism is None or unit is None:
        return made
    fits = [(fit.fit, step.scores.clip_of(fit.fit, mechanism)) for fit in made]
    query = step.scores.query(fits, design.by, design.missing, unit)
    answer = sums_together(source, [query])[query]
    check_unchanged(plan.facts, answer, source)
    exact = np.stack([step.scores.exact(mechanism, answer, cell) for cell in range(len(made))])
    drawn = mechanism.noisy(exact, noise, cells=CellLabels(design.by)).values
    return tuple(
        replace(fit, second=ClusterRelease(step.kind, mechanism, clip, numbers))
        for fit, (_, clip), numbers in zip(made, fits, drawn, strict=True)
    )
