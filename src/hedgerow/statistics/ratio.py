"""The ratio of two columns' totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, overload

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Grid, checked_column
from hedgerow.facts.given import shown
from hedgerow.keywords import takes
from hedgerow.statistics.entry import COLUMN, ON_GRID, Entry, Field, parse_on_grid, unwritten
from hedgerow.statistics.statistic import Asked, Feature, NamedGrid, NeedsBounds, Smooth, Totals


class Ratio(Smooth):
    """Σ numerator / Σ denominator."""

    __slots__ = ()
    kind: ClassVar[str] = "ratio"

    @classmethod
    def of(cls, grids: Sequence[NamedGrid]) -> Ratio:
        """Return the ratio of two columns on their grids."""
        (numerator, _), (denominator, _) = grids
        features = tuple(Feature(column, *grid.as_bounds()) for column, grid in grids)
        return cls(cls.kind, tuple(grids), features, _Ratio(numerator, denominator))


@overload
def ratio(numerator: str, denominator: str, *, bounds: None = None) -> NeedsBounds: ...
@overload
def ratio(numerator: str, denominator: str, *, bounds: Mapping[str, tuple[float, ...]]) -> Ratio: ...
@takes()
def ratio(
    numerator: str, denominator: str, *, bounds: Mapping[str, tuple[float, ...]] | None = None
) -> Ratio | NeedsBounds:
    """Ask for Σ numerator / Σ denominator, each column with its declared bounds, or with those of the facts.

    >>> ratio("tax", "income", bounds={"tax": (0, 50), "income": (0, 100)}).name
    'ratio'
    """
    columns = checked_column(numerator), checked_column(denominator)
    if numerator == denominator or (bounds is not None and set(bounds) != {*columns}):
        same = f"Both are {shown(numerator)}."
        named = same if numerator == denominator else f"Found bounds of {shown(list(bounds or ()))[1:-1] or 'none'}."
        raise ParameterError(
            "HG112",
            rule="A ratio has two different columns, each with its bounds.",
            finding=named,
            remedy='For example hg.ratio("tax", "income", bounds={"tax": (0, 50), "income": (0, 100)}).',
            shell="For example tax:0:50/income:0:100, or the denominator in the facts file.",
        )
    if bounds is None:
        return NeedsBounds("ratio", columns, None, Ratio.of)
    return Ratio.of([grid_of(column, bounds[column]) for column in columns])


def grid_of(column: str, given: object) -> NamedGrid:
    """Return a column on the grid of (low, high) or (low, high, step)."""
    parts = tuple(given) if isinstance(given, (tuple, list)) else ()
    bounds, step = (parts[:2], parts[2]) if len(parts) == 3 else (given, None)
    return checked_column(column), Grid.from_bounds(column, bounds, step)


@dataclass(frozen=True, slots=True)
class _Ratio:
    # A function with a name, and not a closure: what asked for it can be pickled and compared.
    numerator: str
    denominator: str

    def __call__(self, totals: Totals) -> float:
        return totals[self.numerator] / totals[self.denominator]


def parse_ratio(text: str) -> list[Asked]:
    """Return the ratio of ``COL[:LO:HI[:STEP]]/COL[:LO:HI[:STEP]]``, both with bounds or neither (HG116).

    >>> parse_ratio("tax:0:50/income:0:100")[0].column
    'tax, income'
    """
    sides = text.split("/")
    parsed = [parse_on_grid(ENTRY.option, side) for side in sides] if len(sides) == 2 and all(sides) else []
    given = {column: bounds if step is None else (*bounds, step) for column, bounds, step in parsed if bounds}
    if not parsed or len(given) == 1:
        form = "COL/COL or COL:LO:HI[:STEP]/COL:LO:HI[:STEP], with one slash"
        raise unwritten(ENTRY.option, form, text, f"{ENTRY.option} tax:0:50/income:0:100")
    return [ratio(parsed[0][0], parsed[1][0], bounds=given or None)]


ENTRY = Entry(
    ratio,
    8,
    {"column": COLUMN, "denominator": Field("text", "The denominator of a ratio.")},
    metavar=f"{ON_GRID}/{ON_GRID}",
    about="A ratio of two columns' sums.",
    parse=parse_ratio,
)
