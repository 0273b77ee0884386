"""The main job through its public door: groups, missing values, small cells, relations, methods, certificates."""

import json
import math
import re
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.joint.joint_moments import JointMoments
from hedgerow.mechanisms.mechanism import Composition
from hedgerow.mechanisms.noisy_counts import GaussianCounts, GeometricCounts
from hedgerow.testing import simulated

N = 2000
RNG = np.random.default_rng(5)
PEOPLE = pa.table(
    {
        "age": RNG.integers(18, 94, N).astype(float),
        "sex": RNG.integers(0, 2, N),
        "region": RNG.choice(["north", "south", "west"], N),
        "income": np.where(RNG.random(N) < 0.2, np.nan, RNG.lognormal(10, 1, N)),
    }
)
AGE = hg.mean("age", bounds=(0, 100), step=1)


def opened(relation: str = "replace-one", **facts: str) -> hg.Survey:
    return hg.open(PEOPLE, relation=relation, **facts)


def test_the_whole_contract_of_an_estimate() -> None:
    release = opened().release([AGE], by={"sex": [0, 1]}, epsilon=1.0)
    record = release.to_dict()
    assert set(record) == {"release", "estimates", "certificate", "joint", "request", "noisy", "reading"}
    assert {"source", "relation", "unit", "target", "n", "missing"} <= set(record["release"])
    one = record["estimates"][0]
    assert set(one) == {
        "statistic", "column", "cell", "estimate", "standard_error", "sampling_error", "bootstrap_error",
        "privacy_error", "confidence_interval", "method", "n_resamples", "reliable", "note",
    }  # fmt: skip
    assert one["cell"] == {"sex": 0} and one["method"] == "moments"
    assert {"low", "high", "level", "method"} <= set(one["confidence_interval"])
    parts = (one["sampling_error"], one["bootstrap_error"], one["privacy_error"])
    assert one["standard_error"] ** 2 == pytest.approx(sum(part**2 for part in parts))
    assert set(record["certificate"]) == {
        "mechanism", "relation", "unit", "epsilon", "epsilon_lower", "mu", "delta", "profile", "bound", "assumptions",
        "versions",
    }  # fmt: skip
    assert json.loads(release.to_json()) == json.loads(json.dumps(record))


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.0])
def test_the_certificate_lands_just_below_the_budget_and_reprices_from_its_json(relation: str, epsilon: float) -> None:
    release = opened(relation).release(
        [AGE, hg.proportion("sex", value=1), hg.count(), hg.sum("income", bounds=(0, 50_000))],
        by={"region": ["north", "south"]},
        epsilon=epsilon,
    )
    certificate = release.certificate
    assert certificate is not None and epsilon - 1e-3 <= certificate.epsilon <= epsilon
    again = Certificate.from_json(release.to_json())
    again.verify()
    assert again.to_dict() == certificate.to_dict()


def test_n_is_public_under_replace_one_only() -> None:
    assert opened().n == N
    assert opened("add-remove").n is None
    record = opened("add-remove").release([AGE], epsilon=1.0).to_dict()
    # As a number of its own: the digits of a noisy estimate, or a noisy count, may be N by chance.
    del record["joint"]
    assert not re.search(rf"(?<![\d.]){N}(?![\d])", json.dumps(record))


def test_the_count_of_everything_is_exact_public_and_free_under_replace_one() -> None:
    release = opened().count(epsilon=1.0)
    assert release[0].estimate == N and release[0].method == "public" and "public" in (release[0].note or "")
    assert release.certificate is not None and release.certificate.epsilon == 0.0
    release.certificate.verify()
    noisy = opened("add-remove").count(epsilon=0.01)
    assert noisy[0].method == "geometric" and noisy.certificate is not None and noisy.certificate.epsilon > 0


def test_categories_that_are_not_declared_are_left_out_or_put_together() -> None:
    narrow = simulated.release(opened(), [hg.count()], by={"region": ["north"]}, epsilon=50.0, rng=1)
    wide = simulated.release(opened(), [hg.count()], by={"region": ["north"]}, epsilon=50.0, other=True, rng=1)
    assert [dict(e.cell) for e in narrow] == [{"region": "north"}]
    assert [dict(e.cell) for e in wide] == [{"region": "north"}, {"region": "other"}]
    assert sum(e.estimate for e in wide) == pytest.approx(N, abs=5)


def test_a_release_asked_for_what_an_estimate_has_says_where_it_is() -> None:
    release = opened().release(hg.mean("age", bounds=(0, 100), step=1), epsilon=1.0)
    for name, meant in (("value", "estimate"), ("standard_error",) * 2, ("interval", "confidence_interval()")):
        with pytest.raises(AttributeError, match=re.escape(f"release[0].{meant}.")):
            getattr(release, name)
        eval(f"release[0].{meant}")
    with pytest.raises(AttributeError, match=r"A release has no 'nosuch'\.$"):
        release.nosuch  # type: ignore[attr-defined]  # noqa: B018  # a name that does not exist
    assert hasattr(release, "_repr_html_") and not hasattr(release, "__array__")


def test_an_empty_cell_is_released_like_any_other() -> None:
    release = opened().release([hg.count(), AGE], by={"region": ["north", "atlantis"]}, epsilon=1.0)
    empty = next(e for e in release if e.statistic == "mean" and e.cell["region"] == "atlantis")
    if not empty.reliable:
        interval = empty.confidence_interval()
        assert (interval.low, interval.high) == (0.0, 100.0)
        assert empty.standard_error is None and empty.to_dict()["standard_error"] is None
        assert 0 <= empty.estimate <= 100
    assert "NaN" not in release.to_json()


def test_a_category_that_no_record_has_is_said_in_words_from_released_numbers() -> None:
    from hedgerow.release.publication.text import text_table

    found = opened().release([AGE, hg.count()], by={"region": ["north", "Nord"]}, epsilon=1.0)
    for said in (str(found), " ".join(text_table(found).split()), found._repr_html_()):
        assert "or none, are in region=Nord that noise hides them" in said and "check the codes" in said
    whole = opened().release([AGE, hg.count()], by={"region": ["north", "south"]}, epsilon=1.0)
    assert "check the codes" not in str(whole) + text_table(whole)
    assert "check the codes" not in json.dumps(found.to_dict()), "a record says it by `reliable`"


def test_small_cells_are_marked_and_never_nan() -> None:
    """Cells of one record: over many draws nearly all are unreliable, and none is NaN or outside the bounds."""
    tiny = hg.open(pa.table({"x": [0.5, 0.5], "g": [0, 1]}), relation="add-remove")
    study = simulated.Study.of(
        tiny, [hg.mean("x", bounds=(0, 1)), hg.proportion("x", value=0.5)], by={"g": [0, 1]}, epsilon=0.5
    )
    noise, marked = simulated.SimulatedNoise(3), 0
    for _ in range(100):
        for estimate in study.draw(noise):
            interval = estimate.confidence_interval()
            assert 0.0 <= estimate.estimate <= 1.0 and 0.0 <= interval.low <= interval.high <= 1.0
            marked += not estimate.reliable
            if not estimate.reliable:
                assert (interval.low, interval.high) == (0.0, 1.0) and estimate.note
    assert marked > 250


@pytest.mark.parametrize("missing", ["drop", "midpoint"])
def test_missing_values_follow_the_declared_policy(missing: str) -> None:
    income = PEOPLE["income"].to_numpy()
    present = np.clip(income[~np.isnan(income)], 0, 50_000)
    truth = present.mean() if missing == "drop" else np.clip(np.nan_to_num(income, nan=25_000.0), 0, 50_000).mean()
    asked = [hg.mean("income", bounds=(0, 50_000))]
    release = simulated.release(opened(), asked, epsilon=100.0, missing=missing, rng=1)
    assert release[0].estimate == pytest.approx(truth, rel=2e-3)
    assert ("midpoint" in (release[0].note or "")) == (missing == "midpoint")


def test_a_false_declaration_of_completeness_costs_its_price_and_says_so_without_a_value() -> None:
    with pytest.raises(hg.SpentError, match="HG602") as caught:
        opened().mean("income", bounds=(0, 50_000), epsilon=1.0, missing="error-if-declared-complete")
    assert caught.value.exit_code == 6
    fine = opened().mean("age", bounds=(0, 100), epsilon=1.0, missing="error-if-declared-complete")
    assert fine.certificate is not None and "age holds no missing value" in fine.certificate.assumptions[0]


def test_a_zero_one_column_at_step_one_is_unbiased() -> None:
    """Rounding about the midpoint would turn 0 and 1 into ½ and 1½ (private_bootstrap.md §1)."""
    ones = hg.open(pa.table({"x": [1.0] * 300 + [0.0] * 700}), relation="replace-one")
    study = simulated.Study.of(ones, [hg.mean("x", bounds=(0, 1), step=1)], epsilon=5.0)
    noise = simulated.SimulatedNoise(11)
    drawn = np.array([study.draw(noise)[0].estimate for _ in range(400)])
    assert abs(drawn.mean() - 0.3) < 6 * drawn.std() / 20
    assert abs((drawn + 0.05).mean() - 0.3) > 6 * drawn.std() / 20, "the sabotaged grid would be seen"


@pytest.mark.parametrize(
    ("asked", "options", "kind"),
    [
        ([AGE], {}, JointMoments),
        ([AGE], {"delta": 0}, JointMoments),
        ([AGE], {"noise": "gaussian"}, JointMoments),
        ([hg.proportion("sex", value=1)], {}, GeometricCounts),
        ([hg.proportion("sex", value=1)], {"noise": "gaussian"}, GaussianCounts),
        ([hg.proportion("sex", value=1)], {"delta": 0}, GeometricCounts),
        ([AGE, hg.proportion("sex", value=1)], {}, JointMoments),
        ([AGE, hg.quantile("age", 0.5, bounds=(0, 100), step=1)], {}, Composition),
    ],
)
def test_method_and_budget_choose_the_mechanism(asked: list, options: dict, kind: type) -> None:
    release = opened().release(asked, epsilon=1.0, **options)
    assert release.certificate is not None and isinstance(release.certificate.mechanism, kind)
    assert release.reasons and all(release.reasons.values())
    if options.get("delta") == 0:
        assert release.certificate.delta == 0.0 and release.certificate.epsilon <= 1.0


def test_a_census_has_no_sampling_error_and_pays_for_no_second_moment() -> None:
    census = opened(target="file")
    release = census.release([AGE, hg.count()], by={"sex": [0, 1]}, epsilon=1.0)
    assert all(e.sampling_error == 0.0 for e in release)
    assert "census" in release[0].confidence_interval().covers
    plain = census.mean("age", bounds=(0, 100), epsilon=1.0, noise="gaussian")
    assert plain[0].method == "moments"
    assert opened().mean("age", bounds=(0, 100), epsilon=1.0, noise="gaussian")[0].method == "moments"


def test_shares_divide_the_noise_precision() -> None:
    asked = [AGE, hg.mean("income", bounds=(0, 50_000))]
    # μ² under Gaussian noise, the inverse scale under Laplace noise.
    for noise, ratio in (("gaussian", 3.0), ("laplace", 9.0)):
        plan = opened().plan(asked, epsilon=1.0, share=[9, 1], noise=noise)
        widths = [item.design.noise_sd(item.mechanism) / item.statistic.grid.half_range for item in plan.items]
        assert widths[1] / widths[0] == pytest.approx(ratio, rel=0.01)


def test_a_delta_above_one_over_n_warns() -> None:
    with pytest.warns(hg.HedgerowWarning, match="exceeds 1/n"):
        opened().mean("age", bounds=(0, 100), epsilon=1.0, delta=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opened().mean("age", bounds=(0, 100), epsilon=1.0)


def test_an_epsilon_above_ten_warns_before_data_are_read() -> None:
    with pytest.warns(hg.HedgerowWarning, match="epsilon=11 exceeds 10"):
        opened().mean("age", bounds=(0, 100), epsilon=11)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opened().mean("age", bounds=(0, 100), epsilon=10)
        with pytest.raises(hg.HedgerowWarning, match="exceeds 10"):
            opened().contingency_table(by={"sex": [0, 1]}, epsilon=11)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({}, "HG101"),
        ({"epsilon": 0}, "HG101"),
        ({"epsilon": math.inf}, "HG101"),
        ({"epsilon": 1.0, "delta": 1.0}, "HG102"),
        ({"epsilon": 1.0, "delta": -1}, "HG102"),
        ({"epsilon": 1.0, "delta": 0, "noise": "gaussian"}, "HG117"),
        ({"epsilon": 1.0, "estimator": "magic"}, "HG108"),
        ({"epsilon": 1.0, "missing": "guess"}, "HG114"),
        ({"epsilon": 1.0, "share": [1, 2]}, "HG113"),
        ({"epsilon": 1.0, "share": [-1]}, "HG113"),
        ({"epsilon": 1.0, "by": {}}, "HG111"),
        ({"epsilon": 1.0, "by": {"sex": []}}, "HG111"),
        ({"epsilon": 1.0, "by": ["sex"]}, "HG111"),
        ({"epsilon": 1.0, "by": {"nosuch": [1]}}, "HG203"),
    ],
)
def test_bad_requests_are_refused_before_any_value_is_read(
    options: dict, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = opened()
    assert survey.n == N
    monkeypatch.setattr(type(survey.source), "histogram", lambda *_: pytest.fail("data were read"))
    with pytest.raises(hg.HedgerowError) as caught:
        survey.release([AGE], **options)
    assert caught.value.code == code and caught.value.rule


@pytest.mark.parametrize("asked", [[], None, ["mean"], [AGE, 3]])
def test_what_is_no_statistic_is_refused(asked: object) -> None:
    with pytest.raises(hg.ParameterError, match="HG112"):
        opened().release(asked, epsilon=1.0)  # type: ignore[arg-type]  # the point of the test


def test_bad_columns_are_refused_from_the_schema() -> None:
    with pytest.raises(hg.HedgerowError, match="HG203"):
        opened().mean("nosuch", bounds=(0, 1), epsilon=1.0)
    with pytest.raises(hg.HedgerowError, match="HG204"):
        opened().mean("region", bounds=(0, 1), epsilon=1.0)
    with pytest.raises(hg.ParameterError, match="HG104"):
        opened().mean("age", epsilon=1.0)
    with pytest.raises(hg.ParameterError, match="HG103"):
        hg.open(PEOPLE).count(epsilon=1.0)


def test_a_failure_after_the_reservation_is_spent_and_quotes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    survey = opened()
    assert survey.n == N

    def broken(*_: object) -> None:
        raise RuntimeError("Could not convert string 'CANARY' to DOUBLE")

    monkeypatch.setattr(type(survey.source), "sums", broken)
    with pytest.raises(hg.SpentError, match="HG601") as caught:
        survey.release([AGE], epsilon=1.0)
    assert "CANARY" not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__context__ is None


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_no_row_and_one_row_are_released_like_any_other(rows: int, relation: str) -> None:
    survey = hg.open(pa.table({"x": pa.array([0.5] * rows, pa.float64())}), relation=relation)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hg.HedgerowWarning)
        release = survey.release(
            [hg.mean("x", bounds=(0, 1)), hg.sum("x", bounds=(0, 1)), hg.proportion("x", value=0.5)], epsilon=1.0
        )
        pure = survey.release([hg.mean("x", bounds=(0, 1))], epsilon=1.0, delta=0, missing="midpoint")
    assert len(release) == 3 and "NaN" not in release.to_json() and "NaN" not in pure.to_json()


def test_frames_csv_and_html(tmp_path) -> None:
    release = opened().release([AGE, hg.count()], by={"sex": [0, 1], "region": ["=north", "south"]}, epsilon=1.0)
    assert type(release.to_frame()).__module__.startswith("pyarrow"), "the caller's own library"
    for backend in ("polars", "pandas", "pyarrow"):
        assert type(release.to_frame(backend)).__module__.startswith(backend)
    with pytest.raises(hg.ParameterError, match="HG208"):
        release.to_frame("numpy")
    release.to_csv(tmp_path / "estimates.csv")
    text = (tmp_path / "estimates.csv").read_text()
    assert text.count("\n") == len(release) + 1 and "'=north" in text
    assert "<table" in release._repr_html_() and "<script" not in release._repr_html_()
    assert "replace-one" in repr(release)


def test_intervals_know_their_level_and_what_they_cover() -> None:
    estimate = opened().mean("age", bounds=(0, 100), epsilon=1.0)[0]
    narrow, wide = estimate.confidence_interval(0.5), estimate.confidence_interval(0.99)
    assert narrow.level == 0.5 and wide.high - wide.low > narrow.high - narrow.low
    assert "clamped to [0, 100]" in narrow.covers and "population" in narrow.covers
    for level in (0, 1, 95, math.nan, "0.9", True):
        with pytest.raises(hg.ParameterError, match="HG110"):
            estimate.confidence_interval(level)  # type: ignore[arg-type]  # the point of the test
    with pytest.raises(hg.ParameterError, match="HG108"):
        estimate.confidence_interval(0.95, method="calibrated")


def test_simulated_releases_are_marked_and_carry_no_certificate() -> None:
    first = simulated.release(opened(), [AGE], epsilon=1.0, rng=7)
    second = simulated.release(opened(), [AGE], epsilon=1.0, rng=7)
    assert first.simulated and first.certificate is None and "SIMULATED" in str(first)
    assert first.to_dict()["release"]["simulated"] is True and first.to_dict()["certificate"] is None
    assert first[0].estimate == second[0].estimate
    real = opened().release([AGE], epsilon=1.0)
    assert not real.simulated and "simulated" not in real.to_dict()["release"]


@pytest.mark.parametrize("target", ["file", "population"])
@pytest.mark.parametrize("method", ["auto", "bootstrap"])
def test_rounding_to_a_grid_that_nobody_declared_is_in_the_interval(target: str, method: str) -> None:
    """A constant between two of the 1,024 default steps: without the margin not one interval would hold it."""
    constant = hg.open(pa.table({"x": [1.0] * 100_000}), relation="replace-one", target=target)
    study = simulated.Study.of(constant, [hg.mean("x", bounds=(0, 10))], epsilon=1.0, estimator=method)
    noise, held, held_without = simulated.SimulatedNoise(4), 0, 0
    for _ in range(200):
        interval = study.draw(noise)[0].confidence_interval()
        margin = 10 / 1024 / 2
        held += interval.low <= 1.0 <= interval.high
        held_without += interval.low + margin <= 1.0 <= interval.high - margin
    assert held >= 180 and held_without < 180


def test_a_declared_step_is_kept_and_without_one_steps_are_far_below_the_noise() -> None:
    for step, steps in ((None, 2**20), (0.5, 200)):
        (item,) = opened().plan([hg.mean("age", bounds=(0, 100), step=step)], epsilon=1.0).items
        (value,) = item.design.query.values
        assert value.grid.steps == steps
    total = opened().sum("age", bounds=(0, 100), epsilon=1.0)[0].confidence_interval().covers
    assert "rounded" not in total


def test_the_midpoint_is_the_midpoint_on_an_odd_number_of_steps_too() -> None:
    gone = hg.open(pa.table({"x": [math.nan] * 50_000}), relation="replace-one")
    for bounds in ((0, 1), (0, 5)):
        release = simulated.release(
            gone, [hg.mean("x", bounds=bounds, step=1)], epsilon=10.0, missing="midpoint", rng=1
        )
        assert release[0].estimate == pytest.approx(sum(bounds) / 2, abs=0.01)


def test_a_count_that_drowns_is_cut_at_what_is_possible() -> None:
    empty = hg.open(pa.table({"g": [1] * 50}), relation="add-remove")
    study = simulated.Study.of(empty, [hg.count()], by={"g": [0]}, epsilon=0.5)
    noise = simulated.SimulatedNoise(2)
    drawn = [study.draw(noise)[0] for _ in range(200)]
    assert all(e.estimate >= 0 for e in drawn)
    assert all(
        e.confidence_interval().low <= e.estimate <= e.confidence_interval().high or e.estimate == 0 for e in drawn
    )


def test_what_is_said_of_single_estimates_is_printed_with_the_release() -> None:
    release = hg.open(pa.table({"age": [30.0, 50.0] * 50}), relation="replace-one").count(epsilon=1.0)
    assert release[0].note and str(release).count(release[0].note) == 1


BOX = {"age": (0, 100, 1), "sex": (0, 1, 1)}


@pytest.mark.parametrize(
    ("asked", "options", "stated"),
    [
        ([hg.mean("age", bounds=(0, 100), step=1)], {}, True),
        ([hg.mean("age", bounds=(0, 100), step=1)], {"by": {"sex": [0, 1]}}, True),
        ([hg.mean("age", bounds=(0, 100), step=1)], {"where": "age >= 50"}, False),
        ([hg.mean("sex", bounds=(0, 1), step=1)], {"by": {"sex": [0, 1]}}, False),
        ([hg.mean(hg.column("age / 2", bounds=(0, 50), step=1))], {}, False),
        ([hg.correlation("age", "sex", bounds=BOX)], {}, True),
        ([hg.mean("age", bounds=(0, 100), step=1), hg.proportion("sex", value=1)], {"noise": "gaussian"}, True),
        ([hg.variance("age", bounds=(0, 100), step=1), hg.mean("age", bounds=(0, 50))], {"noise": "gaussian"}, False),
    ],
)
def test_a_lower_bound_is_stated_only_where_the_worst_records_are_possible(
    asked: list[Any], options: dict[str, Any], stated: bool
) -> None:
    people = pa.table({"age": [30.0, 50.0] * 500, "sex": [0, 1, 1, 0] * 250})
    certificate = hg.open(people, relation="replace-one").release(asked, epsilon=1.0, **options).certificate
    assert certificate is not None and certificate.mu is not None
    assert (certificate.epsilon_lower is not None) == stated == (certificate.epsilon_lower_why is None)
    certificate.verify()
