"""What sorts records: an attribute gives each record one of its declared classes, or none of them.

======================  ===============================================================================
`Categories`            a column and its declared values
`Cuts`                  a numeric column between declared cut points
`Predicate`             a function of a record that says yes or no
`Disjoint`              several yes-or-no columns of which at most one holds for any record
======================  ===============================================================================

A record that has none of the classes is in class `classes`, the last, which stands for "other".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import DataError, ParameterError
from hedgerow.facts.columns import Scalar
from hedgerow.multicalibration.groups.cells import as_numbers, places_of

Column = str | int
Codes = NDArray[np.int64]


class Columns(Protocol):
    """Records as an attribute sees them: a column at a time, or whole for a predicate."""

    def __len__(self) -> int:
        """Return the number of records."""
        ...

    def column(self, name: Column) -> NDArray[Any]:
        """Return one column as an array, one entry a record."""
        ...

    def flags(self, predicate: Callable[[Any], Any]) -> NDArray[np.bool_]:
        """Return what a predicate says of each record."""
        ...


@dataclass(frozen=True, slots=True)
class Categories:
    """A column and its declared values; any other value is "other".

    Text is compared as text and numbers as numbers: 1 is not "1".
    """

    column: Column
    values: tuple[Scalar, ...]

    def __post_init__(self) -> None:
        if not self.values or len(set(self.values)) < len(self.values):
            raise _no_groups(f"The values of {self.column!r} are none, or one is named twice.")

    @property
    def classes(self) -> int:
        """How many values are declared."""
        return len(self.values)

    def label(self, place: int) -> str:
        """Return the name of a class."""
        return f"{self.column}={self.values[place]}"

    def codes(self, columns: Columns) -> Codes:
        """Return the class of each record; `classes` where it is another value."""
        return places_of(columns.column(self.column), self.values)


@dataclass(frozen=True, slots=True)
class Cuts:
    """A numeric column between declared points c_1 < … < c_m: below c_1, [c_1, c_2), …, from c_m on.

    The points are public and never read off the data: a quantile of the column is not a cut point. A value that is
    missing or NaN is "other".
    """

    column: Column
    points: tuple[float, ...]

    def __post_init__(self) -> None:
        points = np.asarray(self.points, dtype=float)
        if not len(points) or not np.isfinite(points).all() or (np.diff(points) <= 0).any():
            raise _no_groups(f"The cut points of {self.column!r} are not finite numbers in rising order.")

    @property
    def classes(self) -> int:
        """How many intervals there are: one more than points."""
        return len(self.points) + 1

    def label(self, place: int) -> str:
        """Return the interval, as it would be written."""
        low = f"{self.points[place - 1]:g} <= " if place else ""
        high = f" < {self.points[place]:g}" if place < len(self.points) else ""
        return f"{low}{self.column}{high}"

    def codes(self, columns: Columns) -> Codes:
        """Return the interval of each record; `classes` where the value is missing."""
        found = as_numbers(columns.column(self.column))
        codes = np.searchsorted(np.asarray(self.points, dtype=float), found, side="right").astype(np.int64)
        codes[np.isnan(found)] = self.classes
        return codes


@dataclass(frozen=True, slots=True)
class Predicate:
    """A function of records that says which are in the group (Fishman et al., section 3).

    It is called with records in the form in which they were given (an array or a frame) and returns one yes or no a
    record. A private fit calls it with ONE record at a time, so that what it says of one cannot depend on another.
    """

    name: str
    function: Callable[[Any], Any]

    @property
    def classes(self) -> int:
        """One class: those of whom it says yes."""
        return 1

    def label(self, place: int) -> str:
        """Return the predicate's name."""
        return self.name

    def codes(self, columns: Columns) -> Codes:
        """Return 0 where it says yes, 1 where it says no."""
        return np.where(columns.flags(self.function), 0, 1).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Disjoint:
    """Yes-or-no columns declared to exclude one another, so that a record is in at most one of their groups.

    The declaration is kept by construction: where several hold for a record, the first counts and the others do not.
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        if not self.columns or len(set(self.columns)) < len(self.columns):
            raise _no_groups("Disjoint columns are none, or one is named twice.")

    @property
    def classes(self) -> int:
        """How many columns there are."""
        return len(self.columns)

    def label(self, place: int) -> str:
        """Return the name of a column."""
        return str(self.columns[place])

    def codes(self, columns: Columns) -> Codes:
        """Return the first column that holds for each record; `classes` where none does."""
        held = np.stack([as_flags(columns.column(name)) for name in self.columns], axis=1)
        return np.where(held.any(axis=1), held.argmax(axis=1), self.classes).astype(np.int64)


Attribute = Categories | Cuts | Predicate | Disjoint


def as_flags(values: object) -> NDArray[np.bool_]:
    """Return yes-or-no values as booleans; whatever is neither true nor 1 is no.

    >>> as_flags([1, 0, True]).tolist()
    [True, False, True]
    """
    found = np.asanyarray(values)
    if found.dtype.kind not in "biufO":
        raise DataError(
            "HG166",
            rule="A mask holds yes or no for each record.",
            finding="It holds something else.",
            remedy="Give booleans. In a metric, groups declared by the values of columns need the records too: X=….",
        )
    return np.asarray(places_of(found.ravel(), (1,)).reshape(found.shape) == 0)


def _no_groups(finding: str) -> ParameterError:
    return ParameterError(
        "HG165",
        rule="Groups are declared: columns with their values, cut points, masks or predicates.",
        finding=finding,
        remedy='For example groups={"race": ["White", "Black"], "age": cuts(30, 50)}.',
        shell="For example --group race=White,Black.",
    )
