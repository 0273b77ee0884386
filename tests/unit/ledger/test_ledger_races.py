"""Many processes, killed processes, forks and threads: the budget holds, and nothing that was acknowledged is lost.

Processes are forked from one that has imported everything, and meet at a barrier, or the race would be over before the
second one starts.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hedgerow.errors import BudgetExceeded, HedgerowError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.ledger.chain import reserve_body, write_link
from hedgerow.ledger.store import Ledger, Replay, Reserved
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.noisy_counts import GeometricCounts

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    # Later Pythons warn of any fork beside threads; linear algebra keeps idle ones.
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
]

PROCESSES, ROOM = 8, 4
ALL_CHECKED = multiprocessing.get_context("fork").Barrier(PROCESSES) if hasattr(os, "fork") else None


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory where there is one: a killed process loses nothing of it, and it is fast."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as name:
        yield Path(name)


def price(epsilon: float) -> Certificate:
    noise = GeometricCounts(1.0 / epsilon * (1 + 1e-9), 1)
    return Certificate(noise, Relation.ADD_REMOVE, "row", epsilon, 0.0, (), "upper", (), {})


def new_ledger(path: Path, epsilon: float) -> Ledger:
    return Ledger.create(path, dataset="people", budget=Budget(epsilon, 0.0), relation="add-remove", unit="row")


class CheckThenInsert(Ledger):
    """The sabotage: what was checked in one transaction is spent in another, once all processes have checked."""

    def reserve(self, certificate: Certificate, *, request_id: str, fingerprint: str) -> Reserved | Replay:
        mechanism = self._priced(certificate)
        with self._file.transaction(write=False) as connection:
            total = self._affordable(self._read(connection), mechanism)
        ALL_CHECKED.wait()
        with self._file.transaction(write=True) as connection:
            facts = reserve_body(certificate, fingerprint=fingerprint, total_micro=total.micro, at="")
            link = self._read(connection).next_link("reserve", request_id, facts)
            write_link(connection, link, None)
        return Reserved(self, request_id, self.head)


def _race(pipe, barrier, store: type[Ledger], number: int) -> None:
    for path in iter(pipe.recv, None):
        ledger = store.open(path)
        barrier.wait()
        try:
            ledger.reserve(price(0.25), request_id=f"by-{number}", fingerprint="count")
            pipe.send(True)
        except BudgetExceeded:
            pipe.send(False)
        ledger.close()


def successes(folder: Path, store: type[Ledger], races: int) -> list[int]:
    """Return how many of eight reservations succeeded in each race for a ledger with room for four."""
    context = multiprocessing.get_context("fork")
    warm = new_ledger(folder / "warm", 1.0)
    warm.reserve(price(0.25), request_id="warm", fingerprint="count")
    barrier, ends, workers = context.Barrier(PROCESSES), [], []
    for number in range(PROCESSES):
        here, there = context.Pipe()
        workers.append(context.Process(target=_race, args=(there, barrier, store, number), daemon=True))
        workers[-1].start()
        ends.append(here)
    found = []
    for race in range(races):
        path = folder / f"race-{race}"
        new_ledger(path, 1.0).close()
        for end in ends:
            end.send(path)
        found.append(sum(end.recv() for end in ends))
        ledger = Ledger.open(path)
        assert len(ledger.entries()) == found[-1]
        if store is Ledger:
            ledger.verify()
            assert ledger.spent() <= 1.0
        ledger.close()
        path.unlink()
    for end, worker in zip(ends, workers, strict=True):
        end.send(None)
        worker.join(10)
        worker.close()
    return found


def test_eight_processes_race_for_room_for_four(folder: Path) -> None:
    assert successes(folder, Ledger, 30) == [ROOM] * 30


def test_a_store_that_checks_before_it_locks_overspends_in_the_same_race(folder: Path) -> None:
    assert successes(folder, CheckThenInsert, 2) == [PROCESSES] * 2


@pytest.mark.long
def test_a_thousand_races(folder: Path) -> None:
    assert successes(folder, Ledger, 1000) == [ROOM] * 1000


def _spend_until_killed(path: Path, log: int, round_: int) -> None:
    ledger = Ledger.open(path)
    os.write(log, b"open\n")
    for number in range(10**6):
        name = f"r{round_}-{number}"
        reserved = ledger.reserve(price(1e-3), request_id=name, fingerprint=name)
        assert isinstance(reserved, Reserved)
        os.write(log, f"released {name}\n".encode())  # from here on data would have been read
        reserved.record(f"result of {name}")
        os.write(log, f"recorded {name}\n".encode())


def survivors_of_kills(folder: Path, kills: int, seed: int) -> tuple[int, int, int]:
    """Kill a spending process at random points; return how many entries, releases and journals were left."""
    chance, journals, releases, entries = random.Random(seed), 0, 0, 0
    new_ledger(folder / "warm", 1.0).reserve(price(0.25), request_id="warm", fingerprint="count")
    for kill in range(kills):
        if kill % 20 == 0:
            path = folder / f"ledger-{kill}"
            new_ledger(path, 100.0).close()
            promised: dict[str, bool] = {}
        log, there = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                _spend_until_killed(path, there, kill)
            finally:
                os._exit(1)
        os.close(there)
        begun = os.read(log, 5)
        time.sleep(chance.uniform(0.0, 0.012))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with os.fdopen(log, "rb") as lines:
            told = (begun + lines.read()).decode().splitlines()
        for line in told[1:]:
            word, name = line.split()
            promised[name] = promised.get(name, False) or word == "recorded"
        journals += path.with_name(path.name + "-journal").exists()
        ledger = Ledger.open(path)
        ledger.verify()
        found = {entry.request_id: entry for entry in ledger.entries()}
        assert promised.keys() <= found.keys()  # spent ≥ released
        for name, recorded in promised.items():
            if recorded:
                assert found[name].result == f"result of {name}"
        assert round(1e6 * ledger.spent()) >= 1_000 * len(promised)
        if kill % 20 == 19 or kill == kills - 1:
            entries, releases = entries + len(found), releases + len(promised)
        ledger.close()
    return entries, releases, journals


def test_killed_at_random_points_nothing_released_is_unspent(folder: Path) -> None:
    entries, releases, _ = survivors_of_kills(folder, 40, seed=5)
    assert entries >= releases > 40


@pytest.mark.long
def test_a_thousand_kills(folder: Path) -> None:
    entries, releases, journals = survivors_of_kills(folder, 1000, seed=6)
    assert entries >= releases > 1000
    assert journals > 10, "no kill fell inside a transaction"


def test_a_forked_child_opens_its_own_connection(folder: Path) -> None:
    ledger = new_ledger(folder / "ledger", 1.0)
    ledger.reserve(price(0.25), request_id="parent", fingerprint="count")
    mine = ledger._file._connection
    child = os.fork()
    if child == 0:
        right = False
        try:
            ledger.reserve(price(0.25), request_id="child", fingerprint="count")
            right = ledger._file._connection is not mine
        finally:
            os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert ledger._file._connection is mine
    ledger.reserve(price(0.25), request_id="parent again", fingerprint="count")
    assert [entry.request_id for entry in ledger.entries()] == ["parent", "child", "parent again"]
    ledger.verify()


def test_forks_wait_until_no_transaction_is_open(folder: Path) -> None:
    """A child that inherits an open transaction would roll its parent's back when it exits."""
    ledger, stop = new_ledger(folder / "ledger", 100.0), threading.Event()
    failures: list[BaseException] = []

    def spend() -> None:
        for number in range(10**6):
            if stop.is_set():
                return
            try:
                ledger.reserve(price(1e-3), request_id=f"r{number}", fingerprint="count").record("x")
            except BaseException as failure:
                failures.append(failure)
                return

    thread = threading.Thread(target=spend)
    thread.start()
    for _ in range(30):
        child = os.fork()
        if child == 0:
            os._exit(1 if ledger._file._connection is not None and ledger._file._connection.in_transaction else 0)
        assert os.waitpid(child, 0)[1] == 0
    stop.set()
    thread.join()
    assert not failures
    ledger.verify()


def test_threads_take_turns(folder: Path) -> None:
    ledger, spent = new_ledger(folder / "ledger", 1.0), []

    def spend(number: int) -> None:
        try:
            ledger.reserve(price(0.25), request_id=f"t{number}", fingerprint="count")
            spent.append(number)
        except BudgetExceeded:
            pass

    threads = [threading.Thread(target=spend, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(spent) == ROOM == len(ledger.entries())
    ledger.verify()


def test_one_id_from_many_threads_is_one_release(folder: Path) -> None:
    ledger, outcomes = new_ledger(folder / "ledger", 1.0), []

    def ask() -> None:
        try:
            outcomes.append(type(ledger.reserve(price(0.25), request_id="same", fingerprint="count")).__name__)
        except HedgerowError as refused:
            outcomes.append(refused.code)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["HG312"] * 5 + ["Reserved"]
    assert ledger.remaining() == 0.75
