"""Estimates computed with: errors carry their correlations, and what has no known joint law is refused."""

import math
import pickle
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from hedgerow.errors import ParameterError
from hedgerow.inference.joint import arithmetic
from hedgerow.inference.joint.arithmetic import (
    Applied,
    Constant,
    EstimateTerm,
    JointCells,
    JointOperation,
    JointValue,
    counted_cells,
    covariance_of,
    joint_totals_of,
    table_of,
)
from hedgerow.inference.joint.estimates import estimate
from hedgerow.inference.joint.functions import MeanOfTotals, RatioOfTotals, ScaledMean, SumOfTotals, smooth_function
from hedgerow.inference.joint.totals import JointTotals, SideBySide
from hedgerow.inference.region import ScoreRegion
from hedgerow.noise.lattice import AdditiveTable

N = (300, 500)
X, Y = ScaledMean(1, 40.0, 40.0), ScaledMean(2, 30.0, 30.0)
COUNT = SumOfTotals(ScaledMean(0, 0.0, 1.0), (0.0, math.inf))


def release(noise_sd: float = 4.0, n: int | None = sum(N), seed: int = 7) -> JointTotals:
    """Two cells with 300 and 500 records of two correlated features, all totals noisy."""
    rng = np.random.default_rng(seed)
    sums, products = [], []
    for size in N:
        u = np.clip(rng.normal(0.1, 0.3, size), -1, 1)
        f = np.stack([u, np.clip(0.7 * u + rng.normal(0, 0.2, size), -1, 1)], axis=1)
        sums.append(f.sum(axis=0))
        products.append(f.T @ f)
    return JointTotals(np.array(N, float), np.array(sums), np.array(products), noise_sd * np.eye(6), "laplace", n)


RELEASE = release()
AGE, OTHER, YEARS = (
    JointValue.of(RELEASE, *term) for term in ((0, MeanOfTotals(X)), (1, MeanOfTotals(X)), (0, MeanOfTotals(Y)))
)


def test_a_difference_of_two_means_of_the_same_people_knows_their_covariance() -> None:
    sampling, noise = covariance_of([AGE, YEARS])
    made = AGE - YEARS
    assert made.estimate == pytest.approx(AGE.estimate - YEARS.estimate)
    assert made.sampling_error**2 == pytest.approx(sampling[0, 0] + sampling[1, 1] - 2 * sampling[0, 1], rel=2e-3)
    assert made.privacy_error**2 == pytest.approx(noise[0, 0] + noise[1, 1] - 2 * noise[0, 1], rel=2e-3)
    assert noise[0, 1] != 0.0  # the noise of the count is in both means
    assert made.sampling_error < 0.9 * math.hypot(AGE.sampling_error, YEARS.sampling_error)


def test_cells_of_one_release_are_independent() -> None:
    made = AGE - OTHER
    assert made.sampling_error == pytest.approx(math.hypot(AGE.sampling_error, OTHER.sampling_error), rel=2e-3)
    assert made.privacy_error == pytest.approx(math.hypot(AGE.privacy_error, OTHER.privacy_error), rel=2e-3)
    low, high = ScoreRegion.of(made).ends(0.95)
    assert low < made.estimate < high
    assert (high - low) / (2 * 1.96 * made.standard_error) == pytest.approx(1.0, abs=0.1)


def test_a_quotient_of_two_means_is_the_ratio() -> None:
    made, ratio = AGE / YEARS, estimate(RatioOfTotals(X, Y), SideBySide((RELEASE.rows(slice(0, 1)),)))
    assert made.estimate == pytest.approx(float(ratio.value[0]))
    assert made.standard_error == pytest.approx(float(ratio.standard_error[0]), rel=0.01)
    ends = ratio.accepted(0.95)
    assert ScoreRegion.of(made).ends(0.95) == pytest.approx((ends[0][0], ends[1][0]), rel=5e-3)


@pytest.mark.parametrize("x", [ScaledMean(1, 40.0, 40.0), ScaledMean(1, 0.0, 3.0), ScaledMean(1, -5.0, 2.0)])
@pytest.mark.parametrize("y", [ScaledMean(2, 30.0, 20.0), ScaledMean(2, 3.0, 3.0), ScaledMean(2, 1.0, 2.0)])
def test_a_ratio_is_possible_between_the_ratios_of_the_bounds(x: ScaledMean, y: ScaledMean) -> None:
    """A divisor that may be 0 leaves the side open that the signs allow; one that may be negative leaves both."""
    tops, least, most = (x.centre - x.half, x.centre + x.half), y.centre - y.half, y.centre + y.half
    divisors = (max(least, 1e-200), most)
    ends = [top / divisor for top, divisor in product(tops, divisors)] if least >= 0.0 else [-math.inf, math.inf]
    expected = [-math.inf if min(ends) < -1e100 else min(ends), math.inf if max(ends) > 1e100 else max(ends)]
    assert RatioOfTotals(x, y)._limits() == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["rows of units", "units in several cells", "two releases"])
def test_cells_that_may_share_units_are_not_combined_without_products_between_them(kind: str) -> None:
    """Nor by way of a number; two statistics of one cell have a joint law, and so has what is of other people."""
    shared = replace(release(), limit=3) if kind == "rows of units" else replace(release(), several=True)
    first, other, years = (
        JointValue.of(shared, *term) for term in ((0, MeanOfTotals(X)), (1, MeanOfTotals(X)), (0, MeanOfTotals(Y)))
    )
    assert not shared.knows_cells and first.drawn_with != other.drawn_with
    if kind == "two releases":
        first = (AGE.of_others() - first).of_others()
    for combine in (lambda: first - other, lambda: (first * 2.0) / other, lambda: covariance_of([first, other])):
        with pytest.raises(ParameterError, match=r"HG130.*several cells") as refused:
            combine()
        assert ("their counts" in str(refused.value)) == (kind != "rows of units")
    if kind != "two releases":
        assert (first - years).standard_error > 0.0 and first.drawn_with == years.drawn_with
    elsewhere = JointValue.of(replace(release(seed=9), several=True), 1, MeanOfTotals(X))
    assert (first - elsewhere.of_others()).standard_error > first.standard_error


def test_numbers_scale_and_shift() -> None:
    for made, scale, shift in (
        (2 * AGE, 2, 0),
        (AGE * 2, 2, 0),
        (AGE / 4, 0.25, 0),
        (-AGE, -1, 0),
        (1 - AGE, -1, 1),
        (AGE + 5, 1, 5),
        (5 + AGE, 1, 5),
        (AGE - 5, 1, -5),
    ):
        assert made.estimate == pytest.approx(scale * AGE.estimate + shift)
        assert made.standard_error == pytest.approx(abs(scale) * AGE.standard_error, rel=2e-3)
    assert (AGE - AGE).standard_error == 0.0
    assert ScoreRegion.of(AGE - AGE).ends(0.95) == (0.0, 0.0)
    assert (100 / AGE).estimate == pytest.approx(100 / AGE.estimate)
    with pytest.raises(TypeError):
        AGE + "1"


def test_functions_of_values() -> None:
    assert AGE.log().standard_error == pytest.approx(AGE.standard_error / AGE.estimate, rel=0.01)
    assert AGE.log().exp().estimate == pytest.approx(AGE.estimate)
    assert AGE.sqrt().estimate == pytest.approx(math.sqrt(AGE.estimate))
    general = ScoreRegion.of(AGE + 0 * YEARS).ends(0.95)
    logarithm = np.exp(ScoreRegion.of(AGE.log()).ends(0.95))
    assert tuple(logarithm) == pytest.approx(general, rel=2e-3)


def test_counts_of_all_cells_add_up_to_a_public_number() -> None:
    """Replace-one: n is public, and the sampling errors of the parts cancel. Add-remove: n is random itself."""
    first, second = JointValue.of(RELEASE, 0, COUNT), JointValue.of(RELEASE, 1, COUNT)
    assert first.sampling_error == pytest.approx(math.sqrt(300 * 500 / 800), rel=0.01)
    assert (first + second).sampling_error == pytest.approx(0.0, abs=0.2)
    assert (first + second).privacy_error == pytest.approx(4 * math.sqrt(2))
    private = release(n=None)
    whole = JointValue.of(private, 0, COUNT) + JointValue.of(private, 1, COUNT)
    assert whole.sampling_error == pytest.approx(math.sqrt(800), rel=0.02)


def test_releases_that_may_hold_the_same_people_are_refused() -> None:
    elsewhere = JointValue.of(release(seed=8), 0, MeanOfTotals(X))
    for combine in (lambda: AGE - elsewhere, lambda: elsewhere / AGE, lambda: covariance_of([AGE, elsewhere])):
        with pytest.raises(ParameterError) as refused:
            combine()
        assert refused.value.code == "HG130"
    made = AGE - elsewhere.of_others()
    assert made.standard_error == pytest.approx(math.hypot(AGE.standard_error, elsewhere.standard_error), rel=2e-3)
    assert (made + AGE).standard_error == pytest.approx(
        math.hypot(2 * AGE.standard_error, elsewhere.standard_error), rel=2e-3
    )
    sampling, _ = covariance_of([AGE, elsewhere.of_others(), made])
    assert sampling[0, 1] == 0.0
    assert sampling[0, 2] == pytest.approx(AGE.sampling_error**2, rel=2e-3)


def test_what_is_divided_by_noise_is_not_reliable() -> None:
    drowned = release(noise_sd=60.0)
    difference = JointValue.of(drowned, 0, MeanOfTotals(X)) - JointValue.of(drowned, 1, MeanOfTotals(X))
    made = AGE.of_others() / difference
    assert not made.reliable
    assert ScoreRegion.of(made).ends(0.95)[0] == -math.inf


@pytest.mark.parametrize("n", [None, 200])
def test_counts_of_a_table_are_computed_with(n: int | None) -> None:
    """30 and 50 records of 200: multinomial, or with a Poisson number of records."""
    table = AdditiveTable(({"sex": 0}, {"sex": 1}), ("count",), np.array([[30.0], [50.0]]), np.array([3.0]), "gaussian")
    numbers, joint = counted_cells(table, n=n, census=False, method="gaussian")
    more = joint.row(1) - joint.row(0)
    variance = 80.0 if n is None else 200.0 * (0.15 * 0.85 + 0.25 * 0.75 + 2.0 * 0.15 * 0.25)
    assert numbers.value.tolist() == [30.0, 50.0] == [joint.row(0).estimate, joint.row(1).estimate]
    assert more.estimate == pytest.approx(20.0, rel=1e-12)
    assert more.sampling_error == pytest.approx(math.sqrt(variance), rel=0.02)
    assert more.privacy_error == pytest.approx(3.0 * math.sqrt(2.0), rel=1e-12)


def test_counts_of_all_records_differ_by_no_more_than_all() -> None:
    table = AdditiveTable(
        ({"sex": 0}, {"sex": 1}), ("count",), np.array([[-2.0], [203.0]]), np.array([3.0]), "gaussian"
    )
    _, joint = counted_cells(table, n=200, census=False, method="gaussian")
    less, more = joint.row(0) - joint.row(1), joint.row(1) - joint.row(0)
    assert (less.estimate, more.estimate) == (-200.0, 200.0)
    assert ScoreRegion.of(less).ends(0.95)[0] == -200.0 and ScoreRegion.of(more).ends(0.95)[1] == 200.0


def test_a_region_that_is_sent_knows_its_joint_law_and_code_of_the_user_is_not_sent() -> None:
    sent = pickle.loads(pickle.dumps(ScoreRegion.of(AGE)))
    assert (
        sent.joint is not None
        and sent.joint.estimate == AGE.estimate
        and sent.ends(0.5) == ScoreRegion.of(AGE).ends(0.5)
    )
    own = ScoreRegion.of(JointValue.of(RELEASE, 0, smooth_function(lambda t: t["x"] / t["y"], {"x": X, "y": Y})))
    recorded = pickle.loads(pickle.dumps(own))
    assert recorded.joint is None and recorded.ends(0.95) == own.ends(0.95)


RANGES = [(2.0, 5.0), (-3.0, 4.0), (-6.0, -1.5), (0.0, 2.5), (0.4, 0.4)]


def ranged(low: float, high: float, place: tuple[int, int] = (0, 0)) -> EstimateTerm:
    """Return a term of which so much is possible."""
    return EstimateTerm(MeanOfTotals(ScaledMean(1, (low + high) / 2.0, (high - low) / 2.0)), place)


@pytest.mark.parametrize("symbol", ["+", "-", "*", "/"])
@pytest.mark.parametrize("first", RANGES)
@pytest.mark.parametrize("second", RANGES)
def test_the_limits_of_an_operation_are_extremes_over_a_grid(
    symbol: str, first: tuple[float, float], second: tuple[float, float]
) -> None:
    node = JointOperation(symbol, ranged(*first), ranged(*second, (1, 2)))
    a, b = np.meshgrid(np.linspace(*first, 41), np.linspace(*second, 41))
    if symbol == "/" and second[0] <= 0.0 <= second[1]:
        assert node.limits() == (-math.inf, math.inf)
    else:
        every = {"+": a + b, "-": a - b, "*": a * b, "/": a / np.where(b == 0.0, 1.0, b)}[symbol]
        assert node.limits() == pytest.approx((every.min(), every.max()), rel=1e-12, abs=1e-12)
    assert [term.place for term in node.terms()] == [(0, 0), (1, 2)]
    assert node.divisors() == ([node.right] if symbol == "/" else [])
    numbered = node.renumbered([5, 3])
    assert [term.place for term in numbered.terms()] == [(5, 0), (3, 2)] and numbered.symbol == symbol
    found = node.value(lambda term: np.array([6.0 if term.place == (0, 0) else 1.5]))
    assert found.tolist() == [{"+": 7.5, "-": 4.5, "*": 9.0, "/": 4.0}[symbol]]


@pytest.mark.parametrize("name", ["log", "exp", "sqrt"])
@pytest.mark.parametrize("limits", RANGES)
def test_the_limits_of_a_function_are_its_values_where_it_is_defined(name: str, limits: tuple[float, float]) -> None:
    node, function = Applied(name, ranged(*limits)), {"log": np.log, "exp": np.exp, "sqrt": np.sqrt}[name]
    least, most = limits if name == "exp" else (max(end, 0.0) for end in limits)
    with np.errstate(divide="ignore"):
        exact = float(function(least)), float(function(most))
    possible = exact if exact[1] > -math.inf else (-math.inf, math.inf)
    assert node.limits() == pytest.approx(possible, rel=1e-12)
    assert node.divisors() == ([] if name == "exp" else [node.argument])
    values = node.value(lambda _: np.array([-1.0, 0.0, 2.25], dtype=complex)).real
    assert values[2] == pytest.approx(float(function(2.25)))
    assert np.isnan(values[:2]).tolist() == [name != "exp"] * 2
    assert node.renumbered([4]).terms()[0].place == (4, 0)
    inside = JointOperation("/", Constant(1.0), JointOperation("*", Constant(2.0), node))
    assert inside.divisors() == [inside.right, *node.divisors()]
    assert JointOperation("/", node, Constant(2.0)).divisors() == node.divisors(), "a number is clear of any noise"


@pytest.mark.parametrize("n", [None, 900])
@pytest.mark.parametrize("features", [("count",), ("equal", "different"), ("equal",)])
def test_noisy_counts_are_read_back_from_their_totals(features: tuple[str, ...], n: int | None) -> None:
    """A record with the value has f = 1, another one −1; of equal records alone n must be public."""
    values = np.array([[30.0, 70.0], [20.0, 85.0]])[:, : len(features)]
    table = AdditiveTable(({"sex": 0}, {"sex": 1}), features, values, np.full(len(features), 3.0), "laplace")
    known = 900 if features == ("equal",) else n
    totals = joint_totals_of(table, n=known, census=False)
    whole = {"count": values[:, 0], "equal": values.sum(axis=1)}[features[0]]
    assert totals.count == pytest.approx(np.full(2, 900.0) if features == ("equal",) else whole)
    if features != ("count",):
        assert totals.means[:, 0] == pytest.approx(2.0 * values[:, 0] / totals.count - 1.0)
        assert totals.products[:, 0, 0] == pytest.approx(totals.count)  # f² = 1
    noise = totals.mixing @ totals.mixing.T
    of_count, of_sum = {"count": (9.0, 0.0), "equal": (18.0, 18.0)}[features[0]]
    assert noise[0, 0] == pytest.approx(0.0 if features == ("equal",) else of_count)
    assert features != ("equal",) or not noise[:, [0, 2]].any()  # N is public, and so is Σf² = N
    assert len(noise) == 1 or noise[1, 1] == pytest.approx(36.0 if features == ("equal",) else of_sum)
    assert (totals.n, totals.law) == (known, "laplace") and totals.noise_step == pytest.approx(1.0 / 3.0)
    back = table_of(totals.totals, features, table.noise_sd, "laplace")
    assert back.values == pytest.approx(values) and back.features == features and len(back.cells) == 2
    assert joint_totals_of(replace(table, noise_sd=np.zeros(2)), n=known, census=True).noise_step == 0.0


def test_intervals_of_many_cells_are_computed_in_parts_and_some_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = estimate(MeanOfTotals(X), SideBySide((RELEASE.rows(np.array([0, 1, 0, 1, 1])),)))
    whole = {level: cells.accepted(level) for level in (0.5, 0.9)}
    monkeypatch.setattr(arithmetic, "_TOGETHER", 2)
    monkeypatch.setattr(arithmetic, "_MOST_KEPT", 4)
    asked = JointCells(cells)
    for level in (0.9, 0.5):
        for side, ends in enumerate(asked.accepted(level)):
            assert ends.tolist() == whole[level][side].tolist()
        assert [asked.ends(place, level)[1][0] for place in range(5)] == whole[level][1].tolist()
        assert 1 <= len(asked.ends_by_part) <= 4
    kept = asked.ends_by_part[0.5, 2]
    assert asked.ends(4, 0.5)[0].tolist() == kept[0].tolist() and asked.ends_by_part[0.5, 2] is kept
    assert (asked.low, asked.high) == (0.0, 80.0)
    assert [asked.row(place).standard_error for place in (1, 3)] == [cells.standard_error[1]] * 2


@pytest.mark.parametrize("features", [("equal", "different"), ("equal",)])
def test_a_share_divides_by_all_that_were_counted(features: tuple[str, ...]) -> None:
    """By equal and different records, with their noise; by a public number where equal ones are counted alone."""
    values = np.array([[30.0, 70.0], [20.0, 80.0]])[:, : len(features)]
    table = AdditiveTable(({"sex": 0}, {"sex": 1}), features, values, np.full(len(features), 3.0), "gaussian")
    shares, joint = counted_cells(table, n=400, census=True, method="gaussian")
    whole = 100.0 if len(features) == 2 else 400.0
    p = values[:, 0] / whole
    assert shares.value == pytest.approx(p)
    noise = np.hypot(1.0 - p, p) if len(features) == 2 else np.ones(2)
    assert shares.privacy_error == pytest.approx(3.0 * noise / whole)
    assert [joint.row(cell).estimate for cell in (0, 1)] == pytest.approx(p.tolist())
