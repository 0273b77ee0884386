"""`hedgerow ols` and `hedgerow logit`: regressions of a file, with errors that count the noise, and a certificate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli.call import Call, spends
from hedgerow.cli.grammar import parse_by, parse_guess, parse_target
from hedgerow.cli.terminal import write_json, write_stdout
from hedgerow.errors import ParameterError
from hedgerow.statistics.entry import parse_value

if TYPE_CHECKING:
    from hedgerow.mechanisms.interface import Mechanism
    from hedgerow.regression.linear_model import ExpectedCoefficient
    from hedgerow.regression.release_regression import PlannedRegression
    from hedgerow.survey import Survey

FILES = ("regression.json", "certificate.json", "report.html")

Formula = Annotated[
    str,
    typer.Argument(
        metavar="FORMULA",
        help='A formula such as "income ~ age": a response, the sign ~ and terms. The formula may stand before SOURCE '
        "or after SOURCE.",
    ),
]
Bounds = Annotated[
    list[str] | None,
    typer.Option(metavar="COL:LO:HI[:STEP]", help="Bounds of a numeric column, to which its values are clamped."),
]
Categories = Annotated[
    list[str] | None,
    typer.Option(metavar="COL=v1,v2", help="Values of a column that stands in C(…); the first is the reference."),
]
PlanOnly = Annotated[
    bool, typer.Option("--plan", help="Only print the price and the errors to expect; reads and spends nothing.")
]
_FRONT = "formula source relation …"
_BACK = "… level target table unit facts ledger request_id out force quiet as_json"


@spends(f"{_FRONT} weights by labels other where epsilon rho mu delta noise missing {_BACK}")
def ols(
    formula: Formula,
    bounds: Bounds = None,
    categories: Categories = None,
    clip_norm: Annotated[
        float | None,
        typer.Option(metavar="R", help="Shrink records into a ball about the midpoints, in half-ranges of the bounds."),
    ] = None,
    robust: Annotated[
        bool,
        typer.Option("--robust", help="Errors that hold where variances differ (HC1), for a share of the price."),
    ] = False,
    *,
    call: Call,
    guess: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL:sd=S,mean=M", help="A guess made without the data, for which the noise is divided; see plan."
        ),
    ] = None,
    plan: PlanOnly = False,
    target_se: Annotated[
        str | None,
        typer.Option(metavar="TERM:VALUE", help="With --plan: find the ε that gives this error, without --epsilon."),
    ] = None,
) -> None:
    """Release a linear regression: coefficients, standard errors, intervals and one certificate.

    All options are checked before the data are read. Once they are read, the price is spent, even if the command fails.
    """
    formula, call = _in_order(formula, call)
    asked = {
        "bounds": _bounds(bounds or ()),
        "categories": parse_by(categories or ()),
        "guess": parse_guess(guess) if guess else None,
        "clip_norm": clip_norm,
        "robust": robust or None,
    }

    def show_plan(survey: Survey, chosen: dict[str, Any]) -> None:
        from hedgerow.mechanisms.certificate import round_up

        regression = _planned(survey, formula, chosen, target_se)
        whole = regression.plan
        price = {"epsilon": whole.request.budget.epsilon, "epsilon_upper": round_up(whole.epsilon)}
        about = {**regression.facts.record(), **price, "delta": whole.delta}
        _show_plan(call, regression.expected(), about, regression.mechanism, f"{regression.design.reason}.")

    _fit(call, formula, asked, show_plan if plan or target_se is not None else None)


@spends(f"{_FRONT} where epsilon rho mu delta {_BACK}")
def logit(
    formula: Formula,
    value: Annotated[
        str | None,
        typer.Option(
            metavar="V", help="The outcome is 1 where the response has this value, 0 where another. [default: 1]"
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(metavar="T", help="Newton steps that share the price: 2 by default, 5 without an intercept."),
    ] = None,
    bounds: Bounds = None,
    categories: Categories = None,
    *,
    call: Call,
    guess: Annotated[
        list[str] | None,
        typer.Option(metavar="COL:sd=S,mean=M", help="With --plan: a guess made without the data; see plan."),
    ] = None,
    plan: PlanOnly = False,
) -> None:
    """Release a logistic regression: coefficients, standard errors, intervals and one certificate.

    All options are checked before the data are read. Once they are read, the price is spent, even if the command fails.
    """
    formula, call = _in_order(formula, call)
    asked = {
        **{"value": None if value is None else parse_value(value), "steps": steps},
        **{"bounds": _bounds(bounds or ()), "categories": parse_by(categories or ())},
    }

    def show_plan(survey: Survey, chosen: dict[str, Any]) -> None:
        regression = survey.plan_logit(formula, **chosen)
        cost = regression.price
        price = {"epsilon": regression.budget.epsilon, "epsilon_upper": cost.epsilon, "delta": cost.delta}
        about, expected = {**regression.facts.record(), **price}, regression.expected(parse_guess(guess or ()))
        closing = "Expected where effects are small and every other outcome is 1."
        newton = f", {len(regression.mechanism.precisions)} Newton steps"
        _show_plan(call, expected, about, regression.mechanism, closing, newton)

    _fit(call, formula, asked, show_plan if plan else None)


def _in_order(formula: str, call: Call) -> tuple[str, Call]:
    """Return formula and call whichever of the two arguments came first: a formula has a ~ and names no file."""
    first, second = ("~" in text and not Path(text).exists() for text in (formula, call.source or ""))
    return (call.source, replace(call, source=formula)) if second and not first and call.source else (formula, call)


def _fit(
    call: Call, formula: str, asked: dict[str, Any], show_plan: Callable[[Survey, dict[str, Any]], None] | None
) -> None:
    """Show the plan, where a function that does is given; else fit, write and print."""
    chosen = call.chosen | {name: value for name, value in asked.items() if value is not None}
    with call.opened(None if show_plan else FILES) as (survey, folder):
        if show_plan is not None:
            show_plan(survey, chosen)
            return

        def write(fit: Any) -> Sequence[str]:
            from hedgerow.regression.features import written
            from hedgerow.reports.answer_pages import regression_html

            output: Any = folder
            record, page = written(fit.to_dict(call.level)), regression_html(fit, level=call.level)
            names: Sequence[str] = output.put(dict(zip(FILES, (record, fit.certificate.to_json(), page), strict=True)))
            return names

        call.spend(
            lambda: getattr(survey, call.verb)(formula, request_id=call.request_id, **chosen),
            lambda fit: fit.summary(call.level),
            None if folder is None else write,
            numbers=lambda fit: fit.table(call.level),
            survey=survey,
        )


def _bounds(texts: Sequence[str]) -> dict[str, Any] | None:
    """Return {column: (low, high[, step])} of each ``COL:LO:HI[:STEP]`` (HG116)."""
    from hedgerow.statistics.entry import parse_on_grid, unwritten

    bounds: dict[str, Any] = {}
    for text in texts:
        column, ends, step = parse_on_grid("--bounds", text)
        if ends is None or column in bounds:
            raise unwritten("--bounds", "COL:LO:HI or COL:LO:HI:STEP, once a column", text, "--bounds age:0:100")
        bounds[column] = ends if step is None else (*ends, step)
    return bounds or None


def _planned(survey: Survey, formula: str, chosen: dict[str, Any], target: str | None) -> PlannedRegression:
    """Return the plan; with a target, at an ε within 2 % of the least that is forecast to reach it."""
    from hedgerow.release.forecast import least_epsilon

    if target is None:
        return survey.plan_ols(formula, **chosen)
    term, wanted = parse_target("--target-se", target)
    if chosen.keys() & {"epsilon", "rho", "mu"}:
        raise ParameterError(
            "HG116",
            rule="A target asks hedgerow to find the ε of a release.",
            finding="A privacy budget was given as well as a target.",
            remedy="Leave out --epsilon.",
        )

    def excess(epsilon: float) -> float:
        errors = {
            row.term: row.standard_error for row in survey.plan_ols(formula, epsilon=epsilon, **chosen).expected()
        }
        if term not in errors:
            raise ParameterError(
                "HG116",
                rule="`--target-se` names a coefficient and its standard error.",
                finding=f"There is no {term!r}.",
                remedy=f"The coefficients are {', '.join(errors)}.",
            )
        return errors[term] / wanted

    return survey.plan_ols(formula, epsilon=least_epsilon(excess), **chosen)


def _show_plan(
    call: Call,
    expected: Sequence[ExpectedCoefficient],
    about: dict[str, Any],
    mechanism: Mechanism,
    closing: str,
    further: str = "",
) -> None:
    """Print a plan: what is asked and its price, and the errors to expect."""
    from hedgerow.mechanisms.mechanism import as_record
    from hedgerow.release.publication.text import aligned

    reliable, errors = expected[0].reliable, ("standard_error", "sampling_error", "privacy_error")
    if call.as_json:
        listed = [{"term": row.term} | {name: getattr(row, name) for name in errors} for row in expected]
        write_json({"plan": about | {"reliable": reliable, "mechanism": as_record(mechanism)}, "expected": listed})
        return
    rows: list[tuple[str, ...]] = [("", "s.e.", "sampling", "privacy")]
    rows += [(row.term, *(f"{getattr(row, name):.3g}" for name in errors)) for row in expected]
    price = f"ε ≤ {about['epsilon_upper']:.6g} at δ = {about['delta']:.3g}{further}"
    opening = f"Price: {price}. Nothing was read or spent."
    waste = "WASTE: the noise would swamp the moments of the regressors, and nothing could be relied on."
    write_stdout("\n".join([opening, "", *aligned(rows, 1), *(() if reliable else (waste,)), "", closing]))
