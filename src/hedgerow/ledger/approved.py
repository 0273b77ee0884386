"""What a ledger with approvers takes: a request that they signed, for this ledger, at no more than the signed price.

The approval stands in the reservation, so `hedgerow ledger verify` checks every signature again from the file alone.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from hedgerow.approval.approval import Approval
from hedgerow.approval.keys import Approver, checked_approvers
from hedgerow.canonical import canonical
from hedgerow.clock import now
from hedgerow.errors import ApprovalError, HedgerowError, ParameterError
from hedgerow.facts.validation import format_argument
from hedgerow.ledger.chain import Chain, broken
from hedgerow.ledger.guarantee import Price

SLACK = 1e-6
"""Of a price: another version of a library may round the same one to the next millionth."""


def require_signatures(chain: Chain, approval: Approval | None, request_id: str, fingerprint: str) -> None:
    """Refuse what no approver signed, where the ledger has approvers; and an approval where it has none.

    Raises
    ------
    ApprovalError
        HG322: what would run is not what was signed. HG324: nothing is signed. HG325 to HG327, HG329: as
        `Approval.require`.
    """
    header = chain.header
    if approval is None:
        if header.approvers:
            raise ApprovalError(
                "HG324",
                rule="This ledger accepts only signed requests.",
                finding="The call contains no approval (signed request).",
                remedy="Make a request with `hedgerow request`, and let an approver sign it. Nothing was read or "
                "spent.",
            )
        return
    approval.require(header.approvers, header.signatures, header.identity)
    if (request_id, fingerprint) != (approval.request.id, canonical(approval.request.asked)):
        differing = _differing(json.loads(fingerprint), approval.request.asked)
        raise other_than_signed(f"What would run differs from what was signed in: {', '.join(differing)}.")


def _differing(asked: Any, signed: Mapping[str, Any]) -> list[str]:
    """Return the names of what differs between two requests; "n" is the number of records.

    >>> _differing({"n": 601, "by": []}, {"n": 600, "by": []})
    ['n (the number of records)']
    """
    own = asked if isinstance(asked, dict) else {}
    names = [name for name in sorted({*own, *signed}) if canonical(own.get(name)) != canonical(signed.get(name))]
    return ["n (the number of records)" if name == "n" else name for name in names] or ["the name of the request"]


def require_now(connection: sqlite3.Connection, chain: Chain, approval: Approval | None, price: Price) -> None:
    """Refuse a signed request that is too late, by a clock that went back, or that costs more than was signed.

    Raises
    ------
    ApprovalError
        HG322: the price is above the signed price. HG328: as `Approval.require_time`.
    """
    if approval is None:
        return
    last = connection.execute("SELECT body FROM links ORDER BY counter DESC LIMIT 1").fetchone()
    approval.require_time(now(), str(json.loads(last[0])["at"]) if last else chain.header.at)
    signed = approval.request
    if price.epsilon > signed.epsilon + SLACK or getattr(price, "delta", 0.0) > signed.delta:
        raise other_than_signed("It would cost more than the signed price.")


def with_approval(body: dict[str, Any], approval: Approval | None) -> dict[str, Any]:
    """Return what a reservation writes down, with the approval that it rests on."""
    return body if approval is None else {**body, "approval": approval.to_dict()}


def check_approvals(chain: Chain) -> None:
    """Check the signatures of every reservation again (HG305)."""
    for name, reserved in chain.reserved.items():
        record: Mapping[str, Any] = reserved.record
        try:
            stored = record.get("approval")
            approval = None if stored is None else Approval.from_dict(stored)
            require_signatures(chain, approval, name, record["fingerprint"])
        except HedgerowError as refused:
            if refused.code == "HG319":
                raise
            raise broken(f"The approval at link {reserved.link.counter} does not hold ({refused.code}).") from None


def checked_people(approvers: Sequence[Approver], signatures: int) -> tuple[tuple[Approver, ...], int]:
    """Return the approvers of a new ledger, and how many of them must sign (HG331, HG332)."""
    people = checked_approvers(approvers) if approvers else ()
    if type(signatures) is not int or not 1 <= signatures <= max(1, len(people)):
        raise ParameterError(
            "HG332",
            rule="A ledger requires at least 1 signature for each request, and at most as many signatures as the "
            "ledger has approvers.",
            finding=f"Found {format_argument(signatures)} for {len(people)} approvers.",
            remedy="Name more approvers, or ask for fewer signatures.",
        )
    return people, signatures


def other_than_signed(finding: str) -> ApprovalError:
    """Return the refusal of a run that differs from what was signed (HG322)."""
    return ApprovalError(
        "HG322",
        rule="A signed request runs exactly as it was signed.",
        finding=finding,
        remedy="Release the data for which the request was made; or ask again by `hedgerow request`, with the facts, "
        "the number of records and the version of hedgerow of today, and sign the new request. Nothing was spent.",
    )
