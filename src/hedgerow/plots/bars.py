"""Error bars with two tones: the whole interval, and inside it the part that privacy alone would leave.

Numbers in, axes out; matplotlib is imported when something is drawn.

Grouped bars with error bars: estimates from zero, their intervals as whiskers, the privacy part of them thicker.

For estimates without a common zero, or without groups, see ``error_bars.py``. Numbers in, axes out; matplotlib is
imported when something is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

from hedgerow.errors import ParameterError
from hedgerow.facts.printed import percent
from hedgerow.plots.figure import (
    BLUE,
    GREY,
    INK,
    PALE,
    QUIET,
    axis_number,
    by_name,
    drawn_with,
    label_text,
    new_figure,
    set_heading,
    set_numbers,
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
_NARROW = 0.02
"""The part of a panel below which an interval is said in words too: units of coefficients differ."""


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
    about_zero : bool
        Whether 0 is of interest: the panel then shows it by a line.
    """

    label: str
    estimate: float
    low: float
    high: float
    privacy_error: float | None
    reliable: bool
    panel: str = ""
    about_zero: bool = False

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
        if bar.about_zero and high - low < _NARROW * (edges[1] - edges[0]):
            words = f"{bar.estimate:.3g} ({low:.3g} to {high:.3g})".replace("-", "−")
            side = 1 if bar.estimate < (edges[0] + edges[1]) / 2.0 else -1
            beside = bar.estimate + side * 0.02 * (edges[1] - edges[0])
            axes.text(beside, place, words, ha="left" if side > 0 else "right", va="center", fontsize=8, color=QUIET)
        # A thin stroke hides nothing of a narrow privacy part.
        shape, size, width = ("|", 15.0, 2.0) if bar.reliable else ("o", 6.0, 1.2)
        axes.plot(bar.estimate, place, shape, color=INK, ms=size, mew=width, mec=INK, mfc="white", zorder=3)
    axes.set_yticks(range(len(rows)), [label for label, _ in rows])
    axes.set_ylim(len(rows) - 0.45, -0.55)
    axes.set_xlim(edges)
    if any(bar.about_zero for _, bar in rows):
        axes.axvline(0.0, color=INK, lw=1.2, ls=(0, (4, 2)), zorder=2.5)
    _set_ticks(axes)


def _edges(bars: Sequence[ErrorBar]) -> tuple[float, float]:
    """Return the ends of a panel's axis: every finite number of its reliable bars, or of all, and a margin.

    An unreliable bar's interval is everything that is possible; shown whole, it would squeeze the others to nothing.
    """
    known = [bar for bar in bars if bar.reliable] or bars
    ends = [end for bar in known for end in (bar.low, bar.estimate, bar.high) if math.isfinite(end)] or [0.0, 1.0]
    ends += [0.0] if any(bar.about_zero for bar in bars) else []
    low, high = min(ends), max(ends)
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - margin, high + margin


def _set_ticks(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    set_rows(axes)
    figure = axes.get_figure(root=True)
    inches = axes.get_position().width * (figure.get_figwidth() if figure is not None else _WIDTH)
    longest = max(len(axis_number(end)) for end in axes.get_xlim())
    fitting = min(5, max(2, int(inches / (0.1 * longest + 0.15))))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=fitting, steps=[1, 2, 2.5, 5, 10]))
    set_numbers(axes.xaxis)


def _legend(figure: Figure, bars: Sequence[ErrorBar], level: float, total: float) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    keys: list[Patch | Line2D] = [
        Line2D([], [], color=INK, marker="|", ls="", ms=11, mew=2.0, mec=INK, label="estimate"),
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


# Okabe and Ito's colours, from pale to dark, so that neighbours differ in lightness too.
_SERIES = ("#9ecae1", "#e69f00", "#0072b2", "#f0e442", "#009e73", "#cc79a7", "#d55e00", "#1a1a1a")
_MOST = 300
# Inches.
_GROUPED_WIDTH, _BAR, _GAP, _TITLE, _SCALE = 6.4, 0.2, 0.16, 0.42, 0.5


def draw_grouped_bars(
    bars: Sequence[ErrorBar], *, level: float, title: str = "", unit: str = "", ax: Axes | None = None
) -> Axes:
    """Draw one group of bars for each ``panel``, one bar of it for each ``label``; return the axes.

    Bars of one label share a colour, up to eight; beyond, every bar has one colour and its label beside it. A bar that
    is not reliable is hollow and hatched. An infinite end of an interval, and a missing one, is not drawn.

    Parameters
    ----------
    bars : sequence of ErrorBar
    level : float
        Of the intervals; the thick part of a whisker is ±z·privacy_error at the same level, cut at the interval.
    title, unit : str
    ax : matplotlib Axes, optional
        If no axes are given, a new figure is made.

    Raises
    ------
    ParameterError
        HG164 more than 300 bars.

    Examples
    --------
    >>> bars = [ErrorBar("north", 4.0, 3.0, 5.0, 0.2, True, "f"), ErrorBar("south", 2.0, 1.0, 3.0, 0.2, True, "f")]
    >>> axes = draw_grouped_bars(bars, level=0.95, unit="persons")
    >>> axes.get_xlabel(), [label.get_text() for label in axes.get_yticklabels()]
    ('persons', ['f'])
    """
    import matplotlib

    if len(bars) > _MOST:
        raise ParameterError(
            "HG164",
            rule=f"A bar chart shows at most {_MOST} bars.",
            finding=f"This table has {len(bars):,} cells.",
            remedy="Draw a margin of the table, or a heat map.",
        )
    with matplotlib.rc_context(_STYLE):
        groups = by_name(bars, lambda bar: bar.panel)
        series = list(dict.fromkeys(bar.label for bar in bars))
        places = _places(groups)
        axes = ax if ax is not None else _new_axes(groups, places, few=len(series) <= len(_SERIES))
        _draw_bars(axes, groups, series, places, level)
        _label(axes, groups, series, places)
        _set_scale(axes, bars, places)
        axes.set_xlabel(label_text(unit), color=QUIET, fontsize=9)
        set_heading(axes, wrapped_label(title, 60), pad=10)
        _grouped_legend(axes, bars, series, level)
        return axes


def _places(groups: dict[str, list[ErrorBar]]) -> list[float]:
    """Return where each bar stands, in bars from the top."""
    places, at = [], 0.0
    for listed in groups.values():
        places += [at + number for number in range(len(listed))]
        at += len(listed) + _GAP / _BAR
    return places


def _draw_bars(
    axes: Axes, groups: dict[str, list[ErrorBar]], series: list[str], places: list[float], level: float
) -> None:
    ordered = [bar for listed in groups.values() for bar in listed]
    for bar, place in zip(ordered, places, strict=True):
        colour = _SERIES[series.index(bar.label)] if len(series) <= len(_SERIES) else _SERIES[0]
        drawn = axes.barh(place, bar.estimate, height=0.86, color=colour if bar.reliable else "white", lw=0)
        if not bar.reliable:
            drawn.patches[0].set(edgecolor=colour, linewidth=1.0, hatch="////")
        low, high = bar.low, bar.high
        if math.isfinite(low) and math.isfinite(high) and high > low:
            axes.plot([low, high], [place, place], color=INK, lw=1.0, solid_capstyle="butt", zorder=3)
            if bar.privacy_error:
                axes.plot(bar.privacy_part(level), [place, place], color=INK, lw=3.0, solid_capstyle="butt", zorder=3)


def _label(axes: Axes, groups: dict[str, list[ErrorBar]], series: list[str], places: list[float]) -> None:
    if len(series) > len(_SERIES):
        labels = [
            f"{bar.panel}, {bar.label}" if bar.panel else bar.label for listed in groups.values() for bar in listed
        ]
        axes.set_yticks(places, [wrapped_label(label, 30) for label in labels], fontsize=8)
        return
    middles, start = [], 0
    for listed in groups.values():
        middles.append(sum(places[start : start + len(listed)]) / len(listed))
        start += len(listed)
    axes.set_yticks(middles, [wrapped_label(group, 22) for group in groups])


def _set_scale(axes: Axes, bars: Sequence[ErrorBar], places: list[float]) -> None:
    from matplotlib.ticker import MaxNLocator

    ends = [end for bar in bars for end in (bar.low, bar.estimate, bar.high) if math.isfinite(end)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    room = 0.04 * (high - low) or 1.0
    axes.set_xlim(low - room if low < 0 else 0.0, high + room if high > 0 else 0.0)
    axes.set_ylim(max(places, default=0.0) + 0.9, -0.9)
    axes.axvline(0.0, color=GREY, lw=1.0)
    set_rows(axes)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    set_numbers(axes.xaxis)


def _grouped_legend(axes: Axes, bars: Sequence[ErrorBar], series: list[str], level: float) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    keys: list[Patch | Line2D] = []
    if 1 < len(series) <= len(_SERIES):
        keys = [
            Patch(facecolor=colour, label=wrapped_label(name, 24))
            for name, colour in zip(series, _SERIES, strict=False)
        ]
    if any(bar.high > bar.low for bar in bars):
        keys.append(Line2D([], [], color=INK, lw=1.0, label=f"{percent(level, space=' ')} interval"))
    if any(bar.privacy_error for bar in bars):
        keys.append(Line2D([], [], color=INK, lw=3.0, label="its privacy part"))
    if not all(bar.reliable for bar in bars):
        keys.append(Patch(facecolor="white", edgecolor=GREY, hatch="////", label="not reliable"))
    if keys:
        axes.legend(
            handles=keys,
            loc="upper left",
            bbox_to_anchor=(1.02, 1.0),
            frameon=False,
            fontsize=9,
            handlelength=1.4,
            labelcolor=INK,
            borderaxespad=0.0,
        )


def _new_axes(groups: dict[str, list[ErrorBar]], places: list[float], *, few: bool) -> Axes:
    names = list(groups) if few else [f"{bar.panel}, {bar.label}" for listed in groups.values() for bar in listed]
    longest = max(
        (len(line) for name in names for line in wrapped_label(name, 22 if few else 30).split("\n")), default=0
    )
    left, right = 0.3 + 0.083 * longest, 1.9
    tall = max(_BAR * (max(places, default=0.0) + 1.8), 1.1)
    figure = new_figure(_GROUPED_WIDTH + left, _TITLE + tall + _SCALE)
    width, height = figure.get_figwidth(), figure.get_figheight()
    return figure.add_axes((left / width, _SCALE / height, (width - left - right) / width, tall / height))
