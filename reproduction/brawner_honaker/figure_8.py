"""Figure 8: the average of fifty private replicates against one plain private mean at the same ρ.

Expected, in the text: "the distributions of the released answer are the same". 1,000 draws of each in the paper,
10,000 here. Ours: of ONE sample, where the only other variation is the noise, and of fresh samples. Exactly, the
variance of the average is larger by v/k (the k replicates are finitely many): a ratio of sds of √(1 + 2ρv/(kΔ²)).
Tolerance: .025 on each ratio of sds (s.e. .010); an F test of equal variances at 1e-6.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.testing.published import MultinomialBootstrap, multinomial_replicates

from ..drawing import BLUE, ORANGE, Drawing
from ..exhibit import Exhibit, Line, within
from .published import BOUNDS, RHO, K, N, population, releases

TOLERANCE, SURE, BATCH = 0.025, 1e-6, 500
KINDS = ("one sample", "fresh samples")


def answers(kind: str, runs: int, seed: int = 88) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (one-shot answers, bootstrap averages), of ``one sample`` or of ``fresh samples``."""
    rng, people = np.random.default_rng(seed), population()
    mechanism = MultinomialBootstrap.as_published(RHO, n=N, bounds=BOUNDS, n_resamples=K)
    noise = rng.normal(0, mechanism.sensitivity / math.sqrt(2 * RHO), runs)
    if kind == "fresh samples":
        drawn = releases(runs)
        return drawn.sample_means + noise, drawn.replicates.mean(axis=1)
    sample = people.samples(1, rng)[0]
    # Replicates of one sample are independent: those of many releases are drawn at once, and shared out.
    many = replace(mechanism, n_resamples=BATCH * K)
    replicates = [multinomial_replicates(many, people.values, sample, rng=rng) for _ in range(math.ceil(runs / BATCH))]
    averages = np.concatenate(replicates, axis=None).reshape(-1, K).mean(axis=1)[:runs]
    return float(sample @ people.values) / N + noise, averages


def expected_ratio(kind: str) -> float:
    """Return the exact ratio of the sds: √(1 + (v/k)/(noise + sampling variance, if any))."""
    sampling = population().variance / N
    noise = (100 / N) ** 2 / (2 * RHO)
    # Given the sample, the resampling variance is that of the sample: v up to (n − 1)/n and its chance.
    return math.sqrt(1 + sampling / K / (noise + (sampling if kind == "fresh samples" else 0.0)))


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; `share` of the full number of runs."""
    from scipy import stats

    found = {kind: answers(kind, int(10_000 * share)) for kind in KINDS}
    lines = []
    drawing = Drawing.of("figure-8", panels=2, height=2.5)
    for ax, (kind, (plain, average)) in zip(drawing.panels, found.items(), strict=True):
        ratio, exact = float(average.std(ddof=1) / plain.std(ddof=1)), expected_ratio(kind)
        apart = 2 * float(stats.f.sf(max(ratio, 1 / ratio) ** 2, len(plain) - 1, len(average) - 1))
        same = abs(exact - 1) <= TOLERANCE
        lines.append(Line(f"{kind}: sd of the average over the one-shot's", "1, the same law", f"{ratio:.3f}",
                          "reproduced" if same else "refuted"))  # fmt: skip
        lines.append(Line(f"{kind}: the same ratio, exactly", "(ours)", f"{exact:.3f}", within(
            ratio, exact, TOLERANCE, own=True)))  # fmt: skip
        lines.append(Line(f"{kind}: F test of equal sds, p", "not printed", f"{apart:.2g}",
                          "as expected" if (apart > SURE) == same else "not as expected"))  # fmt: skip
        bins = np.linspace(min(plain.min(), average.min()), max(plain.max(), average.max()), 45)
        ax.hist(plain, bins=bins, density=True, histtype="step", color=ORANGE, lw=1.4, label=f"one-shot, {kind}")
        ax.hist(average, bins=bins, density=True, color=BLUE, alpha=0.4, label="average of 50 replicates")
        ax.set(xlabel="released mean age, years", ylabel="density")
    return Exhibit(
        "figure-8",
        "Figure 8: bootstrap averages against one-shot releases",
        tuple(lines),
        "The noise is the same, but the average of k resamples differs from the sample's mean by a variance v/k, which "
        "Result 1 leaves out. Over fresh samples the sampling error hides it; for one sample it is in plain sight. "
        "And the two do not have the same privacy loss: see the price of standard errors.",
        drawing.finished(),
        "Two histograms for one sample, that of the average a little wider; two that coincide over fresh samples.",
    )
