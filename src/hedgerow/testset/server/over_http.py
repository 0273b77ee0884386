"""The service of a test set over HTTP: two paths, public facts and scores, each answer JSON."""

from __future__ import annotations

import json
import re
from dataclasses import asdict

from hedgerow.errors import HedgerowError, ParameterError
from hedgerow.testset.server.service import CSV, JSON, ServerAnswer, Service, malformed, refusal
from hedgerow.transport.address import Access, Address
from hedgerow.transport.limits import Limits
from hedgerow.transport.local_server import HttpAnswer, LocalServer, RequestHead

FACTS, SCORES = "/v1", "/v1/scores"
_KEY = re.compile(r"[\x21-\x7e]{1,200}")


class TestSetServer(LocalServer):
    """Serves a test set at an address until it is stopped.

    Parameters
    ----------
    service : Service
    address, limits, access
        As of `hedgerow.transport.local_server.LocalServer`.

    Raises
    ------
    ParameterError
        HG450: the address is taken, or cannot be listened at.
    """

    # Test runners collect classes whose names begin so.
    __test__ = False
    nothing_done = "No look was taken."
    smaller = "Send one prediction for each record, as CSV."

    def __init__(self, service: Service, address: Address, limits: Limits, access: Access = "user") -> None:
        self.service = service
        super().__init__(address, limits, access)

    def take_no_more(self) -> None:
        """Refuse every request from now on; the look under way is finished and answered."""
        self.service.stopping = True
        super().take_no_more()

    def check(self, head: RequestHead) -> HttpAnswer | None:
        """Return the refusal of another path, and of a request for a score without its key or type."""
        if head.path != (FACTS if head.method == "GET" else SCORES):
            status = 405 if head.path in (FACTS, SCORES) else 404
            return self.refused(malformed(f"A test set is asked by GET {FACTS} and POST {SCORES}."), status)
        if head.method == "GET":
            return None
        if not _KEY.fullmatch(head.once("Idempotency-Key") or ""):
            return self.refused(malformed("It has no Idempotency-Key of 1 to 200 visible characters of ASCII."), 400)
        if head.media_type not in (JSON, CSV) or head.headers.get("Content-Encoding", "identity") != "identity":
            return self.refused(malformed(f"Its Content-Type is neither {JSON} nor {CSV}, or it is compressed."), 415)
        return None

    def answer(self, head: RequestHead, body: bytes) -> HttpAnswer:
        """Answer with a score, or with the public facts and the limits."""
        if head.method == "POST":
            return _as_json(self.service.answer_score(head.headers["Idempotency-Key"], body, head.media_type))
        answer = self.service.answer_facts()
        shares = {"connections_a_peer": self.limits.connections_a_peer, "head_seconds": self.limits.head_seconds}
        if answer.status == 200:
            answer = ServerAnswer(200, {**answer.record, "limits": {**asdict(self.limits), **shares}})
        return _as_json(answer)

    def malformed(self, finding: str) -> ParameterError:
        """Return the error of a request that cannot be read (HG453)."""
        return malformed(finding)

    def refused(self, error: HedgerowError, status: int, retry_after: int | None = None) -> HttpAnswer:
        """Return the answer that tells an error."""
        if retry_after is None:
            return _as_json(refusal(error, status))
        # There is no place now, which is nobody's failure: the words of the error are told.
        return _as_json(ServerAnswer(status, refusal(error, 429).record, retry_after))


def _as_json(answer: ServerAnswer) -> HttpAnswer:
    body = json.dumps(answer.record, ensure_ascii=True, allow_nan=False).encode() + b"\n"
    later = {} if answer.retry_after is None else {"Retry-After": str(answer.retry_after)}
    return HttpAnswer(answer.status, body, JSON, later)
