"""Figure 2: relative bias of the same kind of replicates, in percent of the cell's total.

Expected, in the text: the average and the median of the noisy totals are the true total; "cells where the sensitivity
represents a higher proportion of the total will be more perturbed relative to the size of the total" (the order of
Table 3); cells with the smallest bias are not those with the smallest sensitivity. Tolerance: five standard errors on
the mean (√2·ratio/√1000) and on the median (ratio/√1000) of 1,000 replicates.
"""

from __future__ import annotations

import math

import numpy as np

from hedgerow.testing.published import published_cell_sensitivities

from ..drawing import BLUE, INK, Drawing
from ..exhibit import Exhibit, Line, Verdict
from .boxes import box
from .farms import CELLS, extremes, farms
from .mechanism import REPLICATES, noisy_totals

SEED, STANDARD_ERRORS = 2, 5.0


def biases(replicates: int) -> np.ndarray:
    """Return noisy total over true total less 1, in percent: replicates × 9."""
    totals = farms().totals
    return 100 * (noisy_totals(published_cell_sensitivities(extremes()), replicates, seed=SEED) / totals - 1)


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; `share` of the full number of replicates."""
    replicates = int(REPLICATES * share)
    found, spreads = biases(replicates), published_cell_sensitivities(extremes())
    ratios = 100 * spreads / farms().totals
    lines = []
    for what, centre, width in (("average", found.mean(axis=0), math.sqrt(2)), ("median", np.median(found, axis=0), 1)):
        away = float(np.max(np.abs(centre) / (width * ratios / math.sqrt(replicates))))
        lines.append(Line(f"{what} of the noisy totals is the true total", "yes, in every cell",
                          f"yes: at most {away:.1f} standard errors away in 9 cells",
                          _verdict(away <= STANDARD_ERRORS)))  # fmt: skip
    size = np.abs(found).mean(axis=0)
    lines.append(Line("perturbed in the order of Table 3", "yes", " < ".join(CELLS[i] for i in np.argsort(size)),
                      _verdict(np.array_equal(np.argsort(size), np.argsort(ratios)))))  # fmt: skip
    least, smallest = int(np.argmin(size)), int(np.argmin(spreads))
    lines.append(Line("the smallest bias is not that of the smallest sensitivity", "yes",
                      f"{CELLS[least]} against {CELLS[smallest]}, which is perturbed most",
                      _verdict(least != smallest and int(np.argmax(size)) == smallest)))  # fmt: skip
    drawing = Drawing.of("figure-2", height=3.4)
    (ax,) = drawing.panels
    for row in range(len(CELLS)):
        box(ax, found[:, row], row, colour=BLUE)
    ax.axvline(0, color=INK, lw=1)
    ax.set_yticks(range(len(CELLS)), CELLS)
    ax.invert_yaxis()
    ax.set(xlabel="relative bias, % (5, 25, 50, 75, 95 % of the replicates)")
    return Exhibit(
        "figure-2",
        f"Figure 2: relative bias of {replicates:,} noisy totals",
        tuple(lines),
        "Nothing differs. The scales are V_i, as in Figure 1.",
        drawing.finished(),
        "Boxes about 0, narrow for Mixed-Trad and Owner-Trad (under 5 %), widest for Share-Both and Share-High (over "
        "50 % either way).",
    )


def _verdict(holds: bool) -> Verdict:
    return "reproduced" if holds else "differs"
