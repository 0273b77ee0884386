"""What is called reliable: never a number whose interval is as wide as everything that is possible."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.testing.simulated import release

ASKED = [hg.mean("x", bounds=(0, 10_000)), hg.proportion("y", value=1), hg.variance("x", bounds=(0, 10_000))]
POSSIBLE = {"mean": 10_000.0, "proportion": 1.0, "variance": 25e6}


def drawn(relation: str, epsilon: float, **options: Any) -> list[Any]:
    """Return numbers of twelve cells of few records, of which most hold nothing but 0."""
    rng = np.random.default_rng(3)
    x = np.where(rng.random(400) < 0.02, 5000.0, 0.0)
    table = pa.table({"x": x, "y": rng.integers(0, 2, 400), "g": rng.integers(0, 12, 400)})
    survey, by = hg.open(table, relation=relation), {"g": list(range(12))}
    return [one for asked in ASKED for one in release(survey, [asked], by=by, epsilon=epsilon, rng=5, **options)]


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("options", [{}, {"delta": 0.0}, {"estimator": "moments"}], ids=str)
def test_an_interval_as_wide_as_what_is_possible_is_not_reliable(relation: str, options: dict[str, Any]) -> None:
    wide = 0
    for epsilon in (0.3, 0.5, 0.7):
        for one in drawn(relation, epsilon, **options):
            interval = one.confidence_interval()
            possible = POSSIBLE[one.statistic]
            if one.reliable:
                assert 2.0 * 1.96 * one.standard_error < possible
                assert interval.high - interval.low < 0.95 * possible
            elif one.standard_error is not None and not math.isnan(one.standard_error):
                wide += "as wide as everything that is possible" in one.note
    # Without the rule these were called reliable.
    assert wide >= 2


def test_numbers_that_say_something_stay_reliable() -> None:
    rng = np.random.default_rng(3)
    table = pa.table({"x": rng.uniform(0.0, 10_000.0, 4000), "y": rng.integers(0, 2, 4000)})
    for one in release(hg.open(table, relation="add-remove"), ASKED, epsilon=1.0, rng=1):
        assert one.reliable and one.note is None
