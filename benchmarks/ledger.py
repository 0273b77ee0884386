"""How long a reservation and a record take at 1,000 entries: the median, p99 and the longest, in milliseconds.

Run ``python benchmarks/ledger.py`` (about a minute; ``--runs`` and ``--entries`` for other sizes, ``--folder`` for
another disk). Two commits that wait for the disk are in each pair; their time alone is printed first, as two of the
smallest durable transactions of SQLite. The mixes are

* ``gaussian``: means and counts with Gaussian noise, every width another one;
* ``mixed``: a third each of Gaussian means, geometric counts of seven scales, and one bootstrap, over and over;
* ``all different``: geometric counts, every scale another one, so that no distribution is ever met twice.

``cold`` is the first reservation of a process that opens a full ledger: what the command line pays. ``by path`` opens
the ledger for each release, as a process does that releases again and again. ``--checkpoint ENTRIES`` measures instead
how long a ledger takes to open, with and without a checkpoint: seconds of CPU and by the clock.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from hedgerow.canonical import digest
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.ledger.chain import Chain, read_header, reserve_body
from hedgerow.ledger.guarantee import with_one_more
from hedgerow.ledger.open_ledgers import open_again
from hedgerow.ledger.store import Ledger, Reserved
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.interface import Mechanism
from hedgerow.mechanisms.noisy_counts import GaussianNoise, GeometricCounts
from hedgerow.mechanisms.resampled_sums import ResampledCoordinate, ResampledGaussian
from hedgerow.noise.lattice import LatticeNoise

BOOTSTRAP = ResampledGaussian(20, 1.0, "value", (ResampledCoordinate(100, LatticeNoise(2**27, 10)),), "public", 1)
FINGERPRINT = '{"mean":"age","bounds":[0,100],"more":"' + 250 * "x" + '"}'
RESULT = '{"estimates": "' + 4000 * "x" + '"}'


def gaussian(number: int) -> Mechanism:
    return GaussianNoise(400.0 + number, 1.0)


def mixed(number: int) -> Mechanism:
    return (gaussian(number), GeometricCounts(1000.0 + number % 7, 4), BOOTSTRAP)[number % 3]


def all_different(number: int) -> Mechanism:
    return GeometricCounts(1000.0 + number, 4)


MIXES: dict[str, Callable[[int], Mechanism]] = {
    "gaussian": gaussian,
    "mixed": mixed,
    "all different": all_different,
}


def certificate(mechanism: Mechanism) -> Certificate:
    return Certificate(mechanism, Relation.REPLACE_ONE, "row", 0.01, 1e-6, (), "upper", (), {})


def spend(ledger: Ledger, mechanism: Mechanism, name: str) -> float:
    """Reserve and record once; return the seconds it took."""
    price = certificate(mechanism)
    begin = time.perf_counter()
    reserved = ledger.reserve(price, request_id=name, fingerprint='{"mean":"age"}')
    assert isinstance(reserved, Reserved)
    reserved.record(RESULT)
    return time.perf_counter() - begin


def by_path(path: Path, mechanism: Mechanism, name: str) -> float:
    """Return the seconds of a reservation and record where the ledger is opened by its path, as releases do."""
    begin = time.perf_counter()
    with open_again(path) as ledger:
        spend(ledger, mechanism, name)
    return time.perf_counter() - begin


def two_commits(folder: Path, runs: int) -> list[float]:
    """Time two of the smallest durable transactions."""
    connection, times = sqlite3.connect(folder / "bare", isolation_level=None), []
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("CREATE TABLE t (a)")
    for _ in range(runs):
        begin = time.perf_counter()
        for _ in range(2):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO t VALUES (1)")
            connection.execute("COMMIT")
        times.append(time.perf_counter() - begin)
    connection.close()
    return times


def show(name: str, times: list[float]) -> None:
    middle, high, longest = 1e3 * np.quantile(times, [0.5, 0.99, 1.0])
    print(f"{name:32s} {middle:9.1f} {high:9.1f} {longest:9.1f}", flush=True)


def written(path: Path, entries: int) -> None:
    """Write a ledger of recorded Gaussian releases in one transaction: what `Ledger` writes, without its waits."""
    budget = Budget(50.0, 1e-6)
    Ledger.create(path, dataset="survey", budget=budget, relation="replace-one", unit="row").close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        chain = Chain(read_header(connection))
        total, price = chain.header.nothing_spent(), certificate(GaussianNoise(1000.0, 1.0))
        for number in range(entries):
            total, name = with_one_more(total, price.mechanism), f"request {number}"
            at, result = "2026-01-01T00:00:00+00:00", f'{{"estimate": {number}}}'
            reserved = reserve_body(price, fingerprint=FINGERPRINT, total_micro=total.micro or 0, at=at)
            for kind, facts in (("reserve", reserved), ("record", {"at": at, "result": digest(result)})):
                link = chain.next_link(kind, name, facts)
                kept = result.encode() if kind == "record" else None
                row = (link.counter, link.kind, link.request, link.body, link.hash, kept)
                connection.execute("INSERT INTO links VALUES (?, ?, ?, ?, ?, ?)", row)
                chain.append(link)
        connection.execute("COMMIT")


def checkpoint(folder: Path, entries: int) -> None:
    """Print how long it takes to open a ledger, and to spend in it, with and without a checkpoint."""
    os.environ["XDG_CACHE_HOME"] = str(folder)
    path = folder / "long"
    written(path, entries)
    print(f"{entries:,} entries, {path.stat().st_size / 1e6:.0f} MB; seconds: CPU, clock")
    for turn in range(4):
        before = time.process_time(), time.perf_counter()
        ledger = Ledger.open(path)
        opened = time.process_time(), time.perf_counter()
        spend(ledger, GaussianNoise(1000.0, 1.0), f"turn {turn}")
        spent = time.process_time(), time.perf_counter()
        ledger.close()
        closed = time.process_time(), time.perf_counter()
        marks = zip(("open", "spend", "close"), (before, opened, spent), (opened, spent, closed), strict=True)
        told = [f"{what} {b[0] - a[0]:.2f} {b[1] - a[1]:.2f}" for what, a, b in marks]
        print("with a checkpoint:   " if turn else "without a checkpoint:", ", ".join(told), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--entries", type=int, default=1000)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--checkpoint", type=int, default=0, metavar="ENTRIES")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as name:
        folder = Path(name)
        if chosen.checkpoint:
            checkpoint(folder, chosen.checkpoint)
            return
        print(f"{'milliseconds':32s} {'median':>9s} {'p99':>9s} {'longest':>9s}")
        show("two bare commits", two_commits(folder, chosen.runs))
        for mix, mechanism in MIXES.items():
            path = folder / mix.replace(" ", "-")
            budget = Budget(1.0, 1e-6)
            ledger = Ledger.create(path, dataset="survey", budget=budget, relation="replace-one", unit="row")
            for number in range(chosen.entries):
                spend(ledger, mechanism(number), f"fill-{number}")
            times = [spend(ledger, mechanism(chosen.entries + run), f"run-{run}") for run in range(chosen.runs)]
            show(f"{mix}: reserve + record", times)
            ledger.close()
            cold = Ledger.open(path)
            show(f"{mix}: cold, this process", [spend(cold, mechanism(0), "cold")])
            begin = time.perf_counter()
            cold.verify()
            show(f"{mix}: verify from scratch", [time.perf_counter() - begin])
            print(f"  total epsilon {cold.spent():.4f}, file {path.stat().st_size / 1e6:.1f} MB")
            cold.close()
            show(f"{mix}: by path, for the first time", [by_path(path, mechanism(0), "first")])
            show(f"{mix}: by path, again", [by_path(path, mechanism(run), f"again-{run}") for run in range(20)])


if __name__ == "__main__":
    main()
