"""How long a look at a test set of a million records takes, ledger and all; target: at most 50 ms.

    python benchmarks/testset_score.py [--records 1000000] [--looks 200]

Timed are `TestSet.score` of an array of predictions: with a ledger on disk (two durable transactions a look), at the
first looks and at the last, under an id (which digests the predictions), and without a ledger. The reading is the
median; other work on the machine adds to it, so the processor's own time stands beside it.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from hedgerow.testset import TestSet, brier


def timed(run: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Return the median milliseconds of wall and of processor time."""
    walls, processors = [], []
    for _ in range(repeats):
        wall, processor = time.perf_counter(), time.process_time()
        run()
        walls.append(1e3 * (time.perf_counter() - wall))
        processors.append(1e3 * (time.process_time() - processor))
    return statistics.median(walls), statistics.median(processors)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--looks", type=int, default=200)
    asked = parser.parse_args()
    rng = np.random.default_rng(20261120)
    labels = rng.integers(0, 2, asked.records)
    predicted = np.where(rng.random(asked.records) < 0.9, labels, 1 - labels)
    chances = np.clip(0.2 + 0.6 * labels + rng.normal(0, 0.1, asked.records), 0.0, 1.0)
    options = {"relation": "replace-one", "epsilon": 1.0, "delta": 1e-7, "n_looks": asked.looks}
    options["mechanism"] = "gaussian"
    print(f"{asked.records:,} records, {asked.looks} looks      median wall    median processor")
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        ts = TestSet(None, labels, ledger=Path(folder, "ts.ledger"), **options)
        print(f"{'opening, with its fingerprint':<34} {1e3 * (time.perf_counter() - begun):>9.1f} ms")
        ts.score(predicted)  # imports, and the connection
        show("looks 2 to 21", timed(lambda: ts.score(predicted), 20))
        names = iter(range(10**6))
        show("under an id", timed(lambda: ts.score(predicted, request_id=f"id {next(names)}"), 20))
        for _ in range(max(0, ts.remaining - 20)):
            ts.score(predicted)
        show("the last 20 looks", timed(lambda: ts.score(predicted), 20))
        chanced = TestSet(None, labels, metric=brier(), ledger=Path(folder, "b.ledger"), **options)
        chanced.score(chances)
        show("Brier loss", timed(lambda: chanced.score(chances), 20))
    alone = TestSet(None, labels, **options)
    alone.score(predicted)
    show("without a ledger", timed(lambda: alone.score(predicted), 20))


def show(what: str, times: tuple[float, float]) -> None:
    print(f"{what:<34} {times[0]:>9.1f} ms      {times[1]:>9.1f} ms")


if __name__ == "__main__":
    main()
