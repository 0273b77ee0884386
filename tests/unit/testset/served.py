"""A server in this process, for tests: its files, raw requests, and what comes back."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from hedgerow.testset import TestSet
from hedgerow.testset.file_columns import FileColumns
from hedgerow.testset.server.over_http import TestSetServer
from hedgerow.testset.server.service import Service
from hedgerow.transport.address import Address
from hedgerow.transport.limits import Limits

N = 60
LABELS = random.Random(17).choices([0, 1], k=N)
PREDICTED = random.Random(18).choices([0, 1], k=N)


def made(folder: Path, labels: list[Any] = LABELS, *, looks: int = 9, key: str | None = None, **terms: Any) -> Path:
    """Write the labels of a test set, make its ledger, and return that."""
    folder.chmod(0o700)
    file, ledger = folder / "test.csv", folder / "ts.ledger"
    ids = [f"r{place}" for place in range(len(labels))]
    rows = [f"{one},{label}" for one, label in zip(ids, labels, strict=True)] if key else [str(one) for one in labels]
    file.write_text("\n".join([f"{key},y" if key else "y", *rows]) + "\n")
    file.chmod(0o600)
    columns = FileColumns.declared("accuracy", label="y", prediction="p", labels=(0, 1), positive=None, key=key)
    given = {"relation": "replace-one", "epsilon": 1.0, "mechanism": "gaussian", **terms}
    TestSet.create(file, columns, ledger=ledger, n_looks=looks, **given).close()
    return ledger


class HeardServer(TestSetServer):
    """A server whose messages are kept in `told`."""

    told: list[str]


@contextmanager
def serving(ledger: Path, address: Address | None = None, **limits: Any) -> Iterator[HeardServer]:
    """Serve a ledger at a Unix socket beside it, or at another address; what it tells is in `told`."""
    told: list[str] = []
    service = Service(ledger, ledger.with_name("test.csv"), told.append)
    try:
        declared = Limits(**{"requests_per_minute": 10_000, "most_bytes": 4096, "seconds": 5.0, **limits})
        with HeardServer(service, address or Address(ledger.with_name("s")), declared) as server:
            server.told = told
            thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
            thread.start()
            try:
                yield server
            finally:
                server.shutdown()
                thread.join()
    finally:
        service.close()


def sent(server: TestSetServer, request: bytes, *, half: bool = True) -> bytes:
    """Send bytes and return all that comes back."""
    with server.address.dial(10.0) as dialled:
        dialled.sendall(request)
        if half:
            dialled.shutdown(1)
        parts = []
        try:
            while part := dialled.recv(2**16):
                parts.append(part)
        except ConnectionResetError:
            pass
    return b"".join(parts)


def post(body: bytes | dict[str, Any], key: str = "a", *more: str, path: str = "/v1/scores") -> bytes:
    """Return a request for a score as bytes."""
    kind = "text/csv" if isinstance(body, bytes) else "application/json"
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Type: {kind}", f"Idempotency-Key: {key}",
            f"Content-Length: {len(body)}", *more]  # fmt: skip
    return "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body


def answered(raw: bytes) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Return status, headers and record of what came back."""
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("ascii").split("\r\n")
    headers = {name: value for name, _, value in (line.partition(": ") for line in lines)}
    assert int(headers["Content-Length"]) == len(body)
    return int(first.split()[1]), headers, json.loads(body)
