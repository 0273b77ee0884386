"""The estimates as a table, grouped by what is estimated, and as a picture said in words."""

from __future__ import annotations

from collections.abc import Sequence

from hedgerow.inference.estimate import Estimate
from hedgerow.release.result import Release
from hedgerow.reports.document import Figure, RowGroup, Table
from hedgerow.reports.numbers import decimals, number, percent, plural
from hedgerow.reports.summary import named

__all__ = ["estimates_figure", "estimates_table"]


def estimates_table(release: Release, level: float) -> Table:
    """Return a row for each estimate: cell, estimate, errors and their parts, interval, reliability.

    Each row is rounded to two digits of its own standard error; a column for resampling is there where it is used.
    """
    resampled = any(estimate.bootstrap_error for estimate in release)
    parts = ("sampling", *(("resampling",) if resampled else ()), "privacy noise")
    groups: dict[str, list[tuple[str, ...]]] = {}
    for estimate in release:
        groups.setdefault(named(estimate), []).append(_row(estimate, level, resampled=resampled))
    return Table(
        caption=f"Estimates with standard errors and {percent(level)} intervals. A standard error is the root of the "
        "sum of the squares of its parts.",
        head=("cell", "estimate", "standard error", *parts, f"{percent(level)} interval", "reliable"),
        groups=tuple(RowGroup(tuple(rows), name) for name, rows in groups.items()),
        numeric=True,
        stacked=True,
    )


def estimates_figure(release: Release, level: float) -> Figure:
    """Return error bars in two tones, of the whole interval and of its privacy part, and the same in words."""
    from hedgerow.plots.error_bars import draw_error_bars
    from hedgerow.plots.privacy_bounds import as_svg

    drawn = draw_error_bars(release.error_bars(level), level=level)
    return Figure(
        svg=as_svg(drawn),
        alt=f"Error bars of {plural(len(release), 'estimate')}; the table above has the same numbers.",
        caption=f"Pale: the whole {percent(level)} interval, of sampling and privacy together. Full: the part that "
        "privacy noise alone would leave. Each statistic has a scale of its own.",
    )


def _row(estimate: Estimate, level: float, *, resampled: bool) -> tuple[str, ...]:
    interval = estimate.confidence_interval(level)
    # Without a standard error the width of the interval says how many digits mean anything.
    places = decimals(estimate.standard_error or (interval.high - interval.low) / 4.0)
    errors: Sequence[float | None] = (
        estimate.standard_error,
        estimate.sampling_error,
        *((estimate.bootstrap_error,) if resampled else ()),
        estimate.privacy_error,
    )
    return (
        ", ".join(f"{column}={value}" for column, value in estimate.cell.items()) or "all",
        number(estimate.estimate, places),
        *(number(error, places) for error in errors),
        f"{number(interval.low, places)} to {number(interval.high, places)}",
        "yes" if estimate.reliable else "NO",
    )
