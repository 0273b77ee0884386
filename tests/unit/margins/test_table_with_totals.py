"""A table of counts with margins buys its totals with its cells where both forecasts say that this is better."""

from __future__ import annotations

import copy
import json
import math
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.errors import HedgerowError, VerificationError
from hedgerow.facts.budget import Budget
from hedgerow.facts.declared import Protection
from hedgerow.facts.relation import Relation
from hedgerow.ledger.store import Ledger
from hedgerow.margins.margin_table import MarginTable
from hedgerow.margins.table_with_totals import PlannedTable, any_table_from_record
from hedgerow.mechanisms.mechanism import parts_of
from hedgerow.mechanisms.residual_margins import ResidualMargins
from hedgerow.release.cells.shape import Hierarchy
from hedgerow.release.execute import certificate_of, draw_tables, read_histograms
from hedgerow.release.spend import OpenedSource
from hedgerow.reports.verify.verification import verify_record
from hedgerow.statistics.mean import count
from hedgerow.tables.release_table import TableProduct
from hedgerow.tables.table_options import choose
from hedgerow.testing.simulated import SimulatedNoise

SIZES = {"a": 12, "b": 9}
BY = {name: list(range(size)) for name, size in SIZES.items()}
RELATIONS = ("replace-one", "add-remove")


def people(sizes: Any = None, records: int = 600) -> pa.Table:
    rng = np.random.default_rng(1)
    columns = {name: rng.integers(0, size, records) for name, size in (sizes or SIZES).items()}
    return pa.table(columns | {"u": np.arange(records) // 2, "w": np.ones(records)})


def survey(relation: Any = "replace-one", **options: Any) -> hg.Survey:
    return hg.open(people(), relation=relation, **options)


def ways(opened: hg.Survey, **options: Any) -> tuple[Any, Any]:
    """Return the table that is released, and the one whose totals are sums of its cells, at the same price."""
    return opened.contingency_table(margins=True, **options), opened.contingency_table(**options).with_margins()


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("options", [{}, {"other": True}, {"noise": "gaussian"}, {"where": "a > 2"}])
def test_no_number_loses_and_a_total_gains(relation: Any, options: Any) -> None:
    better, own = ways(survey(relation), by=BY, mu=0.4, **options)
    assert better.option == "margins" and own.option == "whole-table"
    assert better.certificate.epsilon == pytest.approx(own.certificate.epsilon, rel=0.01)
    gains = [own[0].privacy_error / better[0].privacy_error]
    for columns in (("a",), ("b",), ()):
        before, after = own.margin(*columns)[0].privacy_error, better.margin(*columns)[0].privacy_error
        gains += [before / after] if before > 0.0 else []
        assert (after > 0.0) == (before > 0.0)
    assert min(gains) >= 1.0 / 1.05 and max(gains) >= 1.25
    assert f"± {better[0].privacy_error:.3g} in place of ± {own[0].privacy_error:.3g} a cell" in better.reason


def test_what_gains_nothing_stays_as_it_is() -> None:
    few = {"a": [0], "b": [0]}
    asked: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, {"by": BY, "epsilon": 1.0, "delta": 1e-6}),  # Laplace noise is less than half as wide
        ({}, {"by": BY, "epsilon": 1.0, "delta": 0}),
        ({}, {"by": BY, "mu": 0.4, "margins": False}),
        ({}, {"by": {"a": BY["a"]}, "mu": 0.4}),
        ({}, {"by": few, "mu": 0.4, "other": True}),  # few cells, and their total is public
        ({}, {"by": BY, "epsilon": 8.0, "noise": "laplace"}),
        ({}, {"by": BY, "mu": 0.4, "missing": "error-if-declared-complete"}),
        ({}, {"by": BY, "mu": 0.4, "weights": ("w", 2)}),
        ({"unit": {"column": "u", "max_rows": 2}}, {"by": BY, "mu": 0.4}),
    ]
    for opened, options in asked:
        table = survey(**opened).contingency_table(**{"margins": True, **options})
        assert not isinstance(table, MarginTable), options


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("other", [False, True])
def test_the_price_is_that_of_the_farthest_records_by_brute_force(relation: Any, other: bool) -> None:
    """Every pair of records, by the exact vectors; sabotage: the distance of records that differ in one column."""
    sizes = {"a": 2, "b": 6, "c": 3}
    opened = hg.open(people(sizes), relation=relation)
    by = {name: list(range(size - other)) for name, size in sizes.items()}
    table = opened.contingency_table(by=by, other=other, mu=0.5, margins=True)
    (mechanism,) = parts_of(table.certificate.mechanism)  # type: ignore[union-attr]  # a table under dp has one
    assert isinstance(table, MarginTable) and isinstance(mechanism, ResidualMargins)
    widths = mechanism.table_spread(())[:, 0]
    cells = list(product(*map(range, mechanism.sizes)))
    vectors = [
        np.concatenate([*mechanism.exact([np.array([level]) for level in cell], np.ones(1, dtype=np.int64))]) / widths
        for cell in cells
    ]
    farthest = max(float(vector @ vector) for vector in vectors)
    near = 0.0
    if relation == "replace-one":
        pairs = {(i, j): float(((vectors[i] - vectors[j]) ** 2).sum()) for i, j in combinations(range(len(cells)), 2)}
        farthest = max(pairs.values()) if other else max(farthest, *pairs.values())
        near = max(square for (i, j), square in pairs.items() if cells[i][1:] == cells[j][1:])
        assert near < 0.99 * farthest
    stated = mechanism.mu(Relation(relation))
    assert stated == pytest.approx(math.sqrt(farthest), rel=1e-9) and stated <= 0.5


@pytest.mark.parametrize("relation", RELATIONS)
def test_all_tables_agree_as_drawn_and_as_shown(relation: Any) -> None:
    table = survey(relation).contingency_table(by=BY, mu=0.4, margins=True)
    for shown, most in ((table, 1e-9), (table.nonnegative(), 1e-9), (table.nonnegative().rounded(), 0.0)):
        cells = shown.values
        for columns, axes in ((("a",), (1,)), (("b",), (0,)), ((), (0, 1))):
            totals = shown.table.margin(columns).published
            assert np.abs(cells.sum(axis=axes).reshape(-1) - totals).max() <= most * max(1.0, np.abs(totals).max())
        if shown is not table:
            assert cells.min() >= 0.0
    whole = survey().contingency_table(by=BY, other=True, mu=0.4, margins=True)
    assert whole.margin()[0].estimate == 600 and whole.margin()[0].privacy_error == 0.0


def test_a_record_is_read_again_and_an_edit_is_refused() -> None:
    coast = Hierarchy.of("b", "half", {"low": [0, 1, 2, 3], "high": [4, 5, 6, 7, 8]})
    table = survey().contingency_table(by=BY, mu=0.4, margins=True)
    for shown in (table, table.with_margins([coast]), table.reading(percentages="row", independence=True)):
        record = json.loads(shown.to_json())
        assert verify_record(record).holds
        assert any_table_from_record(record).to_json() == shown.to_json()
    for path in (("estimates", 3, "privacy_error"), ("noisy", 0, "values", 5), ("estimates", 3, "estimate")):
        edited = copy.deepcopy(record)
        holder: Any = edited
        for part in path[:-1]:
            holder = holder[part]
        holder[path[-1]] = 1.5 * holder[path[-1]] + 1.0
        assert not verify_record(edited).holds, path
    for wrong in ({**record, "noisy": []}, {**record, "workload": {}, "request": {}}):
        with pytest.raises(VerificationError, match="HG502"):
            any_table_from_record(wrong)


def test_a_table_of_an_earlier_version_is_read_and_answered_as_it_was(tmp_path: Path) -> None:
    """The cells alone were released, by the same request; and the other way round."""
    for first, second in ((False, True), (True, False)):
        path = tmp_path / f"{first}.ledger"
        Ledger.create(path, dataset="people", budget=Budget(2.0, 1e-6), relation="replace-one", unit="row").close()
        opened = survey(ledger=path)
        made = opened.contingency_table(by=BY, mu=0.3, request_id="q", margins=first)
        spent = opened.budget
        again = opened.contingency_table(by=BY, mu=0.3, request_id="q", margins=second)
        assert isinstance(made, MarginTable) is isinstance(again, MarginTable) is first
        assert again.replayed and opened.budget == spent and len(again.margin("a")) == SIZES["a"]
        assert again.cells.values.tolist() == made.cells.values.tolist()
        assert again.certificate.epsilon == made.certificate.epsilon  # type: ignore[union-attr]  # tables under dp
        assert verify_record(json.loads(again.to_json())).holds
        with pytest.raises(HedgerowError, match="HG311"):
            opened.contingency_table(by=BY, mu=0.31, request_id="q", margins=second)
        with Ledger.open(path) as ledger:
            (entry,) = ledger.entries()
            assert entry.result is not None and verify_record(json.loads(entry.result)).holds


def test_the_command_writes_a_folder_that_verifies(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(people(), tmp_path / "people.csv")
    columns = [part for name, labels in BY.items() for part in ("--by", f"{name}={','.join(map(str, labels))}")]
    source = [str(tmp_path / "people.csv"), "--relation", "replace-one", "--mu", "0.4", *columns]
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["table", *source, "--count", "--margins", "--out", str(out)])
    assert done.exit_code == 0 and "totals are released with the cells" in (out / "table.json").read_text()
    for name in ("table.json", "table.html"):
        assert CliRunner().invoke(app, ["verify", str(out / name)]).exit_code == 0
    asked = CliRunner().invoke(app, ["ask", str(out / "table.json"), "--percent", "row"])
    assert asked.exit_code == 0, asked.output


@pytest.mark.parametrize("relation", RELATIONS)
def test_intervals_of_small_cells_and_totals_cover(relation: Any) -> None:
    """300 draws, cells of 0 to 5 records: the noise covers .95, cut intervals no less; sabotage: .8 of the noise."""
    rng, runs = np.random.default_rng(4), 300
    counts = rng.choice([0, 0, 0, 1, 2, 5], (8, 7))
    a, b = (np.repeat(axis.reshape(-1), counts.reshape(-1)) for axis in np.indices(counts.shape))
    opened = hg.open(pa.table({"a": a, "b": b}), relation=relation, target="file")
    planned = _planned(opened, {"a": list(range(8)), "b": list(range(7))}, mu=0.5)
    assert planned.totals is not None
    plan = planned.totals.plan
    with planned.reading() as source:
        answers = read_histograms(plan, source)
    noise, hits, tried = SimulatedNoise(11), np.zeros(3), 0
    truths = {(0, 1): counts, (0,): counts.sum(axis=1), (1,): counts.sum(axis=0)}
    for _ in range(runs):
        (drawn,) = draw_tables(plan, answers, noise)
        assert drawn is not None
        made = planned.totals.tables(drawn, None, source="simulated")
        for columns, exact in truths.items():
            read, truth = made.cells(columns).columns(0.95), exact.reshape(-1)
            away = np.abs(made.cells(columns).values - truth) / read.privacy_error
            hits += (away <= 1.96).sum(), ((read.low <= truth) & (truth <= read.high)).sum(), (away <= 0.8 * 1.96).sum()
            tried += truth.size
    plain, cut, narrow = hits / tried
    assert abs(plain - 0.95) < 0.01 and cut >= plain - 1e-3 and narrow < 0.90


def _planned(opened: hg.Survey, by: Any, **options: Any) -> PlannedTable:
    source: OpenedSource = opened._opened()
    protection: Protection = source.protection
    choice = choose(count(), protection, None, n=source.n, by=by, **options)
    own = TableProduct(choice, certificate_of(choice.plan), source)
    return PlannedTable.planned(own, margins=True, options=options)
