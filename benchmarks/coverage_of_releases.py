"""Coverage and width of the released 95 % intervals, by simulation with the seeded stand-in.

Run: python -m benchmarks.coverage_of_releases [--runs 2000] [--estimator bootstrap] [--interval conservative]

The simulations are those of the tests (`tests/statistical/simulations/releases.py`), with more runs and their widths.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from tests.statistical.simulations.releases import settings, simulate


def main(report: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--estimator", default="auto")
    parser.add_argument("--interval", default=None)
    parser.add_argument("--seed", type=int, default=20261120)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    report(f"{'setting':58s} {'statistic':9s} {'coverage':>8s} {'width/oracle':>12s}")
    worst, widths = 1.0, []
    for setting in settings():
        for statistic in ("mean", "sum"):
            result = simulate(
                setting, statistic, arguments.runs, rng, estimator=arguments.estimator, interval=arguments.interval
            )
            worst = min(worst, result.coverage)
            widths.append(result.width)
            report(f"{setting!s:58s} {statistic:9s} {result.coverage:8.4f} {result.width:12.3f}")
    report(f"worst coverage {worst:.4f}; median width over oracle {np.median(widths):.3f}, largest {max(widths):.3f}")


if __name__ == "__main__":
    main()
