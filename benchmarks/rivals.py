"""Our attack on other libraries, and on hedgerow, with real noise: what price is certified beside the price asked.

Run ``python -m benchmarks.rivals --folder DIR [--runs 3000]``: some minutes. DIR gets an environment for each library,
since diffprivlib and smartnoise-sql need other versions of what hedgerow uses. A library that cannot be installed is
named and left out.

Each line is one function on two neighbouring data sets. The function runs with its own noise, as a user would call it,
and the outputs of both data sets go through `hedgerow.audit.attack.threshold_attack`, which certifies a lower bound on
ε at confidence 1 − 1e-4, in both directions of the score. VIOLATION means that the bound is above the ε that was asked.
No answer and an answer that is not finite are outputs too: who sees them learns from them.

A violation says that the promise fails on these two data sets, in this version of the library. It does not say that the
library's mechanisms are wrong elsewhere, and a line without one proves nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.attack import threshold_attack

Floats = NDArray[np.float64]
ALPHA = 1e-4
EPSILON = 1.0
WORKER = """
import json, math, sys, warnings
import numpy as np
warnings.simplefilter("ignore")
{setup}
def number(answer):
    try:
        drawn = float(answer())
    except Exception as error:
        return 1e9 + sum(map(ord, type(error).__name__))
    return drawn if math.isfinite(drawn) else 2e9
runs, cases = json.load(sys.stdin)
nan = math.nan
for name, call, first, second in cases:
    answer = eval("lambda data: " + call)
    sets = eval(first), eval(second)
    print(json.dumps([[number(lambda: answer(data)) for _ in range(runs)] for data in sets]), flush=True)
print(json.dumps(version))
"""


@dataclass(frozen=True)
class Rival:
    """A library, how it is installed and called, and its cases: name, call on `data`, and two neighbours.

    `share` is the part of the runs that it gets: some calls take a hundred times as long as others.
    """

    name: str
    installed: tuple[str, ...]
    setup: str
    cases: tuple[tuple[str, str, str, str], ...]
    delta: float = 0.0
    share: float = 1.0


_TWENTY, _ONE, _NAN = "np.zeros(20)", "np.r_[1.0, np.zeros(19)]", "np.r_[nan, np.zeros(19)]"
_FEW = ("np.r_[1.0, np.full(49, nan)]", "np.r_[0.0, np.full(49, nan)]")
_FEW_PAIRS = ("np.r_[1.0, 0.0, np.full(48, nan)]", "np.r_[0.0, 0.0, np.full(48, nan)]")
_TABLE = "pd.DataFrame({{'x': {values}, 'g': ['a'] * 20}})"


def _of_tools(function: str) -> str:
    return f"tools.{function}(data, epsilon=1.0, bounds=(0.0, 1.0))"


def _tables(first: str, second: str) -> tuple[str, str]:
    return _TABLE.format(values=first), _TABLE.format(values=second)


HEDGEROW = Rival(
    "hedgerow",
    (),
    """
import pyarrow
import hedgerow as hg
version = hg.__version__
def release(statistic, values):
    survey = hg.open(pyarrow.table({"x": pyarrow.array(values, from_pandas=False)}), relation="replace-one")
    return survey.release([statistic], epsilon=1.0)
B = dict(bounds=(0.0, 1.0), step=0.05)
""",
    (
        ("mean, 0 or 1", "release(hg.mean('x', **B), data)[0].value", _ONE, _TWENTY),
        ("mean, a NaN", "release(hg.mean('x', **B), data)[0].value", _NAN, _TWENTY),
        ("mean, all but one NaN", "release(hg.mean('x', **B), data)[0].value", *_FEW),
        ("variance, all but two NaN", "release(hg.variance('x', **B), data)[0].value", *_FEW_PAIRS),
        (
            "median",
            "release(hg.quantile('x', 0.5, **B), data)[0].value",
            "np.r_[np.zeros(10), np.ones(10)]",
            "np.r_[np.zeros(9), np.ones(11)]",
        ),
    ),
    share=0.2,
)
RIVALS = (
    HEDGEROW,
    Rival(
        "diffprivlib",
        ("diffprivlib", "scikit-learn<1.6"),
        "import diffprivlib\nfrom diffprivlib import tools\nversion = diffprivlib.__version__",
        (
            ("mean, 0 or 1", _of_tools("mean"), _ONE, _TWENTY),
            ("mean, a NaN", _of_tools("mean"), _NAN, _TWENTY),
            ("nanmean, all but one NaN", _of_tools("nanmean"), *_FEW),
            ("nansum, a NaN", _of_tools("nansum"), _NAN, _ONE),
            ("var", _of_tools("var"), _ONE, _TWENTY),
            ("nanvar, all but two NaN", _of_tools("nanvar"), *_FEW_PAIRS),
            ("std", _of_tools("std"), _ONE, _TWENTY),
            ("count_nonzero", "tools.count_nonzero(data, epsilon=1.0)", _ONE, _TWENTY),
            ("histogram, a bin", "tools.histogram(data, epsilon=1.0, bins=2, range=(0, 1))[0][0]", _ONE, _TWENTY),
            (
                "median",
                "tools.quantile(data, 0.5, epsilon=1.0, bounds=(0, 1))",
                "np.r_[np.zeros(10), np.ones(10)]",
                "np.r_[np.zeros(9), np.ones(11)]",
            ),
        ),
    ),
    Rival(
        "opendp",
        ("opendp[polars]", "numpy"),
        """
import opendp, opendp.prelude as dp
from importlib.metadata import version as version_of
version = version_of("opendp")
dp.enable_features("contrib")
def laplace(made, domain, data):
    def at(scale):
        return (domain, dp.symmetric_distance()) >> dp.t.then_clamp((0.0, 1.0)) >> made() >> dp.m.then_laplace(scale)
    return at(dp.binary_search_param(at, d_in=2, d_out=1.0))(data)
SIZED = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=20)
FREE = dp.vector_domain(dp.atom_domain(T=float, nan=False))
""",
        (
            ("mean of 20, 0 or 1", "laplace(dp.t.then_mean, SIZED, data)", _ONE, _TWENTY),
            ("mean of 20, a NaN against the domain", "laplace(dp.t.then_mean, SIZED, data)", _NAN, _TWENTY),
            ("sum, 0 or 1", "laplace(dp.t.then_sum, FREE, data)", _ONE, _TWENTY),
        ),
        share=0.3,
    ),
    Rival(
        "smartnoise-sql",
        ("smartnoise-sql",),
        """
import pandas as pd, snsql
from snsql import Privacy
from importlib.metadata import version as version_of
version = version_of("smartnoise-sql")
META = {"": {"s": {"t": {"row_privacy": True, "rows": 20, "x": {"type": "float", "lower": 0.0, "upper": 1.0},
        "g": {"type": "string"}}}}}
def ask(what, data):
    reader = snsql.from_df(data, privacy=Privacy(epsilon=1.0, delta=1e-6), metadata=META)
    return reader.execute(f"SELECT {what} AS s FROM s.t")[1][0]
""",
        (
            ("sum, 0 or 1", "ask('SUM(x)', data)", *_tables(_ONE, _TWENTY)),
            ("sum, a value of 1e6", "ask('SUM(x)', data)", *_tables("np.r_[1e6, np.zeros(19)]", _TWENTY)),
            ("sum, a NaN", "ask('SUM(x)', data)", *_tables(_NAN, _TWENTY)),
            ("variance, a value of 1e6", "ask('VARIANCE(x)', data)", *_tables("np.r_[1e6, np.zeros(19)]", _TWENTY)),
        ),
        delta=1e-6,
        share=0.1,
    ),
)


def environment(rival: Rival, folder: Path) -> str:
    """Return the interpreter of an environment of the library, which is made where there is none."""
    if not rival.installed:
        return sys.executable
    python = folder / rival.name / "bin" / "python"
    complete = python.parents[1] / "complete"  # an installation that was cut short is made again
    if not complete.exists():
        venv.create(python.parents[1], with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *rival.installed], check=True)
        complete.touch()
    return str(python)


def certified(first: Floats, second: Floats, delta: float) -> float:
    """Return the larger of both directions' lower bounds on ε, each at half of the chance of error."""

    def sampler(outputs: Floats) -> Callable[[int], list[Floats]]:
        taken = iter(np.split(outputs, [len(outputs) // 5]))  # the fifth that chooses the threshold, then the rest
        return lambda _: [next(taken)]

    directions = (first, second), (-first, -second)
    return max(
        threshold_attack(
            sampler(likely), sampler(other), lambda x: x, delta=delta, runs=len(first), alpha=ALPHA / 2.0
        ).epsilon_lower
        for likely, other in directions
    )


def main(report: Callable[[str], None] = print, arguments: list[str] | None = None) -> None:
    """Attack every library, and report each line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, default=Path("rivals"))
    parser.add_argument("--runs", type=int, default=3000)
    parser.add_argument("--only", nargs="*", choices=[rival.name for rival in RIVALS])
    asked = parser.parse_args(arguments)
    for rival in RIVALS:
        if asked.only and rival.name not in asked.only:
            continue
        runs = max(50, int(asked.runs * rival.share))
        try:
            python = environment(rival, asked.folder)
            done = subprocess.run(
                [python, "-c", WORKER.replace("{setup}", rival.setup)],
                input=json.dumps([runs, rival.cases]),
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
        except (OSError, subprocess.CalledProcessError) as error:
            report(f"LEFT OUT: {rival.name} could not be installed or run ({type(error).__name__})")
            continue
        *lines, version = done.stdout.splitlines()
        report(f"{rival.name} {json.loads(version)}, {runs} runs a data set, ε = {EPSILON:g}, δ = {rival.delta:g}")
        for (name, *_), line in zip(rival.cases, lines, strict=True):
            first, second = np.array(json.loads(line))
            bound = certified(first, second, rival.delta)
            report(f"  {'VIOLATION' if bound > EPSILON else 'none found'}  {name}: ε ≥ {bound:.2f}")


if __name__ == "__main__":
    main()
