"""Bounds declared cell by cell, as a statistician writes them, put on the grid of the whole table.

``bounds`` are those of the table: of every cell that is not named, and the frame within which the others lie. Then

* ``cell_bounds={"status": {"share": (0, 9_000), "mixed": (0, 15_000)}}``: by the categories of one column;
* ``cell_bounds={("share", "trad"): (0, 4_000)}``: by cell, categories in the order of ``by``; in a table by one column
  the category alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Category, Grid
from hedgerow.tables.cells.shape import TableShape

CellLimits = tuple[tuple[int, int], ...]
_IN_SHELL = "For example --cell-bounds north:0:500, or --cell-bounds north,female:0:500."
_EXAMPLE = 'For example {"region": {"north": (0, 500)}}, or {("north", "female"): (0, 500)} by ["region", "sex"].'
_MOST_TOLD = 12


def bounds_of_cells(given: object, by: tuple[Category, ...], column: str, grid: Grid) -> CellLimits:
    """Return the bounds of each cell as indices of the table's grid, in the order of its cells.

    Raises
    ------
    ParameterError
        HG105 an invalid pair; HG152 a cell or category that the table does not have, one named twice, bounds beyond
        those of the table or between two steps of its grid.

    Examples
    --------
    >>> by = (Category.declared("status", ["owner", "share"]), Category.declared("kind", [1, 2]))
    >>> grid = Grid.from_bounds("output", (0, 20_000), 10)
    >>> bounds_of_cells({"status": {"share": (0, 9_000)}}, by, "output", grid)
    ((0, 2000), (0, 2000), (0, 900), (0, 900))
    >>> bounds_of_cells({("owner", 2): (500, 9_000)}, by, "output", grid)
    ((0, 2000), (50, 900), (0, 2000), (0, 2000))
    """
    if not isinstance(given, Mapping) or not given:
        raise _unfit(
            "`cell_bounds` is a mapping from cells, or from categories of one column, to bounds.", "Found none."
        )
    shape = TableShape.of(by)
    found: dict[int, tuple[int, int]] = {}
    for places, pair in _named(given, shape):
        limits = _on_grid(column, pair, grid)
        for place in places:
            if place in found:
                raise _unfit("Every cell is given bounds once.", "One is named twice.")
            found[place] = limits
    return tuple(found.get(place, (0, grid.steps)) for place in range(shape.size))


def bounds_told(limits: CellLimits, by: tuple[Category, ...], grid: Grid) -> str:
    """Return in a sentence which bounds the cells have: public, so it goes out with the table."""
    kinds: dict[tuple[int, int], list[int]] = {}
    for place, one in enumerate(limits):
        kinds.setdefault(one, []).append(place)
    if len(kinds) > _MOST_TOLD:
        return "Values are clamped to bounds declared cell by cell; the certificate holds them."
    shape = TableShape.of(by)
    listed = []
    for (low, high), places in kinds.items():
        ends = "[{:g}, {:g}]".format(*(float(grid.lower + end * grid.step) for end in (low, high)))
        cells = ", ".join("/".join(str(label) for label in shape.cell(place).values()) for place in places)
        listed.append(f"{ends} in {cells if len(places) <= _MOST_TOLD else f'{len(places):,} cells'}")
    return f"Values are clamped to bounds declared cell by cell: {'; '.join(listed)}."


def _named(given: Mapping[Any, Any], shape: TableShape) -> Iterator[tuple[list[int], object]]:
    """Yield the cells that are named together, with what was given for them."""
    nested = [isinstance(value, Mapping) for value in given.values()]
    if any(nested):
        (name, bounds), *more = given.items()
        if more or name not in shape.columns:
            raise _unfit("Bounds by category are those of one column of `by`.", "Found another, or more than one.")
        labels, (axis,) = shape.labels(name), shape.axis_places([name])
        levels = np.unravel_index(np.arange(shape.size), shape.shape)[axis]
        for category, pair in bounds.items():
            if category not in labels:
                raise _unfit(f"Bounds by {name} name its categories in `by`.", f"Found {category!r}.")
            yield np.flatnonzero(levels == labels.index(category)).tolist(), pair
        return
    for key, pair in given.items():
        cell = key if isinstance(key, tuple) else (key,)
        known = len(cell) == len(shape.axes) and all(
            category in axis.labels for category, axis in zip(cell, shape.axes, strict=True)
        )
        if not known:
            columns = ", ".join(shape.columns)
            raise _unfit(f"A cell is named by one category each of {columns}, in this order.", f"Found {key!r}.")
        yield [shape.place(dict(zip(shape.columns, cell, strict=True)))], pair


def _on_grid(column: str, pair: object, grid: Grid) -> tuple[int, int]:
    own = Grid.from_bounds(column, pair)
    low, high = ((end - grid.lower) / grid.step for end in (own.lower, own.upper))
    ends = f"[{float(own.lower):g}, {float(own.upper):g}]"
    if low < 0 or high > grid.steps:
        frame = "[{:g}, {:g}]".format(*grid.as_bounds())
        raise _unfit("The bounds of a cell lie within those of the table.", f"Found {ends}, not within {frame}.")
    if low.denominator != 1 or high.denominator != 1:
        step = f"{float(grid.step):g}"
        raise _unfit("The bounds of a cell are whole steps from those of the table.", f"{ends} with a step of {step}.")
    return int(low), int(high)


def _unfit(rule: str, finding: str) -> ParameterError:
    return ParameterError("HG152", rule=rule, finding=finding, remedy=_EXAMPLE, shell=_IN_SHELL)
