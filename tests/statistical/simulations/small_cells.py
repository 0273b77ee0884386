"""Simulated tables of small cells: how often the intervals cover on every path by which a table gives them.

Six cells of about 10, 20 and 40 records each side of a second column, with skewed values of means from 8 to 30 below
a bound of 100. Intervals are read back from JSON, CSV and XLSX, of the table as drawn, with totals, after `.rounded()`
and `.nonnegative()`. Units have three rows of ONE value each, spread over the cells, so that a total moves with them.
"""

import csv
import io
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import openpyxl

import hedgerow as hg
from hedgerow.engines.query import Query, SumsQuery
from hedgerow.facts.declared import Protection
from hedgerow.facts.relation import Relation, Target, UnitLimit
from hedgerow.release.execute import draw_tables
from hedgerow.release.plan import planned
from hedgerow.release.publication.formats.csv import csv_text
from hedgerow.release.publication.formats.xlsx import xlsx_bytes
from hedgerow.release.request import Context
from hedgerow.resampling.counted_values import GridSums, Histogram
from hedgerow.tables.protected import ProtectedTable
from hedgerow.tables.release_table import read_table
from hedgerow.tables.table_options import TableChoice, choose, choose_by_cell
from hedgerow.testing.simulated import SimulatedNoise, grid_sums

BY = {"side": ["l", "r"], "size": ["s", "m", "b"]}
SIZES = np.array([10, 20, 40, 10, 20, 40])
N = int(SIZES.sum())
TOP, ROWS = 100, 3
VALUE = np.arange(TOP + 1)
_SKEWED = np.stack([np.exp(-VALUE / mean) for mean in (8, 12, 16, 20, 25, 30)])
# Values by cell: skewed; 0, 50 or 100; or 5 but for one record in a hundred, which has 100.
LAWS = {
    "skewed": _SKEWED / _SKEWED.sum(axis=1, keepdims=True),
    "tied": np.tile(np.where(VALUE == 0, 0.7, np.where(np.isin(VALUE, (50, 100)), 0.15, 0.0)), (len(SIZES), 1)),
    "rare": np.tile(np.where(VALUE == 5, 0.99, np.where(VALUE == TOP, 0.01, 0.0)), (len(SIZES), 1)),
}
KINDS = ("count", "count of n", "sum", "bounds by cell", "public membership", "units: count", "units: sum")
Intervals = tuple[list[float], list[float]]


@dataclass(frozen=True)
class Units:
    """Units drawn: how many rows each has in each cell, (units, cells), and the one value of all its rows."""

    rows: np.ndarray
    value: np.ndarray | None

    def histogram(self) -> Histogram:
        """Return how many units have so many rows, and such a total, in each cell."""
        person, cell = np.nonzero(self.rows)
        count = self.rows[person, cell]
        total = 0 if self.value is None else count * self.value[person]
        code = (count - 1) * (1 if self.value is None else ROWS * TOP + 1) + total
        none = np.zeros(len(SIZES), dtype=np.int64)
        return Histogram.merged(cell, code, np.ones_like(code), missing=none, outside=0)

    def sums(self, query: SumsQuery) -> GridSums:
        """Return what an engine answers: also products of a unit's totals in two cells (`SumsQuery`)."""
        values = [] if self.value is None else [self.rows * self.value[:, None]]
        each = [*values, self.rows]

        def total(place: int) -> np.ndarray:
            cells_on, value = divmod(place, len(each))
            return np.roll(each[value], -cells_on, axis=1)

        added = {
            monomial: np.prod([total(place) ** power for place, power in monomial], axis=0).sum(axis=0).astype(object)
            for monomial in query.monomials
        }
        units = (self.rows > 0).sum(axis=0).astype(object)
        return GridSums({(): units, **added}, np.zeros(len(SIZES), dtype=np.int64), 0)


@dataclass(frozen=True)
class Small:
    """One kind of table, whose records are drawn, released and read again and again.

    `earlier` plans it as it was before tables were read from joint moments: units by replicates, sums about zero.
    """

    kind: str
    relation: str
    epsilon: float
    noise: str = "auto"
    data: str = "skewed"
    earlier: bool = False

    def __str__(self) -> str:
        data = "" if self.data == "skewed" else f", {self.data}"
        return f"{self.kind}{data}, {self.relation}, ε = {self.epsilon:g}"

    @property
    def laws(self) -> np.ndarray:
        return LAWS[self.data]

    @property
    def people(self) -> np.ndarray:
        return self.laws.mean(axis=0)

    @property
    def fixed(self) -> bool:
        return self.relation == "replace-one"

    @property
    def tops(self) -> np.ndarray:
        return np.where(SIZES == 10, 50, TOP) if self.kind == "bounds by cell" else np.full(len(SIZES), TOP)

    @property
    def truth(self) -> np.ndarray:
        """What is expected of each cell."""
        if self.kind.startswith("units"):
            rows = ROWS * SIZES
            return rows.astype(float) if self.kind == "units: count" else rows * (self.people @ VALUE)
        if self.kind.startswith("count"):
            return SIZES.astype(float)
        return SIZES * (self.laws * np.minimum(VALUE, self.tops[:, None])).sum(axis=1)

    @cached_property
    def choice(self) -> TableChoice:
        counted = "count" in self.kind
        asked = hg.count() if counted else hg.sum("v", bounds=(0, TOP), step=1)
        unit = UnitLimit("id", ROWS) if self.kind.startswith("units") else "row"
        told = Protection(Relation(self.relation), unit, Target.POPULATION, ())
        options = {"n": N if self.fixed else None, "by": BY, "epsilon": self.epsilon, "delta": 1e-6}
        if self.kind == "count of n":
            # The last category of each column is the rest: every record is in a cell.
            return choose(asked, told, None, **options | {"by": {"side": ["l"], "size": ["s", "m"]}, "other": True})
        if self.kind == "bounds by cell":
            return choose_by_cell(asked, told, None, **options, cell_bounds={"size": {"s": (0, 50)}})
        if self.kind == "public membership":
            options |= {"sensitivity": "public-membership", "missing": "error-if-declared-complete"}
        if self.earlier and self.kind.startswith("units"):
            options["n_resamples"] = 50  # what was chosen where n is private
        if self.earlier and self.kind == "sum":
            about = {"context": Context(about_zero=True), "noise": "laplace" if self.noise == "auto" else self.noise}
            return TableChoice(planned(asked, told, None, **options | about), "whole-table", "")
        return choose(asked, told, None, **options, noise=self.noise)

    def draw(self, rng: np.random.Generator) -> Histogram | Units:
        people = N if self.fixed else int(rng.poisson(N))
        if self.kind.startswith("units"):
            return self._units(people, rng)
        if self.kind == "public membership":
            drawn = np.stack([rng.multinomial(size, law) for size, law in zip(SIZES, self.laws, strict=True)])
        else:
            drawn = rng.multinomial(people, (SIZES[:, None] / N * self.laws).ravel()).reshape(self.laws.shape)
        if "count" in self.kind:
            drawn = drawn.sum(axis=1, keepdims=True)
        cell, index = np.nonzero(drawn)
        return Histogram.from_triplets(cell, index, drawn[cell, index], cells=len(SIZES))

    def _units(self, people: int, rng: np.random.Generator) -> Units:
        value = rng.choice(TOP + 1, size=people, p=self.people) if self.kind == "units: sum" else None
        return Units(rng.multinomial(ROWS, SIZES / N, size=people), value)

    def tables(self, runs: int, rng: np.random.Generator) -> Iterator[ProtectedTable]:
        query, noise = self.choice.plan.items[0].design.query, SimulatedNoise(rng)
        for _ in range(runs):
            (drawn,) = draw_tables(self.choice.plan, {query: answered(query, self.draw(rng))}, noise)
            yield read_table(self.choice, drawn, None, source="simulated")


def answered(query: Query | SumsQuery, drawn: Histogram | Units) -> Histogram | GridSums:
    """Return what an engine answers where the records, or units with their rows, are known by cell."""
    if isinstance(drawn, Units):
        return drawn.histogram() if isinstance(query, Query) else drawn.sums(query)
    return drawn if isinstance(query, Query) else grid_sums(query, drawn)


def of_estimates(table: ProtectedTable) -> Intervals:
    found = [one.confidence_interval() for one in table]
    return [one.low for one in found], [one.high for one in found]


def of_json(table: ProtectedTable) -> Intervals:
    found = [one["confidence_interval"] for one in json.loads(table.to_json())["estimates"]]
    ends = zip(*((-np.inf if i["low"] is None else i["low"], i["high"] or np.inf) for i in found), strict=True)
    low, high = ends
    return list(low), list(high)


def of_csv(table: ProtectedTable) -> Intervals:
    rows = list(csv.DictReader(io.StringIO(csv_text(table._publication()))))
    return [float(row["low"]) for row in rows], [float(row["high"]) for row in rows]


def of_xlsx(table: ProtectedTable) -> Intervals:
    head, *rows = openpyxl.load_workbook(io.BytesIO(xlsx_bytes(table._publication())))["Cells"].values
    low, high = head.index("low"), head.index("high")
    return [float(row[low]) for row in rows], [float(row[high]) for row in rows]


PATHS: dict[str, Callable[[ProtectedTable], Intervals]] = {
    "Estimate": of_estimates,
    "JSON": of_json,
    "CSV": of_csv,
    "XLSX": of_xlsx,
    "totals, CSV": lambda table: of_csv(table.with_margins()),
    "rounded, JSON": lambda table: of_json(table.rounded()),
    "rounded, CSV": lambda table: of_csv(table.rounded()),
    "nonnegative, CSV": lambda table: of_csv(table.nonnegative()),
    "totals, nonnegative, rounded, CSV": lambda table: of_csv(table.with_margins().nonnegative().rounded()),
}


def coverage(setting: Small, runs: int, seed: int, paths: tuple[str, ...] = tuple(PATHS)) -> dict[str, np.ndarray]:
    """Return how often each number was covered on each path: the cells, and then the totals in the order of a file."""
    covered: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(0, dtype=int))
    grid = setting.truth.reshape(2, 3)
    totals = np.concatenate([setting.truth, grid.sum(axis=1), grid.sum(axis=0), [grid.sum()]])
    for table in setting.tables(runs, np.random.default_rng(seed)):
        for path in paths:
            low, high = (np.array(ends) for ends in PATHS[path](table))
            slack = 1e-9 * totals[: len(low)]
            within = (low <= totals[: len(low)] + slack) & (totals[: len(low)] <= high + slack)
            covered[path] = within + (covered[path] if len(covered[path]) else 0)
    return dict(covered)
