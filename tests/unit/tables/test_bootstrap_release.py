"""bootstrap-dp tables: asked for by name, as wide as they must be, and silent about their noise in all that leaves."""

import copy
import json
import pickle
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pyarrow
import pytest

import hedgerow as hg
from hedgerow.errors import ForbiddenError, HedgerowError, LedgerError, ParameterError, SpentError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.declared import Facts
from hedgerow.ledger.store import Ledger
from hedgerow.mechanisms.laws import geometric_half_width
from hedgerow.release import spend
from hedgerow.release.bootstrap_dp.bootstrap_numbers import draw, least_scale
from hedgerow.release.spend import OpenedSource
from hedgerow.tables.bootstrap_table import CellExtremes, bootstrap_table, choose_option, count_widths, total_widths
from hedgerow.testing.simulated import SimulatedNoise

BY = {"region": ["north", "south"], "kind": ["a", "b"]}
# Extremes that occur nowhere else, so that a leaked one would be found as text.
OUTPUT = [7_919.0, 104.0, 7_919.0, 211.0, 6_133.0, 211.0, 104.0, 104.0]
REGION = ["north", "north", "north", "south", "south", "south", "south", "north"]
KIND = ["a", "b", "a", "a", "b", "b", "a", "b"]


def survey(ledger: Path | None = None, **columns: list) -> hg.Survey:
    frame = {"output": OUTPUT, "region": REGION, "kind": KIND} | columns
    return hg.open(pyarrow.table(frame), relation="replace-one", ledger=ledger)


def totals(opened: hg.Survey, **options: object):
    asked = {"bounds": (0, 20_000), "step": 1, "by": BY, "epsilon": 1.0, "guarantee": "bootstrap-dp"} | options
    return opened.magnitude_table("output", **asked)


class NoNoise(SimulatedNoise):
    def two_sided_geometric(self, scale: float, size: int) -> np.ndarray:
        return np.zeros(size, dtype=np.int64)


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spend, "SecureNoise", NoNoise)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize(
    ("option", "widths"),
    [
        ("whole-table", [14052.0] * 4),  # 7919 + 6133
        ("per-cell", [15838.0, 208.0, 422.0, 12266.0]),  # twice the largest in each cell
        ("public-membership", [1.0, 1.0, 107.0, 5922.0]),  # spreads, and never under one step
    ],
)
def test_what_is_drawn_is_what_the_sensitivities_say(option: str, widths: list[float]) -> None:
    table = totals(survey(), sensitivity=option)
    assert table.cells.values.tolist() == [15838.0, 208.0, 315.0, 6344.0]
    assert table.for_the_custodian().sensitivity.tolist() == widths
    assert table.option == option and table.certificate.mechanism.option == option
    low, high = table.for_the_custodian().interval(0.95)
    assert ((high - low) / 2).tolist() == [geometric_half_width(width, gamma=0.05) for width in widths]


@pytest.mark.usefixtures("exact")
def test_a_row_in_no_cell_or_without_a_value_counts() -> None:
    one = {"region": ["north"] * 8, "kind": ["a"] * 8}
    alone = totals(survey(**one), sensitivity="whole-table")
    assert alone.for_the_custodian().sensitivity.tolist() == [7815.0] * 4  # max − min
    outside = totals(survey(**{**one, "kind": ["a"] * 7 + ["c"]}), sensitivity="whole-table")
    assert outside.for_the_custodian().sensitivity.tolist() == [7919.0] * 4  # may leave
    void = totals(survey(**one, output=[*OUTPUT[:7], None]), sensitivity="public-membership")
    assert void.for_the_custodian().sensitivity.tolist() == [7919.0, 1.0, 1.0, 1.0]
    one_cell = totals(survey(), by={"region": ["north"]}, sensitivity="auto")
    assert one_cell.for_the_custodian().sensitivity.tolist() == [7919.0]


@pytest.mark.usefixtures("exact")
def test_alike_rows_are_never_published_exactly() -> None:
    alike = {"output": [500.0] * 8, "region": ["north"] * 8, "kind": ["a"] * 8}
    for option in ("whole-table", "per-cell", "public-membership"):
        assert totals(survey(**alike), sensitivity=option).for_the_custodian().sensitivity.tolist() == [1.0] * 4
    counts = survey(**alike).contingency_table(by=BY, epsilon=1.0, guarantee="bootstrap-dp")
    assert counts.for_the_custodian().sensitivity.tolist() == [2.0] * 4
    single = survey(**alike).contingency_table(by={"region": ["north"]}, epsilon=1.0, guarantee="bootstrap-dp")
    assert single.for_the_custodian().sensitivity.tolist() == [1.0]


def test_auto_decides_from_the_number_of_cells_alone() -> None:
    assert [choose_option(cells)[0] for cells in (1, 2, 3, 4, 1000)] == ["whole-table"] * 3 + ["per-cell"] * 2
    options = {totals(survey(output=values)).option for values in (OUTPUT, [1.0] * 8, [0.0] * 7 + [20_000.0])}
    assert options == {"per-cell"}


def test_rounding_never_narrows_the_noise() -> None:
    for width in (1.0, 3.0, 14052.0, 2.0**31):
        for epsilon in (0.001, 0.1, 0.7, 1.0, 3.3, 100.0):
            assert least_scale(width, epsilon) >= width / epsilon * (1 - 1e-15)
    extremes = CellExtremes.of([5.0, 7.0], [0, 1])
    assert total_widths(extremes, "whole-table", step=3).tolist() == [12.0, 12.0]
    assert count_widths(3).tolist() == [2.0] * 3
    noisy, scales = draw(np.array([2**61, 5], dtype=object), np.array([1.0, 1.0]), 0.5, SimulatedNoise(1))
    assert abs(noisy[0] - 2**61) < 100 and scales.tolist() == [2.0, 2.0]
    many = np.arange(1.0, 10_001.0)
    _, scales = draw(np.zeros(many.size, dtype=np.int64), many, 0.5, SimulatedNoise(1))
    assert (scales >= many / 0.5).all() and (scales < 1.006 * many / 0.5).all() and len(set(scales)) < 2_000


def test_the_grid_is_public_whatever_the_scale_is() -> None:
    """Released numbers are whole steps of the declared grid, for wide noise and for narrow noise alike."""
    for step, values in ((1, OUTPUT), (0.25, [0.25] * 8), (0.5, [19_999.5] * 8)):
        table = totals(survey(output=values), step=step)
        assert np.array_equal(table.cells.values / step, np.rint(table.cells.values / step))
        assert table.certificate.mechanism.grid == str(step if step == 1 else {0.25: "1/4", 0.5: "1/2"}[step])
    odd = totals(survey(output=[3.5] * 8), bounds=(0.5, 100.5), step=1)  # the lower bound is no whole step
    assert odd.certificate.mechanism.grid == "1/2"


def numbers_in(found: object) -> Iterator[float]:
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, list):
        for one in found:
            yield from numbers_in(one)
    elif isinstance(found, (int, float)) and not isinstance(found, bool):
        yield float(found)


def told_in(texts: list[str], forbidden: set[float]) -> list[float]:
    found = []
    for number in forbidden:
        spellings = {repr(float(number)), f"{number:.6g}", f"{number:g}", f"{number:,.0f}"}
        whole = "|".join(re.escape(spelling) for spelling in spellings if len(spelling) > 3)
        found += [number for text in texts if re.search(rf"(?<![\w.,−-])({whole})(?![\w.,]*\d)", text)]
    return found


@pytest.mark.parametrize("option", ["whole-table", "per-cell", "public-membership"])
def test_nothing_that_leaves_tells_the_noise(option: str, tmp_path: Path) -> None:
    """Scale, sensitivity, extremes and exact totals: in no JSON, page, file, text, pickle or ledger."""
    ledger = tmp_path / "weak.ledger"
    Ledger.create(
        ledger, dataset="farms", budget=Budget(5.0, 0.0), relation="replace-one", unit="row", guarantee="bootstrap-dp"
    ).close()
    table = totals(survey(ledger), sensitivity=option, epsilon=0.37, margins=True)
    secret = table.for_the_custodian()
    noisy = set(np.concatenate([table.cells.values, *(cells.values for cells in table.margins.values())]).tolist())
    widths = (*secret.sensitivity, *secret.noise_sd, *(secret.sensitivity / 0.37))
    forbidden = {*widths, *OUTPUT, 15838.0, 208.0, 315.0, 6344.0}
    forbidden = {number for number in forbidden if abs(number) not in np.abs([*noisy]) and number > 100}
    table.to_csv(tmp_path / "t.csv")
    table.to_xlsx(tmp_path / "t.xlsx")
    leaving = [
        table.to_json(), table.certificate.to_json(), repr(table), str(table), table.to_html(), table._repr_html_(),
        repr(table.certificate), repr(table.to_frame()), repr(table[0]), str(table[0]), repr(secret),
        (tmp_path / "t.csv").read_text(), repr(asdict(table.certificate)),
    ]  # fmt: skip
    with Ledger.open(ledger) as kept:
        leaving += [kept.entries()[0].fingerprint, kept.entries()[0].result, repr(kept.entries()[0])]
    assert not told_in(leaving, forbidden)
    assert told_in([f"noise of sd {secret.noise_sd[-1]:,.0f}."], forbidden) and told_in([repr(OUTPUT)], forbidden)
    assert not forbidden & set(numbers_in(table.to_dict()))
    binary = ledger.read_bytes() + pickle.dumps(table)
    assert not any(np.float64(number).tobytes() in binary for number in forbidden if number > 100)
    assert table[0].standard_error is None and table[0].privacy_error is None and not table[0].reliable
    assert {entry["standard_error"] for entry in table.to_dict()["estimates"]} == {None}


def test_every_output_says_what_it_is_not() -> None:
    table = totals(survey())
    for text in (table.to_json(), repr(table), str(table), table.to_html(), table.certificate.to_json()):
        assert "NOT differential privacy" in text
    for text in (table.to_json(), str(table).replace("\n", " "), table.certificate.to_json()):
        assert "Nothing is promised to anyone who has no row in D" in text
    record = table.certificate.to_dict()
    assert record["guarantee"] == "bootstrap-dp" and record["differential_privacy"] is False
    assert record["relation"] == "rows of D" and not {"delta", "profile", "bound"} & set(record)
    public = totals(survey(), sensitivity="public-membership").certificate
    assert public.relation == "rows of D that agree on region, kind"


def test_the_custodian_has_figures_in_memory_alone() -> None:
    table = totals(survey(), margins=True)
    figures = table.for_the_custodian()
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy, lambda one: pickle.dumps([one])):
        with pytest.raises(ParameterError) as refused:
            attempt(figures)
        assert refused.value.code == "HG159"
    with pytest.raises(TypeError):
        json.dumps(figures)
    for copied in (pickle.loads(pickle.dumps(table)), copy.deepcopy(table), replace(table, token=None)):
        assert np.array_equal(copied.cells.values, table.cells.values)
        with pytest.raises(ParameterError) as refused:
            copied.for_the_custodian()
        assert refused.value.code == "HG159"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"guarantee": None}, "HG414"),
        ({"guarantee": "dp"}, "HG414"),
        ({"delta": 1e-6}, "HG413"),
        ({"noise": "gaussian"}, "HG413"),
        ({"sensitivity": "option-ii"}, "HG151"),
        ({"by": {}}, "HG150"),
        ({"part": "north"}, "HG111"),
        ({"part": ("region", 3)}, "HG111"),
        ({"epsilon": 1e-9}, "HG101"),
    ],
)
def test_refusals_before_anything_is_read(change: dict, code: str) -> None:
    opened = survey()
    reading = OpenedSource(opened.source, hg_told(), None, opened.n, None, None)
    asked = {"by": BY, "epsilon": 1.0, "guarantee": "bootstrap-dp"} | change
    with pytest.raises(HedgerowError) as refused:
        bootstrap_table(hg.sum("output", bounds=(0, 20_000), step=1), reading, **asked)
    assert refused.value.code == code


def hg_told(**told: object):
    from hedgerow.facts.declared import protection_of

    return protection_of(None, **({"relation": "replace-one"} | told))


def test_refusals_of_the_survey() -> None:
    hidden = hg.open(pyarrow.table({"output": OUTPUT, "region": REGION, "kind": KIND}), relation="add-remove")
    with pytest.raises(UncertifiedError) as refused:
        totals(hidden)
    assert refused.value.code == "HG413"
    with pytest.raises(UncertifiedError) as refused:
        survey().contingency_table(by=BY, epsilon=1.0, guarantee="bootstrap-dp", sensitivity="public-membership")
    assert refused.value.code == "HG413"
    with pytest.raises(ParameterError) as refused:
        survey().contingency_table(by=BY, epsilon=1.0, guarantee="bootstrap")
    assert refused.value.code == "HG154"
    budgeted = hg.open(
        pyarrow.table({"output": OUTPUT, "region": REGION, "kind": KIND}),
        Facts.from_dict({"relation": "replace-one", "budget": {"epsilon": 1.0, "delta": 0.0}}),
    )
    with pytest.raises((UncertifiedError, ForbiddenError)):
        totals(budgeted)


def test_parts_by_a_public_column_share_a_ledger(tmp_path: Path) -> None:
    ledger = tmp_path / "weak.ledger"
    Ledger.create(
        ledger, dataset="farms", budget=Budget(1.0, 0.0), relation="replace-one", unit="row", guarantee="bootstrap-dp"
    ).close()
    for name in ("north", "south"):
        rows = [place for place, region in enumerate(REGION) if region == name]
        columns = {"output": [OUTPUT[row] for row in rows], "kind": [KIND[row] for row in rows]}
        opened = hg.open(pyarrow.table(columns), relation="replace-one", ledger=ledger)
        table = totals(opened, by={"kind": ["a", "b"]}, part=("region", name))
        assert table.certificate.relation == "rows of D that agree on region"
    with Ledger.open(ledger) as kept:
        assert kept.spent() == 1.0 and len(kept.entries()) == 2
        kept.verify()


def test_a_failure_after_the_price_is_fixed_text(tmp_path: Path) -> None:
    ledger = tmp_path / "weak.ledger"
    Ledger.create(
        ledger, dataset="farms", budget=Budget(5.0, 0.0), relation="replace-one", unit="row", guarantee="bootstrap-dp"
    ).close()
    holed = survey(ledger, output=[*OUTPUT[:7], None])
    with pytest.raises(SpentError) as failed:
        totals(holed, missing="error-if-declared-complete")
    assert failed.value.code == "HG602" and failed.value.__context__ is None
    with Ledger.open(ledger) as kept:
        assert kept.spent() == 1.0


def test_the_same_request_is_answered_from_the_ledger(tmp_path: Path) -> None:
    ledger = tmp_path / "weak.ledger"
    Ledger.create(
        ledger, dataset="farms", budget=Budget(1.5, 0.0), relation="replace-one", unit="row", guarantee="bootstrap-dp"
    ).close()
    opened = survey(ledger)
    first = totals(opened, request_id="t1")
    again = totals(opened, request_id="t1")
    assert again.cells.values.tolist() == first.cells.values.tolist() and again.ledger_head == first.ledger_head
    with pytest.raises(ParameterError):
        again.for_the_custodian()
    with pytest.raises(hg.BudgetExceeded):
        totals(opened)
    with pytest.raises(LedgerError):
        totals(opened, request_id="t1", epsilon=0.5)
    with pytest.raises(LedgerError) as refused:
        opened.magnitude_table("output", bounds=(0, 20_000), step=1, by=BY, epsilon=0.1)
    assert refused.value.code == "HG316"


@pytest.mark.parametrize(
    ("bounds", "step"),
    [((400_000_000_000_000, 400_000_000_001_000), 0.0001), ((2**31 - 1, 2**31), 1)],
)
def test_noise_that_64_bits_would_cut_off_is_refused_before_anything_is_read(
    tmp_path: Path, bounds: tuple[int, int], step: float
) -> None:
    """Noise that is cut off at 2⁶³ leaves the exact total beneath it, and doubles do not tell extremes beyond 2⁵³."""
    made = {"dataset": "d", "budget": Budget(1.0, 0.0), "relation": "replace-one", "unit": "row"}
    Ledger.create(tmp_path / "l", guarantee="bootstrap-dp", **made).close()
    with pytest.raises(ParameterError) as refused:
        totals(survey(tmp_path / "l"), epsilon=0.001, bounds=bounds, step=step)
    assert refused.value.code == "HG107"
    with Ledger.open(tmp_path / "l") as kept:
        assert kept.entries() == ()
