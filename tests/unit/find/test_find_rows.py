"""A limit of rows that most units keep: what it says, whom it protects, what is refused, and its record."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.engines.source import open_source
from hedgerow.facts.relation import MOST_ROWS, Relation
from hedgerow.find.found import found_from_record
from hedgerow.find.search import Place, RowsSearch
from hedgerow.reports.answer_pages import found_html
from hedgerow.reports.verify.verification import verify_record

SIZES = np.random.default_rng(5).choice([1, 2, 3, 4, 30], 4_000, p=[0.4, 0.3, 0.2, 0.095, 0.005])
UNIT = {"column": "person", "max_rows": 2}


def rows_of(sizes: Any) -> pa.Table:
    return pa.table({"person": np.repeat(np.arange(len(sizes)), sizes), "x": np.ones(int(np.sum(sizes)))})


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_the_limit_keeps_the_share_of_the_units(relation: str) -> None:
    """n = 4,000 units, ε = 1: counts are 1 to 2 off, and 1 in 200 units has more than 4 rows."""
    survey = hg.open(rows_of(SIZES), relation=relation, unit=UNIT)
    found = {share: survey.find_bounds("person", of="rows", epsilon=1.0, share=share) for share in (0.6, 0.85, 0.98)}
    assert [each.max_rows for each in found.values()] == [2, 3, 4]
    assert found[0.98].certificate.unit == "person, at most 2 rows" and found[0.98].certificate.epsilon <= 1.0
    assert "max_rows = 4" in found[0.98].to_toml() and found[0.98].facts() == {}
    again = hg.open(rows_of(SIZES), relation=relation, unit={"column": "person", "max_rows": found[0.98].max_rows})
    assert again.mean("x", bounds=(0, 2), step=1, epsilon=1.0)[0].statistic == "mean"


def test_where_noise_hides_the_units_no_limit_is_told() -> None:
    found = hg.open(rows_of([3, 1]), relation="add-remove", unit=UNIT).find_bounds("person", of="rows", epsilon=0.01)
    assert found.max_rows is None and found.to_toml() == "" and "No limit" in found.summary()
    assert verify_record(json.loads(found.to_json())).holds


def counts_of(sizes: Any) -> np.ndarray:
    search = RowsSearch.of(Place("person"), Relation.ADD_REMOVE, epsilon=1.0)
    h = open_source(rows_of(sizes)).histogram(search.query)
    counts = np.zeros(MOST_ROWS, dtype=int)
    np.add.at(counts, search.query.unit_totals(h.index)[0] - 1, h.count)
    return counts


def test_all_rows_of_a_unit_move_one_count_or_two() -> None:
    """Every number of rows from 1 to 20 against every other, beside 50 units; a single row moves two counts."""
    others = SIZES[:50].tolist()
    without = counts_of(others)
    alone = {rows: counts_of([*others, rows]) for rows in range(1, 21)}
    add_remove = {int(np.abs(counts - without).sum()) for counts in alone.values()}
    replace_one = {int(np.abs(one - other).sum()) for one in alone.values() for other in alone.values()}
    touched = [RowsSearch.of(Place("p"), relation, epsilon=1).mechanism.touched(relation) for relation in Relation]
    assert sorted([max(add_remove), max(replace_one)]) == sorted(touched) == [1, 2]
    # Were rows protected, a row that comes or goes would move two counts, at the price of one.
    assert np.abs(alone[4] - alone[5]).sum() == 2


def test_its_record_verifies_and_an_altered_one_does_not() -> None:
    survey = hg.open(rows_of(SIZES), relation="replace-one", unit=UNIT)
    record = json.loads(survey.find_bounds("person", of="rows", epsilon=1.0).to_json())
    assert verify_record(record).holds and not verify_record(record).contradictions
    assert found_from_record(json.dumps(record)).to_dict() == record
    altered = [
        record | {"found": record["found"] | {"max_rows": 9}},
        record | {"found": record["found"] | {"noisy_counts": record["found"]["noisy_counts"][:-1]}},
        record | {"certificate": record["certificate"] | {"unit": "row"}},
        record | {"certificate": record["certificate"] | {"unit": "household, at most 2 rows"}},
    ]
    assert not any(verify_record(one).holds for one in altered)
    assert "At most 4 rows" in found_html(found_from_record(json.dumps(record)))


def test_what_is_refused_before_anything_is_read() -> None:
    rows = rows_of(SIZES)
    survey = hg.open(rows, relation="add-remove", unit=UNIT)
    with pytest.raises(hg.UncertifiedError, match="HG402"):
        hg.open(rows, relation="add-remove").find_bounds("person", of="rows", epsilon=1.0)
    with pytest.raises(hg.UncertifiedError, match="HG402"):
        survey.find_bounds("x", of="rows", epsilon=1.0)
    with pytest.raises(hg.UncertifiedError, match="HG402"):
        survey.find_categories("x", epsilon=1.0)
    for wrong in ({"of": "cells"}, {"of": "rows", "share": 0.3}):
        with pytest.raises(hg.ParameterError, match="HG145"):
            survey.find_bounds("person", epsilon=1.0, **wrong)


def test_rows_that_are_not_selected_count_for_nobody() -> None:
    rows = rows_of([3] * 1000).append_column("y", pa.array([1.0, 0.0, 0.0] * 1000))
    survey = hg.open(rows, relation="add-remove", unit=UNIT)
    assert survey.find_bounds("person", of="rows", epsilon=1.0, where="y = 1").max_rows == 1
    assert survey.find_bounds("person", of="rows", epsilon=1.0).max_rows == 3
