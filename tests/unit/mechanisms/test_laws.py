"""Laws of noise: chances, spreads, widths, draws, prices and scores against an enumeration of each law."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from hedgerow.accounting.compose import compose
from hedgerow.accounting.lower_bounds import DiscreteNormalPair, LaplacePair, LowerBoundPairs, NormalPair
from hedgerow.accounting.profile import least_epsilon
from hedgerow.errors import HedgerowError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms import laws
from hedgerow.mechanisms.interface import AuditRecord, Neighbours, Quote
from hedgerow.mechanisms.laws import (
    GAUSSIAN,
    LAPLACE,
    Additive,
    AveragedLaplace,
    Law,
    gaussian_half_width,
    geometric_half_width,
    geometric_probability,
    law_named,
    parse_draws,
    summed_half_width,
)
from hedgerow.mechanisms.noisy_counts import GeometricCounts
from hedgerow.mechanisms.randomised_records import RandomisedRecords, Resample, SmoothedResample
from hedgerow.testing.simulated import SimulatedNoise

Floats = NDArray[np.float64]
LAWS = [GAUSSIAN, LAPLACE, AveragedLaplace(2), AveragedLaplace(5)]
WIDTHS = [0.6, 2.0, 7.5]


def enumerated(law: Law, width: float) -> tuple[Floats, Floats]:
    """Integers and their chances, from the definition: Gaussian weights, or geometric ones folded draw by draw."""
    far = math.ceil(60.0 * width)
    z = np.arange(-far, far + 1.0)
    single = np.exp(-(np.abs(z / width) ** law.power) / law.power)
    total = single = single / single.sum()
    for _ in range(law.draws - 1):
        total = np.convolve(total, single)
    far = total.size // 2
    return np.arange(-far, far + 1.0), total


def within(law: Law, width: float, m: float) -> float:
    z, chances = enumerated(law, width)
    return float(chances[np.abs(z) <= m].sum())


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("width", WIDTHS)
def test_chances_and_spread_are_those_of_the_definition(law: Law, width: float) -> None:
    z, chances = enumerated(law, width)
    reach = law.reach(width)
    assert chances[np.abs(z) > reach].sum() < 1e-13
    inner = np.abs(z) <= reach
    assert law.chances(z[inner], width) == pytest.approx(chances[inner], rel=1e-9, abs=1e-16)
    sd = math.sqrt(float((z**2 * chances).sum()))
    assert sd * (1.0 - 1e-9) <= law.count_sd(width) <= sd * (1.0 + 1e-9 if law.power == 1 else 1.2)
    wide, spread = enumerated(law, 60.0)
    assert law.sd(60.0) == pytest.approx(math.sqrt(float((wide**2 * spread).sum())), rel=1e-4)


@pytest.mark.parametrize("width", [0.3, *WIDTHS])
@pytest.mark.parametrize("cells", [1, 2, 30])
@pytest.mark.parametrize("gamma", [0.5, 0.05, 1e-4])
def test_half_widths_are_the_least_whole_numbers_that_hold_all_cells(width: float, cells: int, gamma: float) -> None:
    for draws, half in (
        (1, geometric_half_width(width, cells=cells, gamma=gamma)),
        (1, LAPLACE.half_width(width, cells=cells, gamma=gamma)),
        (1, summed_half_width(1, width, cells=cells, gamma=gamma)),
        (4, AveragedLaplace(4).half_width(width, cells=cells, gamma=gamma)),
    ):
        law = AveragedLaplace(draws)
        assert within(law, width, half) ** cells >= (1.0 - gamma) * (1.0 - 1e-12)
        assert half == 0 or within(law, width, half - 1) ** cells < 1.0 - gamma
    assert gaussian_half_width(width, cells=cells, gamma=gamma) == GAUSSIAN.half_width(width, cells=cells, gamma=gamma)
    chance = 2.0 * stats.norm.cdf(gaussian_half_width(width, cells=cells, gamma=gamma) / width) - 1.0
    assert chance**cells == pytest.approx(1.0 - gamma, rel=1e-9)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("cells", [1, 3])
def test_chances_within_a_half_width(width: float, cells: int) -> None:
    for m in (0, 1, 5):
        exact = within(LAPLACE, width, m) ** cells
        assert geometric_probability(m, width, cells=cells) == pytest.approx(exact, rel=1e-10)
        assert LAPLACE.within(m + 0.7, width, cells=cells) == pytest.approx(exact, rel=1e-10)
    exact = float(stats.norm.cdf(1.3 / width) - stats.norm.cdf(-1.3 / width)) ** cells
    assert GAUSSIAN.within(1.3, width, cells=cells) == pytest.approx(exact, rel=1e-12)
    assert geometric_probability(0, 1e300) == 0.0


@pytest.mark.parametrize(
    "numbers",
    [
        {"scale": 0.0},
        {"scale": math.inf},
        {"scale": math.nan},
        {"cells": 0},
        {"cells": 1.5},
        {"gamma": 0.0},
        {"gamma": 1.0},
    ],
)
def test_accuracies_of_no_noise_are_refused(numbers: dict[str, float]) -> None:
    given = {"scale": 1.0, "cells": 1, "gamma": 0.05} | numbers
    with pytest.raises(HedgerowError, match="HG157"):
        geometric_half_width(**given)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(HedgerowError, match="HG157"):
        summed_half_width(2, **given)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(HedgerowError, match="HG157"):
        gaussian_half_width(given["scale"], cells=given["cells"], gamma=given["gamma"])  # type: ignore[arg-type]  # as above
    if "gamma" not in numbers:
        with pytest.raises(HedgerowError, match="HG157"):
            geometric_probability(3, given["scale"], cells=given["cells"])  # type: ignore[arg-type]  # as above


def test_numbers_of_draws() -> None:
    assert [parse_draws(draws) for draws in (1, 500)] == [1, 500]
    for wrong in (0, 501, 1.5, True, "2"):
        with pytest.raises(HedgerowError, match="HG187"):
            parse_draws(wrong)
        with pytest.raises(HedgerowError, match="HG406"):
            AveragedLaplace(wrong)  # type: ignore[arg-type]  # wrong on purpose
    assert AveragedLaplace(500).draws == 500 and AveragedLaplace(1).draws == 1
    assert [law_named(*name) for name in (("laplace",), ("gaussian",), ("averaged-laplace", 7))] == [
        *(LAPLACE, GAUSSIAN, AveragedLaplace(7)),
    ]


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("at_once", [2**22, 1])
def test_draws_have_the_spread_of_the_law(law: Law, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean of 20,000 squares is within 5 standard errors of the variance, not of that of a tenth less noise."""
    monkeypatch.setattr(laws, "_AT_ONCE", at_once)
    for width, drawn, variance in (
        (2.0, law.draw(SimulatedNoise(5), 2.0, 20_000), None),
        (3.0, law.draw_numbers(SimulatedNoise(5), 3.0, 20_000), law.sd(3.0) ** 2),
    ):
        z, chances = enumerated(law, width)
        exact = float((z**2 * chances).sum()) if variance is None else variance
        squares = drawn.astype(float) ** 2
        error = float(squares.std()) / math.sqrt(20_000)
        assert squares.shape == (20_000,) and abs(squares.mean() - exact) < 5.0 * error
        assert abs(squares.mean() - 0.81 * exact) > 5.0 * error


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("moved", [1, -1])
def test_scores_of_integers_are_log_ratios_of_their_chances(law: Law, width: float, moved: int) -> None:
    far = math.ceil(4.0 * width)
    z = np.arange(-far, far + 1.0)
    exact = np.log(law.chances(z - moved, width)) - np.log(law.chances(z, width))
    score = law.change(np.array([float(moved)]), np.array([width]), whole=True)
    assert score(z[:, None]) == pytest.approx(exact, abs=1e-9)
    # Two features: the logarithms add up.
    both = law.change(np.array([float(moved), 1.0]), np.array([width, 2.0 * width]), whole=True)
    second = np.log(law.chances(z - 1.0, 2.0 * width)) - np.log(law.chances(z, 2.0 * width))
    assert both(np.column_stack([z, z])) == pytest.approx(exact + second, abs=1e-9)


def test_scores_of_numbers_are_log_ratios_of_their_densities() -> None:
    x = np.linspace(-9.0, 9.0, 37)
    for law, density in ((GAUSSIAN, stats.norm(scale=1.7)), (LAPLACE, stats.laplace(scale=1.7))):
        exact = density.logpdf(x - 0.8) - density.logpdf(x)
        assert law.change(np.array([0.8]), np.array([1.7]))(x[:, None]) == pytest.approx(exact, abs=1e-12)
    # Two Laplace numbers: f(x) = (1 + |x|/b) e^{−|x|/b}/4b.
    far = [np.abs(x - moved) / 1.7 for moved in (0.8, 0.0)]
    exact = np.log1p(far[0]) - far[0] - np.log1p(far[1]) + far[1]
    got = AveragedLaplace(2).change(np.array([0.8]), np.array([1.7]))(x[:, None])
    assert got == pytest.approx(exact, abs=1e-5)


def brute(law: Law, width: float, times: int, delta: float) -> float:
    _, chances = enumerated(law, width)
    p, q = (np.append(chances, 0.0), np.append(0.0, chances))
    keep = (p > 1e-13) | (q > 1e-13)
    p, q = p[keep], q[keep]
    if times == 2:
        p, q = np.outer(p, p).ravel(), np.outer(q, q).ravel()
    return least_epsilon(lambda e: float(np.maximum(p - math.exp(e) * q, 0.0).sum()), delta)


@pytest.mark.parametrize("law", [GAUSSIAN, LAPLACE, AveragedLaplace(3)], ids=repr)
@pytest.mark.parametrize("width", [0.9, 3.0])
@pytest.mark.parametrize("times", [1, 2])
def test_counts_that_move_by_one_cost_what_an_enumeration_says(law: Law, width: float, times: int) -> None:
    profile = compose([law.count_term(width, times)])
    for delta in (1e-2, 1e-5):
        exact = brute(law, width, times, delta)
        assert exact - 1e-7 <= profile.epsilon_upper(delta) <= exact + 2e-3 * max(1.0, exact)
    lower = LowerBoundPairs((((law.exact(1.0, width), times),),))
    assert brute(law, width, times, 1e-2) == pytest.approx(lower.epsilon_lower(1e-2), abs=5e-3)


@pytest.mark.parametrize("times", [1, 2])
def test_a_wide_count_is_priced_as_continuous_noise_that_is_a_little_narrower(times: int) -> None:
    for width in (99.9, 100.0):
        upper = compose([GAUSSIAN.count_term(width, times)]).epsilon_upper(1e-5)
        exact = compose([GAUSSIAN.number_term(math.sqrt(times) / width)]).epsilon_upper(1e-5)
        assert exact * (1.0 - 1e-6) <= upper <= exact * 1.0005
    assert GAUSSIAN.exact(1.0, 99.9) == DiscreteNormalPair(99.9, 1)
    assert GAUSSIAN.exact(1.0, 100.0) == NormalPair.on_lattice(1.0, 100.0)


def test_numbers_that_move_cost_what_their_closed_forms_say() -> None:
    assert GAUSSIAN.exact_number(0.7) == NormalPair(0.7) and LAPLACE.exact_number(0.7) == LaplacePair(1, None, 0.7)
    assert AveragedLaplace(3).exact(2.0, 5.0) == LaplacePair(3, 5.0, 2.0)
    # Laplace: δ(ε) = 1 − e^{(ε − d)/2}. Gaussian: Balle and Wang.
    assert compose([LAPLACE.number_term(1.2)]).epsilon_upper(0.1) == pytest.approx(1.2 + 2.0 * math.log(0.9), abs=1e-4)

    def gaussian(e: float) -> float:
        return float(stats.norm.sf(e / 0.7 - 0.35) - math.exp(e) * stats.norm.sf(e / 0.7 + 0.35))

    assert compose([GAUSSIAN.number_term(0.7)]).epsilon_upper(1e-5) == pytest.approx(
        least_epsilon(gaussian, 1e-5), abs=1e-6
    )
    curve = compose([AveragedLaplace(2).number_term(0.5)])
    x = np.linspace(-60.0, 60.5, 400_001)
    p, q = ((1.0 + np.abs(x - at)) * np.exp(-np.abs(x - at)) / 4.0 * (x[1] - x[0]) for at in (0.5, 0.0))
    truth = least_epsilon(lambda e: float(np.maximum(p - math.exp(e) * q, 0.0).sum()), 1e-2)
    assert curve.epsilon_upper(1e-2) == pytest.approx(truth, abs=1e-3)


class Moved(Additive):
    """Two features on a lattice of 4 steps a unit, which records move by 1.3 and 0.2."""

    __slots__ = ()
    type = "moved"
    bits = 2
    noise_law = LAPLACE

    def contribution(self, record: AuditRecord) -> tuple[Floats, Floats]:
        return np.array([1.3, 0.2]) * (1 + record.index), np.array([5.0, 7.0])

    def worst_pairs(self, relation: Relation) -> tuple[Neighbours, ...]:
        first = AuditRecord(0, 0)
        return (
            Neighbours("one", first, None, 1),
            Neighbours("same", AuditRecord(0, 2), first, 1),
            Neighbours("across", first, AuditRecord(1, 0), 2),
        )


def test_a_lower_bound_counts_whole_steps_of_the_lattice_alone() -> None:
    """1.3 units are 5.2 steps of ¼, of which 5 are sure; .2 units are less than a step, and count nothing."""
    alone, same, across = Moved().attained(Relation.REPLACE_ONE).pairs
    assert alone == ((LaplacePair(1, 20.0, 5.0), 1),)
    assert same == ((LaplacePair(1, 20.0, 10.0), 1), (LaplacePair(1, 28.0, 1.0), 1))
    assert across == alone * 2


@pytest.mark.parametrize("sd", [0.2, 1.0, 30.0, 1e5])
def test_a_geometric_count_of_an_sd_has_that_sd(sd: float) -> None:
    quote = Quote.__new__(Quote)
    scale = GeometricCounts.of_noise_sd(sd, quote).scale
    alpha = math.exp(-1.0 / scale)
    assert math.sqrt(2.0 * alpha) / -math.expm1(-1.0 / scale) == pytest.approx(sd, rel=1e-9)
    assert GeometricCounts.of_precision(0.25, quote).scale == 4.0


@pytest.mark.parametrize(("n", "draws"), [(1, 1), (1, 5), (2, 1), (7, 3), (1000, 100), (10**9, 3)])
def test_a_record_is_drawn_with_its_chance(n: int, draws: int) -> None:
    exact = 1 - (1 - Fraction(1, n)) ** draws
    assert Resample(n, draws).chance == pytest.approx(float(exact), rel=1e-12)
    (term,) = Resample(n, draws).terms(Relation.REPLACE_ONE)
    assert float(exact) <= term.chance <= min(1.0, float(exact) * (1.0 + 1e-11))
    ((((law, times),),),) = (Resample(n, draws).attained(Relation.REPLACE_ONE).pairs,)
    assert times == 1 and law.p[0] < float(exact) * (1.0 - 5e-13) and law.q == (0.0, 1.0)


def test_a_smoothed_resample_loses_most_where_every_draw_succeeds() -> None:
    for fake, draws in ((1, 1), (3, 2), (500, 100)):
        exact = draws * math.log((fake + 1) / fake)
        assert SmoothedResample(50, fake, draws).pure == pytest.approx(exact, rel=1e-12)
        profile = compose(SmoothedResample(50, fake, draws).terms(Relation.REPLACE_ONE))
        assert profile.epsilon_upper(0.0) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(("views", "shares"), [((3,), (1.0,)), ((1, 2), (0.25, 0.75)), ((2, 1, 3), (0.5, 0.3, 0.2))])
def test_randomised_records_against_all_their_bits(views: tuple[int, ...], shares: tuple[float, ...]) -> None:
    """Every vector of bits of every view: the largest ratio is e^ε, and the pair that is attained has the same δ(ε)."""
    parts = [round(2**32 * share) for share in shares]
    parts[0] += 2**32 - sum(parts)
    mechanism = RandomisedRecords(2**30, views, tuple(parts))
    q, outcomes = 0.25, []
    for size, share in zip(views, shares, strict=True):
        for bits in itertools.product((0, 1), repeat=size):
            sides = []
            for own in (0, 1):
                chances = [0.5 if cell == min(own, size - 1) else q for cell in range(size)]
                sides.append(share * math.prod(c if bit else 1.0 - c for c, bit in zip(chances, bits, strict=True)))
            outcomes.append(sides)
    p, other = np.array(outcomes).T
    assert mechanism.pure() == pytest.approx(math.log(np.max(p / other)), rel=1e-12) == pytest.approx(math.log(3.0))
    lower = mechanism.attained(Relation.REPLACE_ONE)
    for ((law, _times),) in lower.pairs:
        assert sum(law.p) == pytest.approx(1.0, abs=1e-12) == pytest.approx(sum(law.q), abs=1e-12)
    for delta in (0.0, 0.01, 0.1):
        exact = least_epsilon(lambda e: float(np.maximum(p - math.exp(e) * other, 0.0).sum()), delta + 1e-15)
        assert lower.epsilon_lower(delta) == pytest.approx(exact, abs=1e-6)
    # A cell in which few records lie: the count of its ones is binomial with chance q.
    for view, share in enumerate(shares):
        assert mechanism.noise_sd(900, view) == pytest.approx(
            math.sqrt(900 / share * q * (1 - q)) / (0.5 - q), rel=1e-8
        )
    assert mechanism.debiased(np.array([25, 50]), 100).tolist() == [0.0, 100.0]
