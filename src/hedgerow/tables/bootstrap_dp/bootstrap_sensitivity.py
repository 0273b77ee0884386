"""Bootstrap sensitivities in closed form: how far a number moves when one row of D becomes another row of D.

The bootstrap sensitivity of f is Δ_D f = max ‖f(D1) − f(D2)‖₁ over all neighbours D1, D2 ∈ Dⁿ: data sets of n rows,
each of them a row of D, repetitions allowed, that differ in one row (O'Keefe & Charest, Definition 9). D1 need not be
D: both range over Dⁿ, so a row of D may fill D1 n times. Write Z for the n − 1 rows that neighbours share, x and y for
the rows in which they differ, and a, b, V = b − a for the least value, the greatest and the spread of D.

=============  ===============================  ==========================================================
count          1 (0 where all or none count)    the total of 0s and 1s
total          V                                Σ moves by y − x
mean           V/n                              the total over the public n
variance       (n − 1)V² / (n(n − ddof))        Z all a, x = a, y = b
minimum        V                                Z all b, x = a, y = b
maximum        V                                Z all a, x = a, y = b
median         V (n odd), V/2 (n even)          a quantile
quantile       max(g, 1 − g)·V                  g is the weight of the upper of two order statistics
=============  ===============================  ==========================================================

Contingency and magnitude tables are in `hedgerow.tables.bootstrap_dp.table_sensitivity`, functions of a user's own in
`hedgerow.tables.bootstrap_dp.searched_sensitivity`. A sensitivity is computed from D itself: it is as confidential as
D, and to print it beside a release is to publish it.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.errors import ParameterError


def count_sensitivity(satisfied: ArrayLike) -> float:
    """Return Δ_D of the number of rows with a property: 1, or 0 where every row or no row of D has it.

    Proof: the count is the total of 0s and 1s, and their spread is 1 where both occur. At 0 every data set in Dⁿ has
    the same count, so publishing it exactly is 'bootstrap private' and tells that all or no rows have the property.

    Parameters
    ----------
    satisfied : array of bool, one entry a row of D

    Raises
    ------
    ParameterError
        HG156: D has no rows.

    Notes
    -----
    O'Keefe & Charest, section 5.1.

    Examples
    --------
    >>> count_sensitivity([True, False, True]), count_sensitivity([True, True])
    (1.0, 0.0)
    """
    return _spread(np.asarray(satisfied, dtype=bool).astype(np.float64))


def total_sensitivity(values: ArrayLike) -> float:
    """Return Δ_D of a total: V = max − min, in the units of the values.

    Proof: neighbours differ by y − x with x, y ∈ D, which is at most V, and is V for x = a, y = b whatever Z is.

    Parameters
    ----------
    values : array, one entry a row of D

    Raises
    ------
    ParameterError
        HG156: D has no rows, or a value that is not finite.

    Examples
    --------
    >>> total_sensitivity([1, 2, 3])
    2.0
    """
    return _spread(values)


def mean_sensitivity(values: ArrayLike, *, n: int | None = None) -> float:
    """Return Δ_D of a mean: V/n, since n is public and the total moves by at most V.

    Parameters
    ----------
    values : array, one entry a row of D
    n : int, optional
        Rows of the neighbours; as many as D has, where it is None.

    Raises
    ------
    ParameterError
        HG156: D has no rows, a value is not finite, or n is below 1.

    Examples
    --------
    >>> mean_sensitivity([1, 2, 3, 5])
    1.0
    """
    return _spread(values) / _rows(values, n)


def variance_sensitivity(values: ArrayLike, *, n: int | None = None, ddof: int = 0) -> float:
    """Return Δ_D of a variance: (n − 1)V² / (n(n − ddof)); V²/n for the sample variance (ddof = 1).

    Proof: with m and S the mean of Z and its sum of squares about m, adding a row y gives the sum of squares
    S + (n − 1)/n·(y − m)². So neighbours differ by (n − 1)/n·|(y − m)² − (x − m)²| ≤ (n − 1)/n·V², because all three of
    x, y, m lie in [a, b]. It is reached where Z is n − 1 times a, x = a and y = b.

    Parameters
    ----------
    values : array, one entry a row of D
    n : int, optional
        Rows of the neighbours; as many as D has, where it is None.
    ddof : {0, 1}
        The variance divides by n − ddof.

    Raises
    ------
    ParameterError
        HG156: as for the mean; or n = 1 with ddof = 1, where there is no variance.

    Examples
    --------
    >>> variance_sensitivity([0, 1, 2, 4]), variance_sensitivity([0, 1, 2, 4], ddof=1)
    (3.0, 4.0)
    """
    rows = _rows(values, n)
    if ddof not in (0, 1) or rows <= ddof:
        raise _unusable("`ddof` is 0 or 1, and a sample variance needs two rows.", f"Found ddof={ddof}, n={rows}.")
    return (rows - 1) * _spread(values) ** 2 / (rows * (rows - ddof))


def minimum_sensitivity(values: ArrayLike) -> float:
    """Return Δ_D of the minimum: V, whatever n is.

    Proof: at most V, since every minimum lies in [a, b]. Reached where Z is all b, x = a and y = b. Local sensitivity
    is far smaller as a rule, since there one of the neighbours is D.

    Raises
    ------
    ParameterError
        HG156: D has no rows, or a value that is not finite.

    Examples
    --------
    >>> minimum_sensitivity([3, 4, 9])
    6.0
    """
    return _spread(values)


def maximum_sensitivity(values: ArrayLike) -> float:
    """Return Δ_D of the maximum: V, whatever n is; the minimum of the negated values.

    >>> maximum_sensitivity([3, 4, 9])
    6.0
    """
    return _spread(values)


def median_sensitivity(values: ArrayLike, *, n: int | None = None) -> float:
    """Return Δ_D of the median: V for an odd n, V/2 for an even one, where it is the mean of the two middle values.

    Proof: the quantile at ½, whose upper weight is g = 0 or ½.

    >>> median_sensitivity([0, 0, 8]), median_sensitivity([0, 0, 0, 8])
    (8.0, 4.0)
    """
    return quantile_sensitivity(values, 0.5, n=n)


def quantile_sensitivity(values: ArrayLike, probability: float, *, n: int | None = None) -> float:
    """Return Δ_D of a quantile, interpolated as NumPy does by default: max(g, 1 − g)·V.

    With h = (n − 1)·p, k = ⌊h⌋ + 1 and g = h − ⌊h⌋ the quantile is (1 − g)·X₍k₎ + g·X₍k+1₎.

    Proof: let z₁ ≤ … ≤ z_{n−1} be Z, z₀ = a and z_n = b. Adding y makes X₍k₎ = y clamped to [z_{k−1}, z_k], and X₍k+1₎
    = y clamped to [z_k, z_{k+1}]. Both grow with y, so the change is greatest between y = a and y = b, and there it is
    (1 − g)(z_k − z_{k−1}) + g(z_{k+1} − z_k). The two gaps add up to at most V, so this is at most max(g, 1 − g)·V;
    it is reached where Z holds a up to z_{k−1} and b from z_k on, or a up to z_k and b from z_{k+1} on.

    Parameters
    ----------
    values : array, one entry a row of D
    probability : float
        p, between 0 and 1.
    n : int, optional
        Rows of the neighbours; as many as D has, where it is None.

    Raises
    ------
    ParameterError
        HG156: as for the mean; or a probability outside [0, 1].

    Examples
    --------
    >>> quantile_sensitivity([0, 1, 2, 3, 10], 0.25), quantile_sensitivity([0, 1, 2, 10], 0.25)
    (10.0, 7.5)
    """
    if not 0.0 <= probability <= 1.0:
        raise _unusable("A quantile is asked for at a probability from 0 to 1.", f"Found {probability!r}.")
    # Exact, so that 0.1 of 11 rows does not become a weight of nearly 1 by one bit of rounding; it would not matter.
    place = (_rows(values, n) - 1) * Fraction(probability)
    upper = float(place - math.floor(place))
    return max(upper, 1.0 - upper) * _spread(values)


def _spread(values: ArrayLike) -> float:
    rows = _column(values)
    return float(rows.max() - rows.min())


def _rows(values: ArrayLike, n: int | None) -> int:
    size = len(_column(values))
    if n is None:
        return size
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise _unusable("`n`, the rows of the neighbours, is a whole number of at least 1.", f"Found {n!r}.")
    return int(n)


def _column(values: ArrayLike) -> NDArray[np.float64]:
    rows = np.asarray(values, dtype=np.float64)
    if rows.ndim != 1 or rows.size == 0 or not np.isfinite(rows).all():
        raise _unusable("D is a column of finite values with at least one row.", "This one is not.")
    return rows


def _unusable(rule: str, finding: str) -> ParameterError:
    return ParameterError("HG156", rule=rule, finding=finding, remedy="Nothing was read, spent or written.")
