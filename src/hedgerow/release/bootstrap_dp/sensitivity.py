"""Bootstrap sensitivities, in closed form and by search: how far f moves when a row of D becomes another row of D.

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

Contingency and magnitude tables are in `hedgerow.tables.bootstrap_table`. A sensitivity is computed from
D itself: it is as confidential as D, and to print it beside a release is to publish it.

For any other function `bootstrap_sensitivity` searches neighbours in Dⁿ. While they are few all of them are tried, and
the result is Δ_D f. Beyond that an optimiser looks for the worst pair; it may miss it, so its result is a LOWER bound,
and noise calibrated to a lower bound protects nobody: `SensitivityBound.certified` refuses. Two more are there to
compare with:

=========  =================================================  ====================================================
bootstrap  both neighbours consist of rows of D               `bootstrap_sensitivity`
local      one neighbour is D, the other has any one row      `local_sensitivity`, over declared possible rows
global     both consist of any rows of the declared universe  `global_sensitivity`, over declared possible rows
=========  =================================================  ====================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.errors import ParameterError, UncertifiedError


def count_sensitivity(satisfied: ArrayLike) -> float:
    """Return Δ_D of the number of rows with a property: 1, or 0 where every row or no row of D has it.

    Proof: the count is the total of 0s and 1s, and their spread is 1 where both occur. At 0 every data set in Dⁿ has
    the same count, so publishing it exactly is 'bootstrap private' and tells that all or no rows have the property.

    Parameters
    ----------
    satisfied : array of bool, one entry per row of D

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
    values : array, one entry per row of D

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
    values : array, one entry per row of D
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
    values : array, one entry per row of D
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
    """Return the sensitivity of the maximum on D: V, the greatest minus the least value, for every n.

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
    values : array, one entry per row of D
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


Function = Callable[[NDArray[Any]], ArrayLike]
_REVERSED = 32


@dataclass(frozen=True, slots=True)
class SensitivityBound:
    """What a search found: the sensitivity itself, or a number that it is at least.

    Attributes
    ----------
    value : float
    bound : {"exact", "lower"}
        ``"exact"``: every pair of neighbours was tried. ``"lower"``: an optimiser found a pair that far apart.
    pairs : int
        Pairs of neighbours of which both outputs were computed.
    """

    value: float
    bound: Literal["exact", "lower"]
    pairs: int

    def certified(self) -> float:
        """Return the sensitivity where it is proven.

        Raises
        ------
        UncertifiedError
            HG412: it is a lower bound only.
        """
        if self.bound == "exact":
            return self.value
        raise UncertifiedError(
            "HG412",
            rule="The noise needs a sensitivity that is proven, or found by trying every pair of neighbours.",
            finding="There were too many pairs of neighbours to try, so an optimiser searched for the pair with the "
            "largest difference. The largest difference that was found is a lower bound on the sensitivity, "
            "and not an upper bound.",
            remedy="Give a formula for the sensitivity, raise `limit`, declare the function symmetric, or use fewer "
            "rows.",
        )


def bootstrap_sensitivity(
    function: Function,
    data: ArrayLike,
    *,
    n: int | None = None,
    symmetric: bool = False,
    limit: int = 200_000,
    rng: np.random.Generator | int | None = 0,
) -> SensitivityBound:
    """Return Δ_D of a function: the greatest ‖f(D1) − f(D2)‖₁ over neighbours in Dⁿ, exact while they are few.

    Parameters
    ----------
    function : callable
        Takes an array of n rows and returns a number or an array of them. It must give the same output for the same
        rows; every output must be finite.
    data : array, one entry (or row of a 2-D array) a row of D
    n : int, optional
        Rows of the neighbours; as many as D has, where it is None.
    symmetric : bool
        Whether you declare that the order of rows does not matter, so that multisets are tried instead of sequences.
        The first few are tried in reverse, too.
    limit : int
        The most pairs of neighbours to try; the work is counted before it begins. Beyond it an optimiser
        (`scipy.optimize.differential_evolution` over whole row numbers) tries about as many.
    rng : Generator, int or None
        For the optimiser.

    Returns
    -------
    SensitivityBound
        Exact, or a lower bound that refuses to be certified.

    Raises
    ------
    ParameterError
        HG156: no rows, or n or limit below 1; HG158: an output that is not finite, of another shape than the first,
        or that depends on the order of rows in spite of `symmetric`.

    Notes
    -----
    With m distinct rows there are C(m + n − 2, n − 1)·m(m − 1)/2 pairs of multisets, n·m^(n−1)·m(m − 1)/2 of sequences
    (O'Keefe & Charest, Definition 9).

    Examples
    --------
    >>> bootstrap_sensitivity(np.median, [0.0, 1.0, 7.0, 7.0], symmetric=True)
    SensitivityBound(value=3.5, bound='exact', pairs=30)
    """
    rows = _distinct(_rows_of(data))
    size = len(_rows_of(data)) if n is None else n
    if size < 1 or limit < 1:
        raise _unusable("`n` and `limit` are at least 1.", f"Found n={size}, limit={limit}.")
    if _work(len(rows), size, symmetric) <= limit:
        return _exhausted(_Output(function, rows, symmetric), _pairs(len(rows), size, symmetric))
    return _searched(function, rows, size, limit, np.random.default_rng(rng))


def local_sensitivity(function: Function, data: ArrayLike, *, possible: ArrayLike) -> SensitivityBound:
    """Return the greatest ‖f(D) − f(D')‖₁ over D' that replace one row of D by a declared possible row.

    It depends on D, as bootstrap sensitivity does, and noise of that scale is not private in either sense: D's
    neighbours may have a larger one (Nissim, Raskhodnikova & Smith, 2007). For comparison only.

    Parameters
    ----------
    function : callable
        As for `bootstrap_sensitivity`.
    data, possible : array
        D, and the rows that may be: the ends and enough between for the function at hand, which is for the caller to
        say.

    Examples
    --------
    >>> local_sensitivity(np.median, [0.0, 1.0, 7.0], possible=[0.0, 100.0]).value
    6.0
    """
    rows, others = _rows_of(data), _rows_of(possible)
    pool = np.concatenate([rows, others])
    here = tuple(range(len(rows)))
    replaced = (
        (here, (*here[:place], len(rows) + other, *here[place + 1 :]))
        for place, other in product(range(len(rows)), range(len(others)))
    )
    return _exhausted(_Output(function, pool), replaced)


def global_sensitivity(
    function: Function, *, n: int, possible: ArrayLike, symmetric: bool = False, limit: int = 200_000
) -> SensitivityBound:
    """Return the greatest ‖f(x) − f(y)‖₁ over neighbours whose n rows are declared possible ones: Δf, on that universe.

    It is the bootstrap sensitivity for D = the universe, and so is O'Keefe & Charest's remark that the two agree there.

    Examples
    --------
    >>> global_sensitivity(np.mean, n=4, possible=[0.0, 100.0]).value
    25.0
    """
    return bootstrap_sensitivity(function, possible, n=n, symmetric=symmetric, limit=limit)


def _rows_of(data: ArrayLike) -> NDArray[Any]:
    rows = np.asarray(data)
    if rows.ndim == 0 or len(rows) == 0:
        raise _unusable("D has at least one row.", "This one has none.")
    return rows


def _distinct(rows: NDArray[Any]) -> NDArray[Any]:
    # Rows that are alike make the same neighbours.
    return np.unique(rows, axis=0) if rows.dtype != object else rows


def _work(m: int, n: int, symmetric: bool) -> int:
    shared = math.comb(m + n - 2, n - 1) if symmetric else n * m ** (n - 1)
    return shared * m * (m - 1) // 2


def _pairs(m: int, n: int, symmetric: bool) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield unordered pairs of neighbours as row numbers."""
    ends = [(x, y) for x in range(m) for y in range(x + 1, m)]
    if symmetric:
        for shared in combinations_with_replacement(range(m), n - 1):
            for x, y in ends:
                yield (*shared, x), (*shared, y)
        return
    for place in range(n):
        for shared in product(range(m), repeat=n - 1):
            for x, y in ends:
                yield (*shared[:place], x, *shared[place:]), (*shared[:place], y, *shared[place:])


def _exhausted(output: _Output, pairs: Iterator[tuple[tuple[int, ...], tuple[int, ...]]]) -> SensitivityBound:
    worst, tried = 0.0, 0
    for first, two in pairs:
        worst, tried = max(worst, float(np.abs(output.known(first) - output.known(two)).sum())), tried + 1
    return SensitivityBound(worst, "exact", tried)


def _searched(function: Function, rows: NDArray[Any], n: int, limit: int, rng: np.random.Generator) -> SensitivityBound:
    from scipy.optimize import differential_evolution

    m, output, tried, worst = len(rows), _Output(function, rows), 0, 0.0
    # A position counts how many rows to put where the sequence is cut: few numbers, whatever n is. The shared rows are
    # runs of at most `runs` different rows; the last two numbers are the rows that differ.
    runs = min(n - 1, 4)

    def apart(choice: NDArray[np.float64]) -> float:
        nonlocal tried, worst
        whole = np.rint(choice).astype(np.int64)
        cuts = np.sort(whole[runs : 2 * runs - 1]) if runs else whole[:0]
        lengths = np.diff(np.concatenate([[0], cuts, [n - 1]])) if runs else np.zeros(0, np.int64)
        shared = np.repeat(whole[:runs], lengths)
        x, y = whole[-2], whole[-1]
        place = whole[-3] if n > 1 else 0
        first, two = (np.insert(shared, place, end) for end in (x, y))
        distance = float(np.abs(output(first) - output(two)).sum())
        tried, worst = tried + 1, max(worst, distance)
        return -distance

    bounds = [(0, m - 1)] * runs + [(0, n - 1)] * max(0, runs - 1) + [(0, n - 1)] * (n > 1) + [(0, m - 1)] * 2
    rounds = max(1, min(limit, 20_000) // (15 * len(bounds)) - 1)
    differential_evolution(
        apart, bounds, integrality=np.ones(len(bounds), dtype=bool), maxiter=rounds, polish=False, rng=rng, tol=0.0
    )
    return SensitivityBound(worst, "lower", tried)


class _Output:
    """The function's output on chosen rows, which must be finite and of one shape, and of one value in any order."""

    def __init__(self, function: Function, rows: NDArray[Any], symmetric: bool = False) -> None:
        self._function, self._rows, self._symmetric = function, rows, symmetric
        self._shape: tuple[int, ...] | None = None
        self._known: dict[tuple[int, ...], NDArray[np.float64]] = {}

    def known(self, chosen: tuple[int, ...]) -> NDArray[np.float64]:
        """Return the output, computed once for each choice."""
        if self._symmetric:
            chosen = tuple(sorted(chosen))
        if chosen not in self._known:
            output = self._known[chosen] = self(chosen)
            if self._symmetric and len(self._known) <= _REVERSED and not np.allclose(output, self(chosen[::-1])):
                raise _unfit("The output depends on the order of rows, though the function was declared symmetric.")
        return self._known[chosen]

    def __call__(self, chosen: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]:
        output = np.asarray(self._function(self._rows[np.asarray(chosen, dtype=np.int64)]), dtype=np.float64)
        self._shape = output.shape if self._shape is None else self._shape
        if output.shape != self._shape or not np.isfinite(output).all():
            raise _unfit("On some rows of D this one has not.")
        return output


def _unfit(finding: str) -> ParameterError:
    # Fixed text: what the function returned is a number of the data.
    return ParameterError(
        "HG158",
        rule="If the sensitivity of a function is searched, the function needs finite results of one shape on all "
        "data sets of n rows of D.",
        finding=finding,
        remedy="Define the function for all data sets of rows of D, for instance as 0 for a variance of equal "
        "values; or use symmetric=False.",
    )
