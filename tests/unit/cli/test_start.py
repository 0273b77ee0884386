"""A command builds its verb alone, reads plain words itself, and leaves all others to typer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hedgerow.cli import main
from hedgerow.cli.main import app, app_of

PLAN = ["plan", "rows.csv", "--relation", "replace-one", "--mean", "age:0:100"]


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rows.csv").write_text("age\n" + "30\n50\n" * 100, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize(
    "given",
    [
        "--epsilon 1 --level .9",
        "--epsilon",
        "--epsilon +.5",
        "--epsilon 1_0",
        "--epsilon x",
        "--epsilon nan",
        "--n-draws 1.5",
        "--other",
    ],
)
def test_plain_words_are_taken_as_typer_takes_them(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = CliRunner().invoke(app_of(["plan"]), [*PLAN, *given.split()])
    monkeypatch.setattr(main, "_taken", lambda _, otherwise: otherwise)
    theirs = CliRunner().invoke(app_of(["plan"]), [*PLAN, *given.split()])
    assert (ours.exit_code, ours.output) == (theirs.exit_code, theirs.output)
    # Sabotage: a verb that takes every word as it is would not say what is wrong with a number.
    monkeypatch.setattr(main, "_taken", lambda *_: lambda _, word: word)
    if given == "--epsilon x":
        assert CliRunner().invoke(app_of(["plan"]), [*PLAN, *given.split()]).output != ours.output


@pytest.mark.usefixtures("rows")
def test_a_release_imports_neither_pydantic_nor_other_verbs() -> None:
    ask = ["hedgerow", "release", *PLAN[1:], "--epsilon", "1"]
    code = (
        f"import sys; sys.argv = {ask}\nfrom hedgerow.cli.main import main\ntry: main()\nexcept SystemExit as end: "
        "assert not end.code\nverbs = 'hedgerow.cli.verbs.'\nprint([one for one in sys.modules if one in "
        "('pydantic', 'scipy.special', 'matplotlib', 'hedgerow.regression.linear_model', "
        "'hedgerow.tables.release_table') "
        f"or (one.startswith(verbs) and one != {main.VERBS['release']!r})])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_one_verb_has_the_help_that_it_has_among_all() -> None:
    for verb in ("release", "ledger"):
        alone, among = (CliRunner().invoke(one, [verb, "--help"]).output for one in (app_of([verb]), app))
        assert alone == among


@pytest.mark.parametrize(("begin", "spared"), [("hedgerow.__main__", True), ("hedgerow.cli.main", False)])
def test_a_process_searches_for_no_garbage_when_it_ends(begin: str, *, spared: bool) -> None:
    """A search at the end goes through all modules; the sabotage begins below what spares it."""
    code = (
        "import atexit, gc, sys\nsys.argv = ['hedgerow', '--version']\n"
        # Registered first, so it is called last.
        "atexit.register(lambda: print(gc.isenabled(), gc.get_freeze_count() > 0))\n"
        f"from {begin} import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == f"True {spared}"


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize(("begin", "spared"), [("hedgerow.__main__", True), ("hedgerow.cli.main", False)])
def test_a_release_searches_for_no_garbage(begin: str, *, spared: bool) -> None:
    """A search goes through all imported modules; the sabotage begins below what spares it."""
    code = (
        f"import gc, sys\nsys.argv = {['hedgerow', 'release', *PLAN[1:], '--epsilon', '1']}\nfrom {begin} import main\n"
        "before = sum(each['collections'] for each in gc.get_stats())\n"
        "try: main()\nexcept SystemExit as end: assert not end.code\n"
        "print(sum(each['collections'] for each in gc.get_stats()) == before)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == f"{spared}"
