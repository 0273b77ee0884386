"""The unit of protection where one person has several rows: a column that names the unit, and a limit of its rows.

A guarantee about rows says little to a person with a hundred of them. With a limit L every unit counts with at most L
rows, whatever it holds, and neighbours differ in all the rows of one unit:

* ``add-remove``: one unit is there, with all its rows, or not; how many units there are is private;
* ``replace-one``: one unit's rows are any other rows; the number of units is public, the number of rows is not.

A row that names no unit counts nowhere: nobody could say whose limit it uses up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.facts import checked_column
from hedgerow.facts.numbers import whole

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
        most = whole(self.max_rows)
        if most is None or most < 1:
            raise ParameterError(
                "HG115",
                rule="A unit's limit of rows is a whole number of at least 1.",
                finding=f"Found {self.max_rows!r}.",
                remedy=f'For example unit={{"column": "{self.column}", "max_rows": 4}}.',
            )
        object.__setattr__(self, "max_rows", most)
        if most > MOST_ROWS:
            raise UncertifiedError(
                "HG402",
                rule=f"Units of several rows are priced up to a limit of {MOST_ROWS} rows.",
                finding=f"Found {self.max_rows}.",
                remedy="Noise grows with the limit: take a lower one, or bring the data to fewer rows a unit first.",
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
            rule='`unit` must be "row", or a column and a limit of rows per unit.',
            finding=f"Found {unit!r}.",
            remedy='For example unit={"column": "person_id", "max_rows": 4}.',
        )
