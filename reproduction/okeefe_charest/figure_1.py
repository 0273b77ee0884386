"""Figure 1: 1,000 noisy totals of each cell, each cell alone at ε = 1 with its own V_i.

The paper prints no figures beside its histograms. Expected, in the text: "totals for cells with smaller bootstrap
sensitivity are less perturbed". Ours beside the law of Laplace noise: standard deviation √2·V_i, mean |noise| V_i.
Tolerance: five standard errors of 1,000 replicates on the mean |noise| (s.e. V_i/√1000, 3.2 %).
"""

from __future__ import annotations

import math

import numpy as np

from hedgerow.testing.published import published_cell_sensitivities

from ..drawing import BLUE, INK, Drawing
from ..exhibit import Exhibit, Line, within
from .farms import CELLS, by_cell, extremes, farms
from .mechanism import REPLICATES, noisy_totals

SEED, STANDARD_ERRORS = 1, 5.0


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; `share` of the full number of replicates."""
    replicates = int(REPLICATES * share)
    spreads, totals = published_cell_sensitivities(extremes()), farms().totals
    found = noisy_totals(spreads, replicates, seed=SEED)
    moved = np.abs(found - totals).mean(axis=0)
    order = np.array_equal(np.argsort(moved), np.argsort(spreads))
    lines = [Line("cells with smaller sensitivity are less perturbed", "yes",
                  "yes, in all 36 pairs of cells" if order else "not in every pair of cells",
                  "reproduced" if order else "differs")]  # fmt: skip
    tolerance = STANDARD_ERRORS / math.sqrt(replicates)
    lines += [
        Line(f"{cell}: mean |noise|", f"{spreads[i]:,.0f} kg by the law (ours)", f"{moved[i]:,.0f} kg",
             within(moved[i] / spreads[i], 1.0, tolerance, own=True))
        for i, cell in enumerate(CELLS)
    ]  # fmt: skip
    return Exhibit(
        "figure-1",
        f"Figure 1: {replicates:,} noisy totals of each cell, released alone at ε = 1",
        tuple(lines),
        "The figure's histograms come without figures, so each cell stands beside the law of its noise. Scales are the "
        "paper's V_i; what these releases cost where cell membership is private is under “attack”.",
        _drawn(found).finished(),
        "Nine histograms, each a double exponential about its cell's true total (vertical line), from ±1,000 kg for "
        "Share-Both to ±60,000 kg for Owner-High.",
    )


def _drawn(found: np.ndarray) -> Drawing:
    drawing = Drawing.of("figure-1", panels=len(CELLS), columns=3, height=1.35)
    totals = by_cell(farms().totals)
    for i, (ax, cell) in enumerate(zip(drawing.panels, CELLS, strict=True)):
        shown = found[:, i] / 1000
        ax.hist(shown, bins=30, color=BLUE)
        ax.axvline(totals[cell] / 1000, color=INK, lw=1)
        ax.set_title(cell, fontsize=9, color=INK, pad=3)
        ax.set_yticks([])
        ax.locator_params(axis="x", nbins=3)
        ax.tick_params(axis="x", labelsize=8)
        ax.grid(axis="y", visible=False)
    drawing.panels[7].set_xlabel("noisy total, thousand kg")
    return drawing
