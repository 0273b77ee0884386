"""A release as a picture of its error bars: PNG, and SVG to be scaled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from hedgerow.plots.bars import ErrorBar

SUFFIXES = (".png", ".svg")
KINDS = ("release",)


class HasErrorBars(Protocol):
    """Numbers with their intervals, to be drawn."""

    @property
    def level(self) -> float:
        """Of the intervals."""
        ...

    def error_bars(self) -> list[ErrorBar]:
        """Return one bar a number; those of one panel are drawn on one scale."""
        ...


def write(publication: HasErrorBars, path: str | Path) -> None:
    """Draw each estimate with its interval and the privacy part of it."""
    from hedgerow.plots.bars import draw_error_bars
    from hedgerow.plots.figure import save_figure

    save_figure(draw_error_bars(publication.error_bars(), level=publication.level), path)


def why_not(publication: HasErrorBars) -> str | None:
    """Return why there is no picture: a number without an error has no bar."""
    return "errors are withheld" if getattr(publication, "withheld", False) else None
