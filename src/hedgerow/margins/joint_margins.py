"""Cells of any tables of one workload to compute with: their joint law, sampling and noise.

Each cell is a feature of a record: 1 where the record is in it, else 0. The product of two features counts the records
that are in both cells. That count is 0 where the cells contradict each other, and else a cell of the table by the
columns of both; where that table is not in the workload, how the two cells vary together about a population is not
known. All of these numbers are linear in the residuals, so the covariance of their noise is known exactly.

A unit that adds between 0 and R to a cell has the feature x/R. The product of two features is then at most what is in
both cells over R (`margin_table`), and that bound stands in the place of the product.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations_with_replacement

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.inference.joint.arithmetic import JointValue
from hedgerow.inference.joint.functions import ScaledMean, SumOfTotals
from hedgerow.inference.joint.totals import JointTotals
from hedgerow.margins.residuals import Place, TableResiduals

_WHOLE: Place = ((), ())


def both(first: Place, second: Place) -> Place | None:
    """Return the cell of the records that are in both cells; None where there can be none.

    >>> both(((0,), (1,)), ((2,), (0,))), both(((0,), (1,)), ((0, 2), (0, 0)))
    (((0, 2), (1, 0)), None)
    """
    here, there = (dict(zip(*place, strict=True)) for place in (first, second))
    if any(here[place] != there[place] for place in here if place in there):
        return None
    together = dict(sorted((here | there).items()))
    return tuple(together), tuple(together.values())


def value_of(residuals: TableResiduals, place: Place) -> float:
    """Return the number of a cell."""
    columns, levels = place
    return float(residuals.table(columns)[levels])


def joint_values(
    residuals: TableResiduals,
    places: Sequence[Place],
    *,
    n: int | None,
    census: bool,
    limits: tuple[float, float],
    largest: float,
) -> list[JointValue]:
    """Return the cells as values to compute with, in their order: one joint law holds for all of them.

    `limits` are the least and the most that a cell can be, and `largest` is the most that a unit adds to one.

    Raises
    ------
    ParameterError
        HG130: the table that two of them need together is not in the workload.
    """
    pairs = list(combinations_with_replacement(places, 2))
    together = [both(*pair) for pair in pairs]
    known = set(residuals.workload.tables)
    if not census and any(place is not None and place[0] not in known for place in together):
        raise ParameterError(
            "HG130",
            rule="Two cells of margins can be combined only if one of the released tables is by the columns of both "
            "cells: such a table shows how the two cells vary together.",
            finding="A table by the columns of both cells has more columns than the largest released table.",
            remedy='Release margins of a higher order, or open the source with target="file".',
        )
    # About the file itself there is no sampling, and no product is read.
    products = [place if place is not None and place[0] in known else None for place in together]
    numbers: list[Place | None] = [_WHOLE, *places, *products]
    values = np.array([0.0 if place is None else value_of(residuals, place) for place in numbers]) / largest
    covariance = np.array(
        [[0.0 if None in (a, b) else residuals.noise_covariance(a, b) for b in numbers] for a in numbers]  # type: ignore[arg-type]  # of two cells
    )
    spread, vectors = np.linalg.eigh(covariance)
    size = len(places)
    squares = np.zeros((size, size))
    squares[np.triu_indices(size)] = values[1 + size :]
    squares = np.triu(squares) + np.triu(squares, 1).T
    totals = JointTotals(
        values[:1],
        values[None, 1 : 1 + size],
        squares[None],
        vectors * np.sqrt(np.maximum(spread, 0.0)) / largest,
        "gaussian",
        n,
        census=census,
    )
    cells = [ScaledMean(place, half=largest) for place in range(1, 1 + size)]
    return [JointValue.of(totals, 0, SumOfTotals(cell, limits=limits)) for cell in cells]


def place_of(cell: Mapping[str, object], axes: Sequence[tuple[str, Sequence[str], Sequence[str]]]) -> Place:
    """Return a cell given as {column: category}, a category by what it prints as or by its label.

    Parameters
    ----------
    cell : mapping
    axes : sequence of (column, categories as texts, labels)

    Raises
    ------
    ParameterError
        HG137: a column or a category that there is not.
    """
    found = {}
    names = [column for column, _, _ in axes]
    for column, category in cell.items():
        texts, labels = axes[names.index(column)][1:] if column in names else ((), ())
        listed = texts if str(category) in texts else labels
        if str(category) not in listed:
            raise ParameterError(
                "HG137",
                rule="A cell of margins names columns, each with one of its categories.",
                finding=f"Column {str(column)!r} is not among them, or has no category {str(category)!r}.",
                remedy=f"The columns are: {', '.join(names)}.",
            )
        found[names.index(column)] = listed.index(str(category))
    ordered = dict(sorted(found.items()))
    return tuple(ordered), tuple(ordered.values())
