"""Smooth functions of noisy joint moments: exact moments give textbook numbers, and every answer is finite."""

import math

import numpy as np
import pytest
from scipy import stats

from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.inference.joint.arithmetic import JointCells, JointValue
from hedgerow.inference.joint.estimates import JointEstimates, estimate, joint_covariance
from hedgerow.inference.joint.functions import (
    CorrelationOfTotals,
    CovarianceOfTotals,
    DeviationOfTotals,
    FunctionOfTotals,
    MeanOfTotals,
    RatioOfTotals,
    ScaledMean,
    SumOfTotals,
    gradient,
    smooth_function,
    value_of,
)
from hedgerow.inference.joint.totals import JointTotals, SideBySide, influence_range, moments_of
from hedgerow.inference.means_and_counts import NoisyMoments, mean_errors, mean_score_test, sum_variance
from hedgerow.inference.region import ScoreRegion
from hedgerow.mechanisms.joint.joint_moments import joint_moments
from hedgerow.mechanisms.joint.joint_numbers import JointFeature, JointLayout
from hedgerow.mechanisms.joint.joint_sensitivity import JointWeights
from hedgerow.mechanisms.laws import LAPLACE
from hedgerow.resampling.counted_values import GridSums

RNG = np.random.default_rng(15)
N = 400
U = np.clip(RNG.normal(0.1, 0.3, N), -1, 1)
V = np.clip(0.5 * U + RNG.normal(0.2, 0.2, N), -1, 1)
POWERS = ((1, 0), (0, 1), (2, 0), (0, 2), (1, 1))
X, Y = ScaledMean(1, 50.0, 50.0), ScaledMean(2, 8.0, 4.0)
VARIANCE, OTHER, BOTH = CovarianceOfTotals(X, X, 3), CovarianceOfTotals(Y, Y, 4), CovarianceOfTotals(X, Y, 5)
FUNCTIONS: list[FunctionOfTotals] = [
    MeanOfTotals(X),
    RatioOfTotals(X, Y),
    VARIANCE,
    DeviationOfTotals(VARIANCE),
    BOTH,
    CorrelationOfTotals(BOTH, VARIANCE, OTHER),
    SumOfTotals(X),
]


def joint(noise_sd: float = 0.0, law: str = "gaussian", *, shift: float = 0.0, counted: bool = False) -> JointTotals:
    """The moments of 400 records, `shift` noise standard deviations off; with `counted` the count is noisy."""
    features = np.stack([U**i * V**j for i, j in POWERS], axis=1)
    products = features.T @ features
    sds = np.full(21, noise_sd)
    sds[0] = noise_sd if counted else 0.0
    off = shift * sds
    moments = np.zeros((6, 6))
    moments[np.triu_indices(6)] = off
    moments = moments + np.triu(moments, 1).T
    return JointTotals(
        np.array([N + moments[0, 0]]),
        (features.sum(axis=0) + moments[0, 1:])[None],
        (products + moments[1:, 1:])[None],
        np.diag(sds),
        law,
        N,
        POWERS,
    )


def read(function: FunctionOfTotals, totals: JointTotals) -> JointEstimates:
    return estimate(function, SideBySide((totals,)))


def test_without_noise_the_estimates_are_the_textbook_ones() -> None:
    x, y = 50 + 50 * U, 8 + 4 * V
    expected = [
        (x.mean(), x.std(ddof=1) / math.sqrt(N)),
        (x.sum() / y.sum(), np.std(x - x.sum() / y.sum() * y, ddof=1) / y.mean() / math.sqrt(N)),
        (x.var(ddof=1), np.std((x - x.mean()) ** 2, ddof=1) / math.sqrt(N)),
        (x.std(ddof=1), np.std((x - x.mean()) ** 2, ddof=1) / math.sqrt(N) / (2 * x.std())),
        (np.cov(x, y)[0, 1], np.std((x - x.mean()) * (y - y.mean()), ddof=1) / math.sqrt(N)),
        (np.corrcoef(x, y)[0, 1], _correlation_error(x, y)),
    ]
    for function, (value, error) in zip(FUNCTIONS, expected, strict=False):
        made = read(function, joint())
        # The variance's own sampling bias is 1/n, exactly, to second order.
        assert made.value[0] == pytest.approx(value, rel=2e-5), function
        assert made.standard_error[0] == pytest.approx(error, rel=3e-3), function
        assert made.privacy_error[0] == 0.0
        low, high = made.accepted(0.95)
        assert low[0] < value < high[0]
        # Without noise the skewness that is not known counts most: that of products more than that of columns.
        assert 0.98 < (high[0] - low[0]) / (2 * 1.966 * error) < (1.15 if function in FUNCTIONS[:2] else 1.8)


def _correlation_error(x: np.ndarray, y: np.ndarray) -> float:
    a, b = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    r = np.mean(a * b)
    return float(np.std(a * b - r * (a**2 + b**2) / 2, ddof=1) / math.sqrt(N))


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_a_mean_is_read_as_everywhere_else(law: str, counted: bool) -> None:
    totals = joint(6.0, law, shift=0.7, counted=counted)
    moments = NoisyMoments(
        totals.count, totals.sums[:, 0], totals.products[:, 0, 0], 6.0 if counted else 0.0, 6.0, 6.0, 0.0
    )
    errors = mean_errors(moments)
    basis = mean_score_test(moments, errors, (50.0, 50.0), noise_law=law, method="moments")
    made = read(MeanOfTotals(X), totals)
    assert made.value.tolist() == (50 + 50 * errors.mean).tolist()
    assert made.standard_error.tolist() == np.hypot(50 * errors.sampling_error, 50 * errors.privacy_error).tolist()
    assert np.array(made.accepted(0.9)).tolist() == np.array(basis.accepted(0.9)).tolist()
    # The general way, which the arithmetic of means takes, agrees: the same parts, and intervals within 3 %.
    tangent = made.tangent
    assert tangent.sampling[0] == pytest.approx(float((50 * errors.sampling_error[0]) ** 2), rel=1e-9)
    assert tangent.noise[0] == pytest.approx(float((50 * errors.privacy_error[0]) ** 2), rel=1e-9)
    other = estimate(RatioOfTotals(X, ScaledMean(2, 1.0, 0.0)), SideBySide((totals,)))
    low, high = (end[0] for end in other.accepted(0.95))
    first, last = (end[0] for end in made.accepted(0.95))
    assert (high - low) / (last - first) == pytest.approx(1.0, abs=0.04)


def test_a_sum_of_a_private_part_of_the_records_has_the_error_of_sums() -> None:
    totals = joint(5.0, shift=0.5, counted=True)
    moments = NoisyMoments(totals.count, totals.sums[:, 0], totals.products[:, 0, 0], 5.0, 5.0, 5.0, 0.0)
    for n in (None, 3 * N):
        total = JointTotals(totals.count, totals.sums, totals.products, totals.mixing, "gaussian", n, POWERS)
        made = read(SumOfTotals(ScaledMean(1)), total)
        assert made.tangent.sampling[0] == pytest.approx(float(sum_variance(moments, n)[0][0]), rel=0.01)
        assert made.privacy_error[0] == pytest.approx(5.0)


def test_gradients_are_those_of_differences() -> None:
    totals = joint(4.0, shift=0.3, counted=True).totals
    for function in FUNCTIONS:
        exact = gradient(function, totals)[0]
        for place in range(6):
            step = np.zeros_like(totals)
            step[0, place] = 1e-4
            rise = (value_of(function, totals + step) - value_of(function, totals - step)) / 2e-4
            assert exact[place] == pytest.approx(float(rise[0]), rel=1e-5, abs=1e-9)


def test_a_user_function_is_the_named_one() -> None:
    columns = {"x": X, "y": Y}
    for function in (lambda t: t["x"] / t["y"], lambda t: math.exp(math.log(t["x"]) - math.log(t["y"]))):
        own = smooth_function(function, columns, (0.0, 25.0))
        made, named = read(own, joint(4.0, shift=0.5)), read(RatioOfTotals(X, Y), joint(4.0, shift=0.5))
        assert made.value[0] == pytest.approx(float(named.value[0]))
        assert made.standard_error[0] == pytest.approx(float(named.standard_error[0]), rel=1e-6)
        for end, other in zip(made.accepted(0.95), named.accepted(0.95), strict=True):
            assert end[0] == pytest.approx(float(other[0]), rel=2e-3)
    assert smooth_function(lambda t: math.log(t["x"]), columns).by_differences
    assert not smooth_function(lambda t: np.log(t["x"]), columns).by_differences


def test_a_slope_that_is_lost_beside_a_far_larger_one_is_no_corner() -> None:
    """A square of 10⁹ hides in its rounding by how much differences move with y, which moves the value by 5."""
    columns = {"x": ScaledMean(1, 5e4, 5e4), "y": ScaledMean(2, 5.0, 5.0)}
    assert not smooth_function(lambda t: t["x"] ** 2 + t["y"], columns).by_differences


@pytest.mark.parametrize(
    "function",
    [
        lambda t: abs(t["x"] - 50),
        lambda t: max(t["x"], t["y"]),
        lambda t: round(t["x"]),
        lambda t: 1.0 if t["x"] > 50 else 0.0,
        lambda t: t["x"].real ** 2,
    ],
    ids=["abs", "max", "round", "step", "real part"],
)
def test_what_is_not_smooth_is_refused_before_any_data(function: object) -> None:
    with pytest.raises(ParameterError) as refused:
        smooth_function(function, {"x": X, "y": ScaledMean(2, 40.0, 40.0)})
    assert refused.value.code == "HG129"


def test_what_returns_no_number_is_refused() -> None:
    with pytest.raises(ParameterError) as refused:
        smooth_function(lambda t: t["z"], {"x": X})
    assert refused.value.code == "HG112"
    with pytest.raises(ParameterError, match=r"Its means are: (c\d+, ){19}c19\."):
        smooth_function(lambda t: t["z"], {f"c{place}": X for place in range(25)})


@pytest.mark.parametrize("same", [False, True])
def test_the_estimate_of_a_covariance_is_without_the_bias_of_a_product_of_means(same: bool) -> None:
    """The covariance of the two means, by their slopes, whatever count and sums have in common."""
    rng = np.random.default_rng(4)
    x, y = ScaledMean(1, 5.0, 2.0), ScaledMean(2, 8.0, 4.0)
    pair = (x, x) if same else (x, y)
    totals = np.array([[120.0, 30.0, -20.0, 45.0], [80.0, -50.0, 10.0, 30.0]])
    roots = rng.normal(size=(2, 4, 4))
    excess = roots @ roots.transpose(0, 2, 1)
    first, second = (gradient(MeanOfTotals(axis), totals) for axis in pair)
    function = CovarianceOfTotals(*pair, 3)
    bias = np.einsum("ri,rij,rj->r", first, excess, second)
    assert function.estimate(totals, excess) == pytest.approx(value_of(function, totals) + bias, rel=1e-12)


@pytest.mark.parametrize("law", ["gaussian", "laplace", "averaged-laplace-10"])
@pytest.mark.parametrize("noise_sd", [1.0, 30.0, 1e3, 1e6])
@pytest.mark.parametrize("shift", [-3.0, 0.0, 2.5])
@pytest.mark.parametrize("counted", [False, True])
def test_every_answer_is_a_number_and_lies_in_what_is_possible(
    law: str, noise_sd: float, shift: float, counted: bool
) -> None:
    totals = joint(noise_sd, law, shift=shift, counted=counted)
    for function in FUNCTIONS:
        made = read(function, totals)
        low, high = made.accepted(0.95)
        assert function.low <= low[0] <= high[0] <= function.high
        assert function.low <= made.value[0] <= function.high
        assert np.isfinite([made.value[0], made.sampling_error[0], made.privacy_error[0]]).all()
        if not made.known[0]:
            assert (low[0], high[0]) == (function.low, function.high)
            assert not made.reliable[0]
        row = JointValue.of(totals, 0, function)
        assert ScoreRegion.of(row).ends(0.95) == (low[0], high[0])


@pytest.mark.parametrize("correlated", [False, True])
def test_a_row_does_not_depend_on_the_others(correlated: bool) -> None:
    rows = [joint(sd, "laplace", shift=shift, counted=True) for sd, shift in ((3.0, 0.5), (30.0, -1.0), (300.0, 2.0))]
    mixing = rows[0].mixing + (0.5 * np.eye(21, k=1) if correlated else 0.0)
    totals = JointTotals(
        *(np.concatenate([getattr(row, part) for row in rows]) for part in ("count", "sums", "products")),
        mixing,
        "laplace",
        N,
        POWERS,
    )
    for function in FUNCTIONS:
        together = read(function, totals)
        low, high = together.accepted(0.95)
        for i in range(3):
            alone, among = JointValue.of(totals, i, function), JointCells(together).row(i)
            assert ScoreRegion.of(among).ends(0.95) == ScoreRegion.of(alone).ends(0.95)
            assert (among.estimate, among.standard_error) == (alone.estimate, alone.standard_error)
            assert ScoreRegion.of(alone).ends(0.95) == (low[i], high[i])
            assert alone.estimate == together.value[i]
            assert alone.standard_error == together.standard_error[i]


def test_moments_of_no_records_leave_everything_possible() -> None:
    empty = JointTotals(
        np.zeros(1), np.zeros((1, 5)), np.zeros((1, 5, 5)), np.zeros((21, 21)), "gaussian", None, POWERS
    )
    for function in FUNCTIONS[:-1]:
        made = read(function, empty)
        assert not made.reliable[0]
        assert np.array(made.accepted(0.95)).ravel().tolist() == [function.low, function.high]


def test_a_transformed_basis_gives_the_same_estimates() -> None:
    """Centred squares 2u² − 1 were released: their totals, products and noise are linear in those of u²."""
    features = np.stack([U, 2 * U**2 - 1], axis=1)
    sds = np.array([0.0, 3.0, 3.0, 5.0, 7.0, 5.0])
    released = JointTotals(
        np.array([float(N)]), features.sum(axis=0)[None], (features.T @ features)[None], np.diag(sds), "gaussian", N
    )
    back = released.transformed(np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]), ((1,), (2,)))
    direct = np.stack([U, U**2], axis=1)
    assert back.sums[0] == pytest.approx(direct.sum(axis=0))
    assert back.products[0] == pytest.approx(direct.T @ direct)
    assert back.noise_covariance() == pytest.approx(np.diag([0.0, 9.0, 2.25]))
    forth = back.transformed(np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 2.0]]))
    assert forth.mixing == pytest.approx(released.mixing)


def test_influences_lie_in_their_range() -> None:
    totals = joint()
    grid = np.stack(np.meshgrid(np.linspace(-1, 1, 41), np.linspace(-1, 1, 41)), axis=-1).reshape(-1, 2)
    for slopes in np.random.default_rng(3).normal(size=(20, 5)):
        values = np.prod(grid[:, None, :] ** np.array(POWERS), axis=2) @ slopes - slopes @ totals.means[0]
        low, high = influence_range(slopes[None], totals)
        slack = 0.03 * (values.max() - values.min())
        assert values.min() - 1e-9 <= low[0] <= values.min() + slack
        assert values.max() - slack <= high[0] <= values.max() + 1e-9


def test_the_joint_covariance_has_the_errors_on_its_diagonal_and_correlations_beside() -> None:
    cells = SideBySide((joint(3.0, shift=0.2),))
    estimates = [estimate(function, cells) for function in (MeanOfTotals(X), MeanOfTotals(Y), VARIANCE)]
    sampling, noise = joint_covariance(estimates)
    for place, made in enumerate(estimates):
        assert sampling[0, place, place] == made.sampling_error[0] ** 2
        assert noise[0, place, place] == made.privacy_error[0] ** 2
    x, y = 50 + 50 * U, 8 + 4 * V
    exact, _ = joint_covariance(
        [estimate(f, SideBySide((joint(),))) for f in (MeanOfTotals(X), MeanOfTotals(Y), VARIANCE)]
    )
    assert exact[0, 0, 1] == pytest.approx(np.cov(x, y)[0, 1] / N)
    assert exact[0, 0, 2] == pytest.approx(np.cov(x, (x - x.mean()) ** 2)[0, 1] / N)
    assert noise[0, 0, 1] == 0.0


def test_moments_are_read_from_a_released_vector() -> None:
    """Through the mechanism: exact sums of grid integers give the textbook numbers of f, and its noise is told."""
    steps, powers = 200, ((1, 0), (0, 1))
    grid = np.rint((np.stack([U, V], axis=1) + 1) / 2 * steps).astype(int)
    weights = JointWeights(2, {}, {(0,): 1.0, (1,): 1.0, (0, 0): 0.5, (0, 1): 0.5, (1, 1): 0.5})
    layout = JointLayout((JointFeature(steps), JointFeature(steps)), "public", 1)
    mechanism = joint_moments(LAPLACE, layout, weights, 1.0, Relation.REPLACE_ONE)
    sums = {
        monomial: np.array([int(np.prod([grid[:, i] ** power for i, power in monomial], axis=0).sum())], dtype=object)
        if monomial
        else np.array([N], dtype=object)
        for monomial in mechanism.monomials()
    }
    exact = mechanism.exact(GridSums(sums, np.zeros(1, dtype=np.int64), 0)).astype(float)
    reading = mechanism.reading(moments_of(powers), n=N)
    totals = JointTotals.of_moments(reading.values(exact), reading.mixing, "laplace", n=N, powers=powers)
    x, y = 100 * grid[:, 0] / steps, 4 + 8 * grid[:, 1] / steps
    made = read(RatioOfTotals(X, Y), totals)
    assert made.value[0] == pytest.approx(x.sum() / y.sum())
    error = np.std(x - made.value[0] * y, ddof=1) / y.mean() / math.sqrt(N)
    assert made.sampling_error[0] == pytest.approx(error, rel=0.01)
    unit = math.hypot(50.0, 4.0 * made.value[0]) / y.sum()
    assert made.privacy_error[0] == pytest.approx(float(mechanism.noise_sds()[0]) / steps * unit, rel=0.01)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_a_feature_that_may_be_missing_is_averaged_over_its_own_records(law: str) -> None:
    """4,000 runs: presence is a feature, and the mean a ratio to it; truth covered, all records as base refused."""
    rng, runs, n = np.random.default_rng(4), 4000, 300
    u = np.clip(rng.normal(0.3, 0.3, (runs, n)), -1, 1)
    here = rng.random((runs, n)) < 0.7 - 0.4 * (u > 0.3)
    features = np.stack([np.ones_like(u), here, here * u], axis=2)
    exact = np.einsum("rni,rnj->rij", features, features)
    rows, columns = np.triu_indices(3)
    sds = 6.0 * (1.0 - (np.arange(6) == 0))
    noise = rng.laplace(0, math.sqrt(0.5), (runs, 6)) if law == "laplace" else rng.standard_normal((runs, 6))
    totals = JointTotals.of_moments(
        exact[:, rows, columns] + sds * noise, np.diag(sds), law, n=n, powers=((1, 0), (0, 1))
    )
    sample = np.clip(rng.normal(0.3, 0.3, 10**6), -1, 1)
    weight = 0.7 - 0.4 * (sample > 0.3)
    truth = float(weight @ sample / weight.sum())
    made = estimate(MeanOfTotals(ScaledMean(2, base=1)), SideBySide((totals,)))
    low, high = made.accepted(0.95)
    covered = int(((low <= truth) & (truth <= high)).sum())
    assert stats.binom.cdf(covered, runs, 0.94) > 1e-6
    assert made.standard_error.mean() / made.value.std() == pytest.approx(1.0, abs=0.05)
    low, high = estimate(MeanOfTotals(ScaledMean(2)), SideBySide((totals,))).accepted(0.95)
    assert stats.binom.cdf(int(((low <= truth) & (truth <= high)).sum()), runs, 0.94) < 1e-12


@pytest.mark.parametrize("features", [1, 2])
@pytest.mark.parametrize("limit", [2, 3, 9])
def test_a_total_over_cells_bounds_the_squares_of_units_by_their_limit_of_rows(features: int, limit: int) -> None:
    """Units in m of 5 cells: m times the squares; where rows alone are counted and m is the limit, limit times rows."""
    cells, rng = 5, np.random.default_rng(2)
    sums, mixing = (
        rng.uniform(20.0, 40.0, (cells, features)),
        np.diag(np.arange(1.0, 2 + features * (features + 3) / 2)),
    )
    products = np.einsum("ci,cj->cij", sums, sums) / 10.0
    totals = JointTotals(np.full(cells, 30.0), sums, products, mixing, "gaussian", n=100, limit=limit)
    over = totals.over(lambda numbers: np.array([numbers.sum()]), cells, np.ones(features))
    most, width = min(limit, cells), math.sqrt(cells) * mixing
    assert over.sums[0] == pytest.approx(sums.sum(axis=0)) and over.count.tolist() == [100.0]
    assert over.mixing[: 1 + features] == pytest.approx(width[: 1 + features])
    if features == 1 and limit <= cells:
        assert over.products[0, 0, 0] == pytest.approx(limit * sums.sum())
        assert over.mixing[2] == pytest.approx(limit * width[1])
    else:
        assert over.products[0] == pytest.approx(most * products.sum(axis=0))
        assert over.mixing[1 + features :] == pytest.approx(most * width[1 + features :])
