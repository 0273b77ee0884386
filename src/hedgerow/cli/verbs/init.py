"""`hedgerow init`: a facts file with the names of the columns, and an answer or a question for every fact."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from hedgerow.cli import shared_options
from hedgerow.cli.grammar import parse_by, parse_unit
from hedgerow.cli.terminal import write_stdout
from hedgerow.errors import HedgerowError, ParameterError
from hedgerow.facts.budget import Budget
from hedgerow.facts.declared import ColumnFacts, Facts
from hedgerow.facts.relation import UnitLimit, parse_relation, parse_target
from hedgerow.facts.written import toml_key, toml_text, toml_value, with_column
from hedgerow.formats import listed
from hedgerow.statistics.entry import parse_on_grid

T = TypeVar("T")

_HEAD = """\
#:schema ./hedgerow.schema.json
# The public facts of a table, for hedgerow. Lines that begin with # are questions: answer them and take the # away.
# Answer from a codebook, a law or a decision, never from the data: whatever stands here is public.
# (hedgerow schema > hedgerow.schema.json lets an editor check this file while you write.)

# Who is protected? "replace-one": what a record says; the number of records is public.
#                   "add-remove": whether a record is there at all; their number is private.
# relation = "replace-one"

# What are intervals about? "population": the people these records were drawn from. "file": these records, a census.
# target = "population"

# Does a person own one row, or several? Then name the column that says whose they are, and how many may count.
# unit = { column = "person_id", max_rows = 4 }

# Which statistics may be released? Left out: all.
# statistics = ["mean", "sum", "proportion", "count"]

# Which file keeps count of what was spent?
# ledger = "hedgerow.ledger"

[data]
path = @PATH@
@TABLE@
# What may be spent in all, ever?
# [budget]
# epsilon = 2.0
# delta = 1e-6

# Who publishes this, and what for? Reports, registries and citations ask (hedgerow publish; hedgerow schema lists all).
# [about]
# title = ""
# curators = [""]
# intended_use = ""
# region = ""
# why_epsilon = ""
# why_bounds = ""

# What is known about each column? Fill in what a release will need, and where it is known from.
#   bounds      the lowest and the highest value that are possible; needed for means and sums
#   step        how finely values count, e.g. 1 for whole numbers; divides high - low exactly
#   categories  every value that makes a group; other = true makes one more of the rest
#   bands       cut points that make groups of a number; labels = [ ] names groups or bands in every output
#   expression  arithmetic on other columns, for a column that is computed
#   missing     "drop", "midpoint" or "error-if-declared-complete"
#   source      where all this is known from; a fact without one is flagged on every certificate
"""
_COLUMN = """
[columns.@NAME@]
# bounds = [ , ]
# step =
# categories = [ ]
# missing = "drop"
# source = ""
"""
_TAIL = """
# What will be released? hedgerow plan --facts tells the price and the expected errors, before any value is read.
"""
_EXAMPLE = """\
# [[release]]
# name = "a first look"
# statistics = [
#   { statistic = "mean", column = "" },
#   { statistic = "count" },
# ]
# by = [""]
# epsilon = 0.5
"""


def facts_template(path: str, columns: Iterable[str], *, table: str | None = None) -> str:
    r"""Return the text of a facts file for the table at `path`: valid TOML, every fact left to be answered.

    >>> import tomllib
    >>> tomllib.loads(facts_template("people.csv", ["age", 'x"]\n[data']))["columns"]
    {'age': {}, 'x"]\n[data': {}}
    """
    named = "" if table is None else f"table = {toml_text(table)}\n"
    head = _HEAD.replace("@TABLE@\n", named + "\n").replace("@PATH@", toml_text(path))
    return head + "".join(_COLUMN.replace("@NAME@", toml_key(name)) for name in columns) + _TAIL + _EXAMPLE


@dataclass
class FactsAnswers:
    """What was answered: by options, or to questions."""

    relation: str | None = None
    target: str | None = None
    unit: str | None = None
    budget: float | None = None
    columns: dict[str, dict[str, Any]] = field(default_factory=dict)

    def filled(self, text: str) -> str:
        """Return the text of a facts file with these answers in it, and a release that can be planned at once."""
        head = {
            "relation": None if self.relation is None else toml_text(str(parse_relation(self.relation))),
            "target": None if self.target is None else toml_text(str(parse_target(self.target))),
            "unit": None if self.unit is None else _unit(self.unit),
        }
        for name, value in head.items():
            if value is not None:
                (question,) = re.findall(rf"^# {name} = .*$", text, re.MULTILINE)
                text = text.replace(question, f"{name} = {value}")
        if self.budget is not None:
            text = text.replace("# [budget]\n# epsilon = 2.0\n", f"[budget]\nepsilon = {self.budget!r}\n")
            text = text.replace("# delta = 1e-6", "delta = 1e-6", 1)
        for column, facts in self.columns.items():
            if facts:
                text = _without_questions(with_column(text, column, facts), column, facts)
        Facts.from_dict(tomllib.loads(text))
        if self.relation is None or not self.columns:
            return text
        # In place of the example of a release, which would be a question that is answered.
        return text.removesuffix(_EXAMPLE).rstrip("\n") + "\n" + self._release()

    def _release(self) -> str:
        """Return a [[release]] of the declared columns: means of numbers and counts, by the first categories."""
        means = [column for column, facts in self.columns.items() if "bounds" in facts]
        groups = [column for column, facts in self.columns.items() if "categories" in facts][:1]
        asked = [f'  {{ statistic = "mean", column = {toml_text(column)} }},' for column in means]
        lines = ["[[release]]", 'name = "first"', "statistics = [", *asked, '  { statistic = "count" },', "]"]
        by = [f"by = {toml_value(groups)}"] if groups else []
        return "\n".join([*lines, *by, f"epsilon = {0.5 if self.budget is None else self.budget / 2!r}", ""])


def _without_questions(text: str, column: str, answered: Iterable[str]) -> str:
    """Return the text of a facts file without the questions about a column that were answered."""
    for name in answered:
        text = re.sub(
            rf"^(\[columns\.{re.escape(toml_key(column))}\]\n(?:[^\[\n].*\n)*?)# {name} =.*\n",
            r"\1",
            text,
            count=1,
            flags=re.MULTILINE,
        )
    return text


def init(
    source: Annotated[str, typer.Argument(metavar="FILE", help=f"A {listed()} file.")],
    out: Annotated[str, typer.Option(metavar="TOML", help="Where to write.")] = "hedgerow.toml",
    table: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which table of a database or a DuckDB file.")
    ] = None,
    relation: shared_options.Relation = None,
    target: shared_options.Target = None,
    unit: shared_options.Unit = None,
    budget: Annotated[float | None, typer.Option(metavar="E", help="ε for all releases together, ever.")] = None,
    bounds: Annotated[
        list[str] | None, typer.Option(metavar="COL:LO:HI[:STEP]", help="Bounds of a column, from its codebook.")
    ] = None,
    categories: Annotated[
        list[str] | None, typer.Option(metavar="COL=v1,v2", help="The values that make groups of a column.")
    ] = None,
    blanks: Annotated[bool, typer.Option("--blanks", help="Ask nothing; leave every fact to be filled in.")] = False,
) -> None:
    """Write a facts file. Reads the names of the columns, no value.

    In a terminal it asks what it needs; options answer beforehand, and what is not answered stays a blank in the file.
    A file that is there is never overwritten.
    """
    from hedgerow.engines.source import open_source

    columns = open_source(source, table=table).columns
    if unit is not None:
        _unit_among(columns, unit)
    file = Path(out)
    if file.exists():
        raise _kept(f"{out!r} is there already.")
    given = FactsAnswers(relation, target, unit, budget, _columns(columns, bounds or [], categories or []))
    silent = blanks or given != FactsAnswers() or not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty())
    answers = given if silent else _asked(columns)
    _write(file, answers.filled(facts_template(_beside(source, file), columns, table=table)))
    if answers == FactsAnswers():
        number = f"{len(columns)} column{'s' * (len(columns) != 1)}"
        write_stdout(f"Wrote {file}: blanks for {number}. Answer its questions from the codebook, not from the data.")
    else:
        write_stdout(f"Wrote {file}. Every answer is public; what is left to be answered stands there as a comment.")
    write_stdout(f"Then: hedgerow plan --facts {file}")


def _unit_among(columns: Mapping[str, str], text: str) -> str:
    """Return the text of a unit, checked: the source has its column (HG115, HG116, HG203, HG402)."""
    from hedgerow.engines.schema import check_present

    limit = _limit(text)
    check_present([] if limit is None else [limit.column], columns)
    return text


def _columns(names: Mapping[str, str], bounds: list[str], categories: list[str]) -> dict[str, dict[str, Any]]:
    from hedgerow.engines.schema import check_present

    facts: dict[str, dict[str, Any]] = {}
    for text in bounds:
        column, ends, step = parse_on_grid("--bounds", text)
        if ends is not None:
            facts[column] = {"bounds": list(ends), **({} if step is None else {"step": step})}
    for column, values in (parse_by(categories) or {}).items():
        if values is not None:
            facts.setdefault(column, {})["categories"] = values
    check_present(list(facts), names)
    return facts


def _asked(columns: Mapping[str, str]) -> FactsAnswers:
    """Ask in the terminal; an empty answer leaves a blank, and one that cannot be is asked for again."""
    write_stdout("Answer from a codebook, a law or a decision, never from the data. Enter leaves a blank.")
    protected = {"1": "replace-one", "2": "add-remove"}
    relation = _answer(
        "Who is protected? 1: what a record says (the number of records is public). 2: whether a record is there.",
        lambda text: str(parse_relation(protected.get(text, text))),
    )
    unit = _answer(
        "Has a person several rows? Then the column that says whose they are, and how many may count: person_id:4.",
        partial(_unit_among, columns),
    )
    census = {"1": "population", "2": "file"}
    target = _answer(
        "What are intervals about? 1: the people these records were drawn from. 2: these records, a census.",
        lambda text: str(parse_target(census.get(text, text))),
    )
    budget = _answer(
        "Which ε may be spent in all, ever? For example 2.", lambda text: Budget(float(text), 1e-6).epsilon
    )
    facts_of_columns: dict[str, dict[str, Any]] = {}
    for column in columns:
        facts = _answer(
            f"Column {column}: lowest and highest value (0:100, or 0:100:1 with a step), or groups (a,b,c).",
            partial(_facts_of, column),
        )
        if facts:
            facts_of_columns[column] = facts
    return FactsAnswers(relation, target, unit, budget, facts_of_columns)


def _facts_of(column: str, text: str) -> dict[str, Any]:
    """Return what an answer says of a column, checked as a facts file is."""
    number = re.fullmatch(r"[^,]*:[^,]*", text)
    (facts,) = _columns({"x": ""}, [f"x:{text}"] if number else [], [] if number else [f"x={text}"]).values()
    Facts(columns={column: ColumnFacts(**facts)})
    return facts


def _answer(question: str, read: Callable[[str], T]) -> T | None:
    while True:
        write_stdout(question)
        text = sys.stdin.readline().strip()
        if not text:
            return None
        try:
            return read(text)
        except HedgerowError as wrong:
            write_stdout(f"{wrong}")
        except ValueError:
            write_stdout("That cannot be read; try again, or press Enter.")


def _limit(text: str | None) -> UnitLimit | None:
    """Return the unit of several rows that the command line names; None for rows (HG115, HG116, HG402)."""
    return None if text is None else UnitLimit.parse(parse_unit(text))


def _unit(text: str) -> str:
    """Return a unit of the command line as a facts file writes it.

    >>> _unit("person_id:4"), _unit("row")
    ('{ column = "person_id", max_rows = 4 }', '"row"')
    """
    limit = _limit(text)
    return '"row"' if limit is None else f"{{ column = {toml_text(limit.column)}, max_rows = {limit.max_rows} }}"


def _write(target: Path, text: str) -> None:
    try:
        # "x": a file, or a link, that is there is left alone, however it came there meanwhile.
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
        return
    except FileExistsError:
        finding = f"{str(target)!r} is there already."
    except (OSError, ValueError):
        finding = f"{str(target)!r} cannot be written."
    raise _kept(finding)


def _kept(finding: str) -> ParameterError:
    return ParameterError(
        "HG119",
        rule="The path of a facts file must name a new file in an existing folder.",
        finding=finding,
        remedy="Name another path for the facts file with the option --out. hedgerow never overwrites existing "
        "answers.",
    )


def _beside(source: str, target: Path) -> str:
    """Return the path of the source as seen from the folder of the facts file."""
    try:
        return Path(os.path.relpath(Path(source).absolute(), target.absolute().parent)).as_posix()
    except ValueError:
        # Another drive: no relative path leads there.
        return str(Path(source).absolute())
