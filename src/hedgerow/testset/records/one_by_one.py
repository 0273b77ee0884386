"""Running code that takes many records at once so that no record decides what another one gets.

A model or a metric that fails for one record fails for the whole array, and its failing, or what it then returns for
the others, would tell of that record. So an array for which it fails is halved until those records stand alone for
which it does. Where each record's result depends on that record alone, which is what the certificate assumes, the
results are those of asking record by record.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.user_code import quietly, silence


def one_by_one(call: Callable[[int, int], Any], n: int, nothing: Any) -> NDArray[np.object_]:
    """Return what `call(start, end)` returns for records 0 to n − 1, `nothing` for those for which it fails.

    Parameters
    ----------
    call : callable
        Returns an array of end − start results. Run silently; another length counts as a failure.
    n : int
    nothing : object
        What stands for a record without a result.

    Examples
    --------
    >>> one_by_one(lambda start, end: [1 / (i - 1) for i in range(start, end)], 4, None).tolist()
    [-1.0, None, 1.0, 0.5]
    """
    found: NDArray[np.object_] = np.empty(n, dtype=object)
    waiting = [(0, n)] if n else []
    with silence():
        while waiting:
            start, end = waiting.pop()
            results = quietly(partial(_results, call, start, end))
            if results is not None:
                found[start:end] = results
            elif end - start == 1:
                found[start] = nothing
            else:
                middle = (start + end) // 2
                waiting += [(start, middle), (middle, end)]
    return found


def _results(call: Callable[[int, int], Any], start: int, end: int) -> NDArray[np.object_]:
    cells, n = np.asarray(call(start, end), dtype=object), end - start
    if cells.shape == (n, 1):
        cells = cells[:, 0]
    if cells.shape != (n,):
        raise ValueError("one result a record")
    return cells
