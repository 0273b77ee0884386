"""The shape of a table: its axes, their categories, declared groups of categories, and the order of its cells.

Cells are the product of the axes' categories in row-major order: the first axis is the slowest, the last one the
fastest, as an engine answers (`engines.query.Query.labels`). A cell is its place in that order; nothing here holds
a number of the data. Groups of categories (regions of districts, sections of industries) need not be of equal size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Category, Scalar
from hedgerow.facts.validation import format_argument

OTHER = "other"
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TableDimension:
    """One column of a table with its declared categories; with ``other`` a last one for the rest.

    `names` are labels that are shown in place of the categories, one each; none where there are none.

    >>> axis = TableDimension("region", ("north", "south"), other=True)
    >>> axis.levels, axis.labels
    (3, ('north', 'south', 'other'))
    """

    column: str
    categories: tuple[Scalar, ...]
    other: bool = False
    names: tuple[str, ...] = ()

    @property
    def levels(self) -> int:
        """How many categories there are, the rest included."""
        return len(self.categories) + self.other

    @property
    def labels(self) -> tuple[Scalar, ...]:
        """The categories in order; the rest is called ``"other"``."""
        return (*self.categories, OTHER) if self.other else self.categories

    @property
    def heads(self) -> tuple[str, ...]:
        """What is shown of each category: its label where it has one."""
        return tuple(map(str, (*self.names, *self.labels[len(self.names) :])))


@dataclass(frozen=True, slots=True)
class TableShape(Sequence[Mapping[str, Scalar]]):
    """The axes of a table, in order, and the cells they make: a sequence of {column: category}, first axis slowest.

    Without axes there is one cell, the grand total.

    Raises
    ------
    ParameterError
        HG160 where two axes are of one column, or an axis has no category.

    Examples
    --------
    >>> shape = TableShape((TableDimension("sex", (0, 1)), TableDimension("region", ("north", "south"), other=True)))
    >>> shape.shape, shape.size
    ((2, 3), 6)
    >>> shape.cell(5), shape.place({"sex": 1, "region": "other"})
    ({'sex': 1, 'region': 'other'}, 5)
    """

    axes: tuple[TableDimension, ...]

    def __post_init__(self) -> None:
        if len(set(self.columns)) < len(self.axes) or any(axis.levels == 0 for axis in self.axes):
            raise ParameterError(
                "HG160",
                rule="The dimensions of a table are different columns, each with at least one category.",
                finding="A column is named twice, or has no category.",
                remedy="Name each column once, with its categories.",
            )

    @classmethod
    def of(cls, by: Iterable[Category]) -> TableShape:
        """Return the shape that declared categories make, in their order.

        >>> TableShape.of([Category.declared("sex", [0, 1])]).cell(1)
        {'sex': 1}
        """
        return cls(
            tuple(
                TableDimension(category.column, category.values, category.other, category.names)
                for category in by
                if category.shown
            )
        )

    @property
    def names(self) -> dict[str, dict[Scalar, str]]:
        """The labels of categories that have some: {column: {category: label}}."""
        return {axis.column: dict(zip(axis.categories, axis.names, strict=False)) for axis in self.axes if axis.names}

    def names_of(self, cell: Mapping[str, Scalar]) -> dict[str, str]:
        """Return {column: label} of the categories of a cell that have labels.

        >>> TableShape.of([Category.declared("sex", {0: "men", 1: "women"})]).names_of({"sex": 1})
        {'sex': 'women'}
        """
        named = self.names
        return {column: named[column][value] for column, value in cell.items() if value in named.get(column, ())}

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
                    rule="A dimension of a table is named by its column or its position.",
                    finding=f"Found {format_argument(axis)}.",
                    remedy="Its columns are: " + ", ".join(self.columns) + ".",
                )
            places.append(place)
        return tuple(places)

    def over(self, axes: Iterable[int | str]) -> TableShape:
        """Return the shape of the margin that keeps these axes and adds over the others; in the table's order.

        >>> TableShape((TableDimension("sex", (0, 1)), TableDimension("age", (1, 2, 3)))).over(["age"]).shape
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
        places = []
        for axis in reversed(self.axes):
            flat, level = divmod(int(flat), axis.levels)
            places.append((axis.column, axis.labels[level]))
        return dict(reversed(places))

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, index: int) -> Mapping[str, Scalar]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Mapping[str, Scalar]]: ...
    def __getitem__(self, index: int | slice) -> Mapping[str, Scalar] | Sequence[Mapping[str, Scalar]]:
        chosen = range(self.size)[index]
        return self.cell(chosen) if isinstance(chosen, int) else [self.cell(at) for at in chosen]

    def __iter__(self) -> Iterator[Mapping[str, Scalar]]:
        return self.cells()

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
                    rule="A cell is named by one declared category for every column of the table, and nothing else.",
                    finding="The given value does not follow the rule.",
                    remedy="The columns are: " + ", ".join(self.columns) + ".",
                )
            flat = flat * axis.levels + axis.labels.index(cell[axis.column])
        return flat


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """One level above the categories of a column: named groups, each category in exactly one of them.

    Several may be declared for one column (districts in counties, counties in regions), nested or not.

    Attributes
    ----------
    column : str
        The axis whose categories are grouped.
    name : str
        What a margin by these groups is called; no column's name.
    groups : tuple of (label, categories)

    Examples
    --------
    >>> region = Hierarchy.of("district", "region", {"north": ["a", "b"], "south": ["c"]})
    >>> region.axis.labels, region.codes(TableDimension("district", ("a", "b", "c"))).tolist()
    (('north', 'south'), [0, 0, 1])
    """

    column: str
    name: str
    groups: tuple[tuple[Scalar, tuple[Scalar, ...]], ...]

    @classmethod
    def of(cls, column: str, name: str, groups: Mapping[Scalar, Iterable[Scalar]]) -> Hierarchy:
        """Return a hierarchy from {group: its categories}."""
        return cls(column, name, tuple((label, tuple(members)) for label, members in groups.items()))

    @property
    def in_words(self) -> str:
        """What the groups are.

        >>> Hierarchy.of("district", "region", {"north": ["a", "b"], "south": ["c"]}).in_words
        'region: groups of district: north = a, b; south = c'
        """
        groups = (f"{label} = {', '.join(map(str, members))}" for label, members in self.groups)
        return f"{self.name}: groups of {self.column}: {'; '.join(groups)}"

    def record(self) -> dict[str, Any]:
        """Return it as plain JSON data."""
        groups = [[label, list(members)] for label, members in self.groups]
        return {"column": self.column, "name": self.name, "groups": groups}

    @classmethod
    def from_record(cls, fields: Mapping[str, Any]) -> Hierarchy:
        """Return the hierarchy of `record`.

        >>> region = Hierarchy.of("district", "region", {"north": ["a", "b"], "south": ["c"]})
        >>> Hierarchy.from_record(region.record()) == region
        True
        """
        groups = tuple((label, tuple(members)) for label, members in fields["groups"])
        return cls(str(fields["column"]), str(fields["name"]), groups)

    @property
    def axis(self) -> TableDimension:
        """The groups as an axis of their own."""
        return TableDimension(self.name, tuple(label for label, _ in self.groups))

    def codes(self, axis: TableDimension) -> NDArray[np.int64]:
        """Return the group of each category of the axis, by place (HG162 where one has none, or two)."""
        codes = {member: place for place, (_, members) in enumerate(self.groups) for member in members}
        listed = [member for _, members in self.groups for member in members]
        if len(codes) < len(listed) or set(codes) != set(axis.labels) or not all(members for _, members in self.groups):
            raise ParameterError(
                "HG162",
                rule="Every category of a column must be in exactly one group of a hierarchy, and every group needs a "
                "category.",
                finding=f"The groups {self.name!r} of column {self.column!r} are no such partition.",
                remedy="List every category once. The cell for all other values is called 'other'.",
            )
        return np.array([codes[label] for label in axis.labels], dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class DimensionLevels:
    """How the categories of one axis add up: its levels are itself, its hierarchies, and the total.

    Attributes
    ----------
    axis : TableDimension
    atoms : int array, (K,)
        The atom of each category: categories that every hierarchy groups alike. One atom without hierarchies.
    sizes : float array, (g,)
        Categories in each atom.
    sums : dict
        {level: (groups, g) float array}: how atom MEANS add up to the level's groups; None is the total.
    """

    axis: TableDimension
    atoms: NDArray[np.int64]
    sizes: Floats
    sums: dict[str | None, Floats]
    levels: dict[str | None, TableDimension | None]

    @classmethod
    def of(cls, axis: TableDimension, hierarchies: Iterable[Hierarchy] = ()) -> DimensionLevels:
        """Return the map of an axis; only the hierarchies of its own column are used.

        >>> region = Hierarchy.of("district", "region", {"north": ["a", "b"], "south": ["c"]})
        >>> axis_map = DimensionLevels.of(TableDimension("district", ("a", "b", "c")), [region])
        >>> axis_map.sums["region"].tolist(), axis_map.sums[None].tolist()
        ([[2.0, 0.0], [0.0, 1.0]], [[2.0, 1.0]])
        """
        mine = [hierarchy for hierarchy in hierarchies if hierarchy.column == axis.column]
        codes = [hierarchy.codes(axis) for hierarchy in mine]
        stacked = np.stack([np.zeros(axis.levels, dtype=np.int64), *codes])
        groups, atoms, counted = np.unique(stacked, axis=1, return_inverse=True, return_counts=True)
        sizes: Floats = counted.astype(np.float64)
        sums: dict[str | None, Floats] = {None: sizes[None, :]}
        levels: dict[str | None, TableDimension | None] = {None: None, axis.column: axis}
        for row, hierarchy in enumerate(mine, start=1):
            held = groups[row] == np.arange(hierarchy.axis.levels)[:, None]
            sums[hierarchy.name] = held * sizes
            levels[hierarchy.name] = hierarchy.axis
        return cls(axis, atoms.reshape(-1), sizes, sums, levels)

    def is_leaf(self, level: str | None) -> bool:
        """Return whether a level is the axis's own categories."""
        return level == self.axis.column

    def gram(self, level: str | None) -> Floats:
        """Return R'R of the map R from atom means to the numbers of a level: (g, g)."""
        if self.is_leaf(level):
            return np.diag(self.sizes)
        return np.asarray(self.sums[level].T @ self.sums[level])

    def atom_sums(self, values: Floats, place: int) -> Floats:
        """Return R'y at the leaf level: the numbers of each atom added up along one axis of an array."""
        if len(self.sizes) == 1:
            return np.asarray(values.sum(axis=place, keepdims=True))
        order = np.argsort(self.atoms, kind="stable")
        starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)
        return np.asarray(np.add.reduceat(np.take(values, order, axis=place), starts, axis=place))

    def added(self, values: Floats, place: int, level: str | None) -> Floats:
        """Return numbers of the categories added up to a level along one axis; the total keeps an axis of length 1."""
        if self.is_leaf(level):
            return values
        by_atom = self.atom_sums(values, place)
        if level is None:
            return np.asarray(by_atom.sum(axis=place, keepdims=True))
        held = (self.sums[level] > 0.0).astype(np.float64)
        return np.asarray(np.moveaxis(np.tensordot(held, by_atom, axes=(1, place)), 0, place))
