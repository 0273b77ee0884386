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
from hedgerow.inference.basis import IntervalBasis
from hedgerow.inference.cells import Cells, IntervalArrays, Subject
from hedgerow.inference.counts import counts_with_errors
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.interval import parse_level
from hedgerow.inference.moments import RELIABLE_SDS, NoisyMoments, sum_variance
from hedgerow.inference.score import Quadratic, ScoreArrays
from hedgerow.noise.table import AdditiveTable
from hedgerow.release.cells.shape import TableShape
from hedgerow.release.designs.design import SMALL_COUNT
from hedgerow.release.designs.unit_bootstrap import UnitBootstrapDesign

Floats = NDArray[np.float64]
NEGATIVE = "This number lies below what is possible: noise was added, and nothing was cut, so that totals add up."
WITHHELD = (
    "No error is given: under bootstrap-dp, which is NOT differential privacy, "
    "it would tell what the noise was scaled to."
)
_NO_SUBJECT = Subject("", None, "table", "")
# Stands for a basis that follows from the other fields.
FOLLOWS = ScoreArrays(np.zeros(0), Quadratic(), Quadratic(), 0.0, 0.0, "gaussian", "table")


@dataclass(frozen=True, slots=True, eq=False)
class ResampledCells:
    """Replicates of every cell, as the release reads them.

    Replicates of a total are the sums of its cells', read by the same formulas: nothing is assumed of the cells but
    that a unit has rows in several of them (`UnitBootstrapDesign.estimates`).

    Attributes
    ----------
    design : UnitBootstrapDesign
    table : AdditiveTable
    added : float array, (cells,)
        How many cells of the released table each adds up.
    estimates : sequence of Estimate
    """

    design: UnitBootstrapDesign
    table: AdditiveTable
    added: Floats
    estimates: Sequence[Estimate]

    @classmethod
    def of(cls, design: UnitBootstrapDesign, table: AdditiveTable) -> ResampledCells:
        """Read what was drawn."""
        return cls(design, table, np.ones(len(table.values)), design.estimates(table))

    def over(self, add: Callable[[Floats], Floats]) -> ResampledCells:
        """Return totals; `add` adds up one number per cell to one per total."""
        values = np.apply_along_axis(add, 0, self.table.values)
        variances = np.broadcast_to(self.table.noise_sd**2, self.table.values.shape[:2])
        noise_sd, added = np.sqrt(np.apply_along_axis(add, 0, variances)), add(self.added)
        summed = AdditiveTable(({},) * len(values), self.table.features, values, noise_sd, self.table.noise_law)
        return ResampledCells(self.design, summed, added, self.design.estimates(summed, added))

    @property
    def errors(self) -> tuple[Floats, Floats, Floats]:
        """The sampling, bootstrap and privacy error of each cell."""
        parts = [(one.sampling_error, one.bootstrap_error, one.privacy_error) for one in self.estimates]
        sampling, bootstrap, privacy = np.array(parts, dtype=np.float64).T
        return sampling, bootstrap, privacy

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """The least and the most that each number can be."""
        low, high = np.array([(one.basis.low, one.basis.high) for one in self.estimates], dtype=np.float64).T
        return low, high

    def row(self, place: int) -> IntervalBasis:
        """Return what the interval of one cell comes from."""
        return self.estimates[place].basis

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Return (low, high) of each cell at a level."""
        found = [one.confidence_interval(level) for one in self.estimates]
        return np.array([one.low for one in found]), np.array([one.high for one in found])


@dataclass(frozen=True, slots=True, eq=False)
class TableCells(Cells):
    """A noisy table: one number per cell, in the order of its shape, with its errors and its interval at any level.

    These are `Cells` that know how totals over them are read.

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
    resampled : ResampledCells or None
        Replicates of the cells, where they are what was released.
    subject : Subject
        What the numbers are, in words.
    basis : ScoreArrays or ResampledCells
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
    resampled: ResampledCells | None = None
    subject: Subject = field(default=_NO_SUBJECT, kw_only=True)
    basis: IntervalArrays = field(default=FOLLOWS, kw_only=True)

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
        if self.basis is FOLLOWS:
            _put(self, "basis", self.resampled or self._ruled_basis())
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

        >>> from hedgerow.release.cells.shape import Axis
        >>> cells = TableCells.counts(TableShape((Axis("sex", (0, 1)),)), [40.0, -1.5], privacy_variance=2.0, n=50)
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
    def without_errors(
        cls, shape: TableShape, values: Floats, *, counted: bool, subject: Subject = _NO_SUBJECT
    ) -> TableCells:
        """Return noisy numbers whose errors are withheld, since they would reveal the scale of the noise.

        >>> TableCells.without_errors(TableShape(()), [41.0], counted=True).withheld
        True
        """
        return cls(shape, np.asarray(values, dtype=np.float64), 0.0, None, counted=counted, subject=subject)

    @classmethod
    def replicated(
        cls,
        shape: TableShape,
        values: Floats,
        resampled: ResampledCells,
        *,
        counted: bool,
        census: bool = False,
        subject: Subject = _NO_SUBJECT,
    ) -> TableCells:
        """Return numbers that were released as replicates, with the errors and intervals that those have."""
        (sampling, _, privacy), (low, high) = resampled.errors, resampled.ends
        known = "gaussian", None, census, counted, None, 0.0, low, high
        return cls(shape, values, sampling**2, privacy**2, *known, resampled=resampled, subject=subject)

    @property
    def withheld(self) -> bool:
        """Whether there are values alone: no standard error, no interval, no letter."""
        return self.privacy_variance is None

    @property
    def noise_variance(self) -> Floats | float:
        """The privacy variance, where it is not withheld (HG161)."""
        self._check_given()
        return math.nan if self.privacy_variance is None else self.privacy_variance

    @property
    def standard_error(self) -> Floats:
        """The root of the sum of the three squares (HG161 where withheld)."""
        self._check_given()
        return self._root_of_squares()

    @property
    def published(self) -> Floats:
        """The numbers to be published: those shown in place of the values, else the values."""
        return self.estimate

    @property
    def n_resamples(self) -> int | None:
        """Replicates, for a bootstrap."""
        return None if self.resampled is None else self.resampled.design.n_resamples

    def replicates(self, index: int) -> tuple[float, ...] | None:
        """Return the noisy replicates behind one number, for a bootstrap."""
        return None if self.resampled is None else self.resampled.estimates[index].replicates

    def note(self, index: int) -> str | None:
        """Return what a reader must know about one number."""
        if self.withheld:
            return WITHHELD
        if self.resampled is not None:
            return self.resampled.estimates[index].note
        low = self.low if isinstance(self.low, float) else self.low[index]
        notes = [] if self.reliable[index] else [SMALL_COUNT]
        notes += [NEGATIVE] if self.estimate[index] < low else []
        return " ".join([*notes, *([self.subject.remark] if self.subject.remark else [])]) or None

    def names_of(self, cell: Mapping[str, Any]) -> dict[str, str]:
        """Return {column: label} of the categories of a cell that have labels."""
        return self.shape.names_of(cell)

    @property
    def grid(self) -> Floats:
        """The values as an array of the table's shape."""
        return self.values.reshape(self.shape.shape)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return (low, high) of each cell at a level, cut to what is possible. Post-processing: it costs no budget.

        As the release read it, or by the same formulas (`inference.counts`, `inference.moments`): counts solve
        (Y − θ)² ≤ z²(θ − θ²/n + τ²), half a count added at both ends; totals are Y ± z·√(v + τ²), v the sampling
        variance and half a standard deviation of its noise, z larger where few records say what v is, and corrected for
        skewness.

        Raises
        ------
        ParameterError
            HG110 for the level; HG161 where the errors are withheld.
        """
        self._check_given()
        return self.basis.interval(parse_level(level))

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
            basis=FOLLOWS,
        )

    def with_shown(self, shown: Floats | None) -> TableCells:
        """Return the same cells with other numbers to be published."""
        return replace(self, shown=shown)

    def _put_errors(self) -> None:
        size, drawn = self.shape.size, self.resampled
        sampling, bootstrap, privacy = (np.sqrt(self._ruled()), np.zeros(1), np.sqrt(self._privacy_or(math.nan)))
        clear = self.values >= RELIABLE_SDS * privacy if self.counted else np.array(not self.withheld)
        if drawn is not None:
            sampling, bootstrap, privacy = drawn.errors
            clear = np.array([one.reliable for one in drawn.estimates], dtype=bool)
        for name, part in (("sampling_error", sampling), ("bootstrap_error", bootstrap), ("privacy_error", privacy)):
            _put(self, name, np.broadcast_to(math.nan if self.withheld else part, size))
        _put(self, "reliable", np.broadcast_to(clear, size))

    def _check_given(self) -> None:
        if self.withheld:
            raise ParameterError(
                "HG161",
                rule="The errors of this table are withheld: they would tell the scale of its noise.",
                finding="One was asked for.",
                remedy='Publish the values alone, or release the table with guarantee="dp".',
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

    def _ruled_basis(self) -> ScoreArrays:
        """Return what intervals come from, by the formulas of every release; where errors are withheld, no interval."""
        noise_sd = np.sqrt(self._privacy_or(0.0))
        if not self.counted or self.withheld:
            return ScoreArrays(
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
        found = counts_with_errors(
            self.values,
            noise_sd=noise_sd,
            n=self.n,
            census=self.census,
            noise_law=self.noise_law,
            method=self.subject.method,
        ).basis
        if np.all(noise_sd):
            return found
        # A number without any error is known, such as n: a score interval would still allow for a share below 1.
        unknown = np.where(np.asarray(self._ruled()) + noise_sd > 0.0, 1.0, 0.0)
        sampling = Quadratic(0.0, found.sampling.linear * unknown, found.sampling.square * unknown)
        return replace(found, sampling=sampling, margin=np.where(noise_sd > 0.0, found.margin, 0.0))


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
        rule="Arrays of a table hold one finite number a cell, in the order of its shape; variances are 0 or more.",
        finding=finding,
        remedy="Flatten a grid in row-major order, the first axis slowest.",
    )


def _put(cells: TableCells, name: str, value: object) -> None:
    object.__setattr__(cells, name, value)
