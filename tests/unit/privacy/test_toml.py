"""TOML is parsed in a time that grows with its length: a key that joins very many names is refused before."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NoReturn

import pytest

from hedgerow import Facts
from hedgerow.errors import FactsError
from hedgerow.inputs import why_kept
from hedgerow.toml import MOST_NAMES, LongKeyError, read_toml

DOTS = ".".join("a" * 400)
LONG = {
    "a key": f"{DOTS} = 1",
    "a table": f"[{DOTS}]",
    "an item of a list of tables": f"[[{DOTS}]]",
    "quoted names": " . ".join(["'a'", '"b.c"', "d"] * 9) + " = 1",
    "in braces": f"a = {{ b = 1, {DOTS} = 1 }}",
    "after a text": f'a = {{ b = "#", {DOTS} = 1 }}',
    "after a text that ends in a quote": f'a = {{ b = """c"""", {DOTS} = 1 }}',
    "after a text that ends in two quotes": f"a = {{ b = '''c''''', {DOTS} = 1 }}",
    "after an escaped quote": f'a = {{ b = "\\"", {DOTS} = "" }}',
    "after an escaped quote of several lines": f'z = """\n\\""" \\\\"""\n{DOTS} = 1',
    "after an apostrophe": f"z = '\\'\n{DOTS} = ''",
    "after a comment": f"z = 1 # '''\n{DOTS} = 1 # '''",
}
SHORT = {
    "a text": f'a = "{DOTS}"',
    "a literal text": f"a = '{DOTS}'",
    "texts of several lines": f"a = \"\"\"\n{DOTS}\"\"\"\nb = '''{DOTS}\n'''",
    "quotes in texts": f'a = """c""{DOTS}"""\nb = "\\"{DOTS}"\nc = \'"{DOTS}"\'',
    "a comment": f"a = 1 # {DOTS} = 1",
    "numbers": "a = [" + "1.5, " * 400 + "]",
    "many keys": "".join(f"columns.c{place}.step = 1\n" for place in range(400)),
    "as many names as there may be": ".".join("a" * MOST_NAMES) + " = 1",
}


@pytest.mark.parametrize("kind", LONG)
def test_a_key_of_very_many_names_is_not_parsed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tomllib.loads(LONG[kind])

    def parsed(text: str) -> NoReturn:
        raise AssertionError("it was parsed")

    monkeypatch.setattr(tomllib, "loads", parsed)
    with pytest.raises(LongKeyError):
        read_toml(LONG[kind])


@pytest.mark.parametrize("kind", SHORT)
def test_what_has_dots_and_no_such_key_is_read(kind: str) -> None:
    assert read_toml(SHORT[kind]) == tomllib.loads(SHORT[kind])


def test_a_facts_file_with_such_a_key_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, parsed = tmp_path / "hedgerow.toml", tomllib.loads
    file.write_text("a" + ".a" * 25_000 + " = 1")
    sizes: list[int] = []
    monkeypatch.setattr(tomllib, "loads", lambda text: sizes.append(len(text)) or parsed(text))
    with pytest.raises(FactsError, match="HG701") as caught:
        Facts.read(file)
    assert "more than 16 names" in caught.value.finding
    (tmp_path / "other.csv").write_text("a" + ".a" * 25_000 + " = 1")
    assert why_kept(tmp_path / "other.csv") is None and not sizes


def test_facts_of_very_many_columns_and_categories_are_read(tmp_path: Path) -> None:
    file, names = tmp_path / "hedgerow.toml", [f"c{place}" for place in range(5_000)]
    columns = "".join(f"columns.{name}.bounds = [0, 1]\n" for name in names)
    file.write_text(f"{columns}[columns.town]\ncategories = {[f'{name}.{DOTS}' for name in names]}\n")
    facts = Facts.read(file)
    assert len(facts.columns) == 5_001 and len(facts.column("town").categories or ()) == 5_000
