"""`hedgerow release`: private statistics of a file, with error bars and a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli import options
from hedgerow.cli.grammar import parse_totals
from hedgerow.cli.spending import Call, check_for_bootstrap, spends, tell_the_custodian

if TYPE_CHECKING:
    from hedgerow.release.result import Release


@spends(
    "source relation … level target table unit facts request ledger request_id … out force as_json",
    out=typer.Option(metavar="DIR", help="Write a report, <formats release> and the certificate there."),
)
@options.asking
def release(
    *,
    asked: options.Asked,
    call: Call,
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
) -> None:
    """Release private statistics with standard errors, intervals and one certificate.

    All options are checked before the data are read. Once they are read, the price is spent, even if the command fails.
    """
    from hedgerow.release.bootstrap_dp import asked as of_rows
    from hedgerow.release.bootstrap_dp.release import with_step
    from hedgerow.release.publication.folder import FILES

    with call.opened(FILES) as (survey, folder):
        if call.request is not None:
            (one,) = options.requests_of(asked, call.declared, call.request)
            asked = options.Asked(list(one.statistics), dict(one.options))
        further = {"ask": ask or (), "totals": parse_totals(totals), "request_id": call.request_id}
        extremes = [*map(of_rows.minimum, minimum or ()), *map(of_rows.maximum, maximum or ())]
        statistics: Any = [*asked.statistics, *extremes] if extremes else asked.statistics
        weak = guarantee == "bootstrap-dp"
        check_for_bootstrap(weak, step=step is not None, for_the_custodian=custodian)
        if weak:
            statistics = with_step(statistics, step)
        ask_for: Any = survey.release

        def write(result: Any) -> Sequence[str]:
            from hedgerow.reports import add_report

            kept: Any = folder
            files: Sequence[str] = kept.write(result, level=call.level)
            about = {"level": call.level, "facts": call.declared, "ledger_head": result.ledger_head}
            return files if weak else (*files, *add_report(result, kept, **about))

        def after(result: Any, written: bool) -> None:
            if custodian:
                tell_the_custodian(result, result.custodian_names(), call.level)

        call.spend(
            lambda: ask_for(statistics, guarantee=guarantee, **further, **asked.options),
            str if weak else lambda result: _page(result, call.level),
            None if folder is None else write,
            after=after,
        )


def _page(result: Release, level: float) -> str:
    from hedgerow.release.publication.text import text_table

    return "\n".join([text_table(result, level=level), *result.notes])
