"""A record that enters or leaves a part of the data changes nothing but the priced numbers, in any output.

Neighbours differ in one record: it enters the part, leaves it, changes within it, or stays outside. Every question is
put to the engine for both, and answered. Then what is paid for, the counts and sums of the cells, is taken from the
first of the two for both, and the noise is seeded. So everything that comes out must be equal to the last byte:
results, records, pages, warnings, refusals, what is printed, exit codes, files, and what a ledger keeps. What is not
paid for, as the number of records with missing values, stays that of each neighbour: were it told anywhere, the two
would differ.

A canary stands in every column of records outside the part, too: no exact count or sum may change because of it.
"""

from __future__ import annotations

import itertools
import json
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.engines import frames
from hedgerow.engines.exact_answers import FrameAnswers
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger
from hedgerow.reports.answer_pages import found_html
from hedgerow.reports.release_page import report_html
from hedgerow.resampling.counted_values import ValueCounts
from hedgerow.testing.simulated import SimulatedNoise

WHERE = "age >= 40 and region != 'South' and per_head > 1"
SCHEMA = pa.schema(
    {"age": pa.float64(), "income": pa.float64(), "household": pa.int64(), "region": pa.string(), "sex": pa.int64()}
)
INSIDE: dict[str, list[Any]] = {
    "age": [40.0, 64.999, 65.0, 1e12],
    "income": [1000.0, 0.5e3, 1e12, 7.25e3],
    "household": [1, 2, 3],
    "region": ["North", "East", "CANARY"],
    "sex": [0, 1, 7, None],
}
OUTSIDE: list[dict[str, Any]] = [
    {"age": 39.999},
    {"age": None},
    {"age": float("nan")},
    {"age": float("-inf")},
    {"region": "South"},
    {"region": None},
    {"household": 0},
    {"household": None},
    {"income": -1e308},
    {"income": None},
    {"age": 12.0, "region": "CANARY", "income": 8675309.0},
]
INCOME = {"bounds": (0, 10_000), "step": 10}
PER_HEAD = hg.column("income / household", bounds=(0, 10_000), step=10)
BANDS = hg.bands(0, 45, 65, 100, labels=["young", "middle", "old"])
FACTS = {"columns": {"per_head": {"expression": "income / household", "bounds": [0, 10_000], "step": 10}}}
ENGINES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "pyarrow": lambda table, _: table,
    "pandas": lambda table, _: table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype(), pa.string(): None}.get),
    "polars": lambda table, _: pl.from_arrow(table),
    "polars lazy": lambda table, _: pl.from_arrow(table).lazy(),
    "duckdb": lambda table, _: duckdb.from_arrow(table),
    "parquet": lambda table, folder: written(pq.write_table, table, folder / "people.parquet"),
    "csv": lambda table, folder: written(pa.csv.write_csv, table, folder / "people.csv"),
}

csv_file = ENGINES["csv"]
People = list[dict[str, Any]]
Ask = Callable[[hg.Survey], Any]


def written(write: Callable[[pa.Table, Path], None], table: pa.Table, path: Path) -> Path:
    write(table, path)
    return path


def inside(rng: np.random.Generator) -> dict[str, Any]:
    return {name: cells[rng.integers(len(cells))] for name, cells in INSIDE.items()}


def outside(rng: np.random.Generator) -> dict[str, Any]:
    return inside(rng) | OUTSIDE[rng.integers(len(OUTSIDE))]


def drawn_pair(relation: str, rng: np.random.Generator) -> tuple[People, People]:
    """Return 8 records, the first of which enters, leaves, changes within or stays outside; sometimes it is alone."""
    alone = rng.random() < 0.2
    rest = [outside(rng) if alone or rng.random() < 0.4 else inside(rng) for _ in range(7)]
    before, after = ((inside, outside), (outside, inside), (inside, inside), (outside, outside))[
        rng.choice(4, p=[0.4, 0.4, 0.1, 0.1])
    ]
    place = int(rng.integers(8))
    first = [*rest[:place], before(rng), *rest[place:]]
    changed = [after(rng)] if relation == "replace-one" else []
    return first, [*rest[:place], *changed, *rest[place:]]


ASKED: dict[str, Ask] = {
    "mean": lambda s: s.release(hg.mean("income", **INCOME), where=WHERE, epsilon=1.0),
    "bands and labels": lambda s: s.release(
        [hg.sum("income", **INCOME), hg.count(), hg.proportion("sex", value=1)],
        by={"age": BANDS, "sex": {0: "men", 1: "women"}},
        where=WHERE,
        other=True,
        epsilon=2.0,
    ),
    "bands alone": lambda s: s.release(hg.mean("per_head"), by={"age": hg.bands(40, 65)}, epsilon=1.0),
    "derived, by derived": lambda s: s.release(
        hg.mean(PER_HEAD), by={PER_HEAD: hg.bands(0, 500, 5_000)}, where=WHERE, epsilon=1.0
    ),
    "smooth": lambda s: s.release(
        [
            hg.variance("income", **INCOME),
            hg.ratio("income", "age", bounds={"income": (0, 10_000, 10), "age": (0, 99, 1)}),
        ],
        where=WHERE,
        epsilon=1.0,
    ),
    "bootstrap": lambda s: s.release(
        hg.mean("income", **INCOME), where=WHERE, estimator="bootstrap", n_resamples=4, epsilon=1.0
    ),
    "counts": lambda s: s.contingency_table(
        by={"age": BANDS, "sex": {0: "men", 1: "women"}}, where=WHERE, epsilon=1.0, margins=True
    ),
    "totals": lambda s: s.magnitude_table(
        "per_head", by={"region": {"North": "N", "East": "E"}}, where=WHERE, epsilon=1.0, margins=True
    ),
    "bounds": lambda s: s.find_bounds("income", epsilon=1.0, where=WHERE),
    "bounds of derived": lambda s: s.find_bounds("per_head", epsilon=1.0, where=WHERE),
    "categories": lambda s: s.find_categories("region", epsilon=1.0, where=WHERE),
    "wrong": lambda s: s.release(hg.mean("income", **INCOME), where="age >= 'x'", epsilon=1.0),
}
COMMANDS: dict[str, list[str]] = {
    "release": ["release", "--mean", "income:0:10000:10", "--count", "--by", "age=0..45..65..100", "--other"],
    "table": ["table", "--count", "--by", "sex=0,1", "--labels", "sex=men,women", "--margins"],
    "find bounds": ["find", "bounds", "(income / household)"],
    "find categories": ["find", "categories", "region"],
    "refused": ["release", "--mean", "nobody:0:10:1"],
}


@contextmanager
def paid_answers(kept: dict[Any, Any]) -> Iterator[None]:
    """Take what is paid for in an answer from the first time that a question was asked, and seed the noise."""

    def paid(own: Any, query: Any) -> Any:
        if not query.columns():
            return own  # n, which is public under replace-one and asked for under no other relation
        first = kept.setdefault(query, own)
        if isinstance(own, ValueCounts):
            return first
        made = replace(first, missing=own.missing)
        # All records together are n, which is public where it is compared.
        return replace(made, outside=made.outside + own.total() - made.total())

    with answers_through(paid), mock.patch("hedgerow.release.spend.SecureNoise", lambda: SimulatedNoise(5)):
        yield


@contextmanager
def answers_through(change: Callable[[Any, Any], Any]) -> Iterator[None]:
    """Put what `change` returns, of an exact answer and its question, in the place of each exact answer."""
    real = FrameAnswers._answer

    def answer(source: Any, query: Any, key: bytes | None = None) -> Any:
        return change(real(source, query, key), query)

    with mock.patch.object(FrameAnswers, "_answer", answer):
        yield


def outputs_of(result: Any, folder: Path) -> list[str]:
    said = [str(result), repr(result), json.dumps(result.to_dict())]
    if isinstance(result, hg.Release):
        result.to_csv(folder / "result.csv")
        return [*said, report_html(result), (folder / "result.csv").read_text(), repr(result.to_columns())]
    if hasattr(result, "to_html"):
        return [*said, result.to_html(), repr(result.to_columns())]
    return [*said, found_html(result), result.to_toml()]


def called(ask: Ask, source: Any, relation: str, folder: Path, ledger: Path | None = None) -> list[str]:
    """Return every text that comes out of a call in Python."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            facts = hg.Facts.from_dict(FACTS)
            said = outputs_of(ask(hg.open(source, facts, relation=relation, ledger=ledger)), folder)
        except hg.HedgerowError as refused:
            assert refused.code != "HG601", "the price of this call was spent for nothing"
            said = [type(refused).__name__, str(refused)]
    return [*said, *sorted(str(one.message) for one in told)]


def commanded(arguments: list[str], source: Path, relation: str, folder: Path) -> list[str]:
    """Return what a command prints, its exit code, the files that it writes and what the ledger holds."""
    facts, ledger, out = folder / "hedgerow.toml", folder / "people.ledger", folder / "out"
    facts.write_text('[columns.per_head]\nexpression = "income / household"\n')
    Ledger.create(ledger, dataset="d", budget=Budget(9.0, 1e-4), relation=relation, unit="row").close()
    placed = [*arguments[:2], str(source), *arguments[2:]] if arguments[0] == "find" else [
        arguments[0], str(source), *arguments[1:]
    ]  # fmt: skip
    given = ["--relation", relation, "--where", WHERE, "--epsilon", "1", "--facts", str(facts), "--ledger", str(ledger)]
    found = CliRunner().invoke(app, [*placed, *given, "--out", str(out)])
    written_there = [path.read_text() for path in sorted(out.glob("*")) if path.suffix in (".json", ".csv", ".toml")]
    with Ledger.open(ledger) as kept:
        spent = [repr(kept.spent()), repr(kept.verify().counter)]
    ledger.unlink()
    for path in out.glob("*"):
        path.unlink()
    return [str(found.exit_code), found.stdout, found.stderr, *written_there, *spent]


def differences(pairs: int, seed: int, opened: Mapping[str, Callable[[pa.Table, Path], Any]] = ENGINES) -> list[str]:
    """Return what differs between neighbours, of `pairs`: four calls each in turn, every third a command."""
    rng, found = np.random.default_rng(seed), []
    engines, calls, commands = itertools.cycle(opened), itertools.cycle(ASKED), itertools.cycle(COMMANDS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(pairs):
            relation = ("replace-one", "add-remove")[number % 2]
            tables = [pa.Table.from_pylist(people, SCHEMA) for people in drawn_pair(relation, rng)]
            for what, engine in itertools.islice(zip(calls, engines, strict=False), 4):
                with paid_answers({}):
                    said = [called(ASKED[what], opened[engine](table, folder), relation, folder) for table in tables]
                found += [f"{what}, {engine}, {relation}"] * (said[0] != said[1])
            if number % 3 == 0:
                command = next(commands)
                with paid_answers({}):
                    said = [commanded(COMMANDS[command], csv_file(table, folder), relation, folder) for table in tables]
                found += [f"{command}, command line, {relation}"] * (said[0] != said[1])
    return found


def test_only_priced_numbers_tell_who_is_in_the_part() -> None:
    assert differences(3, 1) == []


@pytest.mark.long
def test_only_priced_numbers_tell_who_is_in_the_part_over_five_hundred_pairs() -> None:
    assert differences(500, 2) == []


def test_sabotage_a_part_that_was_filtered_beforehand() -> None:
    """Under replace-one n is printed: of a filtered frame that is the number selected."""

    def filtered(table: pa.Table, _: Path) -> Any:
        part = (pl.col("age") >= 40) & pl.col("age").is_finite() & (pl.col("region") != "South")
        return pl.from_arrow(table).filter(part & (pl.col("household") > 0) & (pl.col("income") > 0))

    assert len(differences(1, 1, {"polars": filtered})) > 2


def test_sabotage_a_number_outside_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A warning where few records are selected would tell of the last one."""
    real = frames._with_others

    def warned(made: Any) -> Any:
        warnings.warn(f"{made.outside} records are left out", hg.HedgerowWarning, stacklevel=2)
        return made

    def told(asked: Any, frame: object, chosen: object) -> Any:
        return real(asked, frame, chosen).then(warned)

    monkeypatch.setattr(frames, "_with_others", told)
    assert len(differences(1, 1)) > 2


CANARY = {"age": -8675309.5, "income": 8675309.5, "household": -777, "region": "wombat", "sex": 31337}


def exactly(ask: Ask, source: Any) -> tuple[list[Any], str]:
    """Return the exact answers of the engine, without the records outside, and what comes out."""
    answers: list[Any] = []

    def noted(own: Any, query: Any) -> Any:
        if isinstance(own, ValueCounts):
            answers.append(sorted(zip(own.values, own.counts.tolist(), strict=True)))
        elif query.columns():
            whole = own.sums if hasattr(own, "sums") else {0: own.count, 1: own.cell, 2: own.index}
            answers.append([*(total.tolist() for total in whole.values()), own.missing.tolist()])
        return own

    with answers_through(noted):
        result = ask(hg.open(source, hg.Facts.from_dict(FACTS), relation="add-remove"))
    return answers, str(result) + json.dumps(result.to_dict())


def with_canary(rows: int, canary: bool) -> pa.Table:
    """Return 60 records, 30 of them in the part, and `rows` more outside, which carry the canary or nothing unusual."""
    rng = np.random.default_rng(3)
    plain = [inside(rng) for _ in range(30)] + [outside(rng) for _ in range(30)]
    for one in plain:
        one["region"] = "East" if one["region"] == "CANARY" else one["region"]
    far = CANARY if canary else {"age": 20.0, "income": 5.0, "household": 1, "region": "North", "sex": 0}
    return pa.Table.from_pylist(plain + [far] * rows, SCHEMA)


# pandas and polars are frames as pyarrow is, and DuckDB reads a Parquet file as it reads CSV.
@pytest.mark.parametrize(
    "engine",
    [pytest.param(name, marks=pytest.mark.long if name in ("pandas", "polars", "parquet") else ()) for name in ENGINES],
)
def test_a_canary_outside_the_part_is_in_no_exact_answer(engine: str, tmp_path: Path) -> None:
    for what in ("mean", "counts", "totals", "bounds of derived", "categories"):
        tables = (with_canary(0, False), with_canary(400, True))
        found = [exactly(ASKED[what], ENGINES[engine](table, tmp_path)) for table in tables]
        assert found[0][0] == found[1][0] and found[0][0], what
        assert not any(text in found[1][1] for text in ("wombat", "8675309", "31337"))


def test_sabotage_a_canary_that_is_selected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(frames, "_selected", lambda frame, query: frame)
    ask = ASKED["categories"]
    (plain, _), (canary, said) = (exactly(ask, with_canary(400, one)) for one in (False, True))
    assert plain != canary and "wombat" in said
