"""A bootstrap interval about an impossible estimate: moved to what is possible, never shrunk to a point."""

import pytest

from hedgerow.inference.bootstrap.replicate_intervals import INTERVALS
from hedgerow.inference.bootstrap.replicate_summary import Replicates
from hedgerow.inference.region import ReplicateRegion


def region(mean: float, *, census: bool = False) -> ReplicateRegion:
    replicates = Replicates(mean=mean, spread=400.0, n_resamples=20, noise_variance=100.0, weights="multinomial")
    return ReplicateRegion(replicates, 0.0, 1000.0, True, "calibrated", census)


@pytest.mark.parametrize("method", INTERVALS)
def test_an_impossible_estimate_is_read_as_the_nearest_possible_one(method: str) -> None:
    low, high = region(-500.0).ends(0.95, method)
    assert (low, high) == pytest.approx(region(0.0).ends(0.95, method))
    assert low == 0.0 < high
    low, high = region(1500.0).ends(0.95, method)
    assert (low, high) == pytest.approx(region(1000.0).ends(0.95, method))
    assert low < 1000.0 == high


@pytest.mark.parametrize("method", INTERVALS)
def test_a_possible_estimate_keeps_its_interval(method: str) -> None:
    one = region(500.0)
    assert one.ends(0.95, method) == pytest.approx(INTERVALS[method](one.replicates, level=0.95), rel=1e-15)


def test_the_interval_of_a_census_is_moved_too() -> None:
    assert region(-500.0, census=True).ends(0.95, "student")[1] > 0.0
