"""Coverage, width and standard errors of smooth functions of noisy joint moments, by simulation.

Run: python -m benchmarks.joint_moments [--runs 4000] [--quick] [--noise plan|gaussian|laplace] [--n 500 2000 10000]
     [--misses]

All runs of a setting are read at once, as the cells of one table: exact moments of samples drawn with replacement, with
the noise of the release that the library plans for the statistic alone (`plan`), or of its best one with a named law.
The table is that of the default settings: ratio, variance, standard deviation, covariance, correlation, the difference
of two groups' means and of two means of the same people; seeds are fixed. For each statistic, population, n and ε
(δ = 1e-6, replace-one) a line shows:

* ``error``: the oracle's standard error over the truth. The oracle knows the true sampling variance and the linearised
  variance of the noise; its interval is 1.96 of its standard errors on either side.
* ``plain``: the coverage of the 95 % t interval without noise.
* ``cover (below above)``: the coverage of the released interval, and how often it lies below or above the truth.
* ``width``: its mean width over the oracle's. A star marks where that is to be at most 1.10: plain ≥ .94, and the
  oracle's half-width below a quarter of what is possible (of twice the truth, where anything is).
* ``known``: the same for the interval that is told the true sampling covariance. It shows what the form of the interval
  costs, above all with a noisy divisor and with the tails of Laplace noise; the rest is the cost of estimating it.
* ``s.e.``: the mean standard error over the robust standard deviation (q.84 − q.16)/2 of the reliable estimates, times
  that ratio for the linearised error, since Laplace noise has narrower quartiles than its standard deviation says. A
  dash marks where the truth is too near 0 (error ≥ ½) or to the end of what is possible for the figure to mean much.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from benchmarks.aims import WIDTH, least_coverage
from tests.statistical.simulations.joint_moments import POPULATIONS, Result, Setting, measure

STATISTICS = ("ratio", "variance", "sd", "covariance", "correlation", "groups", "paired")
KNOWN, BIAS = 1.07, 0.05
HEADER = (
    "statistic   population       n    ε noise         error  plain  reliable cover (below above)"
    "    width   known    s.e."
)


def misses(result: Result) -> list[str]:
    """Return what a setting misses of what is aimed at."""
    found = ["coverage"] if result.coverage < least_coverage(result.runs) else []
    found += ["width"] if result.width_counts and result.width > WIDTH else []
    return found + (["s.e."] if result.bias_counts and abs(result.bias - 1.0) > BIAS else [])


def line(result: Result) -> str:
    """Return the line of the table."""
    setting, star, dash = result.setting, " *"[result.width_counts], "- "[result.bias_counts]
    parts = [
        f"{setting.statistic:11} {setting.population:11} {setting.n:6} {setting.epsilon:4} {result.law:10}",
        f"{result.error:8.3f}  {result.plain:.3f}   {result.reliable:.2f}   {result.coverage:.3f}",
        f"({result.below:.3f} {result.above:.3f})  {result.width:6.3f}{star} "
        f"{result.known:6.3f}  {result.bias:6.3f}{dash}",
    ]
    return " ".join([*parts, *misses(result)])


def settings(arguments: argparse.Namespace) -> Iterator[Setting]:
    """Yield the settings asked for."""
    for name, n, statistic in product(arguments.population, arguments.n, arguments.statistic):
        for epsilon in arguments.epsilon:
            yield Setting(statistic, name, n, epsilon, arguments.noise)


def main(report: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--quick", action="store_true", help="1,000 runs with n = 500")
    parser.add_argument("--statistic", nargs="+", choices=STATISTICS, default=STATISTICS)
    parser.add_argument("--population", nargs="+", choices=POPULATIONS, default=POPULATIONS)
    parser.add_argument("--n", type=int, nargs="+", default=[500, 2000, 10_000])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.3, 1.0, 3.0])
    parser.add_argument("--noise", choices=("plan", "gaussian", "laplace"), default="plan")
    parser.add_argument("--misses", action="store_true", help="only lines that miss a figure")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.runs, arguments.n = 1000, [500]
    report(HEADER)
    results = []
    with np.errstate(all="ignore"):
        for setting in settings(arguments):
            results.append(measure(setting, arguments.runs))
            if misses(results[-1]) or not arguments.misses:
                report(line(results[-1]))
    report(summary(results))


def summary(results: list[Result]) -> str:
    """Return a line a statistic, and one of all: what `misses` counts, and how often the known width misses too."""
    head = "statistic    settings  least cover  misses  width: median  above (known) of   s.e.: range  off of"
    named = {name: [one for one in results if one.setting.statistic == name] for name in STATISTICS}
    lines = [_summed(name, some) for name, some in (named | {"all": results}).items() if some]
    return "\n".join(["", head, *lines])


def _summed(name: str, results: list[Result]) -> str:
    found = Counter(miss for result in results for miss in misses(result))
    starred = [result for result in results if result.width_counts]
    wide = sum(result.known > KNOWN for result in starred if result.width > WIDTH)
    unbiased = [result.bias for result in results if result.bias_counts]
    median = np.median([result.width for result in starred]) if starred else math.nan
    low, high = (min(unbiased), max(unbiased)) if unbiased else (math.nan, math.nan)
    return (
        f"{name:11} {len(results):9} {min(one.coverage for one in results):12.3f} {found['coverage']:7} "
        f"{median:14.3f} {found['width']:6} ({wide}) of {len(starred):3} "
        f"{low:8.3f}–{high:.3f} {found['s.e.']:3} of {len(unbiased)}"
    )


if __name__ == "__main__":
    main()
