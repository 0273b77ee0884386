"""Units of several rows through joint moments: one vector for a call, exact sums, and what is said and refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import hedgerow as hg
from hedgerow.engines.source import open_source
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger
from hedgerow.mechanisms.joint.joint_moments import JointMoments
from hedgerow.reports.verify.verification import verify_record
from hedgerow.testing.simulated import SimulatedNoise, Study
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


class Silence(SimulatedNoise):
    """Noise that is always 0, so that what is read is exact."""

    def discrete_gaussian(self, width: float, size: int) -> np.ndarray:
        return np.zeros(size, np.int64)

    def two_sided_geometric(self, scale: float, size: int) -> np.ndarray:
        return np.zeros(size, np.int64)


def silent(people: hg.Survey, asked: list[Any], **options: Any) -> hg.Release:
    return Study.of(people, asked, epsilon=100.0, **options).draw(Silence())


def holds(record: dict[str, Any]) -> bool:
    try:
        return verify_record(record).holds
    except hg.VerificationError:
        return False


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("by", [None, {"sex": [0, 1]}])
def test_without_noise_estimates_are_those_of_the_rows_and_errors_those_of_clusters(
    relation: str, by: dict[str, list[int]] | None
) -> None:
    """ε = 100. Sabotage: errors of rows taken for units are less than half of these in one cell."""
    asked = [*ASKED, hg.ratio("income", "age", bounds=BOUNDS)]
    release = silent(survey(relation), asked, by=by)
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
        assert not holds(forged)


def test_a_missing_value_is_dropped_or_stands_at_the_midpoint() -> None:
    gone = np.arange(len(AGE)) % 5 == 0
    table = TABLE.set_column(1, "age", pa.array([None if no else age for no, age in zip(gone, AGE, strict=True)]))
    for missing, value in (("drop", AGE[~gone].mean()), ("midpoint", np.where(gone, 50.0, AGE).mean())):
        (one,) = simulated(survey("add-remove", table), ASKED[:1], missing=missing, epsilon=100.0, rng=1)
        assert one.estimate == pytest.approx(value, rel=2e-3)
        assert ("midpoint" in str(one.note)) == (missing == "midpoint")


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("by", [None, {"sex": [0, 1]}])
def test_second_moments_have_the_errors_of_clusters(relation: str, by: dict[str, list[int]] | None) -> None:
    """Drawn without noise. An influence is that of a row, added up over the rows of its unit.

    The sabotage: rows taken for units.
    """
    head = hg.function(lambda t: t["income"] / t["age"], columns=BOUNDS, name="per year")
    pair = [hg.covariance("age", "income", bounds=BOUNDS), hg.correlation("age", "income", bounds=BOUNDS)]
    asked = [hg.variance("age", bounds=(0, 100)), hg.standard_deviation("age", bounds=(0, 100)), *pair, head]
    release = silent(survey(relation), asked, by=by)
    for cell in [0, 1] if by else [None]:
        kept = np.ones(len(PERSON), bool) if cell is None else cell == SEX
        x, y, unit = AGE[kept] - AGE[kept].mean(), INCOME[kept] - INCOME[kept].mean(), PERSON[kept]
        v, w, c = (x**2).mean(), (y**2).mean(), (x * y).mean()
        r = c / np.sqrt(v * w)
        ratio = INCOME[kept].mean() / AGE[kept].mean()
        rows = {
            "variance": (v, x**2 - v),
            "standard_deviation": (np.sqrt(v), (x**2 - v) / (2.0 * np.sqrt(v))),
            "covariance": (c, x * y - c),
            "correlation": (r, x * y / np.sqrt(v * w) - r * (x**2 / v + y**2 / w) / 2.0),
            "per year": (ratio, (y - ratio * x) / AGE[kept].mean()),
        }
        for name, (value, influence) in rows.items():
            (one,) = [e for e in release if e.statistic == name and e.cell == ({} if cell is None else {"sex": cell})]
            clustered = np.sqrt((np.bincount(unit, influence) ** 2).sum()) / len(x)
            assert one.estimate == pytest.approx(value, rel=5e-3, abs=2e-3 * np.abs(influence).max()), name
            assert one.sampling_error == pytest.approx(clustered, rel=0.08), name
            if by is None and name != "correlation":
                assert np.sqrt((influence**2).sum()) / len(x) < 0.85 * clustered


@pytest.mark.parametrize("relation", RELATIONS)
def test_numbers_of_two_cells_vary_together_as_their_units_do(relation: str) -> None:
    """Drawn without noise. A unit has rows in both cells, and its values are alike: a difference has the smaller error.

    The sabotage: two cells taken for different people.
    """
    asked = [*ASKED, hg.variance("age", bounds=(0, 100))]
    release = silent(survey(relation), asked, by={"sex": [0, 1]})
    influences = {}
    for cell in (0, 1):
        kept = cell == SEX
        x = AGE[kept] - AGE[kept].mean()
        rows = {"mean": x / len(x), "sum": AGE[kept], "variance": (x**2 - (x**2).mean()) / len(x)}
        for name, row in rows.items():
            total = np.bincount(PERSON[kept], row, 600)
            influences[name, cell] = total - (total.mean() if relation == "replace-one" else 0.0)
    for name in ("mean", "sum", "variance"):
        first, second = (release.estimate(name, "age", sex=cell) for cell in (0, 1))
        apart = np.sqrt((influences[name, 0] ** 2).sum() + (influences[name, 1] ** 2).sum())
        truth = np.sqrt(((influences[name, 0] - influences[name, 1]) ** 2).sum())
        assert (first - second).sampling_error == pytest.approx(truth, rel=0.09), name
        assert abs(apart - truth) > 0.1 * truth, name
    covariances = release.covariance()
    assert covariances.known
    at = [covariances.labels.index(f"mean(age | sex={cell})") for cell in (0, 1)]
    shared = float(influences["mean", 0] @ influences["mean", 1])
    assert covariances.sampling[at[0], at[1]] == pytest.approx(shared, rel=0.05)
    assert covariances.noise[at[0], at[1]] == 0.0


@pytest.mark.parametrize("cells", [2, 3, 4, 5])
@pytest.mark.parametrize("kind", ["table", "parquet"])
def test_products_between_cells_are_exact(tmp_path: Path, cells: int, kind: str) -> None:
    """All rows count, so every engine adds up what NumPy does: each pair of cells in each order of its features."""
    region = (PERSON * 7 + np.arange(len(PERSON)) * 3) % cells
    table = TABLE.append_column("region", pa.array(region))
    people = survey("add-remove", table)
    plan = people.plan([hg.mean("age", bounds=(0, 100), step=1)], by={"region": list(range(cells))}, epsilon=1.0)
    (item,) = plan.items
    assert isinstance(item.mechanism, JointMoments)
    parquet.write_table(table, tmp_path / "rows.parquet")
    sums = open_source(table if kind == "table" else tmp_path / "rows.parquet").sums(item.design.query)
    totals = np.zeros((600, cells, 2))
    for place, rows in enumerate((AGE, np.ones(len(AGE)))):
        np.add.at(totals[:, :, place], (PERSON, region), rows)
    assert {place // 2 for monomial in sums.sums for place, _ in monomial} == set(range(cells // 2 + 1))
    for monomial, found in sums.sums.items():
        for cell in range(cells):
            wanted = np.ones(600) if monomial else (totals[:, cell, 1] > 0).astype(float)
            for place, power in monomial:
                wanted = wanted * totals[:, (cell + place // 2) % cells, place % 2] ** power
            assert found[cell] == wanted.sum(), (monomial, cell)
    whole = people.release([hg.mean("age", bounds=(0, 100))], by={"region": list(range(cells))}, epsilon=1.0)
    assert whole.covariance().known and verify_record(json.loads(whole.to_json())).holds


def test_a_record_tells_how_cells_vary_together(tmp_path: Path) -> None:
    asked = [*ASKED, hg.variance("age", bounds=(0, 100))]
    release = survey("replace-one").release(asked, by={"sex": [0, 1]}, missing="drop", epsilon=5.0)
    release.write(tmp_path / "release.json")
    read = hg.Release.from_json(tmp_path / "release.json")
    for name in ("mean", "sum", "variance"):
        first, second = (one.estimate(name, "age", sex=0) - one.estimate(name, "age", sex=1) for one in (release, read))
        assert (first.estimate, first.standard_error) == pytest.approx(
            (second.estimate, second.standard_error), rel=1e-4
        )
    record = json.loads(release.to_json())
    assert verify_record(record).holds
    # The sabotage: a product between cells that was not drawn makes the error of a difference smaller.
    for cell in record["joint"][0]["cells"]:
        cell["across"][0] *= 2.0
    assert not verify_record(record).holds


def test_of_many_cells_numbers_are_not_combined_and_that_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    path, budget = tmp_path / "people.ledger", Budget(2.0, 1e-6)
    Ledger.create(path, dataset="people", budget=budget, relation="add-remove", unit=UNIT).close()
    people = hg.open(TABLE, relation="add-remove", unit=UNIT, ledger=path)
    many = {"income": list(range(500, 560))}
    for asking in (
        {"ask": ["mean(age | income=500) - mean(age | income=501)"]},
        {"totals": {("income",): dict.fromkeys(many["income"], 100)}},
    ):
        with pytest.raises(hg.ParameterError, match="HG130"):
            people.release(ASKED, by=many, epsilon=1.0, **asking)
    own, two = "sum(age | sex=0) / mean(age | sex=0)", "mean(age | sex=0) - mean(age | sex=1)"
    release = people.release(ASKED, by={"sex": [0, 1]}, epsilon=1.0, ask=[own, two])
    assert list(release.answers) == [own, two]
    wide = people.release(ASKED, by=many, epsilon=1.0)
    with pytest.raises(hg.ParameterError, match="no products between so many cells were released"):
        wide.estimate("mean", "age", income=500) - wide.estimate("mean", "age", income=501)


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
