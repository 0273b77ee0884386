"""A table under bootstrap differential privacy: requested by name; the scale of its noise depends on the data.

What goes out are noisy numbers on a public grid and a statement in public words; see `BootstrapStatement`.

How wide the noise of a bootstrap-dp table is, cell by cell: integers on a public grid.

Rows are counted on the public grid of the declared bounds and step, so totals are integers y of one public unit, and
noise is two-sided geometric of scale b_i = w_i/ε in that unit: P(Z = z) ∝ e^(−|z|/b_i). For neighbours in Dⁿ the
log-densities differ by Σ_i |Δy_i|/b_i ≤ ε, exactly as for Laplace noise on real numbers, and at every ε and b_i: the
grid costs nothing. It must not depend on D, or the fineness of a published number would tell how wide its noise is; so
it is the declared one, whatever w_i is.

w_i is never below one step. Where all rows of D are alike O'Keefe & Charest's sensitivity is 0 and the number would go
out exactly, which is 'bootstrap private' and tells that they are. A wider noise keeps the guarantee. Counts get the
width that no D exceeds, 2 (1 for a single cell), so for them it tells nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import ColumnQuery, Query
from hedgerow.engines.source import ColumnSource
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.columns import Category, Grid, Missing
from hedgerow.inference.estimates_of_cells import Subject
from hedgerow.ledger.bootstrap_statement import GUARANTEE, BootstrapNoise, Option
from hedgerow.release.bootstrap_dp.bootstrap_product import (
    METHOD,
    BootstrapProduct,
    ExactNumbers,
    OfTheCustodian,
    Token,
    check_reach,
)
from hedgerow.release.cells.margins import ConsistentTable
from hedgerow.release.cells.shape import TableShape
from hedgerow.release.cells.table_cells import TableCells
from hedgerow.release.designs.design import LEFT_OUT, apply_policy, declared_complete
from hedgerow.release.execute import changed
from hedgerow.release.opened import OpenedSource
from hedgerow.release.request import Context, parse_request
from hedgerow.resampling.counted_values import Histogram
from hedgerow.statistics.statistic import Statistic, StatisticRequest
from hedgerow.tables.protected import ProtectedTable
from hedgerow.tables.table_options import MOST_CELLS, check_names
from hedgerow.tables.table_sensitivity import (
    CellExtremes,
    magnitude_table_sensitivity,
    public_membership_sensitivities,
    split_sensitivities,
)

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
_FEWEST = 4


def choose_option(cells: int) -> tuple[Option, str]:
    """Return the option that `auto` takes for totals, and why: from the number of cells alone, which is public.

    Per cell the noise variances add up to Σ w_i²; for the whole table to k·Δ_D². With M₍₁₎ = a the largest reach and
    all others at most b = M₍₂₎, Σ w_i² ≤ 4a² + 4(k − 1)b², and k·Δ_D² ≥ k(a + b)². Their difference is at least (k −
    4)a² + 2kab − (3k − 4)b², concave in b, 0 at b = a and (k − 4)a² at b = 0: so for k ≥ 4 per-cell noise is never the
    larger in total, whatever D is, the floor of one step apart; for k = 2 it is never the smaller, unless one cell's
    spread alone exceeds a + b.

    A choice by the data would be a statement about their extremes, so it is not made.

    Examples
    --------
    >>> choose_option(9)[0], choose_option(2)[0]
    ('per-cell', 'whole-table')
    """
    if cells >= _FEWEST:
        return "per-cell", "from four cells on noise scaled to each cell is nowhere larger in total, whatever the data"
    return "whole-table", "below four cells noise scaled to each cell can be larger in total"


def extremes_of(histogram: Histogram, y: Integers) -> CellExtremes:
    """Return the extremes of the integers y (one entry per row of the histogram) in each cell."""
    low, high = np.full(histogram.cells, np.inf), np.full(histogram.cells, -np.inf)
    np.minimum.at(low, histogram.cell, y)
    np.maximum.at(high, histogram.cell, y)
    occupied = low <= high
    return CellExtremes(
        np.where(occupied, low, 0.0),
        np.where(occupied, high, 0.0),
        occupied,
        histogram.missing > 0,
        histogram.outside > 0,
    )


def total_widths(extremes: CellExtremes, option: Option, *, step: int) -> Floats:
    """Return w_i of each cell's total, in the integers that are added up; at least `step`, one step of the grid."""
    size = len(extremes.low)
    match option:
        case "whole-table":
            widths = np.full(size, magnitude_table_sensitivity(extremes))
        case "per-cell":
            widths = split_sensitivities(extremes)
        case _:
            widths = public_membership_sensitivities(extremes)
    return np.asarray(np.maximum(widths, float(step)))


def count_widths(cells: int) -> Floats:
    """Return w_i of each count: 2, or 1 where there is one cell, whatever the data are."""
    return np.full(cells, 2.0 if cells > 1 else 1.0)


_GRID = "values are clamped to the declared bounds and counted on the declared grid, both public"
_MEMBERSHIP = "the category of every row in {} is public, as declared: a row may claim to be another of its own cell"
_PART = "D is the part of a larger table whose {} is {!r}, and everybody's part is public, as declared"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BootstrapTable(OfTheCustodian, ProtectedTable):
    """A table under ε-bootstrap differential privacy for D, which is NOT differential privacy.

    As `ProtectedTable`, with ``certificate`` a `BootstrapStatement`, and no errors: each would tell the scale of the
    noise, and the scale tells about the extremes of D. The custodian has them in memory: `for_the_custodian`.
    """

    token: Token | None = field(default=None, repr=False)


def bootstrap_table(
    asked: StatisticRequest,
    opened: OpenedSource,
    *,
    guarantee: object = None,
    margins: bool = False,
    request_id: str | None = None,
    **options: Any,
) -> BootstrapTable:
    """Release a table of counts or totals. Guarantee: ε-bootstrap differential privacy for D; NOT differential privacy.

    For data sets D1, D2 ∈ Dⁿ, whose n rows are rows of D and which differ in one of them, P(table | D1) ≤ e^ε·P(table |
    D2). Whom that leaves unprotected is in ``table.certificate.unprotected`` and in every output.

    Parameters
    ----------
    asked : statistic
        `hg.sum` or `hg.count`.
    opened : OpenedSource
        The source and its public facts; relation ``"replace-one"``, unit ``"row"``.
    guarantee : "bootstrap-dp"
        To be named: without it the release is refused.
    margins : bool
        Add totals, at no further price.
    request_id : str, optional
        With a ledger: the same request under the same id is answered from its record.
    **options
        As `bootstrap_cells`.

    Raises
    ------
    UncertifiedError
        HG413, HG414: nothing was read or spent.
    LedgerError
        HG316: the ledger is for differential privacy.
    SpentError
        After the data were read: the price counts as spent.

    Notes
    -----
    O'Keefe & Charest (2018), Definitions 5, 9, 10 and section 5.2, with the sensitivities of
    `hedgerow.tables.table_sensitivity` in place of the published ones.
    """
    table = bootstrap_cells(asked, opened, guarantee=guarantee, **options).released(request_id)
    with_margins: Callable[[], Any] = table.with_margins
    return with_margins() if margins else table


@dataclass(frozen=True, slots=True)
class BootstrapCells(BootstrapProduct[BootstrapTable]):
    """A table, from public facts: what is counted, by which groups, and which option."""

    statistic: Statistic
    by: tuple[Category, ...]
    missing: Missing
    option: Option
    reason: str
    part: tuple[str, str] | None

    @property
    def query(self) -> Query:
        """The one question to the engine."""
        return Query(self.statistic.counted, self.by)

    @property
    def unit(self) -> Fraction:
        """What one of the integers that are added up is worth in the column's unit."""
        return Fraction(1) if self.statistic.is_count else self.statistic.grid.about_zero()[2]

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

    def noise(self) -> BootstrapNoise:
        """Return what runs, with the columns of which everybody's category is public."""
        columns = self._public_columns
        if self.part is not None:
            columns = tuple(dict.fromkeys((*columns, self.part[0])))
        return BootstrapNoise(
            self.epsilon, self.statistic.name, self.option, self.query.cells, str(self.unit), columns, self.part
        )

    @property
    def _public_columns(self) -> tuple[str, ...]:
        return tuple(category.column for category in self.by) if self.option == "public-membership" else ()

    def values_read(self) -> tuple[str, ...]:
        """Return that values are clamped."""
        return (_GRID,)

    def assumptions(self) -> tuple[str, ...]:
        """Return what is public of rows, and which column has no missing values."""
        columns = self._public_columns
        assumed = [_MEMBERSHIP.format(", ".join(columns))] if columns else []
        assumed += [] if self.part is None else [_PART.format(*self.part)]
        if self.missing is Missing.DECLARED_COMPLETE and self.statistic.column:
            assumed.append(declared_complete(self.statistic.column))
        return tuple(assumed)

    def asked(self) -> dict[str, Any]:
        """Return the table as plain JSON data."""
        asked: list[Any] = [self.statistic.name]
        if not self.statistic.is_count:
            grid = self.statistic.grid
            asked += [self.statistic.column, str(grid.lower), str(grid.upper), grid.steps]
        return {
            "statistics": [asked],
            "by": [category.public_record() for category in self.by],
            "missing": str(self.missing),
            "option": self.option,
            "part": None if self.part is None else list(self.part),
        }

    def questions(self) -> list[Query | ColumnQuery]:
        """Return the one question."""
        return [self.query]

    def exact(self, source: ColumnSource) -> Iterator[ExactNumbers]:
        """Yield the totals, or counts, of the cells with their widths: one vector."""
        histogram = source.histogram(self.query)
        if histogram.total() != self.n:
            raise changed()
        if self.statistic.is_count:
            # A count counts rows, with or without values.
            sums, widths = histogram.cell_sums(), count_widths(histogram.cells)
        else:
            grid = self.statistic.grid
            histogram = apply_policy(histogram, self.missing, grid.steps)
            start, stride, _ = grid.about_zero()
            y = start + stride * histogram.index
            sums, widths = histogram.cell_sums(y), total_widths(extremes_of(histogram, y), self.option, step=stride)
        yield ExactNumbers(sums, widths, self.epsilon, self.unit, Fraction(0), self.everywhere())

    def result(self, values: NDArray[np.float64], **about: Any) -> BootstrapTable:
        """Return the table, without errors."""
        subject = Subject(self.statistic.name, self.statistic.column, METHOD, self.covers)
        counted, shape = self.statistic.is_count, TableShape.of(self.by)
        left_out = () if all(category.other for category in self.by) else (LEFT_OUT,)
        return BootstrapTable(
            table=ConsistentTable(TableCells.without_errors(shape, values, counted=counted, subject=subject)),
            guarantee="bootstrap-dp",
            option=self.option,
            reason=self.reason,
            missing=str(self.missing),
            remarks=(*left_out, *about["certificate"].unprotected),
            unit_value=float(self.unit),
            **about,
        )

    def write(self, result: BootstrapTable) -> str:
        """Return the noisy numbers, and what was stated of them."""
        price = result.certificate
        record = {
            "release": {name: getattr(result, name) for name in ("source", "relation", "unit", "n", "date")},
            "noisy": result.cells.values.tolist(),
            "certificate": None if price is None else price.to_dict(),
        }
        return json.dumps(record, ensure_ascii=False, allow_nan=False)


def bootstrap_cells(
    asked: StatisticRequest,
    opened: OpenedSource,
    *,
    guarantee: object,
    sensitivity: object = "auto",
    noise: object = "auto",
    delta: object = None,
    part: tuple[str, str] | None = None,
    **options: Any,
) -> BootstrapCells:
    """Return what a bootstrap-dp table is made of, from public facts.

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
    about = opened, request.budget.epsilon, request.notes
    return BootstrapCells(*about, statistic, request.by, request.policies[0], option, reason, part)


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
