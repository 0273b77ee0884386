"""Declared groups of one axis's categories: regions of districts, sections of industries. They need not be equal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Scalar
from hedgerow.tables.cells.shape import Axis

Floats = NDArray[np.float64]


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
    >>> region.axis.labels, region.codes(Axis("district", ("a", "b", "c"))).tolist()
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
    def axis(self) -> Axis:
        """The groups as an axis of their own."""
        return Axis(self.name, tuple(label for label, _ in self.groups))

    def codes(self, axis: Axis) -> NDArray[np.int64]:
        """Return the group of each category of the axis, by place (HG162 where one has none, or two)."""
        found = {member: place for place, (_, members) in enumerate(self.groups) for member in members}
        listed = [member for _, members in self.groups for member in members]
        if len(found) < len(listed) or set(found) != set(axis.labels) or not all(members for _, members in self.groups):
            raise ParameterError(
                "HG162",
                rule="Every category of a column is in exactly one group of a hierarchy, and every group has one.",
                finding=f"The groups {self.name!r} of column {self.column!r} are no such partition.",
                remedy="List every category once; the rest is called 'other'.",
            )
        return np.array([found[label] for label in axis.labels], dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class AxisMap:
    """How the categories of one axis add up: its levels are itself, its hierarchies, and the total.

    Attributes
    ----------
    axis : Axis
    atoms : int array, (K,)
        The atom of each category: categories that every hierarchy groups alike. One atom without hierarchies.
    sizes : float array, (g,)
        Categories in each atom.
    sums : dict
        {level: (groups, g) float array}: how atom MEANS add up to the level's groups; None is the total.
    """

    axis: Axis
    atoms: NDArray[np.int64]
    sizes: Floats
    sums: dict[str | None, Floats]
    levels: dict[str | None, Axis | None]

    @classmethod
    def of(cls, axis: Axis, hierarchies: Iterable[Hierarchy] = ()) -> AxisMap:
        """Return the map of an axis with those of the hierarchies that are of its column.

        >>> region = Hierarchy.of("district", "region", {"north": ["a", "b"], "south": ["c"]})
        >>> axis_map = AxisMap.of(Axis("district", ("a", "b", "c")), [region])
        >>> axis_map.sums["region"].tolist(), axis_map.sums[None].tolist()
        ([[2.0, 0.0], [0.0, 1.0]], [[2.0, 1.0]])
        """
        mine = [hierarchy for hierarchy in hierarchies if hierarchy.column == axis.column]
        codes = [hierarchy.codes(axis) for hierarchy in mine]
        stacked = np.stack([np.zeros(axis.levels, dtype=np.int64), *codes])
        groups, atoms, counted = np.unique(stacked, axis=1, return_inverse=True, return_counts=True)
        sizes: Floats = counted.astype(np.float64)
        sums: dict[str | None, Floats] = {None: sizes[None, :]}
        levels: dict[str | None, Axis | None] = {None: None, axis.column: axis}
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
