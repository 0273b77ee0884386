"""`hedgerow release`: private statistics of a file, with error bars and a certificate."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli import options
from hedgerow.cli.grammar import parse_unit
from hedgerow.cli.terminal import OutputClosed, say, say_json, tell
from hedgerow.errors import HedgerowError, ParameterError, SpentError

if TYPE_CHECKING:
    from hedgerow.privacy.declared import Facts
    from hedgerow.release.folder import ReleaseFolder
    from hedgerow.release.result import Release

__all__ = ["release"]


def release(
    source: Annotated[
        str | None, typer.Argument(metavar="[SOURCE]", help="A .csv, .parquet or .duckdb file; else that of the facts.")
    ] = None,
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
    unit: Annotated[
        str | None, typer.Option(metavar="COL:MAX", help="All rows of a person, MAX of them at most. [default: row]")
    ] = None,
    facts: options.FactsPath = None,
    request: options.RequestName = None,
    ledger: Annotated[
        str | None, typer.Option(metavar="FILE", help="Reserve the price there first. [default: the facts' ledger]")
    ] = None,
    request_id: Annotated[
        str | None, typer.Option(metavar="ID", help="The same request under the same id is answered from the ledger.")
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="Write report, CSV, JSON, certificate, pictures there.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write into a folder that is not empty.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Release private statistics with standard errors, intervals and one certificate.

    Everything is checked before the data are read. From then on the price is spent, whatever happens.
    """
    from hedgerow.inference.level import parse_level
    from hedgerow.privacy.declared import Facts
    from hedgerow.release.folder import prepared_folder
    from hedgerow.survey import open as open_survey

    if source is None and facts is None:
        raise _no_source()
    level = parse_level(level)
    asked = options.asked_of(mean, sum_, proportion, count)
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
    if request is not None:
        (one,) = options.requests_of(asked, given, declared, request)
        asked, given = list(one.statistics), dict(one.options)
    with ExitStack() as stack:
        stack.enter_context(_warnings_told())
        survey = open_survey(
            source, declared, relation=relation, target=target, unit=parse_unit(unit), table=table, ledger=ledger
        )
        data = source if source is not None or declared is None else declared.data_path
        folder = stack.enter_context(prepared_folder(out, force=force, source=data)) if out is not None else None

        def spend() -> None:
            result = survey.release(asked, request_id=request_id, **given)
            _deliver(result, folder, declared, level=level, as_json=as_json)

        _spending(spend)


def _no_source() -> ParameterError:
    return ParameterError(
        "HG116",
        rule="A release names its source, or facts that name one.",
        finding="Missing argument 'SOURCE'.",
        remedy="See: hedgerow release --help",
    )


@contextmanager
def _warnings_told() -> Iterator[None]:
    """Tell hedgerow's own warnings in plain words, and no other: a library's may quote data."""
    from hedgerow.survey import HedgerowWarning

    def told(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        tell(f"Warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", HedgerowWarning)
        warnings.showwarning = told
        yield


def _spending(run: Callable[[], None]) -> None:
    """Run what may spend; a failure without a code of its own may have come after the price was reserved."""
    failure: SpentError
    try:
        run()
        return
    except HedgerowError:
        raise
    except KeyboardInterrupt:
        failure = SpentError(
            "HG605",
            rule="A release that is interrupted after its price was reserved stays spent.",
            finding="This one was interrupted, perhaps after the data were read.",
            remedy="Count its price as spent, unless you are sure that it had not begun to read.",
        )
    except BaseException:
        # Compiled libraries raise outside Exception too, and their words may quote data.
        failure = SpentError(
            "HG901",
            rule="Every failure has a code and a page.",
            finding="This one has none: it is a bug in hedgerow. The data may have been read.",
            remedy="Count the price of this call as spent, and please report the command, without data.",
        )
    # Raised outside the handlers: inside them __context__ would carry the cause, which may quote data.
    raise failure


def _deliver(
    result: Release, folder: ReleaseFolder | None, facts: Facts | None, *, level: float, as_json: bool
) -> None:
    """Write the files, then print: a failure of one does not keep back the other."""
    written: tuple[str, ...] | None = ()
    if folder is not None:
        try:
            from hedgerow.reports import add_report

            files = folder.write(result, level=level)
            head = result.ledger_head
            written = (*files, *add_report(result, folder, level=level, facts=facts, ledger_head=head))
        except Exception:
            # The release is spent, so whatever stopped the files must not stop the printing.
            written = None
    try:
        if as_json:
            say_json(result.to_dict(level))
        else:
            say(_page(result, level=level))
            if folder is not None and written:
                say(f"Written to {folder.path}: {', '.join(written)}")
    except (OutputClosed, ParameterError):
        # With the files written nothing is lost, and closing a pipe early is nobody's mistake.
        if not written:
            raise _undelivered("It could not be printed to the end, and is written nowhere else.") from None
    if written is None:
        raise _undelivered("It was printed, but its files could not all be written.")


def _page(result: Release, *, level: float) -> str:
    from hedgerow.release.text_table import text_table

    return "\n".join([text_table(result, level=level), *result.notes])


def _undelivered(finding: str) -> SpentError:
    return SpentError(
        "HG604",
        rule="A release is spent once the data are read, wherever its result goes.",
        finding=finding,
        remedy="Count the price of this call as spent; keep what was printed, and make room before the next.",
    )
