"""Units of several rows through joint moments: one vector for a call, exact sums, and what is said and refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import hedgerow as hg
from hedgerow.engines.source import open_source
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import UnitLimit
from hedgerow.ledger.store import Ledger
from hedgerow.mechanisms.joint_moments import JointMoments
from hedgerow.reports.verify.verification import verify_record
from hedgerow.testing.simulated import release as simulated

PERSON = np.repeat(np.arange(600), 1 + np.arange(600) % 4)
AGE = 20.0 + 10.0 * (PERSON % 7) + np.arange(len(PERSON)) % 3
INCOME = 500.0 + 100.0 * (PERSON % 11) + np.arange(len(PERSON)) % 5
SEX = np.arange(len(PERSON)) % 2
TABLE = pa.table({"person": PERSON, "age": AGE, "income": INCOME, "sex": SEX})
UNIT = {"column": "person", "max_rows": 4}
BOUNDS = {"age": (0, 100), "income": (0, 2_000)}
ASKED = [hg.mean("age", bounds=(0, 100)), hg.sum("age", bounds=(0, 100))]
RELATIONS = ["add-remove", "replace-one"]


def survey(relation: str, table: pa.Table = TABLE) -> hg.Survey:
    return hg.open(table, relation=relation, unit=UNIT)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("by", [None, {"sex": [0, 1]}])
def test_without_noise_estimates_are_those_of_the_rows_and_errors_those_of_clusters(
    relation: str, by: dict[str, list[int]] | None
) -> None:
    """ε = 100. Sabotage: errors of rows taken for units are less than half of these in one cell."""
    asked = [*ASKED, hg.ratio("income", "age", bounds=BOUNDS)]
    release = simulated(survey(relation), asked, by=by, epsilon=100.0, rng=1)
    for cell in [0, 1] if by else [None]:
        kept = np.ones(len(PERSON), bool) if cell is None else cell == SEX
        where = {} if cell is None else {"sex": cell}
        age, rows = np.bincount(PERSON[kept], AGE[kept], 600), np.bincount(PERSON[kept], minlength=600)
        income = np.bincount(PERSON[kept], INCOME[kept], 600)
        mean, ratio = age.sum() / rows.sum(), income.sum() / age.sum()
        squares = {
            "mean": ((age - mean * rows) ** 2).sum() / rows.sum() ** 2,
            "sum": (age**2).sum() - (0.0 if relation == "add-remove" else age.sum() ** 2 / 600),
            "ratio": ((income - ratio * age) ** 2).sum() / age.sum() ** 2,
        }
        columns = {"mean": "age", "sum": "age", "ratio": "income, age"}
        for name, value in (("mean", mean), ("sum", age.sum()), ("ratio", ratio)):
            (one,) = [e for e in release if e.statistic == name and e.cell == where]
            assert one.column == columns[name]
            assert one.estimate == pytest.approx(value, rel=2e-3)
            assert one.sampling_error == pytest.approx(np.sqrt(squares[name]), rel=0.06)
    naive = np.sqrt(AGE.var() / len(AGE))
    assert by is not None or naive < 0.75 * next(e for e in release if e.statistic == "mean").sampling_error


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("missing", ["drop", "midpoint"])
def test_a_call_is_one_vector_that_verifies(relation: str, missing: str) -> None:
    release = survey(relation).release(ASKED, by={"sex": [0, 1]}, missing=missing, epsilon=1.0)
    record = json.loads(release.to_json())
    mechanism = record["certificate"]["mechanism"]
    assert mechanism["type"] == "joint-moments" and mechanism["layout"]["rows"] == 4
    assert record["release"]["unit"] == "person, at most 4 rows"
    assert [one.method for one in release] == ["moments"] * 4
    assert verify_record(record).holds
    # The sabotage: the same numbers as if a unit had half as many rows, or one.
    for rows, unit in ((4, "person, at most 2 rows"), (4, "row"), (None, "row")):
        forged = json.loads(release.to_json())
        forged["release"]["unit"] = forged["certificate"]["unit"] = unit
        if rows is None:
            del forged["certificate"]["mechanism"]["layout"]["rows"]
        assert not verify_record(forged).holds


def test_a_missing_value_is_dropped_or_stands_at_the_midpoint() -> None:
    gone = np.arange(len(AGE)) % 5 == 0
    table = TABLE.set_column(1, "age", pa.array([None if no else age for no, age in zip(gone, AGE, strict=True)]))
    for missing, value in (("drop", AGE[~gone].mean()), ("midpoint", np.where(gone, 50.0, AGE).mean())):
        (one,) = simulated(survey("add-remove", table), ASKED[:1], missing=missing, epsilon=100.0, rng=1)
        assert one.estimate == pytest.approx(value, rel=2e-3)
        assert ("midpoint" in str(one.note)) == (missing == "midpoint")


def test_numbers_of_one_cell_combine_and_those_of_two_do_not() -> None:
    """A unit may have rows in both, so the covariance of two cells is not known."""
    release = survey("replace-one").release(ASKED, by={"sex": [0, 1]}, missing="midpoint", epsilon=5.0)
    rows = release.estimate("sum", "age", sex=0) / release.estimate("mean", "age", sex=0)
    assert 500 < rows.estimate < 1000 and rows.standard_error < 60
    for combine in (
        lambda: release.estimate("mean", "age", sex=0) - release.estimate("mean", "age", sex=1),
        lambda: release.ask("mean(age | sex=0) - mean(age | sex=1)"),
    ):
        with pytest.raises(hg.ParameterError, match="HG130"):
            combine()
    known = np.isfinite(release.covariance().total)
    labels = release.covariance().labels
    assert known[labels.index("mean(age | sex=0)"), labels.index("sum(age | sex=0)")]
    assert not known[labels.index("mean(age | sex=0)"), labels.index("mean(age | sex=1)")]
    whole = survey("replace-one").release(ASKED, epsilon=5.0)
    assert whole.covariance().known


def test_what_asks_for_several_cells_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    by, path, budget = {"sex": [0, 1]}, tmp_path / "people.ledger", Budget(1.0, 1e-6)
    unit = str(UnitLimit(*UNIT.values()))
    Ledger.create(path, dataset="people", budget=budget, relation="add-remove", unit=unit).close()
    people = hg.open(TABLE, relation="add-remove", unit=UNIT, ledger=path)
    for asking in (
        {"ask": ["mean(age | sex=0) - mean(age | sex=1)"]},
        {"totals": {("sex",): {0: 100, 1: 200}}},
    ):
        with pytest.raises(hg.ParameterError, match="HG130"):
            people.release(ASKED, by=by, epsilon=1.0, **asking)
    own = "sum(age | sex=0) / mean(age | sex=0)"
    release = people.release(ASKED, by=by, epsilon=1.0, ask=[own])
    assert list(release.answers) == [own]


def test_the_bootstrap_is_taken_by_name_only() -> None:
    plans = {
        estimator: survey("add-remove").plan(ASKED, epsilon=1.0, estimator=estimator)
        for estimator in ("auto", "moments", "bootstrap")
    }
    kinds = {name: {item.mechanism.type for item in plan.items} for name, plan in plans.items()}
    assert kinds == {"auto": {"joint-moments"}, "moments": {"joint-moments"}, "bootstrap": {"resampled-units"}}
    pure = survey("add-remove").plan(ASKED, epsilon=1.0, delta=0)
    assert all(isinstance(item.mechanism, JointMoments) and item.mechanism.law == "laplace" for item in pure.items)


def test_a_unit_has_its_limit_of_rows_over_all_cells(tmp_path: Path) -> None:
    """One person with eight rows, four in each cell: four count in all, whichever. The sabotage is a limit by cell."""
    table = pa.table({"person": [7] * 8, "age": [100.0] * 8, "sex": [0, 1] * 4})
    parquet.write_table(table, tmp_path / "rows.parquet")
    (item,) = survey("add-remove", table).plan(ASKED[:1], by={"sex": [0, 1]}, epsilon=1.0).items
    for source in [open_source(table), open_source(tmp_path / "rows.parquet")] * 10:
        sums = source.sums(item.design.query)
        rows, squares = sums.sums[((1, 1),)], sums.sums[((1, 2),)]
        assert rows.sum() == 4 and (rows**2 == squares).all()


@pytest.mark.parametrize("relation", RELATIONS)
def test_counts_and_shares_of_rows_are_read_from_the_same_vector(relation: str) -> None:
    """ε = 100; rows are counted, not units, and their number is private under replace-one too."""
    asked = [hg.count(), hg.proportion("sex", value=1), *ASKED]
    release = simulated(survey(relation), asked, missing="error-if-declared-complete", epsilon=100.0, rng=2)
    count, share, mean, total = release
    rows = np.bincount(PERSON)
    assert [one.method for one in release] == ["moments"] * 4
    assert count.estimate == pytest.approx(len(PERSON), abs=5 * count.privacy_error)
    random = (rows**2).sum() - (0.0 if relation == "add-remove" else len(PERSON) ** 2 / 600)
    assert count.sampling_error == pytest.approx(np.sqrt(random), rel=0.05)
    assert share.estimate == pytest.approx(SEX.mean(), abs=5 * share.privacy_error)
    residual = np.bincount(PERSON, SEX - SEX.mean())
    assert share.sampling_error == pytest.approx(np.sqrt((residual**2).sum()) / len(PERSON), rel=0.1)
    assert (total / mean).estimate == pytest.approx(count.estimate, rel=1e-3)
    certified = survey(relation).release(asked, missing="error-if-declared-complete", epsilon=1.0)
    assert verify_record(json.loads(certified.to_json())).holds
    assert len(certified.to_dict()["joint"]) == 1


@pytest.mark.parametrize("relation", RELATIONS)
def test_nobody_in_the_file_is_no_failure(relation: str) -> None:
    nobody = pa.table({"person": pa.array([None] * 5, pa.int64()), "age": [1.0] * 5, "sex": [1] * 5})
    asked = [hg.count(), hg.proportion("sex", value=1), *ASKED]
    assert len(survey(relation, nobody).release(asked, epsilon=1.0)) == 4


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_forecast_is_that_of_units(relation: str) -> None:
    """2,000 units of 1 to 4 rows whose values have the correlation ½, as guessed; the mean of 10 releases.

    The sabotage: as many rows, each a unit of its own, would have three quarters of the error.
    """
    rng = np.random.default_rng(3)
    person = np.repeat(np.arange(2_000), rng.integers(1, 5, 2_000))
    level, own = rng.normal(0.0, 1.0, 2_000)[person], rng.normal(0.0, 1.0, len(person))
    table = pa.table({"person": person, "age": 40.0 + 15.0 * np.sqrt(0.5) * (level + own)})
    n = None if relation == "replace-one" else 2_000
    guess = {"age": {"mean": 40, "sd": 15}}
    for asked in (ASKED[0], hg.count()):
        (expected,) = survey(relation, table).plan([asked], epsilon=3.0).forecast(guess, n=n)
        errors = [simulated(survey(relation, table), [asked], epsilon=3.0, rng=k)[0].standard_error for k in range(10)]
        assert expected.standard_error == pytest.approx(np.mean(errors), rel=0.05)
        assert "units of 1 to 4 rows" in expected.guess
        if not asked.is_count:
            assert 15.0 / np.sqrt(len(person)) < 0.8 * expected.standard_error
