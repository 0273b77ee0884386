"""Histogram resampling against row-by-row resampling: the same law, with sabotages that are caught (n as stated)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hedgerow.noise.secure import SecureNoise
from hedgerow.resampling.histogram import Histogram
from hedgerow.resampling.replicates import multinomial_weights, poisson_replicates, poisson_weights, replicate_sums

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


def test_batches_do_not_change_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same generator, the same numbers, however many replicates are in hand at once."""
    histogram = Histogram.from_triplets(np.zeros(40), np.arange(40), np.full(40, 7), cells=1)
    features = np.arange(40)[:, None]
    whole = poisson_replicates(histogram, features, n_resamples=30, rate=1.0, generator=np.random.default_rng(3))
    monkeypatch.setattr("hedgerow.resampling.replicates._BATCH", 80)
    parts = poisson_replicates(histogram, features, n_resamples=30, rate=1.0, generator=np.random.default_rng(3))
    assert np.array_equal(whole, parts)
