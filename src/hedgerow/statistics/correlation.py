"""The correlation of two clamped columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, overload

from hedgerow.keywords import takes
from hedgerow.statistics.covariance import SECOND, covariance_of_totals, features_of, name_of
from hedgerow.statistics.entry import asked_of_pair, entry_of_pair
from hedgerow.statistics.statistic import NamedGrid, NeedsBounds, Places, Powers, Smooth, Totals

if TYPE_CHECKING:
    from hedgerow.inference.joint.functions import SmoothFunction


class Correlation(Smooth):
    """Pearson's correlation of two clamped columns."""

    __slots__ = ()
    kind: ClassVar[str] = "correlation"

    @classmethod
    def of(cls, grids: Sequence[NamedGrid]) -> Correlation:
        """Return the correlation of two columns on their grids."""
        return cls(cls.kind, tuple(grids), features_of(grids, _OF_CORRELATION), _Correlation(), -1.0, 1.0)

    @property
    def powers(self) -> Powers:
        """u, v, u·v, u² and v²."""
        return _OF_CORRELATION

    def of_moments(self, places: Places) -> SmoothFunction:
        """Return the covariance over the root of both variances."""
        from hedgerow.inference.joint.functions import Correlation, Covariance

        x, y = self.axis(0, places), self.axis(1, places)
        parts = Covariance(x, y, places[1, 1]), Covariance(x, x, places[2, 0]), Covariance(y, y, places[0, 2])
        return Correlation(*parts)


_OF_CORRELATION = ((1, 0), (0, 1), (1, 1), (2, 0), (0, 2))


@overload
def correlation(first: str, second: str, *, bounds: None = None) -> NeedsBounds: ...
@overload
def correlation(first: str, second: str, *, bounds: Mapping[str, tuple[float, ...]]) -> Correlation: ...
@takes()
def correlation(
    first: str, second: str, *, bounds: Mapping[str, tuple[float, ...]] | None = None
) -> Correlation | NeedsBounds:
    """Ask for the correlation of two clamped columns, with bounds as in `ratio`.

    >>> correlation("age", "income", bounds={"age": (0, 100), "income": (0, 10)}).high
    1.0
    """
    return asked_of_pair("correlation", (first, second), bounds, Correlation.of, second="second")


@dataclass(frozen=True, slots=True)
class _Correlation:
    # A function with a name, and not a closure: what asked for it can be pickled and compared.
    def __call__(self, totals: Totals) -> float:
        first, second, both, square, other = map(name_of, _OF_CORRELATION)
        x, y = covariance_of_totals(totals, first, first, square), covariance_of_totals(totals, second, second, other)
        return covariance_of_totals(totals, first, second, both) / math.sqrt(x * y) if x > 0.0 < y else math.nan


ENTRY_OF_CORRELATION = entry_of_pair(correlation, 11, "A correlation of two columns, clamped to LO and HI.", SECOND)
