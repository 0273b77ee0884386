"""`hedgerow release`: private statistics of a file, with error bars and a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli import options
from hedgerow.cli.grammar import parse_totals, parse_unit
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
from hedgerow.cli.terminal import say, say_json

if TYPE_CHECKING:
    from hedgerow.facts.declared import Facts
    from hedgerow.release.bootstrap_dp.asked import OfRows
    from hedgerow.release.bootstrap_dp.release import BootstrapRelease
    from hedgerow.release.publication.folder import ReleaseFolder
    from hedgerow.release.result import Release


@options.asking
def release(
    source: options.Source = None,
    relation: options.Relation = None,
    *,
    asked: options.Asked,
    level: options.Level = 0.95,
    target: options.Target = None,
    table: options.Table = None,
    unit: options.Unit = None,
    facts: options.FactsPath = None,
    request: options.RequestName = None,
    ledger: options.LedgerPath = None,
    request_id: options.RequestId = None,
    ask: Annotated[
        list[str] | None,
        typer.Option(metavar="EXPR", help="Also compute an expression of the estimates; see `hedgerow ask`."),
    ] = None,
    totals: Annotated[
        str | None,
        typer.Option(metavar="COL=v:N,v:N", help="Public sizes of the cells: also stratified means and totals."),
    ] = None,
    guarantee: options.Guarantee = "dp",
    minimum: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="The least value; bootstrap-dp alone.")
    ] = None,
    maximum: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="The greatest value; bootstrap-dp alone.")
    ] = None,
    step: Annotated[
        float | None, typer.Option(metavar="STEP", help="Of values without bounds, under bootstrap-dp.")
    ] = None,
    custodian: options.ForTheCustodian = False,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="Write a report, CSV, JSON, certificate and pictures there.")
    ] = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Release private statistics with standard errors, intervals and one certificate.

    All options are checked before the data are read. Once they are read, the price is spent, even if the command fails.
    """
    from hedgerow.facts.declared import Facts
    from hedgerow.inference.interval import parse_level
    from hedgerow.release.bootstrap_dp.plan import with_step
    from hedgerow.release.publication.folder import prepared_folder
    from hedgerow.survey import open as open_survey

    if source is None and facts is None:
        raise no_source("release")
    level = parse_level(level)
    declared = None if facts is None else Facts.read(facts)
    if request is not None:
        (one,) = options.requests_of(asked, declared, request)
        asked = options.Asked(list(one.statistics), dict(one.options))
    with ExitStack() as stack:
        stack.enter_context(warnings_told())
        survey = open_survey(
            source, declared, relation=relation, target=target, unit=parse_unit(unit), table=table, ledger=ledger
        )
        data = source if source is not None or declared is None else declared.data_path
        folder = stack.enter_context(prepared_folder(out, force=force, source=data)) if out is not None else None

        sizes = parse_totals(totals)
        extremes = _extremes(minimum or (), maximum or ())
        statistics: Any = [*asked.statistics, *extremes] if extremes else asked.statistics
        further: dict[str, Any] = {"ask": ask or (), "totals": sizes, "request_id": request_id}
        weak = guarantee == "bootstrap-dp"
        check_for_bootstrap(weak, step=step is not None, for_the_custodian=custodian)
        if weak:
            statistics = with_step(statistics, step)

        def spend() -> None:
            ask_for: Any = survey.release
            result = ask_for(statistics, guarantee=guarantee, **further, **asked.options)
            if weak:
                _deliver_numbers(result, folder, as_json=as_json, custodian=level if custodian else None)
            else:
                _deliver(result, folder, declared, level=level, as_json=as_json)

        spending(spend)


def _extremes(minima: Sequence[str], maxima: Sequence[str]) -> list[OfRows]:
    from hedgerow.release.bootstrap_dp.asked import maximum, minimum

    return [*map(minimum, minima), *map(maximum, maxima)]


def _deliver_numbers(
    result: BootstrapRelease, folder: ReleaseFolder | None, *, as_json: bool, custodian: float | None
) -> None:
    def show(written: Sequence[str]) -> None:
        if as_json:
            say_json(result.to_dict() | as_replayed(result.replayed))
        else:
            told_again(result.replayed)
            say(str(result))
            if folder is not None and written:
                say(f"Written to {folder.path}: {', '.join(written)}")
        tell_the_custodian(result, result.custodian_names(), custodian)

    deliver(None if folder is None else lambda: folder.write(result), show, unrecorded=result.unrecorded)


def _deliver(
    result: Release, folder: ReleaseFolder | None, facts: Facts | None, *, level: float, as_json: bool
) -> None:
    def write(kept: ReleaseFolder) -> tuple[str, ...]:
        from hedgerow.reports import add_report

        files = kept.write(result, level=level)
        return (*files, *add_report(result, kept, level=level, facts=facts, ledger_head=result.ledger_head))

    def show(written: Sequence[str]) -> None:
        if as_json:
            say_json(result.to_dict(level) | as_replayed(result.replayed))
            return
        told_again(result.replayed)
        say(_page(result, level=level))
        if folder is not None and written:
            say(f"Written to {folder.path}: {', '.join(written)}")

    deliver(None if folder is None else partial(write, folder), show, unrecorded=result.unrecorded)


def _page(result: Release, *, level: float) -> str:
    from hedgerow.release.publication.text import text_table

    return "\n".join([text_table(result, level=level), *result.notes])
