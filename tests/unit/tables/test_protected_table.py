"""A protected table is a release read as arrays: the same draws, errors, price and ledger, and nothing of its own."""

from __future__ import annotations

import json
import math
import pickle
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.errors import HedgerowError, ParameterError, SpentError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.declared import ColumnFacts, Facts, Protection
from hedgerow.facts.relation import Relation, Target
from hedgerow.ledger.store import Ledger
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.noisy_counts import GeometricCounts
from hedgerow.mechanisms.noisy_moments import MomentsGeometric
from hedgerow.release.execute import draw_tables, read_histograms
from hedgerow.release.plan import planned
from hedgerow.release.publication.folder import TABLE_FILES, prepared_folder
from hedgerow.release.request import Context
from hedgerow.reports.verify.verification import verify_record
from hedgerow.tables.protected import ProtectedTable
from hedgerow.tables.release_table import read_table
from hedgerow.tables.table_options import TableChoice, choose
from hedgerow.testing.simulated import SimulatedNoise, draw_estimates

N = 900
_RNG = np.random.default_rng(6)
PEOPLE = pa.table(
    {
        "pay": _RNG.gamma(2.0, 12.0, N).clip(0, 100).round(),
        "sex": _RNG.integers(0, 2, N),
        "region": _RNG.choice(["north", "south", "west"], N, p=[0.6, 0.39, 0.01]),
    }
)
BY: dict[str, list[Any]] = {"sex": [0, 1], "region": ["north", "south", "west"]}
PAY: dict[str, Any] = {"bounds": (0, 100), "step": 1}


def survey(relation: str = "replace-one", **options: Any) -> hg.Survey:
    return hg.open(PEOPLE, relation=relation, **options)


def chosen(asked: Any, relation: str, target: str, **options: Any) -> TableChoice:
    told = Protection(Relation(relation), "row", Target(target), ())
    given = {"by": BY, "epsilon": 1.0} | options
    return choose(asked, told, None, n=N if relation == "replace-one" else None, **given)


def simulated(choice: TableChoice, seed: int = 1) -> ProtectedTable:
    source = survey(str(choice.plan.facts.relation)).source
    (drawn,) = draw_tables(choice.plan, read_histograms(choice.plan, source), SimulatedNoise(seed))
    assert drawn is not None
    return read_table(choice, drawn, None, source="simulated")


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("target", ["population", "file"])
@pytest.mark.parametrize("noise", ["geometric", "gaussian"])
@pytest.mark.parametrize("asked", [hg.count(), hg.sum("pay", **PAY)], ids=["count", "sum"])
def test_a_table_and_a_release_read_the_same_draws_alike(asked: Any, relation: str, target: str, noise: str) -> None:
    """Errors and intervals agree to the last digit; estimates to 14 digits wherever a release does not cut them."""
    choice = chosen(asked, relation, target, noise=noise, delta=0 if noise == "geometric" else None)
    table = simulated(choice)
    plan, source = choice.plan, survey(relation).source
    listed = draw_estimates(plan, read_histograms(plan, source), SimulatedNoise(1))
    columns = table.columns(0.9)
    for place, one in enumerate(listed):
        cell, interval = table[place], one.confidence_interval(0.9)
        assert cell.cell == one.cell
        assert (cell.sampling_error, cell.privacy_error) == (one.sampling_error, one.privacy_error)
        assert (cell.standard_error, columns.standard_error[place]) == (one.standard_error, one.standard_error)
        assert cell.confidence_interval(0.9) == interval
        assert (columns.low[place], columns.high[place]) == (interval.low, interval.high)
        assert (
            cell.estimate == pytest.approx(one.estimate, rel=1e-14)
            or table.cells.values[place] < table.cells.low + 2 * one.privacy_error
        )
    # The cells that margins are added up of know the same errors and, but for a few digits, the same intervals.
    assert table.cells.standard_error == pytest.approx(columns.standard_error, rel=1e-12)
    for ours, theirs in zip(table.cells.interval(0.9), (columns.low, columns.high), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-9)


def test_json_is_the_contract_with_one_addition_and_a_table_streams_it(tmp_path: Path) -> None:
    table = survey().magnitude_table("pay", **PAY, by=BY, epsilon=1.0, margins=True)
    record = table.to_dict(0.9)
    determining = ["request", "noisy", "steps", "reading"]
    assert list(record) == ["release", "table", "estimates", *determining, "certificate"]
    assert list(record["release"])[:6] == ["source", "relation", "unit", "target", "n", "missing"]
    assert record["table"]["guarantee"] == "dp" and record["table"]["option"] == "whole-table"
    assert [len(margin["estimates"]) for margin in record["table"]["margins"]] == [2, 3, 1]
    assert record["estimates"] == [one.to_dict(0.9) for one in table]
    assert json.loads(table.to_json(level=0.9)) == json.loads(json.dumps(record))
    table.to_json(tmp_path / "table.json", level=0.9)
    assert (tmp_path / "table.json").read_text() == table.to_json(level=0.9)
    assert verify_record(record).holds
    forged = {**record, "certificate": {**record["certificate"], "epsilon": 0.5}}
    assert not verify_record(forged).holds


def test_a_table_is_a_sequence_that_makes_estimates_when_asked() -> None:
    table = survey().contingency_table(by=BY, epsilon=1.0)
    assert len(table) == 6 and len(table[1:3]) == 2 and table[-1].cell == {"sex": 1, "region": "west"}
    assert table.at(sex=1, region="south").cell == {"sex": 1, "region": "south"}
    assert [one.estimate for one in table] == table.values.ravel().tolist()
    with pytest.raises(IndexError):
        table[6]
    assert repr(table).startswith("<ProtectedTable, count by sex, region, 2 × 3 cells, differential privacy, ε ≤ ")
    assert table._repr_html_().count("<td") >= 6
    frame = table.to_frame("pandas")
    assert list(frame["region"]) == ["north", "south", "west"] * 2
    assert pickle.loads(pickle.dumps(table)).to_json() == table.to_json()


def test_cells_left_out_are_a_cell_when_asked_and_n_is_kept_to() -> None:
    table = survey().contingency_table(by={"region": ["north"], "sex": [0]}, other=True, epsilon=1.0, margins=True)
    assert table.known_total == N and sum(table.values.ravel()) == pytest.approx(N)
    (total,) = table.margin()
    assert (total.estimate, total.standard_error) == (pytest.approx(N), 0.0)
    assert total.confidence_interval().low == total.confidence_interval().high == pytest.approx(N)
    adjusted = table.margin("sex")
    assert sum(one.estimate for one in adjusted) == pytest.approx(N)
    hidden = survey("add-remove").contingency_table(by={"region": ["north"]}, other=True, epsilon=1.0, margins=True)
    assert hidden.known_total is None and hidden.margin()[0].standard_error > 0


def test_adding_margins_twice_gains_nothing() -> None:
    """Cells adjusted to n have no independent noise left: adjusted again they would seem to have less."""
    table = survey().contingency_table(by={"region": ["north"], "sex": [0]}, other=True, epsilon=1.0)
    once = table.with_margins()
    assert once[0].privacy_error < table[0].privacy_error
    assert once.with_margins()[0].privacy_error == once[0].privacy_error
    mended = once.rounded().with_margins()
    assert mended.values.tolist() == once.rounded().values.tolist()
    assert once.accuracy() == pytest.approx(1.5 * table.accuracy())


def test_numbers_stand_as_drawn_until_they_are_mended() -> None:
    table = simulated(chosen(hg.count(), "add-remove", "file", by={"sex": list(range(7, 40))}), seed=3)
    assert (table.values < 0).any() and "nothing was cut" in " ".join(table.notes)
    mended = table.nonnegative().rounded()
    assert (mended.values >= 0).all() and (mended.values == np.rint(mended.values)).all()
    assert mended[0].confidence_interval() == table[0].confidence_interval()
    assert mended.certificate is table.certificate and mended.simulated


@pytest.mark.parametrize(
    ("options", "expected"),
    [({"delta": 0}, "laplace"), ({"noise": "gaussian"}, "gaussian"), ({}, "laplace")],
)
def test_auto_takes_the_noise_of_least_width_from_public_facts(options: dict[str, Any], expected: str) -> None:
    choice = chosen(hg.sum("pay", **PAY), "replace-one", "population", **options)
    assert (choice.plan.mechanism.type, choice.plan.mechanism.law) == ("joint-moments", expected)
    if not options:
        assert choice.reason.endswith("Gaussian noise would be 1.88 times as wide")


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("bounds", [(0, 100), (-50, 100), (60, 100), (-100, 0)])
@pytest.mark.parametrize("options", [{}, {"noise": "gaussian"}, {"epsilon": 8.0}, {"noise": "averaged-laplace"}])
@pytest.mark.parametrize("target", ["population", "file"])
def test_no_sum_has_wider_intervals_than_one_added_up_about_zero(
    relation: str, bounds: tuple[int, int], options: dict[str, Any], target: str
) -> None:
    """Of an empty cell: the noise, and half a standard deviation of that on the second moment."""
    asked = hg.sum("pay", bounds=bounds, step=1)
    choice = chosen(asked, relation, target, **options)
    told = Protection(Relation(relation), "row", Target(target), ())
    given = {"by": BY, "epsilon": 1.0, "noise": "laplace"} | options
    n = None if relation == "add-remove" else choice.plan.facts.n
    earlier = TableChoice(planned(asked, told, None, n=n, context=Context(about_zero=True), **given), "whole-table", "")
    assert choice.empty_cell_error <= earlier.empty_cell_error * (1.0 + 1e-9)


def test_auto_turns_to_gaussian_noise_where_that_is_narrower() -> None:
    """Each family is priced, whatever the budget: at a small ε and a large δ the Gaussian one has less noise."""
    choice = chosen(hg.count(), "replace-one", "file", epsilon=0.05, delta=0.2)
    assert choice.plan.mechanism.type == "discrete-gaussian" and "geometric" in choice.reason


def test_one_cell_alone_costs_what_a_record_that_enters_or_leaves_it_costs() -> None:
    """A row may come from outside the one declared cell: max(|L|, |U|), not U − L (bootstrap_dp.md)."""
    options: dict[str, Any] = {"by": {"sex": [0], "region": ["west"]}, "delta": 0, "noise": "geometric"}
    asked = hg.sum("pay", bounds=(90, 100), step=1)
    mechanism = chosen(asked, "replace-one", "file", **options).plan.mechanism
    assert isinstance(mechanism, MomentsGeometric)
    assert (mechanism.layout.cells, mechanism.layout.presence) == (1, "private")
    assert mechanism.noise.total.in_units == pytest.approx(100.0, rel=2e-3)
    counts = chosen(hg.count(), "replace-one", "file", **options).plan.mechanism
    assert isinstance(counts, GeometricCounts) and counts.scale == pytest.approx(1.0, rel=2e-3)


PUBLIC: dict[str, Any] = {"sensitivity": "public-membership", "missing": "error-if-declared-complete"}


def test_public_membership_costs_the_range_and_says_so() -> None:
    table = survey().magnitude_table("pay", bounds=(80, 100), step=1, by=BY, epsilon=1.0, delta=0, **PUBLIC)
    assert isinstance(table.certificate, Certificate)
    mechanism = table.certificate.mechanism
    assert isinstance(mechanism, MomentsGeometric)
    assert (mechanism.layout.presence, mechanism.layout.cells) == ("public", 6)
    private = survey().magnitude_table("pay", bounds=(80, 100), step=1, by=BY, epsilon=1.0, delta=0)
    assert table[0].privacy_error < 0.2 * private[0].privacy_error
    said = " ".join(table.certificate.assumptions)
    assert "which cell every record belongs to is public, as declared" in said
    verified = verify_record(table.to_dict())
    assert verified.holds and any("Which cell each row belongs to" in text for text in verified.protection.not_covered)
    assert "which cell" not in " ".join(private.certificate.assumptions)


def test_public_membership_reads_the_totals_without_bias() -> None:
    """With the noise switched off a table is that of the data, whatever option it takes."""
    for options in (PUBLIC, {"missing": "error-if-declared-complete"}, {**PUBLIC, "missing": "midpoint"}):
        choice = chosen(hg.sum("pay", **PAY), "replace-one", "file", delta=0, **options)
        (drawn,) = draw_tables(choice.plan, read_histograms(choice.plan, survey().source), _Silent())
        assert drawn is not None
        frame = PEOPLE.to_pandas()
        truth = [frame[(frame.sex == s) & (frame.region == r)].pay.sum() for s in BY["sex"] for r in BY["region"]]
        assert read_table(choice, drawn, None, source="exact").values.ravel() == pytest.approx(truth)


class _Silent(SimulatedNoise):
    def two_sided_geometric(self, scale: float, size: int) -> np.ndarray:
        return np.zeros(size, dtype=np.int64)


@pytest.mark.parametrize(
    ("code", "options"),
    [
        ("HG410", {"sensitivity": "public-membership"}),
        ("HG410", {**PUBLIC, "relation": "add-remove"}),
        ("HG410", {**PUBLIC, "count": True}),
        ("HG410", {**PUBLIC, "unit": ("sex", 2), "missing": "midpoint"}),
        ("HG411", {"sensitivity": "per-cell"}),
        ("HG150", {"by": {}}),
        ("HG151", {"sensitivity": "best"}),
        ("HG151", {"noise": "cauchy"}),
        ("HG154", {"guarantee": "none"}),
        ("HG101", {"epsilon": None}),
        ("HG107", {"by": {"sex": list(range(3000)), "region": list(range(3000))}}),
        ("HG111", {"by": ["sex"]}),
    ],
)
def test_what_cannot_be_certified_or_meant_is_refused_before_data_are_read(code: str, options: dict[str, Any]) -> None:
    opened = survey(options.pop("relation", "replace-one"), unit=options.pop("unit", None))
    given = {"by": BY, "epsilon": 1.0} | options
    with pytest.raises(HedgerowError) as refused:
        if given.pop("count", False):
            opened.contingency_table(**given)
        else:
            opened.magnitude_table("pay", **PAY, **given)
    assert refused.value.code == code
    assert isinstance(refused.value, (ParameterError, UncertifiedError))


def test_a_table_goes_through_the_ledger_as_any_release(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    Ledger.create(path, dataset="people", budget=Budget(1.0, 1e-6), relation="replace-one", unit="row").close()
    opened = survey(ledger=path)
    first = opened.contingency_table(by=BY, epsilon=0.4, request_id="q", margins=True)
    spent = opened.budget
    again = opened.contingency_table(by=BY, epsilon=0.4, request_id="q", margins=True)
    assert again.to_json() == first.to_json() and opened.budget == spent and again.ledger_head == first.ledger_head
    assert again[0].confidence_interval(0.8) == first[0].confidence_interval(0.8)
    with pytest.raises(HedgerowError, match="HG311"):
        opened.contingency_table(by=BY, epsilon=0.5, request_id="q")
    with pytest.raises(HedgerowError, match="HG310"):
        opened.contingency_table(by=BY, epsilon=0.9)
    with Ledger.open(path) as ledger:
        (entry,) = ledger.entries()
        assert entry.result is not None and verify_record(json.loads(entry.result)).holds


def test_the_accuracy_of_a_table_holds_as_often_as_it_says() -> None:
    """1 − γ = .9 over all six cells at once, 600 draws each; a half-width of 70 % of it is far too small."""
    opened = survey(target="file")
    for options in ({"delta": 0}, {"noise": "gaussian"}):
        for asked, most in ((hg.count(), 0.97), (hg.sum("pay", **PAY), 0.93)):
            choice = chosen(asked, "replace-one", "file", **options)
            histograms = read_histograms(choice.plan, survey().source)
            certified = opened.magnitude_table("pay", **PAY, by=BY, epsilon=1.0, **options)
            if asked.kind == "count":
                certified = opened.contingency_table(by=BY, epsilon=1.0, **options)
            half, noise = certified.accuracy(0.1), SimulatedNoise(5)
            truth = _exact(choice, histograms)
            within = near = 0
            for _ in range(600):
                (drawn,) = draw_tables(choice.plan, histograms, noise)
                assert drawn is not None
                values = read_table(choice, drawn, None, source="simulated").cells.values
                within += bool((np.abs(values - truth) <= half + 1e-9).all())
                near += bool((np.abs(values - truth) <= 0.7 * half).all())
            assert 0.86 <= within / 600 <= most + 0.02, (options, asked.kind, within)
            assert near < 480


def _exact(choice: TableChoice, histograms: Any) -> np.ndarray:
    class Still(_Silent):
        def discrete_gaussian(self, width: float, size: int) -> np.ndarray:
            return np.zeros(size, dtype=np.int64)

    (drawn,) = draw_tables(choice.plan, histograms, Still())
    assert drawn is not None
    return read_table(choice, drawn, None, source="exact").cells.values


def test_a_large_delta_is_warned_of_before_anything_is_spent(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    Ledger.create(path, dataset="people", budget=Budget(1.0, 0.1), relation="replace-one", unit="row").close()
    opened = survey(ledger=path)
    with pytest.raises(hg.HedgerowWarning, match="exceeds 1/n"):
        opened.contingency_table(by=BY, epsilon=0.4, delta=0.01)
    assert opened.budget is not None and not opened.budget.spent


def test_a_simulated_table_states_no_accuracy_and_no_price() -> None:
    table = simulated(chosen(hg.count(), "add-remove", "file"))
    with pytest.raises(ParameterError, match="HG153"):
        table.accuracy()
    assert table.to_dict()["certificate"] is None and table.to_dict()["release"]["simulated"] is True
    assert "SIMULATED" in str(table) and "SIMULATED" in repr(table)


def test_units_of_several_rows_make_a_table_too() -> None:
    people = pa.table({"id": [i // 2 for i in range(2000)], "pay": [30.0, 50.0] * 1000, "sex": [0, 1] * 1000})
    opened = hg.open(people, relation="replace-one", unit=("id", 2))
    table = opened.magnitude_table("pay", bounds=(0, 100), step=50, by={"sex": [0, 1]}, epsilon=2.0, margins=True)
    assert table.unit == "at most 2 rows of each id" or "id" in table.unit
    assert len(table) == 2 and math.isfinite(table.margin()[0].estimate)
    with pytest.raises(ParameterError, match="HG153"):
        table.accuracy()


def test_what_fails_after_the_price_was_reserved_stays_spent(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    Ledger.create(path, dataset="people", budget=Budget(1.0, 1e-6), relation="add-remove", unit="row").close()
    file = tmp_path / "people.csv"
    file.write_text("sex\n" + "0\n1\n" * 50)
    opened = hg.open(file, relation="add-remove", ledger=path)
    broken = replace(opened, source=_Broken(opened.source))
    with pytest.raises(SpentError, match="HG601") as failed:
        broken.contingency_table(by={"sex": [0, 1]}, epsilon=0.4)
    assert "secret" not in str(failed.value) and failed.value.__context__ is None
    assert opened.budget is not None and (opened.budget.spent or 0) > 0.39


@dataclass(frozen=True)
class _Broken:
    source: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)

    def reading(self, queries: object) -> AbstractContextManager[_Broken]:
        return nullcontext(self)

    def histogram(self, query: Any) -> Any:
        raise ValueError("a secret cell")


def test_categories_bounds_and_policy_come_from_the_facts_where_not_given() -> None:
    columns = {"pay": ColumnFacts(bounds=(0, 100), step=1), "sex": ColumnFacts(categories=(0, 1))}
    facts = Facts(relation="replace-one", columns=columns)
    table = hg.open(PEOPLE, facts).magnitude_table("pay", by=["sex"], epsilon=1.0)
    assert [one.cell for one in table] == [{"sex": 0}, {"sex": 1}]
    assert "no source given" in " ".join(table.certificate.assumptions)


def test_a_page_too_large_is_left_out_and_the_numbers_are_written(tmp_path: Path) -> None:
    by = {"sex": list(range(400)), "region": list(range(300))}
    table = simulated(chosen(hg.count(), "replace-one", "population", by=by))
    with prepared_folder(tmp_path / "out", names=TABLE_FILES) as folder:
        written = folder.write(table, level=0.95)
    assert "table.csv" in written and "table.html" not in written
    assert "&lt;ProtectedTable, count" in table._repr_html_() and "<table" not in table._repr_html_()


def test_a_large_table_is_arrays() -> None:
    """60,000 cells: read in about the time of a few arrays, each estimate made alone."""
    by = {"sex": list(range(200)), "region": list(range(300))}
    table = simulated(chosen(hg.count(), "replace-one", "population", by=by))
    assert len(table) == 60_000 and table.with_margins().margin("sex")[3].cell == {"sex": 3}
    assert not isinstance(table.estimates, (list, tuple))
    assert table[59_999].cell == {"sex": 199, "region": 299}
