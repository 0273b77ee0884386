"""The cells of a released table as arrays: values, their two variances, and intervals. Plain numbers, post-processing.

What margins, rounding, letters, writers and plots read. A cell is a noisy total Y = T + Z: T that of the file, Z the
noise. Its sampling variance is that of T about the population (0 for a census), its privacy variance that of Z. Where
the noise's scale may not be told (`bootstrap-dp`), the errors are withheld and values are all there is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.inference.counts import WHOLE_NUMBERS
from hedgerow.inference.level import parse_level
from hedgerow.inference.score import Quadratics, ScoreArrays
from hedgerow.tables.shape import TableShape

__all__ = ["TableCells"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class TableCells:
    """A noisy table: one number a cell, in the order of its shape, with its sampling and its privacy variance.

    Build it with `TableCells.counts` or `TableCells.totals`, which know how the sampling variance follows from what was
    released; totals over cells are then built by the same rule.

    Attributes
    ----------
    shape : TableShape
    values : float array, (size,)
        The noisy numbers as they were drawn: NOT cut at what is possible, so that they may be added up without bias.
    sampling_variance, privacy_variance : float array, (size,), or float
        Of each cell, or the same of all; 0 sampling variance for a census. A `privacy_variance` of None: withheld.
    noise_law : str
        The law of the noise on each number, as `inference.noise_law` names it. A weighted sum of Laplace numbers, as a
        total or an adjusted cell has, is ``"laplace"``: its critical values, never below the normal ones, covered for
        eight sets of weights at levels from .5 to .999 (a check, no proof).
    n : int or None
        The number of records where it is public: cells are then parts of n draws, not independent of one another.
    census : bool
        Whether the target is the file, so that there is no sampling error.
    counted : bool
        Whether the cells count records; else they are totals of a column.
    second_moment : float array, (size,), or None
        Noisy Σx² of each cell, in the unit squared; for totals with a sampling error.
    second_moment_variance : float array, (size,), or float
        Of its noise.
    low, high : float
        The least and the most that a cell, or a sum of cells, can be.
    shown : float array, (size,), or None
        The numbers to be published in place of the values, after rounding; errors and intervals stay those of the
        values.

    Raises
    ------
    ParameterError
        HG161 where an array has another length than the table has cells, holds no finite number, or a variance is
        below 0.
    """

    shape: TableShape
    values: Floats
    sampling_variance: Floats | float
    privacy_variance: Floats | float | None
    noise_law: str = "gaussian"
    n: int | None = None
    census: bool = False
    counted: bool = False
    second_moment: Floats | None = None
    second_moment_variance: Floats | float = 0.0
    low: float = -math.inf
    high: float = math.inf
    shown: Floats | None = None

    def __post_init__(self) -> None:
        _put(self, "values", _checked(self.values, self.shape.size))
        if self.values.ndim == 0:
            _put(self, "values", np.full(self.shape.size, float(self.values)))
        for name in ("second_moment", "shown"):
            if getattr(self, name) is not None:
                _put(self, name, _checked(getattr(self, name), self.shape.size))
        known = ("sampling_variance", "privacy_variance", "second_moment_variance")
        for name in known if self.privacy_variance is not None else ():
            variance = _checked(getattr(self, name), self.shape.size)
            if (variance < 0.0).any():
                raise _unfit("A variance is below 0.")
            _put(self, name, float(variance) if variance.ndim == 0 else variance)

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

        >>> from hedgerow.tables.shape import Axis
        >>> cells = TableCells.counts(TableShape((Axis("sex", (0, 1)),)), [40.0, -1.5], privacy_variance=2.0, n=50)
        >>> cells.sampling_variance.tolist(), cells.standard_error.round(2).tolist()
        ([8.0, 0.0], [3.16, 1.41])
        """
        most = math.inf if n is None else float(n)
        inside = np.clip(np.asarray(values, dtype=np.float64), 0.0, most)
        sampling = 0.0 if census else np.maximum(inside - inside**2 / most, 0.0)
        return cls(
            shape,
            np.asarray(values, dtype=np.float64),
            sampling,
            privacy_variance,
            noise_law,
            n,
            census,
            True,
            low=0.0,
            high=most,
        )

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
        low: float = -math.inf,
        high: float = math.inf,
    ) -> TableCells:
        """Return noisy totals of a column; without a second moment they are of a census.

        Sampling variance: max(Σx² − (Y² − τ²)/n, 0) with τ² the privacy variance, Σx² where n is private (moments.md
        §2; `inference.moments.sum_variance`).
        """
        total = np.asarray(values, dtype=np.float64)
        sampling: Floats | float = 0.0
        if second_moment is not None:
            taken = 0.0 if n is None else (total**2 - privacy_variance) / max(n, 1)
            sampling = np.maximum(np.asarray(second_moment, dtype=np.float64) - taken, 0.0)
        return cls(
            shape,
            total,
            sampling,
            privacy_variance,
            noise_law,
            n,
            second_moment is None,
            False,
            second_moment,
            second_moment_variance,
            low,
            high,
        )

    @classmethod
    def without_errors(cls, shape: TableShape, values: Floats, *, counted: bool) -> TableCells:
        """Return noisy numbers whose errors are withheld, since they would tell what may not be told.

        >>> TableCells.without_errors(TableShape(()), [41.0], counted=True).withheld
        True
        """
        return cls(shape, np.asarray(values, dtype=np.float64), 0.0, None, counted=counted)

    @property
    def withheld(self) -> bool:
        """Whether there are values alone: no standard error, no interval, no letter."""
        return self.privacy_variance is None

    @property
    def noise_variance(self) -> Floats | float:
        """The privacy variance, where it is not withheld (HG161)."""
        if self.privacy_variance is None:
            raise ParameterError(
                "HG161",
                rule="The errors of this table are withheld: they would tell the scale of its noise.",
                finding="One was asked for.",
                remedy='Publish the values alone, or release the table with guarantee="dp".',
            )
        return self.privacy_variance

    @property
    def standard_error(self) -> Floats:
        """√(sampling variance + privacy variance) of each cell, in the unit of the values (HG161 where withheld)."""
        return np.asarray(np.sqrt(np.broadcast_to(self.sampling_variance + self.noise_variance, self.shape.size)))

    @property
    def published(self) -> Floats:
        """The numbers to be published: those shown in place of the values, else the values."""
        return self.values if self.shown is None else self.shown

    @property
    def grid(self) -> Floats:
        """The values as an array of the table's shape."""
        return self.values.reshape(self.shape.shape)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return (low, high) of each cell at a level, cut to what is possible. Post-processing: it costs no budget.

        By `inference.score`: counts with a sampling error solve (Y − θ)² ≤ z²(θ − θ²/n + τ²), which covers for small
        counts too, half a count added at both ends; all others are Y ± z·√(v + τ²), v the sampling variance and half a
        standard deviation of its noise.

        Raises
        ------
        ParameterError
            HG110 for the level; HG161 where the errors are withheld.
        """
        if self.counted and not self.census:
            sampling = Quadratics(linear=1.0, square=-1.0 / self.n if self.n else 0.0)
        elif self.census:
            sampling = Quadratics()
        else:
            sampling = Quadratics(self.sampling_variance + 0.5 * np.sqrt(self._second_moment_noise()))
        basis = ScoreArrays(
            a=self.values,
            b=1.0,
            shift=0.0,
            sampling=sampling,
            noise=Quadratics(self.noise_variance),
            low=self.low,
            high=self.high,
            freedom=math.inf,
            noise_law=self.noise_law,
            reliable=True,
            method="table",
            # A number that is known, or a total of a column, has no noise in whole numbers to make up for.
            margin=WHOLE_NUMBERS if self.counted and np.any(self.noise_variance) else 0.0,
        )
        low, high = basis.interval(parse_level(level))
        # Without any error a number is known, such as n: a score interval would still allow for a share below 1.
        exact = np.broadcast_to(np.asarray(self.sampling_variance + self.noise_variance) == 0.0, self.shape.size)
        return np.where(exact, self.values, low), np.where(exact, self.values, high)

    def with_values(
        self, values: Floats, privacy_variance: Floats | float, *, noise_law: str | None = None
    ) -> TableCells:
        """Return the same cells with values estimated anew and the noise variance that is left on them."""
        law = noise_law or self.noise_law
        if self.counted:
            return TableCells.counts(
                self.shape, values, privacy_variance=privacy_variance, noise_law=law, n=self.n, census=self.census
            )
        return TableCells.totals(
            self.shape,
            values,
            privacy_variance=privacy_variance,
            second_moment=self.additive_moment(),
            second_moment_variance=self.second_moment_variance,
            noise_law=law,
            n=self.n,
            low=self.low,
            high=self.high,
        )

    def with_shown(self, shown: Floats | None) -> TableCells:
        """Return the same cells with other numbers to be published."""
        return replace(self, shown=shown)

    def additive_moment(self) -> Floats | None:
        """Return Σx² of each cell, which adds up over cells as a sampling variance does not; None for a census.

        Where no second moment was given it is what the sampling variance says of it.
        """
        if self.census or self.second_moment is not None:
            return self.second_moment
        taken = 0.0 if self.n is None else (self.values**2 - self.noise_variance) / max(self.n, 1)
        return np.asarray(np.broadcast_to(self.sampling_variance + taken, self.shape.size))

    def _second_moment_noise(self) -> Floats:
        """Return the noise variance of the sampling variance, as `inference.moments.sum_variance` has it."""
        noise = np.asarray(self.second_moment_variance, dtype=np.float64)
        if self.n is None or self.second_moment is None:
            return noise
        return noise + (2.0 * self.values / max(self.n, 1)) ** 2 * self.noise_variance


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
