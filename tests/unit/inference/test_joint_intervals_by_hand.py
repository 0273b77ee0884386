"""Critical values, regions and read errors of functions of totals: by roots, brute force and differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import optimize, stats
from tests.unit.inference.score_oracle import Score, quantile
from tests.unit.inference.test_joint_totals_by_hand import block

from hedgerow.inference.joint.arithmetic import EstimateTerm, Expression, JointOperation
from hedgerow.inference.joint.critical_values import Tangent, radii
from hedgerow.inference.joint.estimates import _curvature_factor, _seen, _tangent, estimate
from hedgerow.inference.joint.functions import (
    CovarianceOfTotals,
    DeviationOfTotals,
    FunctionOfTotals,
    MeanOfTotals,
    Numbers,
    RatioOfTotals,
    ScaledMean,
    SumOfTotals,
    _trial_points,
    gradient,
    smooth_function,
)
from hedgerow.inference.joint.region_of_function import (
    Ball,
    _curvature,
    _likely,
    _Search,
    _top,
    bend,
    covariance_of_totals,
    curved_critical_value,
    ends,
)
from hedgerow.inference.joint.totals import BlockVariances, JointTotals, SideBySide, influence_range
from hedgerow.inference.score_test import QuadraticTest


def tangent(
    *,
    sampling: list[float],
    noise: float,
    raw: float | None = None,
    spread: list[float] | None = None,
    shared: list[float] | None = None,
    skew: list[float] | None = None,
    unsure: list[float] | None = None,
    products: bool = False,
    freedom: float = math.inf,
    draws: float | None = None,
) -> Tangent:
    """Return a tangent of one row."""
    zero = [0.0] * len(sampling)
    parts = [np.array([part or zero]) for part in (sampling, spread, shared, skew, unsure)]
    blocks = BlockVariances(*parts, np.full((1, len(sampling)), products))
    total = float(sum(sampling))
    return Tangent(
        slopes=np.ones((1, 2)),
        raw=np.array([total if raw is None else raw]),
        sampling=np.array([total]),
        noise=np.array([noise]),
        spread_noise=np.sqrt(np.square(parts[1]).sum(axis=1)),
        spread_shared=parts[2].sum(axis=1),
        freedom=np.array([freedom]),
        draws=None if draws is None else np.array([draws]),
        blocks=blocks,
    )


def reach(one: Tangent, level: float) -> tuple[float, float]:
    """How far an interval reaches: every step of the derivation, and the end itself by a root."""
    z = float(stats.norm.ppf(0.5 + level / 2.0))
    sampling, noise, raw = (float(part[0]) for part in (one.sampling, one.noise, one.raw))
    spread, shared = float(one.spread_noise[0]), float(one.spread_shared[0])
    total = sampling + noise
    # The reserve for the noise of the sampling variance.
    own = math.sqrt(max(spread**2 - shared**2 / (total or 1.0), 0.0))
    reserve = 0.0
    if own > 0.0:
        place = raw / own
        ramp = min(max(1.0 + place / 0.8, 0.0), 1.0) * min(max(1.0 - place / 4.0, 0.0), 1.0)
        reserve = own * 0.7 * own / (own + 0.7 * noise) * (z * z + 1.0) / 4.84 * ramp
    squares = np.square(one.blocks.spread[0])
    reserved = one.blocks.sampling[0] + (reserve * squares / squares.sum() if squares.sum() > 0.0 else 0.0)
    share = (float(stats.t.ppf(0.5 + level / 2.0, max(one.freedom[0], 1.0))) / z) ** 2
    if total <= 0.0 or noise + reserved.sum() <= 0.0:
        return z, z
    critical = z * math.sqrt(share * sampling + noise) / math.sqrt(total)
    if one.draws is not None:
        few = math.floor(one.draws[0])
        # In 1/k, between whole numbers of draws.
        part = (1.0 / few - 1.0 / one.draws[0]) / (1.0 / few - 1.0 / (few + 1))
        laws = ["laplace" if k == 1 else f"averaged-laplace-{k}" for k in (few, few + 1)]
        first, second = (quantile(law, level, math.sqrt(share * sampling), math.sqrt(noise)) for law in laws)
        critical = max(critical, (first + part * (second - first)) / math.sqrt(total))
    followed = min(max(1.0 + raw / spread, 0.0), 1.0) if spread > 0.0 else 1.0
    with_noise = followed * one.blocks.shared[0]
    factor = 2.0 / 3.0 + 1.0 / (3.0 * critical**2)
    growth, unsure = factor * one.blocks.skew[0], factor * one.blocks.unsure[0]
    products = bool(one.blocks.products.any())
    if products:
        unsure = unsure / math.sqrt(3.0)
    shift = 0.5 * critical * float(unsure @ reserved) / (noise + reserved.sum()) ** 1.5
    counted = min(1.0, 0.5 * critical**2 * shift)
    if products:
        counted = min(counted, 0.225 / max(shift, 0.225))
    found = []
    for sign in (-1.0, 1.0):
        grows, rho = counted * unsure + sign * growth, sign * with_noise

        def rejected(y: float, grows: np.ndarray = grows, rho: np.ndarray = rho) -> float:
            kappa = critical**2 / y
            at = np.maximum(reserved + kappa * rho, 0.0) / np.maximum(1.0 - kappa * grows, 1e-200)
            return float(y * y - critical**2 * (noise + at.sum()))

        steepest = max(critical**2 * grows.max(), 0.0)
        least = max(steepest, critical * math.sqrt(noise), 1e-12) * (1.0 + 1e-12)
        beyond = rejected(least) >= 0.0
        end = least if beyond else optimize.brentq(rejected, least, 1e3 * (1.0 + least), xtol=1e-13)
        found.append(end / math.sqrt(total))
    return found[0], found[1]


TANGENTS = {
    "noise alone": tangent(sampling=[0.0], noise=4.0),
    "sampling alone": tangent(sampling=[9.0], noise=0.0, freedom=12.0),
    "both": tangent(sampling=[9.0], noise=4.0, freedom=30.0),
    "two blocks": tangent(sampling=[3.0, 5.0], noise=2.0, skew=[0.6, -0.9], unsure=[0.2, 0.4], freedom=50.0),
    "products": tangent(sampling=[3.0, 5.0], noise=2.0, skew=[0.6, -0.9], unsure=[2.0, 3.0], products=True),
    "few products": tangent(sampling=[3.0, 5.0], noise=2.0, unsure=[0.1, 0.2], products=True),
    "very unsure": tangent(sampling=[3.0], noise=2.0, unsure=[5.0]),
    "a noisy variance": tangent(sampling=[3.0], noise=2.0, spread=[1.5], shared=[0.8], skew=[0.3]),
    "far above its noise": tangent(sampling=[30.0], noise=2.0, spread=[1.5], shared=[-0.8]),
    "below 0": tangent(sampling=[0.0], raw=-0.9, noise=2.0, spread=[1.5], shared=[0.8]),
    "far below 0": tangent(sampling=[0.0], raw=-9.0, noise=2.0, spread=[1.5], shared=[0.8]),
    "two noisy variances": tangent(
        sampling=[3.0, 1.0], noise=1.0, spread=[1.5, 0.5], shared=[0.8, -0.4], skew=[0.5, 0.2]
    ),
    "one Laplace number": tangent(sampling=[1.0], noise=4.0, draws=1.0),
    "few Laplace numbers": tangent(sampling=[1.0], noise=4.0, draws=2.4, freedom=9.0),
    "one record": tangent(sampling=[1.0], noise=4.0, freedom=0.3),
    "nothing": tangent(sampling=[0.0], noise=0.0),
    "nothing but noise of a variance": tangent(sampling=[0.0], noise=0.0, spread=[1.5]),
}


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
@pytest.mark.parametrize("name", TANGENTS)
def test_how_far_an_interval_reaches(name: str, level: float) -> None:
    one = TANGENTS[name]
    with np.errstate(all="ignore"):  # as where they are used
        below, above = radii(one, level)
    # Quantiles of sums are rounded outwards by 1e-5; the end is found by 40 halvings.
    rel = 2e-5 if one.draws is not None else 1e-8
    assert (below[0], above[0]) == pytest.approx(reach(one, level), rel=rel)


def test_the_freedom_of_a_variance_is_that_of_both_of_its_parts() -> None:
    one = TANGENTS["a noisy variance"]
    assert one.variance.tolist() == [5.0] and TANGENTS["nothing"].positive_variance.tolist() == [1.0]
    one = replace(one, freedom=np.array([20.0]))
    # Var(v̂) = 2v²/20 by sampling and 1.5² by noise: 2·5²/ν.
    assert one.freedom_of_variance[0] == pytest.approx(2.0 * 25.0 / (2.0 * 9.0 / 20.0 + 2.25))
    assert TANGENTS["nothing"].freedom_of_variance.tolist() == [1e12]
    names = ("slopes", "raw", "sampling", "noise", "spread_noise", "spread_shared", "freedom")
    parts = [np.repeat(np.asarray(getattr(one, name)), 3, axis=0) for name in names]
    several = Tangent(*parts, np.arange(1.0, 4.0), one.blocks.rows(slice(0, 1)))
    some = several.rows(slice(1, 3))
    assert some.draws is not None and some.draws.tolist() == [2.0, 3.0] and len(some.slopes) == 2


@pytest.mark.parametrize("freedom", [math.inf, 12.0])
@pytest.mark.parametrize(("curvature", "size"), [(0.02, 3.0), (0.3, 2.0), (0.9, 4.5), (2.5, 2.0), (50.0, 6.0)])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_critical_value_of_a_curved_level_set(curvature: float, size: float, freedom: float, level: float) -> None:
    """The distance to a sphere by the noncentral χ² of SciPy; Hotelling's factor where the variance is estimated."""
    z, most = float(stats.norm.ppf(0.5 + level / 2.0)), math.sqrt(stats.chi2.ppf(level, size))
    away, exact = 1.0 / curvature, z

    def inside(c: float) -> float:
        outer = stats.ncx2.cdf((away + c) ** 2, size, away**2)
        return float(outer - stats.ncx2.cdf(max(away - c, 0.0) ** 2, size, away**2))

    if curvature * size > 0.15 and inside(z) < level:
        exact = optimize.brentq(lambda c: inside(c) - level, z, 3.0 * most + z, xtol=1e-12)
    counted = min(max((exact - z) / max(most - z, 1e-9), 0.0), 1.0)
    if math.isfinite(freedom):
        nu = max(freedom, size + 2.0)
        several = size * nu / (nu - size + 1.0) * stats.f.ppf(level, size, nu - size + 1.0) / most**2
        exact *= math.sqrt(1.0 + counted * max(several / (stats.f.ppf(level, 1.0, nu) / z**2) - 1.0, 0.0))
    found, share = curved_critical_value(np.array([curvature]), np.array([size]), np.array([freedom]), level)
    # 18 halvings of less than 4; infinite degrees of freedom are read as a billion.
    assert found[0] == pytest.approx(exact, abs=1e-4)
    assert share[0] == pytest.approx(counted, abs=1e-3)


@dataclass(frozen=True)
class OfTotals(FunctionOfTotals):
    """A function of the totals."""

    compute: Callable[[Numbers], Numbers]
    limits: tuple[float, float] = (-math.inf, math.inf)

    def _limits(self) -> tuple[float, float]:
        return self.limits

    def __call__(self, totals: Numbers) -> Numbers:
        """Return the value of each row."""
        return self.compute(totals)


def cells(**given: object) -> SideBySide:
    return SideBySide((block(1, **given), block(2, **given)), (0, 1))  # type: ignore[arg-type]  # by name


def bilinear(t: Numbers) -> Numbers:
    return t[:, 1] * t[:, 4] / t[:, 0] ** 2 + t[:, 2] ** 2 / t[:, 3] ** 2


def likely(one: SideBySide, covariance: np.ndarray) -> np.ndarray:
    """A sampling covariance without what its noise makes of it, entry by entry."""
    made = covariance.copy()
    for row in range(len(made)):
        for a in range(6):
            for b in range(6):
                if a == b:
                    made[row, a, a] = max(covariance[row, a, a], 0.0)
                    continue
                noise = 0.0
                for number, each in enumerate(one.blocks):
                    i, j = sorted((a - 3 * number - 1, b - 3 * number - 1))
                    if i >= 0 and j < 2:
                        noise = float(np.square(each.mixing[{(0, 0): 3, (0, 1): 4, (1, 1): 5}[i, j]]).sum())
                entry = covariance[row, a, b]
                kept = entry * max(1.0 - noise / max(entry**2, 1e-300), 0.0)
                most = math.sqrt(max(covariance[row, a, a], 0.0) * max(covariance[row, b, b], 0.0))
                made[row, a, b] = min(max(kept, -most), most)
    return made


def positive(matrix: np.ndarray) -> np.ndarray:
    spread, axes = np.linalg.eigh(matrix)
    return np.asarray((axes * np.maximum(spread, 0.0)) @ axes.T)


@pytest.mark.parametrize("public", [True, False])
def test_the_ball_has_the_covariance_of_what_the_release_allows(public: bool) -> None:
    one, function = cells(public=public), OfTotals(bilinear)
    ball = Ball.of(function, one)
    assert ball.size == (4 if public else 6)
    covariance = likely(one, covariance_of_totals(function, one))
    np.testing.assert_allclose(_likely(covariance_of_totals(function, one), one), covariance, rtol=1e-10, atol=1e-12)
    for row in range(3):
        exact = positive(covariance[row]) + one.noise
        np.testing.assert_allclose(ball.axes[row] @ ball.axes[row].T, exact, rtol=1e-9, atol=1e-9)
    u = np.random.default_rng(3).normal(size=(3, ball.size))
    np.testing.assert_allclose(ball.totals(u), one.totals + np.einsum("rij,rj->ri", ball.axes, u), rtol=1e-12)
    direction = np.random.default_rng(4).normal(size=(3, ball.size))
    value, slope = ball.along(u, direction)
    step = 1e-5
    ups, downs = (bilinear(ball.totals(u + sign * step * direction)) for sign in (1.0, -1.0))
    assert value == pytest.approx(bilinear(ball.totals(u)), rel=1e-12)
    assert slope == pytest.approx((ups - downs) / (2.0 * step), rel=1e-6)
    slopes, bends = ball.slopes(u), ball.bends(u)
    for axis in range(ball.size):
        unit = np.tile(np.eye(ball.size)[axis], (3, 1))
        assert slopes[:, axis] == pytest.approx(ball.along(u, unit)[1], rel=1e-9)
        ups, downs = (ball.slopes(u + sign * 1e-3 * unit) for sign in (1.0, -1.0))
        np.testing.assert_allclose(bends[:, axis], (ups - downs) / 2e-3, rtol=1e-3, atol=1e-7)
    pulled = np.random.default_rng(5).normal(size=(3, 6))
    np.testing.assert_allclose(ball.pulled(pulled)[1], ball.axes[1].T @ pulled[1], rtol=1e-10)
    some = ball.rows(np.array([2, 0, 2]))
    np.testing.assert_array_equal(some.slopes(u[[2, 0, 2]])[0], some.slopes(u[[2, 0, 2]])[2])


def test_functions_of_numbers_of_records_vary_by_counting_too() -> None:
    one = cells(public=False)
    total = SumOfTotals(ScaledMean(1, 5.0, 2.0))
    np.testing.assert_allclose(covariance_of_totals(total, one), one.sampling + one.counting, rtol=1e-12)
    np.testing.assert_allclose(covariance_of_totals(MeanOfTotals(ScaledMean(1)), one), one.sampling, rtol=1e-12)


def test_a_sphere_is_as_curved_as_its_radius_says() -> None:
    """f = |u|²/2 at distance 2 along the first axis: its level set is a sphere of radius 2, in all directions."""
    slopes, bends = (
        np.array([[2.0, 0.0, 0.0]] * 4),
        np.stack([np.eye(3), -np.eye(3), np.diag([9.0, 1.0, -1.0]), np.diag([5.0, 0.2, 0.0])]),
    )
    curvature, directions = _curvature(slopes, bends)
    assert curvature == pytest.approx([0.5, 0.5, 0.5, 0.1]) and directions == pytest.approx([2.0, 2.0, 1.0, 1.0])
    sharp = _curvature(np.array([[0.1, 0.0, 0.0]]), np.diag([0.0, 0.5, 0.2])[None])
    # Above 1 a direction counts by its own curvature, at most 1: 5 and 2.
    assert (sharp[0][0], sharp[1][0]) == pytest.approx((5.0, 2.0))
    partly = _curvature(np.array([[0.1, 0.0, 0.0]]), np.diag([0.0, 0.5, 0.05])[None])
    assert (partly[0][0], partly[1][0]) == pytest.approx((5.0, 1.5))
    flat = _curvature(np.array([[2.0, 0.0, 0.0]]), np.zeros((1, 3, 3)))
    assert (flat[0][0], flat[1][0]) == (0.0, 0.0)
    nowhere = _curvature(np.array([[2.0, 0.0, 0.0]]), np.full((1, 3, 3), np.nan))
    assert (nowhere[0][0], nowhere[1][0]) == (math.inf, 1.0)
    ball = Ball(OfTotals(lambda t: np.square(t).sum(axis=1) / 2.0), np.array([[2.0, 0.0, 0.0]]), np.eye(3)[None])
    assert bend(ball) == pytest.approx([1.0])
    # Where nothing climbs, nothing is curved; at an extremum the curvature has no end.
    level = Ball(OfTotals(lambda t: 0.0 * t[:, 0] + 3.0), np.array([[2.0, 0.0, 0.0]]), np.eye(3)[None])
    assert bend(level).tolist() == [0.0]
    top = _curvature(np.zeros((1, 3)), np.diag([2.0, 1.0, 0.0])[None])
    assert top[0][0] > 1e300 and top[1][0] == 2.0


@pytest.mark.parametrize("seed", range(4))
def test_the_top_of_a_model_over_a_ball_is_the_largest_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    slopes, bends = rng.normal(size=(5, 2)), rng.normal(size=(5, 2, 2))
    bends = bends + bends.transpose(0, 2, 1)
    slopes[4] = 0.0
    radius = rng.uniform(0.5, 3.0, 5)
    u = _top(slopes, bends, radius)
    angles = np.linspace(0.0, 2.0 * np.pi, 2001)
    points = np.concatenate(
        [share * np.stack([np.cos(angles), np.sin(angles)], axis=1) for share in np.linspace(0, 1, 60)]
    )
    for row in range(5):

        def model(at: np.ndarray, row: int = row) -> np.ndarray:
            return at @ slopes[row] + 0.5 * np.einsum("pi,ij,pj->p", at, bends[row], at)

        assert np.linalg.norm(u[row]) <= radius[row] * (1.0 + 1e-9)
        most = model(radius[row] * points).max()
        assert model(u[row][None])[0] >= most - 1e-9 * abs(most) - 1e-12


@pytest.mark.parametrize("radius", [0.1, 0.9, 1.0, 4.0])
def test_where_nothing_holds_back_the_top_is_on_the_boundary(radius: float) -> None:
    """Without a slope along the strongest bend: up to the boundary where it bends up, else nowhere."""
    slopes = np.array([[0.0, 0.0], [0.02, 0.0], [0.0, 0.0]])
    bends = np.array([np.diag([1.0, 2.0]), np.diag([-1.0, 0.5]), np.diag([-1.0, -2.0])])
    u = _top(slopes, bends, np.full(3, radius))
    assert np.linalg.norm(u, axis=1) == pytest.approx([radius, radius, 0.0])
    first = 0.02 / 1.5  # (μ − B)u = slopes at μ = .5
    assert np.abs(u[0]) == pytest.approx([0.0, radius]) and u[1, 0] == pytest.approx(first, rel=1e-6)


def fixed(radius: float) -> Callable[[SideBySide, np.ndarray], tuple[np.ndarray, ...]]:
    return lambda cells, slopes: (
        np.full(len(slopes), radius),
        np.full(len(slopes), radius + 0.5),
        np.full(len(slopes), np.inf),
    )


def test_the_ends_of_a_nearly_straight_function_are_extremes_over_the_ellipsoid() -> None:
    """By SLSQP from several starts; the region reaches farther above by half a standard error."""
    census = [
        JointTotals(one.count, one.sums, one.products, one.mixing, "gaussian", 500, census=True)
        for one in cells().blocks
    ]
    one, function = SideBySide(tuple(census), (0, 1)), OfTotals(lambda t: t[:, 1] / t[:, 0] + np.exp(t[:, 4] / t[:, 3]))
    slopes = gradient(function, one.totals)
    with np.errstate(all="ignore"):  # as where it is used
        ball = Ball.of(function, one)
        low, high = ends(function, one, slopes, fixed(2.0), 0.95)  # type: ignore[arg-type]  # three arrays
    for row in range(3):

        def value(u: np.ndarray, row: int = row) -> float:
            return float(function(one.totals[row : row + 1] + (ball.axes[row] @ u)[None]).real[0])

        for end, radius, sign in ((low, 2.0, 1.0), (high, 2.5, -1.0)):
            best = min(
                optimize.minimize(
                    lambda u, sign=sign: sign * value(u),
                    start,
                    constraints={"type": "ineq", "fun": lambda u, radius=radius: radius**2 - u @ u},
                    method="SLSQP",
                    options={"ftol": 1e-14, "maxiter": 300},
                ).fun
                for start in np.random.default_rng(1).normal(size=(3, ball.size)) * 0.5
            )
            assert sign * end[row] == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize(("sign", "flat"), [(-1.0, 2.0), (1.0, 4.0)])
def test_where_a_level_set_is_curved_the_ball_reaches_as_far_on_both_sides(sign: float, flat: float) -> None:
    """A region of 2 standard errors below and 4 above: at an extremum it reaches 3 both ways, at a plane as it is."""

    def radii_of(cells: SideBySide, slopes: np.ndarray) -> tuple[np.ndarray, ...]:
        return tuple(np.full(len(slopes), part) for part in (2.0, 4.0, np.inf))

    sd, centre = 3.0, np.array([100.0, 6.0, 0.0])
    noise = np.diag([0.0, sd, sd, 0.0, 0.0, 0.0])
    known = JointTotals(centre[:1], centre[None, 1:], np.zeros((1, 2, 2)), noise, "gaussian", 100, census=True)
    cells, z = SideBySide((known,)), float(stats.norm.ppf(0.975))
    functions = {
        "plane": OfTotals(lambda t: t[:, 1] + 0.5 * t[:, 2]),
        "constant": OfTotals(lambda t: 0.0 * t[:, 1] + 3.0),
        "circles": OfTotals(lambda t: (t[:, 1] ** 2 + t[:, 2] ** 2) / 2.0),
        "sharp": OfTotals(lambda t: t[:, 1] + 1e4 * t[:, 2] ** 2),
    }
    for name, function in functions.items():
        search = _Search(Ball.of(function, cells), cells, radii_of, 0.95)
        curvature = {"plane": 0.0, "constant": 0.0, "circles": 0.5, "sharp": 6e4}[name]  # of a circle with radius 6/sd
        curved, counted = curved_critical_value(np.array([curvature]), np.array([2.0]), np.array([np.inf]), 0.95)
        expected = (flat + float(counted[0]) * max(3.0 - flat, 0.0)) * float(curved[0]) / z
        assert search._critical(sign, np.zeros((1, 2)))[0] == pytest.approx(expected if curvature else flat)
    assert counted[0] == pytest.approx(1.0, abs=1e-3)


def test_a_pole_is_found_along_each_line_that_may_hold_it() -> None:
    """Along the slopes of a divisor alone; where the function is even about the pole, nowhere."""

    def at(function: FunctionOfTotals, centre: list[float]) -> bool:
        ball = Ball(function, np.array([centre]), np.eye(len(centre))[None])
        return bool(
            _Search(ball, SideBySide((block(1).rows(slice(0, 1)),)), fixed(2.0), 0.95).has_pole(np.array([2.0]))[0]
        )

    class Divided(OfTotals):
        def divisors(self, totals: Numbers) -> list[Numbers]:
            """Return what the value divides by."""
            return [totals[:, 0] + 0.35 * totals[:, 1] + 0.2 * totals[:, 2]]

    along = Divided(lambda t: t[:, 0] * 0.0 + 1.0 / (t[:, 0] + 0.35 * t[:, 1] + 0.2 * t[:, 2]))
    assert at(along, [1.0, 0.5, 0.3]) and not at(along, [4.0, 0.5, 0.3])
    assert not at(OfTotals(lambda t: 1.0 / (t[:, 0] ** 2)), [1.0, 0.5, 0.3])
    assert not at(OfTotals(lambda t: t[:, 0] + t[:, 1] ** 2), [1.0, 0.5, 0.3])


# What is read from a tangent.
X, Y = ScaledMean(1, 5.0, 2.0), ScaledMean(2, 8.0, 4.0)


@pytest.mark.parametrize(
    "function", [MeanOfTotals(X), RatioOfTotals(X, Y), CovarianceOfTotals(X, X, 2), SumOfTotals(X)]
)
def test_a_tangent_holds_the_parts_of_its_variance(function: FunctionOfTotals) -> None:
    one = SideBySide((block(1, public=False),))
    made, defined = _tangent(function, one)
    assert defined.all()
    for row in range(3):
        totals = one.totals[row]
        slopes = []
        for unit in np.eye(3):
            step = 1e-4 * max(abs(float(unit @ totals)), 1.0)
            ups, downs = (
                float(function((totals + sign * step * unit)[None].astype(complex)).real[0]) for sign in (1.0, -1.0)
            )
            slopes.append((ups - downs) / (2.0 * step))
        assert made.slopes[row] == pytest.approx(slopes, rel=1e-6, abs=1e-9)
        g = made.slopes[row]
        covariance = one.sampling[row] + (0.0 if function.homogeneous else 1.0) * one.counting[row]
        raw = float(g @ covariance @ g)
        low, high = influence_range(made.slopes[:, 1:], one.blocks[0])
        most = one.blocks[0].count[row] * -low[row] * high[row] if function.homogeneous else math.inf
        assert made.raw[row] == pytest.approx(raw, rel=1e-9)
        assert made.sampling[row] == pytest.approx(min(max(raw, 0.0), most), rel=1e-9)
        second = 0.0
        if isinstance(function, CovarianceOfTotals):
            v = one.noise[1, 1] * 4.0 / one.totals[row, 0] ** 2
            second = 2.0 * v * v
        assert made.noise[row] == pytest.approx(float(g @ one.noise @ g) + second, rel=1e-9)


@pytest.mark.parametrize("rows", [0.4, 1.0, 1.05, 40.0])
def test_the_sampling_variance_of_units_is_at_most_that_of_their_rows_at_both_ends(rows: float) -> None:
    """Σx/rows of units of at most two rows each: no more than as if each row were a unit, and one row at least."""
    plain = block(1, limit=2)
    sums, products = plain.sums.copy(), 1e4 * plain.products
    sums[:, 0], sums[:, -1] = 0.2 * rows, rows
    one = SideBySide((replace(plain, sums=sums, products=products),))
    made, _ = _tangent(MeanOfTotals(ScaledMean(1, 0.0, 1.0, base=2)), one)
    low, high = influence_range(made.slopes[:, 1:], one.blocks[0])
    assert (made.raw > made.sampling).all() and (made.sampling > 0.0).all()
    assert made.sampling == pytest.approx(max(rows, 1.0) * -low * high, rel=1e-12)


def test_what_noise_adds_through_the_slopes_is_taken_off() -> None:
    """The mean of the error half a standard deviation away along each axis of the noise, by loops."""
    one, function = cells(public=False), RatioOfTotals(X, Y)
    made, _ = _tangent(function, one)
    spread, axes = np.linalg.eigh(one.noise)
    for row in range(3):
        centre, bias = math.sqrt(made.noise[row]), 0.0
        for size, axis in zip(spread, axes.T, strict=True):
            if size <= 1e-12 * spread[-1]:
                continue
            for sign in (1.0, -1.0):
                slopes = gradient(function, (one.totals[row] + sign * 0.5 * math.sqrt(size) * axis)[None])[0]
                bias += 0.5 * (math.sqrt(slopes @ one.noise @ slopes) - centre) / 0.25
        exact = 1.0 / (1.0 + min(max(bias / centre, 0.0), 1.0))
        assert _curvature_factor(function, one, made)[row] == pytest.approx(exact, rel=1e-8)
    assert (_curvature_factor(function, one, made) < 1.0).any()


def test_a_sampling_variance_that_does_not_stand_clear_counts_less() -> None:
    one = TANGENTS["a noisy variance"]
    for raw in (-1.0, 0.5, 1.5, 9.0):
        with np.errstate(all="ignore"):
            found = _seen(replace(one, raw=np.array([raw])))[0]
        assert found == pytest.approx(3.0 * (1.0 - math.exp(-((2.0 * max(raw, 0.0) / 1.5) ** 2))), rel=1e-12)
    with np.errstate(all="ignore"):
        assert _seen(TANGENTS["both"])[0] == pytest.approx(9.0)


def test_a_deviation_is_the_root_of_a_variance() -> None:
    one = SideBySide((block(1, powers=((1,), (2,))),))
    variance = CovarianceOfTotals(X, X, 2)
    squared, root = estimate(variance, one), estimate(DeviationOfTotals(variance), one)
    for row in range(3):
        v, s = squared.value[row], squared.standard_error[row]
        factor = 0.5 / math.sqrt(math.hypot(v, s))
        assert root.value[row] == pytest.approx(math.sqrt(v))
        assert root.sampling_error[row] == pytest.approx(squared.sampling_error[row] * factor)
        assert root.privacy_error[row] == pytest.approx(squared.privacy_error[row] * factor)
        assert root.tangent.slopes[row] == pytest.approx(squared.tangent.slopes[row] * factor)
    for end, other in zip(root.accepted(0.9), squared.accepted(0.9), strict=True):
        assert end == pytest.approx(np.sqrt(other))
    assert root.rows(slice(1, 2)).accepted(0.9)[0].tolist() == root.accepted(0.9)[0][1:2].tolist()


@pytest.mark.parametrize("census", [False, True])
@pytest.mark.parametrize("n", [None, 500])
def test_a_sum_is_read_about_zero_where_its_records_are_private(n: int | None, census: bool) -> None:
    """Σx and Σx² from (N, Σf, Σf²) with x = 5 + 2f, by hand."""
    one = block(1, public=False, n=n, census=census)
    made = estimate(SumOfTotals(X, (-1e6, 1e6)), SideBySide((one,)))
    forms = np.array([[5.0, 2.0, 0.0], [25.0, 20.0, 4.0]])
    noise = forms @ one.mixing[[0, 1, 3]]
    sds = np.linalg.norm(noise, axis=1)
    for row in range(3):
        total, square = forms @ [one.count[row], one.sums[row, 0], one.products[row, 0, 0]]
        variance = 0.0 if census else max(square - (0.0 if n is None else (total**2 - sds[0] ** 2) / n), 0.0)
        spread = math.hypot(sds[1], 0.0 if n is None else 2.0 * total * sds[0] / n)
        assert made.value[row] == pytest.approx(total)
        assert made.sampling_error[row] == pytest.approx(math.sqrt(variance), abs=1e-9)
        assert made.privacy_error[row] == pytest.approx(sds[0])
        if census:
            exact = Score(a=total, noise=(sds[0] ** 2, 0.0, 0.0)).ends(0.9)
            assert [end[row] for end in made.accepted(0.9)] == pytest.approx(exact, rel=1e-9)
            continue
        upper = variance + 0.5 * spread
        low, high = 0.0, 7.0
        records = 1e12 if n is None else n
        mean = min(max(total / records, low), high)
        share = min(variance / records / ((high - mean) * (mean - low)), 1.0)
        skew, unsure = (1.0 + share) * (high + low - 2.0 * mean) / 2.0, (1.0 - share) * (high - low) / 2.0
        exact = Score(
            a=total, sampling=(upper, 0.0, 0.0), noise=(sds[0] ** 2, 0.0, 0.0), skew=skew, unsure=unsure
        ).ends(0.9)
        assert [end[row] for end in made.accepted(0.9)] == pytest.approx(exact, rel=1e-9)


def test_each_end_of_a_ratio_is_a_root_at_its_own_critical_value() -> None:
    """(X − θY)² = c²·Var(X − θY), with c below and above the ratio as `radii` says."""
    one, function = SideBySide((block(1, public=False),)), RatioOfTotals(X, Y)
    made = estimate(function, one)
    reaches, (low, high) = radii(made.tangent, 0.95), made.accepted(0.95)
    assert made.known.all() and (np.abs(reaches[0] / reaches[1] - 1.0) > 1e-3).all()
    first, second = np.array([5.0, 2.0, 0.0]), np.array([8.0, 0.0, 4.0])
    for row in range(3):

        def beyond(theta: float, row: int, critical: float) -> float:
            g = first - theta * second
            variance = g @ (one.sampling[row] + one.noise) @ g
            return float((g @ one.totals[row]) ** 2 - critical**2 * variance)

        middle, far = made.value[row], 8.0 * made.standard_error[row]
        below = optimize.brentq(beyond, middle - far, middle, (row, reaches[0][row]), xtol=1e-13)
        above = optimize.brentq(beyond, middle, middle + far, (row, reaches[1][row]), xtol=1e-13)
        assert (low[row], high[row]) == pytest.approx((below, above), rel=1e-8)


def test_the_variance_behind_a_sum_is_raised_by_half_a_deviation_of_its_noise() -> None:
    """Of a public number of records, the noises of Σf and Σf² correlated: v = Q/N − (S/N)², slopes times noise."""
    one = block(1)
    made = estimate(SumOfTotals(X, (-1e6, 1e6)), SideBySide((one,)))
    assert isinstance(made.exact, QuadraticTest)
    for row in range(3):
        n, mean = one.count[row], one.sums[row, 0] / one.count[row]
        of_mean = one.mixing[1] / n
        raw = (one.products[row, 0, 0] / n - mean**2 + of_mean @ of_mean) * n / (n - 1.0)
        of_variance = one.mixing[3] / n - 2.0 * mean * of_mean
        spread = math.sqrt(of_variance @ of_variance + 2.0 * (of_mean @ of_mean) ** 2)
        assert made.exact.sampling.constant[row] == pytest.approx(4.0 * n * (raw + 0.5 * spread), rel=1e-9)
    assert np.asarray(made.exact.freedom).tolist() == (one.count - 1.0).tolist()
    known = estimate(SumOfTotals(X, (-1e6, 1e6)), SideBySide((block(1, census=True),)))
    assert isinstance(known.exact, QuadraticTest) and known.exact.freedom == math.inf


@pytest.mark.parametrize("name", ["covariance", "difference"])
def test_only_the_ends_of_a_covariance_are_moved_by_its_bias(name: str) -> None:
    """A difference has the ends of the same function of totals, of which no bias is known."""
    blocks = tuple(block(seed, public=False, powers=((1,), (2,))).rows(slice(0, 2)) for seed in (1, 2))
    one = SideBySide(blocks, (0, 1)) if name == "difference" else SideBySide(blocks[:1])
    variance = CovarianceOfTotals(X, X, 2)
    function: FunctionOfTotals = {
        "covariance": variance,
        "difference": Expression(
            JointOperation("-", EstimateTerm(variance, (0, 0)), EstimateTerm(variance, (1, 0))),
            {(0, 0): slice(0, 3), (1, 0): slice(3, 6)},
        ),
    }[name]
    made, same = estimate(function, one), estimate(OfTotals(function, function._limits()), one)
    bias = same.value - made.value
    assert made.known.all() and same.known.all() and (np.abs(bias) > 1e-3 * made.standard_error).all()
    high, other = made.accepted(0.9)[1], same.accepted(0.9)[1]
    assert (high < function.high).all()
    np.testing.assert_allclose(other - high, bias if name == "covariance" else 0.0, rtol=1e-2, atol=1e-9)


def test_functions_of_the_user_are_tried_in_the_inner_four_fifths_of_the_bounds() -> None:
    axes = {"income": ScaledMean(1, 50.0, 40.0), "size": ScaledMean(2, 4.0, 3.0)}
    points = _trial_points(smooth_function(lambda t: t["income"] / t["size"], axes))
    assert points.shape == (8, 2)
    for column, (axis, base) in enumerate(zip(axes.values(), (math.pi, math.pi**2), strict=True)):
        exact = [axis.centre + 0.8 * axis.half * (2.0 * ((k * (base % 1.0)) % 1.0) - 1.0) for k in range(1, 9)]
        assert points[:, column] == pytest.approx(exact, rel=1e-12)
