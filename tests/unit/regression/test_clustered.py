"""Regressions of units of several rows: the price against all neighbours, and without noise what statsmodels says."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.formula.api as smf
from tests.unit.regression.test_robust import Silent

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.joint.joint_moments import cost_of, joint_moments
from hedgerow.mechanisms.joint.joint_numbers import JointFeature, JointLayout
from hedgerow.mechanisms.joint.joint_sensitivity import JointWeights
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE, Law
from hedgerow.mechanisms.newton_steps import NewtonSteps
from hedgerow.regression.logit.release_logit import drawn_logit, precisions, read_logit
from hedgerow.regression.regression import Regression, RegressionByCell, regressions_from_record
from hedgerow.regression.release_regression import drawn_regression, read_regression, with_errors_of_clusters
from hedgerow.release.execute import read_histograms
from hedgerow.reports.answer_pages import regression_html
from hedgerow.reports.verify.verification import verify_record

BOUNDS = {"x": (-4, 4), "z": (0, 10), "y": (-30, 30)}
UNIT = {"column": "person", "max_rows": 4}
FAR, NEAR = Relation.REPLACE_ONE, Relation.ADD_REMOVE


def panel(units: int, seed: int) -> pd.DataFrame:
    """Return units of 1 to 4 rows whose values of x and residuals are alike within a unit."""
    chance = np.random.default_rng(seed)
    person = np.repeat(np.arange(units), chance.integers(1, 5, units))
    n = len(person)
    level, kind = chance.normal(size=(2, units))
    x, z = (kind[person] + 0.5 * chance.normal(size=n)).clip(-4, 4), chance.uniform(0, 10, n)
    s = chance.integers(0, 3, n)
    y = 3 + 2 * x - 0.5 * z + s + 2 * level[person] + chance.normal(size=n)
    return pd.DataFrame({"person": person, "x": x, "z": z, "s": s, "y": y.clip(-30, 30)})


@pytest.fixture(scope="module")
def file() -> pd.DataFrame:
    return panel(800, 0)


def simulated(frame: pd.DataFrame, relation: str, formula: str, noise, **options) -> tuple[Regression, ...]:
    survey = hg.open(frame, relation=relation, unit=UNIT)
    plan = survey.plan_ols(formula, bounds=BOUNDS, **options)
    drawn = drawn_regression(plan, read_histograms(plan.plan, survey.source), noise)
    made = read_regression(plan, drawn, None, "t", None)
    return with_errors_of_clusters(plan, made, survey.source, noise)


def units_of_rows(rows: np.ndarray, cells: int, limit: int) -> np.ndarray:
    """Return what each set of at most `limit` rows, each in any cell, adds to all cells: (units, cells·numbers)."""
    placed = [np.zeros((cells, rows.shape[1])) for _ in range(len(rows) * cells)]
    for place, (cell, row) in enumerate(itertools.product(range(cells), rows)):
        placed[place][cell] = row
    each = [np.zeros(cells * rows.shape[1])]
    for size in range(1, limit + 1):
        each += [sum(kept).ravel() for kept in itertools.combinations_with_replacement(placed, size)]
    return np.unique(np.array(each).round(12), axis=0)


def most_moved(added: np.ndarray, relation: Relation, power: int) -> float:
    if relation is NEAR:
        return float((np.abs(added) ** power).sum(axis=1).max())
    return max(float((np.abs(added - one) ** power).sum(axis=1).max()) for one in added)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("law", [GAUSSIAN, LAPLACE])
@pytest.mark.parametrize(("cells", "limit", "steps"), [(1, 3, 2), (2, 2, 2), (1, 2, 4), (3, 2, 1)])
def test_no_two_units_move_the_sums_over_rows_more_than_the_price(
    cells: int, limit: int, steps: int, law: Law, relation: Relation
) -> None:
    """All pairs of units on small grids, four random weights each; the price of one row is too small for a unit."""
    layout = JointLayout((JointFeature(steps), JointFeature(steps)), "private", cells, most_rows=limit)
    rng = np.random.default_rng(10 * cells + limit)
    for heavy in (0.3, 0.7, 1.5, 1.5):
        a, b, c, d, e = np.exp(rng.normal(0.0, 0.3, 5))
        sums = {(0,): a, (1,): b, (0, 0): heavy * c, (0, 1): heavy * d, (1, 1): heavy * e}
        joint = joint_moments(law, layout, JointWeights(2, {(): 0.6}, sums), 1.0, relation)
        widths = np.array([number.width for number in joint._listed()])
        row = replace(joint, layout=replace(layout, most_rows=None))
        rows = np.array([row.record(t) for t in itertools.product(range(steps + 1), repeat=2)], dtype=float) / widths
        moved = most_moved(units_of_rows(rows, cells, limit), relation, law.power) ** (1.0 / law.power)
        stated = joint.mu(relation) if law == GAUSSIAN else joint.pure(relation)
        assert (0.8 if law == GAUSSIAN else 0.6) * stated <= moved <= stated * (1.0 + 1e-9)
        of_a_row = row.mu(relation) if law == GAUSSIAN else row.pure(relation)
        assert moved > 1.1 * of_a_row
    assert joint.row_limit == limit


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize(("cells", "limit", "size"), [(1, 3, 1), (1, 3, 2), (1, 2, 3), (2, 2, 2), (3, 2, 1)])
def test_no_two_units_move_the_scores_more_than_the_price(
    cells: int, limit: int, size: int, relation: Relation
) -> None:
    """Every unit has a clipped vector in each of at most `limit` cells; the price of one cell is too small for two."""
    layout = JointLayout((JointFeature(4),) * size, "private", cells, ball=size, most_rows=limit)
    pairs = list(itertools.combinations_with_replacement(range(size), 2))
    weights = JointWeights(size, {}, {(i, j): 1.0 if i == j else 2.0**0.5 for i, j in pairs})
    vectors = np.array(list(itertools.product((-1.0, -0.5, 0.0, 0.5, 1.0), repeat=size))) / np.sqrt(size)
    products = np.array([[weights.sums[i, j] * z[i] * z[j] for i, j in pairs] for z in vectors])
    products = np.unique(products.round(12), axis=0)
    several = min(cells, limit)
    units = []
    for chosen in itertools.combinations(range(cells), several):
        for own in itertools.product(products, repeat=several):
            unit = np.zeros((cells, len(pairs)))
            unit[list(chosen)] = own
            units.append(unit.ravel())
    moved = most_moved(np.unique(units, axis=0), relation, 2)
    price = cost_of(layout, weights, relation, 2)
    assert moved <= price * (1.0 + 1e-9)
    # Two vectors at right angles, or units in different cells, attain it.
    attained = relation is NEAR or size > 1 or cells >= 2 * several
    assert moved > (0.99 if attained else 0.45) * price * (8.0 / 9.0 if size == 3 and relation is FAR else 1.0)
    if several > 1 and attained:
        assert moved > 1.9 * cost_of(replace(layout, most_rows=1), weights, relation, 2)


@pytest.mark.parametrize("relation", [str(one) for one in Relation])
@pytest.mark.parametrize(
    ("formula", "kind"),
    [("y ~ x + z", "HC1"), ("y ~ x * z + C(s)", True), ("y ~ z + I(z ** 2) - 1", False), ("y ~ 1", False)],
)
def test_without_noise_they_are_those_of_statsmodels(
    formula: str, kind: object, relation: str, file: pd.DataFrame
) -> None:
    given = {"categories": {"s": [0, 1, 2]}} if "s" in formula else {}
    (fit,) = simulated(file, relation, formula, Silent(), epsilon=100.0, robust=kind, **given)
    oracle = smf.ols(formula, file).fit(cov_type="cluster", cov_kwds={"groups": file.person})
    for name, value in fit.params.items():
        assert value == pytest.approx(
            oracle.params[name], abs=0.05 * math.hypot(oracle.bse[name], fit.privacy_error[name])
        )
        assert fit.sampling_error[name] == pytest.approx(oracle.bse[name], rel=0.01)
    # The sabotage: rows that are taken for units.
    if "Intercept" in fit.params:
        assert replace(fit, second=None).sampling_error["Intercept"] < 0.97 * oracle.bse["Intercept"]
    assert fit.nobs == pytest.approx(len(file), rel=0.001)


def test_each_cell_has_its_own_scores(file: pd.DataFrame) -> None:
    fits = simulated(file, "add-remove", "y ~ x", Silent(), epsilon=100.0, by={"s": [0, 1, 2]}, robust="HC0")
    for fit in fits:
        own = file[file.s == fit.cell["s"]]
        oracle = smf.ols("y ~ x", own).fit(cov_type="cluster", cov_kwds={"groups": own.person, "use_correction": False})
        for name, error in fit.sampling_error.items():
            assert error == pytest.approx(oracle.bse[name], rel=0.01)


def test_a_unit_beyond_the_limit_keeps_some_rows(file: pd.DataFrame) -> None:
    more = pd.concat([file, file[file.person < 400].assign(x=4.0, y=30.0)] * 3)
    (fit,) = simulated(more, "replace-one", "y ~ x", Silent(), epsilon=100.0)
    rows = more.groupby("person").size()
    assert fit.nobs == pytest.approx(rows.clip(upper=4).sum(), rel=0.001)


@pytest.fixture(scope="module")
def fits(file: pd.DataFrame) -> dict[str, Regression | RegressionByCell]:
    survey = hg.open(pl.from_pandas(file), relation="replace-one", unit=UNIT)
    other = hg.open(file, relation="add-remove", unit=UNIT)
    census = hg.open(file, relation="replace-one", unit=UNIT, target="file")
    given = {"bounds": BOUNDS, "epsilon": 10.0}
    return {
        "plain": survey.ols("y ~ x + z", **given),
        "categories": other.ols("y ~ x * C(s)", categories={"s": [0, 1, 2]}, where="z > 1", **given),
        "by": other.ols("y ~ x", by={"s": [0, 1, 2]}, robust="HC0", **given),
        "census": census.ols("y ~ x", **given),
    }


@pytest.mark.parametrize("name", ["plain", "categories", "by", "census"])
def test_the_record_is_read_and_verified(name: str, fits: dict[str, Regression | RegressionByCell]) -> None:
    fit = fits[name]
    text = fit.to_json()
    record = json.loads(text)
    assert verify_record(record).holds
    again = regressions_from_record(text)
    (first, *_) = fit if name == "by" else (fit,)
    assert again[0].conf_int() == first.conf_int() and again[0].bse == first.bse
    assert record["release"]["unit"] == "person, at most 4 rows"
    if name == "census":
        assert first.second is None and set(first.sampling_error.values()) == {0.0}
        return
    assert record["regression"]["robust"] == ("CR0" if name == "by" else "CR1")
    notes = " ".join(first.notes)
    assert "cluster-robust" in notes and "Over at most 4 rows of each person" in notes and "Rows:" in first.summary()
    altered = json.loads(text)
    altered["fits"][0]["second_step"]["clip"] *= 1.5
    assert not verify_record(altered).holds
    altered = json.loads(text)
    altered["certificate"]["mechanism"]["parts"][0]["layout"]["most_rows"] = 3
    assert not verify_record(altered).holds
    assert "cluster-robust" in regression_html(first) if name == "plain" else True


def test_both_steps_are_planned(file: pd.DataFrame) -> None:
    survey = hg.open(file, relation="add-remove", unit=UNIT)
    plan = survey.plan_ols("y ~ x + z", bounds=BOUNDS, epsilon=1.0)
    assert plan.epsilon <= 1.0 and len(plan.mechanism.parts) == 2
    assert all(part.row_limit == 4 for part in plan.mechanism.parts)
    assert "of the price for errors of clusters" in plan.design.reason
    alone = hg.open(file, relation="add-remove").plan_ols("y ~ x + z", bounds=BOUNDS, epsilon=1.0)
    for several, one in zip(plan.expected(), alone.expected(), strict=True):
        assert 3.0 < several.privacy_error / one.privacy_error < 6.0
        assert several.sampling_error == pytest.approx(2.0**0.5 * one.sampling_error)


def test_what_units_do_not_have(file: pd.DataFrame, fits: dict[str, Regression | RegressionByCell]) -> None:
    survey = hg.open(file, relation="replace-one", unit=UNIT)
    for options in ({"weights": ("z", 10)}, {"clip_norm": 1.0}):
        with pytest.raises(UncertifiedError, match="HG402"):
            survey.plan_ols("y ~ x", bounds=BOUNDS, epsilon=1.0, **options)
    with pytest.raises(ParameterError, match="HG188"):
        survey.plan_ols("y ~ x", bounds=BOUNDS, epsilon=1.0, noise="laplace")
    with pytest.raises(hg.HedgerowError):
        survey.plan_ols("y ~ x", bounds=BOUNDS, epsilon=1.0, delta=0.0)
    with pytest.raises(ParameterError, match="HG193"):
        fits["plain"].submodel("y ~ x")


def test_from_the_command_line(file: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.to_csv(tmp_path / "panel.csv", index=False)
    asked = ["ols", "y ~ x", str(tmp_path / "panel.csv"), "--unit", "person:4", "--relation", "replace-one"]
    with pytest.raises(SystemExit) as ended:
        app([*asked, "--epsilon", "3", "--bounds", "x:-4:4", "--bounds", "y:-30:30"])
    assert not ended.value.code and "cluster-robust (CR1)" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        app(["logit", "s ~ x", *asked[2:], "--epsilon", "3", "--bounds", "x:-4:4"])
    assert not ended.value.code and "Units:                 800" in capsys.readouterr().out


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("limit", [2, 3])
def test_no_two_units_move_a_newton_step_more_than_the_price(limit: int, relation: Relation) -> None:
    """All units of at most `limit` rows of a small grid, at β = 0 and where outcomes are nearly sure."""
    box = ((1.0, 1.0), (-1.0, 1.0), (0.0, 1.0))
    rows = np.array(list(itertools.product((1.0,), (-1.0, 0.0, 1.0), (0.0, 1.0))))
    features, outcome = np.repeat(rows, 2, axis=0), np.tile([0, 1], len(rows))
    for beta in ((0.0, 0.0, 0.0), (0.3, -0.8, 0.5), (-1.0, 3.0, 2.0)):
        for curvature in (1.0, 8.0):
            steps = NewtonSteps(box, (1.0,), curvature, relation.value, "joint", limit)
            noise = steps.noise(0, beta)
            widths = np.repeat([noise.gradient.in_units, noise.curvature.in_units], [3, 6])
            added = steps.added(features, outcome, beta) / widths
            moved = most_moved(units_of_rows(added, 1, limit), relation, 2) ** 0.5
            assert 0.55 < moved <= 1.0 + 1e-9
            # The sabotage: a unit that is priced as a row.
            row = replace(steps, most_rows=None).noise(0, beta)
            assert moved * noise.gradient.in_units / row.gradient.in_units > 1.3
    assert steps.row_limit == limit


def test_without_noise_a_logit_is_that_of_statsmodels_and_its_errors_a_bound() -> None:
    chance = np.random.default_rng(4)
    person = np.repeat(np.arange(600), 3)
    level = chance.normal(size=600)[person]
    x = chance.uniform(-2, 2, 600)[person]
    late = (0.8 * x - 0.3 + 2.0 * level + chance.logistic(size=len(x)) > 0).astype(int)
    frame = pd.DataFrame({"person": person, "x": x, "late": late})
    survey = hg.open(frame, relation="replace-one", unit={"column": "person", "max_rows": 3})
    plan = survey.plan_logit("late ~ x", bounds={"x": (-2, 2)}, epsilon=5.0)
    exact = replace(plan, mechanism=replace(plan.mechanism, precisions=precisions(1e5, 12)))
    path = drawn_logit(exact, survey.source.histogram(plan.query), Silent())
    fit = read_logit(exact, path, None, "t", None)
    plain = smf.logit("late ~ x", frame).fit(disp=0)
    cluster = smf.logit("late ~ x", frame).fit(disp=0, cov_type="cluster", cov_kwds={"groups": person})
    for name, value in fit.params.items():
        assert value == pytest.approx(plain.params[name], rel=1e-4)
        assert fit.sampling_error[name] == pytest.approx(3.0**0.5 * plain.bse[name], rel=1e-3)
        # Outcomes of one person depend on each other: errors of rows are too small, and the bound holds.
        assert 1.2 * plain.bse[name] < cluster.bse[name] < fit.sampling_error[name]


@pytest.mark.parametrize("relation", [str(one) for one in Relation])
def test_a_logit_of_units_is_recorded_and_verified(relation: str, file: pd.DataFrame) -> None:
    survey = hg.open(pl.from_pandas(file.assign(high=(file.y > 1).astype(int))), relation=relation, unit=UNIT)
    fit = survey.logit("high ~ x + C(s)", bounds=BOUNDS, categories={"s": [0, 1, 2]}, epsilon=10.0)
    record = json.loads(fit.to_json())
    assert verify_record(record).holds and record["certificate"]["mechanism"]["most_rows"] == 4
    assert record["release"]["unit"] == "person, at most 4 rows"
    notes = " ".join(fit.notes)
    assert "is an upper bound" in notes and "Over at most 4 rows of each person" in notes
    record["certificate"]["mechanism"]["most_rows"] = 3
    assert not verify_record(record).holds
