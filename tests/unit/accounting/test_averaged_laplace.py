"""The price of averaged Laplace releases, against enumeration of the law that is drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import fftconvolve

from hedgerow.accounting.averaged import SummedLaplace, SummedLaw, gathered_curve, moved_curve
from hedgerow.accounting.compose import compose, profile_of
from hedgerow.accounting.dominating_pairs import KnownCurvePair
from hedgerow.accounting.profile import GaussianProfile
from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.ledger.total import RunningTotal
from hedgerow.mechanisms.certificate import Certificate, certify
from hedgerow.mechanisms.mechanism import Composition
from hedgerow.mechanisms.noisy_counts import (
    AveragedLaplaceCounts,
    AveragedLaplaceNoise,
    GaussianNoise,
    GeometricCounts,
    LaplaceNoise,
)
from hedgerow.mechanisms.noisy_moments import AveragedLaplaceMoments, MomentsLayout, MomentsNoise, boxes
from hedgerow.noise.lattice import LatticeNoise

NEAR, FAR = Relation.ADD_REMOVE, Relation.REPLACE_ONE
CASES = [(1, 1.0), (2, 0.3), (3, 4.0), (10, 0.5), (10, 3.0), (40, 1.0)]


def drawn_law(draws: int, scale: float, reach: int | None = None) -> np.ndarray:
    """P(z), z = −reach..reach, of the sum, by convolving one draw's law with itself: no formula of the sum is used."""
    reach = reach or math.ceil((45 + 10 * math.sqrt(draws)) * scale)
    one = np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)
    one /= one.sum()
    law = one
    for _ in range(draws - 1):
        law = fftconvolve(law, one, mode="same") if reach > 5000 else np.convolve(law, one, mode="same")
    return law


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


@pytest.mark.parametrize(("draws", "scale"), CASES)
def test_masses_and_tails_are_those_of_the_convolution(draws: int, scale: float) -> None:
    law = drawn_law(draws, scale)
    reach = len(law) // 2
    z = np.arange(-5.0, math.ceil(4 * scale * math.sqrt(draws)))
    place = z.astype(int) + reach
    summed = SummedLaw(draws, scale)
    assert np.exp(summed.log_mass(z)) == pytest.approx(law[place], rel=1e-10)
    assert summed.tail(z) == pytest.approx(np.cumsum(law[::-1])[::-1][place], rel=1e-10)


@pytest.mark.parametrize("draws", [1, 2, 10, 100, 500])
def test_the_continuous_law_is_the_limit_of_fine_lattices(draws: int) -> None:
    x = np.linspace(-3.0, 6.0, 10) * math.sqrt(2 * draws)
    fine = SummedLaw(draws, 1e7).tail(np.rint(x * 1e7))
    assert fine == pytest.approx(SummedLaplace(draws).tail(x), rel=1e-5)


@pytest.mark.parametrize(("draws", "scale"), CASES)
@pytest.mark.parametrize("cells", [1, 2])
def test_counts_are_priced_at_their_exact_curve(draws: int, scale: float, cells: int) -> None:
    law = drawn_law(draws, scale, reach=None if cells == 1 else 400)
    p, q = np.append(law, 0.0), np.append(0.0, law)
    if cells == 2:
        p, q = np.outer(p, q), np.outer(q, p)
    profile = profile_of(AveragedLaplaceCounts(scale, draws, cells), FAR if cells == 2 else NEAR)
    pure = cells / scale
    for part in (0.0, 0.1, 0.25, 0.5, 0.75):
        exact, upper = hockey_stick(p, q, part * pure), profile.delta_upper(part * pure)
        assert upper >= exact * (1 - 1e-9)
        assert exact < 1e-12 or upper <= exact * 1.002
    assert profile.epsilon_upper(0.0) == pytest.approx(pure, rel=1e-9) and profile.delta_upper(pure * 1.000001) == 0.0
    # The sabotage: the price of one cell where two move.
    if cells == 2:
        half = profile_of(AveragedLaplaceCounts(scale, draws, 1), NEAR)
        assert half.delta_upper(0.5 * pure) < hockey_stick(p, q, 0.5 * pure)


def test_one_draw_is_the_laplace_mechanism() -> None:
    for epsilon in (0.3, 2.0):
        averaged = profile_of(AveragedLaplaceNoise(1 / epsilon, 1, 1.0), NEAR)
        for part in (0.0, 0.3, 0.9):
            exact = -math.expm1((part * epsilon - epsilon) / 2)
            assert exact <= averaged.delta_upper(part * epsilon) <= exact * 1.001
        oracle = profile_of(LaplaceNoise(1 / epsilon, 1.0), NEAR)
        assert averaged.epsilon_upper(0.05) == pytest.approx(oracle.epsilon_upper(0.05), rel=1e-3)
    geometric = profile_of(GeometricCounts(2.0, 3), FAR)
    one = profile_of(AveragedLaplaceCounts(2.0, 1, 3), FAR)
    assert one.epsilon_upper(0.1) == pytest.approx(geometric.epsilon_upper(0.1), rel=1e-3)


@pytest.mark.parametrize("draws", [2, 10, 50, 500])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_no_sum_costs_more_than_a_gaussian_of_the_same_variance(draws: int, epsilon: float) -> None:
    """Computed at these points, not proven: bounded losses have lighter tails."""
    averaged = profile_of(AveragedLaplaceNoise(1 / epsilon, draws, 1.0), NEAR)
    gaussian = GaussianProfile(epsilon / math.sqrt(2 * draws))
    for delta in (1e-6, 1e-9):
        assert averaged.epsilon_upper(delta) < gaussian.epsilon_upper(delta)


@given(st.integers(1, 30), st.floats(0.2, 50.0), st.floats(0.0, 0.95), st.booleans())
def test_another_draw_never_costs_more(draws: int, scale: float, part: float, replaced: bool) -> None:
    relation, pure = (FAR, 2 / scale) if replaced else (NEAR, 1 / scale)
    fewer, more = (profile_of(AveragedLaplaceCounts(scale, k, 2), relation) for k in (draws, draws + 1))
    assert more.delta_upper(part * pure) <= fewer.delta_upper(part * pure) * 1.003 + 1e-11


def moments(total: LatticeNoise, square: LatticeNoise | None, draws: int, cells: int = 1) -> AveragedLaplaceMoments:
    layout = MomentsLayout(-2, 2, 2, 0, "public" if cells == 1 else "private", cells)
    return AveragedLaplaceMoments(layout, MomentsNoise(None, total, square), draws)


def test_one_coordinate_is_priced_by_its_farthest_movement() -> None:
    """y in {−2, 0, 2}: replaced, it moves by up to 4, of which each is 2^bits steps."""
    noise = LatticeNoise(1000, 8)
    law = drawn_law(3, 1000.0, reach=40_000)
    moved = 4 * 2**8
    p, q = np.append(law, np.zeros(moved)), np.append(np.zeros(moved), law)
    priced = profile_of(moments(noise, None, 3), FAR)
    for epsilon in (0.0, 0.3, 0.6):
        exact = hockey_stick(p, q, epsilon)
        assert exact * (1 - 1e-9) <= priced.delta_upper(epsilon) <= exact * 1.002
    assert priced.epsilon_upper(0.0) == pytest.approx(moved / 1000, rel=1e-9)
    # Across cells each of two moves by 2 at most: the same pure price, and less at every δ below.
    apart = profile_of(moments(noise, None, 3, cells=2), FAR)
    assert apart.epsilon_upper(0.0) == pytest.approx(moved / 1000, rel=1e-9)


def exact_vector(pairs: list[tuple[np.ndarray, np.ndarray]], epsilon: float) -> float:
    """δ(ε) of two independent pairs: Σ P₁(z)·δ₂(ε − l₁(z)), δ₂ by sorted losses."""
    losses, masses = [], []
    for p, q in pairs:
        kept = (p > 0) & (q > 0)
        losses.append(np.log(p[kept]) - np.log(q[kept]))
        masses.append((p[kept], q[kept]))
    order = np.argsort(losses[1])
    p_tail, q_tail = (np.append(np.cumsum(m[order][::-1])[::-1], 0.0) for m in masses[1])
    left = epsilon - losses[0]
    at = np.searchsorted(losses[1][order], left, side="right")
    return float(masses[0][0] @ (p_tail[at] - np.exp(left) * q_tail[at]))


@pytest.mark.parametrize("draws", [1, 3, 10])
@pytest.mark.parametrize("moved", [(900, 0), (450, 450), (200, 800), (800, 100)])
def test_a_vector_costs_no_more_than_one_number_that_moves_by_all_of_it(draws: int, moved: tuple[int, int]) -> None:
    """By the exact law of numbers of 1,000 and 1,200 steps a scale; the price of the farther one alone is too low."""
    scales = (1000.0, 1200.0)
    laws = [drawn_law(draws, scale, reach=45_000) for scale in scales]
    pairs = [(np.append(f, np.zeros(d)), np.append(np.zeros(d), f)) for f, d in zip(laws, moved, strict=True)]
    each = [d / scale for d, scale in zip(moved, scales, strict=True)]
    gathered = gathered_curve(draws, sum(each), sum(1.0 / scale for scale, d in zip(scales, moved, strict=True) if d))
    alone = moved_curve(SummedLaplace(draws), max(each), max(each)).curve
    for part in (0.0, 0.3, 0.6, 0.9):
        exact = exact_vector(pairs, part * sum(each))
        assert gathered.delta_upper(part * sum(each)) >= exact * (1 - 1e-9) - 1e-15
        if 0 in moved:  # exact for a number that moves two steps a draw more
            farther = moved[0] + 2 * draws
            p, q = np.append(laws[0], np.zeros(farther)), np.append(np.zeros(farther), laws[0])
            assert gathered.delta_upper(part * sum(each)) <= 1.01 * hockey_stick(p, q, part * sum(each)) + 1e-12
        elif part == 0.0:
            assert alone.delta_upper(0.0) < exact


@pytest.mark.parametrize(("draws", "scale"), [(1, 1.0), (2, 3.0), (5, 2.5), (40, 20.0)])
@pytest.mark.parametrize("moved", [1, 3, 20])
def test_a_coarse_lattice_is_paid_for(draws: int, scale: float, moved: int) -> None:
    law = drawn_law(draws, scale, reach=3_000)
    p, q = np.append(law, np.zeros(moved)), np.append(np.zeros(moved), law)
    curve = gathered_curve(draws, moved / scale, 1.0 / scale)
    for part in (0.0, 0.3, 0.6, 0.9, 0.99):
        assert curve.delta_upper(part * moved / scale) >= hockey_stick(p, q, part * moved / scale)


@pytest.mark.parametrize(("draws", "bits"), [(1, 6), (4, 7), (10, 8)])
def test_vectors_are_priced_at_their_worst_movement(draws: int, bits: int) -> None:
    """y in {−2, 0, 2}: replaced, (sum, square) move by (2, 4) or (4, 0), in steps of 2^−bits at 1,000 steps a draw."""
    noise = LatticeNoise(1000, bits)
    law = drawn_law(draws, 1000.0, reach=45_000)
    priced = profile_of(moments(noise, noise, draws), FAR)
    pure = 6 * 2**bits / 1000
    assert priced.epsilon_upper(0.0) == pytest.approx(pure, rel=1e-9)

    def moved(steps: int) -> tuple[np.ndarray, np.ndarray]:
        return np.append(law, np.zeros(steps)), np.append(np.zeros(steps), law)

    for part in (0.1, 0.3, 0.5):
        both = exact_vector([moved(2 * 2**bits), moved(4 * 2**bits)], part * pure)
        worst = max(both, hockey_stick(*moved(4 * 2**bits), part * pure))
        assert worst * (1 - 1e-9) <= priced.delta_upper(part * pure) <= worst * 1.03
        # The sabotage: the price of the sum alone.
        assert profile_of(moments(noise, None, draws), FAR).delta_upper(part * pure) < worst


@given(st.integers(-40, 5), st.integers(1, 3), st.integers(1, 60), st.booleans(), st.booleans())
def test_boxes_hold_every_movement(start: int, stride: int, steps: int, square: bool, count: bool) -> None:
    layout = MomentsLayout(start, stride, steps, 7, "private", 1)
    found = boxes(layout, square, count)
    y = start + stride * np.arange(steps + 1)
    offset = 7 if count else 0
    one_sided = [(int(count), abs(v), abs(v * v - offset) * square) for v in y.tolist()]
    same = [(0, abs(v - w), abs(v * v - w * w) * square) for v in y.tolist() for w in y.tolist()]
    for movements, held in ((one_sided, found.one_sided), (same, found.same)):
        corners = [(box.count, box.total, box.square) for box in held]
        assert all(
            any(all(m <= c for m, c in zip(move, corner, strict=True)) for corner in corners) for move in movements
        )


def test_certificates_price_themselves_and_ledgers_add_them_up() -> None:
    noise = LatticeNoise(2**20, 10)
    mechanisms = [
        AveragedLaplaceCounts(20.0, 10, 3),
        moments(noise, LatticeNoise(2**20, 8), 10),
        AveragedLaplaceNoise(20.0, 10, 1.0),
    ]
    for mechanism in (*mechanisms, Composition((*mechanisms, GaussianNoise(30.0, 1.0)))):
        certificate = certify(mechanism, FAR, unit="row", delta=1e-6)
        again = Certificate.from_json(certificate.to_json())
        again.verify()
        assert again.mechanism == mechanism
    pure, total = RunningTotal(FAR, 5.0, 0.0), RunningTotal(FAR, 5.0, 1e-6)
    for _ in range(20):
        pure, total = pure.plus(mechanisms[0]), total.plus(mechanisms[0])
    assert pure.micro == pytest.approx(2e6, abs=30)
    gaussian = GaussianProfile(math.sqrt(20 * 2 / (20 * 20**2))).epsilon_upper(1e-6)
    assert total.micro is not None and 0.9e6 * gaussian < total.micro < 1.05e6 * gaussian


def test_composition_is_that_of_curves() -> None:
    (one,) = AveragedLaplaceCounts(2.0, 4, 1).terms(NEAR)
    (twice,) = AveragedLaplaceCounts(2.0, 4, 2).terms(FAR)
    composed = compose([KnownCurvePair(one.curve, one.largest)] * 2)
    assert composed.epsilon_upper(1e-5) == pytest.approx(twice.curve.epsilon_upper(1e-5), rel=3e-3)
    assert composed.epsilon_upper(0.0) == pytest.approx(twice.largest, rel=1e-9)


def test_wide_noise_is_priced_as_quickly_as_narrow_noise_is() -> None:
    wide = moved_curve(SummedLaw(10, 1e9), 1e9, 1.0)
    line = moved_curve(SummedLaplace(10), 1.0, 1.0)
    assert wide.curve.epsilon_upper(1e-6) == pytest.approx(line.curve.epsilon_upper(1e-6), rel=1e-6)


@pytest.mark.parametrize("draws", [0, 501, True, 2.0])
def test_a_number_of_draws_is_whole_and_bounded(draws: object) -> None:
    with pytest.raises(ParameterError, match="HG406"):
        AveragedLaplaceCounts(1.0, draws, 1)


def test_noise_that_would_leave_64_bits_is_refused_and_wide_noise_is_priced() -> None:
    for scale in (1e6, 1e9):
        profile = profile_of(AveragedLaplaceCounts(scale, 1, 1), Relation.ADD_REMOVE)
        assert profile.delta_upper(0.0) >= math.tanh(0.5 / scale)
    with pytest.raises(ParameterError, match="HG107"):
        AveragedLaplaceCounts(1e30, 1, 1)
