"""What is asked of a workload beside its columns: order, weights, known totals, hierarchies. All of it is public."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Category, Scalar
from hedgerow.facts.declared import Facts
from hedgerow.facts.validation import as_float, as_int, format_argument
from hedgerow.margins.workload import Workload, closed_sets, subsets, summed
from hedgerow.mechanisms.residual_margins import MOST_NUMBERS, ColumnSet
from hedgerow.release.cells.margins import check_hierarchies
from hedgerow.release.cells.shape import Hierarchy, TableShape

Floats = NDArray[np.float64]
CELLS_FIRST: Literal["cells"] = "cells"
"""Weights with which the largest tables have 5 % more noise than alone, and all other tables little noise."""
# Each is a remedy in Python, and the remedy in the shell.
_ORDER = ("For example, write order=3.", "For example, write --order 3.")
_WEIGHTS = (
    'For example weights={("sex", "region"): 5}, {1: 10} for the tables of one column, "equal" or "cells".',
    "For example, write --weight sex,region=5, or --weight 1=10 for tables of one column, or --weight equal or cells.",
)
_KNOWN = (
    'For example known={"sex": {"f": 5200, "m": 4800}}, with a number for every category, or () for the total.',
    "The file of --known has a line for every cell: the category of each column, then the number.",
)


def parse_workload(by: Sequence[Category], order: object) -> Workload:
    """Return all tables of these columns up to an order (HG240: the columns or the order, or too many numbers)."""
    most, sizes = as_int(order), tuple(category.levels for category in by)
    if most is None or not most >= 1:
        raise _unfit("The order of margins is a whole number from 1 on.", f"Found {format_argument(order)}.")
    single = [category.column for category in by if category.levels < 2]
    if single:
        finding = f"Column {format_argument(single[0])} has one."
        raise _unfit("Each column of margins has two categories or more.", finding, ("Leave the column out.",) * 2)
    most = min(most, len(sizes))
    numbers = sum(_elementary(sizes)[: most + 1])
    if numbers > MOST_NUMBERS:
        raise _unfit(
            f"All tables of margins together have at most {MOST_NUMBERS:,} cells, which are drawn and held at once.",
            f"Those of up to {most} of {len(sizes)} columns have {numbers:,}.",
            ("Lower the order, or take fewer columns or coarser categories.",) * 2,
        )
    return Workload.up_to(sizes, most)


def _elementary(sizes: Iterable[int]) -> list[int]:
    """Return how many cells all tables of 0, 1, 2, … columns have: the elementary symmetric sums of the sizes."""
    sums = [1]
    for size in sizes:
        sums = [a + size * b for a, b in zip([*sums, 0], [0, *sums], strict=True)]
    return sums


def named_table(name: object, by: Sequence[Category], workload: Workload, code: str) -> ColumnSet:
    """Return the table that a column, or several, name, in any order (the error of this code where there is none)."""
    listed = (name,) if isinstance(name, str) else tuple(name) if isinstance(name, (tuple, list, frozenset)) else None
    columns = [str(category.column) for category in by]
    places = None if listed is None else tuple(sorted(columns.index(one) for one in listed if one in columns))
    if listed is None or places is None or len(places) != len(listed) or places not in workload.tables:
        raise ParameterError(
            code,
            rule=f"A table of margins is named by up to {workload.order} different columns of `by`.",
            finding=f"Found {format_argument(name)}.",
            remedy=f"The columns are: {', '.join(columns)}.",
        )
    return places


def weighed(workload: Workload, weights: object, by: Sequence[Category]) -> Workload:
    """Return the workload with the weights of a call.

    By default the tables of each order weigh the same together. A number weighs the tables of an order together,
    columns weigh one table, relative to what it would have; ``"equal"`` gives every table the same. The weights of
    ``"cells"`` depend on the price, and are found later.

    Raises
    ------
    ParameterError
        HG240: an unknown table or order, or a weight that is not positive.
    """
    if weights is None or weights == CELLS_FIRST:
        return workload
    if weights == "equal":
        return workload.weighed(dict.fromkeys(workload.tables, 1.0))
    if not isinstance(weights, Mapping):
        raise _unfit("`weights` maps tables or orders to numbers.", f"Found {format_argument(weights)}.", _WEIGHTS)
    factor = dict.fromkeys(workload.tables, 1.0)
    for name, weight in weights.items():
        number = as_float(weight)
        if number is None or not 1e-9 <= number <= 1e9:
            finding = f"Found {format_argument(weight)}."
            raise _unfit("A weight of margins is a number from 1e-9 to 1e9.", finding, _WEIGHTS)
        order = as_int(name)
        if order is not None:
            tables = [table for table in workload.tables if len(table) == order]
            if not tables:
                raise _unfit(f"Margins have the orders 0 to {workload.order}.", f"Found {order}.", _WEIGHTS)
        else:
            tables = [named_table(name, by, workload, "HG240")]
        for table in tables:
            factor[table] *= number
    return workload.weighed({table: factor[table] * workload.weight(table) for table in workload.tables})


def parse_known(
    known: object, by: Sequence[Category], workload: Workload, total: int | None, *, counts: bool = True
) -> dict[ColumnSet, Floats]:
    """Return the known tables, each with every table of a part of its columns; `total` is the number of all records.

    Raises
    ------
    ParameterError
        HG241: an unknown table, a category without a number, a number that none can be, or two that contradict.

    Examples
    --------
    >>> by = (Category.declared("sex", ["f", "m"]), Category.declared("age", [1, 2]))
    >>> known = parse_known({"sex": {"f": 30, "m": 20}}, by, Workload.up_to((2, 2), 2), None)
    >>> {columns: table.tolist() for columns, table in known.items()}
    {(): 50.0, (0,): [30.0, 20.0]}
    """
    if known is not None and not isinstance(known, Mapping):
        raise _unknown("`known` maps tables to their numbers.", f"Found {format_argument(known)}.")
    tables: dict[ColumnSet, Floats] = {} if total is None else {(): np.array(float(total))}
    for name, numbers in ({} if known is None else known).items():
        columns = named_table(name, by, workload, "HG241")
        table = _numbers(numbers, [by[place] for place in columns], counts)
        for part in subsets(columns):
            total_of_part = summed(table, columns, part)
            known_part = tables.setdefault(part, total_of_part)
            if not np.allclose(known_part, total_of_part, rtol=0.0 if counts else 1e-9, atol=0.0):
                named = ", ".join(str(by[place].column) for place in part) or "all records"
                raise _unknown("Known totals agree with one another and with n.", f"Those of {named} do not.")
    return {part: tables[part] for part in sorted(tables, key=lambda part: (len(part), part))}


def closed(known: Mapping[ColumnSet, Floats]) -> frozenset[ColumnSet]:
    """Return which tables are known."""
    return closed_sets(list(known))


def parse_hierarchies(given: object, by: Sequence[Category], facts: Facts | None) -> tuple[Hierarchy, ...]:
    """Return the groups of categories of a call, and of the facts for the columns that the call says nothing about.

    Raises
    ------
    ParameterError
        HG160: a column that is not in `by`, or a name used twice. HG162: a category is in no group, or in two.

    Examples
    --------
    >>> region = Category.declared("region", ["N", "S", "W"])
    >>> parse_hierarchies({"region": {"coast": {"sea": ["N", "W"], "inland": ["S"]}}}, [region], None)[0].groups
    (('sea', ('N', 'W')), ('inland', ('S',)))
    """
    if given is not None and not isinstance(given, Mapping):
        raise _no_tree(f"Found {format_argument(given)}.")
    shown = {str(category.column): category for category in by if category.shown}
    named: dict[str, Any] = {} if given is None else {str(column): levels for column, levels in given.items()}
    for column in shown:
        declared = None if facts is None else facts.column(column).hierarchies
        if declared is not None and column not in named:
            named[column] = declared
    hierarchies = []
    for column, levels in named.items():
        # A file names categories by texts.
        labels = {str(label): label for label in TableShape.of([shown[column]]).labels(0)} if column in shown else {}
        if not isinstance(levels, Mapping):
            raise _no_tree(f"That of {column!r} is none.")
        for name, groups in levels.items():
            if not isinstance(groups, Mapping) or not all(isinstance(part, (list, tuple)) for part in groups.values()):
                raise _no_tree(f"The groups {name!r} of column {column!r} are none.")
            members: dict[Scalar, list[Scalar]] = {
                str(group): [labels.get(str(member), member) for member in part] for group, part in groups.items()
            }
            hierarchies.append(Hierarchy.of(column, str(name), members))
    shape = TableShape.of(shown.values())
    check_hierarchies(shape, hierarchies)
    for hierarchy in hierarchies:
        hierarchy.codes(shape.axes[shape.columns.index(hierarchy.column)])
    return tuple(hierarchies)


def _no_tree(finding: str) -> ParameterError:
    return ParameterError(
        "HG162",
        rule="A hierarchy puts every category of a column into one group.",
        finding=finding,
        remedy='List the categories of each group, for example hierarchies={"region": {"country": {"England": ["N", '
        '"S"], "Wales": ["W"]}}}.',
        shell="A file of --hierarchy has a line for every category: the category, then its group at each level.",
    )


def _numbers(numbers: object, by: Sequence[Category], counts: bool) -> Floats:
    """Return the numbers of a table as an array: given as one, or by categories, which texts name too."""
    shape = tuple(category.levels for category in by)
    if isinstance(numbers, Mapping):
        cells = list(product(*([category.label(level) for level in range(category.levels)] for category in by)))
        given = {_texts(cell): number for cell, number in numbers.items()}
        if len(given) < len(numbers) or set(given) != {_texts(cell) for cell in cells}:
            named = ", ".join(str(category.column) for category in by)
            raise _unknown("A known table has one number for every cell.", f"That of {named or 'all'} has not.")
        numbers = [given[_texts(cell)] for cell in cells]
    try:
        table = np.asarray(numbers, dtype=np.float64).reshape(shape)
    except (TypeError, ValueError):
        raise _unknown("A known table has one number for every cell.", "One is no table of its columns.") from None
    if not np.isfinite(table).all() or (counts and not ((table >= 0.0) & (table == np.rint(table))).all()):
        raise _unknown("Known counts are whole numbers from 0 on, known totals are finite.", "One is not.")
    return table


def _texts(cell: Any) -> tuple[str, ...]:
    return tuple(map(str, cell)) if isinstance(cell, tuple) else (str(cell),)


def _unfit(rule: str, finding: str, remedies: tuple[str, str] = _ORDER) -> ParameterError:
    return ParameterError("HG240", rule=rule, finding=finding, remedy=remedies[0], shell=remedies[1])


def _unknown(rule: str, finding: str) -> ParameterError:
    return ParameterError("HG241", rule=rule, finding=finding, remedy=_KNOWN[0], shell=_KNOWN[1])
