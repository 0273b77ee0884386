"""The way back: from the error that is wanted to the ε that it needs, for a guess made without the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hedgerow.errors import ParameterError
from hedgerow.release.forecast.forecast import Expected, Forecast

_LEAST, _MOST = 1e-3, 1e2
_TOLERANCE = 0.01


@dataclass(frozen=True, slots=True)
class ErrorTarget:
    """A standard error that is wanted of every statistic of a column; ``"count"`` stands for counts.

    `relative` takes it as a part of the value that is guessed.
    """

    column: str
    standard_error: float
    relative: bool = False

    def excess(self, expected: Expected) -> float | None:
        """Return how many times the target the expected error is; None where this statistic is not meant."""
        if (expected.column or "count") != self.column:
            return None
        if expected.standard_error is None:
            return math.inf
        if not self.relative:
            return expected.standard_error / self.standard_error
        if not expected.value:
            raise ParameterError(
                "HG707",
                rule="A relative error is a part of a guessed value, which must not be 0.",
                finding=f"That of {self.column!r} is not guessed, or is 0.",
                remedy="Guess its mean (or its share), or give an absolute error.",
            )
        return expected.standard_error / abs(self.standard_error * expected.value)


def epsilon_needed(forecast_at: Callable[[float], Forecast], targets: Sequence[ErrorTarget]) -> float:
    """Return an ε at which the forecast meets every target, within 2 % of the least.

    Parameters
    ----------
    forecast_at : callable
        ε → the forecast of the release at this total price.
    targets : list of ErrorTarget

    Raises
    ------
    ParameterError
        HG707: a target of a column that is not released; HG708: no ε up to 100 meets them, since sampling error alone,
        which no budget buys off, exceeds one.

    Examples
    --------
    >>> import pyarrow, hedgerow as hg
    >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
    >>> guess, asked = {"age": {"mean": 40, "sd": 10}}, [hg.mean("age", bounds=(0, 100), step=1)]
    >>> wanted = [ErrorTarget("age", 0.54)]
    >>> 0.9 < epsilon_needed(lambda e: survey.plan(asked, epsilon=e).forecast(guess), wanted) < 1.1
    True
    """

    def worst(epsilon: float) -> float:
        forecast = forecast_at(epsilon)
        excesses: list[float] = []
        for target in targets:
            found = [excess for one in forecast if (excess := target.excess(one)) is not None]
            if not found:
                raise _not_released(target)
            excesses += found
        return max(excesses)

    low, high = _bracket(worst)
    while high / low > 1.0 + _TOLERANCE:
        middle = math.sqrt(low * high)
        if worst(middle) <= 1.0:
            high = middle
        else:
            low = middle
    # Three digits, rounded up: the error falls as ε rises, so the target is still met.
    unit = 10.0 ** (math.floor(math.log10(high)) - 2)
    return min(round(math.ceil(high / unit - 1e-9) * unit, 12), _MOST)


def _bracket(worst: Callable[[float], float]) -> tuple[float, float]:
    """Return (ε that fails, ε that meets), within a factor of 4 of each other."""
    at = 1.0
    if worst(at) <= 1.0:
        while at > _LEAST:
            lower = max(at / 4.0, _LEAST)
            if worst(lower) > 1.0:
                return lower, at
            at = lower
        return _LEAST, _LEAST
    while at < _MOST:
        higher = min(at * 4.0, _MOST)
        if worst(higher) <= 1.0:
            return at, higher
        at = higher
    raise ParameterError(
        "HG708",
        rule="Some ε up to 100 must reach the error that is wanted.",
        finding="None does: the sampling error alone, which no budget buys off, is larger.",
        remedy="Ask for a larger error, for fewer and larger cells, or for more records.",
    )


def _not_released(target: ErrorTarget) -> ParameterError:
    return ParameterError(
        "HG707",
        rule="A target is of a column that is released.",
        finding=f"Nothing of {target.column!r} is.",
        remedy='Counts are called "count".',
    )
