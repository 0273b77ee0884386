"""Releases of more than 100,000 cells: what they may hold, and what their record lists.

Up to 100,000 cells a record lists each estimate. A record of more cells has the same fields, and lists no estimate and
no moments of a cell: both follow from the request, the noisy numbers and the certificate, and are computed from these
when the record is read. The field ``not_listed`` says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hedgerow.errors import ParameterError
from hedgerow.release.request import LISTED_CELLS, Request

if TYPE_CHECKING:
    from hedgerow.release.designs.design import PlannedStatistic

MOST_CELLS, MOST_NUMBERS = 1_000_000, 4_000_000
NOT_LISTED = "not_listed"
_WHY = (
    "The record of more than 100,000 cells lists no estimates. They follow from request, noisy and certificate; "
    "in Python, hg.Release.from_json computes them."
)


def check_many_cells(items: Sequence[PlannedStatistic], request: Request, cells: int) -> None:
    """Refuse more than 100,000 cells of what is not held as arrays, and more noisy numbers than fit into memory.

    Raises
    ------
    ParameterError
        HG107. It follows from public facts; nothing was spent.
    """
    if cells <= LISTED_CELLS:
        return
    arrays = all(item.design is not None and item.design.many_cells for item in items) and not request.labels
    drawn = {id(item.design.drawn): len(item.design.added_up(item.mechanism)) for item in items if item.design}
    if arrays and (numbers := sum(drawn.values())) * cells <= MOST_NUMBERS:
        return
    raise ParameterError(
        "HG107",
        rule=f"A release of more than {LISTED_CELLS:,} cells holds counts, sums, means and functions of means, no "
        f"replicates, distributions or labels, and at most {MOST_NUMBERS:,} noisy numbers.",
        finding=f"The declared categories make {cells:,} cells"
        + (f", of {numbers:,} noisy numbers each." if arrays else ", and the call asks for more."),
        remedy="Use fewer or coarser groups, or ask for fewer statistics in one call.",
    )


def not_listed(methods: Sequence[str], cells: int, level: float) -> dict[str, Any]:
    """Return the field that stands for the estimates: the method of each statistic, how many cells, the level."""
    return {"cells": cells, "methods": list(methods), "level": level, "why": _WHY}
