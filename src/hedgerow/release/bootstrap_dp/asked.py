"""What bootstrap-dp releases beside the statistics of differential privacy: extremes, and functions of one's own.

They are asked of rows as they are. Under differential privacy the least and the greatest value have no useful release,
and the sensitivity of a function of one's own is not known; `Survey.release` refuses them there (HG112).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import checked_column
from hedgerow.facts.given import as_float, format_argument
from hedgerow.keywords import takes
from hedgerow.statistics.statistic import code_of

Function = Callable[[NDArray[np.float64]], Any]
_MOST = 2.0**40


@dataclass(frozen=True, slots=True)
class OfRows:
    """An extreme of a column, or a function of one's own of its sorted values.

    Attributes
    ----------
    kind : "minimum", "maximum", or the name of the function
    column : str
    step : float or None
        The distance of neighbouring values, public; the facts' where it is None.
    own : OwnFunction or None
    """

    kind: str
    column: str
    step: float | None = None
    own: OwnFunction | None = None


@dataclass(frozen=True, slots=True)
class OwnFunction:
    """A function of one's own, in whole steps of its answers: what it returns on any rows is a whole number.

    Attributes
    ----------
    function : callable
    low, high, step : float
        Answers outside are moved to the nearest end, no number to the lower one.
    sensitivity : callable or None
        Takes all values of D and returns Δ_D f as declared; None: found by trying all pairs of neighbours.
    """

    function: Function = field(compare=False)
    low: float
    high: float
    step: float
    sensitivity: Function | None = field(default=None, compare=False)

    @property
    def most(self) -> int:
        """The largest difference of two answers, in steps."""
        return round((self.high - self.low) / self.step)

    def steps(self, rows: ArrayLike) -> int:
        """Return the answer on some rows, in steps above the least one; whatever the function does, it is a number."""
        answer = _number(self.function, np.sort(np.asarray(rows, dtype=np.float64)), otherwise=self.low)
        return round(min(max(answer - self.low, 0.0), self.high - self.low) / self.step)

    def declared(self, rows: ArrayLike) -> int:
        """Return the declared sensitivity in steps, with what rounding of two answers adds."""
        assert self.sensitivity is not None  # the caller asks first
        width = _number(self.sensitivity, np.asarray(rows, dtype=np.float64), otherwise=self.high - self.low)
        return min(self.most, int(np.ceil(min(abs(width), self.high - self.low) / self.step)) + 2)

    def public_record(self) -> list[Any]:
        """Return what tells it from another, as plain JSON data."""
        return [self.low, self.high, self.step, code_of(self.function), code_of(self.sensitivity)]


def _number(function: Function, rows: NDArray[np.float64], *, otherwise: float) -> float:
    """Return what a function of the user returns; a failure would tell of the data, so it counts as `otherwise`."""
    try:
        with np.errstate(all="ignore"):
            found = float(function(rows))
    except Exception:
        return otherwise
    return otherwise if np.isnan(found) else found


@takes()
def minimum(column: str, *, step: float | None = None) -> OfRows:
    """Ask for the least value of a column, under bootstrap-dp alone; `step` is the distance of neighbouring values.

    >>> minimum("income", step=1).kind
    'minimum'
    """
    return _extreme("minimum", column, step)


@takes()
def maximum(column: str, *, step: float | None = None) -> OfRows:
    """Ask for the greatest value of a column, under bootstrap-dp alone; see `minimum`.

    >>> maximum("income", step=1).column
    'income'
    """
    return _extreme("maximum", column, step)


def _extreme(kind: Literal["minimum", "maximum"], column: str, step: float | None) -> OfRows:
    return OfRows(kind, checked_column(column), step)


@takes()
def own_function(
    column: str,
    function: Function,
    *,
    answers: tuple[float, float],
    answer_step: float,
    step: float | None = None,
    sensitivity: Function | None = None,
    name: str = "function",
) -> OfRows:
    """Ask for a function of one's own of a column's values, under bootstrap-dp alone.

    The noise is scaled to its bootstrap sensitivity (O'Keefe & Charest, Definitions 9 and 10): found by trying all
    pairs of neighbours, which takes a file of few rows, or declared.

    Parameters
    ----------
    column : str
    function : callable
        Takes a sorted array of n values, returns a number. An error, or no number, counts as the lower end of answers.
    answers : (low, high)
        Public; an answer outside is moved to the nearest end.
    answer_step : float
        Answers are rounded to whole multiples of it above `low`; at most 2⁴⁰ of them.
    step : float, optional
        The distance of neighbouring values of the column.
    sensitivity : callable, optional
        Takes all n values and returns the sensitivity of `function` over Dⁿ. The guarantee then rests on it.
    name : str
        What the number is called.

    Raises
    ------
    ParameterError
        HG112: answers that are no range, or a step that does not fit it.

    Examples
    --------
    >>> import numpy as np
    >>> asked = own_function("income", np.ptp, answers=(0, 1_000), answer_step=1, sensitivity=np.ptp, name="range")
    >>> asked.own.steps([3.0, 10.0])
    7
    """
    ends = [as_float(one) for one in answers] if isinstance(answers, (tuple, list)) else []
    stride = as_float(answer_step)
    if len(ends) == 2 and None not in ends and stride is not None and stride > 0.0:
        low, high = (float(one) for one in ends if one is not None)
        if low < high and (high - low) / stride <= _MOST:
            own = OwnFunction(function, low, high, stride, sensitivity)
            return OfRows(name, checked_column(column), step, own)
    raise ParameterError(
        "HG112",
        rule="Answers of a function of one's own lie in a declared range, on at most 2⁴⁰ declared steps.",
        finding=f"Found answers={format_argument(answers)}, answer_step={format_argument(answer_step)}.",
        remedy="For example answers=(0, 100_000), answer_step=10.",
    )
