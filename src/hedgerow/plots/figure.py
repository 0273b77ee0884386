"""What all pictures share: colours, fonts, texts, and new figures.

A notebook shows a new figure below the cell that asks for one; elsewhere only the caller has it.
"""

from __future__ import annotations

import io
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from hedgerow.facts.printed import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

T = TypeVar("T")
Grid = Literal["x", "y", "both"]
_SHOWN: ContextVar[bool] = ContextVar("shown", default=False)
_FOR_A_PAGE: ContextVar[bool] = ContextVar("for_a_page", default=False)
_ON_DARK: ContextVar[bool] = ContextVar("on_dark", default=False)


def new_figure(width: float, height: float, *, layout: Any = None) -> Figure:
    """Return an empty white figure; inside `shown_in_notebook` a notebook shows it, else nobody but the caller has it.

    Parameters
    ----------
    width, height : float
        In inches.
    layout : str, optional
        Matplotlib's layout engine.

    Examples
    --------
    >>> new_figure(4.0, 3.0).get_size_inches().tolist()
    [4.0, 3.0]
    """
    options: dict[str, Any] = {"figsize": (width, height), "facecolor": "white", "layout": layout}
    if _SHOWN.get() and not _FOR_A_PAGE.get() and _in_notebook():
        # A kernel shows the figures of pyplot at the end of a cell and closes them; those of `Figure` it never sees.
        from matplotlib import pyplot

        return pyplot.figure(**options)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(**options)
    FigureCanvasAgg(figure)
    return figure


@contextmanager
def shown_in_notebook() -> Iterator[None]:
    """Let a notebook show the figures that are made inside; elsewhere change nothing.

    A ``plot`` method of a result draws inside it. Pages and files do not: their pictures would be shown a second time.
    """
    if _in_notebook() and not _FOR_A_PAGE.get():
        # A backend that is loaded first tells the kernel to show figures, by a setting that it must not make inside a
        # style: that is put back afterwards.
        from matplotlib import get_backend, pyplot

        pyplot.switch_backend(get_backend())
    before = _SHOWN.set(True)
    try:
        yield
    finally:
        _SHOWN.reset(before)


@contextmanager
def drawn_for_a_page() -> Iterator[None]:
    """Keep the figures that are made inside from being shown, also those of a ``plot`` method: they go into a page.

    A style of the reader's own does not reach them, since it may be meant for dark paper.
    """
    import matplotlib

    before = _FOR_A_PAGE.set(True)
    try:
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            yield
    finally:
        _FOR_A_PAGE.reset(before)


def _in_notebook() -> bool:
    """Return whether this code runs in a kernel of IPython, which must have been imported by then."""
    ipython = sys.modules.get("IPython")
    running = ipython.get_ipython() if ipython is not None else None
    return getattr(running, "kernel", None) is not None


# Okabe and Ito's blue, pale and full: told apart by lightness alone, so in grey and by every kind of eye.
PALE, BLUE = "#9ecae1", "#0072b2"
INK, QUIET, RULE, AXIS, GREY = "#1a1a1a", "#6b6b6b", "#e4e4e4", "#b8b8b8", "#8c8c8c"


# The colour on a dark page, by the colour on a light one: all have a contrast of 3 or more to a page of #0d1117.
ON_DARK = {
    "#ffffff": "#0d1117",
    INK: "#e6edf3",
    QUIET: "#a8b1bb",
    RULE: "#30363d",
    AXIS: "#6e7681",
    GREY: "#8b949e",
    PALE: "#2f6690",
    BLUE: "#8ecbff",
}


def drawn_with(*, size: int = 10) -> Any:
    """Return matplotlib's settings for a picture with letters of `size` points.

    Text stays text in SVG, and the same numbers give the same file.

    >>> drawn_with(size=9)["font.size"]
    9
    """
    return {
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "font.size": size,
        "text.usetex": False,
        "axes.unicode_minus": True,
        "svg.fonttype": "none",
        "svg.hashsalt": "hedgerow",
        "hatch.linewidth": 0.8,
    }


def label_text(text: str, *, longest: int | None = None) -> str:
    r"""Return a text that matplotlib draws as it is: no mathematics between dollar signs, no control characters.

    Cut to `longest` characters where that is given.

    >>> label_text("a$b\x1b"), label_text("abcd", longest=3)
    ('a\\$b?', 'ab…')
    """
    shown = text if longest is None or len(text) <= longest else text[: longest - 1] + "…"
    return printable(shown, instead="?", keep="").replace("$", r"\$")


def wrapped_label(text: str, width: int, *, longest: int | None = None) -> str:
    """Return a label in at most two lines of `width` characters, cut where that is too little."""
    return "\n".join(textwrap.wrap(label_text(text, longest=longest), width, max_lines=2, placeholder="…"))


def axis_number(value: float, places: Sequence[float] = ()) -> str:
    """Return the label of a place on an axis, with as many digits as all places need: thousands apart, millions as M.

    >>> axis_number(-2500.0), axis_number(25_000_000.0, [0.0, 25e6]), axis_number(0.0, [0.0, 25e6])
    ('−2,500', '25 M', '0 M')
    """
    most = max([abs(value), *(abs(place) for place in places)])
    if most >= 1e12:
        return f"{value:.4g}".replace("e+", "e").replace("-", "−")
    unit, letter = (1e6, " M") if most >= 1e6 else (1.0, "")
    steps = [abs(after - before) / unit for before, after in pairwise(places)]
    step = min((step for step in steps if step > 0.0), default=abs(value) / unit or 1.0)
    digits = next(digits for digits in range(16) if digits == 15 or abs(round(step, digits) - step) < 1e-3 * step)
    return f"{value / unit + 0.0:,.{digits}f}{letter}".replace("-", "−")


def set_numbers(axis: Axis) -> None:
    """Write the numbers of an axis by `axis_number`."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: axis_number(value, axis.get_majorticklocs().tolist())))


def set_frame(axes: Axes, grid: Grid, *, hidden: Sequence[str] = ("top", "right", "left")) -> None:
    """Hide these lines of the frame, and draw a grid behind everything else."""
    axes.set_axisbelow(True)
    axes.grid(axis=grid, color=RULE, lw=0.8)
    for side in hidden:
        axes.spines[side].set_visible(False)


def set_rows(axes: Axes) -> None:
    """Style axes whose rows have labels: numbers go across, over a line."""
    set_frame(axes, "x")
    axes.spines["bottom"].set_color(AXIS)
    axes.tick_params(axis="y", length=0, pad=6, colors=INK)
    axes.tick_params(axis="x", length=3, color=AXIS, labelcolor=QUIET, labelsize=9)


def set_heading(axes: Axes, text: str, **more: Any) -> None:
    """Write a heading above axes, bold and at the left; the text is drawn as it is given."""
    axes.set_title(text, loc="left", fontsize=11, fontweight="bold", **more)


def by_name(drawn: Iterable[T], name: Callable[[T], str]) -> dict[str, list[T]]:
    """Return what is drawn by names, in their first order.

    >>> by_name(["ab", "c", "ad"], lambda text: text[0])
    {'a': ['ab', 'ad'], 'c': ['c']}
    """
    named: dict[str, list[T]] = {}
    for drawing in drawn:
        named.setdefault(name(drawing), []).append(drawing)
    return named


def figure_of(axes: Axes) -> Figure:
    """Return the figure that axes stand in."""
    figure = axes.get_figure(root=True)
    if figure is None:
        raise TypeError("axes without a figure")
    return figure


def as_svg(axes: Axes) -> str:
    """Return the figure as one ``<svg>`` element to be put into a page: no prolog, no date, nothing fetched.

    >>> as_svg(new_figure(4.0, 3.0).add_subplot()).startswith("<svg")
    True
    """
    import matplotlib

    written = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with matplotlib.rc_context(drawn_with(size=9)):
        figure_of(axes).savefig(written, format="svg", metadata=nothing)
    text = written.getvalue()
    return text[text.index("<svg") :].strip()


@contextmanager
def on_dark_paper() -> Iterator[None]:
    """Save the PNG and PDF files that are written inside in the colours of a dark page."""
    before = _ON_DARK.set(True)
    try:
        yield
    finally:
        _ON_DARK.reset(before)


_COLOURS = ("color", "facecolor", "edgecolor", "markerfacecolor", "markeredgecolor")


def recoloured(axes: Axes) -> None:
    """Give every part of a figure the colour of a dark page in place of its own, by `ON_DARK`.

    >>> axes = new_figure(4.0, 3.0).add_subplot()
    >>> recoloured(axes)
    >>> figure_of(axes).get_facecolor()[0] < 0.1
    True
    """
    from matplotlib.colors import to_hex, to_rgba_array

    dark = {"#000000": ON_DARK[INK]} | ON_DARK
    for part in figure_of(axes).findobj():
        for name in _COLOURS:
            read = getattr(part, f"get_{name}", None)
            # A collection has an array of colours, and a part that is not drawn has none.
            colours = [] if read is None or read() is None else list(to_rgba_array(read()))
            seen = len(colours) == 1 and colours[0][3] > 0.0
            if seen and (shown := dark.get(to_hex(colours[0]))) is not None:
                getattr(part, f"set_{name}")(shown)


def figure_bytes(axes: Axes, ending: str) -> bytes:
    """Return the figure as a file of an ending: ``.png``, ``.svg``, ``.pdf``.

    An SVG file follows the page that it stands in, light or dark; a PNG and a PDF are on white paper, or inside
    `on_dark_paper` on dark paper.
    """
    import matplotlib

    with matplotlib.rc_context(drawn_with()):
        # Without a date the same numbers make the same file.
        undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(ending)
        if ending != ".svg" and _ON_DARK.get():
            recoloured(axes)
        written = io.BytesIO()
        figure_of(axes).savefig(written, format=ending[1:], dpi=200, metadata=undated)
    if ending != ".svg":
        return written.getvalue()
    return following_the_page(written.getvalue().decode()).encode()


def following_the_page(svg: str) -> str:
    """Return an SVG text with a style that takes other colours on a dark page; without such a page nothing changes.

    >>> "prefers-color-scheme: dark" in following_the_page('<svg xmlns="http://www.w3.org/2000/svg"></svg>')
    True
    """
    rules = [
        f'[style*="{part}: {light}"] {{ {part}: {dark} !important }}'
        for light, dark in ON_DARK.items()
        for part in ("fill", "stroke")
    ]
    rules.append(f'text:not([style*="fill"]) {{ fill: {ON_DARK[INK]} }}')
    style = "<style>@media (prefers-color-scheme: dark) { " + " ".join(rules) + " }</style>"
    head, start, rest = svg.partition("<svg")
    opening, end, inside = rest.partition(">")
    return f"{head}{start}{opening}{end}\n{style}{inside}"
