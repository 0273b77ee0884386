"""Which of the options under ordinary differential privacy a table takes: from public facts, before data are read.

======================  ===============================================================================================
``whole-table``         one sensitivity for all cells: a record may lie in any of them, or, where a value can be
                        missing, in none; replaced, it moves two cells
``public-membership``   the cell of every record is declared public: replaced, it moves one cell, by U − L at most
``per-cell``            refused here (HG411): it pays where bounds differ from cell to cell, which is what `cell_bounds`
                        declares (`hedgerow.tables.dp.choice_by_cell`). With bounds for the table as a whole two cells
                        move by the same, whatever their number, so a split budget only adds noise
======================  ===============================================================================================

Public membership is never assumed: only a caller who names it gets it. ``auto`` is therefore a choice of noise:
two-sided geometric (Laplace) or discrete Gaussian, whichever has the smaller standard deviation at this budget.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.declared import Facts, Protection
from hedgerow.facts.given import format_argument
from hedgerow.mechanisms.mechanism import (
    Counts,
    Moments,
)
from hedgerow.release.options import AVERAGED_LAPLACE
from hedgerow.release.plan import Plan, planned
from hedgerow.release.request import Context, gaussian_in_mu, parse_noise
from hedgerow.statistics.statistic import Asked

# A cell is a few numbers of a few arrays here, not an object of its own.
MOST_CELLS = 5_000_000
MOST_UNIT_CELLS = 100_000
OPTIONS = ("auto", "whole-table", "public-membership", "per-cell")


@dataclass(frozen=True, slots=True)
class Choice:
    """A planned table: the option it takes and why, and the plan with its price.

    Where bounds were declared by cell, ``cell_bounds`` are their grid indices and ``remark`` says them in words.
    """

    plan: Plan
    option: str
    reason: str
    cell_bounds: tuple[tuple[int, int], ...] | None = None
    remark: str | None = None

    def public_record(self) -> dict[str, Any]:
        """Return the request as plain JSON data: what tells it from another, all of it public."""
        bounds = {} if self.cell_bounds is None else {"cell_bounds": [list(pair) for pair in self.cell_bounds]}
        return {**self.plan.public_record(), "table": self.option, **bounds}


def choose(
    asked: Asked,
    protection: Protection,
    facts: Facts | None,
    *,
    n: int | None,
    sensitivity: object = "auto",
    noise: object = "auto",
    **options: Any,
) -> Choice:
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
            rule="Per-cell sensitivities under dp need bounds that differ from cell to cell.",
            finding="Bounds are declared for the table as a whole, so every cell has the same.",
            remedy='Declare them with cell_bounds={…}; or take sensitivity="whole-table": no split has less noise.',
        )
    units = not isinstance(protection.unit, str)
    membership = sensitivity == "public-membership"
    context = Context(most_cells=MOST_UNIT_CELLS if units else MOST_CELLS, membership=membership, table=True)

    def plan_with(noise: str, estimator: str = "auto") -> Plan:
        return planned(asked, protection, facts, n=n, context=context, noise=noise, estimator=estimator, **options)

    def gaussian() -> Plan:
        return plan_with("gaussian", "moments" if asked.kind == "sum" else "auto")

    option = "public-membership" if membership else "whole-table"
    if law == AVERAGED_LAPLACE:
        return Choice(plan_with(law), option, "averaged Laplace noise was asked for")
    if units:
        return Choice(plan_with("auto"), option, "units of several rows: replicates of unit totals")
    if law == "laplace":
        return Choice(plan_with(law), option, "geometric noise was asked for")
    if law == "gaussian":
        return Choice(gaussian(), option, "Gaussian noise was asked for")
    pure = plan_with("laplace")
    if pure.request.budget.delta == 0.0:
        return Choice(pure, option, "a pure guarantee (δ = 0) takes two-sided geometric (Laplace) noise")
    return _less_noise(pure, gaussian(), option)


def _less_noise(pure: Plan, gaussian: Plan, option: str) -> Choice:
    one, other = noise_sd(pure), noise_sd(gaussian)
    ratio = f"{max(one, other) / min(one, other):.3g}"
    if one <= other:
        said = f"two-sided geometric (Laplace) noise: at this budget Gaussian noise would be {ratio} times as wide"
        return Choice(pure, option, said)
    said = f"discrete Gaussian noise: at this budget geometric (Laplace) noise would be {ratio} times as wide"
    return Choice(gaussian, option, said)


def noise_sd(plan: Plan) -> float:
    """Return the standard deviation of the noise on a cell, in units of what is added up."""
    (item,) = plan.items
    if isinstance(item.mechanism, Counts):
        return item.mechanism.noise_sd
    if isinstance(item.mechanism, Moments):
        return item.mechanism.noise_law.sd(item.mechanism.noise.total.in_units)
    raise TypeError(type(item.mechanism).__name__)


def check_names(sensitivity: object, noise: object, by: object) -> str:
    """Return the law of the noise; refuse a table without groups (HG150), an unknown sensitivity or noise (HG151)."""
    if not by:
        raise ParameterError(
            "HG150",
            rule="A table has one `by` column or more.",
            finding="None was given.",
            remedy='For example by={"sex": [0, 1]}; one number for everybody is survey.sum or survey.count.',
            shell="For example --by sex=0,1; one number for everybody is hedgerow release with --sum or --count.",
        )
    if not isinstance(sensitivity, str) or sensitivity not in OPTIONS:
        raise ParameterError(
            "HG151",
            rule="`sensitivity` of a table must be one of " + ", ".join(f'"{one}"' for one in OPTIONS) + ".",
            finding=f"Found {format_argument(sensitivity)}.",
            remedy='Leave it at "auto", which chooses from public facts and says why.',
        )
    return parse_noise(noise, code="HG151")
