"""A table of units of several rows: its price against brute force over all pairs of neighbouring units."""

from __future__ import annotations

from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.facts.declared import Protection
from hedgerow.facts.relation import Relation, Target, UnitLimit
from hedgerow.mechanisms.joint.joint_moments import JointMoments
from hedgerow.noise.lattice import AdditiveTable
from hedgerow.release.designs.joint.joint_statistic import JointStatistic
from hedgerow.reports.verify.verification import verify_record
from hedgerow.tables.table_options import choose

BY = {"wave": [1, 2], "sex": ["f", "m"]}
CELLS, STEPS = 4, 2


@cache
def planned(statistic: str, relation: Relation, rows: int, delta: float) -> JointMoments:
    """Return what draws a table of four cells, planned at ε = 1."""
    asked = hg.count() if statistic == "count" else hg.sum("v", bounds=(0, 2), step=1)
    told = Protection(relation, UnitLimit("id", rows), Target.POPULATION, ())
    n = 50 if relation is Relation.REPLACE_ONE else None
    options: dict[str, Any] = {"by": BY, "epsilon": 1.0, "delta": delta}
    mechanism = choose(asked, told, None, n=n, **options).plan.items[0].mechanism
    assert isinstance(mechanism, JointMoments)
    return mechanism


def every_unit(valued: bool, rows: int) -> np.ndarray:
    """Return the totals and numbers of rows by cell of all units of at most so many rows: (units, cells, numbers)."""
    values = range(STEPS + 1) if valued else [0]
    units = set()
    for size in range(rows + 1):
        for own in combinations_with_replacement(list(product(range(CELLS), values)), size):
            totals = np.zeros((CELLS, 1 + valued), dtype=int)
            for cell, value in own:
                totals[cell] += [value, 1] if valued else [1]
            units.add(tuple(totals.ravel().tolist()))
    return np.array(sorted(units)).reshape(len(units), CELLS, -1)


def moved(mechanism: JointMoments, units: np.ndarray) -> np.ndarray:
    """Return what each unit adds to all numbers of all cells, in standard deviations of their noise."""
    added = [
        np.concatenate([mechanism.record(np.roll(unit, -cell, axis=0).ravel().tolist()) for cell in range(CELLS)])
        for unit in units
    ]
    return np.array(added, dtype=float) / np.tile(mechanism.noise_sds(), CELLS)


def brute(mechanism: JointMoments, units: np.ndarray, relation: Relation) -> float:
    """Return μ of the pair of neighbours that is told apart best, or with Laplace noise its ε."""
    table, pure = moved(mechanism, units), mechanism.noise_law.name == "laplace"
    norm = np.abs(table).sum if pure else np.square(table).sum
    if relation is Relation.ADD_REMOVE:
        most = float(norm(axis=1).max())
    else:
        most = max(float((np.abs(table - one) if pure else np.square(table - one)).sum(axis=1).max()) for one in table)
    # Laplace noise of scale b has the standard deviation √2·b.
    return most * 2.0**0.5 if pure else most**0.5


@pytest.mark.parametrize("delta", [1e-6, 0.0], ids=["Gaussian", "Laplace"])
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("statistic", ["count", "sum"])
def test_no_pair_of_units_tells_more_than_the_price(statistic: str, relation: Relation, delta: float) -> None:
    """All units of at most two rows in four cells, products between cells too. Sabotage: units of a third row."""
    mechanism = planned(statistic, relation, 2, delta)
    assert any(number.kind == "across" for number in mechanism.coordinates)
    price = mechanism.pure(relation) if mechanism.noise_law.name == "laplace" else mechanism.mu(relation)
    most = brute(mechanism, every_unit(statistic == "sum", 2), relation)
    assert 0.9 * price < most <= price * (1.0 + 1e-9)
    assert brute(mechanism, every_unit(statistic == "sum", 3), relation) > 1.2 * price


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("statistic", ["count", "sum"])
def test_the_record_of_a_table_with_totals_holds(statistic: str, relation: Relation) -> None:
    """Totals are read again from the products between cells that are on record."""
    rng = np.random.default_rng(1)
    rows = {"id": np.repeat(np.arange(500), 2), "wave": np.tile([1, 2], 500), "v": rng.integers(0, 3, 1000)}
    sex = np.repeat(rng.choice(["f", "m"], 500), 2)
    survey = hg.open(pa.table({**rows, "sex": sex}), relation=str(relation), unit=UnitLimit("id", 2))
    given: dict[str, Any] = {"by": BY, "epsilon": 8.0, "margins": True}
    counted = statistic == "count"
    table = survey.contingency_table(**given) if counted else survey.magnitude_table("v", bounds=(0, 2), **given)
    record = table.to_dict()
    assert verify_record(record).holds
    record["table"]["margins"][0]["estimates"][0]["confidence_interval"]["low"] -= 1e-3
    assert not verify_record(record).holds


def test_products_between_cells_have_the_noise_that_was_drawn() -> None:
    """A call divides its budget after the weights of a vector are chosen. The sabotage: the noise of the choice."""
    asked = [hg.mean("v", bounds=(0, 2), step=1), hg.count(of="units")]
    survey = hg.open(
        pa.table({"id": [1, 1, 2], "wave": [1, 2, 1], "v": [0, 1, 2]}), relation="add-remove", unit=("id", 2)
    )
    item = survey.plan(asked, by={"wave": [1, 2]}, epsilon=1.0).items[0]
    design, drawn = item.design, item.mechanism
    assert isinstance(design, JointStatistic) and isinstance(drawn, JointMoments)
    chosen = design.release.choice.mechanism
    zeros = np.zeros((2, len(drawn.names)))
    table = AdditiveTable(({}, {}), drawn.names, zeros, drawn.noise_sds(), drawn.noise_law.name)
    (block,) = design.release.read(table).side.blocks
    assert block.across is not None
    places = [place for place, number in enumerate(drawn.coordinates) if number.kind == "across"]
    # Two cells have the products twice, and their averages less noise.
    expected = drawn.noise_sds()[places[0]] / 2**0.5
    steps = [drawn.layout.features[i].steps for i in drawn.coordinates[places[0]].of]
    i, j = drawn.coordinates[places[0]].of
    assert block.across.sds[0, 1, i, j] == pytest.approx(expected / np.prod(steps))
    assert chosen.noise_sds()[places[0]] != pytest.approx(drawn.noise_sds()[places[0]], rel=1e-4)
