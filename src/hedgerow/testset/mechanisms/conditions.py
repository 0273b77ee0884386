"""The public facts of all looks at one test set: from these alone noise is chosen and errors are foretold."""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow.errors import ParameterError
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Grid
from hedgerow.facts.given import whole
from hedgerow.facts.relation import Relation

MOST_LOOKS = 10_000


@dataclass(frozen=True, slots=True)
class Conditions:
    """Who is protected, how much in all, for how many looks, of how many records, by what losses.

    Attributes
    ----------
    relation : Relation
    budget : Budget
        ε, δ of all looks together.
    n_looks : int
    n : int or None
        The number of records, public under replace-one; None under add-remove.
    grid : Grid
        The losses of one record.

    Raises
    ------
    ParameterError
        HG173: the number of looks or records is no whole number in range.

    Examples
    --------
    >>> facts = Conditions(Relation.REPLACE_ONE, Budget(1.0), 200, 10_000, Grid.from_bounds("accuracy", (0, 1), 1))
    >>> facts.binary, facts.half_range
    (True, 0.5)
    """

    relation: Relation
    budget: Budget
    n_looks: int
    n: int | None
    grid: Grid

    def __post_init__(self) -> None:
        looks = whole(self.n_looks)
        if looks is None or not 1 <= looks <= MOST_LOOKS:
            raise ParameterError(
                "HG173",
                rule=f"`n_looks` is a whole number from 1 to {MOST_LOOKS:,}: the budget is divided among the looks.",
                finding=f"Found {self.n_looks!r}.",
                remedy="Declare as many as you will need; fewer looks have less noise each.",
            )
        object.__setattr__(self, "n_looks", looks)
        if (self.n is None) is (self.relation is Relation.REPLACE_ONE) or (self.n is not None and self.n < 2):
            raise ParameterError(
                "HG173",
                rule="A test set has at least 2 records; their number is public under replace-one, and only there.",
                finding="Found another.",
                remedy="Give the test set as arrays or as a file.",
            )

    @property
    def binary(self) -> bool:
        """Whether a record adds 0 or 1."""
        return self.grid.steps == 1 and self.grid.as_bounds() == (0.0, 1.0)

    @property
    def half_range(self) -> float:
        """R/2 of one record's losses."""
        return self.grid.half_range
