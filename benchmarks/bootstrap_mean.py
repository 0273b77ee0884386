"""Speed of 1,000 bootstrap replicates of a mean: from the histogram, and by arch, scipy and resample, in one run.

Run ``python benchmarks/bootstrap_mean.py``: two to five minutes, most of it resample's, which takes 8 GB at a million
rows; with ``--skip resample`` under a minute. Times are the least of a few repetitions inside this one process: trust
ratios, not seconds. Packages that are not installed are named and left out: ``pip install arch resample``.

Target: at least 100 times faster than arch on 256 distinct values.

The histogram's time includes counting the rows (`numpy.bincount`; a release leaves it to a GROUP BY). Its replicates
are those of the data, not an approximation: the values lie on the grid.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hedgerow.noise.secure import SecureNoise
from hedgerow.resampling.counted_values import Histogram
from hedgerow.resampling.replicates import poisson_replicates

Values = NDArray[np.int64]
Run = Callable[[], float]
TARGET = 100.0


def least_seconds(run: Run, *, repetitions: int) -> tuple[float, float]:
    """Return the least time of a few runs and the standard error that the last one found."""
    found, times = 0.0, []
    for _ in range(repetitions):
        start = time.perf_counter()
        found = run()
        times.append(time.perf_counter() - start)
    return min(times), found


def histogram_run(rows: Values, distinct: int, n_resamples: int, generator: np.random.Generator) -> Run:
    """Return a run of hedgerow's own replicates: count, resample, average."""

    def run() -> float:
        counts = np.bincount(rows, minlength=distinct)
        places = np.arange(distinct)
        histogram = Histogram.from_triplets(np.zeros_like(places), places, counts, cells=1)
        features = (2 * histogram.index - (distinct - 1))[:, None]  # about the midpoint, as a release has it
        sums = poisson_replicates(histogram, features, n_resamples=n_resamples, rate=1.0, generator=generator)
        return float((sums[0, 0] / 2 / len(rows)).std(ddof=1))

    return run


def arch_run(rows: Values, n_resamples: int) -> Run | None:
    try:
        from arch.bootstrap import IIDBootstrap
    except ImportError:
        return None
    data = rows.astype(np.float64)
    return lambda: float(IIDBootstrap(data, seed=1).apply(np.mean, n_resamples).std(ddof=1))


def scipy_run(rows: Values, n_resamples: int) -> Run:
    """Return scipy's percentile bootstrap, in batches of 16: its default would ask for terabytes."""
    from scipy.stats import bootstrap

    data = (rows.astype(np.float64),)
    options = {"n_resamples": n_resamples, "batch": 16, "method": "percentile", "vectorized": True, "rng": 1}
    return lambda: float(bootstrap(data, np.mean, **options).standard_error)


def resample_run(rows: Values, n_resamples: int) -> Run | None:
    try:
        from resample.bootstrap import bootstrap
    except ImportError:
        return None
    data = rows.astype(np.float64)
    return lambda: float(np.std(bootstrap(np.mean, data, size=n_resamples, random_state=1), ddof=1))


def main() -> None:
    """Print seconds, ratios and the standard errors found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--n-resamples", type=int, default=1000)
    parser.add_argument("--distinct", type=int, default=256)
    parser.add_argument("--skip", nargs="*", default=[], metavar="NAME", help="arch, scipy or resample")
    asked = parser.parse_args()
    rng = np.random.default_rng(20261120)
    rows = rng.binomial(asked.distinct - 1, 0.5, asked.rows).astype(np.int64)
    rows[: asked.distinct] = np.arange(asked.distinct)  # every value is there, whatever the law's tails
    secure = histogram_run(rows, asked.distinct, asked.n_resamples, SecureNoise().generator())
    seeded = histogram_run(rows, asked.distinct, asked.n_resamples, rng)
    contenders: dict[str, tuple[Run | None, int]] = {
        "hedgerow, secure weights": (secure, 5),
        "hedgerow, seeded weights": (seeded, 5),
        "arch IIDBootstrap": (arch_run(rows, asked.n_resamples), 2),
        "scipy percentile, batches": (scipy_run(rows, asked.n_resamples), 1),
        "resample": (resample_run(rows, asked.n_resamples), 1),
    }
    print(f"{asked.rows:,} rows, {asked.distinct} values, {asked.n_resamples:,} replicates of the mean")
    print(f"plain standard error {rows.std(ddof=1) / np.sqrt(len(rows)):.6f}; a bootstrap's is within a few per cent")
    seconds = {}
    for name, (run, repetitions) in contenders.items():
        skipped = name.split()[0] in asked.skip
        if run is None or skipped:
            print(f"{name:28} left out: " + ("as asked" if skipped else "not installed"), flush=True)
            continue
        seconds[name], found = least_seconds(run, repetitions=repetitions)
        ratio = seconds[name] / seconds["hedgerow, secure weights"]
        print(f"{name:28} {seconds[name]:9.4f} s  {ratio:9.1f} ×  s.e. {found:.6f}", flush=True)
    if "arch IIDBootstrap" in seconds:
        ratio = seconds["arch IIDBootstrap"] / seconds["hedgerow, secure weights"]
        print(f"arch / hedgerow: {ratio:.0f}; target {TARGET:.0f}: {'met' if ratio >= TARGET else 'NOT MET'}")


if __name__ == "__main__":
    main()
