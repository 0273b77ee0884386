"""Estimates of many cells that learn from one another: drawn towards their mean, or towards a line in the groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.validation import format_argument
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.interval import Interval, normal_quantile, parse_level
from hedgerow.inference.many_cells.empirical_bayes import LEAST_SPARE, shrunk
from hedgerow.release.readings.numbers_of_cells import NumbersOfCells, numbers_of, rows_of_columns, unfit_reading

Floats = NDArray[np.float64]
ON_AVERAGE = (
    "These intervals hold the truth in the stated share of all cells together. That of a single cell which is unlike "
    "the others holds it less often."
)


@dataclass(frozen=True, slots=True)
class ShrunkEstimate:
    """The shrunken estimate of one cell, moved towards the common mean or the fitted value of the cells.

    Attributes
    ----------
    raw : Estimate
        The released estimate.
    estimate : float
        The estimate after shrinkage.
    standard_error : float
        The standard error of the estimate after shrinkage.
    shrinkage : float
        How far the estimate is moved: 0 leaves the released number, and 1 replaces the released number by the value
        `line`.
    line : float
        The value towards which the estimate is moved.
    """

    raw: Estimate
    estimate: float
    standard_error: float
    shrinkage: float
    line: float

    def __float__(self) -> float:
        return self.estimate

    def confidence_interval(self, level: float = 0.95) -> Interval:
        """Return an interval that covers at `level` on average over all cells. HG110: invalid confidence level."""
        reach = normal_quantile(parse_level(level)) * self.standard_error
        about = f"{self.raw.covers}; on average over cells"
        return Interval(self.estimate - reach, self.estimate + reach, level, "empirical-bayes", about)


@dataclass(frozen=True, slots=True)
class ShrunkCells(NumbersOfCells[ShrunkEstimate]):
    """The shrunken estimates of all cells of a statistic, each moved towards a mean or a fitted value of the cells.

    Attributes
    ----------
    numbers : tuple of ShrunkEstimate
    spread : float
        The estimated standard deviation of the true values about the values towards which the estimates are moved.
    towards : tuple of str
        The group columns whose additive effects predict the value towards which an estimate is moved; without group
        columns, estimates are moved towards the common mean.
    left_out : tuple of Estimate
        The cells that are not shrunken, because their noise is too large to compute a standard error.
    """

    spread: float
    towards: tuple[str, ...] = ()
    left_out: tuple[Estimate, ...] = ()

    @property
    def note(self) -> str:
        """What must be known of the intervals."""
        return ON_AVERAGE

    def __str__(self) -> str:
        lines = []
        for number in self:
            low, high = number.confidence_interval()
            lines.append(
                f"{number.raw.label()}: {number.estimate:.6g} (s.e. {number.standard_error:.3g}; 95 % interval "
                f"{low:.6g} to {high:.6g}), as released {number.raw.estimate:.6g}"
            )
        left = [f"{len(self.left_out)} cells are left out: the noise hides them."] if self.left_out else []
        return "\n".join([*lines, *left, ON_AVERAGE])

    def to_columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """Return the shrunken estimates as columns of equal length. HG110: invalid confidence level."""
        ends = [number.confidence_interval(level) for number in self]
        return {
            "cell": [dict(number.raw.cell) for number in self],
            "released": [number.raw.estimate for number in self],
            **{
                name: [getattr(number, name) for number in self] for name in ("estimate", "standard_error", "shrinkage")
            },
            "low": [end.low for end in ends],
            "high": [end.high for end in ends],
        }

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return the shrunken estimates as plain JSON data; error HG110 says that the confidence level is invalid."""
        rows = rows_of_columns(self.to_columns(level))
        return {"spread": self.spread, "towards": list(self.towards), "level": level, "note": ON_AVERAGE, "cells": rows}


def drawn_together(estimates: Sequence[Estimate], *, of: object, towards: object) -> ShrunkCells:
    """Return the shrunk cells of a statistic; see `Release.shrink`."""
    groups = tuple(towards) if isinstance(towards, (list, tuple)) else (towards,)
    every = numbers_of(estimates, of)
    known = [number for number in every if number.standard_error is not None]
    columns = _line(known, groups)
    if len(known) < columns.shape[1] + LEAST_SPARE:
        raise unfit_reading(
            f"Cells are drawn together if there are at least {LEAST_SPARE} more than the line has columns.",
            f"There are {len(known)} cells with errors, and the line has {columns.shape[1]} columns.",
            "Use the released numbers, or draw them towards fewer groups.",
        )
    variances = np.array([float(number.standard_error or 0.0) ** 2 for number in known])
    if not variances.all():
        raise unfit_reading(
            "Cells are drawn together if each has an error.",
            "A number is public and exact.",
            "Use the released numbers.",
        )
    drawn = shrunk(np.array([number.estimate for number in known]), variances, columns)
    parts = (drawn.value, drawn.standard_error, drawn.shrinkage, drawn.line)
    rows = zip(known, *(part.tolist() for part in parts), strict=True)
    left = tuple(number for number in every if number.standard_error is None)
    return ShrunkCells(tuple(ShrunkEstimate(*row) for row in rows), drawn.spread, groups, left)


def _line(numbers: Sequence[Estimate], groups: Sequence[object]) -> Floats:
    """Return the columns of a line: 1, and for each group column one for every category but the first."""
    columns = [np.ones(len(numbers))]
    for group in groups:
        if not numbers or group not in numbers[0].cell:
            raise unfit_reading(
                "A line is in columns of `by`.",
                f"Found {format_argument(group)}.",
                f"There are {', '.join(numbers[0].cell) if numbers else 'none'}.",
            )
        values = [number.cell[str(group)] for number in numbers]
        columns += [np.array([float(value == level) for value in values]) for level in list(dict.fromkeys(values))[1:]]
    matrix = np.stack(columns, axis=1)
    if np.linalg.matrix_rank(matrix) < matrix.shape[1]:
        raise unfit_reading(
            "The groups of a line are told apart by the cells.", "Two columns say the same.", "Name fewer."
        )
    return matrix
