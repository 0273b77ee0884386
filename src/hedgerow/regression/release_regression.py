"""A regression under differential privacy: planned from public facts, priced, drawn, read, recorded."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hedgerow.clock import today
from hedgerow.engines.source import ColumnSource, Source
from hedgerow.engines.together import sums_together
from hedgerow.facts.budget import warn_about_delta
from hedgerow.facts.columns import CellLabels
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.noise.source import NoiseSource
from hedgerow.noise.table import AdditiveTable
from hedgerow.regression.coefficients import About
from hedgerow.regression.design import RegressionPlan, plan_regression
from hedgerow.regression.record import request_record, written
from hedgerow.regression.regression import Regression, RegressionByCell, regressions_from_record
from hedgerow.regression.robust.numbers import SecondNumbers, ask_again
from hedgerow.regression.shares import shares_exact, shares_query
from hedgerow.release.execute import Answer, certificate_of, check_unchanged, draw_tables, read_histograms
from hedgerow.release.opened import OpenedSource
from hedgerow.release.spend import spend

Made = tuple[Regression, ...]


def planned_regression(formula: object, regressors: object, opened: OpenedSource, **options: Any) -> RegressionPlan:
    """Return the plan of a regression on an opened source, its columns checked; no value is read."""
    plan = plan_regression(formula, regressors, opened.protection, opened.facts, n=opened.n, **options)
    opened.source.check(plan.design.query)
    return plan


def release_regression(
    formula: object, regressors: object, opened: OpenedSource, *, request_id: str | None = None, **options: Any
) -> Regression | RegressionByCell:
    """Release a regression. Guarantee: (ε, δ)-differential privacy of everything in it.

    Parameters
    ----------
    formula, regressors, **options
        As `plan_regression`.
    opened : OpenedSource
        The source and its public facts.
    request_id : str, optional
        With a ledger: the same request under the same id is answered from its record.

    Raises
    ------
    HedgerowError
        Before the data are read nothing is spent; after, `SpentError` says that the price counts as spent.
    """
    plan = planned_regression(formula, regressors, opened, **options)
    warn_about_delta(plan.request.budget.delta, opened.n, frames=4)
    return spend(_RegressionProduct(plan, certificate_of(plan), opened.source), opened.account(request_id))


@dataclass(frozen=True, slots=True)
class _RegressionProduct:
    """A regression as what spends: the noise of the second step is drawn at the coefficients of the first."""

    plan: RegressionPlan
    price: Certificate
    source: ColumnSource

    @property
    def request(self) -> dict[str, Any]:
        return self.plan.public_record()

    def reading(self) -> AbstractContextManager[ColumnSource]:
        return self.source.reading(self.plan.sent())

    def draw(self, source: ColumnSource, noise: NoiseSource) -> Made:
        drawn = drawn_regression(self.plan, read_histograms(self.plan, source), noise)
        made = read_regression(self.plan, drawn, self.price, self.source.name, today())
        return with_robust_errors(self.plan, made, source, noise)

    def read(self, noisy: Made) -> Regression | RegressionByCell:
        return noisy[0] if self.plan.request.groups == () else RegressionByCell(noisy)

    def write(self, result: Regression | RegressionByCell) -> str:
        return written(result.to_dict())

    def from_record(self, text: str) -> Regression | RegressionByCell:
        return self.read(regressions_from_record(text))


def drawn_regression(plan: RegressionPlan, answers: dict[Any, Answer], noise: NoiseSource) -> AdditiveTable:
    """Return the noisy numbers."""
    (drawn,) = draw_tables(plan, answers, noise)
    if drawn is None:
        raise TypeError("something is drawn of every regression")
    return drawn


def read_regression(
    plan: RegressionPlan, drawn: AdditiveTable, certificate: Certificate | None, source: str, date: str | None
) -> Made:
    """Return the fit of each cell; without a certificate it is marked simulated. Post-processing."""
    design, facts = plan.design, plan.facts
    about = About(
        design.model,
        design.statistic.formula,
        plan.first,
        facts.n,
        {
            "source": source,
            **facts.record(),
            "missing": plan.request.missing,
            **({} if plan.request.where is None else {"where": plan.request.where}),
            **({} if facts.weights is None else {"weights": facts.weights.public_record()}),
            **({} if date is None else {"date": date}),
            "methods": {"moments": design.reason},
        },
        plan.notes(),
        request_record(
            design.statistic.formula,
            design.statistic.terms,
            (design.model.grids, design.model.categories),
            missing=plan.request.missing,
            where=plan.request.where,
            weights=None if facts.weights is None else facts.weights.public_record(),
            by={one.column: [one.label(level) for level in range(one.levels)] for one in design.by if one.shown},
            narrowed=plan.narrowed(),
        ),
    )
    return tuple(
        Regression(about, released, design.model.regressors, certificate, dict(cell))
        for cell, released in zip(drawn.cells, drawn.values, strict=True)
    )


def with_robust_errors(plan: RegressionPlan, made: Made, source: Source, noise: NoiseSource) -> Made:
    """Take the second step of every cell at the coefficients of the first, where one was priced."""
    step, mechanism, design = plan.design.second, plan.second, plan.design
    if step is None or mechanism is None:
        return made
    middle = step.middle
    asked = [ask_again(one.fit, middle, mechanism, design.weight) for one in made]
    queries = [shares_query(mechanism, middle.values, share, design.by, design.missing) for share, _ in asked]
    answers = sums_together(source, queries)
    for answer in answers.values():
        check_unchanged(plan.facts, answer, source)
    each = [shares_exact(mechanism, answers[query], len(middle.values)) for query in queries]
    exact = np.stack([found[cell] for cell, found in enumerate(each)])
    drawn = mechanism.noisy(exact, noise, cells=CellLabels(design.by)).values
    return tuple(
        replace(one, second=SecondNumbers(step.kind, mechanism, clip, numbers, design.weight is not None))
        for one, (_, clip), numbers in zip(made, asked, drawn, strict=True)
    )
