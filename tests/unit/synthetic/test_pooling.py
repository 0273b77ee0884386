"""`pool`: intervals hold where the answer is known, those of files of one fit do not, and fits of libraries pool."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy.stats import binom
from scipy.stats import t as student
from sklearn.linear_model import LinearRegression
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.errors import ParameterError
from hedgerow.synthetic.pooling import PooledEstimate

Floats = NDArray[np.float64]
RUNS, FILES = 1500, 20
NOISE, U = 1.5, 1.0  # the noise of the release; the variance of a mean of the rows of a file


def ends(one: PooledEstimate) -> tuple[float, float]:
    low, high = one.confidence_interval(0.95)
    return low, high


def of_standard_error(one: PooledEstimate) -> tuple[float, float]:
    """Return the Student interval of the standard error: no longer side."""
    half = float(student.ppf(0.975, one.df)) * one.standard_error
    return one.estimate - half, one.estimate + half


def of_root_t(one: PooledEstimate) -> tuple[float, float]:
    """Return the Student interval of √T: the bias adds nothing."""
    assert one.bias is not None and one.bias_error is not None
    root = math.sqrt(one.standard_error**2 - max(one.bias**2 - one.bias_error**2, 0.0))
    half = float(student.ppf(0.975, one.df)) * root
    return one.estimate - half, one.estimate + half


def pooled_runs(
    files_of: Callable[[np.random.Generator, Floats], Floats],
    *,
    centre: bool = False,
    bias: float = 0.0,
    interval: Callable[[PooledEstimate], tuple[float, float]] = ends,
) -> tuple[int, Floats]:
    """Return how often intervals of a mean hold the truth 0, and their widths.

    A release is the mean of a sample, of variance U, with noise: its law is normal, and so is that of each file. The
    estimate of a fit has a bias.
    """
    rng = np.random.default_rng(20261125)
    fits = rng.normal(bias, np.sqrt(U + NOISE**2), RUNS)
    middles = [*rng.normal(fits, np.sqrt(U), (FILES, RUNS))] if centre else None
    pooled = hg.pool([*files_of(rng, fits)], [np.full(RUNS, U)] * FILES, centre=middles)
    low, high = np.array([interval(one) for one in pooled]).T
    return int(((low <= 0.0) & (high >= 0.0)).sum()), high - low


def re_released(rng: np.random.Generator, fits: Floats) -> Floats:
    refits = rng.normal(fits, np.sqrt(U + NOISE**2), (FILES, RUNS))
    return np.asarray(rng.normal(refits, np.sqrt(U)))


BIAS = 1.5 * float(np.sqrt(U + NOISE**2))


def re_released_with_bias(part: float) -> Callable[[np.random.Generator, Floats], Floats]:
    """Return the estimates of files whose refits have a part of the bias of the fit."""
    return lambda rng, fits: re_released(rng, fits + part * BIAS)


def of_one_fit(rng: np.random.Generator, fits: Floats) -> Floats:
    return rng.normal(fits, np.sqrt(U), (FILES, RUNS))


@pytest.mark.parametrize("centre", [False, True])
def test_intervals_hold_the_truth_and_are_not_too_wide(centre: bool) -> None:
    held, widths = pooled_runs(re_released, centre=centre)
    assert binom.cdf(held, RUNS, 0.95) > 1e-6
    exact = 2 * 1.959964 * np.sqrt(U + NOISE**2)
    assert np.median(widths) < 1.25 * exact


def test_files_of_one_fit_are_found_out() -> None:
    """The sabotage: no re-release, so that the files do not vary as the release does."""
    held, _ = pooled_runs(of_one_fit)
    assert binom.cdf(held, RUNS, 0.95) < 1e-12


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("part", "sabotage"), [(1.0, of_root_t), (0.5, of_standard_error)])
def test_intervals_hold_where_a_refit_has_half_of_the_bias_or_all(
    part: float, sabotage: Callable[[PooledEstimate], tuple[float, float]], sign: float
) -> None:
    """The sabotages: the bias adds nothing, or it adds to the standard error alone."""
    files = re_released_with_bias(sign * part)
    held, _ = pooled_runs(files, centre=True, bias=sign * BIAS)
    assert binom.cdf(held, RUNS, 0.95) > 1e-6
    sabotaged, _ = pooled_runs(files, centre=True, bias=sign * BIAS, interval=sabotage)
    assert binom.cdf(sabotaged, RUNS, 0.95) < 1e-12


def test_the_formulas_are_those_of_the_paper() -> None:
    estimates, variances = [1.0, 4.0, 3.0, 7.0], [0.5, 1.0, 1.5, 1.0]
    (one,) = hg.pool(estimates, variances)
    between = float(np.var(estimates, ddof=1))
    total = 1.25 * between - 1.0
    assert one.estimate == np.mean(estimates) and one.standard_error == pytest.approx(np.sqrt(total))
    assert one.df == pytest.approx(max(2.0, 3 * (1 - 1.0 / (1.25 * between)) ** 2)) and not one.replaced
    # A bias that may be chance adds nothing to the standard error. The interval is longer by twice the bias.
    (middle,) = hg.pool(estimates, variances, centre=[2.0, 3.0])
    assert middle.estimate == 2.5 and middle.standard_error == pytest.approx(np.sqrt(between - 1.0 + 0.5))
    low, high = ends(middle)
    assert 2.5 - low == pytest.approx(high - 2.5 + 2 * 1.25)
    assert middle.bias == pytest.approx(1.25) and middle.bias_error == pytest.approx(np.sqrt(between / 4 + 0.5))
    # Of a larger bias the part of the square is added that is more than chance.
    (leaning,) = hg.pool(estimates, variances, centre=[0.0, -2.0])
    total, squared = between - 1.0 + 0.5, 4.75**2 - between / 4 - 0.5
    assert leaning.estimate == -1.0 and leaning.bias == pytest.approx(4.75)
    assert leaning.standard_error == pytest.approx(np.sqrt(total + squared))
    assert leaning.df == pytest.approx(max(2.0, 3 * (total / between) ** 2))
    half, longer = of_standard_error(leaning)[1] + 1.0, student.ppf(0.975, leaning.df) * total**0.5 + 2 * 4.75
    assert ends(leaning) == pytest.approx((-1.0 - max(longer, half), -1.0 + half))
    (other,) = hg.pool([-number for number in estimates], variances, centre=[0.0, 2.0])
    assert ends(other) == pytest.approx((1.0 - half, 1.0 + max(longer, half)))
    assert leaning.least_bias == pytest.approx(0.25 + 1.645 * np.sqrt((between / 4 + 0.5) / total))


def test_a_variance_of_zero_or_less_is_replaced_and_said() -> None:
    pooled = hg.pool([1.0, 1.1, 0.9], [0.5, 0.5, 0.5])
    assert pooled[0].replaced and pooled[0].standard_error == pytest.approx(np.sqrt(0.5)) and pooled[0].df == 2
    assert "replaces T" in pooled.summary()


def test_a_bias_is_flagged_and_the_absence_of_one_is_not() -> None:
    rng = np.random.default_rng(3)
    files, middle = rng.normal(0.0, 1.0, 200), rng.normal(0.0, 0.7, 200)
    assert not hg.pool(files, [0.5] * 200, centre=middle)[0].flagged
    leaning = hg.pool(files + 1.0, [0.5] * 200, centre=middle)
    assert leaning[0].flagged and "lean to one side" in leaning.summary()


def test_fits_of_statsmodels_and_scikit_learn_are_pooled_by_name() -> None:
    rng = np.random.default_rng(5)
    fits, plain, machine = [], [], []
    for _ in range(6):
        x = rng.normal(size=200)
        y = 1.0 + 2.0 * x + rng.normal(size=200)
        frame = pd.DataFrame({"const": 1.0, "x": x})
        fits.append(sm.OLS(pd.Series(y), frame).fit())
        plain.append(sm.OLS(y, frame.to_numpy()).fit())
        machine.append(LinearRegression().fit(frame[["x"]], y))
    pooled = hg.pool(fits)
    assert [one.name for one in pooled] == ["const", "x"]
    assert pooled["x"].estimate == pytest.approx(np.mean([fit.params["x"] for fit in fits]))
    assert hg.pool(plain).standard_error == pytest.approx(pooled.standard_error)
    learnt = hg.pool(machine, [{"x": fit.bse["x"] ** 2, "Intercept": fit.bse["const"] ** 2} for fit in fits])
    assert learnt["x"].standard_error == pytest.approx(pooled["x"].standard_error)
    assert learnt["Intercept"].estimate == pytest.approx(pooled["const"].estimate)
    assert list(pooled.to_frame("pandas")["name"]) == ["const", "x"]
    alike = SimpleNamespace(params={"a": 1.0}, bse={"a": 0.1})
    assert hg.pool([alike, SimpleNamespace(params={"a": 2.0}, bse={"a": 0.1})])["a"].estimate == 1.5


@pytest.mark.parametrize(
    ("estimates", "options"),
    [
        ([1.0], {"variances": [1.0]}),
        ([1.0, 2.0], {}),
        ([1.0, 2.0], {"variances": [1.0]}),
        ([1.0, float("nan")], {"variances": [1.0, 1.0]}),
        ([1.0, 2.0], {"variances": [1.0, -1.0]}),
        ([1.0, 2.0], {"variances": [1.0, 1.0], "centre": []}),
        ([{"a": 1.0}, {"b": 1.0}], {"variances": [{"a": 1.0}, {"a": 1.0}]}),
        (["a", "b"], {"variances": [1.0, 1.0]}),
        (3, {"variances": [1]}),
        ([1.0, 2.0], {"variances": 1.0}),
        ([1.0, 2.0], {"variances": [1.0, 1.0], "centre": 1.0}),
    ],
)
def test_what_does_not_fit_is_refused(estimates: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError) as refusal:
        hg.pool(estimates, **options)
    assert refusal.value.code == "HG250"


def test_the_command_pools_a_table_of_results(tmp_path: Path) -> None:
    lines = ["file,question,estimate,standard_error"]
    for name, slope in (("01", 0.3), ("02", 0.5), ("03", 0.1), ("centre_1", 0.25)):
        lines += [f"{name},slope,{slope},0.1", f"{name},share,{slope / 2},0.05"]
    (tmp_path / "results.csv").write_text("\n".join(lines), encoding="utf-8")
    done = CliRunner().invoke(app, shlex.split(f"pool '{tmp_path / 'results.csv'}' --json"))
    told = json.loads(done.stdout)["pooled"]
    slopes = hg.pool([0.3, 0.5, 0.1], [0.01] * 3, centre=[0.25])
    assert [one["name"] for one in told] == ["slope", "share"]
    assert told[0]["standard_error"] == pytest.approx(slopes[0].standard_error) and told[0]["estimate"] == 0.25
    shown = CliRunner().invoke(app, ["pool", str(tmp_path / "results.csv")])
    assert "95 % interval" in shown.stdout and "slope" in shown.stdout
    (tmp_path / "results.csv").write_text("file,estimate\n1,2\n", encoding="utf-8")
    assert CliRunner().invoke(app, ["pool", str(tmp_path / "results.csv")]).exit_code == 2
