"""Boxes: the 5, 25, 50, 75 and 95 % points of replicates, drawn lying."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["box"]


def box(ax: Axes, values: np.ndarray, at: float, *, colour: str, width: float = 0.55, label: str | None = None) -> None:
    """Draw one box at height `at`: 25 to 75 % filled, whiskers to 5 and 95 %."""
    low, first, middle, third, high = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95])
    ax.plot([low, high], [at, at], color=colour, lw=1.2)
    # With an edge, so that a box is seen however narrow it is.
    ax.barh(at, third - first, width, left=first, color=colour, edgecolor=colour, linewidth=1.0, label=label)
    ax.plot([middle, middle], [at - width / 2, at + width / 2], color="#ffffff", lw=0.8)
