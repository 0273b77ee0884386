"""Table 2: V_i, the largest difference between two outputs of a cell, which the paper takes for its sensitivity.

Expected: every figure exactly. What the sensitivity of a cell's total really is stands in `sensitivity`.
"""

from __future__ import annotations

from hedgerow.testing.published import published_cell_sensitivities

from ..exhibit import Exhibit, Line, within
from .farms import by_cell, extremes

EXPECTED = by_cell((8766, 2600, 3020, 17_528, 11_800, 8058, 14_336, 305, 1900))
TOLERANCE = 0.0


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; nothing is simulated, so `share` has no effect."""
    lines = tuple(
        Line(cell, f"{EXPECTED[cell]:,.0f}", f"{spread:,.0f}", within(spread, EXPECTED[cell], TOLERANCE))
        for cell, spread in by_cell(published_cell_sensitivities(extremes())).items()
    )
    return Exhibit(
        "table-2",
        "Table 2: “bootstrap cell sensitivities”",
        lines,
        "The differences are right. They are the sensitivity of a cell's total only where cell membership is public: a "
        "row that leaves the cell for another takes its whole output along, not a difference.",
        None,
    )
