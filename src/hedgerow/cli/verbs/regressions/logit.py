"""`hedgerow logit`: a logistic regression of a file, with standard errors that count the noise, and a certificate."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli import options
from hedgerow.cli.grammar import parse_by, parse_guess
from hedgerow.cli.spending import deliver, no_source, spending, warnings_told
from hedgerow.cli.terminal import say, say_json
from hedgerow.cli.verbs.regressions.ols import (
    FILES,
    Bounds,
    Categories,
    Formula,
    Out,
    PlanOnly,
    bounds_given,
    errors_in_lines,
    listed_errors,
    show_fit,
    write_files,
)

if TYPE_CHECKING:
    from hedgerow.regression.logit.release_logit import LogitPlan
    from hedgerow.release.publication.folder import ReleaseFolder


def logit(
    formula: Formula,
    source: options.Source = None,
    relation: options.Relation = None,
    value: Annotated[
        str, typer.Option(metavar="V", help="The outcome is 1 where the response has this value, 0 where another.")
    ] = "1",
    steps: Annotated[
        int | None, typer.Option(metavar="T", help="Newton steps that share the price; steep effects need up to 8.")
    ] = None,
    bounds: Bounds = None,
    categories: Categories = None,
    where: options.Where = None,
    epsilon: options.Epsilon = None,
    rho: options.RhoBudget = None,
    mu: options.MuBudget = None,
    delta: options.Delta = None,
    guess: Annotated[
        list[str] | None,
        typer.Option(metavar="COL:sd=S,mean=M", help="With --plan: a guess made without the data; see plan."),
    ] = None,
    plan: PlanOnly = False,
    level: options.Level = 0.95,
    target: options.Target = None,
    table: options.Table = None,
    facts: options.FactsPath = None,
    ledger: options.LedgerPath = None,
    request_id: options.RequestId = None,
    out: Out = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Release a logistic regression: coefficients, standard errors, intervals and one certificate.

    All options are checked before the data are read. Once they are read, the price is spent, even if the command fails.
    """
    from hedgerow.facts.declared import Facts
    from hedgerow.inference.estimate import parse_level
    from hedgerow.release.publication.folder import prepared_folder
    from hedgerow.statistics.entry import parse_value
    from hedgerow.survey import open as open_survey

    if source is None and facts is None:
        raise no_source("logit")
    level = parse_level(level)
    given: dict[str, Any] = {
        **{"value": parse_value(value), "steps": steps, "where": where},
        **{"bounds": bounds_given(bounds or ()), "categories": parse_by(categories or ())},
        **{"epsilon": epsilon, "rho": rho, "mu": mu, "delta": delta},
    }
    chosen = {name: one for name, one in given.items() if one is not None}
    declared = None if facts is None else Facts.read(facts)
    with ExitStack() as stack:
        stack.enter_context(warnings_told())
        survey = open_survey(source, declared, relation=relation, target=target, table=table, ledger=ledger)
        if plan:
            _tell(survey.plan_logit(formula, **chosen), parse_guess(guess or ()), as_json=as_json)
            return
        data = source if source is not None or declared is None else declared.data_path
        folder: ReleaseFolder | None = None
        if out is not None:
            folder = stack.enter_context(prepared_folder(out, force=force, source=data, names=FILES))

        def spend() -> None:
            fit = survey.logit(formula, request_id=request_id, **chosen)
            write = None if folder is None else partial(write_files, fit, folder, level)
            deliver(write, partial(show_fit, fit, folder, level, as_json), unrecorded=fit.unrecorded)

        spending(spend)


def _tell(plan: LogitPlan, guess: dict[str, dict[str, Any]], *, as_json: bool) -> None:
    from hedgerow.mechanisms.mechanism import as_record

    cost, expected = plan.certificate(), plan.expected(guess)
    if as_json:
        price = {"epsilon": plan.budget.epsilon, "epsilon_upper": cost.epsilon, "delta": cost.delta}
        about = {**plan.facts.record(), **price, "reliable": expected[0].reliable}
        say_json({"plan": about | {"mechanism": as_record(plan.mechanism)}, "expected": listed_errors(expected)})
        return
    steps = len(plan.mechanism.precisions)
    told = f"Price: ε ≤ {cost.epsilon:.6g} at δ = {cost.delta:.3g}, {steps} Newton steps. Nothing was read or spent."
    say(
        "\n".join(
            [told, "", *errors_in_lines(expected), "", "Expected where effects are small and every other outcome is 1."]
        )
    )
