"""A plan and its forecast as plain text: the price, one line a statistic, and what a reader must know."""

from __future__ import annotations

import textwrap

from hedgerow.accounting.certificate import round_up
from hedgerow.release.forecast.forecast import Expected, Forecast
from hedgerow.release.plan import Plan

_HEAD = ("statistic", "method", "noise sd", "s.e.", "sampling", "privacy")
_WIDTH = 100
WASTED = "would say next to nothing: its interval is as wide as what is possible, or its cells drown in noise"


def forecast_table(plan: Plan, forecast: Forecast) -> str:
    """Return the price of a plan, the errors to be expected, why each method was chosen, and what would be wasted.

    Examples
    --------
    >>> import pyarrow, hedgerow as hg
    >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
    >>> plan = survey.plan([hg.mean("age", bounds=(0, 100), step=1)], epsilon=1.0)
    >>> print(forecast_table(plan, plan.forecast({"age": {"mean": 40, "sd": 10}})).splitlines()[0])
    Price: ε ≤ 0.999458 at δ = 1e-06, replace-one, unit row. Nothing was read or spent.
    """
    level = forecast[0].level
    rows = [[*_HEAD, f"{100 * level:.6g} % interval"], *(_row(one) for one in forecast)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    said = [_price(plan), "", *lines, ""]
    return "\n".join(_printable(line) for line in [*said, *_remarks(plan, forecast)])


def _price(plan: Plan) -> str:
    facts = plan.facts
    price = f"ε ≤ {round_up(plan.epsilon):.6g} at δ = {plan.delta:.3g}, {facts.relation}, unit {facts.unit}"
    return f"Price: {price}. Nothing was read or spent."


def _row(one: Expected) -> list[str]:
    errors = [_number(error) for error in (one.standard_error, one.sampling_error, one.privacy_error)]
    half = "everything possible" if one.half_width is None and one.records is not None else _number(one.half_width)
    width = half if one.half_width is None else f"± {half}"
    return [one.statistic + (f" {one.column}" if one.column else ""), one.method, _number(one.noise_sd), *errors, width]


def _remarks(plan: Plan, forecast: Forecast) -> list[str]:
    remarks = []
    if plan.cells > 1:
        size = forecast[0].records
        each = "" if size is None else f", each taken to hold {size:,.6g} records"
        remarks.append(f"{plan.cells:,} cells{each}.")
    for one in forecast:
        name = one.statistic + (f" of {one.column}" if one.column else "")
        remarks.append(f"{name}: {one.guess}.")
    for method, reason in dict.fromkeys((one.method, one.reason) for one in forecast):
        remarks.append(f"{method}: {reason}.")
    if any(one.bootstrap_error for one in forecast):
        resamples = sorted({one.n_resamples for one in forecast if one.n_resamples})
        remarks.append(f"Replicates of a bootstrap: {', '.join(map(str, resamples))}; s.e. counts their error too.")
    for one in forecast:
        if one.wasteful:
            name = one.statistic + (f" of {one.column}" if one.column else "")
            remarks.append(f"WASTE: {name} {WASTED}. Ask for fewer cells, narrower bounds or a larger ε.")
    remarks += [f"The certificate will say: {text}." for text in plan.assumptions()]
    return [textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False) for text in remarks]


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _printable(text: str) -> str:
    """Return a text without what would steer a terminal: names come from the user's files."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)
