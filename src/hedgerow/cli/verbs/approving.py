"""`hedgerow keys create | approve | deny`: the custodian's key, and the decision about a request."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hedgerow.cli import shared_options
from hedgerow.cli.terminal import write_json, write_stdout
from hedgerow.errors import ParameterError

if TYPE_CHECKING:
    from hedgerow.approval.approval import Approval
    from hedgerow.approval.keys import SigningKey
    from hedgerow.approval.written_request import WrittenRequest

keys = typer.Typer(add_completion=False, rich_markup_mode=None, help="Make the keys of a person who approves.")

PassphraseFile = Annotated[
    str | None,
    typer.Option("--passphrase-file", metavar="FILE", help="A file with the passphrase. [default: ask for it]"),
]
Place = Annotated[str, typer.Argument(metavar="FILE", help="The request, or an approval that needs more signatures.")]
By = Annotated[str, typer.Option("--by", metavar="NAME", help="Who decides: the name of the key.")]
KeyFile = Annotated[str, typer.Option("--key", metavar="FILE", help="The private key: NAME.key.")]
LedgerFile = Annotated[str, typer.Option("--ledger", metavar="FILE", help="The ledger for which the decision holds.")]
Note = Annotated[str, typer.Option(metavar="TEXT", help="A note that is signed too.")]


@keys.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose keys they are.")],
    folder: Annotated[str, typer.Option("--out", metavar="DIR", help="The folder of the two files.")] = ".",
    passphrase_file: PassphraseFile = None,
    as_json: shared_options.AsJson = False,
) -> None:
    """Make a private key, locked by a passphrase, and a public key."""
    from hedgerow.approval.keys import create_keys

    private, public = create_keys(name, folder, _passphrase(passphrase_file, confirm=True))
    if as_json:
        write_json({"name": name, "private": str(private), "public": str(public)})
        return
    write_stdout(f"{private}: the private key. Keep it, with its passphrase, where nobody else can read it.")
    write_stdout(f"{public}: the public key, for hedgerow ledger create --approvers {public}")


def approve(
    path: Place,
    by: By,
    key: KeyFile,
    ledger: LedgerFile,
    epsilon: Annotated[
        float | None, typer.Option(metavar="E", help="Approve at this ε, which must cost less than the request.")
    ] = None,
    strike: Annotated[
        list[int] | None,
        typer.Option(metavar="K", help="Strike the part with this number of `hedgerow request show`."),
    ] = None,
    note: Note = "",
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="The file of the approval.")] = "approved.json",
    passphrase_file: PassphraseFile = None,
    force: shared_options.ForceFile = False,
    as_json: shared_options.AsJson = False,
) -> None:
    """Sign a request for one ledger. A smaller ε or a part that is struck makes a new request, which is signed."""
    from hedgerow.approval.approval import Approval
    from hedgerow.cli.verbs.asking import checked_request

    approval = Approval.read(path)
    checked_request(approval.request)
    if epsilon is not None or strike:
        approval = Approval(made_smaller(approval, epsilon, strike or []))
    given = {"by": by, "key": key, "note": note, "passphrase": passphrase_file}
    _decide(approval, "approve", given, ledger, out, force, as_json)


def deny(
    path: Place,
    by: By,
    key: KeyFile,
    ledger: LedgerFile,
    note: Note = "",
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="The file of the denial.")] = "denied.json",
    passphrase_file: PassphraseFile = None,
    force: shared_options.ForceFile = False,
    as_json: shared_options.AsJson = False,
) -> None:
    """Sign that a request is denied: the file that is written never runs."""
    from hedgerow.approval.approval import Approval

    given = {"by": by, "key": key, "note": note, "passphrase": passphrase_file}
    _decide(Approval.read(path), "deny", given, ledger, out, force, as_json)


def _decide(
    approval: Approval,
    decision: Literal["approve", "deny"],
    given: dict[str, Any],
    ledger: str,
    out: str,
    force: bool,
    as_json: bool,
) -> None:
    from hedgerow.approval.keys import unlock
    from hedgerow.cli.verbs.requesting import tell, write_document

    key = unlock(given["key"], _passphrase(given["passphrase"], confirm=False))
    signed = signed_for(approval, key, ledger, decision, given["note"], by=given["by"])
    write_document(out, signed.to_json(), force)
    tell(signed, ledger if decision == "approve" else None, as_json, checked=True)
    if not as_json:
        write_stdout(f"Written to {out}")


def signed_for(
    approval: Approval,
    key: SigningKey,
    ledger: str,
    decision: Literal["approve", "deny"],
    note: str,
    *,
    by: str | None = None,
) -> Approval:
    """Return an approval with one more signature, for a ledger that knows the key and the signatures that are there.

    Raises
    ------
    ApprovalError
        HG325, HG326: as `Approval.check_signatures`.
    ParameterError
        HG330: the ledger does not know the key, or the key is of another name than `by`.
    """
    from hedgerow.clock import now
    from hedgerow.ledger.store import Ledger

    with Ledger.open(ledger) as opened:
        identity, known = opened.identity, opened.approvers
        approval.check_signatures(known, identity)
    if key.approver.name != (by or key.approver.name) or key.approver not in known:
        raise ParameterError(
            "HG330",
            rule="An approver signs with the approver's own private key (--key), under the approver's name (--by), and "
            "the ledger must list the public key.",
            finding="The key belongs to another name."
            if key.approver in known
            else "The ledger does not list this key.",
            remedy="`hedgerow ledger show` lists the approvers of the ledger. Nothing was signed.",
        )
    return approval.signed(key, identity, now().isoformat(timespec="seconds"), decision=decision, note=note)


def made_smaller(approval: Approval, epsilon: float | None, strike: list[int]) -> WrittenRequest:
    """Return a request with a smaller ε or fewer parts (HG330)."""
    from hedgerow.cli.verbs.asking import asked_again
    from hedgerow.cli.verbs.requesting import statistics_of

    asked = approval.request
    parts = statistics_of(asked.words)
    if approval.signatures:
        raise _unfit_change("Somebody has signed the request already.")
    if any(not 1 <= place <= len(parts) for place in strike) or len(set(strike)) >= max(len(parts), 1):
        raise _unfit_change(f"The request has {len(parts)} parts that can be struck, and one must stay.")
    words = list(asked.words)
    for place in sorted(set(strike), reverse=True):
        start = _place_of(words, parts[place - 1], sum(part == parts[place - 1] for part in parts[: place - 1]))
        del words[start : start + len(parts[place - 1])]
    if epsilon is not None:
        for option in ("--epsilon", "--rho", "--mu"):
            while option in words:
                del words[words.index(option) : words.index(option) + 2]
        words += ["--epsilon", repr(epsilon)]
    made = asked_again(asked, words=words, amends=asked.id)
    if made.epsilon > asked.epsilon or made.delta > asked.delta:
        raise _unfit_change("The changed request would cost more.")
    return made


def _place_of(words: list[str], part: tuple[str, ...], before: int) -> int:
    """Return where a part stands in the words, after so many equal parts."""
    places = [at for at in range(len(words)) if tuple(words[at : at + len(part)]) == part]
    return places[before]


def _unfit_change(finding: str) -> ParameterError:
    return ParameterError(
        "HG330",
        rule="An approver may lower ε or remove statistics only in a request that nobody has signed.",
        finding=finding,
        remedy="The command `hedgerow request show request.json` lists the parts of the request. Nothing was signed.",
    )


def _passphrase(path: str | None, *, confirm: bool) -> str:
    """Return the passphrase of a file, or ask for it on a terminal (HG323)."""
    try:
        if path is not None:
            return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, ValueError):
        raise _no_passphrase(f"{path!r} cannot be read.") from None
    if not sys.stdin.isatty():
        raise _no_passphrase("There is no terminal to ask for it.")
    return str(typer.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True))


def _no_passphrase(finding: str) -> ParameterError:
    return ParameterError(
        "HG323",
        rule="A private key is encrypted with a passphrase.",
        finding=finding,
        remedy="Run the command in a terminal, or name a file by --passphrase-file.",
    )
