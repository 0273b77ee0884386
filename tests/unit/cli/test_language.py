"""A refusal speaks the language of where it appears: options in the shell, keywords in Python; JSON under --json."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer.main
from typer.testing import CliRunner

import hedgerow
from hedgerow.cli.main import app
from hedgerow.cli.terminal import OPTIONS, in_shell
from hedgerow.interrupts import interrupted, nothing_is_spent, price_is_spent, speak_json

SOURCE = Path(hedgerow.__file__).parent
# Keywords with values, module and survey names, calls.
PYTHON = re.compile(r"""(?<![\w:,=-])\w+=[\["'{(\w]|\bhg\.|\bsurvey\.|\b\w+\(["'\w]*\)|: \{|\["|=(?:True|None)\b""")
SHELL = re.compile(r"(?<![\w-])--[a-z]")
# What no command can reach: studies, pictures, numbers after a release, what takes a user's own objects.
IN_PYTHON_ONLY = (
    "accounting/poisson_mixtures.py",
    "inference/joint/",
    "mechanisms/laws.py",
    "release/cells/printed_numbers.py",
    "release/cells/margins.py",
    "release/publication/shared.py",
    "release/readings/reconciliation.py",
    "release/readings/screening.py",
    "release/publication/formats/pictures.py",
    "regression/model_table.py",
    "resampling/replicates.py",
    "tables/bootstrap_table.py",
    "release/bootstrap_dp/bootstrap_numbers.py",
    "release/bootstrap_dp/sensitivity.py",
    "testing",
    # Arrays of predictions and metrics of one's own; a command reads files.
    *("testset/metric.py", "testset/predictions.py"),
    # Estimators and predicates are objects, and have no file.
    *("multicalibration/estimator.py", "multicalibration/model_file.py"),
    *("multicalibration/base_model.py", "multicalibration/calibrated_model.py"),
)


@cache
def parsed() -> list[tuple[str, list[ast.AST]]]:
    """Return every file of the source, by name, with all nodes of its tree."""
    paths = SOURCE.rglob("*.py")
    return [
        (path.relative_to(SOURCE).as_posix(), list(ast.walk(ast.parse(path.read_text(encoding="utf-8")))))
        for path in paths
    ]


def literals() -> Iterator[tuple[str, str, str, bool]]:
    """Yield (file, part, text, whether the error has words of its own for the shell) of every error in the source."""
    for name, nodes in parsed():
        for node in nodes:
            if isinstance(node, ast.Call):
                parts = {one.arg: one.value for one in node.keywords}
                if "rule" in parts:
                    for part in ("rule", "finding", "remedy"):
                        if part in parts:
                            yield name, part, text_of(parts[part]), "shell" in parts


def text_of(node: ast.expr) -> str:
    match node:
        case ast.Constant():
            return str(node.value)
        case ast.JoinedStr():
            return "".join(text_of(one) for one in node.values)
        case ast.BinOp():
            return text_of(node.left) + text_of(node.right)
        case ast.IfExp():
            return f"{text_of(node.body)} {text_of(node.orelse)}"
    return "VALUE"


def shown(text: str) -> str:
    """Return a text of the command line without its options and their values."""
    return re.sub(r"--[\w-]+ [^\s,;]+|`[^`]*`|\bCOL=\S+", "", text)


def test_the_source_is_searched() -> None:
    assert len(list(literals())) > 800
    assert PYTHON.search('Try noise="laplace".') and PYTHON.search("hg.mean") and SHELL.search("Try --epsilon 1.")
    assert not PYTHON.search(shown("For example --by sex=0,1."))


def test_no_error_that_a_command_can_reach_shows_python() -> None:
    wrong = [
        (file, in_shell(text))
        for file, part, text, own in literals()
        if not file.startswith(tuple(IN_PYTHON_ONLY))
        and not (own and part == "remedy")
        and PYTHON.search(shown(in_shell(text)))
        # Names of parameters that are filled in when it is raised.
        and "VALUE=" not in text
        and "in Python" not in text
    ]
    assert wrong == []


def sentences() -> Iterator[tuple[str, str]]:
    """Yield (file, text) of every sentence in the source: errors may take their words from constants and helpers."""
    for name, nodes in parsed():
        described = {
            id(node.body[0].value)
            for node in nodes
            if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef))
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        own = [node for node in nodes if isinstance(node, ast.Call) and any(k.arg == "shell" for k in node.keywords)]
        inside = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        inside |= {id(part) for call in own for part in ast.walk(call)} | described
        for node in nodes:
            if isinstance(node, (ast.Constant, ast.JoinedStr)) and id(node) not in inside:
                text = text_of(node)
                if text.endswith(".") and " " in text:
                    yield name, text


def test_no_sentence_in_a_constant_shows_python_either() -> None:
    # Each of these has words of its own for the shell beside it, or speaks of a frame.
    own = (
        *(
            "release/designs/guess.py",
            "tables/table_options.py",
            "statistics/",
            "engines/schema.py",
            "engines/reading.py",
            "margins/asked_margins.py",
            "facts/relation.py",
            "release/ask.py",
        ),
        # What is printed after a release, or said of a model: no refusal.
        *(
            "inference/bootstrap/calibrated_programme.py",
            "reports/",
            "demo.py",
            "facts/budget.py",
            "ledger/ledger_entry.py",
        ),
    )
    wrong = [
        (file, in_shell(text))
        for file, text in sentences()
        if not file.startswith((*IN_PYTHON_ONLY, *own))
        and PYTHON.search(shown(in_shell(text)))
        and "in Python" not in text
    ]
    assert wrong == []


def test_words_of_somebody_elses_are_printed_as_they_are() -> None:
    for text in (
        "bounds={1}",
        "bounds=(1, 2, 3)",
        "unit={}",
        "by=3",
        'unit={"column": 1}',
        "by={1, 2}",
        "bounds=…",
        "groups=3",
    ):
        assert in_shell(f"Found {text}.")


def test_no_error_of_python_shows_an_option() -> None:
    wrong = [
        (file, text)
        for file, _, text, _ in literals()
        if not file.startswith("cli/") and SHELL.search(re.sub(r"`hedgerow [^`]*`", "", text))
    ]
    assert wrong == []


def test_every_option_that_a_refusal_may_name_exists() -> None:
    def options(command: Any) -> set[str]:
        found = {one for parameter in command.params for one in parameter.opts}
        return found.union(*(options(one) for one in getattr(command, "commands", {}).values()))

    assert set(OPTIONS.values()) <= options(typer.main.get_command(app))


RELEASE = "release s.csv --relation replace-one"
TABLE = "table s.csv --relation replace-one --by sex=0,1 --epsilon 1"
TESTSET = "testset create s.csv --ledger t --label sex --relation replace-one"
REFUSALS = {
    "no relation": "release s.csv --mean age:0:100:1 --epsilon 1",
    "wrong relation": "release s.csv --relation both --mean age:0:100:1 --epsilon 1",
    "no epsilon": f"{RELEASE} --mean age:0:100:1",
    "epsilon": f"{RELEASE} --mean age:0:100:1 --epsilon 0",
    "epsilon too large": f"{RELEASE} --mean age:0:100:1 --epsilon 1e9",
    "delta": f"{RELEASE} --mean age:0:100:1 --epsilon 1 --delta 2",
    "small delta": f"{RELEASE} --mean age:0:100:1 --epsilon 1 --delta 1e-13",
    "no bounds": f"{RELEASE} --mean age --epsilon 1",
    "bounds": f"{RELEASE} --mean age:100:0 --epsilon 1",
    "step": f"{RELEASE} --mean age:0:100:7 --epsilon 1",
    "column": f"{RELEASE} --mean agge:0:100:1 --epsilon 1",
    "a mean of booleans": "release b.parquet --relation replace-one --mean t:0:1 --epsilon 1",
    "no categories": f"{RELEASE} --count --by sex --epsilon 1",
    "empty categories": f"{RELEASE} --count --by sex= --epsilon 1",
    "nothing": f"{RELEASE} --epsilon 1",
    "share": f"{RELEASE} --mean age:0:100:1 --count --share 1 --epsilon 1",
    "pure gaussian": f"{RELEASE} --count --by sex=0,1 --noise gaussian --delta 0 --epsilon 1",
    "method": f"{RELEASE} --mean age:0:100:1 --estimator best --epsilon 1",
    "method of a count": f"{RELEASE} --count --by sex=0,1 --estimator moments --epsilon 1",
    "bootstrap only": f"{RELEASE} --mean age:0:100:1 --n-resamples 5 --epsilon 1",
    "interval only": f"{RELEASE} --mean age:0:100:1 --interval calibrated --epsilon 1",
    "replicates": f"{RELEASE} --mean age:0:100:1 --estimator bootstrap --n-resamples 1 --epsilon 1",
    "noise": f"{RELEASE} --mean age:0:100:1 --noise loud --epsilon 1",
    "draws": f"{RELEASE} --mean age:0:100:1 --n-draws 3 --epsilon 1",
    "missing": f"{RELEASE} --mean age:0:100:1 --missing zero --epsilon 1",
    "midpoint": f"{RELEASE} --proportion sex=1 --missing midpoint --epsilon 1",
    "level": f"{RELEASE} --mean age:0:100:1 --epsilon 1 --level 95",
    "target": f"{RELEASE} --mean age:0:100:1 --epsilon 1 --target us",
    "unit": f"{RELEASE} --mean age:0:100:1 --epsilon 1 --unit person",
    "large unit": f"{RELEASE} --mean age:0:100:1 --epsilon 1 --unit id:4000",
    "no unit column": f"{RELEASE} --mean age:0:100:1 --epsilon 1 --unit who:4",
    "table of a file": f"{RELEASE} --mean age:0:100:1 --epsilon 1 --table t",
    "no file": "release t.csv --relation replace-one --mean age:0:100:1 --epsilon 1",
    "no source": "release --mean age:0:100:1 --epsilon 1",
    "no ledger": f"{RELEASE} --mean age:0:100:1 --epsilon 1 --ledger none",
    "over the ledger": f"{RELEASE} --mean age:0:100:1 --epsilon 3 --ledger l",
    "misspelt option": f"{RELEASE} --mean age:0:100:1 --epsilom 1",
    "two verbs": "relase s.csv",
    "table without groups": "table s.csv --relation replace-one --count --epsilon 1",
    "table method": f"{TABLE} --count --sensitivity best",
    "per cell": f"{TABLE} --total age:0:100:1 --sensitivity per-cell",
    "table guarantee": f"{TABLE} --count --guarantee all",
    "bootstrap-dp delta": f"{TABLE} --count --guarantee bootstrap-dp --delta 1e-6",
    "bootstrap-dp relation": f"{TABLE} --relation add-remove --count --guarantee bootstrap-dp",
    "bounds by cell": f"{TABLE} --total age:0:100:1 --cell-bounds 7:0:50",
    "bounds of a count": f"{TABLE} --count --cell-bounds 0:0:50",
    "both": f"{TABLE}",
    "guess": "plan s.csv --relation replace-one --mean age:0:100:1 --epsilon 1 --guess age:sd=900",
    "plan without n": "plan --relation replace-one --mean age:0:100:1 --epsilon 1",
    "price": "price --mechanism loud --relation replace-one --epsilon 1",
    "price without size": "price --mechanism gaussian --relation replace-one",
    "price of pure": "price --mechanism gaussian --relation replace-one --epsilon 1 --delta 0",
    "audit": "audit --mechanism loud --relation replace-one --epsilon 1",
    "multicalibrate": "multicalibrate s.csv --label sex --score p --groups sex --epsilon 1 --out m.json",
    "mechanism": "multicalibrate s.csv --label sex --score p --epsilon 1 --out m.json --mechanism magic",
    "score column": "multicalibrate s.csv --label sex --score pp --epsilon 1 --out m.json --relation replace-one",
    "looks": f"{TESTSET} --labels 0,1 --epsilon 1",
    "metric": f"{TESTSET} --metric f7 --epsilon 1 --looks 3",
    "brier": f"{TESTSET} --metric brier --epsilon 1 --looks 3",
    "no labels": f"{TESTSET} --epsilon 1 --looks 3",
    "test mechanism": f"{TESTSET} --labels 0,1 --mechanism magic --epsilon 1 --looks 3",
    "test set": "testset score s.csv --ledger none",
    "ledger": "ledger create l2",
    "ledger twice": "ledger create l --dataset d --epsilon 1 --relation replace-one",
    "verify": "verify s.csv",
    "explain": "explain HG999",
    "facts": f"{RELEASE} --facts s.csv --epsilon 1",
    "missing bounds of a request": "release --facts f.toml --request median",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = "".join(f"{20 + place % 60},{place % 2},{(place % 10) / 10},{place // 2}\n" for place in range(1000))
    (tmp_path / "s.csv").write_text("age,sex,p,id\n" + rows)
    pq.write_table(pa.table({"t": [True, False] * 50}), tmp_path / "b.parquet")
    (tmp_path / "f.toml").write_text(
        'relation = "replace-one"\n[data]\npath = "s.csv"\n[[release]]\nname = "median"\nepsilon = 1\n'
        'statistics = [{statistic = "quantile", column = "age", probability = 0.5}]\n'
    )
    monkeypatch.chdir(tmp_path)
    command("ledger create l --dataset d --epsilon 2 --delta 1e-5 --relation replace-one")
    return tmp_path


def command(text: str) -> Any:
    return CliRunner().invoke(app, shlex.split(text))


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_of_a_command_shows_no_python_and_is_json_under_json(name: str, folder: Path) -> None:
    result = command(REFUSALS[name])
    assert result.exit_code != 0 and result.stdout == "", name
    assert not PYTHON.search(shown(result.stderr)), result.stderr
    assert not re.search(r'"\w', result.stderr), result.stderr
    if "--json" not in REFUSALS[name]:
        again = command(f"{REFUSALS[name]} --json")
        assert (again.exit_code, again.stdout) == (result.exit_code, "")
        told = [json.loads(line) for line in again.stderr.splitlines()]
        assert [list(one) for one in told] == [["error"]]
        assert list(told[0]["error"]) == ["code", "rule", "finding", "remedy", "exit"]
        assert told[0]["error"]["exit"] == result.exit_code


def test_what_stays_spent_is_json_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("a cell")

    monkeypatch.setattr("hedgerow.release.publication.folder.ReleaseFolder.write", fails)
    result = command(f"{RELEASE} --mean age:0:100:1 --epsilon 1 --out o --json")
    told = json.loads(result.stderr)["error"]
    assert (result.exit_code, told["exit"], told["code"]) == (6, 6, "HG604")
    # What was paid for is printed all the same.
    assert json.loads(result.stdout)["estimates"]


def test_warnings_and_notes_are_lines_of_json(folder: Path) -> None:
    words = command(f"{RELEASE} --mean age:0:100:1 --epsilon 1 --delta 0.01")
    assert words.stderr.startswith("Warning: delta=0.01 exceeds 1/n") and words.stderr.count("\n") == 1
    result = command(f"{RELEASE} --mean age:0:100:1 --epsilon 1 --delta 0.01 --json")
    (told,) = [json.loads(line) for line in result.stderr.splitlines()]
    assert list(told) == ["warning"] and told["warning"].startswith("delta=0.01 exceeds 1/n")
    assert command(f"{RELEASE} --epsilon 1").stderr.startswith("HG112: "), "words again in the next command"


def test_every_warning_of_hedgerow_has_its_one_category(folder: Path) -> None:
    calls = [
        node
        for _, nodes in parsed()
        for node in nodes
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("warn")
    ]
    # An old name is a DeprecationWarning, as Python's own are.
    known = ("HedgerowWarning", "DeprecationWarning")
    assert calls and all(any(one in ast.unparse(call) for one in known) for call in calls)
    assert command(f"{TESTSET} --labels 0,1 --epsilon 1 --looks 3 --delta 0.05").stderr.startswith(
        "Warning: delta=0.05 "
    )


def test_an_interruption_is_words_or_json() -> None:
    nothing_is_spent()
    speak_json(False)
    assert interrupted(130) == "Interrupted: no price was reserved, so nothing was spent."
    speak_json(True)
    try:
        unspent = json.loads(interrupted(130))["error"]
        price_is_spent()
        spent = json.loads(interrupted(143))["error"]
    finally:
        speak_json(False)
        nothing_is_spent()
    assert (unspent["code"], unspent["exit"]) == (None, 130) and "nothing was spent" in unspent["finding"]
    assert (spent["code"], spent["exit"]) == ("HG605", 143)
