"""Figure 9b: z-scores of the three estimators against the standard normal (eq. 37).

Expected, in the text: the unbiased scores have more mass in the tails than a normal, the conservative ones are
"slightly more condensed", the most conservative ones "even more". No number is printed beside the coverages of section
8. Ours: the half-width that holds 95 % of the scores, 1.96 for a normal. Tolerance: unbiased above 2.2, conservative in
1.5..1.96, most conservative below the conservative.
"""

from __future__ import annotations

import numpy as np

from ..drawing import INK, Drawing
from ..exhibit import Exhibit, Line
from .published import population, releases
from .series import SERIES

HEAVY, CONDENSED = 2.2, (1.5, 1.96)


def needed(runs: int) -> dict[str, float]:
    """Return for each estimator the z within which 95 % of its scores lie; infinite where errors of 0 are too many."""
    truth = population().mean
    return {
        name: float(np.sort(np.abs(intervals.z_score(truth)))[int(np.ceil(0.95 * runs)) - 1])
        for name, intervals in releases(runs).intervals.items()
    }


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; `share` of the full number of runs."""
    runs = int(10_000 * share)
    found, truth = needed(runs), population().mean
    plain, cautious, most = found.values()
    low, high = CONDENSED
    lines = (
        Line("unbiased: |z| that holds 95 %", "over 1.96", f"{plain:.2f}" if np.isfinite(plain) else "infinite",
             "reproduced" if plain > HEAVY else "differs"),
        Line("conservative: |z| that holds 95 %", "a little under 1.96", f"{cautious:.2f}",
             "reproduced" if low < cautious < high else "differs"),
        Line("most conservative: |z| that holds 95 %", "less still", f"{most:.2f}",
             "reproduced" if most < cautious else "differs"),
    )  # fmt: skip
    drawing = Drawing.of("figure-9b", height=3.1)
    (ax,) = drawing.panels
    bins = np.linspace(-5, 5, 61)
    for name, style in SERIES.items():
        scores = releases(runs).intervals[name].z_score(truth)
        inside = scores[np.abs(scores) < 5]
        ax.hist(inside, bins=bins, weights=np.full(len(inside), 6 / runs), histtype="step", color=style["color"],
                ls=style["ls"], lw=1.5, label=name)  # fmt: skip
    grid = np.linspace(-5, 5, 201)
    ax.plot(grid, np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi), color=INK, lw=1.2, label="standard normal")
    ax.set(xlabel="z = (m* − population mean) / standard error", ylabel="density")
    return Exhibit(
        "figure-9b",
        "Figure 9b: z-scores",
        lines,
        "None in kind. A standard error of 0 makes the score infinite: where that happens in over 5 % of runs, no "
        "multiple of the unbiased standard error is a 95 % interval.",
        drawing.finished(),
        "Unbiased scores are flatter than the normal curve, conservative ones a little narrower, most conservative "
        "ones much narrower.",
    )
