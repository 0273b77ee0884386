"""Figure 9a: the law of the three standard errors of the mean age (n = 500, k = 50, ρ = ½).

Expected, in the text: the unbiased one is "often" below the true value with "a mode of observations at zero"; the
conservative one is shifted right, the most conservative further. No number is printed. Ours, over 10,000 runs (1,000 in
the paper). Tolerance: a mode at zero = over 3 % of runs exactly 0; each shift in the mean over 10 %; ours, the sd of
the released means by formula, within 4 standard errors.
"""

from __future__ import annotations

import math

import numpy as np

from ..drawing import INK, Drawing
from ..exhibit import Exhibit, Line, within
from .published import N, population, releases
from .series import SERIES

MODE, SHIFT = 0.03, 1.10


def summaries(runs: int) -> dict[str, tuple[float, float, float]]:
    """Return, for each estimator, the mean standard error, the share at 0 and the share below the truth."""
    drawn = releases(runs)
    found = {}
    for name, intervals in drawn.intervals.items():
        errors = intervals.standard_error
        below = float((errors < drawn.true_standard_error).mean())
        found[name] = float(errors.mean()), float((errors == 0).mean()), below
    return found


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; `share` of the full number of runs."""
    runs = int(10_000 * share)
    drawn, found = releases(runs), summaries(runs)
    truth, released = drawn.true_standard_error, drawn.replicates.mean(axis=1)
    # Footnote 6 has sampling and privacy; k resamples add their own share of the records' variance.
    spread = math.sqrt(truth**2 + population().variance / (N * drawn.mechanism.n_resamples))
    (plain, zero, below), (cautious, _, _), (most, _, _) = found.values()
    lines = (
        Line("unbiased, exactly 0", "a mode", f"{100 * zero:.1f} % of runs",
             "reproduced" if zero > MODE else "differs"),
        Line("unbiased, below the truth", "often", f"{100 * below:.0f} % of runs",
             "reproduced" if below > 0.3 else "differs"),
        Line("conservative, mean over the unbiased", "to the right", f"× {cautious / plain:.2f}",
             "reproduced" if cautious > SHIFT * plain else "differs"),
        Line("most conservative, mean over the conservative", "further", f"× {most / cautious:.2f}",
             "reproduced" if most > SHIFT * cautious else "differs"),
        Line("sd of the released means, years", f"{spread:.3f} by formula, k replicates included (ours)",
             f"{released.std():.3f}", within(released.std(), spread, 4 * spread / math.sqrt(2 * runs), own=True)),
    )  # fmt: skip
    drawing = Drawing.of("figure-9a", height=3.1)
    (ax,) = drawing.panels
    bins = np.linspace(0, 2.4, 61)
    for name, style in SERIES.items():
        errors = drawn.intervals[name].standard_error
        ax.hist(errors, bins=bins, density=True, histtype="step", color=style["color"], ls=style["ls"], lw=1.5,
                label=name)  # fmt: skip
    ax.axvline(truth, color=INK, ls="--", lw=1.2, label="true standard error")
    ax.set(xlabel="standard error of the mean age, years", ylabel="density")
    return Exhibit(
        "figure-9a",
        "Figure 9a: the standard errors that are released",
        lines,
        "The population is a public extract of 10,000 records of the file that the paper used. A negative eq. 35 is "
        "set to 0, of which the paper says nothing; its mode at zero agrees.",
        drawing.finished(),
        f"Three humps: unbiased around {plain:.2f} with a spike at zero, conservative at {cautious:.2f}, most "
        f"conservative at {most:.2f}; the truth is {truth:.2f}.",
    )
