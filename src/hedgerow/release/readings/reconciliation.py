"""Released counts and sums that agree with totals that are public, as from a census: estimates and errors updated."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.validation import as_float, format_argument
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.known_totals import reconciled
from hedgerow.inference.means_and_counts import WHOLE_NUMBERS
from hedgerow.inference.region import LevelTest, ScoreRegion
from hedgerow.release.ask import covariances
from hedgerow.release.readings.numbers_of_cells import NumbersOfCells, noise_law_of, numbers_of, reach, unfit_reading

Floats = NDArray[np.float64]
DECLARED = "Totals were declared public and exact: the number agrees with them, and rests on this declaration."
_TOTALS, _AGREES = ("count", "sum"), 1e-6
_EXAMPLE = (
    'For example known={"sex": {0: 5200, 1: 4800}}, or {("sex", "region"): {(0, "North"): 310, …}}, or {(): 10_000}.'
)


@dataclass(frozen=True, slots=True, eq=False)
class ReconciledCells(NumbersOfCells[Estimate]):
    """The numbers of all cells, adjusted to agree with public totals.

    Attributes
    ----------
    numbers : tuple of Estimate
    noise : float array, (cells, cells)
        The covariance matrix of the noise of the adjusted numbers.
    """

    noise: Floats

    def __str__(self) -> str:
        return "\n".join([*(str(number) for number in self), DECLARED])


def agreeing(estimates: Sequence[Estimate], known: object, *, of: object) -> ReconciledCells:
    """Return the numbers of cells that agree with public totals; see `Release.reconcile`."""
    numbers = numbers_of(estimates, of, least=2)
    if numbers[0].statistic not in _TOTALS:
        raise unfit_reading(
            "Public totals are of counts and sums.", f"This is a {numbers[0].statistic}.", 'Name of="count()".'
        )
    covariance = covariances(numbers)
    if not np.isfinite(covariance.noise).all():
        raise unfit_reading(
            "Numbers agree with totals by the covariances of their noise.",
            "These are not known here.",
            "Release counts or sums of one call.",
        )
    forms, totals = _forms(numbers, known)
    values, noise = reconciled(np.array([number.estimate for number in numbers]), covariance.noise, forms, totals)
    scale = 1.0 + float(np.abs(totals).max())
    if float(np.abs(forms @ values - totals).max()) > _AGREES * scale:
        raise unfit_reading("Public totals agree with each other.", "Those given contradict each other.", _EXAMPLE)
    law = noise_law_of(numbers)
    left, before = np.maximum(np.diag(noise), 0.0), np.diag(covariance.noise)
    # How much of its own noise, in whole numbers, a count keeps.
    own = left / np.where(before > 0.0, before, 1.0)
    cells = zip(numbers, values.tolist(), np.sqrt(left).tolist(), (WHOLE_NUMBERS * own).tolist(), strict=True)
    return ReconciledCells(tuple(_moved(number, value, sd, law, half) for number, value, sd, half in cells), noise)


def _forms(numbers: Sequence[Estimate], known: object) -> tuple[Floats, Floats]:
    """Return the sums over cells that are known, one a row, and the totals (HG146)."""
    if not isinstance(known, Mapping) or not known:
        raise unfit_reading("Known totals are given by columns of `by`.", f"Found {format_argument(known)}.", _EXAMPLE)
    rows, totals = list[list[float]](), list[float]()
    for key, given in known.items():
        columns: tuple[Any, ...] = key if isinstance(key, tuple) else (key,)
        listed: Mapping[Any, Any] = given if isinstance(given, Mapping) else {(): given}
        for category, total in listed.items():
            wanted = dict(zip(columns, category if isinstance(category, tuple) else (category,), strict=False))
            number = as_float(total)
            row = [
                float(all(str(cell.cell.get(name)) == str(value) for name, value in wanted.items())) for cell in numbers
            ]
            if number is None or not math.isfinite(number) or len(wanted) != len(columns) or not any(row):
                raise unfit_reading(
                    "A known total is a finite number of cells that the release has.",
                    f"Found {format_argument({key: {category: total}})}.",
                    _EXAMPLE,
                )
            rows.append(row)
            totals.append(number)
    return np.array(rows), np.array(totals)


def _moved(number: Estimate, value: float, sd: float, law: str, half: float) -> Estimate:
    """Return a number with its new value and noise; `half` is what a count's steps of noise add to its interval."""
    sampling = number.sampling_error or 0.0
    least, margin = (0.0, half) if number.statistic == "count" else (-math.inf, 0.0)
    return replace(
        number,
        estimate=value,
        privacy_error=sd if number.sampling_error is not None else None,
        note=" ".join(filter(None, [number.note, DECLARED])),
        _region=ScoreRegion(LevelTest(_around(value, (sampling, sd), law, least, margin), number.method, least)),
    )


def _around(
    value: float, errors: tuple[float, float], law: str, least: float, margin: float
) -> Callable[[float], tuple[float, float]]:
    """Return the interval about a value, as a function of the level."""

    def accepted(level: float) -> tuple[float, float]:
        half = reach(law, level, *errors) + margin if any(errors) else 0.0
        return max(least, value - half), max(least, value + half)

    return accepted
