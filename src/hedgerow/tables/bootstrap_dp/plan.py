"""A bootstrap-dp table as planned from public facts: what is counted, which option, and the statement of its price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hedgerow.engines.query import Query
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.columns import Category, Grid, Missing
from hedgerow.ledger.bootstrap_statement import GUARANTEE, UNPROTECTED, BootstrapNoise, BootstrapStatement, Option
from hedgerow.release.bootstrap_dp.reach import check_reach
from hedgerow.release.designs.design import LEFT_OUT
from hedgerow.release.opened import OpenedSource
from hedgerow.release.request import Context, Request, parse_request
from hedgerow.statistics.statistic import Asked, Statistic
from hedgerow.tables.bootstrap_dp.noise import choose_option
from hedgerow.tables.dp.choice import MOST_CELLS, check_names
from hedgerow.version import __version__

_FIXED = "D is the table that was read, n rows of it, and n is public"
_GRID = "values are clamped to the declared bounds and counted on the declared grid, both public"
_SECRET = "the custodian keeps the scale of the noise confidential, and everything computed from it or from the data"
_MEMBERSHIP = "the category of every row in {} is public, as declared: a row may claim to be another of its own cell"
_PART = "D is the part of a larger table whose {} is {!r}, and everybody's part is public, as declared"


@dataclass(frozen=True, slots=True)
class BootstrapPlan:
    """What runs if a bootstrap-dp table is released. Made from public facts; reads and spends nothing."""

    request: Request
    statistic: Statistic
    n: int
    option: Option
    reason: str
    part: tuple[str, str] | None

    @property
    def by(self) -> tuple[Category, ...]:
        """The groups."""
        return self.request.by

    @property
    def missing(self) -> Missing:
        """What a missing value counts as."""
        return self.request.policies[0]

    @property
    def query(self) -> Query:
        """The one question to the engine."""
        return Query(self.statistic.counted, self.by)

    def everywhere(self) -> float:
        """Return the sensitivity within the declared bounds, which does not depend on the data."""
        cells = self.query.cells
        if self.statistic.is_count:
            return 2.0 if cells > 1 else 1.0
        low, high = self.statistic.grid.as_bounds()
        if self.option == "public-membership":
            return high - low
        most = max(abs(low), abs(high))
        return 2.0 * most if cells > 1 else max(high - low, most)

    @property
    def covers(self) -> str:
        """What a number is, as a clause."""
        if self.statistic.is_count:
            return "a number of records, with noise"
        low, high = self.statistic.grid.as_bounds()
        return (
            f"a total of {self.statistic.column} clamped to [{low:.15g}, {high:.15g}], with noise of undisclosed width"
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader must know of the table as a whole, from public facts."""
        return () if all(category.other for category in self.by) else (LEFT_OUT,)

    def statement(self) -> BootstrapStatement:
        """Return what is promised, and whom it leaves out."""
        columns = tuple(category.column for category in self.by) if self.option == "public-membership" else ()
        assumed = [_FIXED, _GRID, _SECRET]
        if columns:
            assumed.append(_MEMBERSHIP.format(", ".join(columns)))
        if self.part is not None:
            assumed.append(_PART.format(*self.part))
            columns = tuple(dict.fromkeys((*columns, self.part[0])))
        if self.missing is Missing.DECLARED_COMPLETE and self.statistic.column:
            assumed.append(f"column {self.statistic.column} holds no missing value, as declared")
        grid = "1" if self.statistic.is_count else str(self.statistic.grid.about_zero()[2])
        name = "count" if self.statistic.is_count else "sum"
        noise = BootstrapNoise(
            self.request.budget.epsilon, name, self.option, self.query.cells, grid, columns, self.part
        )
        assumed.extend(self.request.notes)
        return BootstrapStatement(noise, "row", tuple(assumed), UNPROTECTED, {"hedgerow": __version__})

    def public_record(self) -> dict[str, Any]:
        """Return the request as plain JSON data: what tells it from another, all of it public."""
        asked: list[Any] = [self.statistic.name]
        if not self.statistic.is_count:
            grid = self.statistic.grid
            asked += [self.statistic.column, str(grid.lower), str(grid.upper), grid.steps]
        return {
            "guarantee": GUARANTEE,
            "statistics": [asked],
            "by": [category.public_record() for category in self.by],
            "epsilon": self.request.budget.epsilon,
            "missing": str(self.missing),
            "n": self.n,
            "option": self.option,
            "part": None if self.part is None else list(self.part),
        }


def bootstrap_plan(
    asked: Asked,
    opened: OpenedSource,
    *,
    guarantee: object,
    sensitivity: object = "auto",
    noise: object = "auto",
    delta: object = None,
    part: tuple[str, str] | None = None,
    **options: Any,
) -> BootstrapPlan:
    """Return the plan of a bootstrap-dp table.

    Parameters
    ----------
    asked, opened
        What, of which source.
    guarantee : "bootstrap-dp"
        To be named.
    sensitivity : {"auto", "whole-table", "per-cell", "public-membership"}
        O'Keefe & Charest's options (i), (ii) and third, with correct sensitivities; ``"auto"`` decides between the
        first two from the number of cells. One cell's total is a table of one cell.
    noise, delta
        ``"auto"`` or ``"laplace"``, and 0 or left out: there are no others.
    part : (column, category), optional
        This source is one part of a larger table by a public column; parts share a ledger at the price of the dearest.
    **options
        ``by``, ``other``, ``epsilon``, ``missing``, as in a release.

    Raises
    ------
    UncertifiedError
        HG413 what bootstrap-dp does not have, counts of public cells among them; HG414 the guarantee was not named.
    ParameterError
        As `parse_request`; HG107 grid values beyond 31 bits, HG150 no groups, HG151 no such option.
    """
    if guarantee != GUARANTEE:
        raise UncertifiedError(
            "HG414",
            rule="Bootstrap differential privacy is released only where it is asked for by name.",
            finding="It was not.",
            remedy='guarantee="bootstrap-dp" asks for it; it is not differential privacy, and says whom it leaves out.',
        )
    law = check_names(sensitivity, noise, options.get("by"))
    check_reach(opened, law, delta, where=options.get("where"))
    _check_part(part)
    request = parse_request(asked, context=Context(opened.facts, most_cells=MOST_CELLS), delta=0.0, **options)
    (statistic,) = request.statistics
    if not statistic.is_total:
        raise TypeError(f"a table holds counts or totals, not {statistic.name}")
    if not statistic.is_count:
        _check_whole_numbers(statistic.grid)
    cells = Query(None, request.by).cells
    option, reason = _option(sensitivity, statistic, cells)
    return BootstrapPlan(request, statistic, opened.n or 0, option, reason, part)


def _check_part(part: object) -> None:
    texts = isinstance(part, tuple) and len(part) == 2 and all(isinstance(text, str) and text for text in part)
    if part is not None and not texts:
        raise ParameterError(
            "HG111",
            rule="`part` of a larger table is a public column and its category, both texts.",
            finding="This one is not.",
            remedy='For example part=("region", "north").',
        )


def _check_whole_numbers(grid: Grid) -> None:
    """Refuse grid values of 2³¹ units or more, before anything is read.

    The noise is as wide as 2·2³¹/ε; beyond 64 bits the sampler cuts it off, and what is left of the sum is exact. And
    extremes are compared as doubles, in which neighbouring integers beyond 2⁵³ are one.
    """
    start, stride, _ = grid.about_zero()
    if max(abs(start), abs(start + stride * grid.steps)) >= 2**31:
        raise ParameterError(
            "HG107",
            rule="Grid values must fit 31 bits as whole multiples of one unit.",
            finding="These bounds and this step share none that is coarse enough.",
            remedy="Choose a step of which the lower bound is a multiple, or a coarser one.",
        )


def _option(sensitivity: object, statistic: Statistic, cells: int) -> tuple[Option, str]:
    if statistic.is_count and sensitivity == "public-membership":
        raise UncertifiedError(
            "HG413",
            rule="Where everybody's cell is public, the counts of the cells are public too.",
            finding="A table of counts was asked for with public membership.",
            remedy="Count the rows, or keep membership confidential with another option.",
        )
    match sensitivity:
        case "whole-table" | "per-cell" | "public-membership":
            return sensitivity, "asked for by name"
    if statistic.is_count:
        return "whole-table", "counts have the same noise in every cell, whatever the data"
    return choose_option(cells)
