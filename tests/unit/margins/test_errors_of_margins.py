"""Errors of margins: intervals cover, covariances are those of draws, totals and groups have theirs."""

from __future__ import annotations

import json
import math
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from tests.unit.margins.drawn_margins import BY, COMPLETE, crossed, drawn, many, people, planned, summed

import hedgerow as hg
from hedgerow.audit.replay import SilentNoise
from hedgerow.errors import ParameterError, SpentError
from hedgerow.noise.secure import SecureNoise
from hedgerow.release.cells.shape import Hierarchy
from hedgerow.reports.verify.verification import verify_record
from hedgerow.tables.two_way import percentage_cells
from hedgerow.testing.simulated import SimulatedNoise


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
        planned(survey, total="pay", bounds=(-1, 1000))
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


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("kind", ["total", "units", "total of units"])
def test_intervals_of_totals_and_of_units_cover_the_population(relation: Any, kind: str) -> None:
    """40 samples of a population: 95 % intervals, and those of differences, cover; the noise alone covers far less.

    Sampling errors are upper bounds, so that intervals may cover more than their level.
    """
    rng, units, hits, alone, total = np.random.default_rng(5), 800, np.zeros(3), 0, 0
    most = 1 if kind == "total" else 3
    by: dict[str, Any] = {"a": [0, 1], "b": [0, 1, 2]}
    options: dict[str, Any] = {
        "by": by,
        "order": 2,
        "epsilon": 3.0,
        "hierarchies": {"b": {"half": {"low": [0], "high": [1, 2]}}},
    }
    if kind != "units":
        options |= {"total": "y", "bounds": (0, 10), "step": 1}
    truth = np.zeros((2, 3))
    for seed in range(40):
        a, b = rng.choice(2, units, p=[0.3, 0.7]), rng.choice(3, units, p=[0.5, 0.3, 0.2])
        # A unit has one or all of its rows, and most of these in one cell.
        rows = np.repeat(np.arange(units), rng.choice([1, most], units))
        b = np.where(rng.random(len(rows)) < 0.8, b[rows], rng.choice(3, len(rows)))
        y = rng.choice([0, 2, 9], len(rows), p=[0.3, 0.6, 0.1])
        table = pa.table({"id": rows, "a": a[rows], "b": b, "y": y})
        unit = "row" if most == 1 else {"column": "id", "max_rows": most}
        margins = drawn(hg.open(table, relation=relation, unit=unit), SimulatedNoise(seed), **options)
        if seed == 0:
            # What is expected of a unit: rows·P(cell)·E y.
            chance = 0.8 * np.array([0.5, 0.3, 0.2]) + 0.2 / 3.0
            truth = np.outer([0.3, 0.7], chance) * units * (1 + most) / 2 * (1.0 if kind == "units" else 2.1)
            assert any("Sampling errors are upper bounds" in note for note in margins.notes)
        for columns, cells in margins.every_level():
            expected = truth if columns and columns[-1] in ("b", "half") else truth.sum(axis=1)
            expected = expected if "a" in columns else expected.sum(axis=0)
            if columns and columns[-1] == "half":
                expected = np.stack([expected[..., 0], expected[..., 1:].sum(axis=-1)], axis=-1)
            flat, read = np.ravel(expected), cells.columns(0.95)
            hits[0] += ((read.low <= flat) & (flat <= read.high)).sum()
            alone += (np.abs(cells.values - flat) <= 1.96 * cells.privacy_error).sum()
            total += flat.size
        one, other, whole = margins.estimates({"a": 0}, {"a": 1, "b": 1}, {"a": 1})
        low, high = (one - other).confidence_interval(0.95)
        hits[1] += low <= truth[0].sum() - truth[1, 1] <= high
        low, high = (other / whole).confidence_interval(0.95)
        hits[2] += low <= truth[1, 1] / truth[1].sum() <= high
    assert hits[0] / total > 0.94 and min(hits[1:]) / 40 >= 0.9
    assert alone / total < 0.9


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_percentages_and_independence_have_the_noise_of_the_workload(relation: Any) -> None:
    """Truth: the noise variance of a percentage in 300 draws; sabotage: cells and totals with independent noise."""
    survey, seen, stated, apart = hg.open(people(2000), relation=relation, target="file"), [], 0.0, 0.0
    for margins in many(survey, map(SimulatedNoise, range(300)), order=2, **COMPLETE):
        table = margins["sex", "job"]
        shares = table.percentages("sex").cells
        seen.append(shares.values)
        stated, apart = shares.privacy_error**2, percentage_cells(table.cells, ("sex",), None).privacy_error ** 2
    ratio = np.var(seen, axis=0)[[0, 1, 4, 5]] / stated[[0, 1, 4, 5]]
    assert abs(ratio.mean() - 1.0) < 0.13, ratio
    assert abs((np.var(seen, axis=0) / apart)[[0, 4]].mean() - 1.0) > 0.15
    # Draws of the noise for the test of independence have the covariance of the cells.
    noise = table._cell_noise(("job", "sex"))
    drawn_noise = noise.draw((4000, 4, 2), np.random.default_rng(1))
    cells = [{"job": job, "sex": sex} for job in BY["job"] for sex in BY["sex"]]
    exact = margins.covariance(*cells).noise
    observed = np.cov(drawn_noise.reshape(4000, 8).T)
    assert np.abs(observed - exact).max() < 6.0 * exact.max() / math.sqrt(4000)
    assert noise.total == pytest.approx(exact[0, 0])


def test_the_test_of_independence_has_its_level_on_margins() -> None:
    """200 draws of two columns that are independent: p below .1 in a tenth; of two that are not, nearly always."""
    rng, below = np.random.default_rng(3), 0
    for seed in range(60):
        table = pa.table({"a": rng.choice(2, 1500), "b": rng.choice(3, 1500), "c": rng.choice(2, 1500)})
        by = {"a": [0, 1], "b": [0, 1, 2], "c": [0, 1]}
        margins = drawn(hg.open(table, relation="add-remove"), SimulatedNoise(seed), by=by, order=2)
        below += margins["a", "b"].independence(n_resamples=199).pvalue < 0.1
    assert 1 <= below <= 14
    table = people(3000)
    margins = drawn(hg.open(table, relation="add-remove"), SimulatedNoise(1), order=2)
    assert margins["sex", "old"].independence(n_resamples=199).pvalue < 0.01
