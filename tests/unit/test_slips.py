"""A slip of the typing hand is refused by names and declared types alone: nothing is spent, nothing is told of data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.grammar import parse_by
from hedgerow.cli.main import app
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger
from hedgerow.statistics.registry import entries

FACTS = hg.Facts(
    relation="add-remove",
    columns={
        "age": hg.ColumnFacts(bounds=(18, 95)),
        "owner": hg.ColumnFacts(categories=(0, 1)),
        "sex": hg.ColumnFacts(categories=("f", "m")),
    },
)

# Two data sets that differ by a record whose values make the slip look right.
RECORDS = {"age": [18, 40, 61], "owner": [0, 1, 1], "sex": ["f", "m", "f"], "month": ["2026-01", "2026-02", "9"]}
LAST = {"age": "a", "owner": "yes", "sex": "1", "month": "2026-01..2026-06.."}

SLIPS: dict[str, tuple[str, Callable[[hg.Survey], Any]]] = {
    "texts as categories of numbers": ("HG111", lambda s: s.count(by={"age": ["a", "b"]}, epsilon=1.0)),
    "bands as a category of numbers": ("HG111", lambda s: s.count(by={"age": ["2026-01..2026-06.."]}, epsilon=1.0)),
    "bands of texts": ("HG204", lambda s: s.count(by={"sex": hg.bands(0, 1, 2)}, epsilon=1.0)),
    "a text as the value of a share of numbers": ("HG111", lambda s: s.proportion("age", value="a", epsilon=1.0)),
    "a share of a column of codes": ("HG111", lambda s: s.proportion("owner", value="yes", epsilon=1.0)),
    "numbers compared with a text": ("HG111", lambda s: s.count(where="age == 'a'", by={"sex": ["f"]}, epsilon=1.0)),
    "numbers before a text": ("HG111", lambda s: s.count(where="age > 'a'", by={"sex": ["f"]}, epsilon=1.0)),
    "texts before a number": ("HG111", lambda s: s.count(where="sex > 1", by={"sex": ["f"]}, epsilon=1.0)),
    "a mean of texts": ("HG204", lambda s: s.mean("sex", bounds=(0, 1), epsilon=1.0)),
    "texts as the outcome of a logit": (
        "HG111",
        lambda s: s.logit("sex", ["age"], bounds={"age": (18, 95)}, epsilon=1),
    ),
    "texts as a regressor of a logit": (
        "HG204",
        lambda s: s.logit("owner", ["sex"], bounds={"sex": (0, 1)}, epsilon=1),
    ),
    "texts as the response": (
        "HG204",
        lambda s: s.ols("sex", ["age"], bounds={"age": (18, 95), "sex": (0, 1)}, epsilon=1),
    ),
    "a table by texts": ("HG111", lambda s: s.contingency_table(by={"age": ["a", "b"]}, epsilon=1.0)),
}


def written(folder: Path, **columns: list[Any]) -> Path:
    path = folder / "people.csv"
    pa.csv.write_csv(pa.table({name: [str(value) for value in values] for name, values in columns.items()}), path)
    return path


def neighbours(kind: str, folder: Path) -> Iterator[Any]:
    yield written(folder, **RECORDS) if kind == "csv" else pa.table(RECORDS)
    if kind == "csv":
        yield written(folder, **{name: [*values, LAST[name]] for name, values in RECORDS.items()})
    else:
        yield pa.table({name: [*values, values[0]] for name, values in RECORDS.items()})


def refusal(ask: Callable[[hg.Survey], Any], source: Any, ledger: Path) -> hg.HedgerowError:
    if not ledger.exists():
        Ledger.create(ledger, dataset="d", budget=Budget(9.0, 1e-6), relation="add-remove", unit="row").close()
    with pytest.raises(hg.HedgerowError) as refused:
        ask(hg.open(source, FACTS if isinstance(source, Path) else None, relation="add-remove", ledger=ledger))
    with Ledger.open(ledger) as opened:
        assert opened.spent() == 0.0
    return refused.value


@pytest.mark.parametrize("kind", ["csv", "frame"])
@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_spends_nothing_and_tells_nothing_of_the_data(slip: str, kind: str, tmp_path: Path) -> None:
    code, ask = SLIPS[slip]
    refused = [refusal(ask, source, tmp_path / "ledger") for source in neighbours(kind, tmp_path)]
    assert {each.code for each in refused} == {code}
    assert len({str(each) for each in refused}) == 1, "the last record says nothing"
    assert all(each.rule and each.finding and each.remedy for each in refused)
    assert ("that of the facts counts" in str(refused[0])) == (kind == "csv" and "no `value`" not in str(refused[0]))


@pytest.mark.parametrize("slip", sorted(set(SLIPS) - {"texts as the outcome of a logit"}))
def test_a_csv_file_without_declared_types_is_not_second_guessed(slip: str, tmp_path: Path) -> None:
    survey = hg.open(written(tmp_path, **RECORDS), relation="add-remove")
    assert SLIPS[slip][1](survey).certificate.epsilon <= 1.0


def test_what_the_facts_allow_is_answered(tmp_path: Path) -> None:
    survey = hg.open(written(tmp_path, **RECORDS), FACTS)
    survey.release([hg.mean("age"), hg.proportion("owner", value="1")], by=["sex"], where="age >= 20", epsilon=1.0)
    survey.logit("sex", ["age"], value="f", epsilon=1.0)
    survey.logit("owner", ["age"], epsilon=1.0)
    coded = hg.ColumnFacts(bounds=(18, 95), categories=("refused", "unknown"))
    mixed = hg.open(written(tmp_path, **RECORDS), hg.Facts(relation="add-remove", columns={"age": coded}))
    mixed.mean("age", where="age != 'refused'", epsilon=1.0)


def test_a_number_given_for_a_column_of_texts_is_its_text() -> None:
    codes = pa.table({"sex": ["0", "1", "1"], "age": [18, 40, 61]})
    survey = hg.open(codes, relation="add-remove")
    survey.logit("sex", ["age"], value=1, bounds={"age": (18, 95)}, epsilon=1.0)


@pytest.mark.parametrize(
    ("facts", "declared"),
    [
        (hg.ColumnFacts(bounds=(0, 9)), "number"),
        (hg.ColumnFacts(bands=(0, 5, 9)), "number"),
        (hg.ColumnFacts(categories=(0, 1)), "number"),
        (hg.ColumnFacts(categories=("01", "02")), None),
        (hg.ColumnFacts(categories=("1", "unknown")), None),
        (hg.ColumnFacts(categories=("a", "b")), "text"),
        (hg.ColumnFacts(categories=("a", "b"), bounds=(0, 9)), None),
        (hg.ColumnFacts(), None),
        (hg.ColumnFacts(bounds=("2020-01-01", "2026-12-31")), "date"),
    ],
)
def test_the_type_that_facts_declare(facts: hg.ColumnFacts, declared: str | None) -> None:
    assert facts.type == declared


def test_bands_of_texts_are_no_category_on_the_command_line() -> None:
    with pytest.raises(hg.ParameterError, match="HG133"):
        parse_by(["month=2026-01..2026-06.."], banded=True)
    assert parse_by(['month="2026-01..2026-06.."'], banded=True) == {"month": ["2026-01..2026-06.."]}
    assert parse_by(["title=Professional,etc.."], banded=True) == {"title": ["Professional", "etc.."]}


REMEDIES = {
    ("release", "--median=age:0:9"): "--quantile COL:Q",
    ("release", "--avg=age:0:9"): "--mean COL",
    ("release", "--average=age:0:9"): "--mean COL",
    ("plan", "--sd=age:0:9"): "--standard-deviation COL",
    ("release", "--epsilom=1"): "--epsilon?",
    ("release", "--eps=1"): "--epsilon?",
}


@pytest.mark.parametrize(("verb", "option"), REMEDIES)
def test_an_option_that_does_not_exist_is_told_the_one_that_was_meant(verb: str, option: str) -> None:
    refused = CliRunner().invoke(app, [verb, "people.csv", option])
    assert refused.exit_code == 2
    assert f"Did you mean {REMEDIES[verb, option]}" in refused.stderr


@pytest.mark.parametrize(("verb", "option"), [("release", "--regression=age"), ("table", "--median=age:0:9")])
def test_no_option_is_guessed_where_none_is_near(verb: str, option: str) -> None:
    refused = CliRunner().invoke(app, [verb, "people.csv", option])
    assert refused.exit_code == 2 and "HG116" in refused.stderr
    assert "Did you mean" not in refused.stderr and f"hedgerow {verb} --help" in refused.stderr


def test_a_name_of_another_program_is_no_name_of_ours() -> None:
    ours = set(entries())
    theirs = [name for entry in entries().values() for name in entry.also_called]
    assert len(theirs) == len(set(theirs)) and not ours & set(theirs)


@pytest.mark.parametrize("word", ["lower", "upper", "low", "high", "min", "max"])
def test_an_end_of_the_bounds_is_told_of_bounds(word: str) -> None:
    ask: Any = hg.mean
    with pytest.raises(hg.UnknownKeywordError, match=r"Did you mean `bounds=\(LO, HI\)`\?"):
        ask("age", **{word: 0})


def test_no_keyword_is_guessed_where_none_is_near() -> None:
    ask: Any = hg.mean
    with pytest.raises(hg.UnknownKeywordError) as refused:
        ask("age", clip=1)
    assert "Did you mean" not in str(refused.value) and "`bounds`" in str(refused.value)


@pytest.mark.parametrize("url", ["mysql://ann:secret@db.example.org/shop", "ftp://example.org/people.csv"])
def test_the_url_of_another_database_is_told_which_are_opened(url: str) -> None:
    with pytest.raises(hg.DataError, match=r"HG202.*postgresql://.*sqlite:///.*\.parquet or \.csv") as refused:
        hg.open(url, relation="add-remove")
    assert "secret" not in str(refused.value)


def test_an_ending_is_proposed_where_it_is_near(tmp_path: Path) -> None:
    table = hg.open(pa.table(RECORDS), relation="add-remove").contingency_table(by={"sex": ["f", "m"]}, epsilon=1.0)
    for name, proposed in {"table.htm": "table.html", "table.cvs": "table.csv"}.items():
        with pytest.raises(hg.ParameterError, match=f"HG118.*Try '{proposed}'"):
            table.write(tmp_path / name)
        table.write(tmp_path / proposed)
    with pytest.raises(hg.ParameterError, match=r"HG118.*\.html.*Choose one of these endings\."):
        table.write(tmp_path / "table.docx")
