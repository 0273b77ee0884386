"""All public facts that a call lacks are named at once, with lines for a facts file that are right once filled in."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app

TABLE = pa.table({"age": [18.0, 93.0], "net pay": [7.5, 8.5], "sex": ["f", "secret"], "town": ["x", "y"], "y": [0, 1]})
FILLED_IN = {"LO, HI": "0, 100", "VALUE, VALUE": '"f", "m"', "RELATION": "add-remove"}
# The four kinds of facts of a mean by groups: code, in Python, in the shell, and the words of a refusal.
KINDS: dict[str, tuple[str, dict[str, Any], list[str], str]] = {
    "relation": ("HG103", {"relation": "add-remove"}, ["--relation", "add-remove"], "relation`"),
    "epsilon": ("HG101", {"epsilon": 1.0}, ["--epsilon", "1"], "epsilon`"),
    "bounds": ("HG104", {"bounds": (0, 100)}, [], "no bounds of 'age'"),
    "categories": ("HG111", {"by": {"sex": ["f", "m"]}}, [], "no categories of 'sex'"),
}
SUBSETS = [*chain.from_iterable(combinations(KINDS, size) for size in range(1, 5))]
EVERY_QUESTION: dict[str, Callable[[hg.Survey], Any]] = {
    "plan": lambda s: s.plan(hg.count()),
    "release": lambda s: s.release(hg.count()),
    "a shorthand": lambda s: s.mean("age"),
    "bootstrap-dp": lambda s: s.release(hg.mean("age", step=1), guarantee="bootstrap-dp"),
    "a table": lambda s: s.contingency_table(by=["sex"]),
    "a table with bounds by cell": lambda s: s.magnitude_table("age", by=["sex"], cell_bounds={}),
    "a table under bootstrap-dp": lambda s: s.magnitude_table("age", by=["sex"], guarantee="bootstrap-dp"),
    "margins": lambda s: s.margins(by=["sex", "town"]),
    "a plan of margins": lambda s: s.plan_margins(by=["sex", "town"]),
    "a regression": lambda s: s.ols("age", ["net pay"]),
    "a logit": lambda s: s.logit("y", ["net pay"]),
    "a search for bounds": lambda s: s.find_bounds("age"),
    "a search for a limit": lambda s: s.find_bounds("age", of="rows"),
    "a search for categories": lambda s: s.find_categories("sex"),
}

LACKING: dict[str, tuple[str, Callable[[hg.Survey], Any], set[str]]] = {
    "two means": (
        "HG104",
        lambda s: s.plan([hg.mean("age"), hg.quantile("net pay", 0.5)], epsilon=1.0),
        {"age", "net pay"},
    ),
    "a mean by two groups": (
        "HG104",
        lambda s: s.release(hg.mean("age"), by=["sex", "town"], epsilon=1.0),
        {"age", "sex", "town"},
    ),
    "a count by two groups": (
        "HG111",
        lambda s: s.count(by={"sex": None, "town": None, "y": [0, 1]}, epsilon=1.0),
        {"sex", "town"},
    ),
    "a table": ("HG104", lambda s: s.magnitude_table("net pay", by=["sex"], epsilon=1.0), {"net pay", "sex"}),
    "a ratio": ("HG104", lambda s: s.ratio("age", "net pay", epsilon=1.0), {"age", "net pay"}),
    "a regression": ("HG111", lambda s: s.ols("age", ["net pay", "C(sex)"], epsilon=1.0), {"age", "net pay", "sex"}),
    "a logit": ("HG111", lambda s: s.logit("y", ["net pay", "C(town)"], epsilon=1.0), {"net pay", "town"}),
}


def lines(remedy: str) -> str:
    return remedy.partition("\n")[2]


@pytest.mark.parametrize("case", LACKING)
def test_all_are_named_and_the_lines_work_once_filled_in(case: str, tmp_path: Path) -> None:
    code, ask, columns = LACKING[case]
    messages = []
    # Two neighbours: the lines never hold a value.
    for table in (TABLE, TABLE.slice(0, 1)):
        with pytest.raises(hg.ParameterError) as refused:
            ask(hg.open(table, relation="add-remove"))
        messages.append(str(refused.value))
    assert refused.value.code == code
    assert len(set(messages)) == 1 and "secret" not in messages[0]
    assert all(repr(column) in refused.value.finding for column in columns)
    text = lines(refused.value.remedy)
    assert messages[0].endswith(text)
    facts = tmp_path / "hedgerow.toml"
    facts.write_text(text)
    with pytest.raises(hg.FactsError, match="HG701"):
        hg.Facts.read(facts)
    facts.write_text(filled_in(text))
    declared = hg.Facts.read(facts)
    assert set(declared.columns) == columns
    ask(hg.open(TABLE, declared, relation="add-remove"))


def filled_in(text: str) -> str:
    for words, values in FILLED_IN.items():
        text = text.replace(words, values)
    return text


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("age,sex\n" + "18,f\n93,secret\n" * 20)
    return tmp_path


def check_finding(finding: str, missing: tuple[str, ...]) -> None:
    """Check that a refusal names what is missing and nothing else."""
    assert tuple(kind for kind, (_, _, _, words) in KINDS.items() if words in finding) == missing


@pytest.mark.parametrize("missing", SUBSETS, ids=" ".join)
def test_one_refusal_in_python_names_all_and_its_lines_are_enough(missing: tuple[str, ...], people: Path) -> None:
    given: dict[str, Any] = {"by": "sex"}
    for kind in [kind for kind in KINDS if kind not in missing]:
        given |= KINDS[kind][1]
    opening = {"relation": given.pop("relation")} if "relation" in given else {}

    with pytest.raises(hg.ParameterError) as refused:
        hg.open("people.csv", **opening).mean("age", **given)
    assert refused.value.code == next(code for kind, (code, *_) in KINDS.items() if kind in missing)
    assert "secret" not in str(refused.value)
    if len(missing) > 1:
        check_finding(refused.value.finding, missing)
        assert ("epsilon=1.0 in the call" in refused.value.remedy) == ("epsilon" in missing)
        Path("hedgerow.toml").write_text(filled_in(lines(refused.value.remedy)))
        answer = hg.open("people.csv", "hedgerow.toml", **opening).mean("age", **{"epsilon": 1.0, **given})
        assert len(answer) == 2


@pytest.mark.parametrize("missing", SUBSETS, ids=" ".join)
def test_one_refusal_in_the_shell_names_all_and_its_lines_are_enough(missing: tuple[str, ...], people: Path) -> None:
    asked = ["release", "people.csv", "--mean", "age" if "bounds" in missing else "age:0:100"]
    asked += ["--by", "sex" if "categories" in missing else "sex=f,m"]
    for kind in [kind for kind in KINDS if kind not in missing]:
        asked += KINDS[kind][2]
    refused = CliRunner().invoke(app, asked)
    assert refused.exit_code == 2 and refused.stdout == "" and "secret" not in refused.stderr
    assert refused.stderr.startswith(next(code for kind, (code, *_) in KINDS.items() if kind in missing))
    if len(missing) > 1:
        said, _, block = refused.stderr.partition("\n\n")
        check_finding(said.splitlines()[1], missing)
        Path("hedgerow.toml").write_text(filled_in(block.partition("\nMore: ")[0]))
        options = re.findall(r"--(?:epsilon [\d.]+(?= on)|facts [\w.]+)", said)
        answer = CliRunner().invoke(app, [*asked, *shlex.split(" ".join(options))])
        assert answer.exit_code == 0, answer.stderr


@pytest.mark.parametrize("question", EVERY_QUESTION)
def test_nothing_is_asked_without_a_relation(question: str, tmp_path: Path) -> None:
    ask, refusals = EVERY_QUESTION[question], []
    for table in (TABLE, TABLE.slice(0, 1)):
        survey = hg.open(table)
        assert survey.n is None and "no relation" in repr(survey)
        with pytest.raises(hg.ParameterError, match=r"HG103.*no `relation`.*no `epsilon`") as refused:
            ask(survey)
        refusals.append(str(refused.value))
    assert len(set(refusals)) == 1


def test_the_searches_that_a_refusal_proposes_run(people: Path) -> None:
    survey = hg.open("people.csv", relation="add-remove")
    with pytest.raises(hg.ParameterError, match="HG104") as refused:
        survey.mean("age", by="sex", epsilon=1.0)
    searches = re.findall(r"survey\.\w+\([^)]*\)", refused.value.remedy)
    assert [eval(search, {"survey": survey}).certificate.epsilon <= 0.5 for search in searches] == [True, True]
    asked = ["release", "people.csv", "--relation", "add-remove", "--mean", "age", "--by", "sex", "--epsilon", "1"]
    told = CliRunner().invoke(app, asked).stderr
    for search in re.findall(r"`hedgerow (find .*?)`", told):
        words = shlex.split(search.replace("SOURCE", "people.csv"))
        assert CliRunner().invoke(app, [*words, "--relation", "add-remove"]).exit_code == 0, search


@pytest.mark.parametrize(
    ("asked", "search"),
    [
        (lambda s: s.mean("net pay", epsilon=1.0), "hedgerow find bounds SOURCE 'net pay'"),
        (lambda s: s.count(by="sex", epsilon=1.0), "hedgerow find categories SOURCE sex"),
        (
            lambda s: s.ols("age", ["C(sex)"], bounds={"age": (0, 9)}, epsilon=1.0),
            "hedgerow find categories SOURCE sex",
        ),
    ],
)
def test_a_single_unknown_fact_can_be_searched_for(asked: Callable[[hg.Survey], Any], search: str) -> None:
    survey = hg.open(TABLE, relation="add-remove")
    with pytest.raises(hg.ParameterError, match=r"HG104|HG111") as refused:
        asked(survey)
    assert refused.value.shell is not None and search in refused.value.shell
    assert "bounds" not in refused.value.remedy.partition("List them")[2]


def test_what_the_facts_have_is_not_asked_for() -> None:
    known = hg.Facts(relation="add-remove", columns={"age": hg.ColumnFacts(bounds=(0, 100))})
    with pytest.raises(hg.ParameterError, match="HG111") as refused:
        hg.open(TABLE, known).release([hg.mean("age")], by=["sex", "town"], epsilon=1.0)
    assert "'age'" not in str(refused.value) and "bounds" not in lines(refused.value.remedy)


def test_one_column_may_lack_both() -> None:
    with pytest.raises(hg.ParameterError, match="HG104") as refused:
        hg.open(TABLE, relation="add-remove").mean("age", by=["age"], epsilon=1.0)
    assert lines(refused.value.remedy) == "\n[columns.age]\nbounds = [LO, HI]\ncategories = [VALUE, VALUE]"


def test_a_single_one_has_its_own_remedy() -> None:
    with pytest.raises(hg.ParameterError, match="HG104") as refused:
        hg.open(TABLE, relation="add-remove").mean("age", epsilon=1.0)
    assert "\n" not in str(refused.value)


def test_a_statistic_that_the_facts_forbid_is_refused_first() -> None:
    facts = hg.Facts(relation="add-remove", statistics=("count",))
    with pytest.raises(hg.ForbiddenError, match="HG704"):
        hg.open(TABLE, facts).release([hg.count(), hg.mean("age")], by=["sex"], epsilon=1.0)


def test_a_facts_file_nearby_is_named_before_the_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("hedgerow.toml").write_text("")
    with pytest.raises(hg.ParameterError) as refused:
        hg.open(TABLE, relation="add-remove").release([hg.mean("age"), hg.mean("net pay")], epsilon=1.0)
    text, _, rest = refused.value.remedy.partition("\n")
    assert "There is a hedgerow.toml" in text
    assert rest == '\n[columns.age]\nbounds = [LO, HI]\n\n[columns."net pay"]\nbounds = [LO, HI]'


def test_the_command_line_prints_the_lines_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("a.b,sex\n18,f\n93,m\n")
    asked = ["--relation=add-remove", "--mean=a.b", "--by=sex", "--epsilon=1"]
    told = CliRunner().invoke(app, ["release", str(tmp_path / "people.csv"), *asked])
    assert told.exit_code == 2
    assert '[columns."a.b"]\nbounds = [LO, HI]\n\n[columns.sex]\ncategories = [VALUE, VALUE]\nMore:' in told.stderr
