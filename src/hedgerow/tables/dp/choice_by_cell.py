"""Which option a table of totals takes whose bounds were declared cell by cell: from public facts alone.

======================  ===============================================================================================
``per-cell``            noise by each cell's own reach H_i: under replace-one 2·H_i/ε (Laplace) covers whatever a record
                        does, since it moves two cells at most, whatever their number
``whole-table``         one noise for all cells, for the two largest reaches together: H₍₁₎ + H₍₂₎
======================  ===============================================================================================

Both release the same totals, of values clamped to their own cell's bounds. ``auto`` prices both, with either noise, and
takes the least sum of noise variances over the cells; up to three cells that can be the whole table's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from hedgerow.accounting.calibrate import least_noise
from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Missing
from hedgerow.facts.declared import Facts, Protection
from hedgerow.mechanisms.cell_totals import MOST_BOUNDED_CELLS, CellTotals
from hedgerow.release.designs.cell_totals import CellTotalsDesign, Scaled
from hedgerow.release.designs.choice import count_families
from hedgerow.release.designs.design import PlannedStatistic, PublicFacts
from hedgerow.release.draw.draw_cells import cell_spread
from hedgerow.release.plan import Plan
from hedgerow.release.request import Request, parse_request
from hedgerow.resampling.statistic import Asked, Sum
from hedgerow.tables.dp.cell_bounds import CellLimits, bounds_of_cells, bounds_told
from hedgerow.tables.dp.choice import Choice, check_names

Law = Literal["gaussian", "geometric"]
_NAMES = {"geometric": "two-sided geometric (Laplace) noise", "gaussian": "discrete Gaussian noise"}
_OPTIONS: dict[str, str] = {
    "per-cell": "noise by the bounds of each cell",
    "whole-table": "one noise for all cells",
}


def choose_by_cell(
    asked: Asked,
    told: Protection,
    facts: Facts | None,
    *,
    n: int | None,
    cell_bounds: object,
    method: object = "auto",
    noise: object = "auto",
    **options: Any,
) -> Choice:
    """Return the planned table of totals, each cell's values clamped to bounds of its own, with the least noise.

    Raises
    ------
    ParameterError
        HG152 bounds that do not fit; HG155 what bounds by cell do not serve; HG117 Gaussian noise at δ = 0; HG150 no
        group, HG151 an unknown option or noise; all that `parse_request` raises.
    """
    check_names(method, noise, options.get("by"))
    _check_served(told, method, noise)
    named = "moments" if noise == "gaussian" else "geometric" if noise == "geometric" else "auto"
    request = parse_request(asked, facts=facts, method=named, most_cells=MOST_BOUNDED_CELLS, **options)
    request = replace(request, notes=(*told.notes, *request.notes))
    (statistic,), (missing,) = request.statistics, request.policies
    if not isinstance(statistic, Sum) or missing is Missing.MIDPOINT:
        raise _unserved("a count" if statistic.name == "count" else 'missing="midpoint"')
    limits = bounds_of_cells(cell_bounds, request.by, statistic.column, statistic.grid)
    # Says that Gaussian noise needs δ > 0, as for any release.
    count_families(request)
    laws: tuple[Law, ...] = ("geometric",) if noise == "geometric" or request.budget.delta == 0.0 else ("gaussian",)
    if noise == "auto" and request.budget.delta > 0.0:
        laws = ("geometric", "gaussian")
    public = PublicFacts(told.relation, told.unit, told.target, n)
    scalings: tuple[Scaled, ...] = ("per-cell", "whole-table")
    wanted = [one for one in scalings if method in ("auto", one)]
    plans = {(one, law): _planned(request, public, statistic, one, law, limits) for one in wanted for law in laws}
    errors = {key: _total_variance(plan) for key, plan in plans.items()}
    best = min(errors, key=lambda key: errors[key])
    told_bounds = bounds_told(limits, request.by, statistic.grid)
    return Choice(plans[best], best[0], _reason(errors, best), cell_bounds=limits, remark=told_bounds)


def _planned(
    request: Request, facts: PublicFacts, statistic: Sum, scaled: Scaled, law: Law, limits: CellLimits
) -> Plan:
    method = "moments" if law == "gaussian" else "geometric"
    reason = f"bounds by cell: {_OPTIONS[scaled]}"
    design = CellTotalsDesign(statistic, request.by, facts, request.policies[0], law, scaled, limits, method, reason)
    found = least_noise(design.mechanism, facts.relation, request.budget)
    if not isinstance(found.mechanism, CellTotals):
        raise TypeError(found.mechanism.type)
    return Plan(request, facts, (PlannedStatistic(statistic, design, found.mechanism),), found)


def _total_variance(plan: Plan) -> float:
    """Return Σ of the noise variances of the cells' totals, in units of y²: from the very mechanism that would run."""
    mechanism = plan.items[0].mechanism
    if not isinstance(mechanism, CellTotals):
        raise TypeError("a table whose bounds differ from cell to cell has noise of its own in each")
    return float(np.square(cell_spread(mechanism)[:, 0]).sum())


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


def _check_served(told: Protection, method: object, noise: object) -> None:
    if not isinstance(told.unit, str):
        raise _unserved("a unit of several rows")
    if method == "public-membership":
        raise _unserved('method="public-membership"')
    if noise not in ("auto", "geometric", "gaussian"):
        raise _unserved(f'noise="{noise}"')


def _unserved(finding: str) -> ParameterError:
    return ParameterError(
        "HG155",
        rule="Bounds by cell are for totals of rows under dp, with geometric or Gaussian noise, missing values dropped "
        "or declared absent.",
        finding=f"The request has {finding}.",
        remedy="Leave `cell_bounds` out: every cell then has the bounds of the table.",
    )
