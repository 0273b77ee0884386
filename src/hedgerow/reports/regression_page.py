"""A regression as a page: coefficients with both parts of their errors, who was protected, and the record."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from hedgerow.facts.printed import decimals, number, percent, plural
from hedgerow.inference.interval import Interval
from hedgerow.regression.coefficients import AnyFit
from hedgerow.regression.logit.logit_regression import LogitRegression
from hedgerow.regression.regression import Regression, RegressionByCell
from hedgerow.reports.document import (
    Answers,
    Block,
    Document,
    Figure,
    Items,
    Paragraph,
    RowGroup,
    Section,
    Shown,
    Table,
)
from hedgerow.reports.html import render
from hedgerow.reports.protection import protection_of
from hedgerow.reports.release_page import ends_shown, estimate_head, price_line, protected_section, record_section

_HOW = (
    "Sums of the columns and of their products were computed exactly, noise was added once, and the coefficients were "
    "read from the noisy sums by least squares. Standard errors count the sampling of records and the noise; an "
    "interval counts that the moments of the regressors are noisy too, and has no end where the noise hides it."
)
_STEPS = (
    "A few Newton steps were taken. Of each, gradient and curvature were added up exactly and released with noise, and "
    "the coefficients moved by what was released. Standard errors count the sampling of records, where the logistic "
    "model holds, and the noise of the last step. Where the steps did not converge, or noise hides the curvature, none "
    "is stated."
)


def regression_html(fit: AnyFit | RegressionByCell, *, level: float = 0.95) -> str:
    """Return the page of a certified regression.

    >>> import hedgerow as hg, pyarrow
    >>> people = pyarrow.table({"x": [0.1, 0.4, 0.7, 0.9] * 500, "y": [1.0, 2.0, 2.5, 4.0] * 500})
    >>> survey = hg.open(people, relation="replace-one")
    >>> fit = survey.ols("y", ["x"], bounds={"x": (0, 1), "y": (0, 5)}, epsilon=1.0)
    >>> "<h1>Regression of y" in regression_html(fit)
    True
    """
    fits: Sequence[AnyFit] = fit.fits if isinstance(fit, RegressionByCell) else (fit,)
    certificate = fits[0].certificate
    if certificate is None:
        raise TypeError("a simulated regression has no page: nothing of it is certified")
    curve = certificate.reprice()
    told = protection_of(certificate, curve)
    blocks: list[Block] = [Paragraph(_STEPS if isinstance(fit, LogitRegression) else _HOW)]
    for at, one in enumerate(fits):
        blocks += [_table(one, level, f"fits.{at}"), Items(one.notes)]
    blocks += _figure(fits, level)
    return render(
        Document(
            title=f"Regression of {fits[0].about.model.response}",
            lead=fits[0].about.formula,
            opening=(Answers((("What was protected?", (told.who, told.attack, price_line(told))),)),),
            sections=(
                Section("coefficients", "The coefficients", tuple(blocks)),
                protected_section(certificate, curve, told),
                record_section({}, certificate, fits[0].ledger_head),
            ),
            record=fit.to_dict(level),
        )
    )


def _table(fit: AnyFit, level: float, place: str) -> Table:
    cell = "".join(f", {column} = {value}" for column, value in fit.cell.items())
    if isinstance(fit, Regression):
        told = "hidden by the noise" if math.isnan(fit.rsquared) else number(fit.rsquared, 4)
        weighed = fit.about.facts.get("weights") is not None
        size = f"sum of weights {number(round(fit.weight))}" if weighed else f"{number(round(fit.nobs))} records"
        about = f"{size}, R² {told}"
    else:
        about = f"{fit.about.model.response} = {fit.about.model.value}, {len(fit.released)} Newton steps"
    caption = f"{fit.about.formula}{cell}: {about}; {percent(level)} intervals."
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
    from hedgerow.plots.privacy import as_svg

    # Without noise to go by there is nothing to draw.
    bars = [bar for fit in fits for bar in fit.error_bars(level) if math.isfinite(bar.low) and math.isfinite(bar.high)]
    if bars:
        yield Figure(
            svg=as_svg(draw_error_bars(bars, level=level)),
            alt=f"Error bars of {plural(len(bars), 'coefficient')}; the table above has the same numbers.",
            caption=f"Pale: the whole {percent(level)} interval, of sampling and privacy together. Full: the part that "
            "privacy noise alone would leave.",
        )
