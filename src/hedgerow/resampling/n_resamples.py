"""The number of resamples: many enough to estimate the spread, few enough that the noise of each does not hide it.

The noise of one replicate grows with k (σ₁² = kτ² at one privacy cost), so more resamples are not better. In units of
τ² the spread estimates R' = v'/τ² with standard error (R' + k)√(2/k), least at k = R'; the width of the calibrated
interval is least near 1.5 R', and within a few per cent of that from half to twice as many (private_bootstrap.md §4).
"""

from __future__ import annotations

import math

from hedgerow.errors import ParameterError
from hedgerow.facts.given import format_argument

# The numbers of resamples whose critical curves are shipped; a choice is rounded to one of them.
LADDER = (5, 7, 10, 14, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1000)
FEWEST, MOST = 10, 300
# With a private n the spread cannot be guessed from public facts; 50 loses least over R' from 1 to 300.
UNKNOWN_N = 50


def choose_n_resamples(
    *, n: float | None, value_range: float, privacy_variance: float, spread: float | None = None
) -> int:
    """Return the k of the ladder nearest 1.5 v'/τ², kept within [10, 300], from public facts only.

    Parameters
    ----------
    n : float or None
        The number of records where it is public; None where it is private, and then k is 50.
    value_range : float
        U − L, the declared range.
    privacy_variance : float
        τ², the noise variance of the estimate itself (of m*, not of one replicate), in squared units of the estimate.
    spread : float or None
        A guess, made without the data, of the root mean square distance of a value from the centre (L + U)/2; None
        takes the largest possible, (U − L)/2. v' = spread²/n.

    Raises
    ------
    ParameterError
        HG123: a number that is not positive, or a spread above (U − L)/2.

    Examples
    --------
    >>> choose_n_resamples(n=5000, value_range=1.0, privacy_variance=(1 / 500) ** 2)
    20
    >>> choose_n_resamples(n=10**6, value_range=100.0, privacy_variance=1e-8)
    300
    """
    given = [number for number in (n, value_range, privacy_variance, spread) if number is not None]
    if not all(0 < number < math.inf for number in given) or (spread is not None and spread > value_range / 2):
        raise ParameterError(
            "HG123",
            rule="`n`, `value_range`, `privacy_variance` and `spread` must be positive and finite, and `spread` "
            "at most half the range.",
            finding=f"Found n={format_argument(n)}, value_range={format_argument(value_range)}, "
            f"privacy_variance={format_argument(privacy_variance)}, spread={format_argument(spread)}.",
            remedy="Leave `spread` out to take the largest possible one.",
        )
    if n is None:
        return UNKNOWN_N
    largest = (value_range / 2 if spread is None else spread) ** 2 / n
    wanted = min(max(1.5 * largest / privacy_variance, FEWEST), MOST)
    return min(LADDER, key=lambda rung: abs(math.log(rung / wanted)))
