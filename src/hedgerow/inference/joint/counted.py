"""Counts and shares from noisy counts of disjoint cells, as joint moments: they go together with one another.

A record with the value has f = 1, another one f = −1. With e of the former and d of the latter N = e + d, S = e − d and
Q = N; where N is public, S = 2e − N. A count alone is a vector of no features: its totals are N. An estimate keeps the
errors and the interval that it has by itself (`inference.counts`); what is computed with it has those of the totals.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.counts import NumbersWithErrors, counts_with_errors, proportions_with_errors
from hedgerow.inference.joint.arithmetic import JointStatisticOfCells
from hedgerow.inference.joint.functions import Axis, Mean, Total
from hedgerow.inference.joint.totals import JointTotals
from hedgerow.noise.table import AdditiveTable

Floats = NDArray[np.float64]
COUNT, EQUAL, DIFFERENT = "count", "equal", "different"
EVERY, SHARE = Axis(0, 1.0, 0.0), Mean(Axis(1, 0.5, 0.5))


def counted_cells(
    table: AdditiveTable, *, n: int | None, census: bool, method: str
) -> tuple[NumbersWithErrors, JointStatisticOfCells]:
    """Return counts or shares of noisy counts, of records or of equal and different ones, and their joint laws.

    Each has its own numbers: their joint laws are for what is computed with them.

    ``n`` is the public number of all records, or None. Where a table counts equal records alone, n divides.

    >>> cells = ({"sex": 0}, {"sex": 1})
    >>> values = np.array([[30.0, 70.0], [20.0, 80.0]])
    >>> table = AdditiveTable(cells, (EQUAL, DIFFERENT), values, np.array([3.0, 3.0]), "gaussian")
    >>> shares, joint = counted_cells(table, n=200, census=False, method="gaussian")
    >>> more = joint.row(0) - joint.row(1)
    >>> round(more.estimate, 9), round(more.sampling_error, 4), round(more.privacy_error, 4)
    (0.1, 0.0606, 0.0335)
    """
    column = JointStatisticOfCells(joint_totals_of(table, n=n, census=census), function_of(table.features, n))
    noise_sd = float(table.noise_sd[0])
    if table.features == (COUNT,):
        numbers = counts_with_errors(
            table.column(COUNT), noise_sd=noise_sd, n=n, census=census, noise_law=table.noise_law, method=method
        )
        return numbers, column
    equal = table.column(EQUAL)
    whole = equal + table.column(DIFFERENT) if DIFFERENT in table.features else float(n or 0)
    numbers = proportions_with_errors(
        equal, whole, noise_sd=noise_sd, census=census, noise_law=table.noise_law, method=method
    )
    return numbers, column


def function_of(features: tuple[str, ...], n: int | None) -> Mean | Total:
    """Return what is read from the totals of such a table."""
    return SHARE if EQUAL in features else Total(EVERY).of_records(0.0, math.inf if n is None else float(n))


def joint_totals_of(table: AdditiveTable, *, n: int | None, census: bool) -> JointTotals:
    """Return noisy counts as the totals and products of f, with the noise on them."""
    sd, cells = float(table.noise_sd[0]), len(table.values)
    step = 1.0 / sd if sd else 0.0
    if table.features == (COUNT,):
        none = np.zeros((cells, 0)), np.zeros((cells, 0, 0))
        count, mixing = table.column(COUNT), np.array([[sd]])
        return JointTotals(count, *none, mixing, table.noise_law, n, census=census, noise_step=step)
    equal = table.column(EQUAL)
    if DIFFERENT in table.features:
        different = table.column(DIFFERENT)
        count, mixing = equal + different, sd * np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    else:
        count, mixing = np.full(cells, float(n or 0)), sd * np.array([[0.0], [2.0], [0.0]])
    sums, products = (2.0 * equal - count)[:, None], count[:, None, None]
    return JointTotals(count, sums, products, mixing, table.noise_law, n, census=census, noise_step=step)


def table_of(totals: Floats, features: tuple[str, ...], noise_sd: Floats, law: str) -> AdditiveTable:
    """Return the noisy counts behind totals (N, S): the inverse of `joint_totals_of`."""
    values = totals
    if features != (COUNT,):
        values = np.stack([totals[:, 0] + totals[:, 1], totals[:, 0] - totals[:, 1]], axis=1)[:, : len(features)] / 2.0
    return AdditiveTable(({},) * len(values), features, values, noise_sd, law)
