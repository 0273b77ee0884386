"""Who is protected: the neighbouring relation and the unit of protection; and the target of intervals.

A guarantee without its relation is not a guarantee. Two data sets are neighbours when

* ``replace-one``: one record has another value; the number of records n is the same, hence public and stated;
* ``add-remove``: one record is there in one and not in the other; n is private.

The two strings are the same in Python, on the command line and in JSON (docs/language.md).

A guarantee about rows says little to a person with a hundred of them. With a limit L (`UnitLimit`) every unit counts
with at most L rows, whatever it holds, and neighbours differ in all the rows of one unit: under add-remove the unit and
its rows are there or not, and the number of units is private; under replace-one its rows are any other rows, and the
number of units, not of rows, is public. A row that names no unit is not counted.

Weights of records, as a survey declares them: a column, and the largest weight that counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.columns import LARGEST, LEAST_SPAN, Grid, checked_column
from hedgerow.facts.validation import as_fraction, as_int, format_argument

MOST_ROWS = 12
"""Largest limit: a price is the maximum over all ways of spreading the rows over cells, of which 12 have 77."""


@dataclass(frozen=True, slots=True)
class UnitLimit:
    """At most `max_rows` rows of each value of `column` count; its text is what a certificate states.

    Attributes
    ----------
    column : str
        Names the unit of each row: a person, a household, a device.
    max_rows : int
        L, from 1 to 12. A unit with more rows keeps a uniformly random choice of L.

    Raises
    ------
    ParameterError
        HG203 no column; HG115 a limit that is no positive whole number.
    UncertifiedError
        HG402: a limit above 12.

    Examples
    --------
    >>> str(UnitLimit("person_id", 4))
    'person_id, at most 4 rows'
    """

    column: str
    max_rows: int

    def __post_init__(self) -> None:
        checked_column(self.column)
        most = as_int(self.max_rows)
        if most is None or most < 1:
            raise ParameterError(
                "HG115",
                rule="The limit of rows of a unit is a whole number of at least 1.",
                finding=f"Found {format_argument(self.max_rows)}.",
                remedy=f'For example unit={{"column": "{self.column}", "max_rows": 4}}.',
            )
        object.__setattr__(self, "max_rows", most)
        if most > MOST_ROWS:
            raise UncertifiedError(
                "HG402",
                rule=f"Units of several rows are priced up to a limit of {MOST_ROWS} rows.",
                finding=f"Found {format_argument(self.max_rows)}.",
                remedy="The noise grows with the limit of rows for each unit. Use a lower limit of rows, or prepare "
                "the data with fewer rows for each unit.",
            )

    def __str__(self) -> str:
        return f"{self.column}, at most {self.max_rows} row{'s' if self.max_rows > 1 else ''}"

    @classmethod
    def parse(cls, unit: object) -> UnitLimit | None:
        """Return the limit that a user wrote, None for ``"row"`` (HG115 for anything else).

        >>> UnitLimit.parse("row"), UnitLimit.parse({"column": "person_id", "max_rows": 4})
        (None, UnitLimit(column='person_id', max_rows=4))
        >>> UnitLimit.parse(("person_id", 1))
        UnitLimit(column='person_id', max_rows=1)
        """
        if isinstance(unit, UnitLimit):
            return unit
        if isinstance(unit, str) and unit == "row":
            return None
        if isinstance(unit, Mapping) and set(unit) == {"column", "max_rows"}:
            return cls(unit["column"], unit["max_rows"])
        if isinstance(unit, Sequence) and not isinstance(unit, str) and len(unit) == 2:
            return cls(unit[0], unit[1])
        raise ParameterError(
            "HG115",
            rule='`unit` must be "row", or a column with a limit of rows for each unit.',
            finding=f"Found {format_argument(unit)}.",
            remedy='Name the column of the unit and its limit of rows, for example unit={"column": "person_id", '
            '"max_rows": 4}.',
        )


def unit_of_text(text: str) -> str | UnitLimit:
    """Return the unit whose text a certificate states.

    >>> unit_of_text("row"), unit_of_text(str(UnitLimit("person_id", 4)))
    ('row', UnitLimit(column='person_id', max_rows=4))
    """
    stated = re.fullmatch(r"(.+), at most (\d{1,18}) rows?", text, re.DOTALL)
    return text if stated is None else UnitLimit(stated[1], int(stated[2]))


def max_rows_of(unit: str | UnitLimit | None) -> int | None:
    """Return the most rows of a unit that count; None where a unit is a row.

    >>> max_rows_of(UnitLimit("person_id", 4)), max_rows_of("row")
    (4, None)
    """
    return unit.max_rows if isinstance(unit, UnitLimit) else None


UNIT_WEIGHTS = ("rows", "unit")
"""What counts alike in the distribution of a column of units of several rows: each row, or each unit."""


def parse_unit_weight(given: object, *, units: bool) -> str | None:
    """Return what counts alike where units have several rows, ``"rows"`` by default; None where each unit is a row.

    Raises
    ------
    ParameterError
        HG140: another word, or units of one row.

    Examples
    --------
    >>> parse_unit_weight(None, units=True), parse_unit_weight(None, units=False)
    ('rows', None)
    """
    if given is None:
        return UNIT_WEIGHTS[0] if units else None
    if units and isinstance(given, str) and given in UNIT_WEIGHTS:
        return given
    raise unfit_unit_weight(f"Found {format_argument(given)}{'' if units else ', and each row is a unit'}.")


def unfit_unit_weight(finding: str) -> ParameterError:
    """Return the refusal of a weight of units (HG140)."""
    return ParameterError(
        "HG140",
        rule='`unit_weight` is "rows" or "unit", for distributions of units of several rows.',
        finding=finding,
        remedy="Leave unit_weight out; or open the source with a unit, and ask for quantiles or shares with "
        'unit_weight="unit".',
        shell="Leave --unit-weight out; or give --unit COL:MAX, and ask for quantiles or shares.",
    )


class Relation(StrEnum):
    """The neighbouring relation; equal to its string.

    >>> Relation.REPLACE_ONE == "replace-one"
    True
    """

    REPLACE_ONE = "replace-one"
    ADD_REMOVE = "add-remove"


class Target(StrEnum):
    """What an interval is about: the ``population`` the records were drawn from, or the ``file`` itself (a census)."""

    POPULATION = "population"
    FILE = "file"


def parse_relation(relation: object) -> Relation:
    """Return the relation, or say which two there are.

    Raises
    ------
    ParameterError
        HG103: not one of the two strings, or not given at all.
    """
    if isinstance(relation, str) and relation in set(Relation):
        return Relation(relation)
    raise ParameterError(
        "HG103",
        rule="A guarantee needs a neighbouring relation, which says which data sets are compared.",
        finding="`relation` is missing and has no default."
        if relation is None
        else f"Found {format_argument(relation)}.",
        remedy='Choose relation="replace-one" (the number of records is public) or relation="add-remove" (the '
        "number of records is private, and so is whether a person is in the data).",
        facts_help=relation is None,
    )


def parse_target(target: object) -> Target:
    """Return the target, ``"population"`` or ``"file"``, also called ``"census"``; else HG115.

    >>> parse_target("census")
    <Target.FILE: 'file'>
    """
    if target == "census":
        return Target.FILE
    if isinstance(target, str) and target in set(Target):
        return Target(target)
    raise ParameterError(
        "HG115",
        rule='`target` must be "population" or "file".',
        finding=f"Found {format_argument(target)}.",
        remedy='The intervals of "population" include sampling error; the intervals of "file" describe the records '
        "of the file only.",
    )


def parse_unit(unit: object) -> str | UnitLimit:
    """Return the unit of protection: ``"row"``, or a column with a limit of rows (HG115; HG402 above 12 rows)."""
    return UnitLimit.parse(unit) or "row"


# Fine enough that rounding a weight is far below any noise.
STEPS = 2**20


@dataclass(frozen=True, slots=True)
class Weights:
    """A column of weights, each clamped to [0, most]; a record without a weight has the weight 0, and counts nowhere.

    >>> Weights.declared(("w", 10.0))
    Weights(column='w', most=Fraction(10, 1))
    """

    column: str
    most: Fraction

    @classmethod
    def declared(cls, given: object) -> Weights:
        """Return the weights that a call gives as (column, largest weight).

        Raises
        ------
        ParameterError
            HG134: it is no such pair.
        """
        listed = list(given) if isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping)) else []
        most = as_fraction(listed[1]) if len(listed) == 2 else None
        named = len(listed) == 2 and isinstance(listed[0], str) and listed[0] != ""
        if not named or most is None or not LEAST_SPAN <= most <= LARGEST:
            raise unfit_weights(f"Found {format_argument(given)}.")
        return cls(listed[0], most)

    def renamed(self, column: str) -> Weights:
        """Return them with another name of the column."""
        return replace(self, column=column)

    def grid(self, *, coarser: int = 0) -> Grid:
        """Return the grid of weights, of so many bits fewer than the usual 20."""
        return Grid(Fraction(0), self.most, STEPS >> coarser, declared=False)

    def public_record(self) -> dict[str, Any]:
        """Return them as plain JSON data."""
        return {"column": str(self.column), "most": float(self.most)}

    @property
    def in_words(self) -> str:
        """What is said of a number that is weighted.

        >>> Weights.declared(("w", 10)).in_words
        'weighted by w clamped to [0, 10]'
        """
        return f"weighted by {self.column} clamped to [0, {float(self.most):.15g}]"


def unfit_weights(finding: str) -> ParameterError:
    """Return the refusal of weights that are none (HG134)."""
    return ParameterError(
        "HG134",
        rule="Weights are given as a column and the largest weight, a positive number of at most 1e15.",
        finding=finding,
        remedy='For example weights=("w", 10.0).',
        shell="For example, write --weights w:10.",
    )
