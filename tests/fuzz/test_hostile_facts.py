"""Facts files of any content: each is read, or refused with a code; in whichever way TOML lets the same be written.

The base holds every field that a facts file has. Its values are altered at every depth, written in one of the ways of
TOML's grammar, and the text is altered once more. What a file says is what a mapping of the same content says.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from tests.fuzz.edits import NAMES, Edit, Splice, edited, spliced
from tests.fuzz.inputs import counts, refusal, tried

from hedgerow.facts import facts_file
from hedgerow.facts.declared import Facts
from hedgerow.facts.facts_file import FactsFile, json_schema
from hedgerow.facts.written import with_column
from hedgerow.release.request import requested
from hedgerow.statistics.registry import entries

PLACES = st.integers(0, 2**24)
EDITS = st.lists(st.builds(Edit, st.sampled_from(NAMES), PLACES, PLACES), max_size=3)
SPLICES = st.lists(st.builds(Splice, PLACES, PLACES, PLACES), min_size=1, max_size=3)
STYLES = st.lists(st.integers(0, 5), min_size=1, max_size=8)
GRID = {"bounds": [0, 100], "step": 1}
GIVEN: dict[str, Any] = {
    "column": "age", "denominator": "pay", "second": "pay", "value": 1, "probability": 0.5, "bins": [0.0, 50.0, 100.0],
    "line": 30.0, "at": [0.25, 0.5], "time": "age", "event": "sex", "bounds": [0, 100], "step": 1,
}  # fmt: skip


def everything() -> dict[str, Any]:
    """Return the data of a facts file with each field and each statistic that a file may ask for."""
    asked = [
        {"statistic": kind, **{name: GIVEN[name] for name in (*entry.needs, *({"line", "at"} & {*entry.takes}))}}
        for kind, entry in entries().items()
        if entry.in_files
    ]
    release = {
        "name": "yearly", "statistics": asked, "by": ["sex"], "where": "age >= 25 and sex in [0, 1]",
        "weights": ["w", 8.0], "totals": {"sex": {"0": 12000, "1": 9000}}, "epsilon": 0.5, "delta": 1e-7,
        "estimator": "moments", "noise": "gaussian", "missing": "drop", "share": [1.0] * len(asked),
        "unit_weight": "rows",
    }  # fmt: skip
    second = {
        "statistics": [{"statistic": "mean", "column": "pay"}],
        "mu": 0.3,
        "n_resamples": 9,
        "interval": "unbiased",
    }
    return {
        "relation": "replace-one", "target": "population", "unit": {"column": "person", "max_rows": 4},
        "data": {"path": "people.duckdb", "table": "t"}, "budget": {"epsilon": 2.0, "delta": 1e-6},
        "ledger": "people.ledger", "statistics": [*entries()], "signatures": 2,
        "about": {"title": "A survey", "curators": ["An office"], "published": "2026-11-01", "sector": "Education"},
        "columns": {
            "age": {**GRID, "missing": "drop", "source": "codebook p. 12"},
            "pay": {"bounds": [0, 5000.5], "step": 0.5},
            "sex": {"categories": [0, 1], "labels": ["men", "women"], "other": True},
            "region": {"categories": ["N", "S"], "hierarchies": {"country": {"all": ["N", "S"]}}},
            "net income": {"expression": "pay / age", "bounds": [0, 100]},
            "band": {"bands": [0, 25, 45, 65]},
        },
        "release": [release, second],
    }  # fmt: skip


EVERYTHING = everything()


class NoTomlError(Exception):
    """TOML has no such value."""


def toml_of(value: Any, styles: Iterator[int]) -> str:
    """Return a value in one of the ways in which TOML writes it."""
    style = next(styles)
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{text_of(key, styles)} = {toml_of(inner, styles)}" for key, inner in value.items()) + "}"
        )
    if isinstance(value, list):
        between = (", ", ",", " ,\n # a note\n")[style % 3]
        return (
            "[" + between.join(toml_of(inner, styles) for inner in value) + ("," if style > 3 and value else "") + "]"
        )
    if isinstance(value, str):
        return text_of(value, iter([style]))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return (
            f"{value:#x}"
            if style == 1 and value >= 0
            else f"{value:_}"
            if style == 2
            else f"{value:+d}" * (style == 3) or str(value)
        )
    if isinstance(value, float):
        written = repr(value) if math.isfinite(value) else str(value)
        return written if style < 3 else written.upper().replace("INF", "inf").replace("NAN", "nan")
    raise NoTomlError


def text_of(text: str, styles: Iterator[int]) -> str:
    style = next(styles)
    plain = text.isprintable() and "'" not in text
    if style == 1 and plain:
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=style > 2)


def file_of(data: dict[str, Any], styles: Iterator[int]) -> str:
    """Return a file, its tables as headers, as dotted keys or inline."""
    lines, below = [], []
    for key, value in data.items():
        name, style = text_of(key, styles), next(styles)
        if isinstance(value, dict) and style < 2:
            below.append(f"[{name}]\n" + file_lines(value, styles))
        elif isinstance(value, dict) and value and style == 2:
            lines += [f"{name} . {text_of(inner, styles)} = {toml_of(part, styles)}" for inner, part in value.items()]
        elif isinstance(value, list) and value and style < 3 and all(isinstance(part, dict) for part in value):
            below += [f"[[{name}]]\n" + file_lines(part, styles) for part in value]
        else:
            lines.append(f"{name} = {toml_of(value, styles)}")
    return "\n".join([*lines, *below])


def file_lines(data: dict[str, Any], styles: Iterator[int]) -> str:
    return "".join(f"{text_of(key, styles)}\t=\t{toml_of(value, styles)}\r\n" for key, value in data.items())


def facts_of(path: Path) -> Any:
    facts = Facts.read(path)
    return facts, requested(facts)


def check_file(path: Path, drawn: tuple[list[Edit], list[int]]) -> None:
    """Check that a file says what a mapping says, and is refused for the same reason."""
    edits, styles = drawn
    data = edited(EVERYTHING, edits, [EVERYTHING])
    try:
        text = file_of(data, cycle(styles))
        path.write_text(text, encoding="utf-8", newline="")
        if repr(tomllib.loads(text)) != repr(data):
            raise NoTomlError  # more than 4,300 digits, a stray sign, a name that dots would join
    except (NoTomlError, ValueError, RecursionError):
        refusal(lambda: facts_of(path))
        return
    (read, refused), (told, because) = refusal(lambda: facts_of(path)), refusal(lambda: from_mapping(data, path.parent))
    assert refused == because and repr(read) == repr(told)


def from_mapping(data: dict[str, Any], folder: Path) -> Any:
    facts = Facts.from_dict(data, folder=folder)
    return facts, requested(facts)


@counts(150, 400_000)
def test_a_file_is_read_as_its_content_is_or_refused(count: int, tmp_path: Path) -> None:
    tried(count, st.tuples(EDITS, STYLES), partial(check_file, tmp_path / "hedgerow.toml"))


def check_text(path: Path, drawn: tuple[list[int], list[Splice]]) -> None:
    """Check that any bytes are read or refused, by those that read and by those that add a column."""
    styles, splices = drawn
    content = spliced(file_of(EVERYTHING, cycle(styles)).encode(), splices)
    path.write_bytes(content)
    refusal(lambda: facts_of(path))
    refusal(lambda: with_column(content.decode("utf-8", "replace"), "age", {"bounds": [0, 1]}))


@counts(150, 400_000)
def test_the_text_of_a_file_may_be_any_bytes(count: int, tmp_path: Path) -> None:
    tried(count, st.tuples(STYLES, SPLICES), partial(check_text, tmp_path / "hedgerow.toml"))


def test_the_base_has_every_field_and_is_read(tmp_path: Path) -> None:
    path = tmp_path / "hedgerow.toml"
    path.write_text(file_of(EVERYTHING, cycle([0])), encoding="utf-8")
    assert len(facts_of(path)[1]) == 2
    assert set(FactsFile.model_fields) == set(EVERYTHING)
    asked = {name for one in EVERYTHING["release"] for name in one} | {"rho", "n_draws"}
    assert set(json_schema()["$defs"]["RequestedInFacts"]["properties"]) == asked


def test_a_field_that_is_passed_over_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = facts_file.record_of_file
    monkeypatch.setattr(facts_file, "record_of_file", lambda path: read(path) | {"target": "file"})
    with pytest.raises(AssertionError):
        tried(50, st.tuples(EDITS, STYLES), partial(check_file, tmp_path / "hedgerow.toml"))
