"""The page of a regression: rounded as the terminal rounds, intervals outward, a picture where there is one to draw."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.regression.regression import Regression
from hedgerow.reports.answer_pages import regression_html

RNG = np.random.default_rng(3)
X = RNG.random(20_000)
TABLE = pa.table({"x": X, "y": 2.0 * X + RNG.random(20_000), "z": (RNG.random(20_000) < X) * 1})
BOUNDS = {"x": (0, 1), "y": (0, 3)}


def fitted(epsilon: float) -> Regression:
    found = hg.open(TABLE, relation="replace-one").ols("y", ["x"], bounds=BOUNDS, epsilon=epsilon)
    assert isinstance(found, Regression)
    return found


def test_each_coefficient_has_a_row_and_a_panel() -> None:
    fit = fitted(4.0)
    page = regression_html(fit)
    rows = re.findall(r'scope="row"><bdi>(Intercept|x)</bdi></th>(.*?)</tr>', page, re.S)
    assert [name for name, _ in rows] == ["Intercept", "x"] and page.count("Error bars of 2 coefficients") == 1
    for name, row in rows:
        cells = re.findall(r"<td[^>]*><bdi>(?:<span[^>]*>)?([^<]*)(?:</span>)?</bdi></td>", row)
        assert len(cells) == 6 and cells[-1] == "yes"
        low, high = (float(end.replace("−", "-")) for end in cells[4].split(" to "))
        # Two digits of the error, and never less than the interval.
        place = 10.0 ** -(len(cells[1].split(".")[1]))
        known_low, known_high = fit.conf_int()[name]
        assert known_low - place < low <= known_low and known_high <= high < known_high + place
        assert fit.bse[name] == pytest.approx(float(cells[1]), abs=place)


def test_noise_that_hides_everything_has_no_end_and_no_picture() -> None:
    page = regression_html(fitted(0.001))
    assert "−∞ to ∞" in page and "<td" in page and "NO" in page and "Error bars" not in page


def test_a_logistic_regression_has_the_same_table() -> None:
    fit = hg.open(TABLE, relation="replace-one").logit(
        "z", ["x"], bounds={"x": (0, 1)}, categories={"z": [0, 1]}, epsilon=4.0
    )
    page = regression_html(fit)
    assert "privacy noise" in page and page.count("Error bars of 2 coefficients") == 1
