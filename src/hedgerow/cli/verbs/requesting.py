"""`hedgerow request VERB …`: what a verb would release, at which price and why, as a file that somebody approves.

`hedgerow request show FILE`: a request or an approval as a person reads it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli import shared_options
from hedgerow.cli.terminal import write_json, write_stdout
from hedgerow.errors import ParameterError
from hedgerow.facts.printed import for_terminal

if TYPE_CHECKING:
    from hedgerow.approval.approval import Approval
    from hedgerow.approval.written_request import WrittenRequest

request = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="Ask for a release, a table or another result, from public facts alone; show a request.",
)

AskedBy = Annotated[str | None, typer.Option("--asked-by", metavar="WHO", help="Who asks.")]
Purpose = Annotated[str | None, typer.Option(metavar="TEXT", help="What the result is for.")]
Until = Annotated[str | None, typer.Option(metavar="DATE", help="The last day on which it may run: 2026-12-31.")]
Number = Annotated[
    int | None, typer.Option("--n", metavar="N", help="The number of records; a guess under add-remove.")
]
OutFile = Annotated[str, typer.Option("--out", metavar="FILE", help="The file of the request.")]
LedgerFile = Annotated[
    str | None,
    typer.Option("--ledger", metavar="FILE", help="Check signatures; print what would be left of its budget."),
]
Document = Annotated[str, typer.Argument(metavar="FILE", help="A request, or an approval.")]


@request.command()
def show(path: Document, ledger: LedgerFile = None, as_json: shared_options.AsJson = False) -> None:
    """Print a request or an approval: what is asked, the price, the errors to expect, and who signed."""
    from hedgerow.approval.approval import Approval
    from hedgerow.cli.verbs.asking import checked_request

    approval = Approval.read(path)
    checked_request(approval.request)
    if ledger is not None:
        check_signatures(approval, ledger)
    tell(approval, ledger, as_json, checked=ledger is not None)


def check_signatures(approval: Approval, path: str) -> None:
    """Refuse a file with a signature that no approver of the ledger made for this request (HG325, HG326)."""
    from hedgerow.ledger.store import Ledger

    with Ledger.open(path) as ledger:
        approval.check_signatures(ledger.approvers, ledger.identity)


def tell(approval: Approval, ledger: str | None, as_json: bool, *, checked: bool) -> None:
    """Print a request with its signatures, and what a ledger would have left; say whether signatures were checked."""
    left = None if ledger is None else left_after(approval.request, ledger)
    if as_json:
        signed = approval.to_dict() if approval.signatures else approval.request.to_dict()
        about = {} if left is None else {"left": left}
        write_json({"id": approval.request.id, **signed, **about, "signatures_checked": checked})
        return
    write_stdout("\n".join(map(for_terminal, lines_of(approval, left, checked))))


def lines_of(approval: Approval, left: float | None, checked: bool) -> list[str]:
    """Return a request with its signatures as lines of text; `left` is what a ledger would have left after it."""
    from hedgerow.facts.lines import paragraph

    asked = approval.request
    price = asked.price
    number = "" if asked.asked.get("n") is None else f", {asked.n:,} records"
    lines = [
        f"Request {asked.id[:16]} of {asked.asked_by}, {asked.at[:10]}, until {asked.until}",
        f"Purpose: {asked.purpose}",
        *([f"Made smaller from request {asked.amends[:16]}"] if asked.amends else []),
        "",
        f"hedgerow {asked.verb} {shlex.join(asked.words)}",
        *(f"  {line}" for line in asked.in_words),
        "",
        f"Price: ε ≤ {asked.epsilon:.6g} at δ = {asked.delta:.3g}, {price.get('relation')}, "
        f"unit {price.get('unit')}{number}. Nothing was read or spent.",
        *([] if left is None else [f"Left of the budget of the ledger after it: ε ≥ {left:.6g}"]),
        *expected_lines(asked),
        "",
        *([] if asked.signatures == 1 else [f"The facts ask for {asked.signatures} signatures."]),
    ]
    for signature in approval.signatures:
        verb = "Approved" if signature.decision == "approve" else "Denied"
        lines.append(f"{verb} by {signature.by}, {signature.at}" + (f": {signature.note}" if signature.note else ""))
    unchecked = "The signatures were not checked: a file can name anybody. Give --ledger to check them."
    said = "Each signature was checked with the approvers of the ledger." if checked else unchecked
    lines += [said] if approval.signatures else ["Nobody has signed it."]
    struck = [f"{place}. {' '.join(words)}" for place, words in enumerate(statistics_of(asked.words), start=1)]
    return [paragraph(line) if line else "" for line in lines] + (["Parts: " + "; ".join(struck)] if struck else [])


def expected_lines(asked: WrittenRequest) -> list[str]:
    """Return the errors to expect as the lines of a table."""
    from hedgerow.release.publication.text import aligned

    names = ("standard_error", "sampling_error", "privacy_error")
    rows = [
        (_label(row), *("–" if row.get(name) is None else f"{row[name]:.3g}" for name in names))
        for row in asked.expected[:_MOST_ROWS]
    ]
    if not rows:
        return []
    more = len(asked.expected) - len(rows)
    return [
        "",
        "Errors to expect, without a guess:",
        *aligned([("", "s.e.", "sampling", "privacy"), *rows], 1),
        *([f"… and {more:,} more"] if more else []),
    ]


_MOST_ROWS = 40


def _label(row: Any) -> str:
    if "term" in row:
        return str(row["term"])
    if "columns" in row:
        return ", ".join(row["columns"]) or "all records"
    return f"{row.get('statistic')} of {row['column']}" if row.get("column") else str(row.get("statistic"))


def statistics_of(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the words that ask for statistics, each option with its text."""
    from hedgerow.statistics.registry import entries

    texts: set[str] = set()
    flags: set[str] = set()
    for entry in entries().values():
        (flags if entry.parse is None else texts).add(entry.option)
        flags |= {f"{entry.option}-{end}" for end in entry.variants}
    found: list[tuple[str, ...]] = []
    places = iter(words)
    for word in places:
        if word in texts:
            found.append((word, next(places, "")))
        elif word in flags:
            found.append((word,))
    return found


def left_after(asked: WrittenRequest, path: str) -> float:
    """Return the ε that a ledger would have left after a request, rounded down."""
    from hedgerow.ledger.store import Ledger
    from hedgerow.mechanisms.certificate import Certificate

    with Ledger.open(path) as ledger:
        spent = ledger.would_spend(Certificate.from_dict(asked.price))
        return ledger.budget.epsilon - spent


def write_document(path: str, text: str, force: bool) -> None:
    """Write a request or an approval; an existing file is replaced only with ``--force`` (HG119)."""
    from hedgerow.release.publication.write_file import write_lines

    if Path(path).exists() and not force:
        raise ParameterError(
            "HG119",
            rule="No existing file is replaced.",
            finding=f"{path!r} is there already.",
            remedy="Name another file by --out, or give --force.",
        )
    write_lines(path, [text])


def _asking(verb: str) -> Callable[..., None]:
    def ask(
        context: typer.Context,
        asked_by: AskedBy = None,
        purpose: Purpose = None,
        until: Until = None,
        n: Number = None,
        facts: shared_options.FactsPath = None,
        ledger: LedgerFile = None,
        out: OutFile = "request.json",
        force: shared_options.ForceFile = False,
        as_json: shared_options.AsJson = False,
    ) -> None:
        from hedgerow.approval.approval import Approval
        from hedgerow.cli.verbs.asking import make_request
        from hedgerow.facts.facts_file import record_of_file

        declared = None if facts is None else record_of_file(facts)
        about = {"asked_by": asked_by or "", "purpose": purpose or "", "until": until or ""}
        made = make_request(verb, context.args, facts=declared, n=n, **about)
        write_document(out, made.to_json(), force)
        tell(Approval(made), ledger, as_json, checked=False)
        if not as_json:
            write_stdout(f"Written to {out}")

    ask.__doc__ = f"Ask for what `hedgerow {verb}` gives: with its options, but without data, and with the following."
    return ask


def _add_verbs() -> None:
    from hedgerow.cli.verbs.asking import requestable

    loose = {"ignore_unknown_options": True, "allow_extra_args": True}
    for verb in requestable():
        request.command(name=verb, context_settings=loose)(_asking(verb))


_add_verbs()
