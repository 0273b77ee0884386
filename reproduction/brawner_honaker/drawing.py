"""Inline SVG that follows the page's colours: every colour is drawn as a stand-in and replaced by a CSS variable."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["BLUE", "GREEN", "INK", "ORANGE", "PINK", "QUIET", "SERIES", "Drawing"]

INK, QUIET, GRID = "#010101", "#020202", "#030303"
BLUE, ORANGE, GREEN, PINK = "#040404", "#050505", "#060606", "#070707"
_VARIABLES = {
    INK: "--ink",
    QUIET: "--quiet",
    GRID: "--rule",
    BLUE: "--blue",
    ORANGE: "--orange",
    GREEN: "--green",
    PINK: "--pink",
}
# Colour, line and mark: any one of the three tells the series apart.
SERIES: dict[str, dict[str, Any]] = {
    "unbiased": {"color": ORANGE, "ls": "-", "marker": "o"},
    "conservative": {"color": BLUE, "ls": "--", "marker": "s"},
    "most conservative": {"color": GREEN, "ls": "-.", "marker": "^"},
}
_STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "svg.fonttype": "none",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.markersize": 4,
    "axes.formatter.use_mathtext": False,
}


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure of one or more panels, one above the other; `panels` holds the axes.

    Parameters
    ----------
    key : str
        Prefix of every id in the SVG, so that several can stand on one page.
    """

    key: str
    figure: Figure
    panels: tuple[Axes, ...]

    @classmethod
    def of(cls, key: str, *, panels: int = 1, height: float = 2.9) -> Drawing:
        """Return an empty drawing, as wide as a phone shows at full size."""
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure

        with matplotlib.rc_context(_STYLE):
            figure = Figure(figsize=(4.6, height * panels), layout="constrained")
            FigureCanvasSVG(figure)
            axes = figure.subplots(panels, 1, squeeze=False)[:, 0]
        figure.patch.set_alpha(0.0)
        for ax in axes:
            ax.patch.set_alpha(0.0)
        return cls(key, figure, tuple(axes))

    def svg(self) -> str:
        """Return the SVG element, without size, so that the page decides it."""
        import matplotlib

        with matplotlib.rc_context({**_STYLE, "svg.hashsalt": self.key}):
            for ax in self.panels:
                # Above the panel: nothing that is drawn can lie under it.
                names = ax.get_legend_handles_labels()[1]
                if names:
                    ax.legend(
                        loc="lower left", bbox_to_anchor=(-0.04, 1), ncols=2, labelcolor=INK, borderaxespad=0.2,
                        columnspacing=1.0, handlelength=1.8, handletextpad=0.5,
                    )  # fmt: skip
            text = io.StringIO()
            self.figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        svg = text.getvalue()
        svg = svg[svg.index("<svg") :]
        svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
        svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg))
        svg = re.sub(r'\bid="', f'id="{self.key}-', svg)
        svg = re.sub(r'(href="|url\()#', rf"\1#{self.key}-", svg)
        for colour, variable in _VARIABLES.items():
            svg = svg.replace(colour, f"var({variable})")
        return svg.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1)
