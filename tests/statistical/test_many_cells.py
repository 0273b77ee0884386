"""Few false discoveries in tables of which nothing, or a part, differs; shrinkage is better, and covers on average."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from hedgerow.inference.many_cells.empirical_bayes import shrunk
from hedgerow.inference.many_cells.multiple_tests import adjusted

Floats = NDArray[np.float64]
RUNS, CELLS = 1000, 40
ACCEPTED, REJECTED = 1e-6, 1e-12


def false_shares(share: float, method: str, *, noise: float, counted: bool) -> Floats:
    """The share of false calls among the calls of each table: `share` of its cells differ by 4 errors, noise in all."""
    rng = np.random.default_rng([3, int(100 * share), int(10 * noise)])
    differs = np.arange(CELLS) < share * CELLS
    told = np.sqrt(1.0 + noise**2 * counted)
    values = rng.normal(0.0, 1.0, (RUNS, CELLS)) + noise * rng.normal(0.0, 1.0, (RUNS, CELLS))
    values += np.where(differs, 4.0 * told, 0.0)
    called = np.array([adjusted(2.0 * stats.norm.sf(np.abs(row) / told), method) <= 0.05 for row in values])  # type: ignore[arg-type]  # one of the names
    return np.asarray((called & ~differs).sum(axis=1) / np.maximum(called.sum(axis=1), 1))


@pytest.mark.parametrize("method", ["benjamini-yekutieli", "bonferroni", "holm"])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_false_discoveries_are_rare(share: float, method: str) -> None:
    found = false_shares(share, method, noise=1.5, counted=True)
    # In a table of nulls a share is 0 or 1.
    assert stats.ttest_1samp(found + 1e-12 * np.arange(RUNS), 0.05, alternative="greater").pvalue > ACCEPTED
    forgotten = false_shares(share, method, noise=1.5, counted=False)
    assert stats.ttest_1samp(forgotten, 0.05, alternative="greater").pvalue < REJECTED


@pytest.mark.parametrize("spread", [0.0, 0.5, 1.0, 3.0])
def test_shrinkage_has_less_error_and_covers_on_average(spread: float) -> None:
    rng = np.random.default_rng([4, int(10 * spread)])
    raw, drawn_errors, hits, naive = [], [], 0, 0
    for _ in range(300):
        variances = rng.uniform(0.3, 3.0, 20)
        truth = spread * rng.normal(size=20)
        values = truth + np.sqrt(variances) * rng.normal(size=20)
        numbers = shrunk(values, variances, np.ones((20, 1)))
        raw.append(np.mean((values - truth) ** 2))
        drawn_errors.append(np.mean((numbers.value - truth) ** 2))
        hits += int((np.abs(numbers.value - truth) <= 1.96 * numbers.standard_error).sum())
        # The sabotage: an error that does not know that the spread of the truths is estimated, of half the variance.
        wrong = replace(numbers, standard_error=np.sqrt(variances * (1.0 - numbers.shrinkage) / 2.0))
        naive += int((np.abs(wrong.value - truth) <= 1.96 * wrong.standard_error).sum())
    assert np.mean(drawn_errors) < np.mean(raw)
    assert stats.binomtest(hits, 6000, 0.94, alternative="less").pvalue > ACCEPTED
    if spread:
        assert stats.binomtest(naive, 6000, 0.94, alternative="less").pvalue < REJECTED
