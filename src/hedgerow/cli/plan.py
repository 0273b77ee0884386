"""`hedgerow plan`: the price and the expected errors of a release, from public facts, before any value is read."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli import options
from hedgerow.cli.grammar import parse_guess, parse_target
from hedgerow.cli.terminal import say, say_json
from hedgerow.errors import FactsError, ParameterError

if TYPE_CHECKING:
    from hedgerow.privacy.budget import Budget
    from hedgerow.privacy.declared import Facts
    from hedgerow.release.forecast import Forecast
    from hedgerow.release.plan import Plan
    from hedgerow.release.requested import Requested
    from hedgerow.release.target import ErrorTarget

    Planner = Callable[..., Plan]

__all__ = ["plan"]


def plan(
    source: Annotated[str | None, typer.Argument(metavar="[SOURCE]", help="To check names and count records.")] = None,
    relation: options.Relation = None,
    mean: options.MeanOf = None,
    sum_: options.SumOf = None,
    proportion: options.ShareOf = None,
    count: options.CountOf = False,
    by: options.By = None,
    other: options.Other = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    share: options.Shares = None,
    method: options.Method = None,
    n_resamples: options.Replicates = None,
    interval: options.IntervalKind = None,
    missing: options.Policy = None,
    level: options.Level = 0.95,
    target: options.Target = None,
    table: options.Table = None,
    facts: options.FactsPath = None,
    request: options.RequestName = None,
    n: Annotated[
        int | None, typer.Option("--n", metavar="N", help="Number of records; then no file is needed.")
    ] = None,
    guess: Annotated[
        list[str] | None, typer.Option(metavar="COL:sd=S,mean=M", help="A guess; what is not guessed is at its worst.")
    ] = None,
    target_se: Annotated[
        list[str] | None, typer.Option(metavar="COL:VALUE", help="The ε for this standard error, instead of --epsilon.")
    ] = None,
    target_rse: Annotated[
        list[str] | None, typer.Option(metavar="COL:VALUE", help="Likewise, relative to the guessed value.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Tell the price and the expected errors of a release. Reads no value and spends nothing.

    Plans what the options ask for, else every [[release]] of the facts.
    """
    from hedgerow.inference.level import parse_level
    from hedgerow.privacy.declared import Facts
    from hedgerow.release.told import told_facts

    level, guesses = parse_level(level), parse_guess(guess or ())
    given = options.options_of(
        by=by,
        other=other,
        share=share,
        epsilon=epsilon,
        delta=delta,
        missing=missing,
        method=method,
        n_resamples=n_resamples,
        interval=interval,
    )
    declared = None if facts is None else Facts.read(facts)
    told = told_facts(declared, relation=relation, target=target)
    asked_for = options.asked_of(mean, sum_, proportion, count)
    wanted = options.requests_of(asked_for, given, declared, request) or _nothing()
    planner = _planner(source, declared, told, n, table)
    targets = _targets(target_se or [], target_rse or [], len(wanted), epsilon)
    made: list[tuple[Requested, Plan, Forecast]] = []
    for one in wanted:
        asked = dict(one.options)
        if targets:
            asked["epsilon"] = _needed(planner, one, asked, targets, guesses, n)
        found = planner(one.statistics, **asked)
        made.append((one, found, found.forecast(guesses, n=n, level=level)))
    _tell(made, declared.budget if declared is not None else None, bool(targets), as_json)


def _planner(source: str | None, facts: Facts | None, told: Any, n: int | None, table: str | None) -> Planner:
    """Return what plans a request: with the file, whose names are then checked and records counted, or without."""
    from hedgerow.privacy.relation import Relation
    from hedgerow.release.planned import planned
    from hedgerow.survey import Survey
    from hedgerow.survey import open as open_survey

    if n is None and (source is not None or (facts is not None and facts.data is not None)):
        # The relation and the target in force may be arguments of this call.
        survey: Survey = open_survey(source, facts, relation=told.relation, target=told.target, table=table)
        return survey.plan
    if n is None and told.relation is Relation.REPLACE_ONE:
        raise FactsError(
            "HG703",
            rule="Under replace-one the number of records is public, and a plan needs it.",
            finding="It is not given, and there is no source to count.",
            remedy="Give --n, or the source.",
        )
    if n is not None and n < 1:
        raise ParameterError(
            "HG707", rule="`--n` is a number of records, 1 or more.", finding=f"Found {n}.", remedy="Try --n 10000."
        )
    public = n if told.relation is Relation.REPLACE_ONE else None
    return lambda statistics, **asked: planned(statistics, told, facts, n=public, **asked)


def _targets(absolute: list[str], relative: list[str], requests: int, epsilon: float | None) -> list[ErrorTarget]:
    from hedgerow.release.target import ErrorTarget

    made = [ErrorTarget(*parse_target("--target-se", text)) for text in absolute]
    made += [ErrorTarget(*parse_target("--target-rse", text), relative=True) for text in relative]
    if made and (requests != 1 or epsilon is not None):
        raise ParameterError(
            "HG116",
            rule="A target asks for the ε of one release.",
            finding="--epsilon was given too." if epsilon is not None else f"There are {requests} releases.",
            remedy="Leave out --epsilon." if epsilon is not None else "Choose one by --request NAME.",
        )
    return made


def _needed(
    planner: Planner,
    one: Requested,
    asked: dict[str, Any],
    targets: list[ErrorTarget],
    guesses: dict[str, dict[str, float]],
    n: int | None,
) -> float:
    from hedgerow.release.target import epsilon_needed

    rest = {name: value for name, value in asked.items() if name != "epsilon"}
    return epsilon_needed(
        lambda epsilon: planner(one.statistics, epsilon=epsilon, **rest).forecast(guesses, n=n), targets
    )


def _tell(made: list[tuple[Requested, Plan, Forecast]], total: Budget | None, aimed: bool, as_json: bool) -> None:
    from hedgerow.release.forecast_table import forecast_table
    from hedgerow.release.total import price_together

    price = None if total is None else price_together([one for _, one, _ in made], total.delta)
    if as_json:
        say_json({"plans": [_record(*one, aimed) for one in made], "budget": _budget(total, price)})
        return
    for place, (one, found, expected) in enumerate(made):
        head = ([""] if place else []) + ([f"{one.name}:"] if one.name else [])
        head += [f"The target needs ε = {found.request.budget.epsilon:.6g}."] if aimed else []
        say("\n".join([*head, forecast_table(found, expected)]))
    if total is not None and price is not None:
        say(_total(total, price))


def _total(total: Budget, price: float) -> str:
    whole = f"of ε = {total.epsilon:.6g} at δ = {total.delta:.3g} in all"
    if price > total.epsilon:
        said = f"ε ≤ {price:.6g}" if math.isfinite(price) else f"no ε holds at δ = {total.delta:.3g}"
        return f"Budget: this costs more than there is: {said}, {whole}."
    left = f"ε = {total.epsilon - price:.6g} would be left"
    return f"Budget: together ε ≤ {price:.6g}, {whole}; {left}, were nothing spent before."


def _budget(total: Budget | None, price: float | None) -> dict[str, Any] | None:
    if total is None or price is None:
        return None
    finite = price if math.isfinite(price) else None
    left = None if finite is None else max(total.epsilon - finite, 0.0)
    record = {"epsilon": total.epsilon, "delta": total.delta, "price_together": finite, "left": left}
    return record | {"spent": None, "enough": price <= total.epsilon}


def _record(one: Requested, found: Plan, expected: Forecast, aimed: bool) -> dict[str, Any]:
    from hedgerow.accounting.certificate import round_up
    from hedgerow.privacy.mechanism import as_record

    facts = found.facts
    about: dict[str, Any] = {"name": one.name or None, "relation": str(facts.relation), "unit": str(facts.unit)}
    about |= {"target": str(facts.target), "n": facts.n, "missing": found.request.missing, "cells": found.cells}
    price = {"epsilon": found.request.budget.epsilon, "epsilon_upper": round_up(found.epsilon), "delta": found.delta}
    rest = {"mechanism": as_record(found.mechanism), "assumptions": list(found.assumptions())}
    return about | price | {"from_target": aimed} | rest | expected.to_dict()


def _nothing() -> tuple[Requested, ...]:
    raise ParameterError(
        "HG112",
        rule="A plan is of one or more statistics, or of the [[release]] list of the facts.",
        finding="Found none.",
        remedy="For example --mean age:0:100:1, or --facts hedgerow.toml.",
    )
