"""`hedgerow multicalibrate`: precomputed scores in, a calibrated model out.

`hedgerow apply`: score the rows of a file by a calibrated model.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli import shared_options as options
from hedgerow.cli.call import Call, no_source, replayed_field, spend, spends, write_balance, write_if_replayed
from hedgerow.cli.grammar import parse_by
from hedgerow.cli.terminal import write_json, write_stdout
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.statistics.entry import parse_value

if TYPE_CHECKING:
    from hedgerow.facts.columns import Scalar
    from hedgerow.facts.declared import Facts
    from hedgerow.multicalibration.calibration_fit import FitResult


@spends(
    "source … epsilon delta relation mechanism classes n_buckets depth table facts ledger n_fits request_id "
    "out force quiet as_json",
    out=typer.Option(metavar="FILE", help="Write the model there, as JSON."),
    force=typer.Option("--force", help="Replace the file of --out, whatever it holds."),
)
def multicalibrate(
    *,
    label: Annotated[str | None, typer.Option(metavar="COL", help="The column of labels.")] = None,
    score: Annotated[str | None, typer.Option(metavar="COL", help="The column of scores in [0, 1].")] = None,
    groups: Annotated[
        str | None, typer.Option(metavar="COL,COL", help="Group columns; their values from --facts or --group.")
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option(metavar="COL=v1,v2", help="A group column with its declared values.")
    ] = None,
    delta: Annotated[float | None, typer.Option(metavar="D", help="δ. [default: 0; for rounds 1e-6]")] = None,
    mechanism: Annotated[str, typer.Option(metavar="NAME", help="<calibrations>.")] = "table",
    classes: Annotated[str, typer.Option(metavar="NO,YES", help="The two labels; the score is of the second.")] = "0,1",
    n_buckets: Annotated[int, typer.Option(metavar="K", help="Buckets of the score.")] = 10,
    depth: Annotated[int, typer.Option(metavar="D", help="Columns that a group joins at most.")] = 2,
    n_fits: Annotated[int, typer.Option(metavar="N", help="Fits that the ledger may hold in all.")] = 1,
    call: Call,
) -> None:
    """Calibrate scores in every group, with privacy; write a model that scores new rows.

    Everything is checked before the data are read. From then on the price is spent, whatever happens.
    """
    from hedgerow.engines.source import open_source
    from hedgerow.facts.declared import naming_facts_nearby
    from hedgerow.multicalibration.calibration_fit import FitOptions, ScoredColumns, fit_from_source, fit_rules
    from hedgerow.multicalibration.calibration_mechanism import mechanism_named
    from hedgerow.multicalibration.declared_groups import family_of
    from hedgerow.multicalibration.model_file import check_destination, is_model, write_model

    out, declared, epsilon = call.out, call.declared, call.chosen.get("epsilon")
    if label is None or score is None or out is None or epsilon is None:
        raise ParameterError(
            "HG116",
            rule="`multicalibrate` needs --label, --score, --epsilon and --out.",
            finding="--label, --score, --epsilon or --out is missing.",
            remedy="Give all four options, for example --label y --score p --epsilon 1 --out model.json.",
        )
    data, table = call.data, call.table
    if data is None:
        raise no_source("multicalibrate")
    if call.source is None and table is None and declared is not None and declared.data is not None:
        table = declared.data.table
    with naming_facts_nearby(call.facts, data):
        values, from_facts = _declared(groups, group, declared)
        family = family_of(values, depth=depth)
        protection, account = fit_rules(
            declared,
            mechanism_named(mechanism),
            declared=from_facts,
            relation=call.relation,
            ledger=call.ledger,
            request_id=call.request_id,
        )
    ledger_path = call.ledger if call.ledger is not None or declared is None else declared.ledger_path
    check_destination(out, data, call.facts, ledger_path, force=call.force, earlier=is_model)

    def release() -> FitResult:
        return fit_from_source(
            open_source(data, table=table),
            ScoredColumns(label, score, _two(classes)),
            family,
            FitOptions(protection.relation, epsilon, delta, mechanism, n_buckets, notes=protection.notes),
            account,
            n_fits=n_fits,
        )

    def write(result: FitResult) -> tuple[str, ...]:
        write_model(result.model, out)
        return (out,)

    write_balance(ledger_path, spend(release, lambda result, written: _print(result, out, call, written), write))


def _declared(
    groups: str | None, group: list[str] | None, facts: Facts | None
) -> tuple[dict[str, Any] | None, list[str]]:
    """Return {column: values}, and the columns whose values come from the facts; ``--group`` overrides the facts."""
    values: dict[str, Any] = dict(parse_by(group or ()) or {})
    named = [column.strip() for column in (groups or "").split(",") if column.strip()]
    from_facts = [column for column in dict.fromkeys([*values, *named]) if values.get(column) is None]
    for column in from_facts:
        values[column] = None if facts is None else facts.column(column).categories
    unknown = [column for column in from_facts if values[column] is None]
    if unknown:
        options = " ".join(f"--group {quote(column)}=VALUE,VALUE" for column in unknown)
        tables = ", ".join(f'[columns.{column}] categories = ["VALUE", "VALUE"]' for column in unknown)
        raise UncertifiedError(
            "HG420",
            rule="The list of groups is public: the values of a column are declared and never read from the data.",
            finding=f"Of {' and '.join(repr(column) for column in unknown)} no values are declared"
            + (": no facts were named." if facts is None else " by the facts."),
            remedy=f"Add {options}; or --facts hedgerow.toml, a file that says {tables}.",
            facts_help=True,
        )
    return values or None, from_facts


def _two(text: str) -> tuple[Scalar, Scalar]:
    labels = [part.strip() for part in text.split(",")]
    if len(labels) != 2 or not all(labels) or labels[0] == labels[1]:
        raise ParameterError(
            "HG116", rule="`--classes` names two labels.", finding=f"Found {text!r}.", remedy="For example 0,1."
        )
    return parse_value(labels[0]), parse_value(labels[1])


def _print(result: FitResult, out: str, call: Call, written: Sequence[str]) -> None:
    """Print a summary; where the model could not be written, the model itself, since it was paid for."""
    from hedgerow.multicalibration.model_file import model_text
    from hedgerow.multicalibration.report import report_of, short

    model, report = result.model, report_of(result.model)
    numbers = report.to_dict()["models"][0]
    price: Any = model.certificate
    if call.as_json:
        shown = {**numbers, "note": report.note}
        head = {"model": out if written else None, "mechanism": model.mechanism, "report": shown}
        noted = {"notes": list(result.notes)} if result.notes else {}
        lost = {} if written else {"unwritten": json.loads(model_text(model))}
        write_json({**head, "certificate": price.to_dict(), **replayed_field(result), **noted, **lost})
        return
    write_if_replayed(result)
    if not written:
        write_stdout(model_text(model), as_is=True)
        return
    if call.quiet:
        return
    write_stdout(f"{model.mechanism}, {len(model.family.groups)} groups, written to {out}")
    write_stdout(f"  ε ≤ {price.epsilon:.6g} at δ = {price.delta:.3g}, {price.relation}")
    for name, words in (("max_error", "max error"), ("group_weighted_error", "group-weighted error")):
        before, after = ((numbers[when] or {}).get(name) for when in ("before", "after"))
        if before is None and after is None:
            continue
        floor = (numbers["after"] or numbers["before"]).get(f"{name}_floor")
        write_stdout(
            f"  {words}: {short(before)} before, {short(after)} after; of a calibrated model about {short(floor)}"
        )
    for note in (report.note, *result.notes):
        write_stdout(f"  {note}")
    write_stdout("  the base model is not covered; see: hedgerow verify, and hedgerow apply")


def apply(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model that `hedgerow multicalibrate` wrote.")],
    source: Annotated[
        str, typer.Argument(metavar="ROWS", help="A .csv or .parquet file with a score and the group columns.")
    ],
    score: Annotated[
        str | None, typer.Option(metavar="COL", help="The column of scores. [default: that of the fit]")
    ] = None,
    column: Annotated[str, typer.Option(metavar="NAME", help="Name of the new column.")] = "calibrated",
    out: Annotated[str | None, typer.Option(metavar="FILE", help="Write the rows with the new column there.")] = None,
    force: options.ForceFile = False,
    as_json: options.AsJson = False,
) -> None:
    """Add calibrated scores to a CSV or Parquet file, as one more column of your rows. Spends nothing."""
    from hedgerow.multicalibration.model_file import apply_to_file, check_destination, read_model, scored_before

    if out is None:
        raise ParameterError(
            "HG116", rule="`apply` writes a file.", finding="`--out` was not given.", remedy="Try --out scored.csv."
        )
    check_destination(out, model, force=force, earlier=partial(scored_before, source=source, column=column))
    rows = apply_to_file(read_model(model), source, out, score=score, column=column)
    if as_json:
        write_json({"rows": rows, "out": out, "column": column})
    else:
        write_stdout(f"{rows} rows with column {column!r} written to {out}")
