"""`hedgerow find bounds | categories`: what nobody declared of a column, found at a price of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli import options
from hedgerow.cli.spending import as_replayed, deliver, spending, told_again, warnings_told
from hedgerow.cli.terminal import say, say_json
from hedgerow.disk import move_into_place
from hedgerow.errors import ParameterError
from hedgerow.statistics.entry import written_column

if TYPE_CHECKING:
    from hedgerow.find.found import Found
    from hedgerow.release.publication.folder import ReleaseFolder
    from hedgerow.survey import Survey

find = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="Find bounds or categories that nobody declared, as a release of its own.",
)

_FILES = ("found.json", "certificate.json", "report.html")
Names = Annotated[
    list[str], typer.Argument(metavar="[SOURCE] COLUMN", help="The data file, unless the facts name it; the column.")
]
Out = Annotated[str | None, typer.Option(metavar="DIR", help="Write a report, the record and its certificate there.")]
Write = Annotated[
    str | None, typer.Option("--write", metavar="TOML", help="Add the answer to this facts file, which must be there.")
]


@find.command()
def bounds(
    names: Names,
    relation: options.Relation = None,
    epsilon: options.Epsilon = None,
    share: Annotated[float, typer.Option(metavar="S", help="Share of the values that the bounds are to hold.")] = 0.99,
    around: Annotated[
        float, typer.Option(metavar="X", help="A number near which the values may lie, e.g. 1900 for years.")
    ] = 0.0,
    where: options.Where = None,
    table: options.Table = None,
    facts: options.FactsPath = None,
    ledger: options.LedgerPath = None,
    request_id: options.RequestId = None,
    write: Write = None,
    out: Out = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Find bounds that hold most values of a column, and print the lines for a facts file.

    Spends epsilon. Bounds from a codebook cost nothing.
    """
    column = _column(names, facts)
    given = {"epsilon": epsilon, "share": share, "around": around, "where": where, "request_id": request_id}
    _find(
        lambda survey: survey.find_bounds(column, **given),  # type: ignore[arg-type]  # checked there
        _Place(names, relation, table, facts, ledger),
        column,
        _Output(write, {"bounds": [0, 1]}, out, force, as_json),
    )


@find.command()
def categories(
    names: Names,
    relation: options.Relation = None,
    epsilon: options.Epsilon = None,
    delta: Annotated[float | None, typer.Option(metavar="D", help="δ, which must be positive. [default: 1e-6]")] = None,
    where: options.Where = None,
    table: options.Table = None,
    facts: options.FactsPath = None,
    ledger: options.LedgerPath = None,
    request_id: options.RequestId = None,
    write: Write = None,
    out: Out = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Find the values of a column that many records have, and print the lines for a facts file.

    Spends epsilon and delta. Declared categories cost nothing.
    """
    column = _column(names, facts)
    given = {"epsilon": epsilon, "delta": delta, "where": where, "request_id": request_id}
    _find(
        lambda survey: survey.find_categories(column, **given),  # type: ignore[arg-type]  # checked there
        _Place(names, relation, table, facts, ledger),
        column,
        _Output(write, {"categories": ["a"], "other": True}, out, force, as_json),
    )


class _Place:
    """Where to look: the source and what is declared about it."""

    def __init__(
        self, names: list[str], relation: str | None, table: str | None, facts: str | None, ledger: str | None
    ) -> None:
        self.source = names[0] if len(names) == 2 else None
        self.relation, self.table, self.facts, self.ledger = relation, table, facts, ledger

    def survey(self) -> Survey:
        from hedgerow.survey import open as open_survey

        return open_survey(self.source, self.facts, relation=self.relation, table=self.table, ledger=self.ledger)


class _Output:
    """Where the answer goes; `example` has the facts that it will have, to try whether they can be written."""

    def __init__(self, write: str | None, example: dict[str, Any], out: str | None, force: bool, as_json: bool) -> None:
        self.facts = None if write is None else Path(write)
        self.example, self.out, self.force, self.as_json = example, out, force, as_json

    def files(self, found: Found, folder: ReleaseFolder | None) -> tuple[str, ...]:
        """Write the files and the facts, and return their names."""
        from hedgerow.reports.found_page import found_html

        written: list[str] = []
        if folder is not None:
            price = json.dumps(found.certificate.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
            for name, text in zip(_FILES, (found.to_json(), price, found_html(found)), strict=True):
                (folder.staging / name).write_text(text, encoding="utf-8")
                folder.move([name])
                written.append(str(folder.path / name))
        if self.facts is not None and found.facts():
            _add(self.facts, found.column, found.facts() | {"source": found.source})
            written.append(str(self.facts))
        return tuple(written)

    def show(self, found: Found, written: Sequence[str]) -> None:
        """Print the answer."""
        if self.as_json:
            say_json(found.to_dict() | as_replayed(found.replayed))
            return
        told_again(found.replayed)
        say("\n".join([found.summary(), found.price(), *found.remarks()]))
        if found.to_toml():
            say(f"\nFor the facts file:\n{found.to_toml()}")
        if written:
            say(f"Written: {', '.join(written)}")


def _column(names: list[str], facts: str | None) -> str:
    if len(names) == 2 or (len(names) == 1 and facts is not None):
        return written_column(names[-1])
    raise ParameterError(
        "HG116",
        rule="A search names its source, or facts that name one, and then one column.",
        finding=f"Found {len(names)} name{'s' * (len(names) != 1)}.",
        remedy="See: hedgerow find bounds --help.",
    )


def _find(ask: Callable[[Survey], Found], place: _Place, column: str, output: _Output) -> None:
    from hedgerow.release.publication.folder import prepared_folder

    with ExitStack() as stack:
        stack.enter_context(warnings_told())
        survey = place.survey()
        if output.facts is not None:
            # Tried before anything is spent.
            _added(output.facts, column, output.example | {"source": "found"})
        folder: ReleaseFolder | None = None
        if output.out is not None:
            source = place.source or (None if survey.facts is None else survey.facts.data_path)
            prepared = prepared_folder(output.out, force=output.force, source=source, names=_FILES)
            folder = stack.enter_context(prepared)

        def spend() -> None:
            found = ask(survey)
            nowhere = folder is None and output.facts is None
            write = None if nowhere else partial(output.files, found, folder)
            deliver(write, partial(output.show, found), unrecorded=found.unrecorded)

        spending(spend)


def _added(path: Path, column: str, facts: dict[str, Any]) -> str:
    from hedgerow.facts.written import with_column

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        text = None
    if text is None:
        raise ParameterError(
            "HG119",
            rule="Facts are added to a facts file that is there.",
            finding=f"{str(path)!r} cannot be read.",
            remedy="hedgerow init FILE writes one.",
        )
    return with_column(text, column, facts)


def _add(path: Path, column: str, facts: dict[str, Any]) -> None:
    """Write the file anew beside it, then move it to its name: a failure leaves it as it is."""
    made = path.with_name(f".{path.name}.new")
    made.write_text(_added(path, column, facts), encoding="utf-8")
    move_into_place(made, path)
