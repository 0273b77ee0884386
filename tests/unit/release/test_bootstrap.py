"""estimator="bootstrap" and smooth statistics through the public door."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import hedgerow as hg
from hedgerow.accounting.compose import profile_of
from hedgerow.accounting.poisson_mixtures import PairKind
from hedgerow.facts.relation import Relation, Target
from hedgerow.inference.estimates_of_cells import HIDDEN
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.mechanism import Composition
from hedgerow.mechanisms.resampled_sums import ResampledCoordinate, ResampledGaussian, resampled_pairs
from hedgerow.noise.lattice import lattice_noise
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.plan import make_plan
from hedgerow.release.request import parse_request
from hedgerow.release.result import release_from_record
from hedgerow.reports.verify.verification import verify_record
from hedgerow.resampling.counted_values import Histogram
from hedgerow.testing import simulated
from hedgerow.testing.simulated import draw_estimates

N = 4000
RNG = np.random.default_rng(9)
INCOME = RNG.lognormal(10, 0.6, N).clip(0, 100_000)
TAX = (INCOME * RNG.uniform(0.1, 0.3, N)).clip(0, 30_000)
PEOPLE = pa.table(
    {
        "income": INCOME,
        "tax": TAX,
        "sex": RNG.integers(0, 2, N),
        "gap": np.where(RNG.random(N) < 0.3, np.nan, INCOME),
    }
)
MEAN = hg.mean("income", bounds=(0, 100_000))
OWN = hg.bootstrap(lambda t: t["income"] / t["count"], columns={"income": (0, 100_000)}, name="own")
RATIO = hg.ratio("tax", "income", bounds={"tax": (0, 30_000), "income": (0, 100_000)})


def opened(relation: str = "replace-one", **facts: str) -> hg.Survey:
    return hg.open(PEOPLE, relation=relation, **facts)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("by", [None, {"sex": [0, 1]}])
def test_every_statistic_by_the_bootstrap_with_a_certificate_that_reprices(relation: str, by: dict | None) -> None:
    asked = [
        MEAN,
        hg.sum("tax", bounds=(0, 30_000)),
        hg.proportion("sex", value=1),
        hg.count(),
        RATIO,
        hg.variance("income", bounds=(0, 100_000)),
        hg.standard_deviation("income", bounds=(0, 100_000)),
        hg.quantile("income", 0.5, bounds=(0, 100_000)),
    ]
    release = opened(relation).release(asked, by=by, epsilon=8.0, estimator="bootstrap")
    certificate = release.certificate
    assert certificate is not None and 8.0 - 2e-3 <= certificate.epsilon <= 8.0
    again = Certificate.from_json(release.to_json())
    again.verify()
    assert json.loads(again.to_json()) == certificate.to_dict()
    for estimate in release:
        if estimate.method == "public":
            continue
        assert estimate.method == "bootstrap" and isinstance(estimate.n_resamples, int)
        interval = estimate.confidence_interval()
        assert interval.method == "calibrated" and interval.low <= estimate.estimate <= interval.high


def test_the_replicates_are_on_the_result_and_in_its_record() -> None:
    asked = {"epsilon": 8.0, "missing": "error-if-declared-complete"}
    release = opened().release([MEAN, RATIO], estimator="bootstrap", n_resamples=20, **asked)
    again = release_from_record(release.to_json())
    for one, read in zip(release, again, strict=True):
        assert one.replicates is not None and len(one.replicates) == 20
        assert np.mean(one.replicates) == pytest.approx(one.estimate)
        assert read.replicates == one.replicates
    assert all(isinstance(number, float) for number in release[0].replicates or ())
    plain = opened().release([MEAN], **asked)
    assert plain[0].replicates is None and "replicates" not in plain.to_dict()["estimates"][0]


def test_a_sampling_error_that_the_noise_hides_is_said_to_be_hidden() -> None:
    """Equal values have no sampling error: about half of the spreads fall below what the noise explains."""
    table = pa.table({"x": [50.0] * 400})
    survey = hg.open(table, relation="replace-one")
    asked = [hg.mean("x", bounds=(0, 100), step=1)] * 12
    found = list(survey.release(asked, epsilon=1.0, estimator="bootstrap", n_resamples=20))
    hidden = [one for one in found if one.sampling_error == 0.0]
    assert hidden and all(HIDDEN in (one.note or "") for one in hidden)
    assert not any(HIDDEN in (one.note or "") for one in found if one.sampling_error)


def test_estimates_land_on_the_truth_when_noise_is_small() -> None:
    asked = [
        RATIO,
        hg.variance("income", bounds=(0, 100_000)),
        hg.quantile("income", 0.5, bounds=(0, 100_000), step=500),
    ]
    release = simulated.release(opened("add-remove"), asked, epsilon=100.0, n_resamples=300, rng=1)
    truths = [TAX.sum() / INCOME.sum(), INCOME.var(ddof=1), float(np.median(INCOME))]
    for estimate, truth in zip(release, truths, strict=True):
        assert estimate.estimate == pytest.approx(truth, rel=0.02)
        # The population spread seen in the replicates is that of the textbook bootstrap.
        assert 0 < estimate.sampling_error < 0.1 * truth


def test_a_users_own_function_and_features() -> None:
    covariance = hg.bootstrap(
        lambda t: t["xy"] / t["count"] - t["x"] * t["y"] / t["count"] ** 2,
        columns={"income": (0, 100_000), "tax": (0, 30_000)},
        features={
            "x": (lambda c: c["income"] / 1e5, (0, 1)),
            "y": (lambda c: c["tax"] / 3e4, (0, 1)),
            "xy": (lambda c: c["income"] * c["tax"] / 3e9, (0, 1)),
        },
        name="covariance",
    )
    release = simulated.release(opened(), [covariance], epsilon=100.0, n_resamples=300, rng=1)
    assert release[0].statistic == "covariance" and release[0].column == "income, tax"
    assert release[0].estimate == pytest.approx(np.cov(INCOME / 1e5, TAX / 3e4)[0, 1], rel=0.03)


def test_a_feature_beyond_its_declared_bounds_is_clamped_not_believed() -> None:
    """The price is that of the declared bounds, so a function that lies about them must not move more."""
    liar = hg.bootstrap(
        lambda t: t["x"] / t["count"],
        columns={"income": (0, 100_000)},
        features={"x": (lambda c: c["income"] * 1e9, (0, 1))},
    )
    assert simulated.release(opened(), [liar], epsilon=20.0, n_resamples=4, rng=1)[0].estimate <= 1.05


def test_a_function_that_fails_is_marked_and_never_nan() -> None:
    broken = hg.bootstrap(lambda t: math.log(-1.0), columns={"income": (0, 100_000)}, limits=(0, 1))
    release = opened().release([broken], epsilon=1.0)
    assert not release[0].reliable and release[0].standard_error is None and "NaN" not in release.to_json()


def test_missing_in_either_column_drops_the_record_from_both() -> None:
    ratio = hg.ratio("tax", "gap", bounds={"tax": (0, 30_000), "gap": (0, 100_000)})
    gap = PEOPLE["gap"].to_numpy()
    present = ~np.isnan(gap)
    release = simulated.release(opened("add-remove"), [ratio], epsilon=100.0, n_resamples=300, rng=1)
    assert release[0].estimate == pytest.approx(TAX[present].sum() / gap[present].sum(), rel=0.02)


def test_the_file_as_target_has_no_sampling_error_and_students_interval() -> None:
    release = opened(target="file").release([RATIO], epsilon=5.0, estimator="bootstrap")
    assert release[0].sampling_error == 0.0 and release[0].confidence_interval().method == "student"


@pytest.mark.parametrize("method", ["calibrated", "conservative", "unbiased", "most-conservative"])
def test_interval_methods(method: str) -> None:
    release = opened().release([MEAN], epsilon=2.0, estimator="bootstrap", interval=method)
    estimate = release[0]
    assert estimate.confidence_interval().method == method
    assert estimate.confidence_interval(0.9, method="conservative").method == "conservative"


@pytest.mark.parametrize(
    ("asked", "options", "code"),
    [
        ([MEAN], {"n_resamples": 20}, "HG108"),
        ([MEAN], {"interval": "calibrated"}, "HG108"),
        ([MEAN], {"estimator": "bootstrap", "interval": "bayes"}, "HG108"),
        ([MEAN], {"estimator": "bootstrap", "n_resamples": 1}, "HG120"),
        ([MEAN], {"estimator": "bootstrap", "n_resamples": 0}, "HG120"),
        ([MEAN], {"estimator": "bootstrap", "n_resamples": 10**9}, "HG120"),
        ([MEAN], {"estimator": "bootstrap", "n_resamples": 20.5}, "HG120"),
        ([MEAN], {"estimator": "bootstrap", "delta": 0}, "HG117"),
        ([RATIO], {"delta": 0, "estimator": "bootstrap"}, "HG117"),
        ([RATIO], {"delta": 0, "n_resamples": 20}, "HG117"),
        ([OWN], {"delta": 0}, "HG117"),
        ([OWN], {"estimator": "moments"}, "HG108"),
        ([RATIO], {"estimator": "moments", "n_resamples": 20}, "HG108"),
        ([RATIO], {"missing": "midpoint"}, "HG114"),
    ],
)
def test_bad_requests(asked: list, options: dict, code: str) -> None:
    with pytest.raises(hg.ParameterError) as caught:
        opened().release(asked, epsilon=1.0, **options)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "make",
    [
        lambda: hg.ratio("tax", "tax", bounds={"tax": (0, 1)}),
        lambda: hg.ratio("tax", "income", bounds={"tax": (0, 1)}),
        lambda: hg.quantile("income", 1.5, bounds=(0, 1)),
        lambda: hg.quantile("income", 0.5, bounds=(0, 1), step=0.0000001),
        lambda: hg.bootstrap(3, columns={"x": (0, 1)}),
        lambda: hg.bootstrap(lambda t: 0.0, columns={}),
        lambda: hg.bootstrap(lambda t: 0.0, columns={"x": (0, 1)}, features={"count": (abs, (0, 1))}),
        lambda: hg.bootstrap(lambda t: 0.0, columns={"x": (1, 0)}),
    ],
)
def test_what_is_no_statistic_is_refused_when_it_is_made(make) -> None:
    with pytest.raises(hg.ParameterError):
        make()


def resampled(shape: str, *, cells: int, presence: str, sd: float, k: int = 50) -> ResampledGaussian:
    value = ResampledCoordinate(1000, lattice_noise(2000 * sd))
    one = ResampledCoordinate(1, lattice_noise(2 * sd))
    coordinates = {"value": (value,), "count": (one,), "value-and-count": (value, one), "vector": (value, value, one)}
    return ResampledGaussian(k, 1.0, shape, coordinates[shape], presence, cells)  # type: ignore[arg-type]  # test names


def test_a_mutant_that_prices_a_grouped_mean_at_half_the_range_is_caught() -> None:
    """The scalar curve at C = R/2 lies below the vector's: ρ = ½, κ = 1 in each cell (private_bootstrap.md §2: 4.9)."""
    vector = resampled("value-and-count", cells=2, presence="private", sd=math.sqrt(50))
    honest = profile_of(vector, Relation.REPLACE_ONE).epsilon_upper(1e-6)
    heavier = ResampledCoordinate(1, lattice_noise(math.sqrt(50)))  # κ = 2
    double = ResampledGaussian(50, 1.0, "value-and-count", (vector.coordinates[0], heavier), "private", 2)
    mutant = profile_of(resampled("value", cells=1, presence="public", sd=math.sqrt(50)), Relation.REPLACE_ONE)
    assert honest == pytest.approx(4.895, abs=0.02)
    assert profile_of(double, Relation.REPLACE_ONE).epsilon_upper(1e-6) == pytest.approx(8.35, abs=0.03)
    assert mutant.epsilon_upper(1e-6) < honest < 8


def test_general_vectors_under_replace_one_pay_the_split_pair() -> None:
    vector = resampled("vector", cells=1, presence="private", sd=3.0)
    (pair,) = resampled_pairs(vector, Relation.REPLACE_ONE)
    assert pair.kind is PairKind.ACROSS and pair.noise_sd == pytest.approx(math.sqrt(0.5))
    assert pair.bound == pytest.approx(math.hypot(1 / 6, 1 / 6, 1 / 6), rel=1e-5)
    assert profile_of(vector, Relation.REPLACE_ONE).epsilon_upper(1e-6) > profile_of(
        vector, Relation.ADD_REMOVE
    ).epsilon_upper(1e-6)


@pytest.mark.parametrize("angle", [0.0, 0.5, 1.0, 2.0, math.pi])
def test_the_split_pair_dominates_two_vectors_at_any_angle(angle: float) -> None:
    """k = 1: δ of (r·φ + Z) against (r·φ' + Z) by a fine sum over the plane, never above the split price."""
    sd, c = 1.5, 1.0
    weights = stats.poisson.pmf(np.arange(12), 1.0)
    axis = np.linspace(-9, 20, 581)
    x, y = np.meshgrid(axis, axis)

    def law(vector: tuple[float, float]) -> np.ndarray:
        total = np.zeros_like(x)
        for r, p in enumerate(weights):
            total += p * np.exp(-((x - r * vector[0]) ** 2 + (y - r * vector[1]) ** 2) / (2 * sd**2))
        return total / total.sum()

    p, q = law((c, 0.0)), law((c * math.cos(angle), c * math.sin(angle)))
    coordinate = ResampledCoordinate(1, lattice_noise(sd * math.sqrt(2)))
    mechanism = ResampledGaussian(1, 1.0, "vector", (coordinate, coordinate), "private", 1)
    curve = profile_of(mechanism, Relation.REPLACE_ONE)
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        exact = max(np.maximum(p - np.exp(epsilon) * q, 0).sum(), np.maximum(q - np.exp(epsilon) * p, 0).sum())
        assert exact <= curve.delta_upper(epsilon) + 1e-6
    if angle == math.pi:
        scalar = ResampledGaussian(1, 1.0, "value", (ResampledCoordinate(1, lattice_noise(sd)),), "public", 1)
        assert profile_of(scalar, Relation.REPLACE_ONE).delta_upper(0.5) <= curve.delta_upper(0.5)


def test_a_bootstrap_composes_with_other_releases() -> None:
    asked = [MEAN, RATIO, hg.proportion("sex", value=1)]
    release = opened().release(asked, by={"sex": [0, 1]}, epsilon=1.0, n_resamples=30)
    assert release.certificate is not None and isinstance(release.certificate.mechanism, Composition)
    kinds = {part.type for part in release.certificate.mechanism.parts}
    assert "resampled-gaussian" in kinds and "joint-moments" in kinds
    alone = profile_of(release.certificate.mechanism.parts[1], Relation.REPLACE_ONE).epsilon_upper(1e-6)
    assert alone < release.certificate.epsilon <= 1.0


def test_combined_releases_pool_the_noise_and_add_up_the_price() -> None:
    survey = opened()
    parts = [survey.release([MEAN, hg.count()], by={"sex": [0, 1]}, epsilon=0.5) for _ in range(4)]
    together = hg.combine(parts)
    for pooled, single in zip(together, parts[0], strict=True):
        # Fresh noise each time: the bands are some eight standard deviations of what it moves.
        assert pooled.privacy_error == pytest.approx(single.privacy_error / 2, rel=0.2)
        assert pooled.sampling_error == pytest.approx(single.sampling_error, rel=0.45)
    assert together.certificate is not None and 0.9 < together.certificate.epsilon < 2.0
    together.certificate.verify()


def test_a_record_of_pooled_releases_is_verified() -> None:
    survey = hg.open(pa.table({"x": [0.2, 0.8] * 500}), relation="add-remove")
    asked = {"by": {"x": [0.2, 0.8]}, "epsilon": 0.01}  # two equal noises in a row are as good as impossible
    for statistic in (hg.count(), hg.variance("x", bounds=(0, 1))):
        record = json.loads(hg.combine([survey.release(statistic, **asked) for _ in range(2)]).to_json())
        assert "joint" not in record and verify_record(record).holds
    # As many numbers as two releases of one number make have no price of their own.
    counts = hg.combine([survey.count(**asked) for _ in range(2)])
    more = json.loads(counts.to_json())
    more["estimates"] *= 2
    assert "field estimates" in verify_record(more).contradictions[0]


def by_sex(asked: object = MEAN, seed: int = 1, **options: object) -> hg.Release:
    given = {"by": {"sex": [0, 1]}, "epsilon": 5.0, "estimator": "bootstrap", "n_resamples": 50, "rng": seed}
    return simulated.release(opened(), [asked], **{**given, **options})


def test_cells_of_one_bootstrap_are_subtracted_by_their_replicates() -> None:
    first, second = by_sex()
    found = 2 * first - (second + 1)
    drawn = 2 * np.array(first.replicates) - np.array(second.replicates) - 1
    assert found.replicates == pytest.approx(drawn) and found.n_resamples == 50 and found.method == "bootstrap"
    assert found.estimate == pytest.approx(2 * first.estimate - second.estimate - 1)
    assert found.privacy_error == pytest.approx(math.hypot(2 * first.privacy_error, second.privacy_error))
    assert set(found.confidence_interval().to_dict()) == set(first.confidence_interval().to_dict())
    tests = [(first - second).test(value, "conservative") for value in (0, 50_000)]
    assert tests[0].pvalue > 1e-3 > tests[1].pvalue
    interval = (second - first).confidence_interval()
    assert interval.method == "calibrated" and interval.low < second.estimate - first.estimate < interval.high
    assert (2 * first - (first + first)).privacy_error == 0.0
    nothing = first - first
    assert nothing.privacy_error == nothing.sampling_error == 0.0 and nothing.test(0, "conservative").pvalue == 1.0


def test_counts_of_all_cells_add_up_to_a_number_without_sampling_error() -> None:
    """Counts of cells go against each other: errors added as of independent numbers would be too large."""
    first, second = by_sex(hg.count(), epsilon=100.0)
    total, apart = first + second, math.hypot(first.sampling_error, second.sampling_error)
    assert abs(total.estimate - N) < 5 * total.standard_error and total.sampling_error < 0.5 * apart
    assert (first - second).sampling_error > 1.2 * apart


def test_replicates_that_were_not_drawn_together_are_not_combined() -> None:
    first, second = by_sex()
    other, ratio = by_sex(seed=2)[0], by_sex(RATIO)[0]
    for made in (lambda: first - other, lambda: first - ratio, lambda: 2 * first - other, lambda: first / second):
        with pytest.raises(hg.ParameterError, match=r"HG130.*release\[0\] - release\[1\]"):
            made()


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_differences_of_cells_cover(relation: str) -> None:
    """600 pairs of cells in one release; the error of one cell alone in place of both is seen."""
    pairs, rows, rng = 600, 60, np.random.default_rng(20261123)
    people = pa.table(
        {"x": rng.gamma(2.0, 10.0, 2 * pairs * rows).clip(0, 100), "g": np.arange(2 * pairs * rows) // rows}
    )
    release = simulated.release(
        hg.open(people, relation=relation), [hg.mean("x", bounds=(0, 100))], by={"g": list(range(2 * pairs))},
        epsilon=100.0, estimator="bootstrap", n_resamples=50, rng=1,
    )  # fmt: skip
    covered = sabotaged = 0
    for first, second in zip(release[::2], release[1::2], strict=True):
        interval, half = (first - second).confidence_interval(), (first - second.estimate).confidence_interval()
        covered += interval.low <= 0.0 <= interval.high
        sabotaged += half.low <= 0.0 <= half.high
    assert stats.binom.cdf(covered, pairs, 0.94) > 1e-6 > 1e-12 > stats.binom.cdf(sabotaged, pairs, 0.94)


def test_a_record_of_a_bootstrap_says_where_a_test_can_be_made() -> None:
    record = release_from_record(json.dumps(opened().release([MEAN], epsilon=1.0, estimator="bootstrap").to_dict()))
    with pytest.raises(hg.ParameterError, match=r"HG108.*release\[0\]\.test.*estimator='moments'"):
        record[0].test(0)
    advised = opened().release([MEAN], epsilon=1.0, estimator="moments")
    assert release_from_record(json.dumps(advised.to_dict()))[0].test(0).pvalue < 0.01


def test_what_does_not_estimate_the_same_thing_is_not_combined() -> None:
    survey = opened()
    mean = survey.release([MEAN], epsilon=0.5)
    for other in (
        survey.release([hg.mean("income", bounds=(0, 50_000))], epsilon=0.5),
        survey.release([MEAN], epsilon=0.5, by={"sex": [0, 1]}),
        survey.release([MEAN], epsilon=0.5, missing="midpoint"),
        opened("add-remove").release([MEAN], epsilon=0.5),
        simulated.release(survey, [MEAN], epsilon=0.5, rng=1),
    ):
        with pytest.raises(hg.ParameterError, match="HG122"):
            hg.combine([mean, other])
    with pytest.raises(hg.ParameterError, match="HG122"):
        hg.combine([mean])


@pytest.mark.parametrize("columns", [{"income": (0, 100_000)}, {"income": (0, 100_000), "tax": (0, 30_000)}])
def test_a_feature_cannot_look_across_records(columns: dict) -> None:
    """A centred feature would let one record move all others: it sees the public grid, or one record at a time."""
    centred = hg.bootstrap(
        lambda t: t["z"] / t["count"],
        columns=columns,
        features={"z": (lambda c: (c["income"] - c["income"].mean()) / 50_000, (-1, 1))},
        name="centred",
    )
    same = {"income": [30_000.0] * 999, "tax": [0.0] * 999}
    first = pa.table({k: [*v, 30_000.0 if k == "income" else 0.0] for k, v in same.items()})
    second = pa.table({k: [*v, 100_000.0 if k == "income" else 0.0] for k, v in same.items()})
    drawn = [
        simulated.release(hg.open(t, relation="replace-one"), [centred], epsilon=50.0, rng=1)[0].estimate
        for t in (first, second)
    ]
    # One record of a thousand may move its own part, at most 2/1000 of the range, and the noise is the same.
    assert abs(drawn[0] - drawn[1]) < 0.01


def test_a_feature_that_fails_or_warns_on_a_value_says_nothing(recwarn: pytest.WarningsRecorder) -> None:
    for function in (lambda c: np.log(c["x"]), lambda c: np.array([math.log(v) for v in c["x"]])):
        logarithm = hg.bootstrap(
            lambda t: t["z"] / t["count"], columns={"x": (0, 100)}, features={"z": (function, (-5, 5))}, name="log"
        )
        for last in (30.0, 0.0):
            survey = hg.open(pa.table({"x": [30.0] * 99 + [last]}), relation="replace-one")
            assert len(survey.release([logarithm], epsilon=1.0, delta=1e-3)) == 1
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]


def test_what_a_price_rests_on_is_on_the_certificate() -> None:
    scanned = opened().release([MEAN], epsilon=1.0, estimator="bootstrap").certificate
    proven = opened("add-remove").release([MEAN], epsilon=1.0, estimator="bootstrap").certificate
    own = hg.bootstrap(
        lambda t: t["z"] / t["count"],
        columns={"income": (0, 100_000)},
        features={"z": (lambda c: c["income"] / 1e5, (0, 1))},
        name="own",
    )
    theirs = opened("add-remove").release([own], epsilon=1.0).certificate
    assert any("equal sign" in text for text in scanned.assumptions) and proven.assumptions == ()
    assert any("one record to the next" in text for text in theirs.assumptions)


@pytest.mark.parametrize("slip", [lambda t: t["y"] / t["count"], lambda t: t.nothing, lambda t: None, lambda: 0.0])
def test_a_slip_in_a_function_costs_nothing(slip, monkeypatch: pytest.MonkeyPatch) -> None:
    survey = opened()
    assert survey.n == N
    monkeypatch.setattr(type(survey.source), "histogram", lambda *_: pytest.fail("data were read"))
    with pytest.raises(hg.ParameterError, match="HG112"):
        survey.release([hg.bootstrap(slip, columns={"income": (0, 100_000)}, name="slip")], epsilon=1.0)


@pytest.mark.parametrize(("n", "probability"), [(500, 0.5), (2000, 0.9)])
def test_quantiles_cover(n: int, probability: float) -> None:
    """Uniform data, ε = 5, 200 runs: not significantly below 94 %; the narrower half of each interval is."""
    rng = np.random.default_rng([9, n])
    request = parse_request([hg.quantile("x", probability, bounds=(0, 1))], epsilon=5.0, estimator="bootstrap")
    plan = make_plan(request, PublicFacts(Relation.REPLACE_ONE, "row", Target.POPULATION, n))
    noise, covered, half = simulated.SimulatedNoise(rng), 0, 0
    for _ in range(200):
        index, count = np.unique(np.floor(rng.random(n) * 64 + 0.5).astype(int), return_counts=True)
        histogram = Histogram.from_triplets(np.zeros(len(index)), index, count, cells=1)
        (estimate,) = draw_estimates(plan, {plan.items[0].design.query: histogram}, noise)
        interval = estimate.confidence_interval()
        covered += interval.low <= probability <= interval.high
        half += abs(probability - estimate.estimate) <= (interval.high - interval.low) / 4
    assert stats.binom.cdf(covered, 200, 0.94) > 1e-6
    assert stats.binom.cdf(half, 200, 0.94) < 1e-6
