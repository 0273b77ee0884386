"""Table 1: number, total, largest and smallest net output of the nine cells.

Expected: every figure exactly, but for the largest output of Mixed-High, printed 900: Table 2 prints 8,766 for that
cell, which is 9,000 − 234, so 900 is a misprint of 9,000 and counts as refuted by the paper itself.
"""

from __future__ import annotations

from ..exhibit import Exhibit, Line, Verdict
from .farms import CELLS, by_cell, farms

NUMBER = by_cell((33, 7, 171, 227, 41, 468, 34, 2, 43))
TOTAL = by_cell((56_965, 11_187, 189_528, 416_820, 76_917, 436_757, 58_669, 1_105, 25_236))
LARGEST = by_cell((900, 3_400, 3_200, 17_610, 12_000, 8_100, 14_520, 705, 2_000))
SMALLEST = by_cell((234, 800, 180, 82, 200, 42, 184, 400, 100))
MISPRINT = {"Mixed-High": 9_000}


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; nothing is simulated, so `share` has no effect."""
    found = farms()
    lines = []
    for i, cell in enumerate(CELLS):
        rows = found.of(i)
        ours = (len(rows), int(rows.sum()), int(rows.max()), int(rows.min()))
        paper = (NUMBER[cell], TOTAL[cell], LARGEST[cell], SMALLEST[cell])
        meant = (*paper[:2], MISPRINT.get(cell, paper[2]), paper[3])
        verdict: Verdict = "differs" if ours != meant else "reproduced" if paper == meant else "refuted"
        lines.append(Line(f"{cell}: n, total, max, min", _told(paper), _told(ours), verdict))
    return Exhibit(
        "table-1",
        "Table 1: the cells of the rice farms",
        tuple(lines),
        "All 36 figures are the file's but one: 900 for the largest output of Mixed-High is a misprint of 9,000, for "
        "Table 2 prints 8,766 = 9,000 − 234 for that cell.",
        None,
    )


def _told(figures: tuple[float, ...]) -> str:
    return ", ".join(f"{figure:,.0f}" for figure in figures)
