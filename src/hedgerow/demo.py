"""The demonstration: three releases of the embedded population, shown beside the true values, in one folder.

A synthetic household survey: 20,000 records drawn from known laws, so that true values are computed exactly.

===============  =====================================================================================
``sex``          0 or 1
``region``       five names
``age``          18 to 95, by sex
``household``    1 to 8 persons, by region
``income``       lognormal by sex and region, rounded to whole units; 3 % missing at random
``employed``     0 or 1, by age and sex
===============  =====================================================================================

True values are those of the law, of variables clamped to the bounds that the demonstration declares: what an interval
for the population covers. The seed fixes the survey, never the noise of a release.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.lines import command
from hedgerow.inference.estimate import Estimate
from hedgerow.release.combine import joined
from hedgerow.release.publication.folder import ReleaseFolder, prepared_folder
from hedgerow.release.publication.text import text_table
from hedgerow.release.result import Release
from hedgerow.reports import add_report
from hedgerow.statistics.mean import count, mean
from hedgerow.statistics.proportion import proportion
from hedgerow.statistics.statistic import Statistic
from hedgerow.survey import Survey
from hedgerow.survey import open as open_survey

RECORDS = 20_000
# The sample of this seed is about as far from its law as most samples are.
SEED = 3
SEXES = (0, 1)
REGIONS = ("North", "East", "South", "West", "Centre")
AGES = np.arange(18, 96)
HOUSEHOLDS = np.arange(1, 9)
INCOME_MISSING = 0.03
_SEX = np.array([0.49, 0.51])
_REGION = np.array([0.14, 0.19, 0.27, 0.22, 0.18])
_INCOME_SEX = np.array([10.28, 10.11])
_INCOME_REGION = np.array([-0.12, -0.05, 0.0, 0.06, 0.22])
_INCOME_SPREAD = 0.65
_HOUSEHOLD_MEAN = np.array([1.3, 1.5, 1.4, 1.2, 0.9])


@dataclass(frozen=True, slots=True)
class DemoSurvey:
    """The records, column by column; a missing income is NaN."""

    age: NDArray[np.int64]
    sex: NDArray[np.int64]
    region: NDArray[np.str_]
    household: NDArray[np.int64]
    income: NDArray[np.float64]
    employed: NDArray[np.int64]

    def to_csv(self) -> str:
        """Return the text of a CSV file, a missing income as an empty cell."""
        incomes = ["" if math.isnan(income) else f"{income:.0f}" for income in self.income.tolist()]
        columns = (self.age.tolist(), self.sex.tolist(), self.region.tolist(), self.household.tolist(), incomes)
        rows = zip(*columns, self.employed.tolist(), strict=True)
        return "age,sex,region,household,income,employed\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)


def draw_survey(records: int = RECORDS, *, seed: int = SEED) -> DemoSurvey:
    """Draw records from the laws.

    >>> draw_survey(3).to_csv().splitlines()[0]
    'age,sex,region,household,income,employed'
    """
    rng = np.random.default_rng(seed)
    sex = rng.choice(2, records, p=_SEX)
    region = rng.choice(len(REGIONS), records, p=_REGION)
    age = np.where(sex == 0, rng.choice(AGES, records, p=_age_law(0)), rng.choice(AGES, records, p=_age_law(1)))
    drawn = [rng.choice(HOUSEHOLDS, records, p=_household_law(place)) for place in range(len(REGIONS))]
    household = np.choose(region, drawn)
    location = _INCOME_SEX[sex] + _INCOME_REGION[region]
    income = np.rint(np.exp(rng.normal(location, _INCOME_SPREAD)))
    income[rng.random(records) < INCOME_MISSING] = np.nan
    employed = (rng.random(records) < _employment(age, sex)).astype(np.int64)
    return DemoSurvey(age, sex, np.array(REGIONS)[region], household, income, employed)


def true_value(
    statistic: str, column: str | None, cell: Mapping[str, object], *, bounds: tuple[float, float] | None = None
) -> float:
    """Return the true value that an interval for the population should cover.

    Parameters
    ----------
    statistic : {"mean", "proportion", "count"}
        A proportion is that of ``column = 1``; a count is the one expected among `RECORDS` records.
    column : str or None
        None for a count.
    cell : mapping
        ``{}``, or a sex, a region, or both.
    bounds : (low, high)
        What the variable is clamped to, for a mean.

    Examples
    --------
    >>> round(true_value("mean", "income", {}, bounds=(0, 200_000)))
    34151
    >>> round(true_value("count", None, {"region": "South"}))
    5400
    """
    weights = [
        (sex, place, float(_SEX[sex] * _REGION[place]))
        for sex in SEXES
        for place, region in enumerate(REGIONS)
        if cell.get("sex", sex) == sex and cell.get("region", region) == region
    ]
    size = math.fsum(weight for _, _, weight in weights)
    if statistic == "count":
        return RECORDS * size
    if (statistic, column) == ("proportion", "sex"):
        return math.fsum(weight * sex for sex, _, weight in weights) / size
    return math.fsum(weight * _cell_mean(column, sex, place, bounds) for sex, place, weight in weights) / size


def _cell_mean(column: str | None, sex: int, place: int, bounds: tuple[float, float] | None) -> float:
    low, high = (-math.inf, math.inf) if bounds is None else bounds
    if column == "age":
        return float(np.clip(AGES, low, high) @ _age_law(sex))
    if column == "household":
        return float(np.clip(HOUSEHOLDS, low, high) @ _household_law(place))
    if column == "employed":
        return float(_employment(AGES, np.full(len(AGES), sex)) @ _age_law(sex))
    if column == "income":
        location = float(_INCOME_SEX[sex] + _INCOME_REGION[place])
        return _lognormal_clamped(location, high) - _lognormal_clamped(location, low) + max(low, 0.0)
    raise KeyError(column)


def _lognormal_clamped(location: float, limit: float) -> float:
    """Return E[min(X, limit)] of a lognormal X: e^(m + s²/2)·Φ((ln u − m − s²)/s) + u·(1 − Φ((ln u − m)/s))."""
    if limit <= 0.0:
        return 0.0
    whole = math.exp(location + _INCOME_SPREAD**2 / 2)
    if math.isinf(limit):
        return whole
    normal, z = NormalDist(), (math.log(limit) - location) / _INCOME_SPREAD
    return whole * normal.cdf(z - _INCOME_SPREAD) + limit * normal.cdf(-z)


def _age_law(sex: int) -> NDArray[np.float64]:
    """Return a plateau to about 60, then a decline that begins later for sex 1."""
    weight = 1.0 / (1.0 + np.exp((AGES - (72.0 + 4.0 * sex)) / 7.0)) * (1.0 + 0.25 * np.cos((AGES - 52.0) / 12.0))
    return np.asarray(weight / weight.sum(), dtype=np.float64)


def _household_law(place: int) -> NDArray[np.float64]:
    weight = np.array([_HOUSEHOLD_MEAN[place] ** (size - 1) / math.factorial(size - 1) for size in HOUSEHOLDS.tolist()])
    return np.asarray(weight / weight.sum(), dtype=np.float64)


def _employment(age: NDArray[np.int64], sex: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the probability of being employed: rises to 30, falls at about 64."""
    rising = 1.0 / (1.0 + np.exp(-(age - 21.0) / 2.5))
    falling = 1.0 / (1.0 + np.exp((age - 64.0 + 1.5 * sex) / 2.0))
    return np.asarray((0.86 - 0.11 * sex) * rising * falling, dtype=np.float64)


DELTA = 1e-6
AGE, INCOME = (18, 95), (0, 200_000)
_BOUNDS = {"age": AGE, "income": INCOME}
_INCOME = mean("income", bounds=INCOME, step=200)
_AGE = mean("age", bounds=AGE, step=1)
_EMPLOYED = proportion("employed", value=1)
# (statistics, groups, ε): what is asked, each call with a price of its own.
CALLS: tuple[tuple[Sequence[Statistic], Mapping[str, Sequence[Any]] | None, float], ...] = (
    ((_AGE, _INCOME, _EMPLOYED), None, 0.5),
    ((_AGE, _INCOME, _EMPLOYED), {"sex": SEXES}, 0.5),
    ((count(), _INCOME), {"region": REGIONS}, 0.5),
)


def run_demo(out: str | Path = "hedgerow-demo") -> str:
    """Write the survey, release statistics of it, write the results, and return the page to be printed.

    A folder that an earlier run made is used again.

    Raises
    ------
    ParameterError
        HG118 the folder cannot be written; HG119 it holds something else.
    """
    path, text = Path(out), draw_survey().to_csv()
    file = path / "survey.csv"
    with prepared_folder(path, force=_holds(file, text)) as folder:
        (folder.staging / file.name).write_text(text, encoding="utf-8")
        folder.move([file.name])
        survey = open_survey(str(file), relation="replace-one")
        parts = [survey.release(asked, by=by, epsilon=epsilon, delta=DELTA) for asked, by, epsilon in CALLS]
        release = joined(parts)
        written = (*folder.write(release), *add_report(release, folder))
        return _page(release, survey, folder, written)


def _holds(file: Path, text: str) -> bool:
    """Return whether the demonstration made this file: another file of the same name must not be replaced."""
    try:
        return file.is_file() and file.read_text(encoding="utf-8") == text
    except (OSError, UnicodeDecodeError):
        return False


def _truth(estimate: Estimate) -> float:
    bounds = _BOUNDS.get(estimate.column or "")
    return true_value(estimate.statistic, estimate.column, estimate.cell, bounds=bounds)


def _page(release: Release, survey: Survey, folder: ReleaseFolder, written: Sequence[str]) -> str:
    truths = [_truth(estimate) for estimate in release]
    intervals = [estimate.confidence_interval(0.95) for estimate in release]
    held = sum(interval.low <= truth <= interval.high for interval, truth in zip(intervals, truths, strict=True))
    epsilons = [epsilon for _, _, epsilon in CALLS]
    file = survey.source.name
    return "\n".join(
        [
            f"A synthetic household survey of {RECORDS:,} records; every law behind it is known, and so is the truth.",
            f"{len(CALLS)} releases at ε = {epsilons[0]:g} each; together less than {sum(epsilons):g}, see below.",
            "",
            text_table(release, truths=truths),
            "",
            f"{held} of {len(truths)} intervals cover the true value (a star marks the others).",
            "The noise is fresh each time, while the survey stays the same: run it again and see.",
            "True values are those of the law behind the survey, of the clamped variables. Some incomes are missing.",
            "",
            f"Written to {folder.path}: survey.csv, {', '.join(written)}",
            "",
            f"Open {folder.path / 'report.html'} in a browser: the same as one page, to be handed on.",
            "",
            "Next, on the same file or on one of your own:",
            command(f"hedgerow release {file} --relation replace-one --mean age:18:95:1 --by sex=0,1 --epsilon 1"),
            command(
                f"hedgerow release {file} --relation add-remove --count --by region=North,South --other --epsilon 1"
            ),
            command(f"hedgerow verify {folder.path / 'report.html'}"),
            command("hedgerow price --mechanism gaussian --relation replace-one --epsilon 1"),
            command("hedgerow explain HG104"),
        ]
    )
