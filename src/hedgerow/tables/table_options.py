"""Which of the options under ordinary differential privacy a table takes: from public facts, before data are read.

======================  ===============================================================================================
``whole-table``         one sensitivity for all cells: a record may lie in any of them, or, where a value can be
                        missing, in none; replaced, it moves two cells
``public-membership``   the cell of every record is declared public: replaced, it moves one cell, by U − L at most
``per-cell``            refused here (HG411): it pays where bounds differ from cell to cell, which is what `cell_bounds`
                        declares (`hedgerow.tables.table_options`). With bounds for the table as a whole two cells
                        move by the same, whatever their number, so a split budget only adds noise
======================  ===============================================================================================

Public membership is never assumed: only a caller who names it gets it. ``auto`` is therefore a choice of noise:
two-sided geometric (Laplace) or discrete Gaussian. Each is planned as a release plans it, and a sum of rows also about
zero, which is less noise for some bounds. The plan is taken whose intervals are narrowest where a cell is empty: their
error is √(τ² + s/2), with τ the noise on a number and s that on its second moment. Units of several rows take what a
release of them takes.

Which option a table of totals takes whose bounds were declared cell by cell: from public facts alone.

======================  ===============================================================================================
``per-cell``            noise by each cell's own reach H_i: under replace-one 2·H_i/ε (Laplace) covers whatever a record
                        does, since it moves two cells at most, whatever their number
``whole-table``         one noise for all cells, for the two largest reaches together: H₍₁₎ + H₍₂₎
======================  ===============================================================================================

Both release the same totals, of values clamped to their own cell's bounds. ``auto`` prices both, with either noise, and
takes the least sum of noise variances over the cells; up to three cells that can be the whole table's.

Bounds by cell are written as a statistician writes them and put on the grid of the whole table. ``bounds`` are those of
the table: of every cell that is not named, and the frame within which the others lie. Then

* ``cell_bounds={"status": {"share": (0, 9_000), "mixed": (0, 15_000)}}``: by the categories of one column;
* ``cell_bounds={("share", "trad"): (0, 4_000)}``: by cell, categories in the order of ``by``; in a table by one column
  the category alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from hedgerow.accounting.calibrate import least_noise
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.columns import Category, Grid, Missing
from hedgerow.facts.declared import Facts, Protection
from hedgerow.facts.validation import format_argument, one_of
from hedgerow.mechanisms.bounded_totals import MOST_BOUNDED_CELLS
from hedgerow.release.cells.shape import TableShape
from hedgerow.release.designs.design import Design, PlannedStatistic, PublicFacts
from hedgerow.release.designs.design_of_statistic import laws_of_counts
from hedgerow.release.designs.sums import CellTotalsDesign, Scaled
from hedgerow.release.options import AVERAGED_LAPLACE, Estimator
from hedgerow.release.plan import Plan, planned
from hedgerow.release.request import CHOSEN_BY_ITSELF, Context, Request, gaussian_in_mu, parse_noise, parse_request
from hedgerow.statistics.statistic import Statistic, StatisticRequest

# A cell is a few numbers of a few arrays here, not an object of its own.
MOST_CELLS = 5_000_000
MOST_UNIT_CELLS = 100_000
OPTIONS = ("auto", "whole-table", "public-membership", "per-cell")


@dataclass(frozen=True, slots=True)
class TableChoice:
    """A planned table: the option it takes and why, and the plan with its price."""

    plan: Plan
    option: str
    reason: str

    @property
    def design(self) -> Design[Any, Any]:
        """How the one statistic is released."""
        (item,) = self.plan.items
        design: Design[Any, Any] = item.design  # type: ignore[assignment]  # what counts or adds up by groups is not public
        return design

    def public_record(self) -> dict[str, Any]:
        """Return the request as plain JSON data: what tells it from another, all of it public."""
        bounds = self.design.cell_bounds
        named = {} if bounds is None else {"cell_bounds": [list(pair) for pair in bounds]}
        return {**self.plan.public_record(), "table": self.option, **named}

    @property
    def empty_cell_error(self) -> float:
        """The error that the interval of an empty cell shows: √(τ² + s/2)."""
        (item,) = self.plan.items
        assert item.mechanism is not None
        total, square = self.design.table_noise(item.mechanism)
        return math.sqrt(total**2 + 0.5 * square)


def choose(
    asked: StatisticRequest,
    protection: Protection,
    facts: Facts | None,
    *,
    n: int | None,
    sensitivity: object = "auto",
    noise: object = "auto",
    **options: Any,
) -> TableChoice:
    """Return the planned table of least error among what was asked for.

    Raises
    ------
    ParameterError
        HG150 no group, HG151 an unknown option or noise; all that `planned` raises.
    UncertifiedError
        HG410 public membership where something else stays private; HG411 per-cell sensitivities.
    """
    law = gaussian_in_mu(check_names(sensitivity, noise, options.get("by")), options)
    if sensitivity == "per-cell":
        raise UncertifiedError(
            "HG411",
            rule="Per-cell sensitivities under dp need different bounds for different cells.",
            finding="Only bounds of the whole table are declared, so every cell has the same bounds.",
            remedy="Declare different bounds with cell_bounds={…}; or use sensitivity='whole-table', which has the "
            "smallest noise if all cells have the same bounds.",
        )
    # Rows that are added up, of a unit or weighted ones, have the joint moments of a release.
    totalled = not isinstance(protection.unit, str) or options.get("weights") is not None
    membership = sensitivity == "public-membership"
    option = "public-membership" if membership else "whole-table"
    most = MOST_UNIT_CELLS if totalled else MOST_CELLS

    def chosen(noise: str, reason: str, *, about_zero: bool = False) -> TableChoice:
        context = Context(most_cells=most, membership=membership, about_zero=about_zero)
        estimator: Estimator = "moments" if noise == "gaussian" and asked.kind == "sum" and not totalled else "auto"
        plan = planned(asked, protection, facts, n=n, context=context, noise=noise, estimator=estimator, **options)
        (item,) = plan.items
        return TableChoice(plan, option, reason or (item.design.reason if item.design else ""))

    def best(noise: str, reason: str) -> TableChoice:
        first = chosen(noise, reason)
        if totalled or membership or asked.kind != "sum":
            return first
        return min(first, chosen(noise, reason, about_zero=True), key=lambda choice: choice.empty_cell_error)

    if totalled or law == AVERAGED_LAPLACE:
        return best(law, "" if totalled else "averaged Laplace noise was asked for")
    if law != "auto":
        return best(law, f"{_LAWS[law]} noise was asked for")
    pure = best("laplace", "a pure guarantee (δ = 0) takes two-sided geometric (Laplace) noise")
    return pure if pure.plan.request.budget.delta == 0.0 else _narrower(pure, best("gaussian", ""))


_LAWS = {"laplace": "geometric", "gaussian": "Gaussian"}


def _narrower(pure: TableChoice, gaussian: TableChoice) -> TableChoice:
    error, other = pure.empty_cell_error, gaussian.empty_cell_error
    ratio = f"{max(error, other) / min(error, other):.3g}"
    if error <= other:
        said = f"two-sided geometric (Laplace) noise: at this budget Gaussian noise would be {ratio} times as wide"
        return replace(pure, reason=said)
    said = f"discrete Gaussian noise: at this budget geometric (Laplace) noise would be {ratio} times as wide"
    return replace(gaussian, reason=said)


def check_names(sensitivity: object, noise: object, by: object) -> str:
    """Return the law of the noise; refuse a table without groups (HG150), an unknown sensitivity or noise (HG151)."""
    if not by:
        raise ParameterError(
            "HG150",
            rule="A table needs at least one column in `by`.",
            finding="No column was given.",
            remedy='Name the group columns with their categories, for example by={"sex": [0, 1]}. For one number '
            "about all records, use survey.sum or survey.count.",
            shell="For example --by sex=0,1; one number for everybody is hedgerow release with --sum or --count.",
        )
    one_of(sensitivity, OPTIONS, "`sensitivity` of a table", code="HG151", remedy=CHOSEN_BY_ITSELF)
    return parse_noise(noise, code="HG151")


CellLimits = tuple[tuple[int, int], ...]
_IN_SHELL = "For example, write --cell-bounds north:0:500, or --cell-bounds north,female:0:500."
_EXAMPLE = 'For example {"region": {"north": (0, 500)}}, or {("north", "female"): (0, 500)} by ["region", "sex"].'


def bounds_of_cells(given: object, by: tuple[Category, ...], column: str, grid: Grid) -> CellLimits:
    """Return the bounds of each cell as indices of the table's grid, in the order of its cells.

    Raises
    ------
    ParameterError
        HG105 an invalid pair; HG152 a cell or category that the table does not have, one named twice, bounds beyond
        those of the table or between two steps of its grid.

    Examples
    --------
    >>> by = (Category.declared("status", ["owner", "share"]), Category.declared("kind", [1, 2]))
    >>> grid = Grid.from_bounds("output", (0, 20_000), 10)
    >>> bounds_of_cells({"status": {"share": (0, 9_000)}}, by, "output", grid)
    ((0, 2000), (0, 2000), (0, 900), (0, 900))
    >>> bounds_of_cells({("owner", 2): (500, 9_000)}, by, "output", grid)
    ((0, 2000), (50, 900), (0, 2000), (0, 2000))
    """
    if not isinstance(given, Mapping) or not given:
        raise _unfit(
            "`cell_bounds` is a mapping from cells, or from categories of one column, to bounds.", "Found none."
        )
    shape = TableShape.of(by)
    by_cell: dict[int, tuple[int, int]] = {}
    for places, pair in _named(given, shape):
        limits = _on_grid(column, pair, grid)
        for place in places:
            if place in by_cell:
                raise _unfit("Every cell is given bounds once.", "One is named twice.")
            by_cell[place] = limits
    return tuple(by_cell.get(place, (0, grid.steps)) for place in range(shape.size))


def _named(given: Mapping[Any, Any], shape: TableShape) -> Iterator[tuple[list[int], object]]:
    """Yield the cells that are named together, with what was given for them."""
    nested = [isinstance(value, Mapping) for value in given.values()]
    if any(nested):
        (name, bounds), *more = given.items()
        if more or name not in shape.columns:
            raise _unfit("Bounds by category are those of one column of `by`.", "Found another, or more than one.")
        labels, (axis,) = shape.labels(name), shape.axis_places([name])
        levels = np.unravel_index(np.arange(shape.size), shape.shape)[axis]
        for category, pair in bounds.items():
            if category not in labels:
                raise _unfit(f"Bounds by {name} name its categories in `by`.", f"Found {format_argument(category)}.")
            yield np.flatnonzero(levels == labels.index(category)).tolist(), pair
        return
    for key, pair in given.items():
        cell = key if isinstance(key, tuple) else (key,)
        known = len(cell) == len(shape.axes) and all(
            category in axis.labels for category, axis in zip(cell, shape.axes, strict=True)
        )
        if not known:
            columns = ", ".join(shape.columns)
            raise _unfit(
                f"A cell is named by one category each of {columns}, in this order.", f"Found {format_argument(key)}."
            )
        yield [shape.place(dict(zip(shape.columns, cell, strict=True)))], pair


def _on_grid(column: str, pair: object, grid: Grid) -> tuple[int, int]:
    own = Grid.from_bounds(column, pair)
    low, high = ((end - grid.lower) / grid.step for end in (own.lower, own.upper))
    ends = f"[{float(own.lower):g}, {float(own.upper):g}]"
    if low < 0 or high > grid.steps:
        frame = "[{:g}, {:g}]".format(*grid.as_bounds())
        raise _unfit("The bounds of a cell lie within those of the table.", f"Found {ends}, not within {frame}.")
    if low.denominator != 1 or high.denominator != 1:
        step = f"{float(grid.step):g}"
        raise _unfit("The bounds of a cell are whole steps from those of the table.", f"{ends} with a step of {step}.")
    return int(low), int(high)


def _unfit(rule: str, finding: str) -> ParameterError:
    return ParameterError("HG152", rule=rule, finding=finding, remedy=_EXAMPLE, shell=_IN_SHELL)


Law = Literal["gaussian", "geometric"]
_NAMES = {"geometric": "two-sided geometric (Laplace) noise", "gaussian": "discrete Gaussian noise"}
_OPTIONS: dict[str, str] = {
    "per-cell": "noise by the bounds of each cell",
    "whole-table": "one noise for all cells",
}


def choose_by_cell(
    asked: StatisticRequest,
    protection: Protection,
    facts: Facts | None,
    *,
    n: int | None,
    cell_bounds: object,
    sensitivity: object = "auto",
    noise: object = "auto",
    **options: Any,
) -> TableChoice:
    """Return the planned table of totals, each cell's values clamped to bounds of its own, with the least noise.

    Raises
    ------
    ParameterError
        HG152 bounds that do not fit; HG155 what bounds by cell do not serve; HG117 Gaussian noise at δ = 0; HG150 no
        group, HG151 an unknown option or noise; all that `parse_request` raises.
    """
    named = gaussian_in_mu(check_names(sensitivity, noise, options.get("by")), options)
    _check_served(protection, sensitivity, named, weighted=options.get("weights") is not None)
    context = Context(facts=facts, most_cells=MOST_BOUNDED_CELLS, related=protection.related)
    estimator: Estimator = "moments" if named == "gaussian" else "auto"
    request = parse_request(asked, context=context, estimator=estimator, noise=named, **options)
    request = replace(request, notes=(*protection.notes, *request.notes))
    (statistic,), (missing,) = request.statistics, request.policies
    if statistic.column is None or missing is Missing.MIDPOINT:
        raise _unserved("a count" if statistic.is_count else 'missing="midpoint"')
    limits = bounds_of_cells(cell_bounds, request.by, statistic.column, statistic.grid)
    public = PublicFacts(protection.relation, protection.unit, protection.target, n)
    # Says that Gaussian noise needs δ > 0, as for any release.
    laws_of_counts(request, public)
    laws: tuple[Law, ...] = ("geometric",) if named == "laplace" or request.budget.delta == 0.0 else ("gaussian",)
    if named == "auto" and request.budget.delta > 0.0:
        laws = ("geometric", "gaussian")
    scalings: tuple[Scaled, ...] = ("per-cell", "whole-table")
    wanted = [scaling for scaling in scalings if sensitivity in ("auto", scaling)]
    plans = {
        (scaling, law): _planned(request, public, statistic, scaling, law, limits) for scaling in wanted for law in laws
    }
    errors = {key: variance for key, (_, variance) in plans.items()}
    best = min(errors, key=lambda key: errors[key])
    return TableChoice(plans[best][0], best[0], _reason(errors, best))


def _planned(
    request: Request, facts: PublicFacts, statistic: Statistic, scaled: Scaled, law: Law, limits: CellLimits
) -> tuple[Plan, float]:
    """Return a plan with Σ of the noise variances of the cells' totals, in units of y²: of the very mechanism."""
    method = "moments" if law == "gaussian" else "geometric"
    reason = f"bounds by cell: {_OPTIONS[scaled]}"
    design = CellTotalsDesign(statistic, request.by, facts, request.policies[0], law, scaled, limits, method, reason)
    calibrated = least_noise(design.mechanism, facts.relation, request.budget)
    plan = Plan(request, facts, (PlannedStatistic(statistic, design, calibrated.mechanism),), calibrated)
    return plan, float(np.square(calibrated.mechanism.spread[:, 0]).sum())


def _reason(errors: dict[tuple[Scaled, Law], float], best: tuple[Scaled, Law]) -> str:
    """Return why, in a sentence: against the best of the other option, and the best of the other noise."""
    said = f"{_OPTIONS[best[0]]}, {_NAMES[best[1]]}"
    against = []
    for place, names in ((0, _OPTIONS), (1, _NAMES)):
        others = {key: error for key, error in errors.items() if key[place] != best[place]}
        if others:
            least = min(others, key=lambda key: others[key])
            ratio = f"{(others[least] / errors[best]) ** 0.5:.3g}"
            against.append(f"{names[least[place]]} would be {ratio} times as wide")
    if not against:
        return f"{said}: asked for"
    return f"{said}: at this budget, in the root mean square over cells, {' and '.join(against)}"


def _check_served(protection: Protection, sensitivity: object, noise: str, *, weighted: bool) -> None:
    if not isinstance(protection.unit, str):
        raise _unserved("a unit of several rows")
    if weighted:
        raise _unserved("weights")
    if sensitivity == "public-membership":
        raise _unserved('sensitivity="public-membership"')
    if noise not in ("auto", "laplace", "gaussian"):
        raise _unserved(f'noise="{noise}"')


def _unserved(finding: str) -> ParameterError:
    return ParameterError(
        "HG155",
        rule="Bounds by cell are for totals of rows under dp, with Laplace or Gaussian noise, and with missing values "
        "dropped or declared absent.",
        finding=f"The request has {finding}.",
        remedy="Leave `cell_bounds` out. Without bounds by cell, every cell has the bounds of the table.",
    )
