"""Curves of resampled releases: the lattice, calibration, refusals, and sabotages that must show."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import norm, poisson

from hedgerow.accounting.calibrate import least_noise
from hedgerow.accounting.compose import compose
from hedgerow.accounting.dominating_pairs import DominatingPair
from hedgerow.accounting.loss_fold import composed_curve
from hedgerow.accounting.loss_grid import LOSS_CAP, Curve, LossGrid, Outcomes
from hedgerow.accounting.poisson_mixtures import (
    MixturePair,
    PairKind,
    ResampledLaw,
    priced_noise_sd,
    release_curve,
)
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.resampled_sums import ResampledCoordinate, ResampledGaussian, resampled_pairs
from hedgerow.noise.lattice import lattice_noise

Array = NDArray[np.float64]


def discrete_gaussian(steps: float, centre: int, z: Array) -> Array:
    weights = np.exp(-0.5 * ((z - centre) / steps) ** 2)
    return weights / np.exp(-0.5 * (np.arange(-4000, 4001) / steps) ** 2).sum()


def lattice_mixture(steps: float, shift: int, z: Array) -> Array:
    return np.sum([poisson.pmf(r, 1.0) * discrete_gaussian(steps, r * shift, z) for r in range(30)], axis=0)


def hockey_stick(p: Array, q: Array, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


# The lattice ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("steps", "centre"), [(8.0, 0), (8.0, 5), (20.0, -3)])
def test_a_discrete_gaussian_is_a_rounded_continuous_one(steps: float, centre: int) -> None:
    def worst(width: float, variance: float) -> float:
        x = np.linspace(centre - 12 * steps, centre + 12 * steps, 40001)
        z = np.arange(centre - 3 * int(steps), centre + 3 * int(steps) + 1.0)
        near = np.arange(-15, 16)[:, None] + np.rint(x)
        total = np.exp(-0.5 * ((near - x) / width) ** 2).sum(axis=0)
        density = norm.pdf(x, centre, math.sqrt(variance)) * (x[1] - x[0]) / total
        rounded = np.array([float(density @ np.exp(-0.5 * ((value - x) / width) ** 2)) for value in z])
        return float(np.abs(rounded / discrete_gaussian(steps, centre, z) - 1.0).max())

    assert worst(2.0, steps**2 - 4.0) < 1e-10
    assert worst(1.0, steps**2 - 1.0) < 4 * math.exp(-2 * math.pi**2)
    assert worst(2.0, steps**2) > 1e-3  # sabotage: the width of the rounding is not taken off the noise


@pytest.mark.parametrize("steps", [8.0, 20.0])
@pytest.mark.parametrize("symmetric", [True, False])
def test_one_replicate_on_a_lattice_costs_no_more_than_priced(steps: float, symmetric: bool) -> None:
    shift = 6
    z = np.arange(-300.0, 400.0)
    p = lattice_mixture(steps, shift, z)
    q = lattice_mixture(steps, -shift, z) if symmetric else discrete_gaussian(steps, 0, z)
    kind = PairKind.SAME_CELL if symmetric else PairKind.ONE_SIDED
    priced = release_curve([MixturePair(kind, priced_noise_sd(steps, lattice_steps=steps), shift)], n_resamples=1)
    sabotaged = release_curve([MixturePair(kind, 1.1 * steps, shift)], n_resamples=1)
    for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0):
        true = hockey_stick(p, q, epsilon)
        assert true <= priced.delta_upper(epsilon) * (1 + 1e-9)
        assert true > sabotaged.delta_upper(epsilon)


def test_a_vector_on_a_lattice_costs_no_more_than_its_norm() -> None:
    steps, z = 8.0, np.arange(-70.0, 150.0)
    p = sum(
        poisson.pmf(r, 1.0) * np.outer(discrete_gaussian(steps, 3 * r, z), discrete_gaussian(steps, 4 * r, z))
        for r in range(25)
    )
    q = np.outer(discrete_gaussian(steps, 0, z), discrete_gaussian(steps, 0, z))
    priced = release_curve(
        [MixturePair(PairKind.ONE_SIDED, priced_noise_sd(steps, lattice_steps=steps), 5.0)], n_resamples=1
    )
    short = release_curve(
        [MixturePair(PairKind.ONE_SIDED, steps, 4.0)], n_resamples=1
    )  # sabotage: the larger coordinate only
    for epsilon in (0.5, 1.0, 3.0):
        true = max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))
        assert short.delta_upper(epsilon) < true <= priced.delta_upper(epsilon) * (1 + 1e-9)


def test_coarse_lattices_are_refused() -> None:
    assert priced_noise_sd(5.0, lattice_steps=1000) == pytest.approx(5.0, rel=3e-6)
    assert priced_noise_sd(5.0, lattice_steps=1000) < 5.0
    for steps in (7.9, 0.0, math.nan):
        with pytest.raises(UncertifiedError) as caught:
            priced_noise_sd(5.0, lattice_steps=steps)
        assert caught.value.code == "HG404"


# One replicate --------------------------------------------------------------------------------------------------------


def test_cell_masses_are_exact() -> None:
    law = ResampledLaw.of(sd=0.7, bound=0.5, rate=1.0, symmetric=True, left_out=1e-20)
    edges, _ = law.edges(0.05)
    p, q = law.cell_masses(edges)
    r = np.arange(law.weights.shape[0])
    below = ndtr((edges[:, None] - r * 0.5) / 0.7) @ poisson.pmf(r, 1.0)
    assert p[:, 0] == pytest.approx(np.diff(below), abs=1e-15)
    above = ndtr(-(edges[:, None] - r * 0.5) / 0.7) @ poisson.pmf(r, 1.0)
    tails = np.cumsum(p[::-1, 0])[::-1] + above[-1]
    assert tails == pytest.approx(above[:-1], rel=1e-12)  # also far out, where masses are 1e-20
    assert p.sum() == pytest.approx(1.0, abs=1e-13)
    assert q.sum() == pytest.approx(1.0, abs=1e-13)
    assert np.all(np.diff(law.losses(edges)[:, 0]) > -1e-12)


def test_the_lattice_of_the_count_keeps_all_mass() -> None:
    law = ResampledLaw.of(sd=3.0, bound=1.0, rate=1.0, count_weight=1.5, symmetric=True, left_out=1e-20)
    edges, _ = law.edges(0.05)
    assert law.weights.shape[1] > 100
    assert law.cell_masses(edges)[0].sum() == pytest.approx(1.0, abs=1e-12)
    revealed = ResampledLaw.of(sd=0.3, bound=1.0, rate=1.0, count_weight=1.5, symmetric=True, left_out=1e-20)
    assert revealed.weights.shape[0] == revealed.weights.shape[1]


def exact_delta(noise_sd: float, bound: float, epsilon: float) -> float:
    """δ of the end pair at a threshold found by bisection, with scipy.stats alone; a lower bound at any threshold."""
    r = np.arange(40)
    p = poisson.pmf(r, 1.0)

    def loss(x: float) -> float:
        up, down = (float(p @ norm.pdf(x, sign * r * bound, noise_sd)) for sign in (1, -1))
        return math.log(up / down)

    low, high = 0.0, 30.0 * noise_sd
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if loss(middle) < epsilon else (low, middle)
    up, down = (float(p @ norm.sf(low, sign * r * bound, noise_sd)) for sign in (1, -1))
    return up - math.exp(epsilon) * down


def test_sabotage_a_log_ratio_without_its_poisson_tail_is_caught() -> None:
    whole = ResampledLaw.of(sd=1.0, bound=0.5, rate=1.0, symmetric=True, left_out=1e-20)
    cut = ResampledLaw(1.0, 0.5, whole.weights[:5], True, whole.low, whole.high, 1e-20)
    step = 0.01
    honest, sabotaged = (_curve(law, step) for law in (whole, cut))
    for epsilon in (8.0, 12.0):
        true = exact_delta(1.0, 0.5, epsilon)
        assert true <= honest.delta_upper(epsilon) < 1.01 * true
        assert sabotaged.delta_upper(epsilon) < 0.5 * true


def _curve(law: ResampledLaw, step: float) -> Curve:

    edges, _ = law.edges(step)
    losses = law.losses(edges)
    p, q = law.cell_masses(edges)
    grid = Outcomes(p, q, losses[:-1], losses[1:]).spread(step, infinity=law.left_out)
    return Curve(step, composed_curve([(grid, 1)]))


@pytest.mark.parametrize("k", [1, 20])
def test_sabotage_optimistic_rounding_is_caught(k: int) -> None:
    law = ResampledLaw.of(sd=math.sqrt(k), bound=0.5, rate=1.0, symmetric=True, left_out=1e-20)
    step = 0.02
    edges, _ = law.edges(step)
    losses, p = law.losses(edges), law.cell_masses(edges)[0][:, 0]
    down = np.floor(losses[:-1, 0] / step).astype(np.int64)
    grid = LossGrid(int(down.min()), step, np.bincount(down - down.min(), p), 0.0)
    sabotaged = Curve(step, composed_curve([(grid, k)]))
    honest = release_curve([MixturePair(PairKind.SAME_CELL, math.sqrt(k), 0.5)], n_resamples=k)
    for epsilon in (0.5, 3.0, 6.0):
        true = exact_delta(1.0, 0.5, epsilon) if k == 1 else 0.999 * honest.delta_upper(epsilon)
        assert sabotaged.delta_upper(epsilon) < true <= honest.delta_upper(epsilon)


# Pairs, calibration, refusals -----------------------------------------------------------------------------------------


def resampled(
    sd: float, k: int = 1, shape: str = "value", *, presence: str = "public", cells: int = 1
) -> ResampledGaussian:
    """Values within ½ with noise of `sd`, and a count of weight 1 beside them where the shape has one."""
    value, count = ResampledCoordinate(1000, lattice_noise(2000 * sd)), ResampledCoordinate(1, lattice_noise(2 * sd))
    coordinates = {"value": (value,), "count": (count,), "value-and-count": (value, count)}[shape]
    return ResampledGaussian(k, 1.0, shape, coordinates, presence, cells)


def kinds(relation: Relation, shape: str, **where: object) -> list[str]:
    return [pair.kind.value for pair in resampled_pairs(resampled(5.0, 1, shape, **where), relation)]


def test_which_pairs_are_paid() -> None:
    near, far, private = Relation.ADD_REMOVE, Relation.REPLACE_ONE, {"presence": "private"}
    assert kinds(near, "value-and-count", cells=2, **private) == ["one-sided"]
    assert kinds(far, "value") == ["same-cell"]
    assert kinds(far, "value", cells=2, **private) == ["same-cell", "across"]
    assert kinds(far, "value-and-count", **private) == ["same-cell", "one-sided"]
    assert kinds(far, "count", cells=2, **private) == ["across"]
    (pair,) = resampled_pairs(resampled(0.1, 1, "value-and-count", **private), near)
    assert pair.bound == pytest.approx(math.hypot(5.0, 5.0), rel=1e-4)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("relation", list(Relation))
def test_calibration_lands_under_the_budget_and_close(epsilon: float, relation: Relation) -> None:
    presence = "public" if relation is Relation.REPLACE_ONE else "private"
    for k in (1, 30):
        found = least_noise(lambda m, k=k: resampled(1.0 / m, k, presence=presence), relation, Budget(epsilon, 1e-6))
        spent = release_curve(resampled_pairs(found.mechanism, relation), n_resamples=k).epsilon_upper(1e-6)
        assert epsilon - 1e-3 <= spent <= epsilon


def test_calibration_of_a_mean_by_group() -> None:
    def build(precision: float) -> ResampledGaussian:
        return resampled(1.0 / precision, 50, "value-and-count", presence="private", cells=2)

    found = least_noise(build, Relation.REPLACE_ONE, Budget(1.0, 1e-6))
    pairs = resampled_pairs(found.mechanism, Relation.REPLACE_ONE)
    assert 0.999 <= release_curve(pairs, n_resamples=50).epsilon_upper(1e-6) <= 1.0


@pytest.mark.parametrize("off", [1.0, 0.01, 30.0, math.nan])
def test_calibration_does_not_rest_on_the_start_that_a_mechanism_names(off: float) -> None:
    """With a good start one or two prices do; with a bad one it takes longer, and the result holds all the same."""
    prices: list[float] = []

    @dataclass(frozen=True)
    class Started:
        noise_sd: float

        def nearly_mu(self, relation: Relation) -> float:
            return off * resampled(self.noise_sd, 40).nearly_mu(relation)

        def terms(self, relation: Relation) -> tuple[DominatingPair, ...]:
            prices.append(self.noise_sd)
            return resampled(self.noise_sd, 40).terms(relation)

    found = least_noise(lambda m: Started(1.0 / m), Relation.REPLACE_ONE, Budget(1.0, 1e-6))
    spent = compose(found.mechanism.terms(Relation.REPLACE_ONE)).epsilon_upper(1e-6)
    assert 0.999 <= spent <= 1.0
    assert off != 1.0 or len(prices) <= 2


def test_calibration_stays_in_the_scanned_range() -> None:
    found = least_noise(lambda m: resampled(1.0 / m), Relation.REPLACE_ONE, Budget(100.0, 0.3))
    assert found.precision == pytest.approx(10.0, rel=1e-4)
    with pytest.raises(UncertifiedError) as caught:
        least_noise(lambda m: resampled(1.0 / m, 1000), Relation.REPLACE_ONE, Budget(1e-3, 1e-9))
    assert caught.value.code == "HG403"


@pytest.mark.parametrize("name", ["noise_sd", "bound", "rate"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_pairs_refuse_what_is_not_positive(name: str, value: float) -> None:
    arguments = {"noise_sd": 1.0, "bound": 1.0, "rate": 1.0} | {name: value}
    with pytest.raises(ParameterError):
        MixturePair(PairKind.ONE_SIDED, **arguments)


def test_what_no_price_is_computed_for_is_refused() -> None:
    for noise_sd, rate in ((0.01, 1.0), (1e10, 1.0), (1.0, 101.0)):
        with pytest.raises(UncertifiedError) as caught:
            MixturePair(PairKind.ONE_SIDED, noise_sd, 1.0, rate)
        assert caught.value.code == "HG403"
    with pytest.raises(UncertifiedError) as caught:
        least_noise(lambda m: resampled(1.0 / m, 5, presence="private"), Relation.ADD_REMOVE, Budget(1.0, 0.0))
    assert caught.value.code == "HG403"


@pytest.mark.parametrize("k", [0, -1, 2.0, True])
def test_the_number_of_replicates_is_a_positive_integer(k: object) -> None:
    with pytest.raises(ParameterError):
        release_curve([MixturePair(PairKind.ONE_SIDED, 1.0, 1.0)], n_resamples=k)


@pytest.mark.parametrize("kind", list(PairKind))
@pytest.mark.parametrize("k", [1, 4])
def test_far_ends_of_the_priced_range(kind: PairKind, k: int) -> None:
    assert release_curve([MixturePair(kind, 0.02, 1.0)], n_resamples=k).epsilon_upper(1e-6) == math.inf
    assert release_curve([MixturePair(kind, 1e9, 1.0)], n_resamples=k).epsilon_upper(1e-9) < 1e-6
    rare = release_curve([MixturePair(kind, 0.5, 0.5, 1e-3)], n_resamples=k).delta_upper(0.0)
    # A record is drawn at all with this probability; one drawing moves the value by one or two sd, which shows.
    drawn = (2 if kind is PairKind.ACROSS else 1) * -math.expm1(-1e-3 * k)
    assert 0.1 * drawn < rare < drawn


def test_hopeless_prices_are_infinite_and_vast_noise_is_cheap() -> None:
    assert release_curve([MixturePair(PairKind.SAME_CELL, 0.1, 0.5)], n_resamples=5000).epsilon_upper(1e-6) == math.inf
    assert release_curve([MixturePair(PairKind.ONE_SIDED, 1e4, 0.5)], n_resamples=1).epsilon_upper(1e-6) < 1e-3


def exact_loss(x: float, sd: float, bound: float, rate: float, most: int) -> Decimal:
    """Return log(p/q) at x to 50 digits: the Poisson mixture of normal laws over the normal law about 0."""
    with localcontext(prec=50):
        at, width, step, mean = (Decimal(number) for number in (x, sd, bound, rate))
        chance, total = (-mean).exp(), Decimal(0)
        for drawn in range(most + 1):
            total += chance * ((at * drawn * step - (drawn * step) ** 2 / 2) / width**2).exp()
            chance *= mean / (drawn + 1)
        return total.ln()


@pytest.mark.parametrize(("sd", "rate"), [(0.02, 1.0), (0.3, 1.0), (1.0, 100.0), (1.0, 0.01), (40.0, 1.0)])
def test_no_loss_is_off_by_more_than_the_rounding_that_is_allowed(sd: float, rate: float) -> None:
    """The price adds `rounding` to every loss that counts: it has to be more than what doubles lose."""
    law = ResampledLaw.of(sd=sd, bound=1.0, rate=rate, symmetric=False, left_out=1e-20)
    x = np.linspace(law.low, law.high, 8001)
    x = x[np.abs(law.losses(x)[:, 0]) <= LOSS_CAP]
    x = x[:: max(1, len(x) // 30)]
    exact = [exact_loss(float(at), sd, 1.0, rate, len(law.weights) - 1) for at in x]
    assert len(exact) >= 30 and min(exact) < 0 < max(exact)
    off = max(abs(Decimal(float(loss)) - true) for loss, true in zip(law.losses(x)[:, 0], exact, strict=True))
    assert off < law.rounding() < 1e-8
    # The allowance is for the largest exponents: of these few points they are off by less, but not by nothing.
    assert law.rounding() < 1e-12 + 1e6 * float(off)
