"""A bootstrap interval about an impossible estimate: moved to what is possible, never shrunk to a point."""

from dataclasses import replace

import numpy as np
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


def test_combinations_of_cells_are_those_of_their_replicates() -> None:
    """2a + 1 and 3b − a: what both sides share is counted once, and noise of different cells is independent."""
    rng, weights = np.random.default_rng(4), object()
    estimates = rng.normal(100.0, 20.0, (2, 30))
    a, b = (
        replace(region(0.0), replicates=Replicates.of(list(row), noise_variance=variance, weights="multinomial"))
        for row, variance in zip(estimates, (9.0, 25.0), strict=True)
    )
    a, b = (replace(cell, drawn=weights, margin=margin) for cell, margin in ((a, 0.5), (b, 0.25)))
    left, right = a.scaled(2.0, 1.0), b.scaled(3.0, 0.0)
    minus = a.scaled(-1.0, 0.0)
    both = right.plus(minus)
    assert both is not None
    together = left.plus(both)
    assert together is not None
    assert together.replicates.mean == pytest.approx((estimates[0] + 3.0 * estimates[1]).mean() + 1.0)
    assert together.replicates.spread == pytest.approx((estimates[0] + 3.0 * estimates[1]).var(ddof=1))
    assert together.replicates.noise_variance == pytest.approx(9.0 + 9.0 * 25.0)
    assert (together.low, together.high, together.margin) == pytest.approx((1.0, 4001.0, 0.5 + 3.0 * 0.25))
    nothing = a.plus(minus)
    assert nothing is not None and (nothing.replicates.spread, nothing.replicates.noise_variance) == (0.0, 0.0)
    for stranger in (replace(b, drawn=None), replace(b, drawn=object())):
        assert a.plus(stranger) is None and stranger.plus(a) is None


def test_a_region_is_printed_without_the_cells_that_it_was_computed_from() -> None:
    replicates = Replicates.of([40.0, 41.0, 39.0], noise_variance=0.25, weights="multinomial")
    cell = replace(region(0.0), replicates=replicates, drawn=object())
    for made in (cell, cell.moved(2.0, 1.0, None), cell.scaled(2.0, 1.0)):
        assert repr(made).count("ReplicateRegion(") == 1
        assert "object at" not in repr(made)
