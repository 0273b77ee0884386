"""§7: tests of hypotheses, which the paper announces and does not write down, in section 8's setting.

A test that rejects where an interval excludes the value has the level 1 − coverage. Expected, from section 8: 19.9, 2.9
and 0 % for the paper's three intervals at a nominal 5 %; tolerance 1.5, 1.1 and .3 points, as there. Ours: p-values of
the released mean (`Estimate.test`, moments, the same price) are at most .05 and .01 in as many runs, and less than two
standard errors more; a p-value is at most .05 exactly where the 95 % interval excludes the value, in every run; and a
value 2.8 standard errors of the sample mean away is rejected as often as a normal test with the noise would, within 6
points: 77 %, where a test without noise rejects in 80 %.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from reproduction.brawner_honaker.study import Law, simulated_means
from reproduction.brawner_honaker.theory import claimed_epsilon

from ..drawing import BLUE, INK, ORANGE, Drawing
from ..exhibit import Exhibit, Line, within
from .published import RHO, N, population, releases

__all__ = ["exhibit"]

PRINTED = {"unbiased": (0.199, 0.015), "conservative": (0.029, 0.011), "most conservative": (0.0, 0.003)}
LEVELS, AWAY, DELTA, RUNS, SLACK = (0.05, 0.01), 2.8, 1e-6, 2000, 0.06


def ages() -> Law:
    """Return the law of the ages, in hundredths of a hundred years."""
    people = population()
    shares = np.zeros(101)
    shares[people.values.astype(int)] = people.shares
    return Law("age", shares)


def p_values(runs: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the p-values of the truth and of a value away from it, and in how many runs test and interval agree."""
    law = ages()
    away = law.mean + AWAY * math.sqrt(law.variance / N)
    found, agreed = [], 0
    for one in simulated_means(law, n=N, runs=runs, rng=7, estimator="moments",
                               epsilon=claimed_epsilon(RHO, delta=DELTA), delta=DELTA):  # fmt: skip
        interval = one.confidence_interval(1.0 - LEVELS[0])
        found.append((one.test(law.mean).pvalue, one.test(away).pvalue))
        agreed += (found[-1][0] <= LEVELS[0]) == (not interval.low <= law.mean <= interval.high)
    truth, other = np.array(found).T
    return truth, other, agreed


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; `share` of the full number of runs."""
    runs = max(200, int(RUNS * share))
    theirs, mean = releases(int(10_000 * share)), population().mean
    lines = []
    for name, (printed, tolerance) in PRINTED.items():
        level = 1.0 - float(theirs.intervals[name].covers(mean).mean())
        lines.append(Line(f"level of the 5 % test by the {name} interval", f"{100 * printed:.1f} %",
                          f"{100 * level:.2f} %", within(level, printed, tolerance)))  # fmt: skip
    truth, other, agreed = p_values(runs)
    for level in LEVELS:
        rejected, most = float((truth <= level).mean()), level + 2.0 * math.sqrt(level * (1.0 - level) / runs)
        lines.append(Line(f"ours: p ≤ {level:g} where the value is true", f"at most {100 * most:.2f} % (ours)",
                          f"{100 * rejected:.2f} %",
                          "as expected" if rejected <= most else "not as expected"))  # fmt: skip
    lines.append(Line("ours: p ≤ .05 exactly where the 95 % interval excludes the value", f"{runs:,} runs (ours)",
                      f"{agreed:,}", "as expected" if agreed == runs else "not as expected"))  # fmt: skip
    v, noise = ages().variance / N, (1.0 / N) ** 2 / (2.0 * RHO)
    critical, normal = NormalDist().inv_cdf(0.975), NormalDist()
    expected = normal.cdf(AWAY * math.sqrt(v / (v + noise)) - critical)
    power = float((other <= LEVELS[0]).mean())
    lines.append(Line("ours: power where a test without noise has 80 %", f"{100 * expected:.0f} % (ours)",
                      f"{100 * power:.1f} %", within(power, expected, SLACK, own=True)))  # fmt: skip
    drawing = Drawing.of("hypotheses", height=2.4)
    (ax,) = drawing.panels
    grid = np.linspace(0.0, 1.0, 101)
    for values, colour, style, label in ((truth, BLUE, "-", "true value"), (other, ORANGE, "--", "2.8 s.e. away")):
        ax.plot(grid, [100 * float((values <= at).mean()) for at in grid], color=colour, ls=style, label=label)
    ax.plot(grid, 100 * grid, color=INK, lw=1, ls=":", label="uniform")
    ax.set(xlabel="p", ylabel="runs with a smaller p-value, %")
    return Exhibit(
        "hypotheses",
        "Section 7: tests of hypotheses",
        tuple(lines),
        "The paper's introduction promises tests, and section 7 has intervals only. A test made of an interval is as "
        "good as its coverage: by the unbiased one it rejects the truth four times too often.",
        drawing.finished(),
        "p-values of the truth lie on the diagonal; those of a value 2.8 standard errors away rise steeply from 0.",
    )
