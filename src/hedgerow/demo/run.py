"""The demonstration: three releases of the embedded population, shown beside the true values, in one folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hedgerow.demo.population import RECORDS, REGIONS, SEXES, draw_survey, true_value
from hedgerow.inference.estimate import Estimate
from hedgerow.release.combine import joined
from hedgerow.release.publication.folder import ReleaseFolder, prepared_folder
from hedgerow.release.publication.text import text_table
from hedgerow.release.result import Release
from hedgerow.reports import add_report
from hedgerow.statistics.count import count
from hedgerow.statistics.mean import mean
from hedgerow.statistics.proportion import proportion
from hedgerow.statistics.statistic import Statistic
from hedgerow.survey import Survey
from hedgerow.survey import open as open_survey

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
            f"  hedgerow release {file} --relation replace-one --mean age:18:95:1 --by sex=0,1 --epsilon 1",
            f"  hedgerow release {file} --relation add-remove --count --by region=North,South --other --epsilon 1",
            f"  hedgerow verify {folder.path / 'report.html'}",
            "  hedgerow price --mechanism gaussian --relation replace-one --epsilon 1",
            "  hedgerow explain HG104",
        ]
    )
