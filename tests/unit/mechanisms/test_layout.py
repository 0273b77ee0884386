"""Declared sensitivities against brute force over all neighbours of small data."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.noisy_moments import MomentsLayout, Widths

Record = tuple[int, int] | None  # (cell, grid index); None: missing, or of no declared cell


def table(layout: MomentsLayout, widths: Widths, records: tuple[Record, ...]) -> np.ndarray:
    """Add up the released coordinates, each over its own width, straight from the definition."""
    sums = np.zeros((layout.cells, 3))
    offset = layout.offset if widths.count is not None else 0
    for record in records:
        if record is None:
            continue
        cell, t = record
        y = layout.start + layout.stride * t
        sums[cell, 1] += y / widths.total
        if widths.count is not None:
            sums[cell, 0] += 1 / widths.count
        if widths.square is not None:
            sums[cell, 2] += (y * y - offset) / widths.square
    return sums


def neighbours(layout: MomentsLayout, relation: Relation) -> Iterator[tuple[tuple[Record, ...], tuple[Record, ...]]]:
    """All pairs of neighbours of up to two further records: the sums cancel them, whatever they are."""
    present = [(cell, t) for cell in range(layout.cells) for t in range(layout.steps + 1)]
    possible: list[Record] = [*present] if layout.presence == "public" else [*present, None]
    rest: tuple[Record, ...] = (present[0], present[-1])
    for first, second in itertools.product(possible, repeat=2):
        # Where presence is public a record keeps its cell, whatever its value.
        stays = layout.presence == "private" or (first is not None and second is not None and first[0] == second[0])
        if relation is Relation.REPLACE_ONE and stays:
            yield (*rest, first), (*rest, second)
    if relation is Relation.ADD_REMOVE:
        for record in possible:
            yield rest, (*rest, record)


def brute(layout: MomentsLayout, relation: Relation, widths: Widths) -> tuple[float, float]:
    l2 = l1 = 0.0
    for first, second in neighbours(layout, relation):
        moved = np.abs(table(layout, widths, first) - table(layout, widths, second))
        l2, l1 = max(l2, math.sqrt(float((moved**2).sum()))), max(l1, float(moved.sum()))
    return l2, l1


@st.composite
def cases(draw: st.DrawFn) -> tuple[MomentsLayout, Relation, Widths]:
    relation = draw(st.sampled_from(list(Relation)))
    presence = draw(st.sampled_from(["public", "private"] if relation is Relation.REPLACE_ONE else ["private"]))
    cells = draw(st.integers(1, 3))
    steps, stride = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    start = draw(st.integers(-12, 12))
    layout = MomentsLayout(start, stride, steps, draw(st.integers(0, 60)), presence, cells)
    width = st.floats(0.3, 50)
    counted = draw(st.booleans())
    return (
        layout,
        relation,
        Widths(
            draw(width) if counted else None,
            draw(width),
            draw(st.one_of(st.none(), width)),
        ),
    )


@given(cases())
@settings(max_examples=300, deadline=None)
def test_declared_cost_is_the_brute_force_maximum(case: tuple[MomentsLayout, Relation, Widths]) -> None:
    layout, relation, widths = case
    l2, l1 = brute(layout, relation, widths)
    assert l2 <= layout.mu(relation, widths) <= l2 * (1 + 1e-9) + 1e-12
    assert l1 <= layout.pure(relation, widths) <= l1 * (1 + 1e-9) + 1e-12


def midpoint(steps: int, cells: int, presence: str = "private") -> MomentsLayout:
    return MomentsLayout(-steps, 2, steps, steps * steps // 2, presence, cells)  # type: ignore[arg-type]  # a test's str


@pytest.mark.parametrize("steps", [1, 2, 7, 100, 1024])
@pytest.mark.parametrize(("kappa", "omega", "cells"), [(0.6, 1.6, 2), (0.8, 1.2, 3), (1.5, 1.6, 1)])
def test_count_and_second_moment_are_free_within_the_limits(steps: int, kappa: float, omega: float, cells: int) -> None:
    """κ² + ω²/4 ≤ 1 with cells, ≤ 3 without: the vector costs what u alone costs, 2 (moments.md §1)."""
    widths = Widths(1 / kappa, steps, steps**2 / omega)
    # An odd number of steps puts the offset half a unit off m²/2, which is seen on the coarsest grids only.
    slack = omega**2 / steps**2 if steps % 2 else 1e-9
    assert midpoint(steps, cells).mu(Relation.REPLACE_ONE, widths) <= 2 + slack


def test_a_two_cell_mean_costs_the_vector_price_not_the_scalar_one() -> None:
    """At κ = 2 the pair across cells governs; pricing the table at R/2 would be a false certificate."""
    layout, widths = midpoint(100, 2), Widths(1 / 2.0, 100.0, None)
    scalar = 2.0
    assert layout.mu(Relation.REPLACE_ONE, widths) == pytest.approx(math.sqrt(2 * (4 + 1)))
    assert layout.mu(Relation.REPLACE_ONE, widths) > 1.5 * scalar


def test_beyond_omega_1_665_the_second_moment_is_no_longer_free() -> None:
    layout = midpoint(1000, 1, "public")
    assert layout.mu(Relation.REPLACE_ONE, Widths(None, 1000.0, 1000.0**2 / 1.665)) <= 2 + 1e-6
    assert layout.mu(Relation.REPLACE_ONE, Widths(None, 1000.0, 1000.0**2 / 1.70)) > 2.02


def test_nobody_is_publicly_present_under_add_remove() -> None:
    with pytest.raises(ParameterError, match="The layout says that presence is public"):
        midpoint(10, 1, "public").mu(Relation.ADD_REMOVE, Widths(None, 10.0, None))
    with pytest.raises(ParameterError, match="The layout says that presence is public"):
        midpoint(10, 2, "public").mu(Relation.ADD_REMOVE, Widths(None, 10.0, None))


def test_public_cells_cost_what_one_cell_costs_and_private_ones_more() -> None:
    """A total of values from 0 to 100 in three cells: U − L where cells are public, √2·U where they are not."""
    total = Widths(None, 1.0, None)
    known, hidden = MomentsLayout(0, 1, 100, 0, "public", 3), MomentsLayout(0, 1, 100, 0, "private", 3)
    assert known.pure(Relation.REPLACE_ONE, total) == pytest.approx(100.0)
    assert hidden.pure(Relation.REPLACE_ONE, total) == pytest.approx(200.0)
    assert hidden.mu(Relation.REPLACE_ONE, total) == pytest.approx(100.0 * math.sqrt(2))
