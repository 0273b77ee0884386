"""Searches as releases: priced, recorded, replayed, refused before anything is read, and of use where facts are."""

import copy
import dataclasses
import html
import json
import tomllib

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.engines.query import ColumnQuery
from hedgerow.engines.source import open_source
from hedgerow.facts.budget import Budget
from hedgerow.facts.declared import Facts
from hedgerow.facts.relation import Relation
from hedgerow.facts.written import column_lines, with_column
from hedgerow.find.found import found_from_record
from hedgerow.find.search import BoundsSearch, CategoriesSearch, Place
from hedgerow.ledger.store import Ledger
from hedgerow.reports.answer_pages import found_html
from hedgerow.reports.verify.verification import verify_record
from hedgerow.resampling.counted_values import Histogram
from hedgerow.testing.simulated import SimulatedNoise

RNG = np.random.default_rng(11)
PEOPLE = pd.DataFrame(
    {
        "income": np.round(RNG.lognormal(10.0, 0.7, 4_000)),
        "job": RNG.choice(["nurse", "clerk", "smith", "other"], 4_000, p=[0.5, 0.3, 0.19, 0.01]),
        "code": RNG.integers(0, 4, 4_000),
    }
)
PEOPLE.loc[:5, "income"] = np.nan
PEOPLE["job"] = PEOPLE["job"].astype("string")
SOURCE = pl.from_pandas(PEOPLE)  # which cuts a column into cells faster than pandas does


@pytest.fixture
def survey():
    return hg.open(SOURCE, relation="replace-one")


def test_what_is_found_goes_where_facts_are(survey):
    bounds, jobs = survey.find_bounds("income", epsilon=1.0), survey.find_categories("job", epsilon=1.0)
    low, high = bounds.bounds
    assert low <= 5_000 and 60_000 <= high <= 500_000
    assert {"clerk", "nurse", "smith"} <= set(jobs.values) and list(jobs.values) == sorted(jobs.values)
    assert bounds.certificate.epsilon <= 1.0 and bounds.certificate.delta == 0.0
    assert jobs.certificate.epsilon <= 1.0 and jobs.certificate.delta == 1e-6
    facts = Facts(relation="replace-one").with_column("income", **bounds.facts(), source=bounds.source)
    described = hg.open(SOURCE, facts.with_column("job", **jobs.facts(), source=jobs.source))
    release = described.release([hg.mean("income")], by=["job"], epsilon=5.0)
    assert len(release) == len(jobs.values) + ("other" not in jobs.values)
    assert not any("no source" in one for one in release.certificate.assumptions)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_the_record_holds_verifies_and_a_changed_one_does_not(relation):
    opened = hg.open(SOURCE, relation=relation)
    for found in (opened.find_bounds("income", epsilon=0.5), opened.find_categories("code", epsilon=0.5)):
        record = json.loads(found.to_json())
        assert found_from_record(found.to_json()) == found
        assert record["release"]["n"] == (4_000 if relation == "replace-one" else None) and record["release"]["date"]
        assert verify_record(record).holds
        assert verify_record(found_html(found).partition('id="record">')[2] and record).holds
        for change in (
            lambda r: r["found"]["noisy_counts"].append(3),
            lambda r: r["found"].update(bounds=[0, 7.25], values=[1]),
            lambda r: r["release"].update(n=5, relation="add-remove"),
            lambda r: r["certificate"].update(epsilon=0.1),
        ):
            altered = copy.deepcopy(record)
            change(altered)
            assert not verify_record(altered).holds


def test_a_ledger_pays_for_a_search_and_answers_it_again(tmp_path):
    path = tmp_path / "kept.ledger"
    Ledger.create(path, dataset="people", budget=Budget(1.0, 1e-6), relation=Relation.REPLACE_ONE, unit="row").close()
    survey = hg.open(SOURCE, relation="replace-one", ledger=path)
    first = survey.find_bounds("income", epsilon=0.4, request_id="a")
    again = survey.find_bounds("income", epsilon=0.4, request_id="a")
    assert again == first and again.replayed and not first.replayed and first.ledger_head
    assert survey.budget.spent == pytest.approx(0.4, abs=1e-3)
    jobs = survey.find_categories("job", epsilon=0.4, delta=1e-7, request_id="b")
    assert survey.find_categories("job", epsilon=0.4, delta=1e-7, request_id="b") == jobs
    with pytest.raises(hg.LedgerError, match="HG3"):
        survey.find_categories("job", epsilon=0.4, delta=1e-7, request_id="a")
    with pytest.raises(hg.BudgetExceeded, match="HG310"):
        survey.find_bounds("income", epsilon=0.4)


class Unread:
    """A source whose values nobody may read."""

    def __init__(self, source):
        self.name, self.columns, self.check = source.name, source.columns, source.check
        self.check_column, self.count_rows = source.check_column, source.count_rows

    def histogram(self, query):
        raise AssertionError("a value was read")

    values = sums = histogram


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        (lambda s: s.find_bounds("income", epsilon=0), "HG101"),
        (lambda s: s.find_bounds("income"), "HG101.*no default"),
        (lambda s: s.find_categories("job"), "HG101.*no default"),
        (lambda s: s.find_bounds("income", epsilon=1.0, share=1.0), "HG145"),
        (lambda s: s.find_bounds("income", epsilon=1.0, share="a"), "HG145"),
        (lambda s: s.find_bounds("income", epsilon=1.0, around=1e15), "HG145"),
        (lambda s: s.find_bounds("income", epsilon=1.0, around=float("nan")), "HG145"),
        (lambda s: s.find_bounds("nobody", epsilon=1.0), "HG203"),
        (lambda s: s.find_bounds("job", epsilon=1.0), "HG204"),
        (lambda s: s.find_bounds("income", epsilon=1.0, shares=0.9), "HG126"),
        (lambda s: s.find_bounds("income", epsilon=1.0, where="code >"), "HG131.*character 7"),
        (lambda s: s.find_bounds("income", epsilon=1.0, where="nobody > 2"), "HG203"),
        (lambda s: s.find_bounds(hg.column("income / job"), epsilon=1.0), "HG204"),
        (lambda s: s.find_categories("job", epsilon=1.0, where="job > 2"), "HG111"),
        (lambda s: s.find_categories(hg.column("code / nobody"), epsilon=1.0), "HG203"),
        (lambda s: s.find_categories("nobody", epsilon=1.0), "HG203"),
        (lambda s: s.find_categories("job", epsilon=1.0, delta=0), "HG401"),
        (lambda s: s.find_categories("job", epsilon=1.0, delta=2), "HG102"),
    ],
)
def test_what_cannot_be_is_refused_before_a_value_is_read(survey, ask, code):
    with pytest.raises(hg.HedgerowError, match=code):
        ask(dataclasses.replace(survey, source=Unread(survey.source)))


def test_units_of_several_rows_and_facts_that_list_statistics_are_refused(survey):
    with pytest.raises(hg.UncertifiedError, match="HG402"):
        hg.open(SOURCE, relation="replace-one", unit={"column": "code", "max_rows": 2}).find_categories(
            "job", epsilon=1.0
        )
    with pytest.raises(hg.ForbiddenError, match="HG704"):
        hg.open(SOURCE, Facts(relation="add-remove", statistics=("mean",))).find_categories("job", epsilon=1.0)
    with pytest.raises(hg.BudgetExceeded, match="HG706"):
        hg.open(SOURCE, Facts(relation="add-remove", budget=Budget(0.5))).find_bounds("income", epsilon=1.0)


def test_only_records_that_are_selected_are_looked_at(tmp_path):
    path = tmp_path / "kept.ledger"
    Ledger.create(path, dataset="people", budget=Budget(9.0, 1e-5), relation=Relation.REPLACE_ONE, unit="row").close()
    survey = hg.open(SOURCE, relation="replace-one", ledger=path)
    bounds = survey.find_bounds("income", epsilon=1.0, where="income < 20000", request_id="a")
    jobs = survey.find_categories("job", epsilon=1.0, where="code in [0, 1] and job != 'nurse'", request_id="b")
    assert bounds.bounds[1] <= 20_000 and "nurse" not in jobs.values and "clerk" in jobs.values
    for found in (bounds, jobs):
        record = json.loads(found.to_json())
        assert record["release"]["where"] == found.where and verify_record(record).holds
        assert f"Only records where {found.where} count" in str(found) and found.where in html.unescape(
            found_html(found)
        )
        assert f"where {found.where}" in found.source
    whole = survey.find_bounds("income", epsilon=1.0)
    assert whole.certificate.to_dict() == bounds.certificate.to_dict()  # the same price
    for other in ("income < 30000", None):
        with pytest.raises(hg.LedgerError, match="HG311"):
            survey.find_bounds("income", epsilon=1.0, where=other, request_id="a")


def test_bounds_of_a_computed_column_go_into_facts_with_its_expression(tmp_path):
    facts = Facts.from_dict({"relation": "replace-one", "columns": {"part": {"expression": "income / (code + 1)"}}})
    by_name = hg.open(SOURCE, facts).find_bounds("part", epsilon=1.0, where="part > 0")
    written = hg.open(SOURCE, relation="replace-one").find_bounds(hg.column("income / (code + 1)"), epsilon=1.0)
    for found, name in ((by_name, "part"), (written, "income / (code + 1)")):
        assert found.column == name and found.about["derived"] == {name: "income / (code + 1)"}
        assert tomllib.loads(found.to_toml())["columns"][name]["expression"] == "income / (code + 1)"
        declared = Facts(relation="replace-one").with_column(name, **found.facts(), source=found.source)
        assert len(hg.open(SOURCE, declared).mean(name, epsilon=1.0)) == 1
    text = '[columns.part]\nexpression = "income / (code + 1)"\n'
    assert "bounds" in with_column(text, "part", by_name.facts())
    with pytest.raises(hg.ParameterError, match="HG119"):
        with_column(text.replace("+ 1", "+ 2"), "part", by_name.facts())


def test_one_record_moves_two_noisy_counts_by_one():
    changed = PEOPLE.copy()
    changed.loc[10, ["income", "code"]] = [3e9, 2]
    search = BoundsSearch.of(Place("income"), Relation.REPLACE_ONE, epsilon=1.0)
    first, second = (
        search.draw(open_source(data), SimulatedNoise(4))["noisy_counts"]
        for data in map(pl.from_pandas, (PEOPLE, changed))
    )
    assert sorted(np.subtract(first, second)[np.not_equal(first, second)].tolist()) == [-1, 1]


def test_the_noisy_counts_of_cells_have_the_noise_that_is_priced():
    class Nobody:
        def histogram(self, query):
            return Histogram.from_triplets(*np.zeros((3, 0), dtype=np.int64), cells=query.cells)

    search = BoundsSearch.of(Place("income"), Relation.ADD_REMOVE, epsilon=0.2)
    drawn = [search.draw(Nobody(), SimulatedNoise(seed))["noisy_counts"] for seed in range(60)]
    alpha = np.exp(-1.0 / search.mechanism.scale)  # E|Z| = 2α/(1 − α²)
    assert np.mean(np.abs(drawn)) == pytest.approx(2.0 * alpha / (1.0 - alpha**2), rel=0.025)
    assert search.mechanism.scale == pytest.approx(5.0, rel=1e-3)


def test_a_category_of_a_hundred_records_is_found_and_one_of_few_is_not():
    search = CategoriesSearch.of(Place("job"), Relation.REPLACE_ONE, epsilon=0.5, delta=1e-6)
    frame = pd.DataFrame({"job": ["often"] * 100 + ["seldom"] * 10 + [f"single {i}" for i in range(200)]})
    source = open_source(frame.astype("string"))
    runs = [search.draw(source, SimulatedNoise(seed))["values"] for seed in range(60)]
    assert sum("often" in one for one in runs) >= 59 and sum(len(one) for one in runs) <= 61
    counts = np.full(20_000, 100)
    assert (search.mechanism.select(counts, SimulatedNoise(9)) == 0).mean() < 1e-3


def test_what_is_shown_does_not_depend_on_the_order_of_the_source():
    search = CategoriesSearch.of(Place("code"), Relation.ADD_REMOVE, epsilon=1.0, delta=1e-6)
    shuffled = PEOPLE.sample(frac=1.0, random_state=3)
    for data in (PEOPLE, shuffled, shuffled.assign(code=shuffled["code"] * 1.0)):
        found = search.draw(open_source(data), SimulatedNoise(1))
        assert found["values"] == [0, 1, 2, 3] and all(type(one) is int for one in found["values"])
    assert open_source(PEOPLE).values(ColumnQuery("code")).counts.sum() == 4_000


def test_without_records_nothing_is_found_and_that_is_an_answer():
    empty = hg.open(SOURCE.head(0), relation="add-remove")
    bounds, jobs = empty.find_bounds("income", epsilon=1.0), empty.find_categories("job", epsilon=1.0)
    assert bounds.bounds is None and bounds.facts() == {} and bounds.to_toml() == "" and "spent" in str(bounds)
    assert jobs.values == () and jobs.to_toml() == "" and verify_record(jobs.to_dict()).holds
    assert verify_record(bounds.to_dict()).holds and "No bounds" in found_html(bounds)


def run(*asked):
    return CliRunner().invoke(app, [str(one) for one in asked])


def test_the_command_line_finds_prints_and_writes(tmp_path):
    source, facts = tmp_path / "people.csv", tmp_path / "hedgerow.toml"
    PEOPLE.to_csv(source, index=False)
    facts.write_text(
        'relation = "add-remove"\n[data]\npath = "people.csv"\n\n[columns.income]\n# bounds = [ , ]\nmissing = "drop"\n'
    )
    found = run("find", "bounds", "income", "--facts", facts, "--epsilon", 1, "--write", facts, "--out", tmp_path / "o")
    assert found.exit_code == 0 and "bounds = [" in found.stdout
    assert (
        Facts.read(facts).column("income").missing == "drop" and Facts.read(facts).column("income").bounds is not None
    )
    for name in ("found.json", "certificate.json", "report.html"):
        assert run("verify", tmp_path / "o" / name).exit_code == 0
    again = run("find", "bounds", "income", "--facts", facts, "--epsilon", 1, "--write", facts)
    assert again.exit_code == 2 and "HG119" in again.stderr
    jobs = run("find", "categories", source, "job", "--relation", "add-remove", "--epsilon", 1, "--json")
    assert set(json.loads(jobs.stdout)["found"]["values"]) >= {"clerk", "nurse", "smith"}
    assert run("find", "categories", "job", "--facts", facts, "--epsilon", 1, "--write", facts).exit_code == 0
    assert run("release", "--facts", facts, "--mean", "income", "--by", "job", "--epsilon", 1).exit_code == 0
    assert run("find", "bounds", "income", "--epsilon", 1).exit_code == 2
    part = run("find", "bounds", "(income / (code + 1))", "--facts", facts, "--epsilon", 1, "--where", "code >= 2")
    assert part.exit_code == 0 and "expression = " in part.stdout and "Only records where code >= 2" in part.stdout
    missing = run("find", "bounds", "income", "--facts", facts, "--epsilon", 1, "--write", tmp_path / "none.toml")
    assert missing.exit_code == 2 and "HG119" in missing.stderr


def test_a_plan_counts_what_is_found_first(tmp_path):
    facts = tmp_path / "hedgerow.toml"
    facts.write_text('relation = "replace-one"\n[budget]\nepsilon = 1.0\n')
    first = ("--find-bounds", "income:0.3", "--find-categories", "job:0.2")
    alone = run("plan", "--facts", facts, *first)
    assert alone.exit_code == 0 and "income" in alone.stdout and "Declared ones cost nothing." in alone.stdout
    asked = ("--n", 4_000, "--mean", "income:0:200000", "--epsilon", 0.4, "--json")
    record, without = (json.loads(run("plan", "--facts", facts, *more, *asked).stdout) for more in (first, ()))
    assert [one["find"] for one in record["finds"]] == ["bounds", "categories"] and "finds" not in without
    together = record["budget"]["price_together"]
    assert 0.88 < together <= 0.9 and without["budget"]["price_together"] < 0.45
    assert not json.loads(run("plan", "--facts", facts, *first, *first, *asked).stdout)["budget"]["enough"]
    assert run("plan", "--facts", facts, "--find-bounds", "income").exit_code == 2
    source = tmp_path / "people.csv"
    PEOPLE.head(50).to_csv(source, index=False)
    declared = run("plan", source, "--relation", "replace-one", *first, "--count", "--epsilon", 0.4)
    assert declared.exit_code == 0 and "Together: ε ≤ 0.499" in declared.stdout
    unknown = run("plan", source, "--relation", "replace-one", "--find-bounds", "nobody:0.3")
    assert unknown.exit_code == 2 and "HG203" in unknown.stderr


@pytest.mark.parametrize("name", ["a\x1b[2J\u202eb", "\x7f", 'q"\\', "größe", "\U0001f600", "a\nb\ufeff"])
def test_a_category_keeps_its_signs_in_the_facts_and_steers_no_terminal(name):
    frame = pl.DataFrame({"x": [name] * 300 + ["b"] * 300})
    lines = hg.open(frame, relation="add-remove").find_categories("x", epsilon=2.0).to_toml()
    assert set(tomllib.loads(lines)["columns"]["x"]["categories"]) == {name, "b"}
    assert all(sign.isprintable() for sign in lines.replace("\n", ""))


def test_facts_are_added_and_nothing_that_is_there_is_lost():
    text = '# ours\n["columns"."a b"]\nstep = 1\n'
    assert with_column("", "age", {"bounds": [0, 1]}) == column_lines("age", {"bounds": [0, 1]})
    added = with_column('[columns."a b"] # kept\nsource = "book"\n', "a b", {"categories": ["x"], "source": "found"})
    assert added == '[columns."a b"] # kept\ncategories = ["x"]\nsource = "book"\n'
    assert with_column("[columns.age]", "age", {"bounds": [0, 1]}) == "[columns.age]\nbounds = [0, 1]\n"
    for given in (text, "columns = 3\n", "[columns.a]\nbounds = [0, 2]\n", "columns = { a = {} }\n", "= no toml"):
        with pytest.raises(hg.ParameterError, match="HG119"):
            with_column(given, "a b" if given == text else "a", {"bounds": [0, 1]})


EVIL = [b"", b"nan", b"1e999", b"-1e308", b"nor\xff", b"a\0b", b"x" * 10_000, b'"a\nb"', "\uffff6".encode()]


@pytest.mark.parametrize("last", EVIL, ids=lambda text: repr(text[:8]))
def test_no_value_of_a_record_changes_how_a_search_ends(tmp_path, last):
    path = tmp_path / "people.csv"
    path.write_bytes(b"id,x\n" + b"".join(b"%d,%d\n" % (row, row % 3) for row in range(300)) + b"301," + last + b"\n")
    for verb in ("bounds", "categories"):
        ran = run("find", verb, path, "x", "--relation", "add-remove", "--epsilon", 2)
        assert ran.exit_code == 0 and ran.stderr == ""
