"""Forecasts against simulated releases: half-widths within 15 % of their mean, from a guess and public facts alone."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pyarrow
import pytest

import hedgerow as hg
from hedgerow.facts.columns import Grid
from hedgerow.release.designs.guess import Guess, law_on_grid, typical_records
from hedgerow.release.execute import read_histograms
from hedgerow.release.forecast import ErrorTarget, epsilon_needed
from hedgerow.release.plan import Plan
from hedgerow.testing.simulated import SimulatedNoise, draw_estimates

MEAN, SD = 45.0, 18.0
GUESS = {"age": {"mean": MEAN, "sd": SD}, "weight": {"mean": 60.0, "sd": 15.0}, "employed": {"share": 0.3}}
AGE = hg.mean("age", bounds=(0, 100), step=1)


def beta(rng: np.random.Generator, n: int, mean: float, sd: float) -> Any:
    place = mean / 100
    both = place * (1 - place) / (sd / 100) ** 2 - 1
    return 100 * rng.beta(place * both, (1 - place) * both, n)


def people(rng: np.random.Generator, n: int) -> Any:
    columns = {
        "age": beta(rng, n, MEAN, SD),
        "weight": beta(rng, n, 60.0, 15.0),
        "employed": (rng.random(n) < 0.3).astype(int),
        "sex": rng.integers(0, 2, n),
    }
    return pyarrow.table(columns)


def simulated(asked: Any, n: int, *, data_sets: int = 4, noises: int = 8, **options: Any) -> tuple[Plan, float, float]:
    """Return a plan, and the mean half-width and standard error of simulated releases of it."""
    rng = np.random.default_rng(11)
    about = {name: options.pop(name) for name in ("relation", "target") if name in options}
    widths, errors, plan = [], [], None
    for _ in range(data_sets):
        survey = hg.open(people(rng, n), **({"relation": "replace-one"} | about))
        plan = plan or survey.plan([asked], **options)
        histograms = read_histograms(plan, survey.source)
        for _ in range(noises):
            for estimate in draw_estimates(plan, histograms, SimulatedNoise(rng)):
                interval = estimate.confidence_interval()
                widths.append((interval.high - interval.low) / 2)
                errors += [] if estimate.standard_error is None else [estimate.standard_error]
    assert plan is not None
    return plan, float(np.mean(widths)), float(np.mean(errors))


SETTINGS: dict[str, tuple[Any, int, dict[str, Any]]] = {
    "mean": (AGE, 3000, {"epsilon": 1.0}),
    "mean in noise": (AGE, 500, {"epsilon": 0.1}),
    "mean by cell": (AGE, 800, {"epsilon": 0.5, "by": {"sex": [0, 1]}}),
    "mean, n private": (AGE, 800, {"epsilon": 0.5, "relation": "add-remove"}),
    "mean, pure": (AGE, 1000, {"epsilon": 1.0, "delta": 0.0}),
    "mean of a census": (AGE, 1000, {"epsilon": 1.0, "target": "file"}),
    "mean, complete": (AGE, 1000, {"epsilon": 0.3, "missing": "error-if-declared-complete"}),
    "mean, bootstrap": (AGE, 2000, {"epsilon": 1.0, "estimator": "bootstrap"}),
    "mean, bootstrap in noise": (AGE, 500, {"epsilon": 0.5, "estimator": "bootstrap", "relation": "add-remove"}),
    "sum": (hg.sum("age", bounds=(0, 100), step=1), 2000, {"epsilon": 0.5, "by": {"sex": [0, 1]}}),
    "count": (hg.count(), 500, {"epsilon": 0.2, "by": {"sex": [0, 1]}}),
    "count, bootstrap": (hg.count(), 500, {"epsilon": 1.0, "by": {"sex": [0, 1]}, "estimator": "bootstrap"}),
    "proportion": (hg.proportion("employed", value=1), 800, {"epsilon": 0.5}),
    "proportion, pure": (hg.proportion("employed", value=1), 800, {"epsilon": 0.2, "delta": 0.0}),
    "ratio": (hg.ratio("age", "weight", bounds={"age": (0, 100, 1), "weight": (0, 100, 1)}), 3000, {"epsilon": 1.0}),
    "median": (hg.quantile("age", 0.5, bounds=(0, 128)), 4000, {"epsilon": 1.0}),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_half_widths_are_within_15_per_cent_of_simulated_ones(name: str) -> None:
    asked, n, options = SETTINGS[name]
    plan, width, error = simulated(asked, n, **options)
    (expected,) = plan.forecast(GUESS, n=None if plan.facts.n else n)
    assert expected.half_width is not None and expected.standard_error is not None
    assert 0.85 < expected.half_width / width < 1.15
    assert 0.8 < expected.standard_error / error < 1.2


def test_the_comparison_would_see_a_forgotten_noise_or_a_forgotten_sample() -> None:
    """Sabotage: the interval of the sampling error alone, and that of the noise alone, are both outside the 15 %."""
    plan, width, _ = simulated(AGE, 1000, epsilon=0.2)
    (expected,) = plan.forecast(GUESS)
    assert expected.sampling_error is not None and expected.privacy_error is not None
    assert not 0.85 < 1.96 * expected.sampling_error / width < 1.15
    assert not 0.85 < 1.96 * expected.privacy_error / width < 1.15


def planned(asked: Any, n: int, **options: Any) -> Plan:
    survey = hg.open(people(np.random.default_rng(1), n), relation="replace-one")
    return survey.plan([asked], **({"epsilon": 1.0} | options))


def test_a_forecast_is_the_same_every_time_and_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    survey = hg.open(people(np.random.default_rng(1), 500), relation="replace-one")
    assert survey.n == 500
    monkeypatch.setattr(type(survey.source), "histogram", None)
    plan = survey.plan([AGE, hg.count()], epsilon=1.0)
    assert plan.forecast(GUESS) == plan.forecast(GUESS)
    exact = plan.forecast(GUESS)[1]
    assert (exact.method, exact.value, exact.half_width) == ("public", 500.0, 0.0)


def test_what_is_not_guessed_is_at_its_worst() -> None:
    plan = planned(AGE, 2000)
    worst = plan.forecast()[0].half_width
    assert worst is not None and "worst" in plan.forecast()[0].guess
    for mean in (5, 50, 95):
        for share in (0.1, 0.9):
            sd = share * math.sqrt((100 - mean) * mean)
            for guess in ({"mean": mean, "sd": sd}, {"sd": sd}, {"mean": mean}):
                half = plan.forecast({"age": guess})[0].half_width
                assert half is not None and half <= worst * 1.001
    full = plan.forecast({"age": {"mean": 50, "sd": 10}})[0].half_width
    partial = plan.forecast({"age": {"sd": 10}})[0].half_width
    assert full is not None and partial is not None and full <= partial


@pytest.mark.parametrize(
    "guess",
    [
        {"age": {"mean": 101}},
        {"age": {"sd": 51}},
        {"age": {"mean": 90, "sd": 31}},
        {"age": {"sd": -1}},
        {"age": {"sd": math.nan}},
        {"age": {"spread": 1}},
        {"age": {"missing": 2}},
        {"age": {"correlation": 0.5}},
        {"age": {"correlation": {"income": 1.5}}},
        {"age": {"correlation": {"age": 0.5}}},
        {"age": {"correlation": {"income": 0.5}}, "income": {"correlation": {"age": 0.4}}},
        {"age": 3},
        [1],
    ],
)
def test_an_impossible_guess_is_refused(guess: Any) -> None:
    with pytest.raises(hg.ParameterError, match="HG707"):
        planned(AGE, 100).forecast(guess)


def test_missing_values_leave_fewer_records() -> None:
    plan = planned(AGE, 1000)
    whole, part = plan.forecast(GUESS)[0], plan.forecast({"age": {**GUESS["age"], "missing": 0.4}})[0]
    assert (whole.records, part.records) == (1000.0, 600.0) and part.half_width > whole.half_width


def test_waste_is_called_waste() -> None:
    many = {"sex": list(range(50))}
    assert planned(AGE, 500, by=many, epsilon=0.1).forecast(GUESS)[0].wasteful
    assert planned(hg.count(), 500, by=many, epsilon=0.01).forecast(GUESS)[0].wasteful
    assert not planned(AGE, 5000).forecast(GUESS)[0].wasteful
    assert not planned(hg.count(), 5000, by={"sex": [0, 1]}).forecast(GUESS)[0].wasteful


def test_the_law_of_a_guess_has_its_mean_and_spread() -> None:
    grid = Grid.from_bounds("age", (0, 100), 1)
    for mean, sd in ((45.0, 18.0), (5.0, 4.0), (50.0, 40.0)):
        index, probability = law_on_grid(grid, mean, sd, most=200)
        assert probability.sum() == pytest.approx(1.0)
        assert probability @ index == pytest.approx(mean, abs=0.3)
        assert math.sqrt(probability @ (index - mean) ** 2) == pytest.approx(sd, rel=0.05)
    ends, probability = law_on_grid(grid, 25.0, math.sqrt(25 * 75), most=200)
    assert ends.tolist() == [0, 100] and probability.tolist() == [0.75, 0.25]
    index, _ = law_on_grid(grid, 30.0, 0.0, most=200)
    assert set(index.tolist()) == {30}


def test_typical_records_may_have_more_columns_than_twenty() -> None:
    records = typical_records([(str(place), Grid.from_bounds("x", (0, 1), 1), (0.5, 0.5)) for place in range(24)], {})
    assert records.shape[1] == 24
    assert records.mean(axis=0) == pytest.approx(0.5, abs=0.01)
    # Sabotage: one sequence for two columns would make them equal.
    assert np.abs(np.corrcoef(records.T) - np.eye(24)).max() < 0.1


def test_typical_records_have_the_guessed_laws_and_correlations() -> None:
    laws = [
        ("x", Grid.from_bounds("x", (0, 100)), (20.0, 15.0)),
        ("y", Grid.from_bounds("y", (0, 1), 1), (0.7, math.sqrt(0.21))),
        ("z", Grid.from_bounds("z", (-1, 1)), (0.2, 0.4)),
    ]
    told = {("x", "y"): 0.4, ("x", "z"): -0.6}
    for wanted in (told, {}):
        records = typical_records(laws, wanted)
        found = np.corrcoef(records.T)
        for i, j in ((0, 1), (0, 2)):
            assert found[i, j] == pytest.approx(wanted.get((laws[i][0], laws[j][0]), 0.0), abs=0.02)
        for place, (_, grid, (mean, sd)) in enumerate(laws):
            low, high = grid.as_bounds()
            values = low + (high - low) * records[:, place] / grid.steps
            assert values.mean() == pytest.approx(mean, abs=0.02 * sd)
            assert values.std() == pytest.approx(sd, rel=0.02)


@pytest.mark.parametrize("told", [{("x", "y"): 0.9}, {("x", "z"): 0.9, ("y", "z"): -0.9, ("x", "y"): 0.3}])
def test_correlations_that_the_laws_cannot_have_are_refused(told: dict[tuple[str, str], float]) -> None:
    half = math.sqrt(0.09)
    laws = [
        ("x", Grid.from_bounds("x", (0, 1), 1), (0.1, half)),
        ("y", Grid.from_bounds("y", (0, 1), 1), (0.9, half)),
        ("z", Grid.from_bounds("z", (0, 1)), (0.5, 0.2)),
    ]
    with pytest.raises(hg.ParameterError, match="HG707"):
        typical_records(laws, told)


def test_a_statistic_of_several_totals_has_no_noise_of_one_total() -> None:
    asked = hg.correlation("age", "hours", bounds={"age": (0, 100), "hours": (0, 80)})
    table = pyarrow.table({"age": [30.0, 50.0] * 500, "hours": [10.0, 40.0] * 500})
    plan = hg.open(table, relation="replace-one").plan([asked, hg.mean("age", bounds=(0, 100))], epsilon=1.0)
    together, alone = plan.forecast(GUESS | {"hours": {"mean": 30, "sd": 12, "correlation": {"age": 0.4}}})
    assert together.noise_sd is None and alone.noise_sd is not None
    assert "correlation of age and hours 0.4" in together.guess


def test_the_way_back_ends_on_the_side_that_meets_the_target() -> None:
    def forecast_at(epsilon: float) -> Any:
        return planned(AGE, 2000, epsilon=epsilon).forecast(GUESS)

    for target in (ErrorTarget("age", 0.6), ErrorTarget("age", 0.02, relative=True)):
        needed = epsilon_needed(forecast_at, [target])
        met, missed = target.excess(forecast_at(needed)[0]), target.excess(forecast_at(needed * 0.96)[0])
        assert met is not None and missed is not None and met <= 1.0 < missed


def test_a_target_that_no_budget_reaches_is_refused() -> None:
    def forecast_at(epsilon: float) -> Any:
        return planned(AGE, 2000, epsilon=epsilon).forecast(GUESS)

    with pytest.raises(hg.ParameterError, match="HG708"):
        epsilon_needed(forecast_at, [ErrorTarget("age", 0.3)])
    with pytest.raises(hg.ParameterError, match="HG707"):
        epsilon_needed(forecast_at, [ErrorTarget("income", 0.3)])


def test_a_target_without_a_number_of_records_says_so() -> None:
    survey = hg.open(people(np.random.default_rng(1), 50), relation="add-remove")
    with pytest.raises(hg.ParameterError, match=r"HG707.*number of records is private.*n=10_000"):
        epsilon_needed(lambda e: survey.plan([AGE], epsilon=e).forecast(GUESS), [ErrorTarget("age", 5.0)])


def test_a_guess_object_is_a_guess() -> None:
    assert planned(AGE, 100).forecast({"age": Guess(45.0, 18.0)}) is not None


def test_a_plan_and_a_forecast_print_each_statistic() -> None:
    survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500, "income": [1.0, 2.0] * 500}), relation="replace-one")
    asked = [hg.mean("age", bounds=(0, 100)), hg.variance("income", bounds=(0, 3)), hg.count()]
    plan = survey.plan(asked, epsilon=1.0)
    head, *lines = str(plan).splitlines()
    assert head == repr(plan)
    assert [line.split(": ")[0] for line in lines] == ["mean of age", "variance of income", "count"]
    assert lines[2].endswith("public, exact and free")
    forecast = plan.forecast({"age": {"mean": 40, "sd": 10}})
    printed = str(forecast).splitlines()
    assert f"s.e. {forecast[0].standard_error:.3g}, of which" in printed[0] and "(mean 40, sd 10)" in printed[0]
    assert len(printed) == 3
    private = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="add-remove")
    assert "no error is known beforehand" in str(private.plan([AGE], epsilon=1.0).forecast())


NEAR = pyarrow.table({"pay": np.clip(np.random.default_rng(2).normal(20.0, 5.0, 1000), 0, 1000), "sex": [0, 1] * 500})


def _noise_of_a_mean(missing: str) -> float:
    """The spread of the estimates themselves, of seeded noise."""
    plan = hg.open(NEAR, relation="replace-one").plan(hg.mean("pay", bounds=(0, 1000)), epsilon=1.0, missing=missing)
    answers = read_histograms(plan, hg.open(NEAR, relation="replace-one").source)
    drawn = [draw_estimates(plan, answers, SimulatedNoise(seed))[0].estimate for seed in range(400)]
    return float(np.std(drawn))


def test_advice_to_declare_a_column_complete_tells_the_gain_that_there_is() -> None:
    plan = hg.open(NEAR, relation="replace-one").plan(hg.mean("pay", bounds=(0, 1000)), epsilon=1.0)
    (sentence,) = plan.advice({"pay": {"mean": 20, "sd": 5}})
    stated = float(re.search(r"has ([0-9.]+) times less noise", sentence)[1])  # type: ignore[index]  # it is there
    gained = _noise_of_a_mean("drop") / _noise_of_a_mean("error-if-declared-complete")
    assert stated == pytest.approx(gained, rel=0.15) and stated > 1.4


@pytest.mark.parametrize(
    ("asked", "options", "guess"),
    [
        (hg.mean("pay", bounds=(0, 1000)), {}, {"pay": {"mean": 500, "sd": 5}}),
        (hg.mean("pay", bounds=(0, 1000)), {"missing": "error-if-declared-complete"}, None),
        (hg.sum("pay", bounds=(0, 1000)), {}, None),
        (hg.count(), {}, None),
    ],
    ids=["in the middle", "declared", "a sum, where a missing value adds 0", "a count"],
)
def test_no_advice_is_given_where_nothing_is_gained(asked: Any, options: dict[str, Any], guess: Any) -> None:
    assert hg.open(NEAR, relation="replace-one").plan(asked, epsilon=1.0, **options).advice(guess) == ()


def test_advice_knows_no_data() -> None:
    complete, missing = NEAR, NEAR.set_column(0, "pay", pyarrow.array([None, 3.0] * 500))
    plans = (
        hg.open(table, relation="replace-one").plan(hg.mean("pay", bounds=(0, 1000)), epsilon=1.0)
        for table in (complete, missing)
    )
    first, second = (plan.advice() for plan in plans)
    assert first == second != ()
