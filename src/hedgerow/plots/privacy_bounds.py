"""Prices against attacks: how far ε may go, and how far an attack got. Numbers in, axes out.

Matplotlib is imported when something is drawn.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hedgerow.plots.figure import new_figure
from hedgerow.plots.style import BLUE, INK, PALE, QUIET, drawn_with

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A red that differs from the two blues in lightness too.
_CROSSED = "#b2182b"
_WIDTH, _ROW, _HEAD, _FOOT = 7.0, 0.30, 0.35, 0.75
_STYLE: Any = drawn_with(size=9)


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
        axes.set_yticks(range(len(bounds)), [_plain(bound.label) for bound in bounds])
        axes.set_ylim(len(bounds) - 0.4, -0.6)
        axes.set_xlim(0.0, right)
        # Two lines that end where the axis ends: beside long labels one would hang out of the figure.
        said = "ε   (bar: claimed at most, mark: certified at least,\nred diamond: refuted)"
        axes.set_xlabel(said, fontsize=8, loc="right")
        _quiet(axes, title)
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
        _quiet(axes, title)
        return axes


def as_svg(axes: Axes) -> str:
    """Return the figure as one ``<svg>`` element to be put into a page: no prolog, no date, nothing fetched.

    >>> as_svg(draw_privacy_curve([0.0, 1.0], [0.4, 0.1], [0.3, 0.05])).startswith("<svg")
    True
    """
    import matplotlib

    figure = axes.get_figure(root=True)
    if figure is None:
        raise TypeError("axes without a figure")
    written = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with matplotlib.rc_context(_STYLE):
        figure.savefig(written, format="svg", metadata=nothing)
    text = written.getvalue()
    return text[text.index("<svg") :].strip()


def _new_axes(height: float) -> Axes:
    return new_figure(_WIDTH, height, layout="constrained").add_subplot()


def _quiet(axes: Axes, title: str) -> None:
    axes.set_title(_plain(title), loc="left", fontsize=10, fontweight="bold")
    axes.set_axisbelow(True)
    axes.grid(axis="x", color="#e4e4e4", lw=0.8)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0, colors=INK)
    axes.tick_params(axis="x", color="#b8b8b8", labelcolor=QUIET)


def _plain(text: str) -> str:
    """Show text as it is: no mathematics between dollar signs, no control characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in text).replace("$", r"\$")
