"""`hedgerow table`: a protected table of counts or totals, with errors, margins and a price."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli import options
from hedgerow.cli.grammar import parse_by, parse_cell_bounds, parse_unit, with_labels
from hedgerow.cli.spending import (
    as_replayed,
    check_for_bootstrap,
    deliver,
    no_source,
    spending,
    tell_the_custodian,
    told_again,
    warnings_told,
)
from hedgerow.cli.terminal import say, say_json, tell
from hedgerow.errors import ParameterError
from hedgerow.release.options import with_sensitivity

if TYPE_CHECKING:
    from hedgerow.release.publication.folder import ReleaseFolder
    from hedgerow.survey import Survey
    from hedgerow.tables.protected import ProtectedTable

# Beyond this many cells JSON is put together line by line: as objects it would take gigabytes.
_LARGE = 20_000


def table(
    source: options.Source = None,
    relation: options.Relation = None,
    total: Annotated[
        str | None,
        typer.Option(metavar="COL[:LO:HI[:STEP]]", help="Release totals of a column, of values clamped to LO and HI."),
    ] = None,
    count: Annotated[bool, typer.Option("--count", help="Release counts of records.")] = False,
    cell_bounds: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[COL=]CAT[,CAT…]:LO:HI", help="Narrower bounds for a cell or a category, within those of --total."
        ),
    ] = None,
    by: options.By = None,
    labels: options.Labels = None,
    other: options.Other = None,
    where: options.Where = None,
    epsilon: options.Epsilon = None,
    rho: options.RhoBudget = None,
    mu: options.MuBudget = None,
    delta: options.Delta = None,
    guarantee: options.Guarantee = "dp",
    custodian: options.ForTheCustodian = False,
    sensitivity: Annotated[
        str | None,
        typer.Option(metavar="S", help="How sensitivity is computed: auto, whole-table, per-cell, public-membership."),
    ] = None,
    method: Annotated[str | None, typer.Option(metavar="S", hidden=True, help="Old name of --sensitivity.")] = None,
    noise: options.Noise = None,
    n_draws: options.Draws = None,
    margins: Annotated[
        bool, typer.Option("--margins", help="Add totals over rows, columns and all cells, which add up.")
    ] = False,
    non_negative: Annotated[bool, typer.Option("--non-negative", help="Show no number below zero.")] = False,
    integer: Annotated[bool, typer.Option("--integer", help="Show whole numbers.")] = False,
    missing: options.Policy = None,
    level: options.Level = 0.95,
    target: options.Target = None,
    table_name: Annotated[
        str | None, typer.Option("--table", metavar="NAME", help="Which table of a database or a DuckDB file.")
    ] = None,
    unit: options.Unit = None,
    facts: options.FactsPath = None,
    ledger: options.LedgerPath = None,
    request_id: options.RequestId = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Caption of the table.")] = None,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="Write CSV, JSON, HTML, XLSX and the certificate there.")
    ] = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Release a table of counts or totals, with standard errors, consistent margins and its price.

    The output states the guarantee. All options are checked before the data are read. Once they are read, the price is
    spent, even if the command fails.
    """
    from hedgerow.facts.declared import Facts
    from hedgerow.inference.interval import parse_level
    from hedgerow.release.publication.folder import TABLE_FILES, prepared_folder
    from hedgerow.survey import open as open_survey

    if source is None and facts is None:
        raise no_source("table")
    level = parse_level(level)
    _check_asked(total, count)
    check_for_bootstrap(guarantee == "bootstrap-dp", step=False, for_the_custodian=custodian)
    given = {
        "by": with_labels(parse_by(by or (), banded=True), labels or ()),
        "other": other,
        "where": where,
        "epsilon": epsilon,
        "rho": rho,
        "mu": mu,
        "delta": delta,
        "missing": missing,
    }
    given |= {"sensitivity": sensitivity, "noise": noise, "n_draws": n_draws, "request_id": request_id}
    given["cell_bounds"] = parse_cell_bounds(cell_bounds or ())
    if method is not None:
        options.old_name("--method", "--sensitivity")
        given = with_sensitivity(given | {"method": method})
    chosen = {name: value for name, value in given.items() if value is not None}
    chosen |= {"guarantee": guarantee, "margins": margins}
    declared = None if facts is None else Facts.read(facts)
    with ExitStack() as stack:
        stack.enter_context(warnings_told())
        survey = open_survey(
            source, declared, relation=relation, target=target, unit=parse_unit(unit), table=table_name, ledger=ledger
        )
        data = source if source is not None or declared is None else declared.data_path
        folder: ReleaseFolder | None = None
        if out is not None:
            folder = stack.enter_context(prepared_folder(out, force=force, source=data, names=TABLE_FILES))

        def spend() -> None:
            drawn: Any = _released(survey, total, chosen)
            result = drawn.nonnegative() if non_negative else drawn
            result = result.rounded() if integer else result
            _deliver(result, folder, level=level, title=title, as_json=as_json)
            if custodian:
                tell_the_custodian(drawn, [one.cell_in_words() or "all" for one in drawn], level)

        spending(spend)


def _check_asked(total: str | None, count: bool) -> None:
    if (total is None) != count:
        raise ParameterError(
            "HG116",
            rule="A table holds counts, or the totals of one column.",
            finding="Neither was asked for." if total is None else "Both were asked for.",
            remedy="For example --count, or --total income:0:100000:100.",
        )


def _released(survey: Survey, total: str | None, chosen: dict[str, Any]) -> ProtectedTable:
    from hedgerow.statistics.entry import parse_on_grid

    options_given = {"by": (), **chosen}
    if total is None:
        return survey.contingency_table(**options_given)
    column, bounds, step = parse_on_grid("--total", total)
    return survey.magnitude_table(column, bounds=bounds, step=step, **options_given)


def _deliver(
    result: ProtectedTable, folder: ReleaseFolder | None, *, level: float, title: str | None, as_json: bool
) -> None:
    def write(kept: ReleaseFolder) -> tuple[str, ...]:
        return kept.write(result, level=level, title=title)

    def show(written: Sequence[str]) -> None:
        from hedgerow.release.publication.folder import left_out
        from hedgerow.release.publication.text import text_of

        missed = None if folder is None or not written else left_out(result)
        if as_json:
            # Standard output holds JSON and nothing else.
            if missed is not None:
                tell(missed)
            if len(result) > _LARGE:
                say("".join(result.json_parts(level, **as_replayed(result.replayed))))
            else:
                say_json(result.to_dict(level) | as_replayed(result.replayed))
            return
        told_again(result.replayed)
        say(text_of(result.publication(title, level=level, errors=True)))
        if folder is not None and written:
            say(f"Written to {folder.path}: {', '.join(written)}")
        if missed is not None:
            say(missed)

    deliver(None if folder is None else partial(write, folder), show, unrecorded=result.unrecorded)
