"""The mean of a clamped column over the records present.

The number of records.

The sum of a clamped column over the records present.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, overload

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Grid, checked_column
from hedgerow.facts.validation import format_argument
from hedgerow.keywords import takes
from hedgerow.statistics.entry import Field, StatisticEntry, entry_on_grid
from hedgerow.statistics.statistic import Family, NeedsBounds, OnGrid, Places, Statistic, on_one_grid

if TYPE_CHECKING:
    from hedgerow.inference.joint.functions import FunctionOfTotals


@dataclass(frozen=True, slots=True, repr=False)
class Mean(OnGrid):
    """The mean of a clamped column over the records present."""

    kind: ClassVar[str] = "mean"

    def of_moments(self, places: Places) -> FunctionOfTotals:
        """Return Σx / N as a function of totals."""
        from hedgerow.inference.joint import functions

        return functions.MeanOfTotals(self.axis(0, places))


@overload
def mean(column: str, *, bounds: None = None, step: float | None = None) -> NeedsBounds: ...
@overload
def mean(column: str, *, bounds: tuple[float, float], step: float | None = None) -> Mean: ...
@takes()
def mean(column: str, *, bounds: tuple[float, float] | None = None, step: float | None = None) -> Mean | NeedsBounds:
    """Request the mean of a column whose values are clamped to `bounds`.

    Parameters
    ----------
    column : str
        The name of a numeric column.
    bounds : (low, high), optional
        The lowest and the highest possible value, which are public and declared by the caller. hedgerow never reads
        bounds from the data. If the bounds are left out, the bounds in the facts file are used. If neither the call nor
        the facts declare bounds, the release is refused. The statistic estimates the mean of the CLAMPED values.
    step : float, optional
        The distance between neighbouring grid values; every value is rounded to the nearest grid value. The step must
        divide the width of the bounds, high − low, exactly. If `bounds` are given without a step, the range is cut into
        1,024 equal steps. If neither bounds nor a step is given, both come from the facts.

    Returns
    -------
    Mean or NeedsBounds
        The request, to be passed to `Survey.release` or `Survey.plan`. If the bounds come from the facts, the request
        is a `NeedsBounds` object.

    Raises
    ------
    ParameterError
        HG105 to HG107: the bounds or the step are invalid. HG104: neither the call nor the facts declare bounds; this
        error is raised only at the release.

    Examples
    --------
    >>> mean("age", bounds=(0, 100), step=1)
    Mean(column='age', bounds=(0, 100), step=1)
    >>> mean("age")
    NeedsBounds(mean of age, bounds from the facts)
    """
    if bounds is None:
        return NeedsBounds("mean", (checked_column(column),), step, partial(on_one_grid, Mean))
    return Mean(checked_column(column), Grid.from_bounds(column, bounds, step))


ENTRY = entry_on_grid(mean, 1, "A mean of values clamped to the bounds LO and HI.", ("average", "avg"))


@dataclass(frozen=True, slots=True)
class Count(Statistic):
    """The number of records."""

    kind: ClassVar[str] = "count"
    family: ClassVar[Family] = "counts"
    is_total: ClassVar[bool] = True
    is_count: ClassVar[bool] = True
    takes_midpoint: ClassVar[bool] = True

    @property
    def weighable(self) -> bool:
        """Whether records can be weighted. The count is then the sum of the weights."""
        return True

    def of_moments(self, places: Places) -> FunctionOfTotals:
        """Return N as a function of totals; of weighted records the sum of their weights."""
        from hedgerow.inference.joint.functions import ScaledMean, SumOfTotals

        return SumOfTotals(ScaledMean(0, 1.0, 0.0, places.get((), 0)))

    def possible(self, records: float) -> float | None:
        """Return None: a count has no end that is known."""
        return None

    def in_words(self, *, by_cell: bool = False) -> str:
        """Return what is counted."""
        return "number of records"


@dataclass(frozen=True, slots=True)
class CountOfUnits(Count):
    """The number of units with a row: of persons, where a person may have several."""

    kind: ClassVar[str] = "units"
    of_units: ClassVar[bool] = True

    @property
    def weighable(self) -> bool:
        """Whether records can be weighted. They cannot, because a unit is counted once."""
        return False

    def in_words(self, *, by_cell: bool = False) -> str:
        """Return what is counted."""
        return "number of units with a row that counts"


@takes()
def count(*, of: Literal["rows", "units"] = "rows") -> Count:
    """Request the number of records, in each cell or in total.

    Under replace-one and without groups, the number of records is n, which is exact and public.

    Parameters
    ----------
    of : "rows" or "units"
        For a privacy unit with several rows: ``"rows"`` counts rows, and ``"units"`` counts units (persons,
        households). A unit counts once in every cell that contains one of its rows. The statistic that counts units is
        called ``units``.

    Raises
    ------
    ParameterError
        HG111: the argument `of` is neither "rows" nor "units".

    Examples
    --------
    >>> count(), count(of="units").name
    (Count(), 'units')
    """
    if not isinstance(of, str) or of not in ("rows", "units"):
        raise ParameterError(
            "HG111",
            rule='A count is `of="rows"` or `of="units"`.',
            finding=f"Found {format_argument(of)}.",
            remedy='For example hg.count(of="units").',
            shell='For example of = "units" in the facts file.',
        )
    return Count() if of == "rows" else CountOfUnits()


OF = Field("text", "What a count counts: rows, or units, each once in a cell where it has a row.")
ENTRY_OF_COUNT = StatisticEntry(
    count,
    4,
    takes={"of": OF},
    about="The number of records.",
    variants={"units": ({"of": "units"}, "The number of persons, or other units of --unit, with a record.")},
)


@dataclass(frozen=True, slots=True, repr=False)
class Sum(OnGrid):
    """The sum of a clamped column over the records present."""

    kind: ClassVar[str] = "sum"
    is_total: ClassVar[bool] = True

    def of_moments(self, places: Places) -> FunctionOfTotals:
        """Return Σx as a function of totals."""
        from hedgerow.inference.joint import functions

        return functions.SumOfTotals(self.axis(0, places))

    def possible(self, records: float) -> float | None:
        """Return the length of the range of sums of at most `records` values."""
        low, high = self.grid.as_bounds()
        return records * (max(high, 0.0) - min(low, 0.0))

    def in_words(self, *, by_cell: bool = False) -> str:
        """Return the name, the column, its bounds, and its grid where that is coarser than the values."""
        said = OnGrid.in_words(self, by_cell=by_cell)
        # A mean's interval is widened by the rounding; a sum's would need the private count for that.
        step = float(self.grid.step)
        return said if self.grid.declared else f"{said} and rounded to steps of {step:.6g}"


@overload
def sum(column: str, *, bounds: None = None, step: float | None = None) -> NeedsBounds: ...
@overload
def sum(column: str, *, bounds: tuple[float, float], step: float | None = None) -> Sum: ...
@takes()
def sum(column: str, *, bounds: tuple[float, float] | None = None, step: float | None = None) -> Sum | NeedsBounds:
    """Request the sum of a column whose values are clamped to `bounds`.

    A missing value adds nothing to the sum. See also `mean`.

    Parameters
    ----------
    column : str
        The name of a numeric column.
    bounds, step : optional
        The bounds and the step of the column, as in `hedgerow.mean`.

    Returns
    -------
    Sum or NeedsBounds
        The request, to be passed to `Survey.release` or `Survey.plan`. If the bounds come from the facts, the request
        is a `NeedsBounds` object.

    Raises
    ------
    ParameterError
        HG105 to HG107: the bounds or the step are invalid. HG104: neither the call nor the facts declare bounds; this
        error is raised only at the release.

    Examples
    --------
    >>> sum("turnover", bounds=(0, 1_000), step=10).column
    'turnover'
    """
    if bounds is None:
        return NeedsBounds("sum", (checked_column(column),), step, partial(on_one_grid, Sum))
    return Sum(checked_column(column), Grid.from_bounds(column, bounds, step))


ENTRY_OF_SUM = entry_on_grid(sum, 2, "A sum of values clamped to the bounds LO and HI.")
