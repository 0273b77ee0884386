"""Records that leave evenly: the estimate of constant rates, its slopes, and what noise moves it by."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from hedgerow.inference.survival.cumulative_incidence import CumulativeIncidence
from hedgerow.inference.survival.even_withdrawal import ConstantHazards, EvenLifeTables
from hedgerow.inference.survival.life_table import LifeTables

Floats = NDArray[np.float64]
CUTS = (1.0, 2.0, 4.0)


def even(counts: Floats, *, noise_sd: float = 0.0, causes: int = 1) -> EvenLifeTables:
    return EvenLifeTables(counts, CUTS, noise_sd, "laplace", False, 0.5, causes)


def expected(rates: tuple[float, ...], leaving: float, n: float) -> Floats:
    """The expected counts of causes at constant rates."""
    total = sum(rates) + leaving
    left = np.exp(-total * np.array([0.0, *CUTS]))
    within = -np.diff(left) / total
    return n * np.concatenate([*(rate * within for rate in (*rates, leaving)), left[-1:]])[None]


def test_constant_rates_are_estimated_exactly() -> None:
    rates, leaving = (0.3, 0.1), 0.4
    life = even(expected(rates, leaving, 1000.0), causes=2)
    total = sum(rates)
    assert life.survival[0] == pytest.approx(np.exp(-total * np.array(CUTS)), abs=1e-12)
    for cause, rate in enumerate(rates):
        truth = rate / total * -np.expm1(-total * np.array(CUTS))
        assert CumulativeIncidence(life).shares[cause, 0] == pytest.approx(truth, abs=1e-12)
    for until in (0.7, 2.0, 3.0, 4.0):
        weights, start = life.weights_of_mean(until)
        mean = life.combined(weights, start=start)
        assert mean.value[0] == pytest.approx(-math.expm1(-total * until) / total, abs=1e-12)
    assert life.quantile(0.5, 0, 0.95).value == pytest.approx(math.log(2.0) / total, abs=1e-9)
    half = LifeTables(life.counts, CUTS, 0.0, "laplace", False, 0.5, 2)
    assert abs(half.survival[0, 2] - math.exp(-total * CUTS[2])) > 1e-3


def test_the_mean_follows_a_hazard_that_rises() -> None:
    """A hazard of 2 h t: the slope is found exactly, and what is left is of higher order in the width."""
    cuts, n = tuple(np.linspace(0.25, 2.0, 8)), 1e6
    survival = np.exp(-0.3 * np.array([0.0, *cuts]) ** 2)
    counts = n * np.concatenate([-np.diff(survival), np.zeros(8), survival[-1:]])[None]
    life = EvenLifeTables(counts, cuts, 0.0, "laplace", False, 0.5)
    for until in (1.1, 2.0):
        fine = np.exp(-0.3 * np.linspace(0.0, until, 20_001) ** 2)
        truth = until * float((fine[1:] + fine[:-1]).mean()) / 2.0
        weights, start = life.weights_of_mean(until)
        edges = np.unique([0.0, *[cut for cut in cuts if cut < until], until])
        flat = np.exp(-0.3 * edges**2)
        at_constant_rates = float((np.diff(edges) * -np.diff(flat) / -np.diff(np.log(flat))).sum())
        error = abs(life.combined(weights, start=start).value[0] - truth)
        assert error < 0.02 * abs(at_constant_rates - truth)


@pytest.mark.parametrize("causes", [1, 2])
def test_hazards_that_are_lines_are_followed(causes: int) -> None:
    """Rates a + b t of events and a constant rate of censoring: what is left is of higher order in the width."""
    cuts, n, leaving = tuple(np.linspace(0.25, 2.0, 8)), 1e6, 0.5
    fine = np.linspace(0.0, 2.0, 80_001)
    middle = (fine[1:] + fine[:-1]) / 2.0
    rates = [0.1 + 0.3 * middle, 0.2 - 0.05 * middle][:causes]
    total = np.exp(-np.append(0.0, np.cumsum((sum(rates) + leaving) * np.diff(fine))))
    at_risk = (total[1:] + total[:-1]) / 2.0 * np.diff(fine)
    counts = [(rate * at_risk).reshape(8, -1).sum(axis=1) for rate in (*rates, np.full(len(middle), leaving))]
    every = n * np.concatenate([*counts, total[-1:]])[None]
    about = cuts, 0.0, "laplace", False, 0.5, causes
    truth = np.exp(-np.cumsum(sum(rates) * np.diff(fine)))[9_999::10_000]
    lines, constant = (np.abs(of(every, *about).survival[0] - truth) for of in (EvenLifeTables, ConstantHazards))
    assert np.all(lines < 0.05 * constant)
    both = CumulativeIncidence(EvenLifeTables(every, *about)).shares[:, 0].sum(axis=0)
    assert both + EvenLifeTables(every, *about).survival[0] == pytest.approx(np.ones(8), abs=1e-12)


@pytest.mark.parametrize("causes", [1, 2])
def test_slopes_are_derivatives(causes: int) -> None:
    """Also where noise makes events or censored records negative, and where none leave."""
    rng, step = np.random.default_rng(1), 1e-5
    counts = rng.uniform(5.0, 60.0, (4, (causes + 1) * 3 + 1))
    counts[0, [0, causes * 3]] = -2.0, -3.0
    counts[1, 0 : causes * 3 + 1 : 3] = 0.0
    life = even(counts, causes=causes)
    weights = life.weights_of_mean(3.0)[0]
    of_mean = np.einsum("ck,ckm->cm", weights * life.survival, life.slopes)
    for place in range(counts.shape[1]):
        up, down = (even(counts + sign * np.eye(counts.shape[1])[place], causes=causes) for sign in (step, -step))
        fall = (np.log(up.survival) - np.log(down.survival)) / (2.0 * step)
        # The curve of the first cell is held down where it would rise, and that of the second where it is level.
        assert fall[2:] == pytest.approx(life.slopes[2:, :, place], abs=1e-8)
        steps = (np.cumsum(up._steps(), axis=1) - np.cumsum(down._steps(), axis=1)) / (2.0 * step)
        assert steps == pytest.approx(life.slopes[:, :, place], abs=1e-8)
        hazards = (up.hazards[0] - down.hazards[0]) / (2.0 * step)
        assert hazards == pytest.approx(life.hazards[1][..., place], abs=1e-8)
        means = [
            table.combined(table.weights_of_mean(3.0)[0], start=table.weights_of_mean(3.0)[1]).value
            for table in (up, down)
        ]
        assert ((means[0] - means[1]) / (2.0 * step))[2:] == pytest.approx(of_mean[2:, place], abs=1e-8)


def test_what_noise_moves_is_taken_off() -> None:
    counts, sd, runs = np.array([[60.0, 40.0, 30.0, 50.0, 30.0, 20.0, 80.0]]), 8.0, 100_000
    rng = np.random.default_rng(2)
    noisy = even(counts + rng.laplace(0.0, sd / math.sqrt(2.0), (runs, counts.shape[1])), noise_sd=sd)
    truth, spread = np.log(even(counts).survival[0]), np.log(noisy.survival).std(axis=0)
    error = np.log(noisy.survival).mean(axis=0) - truth
    assert np.all(np.abs(error) < 4.0 * spread / math.sqrt(runs))
    # With the noise left in, the mean is off.
    left_in = np.log(replace(noisy, noise_sd=0.0).survival).mean(axis=0) - truth
    assert abs(left_in[2]) > 6.0 * spread[2] / math.sqrt(runs)
    read = even(counts, noise_sd=sd).read(2)
    assert read.privacy_error[0] / read.value[0] == pytest.approx(spread[2], rel=0.03)


def test_more_leave_than_were_there_is_not_read() -> None:
    """Noise makes D + C larger than R: nothing fails, and the share is not called reliable."""
    life = even(np.array([[10.0, 5.0, -4.0, 2.0, 3.0, 1.0, -6.0]]), noise_sd=2.0)
    low, high = life.ends(2, 0.95)
    assert not life.reliable[0, 2] and low[0] == 0.0 and 0.0 < high[0] <= 1.0
    assert np.isfinite(life.survival).all() and np.isfinite(life.slopes).all()
    assert np.isfinite(life.hazards[0]).all() and np.isfinite(life.hazards[1]).all()
