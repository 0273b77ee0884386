"""Robust errors: without noise those of statsmodels; the second step is priced, recorded and read back."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pytest
import statsmodels.formula.api as smf

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.engines.query import SHARES, ClippedSquare, ColumnProduct, InBall, Indicator, SumsQuery, ValueOnGrid
from hedgerow.engines.source import open_source
from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Grid
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.certificate import certify
from hedgerow.mechanisms.joint.joint_moments import JointMoments, joint_moments
from hedgerow.mechanisms.joint.joint_numbers import JointFeature, JointLayout
from hedgerow.mechanisms.joint.joint_sensitivity import JointWeights
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE
from hedgerow.mechanisms.mechanism import Composition
from hedgerow.regression.regression import Regression, regressions_from_record
from hedgerow.regression.release_regression import drawn_regression, read_regression, with_robust_errors
from hedgerow.release.execute import read_histograms
from hedgerow.reports.answer_pages import regression_html
from hedgerow.reports.verify.verification import verify_record
from hedgerow.testing.simulated import SimulatedNoise

BOUNDS = {"x": (0, 10), "z": (-4, 4), "y": (-60, 60)}


class Silent:
    """A source of noise that is always 0."""

    secure = False

    def discrete_gaussian(self, width: float, size: int) -> np.ndarray:
        return np.zeros(size, dtype=np.int64)

    def two_sided_geometric(self, scale: float, size: int) -> np.ndarray:
        return np.zeros(size, dtype=np.int64)


def people(n: int, seed: int) -> pd.DataFrame:
    """Return records whose errors spread with x: classical errors of its slope are too small."""
    chance = np.random.default_rng(seed)
    x, z, sex = chance.uniform(0, 10, n), chance.normal(0, 1, n).clip(-4, 4), chance.integers(0, 2, n)
    y = 3 + 2 * x - z + 2 * sex + chance.normal(0, 1, n) * (0.3 + 0.3 * (x - 5) ** 2)
    return pd.DataFrame({"x": x, "z": z, "sex": sex, "y": y})


@pytest.fixture(scope="module")
def file() -> pd.DataFrame:
    return people(4_000, 1)


def simulated(survey: hg.Survey, formula: str, noise, **options) -> tuple[Regression, ...]:
    plan = survey.plan_ols(formula, bounds=BOUNDS, **options)
    made = read_regression(
        plan, drawn_regression(plan, read_histograms(plan.plan, survey.source), noise), None, "t", None
    )
    return with_robust_errors(plan, made, survey.source, noise)


@pytest.fixture(scope="module")
def weighted(file: pd.DataFrame) -> pd.DataFrame:
    chance = np.random.default_rng(2)
    return file.assign(w=chance.uniform(0.2, 4.0, len(file)) * np.where(file.x > 5, 2.0, 0.5))


@pytest.mark.parametrize(("formula", "relation"), [("y ~ x + z", "replace-one"), ("y ~ x * z + C(sex)", "add-remove")])
def test_without_noise_a_weighted_fit_is_that_of_statsmodels(relation, formula, weighted: pd.DataFrame) -> None:
    survey = hg.open(weighted, relation=relation)
    given = {"categories": {"sex": [0, 1]}} if "sex" in formula else {}
    (fit,) = simulated(survey, formula, Silent(), epsilon=100.0, weights=("w", 8.0), **given)
    oracle = smf.wls(formula, weighted, weights=weighted.w).fit(cov_type="HC0")
    plain = smf.ols(formula, weighted).fit()
    for name, value in fit.params.items():
        assert value == pytest.approx(oracle.params[name], abs=0.02 * oracle.bse[name])
        assert fit.sampling_error[name] == pytest.approx(oracle.bse[name], rel=0.02)
    assert abs(plain.params["Intercept"] - oracle.params["Intercept"]) > 0.2 * oracle.bse["Intercept"]
    assert fit.weight == pytest.approx(weighted.w.sum(), rel=0.01)


def test_weights_are_on_record_and_in_the_price(weighted: pd.DataFrame, tmp_path: Path, capsys) -> None:
    survey = hg.open(weighted, relation="add-remove")
    holes = hg.open(weighted.assign(w=weighted.w.where(weighted.index % 2 == 0)), relation="add-remove")
    (half,) = simulated(holes, "y ~ x", Silent(), epsilon=100.0, weights=("w", 8.0))
    assert half.weight == pytest.approx(weighted.w[::2].sum(), rel=0.01)  # without a weight a record counts nowhere
    fit = survey.ols("y ~ x", bounds=BOUNDS, weights=("w", 8.0), epsilon=10.0)
    record = json.loads(fit.to_json())
    assert verify_record(record).holds and record["release"]["weights"] == {"column": "w", "most": 8.0}
    assert regressions_from_record(record)[0].conf_int() == fit.conf_int()
    assert "Sum of weights" in fit.summary() and any("weighted by w" in note for note in fit.notes)
    without = record | {"release": {key: value for key, value in record["release"].items() if key != "weights"}}
    assert not verify_record(without).holds
    assert all(part.layout.shares for part in fit.certificate.mechanism.parts)
    for wrong, code in ((("x", 8.0), "HG134"), (("w", 0.0), "HG134")):
        with pytest.raises(ParameterError, match=code):
            survey.ols("y ~ x", bounds=BOUNDS, weights=wrong, epsilon=1.0)
    weighted.to_csv(tmp_path / "people.csv", index=False)
    asked = ["ols", "y ~ x", str(tmp_path / "people.csv"), "--relation", "replace-one", "--epsilon", "3"]
    with pytest.raises(SystemExit) as ended:
        app([*asked, "--weights", "w:8", "--bounds", "x:0:10", "--bounds", "y:-60:60"])
    assert not ended.value.code and "weighted by w clamped to [0, 8]" in capsys.readouterr().out


def test_a_census_has_no_second_step(weighted: pd.DataFrame) -> None:
    survey = hg.open(weighted, relation="replace-one", target="file")
    fit = survey.ols("y ~ x", bounds=BOUNDS, weights=("w", 8.0), robust=True, epsilon=3.0)
    assert fit.second is None and fit.sampling_error["x"] == 0.0 and verify_record(json.loads(fit.to_json())).holds


@pytest.mark.parametrize(
    ("formula", "kind"),
    [("y ~ x + z", "HC0"), ("y ~ x * z + C(sex)", "HC1"), ("y ~ x + C(sex) - 1", "HC1"), ("y ~ x + I(x ** 2)", "HC0")],
)
def test_without_noise_they_are_those_of_statsmodels(kind: str, formula: str, file: pd.DataFrame) -> None:
    survey = hg.open(file, relation="replace-one")
    given = {"categories": {"sex": [0, 1]}} if "sex" in formula else {}
    (fit,) = simulated(survey, formula, Silent(), epsilon=100.0, robust=kind, **given)
    oracle = smf.ols(formula, file).fit(cov_type=kind)
    for name, error in fit.sampling_error.items():
        assert error == pytest.approx(oracle.bse[name], rel=0.01)
    classical = replace(fit, second=None)
    assert fit.params == classical.params
    # The test has something to tell: classical errors of the slope are others.
    assert abs(classical.sampling_error["x"] / oracle.bse["x"] - 1.0) > 0.03


def test_each_cell_has_its_own_residuals(file: pd.DataFrame) -> None:
    fits = simulated(
        hg.open(file, relation="add-remove"), "y ~ x", Silent(), epsilon=100.0, robust=True, by={"sex": [0, 1]}
    )
    for fit in fits:
        oracle = smf.ols("y ~ x", file[file.sex == fit.cell["sex"]]).fit(cov_type="HC1")
        assert fit.sampling_error["x"] == pytest.approx(oracle.bse["x"], rel=0.01)


def test_in_a_ball_too(file: pd.DataFrame) -> None:
    (fit,) = simulated(
        hg.open(file, relation="add-remove"), "y ~ x + z", Silent(), epsilon=100.0, robust=True, clip_norm=1.7
    )
    oracle = smf.ols("y ~ x + z", file).fit(cov_type="HC1")
    assert fit.sampling_error["x"] == pytest.approx(oracle.bse["x"], rel=0.02)


@pytest.mark.parametrize(("law", "ball"), [(LAPLACE, None), (GAUSSIAN, None), (GAUSSIAN, 2)])
@pytest.mark.parametrize("relation", list(Relation))
def test_no_two_records_with_shares_move_the_sums_more_than_the_price(
    law, relation: Relation, ball: int | None
) -> None:
    steps, most = 4, 4
    layout = JointLayout((JointFeature(steps), JointFeature(steps)), "private", 1, ball=ball, shares=most)
    product = 0.7 * 2**0.5 if ball else 0.6
    sums = {(0,): 1.0, (1,): 1.0, (0, 0): 0.7, (0, 1): product, (1, 1): 0.7}
    mechanism = joint_moments(law, layout, JointWeights(2, {(): 1.2}, sums), 1.0, relation)
    places = [t for t in itertools.product(range(steps + 1), repeat=2)]
    if ball:
        places = [t for t in places if sum((2 * one - steps) ** 2 for one in t) <= steps**2]
    widths = np.array([number.width for number in mechanism._listed()])
    whole = np.array([mechanism.record(t) for t in places], dtype=float) / widths / most
    added = (whole[:, None] * np.arange(most + 1)[None, :, None]).reshape(-1, len(widths))
    if relation is Relation.ADD_REMOVE:
        moved = np.abs(added) ** law.power
    else:
        moved = np.abs(added[:, None] - added[None]).reshape(-1, len(widths)) ** law.power
    largest = float(moved.sum(axis=1).max()) ** (1.0 / law.power)
    assert largest <= 1.0 + 1e-9
    assert ball or largest > 0.85
    # Were the share of a record left out of the reach of the sums, the noise would be too small.
    without = replace(mechanism, layout=replace(layout, shares=None))
    stated = without.pure(relation) if law == LAPLACE else without.mu(relation)
    assert stated == pytest.approx(1.0 / most, rel=0.01)


def test_shares_are_the_same_integers_on_every_engine(file: pd.DataFrame, tmp_path: Path) -> None:
    grids = [ValueOnGrid(name, Grid.from_bounds(name, BOUNDS[name])) for name in ("x", "z", "y")]
    sex = Indicator("sex", 1)
    square = ColumnProduct(((grids[0], 2),))
    reach = [2**50 // 1024, -(2**50) // 700, 2**50 // 900, 2**48, 2**50 // 1024**2]
    values = (*grids, sex, square)
    share = ClippedSquare(values, tuple(reach), 2**47, 50)
    query = SumsQuery(
        (*values, share), (((5, 1),), ((0, 1), (5, 1)), ((0, 1), (1, 1), (5, 1))), (), frozenset(range(6))
    )
    holes = file.assign(z=file.z.where(file.index % 7 != 0))
    kept = holes.dropna()
    places = [
        np.floor((kept[one.column] - float(one.grid.lower)) / float(one.grid.step) + 0.5).astype(int) for one in grids
    ]
    rows = [[*map(int, t), int(s), square.index([int(t[0])])] for *t, s in zip(*places, kept.sex, strict=True)]
    own = [share.share(row) for row in rows]
    assert min(own) == 0 and max(own) == SHARES and len(set(own)) > 300
    wanted = [
        sum(own),
        sum(row[0] * u for row, u in zip(rows, own, strict=True)),
        sum(row[0] * row[1] * u for row, u in zip(rows, own, strict=True)),
    ]
    holes.to_parquet(tmp_path / "people.parquet")
    for source in (holes, pyarrow.Table.from_pandas(holes), pl.from_pandas(holes), tmp_path / "people.parquet"):
        sums = open_source(source).sums(query).sums
        assert [int(sums[one][0]) for one in query.monomials] == wanted


def test_shares_of_values_in_a_ball(file: pd.DataFrame) -> None:
    grids = tuple(
        ValueOnGrid(name, replace(Grid.from_bounds(name, BOUNDS[name]), steps=2**20, declared=False)) for name in "xy"
    )
    ball = tuple(InBall(grids, place, 2**19) for place in (0, 1))
    share = ClippedSquare(ball, (2**29, -(2**28)), 2**48, 50)
    query = SumsQuery((share,), (((0, 1),),), (), frozenset({0}))
    places = [np.floor((file[g.column] - float(g.grid.lower)) / float(g.grid.step) + 0.5).astype(int) for g in grids]
    wanted = sum(
        share.share([one.shrunk_index([int(a), int(b)]) for one in ball]) for a, b in zip(*places, strict=True)
    )
    for source in (file, pl.from_pandas(file)):
        assert int(open_source(source).sums(query).sums[((0, 1),)][0]) == wanted


@pytest.mark.parametrize("budget", [{"epsilon": 1.0, "delta": 0.0}, {"epsilon": 1.0}, {"rho": 0.05}])
def test_both_steps_are_in_one_price(budget, file: pd.DataFrame) -> None:
    survey = hg.open(file, relation="replace-one")
    plan = survey.plan_ols("y ~ x + z", bounds=BOUNDS, robust=True, **budget)
    plain = survey.plan_ols("y ~ x + z", bounds=BOUNDS, noise=plan.design.chosen.law.name, **budget)
    assert isinstance(plan.mechanism, Composition) and len(plan.mechanism.parts) == 2
    ratio = plan.first.noise_sds()[0] / plain.first.noise_sds()[0]
    share = plan.design.second.share
    assert ratio == pytest.approx((1.0 - share) ** (-1.0 / plan.design.chosen.law.power), rel=0.05)
    assert [one.privacy_error for one in plan.expected()] > [one.privacy_error for one in plain.expected()]
    assert f"{share:.0%} of the price" in plan.design.reason


def test_a_second_step_that_is_not_paid_for_is_found(file: pd.DataFrame) -> None:
    survey = hg.open(file, relation="replace-one")
    fit = survey.ols("y ~ x + z", bounds=BOUNDS, epsilon=1.0, noise="gaussian", robust=True)
    record = json.loads(fit.to_json())
    assert verify_record(record).holds and fit.certificate.epsilon <= 1.0
    first, second = fit.certificate.mechanism.parts
    assert isinstance(second, JointMoments)

    def stated(*parts: JointMoments) -> dict:
        """Return the record with another mechanism under the price that is stated."""
        whole = parts[0] if len(parts) == 1 else Composition(parts)
        other = certify(whole, Relation.REPLACE_ONE, unit="row", delta=fit.certificate.delta).to_dict()
        price = {key: fit.certificate.to_dict()[key] for key in ("epsilon", "delta", "profile")}
        return record | {"certificate": other | price}

    assert verify_record(stated(first, second)).stated.holds
    assert not verify_record(stated(first)).holds  # the second step unpriced
    less = tuple(
        replace(one, noise=replace(one.noise, width=int(one.noise.width * 0.95))) for one in second.coordinates
    )
    assert not verify_record(stated(first, replace(second, coordinates=less))).stated.holds


def test_the_record_tells_everything_of_both_steps(file: pd.DataFrame) -> None:
    survey = hg.open(file, relation="add-remove")
    fits = survey.ols("y ~ x + I(x ** 2)", bounds=BOUNDS, epsilon=3.0, robust="HC0", by={"sex": [0, 1]})
    record = json.loads(fits.to_json())
    assert record["regression"]["robust"] == "HC0" and verify_record(record).holds
    again = regressions_from_record(record)
    assert [one.bse for one in again] == [one.bse for one in fits]
    assert [one.conf_int() for one in again] == [one.conf_int() for one in fits]
    for key, factor in (("clip", 1.2), ("released", None)):
        altered = json.loads(json.dumps(record))
        place = altered["fits"][1]["second_step"]
        place[key] = place[key] * factor if factor else [one * 1.5 for one in place[key]]
        assert not verify_record(altered).holds
    for wrong in ({"robust": "HC1"}, {"robust": "HC4"}):
        assert not verify_record(record | {"regression": record["regression"] | wrong}).holds
    without = {key: value for key, value in record["regression"].items() if key != "robust"}
    assert not verify_record(record | {"regression": without}).holds
    assert "HC0" in fits[0].summary()
    assert "missing value in any column of the model are left out" in repr(fits[0].summary())
    assert len(repr(fits[0].summary()).splitlines()) > 6, "a prompt shows its lines"
    assert "robust (HC0)" in regression_html(fits)


def test_a_submodel_says_that_its_errors_are_classical(file: pd.DataFrame) -> None:
    (fit,) = simulated(hg.open(file, relation="replace-one"), "y ~ x + z", SimulatedNoise(1), epsilon=10.0, robust=True)
    less = fit.submodel("y ~ x")
    assert less.second is None and any("equal variances" in note for note in less.notes)
    assert any("robust (HC1)" in note for note in fit.notes)


def test_the_same_request_is_the_one_with_robust_errors(file: pd.DataFrame) -> None:
    survey = hg.open(file, relation="replace-one")
    plans = [survey.plan_ols("y ~ x", bounds=BOUNDS, epsilon=1.0, robust=one) for one in (False, True, "HC1", "HC0")]
    records = [json.dumps(one.request, default=str) for one in plans]
    assert records[1] == records[2] and len(set(records)) == 3


@pytest.mark.parametrize("given", ["HC3", 1, "yes"])
def test_what_is_no_kind_of_robust_errors_is_refused(given, file: pd.DataFrame) -> None:
    survey = hg.open(file, relation="replace-one")
    with pytest.raises(ParameterError, match="HG197"):
        survey.ols("y ~ x", bounds=BOUNDS, epsilon=1.0, robust=given)
    with pytest.raises(ParameterError, match="HG197"):
        survey.ols("y ~ 1", bounds=BOUNDS, epsilon=1.0, robust=True)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("given", [{}, {"clip_norm": 1.0}, {"weights": ("w", 3.0)}, {"delta": 0.0}])
def test_hardly_a_record_is_no_failure(given) -> None:
    survey = hg.open(pyarrow.Table.from_pandas(people(3, 1).assign(w=2.0)), relation="replace-one")
    for seed in range(3):
        (fit,) = simulated(survey, "y ~ x + z", SimulatedNoise(seed), epsilon=0.5, robust=True, **given)
        assert len(fit.summary().splitlines()) > 6 and json.dumps(fit.to_dict(), allow_nan=False)


def test_where_the_noise_hides_the_variances_intervals_are_long_and_nothing_fails() -> None:
    survey = hg.open(pyarrow.Table.from_pandas(people(400, 2)), relation="add-remove")
    plan = survey.plan_ols("y ~ x + z", bounds=BOUNDS, epsilon=2.0, robust=True)
    told, answers = 0, read_histograms(plan.plan, survey.source)
    for seed in range(25):
        noise = SimulatedNoise(seed)
        drawn = drawn_regression(plan, answers, noise)
        (fit,) = with_robust_errors(plan, read_regression(plan, drawn, None, "t", None), survey.source, noise)
        assert np.linalg.eigvalsh(fit.fit.sampling_covariance).min() >= -1e-9 * fit.fit.sampling_covariance.max()
        if fit.reliable and any("second step is as large" in note for note in fit.notes):
            told += 1
            low, high = fit.conf_int()["z"]
            assert high - low > 4.0 * fit.bse["z"]
    assert told > 0


def coverage(n: int, runs: int, epsilon: float) -> tuple[float, float]:
    """Return how often the robust and the classical interval of the slope of x hold it."""
    plan = hg.open(people(n, 0), relation="replace-one").plan_ols("y ~ x", bounds=BOUNDS, epsilon=epsilon, robust=True)
    held = np.zeros((runs, 2), dtype=bool)
    for seed in range(runs):
        file, noise = pyarrow.Table.from_pandas(people(n, seed + 1)), SimulatedNoise(seed)
        survey = hg.open(file, relation="replace-one")
        drawn = drawn_regression(plan, read_histograms(plan.plan, survey.source), noise)
        (fit,) = with_robust_errors(plan, read_regression(plan, drawn, None, "t", None), survey.source, noise)
        for place, one in enumerate((fit, replace(fit, second=None))):
            low, high = one.conf_int()["x"]
            held[seed, place] = low <= 2.0 <= high
    return tuple(held.mean(axis=0).tolist())


def test_robust_intervals_hold_where_classical_ones_do_not() -> None:
    robust, classical = coverage(2_000, 60, 30.0)
    assert robust >= 0.90 and classical < robust - 0.04


@pytest.mark.long
def test_weighted_intervals_hold_where_the_sample_is_selected_by_the_response() -> None:
    def drawn(seed: int) -> pyarrow.Table:
        whole, chance = people(40_000, seed), np.random.default_rng(10_000 + seed)
        rate = np.where(whole.y > 3 + 2 * whole.x, 0.5, 0.125)
        return pyarrow.Table.from_pandas(whole.assign(w=1 / rate)[chance.random(len(whole)) < rate])

    given = {"bounds": BOUNDS, "epsilon": 10.0, "weights": ("w", 8.0)}
    plan, held = hg.open(drawn(0), relation="add-remove").plan_ols("y ~ x", **given), []
    for seed in range(200):
        survey, noise = hg.open(drawn(seed + 1), relation="add-remove"), SimulatedNoise(seed)
        made = drawn_regression(plan, read_histograms(plan.plan, survey.source), noise)
        (fit,) = with_robust_errors(plan, read_regression(plan, made, None, "t", None), survey.source, noise)
        low, high = fit.conf_int()["x"]
        held.append(low <= 2.0 <= high)
    assert np.mean(held) > 0.95 - 2 * (0.05 * 0.95 / 200) ** 0.5


@pytest.mark.long
def test_robust_intervals_hold_in_many_runs() -> None:
    robust, classical = coverage(20_000, 1_000, 5.0)
    assert robust >= 0.94 and classical < 0.9


def test_the_command_names_the_errors(file: pd.DataFrame, tmp_path: Path, capsys) -> None:
    file.to_csv(tmp_path / "people.csv", index=False)
    asked = ["ols", "y ~ x", str(tmp_path / "people.csv"), "--relation", "replace-one", "--epsilon", "3", "--robust"]
    with pytest.raises(SystemExit) as ended:
        app([*asked, "--bounds", "x:0:10", "--bounds", "y:-60:60"])
    assert not ended.value.code and "HC1" in capsys.readouterr().out
    fit = hg.open(file, relation="replace-one").ols("y ~ x", bounds=BOUNDS, epsilon=3.0, robust=True)
    fit.to_json(tmp_path / "regression.json")
    with pytest.raises(SystemExit) as ended:
        app(["ask", str(tmp_path / "regression.json"), "10 * x", "--test", "20", "--json"])
    (found,) = json.loads(capsys.readouterr().out)["tests"]
    (own,) = fit.t_test("10 * x = 20")
    assert not ended.value.code and found["pvalue"] == own.pvalue and found["high"] == own.high
