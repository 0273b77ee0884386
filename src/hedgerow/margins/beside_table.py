"""Which tables of counts are bought with their totals: two forecasts at one price, from public facts alone.

A table of counts has independent noise of standard deviation s in each cell, and a total of k cells has s·√k. The same
price buys all tables of its columns at once (`hedgerow.margins.workload`). If only the cells mattered, independent
Gaussian noise would be the best there is: it is the noise of the residuals with weight on the cells alone. About this
optimum the cells lose little where the totals gain much. Laplace noise is less than half as wide for a single table at
ε = 1 and δ = 1e-6, and margins have Gaussian noise: there a table alone is the better one for its cells.

Where the number of all records is public and all are in the table, the sums of a table alone are adjusted to it, which
takes 1/k of the noise variance off each of k numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from hedgerow.accounting.calibrate import least_noise
from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Missing
from hedgerow.margins.asked_margins import CELLS_FIRST, parse_workload
from hedgerow.margins.release_margins import MOST_LOST, MarginsDesign, served
from hedgerow.mechanisms.residual_margins import ColumnSet
from hedgerow.release.plan import Plan

WORTH_SAYING = 1.25
"""How many times less noise totals must have."""
_ALL_NAMED = 3  # of more columns the totals by single columns are named
_SENTENCE = (
    "Totals of this table are sums of its cells, with noise of ± {} a cell{}. `hedgerow margins --order {}{}` "
    "(`survey.margins`) releases the totals too, at the same price: ± {} a cell{}"
)


@dataclass(frozen=True, slots=True)
class TotalsForecast:
    """The noise of a table and of its totals by one column or more, released in two ways at one price.

    Attributes
    ----------
    weights : {"cells"} or None
        The weights of the margins: ``"cells"`` where the cells lose no more than 5 %.
    columns : mapping
        {places of columns: their names} of each table, the largest last.
    of_table, of_margins : mapping
        {places of columns: standard deviation of the noise of each number}, and of the grand total where it is private.
    """

    weights: Literal["cells"] | None
    columns: Mapping[ColumnSet, tuple[str, ...]]
    of_table: Mapping[ColumnSet, float]
    of_margins: Mapping[ColumnSet, float]

    @property
    def gain(self) -> float:
        """How many times less noise: of the total that gains most if the cells lose no more than 5 %, else of all.

        Of all is the root of the ratio of the mean variances, in which the tables of each number of columns have the
        same weight.
        """
        *totals, cells = self.columns
        if self.weights is not None:
            lost = self.of_margins[cells] / self.of_table[cells]
            most = max(self.of_table[table] / self.of_margins[table] for table in totals)
            return most if lost <= MOST_LOST else 0.0
        weight = {table: 1.0 / math.comb(len(cells), len(table)) for table in self.columns}
        before, after = (
            sum(weight[table] * noise[table] ** 2 for table in self.columns)
            for noise in (self.of_table, self.of_margins)
        )
        return math.sqrt(before / after)

    @property
    def gains(self) -> dict[ColumnSet, float]:
        """How many times less noise each number has: of the cells, and of every total that is not public."""
        return {table: noise / self.of_margins[table] for table, noise in self.of_table.items()}

    @property
    def better(self) -> bool:
        """Whether a total has 1.25 times less noise or better, and no number has more than 5 % more."""
        return max(self.gains.values()) >= WORTH_SAYING and min(self.gains.values()) >= 1.0 / MOST_LOST

    def __str__(self) -> str:
        *totals, cells = self.columns

        def of_totals(noise: Mapping[ColumnSet, float]) -> str:
            named = [table for table in totals if len(table) == 1 or len(cells) <= _ALL_NAMED]
            return "".join(f", ± {noise[table]:.3g} a total by {' × '.join(self.columns[table])}" for table in named)

        weights = f" --weight {self.weights}" if self.weights else ""
        first = f"{self.of_table[cells]:.3g}", of_totals(self.of_table), len(cells), weights
        return _SENTENCE.format(*first, f"{self.of_margins[cells]:.3g}", of_totals(self.of_margins))


def forecasts_of_totals(plan: Plan) -> tuple[TotalsForecast, ...]:
    """Return both forecasts of a planned table of counts, cells first and by the default; nothing of other plans.

    Parameters
    ----------
    plan : Plan
        The plan of a release: one count by two columns or more.

    Examples
    --------
    >>> import pyarrow, hedgerow as hg
    >>> people = pyarrow.table({"a": [0, 1] * 500, "b": [0, 0, 1, 1] * 250})
    >>> survey = hg.open(people, relation="replace-one")
    >>> plan = survey.plan(hg.count(), by={"a": [0, 1], "b": [0, 1]}, mu=0.5)
    >>> first, _ = forecasts_of_totals(plan)
    >>> round(first.of_table[0, 1], 2), round(first.of_margins[0, 1], 2)
    (2.84, 2.87)
    """
    design = design_of_totals(plan)
    if design is None:
        return ()
    (item,) = plan.items
    assert item.design is not None and item.mechanism is not None
    own, _ = item.design.table_noise(item.mechanism)
    mu, request = least_noise(design.mechanism, plan.facts.relation, plan.request.budget).precision, plan.request
    workload, known = design.workload, float(bool(design.workload.known))
    named = {table: tuple(str(request.groups[place].column) for place in table) for table in workload.tables if table}
    cells = math.prod(workload.sizes)
    lengths = {table: workload.length(table) for table in workload.released}
    of_table = {table: own * math.sqrt(cells / size * (1.0 - known / size)) for table, size in lengths.items()}
    ways: tuple[Literal["cells"] | None, ...] = (CELLS_FIRST, None)
    return tuple(TotalsForecast(weights, named, of_table, served(design, weights, mu)[1]) for weights in ways)


def design_of_totals(plan: Plan) -> MarginsDesign | None:
    """Return the margins of a planned table of counts, with the default weights; None of other plans."""
    request = plan.request
    counted = len(request.statistics) == 1 and request.statistics[0].is_count and request.weights is None
    several = len(request.groups) > 1 and all(group.levels > 1 for group in request.groups)
    served_by_margins = request.budget.delta > 0.0 and request.policies[0] is not Missing.MIDPOINT
    if not (counted and several and served_by_margins) or request.membership:
        return None
    try:
        workload = parse_workload(request.groups, len(request.groups))
    except ParameterError:
        return None  # too many numbers for one vector
    design = MarginsDesign(request.statistics[0], request.by, plan.facts, request.policies[0], workload)
    if design.public_total is None:
        return design
    return replace(design, workload=replace(workload, known=frozenset({()})))


def advice_on_totals(plan: Plan) -> tuple[str, ...]:
    """Return a sentence if margins serve the totals of a planned table of counts at least 1.25 times better.

    First the margins whose cells lose no more than 5 %; else those whose tables of each number of columns count alike.
    """
    worth = [forecast for forecast in forecasts_of_totals(plan) if forecast.gain >= WORTH_SAYING]
    return tuple(map(str, worth[:1]))
