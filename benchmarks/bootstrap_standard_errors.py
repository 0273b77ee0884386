"""Standard error of a private bootstrap over the true standard deviation of its estimate, and cover of its interval.

Run: python benchmarks/bootstrap_standard_errors.py [--runs 1000] [--only units]

First in the model of docs/methods/calibrated.md, by quadrature: no data, any k. Then for releases: each run draws fresh
data (for the target "file", the same data), replicates and noise, through the plan and the reading of a release.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import hedgerow as hg
from hedgerow.inference.bootstrap.replicate_summary import Replicates, standard_error_parts
from hedgerow.release.execute import read_histograms
from hedgerow.statistics.statistic import Statistic
from hedgerow.testing.simulated import SimulatedNoise, draw_estimates

Floats = NDArray[np.float64]
SEED = 20261122
NOISE_SHARES = (10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.05, 0.01)  # τ²/v
REPLICATES = (10, 20, 50, 100, 300)
AGE = {"bounds": (0, 100), "step": 1}
BOTH = {"x": (0, 100), "y": (0, 100)}


def in_the_model(noise_share: float, k: int) -> float:
    """Return E s.e. / sd of m* for normal replicates without an offset, τ² being `noise_share` of v = 1."""
    from scipy.special import gammaincinv

    noise = k * noise_share
    levels = (np.arange(1000) + 0.5) / 1000
    spreads = (1.0 + noise) * gammaincinv((k - 1) / 2, levels) * 2 / (k - 1)
    errors = [standard_error_parts(Replicates(0.0, float(s), k, noise)).standard_error for s in spreads]
    return float(np.mean(errors)) / math.sqrt(1.0 + (1.0 + noise) / k)


@dataclass(frozen=True)
class Setting:
    """One statistic of fresh data, released again and again."""

    name: str
    statistic: Statistic
    truth: Callable[[pa.Table], float]
    n: int = 5000
    k: int = 50
    epsilon: float = 1.0
    draw: Callable[[np.random.Generator, int], pa.Table] = field(default=lambda rng, n: ages(rng, n))
    options: dict[str, Any] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)

    def table(self, rng: np.random.Generator) -> pa.Table:
        fixed = self.about.get("relation") != "add-remove"
        return self.draw(rng, self.n if fixed else int(rng.poisson(self.n)))

    def survey(self, table: pa.Table) -> hg.Survey:
        return hg.open(table, **{"relation": "replace-one", **self.about})


def ages(rng: np.random.Generator, n: int) -> pa.Table:
    """Return numbers from 0 to 100: x with mean 45 and sd 17, y correlated with it, z skewed, one of four groups."""
    x = np.clip(rng.normal(45, 17, n), 0, 100)
    y = np.clip(0.5 * x + rng.normal(30, 10, n), 0, 100)
    z = 100 * rng.beta(0.5, 5, n)
    group = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    return pa.table({"x": x, "y": y, "z": z, "one": (x > 60).astype(float), "g": group})


def people(rng: np.random.Generator, n: int) -> pa.Table:
    """Return `n` people with one to four rows each, those of one person alike."""
    rows = rng.integers(1, 5, n)
    person = np.repeat(np.arange(n), rows)
    x = np.clip(np.rint(rng.normal(45, 15, n)[person] + rng.normal(0, 5, len(person))), 0, 100)
    return pa.table({"person": person, "x": x})


def of(column: str, function: Callable[[Floats], float]) -> Callable[[pa.Table], float]:
    return lambda table: float(function(table[column].to_numpy()))


def in_group_0(table: pa.Table) -> float:
    return float(table["x"].to_numpy()[table["g"].to_numpy() == 0].mean())


def ratio_of_sums(table: pa.Table) -> float:
    return float(table["x"].to_numpy().sum() / table["y"].to_numpy().sum())


def settings() -> Iterator[Setting]:
    """Return means by k and by noise; then every statistic, cells, units, both relations, both targets."""
    mean, x = hg.mean("x", **AGE), of("x", np.mean)
    for k in (20, 50, 100):
        yield Setting(f"mean, k = {k}", mean, x, k=k)
    yield Setting("mean, ε = 3, k = 50", mean, x, epsilon=3.0)
    yield Setting("mean, n = 20,000, k = 50", mean, x, n=20_000)
    yield Setting("mean, n = 500, k = 20", mean, x, n=500, k=20)
    yield Setting("mean, skewed, far from the centre", hg.mean("z", **AGE), of("z", np.mean), n=20_000, k=100)
    yield Setting("proportion", hg.proportion("one", value=1.0), of("one", np.mean))
    yield Setting("mean, add-remove", mean, x, n=20_000, about={"relation": "add-remove"})
    yield Setting("mean by group, the first", mean, in_group_0, n=20_000, options={"by": {"g": [0, 1, 2, 3]}})
    yield Setting("sum", hg.sum("x", **AGE), of("x", np.sum), about={"relation": "add-remove"})
    yield Setting("count", hg.count(), of("x", len), about={"relation": "add-remove"})
    yield Setting("ratio", hg.ratio("x", "y", bounds=BOTH), ratio_of_sums, n=20_000)
    yield Setting("standard deviation", hg.standard_deviation("x", **AGE), of("x", np.std), n=20_000)
    yield Setting("median", hg.quantile("x", 0.5, **AGE), of("x", np.median), n=50_000, epsilon=3.0)
    units = {"unit": {"column": "person", "max_rows": 4}}
    for relation in ("replace-one", "add-remove"):
        about = {**units, "relation": relation}
        yield Setting(f"mean of people, {relation}", mean, x, n=20_000, draw=people, about=about)
    yield Setting("mean of the file itself", mean, x, n=500, about={"target": "file"})


@dataclass(frozen=True)
class Result:
    """Means over the runs of one setting."""

    noise_share: float
    ratio: float
    ratio_error: float
    zeros: float
    covered: float


def simulate(setting: Setting, runs: int, rng: np.random.Generator) -> Result:
    """Release `runs` times and compare the standard errors with the scatter of the estimates."""
    census = setting.about.get("target") == "file"
    table = setting.table(rng)
    survey = setting.survey(table)
    bootstrap = {"epsilon": setting.epsilon, "delta": 1e-6, "estimator": "bootstrap", "n_resamples": setting.k}
    plan = survey.plan([setting.statistic], **bootstrap, **setting.options)
    noise, drawn = SimulatedNoise(rng), []
    for _ in range(runs):
        if not census:
            table = setting.table(rng)
            survey = setting.survey(table)
        one = draw_estimates(plan, read_histograms(plan, survey.source), noise)[0]
        ends = one.confidence_interval(0.95)
        exact = setting.truth(table)
        parts = (one.estimate, one.standard_error, one.sampling_error, one.privacy_error)
        drawn.append((*parts, ends.low, ends.high, exact))
    estimate, error, sampling, privacy, low, high, exact = np.array(drawn, dtype=np.float64).T
    truth = float(exact.mean())
    sd = float(estimate.std(ddof=1))
    spread = float(error.std() / error.mean())
    share = float(np.mean(privacy**2) / exact.var()) if not census else math.nan
    ratio = float(error.mean() / sd)
    uncertain = ratio * math.sqrt(spread**2 / runs + 0.5 / runs)
    return Result(
        share, ratio, uncertain, float(np.mean(sampling == 0)), float(np.mean((low <= truth) & (truth <= high)))
    )


def main(report: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only", default="", help="settings whose name holds this text")
    arguments = parser.parse_args()
    report("E s.e. / sd in the model, by τ²/v (down) and k (across)")
    report("".join([f"{'':>6}", *(f"{k:>8}" for k in REPLICATES)]))
    for share in NOISE_SHARES:
        report(f"{share:6g}" + "".join(f"{in_the_model(share, k):8.3f}" for k in REPLICATES))
    report(f"\n{'setting':36} {'n':>6} {'k':>4} {'τ²/v':>6} {'E s.e./sd':>10} {'± ':>5} {'s.e. 0':>7} {'covered':>8}")
    for place, setting in enumerate(settings()):
        if arguments.only in setting.name:
            found = simulate(setting, arguments.runs, np.random.default_rng([SEED, place]))
            report(
                f"{setting.name:36} {setting.n:6} {setting.k:4} {found.noise_share:6.2f} {found.ratio:10.3f} "
                f"{found.ratio_error:5.3f} {found.zeros:7.3f} {found.covered:8.3f}"
            )


if __name__ == "__main__":
    main()
