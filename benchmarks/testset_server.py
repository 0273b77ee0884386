"""Does a server of a test set lose or repeat a look? Requests at once, repeated keys, and kills; target: none.

    python benchmarks/testset_server.py [--requests 1000] [--kills 200] [--port]

``requests``: as many clients as there are requests send predictions at the same moment, half of them under the keys of
the other half: plain looks, looks by parts, comparisons. Counted are the answers, the looks in the ledger, and the
different scores under one key.

``kills``: eight clients ask without a pause, each key twice, while the server is killed by SIGKILL after .02 to 1 s and
started anew. A client repeats a request under its key until it is answered. At the end the ledger, checked from its
first link on, must hold one recorded look for each key, with the score that the client has.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from hedgerow.ledger.store import Ledger
from hedgerow.testset import TestSet, TestSetClient
from hedgerow.testset.file_columns import FileColumns
from hedgerow.testset.scores import Score

RECORDS = 2_000


def made(folder: Path) -> tuple[Path, list[int]]:
    """Make a test set of 10,000 looks, and return its ledger with predictions."""
    rng = random.Random(20261122)
    labels = rng.choices([0, 1], k=RECORDS)
    file, ledger = folder / "test.csv", folder / "ts.ledger"
    file.write_text("y\n" + "".join(f"{one}\n" for one in labels))
    file.chmod(0o600)
    columns = FileColumns.declared("accuracy", label="y", prediction="p", labels=(0, 1), positive=None)
    TestSet.create(
        file, columns, ledger=ledger, relation="replace-one", epsilon=1.0, n_looks=10_000, mechanism="gaussian"
    ).close()
    return ledger, [one if rng.random() < 0.9 else 1 - one for one in labels]


class Served:
    """A server in a process of its own."""

    def __init__(self, ledger: Path, port: int | None) -> None:
        where = ["--socket", str(ledger.with_name("s"))] if port is None else ["--port", str(port)]
        self._command = [sys.executable, "-m", "hedgerow", "testset", "serve", str(ledger), "--labels",
                         str(ledger.with_name("test.csv")), *where, "--rate", "1000000"]  # fmt: skip
        self.address = f"unix://{ledger.with_name('s')}" if port is None else f"http://localhost:{port}"
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self.process.stdout is not None
        assert self.process.stdout.readline()

    def end(self, number: int) -> int:
        os.kill(self.process.pid, number)
        code = self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


def looked(client: TestSetClient, predictions: list[int], key: str) -> Score:
    """Take a plain look, one by parts or a comparison, as the key says."""
    kind = sum(key.encode()) % 3
    if kind == 0:
        return client.score(predictions, request_id=key)
    if kind == 1:
        return client.compare(predictions, predictions[::-1], request_id=key)
    return client.score(
        predictions, metric=["f1", "recall"], groups=[one % 3 for one in range(RECORDS)], request_id=key
    )


def checked(ledger: Path, answers: dict[str, set[float]]) -> str:
    """Return what the ledger holds beside what the clients have."""
    with Ledger.open(ledger) as opened:
        opened.verify()
    opened = TestSet.open(ledger)
    held = {one.request_id: one.value for one in opened.history}
    used = opened.settings.conditions.n_looks - opened.remaining
    opened.close()
    twice = sum(len(values) > 1 for values in answers.values())
    lost = sum(held.get(key) not in values for key, values in answers.items())
    return (
        f"{len(answers):,} keys, {used:,} looks used, {len(held):,} recorded; "
        f"{twice} answered in two ways, {lost} lost, {used - len(answers)} counted twice"
    )


def at_once(folder: Path, count: int, port: int | None) -> None:
    ledger, predictions = made(folder)
    served = Served(ledger, port)
    answers: dict[str, set[float]] = collections.defaultdict(set)
    seconds, failed, together = [], [], threading.Barrier(count)
    client = TestSetClient(served.address, patience=600, timeout=600)
    client.facts()

    def ask(number: int) -> None:
        key = f"key-{number % max(1, count // 2)}"
        together.wait()
        begun = time.perf_counter()
        try:
            answers[key].add(looked(client, predictions, key).value)
        except Exception as error:
            failed.append(str(error))
        seconds.append(time.perf_counter() - begun)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(count)]
    begun = time.perf_counter()
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    took = time.perf_counter() - begun
    code = served.end(signal.SIGTERM)
    print(
        f"{count:,} requests at once: {len(failed)} not answered, {took:.1f} s, {1e3 * took / count:.1f} ms a request"
    )
    print(f"  wait of a client: median {statistics.median(seconds):.1f} s, longest {max(seconds):.1f} s; exit {code}")
    print(f"  {checked(ledger, answers)}")


def killed(folder: Path, count: int, port: int | None) -> None:
    ledger, predictions = made(folder)
    served, rng = Served(ledger, port), random.Random(7)
    answers: dict[str, set[float]] = {}
    stop, resumed = threading.Event(), []
    client = TestSetClient(served.address, patience=600, timeout=600)
    client.facts()

    def ask(thread: int) -> None:
        number = 0
        while not stop.is_set():
            key, number = f"{thread}-{number}", number + 1
            answers[key] = {looked(client, predictions, key).value for _ in range(2)}

    threads = [threading.Thread(target=ask, args=(thread,)) for thread in range(8)]
    begun = time.perf_counter()
    for one in threads:
        one.start()
    for _ in range(count):
        time.sleep(rng.uniform(0.02, 1.0))
        served.end(signal.SIGKILL)
        with Ledger.open(ledger) as opened:
            resumed.append(sum(one.state == "reserved" for one in opened.entries()))
        served.start()
    stop.set()
    for one in threads:
        one.join()
    code = served.end(signal.SIGTERM)
    print(f"{count} kills in {time.perf_counter() - begun:.0f} s; exit {code}")
    print(f"  after {sum(map(bool, resumed))} kills a look stood in the ledger without its score")
    print(f"  {checked(ledger, answers)}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--port", type=int, default=None, help="Use this port, not a Unix socket.")
    asked = parser.parse_args()
    for run, count in ((at_once, asked.requests), (killed, asked.kills)):
        if count:
            with tempfile.TemporaryDirectory() as folder:
                run(Path(folder), count, asked.port)


if __name__ == "__main__":
    main()
