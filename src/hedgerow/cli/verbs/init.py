"""`hedgerow init`: a facts file with blanks: the names of the columns, and a question for every fact that is needed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli.terminal import say
from hedgerow.errors import ParameterError
from hedgerow.facts.written import toml_key, toml_text
from hedgerow.formats import listed

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
    return head + "".join(_COLUMN.replace("@NAME@", toml_key(name)) for name in columns) + _TAIL


def init(
    source: Annotated[str, typer.Argument(metavar="FILE", help=f"A {listed()} file.")],
    out: Annotated[str, typer.Option(metavar="TOML", help="Where to write.")] = "hedgerow.toml",
    table: Annotated[str | None, typer.Option(metavar="NAME", help="Which table of a DuckDB file.")] = None,
) -> None:
    """Write a facts file with blanks and questions. Reads the names of the columns, no value.

    A file that is there is never overwritten.
    """
    from hedgerow.engines.source import open_source

    columns = list(open_source(source, table=table).columns)
    target = Path(out)
    _write(target, facts_template(_beside(source, target), columns, table=table))
    blanks = f"{len(columns)} column{'s' * (len(columns) != 1)}"
    say(f"Wrote {target}: blanks for {blanks}. Answer its questions from the codebook, not from the data.")
    say(f"Then: hedgerow plan --facts {target}")


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
    raise ParameterError(
        "HG119",
        rule="A facts file is written to a new file in a folder that exists.",
        finding=finding,
        remedy="Name another one by --out; answers that were given are never overwritten.",
    )


def _beside(source: str, target: Path) -> str:
    """Return the path of the source as seen from the folder of the facts file."""
    try:
        return Path(os.path.relpath(Path(source).absolute(), target.absolute().parent)).as_posix()
    except ValueError:
        # Another drive: no relative path leads there.
        return str(Path(source).absolute())
