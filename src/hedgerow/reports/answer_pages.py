"""A regression as a page: coefficients with both parts of their errors, who was protected, and the record.

What a search found as a page: the answer, how it was read off noisy counts, who was protected, and the record.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from hedgerow.facts.printed import decimals, number, percent, plural
from hedgerow.find.found import Found
from hedgerow.regression.coefficients import AnyFit
from hedgerow.regression.regression import RegressionByCell
from hedgerow.reports.document import Block, Figure, Items, Paragraph, RowGroup, Section, Shown, TableBlock
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


def _table(fit: AnyFit, level: float, place: str) -> TableBlock:
    cell = "".join(f", {column} = {value}" for column, value in fit.cell.items())
    caption = f"{fit.about.formula}{cell}: {fit.size}; {percent(level)} intervals."
    head = ("coefficient", *estimate_head(level, resampled=False)[1:])
    return TableBlock(caption, head, (RowGroup(tuple(_rows(fit, level, place))),), numeric=True, stacked=True)


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
        interval = ends[name].outward(places)
        cells = (
            Shown.of(number(value, places) if math.isfinite(value) else "none", f"{own}.{field}")
            for field, value in shown.items()
        )
        ends_told = f"{number(interval.low, places)} to {number(interval.high, places)}"
        yield name, *cells, ends_shown(ends_told, own), "yes" if fit.reliable else "NO"


def _figure(fits: Sequence[AnyFit], level: float) -> Iterator[Figure]:
    from hedgerow.plots.bars import draw_error_bars
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


def found_html(search: Found) -> str:
    """Return the page.

    >>> import hedgerow as hg, pyarrow
    >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
    >>> "<h1>Bounds of age" in found_html(survey.find_bounds("age", epsilon=1.0))
    True
    """
    blocks: list[Block] = [Paragraph(search.how), Items(search.remarks())]
    if search.counted:
        rows = tuple(
            (str(value), Shown.of(number(float(count)), f"found.noisy_counts.{at}"))
            for at, (value, count) in enumerate(search.counted)
        )
        caption = f"{plural(len(rows), 'value')}, with noisy counts."
        blocks.append(TableBlock(caption, (search.column, "noisy count"), (RowGroup(rows),), numeric=True))
    if search.to_toml():
        blocks.append(Items(tuple(search.to_toml().splitlines()), title="For the facts file"))
    return certified_page(
        f"{search.kind.capitalize()} of {search.column}",
        Shown.of(search.summary(), *search.summary_fields) if search.summary_fields else search.summary(),
        Section("answer", "The answer", tuple(blocks)),
        search.certificate,
        search.ledger_head,
        search.to_dict(),
    )
