"""Figure 6: one release of fifty private bootstrap means, with the unbiased interval.

Expected, in the text: the interval holds both the population mean (zero) and the sample mean "in this exemplar".
The paper's law is not named; here ages less their population mean. An example cannot fail, so we add how often both are
held: .80 for the population mean alone (section 8). Tolerance: .05 on that share of 1,000 runs.
"""

from __future__ import annotations

import numpy as np

from reproduction.brawner_honaker.theory import published_intervals

from ..drawing import BLUE, GREEN, INK, ORANGE, Drawing
from ..exhibit import Exhibit, Line, within
from .published import population, releases

RUN = 4
EXPECTED_BOTH, TOLERANCE = 0.80, 0.05
Z = 1.959963984540054


def both_held(runs: int) -> np.ndarray:
    """Return for each run whether the unbiased interval holds the population mean and the sample mean."""
    drawn = releases(runs)
    unbiased = drawn.intervals["unbiased"]
    sample = np.abs(unbiased.estimate - drawn.sample_means) <= Z * unbiased.standard_error
    return unbiased.covers(population().mean) & sample


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; `share` of the full number of runs."""
    runs = int(10_000 * share)
    held = both_held(runs)
    drawn, centre = releases(runs), population().mean
    replicates = drawn.replicates[RUN] - centre
    one = published_intervals(replicates, noise_variance=drawn.mechanism.noise_variance)["unbiased"]
    estimate, error = float(one.estimate[0]), float(one.standard_error[0])
    drawing = Drawing.of("figure-6", height=2.7)
    (ax,) = drawing.panels
    ax.hist(replicates, bins=14, color=BLUE, alpha=0.45, label="50 noisy replicates")
    ax.axvline(0.0, color=ORANGE, ls="--", label="population mean")
    ax.axvline(drawn.sample_means[RUN] - centre, color=ORANGE, label="sample mean")
    ax.axvline(estimate, color=INK, lw=1.2, label="m*, their average")
    ax.axvspan(estimate - Z * error, estimate + Z * error, color=GREEN, alpha=0.25, label="unbiased 95 % interval")
    ax.set(xlabel="mean age less that of the population, years", ylabel="replicates")
    return Exhibit(
        "figure-6",
        "Figure 6: fifty replicates and one interval",
        (
            Line("this example holds both means", "yes", "yes" if held[RUN] else "no",
                 "reproduced" if held[RUN] else "differs"),
            Line(f"share of {runs:,} runs that hold both", "not printed", f"{100 * held.mean():.1f} %",
                 within(held.mean(), EXPECTED_BOTH, TOLERANCE, own=True)),
        ),
        "The example is one of ours, and four in five show the same. Ages stand in for the paper's unnamed law.",
        drawing.finished(),
        f"A histogram of replicates around {estimate:.2f} with an interval of {estimate - Z * error:.2f} to "
        f"{estimate + Z * error:.2f} that holds the sample mean and zero.",
    )  # fmt: skip
