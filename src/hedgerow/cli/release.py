"""`hedgerow release`: private statistics of a file, with error bars and a certificate."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli.grammar import parse_by, parse_on_grid, parse_share, split_proportion
from hedgerow.cli.terminal import OutputClosed, say, say_json, tell
from hedgerow.errors import HedgerowError, ParameterError, SpentError

if TYPE_CHECKING:
    from hedgerow.release.folder import ReleaseFolder
    from hedgerow.release.result import Release
    from hedgerow.resampling.statistic import Statistic

__all__ = ["release"]

_ON_GRID = "COL:LO:HI[:STEP]"


def release(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A .csv, .parquet or .duckdb file.")],
    relation: Annotated[
        str | None, typer.Option(metavar="R", help="Who is protected: replace-one (n is public) or add-remove.")
    ] = None,
    mean: Annotated[
        list[str] | None, typer.Option(metavar=_ON_GRID, help="A mean, of values clamped to LO and HI.")
    ] = None,
    sum_: Annotated[list[str] | None, typer.Option("--sum", metavar=_ON_GRID, help="A sum, likewise.")] = None,
    proportion: Annotated[list[str] | None, typer.Option(metavar="COL=VALUE", help="A share.")] = None,
    count: Annotated[bool, typer.Option("--count", help="The number of records.")] = False,
    by: Annotated[
        list[str] | None, typer.Option(metavar="COL=v1,v2", help="Groups: all their categories, declared.")
    ] = None,
    other: Annotated[bool, typer.Option("--other", help="A cell for every other category.")] = False,
    epsilon: Annotated[float | None, typer.Option(metavar="E", help="ε, the total price.")] = None,
    delta: Annotated[float | None, typer.Option(metavar="D", help="δ; 0 for a pure guarantee. [default: 1e-6]")] = None,
    share: Annotated[
        str | None, typer.Option(metavar="S,S,…", help="Parts of the precision: means, sums, proportions, count.")
    ] = None,
    method: Annotated[str, typer.Option(metavar="M", help="auto, moments, bootstrap, gaussian or geometric.")] = "auto",
    n_resamples: Annotated[int | None, typer.Option(metavar="K", help="Replicates, for the bootstrap.")] = None,
    interval: Annotated[str | None, typer.Option(metavar="I", help="The bootstrap's kind of interval.")] = None,
    missing: Annotated[str, typer.Option(metavar="P", help="drop, midpoint or error-if-declared-complete.")] = "drop",
    level: Annotated[float, typer.Option(metavar="L", help="Level of the intervals.")] = 0.95,
    target: Annotated[str, typer.Option(metavar="T", help="population, or file for a census.")] = "population",
    table: Annotated[str | None, typer.Option(metavar="NAME", help="Which table of a DuckDB file.")] = None,
    facts: Annotated[str | None, typer.Option(metavar="TOML", help="A facts file (in a later version).")] = None,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="Write CSV, JSON, certificate and picture there.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write into a folder that is not empty.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Release private statistics with standard errors, intervals and one certificate.

    Everything is checked before the data are read. From then on the price is spent, whatever happens.
    """
    from hedgerow.inference.level import parse_level
    from hedgerow.release.folder import prepared_folder
    from hedgerow.survey import open as open_survey

    level = parse_level(level)
    statistics = _statistics(mean or (), sum_ or (), proportion or (), count)
    options: dict[str, Any] = {"by": parse_by(by or ()), "other": other, "share": parse_share(share)}
    options |= {"epsilon": epsilon, "delta": delta, "missing": missing, "method": method}
    options |= {"n_resamples": n_resamples, "interval": interval}
    with ExitStack() as stack:
        stack.enter_context(_warnings_told())
        survey = open_survey(source, facts, relation=relation, target=target, table=table)
        folder = stack.enter_context(prepared_folder(out, force=force, source=source)) if out is not None else None

        def spend() -> None:
            result = survey.release(statistics, **options)
            _deliver(result, folder, level=level, as_json=as_json)

        _spending(spend)


def _statistics(means: Sequence[str], sums: Sequence[str], proportions: Sequence[str], count: bool) -> list[Statistic]:
    from hedgerow.resampling import statistic

    asked: list[Statistic] = []
    asks: tuple[tuple[str, Sequence[str], Callable[..., Statistic]], ...] = (
        ("--mean", means, statistic.mean),
        ("--sum", sums, statistic.sum),
    )
    for option, texts, ask in asks:
        for text in texts:
            column, bounds, step = parse_on_grid(option, text)
            asked.append(ask(column, bounds=bounds, step=step))
    for text in proportions:
        column, value = split_proportion(text)
        asked.append(statistic.proportion(column, value=value))
    return [*asked, statistic.count()] if count else asked


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


def _deliver(result: Release, folder: ReleaseFolder | None, *, level: float, as_json: bool) -> None:
    """Write the files, then print: a failure of one does not keep back the other."""
    written: tuple[str, ...] | None = ()
    if folder is not None:
        try:
            written = folder.write(result, level=level)
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
