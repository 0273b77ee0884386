"""Who is protected: the neighbouring relation and the unit of protection.

A guarantee without its relation is not a guarantee. Two data sets are neighbours when

* ``replace-one``: one record has another value; the number of records n is the same, hence public and stated;
* ``add-remove``: one record is there in one and not in the other; n is private.

The two strings are the same in Python, on the command line and in JSON (docs/language.md).
"""

from __future__ import annotations

from enum import StrEnum

from hedgerow.errors import ParameterError
from hedgerow.facts.unit import UnitLimit


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
        rule="A guarantee needs a relation: which data sets it compares.",
        finding="`relation` is missing and has no default." if relation is None else f"Found {relation!r}.",
        remedy='Choose relation="replace-one" (the number of records is public) or relation="add-remove" (it also '
        "hides whether a person is in the data).",
        facts_help=relation is None,
    )


def parse_target(target: object) -> Target:
    """Return the target, or say which two there are (HG115)."""
    if isinstance(target, str) and target in set(Target):
        return Target(target)
    raise ParameterError(
        "HG115",
        rule='`target` must be "population" or "file".',
        finding=f"Found {target!r}.",
        remedy='"population" counts sampling error in; "file" describes these records only.',
    )


def parse_unit(unit: object) -> str | UnitLimit:
    """Return the unit of protection: ``"row"``, or a column with a limit of rows (HG115; HG402 above 12 rows)."""
    return UnitLimit.parse(unit) or "row"
