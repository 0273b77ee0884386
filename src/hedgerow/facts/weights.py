"""Weights of records, as a survey declares them: a column, and the largest weight that counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import LARGEST, LEAST_SPAN, Grid
from hedgerow.facts.given import as_fraction, format_argument

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
        """Return the grid of weights, of so many bits fewer than usual."""
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
        rule="Weights are a column of their own and the largest weight, a positive number of at most 1e15.",
        finding=finding,
        remedy='For example weights=("w", 10.0).',
        shell="For example --weights w:10.",
    )
