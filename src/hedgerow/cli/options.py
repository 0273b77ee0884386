"""The options that verbs share, and what `release` and `plan` ask for together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli.grammar import parse_by, parse_on_grid, parse_share, split_proportion
from hedgerow.cli.terminal import tell
from hedgerow.errors import FactsError, ParameterError
from hedgerow.formats import listed
from hedgerow.interrupts import speaks_json
from hedgerow.release.options import with_estimator

if TYPE_CHECKING:
    from hedgerow.facts.declared import Facts
    from hedgerow.release.requested import Requested
    from hedgerow.resampling.statistic import Asked

_ON_GRID = "COL[:LO:HI[:STEP]]"
_Texts = list[str] | None

Source = Annotated[str | None, typer.Argument(metavar="[SOURCE]", help=f"A {listed()} file; else that of the facts.")]
Relation = Annotated[
    str | None, typer.Option(metavar="R", help="Who is protected: replace-one (n is public) or add-remove.")
]
MeanOf = Annotated[_Texts, typer.Option("--mean", metavar=_ON_GRID, help="A mean, of values clamped to LO and HI.")]
SumOf = Annotated[_Texts, typer.Option("--sum", metavar=_ON_GRID, help="A sum, likewise.")]
ShareOf = Annotated[_Texts, typer.Option("--proportion", metavar="COL=VALUE", help="A share.")]
CountOf = Annotated[bool, typer.Option("--count", help="The number of records.")]
By = Annotated[_Texts, typer.Option(metavar="COL[=v1,v2]", help="Groups: all their categories, or the facts'.")]
Other = Annotated[bool | None, typer.Option("--other", help="A cell for every other category.")]
Epsilon = Annotated[float | None, typer.Option(metavar="E", help="ε, the total price.")]
Delta = Annotated[float | None, typer.Option(metavar="D", help="δ; 0 for a pure guarantee. [default: 1e-6]")]
Shares = Annotated[
    str | None, typer.Option(metavar="S,S,…", help="Parts of the precision: means, sums, proportions, count.")
]
Estimator = Annotated[str | None, typer.Option(metavar="M", help="Of the errors: auto, moments or bootstrap.")]
Method = Annotated[str | None, typer.Option(metavar="M", hidden=True, help="Old name of --estimator and --noise.")]
Replicates = Annotated[int | None, typer.Option("--n-resamples", metavar="K", help="Replicates, for the bootstrap.")]
IntervalKind = Annotated[str | None, typer.Option(metavar="I", help="The bootstrap's kind of interval.")]
Noise = Annotated[str | None, typer.Option(metavar="LAW", help="auto, laplace, gaussian or averaged-laplace.")]
Draws = Annotated[int | None, typer.Option("--n-draws", metavar="K", help="Laplace draws to a number. [default: 10]")]
Policy = Annotated[str | None, typer.Option(metavar="P", help="drop, midpoint or error-if-declared-complete.")]
Level = Annotated[float, typer.Option(metavar="L", help="Level of the intervals.")]
Target = Annotated[str | None, typer.Option(metavar="T", help="population, or file for a census.")]
Table = Annotated[str | None, typer.Option(metavar="NAME", help="Which table of a DuckDB file.")]
FactsPath = Annotated[str | None, typer.Option(metavar="TOML", help="The public facts; options override them.")]
Unit = Annotated[
    str | None, typer.Option(metavar="COL:MAX", help="All rows of a person, MAX of them at most. [default: row]")
]
LedgerPath = Annotated[
    str | None, typer.Option(metavar="FILE", help="Reserve the price there first. [default: the facts' ledger]")
]
RequestId = Annotated[
    str | None, typer.Option(metavar="ID", help="The same request under the same id is answered from the ledger.")
]
Force = Annotated[bool, typer.Option("--force", help="Write into a folder that is not empty.")]
ForceFile = Annotated[bool, typer.Option("--force", help="Replace the file of --out, whatever it holds.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
RequestName = Annotated[str | None, typer.Option(metavar="NAME", help="One [[release]] of the facts, by its name.")]


def asked_of(means: _Texts, sums: _Texts, proportions: _Texts, count: bool) -> list[Asked]:
    """Return the statistics asked for, in this order."""
    from hedgerow.resampling import statistic

    asked: list[Asked] = []
    asks: tuple[tuple[str, Sequence[str], Callable[..., Asked]], ...] = (
        ("--mean", means or (), statistic.mean),
        ("--sum", sums or (), statistic.sum),
    )
    for option, texts, ask in asks:
        for text in texts:
            column, bounds, step = parse_on_grid(option, text)
            asked.append(ask(column, bounds=bounds, step=step))
    for text in proportions or ():
        column, value = split_proportion(text)
        asked.append(statistic.proportion(column, value=value))
    return [*asked, statistic.count()] if count else asked


def options_of(
    *,
    by: _Texts,
    other: bool | None,
    share: str | None,
    epsilon: float | None,
    delta: float | None,
    missing: str | None,
    estimator: str | None,
    noise: str | None,
    n_draws: int | None,
    n_resamples: int | None,
    interval: str | None,
    method: str | None,
) -> dict[str, Any]:
    """Return the arguments of a release that were given; what was not is left to the facts and the defaults."""
    given: dict[str, Any] = {"by": parse_by(by or ()), "other": other, "share": parse_share(share)}
    given |= {"epsilon": epsilon, "delta": delta, "missing": missing, "estimator": estimator, "noise": noise}
    given |= {"n_draws": n_draws, "n_resamples": n_resamples, "interval": interval, "method": method}
    if method is not None:
        old_name("--method", "--estimator and --noise")
    return with_estimator({name: value for name, value in given.items() if value is not None})


def old_name(option: str, current: str) -> None:
    """Say on standard error that an option has another name today."""
    said = f"{option} is an old name: write {current}."
    tell(said, "warning") if speaks_json() else tell(f"Warning: {said}")


def requests_of(
    asked: list[Asked], options: dict[str, Any], facts: Facts | None, name: str | None
) -> tuple[Requested, ...]:
    """Return what to release or to plan: what the options ask for, else the requests of the facts.

    Options beside a request of the facts override it.

    Raises
    ------
    ParameterError
        HG116: statistics and a request of the facts at once.
    FactsError
        HG703: the facts hold no such request, or several of the name.
    """
    from hedgerow.release.requested import Requested, requested

    if asked and name is None:
        return (Requested("", tuple(asked), options),)
    if asked:
        raise ParameterError(
            "HG116",
            rule="A command asks for statistics, or for a request of the facts.",
            finding="Found both.",
            remedy="Leave out --request, or --mean, --sum, --proportion and --count.",
        )
    listed = requested(facts) if facts is not None else ()
    if facts is not None and any("method" in one for one in facts.releases):
        old_name("method in the facts", "estimator and noise")
    if name is not None:
        listed = tuple(one for one in listed if one.name == name)
        if len(listed) != 1:
            raise FactsError(
                "HG703",
                rule="A request is one [[release]] of the facts, by its name.",
                finding=f"There is none called {name!r}." if not listed else f"Several are called {name!r}.",
                remedy="hedgerow plan --facts hedgerow.toml lists them all.",
            )
    return tuple(Requested(one.name, one.statistics, {**one.options, **options}) for one in listed)
