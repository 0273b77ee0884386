"""Releases made by hand: a report reads numbers and public facts, whatever made them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from hedgerow.facts.relation import Relation
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.region import LevelTest, ScoreRegion
from hedgerow.mechanisms.certificate import certify
from hedgerow.mechanisms.mechanism import Composition
from hedgerow.mechanisms.noisy_counts import GaussianCounts, GaussianNoise
from hedgerow.release.result import Release

MECHANISM = Composition((GaussianNoise(2.0, 1.0), GaussianCounts(150.0, 2)))


def normal(centre: float, error: float) -> ScoreRegion:
    """Two standard errors to each side, whatever the level."""
    return ScoreRegion(LevelTest(partial(_ends, centre - 2 * error, centre + 2 * error), "moments", 0.0, 100.0))


def _ends(low: float, high: float, level: float) -> tuple[float, float]:
    return low, high


def estimate(column: str | None, cell: dict[str, Any], value: float, **changes: Any) -> Estimate:
    parts = {"sampling_error": 0.3, "bootstrap_error": 0.0, "privacy_error": 0.4, "reliable": True, "note": None}
    parts |= {"method": "moments", "n_resamples": None, "covers": f"the population mean of {column}; sampling counts"}
    statistic = "count" if column is None else "mean"
    return Estimate(statistic, column, cell, value, _region=normal(value, 0.5), **(parts | changes))


@pytest.fixture(scope="session")
def make_release() -> Callable[..., Release]:
    def make(*estimates: Estimate, certified: bool = True, source: str = "survey.csv", **facts: Any) -> Release:
        listed = estimates or (
            estimate("age", {}, 41.2),
            estimate("age", {"sex": 0}, 40.1),
            estimate("age", {"sex": 1}, 50.0, reliable=False, note="The noise swamps this cell.", sampling_error=None),
        )
        certificate = certify(MECHANISM, Relation.REPLACE_ONE, unit="row", delta=1e-6) if certified else None
        known: dict[str, Any] = {"relation": "replace-one", "unit": "row", "target": "population", "n": 20_000}
        known |= {"missing": "drop", "reasons": {"moments": "one vector gives both"}}
        return Release(tuple(listed), certificate=certificate, source=source, **(known | facts))

    return make


@pytest.fixture(scope="session")
def make_estimate() -> Callable[..., Estimate]:
    return estimate
