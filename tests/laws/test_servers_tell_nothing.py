"""No label changes what a server answers: status, headers and words are the same for neighbours, but for paid scores.

Each request is sent to servers of neighbouring files of labels: one label says something ordinary or something odd, or,
where the number of records is private, one record more is there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.testset.served import LABELS, PREDICTED, N, answered, made, post, sent, serving

from hedgerow.testset.file_columns import FileColumns
from hedgerow.testset.server.service import usual_bytes

ODD = 17
CELLS = [0, 1, "x", '"a,\nb"', "9" * 400, "\0"]
# What a score says of itself is public; the rest of it is the noisy score, which is paid for.
PUBLIC = {"metric", "mechanism", "look", "n_looks", "remaining", "paid", "request_id", "simulated", "greater_is_better"}


def requests(key: str | None) -> dict[str, bytes]:
    keys = [f"r{place}" for place in range(N)]
    good: dict[str, Any] = {"predictions": PREDICTED} | ({"keys": keys} if key else {})
    one_less = {name: value[1:] for name, value in good.items()}
    return {
        "facts": b"GET /v1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "a look": post(good),
        "its repetition": post(good),
        "another under its key": post({**good, "predictions": LABELS}),
        "one less": post(one_less, "b"),
        "one more": post({name: [*value, value[0]] for name, value in good.items()}, "c"),
        "texts": post({**good, "predictions": ["x"] * N}, "d"),
        "nothing": post({**good, "predictions": [None] * N}, "e"),
        "other keys": post({**good, "keys": [f"s{place}" for place in range(N)]}, "f"),
        "no keys": post({"predictions": PREDICTED}, "g"),
        "csv": post(b"p\n" + b"1\n" * N, "h"),
        "a further column": post(b"p,q\n" + b"1,2\n" * N, "m"),
        "an odd label by parts": post({**good, "predictions": ["x"] * N, "metric": "f1"}, "n"),
        "no JSON": post({}, "i"),
        "too much": post(b"p\n" + b"1\n" * 2**12, "j"),
        "one too many": post({**good, "predictions": PREDICTED}, "k"),
        "the last": post({**good, "predictions": PREDICTED}, "l"),
        "beyond the last": post({**good, "predictions": PREDICTED}, "o"),
        "facts at the end": b"GET /v1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    }


def told(raw: bytes) -> Any:
    """Return what came back without what was paid for, and without what names the ledger and not the labels."""
    status, headers, record = answered(raw)
    assert not any(word in json.dumps(record) for word in ("/etc", ".csv", "tmp", "Traceback"))
    if status == 200:
        headers.pop("Content-Length")  # of digits of the noisy score, and of the ledger's random head
        if "score" in record:
            record["score"] = {name: value for name, value in record["score"].items() if name in PUBLIC}
            for paid in ("released", "best"):
                record.pop(paid, None)  # the noisy numbers as they were drawn
        record.pop("ledger", None)
        record.get("test_set", {}).pop("head", None)
    return status, headers, record


def answers_of(files: dict[str, list[Any]], folder: Path, relation: str, key: str | None) -> dict[str, list[str]]:
    """Return what a server of each file answers to all requests, and for which files."""
    answers: dict[str, list[str]] = {}
    for place, (name, labels) in enumerate(files.items()):
        here = folder / str(place)
        here.mkdir()
        with serving(made(here, labels, looks=4, key=key, relation=relation)) as server:
            assert server.service.usual_bytes == usual_bytes(None if relation == "add-remove" else N)
            found = {one: told(sent(server, request)) for one, request in requests(key).items()}
        answers.setdefault(json.dumps(found, sort_keys=True), []).append(name)
    return answers


LONG = pytest.param("replace-one", "id", marks=pytest.mark.long)


@pytest.mark.parametrize(("relation", "key"), [("replace-one", None), LONG, ("add-remove", "id")])
def test_no_label_changes_what_a_server_answers(relation: str, key: str | None, tmp_path: Path) -> None:
    files = {repr(cell): [*LABELS[:ODD], cell, *LABELS[ODD + 1 :]] for cell in CELLS}
    if relation == "add-remove":
        files |= {"one record more": [*LABELS, 1], "one less": LABELS[1:]}
    answers = answers_of(files, tmp_path, relation, key)
    assert len(answers) == 1, list(answers.values())
    statuses = [status for status, _, _ in json.loads(next(iter(answers))).values()]
    assert {200, 400, 403, 409, 413} <= set(statuses)


def test_a_server_that_fails_for_one_label_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = FileColumns.read_labels

    def strict(columns: FileColumns, opened: Any) -> Any:
        labels, keys = read(columns, opened)
        if labels.missing.any():
            raise ValueError("a label is missing")
        return labels, keys

    monkeypatch.setattr(FileColumns, "read_labels", strict)
    files = {"plain": LABELS, "odd": [*LABELS[:ODD], "x", *LABELS[ODD + 1 :]]}
    assert len(answers_of(files, tmp_path, "replace-one", None)) == 2
