"""Answers to requests about one test set, whatever carries them: public facts, and scores that are paid for.

Guarantee: every key is answered by one score, ever. A look is reserved, durably, before labels are read; its score is
recorded, durably, before it is sent; the same predictions under the same key are answered from the record. A server
that was killed in between takes the same look to its end when the request comes again: nobody has seen a score of it.

An answer depends on what was sent, on public facts and on paid scores alone. Whatever fails on the custodian's side is
told to the custodian; a client learns the code.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from hedgerow.errors import BudgetExceeded, DataError, HedgerowError, LedgerError, ParameterError, SpentError
from hedgerow.inputs import note_input
from hedgerow.testset.from_file import Asked, FileSource, changed_labels
from hedgerow.testset.looks import secret_path
from hedgerow.testset.server.custody import check_private, lock
from hedgerow.testset.server.submission import read
from hedgerow.testset.testset import TestSet
from hedgerow.version import __version__

_LEAST_BYTES, _USUAL_BYTES, _BYTES_A_RECORD = 2**20, 64 * 2**20, 128


@dataclass(frozen=True, slots=True)
class Answer:
    """A status of HTTP, plain JSON data, and in how many seconds to ask again, where that helps."""

    status: int
    record: Mapping[str, Any]
    retry_after: int | None = None


class Service:
    """The test set of a ledger, held by one server.

    Parameters
    ----------
    ledger, labels : path
        The labels must be those with which the ledger was made, byte by byte.
    tell : callable
        Tells the custodian one line.

    Raises
    ------
    DataError
        HG434 other labels, HG435 no labels, HG451 a file that others may read or replace.
    LedgerError
        HG301 to HG308, HG433, HG438 the ledger; HG452 another server holds it.
    """

    def __init__(self, ledger: str | Path, labels: str | Path, tell: Callable[[str], None]) -> None:
        self._tell, self._turn, self.stopping = tell, Lock(), False
        self._source = FileSource.open(ledger)
        self._test_set = TestSet.of(self._source)
        self._held = -1
        try:
            place = Path(ledger).resolve(strict=True)
            self._labels = check_private(Path(labels), "labels")
            check_private(place, "the ledger")
            self._held = lock(check_private(secret_path(place), "the secret"))
            note_input(self._labels)
            self._named = self._source.serve(self._labels)
            self._state = self._labels_state()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the ledger and its lock."""
        self._test_set.close()
        if self._held >= 0:
            os.close(self._held)
            self._held = -1

    @property
    def usual_bytes(self) -> int:
        """The limit of a body where none is declared; public."""
        return usual_bytes(self._test_set.settings.conditions.n)

    def facts(self) -> dict[str, Any]:
        """Return what is public: settings, and what is left."""
        told, columns = self._test_set.to_dict(), self._source.columns
        del told["labels_file"]
        declared = {"prediction": columns.prediction, "declared_labels": list(columns.labels)}
        return {**told, "predicted": columns.metric.needs, **declared, "version": __version__}

    def answer_facts(self) -> Answer:
        """Answer with the public facts."""
        return self._guarded(lambda: Answer(200, {"test_set": self.facts()}))

    def answer_score(self, key: str, body: bytes, content_type: str) -> Answer:
        """Answer with the score of predictions, from its record where the key was answered before."""
        return self._guarded(lambda: self._score(key, body, content_type))

    def _score(self, key: str, body: bytes, content_type: str) -> Answer:
        # One body at a time is taken apart, which takes many times its bytes.
        with self._turn, warnings.catch_warnings():
            # What hedgerow would warn of is in the answer; a library's warning may quote data.
            warnings.simplefilter("ignore")
            if self.stopping:
                return stopping()
            sent = read(body, content_type, self._source.columns)
            if self._labels_state() != self._state:
                raise changed_labels()
            if sent.against is not None:
                found = self._test_set.compare(sent, sent.against, request_id=key, labels=self._named)
            else:
                asked: Asked = {**sent.asked, "request_id": key}
                found = self._test_set.score(sent, **asked, labels=self._named)
        if found.unrecorded:
            # Not sent: what is on no record could be drawn a second time.
            raise SpentError(
                "HG606",
                rule="What was released is kept in the ledger, beside its price.",
                finding="This score could not be written there, and was not sent.",
                remedy="The custodian makes room. Then the same request under the same key takes no second look.",
            )
        again = {"replayed": found.replayed, "ledger": {"head": found.ledger_head}}
        self._tell(f"look {found.look} of {found.n_looks}" + (", from its record" if found.replayed else ""))
        return Answer(200, found.to_dict() | again)

    def _labels_state(self) -> tuple[int, ...]:
        try:
            found = self._labels.stat()
        except OSError:
            return ()
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode, found.st_uid

    def _guarded(self, answer: Callable[[], Answer]) -> Answer:
        try:
            return answer()
        except HedgerowError as error:
            refused = error
        except BaseException:
            # Compiled libraries raise outside Exception too, and no words of theirs may be told: they may quote a cell.
            refused = HedgerowError("HG901", rule="Every failure has a code and a page.", finding="This one has none.")
        status = status_of(refused)
        if status >= 500:
            self._tell(str(refused))
        return refusal(refused, status)


def usual_bytes(n: int | None) -> int:
    """Return the limit of a body for n records, a public number; for a private one a limit that does not depend on it.

    >>> usual_bytes(10_000), usual_bytes(1_000_000), usual_bytes(None)
    (1280000, 128000000, 67108864)
    """
    return _USUAL_BYTES if n is None else max(_LEAST_BYTES, _BYTES_A_RECORD * n)


def status_of(refused: HedgerowError) -> int:
    """Return the status of a refusal: 400 to 409 for what the client can mend, 500 for a look that was not answered.

    >>> status_of(ParameterError("HG170", rule="")), status_of(LedgerError("HG311", rule=""))
    (400, 409)
    >>> status_of(DataError("HG434", rule=""))
    503
    """
    if isinstance(refused, BudgetExceeded):
        return 403
    if refused.code in ("HG311", "HG312"):
        return 409
    if isinstance(refused, SpentError):
        return 500
    # Of a body these come before anything of the test set is touched; of labels and ledgers other codes come.
    if isinstance(refused, ParameterError) or refused.code in ("HG431", "HG202", "HG203", "HG204", "HG205", "HG206"):
        return 400
    return 503 if isinstance(refused, (DataError, LedgerError)) else 500


def refusal(refused: HedgerowError, status: int) -> Answer:
    """Return a refusal as an answer; of what the custodian must mend it holds the code, and nothing else of it."""
    said = {"code": refused.code, "rule": refused.rule, "finding": refused.finding, "remedy": refused.remedy}
    if status >= 500:
        said["rule"] = "A score is recorded before it is sent."
        said["finding"] = "The server cannot answer now; the custodian is told why."
        said["remedy"] = "Send the same request again later, under the same key: it takes one look in all."
    return Answer(status, {"error": {**said, "exit": refused.exit_code}}, 10 if status == 503 else None)


def stopping() -> Answer:
    """Return the answer of a server that is about to end."""
    return refusal(LedgerError("HG455", rule="A server that stops takes no new request."), 503)
