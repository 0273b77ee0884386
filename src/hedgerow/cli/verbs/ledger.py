"""`hedgerow ledger create | show | verify | reserve`: the custodian's record of what was spent on one data set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli import shared_options
from hedgerow.cli.terminal import write_json, write_stdout
from hedgerow.errors import ParameterError
from hedgerow.facts.printed import for_terminal
from hedgerow.interrupts import held_back, price_is_spent

if TYPE_CHECKING:
    from hedgerow.ledger.store import Ledger

ledger = typer.Typer(
    add_completion=False, rich_markup_mode=None, help="Create, show and verify a ledger; reserve a price."
)

Place = Annotated[str, typer.Argument(metavar="LEDGER", help="The ledger file.")]


@ledger.command()
def create(
    path: Annotated[str, typer.Argument(metavar="LEDGER", help="The new file; nothing may be there.")],
    dataset: Annotated[str | None, typer.Option(metavar="NAME", help="The custodian's name of the data.")] = None,
    epsilon: Annotated[float | None, typer.Option(metavar="E", help="ε for everything ever released.")] = None,
    delta: Annotated[
        float | None, typer.Option(metavar="D", help="δ of that total. [default: 1e-6; 0 for bootstrap-dp]")
    ] = None,
    relation: Annotated[str | None, typer.Option(metavar="R", help="replace-one or add-remove.")] = None,
    unit: Annotated[str, typer.Option(metavar="U", help="The unit of protection: row, or COL:MAX.")] = "row",
    gaussian_only: Annotated[
        bool, typer.Option("--gaussian-only", help="Take Gaussian noise only: the total then holds for adaptive noise.")
    ] = False,
    guarantee: Annotated[
        str, typer.Option(metavar="G", help="dp, or bootstrap-dp, which is not dp: one ledger never holds both.")
    ] = "dp",
    approvers: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Public keys of approvers: the ledger then takes signed requests alone."),
    ] = None,
    signatures: Annotated[int, typer.Option(metavar="N", help="How many approvers must sign each request.")] = 1,
    as_json: shared_options.AsJson = False,
) -> None:
    """Make a new ledger with nothing spent."""
    from hedgerow.approval.keys import read_approvers
    from hedgerow.cli.grammar import parse_unit
    from hedgerow.facts.budget import DEFAULT_DELTA, Budget
    from hedgerow.facts.relation import parse_relation
    from hedgerow.ledger.store import Ledger

    if epsilon is None:
        raise ParameterError(
            "HG101",
            rule="A ledger needs a privacy budget.",
            finding="`--epsilon` was not given.",
            remedy="Try --epsilon 1.",
        )
    name = Path(path).stem if dataset is None else dataset
    usual = 0.0 if guarantee == "bootstrap-dp" else DEFAULT_DELTA
    budget, whom = Budget(epsilon, usual if delta is None else delta), parse_relation(relation)
    family: Any = "gaussian" if gaussian_only else "any"
    kind: Any = guarantee
    whose = parse_unit(unit)
    people = [person for file in approvers or () for person in read_approvers(file)]
    kinds: Any = {"family": family, "guarantee": kind, "approvers": people, "signatures": signatures}
    made = Ledger.create(path, dataset=name, budget=budget, relation=whom, unit=whose, **kinds)
    with made:
        _print(made, as_json)


@ledger.command()
def show(path: Place, as_json: shared_options.AsJson = False) -> None:
    """Show the budget, what was spent, each entry, and the head."""
    from hedgerow.ledger.store import Ledger

    with Ledger.open(path) as opened:
        _print(opened, as_json)


@ledger.command()
def verify(
    path: Place,
    head: Annotated[str | None, typer.Option(metavar="HEAD", help="A head that a report prints.")] = None,
    as_json: shared_options.AsJson = False,
) -> None:
    """Check every hash, total and signature; with --head, that the chain passes through it. Exit 5 if not."""
    from hedgerow.ledger.store import Ledger

    with Ledger.open(path) as opened:
        verified_head = opened.verify(head)
        signed = [len(entry.approval["signatures"]) for entry in opened.entries() if entry.approval is not None]
        has_approvers = bool(opened.approvers)
    if as_json:
        checked = {"signatures_checked": sum(signed)} if has_approvers else {}
        write_json({"holds": True, "head": str(verified_head), "passed_through": head, **checked})
        return
    write_stdout(f"The chain and its totals hold. Head {verified_head}")
    if has_approvers:
        write_stdout(f"Every signature was checked again and holds: {sum(signed)} on {len(signed)} entries.")
    if head is None:
        write_stdout(
            "Without --head an old copy put back in its place would not be noticed: give the head of a later report."
        )


@ledger.command()
def reserve(
    path: Place,
    certificate: Annotated[str, typer.Argument(metavar="CERTIFICATE", help="A certificate.json or release.json.")],
    request_id: Annotated[str | None, typer.Option("--id", metavar="ID", help="A name for the entry.")] = None,
    as_json: shared_options.AsJson = False,
) -> None:
    """Enter the price of something released elsewhere: it is spent from here on."""
    from uuid import uuid4

    from hedgerow.ledger.ledger_entry import fingerprint_of
    from hedgerow.ledger.store import Ledger
    from hedgerow.mechanisms.certificate import Certificate
    from hedgerow.reports.verify.verification import read_record, verify_record

    record = read_record(certificate)
    verify_record(record).require()
    certified = Certificate.from_json(json.dumps(record))
    with Ledger.open(path) as opened:
        named = uuid4().hex if request_id is None else request_id
        with held_back():
            opened.reserve(certified, request_id=named, fingerprint=fingerprint_of(certified.to_dict()))
            price_is_spent()
        _print(opened, as_json)


def _print(opened: Ledger, as_json: bool) -> None:
    from hedgerow.cli.verbs.from_records import numbers_of

    record = _record(opened)
    if as_json:
        write_json(record)
        return
    write_stdout(f"{record['dataset']}: {record['relation']}, unit {record['unit']}, δ = {record['delta']:.3g}")
    if record["guarantee"] != "dp":
        write_stdout(
            "  bootstrap differential privacy, which is NOT differential privacy: for rows of D among one another"
        )
        if record["public_columns"]:
            write_stdout(f"  rows that agree on {', '.join(record['public_columns'])}, which entries take as public")
    write_stdout(f"  spent ε ≤ {record['spent']:.6g} of {record['epsilon']:.6g}; left {record['remaining']:.6g}")
    if opened.approvers:
        names = ", ".join(approver["name"] for approver in record["approvers"])
        write_stdout(f"  approvers {names}; {record['signatures']} must sign each request")
    released = {entry.request_id: numbers_of(json.loads(entry.result)) for entry in opened.entries() if entry.result}
    for entry in record["entries"]:
        alone = f"ε ≤ {entry['epsilon']:.6g} at δ = {entry['delta']:.3g} alone"
        write_stdout(f"  {entry['at']}  {entry['request_id']}  {entry['mechanism']}, {alone}, {entry['state']}")
        if entry["asked"] is not None:
            write_stdout(f"    asked: {for_terminal(entry['asked'])}")
        for line in released.get(entry["request_id"], []):
            write_stdout(f"      {for_terminal(line)}")
        if "approval" in entry:
            write_stdout(f"    {for_terminal(_approved_in_words(entry['approval']))}")
    write_stdout(f"  head {record['head']}")


def _public_columns(opened: Ledger) -> list[str]:
    columns = (name for entry in opened.entries() for name in getattr(entry.mechanism, "public_columns", ()))
    return list(dict.fromkeys(columns))


def _signing(opened: Ledger) -> dict[str, Any]:
    """Return who approves, in a ledger with approvers."""
    people = [{"name": approver.name, "key": approver.key} for approver in opened.approvers]
    return {"identity": opened.identity, "approvers": people, "signatures": opened.signatures} if people else {}


def _approved_in_words(approval: dict[str, Any]) -> str:
    """Return who asked and who approved, for which purpose, and which request an approver made smaller.

    >>> signed = {"by": "ada", "note": "", "at": "2026-11-25T10:00:00+00:00"}
    >>> _approved_in_words({"request": {"asked_by": "bob", "purpose": "a table"}, "signatures": [signed]})
    'asked by bob for: a table; approved by ada'
    """
    request = approval["request"]
    people = [each["by"] + (f" ({each['note']})" if each["note"] else "") for each in approval["signatures"]]
    smaller = f"; made smaller from request {request['amends'][:16]}" if request.get("amends") else ""
    return f"asked by {request['asked_by']} for: {request['purpose']}; approved by {', '.join(people)}{smaller}"


def _record(opened: Ledger) -> dict[str, Any]:
    from hedgerow.reports.verify.verification import asked_in_words

    return {
        "dataset": opened.dataset,
        "relation": str(opened.relation),
        "unit": opened.unit,
        "epsilon": opened.budget.epsilon,
        "delta": opened.budget.delta,
        "family": opened.family,
        "guarantee": opened.guarantee,
        "public_columns": _public_columns(opened),
        "spent": opened.spent(),
        "remaining": opened.remaining(),
        "head": str(opened.head),
        **_signing(opened),
        "entries": [
            {
                "request_id": entry.request_id,
                "at": entry.at,
                "mechanism": entry.mechanism.type,
                "epsilon": entry.epsilon,
                "delta": entry.delta,
                "state": entry.state,
                "asked": asked_in_words(entry.result),
                "total": entry.total_micro / 1e6,
                **({} if entry.approval is None else {"approval": entry.approval}),
            }
            for entry in opened.entries()
        ],
    }
