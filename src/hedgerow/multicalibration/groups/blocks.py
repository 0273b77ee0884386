"""Sums over all groups at once: a family of conjunctions is a few blocks, and within a block groups are disjoint.

The groups that join the same attributes form a block: a record is in at most one of them, the one that its classes
spell. So a table over groups is made in one pass over patterns for each block (1 + 7 + 21 passes for all pairs of seven
columns, whatever the number of groups), and membership is never written out as a matrix of records × groups.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from hedgerow.multicalibration.groups.family import Family

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

    >>> from hedgerow.multicalibration.groups.attribute import Categories
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

    >>> from hedgerow.multicalibration.groups.attribute import Categories
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
