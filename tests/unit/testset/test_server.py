"""The server of a test set: what it answers and refuses, whom it lets in, and what survives."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.unit.testset.served import LABELS, PREDICTED, N, answered, made, post, sent, serving

from hedgerow.errors import BudgetExceeded, DataError, HedgerowError, LedgerError, ParameterError, SpentError
from hedgerow.ledger.store import Ledger
from hedgerow.testset import TestSet, TestSetClient
from hedgerow.testset.label_sources import FileSource
from hedgerow.testset.scores import summary
from hedgerow.testset.server.service import check_private
from hedgerow.transport.address import Address

GOOD = {"predictions": PREDICTED}
AS_CSV = ("p\n" + "\n".join(map(str, PREDICTED)) + "\n").encode()


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return made(tmp_path)


def looks(ledger: Path) -> list[tuple[str, str]]:
    """Return id and state of every look in a ledger, checked anew."""
    with Ledger.open(ledger) as opened:
        opened.verify()
        return [(one.request_id, one.state) for one in opened.entries()][1:]


def test_a_score_is_paid_once_in_either_form_and_over_either_transport(ledger: Path) -> None:
    with serving(ledger) as server:
        first = answered(sent(server, post(GOOD)))
        again = answered(sent(server, post(AS_CSV)))
        client = TestSetClient(f"unix://{server.address.path}", patience=0)
        third = client.score(PREDICTED, request_id="a")
    assert first[0] == again[0] == 200 and not first[2]["replayed"] and again[2]["replayed"]
    assert first[2]["score"] == again[2]["score"] and third.value == first[2]["score"]["value"] and third.replayed
    assert third.certificate is not None and third.certificate.epsilon < 1.0
    with serving(ledger, Address(port=0)) as server:
        client = TestSetClient(str(server.address), patience=0)
        assert client.score(PREDICTED, request_id="a").value == third.value
        assert client.facts()["test_set"]["remaining"] == 8 and client.score(PREDICTED).look == 2
    assert looks(ledger)[0] == ("a", "recorded") and len(looks(ledger)) == 2
    # Elsewhere the same id stands for a look of the server's, which is resumed there alone.
    with pytest.raises(LedgerError, match="HG311"):
        TestSet.open(ledger).score(_file(ledger), request_id="a")


def test_a_client_sends_no_file_with_a_further_column(ledger: Path) -> None:
    further = ledger.with_name("further.csv")
    further.write_text("id,p\n" + "".join(f"{place},{one}\n" for place, one in enumerate(PREDICTED)))
    with serving(ledger) as server:
        client = TestSetClient(f"unix://{server.address.path}", patience=0)
        for ask in (client.score_file, lambda file: client.compare_files(_file(ledger), file)):
            with pytest.raises(ParameterError, match=r"HG437.*No look was taken"):
                ask(further)
    assert looks(ledger) == []


def _file(ledger: Path) -> Path:
    file = ledger.with_name("p.csv")
    file.write_bytes(AS_CSV)
    return file


HEADS: dict[str, tuple[bytes, int]] = {
    "no key": (post(GOOD).replace(b"Idempotency-Key: a\r\n", b""), 400),
    "a key of blanks": (post(GOOD, "a b"), 400),
    "a long key": (post(GOOD, "a" * 201), 400),
    "two keys": (post(GOOD, "a", "Idempotency-Key: b"), 400),
    "a key of other letters": (post(GOOD, "\xe9"), 400),
    "a folded header": (post(GOOD, "a\r\n b"), 400),
    "two lengths": (post(GOOD, "a", "Content-Length: 3"), 400),
    "a length in words": (post(GOOD).replace(b"Content-Length: ", b"Content-Length: +"), 400),
    "a negative length": (post(GOOD).replace(b"Content-Length: ", b"Content-Length: -"), 400),
    "a length without end": (post(GOOD).replace(b"Content-Length: ", b"Content-Length: 99999999999999999"), 400),
    "no length": (b"POST /v1/scores HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: a\r\n\r\n", 411),
    "chunks": (post(GOOD, "a", "Transfer-Encoding: chunked"), 411),
    "a length beyond the limit": (post(b"p\n" + b"1\n" * 4000), 413),
    "another type": (post(GOOD).replace(b"application/json", b"application/xml"), 415),
    "compressed": (post(GOOD, "a", "Content-Encoding: gzip"), 415),
    "a web page": (post(GOOD, "a", "Origin: http://localhost"), 421),
    "another path": (post(GOOD, path="/v1/scores/../../test.csv"), 404),
    "a file": (b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    "an encoded path": (b"GET /v1/%2e%2e/test.csv HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    "a whole address": (b"GET http://evil.example/v1 HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    "another method": (b"DELETE /v1/scores HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
    "the wrong method": (b"GET /v1/scores HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
    "no HTTP": (b"<script>alert(1)</script>\r\n\r\n", 400),
    "a version of HTTP": (b"GET /v1 HTTP/9.9\r\n\r\n", 505),
    "a long line": (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", 414),
    "many headers": (b"GET /v1 HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", 431),
    "a cut body": (post(GOOD)[:-5], 400),
}
BODIES: dict[str, bytes] = {
    "no JSON": b"{",
    "NaN": b'{"predictions": [NaN]}',
    "Infinity": b'{"predictions": [-Infinity]}',
    "a number beyond every double": b'{"predictions": [1e999]}',
    "a whole number beyond every double": json.dumps({"predictions": [10**400, *PREDICTED[1:]]}).encode(),
    "endless digits": b'{"predictions": [' + b"9" * 4001 + b"0]}",
    "a name twice": json.dumps(GOOD).encode()[:-1] + b', "predictions": []}',
    "a name twice, deeper": b'{"predictions": [{"a": 1, "a": 2}]}',
    "another name": b'{"predictions": [1], "labels": "/etc/passwd"}',
    "truths": b'{"predictions": [true]}',
    "lists": b'{"predictions": [[1]]}',
    "depth": b"[" * 2000 + b"]" * 2000,
    "a list": b"[1, 0]",
    "no UTF-8": b'{"predictions": ["\xff"]}',
    "too few": b'{"predictions": [1]}',
    "too many": json.dumps({"predictions": [1] * (N + 1)}).encode(),
    "none": b'{"predictions": []}',
    "keys of a test set without": json.dumps({**GOOD, "keys": list(range(N))}).encode(),
    "a label that is not declared": json.dumps({"predictions": [*PREDICTED[1:], 2]}).encode(),
    "texts where labels are numbers": json.dumps({"predictions": ["cat"] * N}).encode(),
    "a label that is not declared, compared": json.dumps({**GOOD, "against": ["cat"] * N}).encode(),
    "a label that is not declared, by parts": json.dumps({"predictions": [2] * N, "metric": "f1"}).encode(),
    "texts as a training score": json.dumps({**GOOD, "training_score": "1"}).encode(),
}
CSVS: dict[str, bytes] = {
    "empty": b"",
    "no header": b"\n",
    "NUL": b"p\n\x00\n",
    "no UTF-8": b"p\n\xff\n",
    "an open quote": b'p\n"1\n' + b"1\n" * N,
    "a long row": b"p\n1,2\n" + b"1\n" * (N - 1),
    "another column": AS_CSV.replace(b"p\n", b"q\n", 1),
    "a column twice": b"p,p\n" + b"1,1\n" * N,
    "a further column": b"id,p\n" + b"7,1\n" * N,
    "a label that is not declared": AS_CSV.replace(b"1", b"2", 1),
    "too few": b"p\n1\n",
    "a hole": b"p\n\n" + b"1\n" * N,
}


def test_a_bad_request_is_refused_by_its_code_and_takes_no_look(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    with serving(ledger) as server:
        monkeypatch.setattr(FileSource, "_open_labels", lambda *_: read.append("labels"))
        found = {}
        for name, (request, status) in HEADS.items():
            found[name] = (answered(sent(server, request)), status)
        for name, body in {**BODIES, **{f"csv: {one}": text for one, text in CSVS.items()}}.items():
            request = post(body)
            if not name.startswith("csv: "):
                request = request.replace(b"text/csv", b"application/json")
            found[name] = (answered(sent(server, request)), 400)
        told = server.told
    for name, ((status, headers, record), wanted) in found.items():
        assert status == wanted, (name, status, record)
        assert set(record) == {"error"} and record["error"]["code"].startswith("HG"), name
        text = json.dumps(record)
        for word in (str(ledger.parent), "Traceback", "passwd", "evil", "script", "pydantic", "test.csv"):
            assert word not in text and word not in json.dumps(headers), (name, text)
    assert told == [] and read == [] and looks(ledger) == []


def test_nothing_that_is_sent_becomes_a_header(ledger: Path) -> None:
    with serving(ledger) as server:
        injected = sent(server, post(GOOD, "a\rX-Evil: 1")), sent(server, post(GOOD, "b\nX-Evil: 1"))
        plain = sent(server, post(GOOD, "c"))
    names = [line.split(b":")[0] for line in plain.partition(b"\r\n\r\n")[0].split(b"\r\n")]
    for raw in injected:
        assert [line.split(b":")[0] for line in raw.partition(b"\r\n\r\n")[0].split(b"\r\n")] == names


def test_what_is_limited_is_refused_and_said(ledger: Path) -> None:
    with serving(ledger, requests_per_minute=2) as server:
        assert answered(sent(server, b"nonsense\r\n\r\n"))[0] == 400  # counted, too
        assert answered(sent(server, post(GOOD)))[0] == 200
        ask = b"GET /v1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for request in (post(GOOD), post(GOOD, "b"), ask, b"nonsense\r\n\r\n"):
            status, headers, record = answered(sent(server, request))
            assert (status, record["error"]["code"]) == (429, "HG455") and 1 <= int(headers["Retry-After"]) <= 30
        with pytest.raises(ParameterError, match="HG455"):
            TestSetClient(f"unix://{server.address.path}", patience=0).score(PREDICTED)
    assert looks(ledger) == [("a", "recorded")]


def test_connections_that_ask_for_nothing_keep_no_request_out(ledger: Path) -> None:
    with serving(ledger, connections=4) as server:
        # Each has sent a part of its head. The share of one user is two.
        idle = [server.address.dial(5.0) for _ in range(8)]
        for one in idle:
            one.sendall(b"POST /v1/scores HTTP/1.1\r\n")
        client = TestSetClient(f"unix://{server.address.path}", patience=30)
        assert [client.score(PREDICTED).look for _ in range(3)] == [1, 2, 3]
        # The third and the fourth took the places of the first and the second.
        told = [answered(one.recv(2**16)) for one in idle[:2]]
        assert {(status, record["error"]["code"]) for status, _, record in told} == {(503, "HG455")}
        for one in idle:
            one.close()


def test_a_request_that_arrives_slowly_is_ended(ledger: Path) -> None:
    with serving(ledger, seconds=1.0) as server:
        # A byte now and then: a limit on the wait for each byte alone would never end.
        slow = server.address.dial(5.0)
        slow.sendall(b"POST /v1/scores HTTP/1.1\r\n")
        for _ in range(3):
            time.sleep(0.2)
            slow.sendall(b"A: b\r\n")
        assert answered(slow.recv(2**16))[0] == 408
        slow.close()


def half_sent(server: Any, address: str) -> socket.socket:
    """Return a connection from an address of this machine, whose body never ends."""
    found = socket.create_connection(("127.0.0.1", server.address.port), 10.0, (address, 0))
    found.sendall(post(GOOD, "slow")[:-5])
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one loopback address")
def test_one_address_has_a_share_of_the_connections_and_others_are_answered(ledger: Path) -> None:
    with serving(ledger, Address(port=0), connections=4, seconds=30.0) as server:
        slow = [half_sent(server, "127.0.0.2") for _ in range(2)]
        while sum(place.state == "asked" for place in [*server.places._places.values()]) < 2:
            time.sleep(0.01)
        # Both hold their places, so a third one of the same address is refused at once, while they wait.
        third = half_sent(server, "127.0.0.2")
        status, headers, record = answered(third.recv(2**16))
        assert (status, record["error"]["code"], headers["Retry-After"]) == (503, "HG455", "1")
        assert answered(sent(server, post(GOOD), half=False))[0] == 200
        for one in (*slow, third):
            one.close()


def test_a_user_at_a_socket_is_known_by_the_system(ledger: Path) -> None:
    with serving(ledger) as server, server.address.dial(5.0) as dialled:
        while not server.places._places:
            time.sleep(0.01)
        known = hasattr(socket, "SO_PEERCRED")
        assert [place.peer for place in server.places._places.values()] == [os.getuid() if known else ""]
        dialled.close()


@pytest.mark.parametrize("port", [True, False])
@pytest.mark.parametrize("times", [2, 15])
def test_a_large_body_that_is_refused_gets_its_answer(times: int, port: bool, ledger: Path) -> None:
    """The client sends all of it before it reads: more than any buffer of the system holds."""
    with serving(ledger, Address(port=0) if port else None, most_bytes=2**20) as server:
        with server.address.dial(30.0) as dialled:
            dialled.sendall(post(b"p\n" + b"1\n" * (times * 2**19)))
            status, _, record = answered(b"".join(iter(lambda: dialled.recv(2**16), b"")))
        assert (status, record["error"]["code"]) == (413, "HG454")
        client = TestSetClient(str(server.address), patience=0)
        with pytest.raises(ParameterError, match="HG454"):
            client.score(["1" * (times * 2**20)])
    assert looks(ledger) == []


def test_a_large_body_for_which_there_is_no_place_gets_its_answer(ledger: Path) -> None:
    with serving(ledger, connections=2, most_bytes=2**22, seconds=30.0) as server:
        with server.address.dial(30.0) as slow:
            slow.sendall(post(GOOD)[:-5])
            # A connection that still waits would lose its place to the next one.
            until = time.monotonic() + 30.0
            while not any(place.state == "asked" for place in [*server.places._places.values()]):
                assert time.monotonic() < until
                time.sleep(0.01)
            with server.address.dial(30.0) as dialled:
                dialled.sendall(post(b"p\n" + b"1\n" * 2**20))
                status, _, record = answered(b"".join(iter(lambda: dialled.recv(2**16), b"")))
        assert (status, record["error"]["code"]) == (503, "HG455")


def test_only_programs_of_this_machine_are_answered_at_a_port(ledger: Path) -> None:
    with serving(ledger, Address(port=0)) as server:
        assert server.socket.getsockname()[0] == "127.0.0.1"
        for host, status in {"localhost": 200, "127.0.0.1:80": 200, "evil.example": 421, "localhost.evil": 421}.items():
            request = f"GET /v1 HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
            assert answered(sent(server, request))[0] == status, host
        assert answered(sent(server, b"GET /v1 HTTP/1.1\r\n\r\n"))[0] == 421
        with pytest.raises(ParameterError, match="HG450"), serving(made(_folder(ledger, "two")), server.address):
            pass


def _folder(ledger: Path, name: str) -> Path:
    folder = ledger.parent / name
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    "text",
    ["http://0.0.0.0:80", "http://example.org:80", "https://localhost:80", "unix://relative", "localhost:80", "unix://",
     "http://localhost", "http://localhost:0", "http://localhost:99999", "http://localhost:80/v1", "unix:///a\0b",
     "http://localhost@evil:80", "http://[::1]:80"],
)  # fmt: skip
def test_other_addresses_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="HG450"):
        TestSetClient(text)


OPEN: dict[str, Callable[[Path], object]] = {
    "labels that others read": lambda ledger: ledger.with_name("test.csv").chmod(0o644),
    "labels that the group reads": lambda ledger: ledger.with_name("test.csv").chmod(0o640),
    "a secret that others read": lambda ledger: ledger.with_name("ts.ledger.secret").chmod(0o604),
    "a ledger that others write": lambda ledger: ledger.chmod(0o602),
    "a folder that others write": lambda ledger: ledger.parent.chmod(0o722),
}


@pytest.mark.parametrize("how", OPEN)
def test_files_that_are_open_to_others_are_not_served(how: str, ledger: Path) -> None:
    OPEN[how](ledger)
    with pytest.raises(DataError, match=r"HG451.*chmod (600|go-w)") as refused, serving(ledger):
        pass
    assert str(ledger.parent) not in str(refused.value)
    ledger.parent.chmod(0o700)


def test_a_link_to_labels_is_followed_before_they_are_checked(ledger: Path) -> None:
    labels = ledger.with_name("test.csv")
    moved = labels.rename(ledger.with_name("moved.csv"))
    labels.symlink_to(moved)
    assert check_private(labels, "labels") == moved
    moved.chmod(0o644)
    with pytest.raises(DataError, match="HG451"), serving(ledger):
        pass
    # A folder that all may read is none of the server's business: the file in it is closed.
    moved.chmod(0o600)
    ledger.parent.chmod(0o755)
    with serving(ledger) as server:
        assert answered(sent(server, post(GOOD)))[0] == 200


def test_other_labels_and_labels_that_change_are_not_served(ledger: Path) -> None:
    labels = ledger.with_name("test.csv")
    with serving(ledger) as server:
        text = labels.read_text()
        labels.write_text(text + "1\n")
        status, headers, record = answered(sent(server, post(GOOD)))
        assert (status, record["error"]["code"], headers["Retry-After"]) == (503, "HG434", "10")
        assert "changed" not in json.dumps(record) and "changed" in server.told[0]
        labels.unlink()
        assert answered(sent(server, post(GOOD, "b")))[0] == 503
    with pytest.raises(DataError, match="HG435"), serving(ledger):
        pass
    labels.write_text(text.replace("0", "1"))
    labels.chmod(0o600)
    with pytest.raises(DataError, match="HG434"), serving(ledger):
        pass
    assert looks(ledger) == []


def test_one_server_holds_a_test_set_and_a_socket(ledger: Path) -> None:
    path = ledger.with_name("s")
    with serving(ledger):
        assert path.stat().st_mode & 0o777 == 0o600
        with pytest.raises(LedgerError, match="HG452"), serving(ledger, Address(port=0)):
            pass
        with pytest.raises(ParameterError, match="HG450"), serving(made(_folder(ledger, "two")), Address(path)):
            pass
    assert not path.exists()
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(path))  # as a server leaves it that is killed
    left.close()
    with serving(ledger) as server:
        assert answered(sent(server, post(GOOD)))[0] == 200
    for make in (lambda: path.write_text("mine"), lambda: path.symlink_to("elsewhere"), path.mkdir):
        make()
        with pytest.raises(ParameterError, match="HG450"), serving(ledger):
            pass
        path.rmdir() if path.is_dir() else path.unlink()
    with pytest.raises(ParameterError, match="HG450"), serving(ledger, Address(path.with_name("s" * 200))):
        pass


def test_one_key_at_the_same_time_takes_one_look(ledger: Path) -> None:
    with serving(ledger) as server, ThreadPoolExecutor(20) as threads:
        found = [answered(raw) for raw in threads.map(lambda _: sent(server, post(GOOD)), range(20))]
    assert {status for status, _, _ in found} == {200} and looks(ledger) == [("a", "recorded")]
    assert len({record["score"]["value"] for _, _, record in found}) == 1
    assert sum(record["replayed"] for _, _, record in found) == 19


def test_a_key_stands_for_its_predictions_and_looks_run_out(tmp_path: Path) -> None:
    ledger = made(tmp_path, looks=2)
    with serving(ledger) as server:
        client = TestSetClient(f"unix://{server.address.path}", patience=0)
        first = client.score(PREDICTED, request_id="a")
        with pytest.raises(LedgerError, match="HG311"):
            client.score(LABELS, request_id="a")
        with pytest.raises(LedgerError, match="HG311"):  # the entry of the settings
            client.score(LABELS, request_id="testset")
        assert client.score(PREDICTED).look == 2
        with pytest.raises(BudgetExceeded, match="HG430"):
            client.score(PREDICTED)
        assert client.score(PREDICTED, request_id="a").value == first.value


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_keys_join_predictions(relation: str, tmp_path: Path) -> None:
    ledger, keys = made(tmp_path, key="id", relation=relation, epsilon=100.0), [f"r{place}" for place in range(N)]
    turned = list(reversed(range(N)))
    with serving(ledger) as server:
        client = TestSetClient(f"unix://{server.address.path}", patience=0)
        score = client.score([LABELS[i] for i in turned], keys=[keys[i] for i in turned])
        assert score.value > 0.9
        with pytest.raises(ParameterError, match="HG203"):
            client.score(LABELS)
        with pytest.raises(ParameterError, match="HG437"):
            client.score(LABELS, keys=[keys[0]] * N)
        if relation == "replace-one":
            with pytest.raises(ParameterError, match="HG437"):
                client.score(LABELS, keys=["other", *keys[1:]])
        else:
            assert client.facts()["test_set"]["n"] is None and client.score([1], keys=["other"]).value < 0.5


class Killed(BaseException):
    """What a kill is to the code that it hits."""


@pytest.mark.parametrize("where", ["before the score is drawn", "before it is recorded"])
@pytest.mark.parametrize("mechanism", ["gaussian", "thresholdout"])
def test_a_look_that_was_cut_off_is_taken_to_its_end_once(where: str, mechanism: str, tmp_path: Path) -> None:
    ledger = made(tmp_path, mechanism=mechanism)
    body = {**GOOD, "training_score": 0.9}
    with serving(ledger) as server, pytest.MonkeyPatch.context() as patch:
        if where == "before it is recorded":
            patch.setattr(Ledger, "record", _killed)
        else:
            patch.setattr("hedgerow.testset.testset.plain_score", _killed)
        assert answered(sent(server, post(body)))[0] == 500
    assert looks(ledger) == [("a", "reserved")]
    with serving(ledger) as server:
        assert answered(sent(server, post({**body, "predictions": LABELS})))[0] == 409
        status, _, record = answered(sent(server, post(body)))
        assert status == 200 and not record["replayed"] and record["certificate"]["epsilon"] > 0.0
        assert answered(sent(server, post(body)))[2]["score"] == record["score"]
    assert looks(ledger) == [("a", "recorded")]


def _killed(*_: object, **__: object) -> Any:
    raise Killed


def test_a_look_that_somebody_else_reserved_is_never_resumed(ledger: Path) -> None:
    opened, request = TestSet.open(ledger), _file(ledger)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "record", _killed)
        with pytest.raises(Killed):
            opened.score(request, request_id="a")
    with pytest.raises(LedgerError, match="HG312"):
        opened.score(request, request_id="a")
    opened.close()
    with serving(ledger) as server:
        status, _, record = answered(sent(server, post(AS_CSV)))
    assert (status, record["error"]["code"]) == (409, "HG311") and looks(ledger) == [("a", "reserved")]


def test_a_score_that_cannot_be_recorded_is_not_sent(ledger: Path) -> None:
    def full(*_: object) -> None:
        raise LedgerError("HG307", rule="full")

    with serving(ledger) as server:
        client = TestSetClient(f"unix://{server.address.path}", patience=0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Ledger, "record", full)
            with pytest.raises(SpentError, match="HG606"):
                client.score(PREDICTED, request_id="a")
        assert not client.score(PREDICTED, request_id="a").replayed
    assert looks(ledger) == [("a", "recorded")]


def test_a_stop_finishes_the_look_under_way(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on, score = Event(), Event(), TestSet.score

    def slow(*args: Any, **given: Any) -> Any:
        begun.set()
        assert go_on.wait(10)
        return score(*args, **given)

    monkeypatch.setattr(TestSet, "score", slow)
    with ThreadPoolExecutor(3) as threads:
        with serving(ledger) as server:
            first = threads.submit(sent, server, post(GOOD))
            assert begun.wait(10)
            waiting, idle = threads.submit(sent, server, post(GOOD, "b")), server.address.dial(5.0)
            time.sleep(0.2)
            server.stop()
            time.sleep(0.2)
            go_on.set()
        assert answered(first.result())[0] == 200 and answered(waiting.result())[0] == 503
        idle.close()
    assert looks(ledger) == [("a", "recorded")]


def test_a_client_says_where_nothing_answers(tmp_path: Path) -> None:
    client = TestSetClient(f"unix://{tmp_path / 'none'}", patience=0)
    with pytest.raises(DataError, match="HG456"):
        client.facts()
    nan = float("nan")
    for wrong in ({"request_id": ""}, {"request_id": "a\r\nX: 1"}, {"keys": [object()]}, {"training_score": nan}):
        with pytest.raises(ParameterError, match=r"HG314|HG437"):
            client.score(PREDICTED, **wrong)
    for predictions in ([float("inf")], object(), [[1, 2], [3, 4]]):
        with pytest.raises(HedgerowError, match=r"HG170|HG456"):
            client.score(predictions)


def begun(command: list[str]) -> subprocess.Popen[bytes]:
    """Start a server, and wait until it listens."""
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert running.stdout is not None and running.stdout.readline()
    running.stdout.close()  # it prints one line
    return running


def kills(folder: Path, times: int, seed: int = 7) -> tuple[int, int]:
    """Kill a server again and again while keys are asked; return how many keys and how many kills there were."""
    ledger, rng = made(folder, looks=10_000, epsilon=2.0), random.Random(seed)
    command = [sys.executable, "-m", "hedgerow", "testset", "serve", str(ledger), "--labels", str(folder / "test.csv"),
               "--socket", str(folder / "s"), "--rate", "1000000"]  # fmt: skip
    client = TestSetClient(f"unix://{folder / 's'}", patience=60)
    answers: dict[str, set[float]] = {}
    stop, count = Event(), [0]

    def ask(thread: int) -> None:
        number = 0
        while not stop.is_set():
            key, number = f"{thread}-{number}", number + 1
            answers[key] = {client.score(PREDICTED, request_id=key).value for _ in range(2)}

    with ThreadPoolExecutor(4) as threads:
        running = begun(command)
        client.facts()
        asking = [threads.submit(ask, thread) for thread in range(4)]
        try:
            for _ in range(times):
                time.sleep(rng.uniform(0.02, 1.0))
                os.kill(running.pid, signal.SIGKILL)
                running.wait()
                count[0] += 1
                running = begun(command)
        finally:
            stop.set()
            for one in asking:
                one.result(timeout=120)
            running.terminate()
            assert running.wait(timeout=60) == 0
    assert all(len(values) == 1 for values in answers.values())
    found = looks(ledger)
    assert sorted(found) == sorted((key, "recorded") for key in answers)
    opened = TestSet.open(ledger)
    assert {(one.request_id, one.value) for one in opened.history} == {(key, *one) for key, one in answers.items()}
    opened.close()
    return len(answers), count[0]


def test_kills_neither_lose_nor_repeat_a_look(tmp_path: Path) -> None:
    answered_keys, killed = kills(tmp_path, 1)
    assert killed == 1 and answered_keys >= 4


@pytest.mark.long
def test_two_hundred_kills_neither_lose_nor_repeat_a_look(tmp_path: Path) -> None:
    answered_keys, killed = kills(tmp_path, 200)
    assert killed == 200 and answered_keys > 200


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
@pytest.mark.parametrize("transport", ["socket", "port"])
def test_curl_takes_a_look(transport: str, ledger: Path) -> None:
    file = _file(ledger)
    with serving(ledger, None if transport == "socket" else Address(port=0)) as server:
        where = ["--unix-socket", str(server.address.path)] if transport == "socket" else []
        url = "http://localhost/v1" if transport == "socket" else f"{server.address}/v1"
        heads = ["-H", "Content-Type: text/csv", "-H", "Idempotency-Key: a"]
        send = [*heads, "--data-binary", f"@{file}", f"{url}/scores"]
        large = [*heads, "--data-binary", "@-", f"{url}/scores"]
        told = subprocess.run(["curl", "-sS", *where, url], capture_output=True, check=True).stdout
        score = subprocess.run(["curl", "-sS", *where, *send], capture_output=True, check=True).stdout
        body = b"p\n" + b"1\n" * 3_000_000
        refused = subprocess.run(["curl", "-sS", *where, *large], input=body, capture_output=True, check=False).stdout
    assert json.loads(told)["test_set"]["remaining"] == 9 and json.loads(score)["score"]["look"] == 1
    assert json.loads(refused)["error"]["code"] == "HG454"


def test_a_summary_is_markdown_in_which_a_name_stays_a_name(ledger: Path) -> None:
    opened = TestSet.open(ledger)
    score = opened.score(_file(ledger))
    opened.close()
    page = summary(score, "a|b`<img src=x>\n# @all", threshold="at least 0.8", verdict="undecided")
    assert page.startswith("### Test set: neutral") and "`a\\|b'<img src=x> # @all`" in page
    assert "8 of 9" in page and "at least 0.8" in page and page.count("\n| ") == 3
    for verdict, conclusion in {"met": "success", "missed": "failure", None: "neutral"}.items():
        assert summary(score, "m", verdict=verdict).startswith(f"### Test set: {conclusion}\n")
