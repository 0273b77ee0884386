"""A test that two columns are independent, from the noisy counts of a table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.printed import joined, number
from hedgerow.inference.interval import draws_of

Floats = NDArray[np.float64]
N_RESAMPLES = 4_999


@dataclass(frozen=True, slots=True)
class CellNoise:
    """The noise on a number of a table: the law, the variance of one drawn number, and how many are added up."""

    law: str
    variance: float
    added: int = 1

    @property
    def total(self) -> float:
        """The variance of the sum."""
        return self.variance * self.added

    def draw(self, size: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Return independent draws of the sum."""
        draws = draws_of(self.law)
        if draws is None or self.variance == 0.0:
            return rng.normal(0.0, math.sqrt(self.total), size)
        # Of the two-sided geometric law of this variance: q with 2q/(1 − q)² = draws·variance.
        spread = draws * self.variance
        q = (1.0 + spread - math.sqrt(1.0 + 2.0 * spread)) / spread
        many = draws * self.added
        # A sum of geometric numbers is negative binomial.
        drawn = rng.negative_binomial(many, 1.0 - q, size) - rng.negative_binomial(many, 1.0 - q, size)
        return np.asarray(drawn / draws, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class IndependenceTest:
    """The result of a test that two columns are independent.

    Attributes
    ----------
    columns : (str, str)
    statistic : float
        The test statistic Q, which includes the noise. Do not compare Q with the critical values of a χ² distribution.
    pvalue : float
    df : int
        The degrees of freedom (rows − 1)(columns − 1), as for a table without noise.
    expected : float array
        The counts that the noisy totals predict under independence.
    n_resamples : int
    """

    columns: tuple[str, str]
    statistic: float
    pvalue: float
    df: int
    expected: Floats
    n_resamples: int

    def __str__(self) -> str:
        return (
            f"Independence of {joined(self.columns)}: Q = {number(self.statistic, 2)} on {self.df} degrees of freedom, "
            f"p = {self.pvalue:.3g}, by {self.n_resamples:,} tables drawn with the noise of this release."
        )

    def __repr__(self) -> str:
        return f"<IndependenceTest {self}>"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {
            "columns": list(self.columns),
            "statistic": self.statistic,
            "pvalue": self.pvalue,
            "df": self.df,
            "expected": self.expected.tolist(),
            "n_resamples": self.n_resamples,
        }


def independence(
    counts: Floats,
    noise: CellNoise,
    *,
    n: float | None,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator = 0,
    names: tuple[str, str] = ("rows", "columns"),
) -> IndependenceTest:
    """Return the test of a noisy table (rows, columns); `n` is the number of records where it is public.

    >>> independence(np.array([[90.0, 10.0], [10.0, 90.0]]), CellNoise("laplace", 8.0), n=200.0).pvalue < 0.001
    True
    """
    generator = np.random.default_rng(rng)
    q, expected = _statistic(counts[None], noise.total, n)
    size = max(round(n if n is not None else float(counts.sum())), 1)
    cells = expected[0] / max(float(expected[0].sum()), 1e-300)
    shape = (n_resamples, *counts.shape)
    if n is None:
        drawn = generator.poisson(size * cells, shape).astype(np.float64)
    else:
        drawn = (
            generator.multinomial(size, cells.reshape(-1) / cells.sum(), n_resamples).reshape(shape).astype(np.float64)
        )
    simulated, _ = _statistic(drawn + noise.draw(shape, generator), noise.total, n)
    pvalue = (1.0 + float((simulated >= q[0]).sum())) / (1.0 + n_resamples)
    rows, columns = counts.shape
    return IndependenceTest(names, float(q[0]), pvalue, (rows - 1) * (columns - 1), expected[0], n_resamples)


def _statistic(tables: Floats, noise: float, n: float | None) -> tuple[Floats, Floats]:
    """Return Q of each table, and what independence would lead to."""
    rows, columns = (_shares(tables.sum(axis=axis)) for axis in (2, 1))
    whole = np.full(len(tables), n) if n is not None else np.maximum(tables.sum(axis=(1, 2)), 1.0)
    expected = whole[:, None, None] * rows[:, :, None] * columns[:, None, :]
    return np.asarray((np.square(tables - expected) / (expected + max(noise, 1e-9))).sum(axis=(1, 2))), expected


def _shares(totals: Floats) -> Floats:
    """Return totals as shares; one below a half of a record is half of one."""
    positive = np.maximum(totals, 0.5)
    return np.asarray(positive / positive.sum(axis=1, keepdims=True))
