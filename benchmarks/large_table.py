"""A table of a million cells with all its totals, from a million rows: seconds and peak memory of each step.

    python benchmarks/large_table.py [--count] [--delta D] [--rows N] [--write]

The limits: 4 s of CPU and .6 GB. One release a cell, every margin of the three axes, intervals of every cell.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet

import hedgerow as hg

AXES = {"industry": 20, "region": 50, "product": 1000}


def draw_file(path: Path, rows: int) -> None:
    rng = np.random.default_rng(1)
    columns = {name: rng.integers(0, levels, rows) for name, levels in AXES.items()}
    columns["sales"] = np.clip(rng.lognormal(5.0, 1.0, rows), 0.0, 10_000.0).round()
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


@contextmanager
def timed(what: str) -> Iterator[None]:
    start, cpu = time.perf_counter(), time.process_time()
    yield
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(f"{what:<34} {seconds:7.2f} s ({cpu:6.2f} s of CPU)   peak so far {peak:5.2f} GB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", action="store_true", help="counts in place of totals")
    parser.add_argument("--delta", type=float, default=None, help="0: pure; default: the contract's")
    parser.add_argument("--noise", default="auto")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--write", action="store_true", help="write JSON, CSV and HTML too")
    given = parser.parse_args()
    by = {name: list(range(levels)) for name, levels in AXES.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sales.parquet"
        with timed("drawing the data (not counted)"):
            draw_file(path, given.rows)
        start, cpu = time.perf_counter(), time.process_time()
        with timed("opening"):
            survey = hg.open(path, relation="replace-one")
        options = {"by": by, "epsilon": 1.0, "delta": given.delta, "noise": given.noise}
        with timed("plan, count, noise, certificate"):
            if given.count:
                table = survey.contingency_table(**options)
            else:
                table = survey.magnitude_table("sales", bounds=(0, 10_000), step=1, **options)
        with timed("all margins"):
            table = table.with_margins()
        with timed("intervals and errors of all cells"):
            found = table.columns(0.95)
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        print(f"{table!r}\n{table.reason}")
        print(
            f"{len(table):,} cells, {len(table.margins)} margins of "
            f"{sum(len(table.margin(*k)) for k in table.margins):,}"
        )
        print(f"median standard error {np.median(found.standard_error):.4g}")
        if given.write:
            for name, write in (("JSON", table.to_json), ("CSV", table.to_csv)):
                with timed(f"writing {name}"):
                    write(Path(folder) / f"table.{name.lower()}")
                print(f"   {(Path(folder) / f'table.{name.lower()}').stat().st_size / 2**20:.0f} MB")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        verdict = "within" if cpu <= 4 and peak <= 0.6 else "BEYOND"
        print(f"in all {seconds:.1f} s ({cpu:.1f} s of CPU), peak {peak:.2f} GB: {verdict} the limits")


if __name__ == "__main__":
    main()
