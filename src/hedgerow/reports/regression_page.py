"""A regression as a page: coefficients with both parts of their errors, who was protected, and the record."""

from __future__ import annotations

import math

from hedgerow.facts.printed import number
from hedgerow.regression.logit.logit_regression import LogitRegression
from hedgerow.regression.regression import Regression, RegressionByCell
from hedgerow.reports.document import Answers, Block, Document, Items, Paragraph, RowGroup, Section, Table
from hedgerow.reports.html import render
from hedgerow.reports.protection import protection_of
from hedgerow.reports.release_page import protected_section, record_section

_HEAD = ("coefficient", "estimate", "standard error", "of sampling", "of privacy noise", "low", "high")
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


def regression_html(fit: Regression | RegressionByCell, *, level: float = 0.95) -> str:
    """Return the page of a certified regression.

    >>> import hedgerow as hg, pyarrow
    >>> people = pyarrow.table({"x": [0.1, 0.4, 0.7, 0.9] * 500, "y": [1.0, 2.0, 2.5, 4.0] * 500})
    >>> survey = hg.open(people, relation="replace-one")
    >>> fit = survey.ols("y", ["x"], bounds={"x": (0, 1), "y": (0, 5)}, epsilon=1.0)
    >>> "<h1>Regression of y" in regression_html(fit)
    True
    """
    fits = (fit,) if isinstance(fit, Regression) else fit.fits
    certificate = fits[0].certificate
    if certificate is None:
        raise TypeError("a simulated regression has no page: nothing of it is certified")
    curve = certificate.reprice()
    told = protection_of(certificate, curve)
    blocks: list[Block] = [Paragraph(_STEPS if isinstance(fit, LogitRegression) else _HOW)]
    for one in fits:
        blocks += [_table(one, level), Items(one.notes)]
    return render(
        Document(
            title=f"Regression of {fits[0].about.model.response}",
            lead=fits[0].about.formula,
            opening=(Answers((("What was protected?", (told.who, told.attack, f"Price: {told.price}.")),)),),
            sections=(
                Section("coefficients", "The coefficients", tuple(blocks)),
                protected_section(certificate, curve, told),
                record_section({}, certificate, fits[0].ledger_head),
            ),
            record=fit.to_dict(level),
        )
    )


def _table(fit: Regression, level: float) -> Table:
    columns = fit.to_columns(level)
    keys = ("estimate", "standard_error", "sampling_error", "privacy_error", "low", "high")
    rows = tuple((name, *(_shown(columns[key][place]) for key in keys)) for place, name in enumerate(fit.names))
    cell = "".join(f", {column} = {value}" for column, value in fit.cell.items())
    if isinstance(fit, LogitRegression):
        about = f"{fit.about.model.response} = {fit.about.model.value}, {len(fit.released)} Newton steps"
    else:
        told = "hidden by the noise" if math.isnan(fit.rsquared) else number(fit.rsquared)
        about = f"{number(round(fit.nobs))} records, R² {told}"
    caption = f"{fit.about.formula}{cell}: {about}; {100 * level:g} % intervals."
    return Table(caption, _HEAD, (RowGroup(rows),), numeric=True)


def _shown(value: float | None) -> str:
    return "none" if value is None else number(value)
