"""A slope, by the bootstrap and by linear regression: income on education, 2,000 records at ε = 1, replace-one.

The paper's method is for additive functions; a slope is a smooth function of four of them, Σx, Σy, Σxy and Σx². Ours,
over 150 samples of the extract with seeded noise: the 95 % intervals of both cover the extract's slope in at least 95 %
of runs less three standard errors, and that of the regression is at most half as wide, for its moments have one noise
and not one for each of k replicates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import hedgerow as hg
from hedgerow.regression.release_regression import drawn_regression, read_regression
from hedgerow.release.execute import read_histograms
from hedgerow.statistics.own_functions import FunctionOfTheUser
from hedgerow.testing.simulated import SimulatedNoise, Study

from ..drawing import BLUE, INK, ORANGE, Drawing
from ..exhibit import Exhibit, Line
from ..pums import pums

__all__ = ["exhibit"]

Floats = NDArray[np.float64]
N, RUNS, EPSILON, LEVEL, NARROWER = 2000, 150, 1.0, 0.95, 0.5
INCOME, EDUC = (0.0, 200_000.0), (0.0, 16.0)


def x_of(columns: Mapping[str, Floats]) -> Floats:
    """Return education about the midpoint of its bounds, over their range."""
    return columns["educ"] / EDUC[1] - 0.5


def y_of(columns: Mapping[str, Floats]) -> Floats:
    """Return income likewise."""
    return columns["income"] / INCOME[1] - 0.5


def slope(totals: Mapping[str, float]) -> float:
    """Return the slope in dollars a step of education."""
    x, y, xy, xx = (totals[name] / totals["count"] for name in ("x", "y", "xy", "xx"))
    return (xy - x * y) / (xx - x * x) * INCOME[1] / EDUC[1]


def by_bootstrap() -> FunctionOfTheUser:
    """Return the slope as a statistic of a bootstrap, with its four features."""
    features = {
        "x": (x_of, (-0.5, 0.5)),
        "y": (y_of, (-0.5, 0.5)),
        "xy": (lambda columns: x_of(columns) * y_of(columns), (-0.25, 0.25)),
        "xx": (lambda columns: x_of(columns) ** 2, (0.0, 0.25)),
    }
    columns = {"educ": (*EDUC, 1.0), "income": (*INCOME, 2000.0)}
    return hg.bootstrap(slope, columns=columns, features=features, name="slope")


def population() -> tuple[Floats, Floats]:
    """Return education and income of the extract; incomes clamped to the declared bounds."""
    return pums()["educ"], np.clip(pums()["income"], *INCOME)


def simulated(runs: int) -> dict[str, Floats]:
    """Return (slope, standard error, low, high) of each run, by either way."""
    educ, income = population()
    rng = np.random.default_rng(9)
    noise, found = SimulatedNoise(rng), {"regression": np.empty((runs, 4)), "bootstrap": np.empty((runs, 4))}
    for run in range(runs):
        rows = rng.integers(0, len(educ), N)
        survey = hg.open(pa.table({"educ": educ[rows], "income": income[rows]}), relation="replace-one")
        plan = survey.plan_ols("income", ["educ"], bounds={"educ": EDUC, "income": INCOME}, epsilon=EPSILON)
        drawn = drawn_regression(plan, read_histograms(plan.plan, survey.source), noise)
        fit = read_regression(plan, drawn, None, "simulated", None)[0]
        found["regression"][run] = fit.params["educ"], fit.bse["educ"], *fit.conf_int(LEVEL)["educ"]
        one = Study.of(survey, by_bootstrap(), epsilon=EPSILON).draw(noise)[0]
        interval = one.confidence_interval(LEVEL)
        error = math.nan if one.standard_error is None else one.standard_error
        found["bootstrap"][run] = one.estimate, error, interval.low, interval.high
    return found


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; `share` of the full number of runs."""
    runs = max(10, int(RUNS * share))
    truth = float(np.polyfit(*population(), 1)[0])
    found = simulated(runs)
    least = LEVEL - 3.0 * math.sqrt(LEVEL * (1.0 - LEVEL) / runs)
    lines, widths = [], {}
    for name, rows in found.items():
        covered = float(((rows[:, 2] <= truth) & (truth <= rows[:, 3])).mean())
        widths[name] = float(np.median(rows[:, 3] - rows[:, 2]))
        lines.append(Line(f"{name}: coverage of the 95 % interval; slope {truth:,.0f} dollars a step",
                          f"at least {100 * least:.1f} % (ours)",
                          f"{100 * covered:.1f} %; half-width {widths[name] / 2:,.0f}, s.e. "
                          f"{np.nanmedian(rows[:, 1]):,.0f} (medians), sd of the slopes {rows[:, 0].std():,.0f}",
                          "as expected" if covered >= least else "not as expected"))  # fmt: skip
    ratio = widths["regression"] / widths["bootstrap"]
    lines.append(Line("width by regression over that by the bootstrap", f"at most {NARROWER:g} (ours)", f"{ratio:.2f}",
                      "as expected" if ratio <= NARROWER else "not as expected"))  # fmt: skip
    drawing = Drawing.of("regression", height=2.4)
    (ax,) = drawing.panels
    for row, (name, colour) in enumerate((("regression", BLUE), ("bootstrap", ORANGE))):
        ax.plot(found[name][:, 0], np.full(runs, row), "|", color=colour, ms=14, label=name)
    ax.axvline(truth, color=INK, lw=1.2, label="of the extract")
    ax.set_yticks([])
    ax.set(xlabel="slope of income on education, dollars a step", ylim=(-0.7, 1.7))
    return Exhibit(
        "regression",
        "Ours: a regression coefficient, by the bootstrap and by its moments",
        tuple(lines),
        "A coefficient is no additive function, and needs the sums of products beside the sums. By hg.bootstrap a user "
        "writes these features; survey.ols releases them once, with their noise told apart. The bootstrap pays for a "
        "vector under replace-one by a bound that need not be reached, and reads its spread from noisy replicates.",
        drawing.finished(),
        "Slopes of all runs: those by regression lie close about the extract's, those by the bootstrap spread widely.",
        own=True,
    )
