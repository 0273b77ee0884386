"""Bounds of the values of units of several rows: whom the search protects, what it finds, and its record."""

from __future__ import annotations

import json
from itertools import combinations_with_replacement

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.engines.source import open_source
from hedgerow.facts.relation import Relation, UnitLimit
from hedgerow.find.search import BoundsSearch, Place
from hedgerow.reports.answer_pages import found_html
from hedgerow.reports.verify.verification import verify_record
from hedgerow.testing.simulated import SimulatedNoise

UNIT = UnitLimit("person", 2)


def rows_of(units: dict[int, tuple[float, ...]]) -> pa.Table:
    person = [name for name, values in units.items() for _ in values]
    return pa.table({"person": person, "pay": [float(value) for values in units.values() for value in values]})


def counts_of(search: BoundsSearch, units: dict[int, tuple[float, ...]]) -> np.ndarray:
    """Return the counts of the cells, without noise."""

    class NoNoise(SimulatedNoise):
        def two_sided_geometric(self, scale: float, size: int) -> np.ndarray:
            return np.zeros(size, dtype=np.int64)

    return np.array(search.draw(open_source(rows_of(units)), NoNoise(0))["noisy_counts"])


def test_no_pair_of_units_moves_more_counts_than_is_priced() -> None:
    """All units of up to three rows with four values, of which two rows count, beside another unit.

    Each count moves by 1. The sabotage: a search that takes each row for a person prices one count, or two.
    """
    far, near = (BoundsSearch.of(Place("pay"), relation, UNIT, epsilon=1.0) for relation in Relation)
    others = {0: (10.0, 300.0)}
    units = [rows for size in range(1, 4) for rows in combinations_with_replacement((1.0, 10.0, 300.0, -7.0), size)]
    without, alone = counts_of(near, others), [counts_of(near, others | {1: rows}) for rows in units]
    pairs = [np.abs(one - other) for one in alone for other in alone]
    assert max(int(np.abs(counts - without).max()) for counts in alone) == 1
    most = max(int(np.abs(counts - without).sum()) for counts in alone)
    assert most == near.mechanism.touched(Relation.ADD_REMOVE) == 2
    assert max(int(pair.sum()) for pair in pairs) == far.mechanism.touched(Relation.REPLACE_ONE) == 4
    rows = BoundsSearch.of(Place("pay"), Relation.ADD_REMOVE, epsilon=1.0)
    assert rows.mechanism.touched(Relation.ADD_REMOVE) == 1
    assert [search.mechanism.scale for search in (near, far)] == pytest.approx([2.0, 4.0], rel=1e-3)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_bounds_hold_the_values_of_the_rows_that_count(relation: str) -> None:
    """2,000 persons of three rows; ε = 2."""
    rng = np.random.default_rng(3)
    values = np.repeat(rng.lognormal(7.0, 0.4, 2000), 3) + rng.normal(0.0, 50.0, 6000)
    panel = pa.table({"person": np.repeat(np.arange(2000), 3), "pay": values})
    survey = hg.open(panel, relation=relation, unit=UNIT)
    search = survey.find_bounds("pay", epsilon=2.0)
    low, high = search.bounds
    assert np.mean((values >= low) & (values <= high)) > 0.98 and high < 10_000
    assert search.certificate.unit == "person, at most 2 rows" and search.certificate.epsilon <= 2.0
    assert "Over at most 2 rows of each person, drawn at random where there are more" in str(search)
    record = json.loads(search.to_json())
    assert verify_record(record).holds and "at most 2 rows" in found_html(search)
    fewer = record["certificate"]["mechanism"] | {"rows": 1}
    altered = [
        record | {"certificate": record["certificate"] | {"unit": "row"}},
        record | {"certificate": record["certificate"] | {"unit": "person, at most 3 rows"}},
        record | {"certificate": record["certificate"] | {"mechanism": fewer}},
    ]
    assert not any(verify_record(one).holds for one in altered)
