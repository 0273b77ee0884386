"""The groups that a user declares, and the family of groups that they make; nothing is read off the data.

=====================================================  ==================================================
``{"race": ["White", "Black"], "sex": [0, 1]}``        columns with their declared values
``{"age": cuts(30, 50)}``                              a numeric column between declared points
``{"young": lambda x: x["age"] < 30}``                 a predicate: a function of one record, with a name
``masks("veteran", "student")``                        yes-or-no columns, each a group
``masks("urban", "rural", disjoint=True)``             the same, declared to exclude one another
``[is_young, is_married]``                             predicates, in a list
``None``                                               everybody, one group
=====================================================  ==================================================

A dictionary makes all conjunctions of up to two of its classes (``depth=2``); masks and lists of predicates are taken
one by one (``depth=1``); another depth may be chosen. Each entry becomes an attribute (`CategoryGroups`, `Cuts`,
`Predicate` or `Disjoint`), which gives each record one of its declared classes; a record that has none of them is in
class `classes`, the last, which stands for "other".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.cells import as_numbers, places_of
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.columns import Scalar
from hedgerow.facts.validation import plain
from hedgerow.multicalibration.family import Attribute, Column, Family, RecordColumns, as_flags

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CategoryGroups:
    """A column and its declared values; any other value is "other".

    Text is compared as text and numbers as numbers: 1 is not "1".
    """

    column: Column
    values: tuple[Scalar, ...]

    def __post_init__(self) -> None:
        if not self.values or len(set(self.values)) < len(self.values):
            raise _unreadable(f"The values of {self.column!r} are none, or one is named twice.")

    @property
    def classes(self) -> int:
        """How many values are declared."""
        return len(self.values)

    def label(self, index: int) -> str:
        """Return the name of a class."""
        return f"{self.column}={self.values[index]}"

    def codes(self, columns: RecordColumns) -> Codes:
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
            raise _unreadable(f"The cut points of {self.column!r} are not finite numbers in rising order.")

    @property
    def classes(self) -> int:
        """How many intervals there are: one more than points."""
        return len(self.points) + 1

    def label(self, index: int) -> str:
        """Return the interval, as it would be written."""
        low = f"{self.points[index - 1]:g} <= " if index else ""
        high = f" < {self.points[index]:g}" if index < len(self.points) else ""
        return f"{low}{self.column}{high}"

    def codes(self, columns: RecordColumns) -> Codes:
        """Return the interval of each record; `classes` where the value is missing."""
        numbers = as_numbers(columns.column(self.column))
        codes = np.searchsorted(np.asarray(self.points, dtype=float), numbers, side="right").astype(np.int64)
        codes[np.isnan(numbers)] = self.classes
        return codes


@dataclass(frozen=True, slots=True)
class Predicate:
    """A function of records that says which are in the group (Fishman et al., section 3).

    It is a function of ONE record: ``lambda x: x["age"] < 30 and x["sex"] == "F"``. What it may use, how it is
    evaluated and what is refused, `hedgerow.multicalibration.predicates` says; the answer for one record cannot
    depend on another, and is the same in `fit`, `predict` and metrics.
    """

    name: str
    function: Callable[[Any], Any]

    @property
    def classes(self) -> int:
        """One class: the records for which it says yes."""
        return 1

    def label(self, index: int) -> str:
        """Return the name of the predicate."""
        return self.name

    def codes(self, columns: RecordColumns) -> Codes:
        """Return 0 where it says yes, 1 where it says no."""
        return np.where(columns.flags(self.name, self.function), 0, 1).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Disjoint:
    """Yes-or-no columns declared to exclude one another, so that a record is in at most one of their groups.

    The declaration holds by construction: where several columns hold for a record, only the first one counts.
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        if not self.columns or len(set(self.columns)) < len(self.columns):
            raise _unreadable("Disjoint columns are none, or one is named twice.")

    @property
    def classes(self) -> int:
        """How many columns there are."""
        return len(self.columns)

    def label(self, index: int) -> str:
        """Return the name of a column."""
        return str(self.columns[index])

    def codes(self, columns: RecordColumns) -> Codes:
        """Return the first column that holds for each record; `classes` where none does."""
        held = np.stack([as_flags(columns.column(name)) for name in self.columns], axis=1)
        return np.where(held.any(axis=1), held.argmax(axis=1), self.classes).astype(np.int64)


_KINDS = (CategoryGroups, Cuts, Predicate, Disjoint)


def cuts(*points: float) -> CutPoints:
    """Return declared cut points that divide a numeric column into groups, as in ``groups={"age": cuts(30, 50)}``.

    >>> [cuts(30, 50)("age").label(interval) for interval in range(3)]
    ['age < 30', '30 <= age < 50', '50 <= age']
    """
    return CutPoints(tuple(float(point) for point in points))


@dataclass(frozen=True, slots=True, repr=False)
class CutPoints:
    """Cut points without their column yet."""

    points: tuple[float, ...]

    def __call__(self, column: Column) -> Cuts:
        """Return the attribute of a column."""
        return Cuts(column, self.points)

    def __repr__(self) -> str:
        return f"cuts({', '.join(f'{point:g}' for point in self.points)})"


def masks(*columns: Column, disjoint: bool = False) -> tuple[Attribute, ...]:
    """Return one group of records for each given column of yes and no (1 and 0).

    If the groups are declared as `disjoint`, a record belongs to at most one of them.

    Parameters
    ----------
    *columns : str or int
        Columns of yes and no (1 and 0): their names in a data frame, or their positions in an array.
    disjoint : bool
        Whether each record belongs to at most one of the groups.

    Returns
    -------
    tuple of Attribute
        The groups. Pass the returned groups to `Multicalibrator` as the argument `groups`, or as a value of the mapping
        `groups`.

    Raises
    ------
    ParameterError
        HG165: no column was named, or a column was named twice. Error HG165 is raised only when the groups are used,
        not by the function `masks` itself.

    Examples
    --------
    >>> family_of(masks("a", "b", "c")).most_groups, family_of(masks("a", "b", "c", disjoint=True)).most_groups
    (4, 2)
    """
    return (Disjoint(columns),) if disjoint else tuple(CategoryGroups(column, (True,)) for column in columns)


def family_of(groups: object, *, depth: int | None = None) -> Family:
    """Return the family of groups that a user wrote.

    Parameters
    ----------
    groups : mapping, sequence, Family or None
        See the module's table.
    depth : int, optional
        The largest number of classifications that a group combines, such as race and age; the default is 2 if `groups`
        is a mapping, and 1 if `groups` is a sequence.

    Raises
    ------
    ParameterError
        HG165: not written as in the table.
    UncertifiedError
        HG420 something would be read off the data; HG421 too many groups.

    Examples
    --------
    >>> family_of({"race": ["A", "B"], "age": cuts(50)}).names
    ('all', 'race=A', 'race=B', 'age < 50', '50 <= age', 'race=A & age < 50', 'race=A & 50 <= age', \
'race=B & age < 50', 'race=B & 50 <= age')
    """
    if isinstance(groups, Family):
        return groups
    if groups is None:
        return Family((), depth=1)
    if isinstance(groups, Mapping):
        return Family(tuple(_declared(name, said) for name, said in groups.items()), 2 if depth is None else depth)
    if isinstance(groups, Iterable) and not isinstance(groups, (str, bytes)):
        listed = tuple(_listed(number, item) for number, item in enumerate(groups, start=1))
        return Family(listed, 1 if depth is None else depth)
    raise _unreadable(f"Found an object of type {type(groups).__name__!r}.")


def _declared(name: Column, said: object) -> Attribute:
    if isinstance(said, CutPoints):
        return said(name)
    if isinstance(said, _KINDS):
        return said
    if callable(said):
        return Predicate(str(name), said)
    if said is None or isinstance(said, (str, bytes, Mapping)):
        # None, "auto", "quantile", {"min_size": 100}: all of them would read the data.
        raise _read_off_the_data(f"Column {name!r} declares no values.")
    if not isinstance(said, Iterable):
        raise _unreadable(f"Column {name!r} has no list of values.")
    values = tuple(plain(value) for value in said)
    if any(not isinstance(value, (str, int, float, bool)) for value in values):
        raise _unreadable(f"A value declared for {name!r} is neither text, number nor boolean.")
    return CategoryGroups(name, values)


def _listed(number: int, item: object) -> Attribute:
    if isinstance(item, _KINDS):
        return item
    if callable(item):
        name = getattr(item, "__name__", "")
        return Predicate(name if name.isidentifier() else f"group {number}", item)
    if isinstance(item, (str, int)):
        raise _read_off_the_data(f"{item!r} was named without its values.")
    raise _unreadable(f"Item {number} of the list is no predicate.")


def _unreadable(finding: str) -> ParameterError:
    return ParameterError(
        "HG165",
        rule="Groups are declared as columns with their values, cut points, masks or predicates.",
        finding=finding,
        remedy='Name the columns of the groups with their values or cut points, for example groups={"race": '
        '["White", "Black"], "age": cuts(30, 50)}.',
        shell="For example, write --group race=White,Black.",
    )


def _read_off_the_data(finding: str) -> UncertifiedError:
    return UncertifiedError(
        "HG420",
        rule="A family of groups is public. Values, cut points or a smallest group size are never read from the data.",
        finding=finding,
        remedy='Declare the groups: {"race": ["White", "Black"]}, {"age": cuts(30, 50)}, masks("veteran"). A '
        "small group does no harm, because errors that are smaller than the noise are not corrected.",
        shell="Declare them, e.g. --group race=White,Black.",
    )
