"""The privacy curve as drawn: the points that were given, the stated one marked."""

from __future__ import annotations

import math

import numpy as np
import pytest
from matplotlib.figure import Figure

from hedgerow.plots.privacy import draw_epsilon_of_delta


def test_the_curve_goes_through_what_was_given_and_the_mark_through_what_is_stated() -> None:
    axes = draw_epsilon_of_delta([0.0, 0.5, 1.0], [0.1, 1e-3, 1e-6], stated=(1.0, 1e-6))
    curve, mark = axes.get_lines()
    assert np.array_equal(np.asarray(curve.get_xydata()), [[1e-6, 1.0], [1e-3, 0.5], [0.1, 0.0]])
    assert np.array_equal(np.asarray(mark.get_xydata()), [[1e-6, 1.0]])
    assert axes.get_xscale() == "log" and axes.get_ylim()[0] == 0.0 and axes.get_ylim()[1] > 1.0
    assert [text.get_text() for text in axes.texts] == ["stated: ε = 1 at δ = 1e-06"]


def test_a_pure_price_is_a_line_across() -> None:
    axes = draw_epsilon_of_delta([0.0, 0.5, 1.0], [0.3, 0.2, 0.0], stated=(1.0, 0.0))
    curve, line = axes.get_lines()
    assert len(np.asarray(curve.get_xydata())) == 2
    assert list(line.get_ydata()) == [1.0, 1.0]


@pytest.mark.parametrize("stated", [(math.inf, 1e-6), (2.0, 1e-6)])
def test_what_has_no_end_is_left_out(stated: tuple[float, float]) -> None:
    axes = draw_epsilon_of_delta([0.0, math.inf], [0.1, 1e-3], stated=stated)
    assert math.isfinite(axes.get_ylim()[1])
    assert len(axes.get_lines()) == 1 + math.isfinite(stated[0])


def test_given_axes_are_drawn_on_and_given_back() -> None:
    given = Figure().add_subplot()
    assert draw_epsilon_of_delta([0.0, 1.0], [0.1, 1e-3], stated=(1.0, 1e-3), ax=given) is given
