"""Totals whose bounds differ from cell to cell: exact clamping, noise and errors of each cell's own, one price."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.errors import HedgerowError
from hedgerow.facts.budget import Budget
from hedgerow.facts.declared import ColumnFacts, Facts, Protection
from hedgerow.facts.relation import Relation, Target
from hedgerow.ledger.store import Ledger
from hedgerow.mechanisms.bounded_totals import CellTotals
from hedgerow.release.execute import draw_tables, read_histograms
from hedgerow.release.publication.folder import TABLE_FILES
from hedgerow.reports.verify.verification import verify_record
from hedgerow.tables.release_table import read_table
from hedgerow.tables.table_options import TableChoice, choose_by_cell
from hedgerow.testing.simulated import SimulatedNoise

N = 600
_RNG = np.random.default_rng(11)
STATUS, KINDS = ["owner", "share", "mixed"], ["trad", "high", "mixed"]
FARMS = pa.table(
    {
        # Below, within and far above every bound, a tenth of them missing.
        "output": np.where(_RNG.random(N) < 0.1, np.nan, _RNG.gamma(1.0, 900.0, N).round(1) - 50.0),
        "status": _RNG.choice(STATUS, N),
        "kind": _RNG.choice(KINDS, N),
    }
)
BY: dict[str, list[Any]] = {"status": STATUS, "kind": KINDS}
OUTPUT: dict[str, Any] = {"bounds": (0, 2000), "step": 1}
BY_STATUS: dict[Any, Any] = {"status": {"share": (100, 250), "mixed": (0, 400)}}
LIMITS = {"owner": (0, 2000), "share": (100, 250), "mixed": (0, 400)}


def survey(relation: str = "replace-one", **options: Any) -> hg.Survey:
    return hg.open(FARMS, relation=relation, **options)


def chosen(relation: str = "replace-one", target: str = "population", **options: Any) -> TableChoice:
    told = Protection(Relation(relation), "row", Target(target), ())
    given = {"by": BY, "epsilon": 1.0, "cell_bounds": BY_STATUS} | options
    return choose_by_cell(hg.sum("output", **OUTPUT), told, None, n=N if relation == "replace-one" else None, **given)


class _Silent(SimulatedNoise):
    def two_sided_geometric(self, scale: float, size: int) -> np.ndarray:
        return np.zeros(size, dtype=np.int64)

    def discrete_gaussian(self, width: float, size: int) -> np.ndarray:
        return np.zeros(size, dtype=np.int64)


def silent(choice: TableChoice) -> np.ndarray:
    (drawn,) = draw_tables(choice.plan, read_histograms(choice.plan, survey().source), _Silent())
    assert drawn is not None
    return read_table(choice, drawn, None, source="exact").cells.values


def clamped() -> list[float]:
    frame = FARMS.to_pandas().dropna()
    grid = np.floor(frame.output + 0.5)
    return [
        float(grid[(frame.status == status) & (frame.kind == kind)].clip(*LIMITS[status]).sum())
        for status in STATUS
        for kind in KINDS
    ]


@pytest.mark.parametrize("method", ["per-cell", "whole-table"])
@pytest.mark.parametrize("noise", ["geometric", "gaussian"])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_values_are_clamped_to_the_bounds_of_their_cell_exactly(method: str, noise: str, relation: str) -> None:
    choice = chosen(relation, sensitivity=method, noise=noise)
    assert choice.option == method and "asked for" in choice.reason
    assert silent(choice).tolist() == clamped()
    # Totals of the same bounds everywhere are others: the test has power.
    assert silent(chosen(cell_bounds={"status": {"share": (0, 2000)}})).tolist() != clamped()


def test_each_cell_has_an_error_of_its_own_and_totals_add_them_up() -> None:
    table = survey(target="file").magnitude_table(
        "output", **OUTPUT, by=BY, cell_bounds=BY_STATUS, epsilon=1.0, delta=0, margins=True
    )
    assert table.option == "per-cell" and table.method == "geometric"
    # Laplace noise of scale 2·H/ε, whose sd is √2 times that; the grid costs a thousandth of it.
    expected = [2 * math.sqrt(2) * LIMITS[status][1] for status in STATUS for _ in KINDS]
    errors = [cell.privacy_error for cell in table]
    assert errors == pytest.approx(expected, rel=2e-3) and [cell.sampling_error for cell in table] == [0.0] * 9
    assert table.cells.standard_error == pytest.approx(errors)
    rows = [total.privacy_error for total in table.margin("status")]
    assert rows == pytest.approx([math.sqrt(3) * errors[3 * place] for place in range(3)])
    (total,) = table.margin()
    assert total.privacy_error == pytest.approx(math.sqrt(sum(error**2 for error in errors)))
    whole = survey(target="file").magnitude_table("output", **OUTPUT, by=BY, epsilon=1.0, delta=0)
    assert whole[0].privacy_error == pytest.approx(errors[0], rel=2e-3) and whole[3].privacy_error > 7 * errors[3]
    # An interval is as wide as its own cell's noise.
    low, high = table.interval(0.95)
    assert (high - low)[3] < (high - low)[0] / 7 and len(set(table.letters().ravel())) >= 1


def test_it_is_printed_written_and_read_back_as_any_table(tmp_path: Path) -> None:
    opened = survey()
    table = opened.magnitude_table("output", **OUTPUT, by=BY, cell_bounds=BY_STATUS, epsilon=1.0, margins=True)
    assert "[100, 250] in share/trad, share/high, share/mixed" in str(table)
    assert "clamped to the bounds of its cell" in table[0].covers
    record = table.to_dict(0.9)
    assert record["table"]["option"] == "per-cell" and verify_record(record).holds
    assert record["certificate"]["mechanism"]["type"] == "cell-totals"
    assert json.loads(table.to_json(level=0.9)) == json.loads(json.dumps(record))
    forged = json.loads(json.dumps(record))
    forged["certificate"]["mechanism"]["kinds"][1]["high"] = 2000
    assert not verify_record(forged).holds
    table.to_csv(tmp_path / "t.csv")
    table.to_html(tmp_path / "t.html")
    assert (tmp_path / "t.html").stat().st_size > 1000 and (tmp_path / "t.csv").read_text().count("\n") >= 17
    assert table.nonnegative().rounded()[0].confidence_interval() == table[0].confidence_interval()
    assert len(table.to_frame("pandas")) == 9


def test_a_ledger_answers_the_same_request_and_tells_other_bounds_apart(tmp_path: Path) -> None:
    path = tmp_path / "farms.ledger"
    Ledger.create(path, dataset="farms", budget=Budget(1.0, 1e-6), relation="replace-one", unit="row").close()
    opened = survey(ledger=path)
    given: dict[str, Any] = {**OUTPUT, "by": BY, "epsilon": 0.4, "request_id": "q", "margins": True}
    first = opened.magnitude_table("output", cell_bounds=BY_STATUS, **given)
    again = opened.magnitude_table("output", cell_bounds=BY_STATUS, **given)
    assert again.to_json() == first.to_json() and again.ledger_head == first.ledger_head
    with pytest.raises(HedgerowError, match="HG311"):
        opened.magnitude_table("output", cell_bounds={"status": {"share": (0, 250), "mixed": (0, 400)}}, **given)
    with pytest.raises(HedgerowError, match="HG310"):
        opened.magnitude_table("output", **{**given, "request_id": None, "epsilon": 0.9}, cell_bounds=BY_STATUS)
    with Ledger.open(path) as ledger:
        (entry,) = ledger.entries()
        assert entry.result is not None and verify_record(json.loads(entry.result)).holds


def test_auto_takes_the_least_total_error_of_both_options_and_both_noises() -> None:
    nine = chosen()
    assert nine.option == "per-cell"
    assert "one noise for all cells would be" in nine.reason and "discrete Gaussian noise would be" in nine.reason
    # Two cells: (a + b)² each is never more than 4a² + 4b² in all, so one noise for both is the better one.
    two = chosen(by={"status": ["owner", "share"]}, cell_bounds={"share": (100, 250)})
    assert two.option == "whole-table" and two.plan.mechanism.type == "cell-totals"
    wide = chosen(epsilon=0.05, delta=0.2)
    assert isinstance(wide.plan.mechanism, CellTotals) and wide.plan.mechanism.law == "gaussian"
    assert chosen(delta=0).plan.mechanism == chosen(noise="geometric").plan.mechanism
    for choice in (nine, two, wide):
        assert choice.plan.epsilon <= choice.plan.request.budget.epsilon


def test_whole_table_noise_is_for_the_two_largest_reaches_not_twice_the_largest() -> None:
    choice = chosen(target="file", by={"status": ["owner", "share"]}, cell_bounds={"share": (100, 250)}, delta=0)
    assert isinstance(choice.plan.mechanism, CellTotals)
    scales = {kind.total.in_units for kind in choice.plan.mechanism.kinds}
    assert len(scales) == 1 and scales.pop() == pytest.approx(2250.0, rel=2e-3)


@pytest.mark.parametrize(
    ("cell_bounds", "by", "expected"),
    [
        ({("share", "trad"): (0, 400)}, BY, {3: (0, 400)}),
        ({"share": (0, 400)}, {"status": STATUS}, {1: (0, 400)}),
        ({("share",): (0, 400)}, {"status": STATUS}, {1: (0, 400)}),
        ({"kind": {"mixed": (-5, 5)}}, BY, {2: (-5, 5), 5: (-5, 5), 8: (-5, 5)}),
        ({1: (0, 3), "other": (0, 2)}, {"status": [0, 1]}, {1: (0, 3), 2: (0, 2)}),
    ],
)
def test_bounds_are_named_by_cell_or_by_category(cell_bounds: Any, by: Any, expected: dict[int, Any]) -> None:
    told = Protection(Relation.REPLACE_ONE, "row", Target.FILE, ())
    asked = hg.sum("output", bounds=(-500, 2000), step=1)
    other = "other" in cell_bounds
    choice = choose_by_cell(asked, told, None, n=N, cell_bounds=cell_bounds, by=by, other=other, epsilon=1.0)
    mechanism = choice.plan.mechanism
    assert isinstance(mechanism, CellTotals)
    found = [(mechanism.kinds[kind].low, mechanism.kinds[kind].high) for kind in mechanism.kind_of]
    assert found == [expected.get(place, (-500, 2000)) for place in range(len(found))]


def test_bounds_of_the_facts_are_the_frame() -> None:
    facts = Facts(columns={"output": ColumnFacts(bounds=(0, 2000), step=10, source="survey design")})
    opened = hg.open(FARMS, facts, relation="replace-one")
    table = opened.magnitude_table("output", by={"status": STATUS}, cell_bounds={"share": (100, 250)}, epsilon=1.0)
    assert table.certificate is not None and "[100, 250] in share" in " ".join(table.remarks)
    with pytest.raises(HedgerowError, match="HG152"):
        opened.magnitude_table("output", by={"status": STATUS}, cell_bounds={"share": (100, 255)}, epsilon=1.0)


@pytest.mark.parametrize(
    ("code", "options"),
    [
        ("HG152", {"cell_bounds": {}}),
        ("HG152", {"cell_bounds": [(0, 1)]}),
        ("HG152", {"cell_bounds": {"share": (0, 9)}}),
        ("HG152", {"cell_bounds": {("share", "trad", "x"): (0, 9)}}),
        ("HG152", {"cell_bounds": {("trad", "share"): (0, 9)}}),
        ("HG152", {"cell_bounds": {"status": {"trad": (0, 9)}}}),
        ("HG152", {"cell_bounds": {"region": {"trad": (0, 9)}}}),
        ("HG152", {"cell_bounds": {"status": {"share": (0, 9)}, "kind": {"trad": (0, 9)}}}),
        ("HG152", {"cell_bounds": {"status": {"share": (0, 9)}, ("owner", "trad"): (0, 9)}}),
        ("HG152", {"cell_bounds": {"status": {"share": (0, 3000)}}}),
        ("HG152", {"cell_bounds": {"status": {"share": (-1, 30)}}}),
        ("HG152", {"cell_bounds": {"status": {"share": (0, 30.5)}}}),
        ("HG152", {"cell_bounds": {"share": (0, 9), ("share",): (0, 8)}, "by": {"status": STATUS}}),
        ("HG105", {"cell_bounds": {"status": {"share": (9, 0)}}}),
        ("HG104", {"cell_bounds": {"status": {"share": None}}}),
        ("HG104", {"bounds": None}),
        ("HG107", {"by": {"status": list(range(200)), "kind": list(range(200))}, "cell_bounds": {(1, 1): (0, 9)}}),
        ("HG117", {"delta": 0, "noise": "gaussian"}),
        ("HG150", {"by": {}}),
        ("HG151", {"sensitivity": "best"}),
        ("HG155", {"sensitivity": "public-membership"}),
        ("HG155", {"noise": "averaged-laplace"}),
        ("HG155", {"missing": "midpoint"}),
        ("HG155", {"unit": ("kind", 2)}),
        ("HG155", {"guarantee": "bootstrap-dp"}),
        ("HG155", {"count": True}),
        ("HG411", {"cell_bounds": None, "sensitivity": "per-cell"}),
    ],
)
def test_what_does_not_fit_is_refused_before_data_are_read(code: str, options: dict[str, Any]) -> None:
    opened = survey(unit=options.pop("unit", None))
    given = {**OUTPUT, "by": BY, "cell_bounds": BY_STATUS, "epsilon": 1.0} | options
    with pytest.raises(HedgerowError) as refused:
        if given.pop("count", False):
            opened.contingency_table(by=BY, cell_bounds=BY_STATUS, epsilon=1.0)
        else:
            opened.magnitude_table("output", **given)
    assert refused.value.code == code


@pytest.mark.parametrize("noise", ["geometric", "gaussian"])
def test_the_accuracy_holds_for_the_widest_cell_as_often_as_it_says(noise: str) -> None:
    """1 − γ = .9 over all nine cells at once, 600 draws; 60 % of the half-width is far too small."""
    given: dict[str, Any] = {"by": BY, "cell_bounds": BY_STATUS, "epsilon": 1.0, "noise": noise}
    half = survey(target="file").magnitude_table("output", **OUTPUT, **given).accuracy(0.1)
    choice = chosen(target="file", noise=noise)
    histograms, source, truth = read_histograms(choice.plan, survey().source), SimulatedNoise(3), np.array(clamped())
    errors = []
    for _ in range(600):
        (drawn,) = draw_tables(choice.plan, histograms, source)
        assert drawn is not None
        errors.append(np.abs(read_table(choice, drawn, None, source="simulated").cells.values - truth).max())
    assert np.mean(np.array(errors) <= half) >= 0.87
    assert np.mean(np.array(errors) <= 0.6 * half) < 0.8


def test_ten_thousand_cells_of_two_kinds_are_drawn_and_no_more() -> None:
    rows = pa.table({"output": np.ones(50), "a": np.arange(50), "b": np.arange(50)})
    by = {"a": list(range(100)), "b": list(range(100))}
    table = hg.open(rows, relation="add-remove").magnitude_table(
        "output", **OUTPUT, by=by, cell_bounds={"a": {7: (0, 5)}}, epsilon=1.0
    )
    assert len(table) == 10_000 and table.at(a=7, b=0).privacy_error < table.at(a=8, b=0).privacy_error / 300


@pytest.fixture
def farms(tmp_path: Path) -> Path:
    path = tmp_path / "farms.csv"
    FARMS.to_pandas().to_csv(path, index=False)
    return path


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_command_takes_bounds_by_category_and_by_cell(farms: Path, tmp_path: Path) -> None:
    ask = ["table", farms, "--relation", "replace-one", "--epsilon", "1", "--total", "output:0:2000:1"]
    by = ["--by", "status=owner,share,mixed", "--by", "kind=trad,high,mixed"]
    bounds = ["--cell-bounds", "status=share:100:250", "--cell-bounds", "status=mixed:0:400"]
    result = run(*ask, *by, *bounds, "--out", tmp_path / "out", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    record = json.loads(result.stdout)
    assert [(kind["low"], kind["high"]) for kind in record["certificate"]["mechanism"]["kinds"]] == list(
        LIMITS.values()
    )
    assert len({entry["privacy_error"] for entry in record["estimates"]}) == 3
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(TABLE_FILES)
    assert run("verify", tmp_path / "out" / "table.json").exit_code == 0
    one = run(*ask, *by, "--cell-bounds", "share,trad:0:400", "--json")
    assert json.loads(one.stdout)["certificate"]["mechanism"]["kind_of"] == [0, 0, 0, 1, 0, 0, 0, 0, 0]
    assert "[0, 400] in share/trad" in run(*ask, *by, "--cell-bounds", "share,trad:0:400").stdout
    for code, wrong in (
        ("HG116", ["share,trad"]),
        ("HG116", ["share,trad:0"]),
        ("HG116", [":0:1"]),
        ("HG116", ["status=:0:1"]),
        ("HG152", ["share:0:400"]),
        ("HG152", ["share,trad:0:400", "share,trad:0:300"]),
        ("HG152", ["status=share:0:400", "share,trad:0:300"]),
    ):
        refused = run(*ask, *by, *(part for text in wrong for part in ("--cell-bounds", text)))
        assert (refused.exit_code, refused.stdout) == (2, "") and refused.stderr.startswith(code)
