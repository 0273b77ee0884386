"""Pictures of a price: the curve ε(δ), and claimed bounds beside those that an attack certified. Numbers in, axes out.

Matplotlib is imported when something is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hedgerow.plots.figure import AXIS, BLUE, INK, PALE, QUIET, drawn_with, label_text, new_figure, set_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# A red that differs from the two blues in lightness too.
_CROSSED = "#b2182b"
_WIDTH, _ROW, _HEAD, _FOOT = 7.0, 0.30, 0.35, 0.75
_STYLE = drawn_with(size=9)
_CURVE_SIZE = 5.4, 2.9
_CURVE_STYLE = drawn_with()
_LEAST_DELTA = 1e-12


@dataclass(frozen=True, slots=True)
class PrivacyBound:
    """One row: what was claimed and what an attack certified.

    Attributes
    ----------
    label : str
    lower : float
        Certified from outside: ε is at least this.
    upper : float
        Claimed: ε is at most this.
    """

    label: str
    lower: float
    upper: float

    @property
    def crossed(self) -> bool:
        """Whether the attack refutes the claim."""
        return self.lower > self.upper * (1.0 + 1e-9)


def draw_privacy_bounds(bounds: Sequence[PrivacyBound], *, title: str = "", ax: Axes | None = None) -> Axes:
    """Draw a row each: a pale bar up to the claimed ε, a mark at the certified one, red where it lies beyond the bar.

    >>> axes = draw_privacy_bounds([PrivacyBound("count", 0.99, 1.0)], title="ε")
    >>> axes.get_yticklabels()[0].get_text()
    'count'
    """
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        axes = ax or _new_axes(_HEAD + _FOOT + _ROW * max(1, len(bounds)))
        finite = [end for bound in bounds for end in (bound.lower, bound.upper) if math.isfinite(end)]
        right = 1.08 * max(finite, default=1.0) or 1.0
        for place, bound in enumerate(bounds):
            axes.barh(place, min(bound.upper, right), height=0.5, color=PALE, lw=0)
            reached, colour = min(bound.lower, right), _CROSSED if bound.crossed else BLUE
            axes.plot([0.0, reached], [place, place], color=colour, lw=2.0)
            axes.plot(reached, place, "D" if bound.crossed else "o", ms=5, color=colour, zorder=3)
        axes.set_yticks(range(len(bounds)), [label_text(bound.label) for bound in bounds])
        axes.set_ylim(len(bounds) - 0.4, -0.6)
        axes.set_xlim(0.0, right)
        # Two lines that end where the axis ends: beside long labels one would hang out of the figure.
        said = "ε   (bar: claimed at most, mark: certified at least,\nred diamond: refuted)"
        axes.set_xlabel(said, fontsize=8, loc="right")
        _style_bounds(axes, title)
        return axes


def draw_privacy_curve(
    epsilons: Sequence[float],
    upper: Sequence[float],
    lower: Sequence[float],
    *,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw δ against ε: the certificate's curve from above, the attacks' from below, which must not cross it.

    >>> axes = draw_privacy_curve([0.0, 1.0], [0.4, 0.1], [0.3, 0.05])
    >>> len(axes.get_lines())
    2
    """
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        axes = ax or _new_axes(3.4)
        above = [delta if delta > 0.0 else math.nan for delta in upper]
        axes.plot(epsilons, above, color=BLUE, lw=2.0, label="certificate: δ at most")
        below = [delta if delta > 0.0 else math.nan for delta in lower]
        axes.plot(epsilons, below, color=INK, lw=1.5, ls="--", label="attack: δ at least")
        axes.set_yscale("log")
        axes.set_xlabel("ε")
        axes.set_ylabel("δ")
        axes.legend(frameon=False)
        _style_bounds(axes, title)
        return axes


def _new_axes(height: float) -> Axes:
    return new_figure(_WIDTH, height, layout="constrained").add_subplot()


def _style_bounds(axes: Axes, title: str) -> None:
    axes.set_title(label_text(title), loc="left", fontsize=10, fontweight="bold")
    set_frame(axes, "x")
    axes.tick_params(axis="y", length=0, colors=INK)
    axes.tick_params(axis="x", color=AXIS, labelcolor=QUIET)


def draw_epsilon_of_delta(
    epsilons: Sequence[float], deltas: Sequence[float], *, stated: tuple[float, float], ax: Axes | None = None
) -> Axes:
    """Draw ε against δ from points that hold, shade all that holds, and mark the stated (ε, δ).

    Parameters
    ----------
    epsilons, deltas : sequence of float
        Points of an upper bound on a privacy profile; those with δ below 1e-12 are left out.
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

    # The stated pair holds too; of a pure guarantee the other points may lie at far larger δ.
    pairs = {*zip(epsilons, deltas, strict=True), stated}
    shown = sorted((delta, epsilon) for epsilon, delta in pairs if delta >= _LEAST_DELTA and math.isfinite(epsilon))
    across, up = [delta for delta, _ in shown], [epsilon for _, epsilon in shown]
    with matplotlib.rc_context(_CURVE_STYLE):
        axes = ax or new_figure(*_CURVE_SIZE, layout="constrained").add_subplot()
        axes.set_xscale("log")
        top = 1.18 * max([*up, stated[0] if math.isfinite(stated[0]) else 0.0], default=1.0) or 1.0
        axes.fill_between(across, up, top, color=PALE, alpha=0.35, lw=0)
        axes.plot(across, up, color=BLUE, lw=2.0)
        axes.set_ylim(0.0, top)
        if across and across[0] < across[-1]:
            axes.set_xlim(across[0], across[-1])
        _mark(axes, *stated)
        _style_curve(axes)
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


def _style_curve(axes: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    set_frame(axes, "y")
    axes.spines["bottom"].set_color(AXIS)
    axes.xaxis.set_major_locator(LogLocator(numticks=6))
    axes.xaxis.set_minor_locator(NullLocator())
    # Powers as plain text: mathematics would be drawn as paths, which no screen reader can read.
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _power(value)))
    axes.tick_params(axis="both", length=0, pad=7, labelcolor=QUIET, labelsize=9)
    axes.set_xlabel("δ", color=QUIET, loc="right")
    axes.set_ylabel("ε", color=QUIET, rotation=0, labelpad=8, loc="top")


def _power(value: float) -> str:
    return f"{value:.0e}".replace("e-0", "e-").replace("-", "−")
