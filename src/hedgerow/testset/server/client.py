"""`TestSetClient`: asks a server of a test set for scores."""

from __future__ import annotations

import http.client
import json
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack
from uuid import uuid4

import numpy as np

from hedgerow.engines.source import open_in_order
from hedgerow.errors import BudgetExceeded, DataError, HedgerowError, LedgerError, ParameterError, SpentError
from hedgerow.testset.entries import entries_of
from hedgerow.testset.file_columns import as_key, check_covered, check_distinct, refuse_further_columns
from hedgerow.testset.label_sources import SubmissionOptions
from hedgerow.testset.scores import Score, score_from_record
from hedgerow.transport.address import Address

_ERRORS: dict[int, type[HedgerowError]] = {400: ParameterError, 413: ParameterError, 409: LedgerError, 500: SpentError}
_MOST_BYTES = 64 * 2**20
_FIRST = 10.0  # seconds in which the first answer must come


class TestSetClient:
    """A client of a test set server, which the command `hedgerow testset serve` starts.

    One call takes at most one look (query), even if connections or servers fail. The client repeats a failed request
    under the same id, and the server answers each id only once.

    Parameters
    ----------
    address : str
        The address of the server: ``"http://localhost:8080"`` or ``"unix:///run/ts.socket"``.
    patience : float
        The number of seconds for which a request is repeated, if the server is unreachable, stops or is busy. If the
        server has never answered before, a request is repeated for at most 10 seconds.
    timeout : float
        The number of seconds to wait for one answer.

    Raises
    ------
    ParameterError
        HG450: the address is neither a Unix socket nor a port of this machine.

    Examples
    --------
    >>> TestSetClient("http://localhost:8080")
    <TestSetClient http://localhost:8080>
    """

    # Test runners collect classes whose names begin so.
    __test__ = False

    def __init__(self, address: str, *, patience: float = 60.0, timeout: float = 60.0) -> None:
        self._address = Address.parse(address)
        self._patience, self._timeout, self._answered = patience, timeout, False

    def to_dict(self) -> dict[str, Any]:
        """Return the settings of the test set and its number of remaining looks, as plain JSON data.

        Nothing is spent (HG456).
        """
        facts: dict[str, Any] = self.facts()["test_set"]
        return facts

    def close(self) -> None:
        """Do nothing, because each request opens and closes its own connection."""

    def facts(self) -> dict[str, Any]:
        """Return the public facts of the test set and the limits of its server. Nothing is spent.

        Raises
        ------
        DataError
            HG456: no server answers.
        """
        return self._ask("GET", "/v1", None, {})

    def score(
        self,
        predictions: Any,
        *,
        keys: Sequence[Any] | None = None,
        metric: str | Sequence[str] | None = None,
        groups: Any = None,
        positive: Any = None,
        training_score: float | None = None,
        request_id: str | None = None,
    ) -> Score:
        """Send predictions to the server, and return their score, which takes one look (query).

        Parameters
        ----------
        predictions : array
            The predictions: labels or probabilities of the positive label, as numbers or texts. Predictions without
            `keys` must be in the order of the test set.
        keys : sequence, optional
            The key of each prediction, if the test set matches predictions and records by a key.
        metric, groups, positive, training_score : optional
            The arguments of `hedgerow.testset.TestSet.score`.
        request_id : str, optional
            The name of the request: 1 to 200 visible ASCII characters. If the same predictions are sent again under the
            same name, no second look is taken.

        Returns
        -------
        Score
            The score, in the form that `hedgerow.testset.TestSet.score` returns.

        Raises
        ------
        BudgetExceeded
            HG430: all declared looks (queries) are taken.
        ParameterError
            HG170, HG437, HG453, HG454 and others: the request is invalid, and no look was taken.
        LedgerError, SpentError
            HG311: the request id was used for other predictions. HG606 and others: an error occurred after the look was
            counted; repeat the request under the same id.
        DataError
            HG456: no server answers. The server may have received the request, so repeat the request under the same id.

        Examples
        --------
        >>> client = TestSetClient(address)  # of a server of 60 labels, which are 0 or 1
        >>> score = client.score([0, 1] * 30, request_id="alternating")
        >>> score.metric, score.look, client.score([0, 1] * 30, request_id="alternating").replayed
        ('accuracy', 1, True)
        """
        sent: dict[str, Any] = {"predictions": _plain(predictions)}
        named = metric if metric is None or isinstance(metric, str) else list(metric)
        label = positive.item() if hasattr(positive, "item") else positive
        given = {"metric": named, "groups": None if groups is None else _plain(groups), "positive": label}
        sent |= {
            name: value for name, value in (given | {"training_score": training_score}).items() if value is not None
        }
        return self._look(sent, keys, request_id)

    def compare(
        self, first: Any, second: Any, *, keys: Sequence[Any] | None = None, request_id: str | None = None
    ) -> Score:
        """Return the difference of the scores of two models, which takes one look; see `TestSet.compare`.

        Parameters
        ----------
        first, second : array
            The predictions of the two models, in the same order and with the same `keys`.
        keys : sequence, optional
            The key of each prediction, if the test set matches predictions and records by a key.
        request_id : str, optional
            The name of the request: 1 to 200 visible ASCII characters. If the same predictions are sent again under the
            same name, no second look is taken.

        Returns
        -------
        Score
            The difference of the two scores, first minus second.

        Raises
        ------
        HedgerowError
            The errors of `score`.
        UncertifiedError
            HG431: no privacy price is proven for this metric or this mechanism. No look was taken.

        Examples
        --------
        >>> client = TestSetClient(address)  # of a server of 60 labels, which are 0 or 1
        >>> difference = client.compare([0, 1] * 30, [1] * 60)
        >>> difference.look, -1 <= difference.value <= 1
        (1, True)
        """
        return self._look({"predictions": _plain(first), "against": _plain(second)}, keys, request_id)

    def _look(self, sent: dict[str, Any], keys: Sequence[Any] | None, request_id: str | None) -> Score:
        key = uuid4().hex if request_id is None else request_id
        if not (isinstance(key, str) and re.fullmatch(r"[\x21-\x7e]{1,200}", key)):
            raise ParameterError(
                "HG314",
                rule="`request_id` must be a text of 1 to 200 visible ASCII characters.",
                finding="The given value does not follow the rule.",
                remedy="Nothing was sent.",
            )
        if keys is not None:
            sent["keys"] = [key.item() if hasattr(key, "item") else key for key in keys]
        try:
            body = json.dumps(sent, allow_nan=False).encode()
        except (TypeError, ValueError):
            raise ParameterError(
                "HG437",
                rule="Keys are whole numbers or texts, and a training score is a finite number.",
                finding="Found another value.",
                remedy="Nothing was sent.",
            ) from None
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        answer = self._ask("POST", "/v1/scores", body, headers)
        head = answer.get("ledger", {}).get("head")
        score = score_from_record(json.dumps(answer))
        return replace(score, ledger_head=head or None, replayed=bool(answer.get("replayed")))

    def score_file(self, source: str | Path, **asked: Unpack[SubmissionOptions]) -> Score:
        r"""Send the predictions in a file to the server, and return their score, which takes one look (query).

        Only the columns that the test set names, and the column `groups`, are sent to the server. Further columns of
        the file of predictions are not sent to the server. If the test set has no key column, further columns are
        refused.

        Parameters
        ----------
        source : path
            The file of predictions.
        metric, positive, training_score, request_id : optional
            The arguments of `score`.
        groups : str, optional
            The column of the file that holds the group of each record.

        Returns
        -------
        Score
            The score, in the form that `score` returns.

        Raises
        ------
        HedgerowError
            The errors of `score`. HG201 to HG209: the file cannot be read. HG437: a key is missing or repeated, or the
            file has columns that are refused. No look was taken.

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp(), "predictions.csv")
        >>> _ = file.write_text("p\n" + "0\n1\n" * 30)
        >>> client = TestSetClient(address)  # of a server of 60 labels; predictions stand in the column p
        >>> client.score_file(file).look, client.facts()["test_set"]["remaining"]
        (1, 8)
        """
        predictions, keys, groups = self._read(source, asked.get("groups"))
        given: dict[str, Any] = {**asked, "groups": groups}
        return self.score(predictions, keys=keys, **given)

    def compare_files(self, first: str | Path, second: str | Path, *, request_id: str | None = None) -> Score:
        r"""Send the predictions in two files, and return the difference of their scores, which takes one look.

        The rows of the two files are matched by key or by position.

        Parameters
        ----------
        first, second : path
            The files of predictions.
        request_id : str, optional
            The name of the request, as in `score`.

        Returns
        -------
        Score
            The difference of the two scores, first minus second.

        Raises
        ------
        HedgerowError
            The errors of `compare`. HG201 to HG209: a file cannot be read. HG437: the keys of the two files differ. No
            look was taken.

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> first, second = (Path(mkdtemp(), "predictions.csv") for _ in range(2))
        >>> _, _ = first.write_text("p\n" + "0\n1\n" * 30), second.write_text("p\n" + "1\n" * 60)
        >>> TestSetClient(address).compare_files(first, second).look  # of a server of 60 labels, which are 0 or 1
        1
        """
        (predictions, keys, _), (other, others, _) = self._read(first, None), self._read(second, None)
        if keys is not None and others is not None:
            check_distinct(keys, whose="predictions")
            check_distinct(others, whose="predictions")
            check_covered(keys, others)
            place = {key: at for at, key in enumerate(others)}
            other = [other[place[key]] for key in keys]
        return self.compare(predictions, other, keys=keys, request_id=request_id)

    def _read(self, source: str | Path, group: str | None) -> tuple[list[Any], list[str] | None, list[Any] | None]:
        facts, opened = self.to_dict(), open_in_order(source)
        named = {"predictions": facts["prediction"], "keys": facts["key"], "groups": group}
        names = [name for name in named.values() if name is not None]
        cells = dict(
            zip((role for role, name in named.items() if name is not None), opened.in_order(names), strict=True)
        )
        if facts["key"] is None:
            refuse_further_columns(opened.columns, names)
        keys = [as_key(cell) for cell in cells["keys"]] if "keys" in cells else None
        return list(cells["predictions"]), keys, list(cells["groups"]) if "groups" in cells else None

    def __repr__(self) -> str:
        return f"<TestSetClient {self._address}>"

    def _ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> dict[str, Any]:
        begun = time.monotonic()
        while True:
            answer = self._once(method, path, body, headers)
            if answer is not None and answer[0] not in (408, 429, 503):
                break
            wait = 0.2 if answer is None else max(0.2, float(answer[2]))
            # Where nothing was answered before, the address may be mistyped.
            known = self._answered or answer is not None
            if time.monotonic() + wait > begun + (self._patience if known else min(self._patience, _FIRST)):
                break
            time.sleep(wait)
        if answer is None:
            raise self._away("Nothing answers there.")
        self._answered = True
        status, record, _ = answer
        if status == 200:
            return record
        raise self._refused(status, record.get("error"))

    def _once(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, dict[str, Any], int] | None:
        """Return status, record and seconds to wait; None where nothing answered."""
        connection = self._address.connect(self._timeout)
        try:
            with suppress(BrokenPipeError, ConnectionResetError):  # refused early: the answer may be there
                connection.request(method, path, body=body, headers=headers)
            answer = connection.getresponse()
            text = answer.read(_MOST_BYTES)
            wait = answer.headers.get("Retry-After", "0")
            record = json.loads(text)
        except (OSError, http.client.HTTPException):
            return None
        except ValueError:
            record = None
        finally:
            connection.close()
        if not isinstance(record, dict):
            raise self._away("What answers there is no server of a test set.")
        return answer.status, record, int(wait) if wait.isascii() and wait.isdigit() else 0

    def _refused(self, status: int, error: Any) -> HedgerowError:
        fields = error if isinstance(error, dict) else {}
        code, rule, finding, remedy = (str(fields.get(part, "")) for part in ("code", "rule", "finding", "remedy"))
        if not code:
            return self._away("What answers there is no server of a test set.")
        if status == 403:
            return BudgetExceeded(code, requested=1.0, remaining=0.0, rule=rule, finding=finding, remedy=remedy)
        kind = _ERRORS.get(status, DataError if status == 503 else ParameterError)
        return kind(code, rule=rule, finding=finding, remedy=remedy)

    def _away(self, finding: str) -> DataError:
        return DataError(
            "HG456",
            rule=f"A test set is asked where `hedgerow testset serve` runs: {self._address}.",
            finding=finding,
            remedy="Start the server. The request may have arrived, so repeat the request under the same id.",
        )


def _plain(predictions: Any) -> list[Any]:
    """Return predictions as JSON says them: numbers, texts, and None for what is neither."""
    try:
        entries = entries_of(predictions)
    except Exception:  # whatever a foreign table raises
        entries = None
    if entries is None or np.isinf(entries.numbers).any():
        raise ParameterError(
            "HG170",
            rule="Predictions are one finite number or label for each record of the test set.",
            finding="The given predictions have another shape or type.",
            remedy="If predictions are probabilities, give only the probabilities of the positive label. Nothing was "
            "sent.",
        )
    numbers = [int(number) if number.is_integer() else number for number in entries.numbers.tolist()]
    texts, is_text, missing = entries.texts.tolist(), entries.is_text.tolist(), entries.missing.tolist()
    places = range(len(entries))
    return [None if missing[i] else texts[i] if is_text[i] else numbers[i] for i in places]
