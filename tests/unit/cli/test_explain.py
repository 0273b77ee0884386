"""The registry of error codes and the source hold each other to account."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import hedgerow
from hedgerow.cli.main import app
from hedgerow.cli.verbs.learning import load_registry, page
from hedgerow.errors import ParameterError

SOURCE = Path(hedgerow.__file__).parent
REPRODUCTION = Path(__file__).parents[3] / "reproduction"
REGISTRY = load_registry()
PARTS = ("title", "meaning", "why", "mend", "example")


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["explain", *arguments])


def codes_in(text: str) -> set[str]:
    """Codes as whole string literals: raised, not merely named in a docstring."""
    literals = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
    return {
        code
        for code in literals
        if isinstance(code, str) and code[:2] == "HG" and code[2:].isdigit() and len(code) == 5
    }


def test_every_code_in_the_source_has_a_page_and_every_page_a_code() -> None:
    files = [*SOURCE.rglob("*.py"), *REPRODUCTION.rglob("*.py")]
    raised = set().union(*(codes_in(path.read_text(encoding="utf-8")) for path in files))
    assert raised - set(REGISTRY) == set(), "raised, without a page"
    assert set(REGISTRY) - raised == set(), "a page, never raised"


def test_the_search_for_codes_finds_one() -> None:
    assert codes_in('"""HG104 is only named here."""\nraise ParameterError("HG105", rule="HG1 is none")') == {"HG105"}


@pytest.mark.parametrize("code", REGISTRY)
def test_every_page_is_whole(code: str) -> None:
    assert tuple(REGISTRY[code]) == PARTS
    assert all(len(REGISTRY[code][part]) > 5 for part in PARTS)
    assert not REGISTRY[code]["title"].endswith(".")
    assert all(REGISTRY[code][part].endswith(".") for part in ("meaning", "why", "mend"))
    banned = ("anonymous", "safe")
    assert not any(word in " ".join(REGISTRY[code].values()).lower() for word in banned)


def test_explain_prints_the_page_of_a_code_however_it_is_written() -> None:
    shown = run("HG104")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout == page("HG104", REGISTRY) + "\n"
    assert shown.stdout.startswith("HG104: ") and "--mean age:0:100:1" in shown.stdout
    assert run("hg104").stdout == run("104").stdout == shown.stdout


def test_explain_alone_lists_all_codes() -> None:
    assert [line[:5] for line in run().stdout.splitlines()] == list(REGISTRY)


@pytest.mark.parametrize("word", ["epsilon", "Epsilon", "ε"])
def test_explain_says_what_epsilon_is(word: str) -> None:
    shown = run(word)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert "ε = 1     at most 74 %" in shown.stdout and "ε = 10    at most 99.996 %" in shown.stdout


@pytest.mark.parametrize("code", ["HG999", "nonsense", ""])
def test_an_unknown_code_is_refused(code: str) -> None:
    result = run(code)
    assert (result.exit_code, result.stdout) == (2, "") and result.stderr.startswith("HG116: ")
    with pytest.raises(ParameterError):
        page(code, REGISTRY)
