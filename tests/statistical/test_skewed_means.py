"""Means and sums of rare and skewed values cover with little noise too; read as if they were not skewed, they do not.

4,000 runs a setting with fixed seeds. Truth accepted: the intervals that cover are not fewer than Binomial(runs, .94)
allows at p > 1e-6. The sabotage, the same numbers without the correction for skewness, is rejected at p < 1e-12.
"""

import numpy as np
import pytest
from scipy import stats
from tests.statistical.simulations.skewed_means import Result, Setting, plain, simulate

RUNS = 4000
RARE = ["1 % ones", "1 % halves", "99 % ones", "95 % zeros, exponential"]


def p_value(result: Result) -> float:
    return float(stats.binom.cdf(result.covered, result.runs, 0.94))


@pytest.mark.parametrize("epsilon", [1.0, 3.0, 10.0])
@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("statistic", ["mean", "sum"])
def test_one_per_cent_of_ones_is_covered(statistic: str, relation: str, n: int, epsilon: float) -> None:
    assert p_value(simulate(Setting("1 % ones", relation, n, epsilon, 0.0, statistic), RUNS)) > 1e-6


@pytest.mark.parametrize("law", [*RARE, "lognormal, s = 2, clipped", "beta(.1, 2)", "half ones", "normal(.45, .15)"])
def test_skewed_values_are_covered_with_hardly_any_noise(law: str) -> None:
    assert p_value(simulate(Setting(law, "replace-one", 200, 10.0, 0.0), RUNS)) > 1e-6


@pytest.mark.parametrize("law", RARE)
def test_reading_them_as_if_they_were_not_skewed_is_found_out(law: str) -> None:
    assert p_value(simulate(Setting(law, "replace-one", 200, 10.0, 0.0), RUNS, plain)) < 1e-12


@pytest.mark.parametrize("law", ["normal(.45, .15)", "half ones", "beta(.5, 5)"])
def test_values_that_are_not_rare_pay_little_for_it(law: str) -> None:
    setting = Setting(law, "replace-one", 1000, 1.0, 1e-6)
    assert simulate(setting, 500).width < 1.02 * simulate(setting, 500, plain).width


def test_the_ends_of_what_skewness_can_be_are_attained() -> None:
    """Two values, one of them a bound, have the largest skewness; a random law lies between the ends."""
    from hedgerow.inference.score_test import skewness_range

    rng = np.random.default_rng(1)
    for _ in range(200):
        values, weights = np.append(rng.random(4), [0.0, 1.0]), rng.dirichlet(np.full(6, 0.3))
        mean = float(weights @ values)
        variance, third = (float(weights @ (values - mean) ** power) for power in (2, 3))
        middle, half = skewness_range(np.array([mean]), np.array([variance]), 0.0, 1.0)
        assert abs(third / variance - middle[0]) <= half[0] + 1e-9
        low = mean - variance / (1.0 - mean)  # and 1, with probabilities that give this mean and variance
        share = (mean - low) / (1.0 - low)
        attained = ((1 - share) * (low - mean) ** 3 + share * (1 - mean) ** 3) / variance
        assert attained == pytest.approx(middle[0] + half[0], rel=1e-6, abs=1e-9)
