"""The privacy curve ε(δ): what holds, and the point that a certificate states. Numbers in, axes out.

For a curve beside an attack's lower bound see ``privacy_bounds.py``. Matplotlib is imported when something is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hedgerow.plots.figure import new_figure
from hedgerow.plots.style import BLUE, INK, PALE, QUIET, RULE, drawn_with

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH, _HEIGHT = 5.4, 2.9
_LEAST_DELTA = 1e-12
_STYLE: Any = drawn_with()


def draw_epsilon_of_delta(
    epsilons: Sequence[float], deltas: Sequence[float], *, stated: tuple[float, float], ax: Axes | None = None
) -> Axes:
    """Draw ε against δ from points that hold, shade all that holds, and mark the stated (ε, δ).

    Parameters
    ----------
    epsilons, deltas : sequence of float
        Points of an upper bound on a privacy curve; those with δ below 1e-12 are left out.
    stated : (float, float)
        The certificate's ε and δ; at δ = 0 a line instead of a mark.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> axes = draw_epsilon_of_delta([0.0, 0.5, 1.0], [0.1, 1e-3, 1e-6], stated=(1.0, 1e-6))
    >>> axes.get_xscale(), axes.get_xlabel()[0]
    ('log', 'δ')
    """
    import matplotlib

    pairs = zip(epsilons, deltas, strict=True)
    shown = sorted((delta, epsilon) for epsilon, delta in pairs if delta >= _LEAST_DELTA and math.isfinite(epsilon))
    across, up = [delta for delta, _ in shown], [epsilon for _, epsilon in shown]
    with matplotlib.rc_context(_STYLE):
        axes = ax or _new_axes()
        axes.set_xscale("log")
        top = 1.18 * max([*up, stated[0] if math.isfinite(stated[0]) else 0.0], default=1.0) or 1.0
        axes.fill_between(across, up, top, color=PALE, alpha=0.35, lw=0)
        axes.plot(across, up, color=BLUE, lw=2.0)
        axes.set_ylim(0.0, top)
        if across and across[0] < across[-1]:
            axes.set_xlim(across[0], across[-1])
        _mark(axes, *stated)
        _quiet(axes)
        return axes


def _mark(axes: Axes, epsilon: float, delta: float) -> None:
    if not math.isfinite(epsilon):
        return
    if delta < _LEAST_DELTA:
        axes.axhline(epsilon, color=INK, lw=1.2, ls=(0, (4, 3)))
        place = axes.get_xlim()[0]
    else:
        axes.plot(delta, epsilon, "o", ms=7, mew=2.0, mec=INK, mfc="white", zorder=3, clip_on=False)
        place = delta
    axes.annotate(
        f"stated: ε = {epsilon:.3g} at δ = {delta:.3g}",
        (place, epsilon),
        xytext=(9, 7),
        textcoords="offset points",
        color=INK,
    )


def _new_axes() -> Axes:
    return new_figure(_WIDTH, _HEIGHT, layout="constrained").add_subplot()


def _quiet(axes: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_axisbelow(True)
    axes.grid(axis="y", color=RULE, lw=0.8)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#b8b8b8")
    axes.xaxis.set_major_locator(LogLocator(numticks=6))
    axes.xaxis.set_minor_locator(NullLocator())
    # Powers as plain text: mathematics would be drawn as paths, which no screen reader can read.
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _power(value)))
    axes.tick_params(axis="both", length=0, pad=7, labelcolor=QUIET, labelsize=9)
    axes.set_xlabel("δ", color=QUIET, loc="right")
    axes.set_ylabel("ε", color=QUIET, rotation=0, labelpad=8, loc="top")


def _power(value: float) -> str:
    return f"{value:.0e}".replace("e-0", "e-").replace("-", "−")
