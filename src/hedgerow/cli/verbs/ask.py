"""`hedgerow ask`: an expression of estimates that were released, from their records alone."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from hedgerow.cli import options
from hedgerow.cli.terminal import write_json, write_stdout
from hedgerow.errors import ParameterError


def ask(
    asked: Annotated[
        list[str],
        typer.Argument(metavar="RECORD… EXPRESSION", help="release.json or report.html of each; the expression."),
    ],
    *,
    independent: Annotated[
        bool, typer.Option("--independent", help="The records are of different people, who are in one of them alone.")
    ] = False,
    test: Annotated[
        float | None, typer.Option(metavar="VALUE", help="Test whether the answer is this value: a p-value, two-sided.")
    ] = None,
    level: options.Level = 0.95,
    as_json: options.AsJson = False,
) -> None:
    """Compute with released estimates: 'ratio(tax, income | sex=0) - ratio(tax, income | sex=1)'.

    Needs the records alone: no data, no price. Terms of several records are named in order: 'r1.count - r2.count'.
    """
    from hedgerow.inference.interval import parse_level
    from hedgerow.release.ask import ask as answer_of
    from hedgerow.release.publication.text import answer_text
    from hedgerow.release.result import release_from_record
    from hedgerow.reports.verify.verification import read_record

    level = parse_level(level)
    *paths, expression = asked
    if not paths:
        raise ParameterError(
            "HG116",
            rule="An expression is asked of one or several records.",
            finding="Found one argument: a record, or an expression, is missing.",
            remedy="For example: hedgerow ask release.json 'ratio(tax, income) * 100'.",
        )
    records: list[Any] = [read_record(path) for path in paths]
    if len(records) == 1 and isinstance(records[0], dict) and "regression" in records[0]:
        _of_coefficients(records[0], expression, test, level, as_json=as_json)
        return
    releases = [release_from_record(json.dumps(record)) for record in records]
    answer = answer_of(expression, releases, independent=independent)
    tested = None if test is None else answer.test(test)
    if as_json:
        found = {} if tested is None else {"test": tested.to_dict()}
        write_json({"expression": expression, **answer.to_dict(level), **found})
        return
    write_stdout(answer_text(expression, answer, level=level))
    if tested is not None:
        said = str(tested)
        write_stdout(f"\n{said[0].upper()}{said[1:]}.")


def _of_coefficients(
    record: dict[str, Any], expression: str, test: float | None, level: float, *, as_json: bool
) -> None:
    """Tell weighted sums of the coefficients of a regression: '10 * age - educ'."""
    from hedgerow.regression.coefficients import AnyFit
    from hedgerow.regression.logit.logit_regression import logit_from_record
    from hedgerow.regression.regression import regressions_from_record

    logit = record["regression"].get("family") == "logit"
    fits: tuple[AnyFit, ...] = (logit_from_record(record),) if logit else regressions_from_record(record)
    asked = expression if test is None else f"{expression} = {test!r}"
    found = [(dict(fit.cell), fit.t_test(asked, level)) for fit in fits]
    if as_json:
        write_json(
            {
                "expression": expression,
                "tests": [{"cell": cell, **one.to_dict()} for cell, tests in found for one in tests],
            }
        )
        return
    for cell, tests in found:
        said = ", ".join(f"{column}={value}" for column, value in cell.items())
        write_stdout("\n".join([*([said] if said else []), tests.summary()]))
