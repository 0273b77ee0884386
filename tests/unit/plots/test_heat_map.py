"""Heat maps and grouped bars: what is drawn is what was given, on a scale that a reader can trust."""

from __future__ import annotations

import math
import xml.etree.ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle

from hedgerow.errors import ParameterError
from hedgerow.plots.bars import ErrorBar, draw_grouped_bars
from hedgerow.plots.figure import as_svg
from hedgerow.plots.heat_map import HeatMap, _luminance, _shades, draw_heat_map
from hedgerow.release.cells.margins import ConsistentTable, consistent_table
from hedgerow.release.cells.shape import TableDimension, TableShape
from hedgerow.release.cells.table_cells import TableCells
from hedgerow.release.publication.formats.pictures import draw_publication
from hedgerow.release.publication.publication import Publication

SHAPE = TableShape((TableDimension("sex", ("f", "m")), TableDimension("region", ("north", "south", "west"))))
VALUES = np.array([140.0, 2500.0, -3.0, 130.0, 4400.0, 9.0])


def publication(**options: object) -> Publication:
    cells = TableCells.counts(SHAPE, VALUES, privacy_variance=4.0)
    return Publication("People", consistent_table(cells), "", **{"unit": "persons", **options})


def lightness(shade: tuple[float, float, float]) -> float:
    """CIE L*."""
    luminance = _luminance(shade)
    return 116.0 * luminance ** (1 / 3) - 16.0 if luminance > 0.008856 else 903.3 * luminance


@pytest.mark.parametrize(("hue", "chroma"), [(255.0, 36.0), (60.0, 52.0)])
def test_shades_fall_evenly_in_lightness(hue: float, chroma: float) -> None:
    steps = np.diff([lightness(shade) for shade in _shades(hue, chroma)])
    assert steps.max() < 0.0
    # Even to a fifth: where sRGB cannot hold a shade it is cut, and that must stay small.
    assert steps.min() / steps.max() < 1.2


def test_the_scale_starts_at_zero_and_every_cell_has_its_number() -> None:
    axes = draw_publication(publication())
    (picture,) = (child for child in axes.get_children() if isinstance(child, AxesImage))
    assert picture.get_clim() == (0.0, 4400.0)
    assert np.array_equal(np.asarray(picture.get_array()), VALUES.reshape(2, 3))
    assert [text.get_text() for text in axes.texts] == ["140 B", "2,500 A", "−3 F", "130 B", "4,400 A", "9 F"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["f", "m"]
    hatched = [patch for patch in axes.patches if isinstance(patch, Rectangle) and patch.get_hatch()]
    assert len(hatched) == 2


def test_what_is_said_below_the_map_is_true_of_it() -> None:
    figure = draw_publication(publication()).figure
    assert isinstance(figure, Figure)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["below zero: noise", "not reliable"]
    calm = TableCells.counts(SHAPE, np.abs(VALUES) + 1000, privacy_variance=4.0)
    other = draw_publication(Publication("People", ConsistentTable(calm), "")).figure
    assert isinstance(other, Figure)
    assert not other.legends


def test_numbers_of_both_signs_have_a_scale_with_two_sides() -> None:
    cells = TableCells.totals(SHAPE, VALUES, privacy_variance=4.0)
    axes = draw_publication(Publication("Net worth", ConsistentTable(cells), ""))
    (picture,) = (child for child in axes.get_children() if isinstance(child, AxesImage))
    assert picture.get_clim() == (-4400.0, 4400.0)


@pytest.mark.parametrize("value", np.linspace(0.0, 1.0, 41).tolist())
def test_numbers_stand_out_from_their_shade(value: float) -> None:
    """Contrast of 4.5 or more (WCAG AA)."""
    heat = HeatMap(np.array([[value, 1.0]]), np.array([["1", "2"]]), ("a",), ("b", "c"))
    axes = draw_heat_map(heat)
    (picture,) = (child for child in axes.get_children() if isinstance(child, AxesImage))
    behind = _luminance(picture.cmap(value)[:3])
    ink = {"#ffffff": 1.0, "#000000": 0.0}[str(axes.texts[0].get_color())]
    assert (max(ink, behind) + 0.05) / (min(ink, behind) + 0.05) >= 4.5


def test_errors_can_stand_in_the_cells() -> None:
    axes = draw_publication(publication(errors=True, letters=False))
    assert "±2.0" in {text.get_text() for text in axes.texts}


def test_errors_that_are_withheld_are_not_drawn() -> None:
    cells = TableCells.without_errors(SHAPE, VALUES, counted=True)
    shown = Publication("People", ConsistentTable(cells), "")
    assert [text.get_text() for text in draw_publication(shown).texts][:2] == ["140", "2,500"]
    axes = draw_publication(shown, kind="bar")
    assert all(line.get_linewidth() != 3.0 for line in axes.lines)
    assert len(axes.lines) == 1  # the line at zero


def test_bars_are_grouped_and_have_their_intervals() -> None:
    axes = draw_publication(publication(), kind="bar")
    low, high = publication().table.interior.interval(0.95)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["f", "m"]
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert [bar.get_width() for bar in bars] == pytest.approx(VALUES)
    whiskers = [
        line.get_xdata() for line in axes.lines if line.get_linewidth() == 1.0 and len(set(line.get_xdata())) == 2
    ]
    assert np.array(whiskers) == pytest.approx(np.array([low, high]).T)
    thick = [line.get_xdata() for line in axes.lines if line.get_linewidth() == 3.0]
    assert thick[0] == pytest.approx([140 - 1.959964 * 2, 140 + 1.959964 * 2])
    assert sum(bool(bar.get_hatch()) for bar in bars) == 2


def test_more_series_than_colours_are_told_apart_by_their_names() -> None:
    bars = [ErrorBar(f"s{place}", 1.0 + place, 0.5, 12.0, 0.1, True, "g") for place in range(9)]
    axes = draw_grouped_bars(bars, level=0.9)
    assert [label.get_text() for label in axes.get_yticklabels()][:2] == ["g, s0", "g, s1"]
    assert len({bar.get_facecolor() for bar in axes.patches}) == 1


def test_infinite_and_missing_ends_are_not_drawn() -> None:
    bars = [ErrorBar("a", 1.0, -math.inf, math.inf, None, True), ErrorBar("b", 2.0, math.nan, math.nan, None, True)]
    assert len(draw_grouped_bars(bars, level=0.95).lines) == 1


@pytest.mark.parametrize("kind", ["heat", "bar"])
def test_hostile_names_are_drawn_as_they_are(kind: str) -> None:
    shape = TableShape(
        (TableDimension("$\\frac{1}{0}$", ("$x$", "<script>")), TableDimension("b", ("a\x07b\u202e", "y" * 200)))
    )
    cells = TableCells.counts(shape, [1.0, 2.0, 3.0, 4.0], privacy_variance=4.0)
    svg = as_svg(draw_publication(Publication("$t$", ConsistentTable(cells), ""), kind=kind))
    assert "<script>" not in svg
    xml.etree.ElementTree.fromstring(svg)


@pytest.mark.parametrize("kind", ["heat", "bar"])
def test_the_same_table_draws_the_same_picture(kind: str) -> None:
    first, second = (as_svg(draw_publication(publication(), kind=kind)) for _ in range(2))
    assert first == second


def test_axes_of_the_callers_own_are_drawn_on() -> None:
    figure = Figure()
    axes = figure.add_subplot()
    assert draw_publication(publication(), ax=axes) is axes
    assert axes.get_title(loc="left") == "People"
    assert len(figure.axes) == 1


@pytest.mark.parametrize(("kind", "side"), [("heat", 101), ("bar", 18)])
def test_what_a_picture_cannot_show_is_refused(kind: str, side: int) -> None:
    shape = TableShape((TableDimension("a", tuple(range(side))), TableDimension("b", tuple(range(side)))))
    cells = TableCells.counts(shape, np.ones(side * side), privacy_variance=4.0)
    with pytest.raises(ParameterError, match="HG164"):
        draw_publication(Publication("", ConsistentTable(cells), ""), kind=kind)


def test_another_kind_is_refused() -> None:
    with pytest.raises(ParameterError, match="HG164"):
        draw_publication(publication(), kind="pie")
