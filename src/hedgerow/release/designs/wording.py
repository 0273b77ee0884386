"""The sentences that go out with a number: fixed texts and public facts only."""

from __future__ import annotations

from hedgerow.release.designs.design import PublicFacts
from hedgerow.resampling.smooth_statistic import Smooth
from hedgerow.resampling.statistic import Count, Proportion, Statistic, Sum

HIDDEN = "The noise hides the sampling error: 0 stands for too small to see, and the interval allows for it."
LEFT_OUT = "Records outside the declared categories are left out."
NOT_RELIABLE = "The noisy count of this cell is under 2 sd of its noise: nothing is said beyond what is possible."
SMALL_COUNT = "This count is under 2 sd of its noise."
PUBLIC_COUNT = "n is public under replace-one: exact, no noise, no price."
PUBLIC_MEMBERSHIP = (
    "which cell every record belongs to is public, as declared: only a value within its cell is protected"
)
MIDPOINT = "Missing values count as the midpoint of the bounds."
END_PAIR = "that the end pair is the worst among values of equal sign was computed on a grid, not proven"


def declared_complete(column: str) -> str:
    """Return what a certificate says of a column whose values are taken as complete.

    >>> declared_complete("age")
    'column age holds no missing value, as declared'
    """
    return f"column {column} holds no missing value, as declared"


def covers(statistic: Statistic, facts: PublicFacts, *, by_cell: bool = False) -> str:
    """Return what an interval is about, as a clause after "covers"; `by_cell`: each cell has bounds of its own.

    >>> from hedgerow.facts.relation import Relation, Target
    >>> from hedgerow.resampling.statistic import mean
    >>> covers(mean("age", bounds=(0, 100)), PublicFacts(Relation.ADD_REMOVE, "row", Target.POPULATION, None))
    'the population mean of age clamped to [0, 100]; sampling and privacy noise are counted'
    """
    if isinstance(statistic, Smooth):
        rounded = all(grid.declared for _, grid in statistic.grids)
        what = (
            f"{statistic.name} of {statistic.column}, clamped to bounds{'' if rounded else ' and rounded to its grid'}"
        )
    elif isinstance(statistic, Count):
        what = "number of records"
    elif isinstance(statistic, Proportion):
        what = f"share of {statistic.column} = {statistic.value}"
    else:
        low, high = statistic.grid.as_bounds()
        what = f"{statistic.name} of {statistic.column} clamped to " + (
            "the bounds of its cell" if by_cell else f"[{low:.15g}, {high:.15g}]"
        )
        if isinstance(statistic, Sum) and not statistic.grid.declared:
            # A mean's interval is widened by the rounding; a sum's would need the private count for that.
            what += f" and rounded to steps of {float(statistic.grid.step):.6g}"
    if facts.census:
        return f"this file's {what}; privacy noise is counted, sampling is not (a census)"
    if isinstance(statistic, Count) or statistic.name == "sum":
        return f"the expected {what} in a sample like this one; sampling and privacy noise are counted"
    return f"the population {what}; sampling and privacy noise are counted"
