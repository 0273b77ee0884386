"""Error bars: what is drawn is what was given, whatever names and numbers come."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree
from pathlib import Path

import matplotlib.image
import numpy as np
import pyarrow
import pyarrow as pa
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import hedgerow as hg
from hedgerow.plots.bars import ErrorBar, draw_error_bars
from hedgerow.plots.curves import DrawnNumbers, draw_lorenz
from hedgerow.plots.figure import ON_DARK, figure_bytes

AGE = ErrorBar("sex=0", 41.9, 41.5, 42.3, 0.1, True, "mean of age")
INCOME = ErrorBar("sex=0", 34_000.0, 33_000.0, 35_000.0, 400.0, True, "mean of income")
LOST = ErrorBar("sex=9", 50.0, 0.0, 100.0, None, False, "mean of age")


def spans(axes: Axes) -> list[tuple[float, float]]:
    """Ends of the rectangles, in the order drawn."""
    found = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    return [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in found]


def panels(axes: Axes) -> list[Axes]:
    figure = axes.figure
    assert isinstance(figure, Figure)
    return figure.axes


def test_the_whole_interval_and_inside_it_the_privacy_part() -> None:
    axes = draw_error_bars([AGE], level=0.95)
    whole, privacy = spans(axes)
    assert whole == pytest.approx((41.5, 42.3))
    assert privacy == pytest.approx((41.9 - 1.959964 * 0.1, 41.9 + 1.959964 * 0.1))
    (line,) = axes.lines
    assert np.ravel(line.get_xdata()) == pytest.approx([41.9])


def test_the_privacy_part_never_leaves_the_interval() -> None:
    whole, privacy = spans(draw_error_bars([ErrorBar("", 1.0, 0.0, 2.0, 5.0, True)], level=0.95))
    assert whole == privacy == (0.0, 2.0)


def test_different_units_have_axes_of_their_own() -> None:
    axes = draw_error_bars([AGE, INCOME, LOST], level=0.95)
    first, second = panels(axes)
    assert axes is first
    assert [panel.get_title(loc="left") for panel in (first, second)] == ["mean of age", "mean of income"]
    assert first.get_xlim()[1] < 1_000 < second.get_xlim()[0]
    assert [label.get_text() for label in first.get_yticklabels()] == ["sex=0", "sex=9"]


def test_an_unreliable_bar_is_hollow_and_hatched() -> None:
    axes = draw_error_bars([AGE, LOST], level=0.95)
    hatches = [patch.get_hatch() for patch in axes.patches]
    assert hatches == [None, None, "////"]
    assert axes.lines[1].get_markerfacecolor() == "white"


def test_given_axes_are_drawn_on_and_given_back() -> None:
    given = Figure().add_subplot()
    assert draw_error_bars([AGE, INCOME], level=0.95, ax=given) is given
    assert [label.get_text() for label in given.get_yticklabels()] == ["mean of age sex=0", "mean of income sex=0"]


@pytest.mark.parametrize(
    "bar",
    [
        ErrorBar("exact", 20_000.0, 20_000.0, 20_000.0, 0.0, True, "count"),
        ErrorBar("open", 5.0, -math.inf, math.inf, 1.0, True, "sum of x"),
        ErrorBar("zero", 0.0, 0.0, 0.0, 0.0, True, "sum of x"),
        ErrorBar("tiny", 1e-9, 0.9e-9, 1.1e-9, 1e-11, True, "mean of x"),
        ErrorBar("huge", -3e15, -4e15, -2e15, 1e14, True, "sum of x"),
        ErrorBar("$x_", 1.0, 0.0, 2.0, 0.1, True, "mean of $\\frac{1}$"),
        ErrorBar("a\nb\x1b[2J<script>" + "x" * 200, 1.0, 0.0, 2.0, 0.1, True, '& < > "'),
    ],
    ids=lambda bar: bar.label[:5].split("\n")[0],
)
def test_any_number_and_any_name_can_be_drawn(bar: ErrorBar, tmp_path: Path) -> None:
    paths = [tmp_path / "bars.png", tmp_path / "bars.svg"]
    for path in paths:
        path.write_bytes(figure_bytes(draw_error_bars([bar, AGE], level=0.9), path.suffix))
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    svg = paths[1].read_text(encoding="utf-8")
    xml.etree.ElementTree.fromstring(svg)
    assert "<script" not in svg and "\x1b" not in svg


def test_the_same_numbers_make_the_same_picture_but_others_do_not(tmp_path: Path) -> None:
    def saved(name: str, *bars: ErrorBar) -> bytes:
        (tmp_path / name).write_bytes(figure_bytes(draw_error_bars(bars, level=0.95), Path(name).suffix))
        return (tmp_path / name).read_bytes()

    assert saved("a.svg", AGE) == saved("b.svg", AGE) != saved("c.svg", INCOME)


def test_no_more_rows_are_drawn_than_can_be_read() -> None:
    bars = [ErrorBar(str(i), float(i), i - 1.0, i + 1.0, 0.2, True, "count") for i in range(1000)]
    axes = draw_error_bars(bars, level=0.95)
    assert len(axes.get_yticklabels()) == 300
    assert any("300 of 1,000" in text.get_text() for text in axes.figure.texts)


def test_nothing_at_all_can_be_drawn() -> None:
    assert spans(draw_error_bars([], level=0.95)) == []


def test_a_release_draws_itself() -> None:
    table = pyarrow.table({"age": [30.0, 50.0] * 300, "sex": [0, 1] * 300})
    release = hg.open(table, relation="replace-one").release(
        [hg.mean("age", bounds=(0, 100)), hg.count()], by={"sex": [0, 1]}, epsilon=1.0
    )
    first, second = panels(release.plot())
    assert (first.get_title(loc="left"), second.get_title(loc="left")) == ("mean of age", "count")
    interval = release[0].confidence_interval()
    assert spans(first)[0] == pytest.approx((interval.low, interval.high))
    given = Figure().add_subplot()
    assert release.plot(given, level=0.5) is given


class TestPanels:
    def test_nine_deciles_stand_in_one_panel_by_their_numbers(self) -> None:
        data = pyarrow.table({"age": [float(place % 90) for place in range(2_000)], "sex": [0, 1] * 1_000})
        survey = hg.open(data, relation="replace-one")
        asked = hg.quantile("age", [place / 10 for place in range(1, 10)], bounds=(0, 100), step=1)
        (panel,) = panels(survey.release(asked, epsilon=2.0).plot())
        assert panel.get_title(loc="left") == "quantile of age"
        assert [label.get_text() for label in panel.get_yticklabels()] == [f"0.{place}" for place in range(1, 10)]
        (panel,) = panels(survey.release(asked, by={"sex": [0, 1]}, epsilon=2.0).plot())
        assert [label.get_text() for label in panel.get_yticklabels()][:2] == ["0.1, sex=0", "0.1, sex=1"]

    def test_a_panel_about_zero_holds_zero_and_a_line_there(self) -> None:
        bars = [ErrorBar("x", 5.0, 4.0, 6.0, 0.1, True, "coefficients", about_zero=True)]
        axes = draw_error_bars(bars, level=0.95)
        low, high = axes.get_xlim()
        assert low < 0.0 < high
        assert [0.0, 0.0] in [list(line.get_xdata()) for line in axes.lines]
        other = draw_error_bars([ErrorBar("x", 5.0, 4.0, 6.0, 0.1, True, "mean")], level=0.95)
        assert other.get_xlim()[0] > 0.0

    def test_all_axes_write_millions_alike(self) -> None:
        axes = draw_error_bars([ErrorBar("all", 25e6, 20e6, 30e6, 1e6, True, "sum")], level=0.95)
        figure = axes.figure
        figure.canvas.draw()  # type: ignore[union-attr]  # a figure
        labels = [label.get_text() for label in axes.get_xticklabels()]
        assert all(label.endswith(" M") and "e" not in label for label in labels) and "25.0 M" in labels


def test_an_svg_file_takes_other_colours_on_a_dark_page(tmp_path: Path) -> None:
    axes = draw_error_bars([ErrorBar("all", 5.0, 4.0, 6.0, 0.1, True, "mean")], level=0.95)
    (tmp_path / "bars.svg").write_bytes(figure_bytes(axes, ".svg"))
    text = (tmp_path / "bars.svg").read_text(encoding="utf-8")
    assert "@media (prefers-color-scheme: dark)" in text
    used = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", text.partition("</style>")[2]))
    assert used <= set(ON_DARK), "a colour has no other for dark pages"
    (tmp_path / "bars.pdf").write_bytes(figure_bytes(axes, ".pdf"))
    assert (tmp_path / "bars.pdf").read_bytes().startswith(b"%PDF")


def test_a_picture_is_written_in_the_colours_of_a_dark_page(tmp_path: Path) -> None:
    survey = hg.open(pa.table({"age": [30.0, 50.0] * 500, "sex": [0, 1] * 500}), relation="replace-one")
    release = survey.mean("age", bounds=(0, 100), by={"sex": [0, 1]}, epsilon=1.0)
    release.write(tmp_path / "light.png")
    release.write(tmp_path / "dark.png", dark=True)
    corners = [matplotlib.image.imread(tmp_path / f"{name}.png")[2, 2, :3].max() for name in ("light", "dark")]
    assert corners[0] == 1.0 and corners[1] < 0.15


def test_a_thin_band_of_a_lorenz_curve_is_enlarged() -> None:
    places = np.linspace(0.1, 0.9, 9)
    for width, windows in ((0.002, 1), (0.05, 0)):
        curve = DrawnNumbers(places, places**2, places**2 - width, places**2 + width, "income", 0.95)
        assert len(draw_lorenz(curve).child_axes) == windows


def test_a_coefficient_whose_interval_is_too_narrow_to_see_is_said_in_words() -> None:
    bars = [
        ErrorBar("age", -24.0, -67.0, 20.0, 19.0, True, "coefficients", True),
        ErrorBar("sex", -5_000.0, -6_000.0, -4_000.0, 300.0, True, "coefficients", True),
    ]
    axes = draw_error_bars(bars, level=0.95)
    assert [text.get_text() for text in axes.texts] == ["−24 (−67 to 20)"]
