"""`hedgerow find bounds | categories`: what nobody declared of a column, found at a price of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli.call import Call, spends
from hedgerow.cli.terminal import write_stdout
from hedgerow.disk import move_into_place
from hedgerow.errors import ParameterError
from hedgerow.statistics.entry import written_column

if TYPE_CHECKING:
    from hedgerow.find.found import Found

find = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="Find bounds or categories that nobody declared, as a release of its own.",
)

_FILES = ("found.json", "certificate.json", "report.html")
_PLACES = "where table unit facts ledger request_id write out force quiet as_json"
Names = Annotated[
    list[str], typer.Argument(metavar="[SOURCE] COLUMN", help="The data file, unless the facts name it; the column.")
]
Write = Annotated[
    str | None, typer.Option("--write", metavar="TOML", help="Add the answer to this facts file, which must be there.")
]


@find.command()
@spends(f"names relation epsilon … {_PLACES}")
def bounds(
    names: Names,
    share: Annotated[float, typer.Option(metavar="S", help="Share of the values that the bounds are to hold.")] = 0.99,
    around: Annotated[
        float, typer.Option(metavar="X", help="A number near which the values may lie, e.g. 1900 for years.")
    ] = 0.0,
    of: Annotated[
        str,
        typer.Option(metavar="WHAT", help="values; or rows, for the MAX of --unit COL:MAX: COLUMN is then that COL."),
    ] = "values",
    write: Write = None,
    *,
    call: Call,
) -> None:
    """Find bounds that hold most values of a column, or how many rows of a person count; print lines for a facts file.

    Spends epsilon. Bounds from a codebook cost nothing.
    """
    if of == "rows" and write is not None:
        raise ParameterError(
            "HG116",
            rule="`--write` adds facts of a column to the facts file, and a limit of rows is no fact of a column.",
            finding="The option `--write` was given together with `--of rows`.",
            remedy="Leave `--write` out, and copy the printed line `unit = …` to the top of the facts file.",
        )
    given = {"share": share, "around": around, "of": of}
    _find(call, names, "find_bounds", given, write, {"bounds": [0, 1]})


@find.command()
@spends(f"names relation epsilon … {_PLACES}")
def categories(
    names: Names,
    delta: Annotated[float | None, typer.Option(metavar="D", help="δ, which must be positive. [default: 1e-6]")] = None,
    write: Write = None,
    *,
    call: Call,
) -> None:
    """Find the values of a column that many records have, and print the lines for a facts file.

    Spends epsilon and delta. Declared categories cost nothing.
    """
    _find(call, names, "find_categories", {"delta": delta}, write, {"categories": ["a"], "other": True})


def _find(
    call: Call, names: list[str], search: str, given: dict[str, Any], write: str | None, example: dict[str, Any]
) -> None:
    """Search, write and print; `example` has the facts that there will be, to try whether they can be written."""
    if not (len(names) == 2 or (len(names) == 1 and call.facts is not None)):
        raise ParameterError(
            "HG116",
            rule="A search needs a source, or facts that name a source, and one column.",
            finding=f"Found {len(names)} name{'s' * (len(names) != 1)}.",
            remedy="The command `hedgerow find bounds --help` shows all options.",
        )
    column, facts = written_column(names[-1]), None if write is None else Path(write)
    call = replace(call, source=names[0] if len(names) == 2 else None)
    with call.opened(_FILES) as (survey, folder):
        if facts is not None:
            # Tried before anything is spent.
            _added(facts, column, example | {"source": "found"})

        def write_files(result: Found) -> tuple[str, ...]:
            from hedgerow.reports.answer_pages import found_html

            written: list[str] = []
            if folder is not None:
                texts = (result.to_json(), result.certificate.to_json(), found_html(result))
                written += [str(folder.path / name) for name in folder.put(dict(zip(_FILES, texts, strict=True)))]
            if facts is not None and result.facts():
                # Written anew beside it, then moved to its name: a failure leaves it as it is.
                made = facts.with_name(f".{facts.name}.new")
                made.write_text(
                    _added(facts, result.column, result.facts() | {"source": result.source}), encoding="utf-8"
                )
                move_into_place(made, facts)
                written.append(str(facts))
            return tuple(written)

        call.spend(
            lambda: getattr(survey, search)(column, request_id=call.request_id, **call.chosen, **given),
            _page,
            None if folder is None and facts is None else write_files,
            record=lambda result: result.to_dict(),
            heading="Written",
            numbers=lambda result: result.summary(),
            after=lambda result, written: None if call.as_json or call.quiet else _write_facts(result),
            survey=survey,
        )


def _page(result: Found) -> str:
    return "\n".join([result.summary(), result.price(), *result.remarks()])


def _write_facts(result: Found) -> None:
    """Print the lines for a facts file as they are, to be copied."""
    if facts := result.to_toml():
        write_stdout(f"\nFor the facts file:\n{facts}", as_is=True)


def _added(path: Path, column: str, facts: dict[str, Any]) -> str:
    from hedgerow.facts.written import with_column

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        text = None
    if text is None:
        raise ParameterError(
            "HG119",
            rule="Facts can only be added to an existing facts file.",
            finding=f"{str(path)!r} cannot be read.",
            remedy="The command `hedgerow init FILE` writes a facts file.",
        )
    return with_column(text, column, facts)
