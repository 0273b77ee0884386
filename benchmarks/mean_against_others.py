"""The error of one released mean beside OpenDP's and diffprivlib's at the same ε, in one run.

Run ``python -m benchmarks.mean_against_others [--runs 4000] [--n 1000] [--diffprivlib DIR]``: some minutes.
``HEDGEROW_DATA`` names the folder that holds ``PUMS5extract10000.csv``; without it age and income are left out.

Under replace-one n is public. Each library is given the same values and bounds and draws its mean again and again; a
line shows the root of the mean square of the differences from the exact mean of the clamped values:

* ``OpenDP``: ``then_clamp``, ``then_mean`` of known size and ``then_laplace``, in units of (U − L)/n. The scale is
  OpenDP's own search.
* ``pure`` and ``δ = 1e-6``: hedgerow over OpenDP, every value declared present; hedgerow's mean comes with its standard
  error, the others' comes without. One standard error of these ratios is 2.5 % at 4,000 runs.
* ``missing``: the same at δ = 1e-6 for hedgerow's default, which protects whether a value is missing, too.
* ``diffprivlib``: diffprivlib over OpenDP. It needs an older scikit-learn, so it runs in an environment of its own,
  which is made in DIR where there is none.

Hedgerow's noise is the seeded stand-in of ``hedgerow.testing``, of the same law as a release's.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray

import hedgerow as hg
from hedgerow.testing.simulated import SimulatedNoise, Study

Floats = NDArray[np.float64]
SEED = 20261122
BUDGETS = (0.1, 1.0, 10.0)
MOST = 1.05
HEDGEROW: dict[str, dict[str, Any]] = {
    "pure": {"delta": 0.0, "missing": "error-if-declared-complete"},
    "δ = 1e-6": {"delta": 1e-6, "missing": "error-if-declared-complete"},
    "missing": {"delta": 1e-6, "missing": "drop"},
}
WORKER = """
import json, sys, warnings
import numpy as np
from diffprivlib.tools import mean
warnings.simplefilter("ignore")
for asked in json.load(sys.stdin):
    values, bounds = np.array(asked["values"]), tuple(asked["bounds"])
    drawn = [mean(values, epsilon=asked["epsilon"], bounds=bounds, random_state=i) for i in range(asked["runs"])]
    print(float(np.sqrt(np.mean((np.array(drawn) - np.clip(values, *bounds).mean()) ** 2))), flush=True)
"""


@dataclass(frozen=True, eq=False)
class Setting:
    """The values of one column, their bounds, and the price of its mean."""

    name: str
    values: Floats
    bounds: tuple[float, float]
    epsilon: float

    @property
    def unit(self) -> float:
        """The most by which one record changes the mean: (U − L)/n."""
        return (self.bounds[1] - self.bounds[0]) / len(self.values)

    def error(self, drawn: list[float]) -> float:
        """Return the root mean square of the differences from the mean of the clamped values."""
        return math.sqrt(np.mean((np.array(drawn) - np.clip(self.values, *self.bounds).mean()) ** 2))


def settings(n: int) -> list[Setting]:
    """Return n values of each column, at each budget."""
    rng = np.random.default_rng(SEED)
    columns: dict[str, tuple[Floats, tuple[float, float]]] = {
        "lognormal": (np.exp(rng.standard_normal(n)), (0.0, 20.0)),
        "0/1": ((rng.random(n) < 0.3).astype(np.float64), (0.0, 1.0)),
    }
    if "HEDGEROW_DATA" in os.environ:
        from reproduction.pums import pums

        kept = rng.choice(pums()["age"].size, n, replace=False)
        for name, high in (("age", 100.0), ("income", 200_000.0)):
            columns[name] = pums()[name][kept], (0.0, high)
    return [Setting(name, *column, epsilon) for name, column in columns.items() for epsilon in BUDGETS]


def opendp_error(setting: Setting, runs: int) -> float:
    """Return the error of OpenDP's Laplace mean of a public number of values."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=len(setting.values))

    def mean(scale: float) -> Any:
        space = domain, dp.symmetric_distance()
        return space >> dp.t.then_clamp(setting.bounds) >> dp.t.then_mean() >> dp.m.then_laplace(scale)

    # A replaced record is one removed and one added: a distance of 2.
    drawn = mean(dp.binary_search_param(mean, d_in=2, d_out=setting.epsilon))
    return setting.error([drawn(setting.values) for _ in range(runs)])


def hedgerow_error(setting: Setting, runs: int, options: dict[str, Any]) -> float:
    """Return the error of hedgerow's mean, released as the plan chooses."""
    survey = hg.open(pyarrow.table({"x": setting.values}), relation="replace-one")
    study = Study.of(survey, hg.mean("x", bounds=setting.bounds), epsilon=setting.epsilon, **options)
    noise = SimulatedNoise(SEED)
    return setting.error([study.draw(noise)[0].estimate for _ in range(runs)])


def environment(folder: Path) -> Path:
    """Return the Python of an environment with diffprivlib, which is made where there is none."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "diffprivlib", "scikit-learn<1.9"], check=True)
    return python


def diffprivlib_errors(made: list[Setting], runs: int, folder: Path) -> list[float]:
    """Return the errors of diffprivlib's mean, in an environment of its own."""
    asked = [
        {"values": one.values.tolist(), "bounds": one.bounds, "epsilon": one.epsilon, "runs": runs} for one in made
    ]
    done = subprocess.run(
        [environment(folder), "-c", WORKER], input=json.dumps(asked), stdout=subprocess.PIPE, text=True, check=True
    )
    return [float(line) for line in done.stdout.split()]


def main(report: Callable[[str], None] = print, arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4_000)
    parser.add_argument("--n", type=int, default=1_000)
    parser.add_argument("--diffprivlib", type=Path, metavar="DIR")
    asked = parser.parse_args(arguments)
    made = settings(asked.n)
    others = None if asked.diffprivlib is None else diffprivlib_errors(made, asked.runs, asked.diffprivlib)
    if others is None:
        report("diffprivlib is left out: --diffprivlib DIR names a folder for its environment")
    if "HEDGEROW_DATA" not in os.environ:
        report("age and income are left out: HEDGEROW_DATA is not set")
    report(f"{asked.runs:,} means of {asked.n:,} values; OpenDP in units of (U − L)/n, the rest over OpenDP")
    report(f"{'column':12}{'ε':>5}{'OpenDP':>10}" + "".join(f"{name:>13}" for name in (*HEDGEROW, "diffprivlib")))
    largest = 0.0
    for place, setting in enumerate(made):
        theirs = opendp_error(setting, asked.runs)
        ratios = [hedgerow_error(setting, asked.runs, options) / theirs for options in HEDGEROW.values()]
        largest = max(largest, *ratios[:2])
        shown = [f"{ratio:13.3f}" for ratio in ratios]
        shown.append(f"{'–':>13}" if others is None else f"{others[place] / theirs:13.3f}")
        report(f"{setting.name:12}{setting.epsilon:5g}{theirs / setting.unit:10.3f}" + "".join(shown))
        sys.stdout.flush()
    said = "met" if largest <= MOST else "NOT MET"
    report(f"largest ratio with every value declared present: {largest:.3f}; asked: {MOST} at most: {said}")


if __name__ == "__main__":
    main()
