"""The demonstration's true values are those of the laws that its survey is drawn from."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from hedgerow.demo import RECORDS, REGIONS, DemoSurvey, draw_survey, true_value

N = 400_000
CELLS: list[Mapping[str, object]] = [{}, {"sex": 0}, {"sex": 1}, {"region": "North"}, {"region": "Centre", "sex": 1}]
# Bounds that clamp nothing, some, and much.
ASKED = [
    ("mean", "age", (18, 95)),
    ("mean", "age", (30, 60)),
    ("mean", "income", (0, 200_000)),
    ("mean", "income", (20_000, 40_000)),
    ("proportion", "employed", None),
    ("mean", "household", (1, 8)),
]


@pytest.fixture(scope="module")
def large() -> DemoSurvey:
    return draw_survey(N, seed=77)


def in_cell(survey: DemoSurvey, cell: Mapping[str, object]) -> NDArray[np.bool_]:
    inside = np.ones(len(survey.age), dtype=bool)
    for column, value in cell.items():
        inside &= getattr(survey, column) == value
    return inside


def score(
    survey: DemoSurvey, cell: Mapping[str, object], statistic: str, column: str, bounds: tuple[float, float] | None
) -> float:
    """Return how many standard errors the survey lies from the true value."""
    values = getattr(survey, column)[in_cell(survey, cell)].astype(float)
    values = np.clip(values[~np.isnan(values)], *(bounds or (-math.inf, math.inf)))
    truth = true_value(statistic, column, cell, bounds=bounds)
    return float((values.mean() - truth) / (values.std() / math.sqrt(len(values))))


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_400_000_records_agree_with_the_true_values(large: DemoSurvey, cell: Mapping[str, object]) -> None:
    # 4.9 standard errors: p = 1e-6, two-sided.
    scores = [score(large, cell, *asked) for asked in ASKED]
    assert max(map(abs, scores)) < 4.9, scores
    share, expected = in_cell(large, cell).mean(), true_value("count", None, cell) / RECORDS
    assert abs(share - expected) < 4.9 * math.sqrt(max(expected * (1 - expected), 1e-12) / N) + 1e-12


def test_a_truth_without_its_clamp_is_found_out(large: DemoSurvey) -> None:
    clamped = np.clip(large.income[~np.isnan(large.income)], 20_000, 40_000)
    unclamped_truth = true_value("mean", "income", {}, bounds=(0, math.inf))
    assert abs(clamped.mean() - unclamped_truth) / (clamped.std() / math.sqrt(len(clamped))) > 7.2


def test_the_seed_makes_the_survey_and_the_missing_share_is_as_said() -> None:
    assert draw_survey().to_csv() == draw_survey().to_csv() != draw_survey(seed=4).to_csv()
    drawn = draw_survey()
    assert set(np.unique(drawn.region)) == set(REGIONS) and abs(np.isnan(drawn.income).mean() - 0.03) < 0.006
