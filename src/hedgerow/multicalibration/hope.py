"""Which α one may hope for before a fit, from public facts alone: Theorems 1 and 2 of Fishman, Mugunthan and Tanzer.

================  ====================================================================================================
``"published"``   α² = 9 (ln q + ln(4/(αβ)))/(m ε), q questions: accuracy of NumericSparse with 1/α updates (Theorem 1)
``"table"``       α = (bL + √(b²L² + 4 b² L p))/m, L = ln(2q/β): Bernstein's bound for p pairs of discrete Laplace noise
================  ====================================================================================================

With probability 1 − β = .95 over the privacy noise, all q = groups × buckets residual sums of cells with m records or
more are known to α m. The labels' own scatter, about 1/√m, comes on top under both. The first is the theorem with the
constants of its proof, for comparison: the mechanism that it is about is not private as printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation, parse_relation
from hedgerow.multicalibration.groups.family import Family
from hedgerow.multicalibration.groups.groups import family_of
from hedgerow.multicalibration.mechanisms.mechanism import Setting, check_parameter
from hedgerow.multicalibration.mechanisms.table import Table, counts_of
from hedgerow.multicalibration.model.records import score_bucket

Bound = Literal["table", "published"]
_BETA = 0.05


def hoped_alpha(
    m: float, groups: object, *, epsilon: float, relation: object = "add-remove", n_buckets: int = 10,
    bound: Bound = "table",
) -> float:  # fmt: skip
    """Return the α that privacy noise leaves possible in cells of m records, with probability .95; above 1: none.

    Parameters
    ----------
    m : float
        Records in the smallest group × bucket to be calibrated. Of n records, a group with the share γ has about γn/k
        in each of its k buckets.
    groups : mapping, sequence or None
        As `Multicalibrator` takes them.
    epsilon, relation, n_buckets
        As `Multicalibrator` takes them.
    bound : {"table", "published"}
        See the module.

    Raises
    ------
    ParameterError
        HG165: m or `bound` is none of these.

    Examples
    --------
    >>> groups = {"sex": ["f", "m"], "race": ["a", "b", "c"]}
    >>> [round(hoped_alpha(1000, groups, epsilon=1.0, bound=bound), 3) for bound in ("table", "published")]
    [0.089, 0.305]
    """
    family = family_of(groups)
    check_parameter(m > 0, "A cell has some records.", m)
    if bound == "published":
        return _fixed_point(lambda alpha: math.sqrt(_published(alpha, family, n_buckets) / (m * epsilon)))
    return _reach(family, epsilon, parse_relation(relation), n_buckets, bound) / m


def least_cell(
    alpha: float, groups: object, *, epsilon: float, relation: object = "add-remove", n_buckets: int = 10,
    bound: Bound = "table",
) -> float:  # fmt: skip
    """Return the fewest records of a cell for which one may hope for α (Theorem 2); arguments as `hoped_alpha`.

    >>> groups = {"sex": ["f", "m"], "race": ["a", "b", "c"]}
    >>> [round(least_cell(0.1, groups, epsilon=1.0, bound=bound)) for bound in ("table", "published")]
    [889, 10325]
    """
    family = family_of(groups)
    check_parameter(0.0 < alpha <= 1.0, "`alpha` lies in (0, 1].", alpha)
    if bound == "published":
        return _published(alpha, family, n_buckets) / (alpha**2 * epsilon)
    return _reach(family, epsilon, parse_relation(relation), n_buckets, bound) / alpha


def _questions(family: Family, n_buckets: int) -> int:
    return len(family.groups) * n_buckets


def _published(alpha: float, family: Family, n_buckets: int) -> float:
    return 9.0 * (math.log(_questions(family, n_buckets)) + math.log(4.0 / (min(alpha, 1.0) * _BETA)))


def _fixed_point(step: Callable[[float], float]) -> float:
    alpha = 1.0
    for _ in range(60):
        alpha = step(alpha)
    return alpha


def _reach(family: Family, epsilon: float, relation: Relation, n_buckets: int, bound: str) -> float:
    """Return the bound on the noise of every residual sum that the table gives."""
    check_parameter(bound == "table", '`bound` is "table" or "published".', bound)
    mechanism = Table()
    setting = Setting(family, relation, None, n_buckets)
    counts, _ = counts_of(mechanism.describe(setting, Budget(epsilon, 0.0)))
    in_bucket = np.bincount(score_bucket(mechanism.score_bins(family).centres, n_buckets)).max()
    pairs, b = family.atoms * int(in_bucket), counts.scale
    tail = math.log(2.0 * _questions(family, n_buckets) / _BETA)
    return b * tail + math.sqrt((b * tail) ** 2 + 4.0 * b**2 * tail * pairs)
