"""Exact sums over rows in memory: over many slices, in doubles and in halves, against Python's integers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow
import pytest

from hedgerow.engines.dialects import held
from hedgerow.engines.query import SumsQuery, ValueOnGrid
from hedgerow.engines.source import open_source
from hedgerow.facts.columns import Category, Grid, Missing

ROWS = 2 * held._ROWS + 1
ODD: list[Any] = [None, math.nan, math.inf, -math.inf, -1e300, 1e300, 0.5, -0.0]


def values(steps: int) -> list[Any]:
    found: list[Any] = np.random.default_rng(3).uniform(-0.1 * steps, 1.1 * steps, ROWS).tolist()
    found[:: ROWS // len(ODD) + 1] = ODD
    return found


def summed(column: list[Any], by: list[int] | None, **query: Any) -> dict[Any, list[int]]:
    table = pyarrow.table({"x": pyarrow.array(column, pyarrow.float64())} | ({} if by is None else {"g": by}))
    groups = () if by is None else (Category.declared("g", [0, 1, 2]),)
    found = open_source(table).sums(SumsQuery(by=groups, needed=frozenset([0]), **query))
    return {monomial: [int(one) for one in total] for monomial, total in found.sums.items()}


def grid_of(steps: int) -> ValueOnGrid:
    return ValueOnGrid("x", Grid.from_bounds("x", (0, steps), 1))


def exact(column: list[Any], by: list[int], steps: int, power: int, absent: int | None) -> list[int]:
    totals = [0, 0, 0]
    for one, cell in zip(column, by, strict=True):
        there = one is not None and math.isfinite(one)
        index = math.floor(min(max(one + 0.5, 0.0), float(steps))) if there else absent
        totals[cell] += 0 if index is None else index**power
    return totals


@pytest.mark.parametrize(("steps", "powers"), [(8, (1, 2)), (2**20, (1, 2, 3)), (2**20, (1, 4))])
@pytest.mark.parametrize("missing", [Missing.DROP, Missing.MIDPOINT])
def test_sums_over_slices_are_exact(steps: int, powers: tuple[int, ...], missing: Missing) -> None:
    column, by = values(steps), [place % 3 for place in range(ROWS)]
    absent = steps // 2 if missing is Missing.MIDPOINT else None
    asked = {"values": (grid_of(steps),), "monomials": tuple(((0, power),) for power in powers), "missing": missing}
    grouped, whole = summed(column, by, **asked), summed(column, None, **asked)
    for power in powers:
        wanted = exact(column, by, steps, power, absent)
        assert grouped[((0, power),)] == wanted and whole[((0, power),)] == [sum(wanted)]


def test_sabotage_doubles_where_they_round(monkeypatch: pytest.MonkeyPatch) -> None:
    column, by = values(2**20), [place % 3 for place in range(ROWS)]
    asked = {"values": (grid_of(2**20),), "monomials": (((0, 3),),)}
    wanted = sum(exact(column, by, 2**20, 3, None))
    assert summed(column, None, **asked)[((0, 3),)] == [wanted]
    monkeypatch.setattr(held, "_EXACT", 100)
    assert summed(column, None, **asked)[((0, 3),)] != [wanted]
