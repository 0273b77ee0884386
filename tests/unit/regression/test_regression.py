"""Linear models: without noise they are those of statsmodels, and what a release tells is priced and read back."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pytest
import statsmodels.formula.api as smf

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.engines.query import InBall, SumsQuery, ValueOnGrid
from hedgerow.engines.source import open_source
from hedgerow.errors import ForbiddenError, ParameterError
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Grid
from hedgerow.facts.relation import Relation
from hedgerow.ledger.store import Ledger
from hedgerow.mechanisms.joint.joint_moments import JointMoments
from hedgerow.mechanisms.joint.joint_sensitivity import JointWeights, ball_cost
from hedgerow.regression.features import LinearFeatures
from hedgerow.regression.formula import FormulaTerms
from hedgerow.regression.least_squares import LeastSquaresFit, RegressionMoments
from hedgerow.regression.regression import Regression, regressions_from_record
from hedgerow.regression.release_regression import drawn_regression, read_regression
from hedgerow.release.designs.joint.chooser import choose
from hedgerow.release.execute import read_histograms
from hedgerow.reports.verify.verification import read_record, verify_record

BOUNDS = {"age": (0, 100), "educ": (1, 16), "income": (0, 50_000)}
CATEGORIES = {"sex": [0, 1, 2]}
FORMULAS = (
    "income ~ age + educ",
    "income ~ age * educ + C(sex):age + C(sex) + I(age ** 2)",
    "income ~ age + C(sex) - 1",
    "income ~ I(age ** 2) + age:educ",
)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    chance = np.random.default_rng(3)
    n = 4_000
    age, educ, sex = chance.uniform(20, 80, n), chance.integers(1, 17, n) * 1.0, chance.integers(0, 3, n)
    income = 8_000 + 1_000 * educ + 50 * age + 40 * (sex == 1) * age + chance.normal(0, 3_000, n)
    return pd.DataFrame({"age": age, "educ": educ, "sex": sex, "income": income})


def exact_fit(formula: str, people: pd.DataFrame) -> tuple[LinearFeatures, LeastSquaresFit]:
    """Return the fit that the sums of the features tell without noise."""
    terms = FormulaTerms.parsed(formula)
    categories = {column: tuple(CATEGORIES[column]) for column in terms.categories}
    grids = {column: Grid.from_bounds(column, BOUNDS[column]) for column in terms.numeric}
    model = LinearFeatures(terms.response, terms.regressors(categories), grids, categories)
    columns = {column: (people[column].to_numpy() - c) / h for column, (c, h) in model.axes.items()}
    records = model.records(columns, {column: people[column].to_numpy() for column in terms.categories})
    features = [a * records[:, k] + b for k, (a, b) in enumerate(model.scales, start=1)]
    sums = [len(people), *(np.prod([features[i] for i in of], axis=0).sum() for of in model.sums)]
    told = np.append(model.untangled @ sums, 0.0)
    second = told[model.table] / len(people)
    moments = RegressionMoments(len(people), second, np.zeros((1, *second.shape)), "gaussian")
    constant = "- 1" not in formula or bool(categories)
    return model, LeastSquaresFit(moments, model.rows(model.regressors), model.target, constant)


class Silent:
    """A source of noise that is always 0, so that what is read is what was added up."""

    secure = False

    def discrete_gaussian(self, width: float, size: int) -> np.ndarray:
        return np.zeros(size, dtype=np.int64)

    def two_sided_geometric(self, scale: float, size: int) -> np.ndarray:
        return np.zeros(size, dtype=np.int64)


def silent(survey: hg.Survey, formula: str, regressors: list[str] | None = None, **options) -> tuple[Regression, ...]:
    """Return the fits of all cells, with the noise left out that they are priced with."""
    plan = survey.plan_ols(formula, regressors, bounds=BOUNDS, epsilon=100.0, **options)
    drawn = drawn_regression(plan, read_histograms(plan.plan, survey.source), Silent())
    return read_regression(plan, drawn, None, "test", None)


@pytest.mark.parametrize("formula", FORMULAS)
def test_without_noise_it_is_ordinary_least_squares(formula: str, people: pd.DataFrame) -> None:
    model, fit = exact_fit(formula, people)
    oracle = smf.ols(formula, people).fit()
    names = [one.name for one in model.regressors]
    assert sorted(names) == sorted(oracle.params.index)
    place = [list(oracle.params.index).index(name) for name in names]
    np.testing.assert_allclose(fit.params, oracle.params.iloc[place], rtol=1e-8)
    np.testing.assert_allclose(fit.sampling_covariance, oracle.cov_params().iloc[place, place], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(fit.rsquared, oracle.rsquared, rtol=1e-8)
    interval = fit.accepted(np.eye(len(names))[0], 0.95)
    np.testing.assert_allclose(interval, oracle.conf_int().iloc[place[0]], rtol=1e-6)


def near(found: float, oracle, name: str) -> bool:
    """Whether a coefficient is that of the file but for its grids: within 1/1,000 of a standard error."""
    return abs(found - oracle.params[name]) < 1e-3 * oracle.bse[name]


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_what_is_added_up_gives_the_coefficients_of_the_file(relation: str, people: pd.DataFrame) -> None:
    (fit,) = silent(hg.open(people, relation=relation), FORMULAS[1], categories=CATEGORIES)
    oracle = smf.ols(FORMULAS[1], people).fit()
    bias = fit.fit.params - fit.fit._back @ fit.fit._plain  # what is taken off for noise that is not there
    for place, (name, value) in enumerate(fit.params.items()):
        assert near(value - bias[place], oracle, name)
        assert fit.sampling_error[name] == pytest.approx(oracle.bse[name], rel=0.05)


def plainly(fit: Regression) -> dict[str, float]:
    """Return the coefficients without what is taken off for the noise."""
    return dict(zip(fit.names, fit.fit._back @ fit.fit._plain, strict=True))


def test_functions_of_a_column_give_the_coefficients_of_the_file(people: pd.DataFrame) -> None:
    paid = people.assign(income=people.income.clip(lower=1_000))
    survey = hg.open(paid, relation="replace-one")
    bounds = BOUNDS | {"log(income)": (6, 12), "log(age)": (2, 5)}
    plan = survey.plan_ols("np.log(income) ~ log(age) + educ", bounds=bounds, epsilon=100.0)
    drawn = drawn_regression(plan, read_histograms(plan.plan, survey.source), Silent())
    (fit,) = read_regression(plan, drawn, None, "test", None)
    oracle = smf.ols("np.log(income) ~ np.log(age) + educ", paid).fit()
    # The grid of a function has 1,024 steps, so it is not that of the file to the last digit.
    for name, other in (("log(age)", "np.log(age)"), ("educ", "educ")):
        assert plainly(fit)[name] == pytest.approx(oracle.params[other], abs=0.05 * oracle.bse[other])
    (predicted,) = fit.predict({"age": 40.0, "educ": 12.0})
    shown = fit.params
    assert predicted.estimate == pytest.approx(
        shown["Intercept"] + shown["log(age)"] * math.log(40.0) + 12.0 * shown["educ"]
    )
    with pytest.raises(ParameterError, match="HG194"):
        fit.predict({"age": 0.0, "educ": 12.0})


def test_a_column_of_the_call_is_a_response_or_a_regressor(people: pd.DataFrame) -> None:
    survey = hg.open(people, relation="replace-one")
    root = hg.column("sqrt(age)", bounds=(0, 10))
    fit = survey.ols(hg.column("income / 1000", bounds=(0, 200)), [root], epsilon=8.0)
    assert list(fit.params) == ["Intercept", "sqrt(age)"] and verify_record(json.loads(fit.to_json())).holds


def test_a_record_of_an_undeclared_category_is_left_out(people: pd.DataFrame) -> None:
    (fit,) = silent(hg.open(people, relation="replace-one"), "income ~ age + C(sex)", categories={"sex": [0, 1]})
    oracle = smf.ols("income ~ age + C(sex)", people[people.sex < 2]).fit()
    assert near(plainly(fit)["C(sex)[T.1]"], oracle, "C(sex)[T.1]")
    # Were they counted as the reference, the coefficient would be that of the whole file.
    wrong = smf.ols("income ~ age + I((sex == 1) * 1.0)", people).fit()
    assert abs(wrong.params.iloc[1] - oracle.params.iloc[1]) > 0.1 * oracle.bse.iloc[1]
    assert fit.nobs == pytest.approx((people.sex < 2).sum(), abs=1e-6)


def test_a_missing_value_drops_the_record(people: pd.DataFrame) -> None:
    holes = people.assign(educ=people.educ.where(people.age < 60))
    (fit,) = silent(hg.open(holes, relation="add-remove"), "income", ["age", "educ"])
    assert near(plainly(fit)["age"], smf.ols("income ~ age + educ", holes.dropna()).fit(), "age")


def test_by_cell_and_where_each_cell_has_its_own_fit(people: pd.DataFrame) -> None:
    survey = hg.open(people, relation="replace-one")
    for fit in silent(survey, "income ~ educ", by={"sex": [0, 2]}, where="age < 60"):
        own = people[(people.sex == fit.cell["sex"]) & (people.age < 60)]
        assert near(plainly(fit)["educ"], smf.ols("income ~ educ", own).fit(), "educ")
    fits = survey.ols("income ~ educ", bounds=BOUNDS, by={"sex": [0, 2]}, epsilon=1.0)
    assert fits.at(sex=2) is fits[1] and len(fits.to_columns()["term"]) == 4


def test_submodels_contrasts_and_predictions_are_those_of_the_same_numbers(people: pd.DataFrame) -> None:
    (fit,) = silent(hg.open(people, relation="replace-one"), "income ~ age + educ + C(sex)", categories=CATEGORIES)
    less = fit.submodel("income ~ age")
    assert near(plainly(less)["age"], smf.ols("income ~ age", people).fit(), "age")
    assert less.released is fit.released
    whole = smf.ols("income ~ age + educ + C(sex)", people).fit()
    tested = whole.t_test("10 * age - educ = 0")
    found = fit.contrast({"age": 10.0, "educ": -1.0})
    assert found.estimate == pytest.approx(float(tested.effect[0]), abs=0.05 * float(tested.sd[0][0]))
    assert found.sampling_error == pytest.approx(float(tested.sd[0][0]), rel=0.05)
    (expected,) = fit.predict([{"age": 40, "educ": 12, "sex": 1}])
    given = whole.get_prediction(pd.DataFrame({"age": [40], "educ": [12], "sex": [1]})).summary_frame()
    assert expected.estimate == pytest.approx(given["mean"][0], abs=0.05 * given["mean_se"][0])
    for bad in ("income ~ age * educ", "educ ~ age", "income ~ wealth"):
        with pytest.raises(ParameterError, match="HG193"):
            fit.submodel(bad)
    with pytest.raises(ParameterError, match="HG194"):
        fit.contrast({"wages": 1.0})
    with pytest.raises(ParameterError, match="HG194"):
        fit.predict([{"age": 40, "educ": 12, "sex": 7}])


def test_the_price_is_that_of_every_number_drawn(people: pd.DataFrame) -> None:
    survey = hg.open(people, relation="add-remove")
    fit = survey.ols("income ~ age + educ", bounds=BOUNDS, epsilon=1.0)
    fit.certificate.verify()
    mechanism = fit.certificate.mechanism
    assert isinstance(mechanism, JointMoments) and len(mechanism.names) == len(fit.released) == 10
    pair = max(mechanism.worst_pairs(Relation.ADD_REMOVE), key=lambda one: one.name)
    moved, widths = mechanism.contribution(pair.first or pair.second)
    power = mechanism.noise_law.power
    attained = float(np.sum(np.abs(moved / widths) ** power)) ** (1.0 / power)
    stated = mechanism.pure(Relation.ADD_REMOVE) if power == 1 else mechanism.mu(Relation.ADD_REMOVE)
    assert attained == pytest.approx(stated, rel=1e-3)
    # A price that forgot the intercept's row (the count and the sums) would be well below what a record moves.
    without = [place for place, name in enumerate(mechanism.names) if len(name.split()) == 3]
    forgotten = float(np.sum(np.abs(moved / widths)[without] ** power)) ** (1.0 / power)
    assert forgotten < 0.95 * attained


def test_the_record_tells_everything_and_the_same_request_is_answered_again(people: pd.DataFrame, tmp_path) -> None:
    budget = Budget(1.0, 1e-6)
    Ledger.create(tmp_path / "a.ledger", dataset="p", budget=budget, relation="replace-one", unit="row").close()
    survey = hg.open(people, relation="replace-one", ledger=tmp_path / "a.ledger")
    asked = {"bounds": BOUNDS, "categories": CATEGORIES, "epsilon": 1.0, "request_id": "one"}
    fit = survey.ols("income ~ age + C(sex)", **asked)
    again = survey.ols("income ~ age + C(sex)", **asked)
    assert again.replayed and not fit.replayed
    assert again.params == fit.params and again.conf_int() == fit.conf_int()
    assert json.loads(fit.to_json())["fits"] == json.loads(again.to_json())["fits"]


@pytest.mark.parametrize(
    ("formula", "code"),
    [
        ("income", "HG190"),
        ("income ~ log(age)", "HG104"),
        ("income ~ log(age + 1)", "HG190"),
        ("income ~ tan(age)", "HG190"),
        ("tan(income) ~ age", "HG190"),
        ("income ~ income + age", "HG190"),
        ("income ~ I(age ** 9)", "HG190"),
        ("income ~ C(age):age", "HG190"),
        ("income ~ .", "HG190"),
        ("income ~ age + C(sex) + C(sex):age + I(age * 1)", "HG190"),
        ("income ~ wages", "HG104"),
        ("income ~ C(region)", "HG111"),
    ],
)
def test_what_is_no_model_is_refused(formula: str, code: str, people: pd.DataFrame) -> None:
    survey = hg.open(people, relation="replace-one")
    with pytest.raises(ParameterError, match=code):
        survey.ols(formula, bounds=BOUNDS, epsilon=1.0)


def test_the_record_is_verified_and_an_altered_coefficient_is_found(people: pd.DataFrame) -> None:
    survey = hg.open(people, relation="replace-one")
    fits = survey.ols("income ~ age + I(age ** 2)", bounds=BOUNDS, by={"sex": [0, 1]}, epsilon=1.0)
    record = json.loads(fits.to_json())
    assert verify_record(record).holds
    assert [one.params for one in regressions_from_record(record)] == [one.params for one in fits]
    for path in (("coefficients", 1, "estimate"), ("coefficients", 0, "privacy_error"), ("released", 3), ("rsquared",)):
        altered = json.loads(json.dumps(record))
        place = altered["fits"][1]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = 1.5 * (place[path[-1]] or 1.0)
        assert not verify_record(altered).holds
    ball = json.loads(survey.ols("income ~ age", bounds=BOUNDS, clip_norm=1.0, epsilon=1.0).to_json())
    assert verify_record(ball).holds
    assert not verify_record({**ball, "regression": {**ball["regression"], "clip_norm": 1.1}}).holds
    less = json.loads(fits[0].submodel("income ~ age").to_json())
    assert not verify_record({**record, "regression": less["regression"]}).holds


def test_the_command_releases_plans_and_writes_what_can_be_verified(people, tmp_path, capsys) -> None:
    people.to_csv(tmp_path / "people.csv", index=False)
    asked = ["ols", "income ~ age + C(sex)", str(tmp_path / "people.csv"), "--relation", "replace-one"]
    asked += ["--bounds", "age:0:100", "--bounds", "income:0:50000", "--categories", "sex=0,1,2"]

    def run(*rest: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            app([*asked, *rest])
        return int(ended.value.code or 0), capsys.readouterr().out

    code, text = run("--epsilon", "1", "--json", "--out", str(tmp_path / "out"))
    terms = [one["term"] for one in json.loads(text)["fits"][0]["coefficients"]]
    assert code == 0 and terms == ["Intercept", "age", "C(sex)[T.1]", "C(sex)[T.2]"]
    for name in ("regression.json", "report.html"):
        assert verify_record(read_record(tmp_path / "out" / name)).holds
    code, text = run("--epsilon", "1", "--plan", "--json")
    error = next(one for one in json.loads(text)["expected"] if one["term"] == "age")["standard_error"]
    code, text = run("--target-se", f"age:{error / 2}", "--json")
    found = json.loads(text)
    assert found["plan"]["epsilon"] > 1.5
    assert found["expected"][1]["standard_error"] == pytest.approx(error / 2, rel=0.02)


def test_a_ball_shrinks_records_exactly_on_every_engine_and_says_how_many(people: pd.DataFrame, tmp_path) -> None:
    grids = [ValueOnGrid(name, Grid(*map(Fraction, BOUNDS[name]), 2**20, declared=False)) for name in ("age", "educ")]
    reach = int(0.6 * 2**20)
    values = tuple(InBall(tuple(grids), place, reach) for place in (0, 1, None))
    query = SumsQuery(values, (((0, 2),), ((0, 1), (1, 1)), ((2, 1),)), (), frozenset({0, 1, 2}))
    places = [
        np.floor((people[one.column] - float(one.grid.lower)) / float(one.grid.step) + 0.5).astype(int) for one in grids
    ]
    own = [[value.shrunk_index([int(a), int(b)]) for a, b in zip(*places, strict=True)] for value in values]
    lengths = [(a - reach) ** 2 + (b - reach) ** 2 for a, b, _ in zip(*own, strict=True)]
    assert max(lengths) <= reach**2 < 1.00001 * max(lengths)
    wanted = [sum(a * a for a in own[0]), sum(a * b for a, b in zip(own[0], own[1], strict=True)), sum(own[2])]
    people.to_parquet(tmp_path / "people.parquet")
    for source in (people, pyarrow.Table.from_pandas(people), pl.from_pandas(people), tmp_path / "people.parquet"):
        sums = open_source(source).sums(query).sums
        assert [int(sums[one][0]) for one in query.monomials] == wanted
    (fit,) = silent(hg.open(people, relation="add-remove"), "income ~ age + educ", clip_norm=0.8)
    share, error = fit.shrunk
    scaled = np.stack([(people[name] - sum(ends) / 2) / (ends[1] - ends[0]) * 2 for name, ends in BOUNDS.items()])
    assert share == pytest.approx((np.linalg.norm(scaled, axis=0) > 0.8).mean(), abs=1e-6) and 0.05 < share < 0.95
    assert error > 0.0 and any("shrunk" in note for note in fit.notes)
    with pytest.raises(ParameterError, match="HG195"):
        silent(hg.open(people, relation="add-remove"), "income ~ I(age ** 2)", clip_norm=0.8)


@pytest.mark.parametrize("omega", [0.3, 0.9, 2.0])
def test_the_price_in_a_ball_is_that_of_the_two_vectors_that_differ_most(omega: float) -> None:
    chance = np.random.default_rng(5)
    pairs = [(i, j) for i in range(3) for j in range(i, 3)]
    size = np.array([omega * (1.0 if i == j else 2**0.5) for i, j in pairs])
    sums = {(i,): 1.0 for i in range(3)} | dict(zip(pairs, size.tolist(), strict=True))

    def added(z: np.ndarray) -> np.ndarray:
        return np.concatenate([z, np.stack([z[i] * z[j] for i, j in pairs]) * size[:, None]])

    z = chance.normal(size=(2, 3, 20_000))
    z /= np.linalg.norm(z, axis=1)[:, None] * np.where(chance.random((2, 20_000)) < 0.5, 1.0, 2.0)[:, None]
    largest = float(((added(z[0]) - added(z[1])) ** 2).sum(axis=0).max())
    cost = {one: ball_cost(JointWeights(3, {}, sums), one, 3, presence="public", cells=1) for one in Relation}
    assert 0.999 * cost[Relation.REPLACE_ONE] < largest <= cost[Relation.REPLACE_ONE]
    assert cost[Relation.ADD_REMOVE] == pytest.approx(1.0 + omega**2)
    # What two sums alone would cost is less than heavy products do.
    assert omega <= 0.5**0.5 or largest > 4.0


def test_a_term_counts_once_in_whatever_order_its_factors_stand(people: pd.DataFrame) -> None:
    survey = hg.open(people, relation="replace-one")
    plan = survey.plan_ols("income", ["age:educ", "educ:age", "age"], bounds=BOUNDS, epsilon=1.0)
    assert [one.name for one in plan.design.model.regressors] == ["Intercept", "age:educ", "age"]


def test_the_picture_has_all_coefficients_about_zero_and_the_intercept_apart(people: pd.DataFrame) -> None:
    survey = hg.open(people, relation="replace-one")
    axes = survey.ols("income ~ age + educ", bounds=BOUNDS, epsilon=1.0).plot()
    assert [panel.get_title(loc="left") for panel in axes.figure.axes] == ["coefficients", "Intercept"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["age", "educ"]
    low, high = axes.get_xlim()
    assert low < 0.0 < high


def test_facts_can_allow_a_regression_or_leave_it_out(people: pd.DataFrame) -> None:
    def survey(*allowed: str) -> hg.Survey:
        columns = {name: {"bounds": list(ends)} for name, ends in BOUNDS.items()}
        facts = {"columns": columns | {"sex": {"categories": [0, 1, 2]}}, "statistics": list(allowed)}
        return hg.open(people, hg.Facts.from_dict(facts), relation="replace-one")

    fit = survey("mean", "ols").ols("income ~ age + C(sex)", epsilon=1.0)
    assert len(fit) == 4
    with pytest.raises(ForbiddenError, match="HG704"):
        survey("mean").ols("income ~ age", epsilon=1.0)


def test_where_the_noise_hides_the_residual_nothing_is_said_of_it(people: pd.DataFrame) -> None:
    fits = [
        hg.open(people, relation="add-remove").ols("income ~ age", bounds=BOUNDS, where="age > 50", epsilon=0.05)
        for _ in range(5)
    ]
    for fit in fits:
        assert math.isnan(fit.rsquared) == (fit.fit.hidden or not fit.reliable)
        assert fit.fit.positive or {(low, high) for low, high in fit.conf_int().values()} == {(-math.inf, math.inf)}
        assert all(value is None or math.isfinite(value) for value in fit.to_columns()["low"])
    assert any(not fit.reliable for fit in fits)
    with pytest.raises(ParameterError, match="HG188"):
        silent(hg.open(people, relation="add-remove"), "income ~ age", clip_norm=1.0, noise="laplace")


def test_intervals_of_fits_that_the_noise_swamps_are_wide_and_hold() -> None:
    chance, truth = np.random.default_rng(1), np.array([0.1, 0.5, 0.3, 0.3])
    x = np.diag([1.0, 0.09, 0.09, 0.09])
    second = np.block([[x, (x @ truth)[:, None]], [(x @ truth)[None, :], np.array([[truth @ x @ truth + 0.05]])]])
    places = [(i, j) for i in range(5) for j in range(max(i, 1), 5)]
    noise = np.zeros((len(places), 5, 5))
    for z, (i, j) in enumerate(places):
        noise[z, i, j] = noise[z, j, i] = 0.025
    of_response = noise[[j == 4 for _, j in places]]  # the sabotage: regressors' moments count as exact
    held: dict[str, list[bool]] = {"all": [], "finite": [], "response only": []}
    for _ in range(300):
        drawn = second + np.einsum("z,zij->ij", chance.normal(size=len(places)), noise)
        fit, wrong = (
            LeastSquaresFit(RegressionMoments(1e9, drawn, one, "gaussian"), np.eye(5)[:4], np.eye(5)[4])
            for one in (noise, of_response)
        )
        if fit.reliable:
            continue
        for weights, value in zip(np.eye(4), truth, strict=True):
            (low, high), (start, end) = (one.accepted(weights, 0.95) for one in (fit, wrong))
            held["all"].append(low <= value <= high)
            held["finite"] += [low <= value <= high] if math.isfinite(high - low) else []
            held["response only"].append(start <= value <= end)
    assert len(held["all"]) > 800 and len(held["finite"]) > 0.5 * len(held["all"])
    share = {name: float(np.mean(of)) for name, of in held.items()}
    assert share["all"] > 0.95 and share["finite"] > 0.95
    assert share["response only"] < 0.9, share


def test_contrasts_are_tested_as_statsmodels_does(people: pd.DataFrame) -> None:
    (fit,) = silent(hg.open(people, relation="replace-one"), "income ~ age * educ + C(sex)", categories=CATEGORIES)
    oracle = smf.ols("income ~ age * educ + C(sex)", people).fit()
    asked = "10 * age - educ / 2 = 5, C(sex)[T.1] = C(sex)[T.2], age:educ"
    found, wanted = fit.t_test(asked), oracle.t_test(asked)
    np.testing.assert_allclose(found.effect, np.ravel(wanted.effect), atol=0.05 * float(np.max(wanted.sd)))
    np.testing.assert_allclose(found.sd, np.ravel(wanted.sd), rtol=0.1)
    rows = np.eye(6)[:2]
    assert fit.t_test(rows).pvalue.tolist() == list(fit.pvalues.values())[:2]
    assert fit.t_test(["age", "educ"]).tvalue.tolist() == list(fit.tvalues.values())[1:3]
    (alone,) = fit.t_test({"age": 2.0, "educ": -1.0})
    contrast = fit.contrast({"age": 2.0, "educ": -1.0})
    assert (alone.effect, alone.low, alone.high) == (contrast.estimate, contrast.low, contrast.high)
    assert alone.name == "2*age - 1*educ" and "P>|t|" in str(fit.t_test("age"))
    # The p-value is where the interval ends: at α just below it the value is inside, just above it outside.
    value = alone.effect + 2.0 * alone.sd
    (tested,) = fit.t_test(f"2 * age - educ = {value!r}")
    for factor, inside in ((1.001, False), (0.999, True)):
        low, high = fit.fit.accepted(np.array([0, 2, -1, 0, 0, 0.0]), 1.0 - factor * tested.pvalue)
        assert (low <= value <= high) is inside
    assert 0.03 < tested.pvalue < 0.06
    for bad in ("wages", "age educ", "age * educ", "2 = 3", "age = 1 = 2", "age /", "", [1.0], [[0.0] * 6], "age / 0"):
        with pytest.raises(ParameterError, match="HG194"):
            fit.t_test(bad)


def test_a_plan_on_a_source_tells_its_price_and_its_query() -> None:
    people = duckdb.sql("SELECT 40.0 + range % 7 AS age, 10.0 * (range % 50) AS pay FROM range(1000)")
    survey = hg.open(people, relation="replace-one")
    plan = survey.plan_ols("pay ~ age", bounds={"age": (0, 100), "pay": (0, 1000)}, epsilon=1.0)
    assert plan.epsilon == plan.plan.epsilon <= 1.0 and plan.delta == 1e-6
    assert plan.query() and all("range(1000)" in text for text in plan.query())


def test_of_two_laws_alike_the_one_is_taken_that_collinear_regressors_need() -> None:
    people = pyarrow.table({name: [0.0, 1.0] * 1000 for name in ("y", "a", "b", "c", "d")})
    bounds = {"y": (1, 5), "a": (17, 43), "b": (0, 24), "c": (1, 4), "d": (0, 6)}
    opened = hg.open(people, relation="replace-one")
    plan = opened.plan_ols("y", ["a", "b", "c", "d"], bounds=bounds, epsilon=3.0, delta=1e-6)
    asked = plan.design.weighing()
    best = choose(asked, plan.plan.request.budget, asked.relation)
    assert best.law.name == "laplace" and best.runner_up is not None, "uncorrelated regressors alone would take it"
    assert plan.first.noise_law.name == "gaussian" and best.runner_up.score - best.score < 2.0 * np.log(1.1)
    guess = {"a": {"sd": 7, "correlation": {"b": 0.9}}, "b": {"sd": 7}}
    laplace = opened.plan_ols("y", ["a", "b", "c", "d"], bounds=bounds, epsilon=3.0, delta=1e-6, noise="laplace")
    assert laplace.expected(guess)[0].noise_ratio > 1.4 * plan.expected(guess)[0].noise_ratio


def test_a_plan_says_what_its_guess_gains() -> None:
    people = pyarrow.table({name: [0.0, 1.0] * 3000 for name in ("y", "a", "b")})
    bounds, guess = (
        {"y": (0, 1000), "a": (0, 100), "b": (0, 100)},
        {"y": {"mean": 20, "sd": 10}, "a": {"mean": 5, "sd": 5}},
    )
    opened = hg.open(people, relation="replace-one")
    plan, plain = (opened.plan_ols("y", ["a", "b"], bounds=bounds, epsilon=1.0, guess=one) for one in (guess, None))
    gain = plan.design.gain
    assert gain is not None and gain > 1.05 and plain.design.gain is None
    assert f"without the guess errors would be {gain:.3g} times as large" in plan.design.reason
    ratios = [b.standard_error / a.standard_error for a, b in zip(plan.expected(), plain.expected(guess), strict=True)]
    assert np.exp(np.mean(np.log(ratios))) == pytest.approx(gain, rel=0.15)
