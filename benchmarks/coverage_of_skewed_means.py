"""Coverage and width of the released 95 % intervals of means and sums of rare and skewed values, with little noise too.

Run: python -m benchmarks.coverage_of_skewed_means [--runs 4000] [--statistic mean] [--plain]

The simulations are those of the tests (`tests/statistical/simulations/skewed_means.py`). `--plain` reads them without
the correction for skewness; else each width is over that.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator

import numpy as np
from tests.statistical.simulations.skewed_means import Setting, laws, plain, simulate

BUDGETS = (1.0, 3.0, 10.0)
SIZES = (200, 1000)


def settings(statistic: str) -> Iterator[list[Setting]]:
    """Yield rows: budgets with δ = 10⁻⁶ and then pure ones, for each law, relation and n."""
    for law in laws():
        for relation in ("replace-one", "add-remove"):
            for n in SIZES:
                budgets = [(epsilon, delta) for delta in (1e-6, 0.0) for epsilon in BUDGETS]
                yield [Setting(law, relation, n, *budget, statistic) for budget in budgets]


def main(report: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--statistic", choices=("mean", "sum"), default="mean")
    parser.add_argument("--plain", action="store_true", help="without the correction for skewness")
    arguments = parser.parse_args()
    report("coverage (width over that without the correction): ε = 1, 3, 10 with δ = 1e-6, then with δ = 0")
    least, ratios = 1.0, []
    for row in settings(arguments.statistic):
        shown = []
        for setting in row:
            before = simulate(setting, arguments.runs, plain)
            found = before if arguments.plain else simulate(setting, arguments.runs)
            least = min(least, found.coverage)
            ratios.append(found.width / before.width)
            shown.append(f"{found.coverage:.3f} ({ratios[-1]:.2f})")
        report(f"{row[0].law:28} {row[0].relation:11} {row[0].n:5} " + "  ".join(shown))
    error = math.sqrt(0.94 * 0.06 / arguments.runs)
    report(
        f"least coverage {least:.4f} (.94 less 2 s.e. is {0.94 - 2 * error:.4f}); median ratio {np.median(ratios):.3f}"
    )


if __name__ == "__main__":
    main()
