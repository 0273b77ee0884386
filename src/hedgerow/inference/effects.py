"""Effects from cells: standardised differences and ratios, differences in differences, and the odds ratio of strata.

Two groups, g = 1 (treated) and 0 (control), are compared within strata s, with values m_gs and numbers of records n_gs.

=============  ========================================================================================================
measure        what it is
=============  ========================================================================================================
difference     Σ_s w_s (m_1s − m_0s), w_s the share of stratum s in the target population: (n_1s + n_0s)/n of all,
               n_1s/n_1 of the treated, n_0s/n_0 of the controls (the g-formula over strata; Robins 1986)
ratio          Σ_s w_s m_1s / Σ_s w_s m_0s
odds ratio     Σ_s ν_s m_1s (1 − m_0s) / Σ_s ν_s m_0s (1 − m_1s), ν_s = n_1s n_0s/n_s (Mantel and Haenszel 1959)
=============  ========================================================================================================

Weighting every record by 1 over the share of its group in its stratum, the inverse-probability weight from the cells,
gives Σ_s (n_s/n) m_1s for the treated and the same for the controls: the standardised difference, to the last digit.
A difference in differences replaces m_gs by m_gs(after) − m_gs(before), with the numbers of after.

Each is a smooth function of released numbers with known covariances C of sampling and V of noise, so its variance is
∇'C∇ + ∇'V∇. The gradient comes from a complex step, exact to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[Any]  # float or complex
Measure = Literal["difference", "ratio", "odds-ratio"]
Target = Literal["all", "treated", "control"]
_STEP = 1e-30


@dataclass(frozen=True, slots=True)
class EffectWithErrors:
    """An effect with both parts of its error; of a ratio both are those of its logarithm.

    Attributes
    ----------
    value, sampling_error, privacy_error : float
    in_logs : bool
        Whether the errors are those of the logarithm.
    """

    value: float
    sampling_error: float
    privacy_error: float
    in_logs: bool


def effect_of(measure: Measure, target: Target, values: Numbers, counts: Numbers) -> Any:
    """Return an effect from values and numbers of records: arrays (2, strata), controls first.

    >>> values, counts = np.array([[0.2, 0.4], [0.3, 0.6]]), np.array([[60.0, 40.0], [40.0, 60.0]])
    >>> [round(float(effect_of(m, "all", values, counts)), 4) for m in ("difference", "ratio", "odds-ratio")]
    [0.15, 1.5, 2.0]
    """
    control, treated = values
    if measure == "odds-ratio":
        weights = counts[0] * counts[1] / (counts[0] + counts[1])
        return (weights * treated * (1.0 - control)).sum() / (weights * control * (1.0 - treated)).sum()
    sizes = {"all": counts[0] + counts[1], "treated": counts[1], "control": counts[0]}[target]
    weights = sizes / sizes.sum()
    first, second = (weights * treated).sum(), (weights * control).sum()
    return first / second if measure == "ratio" else first - second


def with_errors(
    function: Callable[[Numbers], Any], numbers: Floats, sampling: Floats, noise: Floats, *, in_logs: bool
) -> EffectWithErrors:
    """Return a function of numbers with these covariances, and its errors.

    >>> read = with_errors(lambda x: x[0] * x[1], np.array([2.0, 3.0]), np.eye(2), np.zeros((2, 2)), in_logs=False)
    >>> read.value, round(read.sampling_error, 4)
    (6.0, 3.6056)
    """
    value = float(np.real(function(numbers.astype(complex))))
    slopes = np.array([np.imag(function(numbers + 1j * _STEP * row)) / _STEP for row in np.eye(len(numbers))])
    slopes = slopes / value if in_logs else slopes
    sampled, noisy = (float(np.sqrt(max(float(slopes @ part @ slopes), 0.0))) for part in (sampling, noise))
    return EffectWithErrors(value, sampled, noisy, in_logs)
