"""A table of units of several rows: its price against brute force over all pairs of neighbouring units."""

from __future__ import annotations

from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

import hedgerow as hg
from hedgerow.facts.declared import Protection
from hedgerow.facts.relation import Relation, Target, UnitLimit
from hedgerow.mechanisms.joint_moments import JointMoments
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
