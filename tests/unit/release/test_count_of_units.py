"""The number of units: exact counts, their price by brute force over all neighbours, and what is said and refused."""

from __future__ import annotations

import json
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.noisy_counts import AveragedLaplaceCounts, GaussianCounts, GeometricCounts
from hedgerow.reports.verify.verification import verify_record
from hedgerow.testing.simulated import release as simulated

PERSON = np.repeat(np.arange(400), 1 + np.arange(400) % 4)
SEX = (PERSON + np.arange(len(PERSON))) % 3
TABLE = pa.table({"person": PERSON, "sex": SEX, "age": 20.0 + PERSON % 50})
UNIT = {"column": "person", "max_rows": 4}
BY = {"sex": [0, 1, 2]}
RELATIONS = ["add-remove", "replace-one"]


@pytest.mark.parametrize("relation", RELATIONS)
def test_units_are_counted_once_in_each_cell_where_they_have_a_row(relation: str) -> None:
    people = hg.open(TABLE, relation=relation, unit=UNIT)
    units = [len(set(PERSON[cell == SEX])) for cell in BY["sex"]]
    found = simulated(people, [hg.count(of="units")], by=BY, epsilon=50.0, rng=1)
    assert [round(one.estimate) for one in found] == units
    assert [one.statistic for one in found] == ["units"] * 3
    share = np.array(units) / 400 if relation == "replace-one" else 0.0
    wanted = np.sqrt(np.array(units) * (1.0 - share))
    assert [one.sampling_error for one in found] == pytest.approx(list(wanted), rel=0.05)
    # The sabotage: rows counted for units.
    assert all(rows > units[cell] + 10 for cell, rows in enumerate(np.bincount(SEX)))


@pytest.mark.parametrize("relation", list(Relation))
def test_no_pair_of_units_moves_more_counts_than_are_priced(relation: Relation) -> None:
    """All units as sets of at most L cells. The sabotage: a unit priced as a row, which moves one count or two."""
    for cells, rows in product((1, 2, 3, 4, 5), (1, 2, 3)):
        every = [set(chosen) for size in range(min(rows, cells) + 1) for chosen in combinations(range(cells), size)]
        others = every if relation is Relation.REPLACE_ONE else [set()]
        moved = max(len(first ^ second) for first in every for second in others)
        for made in (GeometricCounts(2.0, cells, rows=rows), GaussianCounts(2.0, cells, rows=rows)):
            assert made.touched(relation) == moved
        if rows > 1 and cells > 2:
            assert GeometricCounts(2.0, cells).touched(relation) < moved


@pytest.mark.parametrize("relation", list(Relation))
def test_the_price_is_that_of_so_many_counts(relation: Relation) -> None:
    """Where two counts move it is what enumeration finds; of pure noise it rises with each count."""
    for made in (
        GeometricCounts(1.5, 2, rows=2),
        GaussianCounts(1.5, 2, rows=2),
        AveragedLaplaceCounts(0.7, 3, 2, rows=2),
    ):
        assert made.touched(relation) == 2
        (first, second), price = made.exact_law(relation), hg_price(made, relation)
        for epsilon in (0.2, 0.5, 1.0):
            exact = float(np.maximum(first - np.exp(epsilon) * second, 0.0).sum())
            assert exact <= price.delta_upper(epsilon) <= exact * 1.02 + 1e-6
    three = hg_price(AveragedLaplaceCounts(0.7, 3, 4, rows=3), Relation.ADD_REMOVE).epsilon_upper(1e-6)
    assert three > 1.2 * hg_price(AveragedLaplaceCounts(0.7, 3, 4, rows=2), Relation.ADD_REMOVE).epsilon_upper(1e-6)
    assert GeometricCounts(2.0, 5, rows=3).terms(Relation.ADD_REMOVE)[0].pure() == pytest.approx(1.5)


def hg_price(made: GeometricCounts | GaussianCounts | AveragedLaplaceCounts, relation: Relation) -> object:
    from hedgerow.accounting.compose import profile_of

    return profile_of(made, relation)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("options", [{}, {"by": BY}, {"where": "age >= 40"}, {"by": BY, "delta": 0.0}])
def test_a_record_of_units_beside_rows_verifies(relation: str, options: dict[str, object]) -> None:
    people = hg.open(TABLE, relation=relation, unit=UNIT)
    asked = [hg.count(), hg.count(of="units"), hg.mean("age", bounds=(0, 100))]
    release = people.release(asked, epsilon=2.0, **options)
    record = json.loads(release.to_json())
    assert verify_record(record).holds and {one.statistic for one in release} == {"count", "units", "mean"}
    public = relation == "replace-one" and not options
    assert next(one.method == "public" for one in release if one.statistic == "units") is public
    if not public:
        # The sabotage: the noise as if a unit had one row.
        for part in record["certificate"]["mechanism"]["parts"]:
            part.pop("rows", None)
        assert not verify_record(record).holds


def test_two_counts_of_units_are_not_combined_and_other_words_are_refused() -> None:
    people = hg.open(TABLE, relation="add-remove", unit=UNIT)
    release = people.release([hg.count(of="units"), hg.count()], by=BY, epsilon=2.0)
    with pytest.raises(hg.ParameterError, match="no products between their counts"):
        release.estimate("units", sex=0) - release.estimate("units", sex=1)
    with pytest.raises(hg.ParameterError, match="HG130"):
        people.release([hg.count(of="units")], by=BY, epsilon=1.0, ask=["units(|sex=0) - units(|sex=1)"])
    assert np.isfinite((release.estimate("count", sex=0) - release.estimate("count", sex=1)).standard_error)
    with pytest.raises(hg.ParameterError, match="HG111"):
        hg.count(of="persons")
    rows = hg.open(TABLE, relation="add-remove").release([hg.count(of="units")], epsilon=50.0)
    assert round(rows[0].estimate) == len(PERSON)


def test_what_a_limit_drops_of_a_guess_is_said_and_notes_appear_once() -> None:
    people = hg.open(TABLE, relation="add-remove", unit=UNIT)
    plan = people.plan([hg.mean("age", bounds=(0, 100))], epsilon=1.0)
    (said,) = plan.forecast({"person": {"mean": 3, "sd": 2}}, n=400)
    assert "of the rows guessed 14.6 % are dropped" in said.guess
    (unsaid,) = plan.forecast(n=400)
    assert "dropped" not in unsaid.guess
    with pytest.raises(hg.ParameterError, match="HG707"):
        plan.forecast({"person": {"mean": 0.5}}, n=400)
    lines = str(people.release([hg.mean("age", bounds=(0, 100)), hg.count()], by=BY, epsilon=0.1))
    assert lines.count("Over at most 4 rows of each person") == 1
