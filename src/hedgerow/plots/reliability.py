"""Reliability curves by group, before and after: observed share against score, with bands. Numbers in, axes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING

from hedgerow.plots.figure import BLUE, GREY, INK, PALE, QUIET, RULE, by_name, drawn_with, label_text, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PANEL, _ACROSS = 2.5, 3
_LETTERS = 42  # of a note, to a panel's width
_SMALL_STYLE = drawn_with(size=9)


@dataclass(frozen=True, slots=True)
class ReliabilityCurve:
    """One curve: the observed share of label 1 at each mean score, with a band.

    Attributes
    ----------
    group : str
        Curves of one group share a panel.
    when : {"before", "after"}
    score, observed, low, high : tuple of float
        Point by point, in rising order of score; empty where nothing reliable is known.
    """

    group: str
    when: str
    score: tuple[float, ...]
    observed: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def draw_reliability(curves: Sequence[ReliabilityCurve], *, ax: Axes | None = None, note: str = "") -> Axes:
    """Draw curves and the diagonal of perfect calibration; return the first panel's axes.

    Parameters
    ----------
    curves : sequence of ReliabilityCurve
        Without `ax`, a panel for each different group, three to a row; with it everything is drawn there.
    ax : matplotlib Axes, optional
    note : str
        A line below the panels, for what no curve shows; left out with `ax`.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> curve = ReliabilityCurve("all", "after", (0.2, 0.8), (0.25, 0.7), (0.2, 0.6), (0.3, 0.8))
    >>> draw_reliability([curve]).get_title(loc="left")
    'all'
    """
    import matplotlib

    panels = by_name(curves, lambda curve: curve.group)
    with matplotlib.rc_context(_SMALL_STYLE):
        every = [ax] * len(panels) if ax is not None else _new_panels(len(panels))
        for axes, (group, drawn) in zip(every, panels.items(), strict=True):
            _draw_panel(axes, group, drawn)
        if ax is None:
            every[0].legend(loc="upper left", frameon=False, fontsize=8, labelcolor=INK)
            if note:
                lines = fill(label_text(note), int(_LETTERS * min(len(panels), _ACROSS)))
                every[0].figure.supxlabel(lines, fontsize=8, color=QUIET)
    return every[0]


def _new_panels(count: int) -> list[Axes]:
    across = min(max(count, 1), _ACROSS)
    down = -(-max(count, 1) // across)
    figure = new_figure(_PANEL * across + 0.4, _PANEL * down + 0.4, layout="constrained")
    return [figure.add_subplot(down, across, place + 1) for place in range(max(count, 1))]


def _draw_panel(axes: Axes, group: str, curves: Sequence[ReliabilityCurve]) -> None:
    axes.plot([0.0, 1.0], [0.0, 1.0], color=RULE, lw=1.2, zorder=1)
    for curve in curves:
        after = curve.when == "after"
        colour = BLUE if after else GREY  # what was, in grey
        if curve.score:
            # The band before is fainter, and lies below: what matters is where scores are now.
            band, alpha, order = (PALE, 0.6, 2.0) if after else (GREY, 0.18, 1.5)
            axes.fill_between(curve.score, curve.low, curve.high, color=band, alpha=alpha, lw=0, zorder=order)
        # The line before is dashed, so that it can be told apart without colour.
        style = "-" if after else "--"
        axes.plot(
            curve.score, curve.observed, style, marker="o", ms=3, lw=1.3, color=colour, label=curve.when, zorder=3
        )
    axes.set_title(label_text(group, longest=32), loc="left", fontsize=9, fontweight="bold", color=INK)
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(0.0, 1.0)
    axes.set_aspect("equal")
    axes.set_xlabel("score", color=QUIET)
    axes.set_ylabel("observed share", color=QUIET)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=3, color=QUIET, labelcolor=QUIET, labelsize=8)
