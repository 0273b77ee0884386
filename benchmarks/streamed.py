"""A bootstrap of three continuous columns, whose records do not collapse: memory and time against the number of rows.

Run ``python benchmarks/streamed.py [--rows 1000000 10000000] [--resamples 50]``. Each number of rows is a Parquet file,
read by a process of its own, whose largest memory and CPU time, of the release alone, are printed.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hedgerow as hg

COLUMNS = "xyz"


def write(path: Path, rows: int) -> None:
    rng, at_once = np.random.default_rng(0), 500_000
    schema = pa.schema([(name, pa.float64()) for name in COLUMNS])
    with pq.ParquetWriter(path, schema) as file:
        for start in range(0, rows, at_once):
            drawn = {name: rng.normal(50, 10, min(at_once, rows - start)) for name in COLUMNS}
            file.write_table(pa.table(drawn, schema), row_group_size=100_000)


def release(path: str, rows: int, k: int) -> None:
    bounds = {name: (0, 100) for name in COLUMNS}
    rate = hg.bootstrap(lambda t: t["x"] / (t["y"] + t["z"]), columns=bounds, name="rate")
    survey, began = hg.open(path, relation="add-remove"), time.process_time()
    found = survey.release(rate, epsilon=1.0, n_resamples=k)[0]
    spent, megabytes = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    each = spent / rows / k * 1e9
    print(f"{rows:,} rows: {spent:.2f} s of CPU, {each:.1f} ns a row and replicate, {megabytes:.0f} MB", end="; ")
    print(f"estimate {found.estimate:.6f}, standard error {found.standard_error:.6f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7])
    parser.add_argument("--resamples", type=int, default=50)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.file:
        release(given.file, given.rows[0], given.resamples)
        return
    with tempfile.TemporaryDirectory() as folder:
        for rows in given.rows:
            write(path := Path(folder) / f"{rows}.parquet", rows)
            options = ["--file", str(path), "--rows", str(rows), "--resamples", str(given.resamples)]
            subprocess.run([sys.executable, __file__, *options], check=True)


if __name__ == "__main__":
    main()
