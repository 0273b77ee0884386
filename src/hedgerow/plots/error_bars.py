"""Error bars with two tones: the whole interval, and inside it the part that privacy alone would leave.

Numbers in, axes out; matplotlib is imported when something is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

from hedgerow.facts.printed import percent
from hedgerow.plots.figure import (
    BLUE,
    INK,
    PALE,
    QUIET,
    by_name,
    drawn_with,
    label_text,
    new_figure,
    set_heading,
    set_rows,
    wrapped_label,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_ROWS = 300
_LABEL, _LONGEST = 24, 48
# Inches. A phone shows 5.4 inches of picture at a third of its size, where 10 points can still be read.
_WIDTH, _ROW, _PANEL, _HEAD, _FOOT = 5.4, 0.34, 0.78, 0.12, 0.48
_STYLE = drawn_with()


@dataclass(frozen=True, slots=True)
class ErrorBar:
    """One estimate to be drawn.

    Attributes
    ----------
    label : str
        What stands beside the bar: the cell.
    estimate, low, high : float
        The estimate and its interval; an infinite end is drawn to the edge of the panel.
    privacy_error : float or None
        Standard deviation of the noise, in the estimate's unit; None where there is no number to give.
    reliable : bool
        False: the bar is hollow and hatched.
    panel : str
        What is estimated, with its unit: bars of one panel share an axis.
    """

    label: str
    estimate: float
    low: float
    high: float
    privacy_error: float | None
    reliable: bool
    panel: str = ""

    def privacy_part(self, level: float) -> tuple[float, float]:
        """Return the ends of the part of the interval that privacy noise alone would leave, cut at the interval."""
        reach = NormalDist().inv_cdf(0.5 + level / 2) * (self.privacy_error or 0.0)
        return max(self.low, self.estimate - reach), min(self.high, self.estimate + reach)


def draw_error_bars(bars: Sequence[ErrorBar], *, level: float, ax: Axes | None = None) -> Axes:
    """Draw bars from top to bottom and return their axes: the first panel's, whose ``figure`` holds the others.

    Without `ax` a new figure is made with one panel for each different ``panel``, each on an axis of its own, since a
    mean age and a mean income share no scale. With `ax` every bar is drawn there.

    Parameters
    ----------
    bars : sequence of ErrorBar
    level : float
        Of the intervals; the privacy part is ±z·privacy_error at the same level, cut at the interval.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> axes = draw_error_bars([ErrorBar("sex=0", 41.9, 41.5, 42.2, 0.07, True, "mean of age")], level=0.95)
    >>> axes.get_title(loc="left")
    'mean of age'
    """
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        if ax is not None:
            panels = {bar.panel for bar in bars}
            _draw_panel(ax, [(_full_label(bar, len(panels)), bar) for bar in bars], level)
            set_heading(ax, label_text(panels.pop(), longest=_LONGEST) if len(panels) == 1 else "")
            return ax
        return _new_figure(bars, level)


def _new_figure(bars: Sequence[ErrorBar], level: float) -> Axes:
    shown = bars[:_MOST_ROWS]
    panels = by_name(shown, lambda bar: bar.panel) or {"": []}
    heights = [_PANEL + _ROW * len(listed) for listed in panels.values()]
    total = _HEAD + _FOOT + sum(heights)
    figure = new_figure(_WIDTH, total)
    # Labels of all panels start at one line, so their axes must too.
    widest = max(
        (len(line) for bar in shown for line in wrapped_label(bar.label, _LABEL, longest=_LONGEST).split("\n")),
        default=0,
    )
    left = min(0.45, (0.3 + 0.083 * widest) / _WIDTH)
    top, drawn = total - _HEAD, []
    for (name, listed), height in zip(panels.items(), heights, strict=True):
        below, above = 0.38, height - 0.30
        axes = figure.add_axes((left, (top - above - 0.30 + below) / total, 0.95 - left, (above - below) / total))
        set_heading(axes, label_text(name, longest=_LONGEST), x=-left / (0.95 - left) + 0.1 / _WIDTH)
        _draw_panel(axes, [(wrapped_label(bar.label, _LABEL, longest=_LONGEST), bar) for bar in listed], level)
        drawn.append(axes)
        top -= height
    _legend(figure, shown, level, total)
    if len(bars) > len(shown):
        figure.text(0.02, 0.005, f"The first {len(shown)} of {len(bars):,} estimates.", fontsize=8, color=QUIET)
    return drawn[0]


def _draw_panel(axes: Axes, rows: Sequence[tuple[str, ErrorBar]], level: float) -> None:
    edges = _edges([bar for _, bar in rows])
    for place, (_, bar) in enumerate(rows):
        low, high = max(bar.low, edges[0]), min(bar.high, edges[1])
        if not bar.reliable:
            hollow = axes.barh(place, high - low, left=low, height=0.42, facecolor="white", edgecolor=PALE, lw=1)
            hollow.patches[0].set_hatch("////")
        elif high > low:
            axes.barh(place, high - low, left=low, height=0.42, color=PALE, lw=0)
            if bar.privacy_error:
                start, end = bar.privacy_part(level)
                start, end = max(low, start), min(high, end)
                axes.barh(place, end - start, left=start, height=0.18, color=BLUE, lw=0)
        # A thin stroke hides nothing of a narrow privacy part.
        shape, size, width = ("|", 15.0, 2.0) if bar.reliable else ("o", 6.0, 1.2)
        axes.plot(bar.estimate, place, shape, ms=size, mew=width, mec=INK, mfc="white", zorder=3)
    axes.set_yticks(range(len(rows)), [label for label, _ in rows])
    axes.set_ylim(len(rows) - 0.45, -0.55)
    axes.set_xlim(edges)
    _set_ticks(axes)


def _edges(bars: Sequence[ErrorBar]) -> tuple[float, float]:
    """Return the ends of a panel's axis: every finite number of its reliable bars, or of all, and a margin.

    An unreliable bar's interval is everything that is possible; shown whole, it would squeeze the others to nothing.
    """
    known = [bar for bar in bars if bar.reliable] or bars
    ends = [end for bar in known for end in (bar.low, bar.estimate, bar.high) if math.isfinite(end)] or [0.0, 1.0]
    low, high = min(ends), max(ends)
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - margin, high + margin


def _set_ticks(axes: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    set_rows(axes)
    figure = axes.get_figure(root=True)
    inches = axes.get_position().width * (figure.get_figwidth() if figure is not None else _WIDTH)
    longest = max(len(_tick(end, [])) for end in axes.get_xlim())
    fitting = min(5, max(2, int(inches / (0.1 * longest + 0.15))))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=fitting, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value, axes.get_xticks().tolist())))


def _tick(value: float, places: Sequence[float]) -> str:
    """Return a tick's label with as many digits as all of them need, thousands apart."""
    if abs(value) >= 1e9:
        return f"{value:.4g}".replace("e+", "e").replace("-", "−")
    step = float(places[1] - places[0]) if len(places) > 1 else 1.0
    digits = next(digits for digits in range(16) if digits == 15 or abs(round(step, digits) - step) < 1e-3 * step)
    return f"{value + 0.0:,.{digits}f}".replace("-", "−")


def _legend(figure: Figure, bars: Sequence[ErrorBar], level: float, total: float) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    keys: list[Patch | Line2D] = [
        Line2D([], [], marker="|", ls="", ms=11, mew=2.0, mec=INK, label="estimate"),
        Patch(facecolor=PALE, label=f"{percent(level, space=' ')} interval"),
        Patch(facecolor=BLUE, label="its privacy part"),
    ]
    if any(not bar.reliable for bar in bars):
        keys.append(Patch(facecolor="white", edgecolor=PALE, hatch="////", label="not reliable"))
    figure.legend(
        handles=keys,
        loc="lower left",
        bbox_to_anchor=(0.0, 0.06 / total),
        ncols=2 if len(keys) > 3 else 3,
        frameon=False,
        fontsize=9,
        columnspacing=1.4,
        handlelength=1.4,
        labelcolor=INK,
    )


def _full_label(bar: ErrorBar, panels: int) -> str:
    return label_text(bar.label if panels == 1 else f"{bar.panel} {bar.label}".strip(), longest=_LONGEST)
