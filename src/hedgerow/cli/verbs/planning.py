"""`hedgerow plan`: the price and the expected errors of a release, from public facts, before any value is read.

A planned release as it is written in Python and in the shell: the same statistics, options and price.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli import shared_options as options
from hedgerow.cli.call import Call, spends
from hedgerow.cli.grammar import parse_guess, parse_target, parse_unit
from hedgerow.cli.terminal import write_json, write_stdout
from hedgerow.errors import FactsError, ParameterError
from hedgerow.facts.columns import Bands
from hedgerow.facts.expression import DerivedColumn
from hedgerow.facts.lines import paragraph
from hedgerow.keywords import StatisticCall
from hedgerow.statistics.entry import written_column

_LINE = 88


def python_snippet(opened: Mapping[str, Any], calls: Sequence[StatisticCall], options: Mapping[str, Any]) -> str:
    """Return a program that makes the release and prints it.

    Parameters
    ----------
    opened : mapping
        The arguments of `hedgerow.open`; the source by position, and None is left out.
    calls : sequence of StatisticCall
        What asks for the statistics.
    options : mapping
        The other arguments of `release`.

    Examples
    --------
    >>> calls = [StatisticCall("mean", ("age",), {"bounds": (0, 9)})]
    >>> print(python_snippet({"source": "a.csv"}, calls, {"epsilon": 1.0}))
    import hedgerow as hg
    <BLANKLINE>
    survey = hg.open('a.csv')
    release = survey.release([hg.mean('age', bounds=(0, 9))], epsilon=1.0)
    print(release)
    """
    source = [] if opened["source"] is None else [opened["source"]]
    rest = {name: value for name, value in opened.items() if name != "source" and value is not None}
    statistics = [_called(f"hg.{call.name}", call.args, _told(call.given)) for call in calls]
    listed = f"[{', '.join(statistics)}]"
    made = _called("survey.release", [_Written(listed)], options)
    if len(f"release = {made}") > _LINE:
        lines = [
            f"    [{_broken(statistics, 8)}],",
            *(f"    {name}={_value(option)}," for name, option in options.items()),
        ]
        made = "\n".join(["survey.release(", *lines, ")"])
    return "\n".join(
        [
            "import hedgerow as hg",
            "",
            f"survey = {_called('hg.open', source, rest)}",
            f"release = {made}",
            "print(release)",
        ]
    )


def shell_snippet(opened: Mapping[str, Any], words: Sequence[str], request: str, epsilon: float | None) -> str:
    """Return the command that makes the release; `request` names the one of the facts that the words change."""
    named = {name: f"--{name}" for name in ("relation", "target", "table", "unit", "facts")}
    given = [part for name, option in named.items() if opened.get(name) is not None for part in (option, opened[name])]
    further = [] if epsilon is None else ["--epsilon", repr(epsilon)]
    chosen = ["--request", request] if request else []
    source = [] if opened["source"] is None else [opened["source"]]
    return shlex.join(["hedgerow", "release", *map(str, [*source, *given]), *chosen, *words, *further])


class _Written(str):
    """Python already."""

    __slots__ = ()


def _told(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return keywords without those that say nothing."""
    return {name: value for name, value in given.items() if value is not None}


def _called(name: str, args: Iterable[Any], given: Mapping[str, Any]) -> str:
    parts = [*map(_value, args), *(f"{key}={_value(value)}" for key, value in given.items())]
    return f"{name}({', '.join(parts)})"


def _value(value: Any) -> str:
    """Return a value as Python writes it.

    >>> _value({"age": Bands((0.0, 25.0)), "x": (1, None)})
    "{'age': hg.bands(0.0, 25.0), 'x': (1, None)}"
    """
    if isinstance(value, _Written):
        return str(value)
    if isinstance(value, DerivedColumn):
        return _called("hg.column", [value.text], _told({"bounds": value.bounds, "step": value.step}))
    if isinstance(value, Bands):
        return _called("hg.bands", value.cuts, _told({"labels": value.labels}))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_value(key)}: {_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_value, value))}{',' * (len(value) == 1)})"
    return repr(str(value)) if isinstance(value, str) else repr(value)


def _broken(statistics: Sequence[str], indent: int) -> str:
    """Return statistics in one line, or one a line where that is too long."""
    if len(", ".join(statistics)) + indent <= _LINE:
        return ", ".join(statistics)
    pad = "\n" + " " * indent
    return pad + pad.join(f"{statistic}," for statistic in statistics) + "\n" + " " * (indent - 4)


if TYPE_CHECKING:
    from hedgerow.facts.budget import Budget
    from hedgerow.facts.declared import Facts, Protection
    from hedgerow.find.search import Search
    from hedgerow.mechanisms.certificate import Certificate
    from hedgerow.release.forecast import ErrorTarget, Expected, Forecast
    from hedgerow.release.plan import Plan
    from hedgerow.release.request import Requested
    from hedgerow.survey import Survey

    Planner = Callable[..., Plan]

_HEAD = ("statistic", "method", "noise sd", "s.e.", "sampling", "privacy")
_WASTED = "would say next to nothing: its interval is as wide as what is possible, or its cells drown in noise"


@spends(
    "source relation … level target table unit facts request n guess target_se target_rse find_bounds find_categories "
    "ledger … as_json",
    source=typer.Argument(metavar="SOURCE", help="A data file, to check column names and count records."),
    ledger=typer.Option(metavar="FILE", help="Ledger that says what was spent before. [default: the facts' ledger]"),
)
@options.asking
def plan(
    *,
    asked: options.AskedOptions,
    call: Call,
    n: Annotated[
        int | None, typer.Option("--n", metavar="N", help="Number of records, or of units, without a file.")
    ] = None,
    guess: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL:sd=S,mean=M",
            help="Guess of a column's sd, mean, law, quantile.Q and correlation.COL=R; without one, the worst case is "
            "planned.",
        ),
    ] = None,
    target_se: Annotated[
        list[str] | None,
        typer.Option(metavar="COL:VALUE", help="Find the ε that gives this standard error; replaces --epsilon."),
    ] = None,
    target_rse: Annotated[
        list[str] | None,
        typer.Option(metavar="COL:VALUE", help="As --target-se, with the error divided by the guessed value."),
    ] = None,
    find_bounds: Annotated[
        list[str] | None,
        typer.Option(metavar="COL:E", help="Count in the price of finding a column's bounds, at this ε."),
    ] = None,
    find_categories: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL:E", help="Count in the price of finding a column's categories, at this ε and --delta."
        ),
    ] = None,
    show_query: Annotated[
        bool, typer.Option("--show-query", help="Show the SQL that the release will send too, without sending it.")
    ] = False,
    as_python: Annotated[bool, typer.Option("--as-python", help="Print the Python program of the release.")] = False,
    as_shell: Annotated[bool, typer.Option("--as-shell", help="Print the command of the release.")] = False,
) -> None:
    """Print the price and the expected errors of a release. Reads no value and spends nothing.

    Plans the statistics that the options ask for; without any, every [[release]] of the facts.
    """
    from hedgerow.facts.declared import naming_facts_nearby, protection_of
    from hedgerow.release.answers import stratified
    from hedgerow.release.plan import planned

    guesses, declared = parse_guess(guess or ()), call.declared
    made: list[tuple[Requested, Plan, Forecast]] = []
    with naming_facts_nearby(call.facts, call.source):
        protection = protection_of(declared, relation=call.relation, unit=parse_unit(call.unit), target=call.target)
        steps = _steps(find_bounds or [], find_categories or [], protection, declared, asked.options.get("delta"))
        wanted = options.requests_of(asked, declared, call.request) or (() if steps else _nothing())
        survey = _opened(call, protection, n)
        if survey is not None:
            for step in steps:
                step.search.check(survey.source)
        planner = _planner(survey, declared, protection, n) if wanted else planned
        targets = _targets(target_se or [], target_rse or [], len(wanted), asked.options.get("epsilon"))
        for request in wanted:
            given = dict(request.options)
            totals = given.pop("totals", None)
            if targets:
                given["epsilon"] = _needed(planner, request, given, targets, guesses, n)
            release = planner(request.statistics, **given)
            stratified(totals, release)
            expected = release.forecast(guesses, n=n, level=call.level)
            expected = replace(expected, advice=(*release.advice(guesses, n=n), *_advice_on_totals(release)))
            asked_for = given if totals is None else {**given, "totals": totals}
            made.append((replace(request, options=asked_for), release, expected))
    if as_python or as_shell:
        _show(call, made, asked, aimed=bool(targets), python=as_python, shell=as_shell)
        return
    balance = _balance(call, made, steps)
    queries = [release.query() for _, release, _ in made] if show_query else None
    _tell(made, steps, balance, queries, aimed=bool(targets), as_json=call.as_json)


def _advice_on_totals(plan: Plan) -> tuple[str, ...]:
    if len(plan.request.groups) < 2:
        return ()
    from hedgerow.margins.beside_table import advice_on_totals

    return advice_on_totals(plan)


def _show(
    call: Call,
    made: list[tuple[Requested, Plan, Forecast]],
    asked: options.AskedOptions,
    *,
    aimed: bool,
    python: bool,
    shell: bool,
) -> None:
    """Print what makes each planned release; a source that was not named is called survey.csv."""
    from hedgerow.formats import holds_password, is_url, public_name

    opened = {name: getattr(call, name) for name in ("source", "facts", "relation", "target", "table", "unit")}
    if opened["source"] is opened["facts"] is None:
        opened["source"] = "survey.csv"
    parts = []
    if is_url(opened["source"]) and holds_password(opened["source"]):
        opened["source"] = public_name(opened["source"])
        parts = ["# User, password and parameters of the URL are left out: PGUSER and PGPASSWORD can give them."]
    for request, _, _ in made:
        in_python = opened | {"unit": parse_unit(call.unit)}
        parts += [python_snippet(in_python, request.calls, request.options)] if python else []
        epsilon = request.options["epsilon"] if aimed else None
        parts += [shell_snippet(opened, asked.words, request.name, epsilon)] if shell else []
    write_stdout("\n\n".join(parts), as_is=True)


@dataclass(frozen=True)
class _Step:
    """A search that comes before the releases, with its price."""

    search: Search
    certificate: Certificate

    @property
    def kind(self) -> str:
        return self.search.found.kind

    @property
    def column(self) -> str:
        return str(self.search.place.column)

    def sentence(self) -> str:
        price = f"ε ≤ {self.certificate.epsilon:.6g} at δ = {self.certificate.delta:.3g}"
        return f"First: find the {self.kind} of {self.column}, {price}. Declared ones cost nothing."

    def record(self) -> dict[str, Any]:
        cost = self.certificate
        return {"find": self.kind, "column": self.column, "epsilon_upper": cost.epsilon, "delta": cost.delta}


def _steps(
    bounds: list[str], categories: list[str], protection: Protection, facts: Facts | None, delta: float | None
) -> list[_Step]:
    from hedgerow.find.search import BoundsSearch, CategoriesSearch, Place, certificate_of_search
    from hedgerow.release.designs.design import PublicFacts
    from hedgerow.release.request import usual_delta

    if not bounds and not categories:
        return []
    relation = protection.relation
    searches: list[Search] = []
    for text in bounds:
        column, epsilon = parse_target("--find-bounds", text)
        place = Place.of(written_column(column), None, facts)
        searches.append(BoundsSearch.of(place, relation, protection.unit, epsilon=epsilon))
    for text in categories:
        column, epsilon = parse_target("--find-categories", text)
        usual = usual_delta(facts) if delta is None else delta
        place = Place.of(written_column(column), None, facts)
        searches.append(CategoriesSearch.of(place, relation, protection.unit, epsilon=epsilon, delta=usual))
    if searches and facts is not None:
        facts.allow([f"find_{search.found.kind}" for search in searches])
    units = [search.protected(protection.unit) for search in searches]
    public = [PublicFacts(relation, unit, protection.target, None) for unit in units]
    return [_Step(search, certificate_of_search(search, facts)) for search, facts in zip(searches, public, strict=True)]


def _opened(call: Call, protection: Protection, n: int | None) -> Survey | None:
    """Return the file, by which names are checked and records counted; None where there is none, or n is given."""
    from hedgerow.survey import open as open_survey

    if n is not None or (call.source is None and (call.declared is None or call.declared.data is None)):
        return None
    # The relation, the unit and the target in force may be arguments of this call.
    in_force: Any = {"relation": protection.stated, "unit": parse_unit(call.unit), "target": protection.target}
    survey: Survey = open_survey(call.source, call.declared, table=call.table, **in_force)
    return survey


def _planner(survey: Survey | None, facts: Facts | None, protection: Protection, n: int | None) -> Planner:
    """Return what plans a request: with the file, or without."""
    from hedgerow.release.plan import planned

    if survey is not None:
        return survey.plan
    public = public_number(n, protection)
    return lambda statistics, **asked: planned(statistics, protection, facts, n=public, **asked)


def public_number(n: int | None, protection: Protection) -> int | None:
    """Return the public number of records that was given; None where it is private (HG703, HG707)."""
    from hedgerow.facts.relation import Relation

    if n is None and protection.stated is Relation.REPLACE_ONE:
        raise FactsError(
            "HG703",
            rule="Under replace-one the number of records is public, and a plan needs it.",
            finding="The number of records is not given, and no source was named whose records could be counted.",
            remedy="Give the number of records with --n, or name the file of the data, whose records are then counted.",
        )
    if n is not None and n < 1:
        raise ParameterError(
            "HG707", rule="`--n` is a number of records, 1 or more.", finding=f"Found {n}.", remedy="Try --n 10000."
        )
    return n if protection.stated is Relation.REPLACE_ONE else None


def _targets(absolute: list[str], relative: list[str], requests: int, epsilon: float | None) -> list[ErrorTarget]:
    from hedgerow.release.forecast import ErrorTarget

    made = [ErrorTarget(*parse_target("--target-se", text)) for text in absolute]
    made += [ErrorTarget(*parse_target("--target-rse", text), relative=True) for text in relative]
    if made and (requests != 1 or epsilon is not None):
        raise ParameterError(
            "HG116",
            rule="A target asks hedgerow to find the ε of one release.",
            finding="--epsilon was given too." if epsilon is not None else f"There are {requests} releases.",
            remedy="Leave out --epsilon." if epsilon is not None else "Choose one by --request NAME.",
        )
    return made


def _needed(
    planner: Planner,
    request: Requested,
    asked: dict[str, Any],
    targets: list[ErrorTarget],
    guesses: dict[str, dict[str, Any]],
    n: int | None,
) -> float:
    from hedgerow.release.forecast import epsilon_needed

    rest = {name: value for name, value in asked.items() if name != "epsilon"}
    return epsilon_needed(
        lambda epsilon: planner(request.statistics, epsilon=epsilon, **rest).forecast(guesses, n=n), targets
    )


@dataclass(frozen=True)
class _Balance:
    """The budget, what was spent of it before, and what would be with the plans; infinite where no ε holds."""

    total: Budget
    price: float
    spent: float | None
    after: float

    def sentence(self) -> str:
        whole = f"of ε = {self.total.epsilon:.6g} at δ = {self.total.delta:.3g} in all"
        before = "were nothing spent before" if self.spent is None else f"with ε ≤ {self.spent:.6g} spent before"
        if self.after > self.total.epsilon:
            said = f"ε ≤ {self.after:.6g}" if math.isfinite(self.after) else f"no ε holds at δ = {self.total.delta:.3g}"
            return f"Budget: this costs more than there is: {said}, {whole}, {before}."
        left = f"ε = {self.total.epsilon - self.after:.6g} would be left"
        return f"Budget: together ε ≤ {self.price:.6g}, {whole}; {left}, {before}."

    def record(self) -> dict[str, Any]:
        left = max(self.total.epsilon - self.after, 0.0) if math.isfinite(self.after) else None
        price = self.price if math.isfinite(self.price) else None
        stated = {"epsilon": self.total.epsilon, "delta": self.total.delta, "price_together": price, "left": left}
        return stated | {"spent": self.spent, "enough": self.after <= self.total.epsilon}


def _balance(call: Call, made: list[tuple[Requested, Plan, Forecast]], steps: list[_Step]) -> _Balance | None:
    """Return the balance by the ledger where there is one, else by the facts' budget alone; None without either."""
    from hedgerow.ledger.store import Ledger
    from hedgerow.release.combine import composed_certificate
    from hedgerow.release.execute import certificate_of
    from hedgerow.release.spend import price_together

    declared, path = call.declared, call.ledger
    path = path if path is not None or declared is None else declared.ledger_path
    total = None if declared is None else declared.budget
    plans, searched = [plan for _, plan, _ in made], [step.certificate for step in steps]
    if path is not None and (Path(path).exists() or total is None):
        paid = [*searched, *(certificate_of(plan) for plan in plans if plan.calibrated is not None)]
        with Ledger.open(path) as ledger:
            spent, budget = ledger.spent(), ledger.budget
            after = ledger.would_spend(composed_certificate(paid)) if paid else spent
        return _Balance(budget, price_together(plans, budget.delta, searched), spent, after)
    if total is None:
        return None
    price = price_together(plans, total.delta, searched)
    return _Balance(total, price, None, price)


def _tell(
    made: list[tuple[Requested, Plan, Forecast]],
    steps: list[_Step],
    balance: _Balance | None,
    queries: Sequence[tuple[str, ...]] | None,
    *,
    aimed: bool,
    as_json: bool,
) -> None:
    if as_json:
        finds = {"finds": [step.record() for step in steps]} if steps else {}
        budget = None if balance is None else balance.record()
        plans = [_record(*planned, aimed) for planned in made]
        for record, texts in zip(plans, queries or (), strict=False):
            record["query"] = list(texts)
        write_json({**finds, "plans": plans, "budget": budget})
        return
    for step in steps:
        write_stdout(step.sentence())
    for place, (request, plan, expected) in enumerate(made):
        head = ([""] if place or steps else []) + ([f"{request.name}:"] if request.name else [])
        head += [f"The target needs ε = {plan.request.budget.epsilon:.6g}."] if aimed else []
        write_stdout("\n".join([*head, forecast_table(plan, expected)]))
        if queries is not None:
            write_stdout(_query(queries[place]), as_is=True)
    if balance is not None:
        write_stdout(balance.sentence())
    elif steps and len(steps) + len(made) > 1:
        write_stdout(_together(made, steps))


def _query(texts: tuple[str, ...]) -> str:
    """Return statements as they are sent, each ended by a semicolon; a character that no terminal shows is escaped."""
    from hedgerow.facts.printed import for_terminal

    if not texts:
        return "\nThe release will send no query: what it tells is public."
    shown = ["\n".join(map(for_terminal, text.strip().split("\n"))) for text in texts]
    return "\n" + "\n\n".join(["The release will send (nothing was sent now):", *(f"{text};" for text in shown)])


def _together(made: list[tuple[Requested, Plan, Forecast]], steps: list[_Step]) -> str:
    """Return the price of searches and releases together, where no budget says at which δ."""
    from hedgerow.release.spend import price_together

    plans, searched = [plan for _, plan, _ in made], [step.certificate for step in steps]
    delta = max([*(plan.delta for plan in plans), *(certificate.delta for certificate in searched)])
    price, alone = price_together(plans, delta, searched), price_together(plans, delta)
    without = f"; without the search{'es' * (len(steps) > 1)}, ε ≤ {alone:.6g}" if plans else ""
    return f"Together: ε ≤ {price:.6g} at δ = {delta:.3g}{without}."


def forecast_table(plan: Plan, forecast: Forecast) -> str:
    """Return the price of a plan, the errors to be expected, why each method was chosen, and what would be wasted.

    Examples
    --------
    >>> import pyarrow, hedgerow as hg
    >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
    >>> plan = survey.plan([hg.mean("age", bounds=(0, 100), step=1)], epsilon=1.0)
    >>> print(forecast_table(plan, plan.forecast({"age": {"mean": 40, "sd": 10}})).splitlines()[0])
    Price: ε ≤ 0.999701 at δ = 1e-06, replace-one, unit row. Nothing was read or spent.
    """
    from hedgerow.facts.printed import for_terminal, percent
    from hedgerow.release.publication.text import aligned

    level = forecast[0].level
    rows = [[*_HEAD, f"{percent(level, space=' ')} interval"], *(_row(line) for line in forecast)]
    said = [_price(plan), "", *aligned(rows, 2), ""]
    return "\n".join(for_terminal(line) for line in [*said, *_remarks(plan, forecast)])


def _price(plan: Plan) -> str:
    from hedgerow.mechanisms.certificate import attack_in_words, round_up

    facts = plan.facts
    mu = "" if plan.mu is None else f"μ ≤ {plan.mu:.6g}, that is "
    price = f"{mu}ε ≤ {round_up(plan.epsilon):.6g} at δ = {plan.delta:.3g}, {facts.relation}, unit {facts.unit}"
    lines = [f"Price: {price}. Nothing was read or spent."]
    if plan.calibrated is not None:
        attack = attack_in_words(plan.calibrated.profile, facts.relation, str(facts.unit))
        lines.append(paragraph(attack.replace("\N{NO-BREAK SPACE}", " ")))
    return "\n".join(lines)


def _row(line: Expected) -> list[str]:
    errors = [_number(error) for error in (line.standard_error, line.sampling_error, line.privacy_error)]
    half = "everything possible" if line.half_width is None and line.records is not None else _number(line.half_width)
    width = half if line.half_width is None else f"± {half}"
    return [
        line.statistic + (f" {line.column}" if line.column else ""),
        line.method,
        _number(line.noise_sd),
        *errors,
        width,
    ]


def _remarks(plan: Plan, forecast: Forecast) -> list[str]:
    remarks = []
    if plan.cells > 1:
        size = forecast[0].records
        whom = "records" if plan.facts.limit is None else f"units ({plan.facts.limit.column})"
        each = "" if size is None else f", each taken to hold {size:,.6g} {whom}"
        remarks.append(f"{plan.cells:,} cells{each}.")
    remarks += [f"{line.label}: {line.guess}." for line in forecast]
    if unguessed := next((line for line in forecast if line.guess.endswith("the worst)")), None):
        nearer = f"; --guess {unguessed.column}:sd=S,mean=M gives a nearer forecast" if "sd" in unguessed.guess else ""
        remarks.append(f"The worst is what the bounds allow, so errors are usually smaller{nearer}.")
    if any(line.noise_sd is not None for line in forecast):
        remarks.append("noise sd: of the noise on a total; a mean or share divides the total by the number of records.")
    methods: dict[tuple[str, str], list[str]] = {}
    for line in forecast:
        methods.setdefault((line.method, line.reason), []).append(line.label)
    for (method, reason), labels in methods.items():
        # Where one method has several reasons, a reader must see which statistics share a release.
        several = sum(other == method for other, _ in methods) > 1
        remarks.append(f"{method} ({', '.join(labels)}): {reason}." if several else f"{method}: {reason}.")
    if any(line.bootstrap_error for line in forecast):
        resamples = sorted({line.n_resamples for line in forecast if line.n_resamples})
        remarks.append(f"Replicates of a bootstrap: {', '.join(map(str, resamples))}; s.e. counts their error too.")
    for line in forecast:
        if line.wasteful:
            remarks.append(f"WASTE: {line.label} {_WASTED}. Ask for fewer cells, narrower bounds or a larger ε.")
    remarks += [f"{advice}." for advice in forecast.advice]
    remarks += [f"The certificate will say: {text}." for text in plan.assumptions()]
    return [paragraph(text) for text in remarks]


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _record(request: Requested, plan: Plan, expected: Forecast, aimed: bool) -> dict[str, Any]:
    from hedgerow.mechanisms.certificate import round_up
    from hedgerow.mechanisms.mechanism import as_record

    about = {"name": request.name or None, **plan.facts.record(), "missing": plan.request.missing, "cells": plan.cells}
    about |= {} if plan.request.where is None else {"where": plan.request.where}
    about |= {} if plan.request.weights is None else {"weights": plan.request.weights.public_record()}
    price = {"epsilon": plan.request.budget.epsilon, "epsilon_upper": round_up(plan.epsilon), "delta": plan.delta}
    price |= {} if plan.mu is None else {"mu": plan.mu}
    rest = {"mechanism": as_record(plan.mechanism), "assumptions": list(plan.assumptions())}
    return about | price | {"from_target": aimed} | rest | expected.to_dict()


def _nothing() -> tuple[Requested, ...]:
    raise ParameterError(
        "HG112",
        rule="A plan needs one or more statistics, or the [[release]] list of the facts.",
        finding="Neither was given.",
        remedy="Name a statistic, for example --mean age:0:100:1, or a facts file that lists releases, --facts "
        "hedgerow.toml.",
    )
