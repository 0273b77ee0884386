"""Expressions that are asked together with a release: refused before anything is read, answered after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.facts.given import kind_of
from hedgerow.inference.estimate import PUBLIC, Estimate, IntervalBasis, RecordedBasis
from hedgerow.inference.joint.arithmetic import JointValue
from hedgerow.inference.joint.totals import JointTotals
from hedgerow.release.ask import ask
from hedgerow.release.designs.counts import CountsDesign
from hedgerow.release.designs.design import covers
from hedgerow.release.designs.joint import JointStatistic
from hedgerow.release.plan import Plan, drawn_of
from hedgerow.release.result import Release

_RECORDS = 1000.0  # of a cell, where nothing was read yet


def check_expressions(expressions: Sequence[str], plan: Plan) -> tuple[str, ...]:
    """Return the expressions, if the release of a plan will hold all that they ask for.

    Raises
    ------
    ParameterError
        HG136, HG137, HG130 as in `hedgerow.release.ask`; nothing was read or spent.
    """
    if isinstance(expressions, str) or not all(isinstance(one, str) for one in expressions):
        found = kind_of(expressions) if isinstance(expressions, str) else "what is no text"
        raise ParameterError(
            "HG136",
            rule="Expressions are asked as a list of texts.",
            finding=f"Found {found}.",
            remedy="Write one text in a list too.",
        )
    if expressions:
        stand_ins = [list(_stand_ins(plan))]
        for one in expressions:
            ask(one, stand_ins)
    return tuple(expressions)


def answered(release: Release, expressions: Sequence[str]) -> Release:
    """Return a release with the answers to expressions that were checked against its plan.

    One that cannot be answered all the same, as of a record from an earlier version, is named in a note: the release
    was paid for.
    """
    for one in expressions:
        try:
            release = release.answering(one)
        except ParameterError as refused:
            release = replace(release, notes=(*release.notes, f"Not answered: {one}. {refused.finding}"))
    return release


def _stand_ins(plan: Plan) -> Iterator[Estimate]:
    """Yield an estimate for each that a plan releases, with its names and without its numbers."""
    moments: dict[int, JointTotals] = {}
    for item in plan.items:
        design = item.design
        labels = [{}] if design is None else plan.labels
        for cell, label in enumerate(labels):
            basis: IntervalBasis = RecordedBasis(0.0, 1.0, 0.95, "")
            if isinstance(design, (JointStatistic, CountsDesign)):
                size = len(design.joint_features["features"])
                whole = moments.setdefault(id(drawn_of(design)), _moments(size, plan.cells))
                basis = JointValue.of(whole, cell, design.function)
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
                basis,
            ).labelled(plan.request.labels)


def _moments(size: int, cells: int) -> JointTotals:
    products = np.tile(np.eye(size) * _RECORDS / 2.0, (cells, 1, 1))
    mixing = np.zeros((1 + size + size * (size + 1) // 2, 1))
    return JointTotals(np.full(cells, _RECORDS), np.zeros((cells, size)), products, mixing, "gaussian")
