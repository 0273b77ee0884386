"""Drawings as PNG, and as inline SVG that follows the page: each colour of the palette becomes a CSS variable."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["BLUE", "GREEN", "INK", "ORANGE", "PINK", "QUIET", "Drawing", "Picture"]

# The page's light colours (exhibits.html.j2), which no other part of a drawing uses.
INK, QUIET, GRID = "#1a1a1a", "#5f5f5f", "#dcdcdc"
BLUE, ORANGE, GREEN, PINK = "#0072b2", "#b84d00", "#00785a", "#a8457f"
_VARIABLES = {
    INK: "--ink",
    QUIET: "--quiet",
    GRID: "--rule",
    BLUE: "--blue",
    ORANGE: "--orange",
    GREEN: "--green",
    PINK: "--pink",
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
class Picture:
    """A finished drawing: an SVG element without size, so that the page decides it, and a PNG in light colours."""

    svg: str
    png: bytes


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
    def of(cls, key: str, *, panels: int = 1, columns: int = 1, height: float = 2.9) -> Drawing:
        """Return an empty drawing, as wide as a phone shows at full size; `height` of a row of panels, in inches."""
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure

        with matplotlib.rc_context(_STYLE):
            rows = -(-panels // columns)
            figure = Figure(figsize=(4.6, height * rows), layout="constrained")
            FigureCanvasSVG(figure)
            axes = figure.subplots(rows, columns, squeeze=False).ravel()[:panels]
        figure.patch.set_alpha(0.0)
        for ax in axes:
            ax.patch.set_alpha(0.0)
        return cls(key, figure, tuple(axes))

    def finished(self) -> Picture:
        """Return the drawing as it stands, its series named above each panel."""
        for ax in self.panels:
            if ax.get_legend_handles_labels()[1]:
                # Above the panel: nothing that is drawn can lie under it.
                ax.legend(
                    loc="lower left", bbox_to_anchor=(-0.04, 1), ncols=2, labelcolor=INK, borderaxespad=0.2,
                    columnspacing=1.0, handlelength=1.8, handletextpad=0.5, frameon=False, fontsize=9,
                )  # fmt: skip
        svg = self._saved(format="svg", transparent=True, metadata={"Date": None, "Creator": None}).decode()
        png = self._saved(format="png", dpi=200, facecolor="white", metadata={"Software": None})
        return Picture(self._themed(svg), png)

    def _saved(self, **options: Any) -> bytes:
        import matplotlib

        file = io.BytesIO()
        with matplotlib.rc_context({**_STYLE, "svg.hashsalt": self.key}):
            self.figure.savefig(file, **options)
        return file.getvalue()

    def _themed(self, svg: str) -> str:
        svg = svg[svg.index("<svg") :]
        svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
        svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg))
        svg = re.sub(r'\bid="', f'id="{self.key}-', svg)
        svg = re.sub(r'(href="|url\()#', rf"\1#{self.key}-", svg)
        for colour, variable in _VARIABLES.items():
            svg = svg.replace(colour, f"var({variable})")
        return svg.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1)
