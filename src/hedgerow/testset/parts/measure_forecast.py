"""What can be had of a metric by parts before the first look, if every look asks for it. Nothing is read.

The interval is that of a model which tells nothing: half of the records are positive, and the predictions do not say
which. There intervals are widest. Of squared errors half of the labels' variance is explained, and the labels' standard
deviation is half of the half-range of their bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from hedgerow.facts.budget import DEFAULT_DELTA, Budget
from hedgerow.facts.relation import Relation
from hedgerow.testset.looks_forecast import LooksForecast, Planned, by_bound, forecast_of, mu_of_a_look
from hedgerow.testset.mechanisms.look_mechanism import Conditions
from hedgerow.testset.metric import accuracy
from hedgerow.testset.parts.look import SHAVED, Division, LookByParts, fitted_ends
from hedgerow.testset.parts.measures import BINS, SUBPARTS, Measure, parse_measures
from hedgerow.testset.parts.squares import SquaredParts

_EXPLAINED, _VARIANCE = 0.5, 0.25  # of the labels; in squares of their half-range


def plan_measure(
    metric: str, n: int, looks: int, *, epsilon: float = 1.0, delta: float = DEFAULT_DELTA, width: float | None = None
) -> LooksForecast:
    """Return at which ε Gaussian noise gives the narrowest interval of a metric at the last look.

    Parameters
    ----------
    metric : str
        One that `score` takes.
    n, looks, epsilon, delta, width
        As of `hedgerow.testset.looks_forecast.plan_looks`.

    Raises
    ------
    ParameterError
        HG101 to HG103 for the budget, HG171 for the metric, HG173 for the numbers, HG707 for the width.

    Examples
    --------
    >>> forecast = plan_measure("roc_auc", 10_000, 100)
    >>> forecast.best.bound, round(forecast.best.last, 2), forecast.vacuous
    ('likelihood', 0.17, False)
    >>> plan_measure("r2", 10_000, 100).vacuous
    True
    """
    (measure,) = parse_measures(metric)
    conditions = Conditions(Relation.REPLACE_ONE, Budget(epsilon, delta), looks, n, accuracy().grid)
    return forecast_of(conditions, width, partial(_of_measure, measure), _nothing_else)


def _nothing_else(conditions: Conditions, looks: int) -> Iterable[Planned]:
    return ()


def _of_measure(measure: Measure, conditions: Conditions, looks: int, epsilon: float) -> Iterator[Planned]:
    n, mu = conditions.n or 0, mu_of_a_look(conditions, looks, epsilon)
    parts, sums = _squares(n) if measure.kind == "squares" else _labels(measure, n)
    (known,) = parts.of_groups(parts.mechanism(mu * SHAVED), sums)[-1:]
    reading, each = measure.read(known), mu**2 / 8.0
    low, high = reading.fixed(0.95)
    first = max(high - reading.value, reading.value - low)
    for bound, earlier in by_bound(n, looks - 1, sums.size, each).items():
        look = LookByParts((measure,), parts, looks, looks - 1, earlier.numbers, mu, each, False)
        low, high = fitted_ends(reading, look, n, float(known.sds[0]), 0.95) if looks > 1 else (low, high)
        last = max(high - reading.value, reading.value - low)
        yield Planned("gaussian", epsilon, looks, first, last, bound, (low, high) == tuple(reading.ends))


def _labels(measure: Measure, n: int) -> tuple[Division, Any]:
    """Return parts of equal size, half of whose records are positive."""
    parts = SUBPARTS[measure.kind]
    sizes = np.array([[len(share) for share in np.array_split(np.arange(n), parts)]])
    middle = (np.arange(parts) + 0.5) / BINS if measure.kind == "chances" else np.zeros(parts)
    division = Division(measure.kind, ("",), sizes, sizes * middle)
    sums = np.zeros((1, parts, division.units.shape[1]))
    sums[0, :, 0] = sizes[0] * (middle if measure.kind == "chances" else 0.5) / division.units[0, 0]
    return division, sums


def _squares(n: int) -> tuple[SquaredParts, Any]:
    """Return one group, with moments of (2a − 1, u, 2c − 1) as of normal labels about the middle of their bounds."""
    parts = SquaredParts(("",), np.array([n]), (0.0, 1.0))
    error = (1.0 - _EXPLAINED) * _VARIANCE / 4.0
    a, u, c = 2.0 * error - 1.0, 0.0, 2.0 * _VARIANCE - 1.0
    # Squares of normal numbers have twice the square of their mean as variance.
    second = [a * a + 8.0 * error**2, 0.0, a * c, _VARIANCE, 0.0, c * c + 8.0 * _VARIANCE**2]
    return parts, np.array([[a, u, c, *second]]) * n
