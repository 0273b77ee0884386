"""The options that verbs share; those of statistics come from their registry."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from importlib import import_module
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli.grammar import parse_by, parse_share, parse_weights, with_labels
from hedgerow.errors import FactsError, ParameterError
from hedgerow.formats import listed
from hedgerow.keywords import StatisticCall, noting_calls
from hedgerow.statistics.entry import StatisticEntry
from hedgerow.statistics.registry import entries
from hedgerow.statistics.statistic import AskedFor

if TYPE_CHECKING:
    from hedgerow.facts.declared import Facts
    from hedgerow.release.request import Requested

_Texts = list[str] | None
# What a help lists, by the word in angle brackets that stands for it there: a module, and its registry by name.
_REGISTRIES = {
    "mechanisms": ("hedgerow.mechanisms.mechanism", "priced"),
    "laws": ("hedgerow.mechanisms.laws", "LAWS"),
    "estimators": ("hedgerow.release.options", "ESTIMATORS"),
    "intervals": ("hedgerow.inference.bootstrap.replicate_intervals", "INTERVALS"),
    "calibrations": ("hedgerow.multicalibration.calibration_mechanism", "MECHANISMS"),
    "looks": ("hedgerow.testset.mechanisms.choose", "MECHANISMS"),
    "formats": ("hedgerow.release.publication.formats", "suffixes"),
}


def filled(text: str) -> str:
    """Return a help with what is registered, where it names a registry in angle brackets: none is loaded before.

    >>> filled("For errors: <estimators>.")
    'For errors: auto, moments, bootstrap or bounded-bootstrap.'
    """

    def registered(match: re.Match[str]) -> str:
        module, name = _REGISTRIES[match[1]]
        registry, kind = getattr(import_module(module), name), match[2].split()
        *names, last = registry(*kind) if callable(registry) else registry
        return ", ".join([*names, last]) if kind else f"{', '.join(names)} or {last}"

    return re.sub(r"<(\w+)((?: \w+)?)>", registered, text)


Source = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE",
        help=f"A {listed()} file, - for standard input, or a database's URL. [default: the file of the facts]",
    ),
]
Relation = Annotated[
    str | None, typer.Option(metavar="R", help="Who is protected: replace-one (n is public) or add-remove.")
]
By = Annotated[
    _Texts,
    typer.Option(
        metavar="COL[=v1,v2]",
        help="Group by a column; list its categories, or the first values of bands (0..25..45), or use the facts.",
    ),
]
Labels = Annotated[
    _Texts,
    typer.Option(metavar="COL=l1,l2", help="Show these in place of the categories or bands of --by, in their order."),
]
Other = Annotated[bool | None, typer.Option("--other", help="Add a cell for all other categories.")]
Where = Annotated[
    str | None,
    typer.Option(metavar="CONDITION", help='Use only records where it is true, e.g. "age >= 25 and sex in [0, 1]".'),
]
Weighting = Annotated[
    str | None,
    typer.Option("--weights", metavar="COL:MAX", help="Weight records by a column, clamped to 0 … MAX."),
]
UnitWeight = Annotated[
    str | None,
    typer.Option("--unit-weight", metavar="W", help="For distributions of units: each row counts alike, or each unit."),
]
Epsilon = Annotated[float | None, typer.Option(metavar="E", help="ε, the total price.")]
RhoBudget = Annotated[float | None, typer.Option("--rho", metavar="R", help="ρ of the whole call, for --epsilon.")]
MuBudget = Annotated[float | None, typer.Option("--mu", metavar="M", help="μ of the whole call, for --epsilon.")]
Delta = Annotated[float | None, typer.Option(metavar="D", help="δ; 0 for a pure guarantee. [default: 1e-6]")]
Shares = Annotated[
    str | None,
    typer.Option(metavar="S,S,…", help="Relative noise precision of the statistics, in the order of this help."),
]
Estimator = Annotated[
    str | None,
    typer.Option(metavar="M", help="For errors: <estimators>."),
]
Replicates = Annotated[int | None, typer.Option("--n-resamples", metavar="K", help="Number of bootstrap replicates.")]
IntervalKind = Annotated[
    str | None,
    typer.Option(metavar="I", help="For a bootstrap: <intervals>."),
]
Noise = Annotated[str | None, typer.Option(metavar="LAW", help="Noise distribution: auto, <laws>.")]
Draws = Annotated[
    int | None, typer.Option("--n-draws", metavar="K", help="Draws per number, for averaged-laplace. [default: 10]")
]
Policy = Annotated[
    str | None, typer.Option(metavar="P", help="Missing values: drop, midpoint or error-if-declared-complete.")
]
Level = Annotated[float, typer.Option(metavar="L", help="Confidence level of the intervals.")]
Target = Annotated[
    str | None, typer.Option(metavar="T", help="What intervals must cover: population, or file (a census).")
]
Table = Annotated[str | None, typer.Option(metavar="NAME", help="Which table of a database or a DuckDB file.")]
FactsPath = Annotated[str | None, typer.Option(metavar="TOML", help="File of the public facts; options override it.")]
Unit = Annotated[
    str | None,
    typer.Option(metavar="COL:MAX", help="Protect all rows of a person, and use at most MAX of them. [default: row]"),
]
LedgerPath = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Reserve the price there before data are read. [default: the facts' ledger]"),
]
RequestId = Annotated[
    str | None,
    typer.Option(
        metavar="ID", help="With a ledger: the same request and id give the recorded answer again, at no price."
    ),
]
Percent = Annotated[
    str | None,
    typer.Option(metavar="PART", help="Percentages of each row, each column, or all cells: row, column or all."),
]
Independence = Annotated[
    bool, typer.Option("--independence", help="Test whether the two columns of the table are independent.")
]
Guarantee = Annotated[str, typer.Option(metavar="G", help="dp, or bootstrap-dp, which is not differential privacy.")]
ForTheCustodian = Annotated[
    bool,
    typer.Option(
        "--for-the-custodian",
        help="Under bootstrap-dp: also print the confidential width of the noise, its accuracy and gains, on standard "
        "error.",
    ),
]
Out = Annotated[str | None, typer.Option(metavar="DIR", help="Write a report, the record and its certificate there.")]
Force = Annotated[bool, typer.Option("--force", help="Write into a folder that is not empty.")]
ForceFile = Annotated[bool, typer.Option("--force", help="Replace the file of --out, whatever it holds.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Print the numbers alone, or with --out nothing; errors are printed."),
]
RequestName = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Use only the [[release]] of the facts with this name, or a signed request."),
]


@dataclass(frozen=True, slots=True)
class AskedOptions:
    """What a command asks for: statistics, the options of the release that were given, and both as they were asked.

    `calls` asks for the statistics in Python, `words` for all of it in the shell.
    """

    statistics: list[AskedFor]
    options: dict[str, Any]
    calls: tuple[StatisticCall, ...] = ()
    words: tuple[str, ...] = ()


def _parameter(name: str, annotation: Any, several: bool = True) -> Parameter:
    return Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=None if several else False, annotation=annotation)


# The options of a release, by the names of its keywords.
OF_RELEASES = {
    name: _parameter(name, kind)
    for name, kind in {
        "by": By,
        "labels": Labels,
        "other": Other,
        "where": Where,
        "weights": Weighting,
        "unit_weight": UnitWeight,
        "epsilon": Epsilon,
        "rho": RhoBudget,
        "mu": MuBudget,
        "delta": Delta,
        "share": Shares,
        "estimator": Estimator,
        "noise": Noise,
        "n_draws": Draws,
        "n_resamples": Replicates,
        "interval": IntervalKind,
        "missing": Policy,
    }.items()
}


def in_place_of(
    parameter: str,
    listed: Mapping[str, Parameter],
    make: Callable[[dict[str, Any]], Any],
    order: str = "",
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a verb further options in place of one of its parameters.

    Parameters
    ----------
    parameter : str
        The one that is replaced.
    listed : mapping
        The options by their names; the verb's own ones go before them.
    make : callable
        Makes the parameter's value of what was given for the options.
    order : str
        The names of options in the order of the help, the verb's own ones among them. The first … stands for those that
        the verb has in front of the parameter, the second for those behind it. Without an order all of `listed` stand
        where the parameter does.
    """

    def give(verb: Callable[..., None]) -> Callable[..., None]:
        own = dict(signature(verb, eval_str=True).parameters)
        places, names = order.split() or ["…", *listed, "…"], list(own)
        front, behind = names[: names.index(parameter)], names[names.index(parameter) + 1 :]
        rests = iter([[name for name in part if name not in places] for part in (front, behind)])
        shown = [name for place in places for name in (next(rests) if place == "…" else [place])]
        further = [name for name in shown if name not in own]

        @wraps(verb)
        def run(**values: Any) -> None:
            made = make({name: values.pop(name) for name in further})
            verb(**{parameter: made}, **values)

        parameters = [(own.get(name) or listed[name]).replace(kind=Parameter.KEYWORD_ONLY) for name in shown]
        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # what typer reads
        run.__annotations__ = {}
        return run

    return give


def asking(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb an option for each statistic and for each option of a release, in place of its `asked`."""
    listed = _options()

    def make(given: dict[str, Any]) -> AskedOptions:
        texts = {kind: given.pop(kind) for kind in listed}
        words = (*_words(texts), *_words(given))
        with noting_calls() as calls:
            statistics = [asked for name, given in texts.items() for asked in listed[name].asked(given)]
        return AskedOptions(statistics, chosen(given), tuple(calls), words)

    statistics = {name: _parameter(name, option.annotation, option.several) for name, option in listed.items()}
    return in_place_of("asked", statistics | OF_RELEASES, make)(verb)


@dataclass(frozen=True, slots=True)
class _StatisticOption:
    """An option that asks for a statistic: with texts that its entry parses, or a flag that gives its fields."""

    entry: StatisticEntry
    name: str
    about: str
    fields: Mapping[str, Any]

    @property
    def several(self) -> bool:
        """Whether it takes texts."""
        return self.entry.parse is not None

    @property
    def annotation(self) -> Any:
        """What typer reads."""
        if self.several:
            return Annotated[_Texts, typer.Option(self.name, metavar=self.entry.metavar, help=self.about)]
        return Annotated[bool, typer.Option(self.name, help=self.about)]

    def asked(self, given: Any) -> Iterator[AskedFor]:
        """Yield the statistics that are asked for; those of one text together, as in Python."""
        if self.entry.parse is None:
            yield from [self.entry.from_record(self.fields)] if given else []
            return
        for text in given or ():
            several = self.entry.parse(text)
            yield several[0] if len(several) == 1 else several


def _options() -> dict[str, _StatisticOption]:
    """Return the options of all statistics, in the order of the registry, by the names of their parameters."""
    listed: dict[str, _StatisticOption] = {}
    for entry in entries().values():
        if entry.in_files:
            listed[entry.kind] = _StatisticOption(entry, entry.option, entry.about, {})
            for end, (fields, about) in entry.variants.items():
                listed[f"{entry.kind}_{end}"] = _StatisticOption(entry, f"{entry.option}-{end}", about, fields)
    return listed


# The size of the noise of a mechanism, or the budget that it must meet: for `price` and `audit`.
_SIZES = {
    "relation": Annotated[str | None, typer.Option(metavar="R", help="replace-one or add-remove: who is protected.")],
    "rho": Annotated[float | None, typer.Option(metavar="R", help="ρ: μ = √(2ρ).")],
    "mu": Annotated[float | None, typer.Option(metavar="M", help="μ: the noise's sd is √k/μ, k replicates or 1.")],
    "noise_sd": Annotated[float | None, typer.Option(metavar="S", help="Standard deviation of the noise.")],
    "epsilon": Annotated[float | None, typer.Option(metavar="E", help="Use the least noise that meets this ε.")],
    "delta": Annotated[float | None, typer.Option(metavar="D", help="δ. [default: 1e-6]")],
    "n_resamples": Replicates,
    "rate": Annotated[float | None, typer.Option(metavar="L", help="Mean resampling weight, for the bootstrap.")],
    "n_draws": Annotated[
        int | None, typer.Option("--n-draws", metavar="K", help="Draws per number, for averaged-laplace.")
    ],
}
sized = in_place_of("size", {name: _parameter(name, kind) for name, kind in _SIZES.items()}, dict)


def _words(given: dict[str, Any]) -> Iterator[str]:
    """Yield options as the shell takes them: a list once for each of its texts, a flag alone."""
    for name, value in given.items():
        option = "--" + name.replace("_", "-")
        for item in value if isinstance(value, (list, tuple)) else () if value in (None, False) else (value,):
            yield from (option,) if item is True else (option, str(item))


def chosen(values: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a release that were given; what was not is left to the facts and the defaults."""
    values["by"] = with_labels(parse_by(values.get("by") or (), banded=True), values.pop("labels", None) or ())
    values |= {"share": parse_share(values.get("share")), "weights": parse_weights(values.get("weights"))}
    return {name: value for name, value in values.items() if value is not None}


def requests_of(asked: AskedOptions, facts: Facts | None, name: str | None) -> tuple[Requested, ...]:
    """Return what to release or to plan: what the options ask for, else the requests of the facts.

    Options beside a request of the facts override it.

    Raises
    ------
    ParameterError
        HG116: statistics and a request of the facts at once.
    FactsError
        HG703: the facts hold no such request, or several of the name.
    """
    from hedgerow.release.request import Requested, requested

    if asked.statistics and name is None:
        return (Requested("", tuple(asked.statistics), asked.options, asked.calls),)
    if asked.statistics:
        raise ParameterError(
            "HG116",
            rule="A command names either statistics or one request that the facts file lists.",
            finding="The command names both statistics and --request.",
            remedy="Leave out either --request or the statistics.",
        )
    listed = requested(facts) if facts is not None else ()
    if name is not None:
        listed = tuple(request for request in listed if request.name == name)
        if len(listed) != 1:
            raise FactsError(
                "HG703",
                rule="A request is the name of one [[release]] entry of the facts file.",
                finding=f"There is no request called {name!r}." if not listed else f"Several are called {name!r}.",
                remedy="The command `hedgerow plan --facts hedgerow.toml` lists all requests.",
            )
    return tuple(replace(request, options={**request.options, **asked.options}) for request in listed)
