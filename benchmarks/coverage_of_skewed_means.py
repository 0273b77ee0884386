"""Coverage and width of the released 95 % intervals of means and sums of rare and skewed values, with little noise too.

Run: python -m benchmarks.coverage_of_skewed_means [--runs 4000] [--statistic mean] [--plain] [--few]

The simulations are those of the tests (`tests/statistical/simulations/skewed_means.py`). `--plain` reads them without
the correction for skewness; else each width is over that. `--few` simulates means, shares and differences of 30 to 200
records (`tests/statistical/simulations/few_records.py`): the coverage, and the width over the narrower of Student's t
and the score interval at the same noise of those that cover (`-` where none does); some four CPU minutes of 2,000 runs.
Differences are of two groups of one law, and "from .5" of one group and another whose records are all .5.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator

import numpy as np
from tests.statistical.simulations.few_records import MILD, FewRecords, few_laws, over_yardstick, skewness
from tests.statistical.simulations.skewed_means import Setting, laws, plain, simulate

BUDGETS = (1.0, 3.0, 10.0)
SIZES = (200, 1000)
FEW = (30, 50, 100, 200)


def settings(statistic: str) -> Iterator[list[Setting]]:
    """Yield rows: budgets with δ = 10⁻⁶ and then pure ones, for each law, relation and n."""
    for law in laws():
        for relation in ("replace-one", "add-remove"):
            for n in SIZES:
                budgets = [(epsilon, delta) for delta in (1e-6, 0.0) for epsilon in BUDGETS]
                yield [Setting(law, relation, n, *budget, statistic) for budget in budgets]


def few(runs: int, report: Callable[[str], None]) -> None:
    """Report means, shares and differences of few records, mild laws first."""
    ordered = sorted(few_laws().items(), key=lambda item: abs(skewness(item[1])))
    report(f"n = {', '.join(map(str, FEW))} by ε = {', '.join(f'{one:g}' for one in BUDGETS)}: coverage (width)")
    summary: dict[tuple[str, bool], list[tuple[float, float | None]]] = {}
    for statistic in ("mean", "share", "difference", "from .5"):
        for name, law in ordered:
            shown, mild = [], abs(skewness(law)) <= MILD
            for n in FEW:
                for epsilon in BUDGETS:
                    simulated = FewRecords(name, n, epsilon, statistic).simulate(runs)
                    coverage, ratio = simulated["released"][0], over_yardstick(simulated, runs)
                    summary.setdefault((statistic, mild), []).append((coverage, ratio))
                    shown.append(f"{coverage:.3f} ({'-' if ratio is None else format(ratio, '.2f')})")
            report(f"{statistic:10} {name:28} skew {skewness(law):5.1f}  " + " ".join(shown))
    for (statistic, mild), pairs in summary.items():
        ratios = [ratio for _, ratio in pairs if ratio is not None]
        within = sum(ratio <= 1.15 for ratio in ratios)
        report(
            f"{statistic}, {'mild' if mild else 'heavy'} skew: least coverage {min(pairs)[0]:.3f}; width over the "
            f"yardstick: median {np.median(ratios):.2f}, at most {max(ratios):.2f}, ≤ 1.15 in {within} of {len(ratios)}"
        )


def main(report: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--statistic", choices=("mean", "sum"), default="mean")
    parser.add_argument("--plain", action="store_true", help="without the correction for skewness")
    parser.add_argument("--few", action="store_true", help="30 to 200 records, beside Student's t")
    arguments = parser.parse_args()
    if arguments.few:
        few(arguments.runs, report)
        return
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
