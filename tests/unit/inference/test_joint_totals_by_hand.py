"""The totals of cells and their covariances, one cell, one feature and one released number at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from hedgerow.inference.joint.totals import AcrossCells, JointTotals, SideBySide, influence_range, units_behind
from hedgerow.inference.score_test import skewness_range

FEATURES, ROWS, RELEASED = 2, 3, 6  # N, two sums, three products


def block(
    seed: int,
    *,
    n: int | None = 500,
    public: bool = True,
    law: str = "gaussian",
    census: bool = False,
    limit: int | None = None,
    powers: tuple[tuple[int, ...], ...] | None = None,
    noise_step: float = 0.0,
    across: AcrossCells | None = None,
    several: bool = False,
) -> JointTotals:
    """Return made-up totals of three cells; the noise of every number is a mix of all parts."""
    rng = np.random.default_rng(seed)
    count = np.array([160.0, 90.0, 40.0]) + 3.0 * seed
    sums = count[:, None] * rng.uniform(-0.3, 0.4, (ROWS, FEATURES))
    if limit is not None:
        sums[:, -1] = 1.7 * count
    spread = rng.uniform(0.1, 0.3, ROWS)[:, None, None] * np.array([[1.0, 0.3], [0.3, 0.8]])
    products = count[:, None, None] * spread + sums[:, :, None] * sums[:, None, :] / count[:, None, None]
    mixing = np.diag(np.array([0.0 if public else 2.0, 3.0, 2.5, 4.0, 3.5, 3.0]))
    mixing[1:] += rng.normal(0.0, 0.4, (RELEASED - 1, RELEASED))
    return JointTotals(
        count,
        sums,
        products,
        mixing,
        law,
        n,
        powers,
        census,
        limit,
        noise_step=noise_step,
        across=across,
        several=several,
    )


def numbers(one: JointTotals, row: int) -> np.ndarray:
    """The released numbers of a row, in the order of the mixing."""
    i, j = np.triu_indices(FEATURES)
    return np.concatenate([[one.count[row]], one.sums[row], one.products[row][i, j]])


def slope_of(function: Callable[[np.ndarray], Any], at: np.ndarray) -> np.ndarray:
    """The gradient of a function of released numbers, by central differences."""
    steps = 1e-6 * np.maximum(np.abs(at), 1.0)
    ups = [function(at + step * unit) for step, unit in zip(steps, np.eye(len(at)), strict=True)]
    downs = [function(at - step * unit) for step, unit in zip(steps, np.eye(len(at)), strict=True)]
    return np.array([(up - down) / (2.0 * step) for up, down, step in zip(ups, downs, steps, strict=True)])


@pytest.mark.parametrize("public", [True, False])
def test_the_covariance_of_features_is_that_of_their_moments_less_the_noise(public: bool) -> None:
    one = block(1, public=public)
    for row in range(ROWS):
        n, means = one.count[row], one.sums[row] / one.count[row]
        # The noise of S − m̂N, and so that of m̂ = S/N.
        jacobian = np.array([[-means[0], 1.0, 0.0], [-means[1], 0.0, 1.0]])
        noise = jacobian @ one.mixing[:3] @ one.mixing[:3].T @ jacobian.T
        exact = (one.products[row] / n - np.outer(means, means) + noise / n**2) * n / (n - 1.0)
        assert one.feature_covariance()[row] == pytest.approx(exact, rel=1e-12)
        assert one.residual_noise()[row] == pytest.approx(noise, rel=1e-12)
    assert one.noise_covariance() == pytest.approx(one.mixing[:3] @ one.mixing[:3].T)
    assert one.count_sd == pytest.approx(math.sqrt(np.square(one.mixing[0]).sum()))
    assert one.count_is_public is public
    few = JointTotals(np.array([2.0, 0.5, -4.0]), one.sums, one.products, one.mixing, "gaussian", 500)
    n = np.array([2.0, 1.0, 1.0])[:, None, None]
    means = one.sums / n[:, :, 0]
    raw = one.products / n - means[:, :, None] * means[:, None, :] + few.residual_noise() / n**2
    assert few.feature_covariance() == pytest.approx(2.0 * raw, rel=1e-12), "of two records and fewer it is doubled"
    assert few.means == pytest.approx(means)
    assert not block(1, census=True).feature_covariance().any()
    units = block(1, n=None, limit=3)
    assert units.feature_covariance() == pytest.approx(units.products / units.count[:, None, None])
    assert units.centred is False and block(1, limit=3).centred is True and one.centred is True


@pytest.mark.parametrize(("public", "limit", "n"), [(True, None, 500), (False, None, 500), (True, 3, None)])
def test_the_noise_of_a_sampling_variance_is_its_slope_times_the_noise(
    public: bool, limit: int | None, n: int | None
) -> None:
    one, slopes = block(2, public=public, limit=limit, n=n), np.array([[0.7, -1.2], [0.1, 0.4], [-2.0, 0.3]])
    first, second = one.spread_noise(slopes)
    for row, slope in enumerate(slopes):

        def variance(at: np.ndarray, slope: np.ndarray = slope) -> float:
            count, sums, (xx, xy, yy) = at[0], at[1:3], at[3:]
            square = slope @ np.array([[xx, xy], [xy, yy]]) @ slope / count
            return float(square - ((slope @ sums / count) ** 2 if one.centred else 0.0))

        def level(at: np.ndarray, slope: np.ndarray = slope, row: int = row) -> float:
            return float(slope @ at[1:3] / (at[0] if one.centred else one.count[row]))

        at = numbers(one, row)
        assert first[row] == pytest.approx(slope_of(variance, at) @ one.mixing, rel=1e-6, abs=1e-9)
        of_level = slope_of(level, at) @ one.mixing
        assert second[row] == pytest.approx(2.0 * float(of_level @ of_level) ** 2, rel=1e-6)
    nothing = block(2, census=True).spread_noise(slopes)
    assert nothing[0].shape == (ROWS, RELEASED) and not nothing[0].any() and not nothing[1].any()


def across(seed: int) -> AcrossCells:
    rng = np.random.default_rng(seed)
    moments, sds = rng.normal(0.0, 4.0, (6, 6, 2, 2)), rng.uniform(0.5, 2.0, (6, 6, 2, 2))
    moments = (moments + moments.transpose(1, 0, 3, 2)) / 2.0
    sds = (sds + sds.transpose(1, 0, 3, 2)) / 2.0
    return AcrossCells(np.zeros((6, 1)), moments, sds, np.array([[1.0, 0.5], [0.0, 2.0]]), np.arange(6))


def test_moments_between_cells_are_those_of_their_features() -> None:
    whole = across(4)
    here, there = whole.rows(np.array([0, 1, 2])), whole.rows(np.array([5, 4, 3]))
    slopes, others = np.random.default_rng(5).normal(size=(2, 3, 2))
    noise = here.noise(there, slopes, others)
    for row, (cell, other) in enumerate(((0, 5), (1, 4), (2, 3))):
        moments, sds = whole.moments[cell, other], whole.sds[cell, other]
        assert here.between(there)[row] == pytest.approx(whole.matrix @ moments @ whole.matrix.T, rel=1e-12)
        g, h = slopes[row] @ whole.matrix, others[row] @ whole.matrix
        exact = sum((g[i] * sds[i, j] * h[j]) ** 2 for i in range(2) for j in range(2))
        assert noise[row] == pytest.approx(exact, rel=1e-12)
    groups = np.array([[1.0, 1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0, 0.0, 1.0]])
    moments, mixing = whole.within(groups)
    spreads = []
    for group in range(2):
        cells = np.flatnonzero(groups[group]).tolist()
        pairs = [(a, b) for a in cells for b in cells]
        exact_moments = sum(whole.moments[a, b] for a, b in pairs)
        assert moments[group] == pytest.approx(whole.matrix @ exact_moments @ whole.matrix.T, rel=1e-12)
        spreads.append(sum(np.square(whole.sds[a, b]) for a, b in pairs if a < b))
    spread = np.max(spreads, axis=0)
    # Each pair of cells counts twice, and entry (i, j) of A M A' is the sum over k, l of A_ik A_jl M_kl.
    rows, columns = np.triu_indices(2)
    for entry, (i, j) in enumerate(zip(rows, columns, strict=True)):
        a, b = whole.matrix[i], whole.matrix[j]
        exact_row = [(a[k] * b[m] + a[m] * b[k]) * math.sqrt(spread[k, m]) for k in range(2) for m in range(2)]
        assert mixing[entry] == pytest.approx(exact_row, rel=1e-12)
    twice = whole.with_features(np.array([[0.0, 3.0], [1.0, 1.0]]))
    assert twice.matrix == pytest.approx(np.array([[0.0, 6.0], [1.0, 2.5]]))


def test_what_is_there_twice_is_averaged_by_its_precision() -> None:
    released = np.array([[3.0, 1.0], [5.0, -2.0], [7.0, 4.0]])
    made = AcrossCells.of(released, [(0, 0, 1), (0, 1, 2)], np.array([2.0, 0.5]), 2)
    # f₀f₀ of the cells c and c + 1; f₀ of c times f₁ of c + 2.
    assert made.moments[0, 1, 0, 0] == made.moments[1, 0, 0, 0] == 3.0
    assert made.moments[2, 0, 0, 0] == made.moments[0, 2, 0, 0] == 7.0
    assert made.moments[0, 2, 0, 1] == made.moments[2, 0, 1, 0] == 1.0
    assert made.moments[1, 0, 0, 1] == -2.0 and made.moments[0, 0, 0, 0] == 0.0 == made.sds[0, 0, 0, 0]
    assert made.sds[0, 1, 0, 0] == 2.0 and made.sds[0, 2, 0, 1] == 0.5 and made.sds[0, 2, 1, 0] == 0.0
    half = AcrossCells.of(np.array([[3.0, 8.0], [5.0, 6.0]]), [(0, 0, 1), (0, 0, 1)], np.array([2.0, 1.0]), 1)
    # Four numbers of one product: 3 and 5 with variance 4, 8 and 6 with variance 1.
    assert half.moments[0, 1, 0, 0] == pytest.approx((3.0 / 4 + 5.0 / 4 + 8.0 + 6.0) / 2.5)
    assert half.sds[0, 1, 0, 0] == pytest.approx(1.0 / math.sqrt(2.5))


def shared(n: int | None, *, limit: int | None = 3) -> SideBySide:
    whole = across(6)
    blocks = (
        block(1, n=n, limit=limit, across=whole.rows(np.arange(3))),
        block(3, n=n, limit=limit, across=whole.rows(np.arange(3, 6))),
        block(2, n=n, limit=None),
    )
    return SideBySide(blocks, (0, 0, 1))


@pytest.mark.parametrize("n", [None, 500])
def test_the_sampling_covariance_of_blocks_side_by_side(n: int | None) -> None:
    cells = shared(n)
    assert [(place.start, place.stop) for place in cells.places] == [(0, 3), (3, 6), (6, 9)]
    exact = np.zeros((ROWS, 9, 9))
    for number, one in enumerate(cells.blocks):
        for row in range(ROWS):
            part = max(one.count[row], 1.0) * one.feature_covariance()[row]
            exact[row, 3 * number + 1 : 3 * number + 3, 3 * number + 1 : 3 * number + 3] = part
    first, second = cells.blocks[:2]
    assert first.across is not None and second.across is not None
    for row in range(ROWS):
        between = first.across.between(second.across)[row]
        if n is not None:
            between = (between - np.outer(first.sums[row], second.sums[row]) / n) * n / (n - 1.0)
        exact[row, 1:3, 4:6], exact[row, 4:6, 1:3] = between, between.T
    np.testing.assert_allclose(cells.sampling, exact, rtol=1e-12)
    noise = np.zeros((9, 9))
    for number, one in enumerate(cells.blocks):
        noise[3 * number : 3 * number + 3, 3 * number : 3 * number + 3] = one.mixing[:3] @ one.mixing[:3].T
    np.testing.assert_allclose(cells.noise, noise, rtol=1e-12)
    g, h = np.random.default_rng(9).normal(size=(2, ROWS, 9))
    for row in range(ROWS):
        assert cells.noise_covariance(g, h)[row] == pytest.approx(g[row] @ noise @ h[row], rel=1e-9)
        assert cells.sampling_covariance(g, h, homogeneous=True)[row] == pytest.approx(g[row] @ exact[row] @ h[row])
        whole = exact[row] + cells.counting[row]
        assert cells.sampling_covariance(g, h, homogeneous=False)[row] == pytest.approx(g[row] @ whole @ h[row])
    some = cells.rows(slice(1, 3))
    np.testing.assert_allclose(some.sampling, exact[1:], rtol=1e-12)
    assert some.sources == (0, 0, 1)


def test_blocks_share_units_where_units_have_several_rows_and_their_cells_are_known() -> None:
    """Rows of their own, other people, a census, and cells whose moments were not released: nothing in between."""
    assert shared(None).sampling[:, 1:3, 4:6].any()
    assert not shared(500, limit=None).sampling[:, 1:3, 4:6].any()
    one, two, _ = shared(500).blocks
    assert not SideBySide((one, two), (0, 1)).sampling[:, 1:3, 4:6].any()
    unknown = block(1, limit=3, across=None)
    assert (unknown.knows_cells, one.knows_cells, block(1, limit=1).knows_cells) == (False, True, True)
    assert not SideBySide((unknown, two)).sampling[:, 1:3, 4:6].any()
    assert block(1, several=True).knows_cells is False and block(1).knows_cells is True
    # One row a unit: two cells have no unit in common, and the covariance is that of drawing without replacement.
    alone = SideBySide((block(1, limit=1), block(3, limit=1)))
    a, b = alone.blocks
    exact = -a.sums[:, :, None] * b.sums[:, None, :] / 500.0 * 500.0 / 499.0
    np.testing.assert_allclose(alone.sampling[:, 1:3, 4:6], exact, rtol=1e-12)
    slopes = np.ones((ROWS, 6))
    spread = SideBySide((one, two)).by_block(slopes, np.ones(ROWS), skewed=False).spread
    assert one.across is not None and two.across is not None
    between = 4.0 * one.across.noise(two.across, slopes[:, 1:3], slopes[:, 4:6])
    both = SideBySide((one, two))
    found = both.spread_noise(slopes, both.by_block(slopes, np.ones(ROWS), skewed=False))
    assert found == pytest.approx(np.sqrt(np.square(spread).sum(axis=1) + between), rel=1e-12)
    plain = alone.by_block(slopes, np.ones(ROWS), skewed=False)
    assert alone.spread_noise(slopes, plain) == pytest.approx(np.sqrt(np.square(plain.spread).sum(axis=1)), rel=1e-12)


@pytest.mark.parametrize("n", [None, 500])
def test_what_random_numbers_of_records_add(n: int | None) -> None:
    """TT'/N of each block with a noisy count, less the noise, and less TT'/n where the number of all is public."""
    blocks = (block(1, n=n, public=False), block(2, n=n), block(3, n=n, public=False))
    cells = SideBySide(blocks, (0, 0, 1))
    squares = cells.totals[:, :, None] * cells.totals[:, None, :] - cells.noise
    for row in range(ROWS):
        exact = np.zeros((9, 9))
        for number in (0, 2):
            one, here = blocks[number], slice(3 * number, 3 * number + 3)
            totals = np.append(one.count[row], one.sums[row])
            exact[here, here] += np.outer(totals, totals) / one.count[row]
            sums = slice(3 * number + 1, 3 * number + 3)
            exact[sums, sums] -= one.residual_noise()[row] / one.count[row]
            if n is not None:
                beside = [0, 1] if number == 0 else [2]
                for other in beside:
                    there = slice(3 * other, 3 * other + 3)
                    exact[here, there] -= squares[row, here, there] / n
        np.testing.assert_allclose(cells.counting[row], exact, rtol=1e-9, atol=1e-12)
    assert not SideBySide((block(1, public=False, census=True),)).counting.any()
    low = SideBySide((block(1, n=None, public=False).rows(slice(0, 1)),))
    negative = JointTotals(
        np.array([-3.0]), *(getattr(low.blocks[0], name) for name in ("sums", "products", "mixing", "law"))
    )
    made = SideBySide((negative,)).counting[0]
    assert made[0].tolist() == [0.0, 0.0, 0.0] and made[1, 1] != 0.0, (
        "no records: only what the noise of sums takes off"
    )


@pytest.mark.parametrize("limit", [None, 3])
def test_what_each_block_adds_to_the_variance_of_a_tangent(limit: int | None) -> None:
    blocks = (block(1, limit=limit), block(2, limit=limit, public=False))
    cells, rng = SideBySide(blocks, (0, 1)), np.random.default_rng(3)
    slopes, sampling = rng.normal(size=(ROWS, 6)), rng.uniform(1.0, 5.0, ROWS)
    found = cells.by_block(slopes, sampling, skewed=True)
    parts = np.zeros((ROWS, 2))
    for number, one in enumerate(blocks):
        for row in range(ROWS):
            g = slopes[row, 3 * number : 3 * number + 3]
            n = one.count[row]
            parts[row, number] = max(n * g[1:] @ one.feature_covariance()[row] @ g[1:], 0.0)
            own = slopes[:, 3 * number + 1 : 3 * number + 3]
            first, rest = (part[row] for part in one.spread_noise(own * one.count[:, None]))
            assert found.spread[row, number] == pytest.approx(math.sqrt(first @ first + rest) / n, rel=1e-12)
            assert found.shared[row, number] == pytest.approx(first @ (g @ one.mixing[:3]) / n, rel=1e-9)
            ends = influence_range(own, one)
            behind = n if limit is None else units_behind(one.sums[:, -1], one.products[:, -1, -1], 3, 500)[row]
            skew = skewness_range(np.zeros(1), np.array([parts[row, number] / behind]), ends[0][row], ends[1][row])
            assert found.skew[row, number] == pytest.approx(skew[0][0], rel=1e-9)
            assert found.unsure[row, number] == pytest.approx(skew[1][0], rel=1e-9)
    shares = parts / parts.sum(axis=1, keepdims=True)
    assert found.sampling == pytest.approx(sampling[:, None] * shares, rel=1e-12)
    assert found.products.all() == (limit is not None) and found.products.any() == (limit is not None)
    plain = cells.by_block(slopes, sampling, skewed=False)
    assert not plain.skew.any() and not plain.unsure.any() and not plain.products.any()
    nothing = cells.by_block(np.zeros((ROWS, 6)), sampling, skewed=True)
    assert nothing.sampling == pytest.approx(np.tile(sampling[:, None] / 2.0, (1, 2)))
    behind = np.stack([np.maximum(one.records_behind - 1.0, 1.0) for one in blocks], axis=1)
    exact = found.sampling.sum(axis=1) ** 2 / (found.sampling**2 / behind).sum(axis=1)
    assert cells.freedom(found) == pytest.approx(exact, rel=1e-12)
    assert np.isinf(cells.freedom(cells.by_block(slopes, np.zeros(ROWS), skewed=False))).all()
    rows = found.rows(slice(1, 2))
    assert rows.skew.tolist() == found.skew[1:2].tolist() and rows.products.shape == (1, 2)


def test_products_of_columns_are_marked_where_the_tangent_uses_them() -> None:
    one = block(1, powers=((1, 0), (1, 1)))
    slopes = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [1.0, 0.0, 0.0]])
    found = SideBySide((one,)).by_block(slopes, np.ones(ROWS), skewed=True)
    assert found.products[:, 0].tolist() == [False, True, False]
    assert one.is_product.tolist() == [False, True] and block(1).is_product.tolist() == [False, False]


def test_half_a_step_and_the_number_of_draws_of_noise() -> None:
    step = block(1, noise_step=0.5, law="laplace"), block(2, noise_step=0.0, law="averaged-laplace-4")
    cells, slopes = SideBySide(step), np.random.default_rng(1).normal(size=(ROWS, 6))
    draws = cells.noise_draws(slopes)
    assert draws is not None
    for row in range(ROWS):
        parts = [slopes[row, 3 * number : 3 * number + 3] @ one.mixing[:3] for number, one in enumerate(step)]
        assert cells.half_step(slopes)[row] == pytest.approx(0.25 * np.abs(parts[0]).max(), rel=1e-12)
        second = sum(float(part @ part) for part in parts)
        fourth = float((parts[0] ** 4).sum()) + float((parts[1] ** 4).sum()) / 4.0
        assert draws[row] == pytest.approx(min(max(second**2 / fourth, 1.0), 64.0), rel=1e-12)
    assert SideBySide((block(1),)).noise_draws(slopes[:, :3]) is None
    assert not SideBySide((block(1),)).half_step(slopes[:, :3]).any()
    still = cells.noise_draws(np.zeros((ROWS, 6)))
    assert still is not None and still.tolist() == [64.0] * ROWS
    normal = SideBySide((block(1, law="laplace"), block(2)))
    mixed = np.zeros((ROWS, 6))
    mixed[:, 3:] = slopes[:, 3:]
    only = normal.noise_draws(mixed)
    assert only is not None and only.tolist() == [64.0] * ROWS


@pytest.mark.parametrize(
    "powers",
    [None, ((1, 0), (0, 1)), ((1, 0), (2, 0)), ((2, 0), (0, 2)), ((1, 1), (0, 2)), ((1, 0, 0, 0), (0, 2, 0, 1))],
)
@pytest.mark.parametrize("limit", [None, 4])
def test_the_most_that_a_record_adds_is_found_on_a_grid(
    powers: tuple[tuple[int, ...], ...] | None, limit: int | None
) -> None:
    if limit is not None and powers is not None:
        powers = (powers[0], (-1,) * len(powers[0]))  # the number of rows is a feature of its own
    one, slopes = block(2, powers=powers, limit=limit), np.array([[0.5, -1.0], [-2.0, 0.3], [1.0, 2.0]])
    low, high = influence_range(slopes, one)
    exponents = np.array(powers if powers is not None else np.eye(2, dtype=int))
    for row in range(ROWS):
        values = []
        for u in product(np.linspace(-1.0, 1.0, 9), repeat=exponents.shape[1]):
            features = np.prod(np.array(u)[None, :] ** np.maximum(exponents, 0), axis=1)
            if limit is None:
                values.append(float(slopes[row] @ features - slopes[row] @ np.clip(one.means[row], -1.0, 1.0)))
            else:
                values += [0.0, limit * float(slopes[row, 1] + slopes[row, 0] * features[0])]
        exact = min(*values, 0.0), max(*values, 0.0)
        if powers is not None and len(powers[0]) > 3 and limit is None:
            # Each feature by itself, a bound: an even power is at least 0, another product at least −1.
            assert low[row] <= exact[0] + 1e-9 and high[row] >= exact[1] - 1e-9
            level = float(slopes[row] @ np.clip(one.means[row], -1.0, 1.0))
            assert (low[row] + level, high[row] + level) == pytest.approx(
                (-np.abs(slopes[row]).sum(), np.abs(slopes[row]).sum())
            )
        else:
            assert (low[row], high[row]) == pytest.approx(exact, rel=1e-9, abs=1e-12)


def test_even_powers_of_many_columns_are_not_negative() -> None:
    powers = ((2, 0, 0, 0), (0, 2, 0, 4))
    one = block(1, powers=powers)
    slopes = np.array([[0.5, -1.0], [2.0, 0.3], [-1.0, -2.0]])
    low, high = influence_range(slopes, one)
    level = np.sum(slopes * np.clip(one.means, -1.0, 1.0), axis=1)
    assert low == pytest.approx(np.minimum([-1.0, 0.0, -3.0] - level, 0.0), abs=1e-12)
    assert high == pytest.approx(np.maximum([0.5, 2.3, 0.0] - level, 0.0), abs=1e-12)


def test_the_number_of_units_behind_rows_lies_between_what_is_possible() -> None:
    rows, squares = np.array([200.0, 200.0, 200.0, 200.0, 0.5]), np.array([400.0, 4000.0, 100.0, 0.2, 0.1])
    # (Σr)²/Σr², at least Σr/L, at most Σr and n.
    assert units_behind(rows, squares, 4, None).tolist() == [100.0, 50.0, 200.0, 200.0, 1.0]
    assert units_behind(rows, squares, 4, 90).tolist() == [90.0, 50.0, 90.0, 90.0, 1.0]
    assert units_behind(rows, squares, 1, None, 3).tolist() == [200.0, 200.0, 400.0, 600.0, 1.0]
    assert units_behind(np.array([10.0]), np.array([1.0]), 1, 0).tolist() == [1.0]


@pytest.mark.parametrize("law", ["gaussian", "laplace", "averaged-laplace-9"])
def test_totals_over_cells(law: str) -> None:
    one = block(1, law=law)
    pairs = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    made = one.over(lambda column: pairs @ column, 2, np.ones(2))
    assert made.sums == pytest.approx(pairs @ one.sums) and made.count == pytest.approx(pairs @ one.count)
    assert made.products == pytest.approx(np.einsum("gc,cij->gij", pairs, one.products))
    assert made.mixing == pytest.approx(math.sqrt(2.0) * one.mixing)
    assert (
        made.law
        == {"gaussian": "gaussian", "laplace": "averaged-laplace-2", "averaged-laplace-9": "averaged-laplace-18"}[law]
    )
    assert made.across is None and made.n == one.n
    many = one.over(lambda column: np.ones((1, 3)) @ column, 100, np.ones(2))
    assert many.law == ("gaussian" if law == "gaussian" else "averaged-laplace-64")
    units = block(1, law=law, limit=3, n=None).over(lambda column: pairs @ column, 2, np.ones(2))
    # A unit has rows in two of the cells at most.
    assert units.products == pytest.approx(2.0 * np.einsum("gc,cij->gij", pairs, block(1, limit=3).products))
    assert units.mixing[3:] == pytest.approx(2.0 * math.sqrt(2.0) * one.mixing[3:])
    assert units.mixing[:3] == pytest.approx(math.sqrt(2.0) * one.mixing[:3])
    assert units.count == pytest.approx(units_behind(units.sums[:, -1], units.products[:, -1, -1], 3, None))
    known = block(1, law=law, limit=3, n=500).over(lambda column: pairs @ column, 2, np.ones(2))
    assert known.count.tolist() == [500.0, 500.0]


def test_products_between_cells_are_taken_where_their_noise_is_less_than_the_bound_is_too_large_by() -> None:
    every = np.ones((1, 3))
    for scale, taken in ((1e-3, True), (1e3, False)):
        whole = across(4)
        cells = AcrossCells(whole.released, whole.moments, scale * whole.sds, np.eye(2), np.arange(3))
        one, slopes = block(1, limit=3, across=cells), np.array([1.0, -0.5])
        made = one.over(lambda column: every @ column, 3, slopes)
        bound = 3.0 * one.products.sum(axis=0)
        between, noise = cells.within(every)
        if taken:
            assert made.products[0] == pytest.approx(one.products.sum(axis=0) + between[0], rel=1e-12)
            assert made.mixing[:, :6] == pytest.approx(math.sqrt(3.0) * one.mixing, rel=1e-12)
            assert made.mixing[3:, 6:] == pytest.approx(noise, rel=1e-12) and not made.mixing[:3, 6:].any()
        else:
            assert made.products[0] == pytest.approx(bound, rel=1e-12)
            assert made.mixing.shape == (6, 6)


@pytest.mark.parametrize("more", [0.99, 1.01])
def test_products_between_cells_are_dropped_exactly_where_their_noise_is_too_much(more: float) -> None:
    """The noise of Σ g_i g_j Q_ij, over every i and j, against what the bound is too large by; `more` of the limit."""
    every, slopes, one = np.ones((1, 3)), np.array([1.0, -0.5]), block(1, limit=3)
    whole = across(4)
    noise = whole.rows(np.arange(3)).within(every)[1]
    place = {(0, 0): 0, (0, 1): 1, (1, 0): 1, (1, 1): 2}

    def of_form(rows: np.ndarray) -> np.ndarray:
        pairs = product(range(2), repeat=2)
        return np.asarray(sum(slopes[i] * slopes[j] * rows[place[i, j]] for i, j in pairs))

    # A unit has rows in three cells: thrice the squares, with thrice the noise.
    squares = of_form(math.sqrt(3.0) * one.mixing[3:])
    too_large = 2.0 * float(slopes @ one.products.sum(axis=0) @ slopes)
    limit = math.sqrt((too_large + 3.0 * np.linalg.norm(squares)) ** 2 - squares @ squares)
    scale = more * limit / np.linalg.norm(of_form(noise))
    cells = AcrossCells(whole.released, whole.moments, scale * whole.sds, whole.matrix, np.arange(3))
    made = block(1, limit=3, across=cells).over(lambda column: every @ column, 3, slopes)
    assert (made.mixing.shape[1] > RELEASED) is (more < 1.0)


def test_the_place_of_a_product_among_the_released_numbers() -> None:
    one = block(1)
    rows, columns = np.triu_indices(3)
    for place, (i, j) in enumerate(zip(rows, columns, strict=True)):
        assert one.place_of_product(int(i), int(j)) == one.place_of_product(int(j), int(i)) == place


@pytest.mark.parametrize("records", [0.3, 1.0, 2.05, 3.0])
def test_a_sampling_variance_has_one_degree_of_freedom_at_least(records: float) -> None:
    """Welch: (v₁ + v₂)²/Σ v_b²/ν_b, ν the records of a block less one."""
    one, other = block(1).rows(slice(0, 1)), block(2).rows(slice(0, 1))
    few = replace(one, count=np.array([records]), sums=np.zeros((1, 2)))
    nu = max(records - 1.0, 1.0)
    slopes = np.array([[0.0, 1.0, 0.5]])
    alone = SideBySide((few,))
    assert alone.freedom(alone.by_block(slopes, np.array([4.0]), skewed=False)) == pytest.approx([nu])
    both = SideBySide((few, other))
    parts = both.by_block(np.hstack([slopes, slopes]), np.array([4.0]), skewed=False)
    first, second = parts.sampling[0]
    expected = 16.0 / (first**2 / nu + second**2 / (float(other.count[0]) - 1.0))
    assert first > 0.0 < second and both.freedom(parts) == pytest.approx([expected])
    nothing = alone.by_block(slopes, np.array([0.0]), skewed=False)
    assert alone.freedom(nothing).tolist() == [math.inf]


def test_of_how_many_draws_a_noise_is_does_not_depend_on_its_unit() -> None:
    one, slopes = block(1, law="laplace"), np.array([[0.2, 1.0, 0.5]] * ROWS)
    small = replace(one, mixing=1e-3 * one.mixing)
    draws, same = (SideBySide((each,)).noise_draws(slopes) for each in (one, small))
    assert draws is not None and same is not None
    assert same == pytest.approx(draws, rel=1e-12) and (draws > 1.01).all()


def test_a_record_without_a_value_adds_nothing_to_a_mean_of_those_that_have_one() -> None:
    """Features u, 0 where it is missing, and 1 where it is there: the missing one must lie in the range."""
    cells = block(1, public=False, powers=((1,), (-1,)))
    slopes = np.array([[0.1, 1.0], [0.1, -0.5], [1.0, 0.2]])
    level = (slopes * np.clip(cells.means, -1.0, 1.0)).sum(axis=1)
    low, high = influence_range(slopes, cells)
    assert (low <= np.minimum(0.0 - level, 0.0)).all()
    assert (high >= np.maximum(0.0 - level, 0.0)).all()
