"""A release as an aligned table of plain text, with one sentence on what its intervals cover and one on its price."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from itertools import chain

from hedgerow.facts.printed import decimals, for_terminal, number, percent
from hedgerow.inference.estimate import Estimate
from hedgerow.release.result.result import Release

_LEFT = ("statistic", "cell")
_WIDTH = 100


def text_table(release: Release, *, level: float = 0.95, truths: Sequence[float] | None = None) -> str:
    """Return the estimates as rows: statistic, cell, estimate, errors, interval, and true values where they are known.

    Each row is rounded to two digits of its own standard error, ``s.e.``: the root of the sum of the squares of the
    parts beside it. A column ``reliable`` is there where one estimate is not. A true value outside its interval has a
    star.

    Parameters
    ----------
    release : Release
    level : float
        Of the intervals.
    truths : list of float, optional
        The true value of each estimate, for a simulation or a demonstration.

    Examples
    --------
    >>> import hedgerow as hg, pyarrow
    >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
    >>> print(text_table(survey.count(epsilon=1.0)).splitlines()[0])
    statistic  cell  estimate  s.e.  sampling  privacy   95 % interval
    """
    rows = [
        _row(
            estimate,
            level,
            None if truths is None else truths[place],
            bootstrapped=any(other.n_resamples for other in release),
            all_reliable=all(other.reliable for other in release),
        )
        for place, estimate in enumerate(release)
    ]
    lines = _aligned([list(rows[0]), *(list(row.values()) for row in rows)]) if rows else []
    return "\n".join([*lines, "", *_remarks(release, level)])


def _row(
    estimate: Estimate, level: float, truth: float | None, *, bootstrapped: bool, all_reliable: bool
) -> dict[str, str]:
    error = estimate.standard_error
    places = decimals(error)
    interval = estimate.confidence_interval(level)
    shown = interval if places is None else interval.outward(places)
    row = {
        "statistic": for_terminal(estimate.statistic + (f" {estimate.column}" if estimate.column else "")),
        "cell": for_terminal(", ".join(f"{column}={value}" for column, value in estimate.cell.items())) or "all",
        "estimate": _figure(estimate.estimate, places),
        "s.e.": _figure(error, places),
        "sampling": _figure(estimate.sampling_error, places),
    }
    if bootstrapped:
        row["bootstrap"] = _figure(estimate.bootstrap_error, places)
    row |= {
        "privacy": _figure(estimate.privacy_error, places),
        f"{percent(level, space=' ')} interval": f"{_figure(shown.low, places)} to {_figure(shown.high, places)}",
    }
    if truth is not None:
        row["true value"] = _figure(truth, places) + (" " if interval.low <= truth <= interval.high else "*")
    return row if all_reliable else row | {"reliable": "yes" if estimate.reliable else "NO"}


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    left = len(_LEFT)
    return [
        "  ".join(
            chain(
                (cell.ljust(width) for cell, width in zip(row[:left], widths[:left], strict=True)),
                (cell.rjust(width) for cell, width in zip(row[left:], widths[left:], strict=True)),
            )
        ).rstrip()
        for row in rows
    ]


def _remarks(release: Release, level: float) -> list[str]:
    # The clause after the last semicolon says which errors are counted; it is said once where it is the same for all.
    targets: dict[str, list[str]] = {}
    for covers in dict.fromkeys(estimate.covers for estimate in release):
        target, _, counted = covers.rpartition("; ")
        targets.setdefault(counted if target else "", []).append(target or counted)
    said = "; ".join(", ".join(listed) + (f" ({counted})" if counted else "") for counted, listed in targets.items())
    notes = dict.fromkeys(estimate.note for estimate in release if estimate.note)
    return [
        _paragraph(f"In {percent(level, space=' ')} of such releases an interval covers its target: {said}."),
        *(_paragraph(note) for note in notes),
        f"Price: {release.price()}.",
    ]


def _figure(value: float | None, places: int | None) -> str:
    return number(value, places, minus="-")


def _paragraph(text: str) -> str:
    # A pair of bounds stays on one line: textwrap breaks at plain spaces only.
    held = re.sub(r"\[(\S+), (\S+)\]", "[\\1,\N{NO-BREAK SPACE}\\2]", for_terminal(text))
    filled = textwrap.fill(held, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return filled.replace("\N{NO-BREAK SPACE}", " ")
