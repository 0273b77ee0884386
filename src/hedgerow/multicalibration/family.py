"""A family of groups: conjunctions of declared classes, which may overlap and are known before any data are.

Everything that privacy depends on follows from the structure of the family: the number of groups that a record can be
in (`most_groups`), and the combinations of classes, the **atoms**.

The groups that join the same attributes form a **block**: a record is in at most one of them, which its classes
determine. So a table over groups is made in one pass over patterns for each block (1 + 7 + 21 passes for all pairs of
seven columns, whatever the number of groups), and no matrix of records × groups is needed.

Records as attributes see them: an array, a frame of any library, or a mapping of columns.

Columns are taken by name where there are names and by position where there are none. No frame library is imported: what
is used is ``X[name]`` and slices of rows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.cells import as_entries, as_own, cells_of, places_of
from hedgerow.errors import DataError, ParameterError, UncertifiedError
from hedgerow.facts.validation import as_int, format_argument
from hedgerow.multicalibration.predicates import by_columns, flags_of

Column = str | int
# The names that pandas, Polars and Arrow give to types of text, in lower case.
_TEXTS = re.compile(
    r"str|(large_)?string(_view|\[.*)?|categorical|enum.*|dictionary<values=(large_)?string,.*|[<>|=]u\d+"
)


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """Records, a column at a time.

    Attributes
    ----------
    records : array, frame or mapping
        As the caller gave them.
    """

    records: Any
    _values: dict[Column, list[Any]] = field(default_factory=dict, repr=False, compare=False)
    _types: dict[Column, np.dtype[Any]] = field(default_factory=dict, repr=False, compare=False)
    _ways: dict[int, tuple[Callable[[Any], Any], bool]] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        """Return the number of records."""
        if isinstance(self.records, Mapping):
            return max((len(column) for column in self.records.values()), default=0)
        shape = getattr(self.records, "shape", None)
        return int(shape[0]) if shape else len(self.records)

    def column(self, name: Column) -> NDArray[Any]:
        """Return one column: by name of a frame or mapping, by position in an array.

        Raises
        ------
        DataError
            HG166: there is no such column.
        """
        try:
            if hasattr(self.records, "tocsr"):
                cells = np.asarray(self.records[:, [int(name)]].todense()).ravel()
            elif isinstance(self.records, np.ndarray):
                cells = np.asarray(self.records[:, int(name)])
            else:
                cells = cells_of(self.records[name])
        except Exception:  # each frame library has its own error for a missing name
            cells = None
        if cells is None or cells.ndim != 1:
            raise DataError(
                "HG166",
                rule="Use a column's name for a data frame, and its integer position for an array.",
                finding=f"Column {name!r} was not found.",
                remedy="Compare the spelling of the columns with the names in the data. The columns of an array have "
                "the numbers 0, 1, … "
                "instead of names.",
            )
        return cells

    def values(self, name: Column) -> list[Any]:
        """Return the values of one column, Python's own (`as_own`); they are kept for the next predicate."""
        if name not in self._values:
            self._values[name] = as_own(self.column(name))
        return self._values[name]

    def type_of(self, name: Column) -> np.dtype[Any]:
        """Return NumPy's type of one column, by its declared type alone: ``"U"`` for texts of any library."""
        if name not in self._types:
            cells = self.empty().column(name)
            table = isinstance(self.records, np.ndarray) or hasattr(self.records, "tocsr")
            column = self.records if table else self.records[name]
            declared = str(getattr(column, "dtype", getattr(column, "type", ""))).lower()
            self._types[name] = np.dtype("U") if _TEXTS.fullmatch(declared) else cells.dtype
        return self._types[name]

    def empty(self) -> RecordColumns:
        """Return the same columns without records, on which a family is tried before anything is read."""
        return replace(self, records=self._rows(0, 0), _values={})

    def flags(self, name: str, predicate: Callable[[Any], Any]) -> NDArray[np.bool_]:
        """Return the answer of a predicate for each record; which way it is evaluated is decided once (`predicates`).

        Raises
        ------
        UncertifiedError
            HG440: it cannot be evaluated for one record. Nothing was read.
        """
        # With the predicate itself: the id of one that is gone could be another's.
        if id(predicate) not in self._ways:
            self._ways[id(predicate)] = predicate, by_columns(name, predicate, self.type_of)
        _, whole = self._ways[id(predicate)]
        return flags_of(predicate, len(self), self.values, whole=whole)

    def slice(self, start: int, end: int) -> Any:
        """Return records `start` to `end` − 1, in the type in which they were given; lists become an array."""
        return self.records if (start, end) == (0, len(self)) else self._rows(start, end)

    def _rows(self, start: int, end: int) -> Any:
        if isinstance(self.records, Mapping):
            return {name: np.array(as_entries(column[start:end])) for name, column in self.records.items()}
        rows = getattr(self.records, "iloc", self.records)[start:end]
        # Without the row numbers, which depend on other records, and without the array that a slice is a view of.
        if hasattr(rows, "reset_index"):
            return rows.reset_index(drop=True)
        return rows.copy() if isinstance(rows, np.ndarray) else rows


def records_of(records: object) -> RecordColumns:
    """Return records as columns; a nested list becomes an array, entry by entry.

    >>> records_of([[1.0, 2.0], [3.0, 4.0]]).column(1).tolist()
    [2.0, 4.0]
    """
    if hasattr(records, "tocsc"):
        # A sparse matrix of any layout: only this layout has columns and slices.
        records = records.tocsr()  # type: ignore[attr-defined]  # whatever has the one has the other
    known = isinstance(records, (np.ndarray, Mapping)) or hasattr(records, "columns") or hasattr(records, "shape")
    return RecordColumns(records if known else as_entries(records))


def as_flags(values: object) -> NDArray[np.bool_]:
    """Return yes-or-no values as booleans; whatever is neither true nor 1 is no.

    >>> as_flags([1, 0, True]).tolist()
    [True, False, True]
    """
    flags = np.asanyarray(values)
    if flags.dtype.kind not in "biufO":
        raise DataError(
            "HG166",
            rule="A mask must hold yes or no for each record.",
            finding="The given mask holds other values.",
            remedy="Give a mask of booleans. If groups are declared by the values of columns, pass the records to "
            "the metric in the argument X.",
        )
    return np.asarray(places_of(flags.ravel(), (1,)).reshape(flags.shape) == 0)


MOST_GROUPS = 20_000
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Attribute(Protocol):
    """Sorts records: each record has one of the declared classes, or class `classes`, which stands for "other"."""

    @property
    def classes(self) -> int:
        """How many classes are declared."""
        ...

    def label(self, index: int) -> str:
        """Return the name of a class."""
        ...

    def codes(self, columns: RecordColumns) -> Integers:
        """Return the class of each record; `classes` where it has none of the declared ones."""
        ...


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

    def group_of(self, patterns: Integers) -> Integers:
        """Return the index of the block's group that each pattern is in, −1 where it is in none."""
        group = np.zeros(len(patterns), dtype=np.int64)
        declared = np.ones(len(patterns), dtype=bool)
        for attribute, size in zip(self.attributes, self.classes, strict=True):
            group = group * size + patterns[:, attribute]
            declared &= patterns[:, attribute] < size
        return np.where(declared, group + self.start, -1)


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
    >>> from hedgerow.multicalibration.declared_groups import CategoryGroups
    >>> family = Family((CategoryGroups("race", ("A", "B")), CategoryGroups("sex", ("F", "M"))), depth=2)
    >>> len(family.groups), family.most_groups, family.atoms
    (9, 4, 9)
    >>> family.names[:3], family.names[-1]
    (('all', 'race=A', 'race=B'), 'race=B & sex=M')
    >>> [(block.attributes, block.start, block.size) for block in family.blocks]
    [((), 0, 1), ((0,), 1, 2), ((1,), 3, 2), ((0, 1), 5, 4)]
    """

    attributes: tuple[Attribute, ...]
    depth: int

    def __post_init__(self) -> None:
        depth = as_int(self.depth)
        if depth is None or depth < 1:
            raise ParameterError(
                "HG165",
                rule="`depth` is the largest number of columns that are combined into one group, a whole number of "
                "at least 1.",
                finding=f"Found {format_argument(self.depth)}.",
            )
        object.__setattr__(self, "depth", depth)
        # Counted without listing them: there may be too many to list.
        sizes = [1] + [0] * min(depth, len(self.attributes))
        for attribute in self.attributes:
            for joined in range(len(sizes) - 1, 0, -1):
                sizes[joined] += sizes[joined - 1] * attribute.classes
        if sum(sizes) > MOST_GROUPS:
            raise UncertifiedError(
                "HG421",
                rule=f"A family has at most {MOST_GROUPS:,} groups.",
                finding=f"These attributes make {sum(sizes):,} at depth {self.depth}.",
                remedy="Use a smaller depth, or fewer or coarser columns.",
            )

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Everybody first, then the blocks of one attribute, then those of two, and so on."""
        blocks, start = [], 0
        for joined in range(min(self.depth, len(self.attributes)) + 1):
            for chosen in combinations(range(len(self.attributes)), joined):
                blocks.append(Block(chosen, tuple(self.attributes[a].classes for a in chosen), start))
                start += blocks[-1].size
        return tuple(blocks)

    @cached_property
    def groups(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Each group as pairs (attribute a, class c): it holds the records that have class c of each a."""
        return tuple(
            tuple(zip(block.attributes, classes, strict=True))
            for block in self.blocks
            for classes in product(*map(range, block.classes))
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each group: ``"all"``, ``"race=White"``, ``"race=White & sex=Male"``."""
        return tuple(" & ".join(self.attributes[a].label(c) for a, c in group) or "all" for group in self.groups)

    @property
    def most_groups(self) -> int:
        """M, the number of groups that one record can be in at most: everybody, and one of each other block."""
        return sum(math.comb(len(self.attributes), joined) for joined in range(self.depth + 1))

    @property
    def levels(self) -> tuple[int, ...]:
        """How many classes each attribute has, "other" included."""
        return tuple(attribute.classes + 1 for attribute in self.attributes)

    @property
    def atoms(self) -> int:
        """How many combinations of classes there are; a Python integer, which may be huge."""
        return math.prod(self.levels)

    def classes(self, columns: RecordColumns) -> Integers:
        """Return the class of each record in each attribute, (records, attributes)."""
        codes = [attribute.codes(columns) for attribute in self.attributes]
        return np.stack(codes, axis=1) if codes else np.zeros((len(columns), 0), dtype=np.int64)

    def membership(self, classes: Integers) -> NDArray[np.bool_]:
        """Return which groups records of these classes are in, (records, groups)."""
        inside = np.zeros((len(classes), len(self.groups)), dtype=bool)
        for block in self.blocks:
            group = block.group_of(classes)
            rows = np.flatnonzero(group >= 0)
            inside[rows, group[rows]] = True
        return inside

    def atom_codes(self, classes: Integers) -> Integers:
        """Return the atom of each record (needs ``atoms`` < 2⁶²)."""
        codes = np.zeros(len(classes), dtype=np.int64)
        for attribute, levels in enumerate(self.levels):
            codes = codes * levels + classes[:, attribute]
        return codes

    def atom_classes(self) -> Integers:
        """Return the classes of every atom in the order of its code, (atoms, attributes); for small families."""
        if not self.levels:
            return np.zeros((1, 0), dtype=np.int64)
        return np.ascontiguousarray(np.indices(self.levels, dtype=np.int64).reshape(len(self.levels), -1).T)


def sum_by_group(family: Family, patterns: Integers, table: Integers) -> Integers:
    """Return Σ of `table` (patterns × columns) over the patterns of each group: (groups, columns), exact integers."""
    width = table.shape[1]
    sums = np.zeros((len(family.groups), width), dtype=np.int64)
    row, column = np.nonzero(table)
    # A bincount adds doubles: exact while sums are below 2^53, which nine billion records do not exceed.
    weight = table[row, column].astype(np.float64)
    for block in family.blocks:
        at = block.group_of(patterns)[row]
        inside = at >= 0
        cell = ((at - block.start) * width + column)[inside]
        total = np.bincount(cell, weights=weight[inside], minlength=block.size * width)
        sums[block.start : block.start + block.size] = total.reshape(block.size, width)
    return sums


def members_of(family: Family, patterns: Integers) -> list[Integers]:
    """Return which of the patterns are in each group, as rising row numbers; their lengths add up to M × patterns.

    >>> from hedgerow.multicalibration.declared_groups import CategoryGroups
    >>> family = Family((CategoryGroups("sex", ("F", "M")),), depth=1)
    >>> [rows.tolist() for rows in members_of(family, np.array([[1], [2], [0], [1]]))]
    [[0, 1, 2, 3], [2], [0, 3]]
    """
    members: list[Integers] = []
    for block in family.blocks:
        group = block.group_of(patterns)
        order = np.argsort(group, kind="stable")
        edges = np.searchsorted(group[order], np.arange(block.start, block.start + block.size + 1))
        members.extend(np.split(order, edges)[1:-1])
    return members


def spread_to_patterns(family: Family, patterns: Integers, table: Floats) -> Floats:
    """Return, for each pattern, Σ of `table` (groups × columns) over the groups that it is in: (patterns, columns)."""
    spread = np.zeros((len(patterns), table.shape[1]))
    for block in family.blocks:
        rows = table[block.start : block.start + block.size]
        if rows.any():
            at = block.group_of(patterns) - block.start
            spread[at >= 0] += rows[at[at >= 0]]
    return spread


def group_classes(family: Family) -> Integers:
    """Return each group as a pattern: its classes where it joins an attribute, "other" elsewhere.

    The groups that such a pattern is in are the group itself and all that contain it by their definition.
    """
    patterns = np.tile(np.array(family.levels, dtype=np.int64) - 1, (len(family.groups), 1))
    for row, group in enumerate(family.groups):
        for attribute, wanted in group:
            patterns[row, attribute] = wanted
    return patterns
