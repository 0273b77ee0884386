"""Histogram resampling against row-by-row resampling: the same law, with sabotages that are caught (n as stated)."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hedgerow.noise import secure
from hedgerow.noise.secure import SecureNoise
from hedgerow.resampling import replicates
from hedgerow.resampling.counted_values import Histogram
from hedgerow.resampling.replicates import (
    capped_weights,
    multinomial_weights,
    poisson_replicates,
    poisson_weights,
    replicate_sums,
)

ACCEPT, REJECT = 1e-6, 1e-12
RNG = np.random.default_rng(20261120)


@pytest.mark.parametrize("rate", [0.3, 1.0, 2.5])
def test_weights_of_single_records_are_poisson(rate: float) -> None:
    """200,000 weights from the secure generator; a rate 5 % off is rejected."""
    weights = poisson_weights(np.ones(2000, np.int64), rate=rate, n_resamples=100, generator=SecureNoise().generator())

    def p_value(claimed: float) -> float:
        top = int(stats.poisson.isf(50 / weights.size, claimed))
        observed = np.bincount(np.minimum(weights.ravel(), top), minlength=top + 1)
        expected = stats.poisson.pmf(np.arange(top + 1), claimed)
        expected[-1] = stats.poisson.sf(top - 1, claimed)
        return float(stats.chisquare(observed, expected / expected.sum() * weights.size).pvalue)

    assert p_value(rate) > ACCEPT
    assert p_value(rate * 1.05) < REJECT


@given(
    count=st.lists(st.integers(0, 2**24), max_size=30),
    rate=st.floats(0.1, 5.0),
    k=st.sampled_from([1, 30, 1000, 10**6]),
)
@settings(max_examples=60, deadline=None)
def test_means_of_a_row_add_up_to_its_count(count: list[int], rate: float, k: int) -> None:
    """However counts are split, by what there is to draw, and none is beyond what can be drawn."""
    found = np.zeros(len(count), dtype=np.int64)
    for units, rows in replicates._means(np.array(count, dtype=np.int64), rate, k):
        assert 0 < rate * units <= secure.LARGEST_MEAN and (np.diff(rows) > 0).all()
        found[rows] += units
    assert found.tolist() == count


@pytest.mark.parametrize(("spread", "k"), [(40, 40_000), (40, 400)])
def test_weights_of_many_records_are_poisson_and_each_row_has_its_own(spread: int, k: int) -> None:
    """Counts about 1,500, in one draw or by their digits: squares and products of standardised weights, by χ².

    A weight 5 % off, one weight for two rows of one count, and a digit that is left out are rejected.
    """
    rng = np.random.default_rng(5)
    count = np.concatenate([rng.integers(1500, 1500 + spread, 60), [1510, 1510], [0, 5_000_000]])
    weights = poisson_weights(count, rate=1.0, n_resamples=k, generator=SecureNoise().generator())
    assert weights.shape == (k, 64) and (weights[:, 62] == 0).all()

    def p_value(drawn: np.ndarray) -> float:
        some = np.delete(drawn, 62, axis=1)
        z = (some - np.delete(count, 62)) / np.sqrt(np.delete(count, 62))
        products = [z[:, i] * z[:, i + 1] for i in range(62)]
        n = len(drawn)
        tests = [np.sum(z.sum(axis=0) ** 2) / n, *[p.sum() ** 2 / n for p in products]]
        spread = (z**2).sum(axis=0)
        worst = min(2 * min(stats.chi2.sf(one, n), stats.chi2.cdf(one, n)) for one in spread)
        return 63 * float(min(worst, stats.chi2.sf(tests[0], 63), stats.chi2.sf(max(tests[1:]), 1)))

    assert p_value(weights) > ACCEPT
    fewer, shared, low = weights.copy(), weights.copy(), weights.copy()
    fewer[:, :60] = np.rint(0.95 * weights[:, :60])
    shared[:, 61] = shared[:, 60]
    low[:, :60] -= count[:60] & 7
    assert max(p_value(fewer), p_value(shared), p_value(low)) < REJECT


def test_a_row_of_as_many_records_as_there_are_anywhere() -> None:
    """10⁹ records of one value and 7 of another; the sums pass 2⁵³ and stay whole."""
    histogram = Histogram.from_triplets(np.zeros(2), np.array([0, 1]), np.array([10**9, 7]), cells=1)
    features, rng = np.array([[1], [2**30 + 1]]), np.random.default_rng(6)
    drawn = poisson_replicates(histogram, np.array([[1], [0]]), n_resamples=400, rate=1.0, generator=rng)[0, 0]
    z = (drawn - 1e9) / np.sqrt(1e9)
    assert abs(z.mean()) < 6 / 20 and 0.7 < z.std() < 1.3
    wide = poisson_replicates(histogram, (2**23) * features, n_resamples=20, rate=1.0, generator=rng)[0, 0]
    assert all(int(one) % 2**23 == 0 and abs(int(one) - 2**53) < 2**60 for one in wide)


def test_memory_does_not_grow_with_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million weights of 20,000 rows, and of 10⁶ records of few copies, with 2¹⁴ in hand."""
    monkeypatch.setattr(replicates, "_BATCH", 1 << 14)
    rng = np.random.default_rng(7)
    histogram = Histogram.from_triplets(np.zeros(20_000), np.arange(20_000), rng.integers(1, 90, 20_000), cells=1)
    tracemalloc.start()
    poisson_replicates(histogram, np.ones((20_000, 1), np.int64), n_resamples=50, rate=1.0, generator=rng)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 4e6
    tracemalloc.start()
    capped_weights(np.array([10**7]), chances=np.array([0.5, 0.5]), n_resamples=50, generator=rng)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1e6


def row_by_row(values: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    return rng.poisson(1.0, (k, len(values))) @ values


def test_a_replicate_of_a_histogram_has_the_law_of_resampled_rows() -> None:
    """20,000 replicates of 300 records on 12 values: two-sample KS; one weight a value (not a record) is rejected."""
    values = RNG.integers(0, 12, 300)
    index, count = np.unique(values, return_counts=True)
    histogram = Histogram.from_triplets(np.zeros(len(index)), index, count, cells=1)
    features = (2 * index - 11)[:, None]
    k = 20_000
    by_histogram = poisson_replicates(histogram, features, n_resamples=k, rate=1.0, generator=RNG)[0, 0]
    by_rows = row_by_row(2 * values - 11, k, RNG)
    # A jitter of one grid step's width makes ties harmless to the Kolmogorov-Smirnov statistic.
    jitter = RNG.uniform(-1, 1, (3, k))
    assert stats.ks_2samp(by_histogram + jitter[0], by_rows + jitter[1]).pvalue > ACCEPT
    sabotaged = (RNG.poisson(1.0, (k, len(index))) * count) @ features[:, 0]
    assert stats.ks_2samp(sabotaged + jitter[2], by_rows + jitter[1]).pvalue < REJECT


def test_features_of_a_record_share_its_weight() -> None:
    """Σ r·y and Σ r are dependent as one set of weights makes them; weights drawn anew for each are caught."""
    histogram = Histogram.from_triplets(np.zeros(1), np.array([0]), np.array([400]), cells=1)
    shared = poisson_replicates(histogram, np.array([[3, 1]]), n_resamples=500, rate=1.0, generator=RNG)[0]
    assert np.array_equal(shared[0], 3 * shared[1])
    anew = [
        poisson_replicates(histogram, np.array([[y]]), n_resamples=500, rate=1.0, generator=RNG)[0, 0] for y in (3, 1)
    ]
    assert not np.array_equal(anew[0], 3 * anew[1])


def test_replicates_do_not_share_weights() -> None:
    """Serial correlation over 50,000 replicates; reusing each weight twice is rejected."""
    histogram = Histogram.from_triplets(np.zeros(1), np.array([0]), np.array([50]), cells=1)
    drawn = poisson_replicates(histogram, np.array([[1]]), n_resamples=50_000, rate=1.0, generator=RNG)[0, 0]
    bound = stats.norm.isf(ACCEPT / 2) / np.sqrt(len(drawn))
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < bound
    reused = np.repeat(drawn[:25_000], 2)
    assert abs(np.corrcoef(reused[:-1], reused[1:])[0, 1]) > stats.norm.isf(REJECT / 2) / np.sqrt(len(drawn))


def test_multinomial_weights_fix_the_size_of_a_resample() -> None:
    weights = multinomial_weights(np.array([5, 0, 95]), n_resamples=1000, generator=RNG)
    assert np.all(weights.sum(axis=1) == 100) and np.all(weights[:, 1] == 0)
    assert abs(weights[:, 0].mean() - 5) < 6 * np.sqrt(4.75 / 1000)
    assert multinomial_weights(np.array([0]), n_resamples=3, generator=RNG).sum() == 0


@given(
    cell=st.lists(st.integers(0, 3), min_size=0, max_size=12),
    reach=st.sampled_from([3, 2**20, 2**45]),
    k=st.integers(1, 9),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=80, deadline=None)
def test_sums_equal_brute_force_in_exact_integers(cell: list[int], reach: int, k: int, seed: int) -> None:
    """Any cells, empty ones too; reaches beyond 2^53 take the exact path and still agree."""
    rng = np.random.default_rng(seed)
    cells = np.array(sorted(cell), dtype=np.int64)
    index = np.arange(len(cells))
    histogram = Histogram.from_triplets(cells, index, rng.integers(1, 500, len(cells)), cells=4)
    features = rng.integers(-reach, reach + 1, (len(histogram.count), 2))
    weights = rng.poisson(histogram.count, (k, len(histogram.count)))
    drawn = iter(weights)

    def draw(count: np.ndarray, size: int) -> np.ndarray:
        return np.array([next(drawn) for _ in range(size)]).reshape(size, len(count))

    sums = replicate_sums(histogram, features, n_resamples=k, draw=draw)
    for c in range(4):
        for b in range(k):
            inside = histogram.cell == c
            for f in range(2):
                terms = zip(weights[b][inside].tolist(), features[inside, f].tolist(), strict=True)
                assert int(sums[c, f, b]) == sum(w * y for w, y in terms)


def test_every_row_counts_once_in_every_replicate(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few weights are in hand at once, and in any cell: weights as expected give the sums of the data."""

    class Expected(np.random.Generator):
        def poisson(self, lam: Any = 1.0, size: Any = None) -> Any:
            return np.full(size, round(lam), dtype=np.int64)

    rng = np.random.default_rng(3)
    histogram = Histogram.from_triplets(rng.integers(0, 5, 40), np.arange(40), rng.integers(1, 4000, 40), cells=6)
    features = rng.integers(-9, 9, (40, 2))
    expected = [[int((histogram.count * (histogram.cell == c)) @ f) for f in features.T] for c in range(6)]
    for batch in (1 << 22, 80, 1):
        monkeypatch.setattr(replicates, "_BATCH", batch)
        sums = poisson_replicates(histogram, features, n_resamples=30, rate=1.0, generator=Expected(np.random.PCG64()))
        assert (sums == np.array(expected)[:, :, None]).all()
