"""On which side each number is rounded, and the curve of each term against its closed form or an enumeration."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special, stats

from hedgerow.accounting.dominating_pairs import (
    ContinuousLaplacePair,
    DiscreteGaussianPair,
    DiscreteLaplacePair,
    DominatingPair,
    FullDisclosurePair,
    GaussianPair,
    PureDPPair,
    whole_grid,
)
from hedgerow.accounting.loss_fold import _convolved, _hockey_stick, composed_curve
from hedgerow.accounting.loss_grid import Curve, LossGrid, highest
from hedgerow.accounting.lower_bounds import (
    BinomialPair,
    DiscreteNormalPair,
    ExactLaw,
    LaplacePair,
    NormalPair,
    OutcomePair,
    _on_grid,
)
from hedgerow.accounting.poisson_mixtures import ResampledLaw
from hedgerow.accounting.profile import gaussian_delta

Array = NDArray[np.float64]


@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 5.0, 30.0])
@pytest.mark.parametrize("far", [0.6, 5.0, 11.9, 12.1, 15.0, 40.0])
def test_both_terms_of_a_gaussian_curve_to_their_last_digits(mu: float, far: float) -> None:
    epsilon = (far - mu / 2.0) * mu
    near = mu / 2.0 - epsilon / mu
    first, second = gaussian_delta(mu, epsilon)
    # e^ε Φ(−far) = e^{−near²/2} · erfcx(far/√2)/2, as ε − far²/2 = −near²/2.
    assert first == pytest.approx(stats.norm.cdf(near), rel=1e-11, abs=0.0)
    exact = 0.5 * float(special.erfcx(far / math.sqrt(2.0))) * math.exp(-0.5 * near**2)
    assert second == pytest.approx(min(1.0, exact), rel=1e-11, abs=0.0)


@pytest.mark.parametrize("step", [0.01, 0.7, 40.0, 149.0])
def test_the_hockey_stick_of_several_blocks_is_the_sum_that_defines_it(step: float) -> None:
    """With steps of 40 a scale factor serves 7 losses; the bound is above the sum, by round-off alone."""
    mass = np.random.default_rng(3).dirichlet(np.full(60, 0.3))
    mass[::7] = 0.0
    got = _hockey_stick(mass, step)
    for j in range(mass.size):
        exact = math.fsum(-m * math.expm1((j - at) * step) for at, m in enumerate(mass.tolist()) if at > j)
        assert exact <= got[j] <= exact * (1.0 + 1e-12) + 1e-300


@pytest.mark.parametrize("epsilon", [0.01, 0.7, 2.0, 20.0])
@pytest.mark.parametrize("times", [2, 3, 9])
def test_few_steps_of_any_width_fold_to_the_binomial_law(epsilon: float, times: int) -> None:
    """A pair that wins or loses ε: also where one step is wider than most losses, no curve stays at 1."""
    lose = 1.0 / (1.0 + math.exp(epsilon))
    curve = composed_curve([(LossGrid(-1, epsilon, np.array([lose, 0.0, 1.0 - lose]), 0.0), times)])
    wins = np.arange(times + 1)
    masses = stats.binom.pmf(times - wins, times, lose)
    for j in range(times):
        exact = float(masses @ np.maximum(-np.expm1((j + times - 2.0 * wins) * epsilon), 0.0))
        assert exact <= curve[j] * (1.0 + 1e-12) and curve[j] <= min(1.0, exact * (1.0 + 1e-9) + 1e-15)


def test_the_round_off_that_is_paid_for_is_that_of_the_theorem() -> None:
    """16u·log₂N of each factor and of the product, and 8u a factor, as `composed_curve` says; here without an FFT."""
    grid, theta, bins, times = LossGrid(-2, 0.5, np.array([0.1, 0.2, 0.3, 0.1, 0.3]), 0.0), 0.8, 64, 3
    tilted = grid.mass * np.exp(theta * grid.losses())
    moment = math.log(tilted.sum())
    tilted /= tilted.sum()
    product = np.convolve(np.convolve(tilted, tilted), tilted)
    folded, error, log_moment = _convolved([(grid, times)], [moment], theta, -6, bins)
    assert folded[:13] == pytest.approx(product, abs=1e-15) and log_moment == pytest.approx(times * moment)
    unit, norms = np.finfo(np.float64).eps, [float(np.sqrt((masses**2).sum())) for masses in (tilted, product)]
    moved = 16.0 * unit * 6.0 * times * norms[0] + (16.0 * unit * 6.0 + 8.0 * unit * times) * norms[1]
    weight = min((2.0 * theta * grid.step) ** -0.5, (4.0 * theta**3 * grid.step) ** -0.5)
    assert error == pytest.approx(moved * weight, rel=1e-9, abs=0.0)


LAWS: list[tuple[ExactLaw, float]] = [
    (NormalPair(0.7), math.inf),
    (DiscreteNormalPair(2.5, 2), math.inf),
    (LaplacePair(1, 3.0, 2.0), 2.0 / 3.0),
    (LaplacePair(4, 3.0, 1.0), 1.0 / 3.0),
    (LaplacePair(1, None, 0.25), 0.25),
    (LaplacePair(3, None, 0.25), 0.25),
    (OutcomePair((0.5, 0.3, 0.2), (0.25, 0.35, 0.4)), math.log(2.0)),
]


@pytest.mark.parametrize(("law", "largest"), LAWS, ids=repr)
def test_a_lower_bound_takes_p_too_small_and_q_too_large(law: ExactLaw, largest: float) -> None:
    """The masses of all outcomes add up to less than 1 under P, and to more than 1 under Q; so do losses."""
    p, q = law.cells(0.05)
    assert 1.0 - 1e-9 < p.sum() < 1.0 - 5e-13 and 1.0 + 5e-13 < q.sum() < 1.0 + 1e-9
    if math.isfinite(largest):
        assert largest * (1.0 - 1e-11) < law.largest < largest * (1.0 - 5e-13)
    else:
        assert law.largest == math.inf


def test_a_binomial_pair_is_the_binomial_law_and_has_the_larger_of_two_ends() -> None:
    pair = BinomialPair(30, 0.2, 0.1)
    p, q = pair.cells(0.0)
    won = np.arange(31)
    for mass, chance in ((p, 0.2), (q, 0.1)):
        assert mass == pytest.approx(stats.binom.pmf(won, 30, chance), rel=1e-9, abs=0.0)
    assert (p < stats.binom.pmf(won, 30, 0.2) * (1.0 - 1e-11)).all()
    for ends, loss in (((0.2, 0.1), 30.0 * math.log(2.0)), ((0.8, 0.9), 30.0 * math.log(2.0)), ((0.9, 0.8), None)):
        exact = 30.0 * math.log(0.9 / 0.8) if loss is None else loss
        assert exact * (1.0 - 1e-11) < BinomialPair(30, *ends).largest < exact * (1.0 - 5e-13)


@pytest.mark.parametrize("moved", [1.0, 1000.0, 2.0**30])
@pytest.mark.parametrize("width", [1000.0, 2.0**20, 2.0**40])
def test_lattice_noise_is_compared_with_wider_noise_on_the_line(moved: float, width: float) -> None:
    exact = moved / math.hypot(width, 2.0)
    assert exact * (1.0 - 2e-12) < NormalPair.on_lattice(moved, width).mu < exact * (1.0 - 5e-13)


@pytest.mark.parametrize("step", [0.003, 0.05, 1.7])
def test_a_grid_of_a_lower_bound_has_smaller_losses_and_masses(step: float) -> None:
    p, q = np.array([0.4]), np.array([0.3])
    grid, offset = _on_grid(p, q, step, 40.0)
    assert p[0] * (1.0 - 1e-10) < grid.mass.sum() < p[0] * (1.0 - 5e-12)
    assert math.log(4.0 / 3.0) - 1e-10 < grid.losses()[0] + offset < math.log(4.0 / 3.0) - 5e-12


@pytest.mark.parametrize("step", [0.02, 0.3])
@pytest.mark.parametrize("highest", [0.5, 40.0])
def test_the_curve_of_such_a_grid_is_below_that_of_the_outcomes(step: float, highest: float) -> None:
    rng = np.random.default_rng(8)
    p, q = rng.dirichlet(np.full(40, 0.5)), rng.dirichlet(np.full(40, 0.5))
    grid, offset = _on_grid(p, q, step, highest)
    losses = grid.losses() + offset
    for epsilon in np.linspace(0.0, 5.0, 40):
        exact = np.maximum(p - np.exp(epsilon) * q, 0.0).sum()
        assert (grid.mass * np.maximum(-np.expm1(epsilon - losses), 0.0)).sum() <= exact
    # Losses are lowered to the highest of all, and rounded down by less than a step.
    assert losses.max() <= highest
    lowered = np.minimum(np.log(p / q), highest)[(q <= p * math.exp(highest)) & (p > 0.0)]
    assert losses.max() > lowered.max() - 2.0 * step


def gaussian(mu: float) -> Callable[[Array], Array]:
    return lambda e: stats.norm.sf(e / mu - mu / 2) - np.exp(e) * stats.norm.sf(e / mu + mu / 2)


def enumerated(p: Array, q: Array) -> Callable[[Array], Array]:
    return lambda e: np.maximum(p - np.exp(e)[:, None] * q, 0.0).sum(axis=1)


def responses(epsilon: float) -> Callable[[Array], Array]:
    p = np.array([math.exp(epsilon), 1.0]) / (1.0 + math.exp(epsilon))
    return enumerated(p, p[::-1])


def discrete(sd: float) -> Callable[[Array], Array]:
    z = np.arange(-40.0 * math.ceil(sd), 40.0 * math.ceil(sd) + 2.0)
    p, q = np.exp(-(z**2) / (2.0 * sd**2)), np.exp(-((z - 1.0) ** 2) / (2.0 * sd**2))
    return enumerated(p / p.sum(), q / p.sum())


TERMS: list[tuple[DominatingPair, Callable[[Array], Array]]] = [
    *((GaussianPair(mu), gaussian(mu)) for mu in (0.1, 1.0, 4.0, 8.0)),
    *((DiscreteGaussianPair(sd, 1), discrete(sd)) for sd in (0.4, 1.0, 7.0)),
    *((DiscreteLaplacePair(scale, 1), responses(1.0 / scale)) for scale in (0.7, 5.0)),
    *((PureDPPair(epsilon), responses(epsilon)) for epsilon in (0.2, 3.0)),
    # ContinuousLaplacePair: 1 − e^{(ε − ε₀)/2} up to ε₀.
    *((ContinuousLaplacePair(top), lambda e, top=top: np.maximum(-np.expm1((e - top) / 2), 0.0)) for top in (0.3, 2.0)),
    (FullDisclosurePair(0.01), lambda e: np.full(e.shape, 0.01)),
]


@pytest.mark.parametrize(("term", "exact"), TERMS, ids=[repr(term) for term, _ in TERMS])
@pytest.mark.parametrize("step", [0.001, 0.013])
def test_the_grid_of_a_term_lies_above_its_curve_and_hardly_more(
    term: DominatingPair, exact: Callable[[Array], Array], step: float
) -> None:
    grid = whole_grid(term, step)
    assert grid.mass.sum() + grid.infinity == pytest.approx(1.0, abs=1e-11)
    epsilon = np.linspace(0.0, 6.0, 61)
    gain = np.maximum(-np.expm1(epsilon[:, None] - grid.losses()), 0.0)
    delta, least = (grid.mass * gain).sum(axis=1) + grid.infinity, exact(epsilon)
    # Where one loss crosses ε within a step, the chord may lie e^step − 1 of its mass above.
    assert (delta >= least * (1.0 - 1e-12) - 1e-16).all() and (delta <= least + step).all()
    smooth = isinstance(term, GaussianPair | ContinuousLaplacePair)
    assert not smooth or (delta <= least + step**2 * 2.0)[np.abs(epsilon - term.pure()) > step].all()


@pytest.mark.parametrize(
    "term",
    [GaussianPair(0.5), DiscreteLaplacePair(2.0, 1), DiscreteLaplacePair(3.0, 2), PureDPPair(0.7)],
    ids=repr,
)
@pytest.mark.parametrize("times", [1, 4, 9])
def test_equal_terms_at_once_cost_what_they_cost_by_the_grid(term: DominatingPair, times: int) -> None:
    grid = whole_grid(term, 0.001)
    by_grid, at_once = Curve(0.001, composed_curve([(grid, times)])), term.repeated(times)
    assert at_once is not None
    for delta in (0.1, 1e-3, 1e-6):
        assert at_once.epsilon_upper(delta) == pytest.approx(by_grid.epsilon_upper(delta), abs=2e-3)


@pytest.mark.parametrize("rate", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("count_weight", [0.0, 0.5])
@pytest.mark.parametrize("symmetric", [True, False])
def test_a_resampled_law_leaves_out_no_more_than_it_says(rate: float, count_weight: float, symmetric: bool) -> None:
    """Σ P(r) N(r·bound, sd²), with a count κr + N(0, sd²) beside: draws, values and counts cut off, each apart."""
    sd, bound, left_out = 1.3, 0.8, 1e-9
    law = ResampledLaw.of(
        sd=sd, bound=bound, rate=rate, count_weight=count_weight, symmetric=symmetric, left_out=left_out
    )
    draws = law.weights.shape[0]
    assert stats.poisson.sf(draws - 1, rate) <= left_out / 8.0 < stats.poisson.sf(draws - 2, rate)
    chances = stats.poisson.pmf(np.arange(draws), rate)
    # Counts are told on a fine grid: each number of draws keeps its chance, but for what lies beyond the ends.
    assert law.weights.sum(axis=1) == pytest.approx(chances, rel=1e-8, abs=left_out / 4.0)
    means = np.arange(draws) * bound
    assert (chances * stats.norm.sf((law.high - means) / sd)).sum() <= left_out / 8.0 * (1.0 + 1e-9)
    assert (chances * stats.norm.sf((law.high - 1e-6 - means) / sd)).sum() > left_out / 8.0 * (1.0 - 1e-4)
    lowest = -law.high if symmetric else sd * stats.norm.ppf(left_out / 8.0)
    assert law.low == pytest.approx(lowest, rel=1e-12)
    # The density of the value alone is the mixture.
    x = np.linspace(-3.0, 9.0, 25)
    density = (chances * stats.norm.pdf(x[:, None], means, sd)).sum(axis=1)
    assert law.p(x).sum(axis=1) == pytest.approx(density, rel=1e-7, abs=left_out / 4.0)
    assert np.exp(law.log_p(x)) == pytest.approx(law.p(x), rel=1e-10)


@pytest.mark.parametrize("shift", [0.0, 0.7])
def test_cells_of_a_resampled_law_hold_its_masses(shift: float) -> None:
    law = ResampledLaw.of(sd=1.0, bound=0.5 + shift, rate=1.0, symmetric=False, left_out=1e-12)
    edges, step = law.edges(None)
    p, q = law.cell_masses(edges)
    r = np.arange(law.weights.shape[0])
    chances = stats.poisson.pmf(r, 1.0)
    at = stats.norm.cdf(edges[:, None] - r * law.bound) @ chances
    assert p[:, 0] == pytest.approx(np.diff(at), abs=1e-14)
    assert q[:, 0] == pytest.approx(np.diff(stats.norm.cdf(edges)), abs=1e-14)
    assert p.sum() >= 1.0 - 1e-12 and edges[0] == law.low and edges[-1] == pytest.approx(law.high, rel=1e-14)
    # No loss rises by much more than a step from end to end of a cell.
    losses = law.losses(edges)[:, 0]
    assert np.diff(losses).max() <= 1.2 * step


def test_no_mass_of_two_pairs_together_is_below_the_exact_one() -> None:
    rng = np.random.default_rng(4)
    one, two = (LossGrid(-3, 0.5, 0.9 * rng.dirichlet(np.ones(size)), 0.1) for size in (60, 45))
    both = one.convolved(two)
    assert both.start == -6 and both.infinity == pytest.approx(1.0 - 0.9**2, rel=1e-12)
    exact = [Fraction(0)] * (60 + 45 - 1)
    for at, mass in enumerate(one.mass.tolist()):
        for beyond, other in enumerate(two.mass.tolist()):
            exact[at + beyond] += Fraction(mass) * Fraction(other)
    assert all(low <= got <= low * Fraction(1.0 + 1e-11) for got, low in zip(both.mass.tolist(), exact, strict=True))


def test_a_negligible_grid_is_the_same_law() -> None:
    """Trimming moves mass up, and to +∞: never down, and no more than it may."""
    grid = LossGrid(-2, 0.5, np.array([1e-9, 0.2, 0.5, 0.3 - 2e-9, 1e-9]), 0.0)
    trimmed = grid.trimmed(1.5e-9)
    assert (trimmed.start, trimmed.infinity) == (-1, 1e-9)
    assert trimmed.mass == pytest.approx([0.2 + 1e-9, 0.5, 0.3 - 2e-9], rel=1e-14)
    untouched = grid.trimmed(1e-12)
    assert untouched.start == -2 and untouched.mass.tolist() == grid.mass.tolist()


def test_the_highest_of_curves_reaches_as_far_as_the_longest() -> None:
    one, two = Curve(0.1, np.array([0.5, 0.2, 0.0])), Curve(0.3, np.array([0.4, 0.3, 0.1, 0.0]))
    top = highest([one, two])
    assert top.step == 0.1 and top.delta.size == 10
    assert top.epsilon_upper(0.0) == pytest.approx(0.9, abs=1e-9) and top.delta_upper(0.6) == pytest.approx(0.1)
