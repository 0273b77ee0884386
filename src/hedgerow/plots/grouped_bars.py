"""Grouped bars with error bars: estimates from zero, their intervals as whiskers, the privacy part of them thicker.

For estimates without a common zero, or without groups, see ``error_bars.py``. Numbers in, axes out; matplotlib is
imported when something is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hedgerow.errors import ParameterError
from hedgerow.facts.printed import percent
from hedgerow.plots.error_bars import ErrorBar
from hedgerow.plots.figure import (
    GREY,
    INK,
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

# Okabe and Ito's colours, from pale to dark, so that neighbours differ in lightness too.
_SERIES = ("#9ecae1", "#e69f00", "#0072b2", "#f0e442", "#009e73", "#cc79a7", "#d55e00", "#1a1a1a")
_MOST = 300
# Inches.
_GROUPED_WIDTH, _BAR, _GAP, _TITLE, _SCALE = 6.4, 0.2, 0.16, 0.42, 0.5
_STYLE = drawn_with()


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
        Without it a new figure is made.

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
            remedy="Draw a margin of it, or a heat map.",
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
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    ends = [end for bar in bars for end in (bar.low, bar.estimate, bar.high) if math.isfinite(end)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    room = 0.04 * (high - low) or 1.0
    axes.set_xlim(low - room if low < 0 else 0.0, high + room if high > 0 else 0.0)
    axes.set_ylim(max(places, default=0.0) + 0.9, -0.9)
    axes.axvline(0.0, color=GREY, lw=1.0)
    set_rows(axes)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value + 0.0:,.6g}".replace("-", "−")))


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
