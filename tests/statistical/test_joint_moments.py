"""Functions of joint moments cover and have nearly unbiased standard errors; noise and covariances left out are found.

Runs as stated, seeded, noise drawn on exact moments by `simulations/joint_moments.py`. All settings
are printed by `benchmarks/joint_moments.py`.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.statistical.simulations.joint_moments import Setting, measure, robust_sd, simulate

from hedgerow.inference.joint.estimates import estimate
from hedgerow.inference.joint.functions import MeanOfTotals, ScaledMean, gradient, value_of
from hedgerow.inference.joint.totals import JointTotals, SideBySide

RUNS = 4000
COVERED = [
    Setting("ratio", "heap", 50, 3.0),
    Setting("ratio", "rare", 500, 1.0, "gaussian"),
    Setting("ratio", "skew", 500, 0.1),
    Setting("variance", "rare", 500, 1.0),
    Setting("variance", "bounds", 50, 0.1, "gaussian"),
    Setting("variance", "bounds", 500, 3.0),
    Setting("variance", "lognormal", 500, 3.0),
    Setting("sd", "lognormal", 500, 1.0),
    Setting("covariance", "ties", 500, 1.0, "gaussian"),
    Setting("correlation", "normal", 50, 1.0),
    Setting("correlation", "binary", 500, 3.0),
    Setting("groups", "lognormal", 500, 1.0),
    Setting("groups", "heap", 200, 10.0),
    Setting("groups", "normal", 50, 1.0, "gaussian"),
    Setting("paired", "rare", 500, 3.0),
]


def name(setting: Setting) -> str:
    return f"{setting.statistic} {setting.population} {setting.n} {setting.epsilon:g} {setting.noise}"


def untold(cells: SideBySide) -> SideBySide:
    """The same noisy numbers, read as if they had no noise."""
    return SideBySide(tuple(replace(block, mixing=0.0 * block.mixing) for block in cells.blocks))


@pytest.mark.parametrize("setting", COVERED, ids=name)
def test_intervals_cover(setting: Setting) -> None:
    with np.errstate(all="ignore"):
        covered = round(measure(setting, RUNS).coverage * RUNS)
    assert stats.binom.cdf(covered, RUNS, 0.94) > 1e-6


@pytest.mark.parametrize(
    "setting", [Setting("variance", "rare", 500, 1.0), Setting("paired", "rare", 500, 0.3)], ids=name
)
def test_intervals_without_the_noise_do_not_cover(setting: Setting) -> None:
    made = simulate(setting, RUNS)
    low, high = estimate(made.function, untold(made.noisy)).accepted(0.95)
    covered = int(((low <= made.truth) & (made.truth <= high)).sum())
    assert stats.binom.cdf(covered, RUNS, 0.94) < 1e-12


@pytest.mark.parametrize(
    "setting",
    [
        Setting("ratio", "skew", 500, 1.0),
        Setting("variance", "normal", 500, 1.0),
        Setting("covariance", "skew", 500, 3.0),
        Setting("correlation", "binary", 2000, 1.0),
        Setting("paired", "skew", 500, 3.0),
    ],
    ids=name,
)
def test_intervals_are_as_narrow_as_an_oracle_s_but_for_a_tenth(setting: Setting) -> None:
    """Those that take the noise to be twice what it is are not."""
    made = simulate(setting, 1000)
    oracle = 3.92 * np.sqrt(value_of(made.function, made.exact.totals).var() + made.noise_variance)

    def width(cells: SideBySide) -> float:
        low, high = estimate(made.function, cells).accepted(0.95)
        return float((high - low).mean()) / oracle

    assert width(made.noisy) < 1.1
    wider = SideBySide(tuple(replace(block, mixing=2.0 * block.mixing) for block in made.noisy.blocks))
    assert width(wider) > 1.1


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_the_noise_has_the_variance_that_is_told_and_one_five_per_cent_narrower_is_found(law: str) -> None:
    """20,000 runs of the difference of two means: the noise of a linear function, whose variance is known exactly."""
    setting, runs = Setting("paired", "normal", 500, 0.3, law), 20_000

    def p_value(narrower: float) -> float:
        made = simulate(setting, runs, narrower)
        error = value_of(made.function, made.noisy.totals) - value_of(made.function, made.exact.totals)
        told = float(made.estimates().privacy_error[0] ** 2)
        squares = error**2 / told
        z = (squares.mean() - 1.0) / (squares.std() / np.sqrt(runs))
        return float(2.0 * stats.norm.sf(abs(z)))

    assert p_value(1.0) > 1e-6
    assert p_value(0.95) < 1e-12


@pytest.mark.parametrize(
    ("statistic", "population"),
    [("ratio", "normal"), ("paired", "normal"), ("variance", "lognormal"), ("covariance", "lognormal")],
)
def test_the_sampling_variance_is_unbiased_and_a_forgotten_covariance_is_found(statistic: str, population: str) -> None:
    """The covariance of the features is what counts here: their variances alone are rejected."""
    made = simulate(Setting(statistic, population, 500, 3.0, "gaussian"), RUNS)
    slopes = np.broadcast_to(made.slopes, made.noisy.totals.shape)
    truth = float(np.mean(made.exact.sampling_covariance(slopes, slopes, homogeneous=True)))

    def p_value(cells: SideBySide) -> float:
        found = cells.sampling_covariance(slopes, slopes, homogeneous=True)
        return float(2.0 * stats.norm.sf(abs(found.mean() - truth) / (found.std() / np.sqrt(RUNS))))

    assert p_value(made.noisy) > 1e-6
    forgotten = SideBySide(made.noisy.blocks)
    forgotten.__dict__["sampling"] = made.noisy.sampling * np.eye(made.noisy.totals.shape[1])
    assert p_value(forgotten) < 1e-12


@pytest.mark.parametrize(
    "setting",
    [
        Setting("ratio", "lognormal", 500, 1.0, "gaussian"),
        Setting("variance", "lognormal", 500, 1.0),
        Setting("sd", "normal", 500, 1.0, "gaussian"),
        Setting("correlation", "bounds", 500, 1.0),
        Setting("groups", "lognormal", 500, 1.0),
    ],
    ids=name,
)
def test_standard_errors_are_nearly_unbiased(setting: Setting) -> None:
    """Within 5 % of the robust standard deviation; without the sampling or without the noise part they are not."""
    with np.errstate(all="ignore"):
        result = measure(setting, RUNS)
    assert result.bias_counts
    assert abs(result.bias - 1.0) < 0.05
    estimates = simulate(setting, RUNS).estimates()
    spread = robust_sd(estimates.value)
    assert estimates.privacy_error.mean() < 0.95 * spread
    assert estimates.sampling_error.mean() < 0.95 * spread


def test_slopes_at_the_truth_are_those_of_the_function() -> None:
    made = simulate(Setting("correlation", "normal", 500, 1.0), 10)
    mean = made.exact.totals.mean(axis=0, keepdims=True)
    assert gradient(made.function, mean)[0] == pytest.approx(made.slopes, rel=0.3)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("n", [50, 500])
@pytest.mark.parametrize("rare", [True, False])
def test_means_cover_where_the_noises_of_count_and_total_are_correlated(rare: bool, n: int, law: str) -> None:
    """Add-remove, the Bernstein basis (1 − x)², 2x(1 − x), x² released with noise of scale n/20; 4,000 runs.

    The sabotage is told a third of the noise.
    """
    rng = np.random.default_rng([n, rare])
    x = np.linspace(0.0, 1.0, 11)
    share = np.where(x == 1.0, 0.03, np.where(x == 0.0, 0.97, 0.0)) if rare else np.exp(-3.0 * x)
    share = share / share.sum()
    counts = rng.poisson(n * share, size=(RUNS, len(x)))
    basis = np.stack([(1 - x) ** 2, 2 * x * (1 - x), x**2], axis=1)
    scale = n / 20
    noise = rng.laplace(size=(RUNS, 3)) if law == "laplace" else np.sqrt(2) * rng.standard_normal((RUNS, 3))
    to_moments = np.array([[1.0, 1.0, 1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 1.0]])  # of u = 2x − 1
    moments = (counts @ basis + scale * noise) @ to_moments.T
    mixing = np.sqrt(2.0) * scale * to_moments
    truth = float(share @ x)

    def coverage_p_value(mixing: np.ndarray) -> float:
        totals = JointTotals(
            moments[:, 0].copy(), moments[:, 1:2].copy(), moments[:, 2, None, None].copy(), mixing, law, None, ((1,),)
        )
        low, high = estimate(MeanOfTotals(ScaledMean(1, 0.5, 0.5)), SideBySide((totals,))).accepted(0.95)
        return float(stats.binom.cdf(((low <= truth) & (truth <= high)).sum(), RUNS, 0.94))

    assert coverage_p_value(mixing) > 1e-6
    assert coverage_p_value(mixing / 3.0) < 1e-12
