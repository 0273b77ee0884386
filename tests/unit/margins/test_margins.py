"""All tables of several columns: exact without noise, agreeing, with errors that cover; refusals spend nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import hedgerow as hg
from hedgerow.audit.replay import SilentNoise
from hedgerow.errors import HedgerowError, ParameterError, SpentError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.declared import Facts
from hedgerow.ledger.store import Ledger
from hedgerow.margins import agreeing_rounding
from hedgerow.margins.margin_tables import Margins
from hedgerow.margins.release_margins import PlannedMargins, plan_margins
from hedgerow.margins.shown_margins import AGREE
from hedgerow.noise.lattice import NoiseSource
from hedgerow.noise.secure import SecureNoise
from hedgerow.release.cells.shape import Hierarchy
from hedgerow.release.execute import draw_tables, read_histograms
from hedgerow.reports.verify.verification import verify_record
from hedgerow.testing.simulated import SimulatedNoise

BY: dict[str, Any] = {"sex": ["f", "m"], "region": ["N", "S", "W"], "old": [0, 1], "job": ["a", "b", "c", "d"]}
COMPLETE: dict[str, Any] = {"missing": "error-if-declared-complete"}


def people(n: int = 3000, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n, p=[0.55, 0.45])
    region = rng.choice(["N", "S", "W"], n, p=[0.6, 0.3, 0.1])
    old = (rng.random(n) < np.where(sex == "f", 0.4, 0.2)).astype(int)
    job = rng.choice(["a", "b", "c", "d"], n, p=[0.7, 0.25, 0.045, 0.005])
    return pa.table({"sex": sex, "region": region, "old": old, "job": job})


def crossed(table: pa.Table, by: dict[str, Any] = BY) -> np.ndarray:
    """Return the crossing of all columns, counted by hand."""
    whole = np.zeros([len(values) for values in by.values()])
    for row in table.to_pylist():
        whole[tuple(values.index(row[column]) for column, values in by.items())] += 1
    return whole


def summed(whole: np.ndarray, columns: tuple[str, ...], by: dict[str, Any] = BY) -> np.ndarray:
    return whole.sum(axis=tuple(at for at, column in enumerate(by) if column not in columns))


def planned(survey: hg.Survey, **options: Any) -> PlannedMargins:
    return plan_margins(survey._opened(), **({"by": BY, "order": 3, "epsilon": 1.0} | options))


def many(survey: hg.Survey, noises: Iterable[NoiseSource], **options: Any) -> Iterator[Margins]:
    """Yield the margins of one plan and one reading, with each noise."""
    plan = planned(survey, **options)
    with plan.reading() as source:
        answers = read_histograms(plan.plan, source)
        for noise in noises:
            (table,) = draw_tables(plan.plan, answers, noise)
            assert table is not None
            yield plan.tables(table, None, source="made up")


def drawn(survey: hg.Survey, noise: NoiseSource, **options: Any) -> Margins:
    (margins,) = many(survey, [noise], **options)
    return margins


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("options", [{}, COMPLETE, {"order": 4}, {"order": 1}, {"other": True}])
def test_without_noise_every_table_is_that_of_the_file(relation: Any, options: dict[str, Any]) -> None:
    table = people(500)
    margins, whole = drawn(hg.open(table, relation=relation), SilentNoise(), **options), crossed(table)
    order = options.get("order", 3)
    assert len(margins.tables()) == sum(math.comb(4, most) for most in range(order + 1))
    for columns in margins.tables():
        cells = margins.table(*columns).values
        if options.get("other"):
            assert all(np.abs(np.take(cells, -1, axis=axis)).max() < 1e-9 for axis in range(cells.ndim))
            cells = cells[(slice(None, -1),) * cells.ndim]
        assert np.allclose(cells, summed(whole, columns), atol=1e-9)


def test_conditions_bands_labels_the_rest_and_missing_values() -> None:
    ages = [5.0, 17.0, 30.0, 64.0, 65.0, None, 120.0] * 40
    sexes = [0, 1, 0, 1, 2, 0, None] * 40
    survey = hg.open(pa.table({"age": ages, "sex": sexes, "x": [1, 2, 3, 4, 5, 6, 7] * 40}), relation="add-remove")
    by = {"age": hg.bands(0, 18, 65, labels=["young", "grown"]), "sex": {0: "men", 1: "women"}}
    margins = drawn(survey, SilentNoise(), by=by, order=2)
    # A record outside the categories of one column is in no table: all tables count the same records.
    assert margins.table().values.tolist() == pytest.approx(160.0)
    assert margins["sex"].values.tolist() == pytest.approx([80.0, 80.0])
    assert margins["age", "sex"].values.tolist() == pytest.approx(np.full((2, 2), 40.0))
    assert "women" in margins["sex"].to_csv()
    rest = drawn(survey, SilentNoise(), by=by, order=2, other=True)
    assert rest["sex"].values.tolist() == pytest.approx([120.0, 80.0, 80.0])
    assert float(rest.table().values) == pytest.approx(280.0)
    some = drawn(survey, SilentNoise(), by=by, order=2, where="x <= 3")
    assert some["age", "sex"].values == pytest.approx(np.array([[40.0, 40.0], [40.0, 0.0]]))
    assert any("x <= 3" in note for note in some.notes)


def test_units_of_several_rows_are_counted_by_rows_and_dropped_beyond_the_limit() -> None:
    ids = [*range(300), *range(300), *range(300), *range(100)]
    table = pa.table({"id": ids, "a": [0, 1] * 500, "b": [0, 0, 1, 1] * 250})
    options: dict[str, Any] = {"by": {"a": [0, 1], "b": [0, 1]}, "order": 2}
    survey = hg.open(table, relation="replace-one", unit={"column": "id", "max_rows": 2}, target="file")
    margins = drawn(survey, SilentNoise(), **options)
    assert float(margins.table().values) == pytest.approx(600.0)
    plan = planned(survey, **options)
    assert plan.mechanism.rows == 2 and not plan.mechanism.exhaustive and plan.price.unit == "id, at most 2 rows"
    plain = planned(hg.open(table, relation="add-remove", target="file"), **options)
    assert plan.expected()[-1].privacy_error > 1.9 * plain.expected()[-1].privacy_error
    with pytest.raises(UncertifiedError, match="HG402"):
        planned(hg.open(table, relation="replace-one", unit={"column": "id", "max_rows": 2}), **options)


def test_tables_agree_and_the_noise_is_what_the_plan_says() -> None:
    """Truth: the variance in 40 draws is that of the plan (χ²); sabotage: 10 % less of it is seen."""
    table = people(1000)
    survey, whole = hg.open(table, relation="replace-one"), crossed(table)
    plan = planned(survey, **COMPLETE, weights={("sex", "job"): 20, 1: 5})
    squares: dict[tuple[str, ...], list[float]] = {}
    for margins in many(survey, map(SimulatedNoise, range(40)), **COMPLETE, weights={("sex", "job"): 20, 1: 5}):
        for columns in margins.tables():
            cells = margins.table(*columns).values
            squares.setdefault(columns, []).append(float(((cells - summed(whole, columns)) ** 2).mean()))
            for axis in range(cells.ndim):
                fewer = columns[:axis] + columns[axis + 1 :]
                assert np.allclose(cells.sum(axis=axis), margins.table(*fewer).values, atol=1e-8)
    expected = {table.columns: table.privacy_error**2 for table in plan.expected()}
    assert expected[()] == 0.0 and max(squares[()]) < 1e-12  # n is public
    ratios = np.array([np.mean(squares[columns]) / expected[columns] for columns in expected if columns])
    # A table of k categories has at least k − 1 free numbers in each draw.
    assert ratios.min() > 0.75 and ratios.max() < 1.3 and abs(ratios.mean() - 1.0) < 0.05
    assert not abs(ratios.mean() / 0.9**2 - 1.0) < 0.15
    assert expected["sex", "job"] < expected["sex", "region"]


def test_covariances_of_noise_are_those_of_many_draws() -> None:
    survey = hg.open(people(500), relation="add-remove", target="file")
    cells: list[dict[str, Any]] = [
        {}, {"sex": "f"}, {"sex": "f", "job": "a"}, {"sex": "m", "job": "a"}, {"region": "N", "old": 1}
    ]  # fmt: skip
    draws = list(many(survey, map(SimulatedNoise, range(400))))
    numbers = np.array([[float(one.residuals.table(p)[q]) for p, q in map(one.place, cells)] for one in draws])
    stated = draws[0].covariance(*cells).noise
    observed = np.cov(numbers.T)
    sd = np.sqrt((stated**2 + np.outer(np.diag(stated), np.diag(stated))) / len(draws))
    assert (np.abs(observed - stated) < 4.5 * sd).all()
    wrong = np.diag(np.diag(stated))  # sabotage: cells taken as independent
    assert (np.abs(observed - wrong) > 4.5 * sd).any()
    assert np.isfinite(draws[0].covariance(*cells).total).all()


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_intervals_cover_the_population_and_the_file(relation: Any) -> None:
    """100 samples of a population: coverage of 95 % intervals; those without sampling errors cover far less."""
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.full(24, 0.7)).reshape(2, 3, 4)
    by = {"a": [0, 1], "b": [0, 1, 2], "c": [0, 1, 2, 3]}
    n, hits, noise_alone, total = 2000, 0, 0, 0
    for seed in range(100):
        flat = rng.choice(24, n, p=shares.reshape(-1))
        levels = np.unravel_index(flat, shares.shape)
        table = pa.table(dict(zip(by, levels, strict=True)))
        survey = hg.open(table, relation=relation)
        margins = drawn(survey, SimulatedNoise(seed), by=by, order=2, **COMPLETE)
        for columns in (("a",), ("a", "b"), ("b", "c")):
            truth = n * shares.sum(axis=tuple(at for at, name in enumerate(by) if name not in columns)).reshape(-1)
            cells = margins.table(*columns).cells
            low, high = cells.columns(0.95).low, cells.columns(0.95).high
            hits += int(((low <= truth) & (truth <= high)).sum())
            noise_alone += int((np.abs(cells.values - truth) <= 1.96 * cells.privacy_error).sum())
            total += truth.size
    # Cells of one draw depend on one another: about 100 draws of 8 free cells.
    sd = math.sqrt(0.95 * 0.05 / (100 * 8))
    assert abs(hits / total - 0.95) < 4.0 * sd, hits / total
    assert noise_alone / total < 0.95 - 10.0 * sd


def test_expressions_have_the_errors_of_all_of_it() -> None:
    table = people(4000)
    survey, whole = hg.open(table, relation="replace-one"), crossed(table)
    margins = drawn(survey, SimulatedNoise(3), **COMPLETE)
    share = margins.ask("100 * count(| sex=f, old=1) / count(| sex=f)")
    truth = summed(whole, ("sex", "old"))[0]
    p = truth[1] / truth.sum()
    assert abs(share.estimate - 100 * p) < 4 * share.standard_error
    assert share.sampling_error == pytest.approx(100 * math.sqrt(p * (1 - p) / truth.sum()), rel=0.1)
    # f = 1 and f = 0 of the same women: the difference of the two counts, by the multinomial law.
    one, other = margins.estimates({"sex": "f", "old": 1}, {"sex": "f", "old": 0})
    shares = truth / 4000
    variance = 4000 * (shares.sum() - (shares[1] - shares[0]) ** 2)
    assert (one - other).sampling_error == pytest.approx(math.sqrt(variance), rel=0.05)
    assert one.estimate == margins["sex", "old"].at(sex="f", old=1).estimate
    assert one.confidence_interval(0.9) == margins["sex", "old"].at(sex="f", old=1).confidence_interval(0.9)
    # Two tables whose columns together are beyond the order: how they vary together is not known.
    two = {"sex": "f", "region": "N"}, {"old": 1, "job": "a"}
    with pytest.raises(ParameterError, match="HG130"):
        margins.covariance(*two)
    assert drawn(hg.open(table, relation="replace-one", target="file"), SimulatedNoise(3)).covariance(*two).known
    # Cells that contradict each other share no record.
    assert margins.covariance({"sex": "f", "region": "N"}, {"sex": "m", "old": 1}).sampling[0, 1] < 0.0
    for expression, code in (("count(| sex=x)", "HG137"), ("mean(age)", "HG137"), ("count(", "HG136")):
        with pytest.raises(ParameterError, match=code):
            margins.ask(expression)
    with pytest.raises(ParameterError, match="HG137"):
        margins.ask("count(| sex=f, old=1, region=N, job=a)")


def test_numbers_that_are_shown_are_non_negative_agree_and_come_nearer() -> None:
    table = people(800)
    whole, survey = crossed(table), hg.open(table, relation="add-remove")
    raw_error, fit_error = 0.0, 0.0
    for seed in range(3):
        margins = drawn(survey, SimulatedNoise(seed), weights="equal")
        shown = margins.nonnegative()
        assert shown.shown is not None and shown.shown.gap is not None and shown.shown.gap <= 2e-3
        for columns in margins.tables():
            cells = shown.table(*columns).values
            assert cells.min() >= 0.0
            for axis in range(cells.ndim):
                fewer = columns[:axis] + columns[axis + 1 :]
                assert np.allclose(cells.sum(axis=axis), shown.table(*fewer).values, rtol=0, atol=1e-9)
            raw_error += float(((margins.table(*columns).values - summed(whole, columns)) ** 2).mean())
            fit_error += float(((cells - summed(whole, columns)) ** 2).mean())
            # Intervals are those of what was drawn, cut at 0.
            before, after = margins.table(*columns).columns(), shown.table(*columns).columns()
            assert np.array_equal(before.high, after.high) and after.low.min() >= 0.0
        rounded = shown.rounded()
        for columns in margins.tables():
            cells = rounded.table(*columns).values
            assert np.array_equal(cells, np.rint(cells)) and cells.min() >= 0.0
            assert np.abs(cells - shown.table(*columns).values).max() < 3.0
            for axis in range(cells.ndim):
                fewer = columns[:axis] + columns[axis + 1 :]
                assert np.array_equal(cells.sum(axis=axis), rounded.table(*fewer).values)
        assert rounded.shown is not None and rounded.shown.largest_difference == 0.0 and AGREE in rounded.notes
    assert fit_error < raw_error


def test_one_table_and_its_totals_are_rounded_so_that_they_agree_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    survey = hg.open(people(800), relation="add-remove")
    for most in (agreeing_rounding._MOST_MOVES, 0):  # without a search all tables are totals of the largest one
        monkeypatch.setattr(agreeing_rounding, "_MOST_MOVES", most)
        margins = drawn(survey, SimulatedNoise(1), order=4).nonnegative().rounded()
        assert margins.shown is not None and margins.shown.largest_difference == 0.0
        assert any("All tables agree" in note for note in margins.notes)


def test_where_no_agreeing_whole_numbers_are_found_the_difference_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sabotage of the search: without moves each table is rounded by itself, and a note says how far they differ."""
    monkeypatch.setattr(agreeing_rounding, "_MOST_MOVES", 0)
    margins = drawn(hg.open(people(800), relation="add-remove"), SimulatedNoise(0)).nonnegative().rounded()
    assert margins.shown is not None and margins.shown.largest_difference > 0.0 and AGREE not in margins.notes
    assert any(f"{margins.shown.largest_difference:,.0f} at most" in note for note in margins.notes)


def test_of_a_total_that_is_not_positive_nothing_is_left_but_empty_cells() -> None:
    survey, totals = hg.open(people(6, seed=4), relation="add-remove"), []
    for margins in many(survey, map(SimulatedNoise, range(8)), epsilon=0.1):
        totals.append(float(margins.table().values))
        shown = margins.nonnegative()
        assert shown.shown is not None and shown.shown.largest_difference == 0.0
        assert float(shown.table().values) == pytest.approx(max(totals[-1], 0.0))
    assert min(totals) < 0.0 < max(totals)


def test_whole_numbers_are_near_those_that_were_drawn_and_add_up() -> None:
    """Of 6 numbers in all, noise of 30 and half of the cells empty: whole, agreeing, the known table kept."""
    table = people(6, seed=4)
    survey, sex = hg.open(table, relation="add-remove"), summed(crossed(table), ("sex",))
    for options in ({}, {"order": 1}, {"order": 2}, {"order": 4}, {"known": {"sex": sex}}):
        margins = drawn(survey, SimulatedNoise(3), **options)
        for before in (margins, margins.nonnegative()):
            rounded = before.rounded()
            assert rounded.shown is not None and rounded.shown.largest_difference == 0.0
            for columns in margins.tables():
                cells = rounded.table(*columns).values
                assert np.array_equal(cells, np.rint(cells)) and (cells.min() >= 0.0 or before is margins)
                assert np.abs(cells - before.table(*columns).values).max() < 4.0
            if options.get("known"):
                assert np.array_equal(rounded["sex"].values, sex)


def test_known_totals_are_kept_and_leave_the_price() -> None:
    table = people(2000)
    whole, survey = crossed(table), hg.open(table, relation="replace-one")
    pairs = {columns: summed(whole, columns) for columns in combinations(BY, 2)}
    without, with_known = (planned(survey, **COMPLETE, known=known) for known in (None, pairs))
    last = without.expected()[-1].privacy_error, with_known.expected()[-1].privacy_error
    assert last[1] < 0.75 * last[0]
    assert all((one.privacy_error == 0.0) == (len(one.columns) <= 2) for one in with_known.expected())
    margins = drawn(survey, SimulatedNoise(1), **COMPLETE, known=pairs)
    for columns in pairs:
        assert np.allclose(margins.table(*columns).values, pairs[columns], atol=1e-8)
    shown = margins.nonnegative()
    assert all(np.allclose(shown.table(*columns).values, pairs[columns], atol=0.05) for columns in pairs)
    single = drawn(survey, SimulatedNoise(1), known={"sex": {"f": 1100, "m": 900}})
    assert single["sex"].values.tolist() == pytest.approx([1100.0, 900.0])
    assert any("Known totals" in note and "sex" in note for note in single.notes)


def test_weights_and_targets_move_noise_between_tables() -> None:
    survey = hg.open(people(500), relation="replace-one")

    def noise(**options: Any) -> dict[tuple[str, ...], float]:
        return {one.columns: one.privacy_error for one in planned(survey, **COMPLETE, **options).expected()}

    plain, equal = noise(), noise(weights="equal")
    heavy = noise(weights={("region", "sex"): 50})
    assert heavy["sex", "region"] < 0.8 * plain["sex", "region"] and heavy["old", "job"] > plain["old", "job"]
    assert noise(weights={1: 20})["sex",] < plain["sex",] < equal["sex",]
    wanted = 0.8 * plain["sex", "region"]
    met = noise(target_se={("sex", "region"): wanted, "old": 10 * plain["old",]})
    assert wanted * 0.97 < met["sex", "region"] <= wanted
    assert planned(survey, **COMPLETE, target_se={"sex": 100}).expected() == planned(survey, **COMPLETE).expected()


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("HG240", {"by": {}}),
    ("HG240", {"order": 0}),
    ("HG240", {"order": "two"}),
    ("HG240", {"by": {"sex": ["f"], "old": [0, 1]}}),
    ("HG240", {"by": {f"c{place}": list(range(300)) for place in range(3)}}),
    ("HG240", {"weights": {("sex", "wage"): 2}}),
    ("HG240", {"weights": {7: 2}}),
    ("HG240", {"weights": {"sex": -1}}),
    ("HG240", {"weights": "large"}),
    ("HG240", {"order": 1, "weights": {("sex", "old"): 2}}),
    ("HG241", {"known": {"wage": [1, 2]}}),
    ("HG241", {"known": {"sex": [1, 2, 3]}}),
    ("HG241", {"known": {"sex": {"f": 1}}}),
    ("HG241", {"known": {"sex": [1.5, 2.0]}}),
    ("HG241", {"known": {"sex": [-1, 2]}}),
    ("HG241", {"known": {"sex": [100, 200], "old": [100, 201]}}),
    ("HG241", {"known": {"sex": [100, 200]}, **COMPLETE}),
    ("HG241", {"known": [1, 2]}),
    ("HG241", {"order": 1, "known": {column: [500] + [0] * (len(BY[column]) - 1) for column in BY}, **COMPLETE}),
    ("HG160", {"hierarchies": {"wage": {"band": {"all": [1, 2]}}}}),
    ("HG160", {"hierarchies": {"region": {"sex": {"all": ["N", "S", "W"]}}}}),
    ("HG162", {"hierarchies": {"region": {"coast": {"inland": ["S"], "sea": ["N"]}}}}),
    ("HG162", {"hierarchies": {"region": {"coast": {"inland": ["S", "N"], "sea": ["N", "W"]}}}}),
    ("HG162", {"hierarchies": {"region": {"coast": {"inland": ["S"], "sea": ["N", "W", "X"]}}}}),
    ("HG162", {"hierarchies": {"region": {"coast": {"inland": [], "sea": ["N", "S", "W"]}}}}),
    ("HG162", {"hierarchies": {"region": {"inland": ["S"], "sea": ["N", "W"]}}}),
    ("HG162", {"hierarchies": {"region": {"coast": {"sea": "NSW"}}}}),
    ("HG162", {"hierarchies": {"region": ["N"]}}),
    ("HG162", {"hierarchies": [["N"]]}),
    ("HG242", {"target_se": {"sex": 1e-3}}),
    ("HG242", {"target_se": {"wage": 1}}),
    ("HG242", {"target_se": {"sex": 0}}),
    ("HG242", {"target_se": 3}),
    ("HG117", {"delta": 0}),
    ("HG114", {"missing": "midpoint"}),
    ("HG101", {"epsilon": None}),
    ("HG111", {"by": ["sex", "old"]}),
    ("HG203", {"by": {"sex": ["f", "m"], "wage": [0, 1]}}),
    ("HG131", {"where": "age >"}),
]


@pytest.mark.parametrize(("code", "options"), REFUSED)
def test_what_cannot_be_is_refused_before_anything_is_spent(code: str, options: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    Ledger.create(path, dataset="people", budget=Budget(2.0, 1e-5), relation="replace-one", unit="row").close()
    survey = hg.open(people(500), relation="replace-one", ledger=path)
    with pytest.raises(HedgerowError, match=code):
        survey.margins(**({"by": BY, "epsilon": 1.0} | options))
    with Ledger.open(path) as ledger:
        assert not list(ledger.entries())


def test_an_unknown_keyword_and_an_unknown_table_are_refused() -> None:
    survey = hg.open(people(500), relation="replace-one")
    with pytest.raises(TypeError, match="Did you mean `order`"):
        survey.margins(by=BY, ordr=2, epsilon=1.0)  # type: ignore[call-arg]
    margins = drawn(survey, SilentNoise(), order=2)
    for columns in (("wage",), ("sex", "sex"), ("sex", "old", "job")):
        with pytest.raises(ParameterError, match="HG160"):
            margins.table(*columns)
    table = margins["sex"]
    assert table.with_margins() is table


def test_a_false_declaration_of_completeness_is_told_after_the_price() -> None:
    survey = hg.open(pa.table({"a": [0, 1, 2], "b": [0, 1, 0]}), relation="replace-one")
    with pytest.raises(SpentError, match="HG602"):
        survey.margins(by={"a": [0, 1], "b": [0, 1]}, order=2, epsilon=1.0, **COMPLETE)


def test_a_record_is_read_again_and_an_altered_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    Ledger.create(path, dataset="people", budget=Budget(5.0, 1e-5), relation="replace-one", unit="row").close()
    survey = hg.open(people(500), relation="replace-one", ledger=path)
    options: dict[str, Any] = {"by": {"sex": {"f": "women", "m": "men"}, "old": [0, 1]}, "order": 2, "epsilon": 1.0}
    margins = survey.margins(**options, request_id="office")
    again = survey.margins(**options, request_id="office")
    assert again.replayed and [one.estimate for one in again] == [one.estimate for one in margins]
    with Ledger.open(path) as ledger:
        assert len(list(ledger.entries())) == 1
    for made in (margins, margins.nonnegative(), margins.nonnegative().rounded()):
        record = json.loads(made.to_json())
        assert verify_record(record).holds and verify_record(json.loads(json.dumps(made.kept_record()))).holds
        for change in ("estimate", "low", "standard_error", *(["shown"] if made.shown else [])):
            wrong = json.loads(made.to_json())
            wrong["margins"]["tables"][1][change][0] = 1.0
            assert not verify_record(wrong).holds
    wrong = json.loads(margins.to_json())
    wrong["noisy"][0]["values"][0] = 0.0
    assert not verify_record(wrong).holds
    wider = json.loads(margins.to_json())
    wider["certificate"]["mechanism"]["noise"][0]["width"] //= 2
    assert not verify_record(wider).holds


def test_a_table_is_a_protected_table_with_its_totals(tmp_path: Path) -> None:
    survey = hg.open(people(500), relation="replace-one")
    margins = survey.margins(by=BY, order=2, epsilon=1.0, **COMPLETE).nonnegative().rounded()
    table = margins["region", "sex"]
    assert table.shape.columns == ("sex", "region") and set(table.margins) == {("sex",), ("region",), ()}
    assert float(table.margin()[0].estimate) == 500.0 and table.letters().shape == (6,)
    for suffix in (".csv", ".html", ".xlsx"):
        table.write(tmp_path / f"table{suffix}")
    assert "± " in str(table._publication(errors=True)) or table.to_html().count("<table") == 1
    margins.write(tmp_path / "margins.csv")
    margins.write(tmp_path / "margins.json")
    lines = (tmp_path / "margins.csv").read_text().splitlines()
    assert len(lines) == 1 + len(margins) and lines[0].startswith("sex,region,old,job,columns,estimate,")
    assert verify_record(json.loads((tmp_path / "margins.json").read_text())).holds
    frame = margins.to_frame("pyarrow")
    assert frame.num_rows == len(margins) and set(frame["columns"].to_pylist()) >= {"sex × old", "job", ""}
    assert margins[0].estimate == 500.0 and len(margins[1:3]) == 2 and margins[-1].cell.keys() == {"old", "job"}
    assert "sex × old" in margins.to_markdown() and "tabular" in margins.to_latex()
    assert "noise ±" in str(margins) and "Margins of up to 2 columns" in margins._repr_html_()


def test_the_plan_shows_every_table_before_anything_is_spent() -> None:
    survey = hg.open(people(500), relation="replace-one")
    plan = survey.plan_margins(by=BY, order=2, epsilon=1.0)
    assert plan.epsilon <= 1.0 and plan.price.epsilon == pytest.approx(plan.epsilon, abs=2e-6)
    assert len(plan.expected()) == 11 and str(plan).count("noise ±") == 11
    assert repr(plan).startswith("<Margins planned: 11 tables")
    # Without a category for the rest, and undeclared, a record may be in no table: the total is released too.
    assert plan.expected()[0].privacy_error > 0.0
    assert survey.plan_margins(by=BY, order=2, epsilon=1.0, other=True).expected()[0].privacy_error == 0.0


def test_the_lattice_of_the_sampler_has_the_law_that_is_priced() -> None:
    """Secure draws: noise is normal with the sd of the mechanism; noise 12 % narrower is rejected."""
    survey = hg.open(people(300), relation="add-remove")
    widths = planned(survey).mechanism.table_spread(())[:, 0]
    silent, *draws = many(survey, [SilentNoise(), *(SecureNoise() for _ in range(160))])
    exact = np.array(silent.noisy[0]["values"])
    sample = [(np.array(one.noisy[0]["values"]) - exact) / widths for one in draws]
    numbers = np.concatenate(sample)
    assert stats.kstest(numbers, "norm").pvalue > 1e-6
    assert stats.kstest(numbers / 0.88, "norm").pvalue < 1e-12


def test_all_pairs_of_cells_of_a_small_workload_have_known_noise_covariances() -> None:
    survey = hg.open(people(300), relation="add-remove", target="file")
    by = {"sex": ["f", "m"], "region": ["N", "S", "W"]}
    margins = drawn(survey, SilentNoise(), by=by, order=2)
    cells = [{}, *({"sex": s} for s in by["sex"]), *({"region": r} for r in by["region"])]
    cells += [{"sex": s, "region": r} for s, r in product(*by.values())]
    noise = margins.covariance(*cells).noise
    # The total is the sum of the cells, in the covariances too.
    assert noise[0, 0] == pytest.approx(noise[6:, 6:].sum(), rel=1e-9)
    assert noise[1, 3] == pytest.approx(noise[6:9, :][:, [6, 9]].sum(), rel=1e-9)
    assert np.linalg.eigvalsh(noise).min() > -1e-6 * noise.max()


def paid() -> pa.Table:
    table, rng = people(600), np.random.default_rng(2)
    pay = [None if at % 50 == 0 else float(value) for at, value in enumerate(rng.normal(500.0, 400.0, 600).round(1))]
    return table.append_column("pay", pa.array(pay))


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize(("low", "high", "step"), [(0, 1000, 0.5), (-200, 800, 10), (100, 900, 100)])
def test_totals_of_a_column_are_those_of_its_clamped_values(
    relation: Any, low: float, high: float, step: float
) -> None:
    table = paid()
    survey = hg.open(table, relation=relation, target="file")
    options: dict[str, Any] = {"total": "pay", "bounds": (low, high), "step": step, "order": 2}
    margins = drawn(survey, SilentNoise(), **options)
    whole = np.zeros([len(values) for values in BY.values()])
    for row in table.to_pylist():
        if row["pay"] is not None:
            on_grid = low + step * math.floor((min(max(row["pay"], low), high) - low) / step + 0.5)
            whole[tuple(values.index(row[column]) for column, values in BY.items())] += on_grid
    for columns in margins.tables():
        assert np.allclose(margins.table(*columns).values, summed(whole, columns), atol=1e-6)
    noisy = drawn(survey, SimulatedNoise(1), **options)
    spread = {one.columns: one.privacy_error for one in planned(survey, **options).expected()}
    assert noisy["sex"].cells.privacy_error[0] == pytest.approx(spread["sex",])
    difference = noisy.ask("sum(pay | sex=f) - sum(pay | sex=m)")
    assert abs(difference.estimate - (summed(whole, ("sex",)) @ [1, -1])) < 5 * difference.standard_error
    assert difference.sampling_error == 0.0 and any("without a value of pay" in note for note in noisy.notes)
    made = survey.margins(by=BY, epsilon=1.0, **options)
    assert verify_record(json.loads(made.to_json())).holds
    if low < 0:
        with pytest.raises(ParameterError, match="HG164"):
            made.nonnegative()
    else:
        assert made.nonnegative()["sex", "job"].values.min() >= 0.0
    known = {"sex": summed(whole, ("sex",))}
    assert np.allclose(drawn(survey, SimulatedNoise(1), known=known, **options)["sex"].values, known["sex"])


def test_totals_about_a_population_and_of_a_false_declaration_are_refused() -> None:
    survey = hg.open(paid(), relation="replace-one")
    with pytest.raises(ParameterError, match="HG240"):
        planned(survey, total="pay", bounds=(0, 1000))
    of_file = hg.open(paid(), relation="replace-one", target="file")
    with pytest.raises(ParameterError, match="HG104"):
        planned(of_file, total="pay")
    with pytest.raises(SpentError, match="HG602"):
        of_file.margins(by=BY, total="pay", bounds=(0, 1000), epsilon=1.0, **COMPLETE)
    people = hg.open(paid(), relation="add-remove", target="file", unit={"column": "old", "max_rows": 3})
    units = drawn(
        people, SilentNoise(), total="pay", bounds=(0, 1000), by={"sex": ["f", "m"], "job": ["a", "b"]}, order=2
    )
    assert 0.0 <= float(units.table().values) <= 6000.0  # two units of three rows each


def test_totals_of_groups_of_categories_have_the_errors_of_the_whole_workload() -> None:
    """Truth: the variance in 400 draws; sabotage: cells that are added up as if independent."""
    survey, whole = hg.open(people(500), relation="add-remove", target="file"), crossed(people(500))
    groups = [
        Hierarchy.of("region", "coast", {"inland": ["S"], "sea": ["N", "W"]}),
        Hierarchy.of("job", "kind", {"plain": ["a", "b", "c"], "rare": ["d"]}),
    ]
    numbers, stated, alone = [], np.zeros(0), np.zeros(0)
    for margins in many(survey, map(SimulatedNoise, range(400))):
        table = margins["region", "job"].with_margins(groups)
        cells = table.table.margin(["coast", "kind"])
        numbers.append([*cells.values, *table.table.margin(["coast"]).values])
        stated = np.concatenate([cells.noise_variance, table.table.margin(["coast"]).noise_variance])
        alone = np.array([3.0, 1.0, 6.0, 2.0, 4.0, 8.0]) * table.cells.noise_variance
    truth = summed(whole, ("region", "job"))
    coast = np.array([truth[1], truth[0] + truth[2]])
    exact = [*np.stack([coast[:, :3].sum(axis=1), coast[:, 3]], axis=1).reshape(-1), *coast.sum(axis=1)]
    ratios = ((np.array(numbers) - exact) ** 2).mean(axis=0) / stated
    sd = math.sqrt(2.0 / 400)
    assert (np.abs(ratios - 1.0) < 4.5 * sd).all(), ratios
    assert (np.abs(((np.array(numbers) - exact) ** 2).mean(axis=0) / alone - 1.0) > 4.5 * sd).any()
    made = next(many(survey, [SimulatedNoise(1)]))["region", "job"].with_margins(groups)
    assert made.margin("coast")[0].estimate + made.margin("coast")[1].estimate == pytest.approx(
        made.margin()[0].estimate
    )
    assert "inland" in made.to_html() and "sea" in made.to_csv()
    for wrong in ({"inland": ["S"], "sea": ["N"]}, {"inland": ["S", "N"], "sea": ["N", "W"]}):
        with pytest.raises(ParameterError, match="HG162"):
            made.with_margins([Hierarchy.of("region", "coast", wrong)])
    for wrong_name in (
        Hierarchy.of("sex", "x", {"all": ["f", "m"]}),
        Hierarchy.of("region", "job", {"all": ["N", "S", "W"]}),
    ):
        with pytest.raises(ParameterError, match="HG160"):
            made.with_margins([wrong_name])


GROUPS: dict[str, Any] = {"region": {"coast": {"inland": ["S"], "sea": ["N", "W"]}}}
FACTS = Facts.from_dict(
    {
        "columns": {
            "sex": {"categories": ["f", "m"]},
            "region": {"categories": ["N", "S", "W"], "hierarchies": {"coast": {"inland": ["S"], "sea": ["N", "W"]}}},
        }
    }
)


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_groups_of_categories_add_up_in_every_table_and_have_their_errors(steps: int) -> None:
    margins = drawn(hg.open(people(500), relation="add-remove"), SimulatedNoise(1), hierarchies=GROUPS)
    margins = [margins, margins.nonnegative(), margins.nonnegative().rounded()][steps]
    by_coast = {}
    for columns in margins.tables():
        table = margins.table(*columns)
        if "region" not in columns:
            assert not table.table.hierarchies
            continue
        named = tuple("coast" if column == "region" else column for column in columns)
        group = table.table.margin(named)
        axis, cells = columns.index("region"), table.values
        sums = np.stack([cells.take([1], axis).sum(axis), cells.take([0, 2], axis).sum(axis)], axis)
        assert group.published == pytest.approx(sums.reshape(-1), abs=1e-6)
        by_coast[named] = group
    alone = by_coast["coast",]
    for named, group in by_coast.items():
        axes = tuple(place for place, name in enumerate(named) if name != "coast")
        assert group.published.reshape(group.shape.shape).sum(axis=axes) == pytest.approx(alone.published, abs=1e-6)
    # One of three categories, and two: the noise of a sum of two is larger than that of one, less than of two apart.
    of_one = margins["region"].cells.noise_variance
    assert alone.noise_variance[0] == pytest.approx(of_one, rel=1e-9)
    assert of_one < alone.noise_variance[1] < 2.0 * of_one


def test_groups_are_in_the_files_and_in_a_record_that_verifies() -> None:
    survey = hg.open(people(500), relation="replace-one", facts=FACTS)
    made = survey.margins(by=["region", "sex"], order=2, epsilon=1.0).nonnegative().rounded()
    lines = made.to_csv().splitlines()
    assert lines[0].startswith("region,sex,coast,columns,") and sum(",sea,coast," in line for line in lines) == 1
    assert sum("coast × sex" in line for line in lines) == 4 and "inland" in made["region", "sex"].to_html()
    record = json.loads(made.to_json())
    assert [table["by"] for table in record["margins"]["tables"]][2:4] == [["coast"], ["sex"]]
    assert verify_record(record).holds and verify_record(json.loads(json.dumps(made.kept_record()))).holds
    for change in ("estimate", "noise_sd", "high"):
        wrong = json.loads(made.to_json())
        wrong["margins"]["tables"][2][change][1] += 1.0
        assert not verify_record(wrong).holds
    other = json.loads(made.to_json())
    other["request"]["margins"]["hierarchies"][0]["groups"] = [["inland", ["N"]], ["sea", ["S", "W"]]]
    assert not verify_record(other).holds
    # What the call says comes before the facts.
    named = survey.margins(by=["region", "sex"], order=2, epsilon=1.0, hierarchies={"region": {}})
    assert not named.hierarchies
