"""One call scans a source once: answers are those of questions asked alone, and the log of DuckDB shows one scan."""

from dataclasses import replace
from pathlib import Path

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.engines.ten_columns import BOUNDS, COLUMNS, means, query_log, sources

import hedgerow as hg
from hedgerow.engines import source
from hedgerow.engines.query import Indicator, SumsQuery, ValueOnGrid
from hedgerow.engines.source import Source, open_source, sums_together
from hedgerow.facts.columns import Category, Grid, Missing
from hedgerow.facts.relation import UnitLimit
from hedgerow.release.execute import read_histograms
from hedgerow.resampling.counted_values import GridSums

FINE, COARSE = Grid.from_bounds("a", (0, 10), 1), Grid.from_bounds("a", (0, 10), 5)
VALUES = (ValueOnGrid("a", FINE), ValueOnGrid("a", COARSE), ValueOnGrid("b", FINE), Indicator("c", 1))
BY = (Category.declared("g", [0, 1]),)
PEOPLE = {
    "a": [0.0, 3.0, None, 10.0, 7.0, float("nan"), 2.0, 9.0],
    "b": [5.0, None, None, 1.0, 8.0, 4.0, 6.0, 10.0],
    "c": [1, 0, 1, None, 1, 0, None, 1],
    "g": [0, 1, 0, 1, 2, 0, 1, None],
    "person": [1, 1, 2, 3, 3, 4, 5, 5],
}


def same(one: GridSums, other: GridSums) -> bool:
    return (
        {name: found.tolist() for name, found in one.sums.items()}
        == {name: found.tolist() for name, found in other.sums.items()}
        and one.missing.tolist() == other.missing.tolist()
        and one.outside == other.outside
    )


@st.composite
def questions(draw: st.DrawFn) -> SumsQuery:
    values = tuple(draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=3, unique=True)))
    places = st.integers(0, len(values) - 1)
    monomial = st.dictionaries(places, st.integers(0, 2), max_size=2).map(lambda powers: tuple(sorted(powers.items())))
    monomials = tuple(draw(st.lists(monomial, max_size=3, unique=True)))
    policy = draw(st.sampled_from([Missing.DROP, Missing.MIDPOINT]))
    by = draw(st.sampled_from([(), BY]))
    return SumsQuery(values, monomials, by, draw(st.frozensets(places)), None, policy)


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(st.lists(questions(), min_size=1, max_size=4))
def test_answers_are_those_of_questions_asked_alone(asked: list[SumsQuery]) -> None:
    people = open_source(pyarrow.table(PEOPLE))
    found = sums_together(people, asked)
    assert list(found) == list(dict.fromkeys(found)) and set(found) == set(asked)
    assert all(same(found[query], people.sums(query)) for query in asked)


def test_sabotage_what_a_question_needs_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    people = open_source(pyarrow.table(PEOPLE))
    asked = [SumsQuery(VALUES[2:], (((0, 1),),), BY, needed=frozenset(needed)) for needed in ([0, 1], [0])]
    assert all(same(answer, people.sums(query)) for query, answer in sums_together(people, asked).items())
    among = source._among
    monkeypatch.setattr(source, "_among", lambda query, *rest: among(replace(query, needed=frozenset()), *rest))
    assert not all(same(answer, people.sums(query)) for query, answer in sums_together(people, asked).items())


def test_units_of_several_rows_are_asked_alone() -> None:
    people = open_source(pyarrow.table(PEOPLE))
    asked = [
        SumsQuery((value,), (((0, 1),), ((1, 1),)), needed=frozenset([0]), unit=UnitLimit("person", 2))
        for value in VALUES[1:3]
    ]
    assert all(same(answer, people.sums(query)) for query, answer in sums_together(people, asked).items())


def one_by_one(source: Source, queries: list[SumsQuery]) -> dict[SumsQuery, GridSums]:
    return {query: source.sums(query) for query in queries}


@pytest.mark.parametrize(("kind", "scans"), [("parquet", [1]), ("duckdb", [1]), ("csv", [1, 1])])
def test_ten_means_of_ten_columns_are_one_scan(kind: str, scans: list[int], tmp_path: Path) -> None:
    """A CSV file is scanned as its columns are loaded, and they are scanned in memory."""
    survey = hg.open(sources(tmp_path, 300)[kind], relation="replace-one")
    assert survey.n == 300
    with query_log() as log:
        survey.release(means(), epsilon=1.0)
    assert log.scans == scans
    assert all(name in log.statements[0] for name in (COLUMNS if kind != "csv" else ["c0", "c9"]))
    # The sabotage: a call for each, and the log shows it.
    with query_log() as log:
        for mean in means()[:2]:
            survey.release(mean, epsilon=1.0)
    assert log.scans == scans * 2


def test_vectors_that_are_drawn_apart_are_read_in_one_scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    survey = hg.open(sources(tmp_path, 300)["duckdb"], relation="replace-one")
    assert survey.n == 300
    # Correlations of four columns together do not fit one vector.
    pairs = list(zip(COLUMNS[::2], COLUMNS[1::2], strict=True))
    asked = [hg.correlation(*pair, bounds=dict.fromkeys(pair, BOUNDS)) for pair in pairs]
    plan = survey.plan(asked, epsilon=1.0)
    assert len({item.design.query for item in plan.items if item.design is not None}) == len(asked)
    with query_log() as log:
        read_histograms(plan, survey.source)
    assert log.scans == [1]
    # The sabotage: each asked alone.
    monkeypatch.setattr("hedgerow.release.execute.sums_together", one_by_one)
    with query_log() as log:
        read_histograms(plan, survey.source)
    assert log.scans == [1] * len(asked)
