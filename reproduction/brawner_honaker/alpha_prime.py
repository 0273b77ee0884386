"""§7.2 with another α′, and the standard deviation of single records (eq. 30's remark), on section 8's releases.

Expected: c_α′ is the α′ point of χ²_{k−1} (eq. 32); "increasing values of α′ lead to decreasing values of c_α′ and
wider confidence intervals" (under eq. 36). Ours: the reverse, since a point of a law rises with its share. The α′ at
which the interval covers 95 % in section 8's setting lies between .05 (97 %) and .5 (about 80 to 90 %). The remark has
σ²(f) = sd(x)/√N, which lacks the square: N·(eq. 30) is right on average for sd(x)², tolerance 3 %.
"""

from __future__ import annotations

import numpy as np

from hedgerow.inference.bootstrap.replicate_summary import brawner_honaker_sampling_variance, chi_square_share
from reproduction.brawner_honaker.theory import published_intervals

from ..drawing import BLUE, INK, ORANGE, Drawing
from ..exhibit import Exhibit, Line, within
from .published import K, N, population, releases

__all__ = ["exhibit"]

SHARES, LEVEL, TOLERANCE = (0.0, 0.01, 0.05, 0.2, 0.5, 0.8), 0.95, 0.03


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; `share` of the full number of runs."""
    drawn, truth = releases(int(10_000 * share)), population().mean
    noise = drawn.mechanism.noise_variance
    covered, widths = [], []
    for alpha in SHARES:
        found = published_intervals(drawn.replicates, noise_variance=noise, alpha=alpha)["conservative"]
        covered.append(float(found.covers(truth, level=LEVEL).mean()))
        widths.append(float(found.standard_error.mean()))
    points = [chi_square_share(K, alpha=alpha) * (K - 1) for alpha in SHARES]
    falls = bool(np.diff(points).max() < 0.0 and np.diff(widths).min() > 0.0)
    spread = brawner_honaker_sampling_variance(float(drawn.replicates.var(axis=1, ddof=1).mean()), noise_variance=noise)
    squares = N * spread / population().variance
    usual = covered[SHARES.index(0.05)], covered[SHARES.index(0.5)]
    lines = (
        Line("§7.3: as α′ grows, c_α′ falls and intervals widen", "yes",
             f"c from {points[0]:.1f} to {points[-1]:.1f}; s.e. from {widths[0]:.2f} to {widths[-1]:.2f}",
             "reproduced" if falls else "refuted"),
        Line("coverage of the 95 % interval at α′ = .05 and .5", "above, and below 95 % (ours)",
             f"{100 * usual[0]:.1f} and {100 * usual[1]:.1f} %",
             "as expected" if usual[0] > LEVEL > usual[1] else "not as expected"),
        Line("eq. 30: N times its mean, over the variance of an age", "1", f"{squares:.3f}",
             within(squares, 1.0, TOLERANCE)),
    )  # fmt: skip
    drawing = Drawing.of("alpha-prime", height=2.6)
    (ax,) = drawing.panels
    ax.plot(SHARES, [100 * one for one in covered], color=BLUE, marker="o", label="coverage")
    ax.axhline(95, color=INK, lw=1.2, label="nominal 95 %")
    ax.axvline(0.05, color=ORANGE, ls=":", label="α′ = .05")
    ax.set(xlabel="α′", ylabel="coverage, %")
    return Exhibit(
        "alpha-prime",
        "Section 7: another α′, and the spread of single records",
        lines,
        "The sentence has the direction reversed: more α′ subtracts more noise, and narrows. α′ is a parameter of the "
        'released interval: estimate.confidence_interval(0.95, "conservative", alpha_prime=0.01). The standard '
        "deviation of single records comes with a mean, as the remark says: estimate.individual_sd.",
        drawing.finished(),
        "Coverage falls from 100 % at α′ = 0 through 97 % at .05 to well under 95 % beyond one half.",
    )
