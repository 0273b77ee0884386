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
two-sided geometric (Laplace) or discrete Gaussian. Each is planned as a release plans it, and a sum of rows also about
zero, which is less noise for some bounds. The plan is taken whose intervals are narrowest where a cell is empty: their
error is √(τ² + s/2), with τ the noise on a number and s that on its second moment. Units of several rows take what a
release of them takes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.declared import Facts, Protection
from hedgerow.facts.given import format_argument
from hedgerow.release.designs.design import Design
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
    option = "public-membership" if membership else "whole-table"
    most = MOST_UNIT_CELLS if units else MOST_CELLS

    def chosen(noise: str, reason: str, *, about_zero: bool = False) -> Choice:
        context = Context(most_cells=most, membership=membership, about_zero=about_zero)
        estimator = "moments" if noise == "gaussian" and asked.kind == "sum" and not units else "auto"
        plan = planned(asked, protection, facts, n=n, context=context, noise=noise, estimator=estimator, **options)
        (item,) = plan.items
        return Choice(plan, option, reason or (item.design.reason if item.design else ""))

    def best(noise: str, reason: str) -> Choice:
        first = chosen(noise, reason)
        if units or membership or asked.kind != "sum":
            return first
        return min(first, chosen(noise, reason, about_zero=True), key=lambda one: one.empty_cell_error)

    if units or law == AVERAGED_LAPLACE:
        return best(law, "" if units else "averaged Laplace noise was asked for")
    if law != "auto":
        return best(law, f"{_LAWS[law]} noise was asked for")
    pure = best("laplace", "a pure guarantee (δ = 0) takes two-sided geometric (Laplace) noise")
    return pure if pure.plan.request.budget.delta == 0.0 else _narrower(pure, best("gaussian", ""))


_LAWS = {"laplace": "geometric", "gaussian": "Gaussian"}


def _narrower(pure: Choice, gaussian: Choice) -> Choice:
    one, other = pure.empty_cell_error, gaussian.empty_cell_error
    ratio = f"{max(one, other) / min(one, other):.3g}"
    if one <= other:
        said = f"two-sided geometric (Laplace) noise: at this budget Gaussian noise would be {ratio} times as wide"
        return replace(pure, reason=said)
    said = f"discrete Gaussian noise: at this budget geometric (Laplace) noise would be {ratio} times as wide"
    return replace(gaussian, reason=said)


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
