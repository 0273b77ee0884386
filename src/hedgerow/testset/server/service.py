"""Answers to requests about one test set, whatever carries them: public facts, and scores that are paid for.

Guarantee: every key is answered by one score, ever. A look is reserved, durably, before labels are read; its score is
recorded, durably, before it is sent; the same predictions under the same key are answered from the record. A server
that was killed in between takes the same look to its end when the request comes again: nobody has seen a score of it.

An answer depends on what was sent, on public facts and on paid scores alone. Whatever fails on the custodian's side is
told to the custodian; a client learns the code.

Predictions as they were sent: JSON or CSV, read strictly and in memory, before anything of the test set is touched.

What is refused here depends on the body alone (HG453), and the words never quote it.

What a server asks of the files that it keeps: nobody else can read the labels, and no other server counts here.
"""

from __future__ import annotations

import csv
import io
import os
import stat
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr, ValidationError

from hedgerow.canonical import value_of_json
from hedgerow.engines.csv_header import parsed
from hedgerow.engines.query import Query, SumsQuery
from hedgerow.engines.schema import BLANKS, NUMBER, TEXT_CELL, check_present, check_query
from hedgerow.errors import BudgetExceeded, DataError, HedgerowError, LedgerError, ParameterError, SpentError
from hedgerow.inputs import note_input
from hedgerow.testset.file_columns import FileColumns
from hedgerow.testset.label_sources import FileSource, SubmissionOptions, changed_labels
from hedgerow.testset.looks import secret_path
from hedgerow.testset.testset import TestSet
from hedgerow.transport.local_server import stopping_error
from hedgerow.version import __version__

JSON, CSV = "application/json", "text/csv"
_MOST = 10**308  # a whole number beyond every double would be read as missing, and counted as wrong
_Number = Annotated[StrictFloat, Field(allow_inf_nan=False)] | Annotated[StrictInt, Field(ge=-_MOST, le=_MOST)]


class Sent(BaseModel):
    """The body of a request in JSON."""

    model_config = ConfigDict(extra="forbid")

    predictions: list[_Number | StrictStr | None]
    keys: list[StrictInt | StrictStr] | None = None
    training_score: _Number | None = None
    against: list[_Number | StrictStr | None] | None = None
    metric: StrictStr | list[StrictStr] | None = None
    groups: list[_Number | StrictStr] | None = None
    positive: _Number | StrictStr | None = None


@dataclass(frozen=True, slots=True)
class Submission:
    """Columns of predictions, and keys if there are any; an `hedgerow.engines.source.InOrder`.

    Attributes
    ----------
    columns : mapping
        Name → kind.
    cells : mapping
        Name → cells.
    asked : SubmissionOptions
        What is asked with them.
    against : Submission or None
        What they are compared with.
    """

    columns: Mapping[str, str]
    cells: Mapping[str, list[Any]]
    asked: SubmissionOptions = field(default_factory=SubmissionOptions)
    against: Submission | None = None

    def check(self, query: Query | SumsQuery) -> None:
        """Refuse a question that the columns cannot answer (HG111, HG203, HG204)."""
        check_query(query, self.columns)

    def in_order(self, columns: Sequence[str]) -> list[Any]:
        """Return the cells of some columns (HG203)."""
        check_present(columns, self.columns)
        return [self.cells[column] for column in columns]


def read(body: bytes, content_type: str, wanted: FileColumns) -> Submission:
    """Return what a body holds (HG453 if it is no such JSON or CSV)."""
    try:
        text = body.decode("utf-8-sig" if content_type == CSV else "utf-8")
    except UnicodeDecodeError:
        raise malformed("It is no UTF-8 text.") from None
    return _from_csv(text, body) if content_type == CSV else _from_json(text, wanted)


def _from_json(text: str, wanted: FileColumns) -> Submission:
    try:
        sent = Sent.model_validate(value_of_json(text))
    except (ValidationError, ValueError, RecursionError):
        sent = None
    if sent is None:
        raise malformed(
            "It is no JSON object with `predictions`, a list of numbers, texts and nulls, and where they are wanted "
            "`keys`, `against`, `metric`, `groups`, `positive`, `training_score`; every name once, every number finite."
        )
    keys: list[Any] | None = sent.keys
    if keys is not None and (
        wanted.key is None or wanted.key == wanted.prediction or len(keys) != len(sent.predictions)
    ):
        raise malformed("`keys` are one for each prediction, for a test set that joins by key; here they are not.")
    others = [entries for entries in (sent.against, sent.groups) if entries is not None]
    plain = (sent.metric, sent.groups, sent.positive, sent.training_score) == (None,) * 4
    if any(len(entries) != len(sent.predictions) for entries in others) or (sent.against is not None and not plain):
        raise malformed("`against` and `groups` are one for each prediction, and a comparison asks nothing else.")
    # Longer than every other name.
    column = f"{wanted.prediction} {wanted.key or ''} group"
    asked = SubmissionOptions(
        metric=sent.metric, groups=None if sent.groups is None else column, positive=sent.positive
    )
    asked["training_score"] = sent.training_score
    columns = {wanted.prediction: sent.predictions, column: sent.groups, wanted.key or "": keys}
    against = None if sent.against is None else _columns({wanted.prediction: sent.against, wanted.key or "": keys})
    return replace(_columns(columns), asked=asked, against=against)


def _columns(given: Mapping[str, list[Any] | None]) -> Submission:
    cells = {name: column for name, column in given.items() if column is not None}
    kinds = {name: TEXT_CELL if any(isinstance(cell, str) for cell in cells[name]) else NUMBER for name in cells}
    return Submission(kinds, {name: _trimmed(column) for name, column in cells.items()})


def _from_csv(text: str, body: bytes) -> Submission:
    """Read CSV as `hedgerow.engines.files` does, but refuse what a file is forgiven: short, long and broken rows."""
    header = parsed(body, "the body")
    rows: list[list[str]] | None = None
    if "\0" not in text:
        try:
            rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=header.delimiter, strict=True))[1:]
        except csv.Error:  # a quotation mark in the middle of a cell, or one that never closes
            rows = None
    while rows and not rows[-1]:
        rows.pop()
    if rows is None or any(len(row) != len(header.names) for row in rows):
        raise malformed("It is no CSV text with a header and as many cells in every row.")
    columns = zip(*rows, strict=True) if rows else [()] * len(header.names)
    cells = {name: _trimmed(list(column)) for name, column in zip(header.names, columns, strict=True) if name}
    return Submission(dict.fromkeys(cells, TEXT_CELL), cells)


def _trimmed(cells: list[Any]) -> list[Any]:
    return [(cell.strip(BLANKS) or None) if isinstance(cell, str) else cell for cell in cells]


def malformed(finding: str) -> ParameterError:
    """Return the refusal of a request that cannot be read."""
    return ParameterError(
        "HG453",
        rule="A request needs predictions as JSON or CSV, a content type, and its own Idempotency-Key.",
        finding=finding,
        remedy="No look was taken. Correct the request and send it again.",
    )


def check_private(path: Path, what: str) -> Path:
    """Return the file that a path leads to, once its user alone may read and replace it (HG451).

    Links are followed first. The folder must not be writable by others, who could put another file in its place; a
    folder with the sticky bit, such as ``/tmp``, protects the files of each user.
    """
    try:
        resolved = path.resolve(strict=True)
        mode, folder = resolved.stat(), resolved.parent.stat()
    except (OSError, RuntimeError, ValueError):
        raise DataError(
            "HG435",
            rule="Labels stay with the custodian, in the file from which the test set was made.",
            finding=f"The file of {what} is not there, or not for this user.",
            remedy='Name the present file of labels: labels="FILE".',
        ) from None
    if not stat.S_ISREG(mode.st_mode) or mode.st_uid != os.geteuid() or mode.st_mode & 0o077:
        raise _open_to_others(
            f"The file of {what} belongs to somebody else, or others may use it.", "chmod 600", resolved
        )
    if folder.st_mode & 0o022 and not folder.st_mode & stat.S_ISVTX:
        raise _open_to_others(f"Others may replace the file of {what}.", "chmod go-w", resolved.parent)
    return resolved


def lock(secret: Path) -> int:
    """Return a descriptor that holds the test set for one server; the system frees it when the process ends (HG452).

    The secret is locked and not the ledger: SQLite's own locks go when any descriptor of that file is closed.
    """
    try:
        import fcntl

        held = os.open(secret, os.O_RDONLY | os.O_CLOEXEC)
    except (ImportError, OSError):
        raise _held("Its secret cannot be locked.", "Serve it on Linux or macOS, from its own disk.") from None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        raise _held("Another one serves it now.", "Stop that one first, or send predictions there.") from None
    return held


def _open_to_others(finding: str, remedy: str, path: Path) -> DataError:
    return DataError(
        "HG451",
        rule="The files of a server must be readable by its user only, in a folder in which only this user may write.",
        finding=finding,
        remedy=f"As its owner: {remedy} {path.name}. Nothing was read.",
    )


def _held(finding: str, remedy: str) -> LedgerError:
    rule = "A test set is served by one server at a time, which limits its requests."
    return LedgerError("HG452", rule=rule, finding=finding, remedy=remedy)


_LEAST_BYTES, _USUAL_BYTES, _BYTES_A_RECORD = 2**20, 64 * 2**20, 128


@dataclass(frozen=True, slots=True)
class ServerAnswer:
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
        facts, columns = self._test_set.to_dict(), self._source.columns
        del facts["labels_file"]
        declared = {"prediction": columns.prediction, "declared_labels": list(columns.labels)}
        return {**facts, "predicted": columns.metric.needs, **declared, "version": __version__}

    def answer_facts(self) -> ServerAnswer:
        """Answer with the public facts."""
        return self._guarded(lambda: ServerAnswer(200, {"test_set": self.facts()}))

    def answer_score(self, key: str, body: bytes, content_type: str) -> ServerAnswer:
        """Answer with the score of predictions, from its record where the key was answered before."""
        return self._guarded(lambda: self._score(key, body, content_type))

    def _score(self, key: str, body: bytes, content_type: str) -> ServerAnswer:
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
                score = self._test_set.compare(sent, sent.against, request_id=key, labels=self._named)
            else:
                asked: SubmissionOptions = {**sent.asked, "request_id": key}
                score = self._test_set.score(sent, **asked, labels=self._named)
        if score.unrecorded:
            # Not sent: what is on no record could be drawn a second time.
            raise SpentError(
                "HG606",
                rule="The ledger stores each released result beside its price.",
                finding="The score could not be written to the ledger, and was not sent.",
                remedy="The custodian must make room on the disk. After the disk has room, the same request under "
                "the same key takes no second look.",
            )
        again = {"replayed": score.replayed, "ledger": {"head": score.ledger_head}}
        self._tell(f"look {score.look} of {score.n_looks}" + (", from its record" if score.replayed else ""))
        return ServerAnswer(200, score.to_dict() | again)

    def _labels_state(self) -> tuple[int, ...]:
        try:
            status = self._labels.stat()
        except OSError:
            return ()
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode, status.st_uid

    def _guarded(self, answer: Callable[[], ServerAnswer]) -> ServerAnswer:
        try:
            return answer()
        except HedgerowError as error:
            refused = error
        except BaseException:
            # Compiled libraries raise outside Exception too, and no words of theirs may be told: they may quote a cell.
            refused = HedgerowError(
                "HG901",
                rule="Every failure has a code and a page.",
                finding="The failure has no error code, so it is a bug in hedgerow.",
            )
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


def refusal(refused: HedgerowError, status: int) -> ServerAnswer:
    """Return a refusal as an answer; of what the custodian must mend it holds the code, and nothing else of it."""
    said = {"code": refused.code, "rule": refused.rule, "finding": refused.finding, "remedy": refused.remedy}
    if status >= 500:
        said["rule"] = "A score is recorded before it is sent."
        said["finding"] = "The server cannot answer now; the custodian is told why."
        said["remedy"] = "Send the same request again later, under the same key: it takes one look in all."
    return ServerAnswer(status, {"error": {**said, "exit": refused.exit_code}}, 10 if status == 503 else None)


def stopping() -> ServerAnswer:
    """Return the answer of a server that is about to end."""
    return refusal(stopping_error(), 503)
