"""The requests of a desk: one file each, in one folder, which `hedgerow request show` and `approve` read as well."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Literal

from hedgerow.approval.approval import Approval
from hedgerow.approval.keys import unlock
from hedgerow.approval.written_request import as_date
from hedgerow.cli.verbs.approving import made_smaller, signed_for
from hedgerow.cli.verbs.asking import checked_request
from hedgerow.cli.verbs.requesting import left_after
from hedgerow.clock import now
from hedgerow.errors import ApprovalError, HedgerowError, ParameterError
from hedgerow.ledger.store import Ledger

_ID = re.compile(r"[0-9a-f]{64}")
_MOST_WAITING = 200
_MOST_WRONG = 10
# A request that expired or cannot be read has no decision either: else an analyst could fill the disk with these.
_UNDECIDED = ("waiting", "expired", "unreadable")
State = Literal["waiting", "approved", "denied", "released", "expired", "unreadable"]


@dataclass(frozen=True, slots=True)
class Paper:
    """One request on the desk: its file, its decisions, and how far it is.

    Attributes
    ----------
    approval : Approval
    state : str
        waiting, approved, denied, released, expired, or unreadable where a signature does not hold.
    """

    approval: Approval
    state: State

    @property
    def id(self) -> str:
        """The name of the request."""
        return self.approval.request.id


class Papers:
    """The requests in a folder, decided for one ledger.

    Parameters
    ----------
    folder, ledger : path
    data : path or None
        What a release reads; None: no release from this desk.
    key : path or None
        The private key of the person who decides here; None: nobody does.

    Attributes
    ----------
    budget : float
        The ε of the ledger.
    """

    def __init__(self, folder: Path, ledger: Path, data: str | None, key: Path | None) -> None:
        self.folder, self.ledger, self.data, self.key = folder, ledger, data, key
        self._lock, self._wrong = Lock(), 0
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with Ledger.open(ledger) as opened:
            self.budget = opened.budget.epsilon

    @property
    def spent(self) -> float:
        """The ε that the ledger has spent."""
        with Ledger.open(self.ledger) as ledger:
            return ledger.spent()

    def all(self) -> list[Paper]:
        """Return the requests, the newest first; a file that is none is left out."""
        listed = []
        with Ledger.open(self.ledger) as ledger:
            for path in self.folder.glob("*.json"):
                with suppress(HedgerowError):
                    listed.append(self._paper(path.stem, ledger))
        return sorted(listed, key=lambda paper: paper.approval.request.at, reverse=True)

    def paper(self, name: str) -> Paper:
        """Return one request (HG320, HG335)."""
        with Ledger.open(self.ledger) as ledger:
            return self._paper(name, ledger)

    def _paper(self, name: str, ledger: Ledger) -> Paper:
        if not _ID.fullmatch(name):
            raise _not_here()
        path = self.folder / f"{name}.json"
        if not path.is_file():
            raise _not_here()
        approval = Approval.read(path)
        if approval.request.id != name:
            raise _not_here()
        return Paper(approval, _state_of(approval, ledger))

    def left(self, paper: Paper) -> float | None:
        """Return the ε that the ledger would have left after a request; None where it will not or did already run."""
        runs = paper.state in ("waiting", "approved")
        return left_after(paper.approval.request, str(self.ledger)) if runs else None

    def put(self, approval: Approval) -> None:
        """Write a new request into the folder (HG335 where too many wait)."""
        with self._lock:
            if sum(paper.state in _UNDECIDED for paper in self.all()) >= _MOST_WAITING:
                raise ParameterError(
                    "HG335",
                    rule=f"On a desk at most {_MOST_WAITING} requests can be without a decision.",
                    finding="The folder of the desk already has this number of requests without a decision.",
                    remedy="Let the custodian approve or deny some requests, or move expired requests into another "
                    "folder. Nothing was read or spent.",
                )
            self._write(approval)

    def _write(self, approval: Approval) -> None:
        text = approval.to_json() if approval.signatures else approval.request.to_json()
        handle, path = tempfile.mkstemp(dir=self.folder, suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(path).replace(self.folder / f"{approval.request.id}.json")

    def decide(
        self,
        name: str,
        decision: Literal["approve", "deny"],
        passphrase: str,
        *,
        note: str = "",
        epsilon: float | None = None,
        strike: list[int] | None = None,
    ) -> str:
        """Sign a decision with the key of this desk, and return the name of the request that was signed.

        A smaller ε or a struck statistic makes a new request, which is signed; the old one stays as it is.
        """
        with self._lock:
            paper = self.paper(name)
            if paper.state != "waiting" or self.key is None:
                raise ParameterError(
                    "HG330",
                    rule="On a desk only a waiting request can be approved or denied, with the private key that --key "
                    "named when the desk was started.",
                    finding="This desk has no key." if self.key is None else f"The request is {paper.state}.",
                    remedy="Start the desk with --key NAME.key, or make a new request. Nothing was signed.",
                )
            approval = paper.approval
            checked_request(approval.request)
            if decision == "approve" and (epsilon is not None or strike):
                approval = Approval(made_smaller(approval, epsilon, strike or []))
            if self._wrong >= _MOST_WRONG:
                raise ParameterError(
                    "HG323",
                    rule=f"A desk takes at most {_MOST_WRONG} wrong passphrases.",
                    finding="There were more.",
                    remedy="Start the desk again. Nothing was signed.",
                )
            try:
                key = unlock(self.key, passphrase)
            except ParameterError:
                self._wrong += 1
                raise
            self._write(signed_for(approval, key, str(self.ledger), decision, note))
            return approval.request.id

    def release(self, name: str) -> str | None:
        """Run the command that releases an approved request; return what it says where it is refused, else None.

        The command is the one of the terminal, in a process of its own: what it does when it is interrupted holds here
        too.
        """
        with self._lock:
            paper = self.paper(name)
            if paper.state != "approved" or self.data is None:
                raise ParameterError(
                    "HG330",
                    rule="A desk releases only an approved request, from the data that were named when the desk was "
                    "started.",
                    finding="This desk has no data." if self.data is None else f"The request is {paper.state}.",
                    remedy="Start the desk with DATA, or let the approvers sign. Nothing was read or spent.",
                )
            words = [sys.executable, "-m", "hedgerow", "release", self.data, "--request"]
            words += [str(self.folder / f"{name}.json"), "--ledger", str(self.ledger)]
            words += ["--out", str(self.folder / name), "--quiet"]
            run = subprocess.run(words, capture_output=True, text=True, encoding="utf-8", check=False)
            return run.stderr if run.returncode else None

    def report(self, name: str) -> bytes | None:
        """Return the page of a released request; None where there is none."""
        path = self.folder / name / "report.html"
        return path.read_bytes() if _ID.fullmatch(name) and path.is_file() else None


def _state_of(approval: Approval, ledger: Ledger) -> State:
    try:
        approval.check_signatures(ledger.approvers, ledger.identity)
    except ApprovalError:
        return "unreadable"
    if approval.denied:
        return "denied"
    if any(entry.request_id == approval.request.id for entry in ledger.entries()):
        return "released"
    until = as_date(approval.request.until)
    if until is None or now().date() > until:
        return "expired"
    return "approved" if len(approval.signers) >= approval.signers_needed(ledger.signatures) else "waiting"


def _not_here() -> ParameterError:
    return ParameterError(
        "HG335",
        rule="A page of the desk shows one request of the desk's folder, by the whole name of the request.",
        finding="The desk's folder has no request of this name.",
        remedy="Choose a request from the list that the desk shows. Nothing was read or spent.",
    )
