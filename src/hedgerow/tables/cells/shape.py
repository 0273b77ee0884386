"""The shape of a table: its axes, their categories and the one order in which its cells stand.

Cells are the product of the axes' categories in row-major order: the first axis is the slowest, the last one the
fastest, as an engine answers (`engines.query.Query.cell_labels`). A cell is its place in that order; nothing here holds
a number of the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Category, Scalar

OTHER = "other"


@dataclass(frozen=True, slots=True)
class Axis:
    """One column of a table with its declared categories; with ``other`` a last one for the rest.

    >>> axis = Axis("region", ("north", "south"), other=True)
    >>> axis.levels, axis.labels
    (3, ('north', 'south', 'other'))
    """

    column: str
    categories: tuple[Scalar, ...]
    other: bool = False

    @property
    def levels(self) -> int:
        """How many categories there are, the rest included."""
        return len(self.categories) + self.other

    @property
    def labels(self) -> tuple[Scalar, ...]:
        """The categories in order; the rest is called ``"other"``."""
        return (*self.categories, OTHER) if self.other else self.categories


@dataclass(frozen=True, slots=True)
class TableShape:
    """The axes of a table, in order, and the cells they make: row-major, the first axis slowest.

    Without axes there is one cell, the grand total.

    Raises
    ------
    ParameterError
        HG160 where two axes are of one column, or an axis has no category.

    Examples
    --------
    >>> shape = TableShape((Axis("sex", (0, 1)), Axis("region", ("north", "south"), other=True)))
    >>> shape.shape, shape.size
    ((2, 3), 6)
    >>> shape.cell(5), shape.place({"sex": 1, "region": "other"})
    ({'sex': 1, 'region': 'other'}, 5)
    """

    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        if len(set(self.columns)) < len(self.axes) or any(axis.levels == 0 for axis in self.axes):
            raise ParameterError(
                "HG160",
                rule="The axes of a table are different columns, each with one category or more.",
                finding="A column is named twice, or has none.",
                remedy="Name each column once, with its categories.",
            )

    @classmethod
    def of(cls, by: Iterable[Category]) -> TableShape:
        """Return the shape that declared categories make, in their order.

        >>> TableShape.of([Category.declared("sex", [0, 1])]).cell(1)
        {'sex': 1}
        """
        return cls(tuple(Axis(category.column, category.values, category.other) for category in by))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the axes, in order."""
        return tuple(axis.column for axis in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many categories each axis has: the shape of an array of the cells."""
        return tuple(axis.levels for axis in self.axes)

    @property
    def size(self) -> int:
        """How many cells there are; 1 without axes."""
        return math.prod(self.shape)

    def labels(self, axis: int | str) -> tuple[Scalar, ...]:
        """Return the categories of an axis, given by place or by column (HG160 where there is none)."""
        return self.axes[self.axis_places([axis])[0]].labels

    def axis_places(self, axes: Iterable[int | str]) -> tuple[int, ...]:
        """Return the places of axes given by place or by column, in the order given (HG160 if one is unknown)."""
        places = []
        for axis in axes:
            place = self.columns.index(axis) if axis in self.columns else axis
            if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(self.axes):
                raise ParameterError(
                    "HG160",
                    rule="An axis of a table is named by its column or its place.",
                    finding=f"Found {axis!r}.",
                    remedy="Its columns are: " + ", ".join(self.columns) + ".",
                )
            places.append(place)
        return tuple(places)

    def over(self, axes: Iterable[int | str]) -> TableShape:
        """Return the shape of the margin that keeps these axes and adds over the others; in the table's order.

        >>> TableShape((Axis("sex", (0, 1)), Axis("age", (1, 2, 3)))).over(["age"]).shape
        (3,)
        """
        return TableShape(tuple(self.axes[place] for place in sorted(set(self.axis_places(axes)))))

    def cell(self, flat: int) -> dict[str, Scalar]:
        """Return a cell as {column: category}; ``{}`` for the one cell of a table without axes.

        Raises
        ------
        IndexError
            For a place outside 0..size − 1.
        """
        if not 0 <= flat < self.size:
            raise IndexError("no such cell")
        found = []
        for axis in reversed(self.axes):
            flat, level = divmod(int(flat), axis.levels)
            found.append((axis.column, axis.labels[level]))
        return dict(reversed(found))

    def cells(self) -> Iterator[dict[str, Scalar]]:
        """Yield every cell as {column: category}, in order."""
        for labels in product(*(axis.labels for axis in self.axes)):
            yield dict(zip(self.columns, labels, strict=True))

    def place(self, cell: Mapping[str, Scalar]) -> int:
        """Return the place of a cell given as {column: category} (HG160 where there is none)."""
        flat = 0
        for axis in self.axes:
            if set(cell) != set(self.columns) or cell[axis.column] not in axis.labels:
                raise ParameterError(
                    "HG160",
                    rule="A cell names one declared category of every column of the table, and nothing else.",
                    finding="This one does not.",
                    remedy="The columns are: " + ", ".join(self.columns) + ".",
                )
            flat = flat * axis.levels + axis.labels.index(cell[axis.column])
        return flat
