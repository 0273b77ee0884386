"""Additive statistics: what a user asks for, with the public facts that bound one record's contribution.

>>> mean("age", bounds=(0, 100), step=1)
Mean(column='age', bounds=(0, 100), step=1)
>>> count()
Count()

Without bounds a statistic waits for those of the facts, see `awaiting`.

>>> mean("age")
Awaiting(mean of age, bounds from the facts)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, overload

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Grid, Scalar, checked_column
from hedgerow.facts.given import plain
from hedgerow.keywords import takes
from hedgerow.resampling.awaiting import Awaiting
from hedgerow.resampling.smooth_statistic import Smooth


@dataclass(frozen=True, slots=True, repr=False)
class _OnGrid:
    column: str
    grid: Grid

    def __repr__(self) -> str:
        low, high = self.grid.as_bounds()
        step = float(self.grid.step)
        return f"{type(self).__name__}(column={self.column!r}, bounds=({low:g}, {high:g}), step={step:g})"


@dataclass(frozen=True, slots=True, repr=False)
class Mean(_OnGrid):
    """The mean of a clamped column over the records present."""

    name: ClassVar[str] = "mean"
    kind: ClassVar[str] = "mean"


@dataclass(frozen=True, slots=True, repr=False)
class Sum(_OnGrid):
    """The sum of a clamped column over the records present."""

    name: ClassVar[str] = "sum"
    kind: ClassVar[str] = "sum"


@dataclass(frozen=True, slots=True)
class Proportion:
    """The share of the records present whose column equals a declared value."""

    column: str
    value: Scalar
    name: ClassVar[str] = "proportion"
    kind: ClassVar[str] = "proportion"


@dataclass(frozen=True, slots=True)
class Count:
    """The number of records."""

    column: None = field(default=None, init=False, repr=False)
    name: ClassVar[str] = "count"
    kind: ClassVar[str] = "count"


Statistic = Mean | Sum | Proportion | Count | Smooth
STATISTICS = (Mean, Sum, Proportion, Count, Smooth)
# What a call may hold: a statistic, or one that waits for bounds from the facts.
Asked = Statistic | Awaiting


@overload
def mean(column: str, *, bounds: None = None, step: float | None = None) -> Awaiting: ...
@overload
def mean(column: str, *, bounds: tuple[float, float], step: float | None = None) -> Mean: ...
@takes()
def mean(column: str, *, bounds: tuple[float, float] | None = None, step: float | None = None) -> Mean | Awaiting:
    """Ask for the mean of `column`, its values clamped to `bounds`.

    Parameters
    ----------
    column : str
        A numeric column.
    bounds : (low, high), optional
        Public, declared; there is no default, ever. Left out, they are those of the facts, or the release is refused
        when it is planned. The estimate is of the mean of the CLAMPED variable.
    step : float, optional
        Grid step; must divide high − low exactly. Bounds and step go together: with `bounds` and without a step the
        range is cut into 1,024 steps; without either both are those of the facts.

    Raises
    ------
    ParameterError
        HG105 to HG107, see `hedgerow explain`; HG104 when planned without bounds from anywhere.

    Examples
    --------
    >>> mean("age", bounds=(0, 100), step=1).grid.steps
    100
    """
    if bounds is None:
        return Awaiting("mean", (checked_column(column),), step, lambda grids: Mean(*grids[0]))
    return Mean(checked_column(column), Grid.from_bounds(column, bounds, step))


@overload
def sum(column: str, *, bounds: None = None, step: float | None = None) -> Awaiting: ...
@overload
def sum(column: str, *, bounds: tuple[float, float], step: float | None = None) -> Sum: ...
@takes()
def sum(column: str, *, bounds: tuple[float, float] | None = None, step: float | None = None) -> Sum | Awaiting:
    """Ask for the sum of `column`, its values clamped to `bounds`; a missing value adds nothing. See `mean`.

    >>> sum("turnover", bounds=(0, 1_000), step=10).column
    'turnover'
    """
    if bounds is None:
        return Awaiting("sum", (checked_column(column),), step, lambda grids: Sum(*grids[0]))
    return Sum(checked_column(column), Grid.from_bounds(column, bounds, step))


@takes()
def proportion(column: str, *, value: Scalar) -> Proportion:
    """Ask for the share of records whose `column` equals `value`, compared as the column's type.

    >>> proportion("employed", value=1)
    Proportion(column='employed', value=1)
    """
    value = plain(value)
    if not isinstance(value, (str, int, float, bool)) or (isinstance(value, float) and not math.isfinite(value)):
        raise ParameterError(
            "HG111",
            rule="The value of a proportion is declared: a text, a finite number or a boolean.",
            finding=f"Found {value!r} for column {column!r}.",
            remedy=f'For example hg.proportion("{column}", value=1).',
            shell=f"For example --proportion {column}=1.",
        )
    return Proportion(checked_column(column), value)


@takes()
def count() -> Count:
    """Ask for the number of records (of each cell). Without groups, under replace-one, it is n: exact and public.

    >>> count()
    Count()
    """
    return Count()
