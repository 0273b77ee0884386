"""`hedgerow release`: private statistics of a file, with error bars and a certificate.

`hedgerow table`: a protected table of counts or totals, with errors, margins and a price.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli import shared_options
from hedgerow.cli.call import Call, check_for_bootstrap, replayed_field, spends, tell_the_custodian
from hedgerow.cli.grammar import parse_cell_bounds, parse_totals
from hedgerow.cli.terminal import write_note, write_stdout
from hedgerow.errors import ParameterError

if TYPE_CHECKING:
    from hedgerow.release.result import Release
    from hedgerow.survey import Survey
    from hedgerow.tables.protected import ProtectedTable


@spends(
    "source relation … level target table unit facts request ledger request_id … out force quiet as_json",
    out=typer.Option(metavar="DIR", help="Write a report, <formats release> and the certificate there."),
)
@shared_options.asking
def release(
    *,
    asked: shared_options.AskedOptions,
    call: Call,
    ask: Annotated[
        list[str] | None,
        typer.Option(metavar="EXPR", help="Also compute an expression of the estimates; see `hedgerow ask`."),
    ] = None,
    totals: Annotated[
        str | None,
        typer.Option(metavar="COL=v:N,v:N", help="Public sizes of the cells: also stratified means and totals."),
    ] = None,
    guarantee: shared_options.Guarantee = "dp",
    minimum: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="The least value; bootstrap-dp alone.")
    ] = None,
    maximum: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="The greatest value; bootstrap-dp alone.")
    ] = None,
    step: Annotated[
        float | None, typer.Option(metavar="STEP", help="Of values without bounds, under bootstrap-dp.")
    ] = None,
    custodian: shared_options.ForTheCustodian = False,
) -> None:
    """Release private statistics with standard errors, intervals and one certificate.

    All options are checked before the data are read. Once they are read, the price is spent, even if the command fails.
    """
    if call.request is not None and call.request.endswith(".json"):
        _run_signed(call, asked)
        return
    with call.opened(None if call.out is None else _files()) as (survey, folder):
        if call.request is not None:
            (request,) = shared_options.requests_of(asked, call.declared, call.request)
            asked = shared_options.AskedOptions(list(request.statistics), dict(request.options))
        in_facts = asked.options.pop("totals", None)
        sizes = in_facts if totals is None else parse_totals(totals)
        further = {"ask": ask or (), "totals": sizes, "request_id": call.request_id}
        statistics: Any = asked.statistics
        if minimum or maximum:
            from hedgerow.release.bootstrap_dp import bootstrap_numbers as of_rows

            extremes = [*map(of_rows.minimum, minimum or ()), *map(of_rows.maximum, maximum or ())]
            statistics = [*statistics, *extremes]
        weak = guarantee == "bootstrap-dp"
        check_for_bootstrap(weak, step=step is not None, for_the_custodian=custodian)
        if weak:
            from hedgerow.release.bootstrap_dp.bootstrap_release import with_step

            statistics = with_step(statistics, step)
        ask_for: Any = survey.release

        def write(result: Any) -> Sequence[str]:
            from hedgerow.reports import add_report

            output: Any = folder
            files: Sequence[str] = output.write(result, level=call.level)
            about = {"level": call.level, "facts": call.declared, "ledger_head": result.ledger_head}
            return files if weak else (*files, *add_report(result, output, **about))

        def after(result: Any, written: bool) -> None:
            if custodian:
                tell_the_custodian(result, result.custodian_names(), call.level)

        call.spend(
            lambda: ask_for(statistics, guarantee=guarantee, **further, **asked.options),
            str if weak else lambda result: _page(result, call.level),
            None if folder is None else write,
            record=None if weak else lambda result: _record(result, call.level, result._json_parts),
            numbers=None if weak else lambda result: _numbers(result, call.level),
            after=after,
            survey=survey,
        )


def _files() -> Sequence[str]:
    """Return the files of a release; what writes them is imported where some are."""
    from hedgerow.release.publication.folder import FILES_OF_ANY_SIZE

    return FILES_OF_ANY_SIZE


def _run_signed(call: Call, asked: shared_options.AskedOptions) -> None:
    """Run a signed request, with no option of a release beside those that were signed (HG116)."""
    from hedgerow.approval.approval import Approval
    from hedgerow.cli.verbs.asking import run_signed

    if asked.words or any((call.relation, call.unit, call.target, call.request_id)):
        raise ParameterError(
            "HG116",
            rule="A signed request runs exactly as it was signed.",
            finding="The command has further options that would change the signed release.",
            remedy="Give only the data source, --ledger and --out.",
        )
    run_signed(Approval.read(call.request or ""), call)


def _page(result: Release, level: float) -> str:
    from hedgerow.release.publication.text import text_table

    return text_table(result, level=level, notes=result.notes)


def _numbers(result: Release, level: float) -> str:
    from hedgerow.release.publication.text import number_lines

    return "\n".join(number_lines(result, level=level))


# Beyond this many cells JSON is put together line by line: as objects it would take gigabytes.
_LARGE = 20_000


@spends(
    "source relation … by labels other where weights epsilon rho mu delta guarantee custodian sensitivity noise "
    "n_draws margins non_negative integer percent independence missing level target table unit facts ledger "
    "request_id … out force quiet as_json",
    out=typer.Option(metavar="DIR", help="Write <formats table> and the certificate there."),
)
def table(
    *,
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
    guarantee: shared_options.Guarantee = "dp",
    custodian: shared_options.ForTheCustodian = False,
    sensitivity: Annotated[
        str | None,
        typer.Option(metavar="S", help="How sensitivity is computed: auto, whole-table, per-cell, public-membership."),
    ] = None,
    margins: Annotated[
        bool, typer.Option("--margins", help="Add totals over rows, columns and all cells, which add up.")
    ] = False,
    non_negative: Annotated[bool, typer.Option("--non-negative", help="Show no number below zero.")] = False,
    integer: Annotated[bool, typer.Option("--integer", help="Show whole numbers.")] = False,
    percent: shared_options.Percent = None,
    independence: shared_options.Independence = False,
    call: Call,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Caption of the table.")] = None,
) -> None:
    """Release a table of counts or totals, with standard errors, consistent margins and its price.

    The output states the guarantee. All options are checked before the data are read. Once they are read, the price is
    spent, even if the command fails.
    """
    from hedgerow.release.publication.folder import PERCENTAGE_FILES, TABLE_FILES, left_out
    from hedgerow.tables.two_way import check_readings

    _check_asked(total, count)
    check_for_bootstrap(guarantee == "bootstrap-dp", step=False, for_the_custodian=custodian)
    if guarantee != "dp" and (percent or independence):
        raise ParameterError(
            "HG116",
            rule="Percentages and tests of independence need the errors of the table.",
            finding=f"Under {guarantee} the errors are withheld.",
            remedy="Leave --percent and --independence out, or release the table under dp.",
        )
    bounds = parse_cell_bounds(cell_bounds or ())
    given = {"cell_bounds": bounds, "sensitivity": sensitivity, "request_id": call.request_id}
    chosen = call.chosen | {name: value for name, value in given.items() if value is not None}
    chosen |= {"guarantee": guarantee, "margins": margins}
    drawn: list[Any] = []

    files = TABLE_FILES if percent is None else (*TABLE_FILES, *PERCENTAGE_FILES)
    with call.opened(files) as (survey, folder):
        unit, census = str(survey.unit), str(survey.target) == "file"
        columns = list(chosen.get("by") or ())
        counted = total is None and chosen.get("weights") is None
        check_readings(percent, independence, columns, counted=counted, unit=unit, census=census)

        def release() -> ProtectedTable:
            result = _released(survey, total, chosen)
            drawn.append(result)
            result = result.nonnegative() if non_negative else result
            result = result.rounded() if integer else result
            return result.reading(percentages=percent, independence=independence)

        def write(result: ProtectedTable) -> Sequence[str]:
            assert folder is not None  # asked below
            written = folder.write(result, level=call.level, title=title)
            if "percentages" not in result.readings:
                return written
            return (*written, *folder.write_percentages(result.asked_percentages(), level=call.level))

        def after(result: ProtectedTable, written: bool) -> None:
            missed = left_out(result) if written else None
            if missed is not None:
                # Under --json standard output holds JSON and nothing else.
                write_note(missed) if call.as_json or call.quiet else write_stdout(missed)
            if custodian:
                tell_the_custodian(drawn[0], [estimate._cell_in_words() or "all" for estimate in drawn[0]], call.level)

        call.spend(
            release,
            lambda result: _table_page(result, title, call.level),
            None if folder is None else write,
            record=lambda result: _record(result, call.level, result.json_parts),
            numbers=lambda result: _table_numbers(result, title, call.level),
            after=after,
            survey=survey,
        )


def _check_asked(total: str | None, count: bool) -> None:
    if (total is None) != count:
        raise ParameterError(
            "HG116",
            rule="A table holds counts, or the totals of one column.",
            finding="Neither was asked for." if total is None else "Both were asked for.",
            remedy="Request a table of counts with --count, or a table of totals, for example with --total "
            "income:0:100000:100.",
        )


def _released(survey: Survey, total: str | None, chosen: dict[str, Any]) -> ProtectedTable:
    from hedgerow.statistics.entry import parse_on_grid

    options_given = {"by": (), **chosen}
    if total is None:
        return survey.contingency_table(**options_given)
    column, bounds, step = parse_on_grid("--total", total)
    return survey.magnitude_table(column, bounds=bounds, step=step, **options_given)


def _table_page(result: ProtectedTable, title: str | None, level: float) -> str:
    from hedgerow.release.publication.text import text_of

    return "\n".join([text_of(result._publication(title, level=level, errors=True)), *reading_lines(result, level)])


def _table_numbers(result: ProtectedTable, title: str | None, level: float) -> str:
    from hedgerow.release.publication.text import table_lines

    lines = table_lines(result._publication(title, level=level, errors=True))
    return "\n".join([*lines, *reading_lines(result, level)]).rstrip()


def reading_lines(table: ProtectedTable, level: float) -> list[str]:
    """Return the lines of the percentages and of the test that were asked of a table, after its own lines."""
    from hedgerow.facts.lines import paragraph
    from hedgerow.release.publication.text import table_lines

    lines: list[str] = []
    if "percentages" in table.readings:
        shares = table.asked_percentages()
        lines += [*table_lines(shares._publication(level=level)), shares.whole]
    if "independence" in table.readings:
        lines += ["", paragraph(str(table.asked_independence()))]
    return lines


def _record(
    result: Release | ProtectedTable, level: float, parts: Callable[..., Iterator[str]]
) -> dict[str, Any] | None:
    if len(result) <= _LARGE:
        return result.to_dict(level)
    write_stdout("".join(parts(level, **replayed_field(result))).rstrip(), as_is=True)
    return None
