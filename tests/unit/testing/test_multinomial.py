"""The simulated multinomial bootstrap: the same law as resampling row by row, and the published estimates of it."""

import numpy as np
import pytest
from reproduction.brawner_honaker.study import Law, simulated_means
from reproduction.brawner_honaker.theory import (
    attained_epsilon,
    bootstrap_epsilon,
    claimed_epsilon,
    partition_variance,
    pooling_weights,
    published_intervals,
)
from scipy import stats

from hedgerow.errors import ParameterError
from hedgerow.inference.bootstrap.replicate_summary import brawner_honaker_total_variance, chi_square_share
from hedgerow.testing.published import MultinomialBootstrap, multinomial_replicates

VALUES, COUNTS = np.array([0.0, 1.0, 4.0]), np.array([5, 3, 2])


def test_replicates_have_the_law_of_rows_drawn_with_replacement() -> None:
    runs = 20_000
    tiny = MultinomialBootstrap(10, 0.0, 4.0, runs, 1e-9)
    found = np.rint(10 * multinomial_replicates(tiny, VALUES, COUNTS, rng=3)[0]).astype(int)
    rng = np.random.default_rng(4)
    rows = np.repeat(VALUES, COUNTS)
    drawn = np.rint(rng.choice(rows, (runs, 10)).sum(axis=1)).astype(int)
    poisson = np.rint(rng.poisson(COUNTS, (runs, 3)) @ VALUES).astype(int)  # sabotage: the other weights

    def p_value(other: np.ndarray) -> float:
        cut = np.minimum(np.stack([found, other]), 24)
        table = np.stack([np.bincount(row, minlength=25) for row in cut])
        return float(stats.chi2_contingency(table[:, table.sum(axis=0) > 10]).pvalue)

    assert p_value(drawn) > 1e-6
    assert p_value(poisson) < 1e-12


def test_noise_is_added_to_each_replicate() -> None:
    published = MultinomialBootstrap.as_published(0.5, n=10, bounds=(0, 4), n_resamples=20_000)
    constant = multinomial_replicates(published, [2.0], [10], rng=5)[0]
    assert stats.kstest(constant, stats.norm(2.0, published.noise_sd).cdf).pvalue > 1e-6
    assert stats.kstest(constant, stats.norm(2.0, 0.7 * published.noise_sd).cdf).pvalue < 1e-12


def test_values_are_clamped_and_sizes_checked() -> None:
    tiny = MultinomialBootstrap(2, 0.0, 1.0, 3, 1e-9)
    assert multinomial_replicates(tiny, [9.0], [2], rng=1) == pytest.approx(np.ones((1, 3)), abs=1e-6)
    with pytest.raises(ParameterError, match="HG101"):
        multinomial_replicates(tiny, [0.5], [3], rng=1)


def test_published_intervals_are_the_printed_formulae() -> None:
    replicates = np.random.default_rng(6).normal(1.0, 1.5, (4, 50))
    found = published_intervals(replicates, noise_variance=2.0)
    for name, share in (
        ("unbiased", 1.0),
        ("conservative", chi_square_share(50, alpha=0.05)),
        ("most conservative", 0.0),
    ):
        for row, values in enumerate(replicates):
            by_hand = brawner_honaker_total_variance(
                float(values.var(ddof=1)), noise_variance=2.0, n_resamples=50, noise_share=share
            )
            assert found[name].total_variance[row] == pytest.approx(by_hand, rel=1e-12)


def test_a_negative_variance_is_an_interval_of_width_0() -> None:
    one = published_intervals([[1.0, 1.0, 1.0]], noise_variance=1.0)["unbiased"]
    assert one.standard_error.tolist() == [0.0]
    assert one.z_score(0.0).tolist() == [np.inf]
    assert one.covers(1.0).tolist() == [True] and one.covers(1.1).tolist() == [False]


def test_pooling_weights_give_the_least_variance() -> None:
    epsilons = np.array([0.5, 1.0, 2.0])

    def variance(weights: np.ndarray) -> float:
        return float((weights**2 * 2 / epsilons**2).sum())

    printed = epsilons**-2 / (epsilons**-2).sum()  # eq. 6 as it stands in the paper
    assert variance(pooling_weights(epsilons)) < variance(np.full(3, 1 / 3)) < variance(printed)


def test_partition_variance_names_the_three_compositions() -> None:
    found = {name: partition_variance(10, composition=name, delta=1e-6) for name in ("basic", "advanced", "zcdp")}
    assert found == {"basic": 10.0, "advanced": pytest.approx(13.8155, abs=1e-3), "zcdp": 1.0}


def test_what_is_claimed_lies_below_what_is_attained() -> None:
    for k in (1, 5, 50, 1000):
        assert claimed_epsilon(0.5, delta=1e-6) < attained_epsilon(0.5, n_resamples=k, delta=1e-6)
    assert bootstrap_epsilon(0.5, n_resamples=20, delta=1e-6) < claimed_epsilon(0.5, delta=1e-6)


def test_a_study_draws_fresh_samples_of_its_law() -> None:
    law = Law("skewed", np.array([0.7, 0.2, 0.1, 0.0, 0.0]))
    n, runs = 400, 1500
    drawn = np.array([one.estimate for one in simulated_means(law, n=n, runs=runs, rng=7, epsilon=50.0)])
    spread = float(np.var(drawn, ddof=1) / (law.variance / n))
    chi_square = spread * (runs - 1)
    assert stats.ttest_1samp(drawn, law.mean).pvalue > 1e-6
    assert stats.ttest_1samp(drawn, law.mean + 0.01).pvalue < 1e-12
    # hardly any noise at ε = 50, so what varies is the sample; one sample reused would leave nothing
    assert 1e-6 < stats.chi2.cdf(chi_square, runs - 1) < 1 - 1e-6
    assert stats.chi2.cdf(0.1 * chi_square, runs - 1) < 1e-12
