"""Seconds and memory of making 650,000 cells and all their totals consistent, and of writing them as CSV.

    python benchmarks/consistent_margins.py

13 × 50 × 1,000 noisy counts. Released beside the cells: nothing; or every margin, and n known. Then with an uneven
hierarchy on the largest axis (1,000 districts in 32 regions of 1 to 63). Peak memory is that of the whole process.
"""

from __future__ import annotations

import resource
import time
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from hedgerow.release.cells.margins import ReleasedMargin, consistent_table
from hedgerow.release.cells.printed_numbers import non_negative, whole_numbers
from hedgerow.release.cells.shape import Hierarchy, TableDimension, TableShape
from hedgerow.release.cells.table_cells import TableCells
from hedgerow.release.publication.formats.csv import write as write_csv
from hedgerow.release.publication.publication import Publication

LENGTHS = (13, 50, 1000)
SHAPE = TableShape(tuple(TableDimension(f"c{place}", tuple(range(levels))) for place, levels in enumerate(LENGTHS)))
REGIONS = Hierarchy.of("c2", "region", {int(at): [d for d in range(1000) if int(d**0.5) == at] for at in range(32)})


def main() -> None:
    """Run and print."""
    rng = np.random.default_rng(1)
    truth = rng.poisson(rng.gamma(0.5, 6.0, size=LENGTHS)).astype(np.float64)
    cells = TableCells.counts(
        SHAPE,
        (truth + rng.laplace(size=LENGTHS)).ravel(),
        privacy_variance=2.0,
        noise_law="laplace",
        n=int(truth.sum()),
    )
    released = [ReleasedMargin((), np.array([truth.sum()]), 0.0)]
    for kept in (kept for length in (1, 2) for kept in combinations(range(3), length)):
        sums = truth.sum(axis=tuple(axis for axis in range(3) if axis not in kept))
        released.append(
            ReleasedMargin(tuple(f"c{at}" for at in kept), sums + rng.laplace(size=sums.shape), 2.0, "laplace")
        )
    table = timed("plain sums, 7 margins", lambda: consistent_table(cells))
    timed("least squares, 6 released margins and n", lambda: consistent_table(cells, released=released))
    timed("least squares, a hierarchy too", lambda: consistent_table(cells, released=released, hierarchies=[REGIONS]))
    timed(
        "95 % intervals of all cells and totals", lambda: [m.interval(0.95) for m in (cells, *table.margins.values())]
    )
    mended = timed("non-negative and whole", lambda: whole_numbers(non_negative(table)))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        timed("CSV of all", lambda: write_csv(Publication("", mended, ""), path))
        print(f"{path.stat().st_size / 1e6:.0f} MB of CSV")


def timed(name, run):
    start = time.perf_counter()
    found = run()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"{name:42} {time.perf_counter() - start:6.2f} s   peak {peak:5.0f} MB", flush=True)
    return found


if __name__ == "__main__":
    main()
