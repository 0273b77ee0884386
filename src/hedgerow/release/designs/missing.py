"""Missing values, by the one declared policy."""

from __future__ import annotations

from hedgerow.errors import SpentError
from hedgerow.facts.facts import Missing
from hedgerow.resampling.histogram import Histogram


def complete(histogram: Histogram, missing: Missing) -> None:
    """Refuse a missing value in a column that was declared complete.

    The declaration is a public fact, so among the data sets it admits this branch is never taken.

    Raises
    ------
    SpentError
        HG602: the declaration is false.
    """
    if missing is Missing.DECLARED_COMPLETE and histogram.missing.any():
        raise SpentError(
            "HG602",
            rule="A column declared complete holds no missing value.",
            finding="This one does. The data were read, so the price of this call counts as spent.",
            remedy='Release it with missing="drop".',
        )


def apply_policy(histogram: Histogram, missing: Missing, steps: int) -> Histogram:
    """Return the histogram with missing values dropped, put on the midpoint of a grid of `steps`, or refused."""
    complete(histogram, missing)
    return histogram.filled(steps // 2) if missing is Missing.MIDPOINT else histogram
