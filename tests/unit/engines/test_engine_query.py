"""Questions: how many places an answer has, and joint indices taken apart."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.engines.query import Indicator, JointGrid, Query, ValueOnGrid
from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Category, Grid


def on(column: str, steps: int) -> ValueOnGrid:
    return ValueOnGrid(column, Grid(Fraction(0), Fraction(1), steps))


def test_sizes_and_columns() -> None:
    joint = JointGrid((on("x", 4), on("y", 2)))
    by = (Category.declared("y", [0, 1]), Category.declared("g", [1], other=True))
    assert (joint.size, joint.columns) == (15, ("x", "y"))
    assert [Query(v).size for v in (None, Indicator("x", 1), on("x", 4), joint)] == [1, 2, 5, 15]
    assert [Query(v).parts for v in (None, Indicator("x", 1), on("x", 4), joint)] == [
        (),
        (),
        (on("x", 4),),
        joint.parts,
    ]
    assert Query(joint, by).columns() == ["x", "y", "g"]


def test_every_index_is_taken_apart_the_last_part_fastest() -> None:
    joint = JointGrid((on("x", 2), on("y", 1), on("z", 3)))
    found = joint.indices(np.arange(joint.size))
    assert [tuple(t) for t in np.stack(found, axis=1).tolist()] == [
        (x, y, z) for x in range(3) for y in range(2) for z in range(4)
    ]


@given(steps=st.lists(st.integers(1, 2**12), min_size=1, max_size=5), data=st.data())
def test_indices_are_those_of_numpy(steps: list[int], data: st.DataObject) -> None:
    joint = JointGrid(tuple(on(str(i), m) for i, m in enumerate(steps)))
    index = np.array(data.draw(st.lists(st.integers(0, joint.size - 1), max_size=8)), dtype=np.int64)
    found, expected = joint.indices(index), np.unravel_index(index, [m + 1 for m in steps])
    assert len(found) == len(steps) and all(t.dtype == np.int64 for t in found)
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


def test_shapes_are_kept() -> None:
    joint = JointGrid((on("x", 2), on("y", 1)))
    assert [t.shape for t in joint.indices(np.zeros((2, 3), dtype=np.int64))] == [(2, 3), (2, 3)]
    assert [t.shape for t in joint.indices(np.array([], dtype=np.int64))] == [(0,), (0,)]


@pytest.mark.parametrize("index", [-1, 6, 4711])
def test_what_is_no_index_is_refused_and_not_quoted(index: int) -> None:
    with pytest.raises(ParameterError, match="HG107") as caught:
        JointGrid((on("x", 2), on("y", 1))).indices(np.array([0, index]))
    assert str(index) not in str(caught.value).removeprefix("HG107")


@pytest.mark.parametrize("parts", [(), (on("x", 2), on("x", 1)), (on("x", 2), on("y", 2), on("x", 2))])
def test_parts_are_one_or_more_columns_each_once(parts: tuple[ValueOnGrid, ...]) -> None:
    with pytest.raises(ParameterError, match="HG112"):
        JointGrid(parts)


def test_places_stay_below_two_to_the_62() -> None:
    # Places are size + 1 in each cell: 2³¹·(2³¹ − 1) + 1 fits, 2³¹·2³¹ + 1 does not.
    half = 2**31
    largest = JointGrid((on("x", half - 1), on("y", half - 2)))
    assert largest.size + 1 < 2**62
    assert [t.tolist() for t in largest.indices(np.array([largest.size - 1]))] == [[half - 1], [half - 2]]
    with pytest.raises(ParameterError, match="HG107"):
        JointGrid((on("x", half - 1), on("y", half - 1)))
    with pytest.raises(ParameterError, match="HG107"):
        JointGrid(tuple(on(str(i), 2**24) for i in range(400)))


def test_cells_count_among_the_places() -> None:
    two = (Category.declared("g", [0, 1]),)
    assert Query(JointGrid((on("x", 2**60 - 1), on("y", 1))), ()).size == 2**61
    with pytest.raises(ParameterError, match=r"HG107.*63 bits"):
        Query(JointGrid((on("x", 2**60 - 1), on("y", 1))), two)
    with pytest.raises(ParameterError, match="HG107"):
        Query(None, tuple(Category.declared(str(i), list(range(1000))) for i in range(7)))
