"""The cells of a released table as arrays: values, their errors, and intervals. Plain numbers, post-processing.

The one source of every number of a table: estimates, margins, letters, writers, frames and plots read it. A cell is a
noisy total Y = T + Z: T that of the file, Z the noise. Its sampling variance is that of T about the population (0 for a
census), its privacy variance that of Z. Where the scale of the noise is confidential (`bootstrap-dp`), the errors are
withheld and values are all there is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.inference.estimates_of_cells import Cells, Subject
from hedgerow.inference.joint.estimates import estimate
from hedgerow.inference.joint.functions import FunctionOfTotals, gradient, value_of
from hedgerow.inference.joint.totals import JointTotals, SideBySide
from hedgerow.inference.means_and_counts import (
    RELIABLE_SDS,
    SMALL_COUNT,
    NoisyMoments,
    counts_with_errors,
    sum_variance,
)
from hedgerow.inference.region import JoinedRegions, Region, ScoreRegion, WithheldRegion
from hedgerow.inference.score_test import Quadratic, QuadraticTest
from hedgerow.release.cells.shape import TableShape

Floats = NDArray[np.float64]
Adding = Callable[[Floats], Floats]
NEGATIVE = "This number lies below what is possible: noise was added, and nothing was cut, so that totals add up."
WITHHELD = (
    "No error is given: under bootstrap-dp, which is NOT differential privacy, "
    "it would tell what the noise was scaled to."
)
_NO_SUBJECT = Subject("", None, "table", "")
# Stands for a region that follows from the other fields.
FOLLOWS = WithheldRegion()


@dataclass(frozen=True, slots=True, eq=False)
class TableCells(Cells):
    """A noisy table: one number per cell, in the order of its shape, with its errors and its interval at any level.

    These are `Cells` that know how totals over them are read. Intervals are as the release read them, or by the same
    formulas: counts solve (Y − θ)² ≤ z²(θ − θ²/n + τ²), half a count added at both ends; totals are Y ± z·√(v + τ²), v
    the sampling variance and half a standard deviation of its noise, z larger where few records say what v is, and
    corrected for skewness. Where errors are withheld there are none (HG161).

    Build it with `TableCells.counts` or `TableCells.totals`, which know how the sampling variance follows from what was
    released; totals over cells are then built by the same rule.

    Attributes
    ----------
    shape : TableShape
    values : float array, (size,)
        The noisy numbers as they were drawn: NOT cut at what is possible, so that they may be added up without bias.
        (Replicates are cut before they are added up, as a release of them is.)
    sampling_variance : float array, (size,), or float, or None
        Of each cell, or the same of all; 0 for a census. Given as None it follows from the counts or second moments.
    privacy_variance : float array, (size,), or float, or None
        As it; None: withheld.
    noise_law : str
        The law of the noise on each number, as `inference.noise_law` names it. A weighted sum of Laplace numbers, as a
        total or an adjusted cell has, is ``"laplace"``: its critical values, never below the normal ones, covered for
        eight sets of weights at levels from .5 to .999 (a check, no proof).
    n : int or None
        The number of records where it is public and a record may be in any cell: cells are then parts of n draws, not
        independent of one another.
    census : bool
        Whether the target is the file, so that there is no sampling error.
    counted : bool
        Whether the cells count records; else they are totals of a column.
    second_moment : float array, (size,), or None
        Noisy Σx² of each cell, in the unit squared; for totals of records that may be in a cell or not. Without it
        sampling variances of totals add up, as those of cells whose records are known do.
    second_moment_variance : float array, (size,), or float
        Of its noise; without a second moment, of the noise of the sampling variance.
    low, high : float array, (size,), or float
        The least and the most that a number can be.
    shown : float array, (size,), or None
        The numbers to be published in place of the values, after rounding; errors and intervals stay those of the
        values.
    freedom : float array, (size,), or float
        Degrees of freedom of a sampling variance that was estimated from as many records.
    skew : pair of float array, (size,), or float
        μ₃/v of what a total adds up, and how far it may lie to either side (`inference.score.skewness_range`).
    subject : Subject
        What the numbers are, in words.
    region : Region
        What intervals come from: what the release itself read of the cells. Not given, it follows from all the above.
    labels : TableShape
        The shape, as a sequence of {column: category}.
    estimate : float array, (size,)
        The numbers to be published: those shown in place of the values, else the values.
    sampling_error, bootstrap_error, privacy_error : float array, (size,)
        In the unit of the values; NaN where they are withheld.
    reliable : bool array, (size,)
        Where a number stands clear of its noise: counts of 2 sd of it, all totals, none that is withheld.

    Raises
    ------
    ParameterError
        HG161 where an array has another length than the table has cells, holds no finite number, or a variance is
        below 0.
    """

    labels: TableShape = field(init=False)
    estimate: Floats = field(init=False)
    sampling_error: Floats = field(init=False)
    bootstrap_error: Floats = field(init=False)
    privacy_error: Floats = field(init=False)
    reliable: NDArray[np.bool_] = field(init=False)
    shape: TableShape
    values: Floats
    sampling_variance: Floats | float | None
    privacy_variance: Floats | float | None
    noise_law: str = "gaussian"
    n: int | None = None
    census: bool = False
    counted: bool = False
    second_moment: Floats | None = None
    second_moment_variance: Floats | float = 0.0
    low: Floats | float = -math.inf
    high: Floats | float = math.inf
    shown: Floats | None = None
    freedom: Floats | float = math.inf
    skew: tuple[Floats | float, Floats | float] = (0.0, 0.0)
    subject: Subject = field(default=_NO_SUBJECT, kw_only=True)
    region: Region = field(default=FOLLOWS, kw_only=True)

    def __post_init__(self) -> None:
        _put(self, "values", _checked(self.values, self.shape.size))
        if self.values.ndim == 0:
            _put(self, "values", np.full(self.shape.size, float(self.values)))
        for name in ("second_moment", "shown"):
            if getattr(self, name) is not None:
                _put(self, name, _checked(getattr(self, name), self.shape.size))
        known = ("privacy_variance", "second_moment_variance", "sampling_variance")
        for name in known if self.privacy_variance is not None else ():
            variance = self._ruled_variance() if getattr(self, name) is None else getattr(self, name)
            variance = _checked(variance, self.shape.size)
            if (variance < 0.0).any():
                raise _unfit("A variance is below 0.")
            _put(self, name, float(variance) if variance.ndim == 0 else variance)
        if self.region is FOLLOWS:
            _put(self, "region", ScoreRegion(self._ruled_test()))
        _put(self, "labels", self.shape)
        _put(self, "estimate", self.values if self.shown is None else self.shown)
        self._put_errors()

    @classmethod
    def counts(
        cls,
        shape: TableShape,
        values: Floats,
        *,
        privacy_variance: Floats | float,
        noise_law: str = "gaussian",
        n: int | None = None,
        census: bool = False,
    ) -> TableCells:
        """Return noisy counts; sampling variance θ − θ²/n at the noisy count cut to [0, n] (θ where n is private).

        >>> from hedgerow.release.cells.shape import TableDimension
        >>> cells = TableCells.counts(TableShape((TableDimension("sex", (0, 1)),)), [40.0, -1.5], privacy_variance=2.0,
        ...     n=50)
        >>> cells.sampling_variance.tolist(), cells.standard_error.round(2).tolist()
        ([8.0, 0.0], [3.16, 1.41])
        """
        most = math.inf if n is None else float(n)
        return cls(shape, values, None, privacy_variance, noise_law, n, census, True, low=0.0, high=most)

    @classmethod
    def totals(
        cls,
        shape: TableShape,
        values: Floats,
        *,
        privacy_variance: Floats | float,
        second_moment: Floats | None = None,
        second_moment_variance: Floats | float = 0.0,
        noise_law: str = "gaussian",
        n: int | None = None,
        low: Floats | float = -math.inf,
        high: Floats | float = math.inf,
    ) -> TableCells:
        """Return noisy totals of a column; without a second moment they are of a census.

        Sampling variance: max(Σx² − (Y² − τ²)/n, 0) with τ² the privacy variance, Σx² where n is private (moments.md
        §2; `inference.moments.sum_variance`).
        """
        moment = None if second_moment is None else np.asarray(second_moment, dtype=np.float64)
        census = moment is None
        noise = second_moment_variance
        return cls(shape, values, None, privacy_variance, noise_law, n, census, False, moment, noise, low, high)

    @classmethod
    def of_scores(
        cls,
        shape: TableShape,
        cells: Cells,
        test: QuadraticTest,
        *,
        n: int | None,
        census: bool,
        counted: bool = False,
        squares: tuple[Floats | None, Floats | float] = (None, 0.0),
    ) -> TableCells:
        """Return cells with the errors that a release read; `squares` are second moments with their noise variance.

        Numbers are uncut, one unbiased number a cell, which is added up: a table cut cell by cell would not add up.
        """
        privacy = cells.privacy_error**2
        return cls(
            shape,
            test.a,
            cells.sampling_error**2,
            float(privacy[0]) if privacy.min() == privacy.max() else privacy,
            test.noise_law,
            n,
            census,
            counted,
            *squares,
            test.low,
            test.high,
            freedom=test.freedom,
            skew=(test.skew, test.skew_unsure),
            subject=cells.subject,
            region=ScoreRegion(test),
        )

    @classmethod
    def without_errors(
        cls, shape: TableShape, values: Floats, *, counted: bool, subject: Subject = _NO_SUBJECT
    ) -> TableCells:
        """Return noisy numbers whose errors are withheld, since they would reveal the scale of the noise.

        >>> TableCells.without_errors(TableShape(()), [41.0], counted=True).withheld
        True
        """
        return cls(shape, np.asarray(values, dtype=np.float64), 0.0, None, counted=counted, subject=subject)

    @property
    def withheld(self) -> bool:
        """Whether there are values alone: no standard error, no interval, no letter."""
        return self.privacy_variance is None

    @property
    def noise_variance(self) -> Floats | float:
        """The privacy variance, where it is not withheld (HG161)."""
        self.check_given()
        return math.nan if self.privacy_variance is None else self.privacy_variance

    @property
    def standard_error(self) -> Floats:
        """The root of the sum of the three squares (HG161 where withheld)."""
        self.check_given()
        return self._root_of_squares()

    @property
    def published(self) -> Floats:
        """The numbers to be published: those shown in place of the values, else the values."""
        return self.estimate

    def over(self, add: Adding, shape: TableShape) -> TableCells | None:
        """Return totals over the cells where they are read from more than the numbers and errors of these; else None.

        `add` adds up one number a cell to one a total of the shape.
        """
        return None

    def _kinds_of_notes(self) -> NDArray[np.int64]:
        return np.asarray(self.reliable + 2 * (self.estimate < self.low) + 4 * (self.sampling_error == 0.0))

    def note(self, index: int) -> str | None:
        """Return what a reader must know about one number."""
        if self.withheld:
            return WITHHELD
        low = self.low if isinstance(self.low, float) else self.low[index]
        notes = [] if self.reliable[index] else [SMALL_COUNT]
        return self._noted(index, [*notes, *([NEGATIVE] if self.estimate[index] < low else [])])

    @property
    def names(self) -> Mapping[str, Mapping[Any, str]]:
        """The labels of categories that have some: {column: {category: label}}."""
        return self.shape.names

    @property
    def grid(self) -> Floats:
        """The values as an array of the table's shape."""
        return self.values.reshape(self.shape.shape)

    def with_values(
        self, values: Floats, privacy_variance: Floats | float, *, noise_law: str | None = None
    ) -> TableCells:
        """Return the same cells with values estimated anew and the noise variance that is left on them."""
        sampling = None if self.follows else self.sampling_variance
        law = noise_law or self.noise_law
        return replace(
            self,
            values=values,
            privacy_variance=privacy_variance,
            noise_law=law,
            sampling_variance=sampling,
            shown=None,
            region=FOLLOWS,
        )

    def with_shown(self, shown: Floats | None) -> TableCells:
        """Return the same cells with other numbers to be published."""
        return replace(self, shown=shown)

    def _put_errors(self) -> None:
        size = self.shape.size
        sampling, bootstrap, privacy = (np.sqrt(self._ruled()), np.zeros(1), np.sqrt(self._privacy_or(math.nan)))
        clear = self.values >= RELIABLE_SDS * privacy if self.counted else np.array(not self.withheld)
        for name, part in (("sampling_error", sampling), ("bootstrap_error", bootstrap), ("privacy_error", privacy)):
            _put(self, name, np.broadcast_to(math.nan if self.withheld else part, size))
        _put(self, "reliable", np.broadcast_to(clear, size))

    def check_given(self) -> None:
        """Refuse errors that are withheld (HG161)."""
        if self.withheld:
            raise ParameterError(
                "HG161",
                rule="The errors of this table are withheld, because they would reveal the scale of its noise.",
                finding="An error was requested.",
                remedy='Publish only the values, or release the table with guarantee="dp".',
            )

    def _privacy_or(self, otherwise: float) -> Floats | float:
        return otherwise if self.privacy_variance is None else self.privacy_variance

    @property
    def follows(self) -> bool:
        """Whether the sampling variance follows from the numbers; else it was given, and adds up."""
        return self.counted or self.census or self.second_moment is not None

    @property
    def upper_variance(self) -> Floats:
        """The sampling variance with half a standard deviation of its noise, as intervals of totals take it."""
        if self.second_moment is not None:
            return sum_variance(self._moments(), self.n)[1]
        added = 0.5 * np.sqrt(self.second_moment_variance)
        return np.broadcast_to(np.asarray(self._ruled() + added, dtype=np.float64), self.shape.size)

    def _ruled(self) -> Floats | float:
        return 0.0 if self.sampling_variance is None else self.sampling_variance

    def _moments(self) -> NoisyMoments:
        noise_sd = np.sqrt(self.noise_variance), np.sqrt(self.second_moment_variance)
        return NoisyMoments(np.zeros(self.shape.size), self.values, self.second_moment, 0.0, *noise_sd, 0.0)

    def _ruled_variance(self) -> Floats | float:
        if self.census or not self.counted:
            return sum_variance(self._moments(), self.n)[0] if self.second_moment is not None else 0.0
        inside = np.minimum(np.maximum(self.values, self.low), self.high)
        return np.maximum(inside - (0.0 if self.n is None else inside**2 / max(self.n, 1)), 0.0)

    def _ruled_test(self) -> QuadraticTest:
        """Return what intervals come from, by the formulas of every release; where errors are withheld, no interval."""
        noise_sd = np.sqrt(self._privacy_or(0.0))
        if not self.counted or self.withheld:
            return QuadraticTest(
                self.values,
                sampling=Quadratic(np.zeros(self.shape.size) if self.withheld else self.upper_variance),
                noise=Quadratic(noise_sd**2),
                low=self.low,
                high=self.high,
                freedom=self.freedom,
                noise_law=self.noise_law,
                method=self.subject.method,
                reliable=not self.withheld,
                skew=self.skew[0],
                skew_unsure=self.skew[1],
            )
        counts = counts_with_errors(
            self.values,
            noise_sd=noise_sd,
            n=self.n,
            census=self.census,
            noise_law=self.noise_law,
            method=self.subject.method,
        ).test
        if np.all(noise_sd):
            return counts
        # A number without any error is known, such as n: a score interval would still allow for a share below 1.
        unknown = np.where(np.asarray(self._ruled()) + noise_sd > 0.0, 1.0, 0.0)
        sampling = Quadratic(0.0, counts.sampling.linear * unknown, counts.sampling.square * unknown)
        return replace(counts, sampling=sampling, margin=np.where(noise_sd > 0.0, counts.margin, 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class UnitCells(TableCells):
    """Cells of units of several rows: totals over them are read from their joint moments, as the cells are."""

    moments: JointTotals = field(kw_only=True)
    function: FunctionOfTotals = field(kw_only=True)

    def over(self, add: Adding, shape: TableShape) -> TableCells:
        """Return totals; a unit may have rows in several of the cells (`JointTotals.over`)."""
        number, slopes = add(np.ones(self.shape.size)), gradient(self.function, self.moments.totals[:1])[0, 1:]
        parts = []
        for cells in np.unique(number):
            places = np.flatnonzero(number == cells)
            parts.append((places, self.moments.over(add, int(cells), slopes).rows(places)))
        return TableCells(shape, **_of_units(self.function, parts), counted=self.counted, subject=self.subject)


def joint_cells(
    shape: TableShape, function: FunctionOfTotals, moments: JointTotals, *, counted: bool, subject: Subject
) -> TableCells:
    """Return the cells of a table that were read from joint moments: sums, or numbers of rows of units."""
    if moments.limit is not None:
        parts = _of_units(function, [(np.arange(shape.size), moments)])
        return UnitCells(shape, **parts, counted=counted, subject=subject, moments=moments, function=function)
    read, own = estimate(function, SideBySide((moments,))), _about_zero(function, moments)
    blocks = read.tangent.blocks
    return TableCells(
        shape,
        own.sums[:, 0],
        read.sampling_error**2,
        float(read.privacy_error[0]) ** 2,
        moments.law,
        n=moments.n,
        census=moments.census,
        counted=counted,
        second_moment=None if moments.census else own.products[:, 0, 0],
        second_moment_variance=float(own.mixing[2] @ own.mixing[2]),
        low=function.low,
        high=function.high,
        skew=(blocks.skew[:, 0], blocks.unsure[:, 0]),
        subject=subject,
        region=ScoreRegion.of_cells(read),
    )


def noise_about_zero(function: FunctionOfTotals, moments: JointTotals) -> tuple[float, float]:
    """Return the noise on a sum and on its second moment about zero, the same in all cells; standard deviations."""
    total, square = np.linalg.norm(_about_zero(function, moments).mixing[1:], axis=1)
    return float(total), float(square)


def _about_zero(function: FunctionOfTotals, moments: JointTotals) -> JointTotals:
    """Return the moments of what each record, or unit, adds to a sum."""
    return moments.transformed(gradient(function, moments.totals[:1]))


def _of_units(function: FunctionOfTotals, parts: Sequence[tuple[NDArray[np.intp], JointTotals]]) -> dict[str, Any]:
    """Return the fields of cells of units that are read from joint moments, by their places."""
    size = sum(len(places) for places, _ in parts)
    values, sampling, privacy = (np.empty(size) for _ in range(3))
    regions = []
    for places, moments in parts:
        read = estimate(function, SideBySide((moments,)))
        values[places] = value_of(function, moments.totals)
        sampling[places], privacy[places] = read.sampling_error**2, read.privacy_error**2
        regions.append((places, ScoreRegion.of_cells(read)))
    even = privacy.min() == privacy.max()
    return {
        "values": values,
        "sampling_variance": sampling,
        "privacy_variance": float(privacy[0]) if even else privacy,
        "noise_law": parts[0][1].law,
        "low": function.low,
        "high": function.high,
        "region": regions[0][1] if len(parts) == 1 else _in_order(regions),
    }


def _in_order(parts: Sequence[tuple[NDArray[np.intp], Region]]) -> JoinedRegions:
    """Return the regions of totals over different numbers of cells, by their places."""
    rows = {int(at): (region, row) for places, region in parts for row, at in enumerate(places)}
    return JoinedRegions([region.row(row) for _, (region, row) in sorted(rows.items())])


def _checked(values: object, size: int) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim and array.shape != (size,):
        raise _unfit(f"An array has the shape {array.shape}, the table {size:,} cells.")
    if not np.isfinite(array).all():
        raise _unfit("A number is not finite.")
    return array


def _unfit(finding: str) -> ParameterError:
    return ParameterError(
        "HG161",
        rule="The arrays of a table hold one finite number for each cell, in the order of its shape. Variances are not "
        "negative.",
        finding=finding,
        remedy="Flatten a grid in row-major order (the first dimension changes slowest).",
    )


def _put(cells: TableCells, name: str, value: object) -> None:
    object.__setattr__(cells, name, value)
