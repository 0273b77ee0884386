"""Ours: Theorem 4 by simulation. It prints P(max |noise| ≤ ln(k/γ)·Δ/ε) ≥ γ; the source (Dwork & Roth, 3.8) has 1 − γ.

Exactly, P = (1 − γ/k)^k ≥ 1 − γ for k independent Laplace variables. 10⁶ tables of k = 9 cells. Expected: simulated P
within five standard errors of the law; the printed bound refuted at γ = .9 and .95, where P is .387 and .366, and true
but idle at small γ, where P is far above it. (The paper also prints ‖x‖∞ = max x_i without absolute values; read so, P
is (1 − γ/2k)^k, .63 and .62 at those two, and is refuted too.)
"""

from __future__ import annotations

import math

import numpy as np

from hedgerow.testing.published import published_accuracy_probability, published_magnitude_sensitivity
from reproduction.okeefe_charest.accuracy import laplace_half_width, laplace_probability

from ..drawing import BLUE, INK, ORANGE, Drawing
from ..exhibit import Exhibit, Line
from .farms import CELLS, extremes, farms
from .mechanism import EPSILON, noisy_totals

RUNS, BATCH, SEED, STANDARD_ERRORS = 1_000_000, 100_000, 4, 5.0
GAMMAS = (0.05, 0.1, 0.5, 0.9, 0.95)
SHOWN = np.linspace(0.01, 0.99, 99)


def law(gamma: float) -> float:
    """Return P(max |noise| ≤ ln(k/γ)·Δ/ε)."""
    return laplace_probability(cells=len(CELLS), gamma=gamma)


def simulated(runs: int) -> dict[float, float]:
    """Return the share of tables whose largest error is within the bound, for each γ."""
    sensitivity = published_magnitude_sensitivity(extremes())
    bounds = {gamma: laplace_half_width(sensitivity, EPSILON, cells=len(CELLS), gamma=gamma) for gamma in GAMMAS}
    hits = dict.fromkeys(GAMMAS, 0)
    for batch, done in enumerate(range(0, runs, BATCH)):
        drawn = noisy_totals(sensitivity, min(BATCH, runs - done), seed=1000 * SEED + batch)
        worst = np.abs(drawn - farms().totals).max(axis=1)
        for gamma, bound in bounds.items():
            hits[gamma] += int((worst <= bound).sum())
    return {gamma: count / runs for gamma, count in hits.items()}


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; `share` of the full number of runs."""
    runs = int(RUNS * share)
    found = simulated(runs)
    lines = []
    for gamma, met in found.items():
        slack = STANDARD_ERRORS * math.sqrt(law(gamma) * (1 - law(gamma)) / runs)
        printed = published_accuracy_probability(gamma)
        lines.append(Line(f"γ = {gamma:g}", f"at least {printed:g}", f"{met:.4f}",
                          "refuted" if met + slack < printed else "reproduced"))  # fmt: skip
        near = abs(met - law(gamma)) <= slack and met + slack >= 1 - gamma
        lines.append(Line(f"γ = {gamma:g}: at least 1 − γ", f"{1 - gamma:.2f}; exactly {law(gamma):.4f} (ours)",
                          f"{met:.4f}", "as expected" if near else "not as expected"))  # fmt: skip
    drawing = Drawing.of("theorem-4", height=2.7)
    (ax,) = drawing.panels
    ax.plot(SHOWN, [law(gamma) for gamma in SHOWN], color=BLUE, label="exact")
    ax.plot(list(found), list(found.values()), "o", color=BLUE, mfc="none", label="simulated")
    ax.plot(SHOWN, SHOWN, color=ORANGE, ls="--", label="bound as printed, γ")
    ax.plot(SHOWN, 1 - SHOWN, color=INK, ls=":", label="bound, 1 − γ")
    ax.set(xlabel="γ", ylabel="P(largest error within bound)", ylim=(0, 1.02))
    return Exhibit(
        "theorem-4",
        f"Ours: Theorem 4 in {runs:,} tables of nine cells",
        tuple(lines),
        "A smaller γ makes the bound ln(k/γ)·Δ/ε wider, so the probability has to rise as γ falls: γ and 1 − γ were "
        "exchanged when the theorem was quoted. γ-accuracy and the gains in it are not touched, for they compare at "
        "equal γ.",
        drawing.finished(),
        "The exact probability falls from 1 to .35 as γ rises; it stays above 1 − γ everywhere and lies under the "
        "printed bound γ from about γ = .57 on.",
        own=True,
    )
