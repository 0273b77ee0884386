"""One file a statistic: Python, the facts file and the command line ask for the same thing, by what that file says."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.facts.columns import Grid
from hedgerow.facts.declared import Facts
from hedgerow.facts.facts_file import json_schema
from hedgerow.release.request import requested
from hedgerow.reports import report_html
from hedgerow.reports.verify.verification import verify_record
from hedgerow.statistics.entry import StatisticEntry
from hedgerow.statistics.registry import entries
from hedgerow.statistics.statistic import NeedsBounds, Statistic

AGE: dict[str, Any] = {"bounds": (0, 100), "step": 1}
BOTH: dict[str, Any] = {"bounds": {"tax": (0, 50, 1), "pay": (0, 100)}}
FIELDS: dict[str, Any] = {"bounds": [0, 100], "step": 1}
# (the call in Python, the fields of a facts file, the text of the option)
WRITTEN: dict[str, tuple[Any, dict[str, Any], str | None]] = {
    "mean": (hg.mean("age", **AGE), {"column": "age", "bounds": [0, 100], "step": 1}, "age:0:100:1"),
    "sum": (hg.sum("age", bounds=(0, 100)), {"column": "age", "bounds": [0, 100]}, "age:0:100"),
    "proportion": (hg.proportion("sex", value="a=b"), {"column": "sex", "value": "a=b"}, "sex=a=b"),
    "count": (hg.count(), {}, None),
    "variance": (hg.variance("age", **AGE), {"column": "age", "bounds": [0, 100], "step": 1}, "age:0:100:1"),
    "standard_deviation": (hg.standard_deviation("age"), {"column": "age"}, "age"),
    "quantile": (
        hg.quantile("age", 0.5, **AGE),
        {"column": "age", "probability": 0.5, "bounds": [0, 100], "step": 1},
        "age:0.5:0:100:1",
    ),
    "ratio": (hg.ratio("tax", "pay"), {"column": "tax", "denominator": "pay"}, "tax/pay"),
    "share_below": (hg.share_below("age", line=30, **AGE), {"column": "age", "line": 30} | FIELDS, "age:30:0:100:1"),
    "cdf": (hg.cdf("age", at=30, **AGE), {"column": "age", "at": 30} | FIELDS, "age:30:0:100:1"),
    "gini": (hg.gini("age", **AGE), {"column": "age"} | FIELDS, "age:0:100:1"),
    "lorenz": (hg.lorenz("age", at=0.4, **AGE), {"column": "age", "at": 0.4} | FIELDS, "age:0.4:0:100:1"),
    "covariance": (hg.covariance("tax", "pay"), {"column": "tax", "second": "pay"}, "tax/pay"),
    "correlation": (hg.correlation("tax", "pay"), {"column": "tax", "second": "pay"}, "tax/pay"),
}
# Several that one call asks for, in one entry of a call.
TOGETHER: dict[str, tuple[Any, dict[str, Any], str]] = {
    "histogram": (
        hg.histogram("age", bins=[0, 30, 60, 100], **AGE),
        {"column": "age", "bins": [0, 30, 60, 100]} | FIELDS,
        "age:0,30,60,100:0:100:1",
    ),
    "survival": (
        hg.survival("age", "sex", at=[30, 60], value="a=b"),
        {"time": "age", "event": "sex", "at": [30, 60], "value": "a=b"},
        "age/sex=a=b:30,60",
    ),
}


OWN: dict[str, Any] = {
    "bootstrap": hg.bootstrap(lambda t: t["age"] / t["count"], columns={"age": (0, 100, 1)}, name="own"),
    "function": hg.function(lambda t: t["tax"] - t["pay"], columns=BOTH["bounds"], name="gap"),
}


def asked_of(kind: str) -> list[Any]:
    """Return what is asked for, with bounds."""
    called = {**WRITTEN, **TOGETHER}[kind][0] if kind not in OWN else OWN[kind]
    grids = {"age": AGE["bounds"], "tax": (0, 50), "pay": (0, 100)}
    if isinstance(called, NeedsBounds):
        return [called.build([(name, Grid.from_bounds(name, grids[name], 1)) for name in called.columns])]
    return list(called) if isinstance(called, (list, tuple)) else [called]


@pytest.mark.parametrize("kind", [*WRITTEN, *TOGETHER, *OWN])
def test_every_statistic_goes_through_every_door(kind: str, tmp_path: Path) -> None:
    """Forecast, release, record, `verify`, page, record read again, and computing where a joint law is known."""
    rows = [(20.0 + i * 7 % 60, 5.0 + i % 40, 30.0 + i * 3 % 60, "a=b" if i % 3 else "c") for i in range(900)]
    table = pa.table(dict(zip(("age", "tax", "pay", "sex"), map(list, zip(*rows, strict=True)), strict=True)))
    asked, survey = asked_of(kind), hg.open(table, relation="add-remove")
    expected = survey.plan(asked, epsilon=4.0).forecast(n=900)
    release = survey.release(asked, epsilon=4.0)
    assert [one.statistic for one in expected] == [one.statistic for one in release]
    assert all(one.half_width is not None for one in expected)
    record = json.loads(release.to_json())
    verified = verify_record(record)
    assert verified.holds and verified.contradictions == ()
    altered = json.loads(release.to_json())
    altered["estimates"][0]["method"] += "*"
    assert verify_record(altered).contradictions
    assert release[0].statistic in report_html(release)
    (path := tmp_path / "r.json").write_text(json.dumps(record))
    again = hg.Release.from_json(path)
    assert [(one.statistic, one.estimate) for one in again] == [(one.statistic, one.estimate) for one in release]
    if release[0]._joint is not None:
        assert again.ask(release[0]._term()).estimate == pytest.approx(release[0].estimate, rel=1e-9)


def test_every_statistic_is_written_here_and_exported() -> None:
    assert {*WRITTEN, *TOGETHER, *OWN} == set(entries())
    assert all(getattr(hg, name) is entry.ask for name, entry in entries().items())


@pytest.mark.parametrize("kind", TOGETHER)
def test_what_one_call_asks_for_together_shares_one_entry(kind: str, tmp_path: Path) -> None:
    called, fields, text = TOGETHER[kind]
    record = {"release": [{"statistics": [{"statistic": kind} | fields], "epsilon": 1}]}
    assert requested(Facts.from_dict(record))[0].statistics == (called,)
    assert entries()[kind].parse(text) == called
    (tmp_path / "t.csv").write_text("age,pay,sex\n" + "30,4,c\n50,9,a=b\n" * 500)
    start = [str(tmp_path / "t.csv"), "--relation", "replace-one", "--json", "--epsilon", "1"]
    asked = ["--mean", "pay:0:10", entries()[kind].option, text]
    released = CliRunner().invoke(app, ["release", *start, *asked, "--share", "3,1"])
    assert released.exit_code == 0, released.stderr
    names = [one["statistic"] for one in json.loads(released.stdout)["estimates"]]
    assert names == ["mean", *(one.name for one in called)]


@pytest.mark.parametrize("kind", WRITTEN)
def test_python_facts_and_shell_ask_for_the_same(kind: str) -> None:
    called, fields, text = WRITTEN[kind]
    entry = entries()[kind]
    record = {"release": [{"statistics": [{"statistic": kind} | fields], "epsilon": 1}]}
    assert requested(Facts.from_dict(record))[0].statistics == (called,)
    assert (entry.parse is None) is (text is None)
    if entry.parse is not None and text is not None:
        assert entry.parse(text) == [called]


@pytest.mark.parametrize("kind", WRITTEN)
def test_a_statistic_says_what_it_is(kind: str) -> None:
    called = WRITTEN[kind][0]
    if isinstance(called, NeedsBounds):
        assert called.kind == kind and "LO" in called.in_python and "LO" in called.in_shell("age")
        called = called.build([(name, WRITTEN["mean"][0].grid) for name in called.columns])
    assert isinstance(called, Statistic) and called.kind == kind
    assert kind in called.name and called.in_words() and json.dumps(called.public_record())
    assert called.without_code() == called == pickle.loads(pickle.dumps(called))
    possible = called.possible(10.0)
    assert possible is None or possible > 0


@pytest.mark.parametrize("kind", [*WRITTEN, *TOGETHER])
def test_a_statistic_can_be_pickled_before_its_bounds_are_known(kind: str) -> None:
    fields = {name: given for name, given in {**WRITTEN, **TOGETHER}[kind][1].items() if name not in FIELDS}
    record = {"release": [{"statistics": [{"statistic": kind} | fields], "epsilon": 1}]}
    called = requested(Facts.from_dict(record))[0].statistics[0]
    for asked in called if isinstance(called, list) else [called]:
        copy = pickle.loads(pickle.dumps(asked))
        assert copy == asked and repr(copy) == repr(asked)
        if isinstance(asked, NeedsBounds):
            grids = [(name, Grid.from_bounds(name, (0, 100), 1)) for name in asked.columns]
            assert copy.build(grids) == asked.build(grids)


def test_the_json_schema_of_facts_knows_every_statistic_and_its_fields() -> None:
    asked = json_schema()["$defs"]["Asked"]["properties"]
    assert asked["statistic"]["enum"] == list(entries())
    assert set(asked) == {"statistic", *(name for one in entries().values() for name in (*one.needs, *one.takes))}


@pytest.mark.parametrize(
    ("kind", "text", "names"),
    [
        ("quantile", "time:utc:0.1,0.5,0.9:0:24:1", ["quantile_0.1", "quantile_0.5", "quantile_0.9"]),
        ("quantile", "age:0.25:0:100", ["quantile_0.25"]),
        ("ratio", "tax:0:50:1/pay:0:100", ["ratio"]),
    ],
)
def test_options_with_bounds(kind: str, text: str, names: list[str]) -> None:
    entry = entries()[kind]
    assert entry.parse is not None
    assert [one.name for one in entry.parse(text) if isinstance(one, Statistic)] == names


def test_a_ratio_on_the_command_line_is_that_of_python() -> None:
    assert entries()["ratio"].parse("tax:0:50:1/pay:0:100") == [hg.ratio("tax", "pay", **BOTH)]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *[("quantile", text) for text in ("age", "age:0.5:0", "age:x", ":0.5", "age:0.5:0,1:3", "age:0.5,x", "0.5")],
        *[("ratio", text) for text in ("tax", "tax/", "/pay", "a/b/c", "tax:0:50/pay", "tax:0/pay:0:1", "a:b/c")],
        *[("histogram", text) for text in ("age", "age:0,1:0", "age:0,x", ":0,1")],
        *[("survival", text) for text in ("t", "t/d", "t:1", "/d:1", "t/:1", "t/d=:1", "t/d:x", "t/d:1,x")],
        *[("lorenz", text) for text in ("age", "age:0.5:0", "age:x")],
        *[("variance", text) for text in ("age:0", "", ":0:1")],
    ],
)
def test_what_is_written_otherwise_is_refused(kind: str, text: str) -> None:
    entry = entries()[kind]
    with pytest.raises(hg.ParameterError, match="HG116") as refused:
        assert entry.parse is not None
        entry.parse(text)
    assert entry.option in refused.value.rule


def test_the_shell_releases_every_statistic(tmp_path: Path) -> None:
    table = pa.table({"age": [30.0, 50.0] * 500, "tax": [5.0, 9.0] * 500, "pay": [40.0, 60.0] * 500})
    pyarrow.csv.write_csv(table, tmp_path / "t.csv")
    asked = ["--quantile", "age:0.25,0.5:0:100", "--ratio", "tax:0:50/pay:0:100", "--variance", "age:0:100"]
    asked += ["--standard-deviation", "age:0:100", "--mean", "age:0:100", "--count", "--epsilon", "8"]
    start = [str(tmp_path / "t.csv"), "--relation", "replace-one", "--json"]
    released = CliRunner().invoke(app, ["release", *start, *asked])
    assert released.exit_code == 0, released.stderr
    names = [one["statistic"] for one in json.loads(released.stdout)["estimates"]]
    assert names == ["mean", "count", "variance", "standard_deviation", "quantile_0.25", "quantile_0.5", "ratio"]
    planned = CliRunner().invoke(app, ["plan", *start, *asked])
    assert [one["statistic"] for one in json.loads(planned.stdout)["plans"][0]["expected"]] == names


def test_bounds_are_asked_for_in_the_words_of_the_option(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age\n30\n")
    start = ["release", str(tmp_path / "t.csv"), "--relation", "replace-one", "--epsilon", "1"]
    refused = CliRunner().invoke(app, [*start, "--quantile", "age:0.5"])
    assert refused.exit_code == 2 and "age:0.5:LO:HI in place of age:0.5" in refused.stderr


def test_a_statistic_is_added_by_its_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What facts and the shell read of a statistic is its entry: another one is known as soon as it is there."""

    def spread(column: str) -> NeedsBounds:
        return hg.variance(column)

    added = StatisticEntry(spread, 99, {"column": entries()["mean"].needs["column"]})
    monkeypatch.setitem(entries(), "spread", added)
    assert Facts(statistics=("spread",)).statistics == ("spread",)
    assert added.option == "--spread" and added.from_record({"statistic": "spread", "column": "age"}) == spread("age")


def test_the_page_on_statistics_lists_each_as_its_entry_says() -> None:
    page = (Path(__file__).parents[3] / "docs" / "how_to" / "statistics.md").read_text(encoding="utf-8")
    for kind, entry in entries().items():
        assert f"`hg.{kind}(" in page
        if entry.in_files:
            fields = ", ".join(f"`{name}`" for name in (*entry.needs, *entry.takes))
            option = f"{entry.option} {entry.metavar}".strip()
            assert f"| `{option}` | {fields}".rstrip() in page
