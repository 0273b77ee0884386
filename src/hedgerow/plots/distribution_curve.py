"""A distribution function with a band that holds all of it at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.plots.figure import BLUE, INK, PALE, QUIET, RULE, drawn_with, label_text, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH, _HEIGHT = 6.4, 3.6
_STYLE: Any = drawn_with()


@dataclass(frozen=True, slots=True, eq=False)
class DrawnCurve:
    """What is drawn: shares left of edges, and a band, whose ends hold from one of its edges to the next.

    Attributes
    ----------
    edges, shares : float array
        The curve.
    places, low, high : float array
        F(x) lies between low_i and high_j, i the last place at or below x and j the first at or above it.
    label : str
        The column and its cell.
    level : float
        Of the band.
    """

    edges: NDArray[np.float64]
    shares: NDArray[np.float64]
    places: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    label: str
    level: float


def draw_distribution(curve: DrawnCurve, ax: Axes | None = None) -> Axes:
    """Draw the curve with its band; return the axes."""
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        axes = new_figure(_WIDTH, _HEIGHT, layout="constrained").subplots() if ax is None else ax
        # Between two places the lower end is that of the first, the upper one that of the second.
        x = np.repeat(curve.places, 2)[1:-1]
        low, high = np.repeat(curve.low[:-1], 2), np.repeat(curve.high[1:], 2)
        axes.fill_between(x, low, high, color=PALE, lw=0, label=f"{100 * curve.level:g} % band, of the whole curve")
        axes.plot(curve.edges, curve.shares, color=BLUE, lw=1.6, label="estimate")
        axes.set_ylim(0.0, 1.0)
        axes.set_xlim(float(curve.edges[0]), float(curve.edges[-1]))
        axes.set_xlabel(label_text(curve.label), color=INK)
        axes.set_ylabel("share of records", color=INK)
        axes.grid(color=RULE, lw=0.8)
        axes.tick_params(colors=QUIET)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.legend(loc="lower right", frameon=False, fontsize=9, labelcolor=INK)
    return axes
