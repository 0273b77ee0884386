"""Looks by parts and comparisons from files, through the command line, the server and its client: one look each."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.unit.testset.served import LABELS, PREDICTED, N, answered, made, post, sent, serving

from hedgerow.cli.main import app
from hedgerow.errors import DataError, LedgerError, ParameterError
from hedgerow.testset import TestSet, TestSetClient
from hedgerow.testset.file_columns import FileColumns

OTHER = random.Random(19).choices([0, 1], k=N)
REGION = [("north", "south", "east")[place % 3] for place in range(N)]
CHANCES = [round(0.2 + 0.6 * one + 0.003 * place, 3) for place, one in enumerate(PREDICTED)]
GREAT = {"epsilon": 100.0, "looks": 9}  # noise of a third of a record


def hedgerow(*words: object) -> int:
    with pytest.raises(SystemExit) as end:
        app([str(word) for word in words])
    return int(end.value.code or 0)


def write(path: Path, **columns: Any) -> Path:
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


@pytest.mark.parametrize("key", [None, "id"])
def test_files_by_place_and_by_key_tell_what_was_counted(tmp_path: Path, key: str | None) -> None:
    ledger = made(tmp_path, key=key, **GREAT)
    order = list(range(N))
    if key:
        random.Random(3).shuffle(order)
    columns = {"id": [f"r{at}" for at in order]} if key else {}
    mine = write(tmp_path / "p.csv", p=[PREDICTED[at] for at in order], **columns)
    grouped = write(
        tmp_path / "g.csv", p=[PREDICTED[at] for at in order], region=[REGION[at] for at in order], **columns
    )
    other = write(tmp_path / "q.csv", p=OTHER, **({"id": [f"r{at}" for at in range(N)]} if key else {}))
    test_set = TestSet.open(ledger)
    found = test_set.score(grouped, metric=["recall", "precision"], groups="region")
    for name in ("north", "south", "east"):
        rows = [at for at in range(N) if REGION[at] == name]
        both = sum(LABELS[at] and PREDICTED[at] for at in rows)
        assert found["recall", name].value == pytest.approx(both / sum(LABELS[at] for at in rows), abs=0.2)
        assert found["precision", name].value == pytest.approx(both / sum(PREDICTED[at] for at in rows), abs=0.2)
        assert found["recall", name].records == len(rows)
    right = [sum(a == b for a, b in zip(LABELS, one, strict=True)) for one in (PREDICTED, OTHER)]
    difference = test_set.compare(mine, other, request_id="pair")
    assert difference.value == pytest.approx((right[0] - right[1]) / N, abs=0.07)
    assert test_set.compare(mine, other, request_id="pair").replayed and test_set.remaining == 7
    with pytest.raises(LedgerError, match="HG311"):
        test_set.compare(other, mine, request_id="pair")
    scores = write(tmp_path / "s.csv", p=[CHANCES[at] for at in order], **columns)
    pairs = [(CHANCES[a] > CHANCES[b]) for a in order for b in order if LABELS[a] > LABELS[b]]
    assert test_set.score(scores, metric="roc_auc").value == pytest.approx(sum(pairs) / len(pairs), abs=0.15)
    with pytest.raises(DataError, match="HG203"):
        test_set.score(mine, groups="no such column")
    assert test_set.remaining == 6


def test_a_test_set_of_chances_is_asked_for_classes(tmp_path: Path) -> None:
    file = write(tmp_path / "test.csv", y=["yes" if one else "no" for one in LABELS])
    columns = FileColumns.declared("brier", label="y", prediction="p", labels=(), positive="yes")
    given = {"relation": "replace-one", "epsilon": 100.0, "mechanism": "gaussian"}
    test_set = TestSet.create(file, columns, ledger=tmp_path / "ts.ledger", n_looks=4, **given)
    sent = write(tmp_path / "p.csv", p=["yes" if one else "no" for one in PREDICTED])
    both = sum(a and b for a, b in zip(LABELS, PREDICTED, strict=True))
    assert test_set.score(sent, metric="recall").value == pytest.approx(both / sum(LABELS), abs=0.15)
    right = sum(a == b for a, b in zip(LABELS, PREDICTED, strict=True))
    assert test_set.score(sent, metric="accuracy").value == pytest.approx(right / N, abs=0.15)
    with pytest.raises(ParameterError, match="HG171"):
        test_set.score(sent, metric="recall", positive="maybe")
    assert test_set.remaining == 2


def test_the_command_line_takes_one_look_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = made(tmp_path, looks=4, epsilon=50.0)
    mine, other = write(tmp_path / "p.csv", p=PREDICTED), write(tmp_path / "q.csv", p=OTHER)
    score = [
        "testset",
        "score",
        write(tmp_path / "g.csv", p=PREDICTED, region=REGION),
        "--ledger",
        ledger,
        "--metric",
        "f1,recall",
        "--groups",
        "region",
    ]
    assert hedgerow(*score, "--positive", 1, "--min", 0.01) == 0
    said = capsys.readouterr().out
    assert "recall of south" in said and "f1 of north" in said and "3 left" in said
    pair = ["testset", "compare", mine, other, "--ledger", ledger, "--id", "pair"]
    assert hedgerow(*pair, "--json", "--min", -1) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["score"]["metric"] == "difference of accuracy" and told["verdict"] == "met"
    assert hedgerow(*pair, "--min", 1) == 5, "from its record"
    assert hedgerow("testset", "show", "--ledger", ledger) == 0
    assert "2 of 4 looks left" in capsys.readouterr().out
    for refused in ([*pair, "--min", 2], [*pair, "--server", "http://localhost:1"], [*score, "--max", 0.5]):
        assert hedgerow(*refused) == 2
    assert TestSet.open(ledger).remaining == 2


@pytest.mark.parametrize("key", [None, "id"])
def test_the_server_and_its_client_take_one_look_each(tmp_path: Path, key: str | None) -> None:
    ledger = made(tmp_path, key=key, **GREAT)
    ids = [f"r{place}" for place in range(N)] if key else None
    keys = {"keys": ids} if ids else {}
    asked = {"predictions": PREDICTED, "metric": ["f1", "recall"], "groups": REGION, "positive": 1, **keys}
    with serving(ledger, most_bytes=20_000) as server:
        client = TestSetClient(f"unix://{server.address.path}", patience=0)
        first = client.score(PREDICTED, metric=["f1", "recall"], groups=REGION, positive=1, request_id="a", **keys)
        again = answered(sent(server, post(asked, "a")))
        assert again[0] == 200 and again[2]["replayed"] and len(first.parts) == 8
        assert again[2]["score"]["parts"] == [one.to_dict() for one in first.parts]
        compared = client.compare(PREDICTED, OTHER, request_id="pair", **keys)
        right = [sum(a == b for a, b in zip(LABELS, one, strict=True)) for one in (PREDICTED, OTHER)]
        assert compared.value == pytest.approx((right[0] - right[1]) / N, abs=0.07)
        assert client.facts()["test_set"]["remaining"] == 7
        columns = {"id": ids} if ids else {}
        files = write(tmp_path / "p.csv", p=PREDICTED, **columns), tmp_path / "q.csv"
        grouped = write(tmp_path / "g.csv", p=PREDICTED, region=REGION, **columns)
        backwards = {"id": ids[::-1]} if ids else {}
        write(files[1], p=OTHER[::-1] if ids else OTHER, **backwards)
        where = str(client)[len("<TestSetClient ") : -1]
        assert hedgerow("testset", "compare", *files, "--server", where, "--id", "pair") == 0
        assert hedgerow("testset", "score", grouped, "--server", where, "--metric", "f1", "--groups", "region") == 0
        assert client.facts()["test_set"]["remaining"] == 6, "the pair came from its record"
        wrong: list[dict[str, Any]] = [
            {"groups": REGION[1:]}, {"against": OTHER[1:]}, {"against": OTHER, "metric": "f1"}, {"metric": 3},
            {"metric": "r2"}, {"groups": [*REGION[1:], None]}, {"metric": "roc_auc", "positive": "no"},
        ]  # fmt: skip
        for one in wrong:
            body = {"predictions": PREDICTED, **keys, **one}
            assert answered(sent(server, post(body, "b")))[0] == 400, one
        assert client.facts()["test_set"]["remaining"] == 6


def test_what_a_test_set_cannot_tell_is_refused_by_the_server(tmp_path: Path) -> None:
    ledger = made(tmp_path, mechanism="laplace")
    with serving(ledger) as server:
        for body in ({"predictions": PREDICTED, "metric": "f1"}, {"predictions": PREDICTED, "against": OTHER}):
            status, _, record = answered(sent(server, post(body)))
            assert (status, record["error"]["code"]) == (400, "HG431")
        assert TestSetClient(f"unix://{server.address.path}").facts()["test_set"]["remaining"] == 9
