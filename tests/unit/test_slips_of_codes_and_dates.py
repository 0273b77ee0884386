"""Labels in place of codes, and dates that do not sort by time: refused by names and declared types, nothing spent."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas
import pyarrow as pa
import pyreadstat
import pytest

import hedgerow as hg
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger

LABELS: Mapping[str, Mapping[Any, str]] = {"sex": {1: "men", 2: "women"}}
RECORDS = pandas.DataFrame(
    {
        "sex": [1, 2, 2, 1],
        "wage": [10.5, 12.0, 20.0, 3.0],
        "town": ["B", "K", "B", "B"],
        "born": pandas.to_datetime(["1990-01-01", "1981-02-03", "2001-05-06", "1970-07-08"]),
    }
)

SLIPS: dict[str, tuple[str, str, Callable[[hg.Survey], Any]]] = {
    "labels as categories": (
        "HG111",
        r"1 \(men\), 2 \(women\)",
        lambda s: s.count(by={"sex": ["men", "women"]}, epsilon=1),
    ),
    "a label in where": ("HG111", r"1 \(men\)", lambda s: s.count(where="sex == 'Women'", epsilon=1)),
    "a label as the value of a share": ("HG111", r"2 \(women\)", lambda s: s.proportion("sex", value="men", epsilon=1)),
    "codes with a decimal point": ("HG111", r"1 \(men\)", lambda s: s.count(by={"sex": [1.0, 2.0]}, epsilon=1)),
    "codes with leading zeros": ("HG111", r"1 \(men\)", lambda s: s.count(by={"sex": ["01", "02"]}, epsilon=1)),
    "labels in a table": ("HG111", r"1 \(men\)", lambda s: s.contingency_table(by={"sex": ["men"]}, epsilon=1)),
    "labels in a regression": (
        "HG111",
        r"1 \(men\)",
        lambda s: s.ols("wage ~ C(sex)", bounds={"wage": (0, 50)}, categories={"sex": ["men", "women"]}, epsilon=1),
    ),
    "a text column as a response": (
        "HG204",
        "declares texts",
        lambda s: s.ols("town ~ wage", bounds={"wage": (0, 50), "town": (0, 1)}, epsilon=1),
    ),
    "a mean of dates": ("HG204", r"year\(born\)", lambda s: s.mean("born", bounds=(0, 9), epsilon=1)),
    "a date of no such form": ("HG111", "2026-06-01", lambda s: s.count(where="born > 'June 1980'", epsilon=1)),
}
RIGHT: list[Callable[[hg.Survey], Any]] = [
    lambda s: s.count(by={"sex": [1, 2], "town": ["B", "K"]}, where="born >= '1980-06-01'", epsilon=1),
    lambda s: s.count(by={"sex": ["1", "2", 9]}, where="sex in [1, 2] and wage > 3", epsilon=1),
    lambda s: s.mean("wage", bounds=(0, 50), step=0.5, by={"sex": {1: "men", 2: "women"}}, epsilon=1),
    lambda s: s.ols("wage ~ C(sex)", bounds={"wage": (0, 50)}, categories={"sex": [1, 2]}, epsilon=1),
]


def file_of(suffix: str, folder: Path, records: pandas.DataFrame = RECORDS) -> Path:
    path = folder / f"people{suffix}"
    getattr(pyreadstat, f"write_{suffix[1:]}")(records, str(path), variable_value_labels=dict(LABELS))
    return path


def refusal(ask: Callable[[hg.Survey], Any], source: Any, folder: Path, facts: hg.Facts | None = None) -> str:
    ledger = folder / "ledger"
    if not ledger.exists():
        Ledger.create(ledger, dataset="d", budget=Budget(9.0, 1e-6), relation="add-remove", unit="row").close()
    with pytest.raises(hg.HedgerowError) as refused:
        ask(hg.open(source, facts, relation="add-remove", ledger=ledger))
    with Ledger.open(ledger) as opened:
        assert opened.spent() == 0.0
    assert refused.value.rule and refused.value.finding and refused.value.remedy
    return str(refused.value)


@pytest.mark.parametrize("suffix", [".dta", ".sav"])
@pytest.mark.parametrize("slip", SLIPS)
def test_a_label_in_place_of_its_code_spends_nothing(slip: str, suffix: str, tmp_path: Path) -> None:
    code, named, ask = SLIPS[slip]
    told = refusal(ask, file_of(suffix, tmp_path), tmp_path)
    assert code in told and "The file declares" in told
    assert re.search(named, told)
    neighbour = refusal(ask, file_of(suffix, tmp_path, RECORDS.iloc[:-1]), tmp_path)
    assert neighbour == told, "the last record says nothing"


@pytest.mark.parametrize("suffix", [".dta", ".sav"])
@pytest.mark.parametrize("place", range(len(RIGHT)))
def test_codes_as_the_file_has_them_are_answered(place: int, suffix: str, tmp_path: Path) -> None:
    RIGHT[place](hg.open(file_of(suffix, tmp_path), relation="add-remove"))


def test_texts_that_have_labels_are_codes_too(tmp_path: Path) -> None:
    path = tmp_path / "people.sav"
    pyreadstat.write_sav(RECORDS, str(path), variable_value_labels={"town": {"B": "Bonn", "K": "Cologne"}})
    survey = hg.open(path, relation="add-remove")
    with pytest.raises(hg.ParameterError, match=r"HG111.*Write B\."):
        survey.count(by={"town": ["Bonn", "Cologne"]}, epsilon=1)
    survey.count(by={"town": ["B", "K"]}, epsilon=1)


DATES = {"start": ["01.06.2022", "02.05.2023", "03.04.2021"], "n": [1, 2, 3]}


@pytest.mark.parametrize("kind", ["csv", "frame"])
@pytest.mark.parametrize("date", ["01.06.2022", "6/1/2022", "1-6-22", "2022-6-1", "01.06.2022 10:30"])
def test_texts_are_not_ordered_by_a_date_that_does_not_sort(date: str, kind: str, tmp_path: Path) -> None:
    source: Any = pa.table(DATES)
    if kind == "csv":
        source = tmp_path / "starts.csv"
        pandas.DataFrame(DATES).to_csv(source, index=False)
    told = refusal(lambda s: s.count(where=f"start >= '{date}'", epsilon=1), source, tmp_path)
    assert "HG111" in told and "'2022-06-01'" in told and date in told
    survey = hg.open(source, relation="add-remove")
    survey.count(where=f"start == '{date}' or start in ['{date}']", epsilon=1)
    for sorted_by_time in ("2022-06-01", "2022/06/01", "2022-06-01 10:30", "June", "1.5"):
        survey.count(where=f"start < '{sorted_by_time}'", epsilon=1)


def test_a_column_of_dates_takes_dates_alone(tmp_path: Path) -> None:
    facts = hg.Facts(relation="add-remove", columns={"start": hg.ColumnFacts(bounds=("2020-01-01", "2026-12-31"))})
    path = tmp_path / "starts.csv"
    path.write_text("start,n\n2022-06-01,1\n2023-05-02,2\n")
    frame = pa.table({"start": pa.array([19_144, 19_479], pa.date32())})
    for source, known in ((path, facts), (frame, None)):
        for slip in ("start == '01.06.2022'", "start >= '01.06.2022'", "start < 'June'"):
            told = refusal(lambda s, slip=slip: s.count(where=slip, epsilon=1), source, tmp_path, known)
            assert "HG111" in told
        hg.open(source, known, relation="add-remove").count(where="start >= '2022-06-01'", epsilon=1)
