"""Many tests at once: p-values adjusted so that a whole list of decisions keeps one promise.

=====================  ==============================================  =============================================
method                 promise at level α                              adjusted p-value of the k-th smallest of m
=====================  ==============================================  =============================================
benjamini-yekutieli    of what is called different, a share of at      least over j ≥ k of p_(j)·m·(1 + ½ + … + 1/m)/j
                       most α is not, on average; any dependence
bonferroni             no false call at all, with chance 1 − α         m·p_(k)
holm                   the same, and never fewer calls                 largest over j ≤ k of (m − j + 1)·p_(j)
=====================  ==============================================  =============================================

Benjamini and Yekutieli (2001), theorem 1.3; Holm (1979). All hold whatever the dependence of the tests is, as between
cells whose counts add up to a public number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Method = Literal["benjamini-yekutieli", "bonferroni", "holm"]


def benjamini_yekutieli(sorted_pvalues: Floats) -> Floats:
    """Return adjusted p-values of p-values that rise.

    >>> benjamini_yekutieli(np.array([0.001, 0.02, 0.5])).round(4).tolist()
    [0.0055, 0.055, 0.9167]
    """
    count = len(sorted_pvalues)
    ranks = np.arange(1, count + 1)
    raw = sorted_pvalues * count * (1.0 / ranks).sum() / ranks
    return np.asarray(np.minimum.accumulate(raw[::-1])[::-1])


def bonferroni(sorted_pvalues: Floats) -> Floats:
    """Return adjusted p-values of p-values that rise."""
    return np.asarray(sorted_pvalues * len(sorted_pvalues))


def holm(sorted_pvalues: Floats) -> Floats:
    """Return adjusted p-values of p-values that rise.

    >>> holm(np.array([0.001, 0.02, 0.5])).round(4).tolist()
    [0.003, 0.04, 0.5]
    """
    return np.asarray(np.maximum.accumulate(sorted_pvalues * np.arange(len(sorted_pvalues), 0, -1)))


METHODS: dict[str, Callable[[Floats], Floats]] = {
    "benjamini-yekutieli": benjamini_yekutieli,
    "bonferroni": bonferroni,
    "holm": holm,
}


def adjusted(pvalues: Floats, method: Method) -> Floats:
    """Return the adjusted p-values of tests, in their order: a test is called at level α where its own is at most α.

    >>> adjusted(np.array([0.5, 0.001, 0.02]), "bonferroni").round(4).tolist()
    [1.0, 0.003, 0.06]
    """
    order = np.argsort(pvalues, kind="stable")
    values = np.empty_like(pvalues)
    values[order] = np.minimum(METHODS[method](pvalues[order]), 1.0)
    return values
