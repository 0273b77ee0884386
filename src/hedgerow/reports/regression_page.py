"""A regression as a page: coefficients with both parts of their errors, who was protected, and the record."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from hedgerow.facts.printed import decimals, number, percent, plural
from hedgerow.inference.interval import Interval
from hedgerow.regression.coefficients import AnyFit
from hedgerow.regression.regression import RegressionByCell
from hedgerow.reports.document import Block, Figure, Items, Paragraph, RowGroup, Section, Shown, Table
from hedgerow.reports.release_page import certified_page, ends_shown, estimate_head


def regression_html(regression: AnyFit | RegressionByCell, *, level: float = 0.95) -> str:
    """Return the page of a certified regression.

    >>> import hedgerow as hg, pyarrow
    >>> people = pyarrow.table({"x": [0.1, 0.4, 0.7, 0.9] * 500, "y": [1.0, 2.0, 2.5, 4.0] * 500})
    >>> survey = hg.open(people, relation="replace-one")
    >>> fit = survey.ols("y", ["x"], bounds={"x": (0, 1), "y": (0, 5)}, epsilon=1.0)
    >>> "<h1>Regression of y" in regression_html(fit)
    True
    """
    fits = regression.fits
    if regression.certificate is None:
        raise TypeError("a simulated regression has no page: nothing of it is certified")
    blocks: list[Block] = [Paragraph(fits[0].how)]
    for at, fit in enumerate(fits):
        blocks += [_table(fit, level, f"fits.{at}"), Items(fit.notes)]
    blocks += _figure(fits, level)
    return certified_page(
        f"Regression of {fits[0].about.model.response}",
        fits[0].about.formula,
        Section("coefficients", "The coefficients", tuple(blocks)),
        regression.certificate,
        fits[0].ledger_head,
        regression.to_dict(level),
    )


def _table(fit: AnyFit, level: float, place: str) -> Table:
    cell = "".join(f", {column} = {value}" for column, value in fit.cell.items())
    caption = f"{fit.about.formula}{cell}: {fit.size}; {percent(level)} intervals."
    head = ("coefficient", *estimate_head(level, resampled=False)[1:])
    return Table(caption, head, (RowGroup(tuple(_rows(fit, level, place))),), numeric=True, stacked=True)


def _rows(fit: AnyFit, level: float, place: str) -> Iterator[tuple[str, ...]]:
    ends = fit.conf_int(level)
    for at, name in enumerate(fit.names):
        own = f"{place}.coefficients.{at}"
        shown = {
            "estimate": fit.params[name],
            "standard_error": fit.bse[name],
            "sampling_error": fit.sampling_error[name],
            "privacy_error": fit.privacy_error[name],
        }
        places = decimals(shown["standard_error"])
        interval = Interval(*ends[name], level, "").outward(places)
        told = (
            Shown.of(number(value, places) if math.isfinite(value) else "none", f"{own}.{field}")
            for field, value in shown.items()
        )
        ends_told = f"{number(interval.low, places)} to {number(interval.high, places)}"
        yield name, *told, ends_shown(ends_told, own), "yes" if fit.reliable else "NO"


def _figure(fits: Sequence[AnyFit], level: float) -> Iterator[Figure]:
    from hedgerow.plots.error_bars import draw_error_bars
    from hedgerow.plots.figure import as_svg

    # Without noise to go by there is nothing to draw.
    bars = [bar for fit in fits for bar in fit.error_bars(level) if math.isfinite(bar.low) and math.isfinite(bar.high)]
    if bars:
        yield Figure(
            svg=as_svg(draw_error_bars(bars, level=level)),
            alt=f"Error bars of {plural(len(bars), 'coefficient')}; the table above has the same numbers.",
            caption=f"Pale: the whole {percent(level)} interval, of sampling and privacy together. Full: the part that "
            "privacy noise alone would leave.",
        )
