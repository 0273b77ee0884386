"""Table 3: V_i over the cell's total, in percent.

Expected: every figure to the two decimals printed; tolerance half a unit of the last.
"""

from __future__ import annotations

from hedgerow.testing.published import published_cell_sensitivities

from ..exhibit import Exhibit, Line, within
from .farms import by_cell, extremes, farms

EXPECTED = by_cell((15.39, 23.24, 1.59, 4.21, 15.34, 1.84, 24.44, 27.60, 7.53))
TOLERANCE = 0.005


def ratios() -> dict[str, float]:
    """Return V_i over the total of cell i, in percent."""
    return by_cell(100 * published_cell_sensitivities(extremes()) / farms().totals)


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; nothing is simulated, so `share` has no effect."""
    lines = tuple(
        Line(cell, f"{EXPECTED[cell]:.2f} %", f"{ratio:.3f} %", within(ratio, EXPECTED[cell], TOLERANCE))
        for cell, ratio in ratios().items()
    )
    return Exhibit("table-3", "Table 3: those differences in percent of the totals", lines, "Nothing differs.", None)
