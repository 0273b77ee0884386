"""`hedgerow init`: a facts file with blanks, from the names of the columns alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli.terminal import say
from hedgerow.errors import ParameterError


def init(
    source: Annotated[str, typer.Argument(metavar="FILE", help="A .csv, .parquet or .duckdb file.")],
    out: Annotated[str, typer.Option(metavar="TOML", help="Where to write.")] = "hedgerow.toml",
    table: Annotated[str | None, typer.Option(metavar="NAME", help="Which table of a DuckDB file.")] = None,
) -> None:
    """Write a facts file with blanks and questions. Reads the names of the columns, no value.

    A file that is there is never overwritten.
    """
    from hedgerow.engines.source import open_source
    from hedgerow.facts.facts_template import facts_template

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
