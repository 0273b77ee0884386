"""Pictures of one distribution: its function with a band that holds all of it, its histogram, its Lorenz curve.

Survival curves as steps, each with its band, and the numbers at risk below.

Reliability curves by group, before and after: observed share against score, with bands. Numbers in, axes out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.printed import percent
from hedgerow.plots.figure import (
    AXIS,
    BLUE,
    GREY,
    INK,
    PALE,
    QUIET,
    RULE,
    by_name,
    drawn_with,
    label_text,
    new_figure,
    set_frame,
    set_numbers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_WIDTH, _HEIGHT = 6.4, 3.6
# Half of a band that a line of a Lorenz curve hides.
_THIN = 0.015
_STYLE = drawn_with()
Floats = NDArray[np.float64]


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

    edges: Floats
    shares: Floats
    places: Floats
    low: Floats
    high: Floats
    label: str
    level: float


@dataclass(frozen=True, slots=True, eq=False)
class DrawnNumbers:
    """Numbers between 0 and 1 with their intervals: the shares of bins, or the parts of a Lorenz curve.

    Attributes
    ----------
    places : float array
        The ends of the bins, one more than numbers; or the shares of the records.
    shares, low, high : float array
    label : str
        The column and its cell.
    level : float
        Of each interval by itself.
    """

    places: Floats
    shares: Floats
    low: Floats
    high: Floats
    label: str
    level: float


def draw_distribution(curve: DrawnCurve, ax: Axes | None = None) -> Axes:
    """Draw the curve with its band; return the axes."""
    with _axes(ax) as axes:
        # Between two places F lies between the lower end of the first and the upper end of the second. These stairs
        # lie inside of the lines through their outer corners, which make a band.
        low = np.concatenate([curve.low[:1], curve.low[:-1]])
        high = np.concatenate([curve.high[1:], curve.high[-1:]])
        widest = float(np.max(curve.high[1:] - curve.low[:-1])) / 2.0
        label = f"{percent(curve.level, space=' ')} band, of the whole curve, ± {widest:.2g} at most"
        axes.fill_between(curve.places, low, high, color=PALE, lw=0, label=label)
        axes.plot(curve.edges, curve.shares, color=BLUE, lw=1.6, label="estimate")
        axes.set_ylim(0.0, 1.0)
        axes.set_xlim(float(curve.edges[0]), float(curve.edges[-1]))
        _labelled(axes, curve.label, "share of records")
        axes.legend(loc="lower right", frameon=False, fontsize=9, labelcolor=INK)
    return axes


def draw_histogram(bins: DrawnNumbers, ax: Axes | None = None) -> Axes:
    """Draw a bar for each bin with its interval; return the axes. Bins of several widths have areas for shares.

    >>> ends, share = np.array([0.0, 1.0, 2.0]), np.array([0.3, 0.7])
    >>> axes = draw_histogram(DrawnNumbers(ends, share, share - 0.1, share + 0.1, "age", 0.95))
    >>> [float(bar.get_height()) for bar in axes.patches]
    [0.3, 0.7]
    """
    width = np.diff(bins.places)
    alike = bool(np.ptp(width) <= 1e-9 * width.max())
    scale = np.ones_like(width) if alike else width
    height, low, high = bins.shares / scale, bins.low / scale, bins.high / scale
    with _axes(ax) as axes:
        axes.bar(
            bins.places[:-1], height, width, align="edge", color=PALE, edgecolor="#ffffff", lw=0.8, label="estimate"
        )
        middle = bins.places[:-1] + width / 2.0
        # A point that was made monotone may lie outside of its own interval by a rounding.
        ends = np.maximum([height - low, high - height], 0.0)
        label = f"{percent(bins.level, space=' ')} interval of each"
        axes.errorbar(middle, height, ends, fmt="none", ecolor=BLUE, elinewidth=1.4, capsize=2.5, label=label)
        axes.set_xlim(float(bins.places[0]), float(bins.places[-1]))
        axes.set_ylim(0.0, 1.08 * float(high.max()) or 1.0)
        _labelled(axes, bins.label, "share of records" if alike else "share of records per unit")
        axes.legend(loc="upper right", frameon=False, fontsize=9, labelcolor=INK)
    return axes


def draw_lorenz(curve: DrawnNumbers, ax: Axes | None = None) -> Axes:
    """Draw a Lorenz curve with the interval of each of its points, and the line of equality; return the axes."""
    x = np.concatenate([[0.0], curve.places, [1.0]])
    y, low, high = (np.concatenate([[0.0], values, [1.0]]) for values in (curve.shares, curve.low, curve.high))
    with _axes(ax) as axes:
        axes.plot([0.0, 1.0], [0.0, 1.0], color=QUIET, lw=1.0, ls="--", label="equality")
        # A band that is thinner than a line is told by its width, and seen by its edges.
        widest = float(np.max(high - low)) / 2.0
        label = f"{percent(curve.level, space=' ')} interval of each point, ± {widest:.2g} at most"
        axes.fill_between(x, low, high, color=PALE, lw=0, label=label)
        for edge in (low, high):
            axes.plot(x, edge, color=BLUE, lw=0.6, alpha=0.7)
        axes.plot(x, y, color=INK, lw=0.9, label="estimate")
        axes.set_xlim(0.0, 1.0)
        axes.set_ylim(0.0, 1.0)
        _labelled(axes, "share of records, the lowest first", f"part of the total of {curve.label}")
        axes.legend(loc="upper left", frameon=False, fontsize=9, labelcolor=INK)
        if widest < _THIN:
            _magnify(axes, x, (low, y, high))
    return axes


def _magnify(axes: Axes, x: Floats, ends: tuple[Floats, Floats, Floats]) -> None:
    """Show the widest part of a thin band in a window, at a scale on which the band can be seen."""
    low, y, high = ends
    at = int(np.argmax(high - low))
    half = max(2.0 * float(high[at] - low[at]), 1e-6)
    window = axes.inset_axes((0.07, 0.34, 0.3, 0.36))
    window.fill_between(x, low, high, color=PALE, lw=0)
    for edge in (low, high):
        window.plot(x, edge, color=BLUE, lw=0.8)
    window.plot(x, y, color=INK, lw=1.1)
    window.set_xlim(max(0.0, float(x[at]) - half), min(1.0, float(x[at]) + half))
    window.set_ylim(float(y[at]) - half, float(y[at]) + half)
    window.set_xticks([])
    window.set_yticks([])
    for spine in window.spines.values():
        spine.set_color(AXIS)
    window.set_title(f"at {x[at]:.2f}, enlarged {0.15 / half:.0f} ×", fontsize=8, color=QUIET, loc="left", pad=3)
    axes.plot(x[at], y[at], "s", ms=7, mfc="none", mec=AXIS, mew=1.2, zorder=4)


@contextmanager
def _axes(ax: Axes | None, height: float = _HEIGHT) -> Iterator[Axes]:
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        yield new_figure(_WIDTH, height, layout="constrained").subplots() if ax is None else ax


def _labelled(axes: Axes, across: str, up: str) -> None:
    axes.set_xlabel(label_text(across, longest=70), color=INK)
    axes.set_ylabel(label_text(up, longest=46), color=INK)
    axes.tick_params(colors=QUIET)
    from matplotlib.ticker import MaxNLocator

    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
        set_numbers(axis)
    set_frame(axes, "both", hidden=("top", "right"))


_COLOURS = (BLUE, "#b5541c", "#3f7d4e", "#7a4f9e", "#8a6d1a", "#57606a")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
_ROW = 0.22  # of the table below survival curves, in inches
_MOST_NUMBERS = 7  # of a row of the table


@dataclass(frozen=True, slots=True, eq=False)
class DrawnSurvival:
    """One curve: shares at cuts with their intervals, and how many records are at risk from each cut on.

    Attributes
    ----------
    cuts, shares, low, high : float array
    at_risk : float array
        At the beginning and at each cut but the last.
    label : str
        The cell.
    start : float
        The share at the beginning.
    begin : float
        The time at which the curve begins.
    """

    cuts: Floats
    shares: Floats
    low: Floats
    high: Floats
    at_risk: Floats
    label: str
    start: float = 1.0
    begin: float = 0.0


def draw_survival(
    curves: Sequence[DrawnSurvival],
    *,
    across: str,
    level: float,
    ax: Axes | None = None,
    table: bool = True,
    what: str = "share without the event",
) -> Axes:
    """Draw curves as steps with the interval of each point, and below them a table of the numbers at risk.

    >>> one = np.array([1.0, 2.0]), np.array([0.9, 0.7]), np.array([0.8, 0.6]), np.array([0.95, 0.8])
    >>> axes = draw_survival([DrawnSurvival(*one, np.array([100.0, 90.0]), "all")], across="years", level=0.95)
    >>> [text.get_text() for text in axes.texts]
    ['at risk', '100', '90']
    """
    # Causes of an event, which start at 0, are of the same records.
    at_risk = curves if curves[0].start else curves[:1]
    with _axes(ax, _HEIGHT + _ROW * (len(at_risk) + 1) * table) as axes:
        for place, curve in enumerate(curves):
            colour, dash = _COLOURS[place % len(_COLOURS)], _DASHES[place % len(_DASHES)]
            x = np.append(curve.begin, curve.cuts)
            y, low, high = (np.append(curve.start, values) for values in (curve.shares, curve.low, curve.high))
            axes.fill_between(x, low, high, step="post", color=colour, alpha=0.16, lw=0)
            axes.step(x, y, where="post", color=colour, ls=dash, lw=1.6, label=label_text(curve.label, longest=32))
        axes.set_xlim(min(curve.begin for curve in curves), max(float(curve.cuts[-1]) for curve in curves))
        axes.set_ylim(0.0, 1.0)
        _labelled(axes, f"{across}; pale: the {percent(level, space=' ')} interval of each point", what)
        if len(curves) > 1:
            axes.legend(
                loc="lower left" if curves[0].start else "upper left", frameon=False, fontsize=9, labelcolor=INK
            )
        if table:
            _write_numbers(axes, at_risk)
    return axes


def _write_numbers(axes: Axes, curves: Sequence[DrawnSurvival]) -> None:
    """Write how many records are at risk below the axis of time."""
    frame = {"xycoords": ("axes fraction", "axes fraction"), "textcoords": "offset points", "fontsize": 8}
    below = -34.0
    axes.annotate("at risk", (0.0, 0.0), (0.0, below), color=QUIET, va="top", ha="left", **frame)  # type: ignore[arg-type]  # the stubs know one type a keyword
    for row, curve in enumerate(curves):
        starts = np.append(curve.begin, curve.cuts[:-1])
        chosen = [0]
        for place in range(1, len(starts)):  # cuts need not stand at equal distances, and numbers must not overlap
            if starts[place] - starts[chosen[-1]] >= (curve.cuts[-1] - curve.begin) / _MOST_NUMBERS:
                chosen.append(place)
        colour = _COLOURS[row % len(_COLOURS)] if len(curves) > 1 else INK
        for place in chosen:
            number = max(0.0, float(curve.at_risk[place]))
            axes.annotate(
                f"{number:,.0f}",
                (float(starts[place]), 0.0),
                (0.0, below - 12.0 * (row + 1)),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                fontsize=8,
                color=colour,
                va="top",
                ha="center" if place else "left",
            )


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
