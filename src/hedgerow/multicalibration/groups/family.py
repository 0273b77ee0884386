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

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.given import whole
from hedgerow.multicalibration.groups.attribute import Attribute, Columns

MOST_GROUPS = 20_000


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
    >>> from hedgerow.multicalibration.groups.attribute import Categories
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

    def classes(self, columns: Columns) -> NDArray[np.int64]:
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
