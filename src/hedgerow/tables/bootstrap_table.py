"""A table under bootstrap differential privacy: requested by name; the scale of its noise depends on the data.

What goes out are noisy numbers on a public grid and a statement in public words; see `BootstrapStatement`. Rows are
counted on the public grid of the declared bounds and step, so totals are integers y of one public unit, and noise is
two-sided geometric of scale b_i = w_i/ε in that unit: P(Z = z) ∝ e^(−|z|/b_i). For neighbours in Dⁿ the log-densities
differ by Σ_i |Δy_i|/b_i ≤ ε, exactly as for Laplace noise on real numbers, and at every ε and b_i: the grid costs
nothing. It must not depend on D, or the fineness of a published number would tell how wide its noise is; so it is the
declared one, whatever w_i is.

w_i is never below one step. Where all rows of D are alike O'Keefe & Charest's sensitivity is 0 and the number would go
out exactly, which is 'bootstrap private' and tells that they are. More noise than necessary keeps the guarantee. Counts
get the width that no D exceeds, 2 (1 for a single cell), so for them it tells nothing.

Sensitivities say what the rows of D can do to the cells when one becomes another. A table is additive: f(D1) = Σ φ(row)
with φ = x·e_i for a row of value x in cell i (x = 1 for counts, φ = 0 for a row in no cell or without a value).
Neighbours share all rows but one, so

    Δ_D f = max ‖φ(r) − φ(r')‖₁ over r, r' ∈ D,

whatever n ≥ 1 is. Two rows of one cell are |x − x'| apart, two rows of different cells |x| + |x'|: a replaced row
LEAVES one cell and ENTERS another. O'Keefe & Charest (section 5) overlook the second case; their figures are kept,
marked, in `hedgerow.testing.published`. With V_i the spread of the values in cell i and M_i the largest |x| there:

===================  ==============================================  ===============
quantity             correct                                         as published
===================  ==============================================  ===============
contingency table    2                                               1
magnitude table (i)  max(max_i V_i, M₍₁₎ + M₍₂₎)                     max_i V_i
one cell's total     max(V_i, M_i); V_i where no row lies elsewhere  V_i
per cell (ii)        scale 2·M_i/ε                                   scale k·V_i/ε
public membership    scale V_i/ε                                     scale V_i/ε
===================  ==============================================  ===============
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
from hedgerow.release.request import Context, parse_request
from hedgerow.release.spend import OpenedSource
from hedgerow.resampling.counted_values import Histogram
from hedgerow.statistics.statistic import Statistic, StatisticRequest
from hedgerow.tables.protected import ProtectedTable
from hedgerow.tables.table_options import MOST_CELLS, check_names

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, repr=False)
class CellExtremes:
    """The extremes of a variable in each cell of a table over D. As confidential as D itself.

    Attributes
    ----------
    low, high : float arrays, one entry per cell
        The least and the greatest value in the cell; 0 in a cell without rows.
    occupied : bool array, one entry per cell
        Whether a row of D with a value lies there.
    void : bool array, one entry per cell
        Whether a row of D lies there without a value.
    elsewhere : bool
        Whether a row of D lies in no cell.

    Examples
    --------
    >>> table = CellExtremes.of([5.0, 7.0, -2.0], [0, 0, 1], n_cells=3)
    >>> table.spread.tolist(), table.reach.tolist(), table.occupied.tolist()
    ([2.0, 0.0, 0.0], [7.0, 2.0, 0.0], [True, True, False])
    """

    low: Floats
    high: Floats
    occupied: NDArray[np.bool_]
    void: NDArray[np.bool_]
    elsewhere: bool

    @classmethod
    def of(cls, values: ArrayLike, cells: ArrayLike, *, n_cells: int | None = None) -> CellExtremes:
        """Read the extremes of each cell off the rows of D.

        Parameters
        ----------
        values : float array, one entry per row
            NaN is no value: the row adds nothing to its cell.
        cells : int array, one entry per row
            The cell of each row, −1 for none.
        n_cells : int, optional
            Cells of the table, empty ones included; up to the last occupied one, where it is None.

        Raises
        ------
        ParameterError
            HG156: D has no rows, an infinite value, or a cell beyond the table.
        """
        values, cells = np.asarray(values, dtype=np.float64), np.asarray(cells, dtype=np.int64)
        size = int(cells.max(initial=-1)) + 1 if n_cells is None else n_cells
        fits = values.ndim == 1 and values.shape == cells.shape and values.size > 0 and not np.isinf(values).any()
        if not fits or size < 1 or cells.min() < -1 or cells.max() >= size:
            raise ParameterError(
                "HG156",
                rule="Each row of a table over D has one finite value or NaN, and the number of its cell, or −1.",
                finding="The given table does not follow the rule, or the data set D has no rows.",
                remedy="Give two arrays of the same length. Nothing was read, spent or written.",
            )
        void = np.zeros(size, dtype=bool)
        void[cells[(cells >= 0) & np.isnan(values)]] = True
        valued = (cells >= 0) & ~np.isnan(values)
        return cls._of(values[valued], cells[valued], void, elsewhere=bool((cells < 0).any()))

    @classmethod
    def of_histogram(cls, histogram: Histogram, y: Integers) -> CellExtremes:
        """Return the extremes of the integers y (one entry per row of the histogram) in each cell."""
        return cls._of(y, histogram.cell, histogram.missing > 0, elsewhere=histogram.outside > 0)

    @classmethod
    def _of(
        cls, values: NDArray[Any], cells: NDArray[np.int64], void: NDArray[np.bool_], *, elsewhere: bool
    ) -> CellExtremes:
        low, high = np.full(len(void), np.inf), np.full(len(void), -np.inf)
        np.minimum.at(low, cells, values)
        np.maximum.at(high, cells, values)
        occupied = low <= high
        return cls(np.where(occupied, low, 0.0), np.where(occupied, high, 0.0), occupied, void, elsewhere)

    @property
    def spread(self) -> Floats:
        """V_i: the greatest minus the least value in each cell, 0 in a cell without rows."""
        return self.high - self.low

    @property
    def reach(self) -> Floats:
        """M_i: the largest absolute value in each cell, 0 in a cell without rows."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    @property
    def nowhere(self) -> bool:
        """Whether some row of D adds to no cell, so that it may become one that does, and the other way round."""
        return self.elsewhere or bool(self.void.any())

    def __repr__(self) -> str:
        return f"CellExtremes({len(self.low)} cells; confidential)"


def contingency_table_sensitivity(table: CellExtremes) -> float:
    """Return Δ_D of a table of counts: 2 where two cells have rows, 1 where one cell has and a row is in none, else 0.

    Proof: φ = e_i, and ‖e_i − e_j‖₁ = 2 for i ≠ j, ‖e_i‖₁ = 1. O'Keefe & Charest say 1: "can only change the count in
    exactly one cell"; but each count counts the rows that HAVE a value there, whatever it is.

    Parameters
    ----------
    table : CellExtremes
        Every row of D that counts has a value (any will do).

    Examples
    --------
    >>> contingency_table_sensitivity(CellExtremes.of([1, 1, 1], [0, 1, 1]))
    2.0
    """
    occupied = int(table.occupied.sum())
    return 2.0 if occupied >= 2 else float(occupied == 1 and table.nowhere)


def magnitude_table_sensitivity(table: CellExtremes) -> float:
    """Return Δ_D of a table of totals, all cells released together: max(max_i V_i, M₍₁₎ + M₍₂₎).

    M₍₁₎ ≥ M₍₂₎ are the two largest of the M_i over cells that have rows; rows that add to no cell are one more cell
    with M = 0; where all rows lie in one cell there is no second, and Δ_D is V.

    Proof: rows of one cell are at most V_i apart, rows of cells i ≠ j at most M_i + M_j, and rows of D reach both.

    Examples
    --------
    >>> magnitude_table_sensitivity(CellExtremes.of([100.0, 101.0, 90.0], [0, 0, 1]))
    191.0
    """
    reaches = np.sort(table.reach[table.occupied])[::-1]
    places = int(table.occupied.sum()) + table.nowhere
    moved = float(reaches[:2].sum()) if places >= 2 else 0.0
    return max(float(table.spread.max()), moved)


def cell_total_sensitivities(table: CellExtremes) -> Floats:
    """Return Δ_D of each cell's total alone: max(V_i, M_i), V_i where every row of D lies in cell i with a value.

    Proof: the total of cell i is that of φ_i, which is x for the rows in i and 0 for all others. It is the spread of
    these numbers, and where some row has 0 the spread of the values and 0 is max(V_i, M_i).

    Returns
    -------
    float array, one entry per cell
        For releasing ONE of them; two cells together cost twice.

    Examples
    --------
    >>> cell_total_sensitivities(CellExtremes.of([5.0, 7.0, -2.0, 4.0], [0, 0, 1, 1])).tolist()
    [7.0, 6.0]
    """
    if _in_one_cell(table):
        return table.spread
    return np.maximum(table.spread, table.reach)


def split_sensitivities(table: CellExtremes) -> Floats:
    """Return w_i such that noise of scale w_i/ε in cell i, for all cells together, costs ε: w_i = 2·M_i.

    Proof: with Laplace noise of scales w_i/ε neighbours' densities differ by at most exp(ε·Σ_i |φ_i(r) − φ_i(r')|/w_i).
    Rows of cells i ≠ j: |x|/2M_i + |x'|/2M_j ≤ ½ + ½. Rows of one cell: |x − x'| ≤ V_i ≤ 2·M_i. Where no second place
    is, w_i = V_i; where the second place is 'no cell', w_i = max(V_i, M_i).

    That is O'Keefe & Charest's option (ii) made correct, and less: two cells change, not k, so each gets ε/2 and not
    ε/k; and a row may enter or leave, so M_i counts and not V_i. (ε/2 for each with max(V_i, M_i) is also valid, and
    larger where a cell has values of both signs.)

    Examples
    --------
    >>> split_sensitivities(CellExtremes.of([5.0, 7.0, -2.0, 4.0], [0, 0, 1, 1])).tolist()
    [14.0, 8.0]
    """
    if _in_one_cell(table):
        return table.spread
    if int(table.occupied.sum()) == 1:
        return np.maximum(table.spread, table.reach)
    return 2.0 * table.reach


def public_membership_sensitivities(table: CellExtremes) -> Floats:
    """Return w_i = V_i for the third option: each row's cell is public, so a row becomes another row of its own cell.

    Proof: neighbours then differ in one cell only, by |x − x'| ≤ V_i; noise of scale V_i/ε in every cell costs ε. Where
    a row of the cell has no value, it may become one that has: max(V_i, M_i). This is Result 8 of O'Keefe & Charest
    under the assumption that it needs; without it a row may change its cell, and nothing is promised.

    Examples
    --------
    >>> public_membership_sensitivities(CellExtremes.of([5.0, 7.0, -2.0, 4.0], [0, 0, 1, 1])).tolist()
    [2.0, 6.0]
    """
    return np.where(table.void, np.maximum(table.spread, table.reach), table.spread)


def _in_one_cell(table: CellExtremes) -> bool:
    return int(table.occupied.sum()) == 1 and not table.nowhere


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
    O'Keefe & Charest (2018), Definitions 5, 9, 10 and section 5.2, with the correct sensitivities.
    """
    table = bootstrap_cells(asked, opened, guarantee=guarantee, **options).released(request_id)
    return table.with_margins() if margins else table


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

    def noise(self) -> BootstrapNoise:
        """Return what runs, with the columns of which everybody's category is public."""
        of_part = () if self.part is None else (self.part[0],)
        columns = tuple(dict.fromkeys((*self._public_columns, *of_part)))
        return BootstrapNoise(
            self.epsilon, self.statistic.name, self.option, self.query.cells, str(self.unit), columns, self.part
        )

    @property
    def _public_columns(self) -> tuple[str, ...]:
        return tuple(category.column for category in self.by) if self.option == "public-membership" else ()

    def values_read(self) -> tuple[str, ...]:
        """Return that values are clamped."""
        return ("values are clamped to the declared bounds and counted on the declared grid, both public",)

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
            sums, widths = (
                histogram.cell_sums(y),
                total_widths(CellExtremes.of_histogram(histogram, y), self.option, step=stride),
            )
        yield ExactNumbers(sums, widths, self.epsilon, self.unit, Fraction(0), self.everywhere())

    def result(self, values: NDArray[np.float64], **about: Any) -> BootstrapTable:
        """Return the table, without errors."""
        covers = "a number of records, with noise"
        if not self.statistic.is_count:
            low, high = self.statistic.grid.as_bounds()
            clamped = f"{self.statistic.column} clamped to [{low:.15g}, {high:.15g}]"
            covers = f"a total of {clamped}, with noise of undisclosed width"
        subject = Subject(self.statistic.name, self.statistic.column, METHOD, covers)
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
            rule="Bootstrap differential privacy must be requested by name.",
            finding="The guarantee was not named.",
            remedy='Write guarantee="bootstrap-dp", a guarantee that is weaker than differential privacy.',
        )
    law = check_names(sensitivity, noise, options.get("by"))
    context = Context(opened.facts, most_cells=MOST_CELLS, related=opened.protection.related)
    request = parse_request(asked, context=context, delta=0.0, **options)
    check_reach(opened, law, delta, where=options.get("where"), weights=options.get("weights"))
    _check_part(part)
    (statistic,), cells = request.statistics, Query(None, request.by).cells
    if not statistic.is_total:
        raise TypeError(f"a table holds counts or totals, not {statistic.name}")
    if not statistic.is_count:
        _check_whole_numbers(statistic.grid)
    option, reason = _option(sensitivity, statistic, cells)
    about = opened, request.budget.epsilon, request.notes
    return BootstrapCells(*about, statistic, request.by, request.policies[0], option, reason, part)


def _check_part(part: object) -> None:
    texts = isinstance(part, tuple) and len(part) == 2 and all(isinstance(text, str) and text for text in part)
    if part is not None and not texts:
        raise ParameterError(
            "HG111",
            rule="`part` of a larger table is a pair of texts: a public column and one of its categories.",
            finding="The given value does not follow the rule.",
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
            rule="Grid values must be whole multiples of one unit and fit 31 bits.",
            finding="The given bounds and the given step have no common unit that is coarse enough.",
            remedy="Choose a step such that the lower bound is a multiple of the step, or choose a coarser step.",
        )


def _option(sensitivity: object, statistic: Statistic, cells: int) -> tuple[Option, str]:
    if statistic.is_count and sensitivity == "public-membership":
        raise UncertifiedError(
            "HG413",
            rule="If the cell of every person is public, the counts of the cells are public too.",
            finding="A table of counts was requested with public membership.",
            remedy="Count the rows without hedgerow, or keep the membership private with another option.",
        )
    match sensitivity:
        case "whole-table" | "per-cell" | "public-membership":
            return sensitivity, "asked for by name"
    if statistic.is_count:
        return "whole-table", "counts have the same noise in every cell, whatever the data"
    return choose_option(cells)
