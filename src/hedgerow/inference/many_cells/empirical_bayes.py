"""Empirical Bayes estimates of many cells: each is drawn towards what the cells have in common.

The estimate y_i of cell i has the known variance v_i, sampling and noise together, about its own truth θ_i. The truths
lie about a line x_i'β with an unknown variance A. With the weights w_i = 1/(v_i + A) let f_i be the fitted line, h_i
the leverage of cell i, and

    l(log A) = log A + ½ Σ log w_i − ½ log det(X'WX) − ½ Σ w_i (y_i − f_i)².

Â is the largest point of l, and τ² = −1/l'' there. The first term keeps Â above 0: it stands for a flat prior of A in
the scale of a beta law of B (adjustment for density maximisation, Morris and Tang 2011). Then

    B_i = v_i/(v_i + Â),      θ̂_i = (1 − B_i) y_i + B_i f_i,
    s_i² = v_i (1 − (1 − h_i) B_i) + (B_i (1 − B_i) τ)² (y_i − f_i)².

θ̂_i ± z s_i holds its truth in the stated share of the cells, *on average over all cells* (Morris 1983). Of a single
cell far from the line it holds the truth less often: this is the price of a smaller mean squared error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_POINTS, _LOW, _HIGH = 200, 1e-4, 10.0  # of log A, from and to these times a variance
LEAST_SPARE = 3
"""How many more cells there must be than columns of the line."""


@dataclass(frozen=True, slots=True, eq=False)
class ShrunkNumbers:
    """Numbers drawn towards a line.

    Attributes
    ----------
    value, standard_error : float array, (cells,)
    shrinkage : float array, (cells,)
        B_i: 0 leaves a number as it is, 1 puts it on the line.
    line : float array, (cells,)
        f_i.
    spread : float
        √Â, the standard deviation of the truths about the line.
    """

    value: Floats
    standard_error: Floats
    shrinkage: Floats
    line: Floats
    spread: float


def shrunk(values: Floats, variances: Floats, columns: Floats) -> ShrunkNumbers:
    """Return the estimates of cells with these variances, drawn towards a line in these columns (cells, r).

    >>> numbers = shrunk(np.array([1.0, 2.0, 3.0, 4.0, 10.0]), np.ones(5), np.ones((5, 1)))
    >>> numbers.value.round(2).tolist(), round(numbers.spread, 2)
    ([1.12, 2.08, 3.04, 4.0, 9.77], 5.01)
    """
    # Equal numbers leave only the scale of their own errors.
    largest = max(float(np.var(values)), float(variances.max()))
    logs = np.linspace(math.log(_LOW * float(variances.min())), math.log(_HIGH * largest), _POINTS)
    heights = np.array([_log_density(log, values, variances, columns) for log in logs])
    top, step = int(np.clip(np.argmax(heights), 1, _POINTS - 2)), float(logs[1] - logs[0])
    before, here, after = heights[top - 1 : top + 2].tolist()
    bend = (before - 2.0 * here + after) / step**2
    # A parabola through three points; at an end of the range the end itself.
    log = float(logs[top]) - ((after - before) / (2.0 * step) / bend if bend < 0.0 else 0.0)
    spread = math.exp(log)
    line, leverage, _ = _line(values, 1.0 / (variances + spread), columns)
    share = variances / (variances + spread)
    doubt = np.square(share * (1.0 - share)) / max(-bend, 1e-6)
    error = np.sqrt(variances * (1.0 - (1.0 - leverage) * share) + doubt * np.square(values - line))
    return ShrunkNumbers((1.0 - share) * values + share * line, error, share, line, math.sqrt(spread))


def _log_density(log: float, values: Floats, variances: Floats, columns: Floats) -> float:
    """Return l at a log A."""
    weights = 1.0 / (variances + math.exp(log))
    line, _, information = _line(values, weights, columns)
    lost = float(np.linalg.slogdet(information)[1]) / 2.0
    return log + float(np.log(weights).sum() - (weights * np.square(values - line)).sum()) / 2.0 - lost


def _line(values: Floats, weights: Floats, columns: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the fitted line of a weighted regression, the leverage of each cell, and X'WX."""
    information = columns.T @ (weights[:, None] * columns)
    inverse = np.linalg.inv(information)
    fitted = columns @ (inverse @ (columns.T @ (weights * values)))
    return fitted, weights * np.einsum("ij,jk,ik->i", columns, inverse, columns), information
