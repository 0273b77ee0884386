"""A release in a few plain sentences: what it is, how sure it is. Public facts and released numbers only."""

from __future__ import annotations

import math
import re
from statistics import median

from hedgerow.facts.printed import at_most_percent, joined, percent, plural
from hedgerow.inference.estimate import Estimate
from hedgerow.release.result.result import Release


def named(estimate: Estimate) -> str:
    """Return what is estimated, without its cell."""
    return estimate.statistic if estimate.column is None else f"{estimate.statistic} of {estimate.column}"


def source_name(release: Release) -> str:
    """Return the source without the folders that it lies in, which say more about a machine than about data.

    >>> import hedgerow as hg, pyarrow
    >>> source_name(hg.open(pyarrow.table({"age": [30.0]}), relation="add-remove").count(epsilon=1.0))
    'pyarrow.Table'
    """
    parts = [part for part in re.split(r"[/\\]", release.source) if part]
    return parts[-1] if parts else release.source


def what_was_released(release: Release) -> str:
    """Return one sentence: how many numbers, of what, by what, from what.

    >>> import hedgerow as hg, pyarrow
    >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
    >>> what_was_released(survey.mean("age", bounds=(0, 100), epsilon=1.0))
    '1 number was computed from pyarrow.Table (1,000 records): the mean of age.'
    """
    size = "" if release.n is None else f" ({plural(release.n, 'record')})"
    things = joined([f"the {name}" for name in dict.fromkeys(named(estimate) for estimate in release)])
    groupings = list(dict.fromkeys(tuple(estimate.cell) for estimate in release))
    told = [f"by {joined(grouping)}" if grouping else "overall" for grouping in groupings]
    by = "" if told == ["overall"] else f", {joined(told)}"
    verb = "was" if len(release) == 1 else "were"
    return f"{plural(len(release), 'number')} {verb} computed from {source_name(release)}{size}: {things}{by}."


def how_sure(release: Release, level: float) -> tuple[str, ...]:
    """Return sentences: what an interval promises, what privacy noise adds to it, which numbers are lost in it."""
    said = [
        f"Each number has an interval around it. {percent(level)} of such intervals, over many releases like this one, "
        "hold the value that they are about."
    ]
    added = [share for estimate in release if (share := _added(estimate)) is not None]
    if added:
        middle = "" if len(added) == 1 else f", in the median by {at_most_percent(median(added))}"
        said.append(
            f"Privacy noise makes the standard errors larger: by {at_most_percent(max(added))} at most{middle}."
        )
    elif any(estimate.privacy_error for estimate in release):
        said.append("All of the uncertainty is privacy noise: no sampling is counted.")
    lost = sum(not estimate.reliable for estimate in release)
    if lost:
        verb = "is" if lost == 1 else "are"
        said.append(f"{lost:,} of {plural(len(release), 'number')} {verb} marked as not reliable: noise drowns them.")
    return tuple(said)


def covered(release: Release) -> tuple[str, ...]:
    """Return what each kind of interval is about, once each, as sentences."""
    texts = dict.fromkeys(estimate.covers for estimate in release if estimate.covers)
    return tuple(f"{text[0].upper()}{text[1:]}." for text in texts)


def _added(estimate: Estimate) -> float | None:
    """Return by what share protection makes a standard error larger; None where there is nothing to compare."""
    error, sampling = estimate.standard_error, estimate.sampling_error
    if error is None or not sampling or not estimate.reliable or not math.isfinite(error / sampling):
        return None
    return error / sampling - 1.0
