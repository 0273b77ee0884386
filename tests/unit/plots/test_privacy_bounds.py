"""Prices against attacks: what is drawn is what was given, and the picture fetches nothing."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree

import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from hedgerow.plots.figure import as_svg
from hedgerow.plots.privacy import PrivacyBound, draw_privacy_bounds, draw_privacy_curve

KEPT, BROKEN = PrivacyBound("count", 0.9, 1.0), PrivacyBound("half $noise$", 5.0, 3.0)


def test_a_bar_ends_at_the_claim_and_a_mark_at_the_attack() -> None:
    axes = draw_privacy_bounds([KEPT, BROKEN])
    assert [patch.get_width() for patch in axes.patches] == [1.0, 3.0]
    marks = [line for line in axes.get_lines() if len(line.get_xdata()) == 1]
    assert [float(line.get_xdata()[0]) for line in marks] == [0.9, 5.0]


def test_a_crossed_claim_is_told_by_colour_and_by_shape() -> None:
    marks = [line for line in draw_privacy_bounds([KEPT, BROKEN]).get_lines() if len(line.get_xdata()) == 1]
    assert KEPT.crossed is False and BROKEN.crossed is True
    assert marks[0].get_marker() != marks[1].get_marker()
    assert to_hex(marks[0].get_color()) != to_hex(marks[1].get_color())


@pytest.mark.parametrize("upper", [math.inf, 0.0, 1e-300])
def test_odd_numbers_are_drawn_all_the_same(upper: float) -> None:
    assert as_svg(draw_privacy_bounds([PrivacyBound("odd", 0.0, upper)])).startswith("<svg")
    assert as_svg(draw_privacy_bounds([])).startswith("<svg")


def test_curves_hold_the_numbers_given_and_zero_is_no_point() -> None:
    axes = draw_privacy_curve([0.0, 1.0, 2.0], [0.4, 0.1, 0.0], [0.3, 0.0, 0.0], title="t")
    upper, lower = (line.get_ydata().tolist() for line in axes.get_lines())
    assert upper[:2] == [0.4, 0.1] and math.isnan(upper[2]) and math.isnan(lower[1])


def test_axes_of_the_caller_are_used() -> None:
    own = Figure().add_subplot()
    assert draw_privacy_bounds([KEPT], ax=own) is own and draw_privacy_curve([0, 1], [1, 0.1], [0.1, 0], ax=own) is own


def test_the_picture_is_one_element_that_parses_and_fetches_nothing() -> None:
    svg = as_svg(draw_privacy_bounds([PrivacyBound("<script>&", 1.0, 2.0)], title="<b>"))
    xml.etree.ElementTree.fromstring(svg)
    assert "<script" not in svg and not re.search(r'(?:href|src)="(?!#)', svg) and "@import" not in svg
