"""An approval: a request with the signatures of those who approve or deny it, for one ledger.

A signature covers the hash of the request, the identity of the ledger, the decision, the note and the time. So none of
them can be changed, and a signature for one request or ledger cannot be moved to another.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from hedgerow.approval.keys import Approver, SigningKey
from hedgerow.approval.written_request import FORMAT as REQUEST_FORMAT
from hedgerow.approval.written_request import WrittenRequest, as_date, as_time, not_a_document, read_json
from hedgerow.canonical import canonical
from hedgerow.errors import ApprovalError
from hedgerow.facts.validation import check_texts

FORMAT = "hedgerow-approval-1"
_SIGNED = "hedgerow-signature-1"
_LONGEST_NOTE = 2000
_SKEW = timedelta(minutes=5)  # clocks of two machines differ


@dataclass(frozen=True, slots=True)
class Signature:
    """One decision about one request.

    Attributes
    ----------
    by : str
        The name of the approver.
    decision : {"approve", "deny"}
    note : str
        What the approver adds.
    at : str
        When it was signed (UTC, ISO 8601).
    ledger : str
        The identity of the ledger for which the decision holds.
    signature : str
        The Ed25519 signature as Base64.
    """

    by: str
    decision: Literal["approve", "deny"]
    note: str
    at: str
    ledger: str
    signature: str = ""

    def message(self, request: str) -> bytes:
        """Return what is signed: all of this decision, and the name of the request."""
        own = {name: value for name, value in asdict(self).items() if name != "signature"}
        return canonical({"format": _SIGNED, "request": request, **own}).encode()

    @classmethod
    def from_dict(cls, record: Any) -> Signature:
        """Return the signature of JSON data (TypeError, ValueError)."""
        made = cls(**record)
        if not all(isinstance(value, str) for value in record.values()) or made.decision not in ("approve", "deny"):
            raise ValueError
        if len(made.note) > _LONGEST_NOTE or as_time(made.at) is None:
            raise ValueError
        return made


@dataclass(frozen=True, slots=True)
class Approval:
    """A request and the decisions about it.

    Attributes
    ----------
    request : WrittenRequest
    signatures : tuple of Signature
    """

    request: WrittenRequest
    signatures: tuple[Signature, ...] = ()

    @classmethod
    def read(cls, path: str | Path) -> Approval:
        """Return the approval of a file; a request that nobody signed is an approval without signatures (HG320)."""
        record = read_json(path, "request or approval")
        if isinstance(record, dict) and record.get("format") == REQUEST_FORMAT:
            return cls(WrittenRequest.from_dict(record))
        return cls.from_dict(record)

    @classmethod
    def from_dict(cls, record: object) -> Approval:
        """Return the approval of JSON data (HG320)."""
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise not_a_document("approval", "It has another format.")
        check_texts(record, "A text of the approval")
        try:
            made = tuple(map(Signature.from_dict, record["signatures"]))
        except (KeyError, TypeError, ValueError):
            made = ()
        if record.keys() != {"format", "request", "signatures"} or not made:
            raise not_a_document("approval", "A field is missing, unknown or of another kind.")
        return cls(WrittenRequest.from_dict(record["request"]), made)

    def to_dict(self) -> dict[str, Any]:
        """Return the approval as JSON data."""
        return {"format": FORMAT, "request": self.request.to_dict(), "signatures": [asdict(s) for s in self.signatures]}

    def to_json(self) -> str:
        """Return the JSON text of the file that holds the request."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"

    def signed(
        self, key: SigningKey, ledger: str, at: str, *, decision: Literal["approve", "deny"] = "approve", note: str = ""
    ) -> Approval:
        """Return the approval with one more signature; an earlier one of the same person is replaced.

        Raises
        ------
        ApprovalError
            HG329: the file holds a denial, which no later approval of this file replaces.
        """
        if decision == "approve":
            self._refuse_denied()
        bare = Signature(key.approver.name, decision, note, at, ledger)
        made = replace(bare, signature=key.sign(bare.message(self.request.id)))
        others = tuple(signature for signature in self.signatures if signature.by != made.by)
        return replace(self, signatures=(*others, made))

    def require(self, approvers: Sequence[Approver], needed: int, ledger: str) -> None:
        """Refuse the approval unless enough known people signed exactly this request for exactly this ledger.

        Raises
        ------
        ApprovalError
            HG325, HG326: as `check_signatures`. HG327: fewer people signed than the ledger or the facts ask for. HG329:
            a person denied it.
        """
        self.check_signatures(approvers, ledger)
        self._refuse_denied()
        people, wanted = self.signers, self.signers_needed(needed)
        if len(people) < wanted:
            raise ApprovalError(
                "HG327",
                rule=f"A request runs after enough people have approved it. This request needs {wanted}: the ledger "
                f"asks for {needed}, the facts of the request for {self.request.signatures}.",
                finding=f"Only {', '.join(sorted(people))} signed this file."
                if people
                else "Nobody has signed this file.",
                remedy=f"Let {wanted - len(people)} more of the ledger's approvers sign this file by "
                "`hedgerow approve`, and release the file that the command writes. Nothing was read or spent.",
            )

    @property
    def signers(self) -> set[str]:
        """The names of those who signed."""
        return {signature.by for signature in self.signatures}

    def signers_needed(self, needed: int) -> int:
        """Return how many people must sign, where the ledger asks for `needed`."""
        return max(needed, self.request.signatures)

    @property
    def denied(self) -> bool:
        """Whether one of the signatures denies the request."""
        return any(signature.decision == "deny" for signature in self.signatures)

    def _refuse_denied(self) -> None:
        if self.denied:
            raise ApprovalError(
                "HG329",
                rule="A request that one approver denied never runs.",
                finding="An approver denied the request in a signature.",
                remedy="Ask the approver, and make a new request. Nothing was read or spent.",
            )

    def check_signatures(self, approvers: Sequence[Approver], ledger: str) -> None:
        """Refuse the approval if one of its signatures is not of a known person, for this request and this ledger.

        Raises
        ------
        ApprovalError
            HG325: a signature of a person whom the ledger does not know. HG326: a signature for another ledger, or of
            another request.
        """
        known = {approver.name: approver for approver in approvers}
        for signature in self.signatures:
            if signature.by not in known:
                raise ApprovalError(
                    "HG325",
                    rule="The list of approvers of a ledger is fixed when the ledger is created.",
                    finding="One signature is of a person whom this ledger does not know."
                    if known
                    else "This ledger was created without approvers.",
                    remedy="Ask one of the approvers that `hedgerow ledger show` lists. Nothing was read or spent.",
                )
            if signature.ledger != ledger:
                raise _unfit_signature("One signature is for another ledger.")
            if not known[signature.by].has_signed(signature.message(self.request.id), signature.signature):
                raise _unfit_signature("The request or a signature was changed after it was signed.")

    def require_time(self, now: datetime, last: str) -> None:
        """Refuse a request that has expired, and a clock that went back (HG328).

        `last` is the time of the last entry of the ledger.
        """
        until, signed = as_date(self.request.until), [self.request.at, *(each.at for each in self.signatures)]
        if until is not None and now.date() > until:
            raise _untimely(f"Its last day was {self.request.until}.")
        if now.isoformat(timespec="seconds") < last:
            raise _untimely("The clock of this machine is before the last entry of the ledger.")
        if any(at is None or at > now + _SKEW for at in map(as_time, signed)):
            raise _untimely("The clock of this machine is before the time of the request or of a signature.")


def _unfit_signature(finding: str) -> ApprovalError:
    return ApprovalError(
        "HG326",
        rule="A signature is valid for one unchanged request, and for one ledger.",
        finding=finding,
        remedy="Ask for a new signature, by `hedgerow approve`. Nothing was read or spent.",
    )


def _untimely(finding: str) -> ApprovalError:
    return ApprovalError(
        "HG328",
        rule="A signed request may run until its last day, measured by a clock that is not set back.",
        finding=finding,
        remedy="Make a new request, or correct the clock of this machine. Nothing was read or spent.",
    )
