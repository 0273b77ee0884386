"""Late entry: the estimate of constant rates, the risk set, slopes, and Greenwood's variance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from hedgerow.inference.survival.cumulative_incidence import CumulativeIncidence
from hedgerow.inference.survival.even_withdrawal import EvenLifeTables, _left, _rate
from hedgerow.inference.survival.late_entry import LateLifeTables

Floats = NDArray[np.float64]
CUTS = (51.0, 52.0, 54.0, 55.0)


def late(counts: Floats, *, noise_sd: float = 0.0, causes: int = 1) -> LateLifeTables:
    return LateLifeTables(counts, CUTS, noise_sd, "laplace", False, 0.5, causes, 50.0)


def expected(rates: tuple[float, ...], leaving: float, from_start: float, per_time: Floats) -> Floats:
    """The expected counts of causes at constant rates; entries at a constant number per time in each interval."""
    total, edges = sum(rates) + leaving, np.array([50.0, *CUTS])
    widths, present, gone = np.diff(edges), from_start, []
    for width, entries in zip(widths, per_time, strict=True):
        stay = math.exp(-total * width)
        after = present * stay + entries * (1.0 - stay) / total
        gone.append(present + entries * width - after)
        present = after
    exits = [np.array(gone) * rate / total for rate in (*rates, leaving)]
    return np.concatenate([*exits, [present], [from_start], per_time * widths])[None]


def test_constant_rates_are_estimated_up_to_terms_of_fourth_order() -> None:
    rates = (0.1, 0.05)
    counts = expected(rates, 0.1, 300.0, np.full(4, 200.0))
    life = late(counts, causes=2)
    times = np.array(CUTS) - 50.0
    assert life.survival[0] == pytest.approx(np.exp(-sum(rates) * times), abs=5e-4)
    for cause, rate in enumerate(rates):
        truth = rate / sum(rates) * -np.expm1(-sum(rates) * times)
        assert CumulativeIncidence(life).shares[cause, 0] == pytest.approx(truth, abs=5e-4)
    weights, start = life.weights_of_mean(55.0)
    mean = -math.expm1(-sum(rates) * 5.0) / sum(rates)
    assert life.combined(weights, start=start).value[0] == pytest.approx(mean, abs=1e-3)
    assert life.quantile(0.6, 0, 0.95).value == pytest.approx(50.0 - math.log(0.6) / sum(rates), abs=5e-3)
    # Nobody is there from the start.
    empty = late(expected((0.1,), 0.1, 0.0, np.full(4, 200.0)))
    assert empty.survival[0] == pytest.approx(np.exp(-0.1 * times), abs=1e-3)
    # The sabotage: all are taken to be there from the start.
    ignored = EvenLifeTables(counts[:, :-5], CUTS, 0.0, "laplace", False, 0.5, 2, 50.0)
    assert np.all(np.abs(ignored.survival[0] - np.exp(-sum(rates) * times)) > 0.01)


def test_who_enters_early_in_an_interval_is_at_risk_for_longer() -> None:
    """Entries that become fewer at a constant rate: their slope is followed."""
    total, edges, n = 0.3, np.array([50.0, *CUTS]), 200.0
    fine = np.linspace(50.0, 55.0, 50_001)
    entries, present, at_risk = n * (55.5 - fine[:-1]) / 5.0, 100.0, []
    for entering in entries * 1e-4:
        at_risk.append(present)
        present += entering - total * present * 1e-4
    places = np.searchsorted(edges, fine[:-1] + 1e-9) - 1
    counted = [np.bincount(places, weights=values) * 1e-4 for values in (0.2 * np.array(at_risk), entries)]
    life = late(np.concatenate([counted[0], counted[0] / 2.0, [present], [100.0], counted[1]])[None])
    assert life.survival[0] == pytest.approx(np.exp(-0.2 * (np.array(CUTS) - 50.0)), abs=6e-4)


def test_nobody_late_is_the_estimate_without_late_entry() -> None:
    exits = np.array(
        [[20.0, 15.0, 10.0, 5.0, 10.0, 8.0, 9.0, 3.0, 20.0], [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 56.0]]
    )
    both = late(np.hstack([exits, [[100.0, 0.0, 0.0, 0.0, 0.0]] * 2]))
    alone = EvenLifeTables(exits, CUTS, 0.0, "laplace", False, 0.5, 1, 50.0)
    assert both.survival == pytest.approx(alone.survival, abs=1e-9)
    for place in range(4):
        read, same = both.read(place), alone.read(place)
        assert read.sampling_error == pytest.approx(same.sampling_error, rel=1e-3)


@pytest.mark.parametrize("causes", [1, 2])
def test_slopes_are_derivatives(causes: int) -> None:
    """Also where noise makes events negative."""
    rng, step = np.random.default_rng(3), 1e-5
    counts = np.concatenate([rng.uniform(5.0, 30.0, (causes + 1) * 4), [200.0, 150.0], rng.uniform(20.0, 80.0, 4)])[
        None
    ]
    counts[0, 0] = -3.0
    life = late(counts, causes=causes)
    for place in range(counts.shape[1]):
        up, down = (late(counts + sign * np.eye(counts.shape[1])[place], causes=causes) for sign in (step, -step))
        steps = (np.cumsum(up._steps(), axis=1) - np.cumsum(down._steps(), axis=1)) / (2.0 * step)
        assert steps == pytest.approx(life.slopes[:, :, place], abs=1e-8)
        hazards = (up.hazards[0] - down.hazards[0]) / (2.0 * step)
        assert hazards == pytest.approx(life.hazards[1][..., place], abs=1e-8)
        exposed = (up.exposed - down.exposed) / (2.0 * step)
        assert exposed == pytest.approx(life.slopes_of_exposed[..., place], abs=1e-6)


def test_entries_and_exits_are_made_to_agree() -> None:
    """R_j follows from the counts before and after: its noise is less than from either side alone."""
    counts = expected((0.1,), 0.1, 300.0, np.full(4, 200.0))
    life = late(counts, noise_sd=1.0)
    noise = life.noise(life.began)
    before = 1.0 + 3.0 * np.arange(5)
    after = 1.0 + 3.0 * np.arange(5)[::-1]
    assert noise == pytest.approx(1.0 / (1.0 / before + 1.0 / after), rel=1e-9)
    shifted = late(counts + np.eye(14)[0] * 14.0)  # one exit more of each class, and one entry less
    assert shifted.at_risk[0, 0] == pytest.approx(life.at_risk[0, 0] + 1.0)


@pytest.mark.parametrize("entered", [0.3, 1.0, 20.0])
def test_no_more_than_98_in_100_leave_where_some_enter(entered: float) -> None:
    """Noise makes more leave than were there: the rate is that of y = .98, and grows no further."""
    start = np.array([10.0, 10.0])
    left = _left(start, np.array([-3.0, -30.0]), np.full(2, entered))
    assert left == pytest.approx([0.98, 0.98])
    assert _rate(start, np.array([-3.0, -30.0]), np.full(2, entered)) == pytest.approx(-math.log(0.02) / 9.8)
    some = (1.0 - entered / 60.0) * (1.0 + (entered / 2.0 - 8.0) / 10.0)
    assert _left(start, np.array([8.0, 8.0]), np.full(2, entered)) == pytest.approx(min(some, 0.98))


def test_where_nobody_enters_all_may_leave_but_one() -> None:
    start, end, nobody = np.array([400.0]), np.array([1.0]), np.zeros(1)
    assert _left(start, end, nobody)[0] == 399.0 / 400.0
    assert _rate(start, end, nobody)[0] == pytest.approx(math.log(400.0) / 399.0, rel=1e-12)


def test_noise_below_no_entries_is_read_as_nobody_who_enters() -> None:
    """Without noise the rate and the rate that slopes rest on are one, also where a number of entries is negative."""
    life = late(np.array([[5.0, 6.0, 4.0, 3.0, 1.0, 2.0, 2.0, 1.0, 60.0, 90.0, -4.0, -0.6, 3.0, -0.2]]))
    assert (life.entered[0] < 0.0).any() and (life.entered[0] > 0.0).any()
    rates = life.rates[0]
    assert life._cautious_rates[0][0] == pytest.approx(rates, rel=1e-12)
    # Slopes are those where nobody enters, of L = q(y)/start with y = (1 − E/6A)(1 + (E/2 − end)/A).
    start, end = (part[0] for part in life.divisors)
    steps = 1e-6 * np.eye(3)[:, :, None]

    def rate(a: Floats, b: Floats, e: Floats) -> Floats:
        left = (1.0 - e / (6.0 * a)) * (1.0 + (e / 2.0 - b) / a)
        return np.asarray(-np.log1p(-left) / left / a)

    at = np.stack([start, end, np.maximum(life.entered[0], 0.0)])
    along = [(rate(*(at + step)) - rate(*(at - step))) / 2e-6 for step in steps]
    forms = (*life.forms, life.forms_of_entered)
    slopes = sum(part[:, None] * form for part, form in zip(along, forms, strict=True))
    assert life._cautious_rates[1][0] == pytest.approx(slopes, rel=1e-5, abs=1e-9)
    nobody = life.entered[0] < 0.0
    start, end = (part[0][nobody] for part in life.divisors)
    gone = np.log(start / end) / (start - end)
    assert rates[nobody] == pytest.approx(gone, rel=1e-9)


def test_what_the_noise_hides_is_finite() -> None:
    life = late(np.array([[10.0, 5.0, 4.0, 3.0, -4.0, 2.0, 3.0, 1.0, -6.0, -5.0, 8.0, -3.0, 2.0, 1.0]]), noise_sd=4.0)
    low, high = life.ends(3, 0.95)
    assert not life.reliable[0, 3] and low[0] == 0.0 and 0.0 < high[0] <= 1.0
    for numbers in (life.survival, life.slopes, *life.hazards, life.exposed, life.slopes_of_exposed):
        assert np.isfinite(numbers).all()
