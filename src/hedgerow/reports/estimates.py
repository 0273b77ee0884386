"""The estimates as a table, grouped by what is estimated, and as pictures said in words."""

from __future__ import annotations

from collections.abc import Sequence

from hedgerow.facts.printed import decimals, number, percent, plural
from hedgerow.inference.estimate import Estimate
from hedgerow.release.result.result import Release
from hedgerow.reports.document import Figure, RowGroup, Table
from hedgerow.reports.summary import named


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


def estimates_figures(release: Release, level: float) -> tuple[Figure, ...]:
    """Return a figure for each statistic: error bars of the interval and of its privacy part, and the same in words.

    Each has a scale of its own, and each fits a printed page by itself.
    """
    from hedgerow.plots.error_bars import ErrorBar, draw_error_bars
    from hedgerow.plots.privacy import as_svg

    panels: dict[str, list[ErrorBar]] = {}
    for bar in release.error_bars(level):
        panels.setdefault(bar.panel, []).append(bar)
    return tuple(
        Figure(
            svg=as_svg(draw_error_bars(bars, level=level)),
            alt=f"Error bars of {name}, {plural(len(bars), 'estimate')}; the table above has the same numbers.",
            caption=f"{name[:1].upper()}{name[1:]}. Pale: the whole {percent(level)} interval, of sampling and privacy "
            "together. Full: the part that privacy noise alone would leave.",
        )
        for name, bars in panels.items()
    )


def _row(estimate: Estimate, level: float, *, resampled: bool) -> tuple[str, ...]:
    interval = estimate.confidence_interval(level)
    # Without a standard error the width of the interval says how many digits mean anything.
    places = decimals(estimate.standard_error or (interval.high - interval.low) / 4.0)
    interval = interval if places is None else interval.outward(places)
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
