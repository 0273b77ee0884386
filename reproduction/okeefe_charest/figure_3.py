"""Figure 3: 1,000 whole tables by method (i), one scale max V_i = 17,528, and by method (ii), 9·V_i in cell i.

Expected, in the text: Δ_D f = 17,528 and Δf = 17,610; the noise is larger than for a single total; that of method (i)
is the same in all cells; "only one cell (with values share-both) is more perturbed under method (i) than method (ii)".
The last is refuted by the paper's own Table 2: 9 × 1,900 = 17,100 < 17,528, so Share-Trad is another. Both methods rest
on sensitivities that are false: see `sensitivity`, `attack` and the corrected figure.
"""

from __future__ import annotations

import numpy as np

from hedgerow.testing.published import (
    published_cell_sensitivities,
    published_magnitude_sensitivity,
    published_split_sensitivities,
)

from ..drawing import BLUE, ORANGE, Drawing
from ..exhibit import Exhibit, Line, within
from .boxes import box
from .farms import CELLS, extremes, farms
from .mechanism import REPLICATES, noisy_totals

SEEDS = {"i": 31, "ii": 32}
WHOLE, LARGEST = 17_528, 17_610
MORE_UNDER_I = ("Share-Both",)


def replicated(replicates: int) -> dict[str, np.ndarray]:
    """Return the noise of each method's tables: replicates × 9."""
    scales = {"i": published_magnitude_sensitivity(extremes()), "ii": published_split_sensitivities(extremes())}
    return {name: noisy_totals(scale, replicates, seed=SEEDS[name]) - farms().totals for name, scale in scales.items()}


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; `share` of the full number of replicates."""
    replicates = int(REPLICATES * share)
    noise = replicated(replicates)
    one, split = published_magnitude_sensitivity(extremes()), published_split_sensitivities(extremes())
    more = tuple(cell for i, cell in enumerate(CELLS) if one > split[i])
    alone = published_cell_sensitivities(extremes())
    larger = int((one > alone).sum() + (split > alone).sum())
    spread = np.abs(noise["i"]).mean(axis=0)
    lines = (
        Line("method (i): Δ_D f of the table", f"{WHOLE:,}", f"{one:,.0f}", within(one, WHOLE, 0)),
        Line("method (i): Δf with the largest output as bound", f"{LARGEST:,}", f"{farms().output.max():,}",
             within(farms().output.max(), LARGEST, 0)),
        Line("noise is larger than for a single total", "yes",
             f"larger in {larger} of 18 cells, equal in {_equal(one, alone)} under (i)",
             "reproduced" if larger == 17 else "differs"),
        Line("method (i): noise is the same in all cells", "yes",
             f"mean |noise| {spread.min():,.0f} to {spread.max():,.0f} kg",
             within(spread.max() / spread.min(), 1.0, 0.25 / min(1, share) ** 0.5)),
        Line("cells more perturbed under (i) than under (ii)", "only Share-Both", _told(more, split, one),
             "reproduced" if more == MORE_UNDER_I else "refuted"),
    )  # fmt: skip
    drawing = Drawing.of("figure-3", height=4.2)
    (ax,) = drawing.panels
    for row in range(len(CELLS)):
        named = row == 0
        box(ax, noise["i"][:, row] / 1000, row - 0.2, colour=BLUE, width=0.34, label="method (i)" if named else None)
        box(ax, noise["ii"][:, row] / 1000, row + 0.2, colour=ORANGE, width=0.34,
            label="method (ii)" if named else None)  # fmt: skip
    ax.set_yticks(range(len(CELLS)), CELLS)
    ax.invert_yaxis()
    ax.set(xlabel="noise in the cell's total, thousand kg")
    return Exhibit(
        "figure-3",
        f"Figure 3: {replicates:,} whole tables by methods (i) and (ii), as published",
        lines,
        "That only one cell gains under method (ii) is contradicted by Table 2: nine times the 1,900 of Share-Trad is "
        "17,100, less than 17,528; 2.4 % apart, which no plot shows. An ordinary guarantee with the bound "
        "17,610 needs 35,220, not 17,610: a row may leave one cell and enter another.",
        drawing.finished(),
        "Boxes of method (i) are equally wide in all cells, 5 to 95 % about ±40; those of method (ii) reach ±360 for "
        "Owner-High and are far narrower than (i) for Share-Both, barely so for Share-Trad.",
    )


def _told(cells: tuple[str, ...], split: np.ndarray, one: float) -> str:
    return " and ".join(f"{cell} ({split[CELLS.index(cell)]:,.0f} < {one:,.0f})" for cell in cells)


def _equal(one: float, alone: np.ndarray) -> str:
    return " and ".join(cell for i, cell in enumerate(CELLS) if alone[i] == one)
