"""Expressions that are asked together with a release: refused before anything is read, answered after it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.facts.validation import as_float, format_argument, kind_of, plain
from hedgerow.inference.estimate import PUBLIC, Estimate
from hedgerow.inference.joint.arithmetic import JointValue
from hedgerow.inference.joint.totals import JointTotals
from hedgerow.inference.region import RecordedRegion, Region, ScoreRegion
from hedgerow.release.ask import ask
from hedgerow.release.designs.design import covers
from hedgerow.release.plan import Plan
from hedgerow.release.result import Release

_RECORDS = 1000.0  # of a cell, where nothing was read yet
MOST_STRATA = 100
_STRATIFIED = ("mean", "proportion")


def check_expressions(expressions: Sequence[str], plan: Plan) -> tuple[str, ...]:
    """Return the expressions, if the release of a plan will hold all that they ask for.

    Raises
    ------
    ParameterError
        HG136, HG137, HG130 as in `hedgerow.release.ask`; nothing was read or spent.
    """
    if isinstance(expressions, str) or not all(isinstance(expression, str) for expression in expressions):
        finding = kind_of(expressions) if isinstance(expressions, str) else "what is no text"
        raise ParameterError(
            "HG136",
            rule="Expressions are given as a list of texts.",
            finding=f"Found {finding}.",
            remedy="Put even a single text into a list.",
        )
    if expressions:
        stand_ins = [list(_stand_ins(plan))]
        for expression in expressions:
            ask(expression, stand_ins)
    return tuple(expressions)


def stratified(totals: object, plan: Plan) -> tuple[str, ...]:
    """Return the expressions of stratified means, Σ N_h/N · mean_h, and totals, Σ N_h · mean_h, for declared sizes N_h.

    Parameters
    ----------
    totals : {columns: {category: N_h}} or None
        The columns are those of `by`, a name or a tuple of names; a category is a tuple where there are several. Every
        cell has its size.
    plan : Plan
        Of the means and shares of the cells, in any number.

    Raises
    ------
    ParameterError
        HG138: the totals do not fit the plan; nothing was read or spent.

    Examples
    --------
    >>> import pyarrow, hedgerow as hg
    >>> survey = hg.open(pyarrow.table({"x": [1.0], "sex": [0]}), relation="add-remove")
    >>> plan = survey.plan(hg.mean("x", bounds=(0, 9)), by={"sex": [0, 1]}, epsilon=1.0)
    >>> stratified({"sex": {0: 300, 1: 200}}, plan)[0]
    '(300 * mean(x | sex=0) + 200 * mean(x | sex=1)) / 500'
    """
    if totals is None:
        return ()
    sizes = _sizes(totals, plan)
    expressions: list[str] = []
    terms: dict[str, list[str]] = {}
    for estimate in _stand_ins(plan):
        if estimate.statistic in _STRATIFIED:
            terms.setdefault(str(estimate._asked_as), []).append(estimate._term())
    if not terms:
        raise unfit_totals("No mean and no share was asked for.")
    for of_cells in terms.values():
        total = " + ".join(f"{size:.15g} * {term}" for size, term in zip(sizes, of_cells, strict=True))
        expressions += [f"({total}) / {math.fsum(sizes):.15g}", total]
    return tuple(expressions)


def _sizes(totals: object, plan: Plan) -> list[float]:
    """Return the size of each cell of a plan, in its order (HG138)."""
    columns = [str(group.column) for group in plan.request.groups]
    listed = list(totals.items()) if isinstance(totals, Mapping) else []
    if len(listed) != 1 or not isinstance(listed[0][1], Mapping):
        raise unfit_totals(f"Found {format_argument(totals)}.")
    key, given = listed[0]
    named = [key] if isinstance(key, str) else list(key) if isinstance(key, Sequence) else []
    if not columns or sorted(map(str, named)) != sorted(columns):
        raise unfit_totals(f"They name {format_argument(key)}, and `by` {', '.join(columns) or 'nothing'}.")
    wanted = [tuple(cell[str(column)] for column in named) for cell in plan.labels]
    sized = {cell if isinstance(cell, tuple) else (plain(cell),): as_float(size) for cell, size in given.items()}
    if len(wanted) > MOST_STRATA or set(sized) != set(wanted):
        raise unfit_totals(f"They give {len(sized):,} sizes, not one for each of the {len(wanted):,} cells.")
    sizes = [size for size in (sized[cell] for cell in wanted) if size is not None and size > 0.0]
    if len(sizes) < len(wanted) or not math.isfinite(math.fsum(sizes)):
        raise unfit_totals("A size is no positive, finite number.")
    return sizes


def unfit_totals(finding: str) -> ParameterError:
    """Return the refusal of totals that do not fit (HG138)."""
    return ParameterError(
        "HG138",
        rule=f"`totals` gives each cell of `by`, at most {MOST_STRATA}, its size, for means and shares by cell.",
        finding=finding,
        remedy='Give the population size of each cell, for example by={"region": ["North", "South"]}, '
        'totals={("region",): {"North": 12000, "South": 8000}}.',
        shell="For example, write --by region=North,South --totals region=North:12000,South:8000.",
    )


def answered(release: Release, expressions: Sequence[str]) -> Release:
    """Return a release with the answers to expressions that were checked against its plan.

    One that cannot be answered all the same, as of a record from an earlier version, is named in a note: the release
    was paid for.
    """
    for expression in expressions:
        try:
            release = release._answering(expression)
        except ParameterError as refused:
            release = replace(release, notes=(*release.notes, f"Not answered: {expression}. {refused.finding}"))
    return release


def _stand_ins(plan: Plan) -> Iterator[Estimate]:
    """Yield an estimate for each that a plan releases, with its names and without its numbers."""
    moments: dict[int, JointTotals] = {}
    for item in plan.items:
        design = item.design
        labels = [{}] if design is None else plan.labels
        for cell, label in enumerate(labels):
            region: Region = RecordedRegion(0.0, 1.0, 0.95, "")
            if design is not None and design.function is not None:
                size = len(design.joint_features["features"])
                several = not design.knows_cells
                whole = moments.setdefault(id(design.drawn), _moments(size, plan.cells, several=several))
                region = ScoreRegion.of(JointValue.of(whole, cell, design.function))
            number = float(plan.facts.n or 0) if design is None else 1.0
            yield Estimate(
                item.statistic.name,
                item.statistic.column,
                label,
                number,
                *(0.0, 0.0, 0.0),
                PUBLIC if design is None else design.method,
                *(None, True, None),
                covers(item.statistic, plan.facts),
                region,
            )._labelled(plan.request.labels)


def _moments(size: int, cells: int, *, several: bool) -> JointTotals:
    products = np.tile(np.eye(size) * _RECORDS / 2.0, (cells, 1, 1))
    mixing = np.zeros((1 + size + size * (size + 1) // 2, 1))
    return JointTotals(np.full(cells, _RECORDS), np.zeros((cells, size)), products, mixing, "gaussian", several=several)
