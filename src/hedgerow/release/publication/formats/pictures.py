"""Pictures: a release as its error bars (PNG, and SVG to be scaled), a table as a heat map or as grouped bars."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.facts.validation import format_argument
from hedgerow.release.cells.margins import ConsistentTable
from hedgerow.release.cells.printed_numbers import reliability_letters
from hedgerow.release.publication.publication import Layout, Publication, arrange
from hedgerow.release.publication.write_file import write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hedgerow.plots.bars import ErrorBar

SUFFIXES = (".pdf", ".png", ".svg")
APART = (".pdf",)
KINDS = ("release",)


class HasErrorBars(Protocol):
    """Numbers with their intervals, to be drawn."""

    @property
    def level(self) -> float:
        """The confidence level of the intervals."""
        ...

    def error_bars(self) -> list[ErrorBar]:
        """Return one bar a number; those of one panel are drawn on one scale."""
        ...


def write(publication: HasErrorBars, path: str | Path) -> None:
    """Draw each estimate with its interval and the privacy part of it."""
    from hedgerow.plots.bars import draw_error_bars
    from hedgerow.plots.figure import figure_bytes

    axes = draw_error_bars(publication.error_bars(), level=publication.level)
    write_bytes(path, figure_bytes(axes, Path(path).suffix.lower()))


def why_not(publication: HasErrorBars) -> str | None:
    """Return why there is no picture: a number without an error has no bar."""
    return "errors are withheld" if getattr(publication, "withheld", False) else None


PictureKind = Literal["heat", "bar"]


def draw_publication(publication: Publication, *, kind: PictureKind = "heat", ax: Axes | None = None) -> Axes:
    """Draw the cells of a table, without totals, and return the axes.

    ``"heat"`` shades each cell by its number, which is printed in it with a letter or a standard error, as the
    publication says; ``"bar"`` draws a bar for each cell with its interval, in groups by row. Columns that go across
    are those of the printed table.

    Raises
    ------
    ParameterError
        HG164 another kind; more than 10,000 cells in a heat map, or 300 in a bar chart.

    Examples
    --------
    >>> from hedgerow.release.cells.table_cells import TableCells
    >>> from hedgerow.release.cells.shape import TableDimension, TableShape
    >>> shape = TableShape((TableDimension("sex", ("f", "m")), TableDimension("region", ("north", "south"))))
    >>> cells = TableCells.counts(shape, [140.0, 2500.0, 130.0, 4400.0], privacy_variance=2.0)
    >>> axes = draw_publication(Publication("People", ConsistentTable(cells), ""))
    >>> [text.get_text() for text in axes.texts]
    ['140 B', '2,500 A', '130 B', '4,400 A']
    """
    layout = _cells_only(publication)
    if kind == "heat":
        return _heat(publication, layout, ax)
    if kind == "bar":
        return _bars(publication, layout, ax)
    raise ParameterError(
        "HG164",
        rule='A table is drawn as "heat" or "bar".',
        finding=f"Found {format_argument(kind)}.",
        remedy='Use kind="heat".',
    )


def _cells_only(publication: Publication) -> Layout:
    cells = ConsistentTable(publication.table.interior)
    return arrange(Publication(publication.title, cells, "", across=publication.across))


def _heat(publication: Publication, layout: Layout, ax: Axes | None) -> Axes:
    from hedgerow.plots.heat_map import HeatMap, draw_heat_map

    values = layout.spread(lambda cells: cells.published)
    printed, errors = publication.formatter(), publication.printed_errors(layout)
    texts = np.array([[printed(float(value)) for value in row] for row in values], dtype=object)
    unreliable = None
    if not publication.table.interior.withheld:
        letters = layout.spread(lambda cells: reliability_letters(cells, publication.bands))
        unreliable = letters == publication.bands.last[0]
        if publication.has_letters:
            texts = texts + " " + letters.astype(object)
        if errors is not None:
            texts = texts + np.array([[f"\n±{error}" for error in row] for row in errors], dtype=object)
    return draw_heat_map(
        HeatMap(
            values,
            texts.astype(str),
            _joined(layout, layout.down),
            _joined(layout, layout.across) if layout.across else ("",),
            unreliable,
            publication.title,
            " / ".join(layout.down),
            " / ".join(layout.across),
            _measured(publication),
            bool(np.min(publication.table.interior.low) < 0.0) and bool((values < 0.0).any()),
        ),
        ax=ax,
    )


def _bars(publication: Publication, layout: Layout, ax: Axes | None) -> Axes:
    from hedgerow.plots.bars import ErrorBar, draw_grouped_bars

    values, withheld = layout.spread(lambda cells: cells.published), publication.table.interior.withheld
    nothing = np.full(values.shape, math.nan)
    low = high = privacy = nothing
    reliable = np.ones(values.shape, dtype=bool)
    if not withheld:
        low = layout.spread(lambda cells: cells.interval(publication.level)[0])
        high = layout.spread(lambda cells: cells.interval(publication.level)[1])
        privacy = layout.spread(lambda cells: cells.privacy_error)
        reliable = (
            layout.spread(lambda cells: reliability_letters(cells, publication.bands)) != publication.bands.last[0]
        )
    panels = _joined(layout, layout.down) if layout.across else ("",)
    labels = _joined(layout, layout.across) if layout.across else _joined(layout, layout.down)
    bars = []
    for place, value in enumerate(values.ravel().tolist()):
        panel, label = divmod(place, len(labels))
        error = None if withheld else float(privacy.ravel()[place])
        ends = float(low.ravel()[place]), float(high.ravel()[place])
        bars.append(ErrorBar(labels[label], value, *ends, error, bool(reliable.ravel()[place]), panels[panel]))
    return draw_grouped_bars(bars, level=publication.level, title=publication.title, unit=_measured(publication), ax=ax)


def _measured(publication: Publication) -> str:
    """Return what the scale shows, and the guarantee where it is not dp: a title may be cut, a scale's name is not."""
    named = publication.guarantee_name
    return publication.heading if named in ("", "dp") else f"{publication.heading}, {named}"


def _joined(layout: Layout, columns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(", ".join(entry.label for entry in head) for head in layout.heads(columns))
