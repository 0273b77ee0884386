"""A family of groups: conjunctions of declared classes, overlapping freely, known before any data are.

Everything that privacy depends on comes from the family's structure: how many groups a record can be in
(`most_groups`), and which combinations of classes, the **atoms**, there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.given import whole
from hedgerow.multicalibration.groups.columns import RecordColumns

MOST_GROUPS = 20_000


class Attribute(Protocol):
    """Sorts records: each record has one of the declared classes, or class `classes`, which stands for "other"."""

    @property
    def classes(self) -> int:
        """How many classes are declared."""
        ...

    def label(self, place: int) -> str:
        """Return the name of a class."""
        ...

    def codes(self, columns: RecordColumns) -> NDArray[np.int64]:
        """Return the class of each record; `classes` where it has none of the declared ones."""
        ...


@dataclass(frozen=True, slots=True)
class Group:
    """A conjunction: the record has class c of attribute a, for each pair (a, c). Without pairs it is everybody."""

    pairs: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Family:
    """All satisfiable conjunctions of at most `depth` classes of different attributes, and everybody.

    Attributes
    ----------
    attributes : tuple of Attribute
        What sorts records; each record has one class of each, "other" included.
    depth : int
        How many classes a conjunction joins at most.

    Notes
    -----
    An **atom** is a combination of one class (or "other") of every attribute; its code is the mixed-radix number of the
    classes, the last attribute fastest. Membership of all groups follows from the atom.

    Examples
    --------
    >>> from hedgerow.multicalibration.groups.groups import Categories
    >>> family = Family((Categories("race", ("A", "B")), Categories("sex", ("F", "M"))), depth=2)
    >>> len(family.groups), family.most_groups, family.atoms
    (9, 4, 9)
    >>> family.names[:3], family.names[-1]
    (('all', 'race=A', 'race=B'), 'race=B & sex=M')
    """

    attributes: tuple[Attribute, ...]
    depth: int

    def __post_init__(self) -> None:
        depth = whole(self.depth)
        if depth is None or depth < 1:
            raise ParameterError(
                "HG165",
                rule="`depth` says how many classes a group joins at most: a whole number from 1.",
                finding=f"Found {self.depth!r}.",
            )
        object.__setattr__(self, "depth", depth)
        if self._size() > MOST_GROUPS:
            raise UncertifiedError(
                "HG421",
                rule=f"A family has at most {MOST_GROUPS:,} groups.",
                finding=f"These attributes make {self._size():,} at depth {self.depth}.",
                remedy="Take a smaller depth, or fewer or coarser columns.",
            )

    def _size(self) -> int:
        sizes = [attribute.classes for attribute in self.attributes]
        ways = [1] + [0] * min(self.depth, len(sizes))
        for size in sizes:
            for joined in range(len(ways) - 1, 0, -1):
                ways[joined] += ways[joined - 1] * size
        return sum(ways)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Everybody first, then single classes, then conjunctions of two, and so on."""
        return tuple(self._groups())

    def _groups(self) -> Iterator[Group]:
        places = range(len(self.attributes))
        for joined in range(min(self.depth, len(self.attributes)) + 1):
            for chosen in combinations(places, joined):
                for classes in product(*(range(self.attributes[a].classes) for a in chosen)):
                    yield Group(tuple(zip(chosen, classes, strict=True)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each group: ``"all"``, ``"race=White"``, ``"race=White & sex=Male"``."""
        return tuple(" & ".join(self.attributes[a].label(c) for a, c in group.pairs) or "all" for group in self.groups)

    @property
    def most_groups(self) -> int:
        """M, the number of groups that one record can be in at most: everybody, and one for each joined choice."""
        return sum(math.comb(len(self.attributes), joined) for joined in range(self.depth + 1))

    @property
    def levels(self) -> tuple[int, ...]:
        """How many classes each attribute has, "other" included."""
        return tuple(attribute.classes + 1 for attribute in self.attributes)

    @property
    def atoms(self) -> int:
        """How many combinations of classes there are; a Python integer, which may be huge."""
        return math.prod(self.levels)

    def classes(self, columns: RecordColumns) -> NDArray[np.int64]:
        """Return the class of each record in each attribute, (records, attributes)."""
        found = [attribute.codes(columns) for attribute in self.attributes]
        return np.stack(found, axis=1) if found else np.zeros((len(columns), 0), dtype=np.int64)

    def membership(self, classes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which groups records of these classes are in, (records, groups)."""
        inside = np.ones((len(classes), len(self.groups)), dtype=bool)
        for place, group in enumerate(self.groups):
            for attribute, wanted in group.pairs:
                inside[:, place] &= classes[:, attribute] == wanted
        return inside

    def atom_codes(self, classes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the atom of each record (needs ``atoms`` < 2⁶²)."""
        codes = np.zeros(len(classes), dtype=np.int64)
        for place, levels in enumerate(self.levels):
            codes = codes * levels + classes[:, place]
        return codes

    def atom_classes(self) -> NDArray[np.int64]:
        """Return the classes of every atom in the order of its code, (atoms, attributes); for small families."""
        if not self.levels:
            return np.zeros((1, 0), dtype=np.int64)
        return np.ascontiguousarray(np.indices(self.levels, dtype=np.int64).reshape(len(self.levels), -1).T)


Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Block:
    """The groups that join the same attributes: ``family.groups[start : start + size]``, one at most for any record."""

    attributes: tuple[int, ...]
    classes: tuple[int, ...]
    start: int

    @property
    def size(self) -> int:
        """How many groups there are."""
        return math.prod(self.classes)

    def place(self, patterns: Integers) -> Integers:
        """Return which group of the family each pattern is in, −1 where in none of the block."""
        place = np.zeros(len(patterns), dtype=np.int64)
        declared = np.ones(len(patterns), dtype=bool)
        for attribute, size in zip(self.attributes, self.classes, strict=True):
            place = place * size + patterns[:, attribute]
            declared &= patterns[:, attribute] < size
        return np.where(declared, place + self.start, -1)


def blocks_of(family: Family) -> Iterator[Block]:
    """Yield the blocks in the order of the family's groups.

    >>> from hedgerow.multicalibration.groups.groups import Categories
    >>> family = Family((Categories("race", ("A", "B")), Categories("sex", ("F", "M"))), depth=2)
    >>> [(block.attributes, block.start, block.size) for block in blocks_of(family)]
    [((), 0, 1), ((0,), 1, 2), ((1,), 3, 2), ((0, 1), 5, 4)]
    """
    start = 0
    for joined in range(min(family.depth, len(family.attributes)) + 1):
        for chosen in combinations(range(len(family.attributes)), joined):
            block = Block(chosen, tuple(family.attributes[a].classes for a in chosen), start)
            yield block
            start += block.size


def sum_by_group(family: Family, patterns: Integers, table: Integers) -> Integers:
    """Return Σ of `table` (patterns × columns) over the patterns of each group: (groups, columns), exact integers."""
    width = table.shape[1]
    sums = np.zeros((len(family.groups), width), dtype=np.int64)
    row, column = np.nonzero(table)
    # A bincount adds doubles: exact as long as sums stay under 2^53, which nine billion records do.
    weight = table[row, column].astype(np.float64)
    for block in blocks_of(family):
        at = block.place(patterns)[row]
        inside = at >= 0
        cell, part = (at - block.start) * width + column, weight
        if not inside.all():
            cell, part = cell[inside], part[inside]
        found = np.bincount(cell, weights=part, minlength=block.size * width)
        sums[block.start : block.start + block.size] = found.reshape(block.size, width)
    return sums


def members_of(family: Family, patterns: Integers) -> list[Integers]:
    """Return which of the patterns are in each group, as rising row numbers; their lengths add up to M × patterns.

    >>> from hedgerow.multicalibration.groups.groups import Categories
    >>> family = Family((Categories("sex", ("F", "M")),), depth=1)
    >>> [rows.tolist() for rows in members_of(family, np.array([[1], [2], [0], [1]]))]
    [[0, 1, 2, 3], [2], [0, 3]]
    """
    found: list[Integers] = []
    for block in blocks_of(family):
        place = block.place(patterns)
        order = np.argsort(place, kind="stable")
        edges = np.searchsorted(place[order], np.arange(block.start, block.start + block.size + 1))
        found.extend(np.split(order, edges)[1:-1])
    return found


def spread_to_patterns(family: Family, patterns: Integers, table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each pattern, Σ of `table` (groups × columns) over the groups that it is in: (patterns, columns)."""
    spread = np.zeros((len(patterns), table.shape[1]))
    for block in blocks_of(family):
        rows = table[block.start : block.start + block.size]
        if not rows.any():
            continue
        at = block.place(patterns) - block.start
        inside = at >= 0
        if inside.all():
            spread += rows[at]
        else:
            spread[inside] += rows[at[inside]]
    return spread


def group_classes(family: Family) -> Integers:
    """Return each group as a pattern: its classes where it joins an attribute, "other" elsewhere.

    The groups that such a pattern is in are the group itself and all that contain it by their definition.
    """
    other = np.array([attribute.classes for attribute in family.attributes], dtype=np.int64)
    patterns = np.tile(other, (len(family.groups), 1))
    for row, group in enumerate(family.groups):
        for attribute, wanted in group.pairs:
            patterns[row, attribute] = wanted
    return patterns
