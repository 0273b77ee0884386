"""Bounds read off noisy counts: how much they hold, how wide they are, and what noise alone does."""

import numpy as np
import pytest

from hedgerow.find import found
from hedgerow.find.found import LogGrid, narrowest_bounds

GRID = LogGrid.of(0)
N, SCALE = 10_000, 20.0  # ε = 0.1 under replace-one
LAWS = {
    "normal": lambda rng: rng.normal(1e6, 1e5, N),
    "lognormal": lambda rng: rng.lognormal(10.0, 1.0, N),
    "two groups": lambda rng: np.where(rng.random(N) < 0.1, -rng.lognormal(5.0, 0.5, N), rng.lognormal(8.0, 0.5, N)),
    "heavy tails": lambda rng: 100.0 * rng.standard_t(3, N),
    "ages": lambda rng: rng.integers(18, 95, N).astype(float),
    "top-coded": lambda rng: np.minimum(rng.lognormal(10.0, 1.0, N), 50_000.0),
}


def counts_of(values, grid=GRID):
    cuts = np.array(grid.query("x").by[0].edges[1:-1])
    return np.bincount(np.searchsorted(cuts, values, side="right"), minlength=grid.cells)


def noisy(values, rng, grid=GRID, scale=SCALE):
    counts = counts_of(values, grid)
    up, down = rng.geometric(-np.expm1(-1.0 / scale), (2, counts.size))
    return counts + up - down


def needed(values):
    """Return the width of the narrowest interval that holds 98 % of the values."""
    ordered, most = np.sort(values), int(np.ceil(0.98 * len(values)))
    return float((ordered[most - 1 :] - ordered[: len(ordered) - most + 1]).min())


def quality(law, runs=20):
    """Return the share of runs whose bounds hold 98 % of the values and are at most 4 times as wide as needed."""
    rng, fit = np.random.default_rng(7), 0
    for _ in range(runs):
        values = law(rng)
        low, high = narrowest_bounds(noisy(values, rng), SCALE, GRID, 0.99)
        held = np.mean((values >= low) & (values <= high))
        fit += bool(held >= 0.98 and high - low <= 4.0 * needed(values))
    return fit / runs


@pytest.mark.parametrize("name", LAWS)
def test_bounds_hold_nearly_all_values_and_are_not_much_wider_than_needed(name):
    assert quality(LAWS[name]) >= 0.95


def test_bounds_that_reach_to_the_outermost_noise_or_cut_off_a_tail_would_be_seen(monkeypatch):
    monkeypatch.setattr(found, "_DRIFT", 0.0)
    monkeypatch.setattr(found, "_ALARM", 1.0)  # noise then looks like records
    assert quality(LAWS["normal"]) < 0.5
    monkeypatch.undo()
    monkeypatch.setattr(found, "_CAUTION", 6.0)
    assert quality(LAWS["heavy tails"]) < 0.5


def test_noise_alone_shows_no_bounds():
    rng = np.random.default_rng(3)
    found = [narrowest_bounds(noisy(np.zeros(0), rng), SCALE, GRID, 0.99) for _ in range(200)]
    assert sum(one is not None for one in found) <= 2


@pytest.mark.parametrize("scale", [0.1, 5.0, 200.0])
def test_all_values_in_one_cell_give_bounds_around_them(scale):
    rng, values = np.random.default_rng(5), np.full(50_000, 7.0)
    low, high = narrowest_bounds(noisy(values, rng, scale=scale), scale, GRID, 0.99)
    assert low < 7.0 <= high and high - low <= 8.0
    low, high = narrowest_bounds(noisy(0.0 * values, rng, scale=scale), scale, GRID, 0.99)
    assert low <= 0.0 <= high and high - low < 1e-7


def test_a_larger_share_gives_wider_bounds():
    values = np.random.default_rng(1).lognormal(10.0, 1.0, 1_000_000)
    counts = counts_of(values)
    widths = [high - low for low, high in (narrowest_bounds(counts, 1.0, GRID, s) for s in (0.5, 0.9, 0.99, 0.999))]
    assert widths == sorted(widths) and widths[0] < widths[-1] / 3
    for share in (0.5, 0.9, 0.99, 0.999):
        low, high = narrowest_bounds(counts, 1.0, GRID, share)
        assert np.mean((values >= low) & (values <= high)) >= share


def test_a_cell_holds_its_far_end():
    for value, (low, high) in ((100.0, (80, 100)), (-100.0, (-100, -80)), (1e15, (8 * 10**14, 10**15))):
        (cell,) = np.flatnonzero(counts_of(np.array([value])))
        assert GRID.bounds(int(cell), int(cell)) == (low, high)
    assert counts_of(np.array([np.nextafter(100.0, 200.0), 1e300, -1e300, 0.0, 1e-12])).sum() == 5


def test_bounds_around_a_public_number_are_narrower():
    rng = np.random.default_rng(2)
    years, grid = rng.integers(1920, 2006, N).astype(float), LogGrid.of(1900)
    low, high = narrowest_bounds(noisy(years, rng, grid), SCALE, grid, 0.99)
    assert 1900 <= low <= 1921 and 2004 <= high <= 2050
    assert grid.bounds(0, grid.cells - 1) == (-(10**15), 10**15)
