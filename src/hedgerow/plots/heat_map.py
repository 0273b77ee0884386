"""A heat map of a two-way table: every cell with its number, shaded on one scale that starts at zero.

Shades rise evenly in lightness (CIE L*) at one hue, so that equal steps look equal, in grey too and to every kind of
eye; numbers of both signs run from orange through white to blue. Numbers in, axes out; matplotlib is imported when
something is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.plots.figure import (
    AXIS,
    GREY,
    INK,
    QUIET,
    drawn_with,
    label_text,
    new_figure,
    set_heading,
    set_numbers,
    wrapped_label,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

_BELOW = "#ffffff"
_MOST, _MOST_TEXTS, _LABEL = 10_000, 600, 22
# Inches.
_CELL, _HEIGHT, _LETTER, _WIDEST, _TALLEST = 0.82, 0.46, 0.082, 14.0, 60.0
_STYLE = {**drawn_with(), "hatch.color": "#b0b0b0"}


@dataclass(frozen=True, slots=True, eq=False)
class HeatMap:
    """A two-way table to be drawn.

    Attributes
    ----------
    values : float array, (rows, columns)
    texts : text array, (rows, columns)
        What is printed in each cell; a second line is printed smaller.
    rows, columns : sequence of str
        Headings.
    unreliable : bool array, (rows, columns), or None
        Cells to be hatched.
    title, row_title, column_title, unit : str
        ``unit`` names the scale.
    signed : bool
        Whether numbers below zero are possible: the scale then has two sides. Else they have no shade.
    """

    values: NDArray[np.float64]
    texts: NDArray[np.str_]
    rows: Sequence[str]
    columns: Sequence[str]
    unreliable: NDArray[np.bool_] | None = None
    title: str = ""
    row_title: str = ""
    column_title: str = ""
    unit: str = ""
    signed: bool = False


def draw_heat_map(heat: HeatMap, *, ax: Axes | None = None) -> Axes:
    """Draw a heat map and return its axes; without `ax` in a new figure of its own.

    Above 600 cells no numbers are printed.

    Raises
    ------
    ParameterError
        HG164 more than 10,000 cells.

    Examples
    --------
    >>> values = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> axes = draw_heat_map(HeatMap(values, values.astype(str), ("f", "m"), ("north", "south"), title="People"))
    >>> axes.figure.texts[0].get_text(), [label.get_text() for label in axes.get_xticklabels()]
    ('People', ['north', 'south'])
    """
    import matplotlib

    if heat.values.size > _MOST:
        raise ParameterError(
            "HG164",
            rule=f"A heat map shows at most {_MOST:,} cells.",
            finding=f"This table has {heat.values.size:,}.",
            remedy="Draw a margin of the table, or use fewer categories.",
        )
    with matplotlib.rc_context(_STYLE):
        return _draw(heat, ax if ax is not None else _new_axes(heat), own=ax is None)


def _draw(heat: HeatMap, axes: Axes, *, own: bool) -> Axes:
    colours = _colours(heat.signed)
    top = float(np.max(np.abs(heat.values) if heat.signed else heat.values, initial=0.0)) or 1.0
    bottom = -top if heat.signed else 0.0
    picture = axes.imshow(heat.values, cmap=colours, vmin=bottom, vmax=top, aspect="auto", interpolation="nearest")
    if heat.values.size <= _MOST_TEXTS:
        _print_numbers(heat, axes, colours, bottom, top)
    _mark_unreliable(heat, axes)
    axes.set_xticks(range(len(heat.columns)), [wrapped_label(label, 12) for label in heat.columns])
    axes.set_yticks(range(len(heat.rows)), [wrapped_label(label, _LABEL) for label in heat.rows])
    axes.xaxis.tick_top()
    axes.tick_params(length=0, labelcolor=INK, pad=5)
    axes.set_xlabel(label_text(heat.column_title), color=QUIET, labelpad=8)
    axes.xaxis.set_label_position("top")
    axes.set_ylabel(label_text(heat.row_title), color=QUIET, labelpad=8)
    figure = axes.get_figure(root=True)
    if own and figure is not None:
        # From the figure's edge, not the map's: beside long row headings a title would not fit above the map alone.
        size = figure.get_size_inches()
        title = wrapped_label(heat.title, _title_width(float(size[0])))
        figure.text(0.15 / size[0], 1 - 0.12 / size[1], title, va="top", fontsize=11, fontweight="bold")
    else:
        set_heading(axes, wrapped_label(heat.title, 60), pad=12)
    # White lines between cells: two shades that touch look more different than they are.
    axes.set_xticks(np.arange(1, len(heat.columns)) - 0.5, minor=True)
    axes.set_yticks(np.arange(1, len(heat.rows)) - 0.5, minor=True)
    if heat.values.size <= _MOST_TEXTS:
        axes.grid(which="minor", color="white", lw=1.5)
    axes.tick_params(which="minor", length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    _scale(heat, axes, picture, own=own)
    return axes


def _print_numbers(heat: HeatMap, axes: Axes, colours: Colormap, bottom: float, top: float) -> None:
    from matplotlib.patheffects import Normal, Stroke

    for (row, column), text in np.ndenumerate(heat.texts):
        shade = colours(float(heat.values[row, column] - bottom) / (top - bottom))
        # Black or white, whichever stands out more: at the luminance .179 both have a contrast of 4.58 (WCAG 2).
        ink = "#ffffff" if _luminance(shade[:3]) < 0.179 else "#000000"
        first, _, second = str(text).partition("\n")
        drawn: dict[str, Any] = {"ha": "center", "color": ink, "fontsize": 10, "zorder": 4}
        if heat.unreliable is not None and heat.unreliable[row, column]:
            # The shade around the letters keeps the hatch off them.
            drawn["path_effects"] = [Stroke(linewidth=3.0, foreground=shade), Normal()]
        if second:
            axes.text(column, row - 0.13, label_text(first), va="center", **drawn)
            axes.text(column, row + 0.24, label_text(second), va="center", **{**drawn, "fontsize": 7.5})
        else:
            axes.text(column, row, label_text(first), va="center", **drawn)


def _mark_unreliable(heat: HeatMap, axes: Axes) -> None:
    from matplotlib.patches import Rectangle

    if heat.unreliable is None:
        return
    for row, column in np.argwhere(heat.unreliable):
        box = Rectangle((column - 0.47, row - 0.45), 0.94, 0.9, fill=False, hatch="///", lw=0.0, zorder=2)
        axes.add_patch(box)


def _scale(heat: HeatMap, axes: Axes, picture: Any, *, own: bool) -> None:
    """Draw the scale below the map, with what has no shade and what is hatched said beside it."""
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator

    figure = axes.get_figure(root=True)
    if figure is None or not own:
        return
    inches = figure.get_figheight()
    box = axes.get_position()
    left, foot = min(box.x0, 1.0 / figure.get_figwidth()), _foot(heat)
    place = figure.add_axes((left, (foot - 0.33) / inches, 2.4 / figure.get_figwidth(), 0.12 / inches))
    below = _has_below(heat)
    bar = figure.colorbar(picture, cax=place, orientation="horizontal", extend="min" if below else "neither")
    bar.outline.set_edgecolor(AXIS)
    bar.ax.xaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 2.5, 5, 10]))
    set_numbers(bar.ax.xaxis)
    bar.ax.tick_params(length=2, color=AXIS, labelcolor=QUIET, labelsize=8)
    bar.ax.set_xlabel(label_text(heat.unit), color=QUIET, fontsize=8, loc="left")
    keys = []
    if below:
        keys.append(Patch(facecolor=_BELOW, edgecolor=AXIS, label="below zero: noise"))
    if heat.unreliable is not None and heat.unreliable.any():
        keys.append(Patch(facecolor="white", edgecolor=GREY, hatch="////", lw=0.5, label="not reliable"))
    if keys:
        start = (left - 0.1 / figure.get_figwidth(), 0.0)
        figure.legend(
            handles=keys, loc="lower left", bbox_to_anchor=start, ncols=2, frameon=False, fontsize=8, labelcolor=INK
        )


def _new_axes(heat: HeatMap) -> Axes:
    rows, columns = heat.values.shape
    shrink = 1.0 if heat.values.size <= _MOST_TEXTS else 0.25
    labels = max((len(line) for row in heat.rows for line in wrapped_label(row, _LABEL).split("\n")), default=0)
    left = 0.35 + _LETTER * labels + (0.25 if heat.row_title else 0.0)
    longest = max((len(line) for text in heat.texts.flat for line in str(text).split("\n")), default=0)
    wide = shrink * max(_CELL, 0.3 + _LETTER * longest)
    across = min(max(wide * columns, 3.2), _WIDEST)
    down = min(max(shrink * _HEIGHT * rows, 0.6), _TALLEST)
    lines = 1 + max((wrapped_label(column, 12).count("\n") for column in heat.columns), default=0)
    width, foot = left + across + 0.2, _foot(heat)
    titled = 0.22 * (1 + wrapped_label(heat.title, _title_width(width)).count("\n")) if heat.title else 0.0
    height = 0.25 + titled + 0.17 * lines + (0.25 if heat.column_title else 0.0) + down + foot
    figure = new_figure(width, height)
    return figure.add_axes((left / width, foot / height, across / width, down / height))


def _foot(heat: HeatMap) -> float:
    """Return the room below the map, in inches: the scale, and a line of keys where there are any."""
    return 1.1 if _has_below(heat) or (heat.unreliable is not None and heat.unreliable.any()) else 0.85


def _has_below(heat: HeatMap) -> bool:
    return not heat.signed and bool((heat.values < 0).any())


def _title_width(inches: float) -> int:
    return int((inches - 0.3) / 0.098)


def _colours(signed: bool) -> Colormap:
    """Return shades of the hue that all plots use, and for two signs those of orange on the other side."""
    from matplotlib.colors import LinearSegmentedColormap

    blue = _shades(255.0, 36.0)
    if not signed:
        return LinearSegmentedColormap.from_list("hedgerow blue", blue).with_extremes(under=_BELOW)
    return LinearSegmentedColormap.from_list("hedgerow orange and blue", [*_shades(60.0, 52.0)[::-1], *blue[1:]])


def _shades(hue: float, chroma: float) -> list[tuple[float, float, float]]:
    """Return even steps of lightness, L* from 97 to 30, at one hue: pale ends can hold less colour than the middle."""
    steps = np.linspace(0.0, 1.0, 65).tolist()
    return [_from_lab(97.0 - 67.0 * step, chroma * math.sin(0.8 * math.pi * step), hue) for step in steps]


def _from_lab(lightness: float, chroma: float, hue: float) -> tuple[float, float, float]:
    """Return sRGB of CIE LCh (D65), cut to what can be shown."""
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    fy = (lightness + 16.0) / 116.0
    xyz = [
        white * (f**3 if f > 6.0 / 29.0 else (f - 4.0 / 29.0) * 3.0 * (6.0 / 29.0) ** 2)
        for white, f in zip((0.95047, 1.0, 1.08883), (fy + a / 500.0, fy, fy - b / 200.0), strict=True)
    ]
    to_rgb = ((3.2406, -1.5372, -0.4986), (-0.9689, 1.8758, 0.0415), (0.0557, -0.2040, 1.0570))
    linear = [min(max(sum(m * v for m, v in zip(row, xyz, strict=True)), 0.0), 1.0) for row in to_rgb]
    red, green, blue = (12.92 * c if c <= 0.0031308 else 1.055 * c ** (1 / 2.4) - 0.055 for c in linear)
    return red, green, blue


def _luminance(shade: Sequence[Any]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in map(float, shade)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
