"""Section 8: coverage of the three 95 % intervals for the mean age.

Expected (printed, one run of 1,000): 80.1, 97.1 and 100 %. Ours: ten runs of 1,000 (their s.d. beside the mean).
Tolerance: 1.5 points on the first (s.e. of the printed figure 1.3), 1.1 on the second (.5), .3 on the third.
"""

from __future__ import annotations

import numpy as np

from ..drawing import INK, Drawing
from ..exhibit import Exhibit, Line, within
from .published import population, releases
from .series import SERIES

EXPECTED = {"unbiased": 0.801, "conservative": 0.971, "most conservative": 1.0}
TOLERANCE = {"unbiased": 0.015, "conservative": 0.011, "most conservative": 0.003}
RUN = 1000


def coverages(runs: int) -> dict[str, np.ndarray]:
    """Return the coverage of each run of 1,000 (or of all, where there are fewer)."""
    truth = population().mean
    return {
        name: intervals.covers(truth).reshape(-1, min(RUN, runs)).mean(axis=1)
        for name, intervals in releases(runs).intervals.items()
    }


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; `share` of the full number of runs."""
    found = coverages(int(10_000 * share))
    lines = tuple(
        Line(f"{name}", f"{100 * EXPECTED[name]:.1f} %", _with_deviation(several),
             within(float(several.mean()), EXPECTED[name], TOLERANCE[name]))
        for name, several in found.items()
    )  # fmt: skip
    drawing = Drawing.of("section-8", height=2.3)
    (ax,) = drawing.panels
    for row, (name, several) in enumerate(found.items()):
        style = SERIES[name]
        ax.plot(100 * several, np.full(len(several), row), style["marker"], color=style["color"], alpha=0.6, ls="")
        ax.plot(100 * EXPECTED[name], row, "|", color=INK, ms=18, mew=2, label="printed" if row == 0 else None)
    ax.axvline(95, color=INK, lw=1, ls=":", label="nominal 95 %")
    ax.set_yticks(range(len(found)), [name.replace(" ", "\n") for name in found])
    ax.set(xlabel="coverage of a run of 1,000, %", ylim=(-0.6, 2.6))
    return Exhibit(
        "section-8",
        "Section 8: coverage of the mean age's 95 % intervals",
        lines,
        "The population is a public extract of 10,000 records of the 5 % sample; samples are drawn from it with "
        "replacement. The paper does not say what becomes of a negative eq. 35; of seven ways this one, a width of 0, "
        "comes nearest, which is an inference and not a record of what was done.",
        drawing.finished(),
        "Dots of ten runs lie around 80, 97 and 100 %, each row around the printed figure.",
    )


def _with_deviation(several: np.ndarray) -> str:
    text = f"{100 * several.mean():.2f} %"
    return text + (f" (sd of a run {100 * several.std(ddof=1):.2f})" if len(several) > 1 else "")
