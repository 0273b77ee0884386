"""The noisy joint moments of a release, cell by cell, and the covariance of their totals.

A record adds φ = (1, f₁ … f_d) to the totals T = (N, S) of its cell, and φφ' to their second moments [[N, S'], [S, Q]].
The noise on (N, S, Q) has a known covariance, so the sampling covariance of T is estimated from the same numbers, after
the part of the noise is subtracted.

A function of one cell reads one `JointTotals`; the difference of two cells reads two of them, row by row: `SideBySide`.
Noise is independent between cells. So is sampling given the counts; the counts themselves are multinomial where the
number of all records is public, and Poisson otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import accumulate, combinations, pairwise, product

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.interval import draws_of
from hedgerow.inference.means_and_counts import small_sample
from hedgerow.inference.score_test import skewness_range
from hedgerow.mechanisms.laws import averaged_law

Floats = NDArray[np.float64]
_LATTICE = 9
_LATTICE_COLUMNS = 3
_MOST_DRAWS = 64.0  # the law of more is normal within 3e-3 of its quantile


@dataclass(frozen=True, slots=True, eq=False)
class AcrossCells:
    """Second moments of units between the cells of one release: a unit of several rows may be in more than one.

    Attributes
    ----------
    released : float array, (cells, numbers)
        Of each cell what was released, in the order of the mechanism.
    moments, sds : float array, (cells, cells, d, d)
        Entry (c, c', i, j) is Σ over units of f_i in cell c times f_j in cell c', and the standard deviation of its
        noise, which is independent from entry to entry but for (c', c, j, i), the same number.
    matrix : float array, (d, d)
        The features of the totals are ``matrix`` times these.
    cells : int array
        Of which cell each row of the totals is.
    """

    released: Floats
    moments: Floats
    sds: Floats
    matrix: Floats
    cells: NDArray[np.intp]

    @classmethod
    def of(cls, released: Floats, numbers: Sequence[tuple[int, int, int]], sds: Floats, features: int) -> AcrossCells:
        """Return the moments of numbers (i, j, lag): f_i of the row's cell times f_j of the cell so many further.

        What is there twice, for two cells half of all cells apart, is averaged by its precision.

        >>> across = AcrossCells.of(np.array([[3.0], [5.0]]), [(0, 0, 1)], np.array([2.0]), 1)
        >>> across.moments[:, :, 0, 0].tolist(), round(float(across.sds[0, 1, 0, 0]), 3)
        ([[0.0, 4.0], [4.0, 0.0]], 1.414)
        """
        count = len(released)
        sums, precision = np.zeros((2, count, count, features, features))
        here = np.arange(count)
        for column, (i, j, lag) in enumerate(numbers):
            there, weight = (here + lag) % count, 1.0 / sds[column] ** 2
            for first, second, a, b in ((here, there, i, j), (there, here, j, i)):
                sums[first, second, a, b] += weight * released[:, column]
                precision[first, second, a, b] += weight
        known = precision > 0.0
        whole = np.where(known, precision, 1.0)
        noise = np.where(known, 1.0 / np.sqrt(whole), 0.0)
        return cls(released, sums / whole, noise, np.eye(features), here)

    def rows(self, index: slice | NDArray[np.intp]) -> AcrossCells:
        """Return the same for some of the rows of the totals."""
        return replace(self, cells=self.cells[index])

    def with_features(self, matrix: Floats) -> AcrossCells:
        """Return the same for features that are a matrix times these."""
        return replace(self, matrix=matrix @ self.matrix)

    def between(self, other: AcrossCells) -> Floats:
        """Return the moments between the cells of these rows and of other rows: float array (rows, d, d)."""
        return np.asarray(self.matrix @ self.moments[self.cells, other.cells] @ self.matrix.T)

    def within(self, groups: Floats) -> tuple[Floats, Floats]:
        """Return the moments between different cells, added up over groups of cells, and their noise.

        The moments are a float array (groups, d, d). The noise on their upper triangle by rows is a matrix times
        independent numbers of variance 1: that of the group with the most noise. `groups` has 1 where a cell is in one.

        >>> across = AcrossCells.of(np.array([[3.0], [5.0]]), [(0, 0, 1)], np.array([2.0]), 1)
        >>> moments, noise = across.within(np.ones((1, 2)))
        >>> moments.tolist(), noise.round(3).tolist()
        ([[[8.0]]], [[2.828]])
        """
        here = np.ix_(self.cells, self.cells)
        sums = np.einsum("gc,gk,ckij->gij", groups, groups, self.moments[here], optimize=True)
        # Two cells have the same numbers in either order.
        once = np.triu(np.ones((len(self.cells),) * 2), 1)[:, :, None, None] * np.square(self.sds[here])
        spread = np.einsum("gc,gk,ckij->gij", groups, groups, once, optimize=True).max(axis=0)
        rows, columns = np.triu_indices(len(self.matrix))
        direct = self.matrix[rows][:, :, None] * self.matrix[columns][:, None, :]
        both = (direct + direct.transpose(0, 2, 1)).reshape(len(rows), -1)
        return np.asarray(self.matrix @ sums @ self.matrix.T), both * np.sqrt(spread).ravel()

    def noise(self, other: AcrossCells, slopes: Floats, others: Floats) -> Floats:
        """Return the noise variance of g'Mg', M the moments between these rows and others, g and g' slopes."""
        first, second = np.square(slopes @ self.matrix), np.square(others @ self.matrix)
        spread = np.square(self.sds[self.cells, other.cells])
        return np.asarray(np.einsum("ri,rij,rj->r", first, spread, second))


@dataclass(frozen=True, slots=True, eq=False)
class JointTotals:
    """Noisy totals and products of d features in each of many cells.

    Attributes
    ----------
    count : float array, (cells,)
        N, public or noisy.
    sums : float array, (cells, d)
        S = Σf.
    products : float array, (cells, d, d)
        Q = Σff'; symmetric.
    mixing : float array, (1 + d + d(d + 1)/2, r)
        The noise on (N, S, upper triangle of Q by rows) is ``mixing @ z``, z independent with variance 1.
    law : str
        The law of each z: ``"gaussian"``, ``"laplace"`` or ``"averaged-laplace-k"`` (`inference.noise_law`).
    n : int or None
        The public number of records of the whole file under replace-one; None where it is private.
    powers : tuple of d tuples of whole numbers, or None
        Feature j of a record is Π u_c ** powers[j][c], with columns u_c scaled to [−1, 1]; None: a column each.
    census : bool
        Whether the target is the file itself: there is no sampling error.
    limit : int or None
        The limit of rows where units have several: then a feature is the total of a unit's rows, in [−limit, limit],
        the last one is their number, and n counts units. How many have rows in a cell is not known; where n is private
        ``count`` is a guess of it (`units_behind`) and units are taken to be Poisson. Of weighted records it is 1: then
        a record is a unit with a part of a row.
    parts : int
        Of how many parts a row is where it is weighted; else 1.
    noise_step : float
        The step between the values of each z, in units of its standard deviation; 0 where it is far below the noise.
    across : AcrossCells or None
        Of units of several rows their second moments between cells; None where they were not released.
    several : bool
        Whether units are counted that may be in several cells.
    """

    count: Floats
    sums: Floats
    products: Floats
    mixing: Floats
    law: str
    n: int | None = None
    powers: tuple[tuple[int, ...], ...] | None = None
    census: bool = False
    limit: int | None = None
    parts: int = 1
    noise_step: float = 0.0
    across: AcrossCells | None = None
    several: bool = False

    @classmethod
    def of_moments(
        cls, values: Floats, mixing: Floats, law: str, *, n: int | None, powers: tuple[tuple[int, ...], ...]
    ) -> JointTotals:
        """Return the totals from the moments that `moments_of` lists: values (cells, moments), mixing (moments, r)."""
        size = 1 + len(powers)
        rows, columns = np.triu_indices(size)
        matrix = np.empty((len(values), size, size))
        matrix[:, rows, columns] = matrix[:, columns, rows] = values
        return cls(matrix[:, 0, 0], matrix[:, 0, 1:], matrix[:, 1:, 1:], mixing, law, n, powers)

    @property
    def features(self) -> int:
        """The number of features d."""
        return int(self.sums.shape[1])

    @property
    def totals(self) -> Floats:
        """(N, S) of each cell: float array (cells, 1 + d)."""
        return np.concatenate([self.count[:, None], self.sums], axis=1)

    @property
    def is_product(self) -> NDArray[np.bool_]:
        """Whether each feature is a product of columns, or a power of one."""
        powers = self.powers if self.powers is not None else ((1,),) * self.features
        return np.array([sum(power) > 1 for power in powers], dtype=bool)

    @property
    def knows_cells(self) -> bool:
        """Whether it is known how the totals of two cells vary together."""
        return self.across is not None or not (self.several or (self.limit or 1) > 1)

    @property
    def count_is_public(self) -> bool:
        """Whether no noise is on N."""
        return not self.mixing[0].any()

    @property
    def count_sd(self) -> float:
        """The noise standard deviation of N."""
        return float(np.linalg.norm(self.mixing[0]))

    @property
    def positive_count(self) -> Floats:
        """N, 1 where it is lower: a divisor."""
        return np.maximum(self.count, 1.0)

    @property
    def means(self) -> Floats:
        """S/N of each cell: float array (cells, d)."""
        return self.sums / self.positive_count[:, None]

    def place_of_product(self, first: int, second: int) -> int:
        """Return the row of ``mixing`` that holds the noise of Σf_i f_j, for features at these places of the totals."""
        low, high = min(first, second), max(first, second)
        size = 1 + self.features
        return low * size - low * (low - 1) // 2 + high - low

    def rows(self, index: slice | NDArray[np.intp]) -> JointTotals:
        """Return some of the cells."""
        across = None if self.across is None else self.across.rows(index)
        count, sums, products = self.count[index], self.sums[index], self.products[index]
        return replace(self, count=count, sums=sums, products=products, across=across)

    def transformed(self, matrix: Floats, powers: tuple[tuple[int, ...], ...] | None = None) -> JointTotals:
        """Return the totals of the features A·(1, f), for a matrix A of shape (new features, 1 + d), and their powers.

        The moments of a polynomial basis are linear in those of another one that spans it, and so is the noise.
        """
        whole = np.vstack([np.eye(1, 1 + self.features), matrix])
        moments = whole @ self._moment_matrix() @ whole.T
        size = len(whole)
        rows, columns = np.triu_indices(size)
        old_rows, old_columns = np.triu_indices(1 + self.features)
        # Entry (a, b) of A M A' is Σ A_ai A_bj M_ij; an entry of M off the diagonal is there twice.
        direct = whole[rows][:, old_rows] * whole[columns][:, old_columns]
        mirrored = whole[rows][:, old_columns] * whole[columns][:, old_rows]
        linear = direct + np.where(old_rows == old_columns, 0.0, mirrored)
        # The upper triangle of M by rows is (N, S, upper triangle of Q by rows): the order of `mixing`.
        return replace(
            self,
            count=moments[:, 0, 0],
            sums=moments[:, 0, 1:],
            products=moments[:, 1:, 1:],
            mixing=linear @ self.mixing,
            powers=powers,
            across=None if self.across is None else self.across.with_features(matrix[:, 1:]),
        )

    def over(self, add: Callable[[Floats], Floats], cells: int, slopes: Floats) -> JointTotals:
        """Return totals over so many cells each; `add` adds up one number a cell to one a total.

        Units of several rows have rows in m = min(limit, cells) cells at most. So the square of a unit's total is at
        most m times the sum of its squares, and that of its number of rows at most `limit` times the number: with these
        the sampling variance is not underestimated, whatever cells a unit's rows share. Products between cells, where
        they were released, tell it without bias, with more noise. They are taken where that noise is less than the
        bound is too large by if a unit's rows in different cells have nothing in common. What is to be known is the sum
        of the totals times the `slopes`.
        """
        sums, squares = (np.apply_along_axis(add, 0, part) for part in (self.sums, self.products))
        width, draws = math.sqrt(cells) * self.mixing, draws_of(self.law)
        law = self.law if draws is None else averaged_law(min(draws * cells, int(_MOST_DRAWS)))
        most, first = 1 if self.limit is None else min(self.limit, cells), 1 + self.features
        products, mixing = most * squares, width.copy()
        mixing[first:] *= most
        if self.limit is not None and most == self.limit > 1 and self.features == 1:
            products[:, 0, 0], mixing[2] = self.limit * sums[:, 0], self.limit * width[1]
        if self.across is not None and most > 1:
            between, noise = self.across.within(np.apply_along_axis(add, 0, np.eye(len(self.sums))))
            with_noise = np.hstack([width, np.vstack([np.zeros((first, noise.shape[1])), noise])])
            form, (rows, columns) = np.outer(slopes, slopes), np.triu_indices(self.features)
            once = form[rows, columns] * np.where(rows == columns, 1.0, 2.0)
            more = np.linalg.norm(once @ with_noise[first:]) - np.linalg.norm(once @ mixing[first:])
            if more < np.einsum("gij,ij->g", products - squares, form).mean():
                products, mixing = squares + between, with_noise
        count = np.asarray(add(self.count))
        if self.limit is not None:
            units = units_behind(sums[:, -1], products[:, -1, -1], self.limit, self.n, self.parts)
            count = units if self.n is None else np.full(len(sums), float(self.n))
        return replace(self, count=count, sums=sums, products=products, mixing=mixing, law=law, across=None)

    def _moment_matrix(self) -> Floats:
        totals = self.totals
        matrix = np.empty((len(totals), totals.shape[1], totals.shape[1]))
        matrix[:, 0, :] = matrix[:, :, 0] = totals
        matrix[:, 1:, 1:] = self.products
        return matrix

    @property
    def centred(self) -> bool:
        """Whether a total varies about its mean alone: not so where their number is random."""
        return self.limit is None or self.n is not None

    @property
    def records_behind(self) -> Floats:
        """N, or of units what stands for the number of those with rows in a cell; at least 1."""
        if self.limit is None:
            return self.positive_count
        return units_behind(self.sums[:, -1], self.products[:, -1, -1], self.limit, self.n, self.parts)

    def noise_covariance(self) -> Floats:
        """Return the noise covariance of T = (N, S): float array (1 + d, 1 + d)."""
        mixing = self.mixing[: 1 + self.features]
        return mixing @ mixing.T

    def feature_covariance(self) -> Floats:
        """Return an unbiased estimate of the covariance of one record's features: float array (cells, d, d).

        Σ̂ = (Q/N − m̂m̂' + V)·N/(N − 1), V the noise covariance of m̂ = S/N. It need not be positive definite:
        making it so would bias it upwards. Of a census it is 0. Of a Poisson number of units NΣ̂ is Q.
        """
        if self.census:
            return np.zeros_like(self.products)
        if not self.centred:
            return self.products / self.positive_count[:, None, None]
        n, means = self.positive_count[:, None, None], self.means
        raw = self.products / n - means[:, :, None] * means[:, None, :] + self.residual_noise() / n**2
        return np.asarray(raw * small_sample(n))

    def covariance_with(self, other: JointTotals) -> Floats:
        """Return the sampling covariance of the totals of two cells in which a unit may have rows: (rows, d, d).

        Σ ff' over units; where their number n is public (Σ ff' − SS'/n)·n/(n − 1): noise of two cells is independent.
        """
        if self.census:
            return np.zeros_like(self.products)
        moments = np.zeros_like(self.products)
        if self.across is not None and other.across is not None:
            moments = self.across.between(other.across)
        if self.n is None:
            return moments
        n = max(float(self.n), 2.0)
        return np.asarray((moments - self.sums[:, :, None] * other.sums[:, None, :] / n) * n / (n - 1.0))

    def residual_noise(self) -> Floats:
        """Return the noise covariance of S − m̂N, m̂ = S/N: float array (cells, d, d)."""
        slopes = np.concatenate(
            [-self.means[:, :, None], np.broadcast_to(np.eye(self.features), self.products.shape)], axis=2
        )
        return np.asarray(slopes @ self.noise_covariance() @ slopes.transpose(0, 2, 1))

    def spread_noise(self, slope: Floats) -> tuple[Floats, Floats]:
        """Return the noise of s'Σ̂s, s slopes of the means: parts (cells, r), one of each z, and a variance (cells,).

        The parts are of the delta method, the variance that of the squared means beyond it.
        """
        if self.census:
            return np.zeros((len(slope), self.mixing.shape[1])), np.zeros(len(slope))
        n, means = self.positive_count, self.means
        rows, columns = np.triu_indices(self.features)
        level = np.einsum("cj,cj->c", slope, means) if self.centred else np.zeros_like(n)
        in_products = slope[:, rows] * slope[:, columns] * np.where(rows == columns, 1.0, 2.0)
        second = np.einsum("cj,cjk,ck->c", slope, self.products, slope) / n
        derivative = np.concatenate(
            [(2.0 * level**2 - second)[:, None], -2.0 * level[:, None] * slope, in_products], axis=1
        )
        first = np.einsum("ci,ij->cj", derivative, self.mixing) / n[:, None]
        of_totals = np.concatenate([-level[:, None], slope], axis=1)
        of_level = np.einsum("ci,ij->cj", of_totals, self.mixing[: 1 + self.features]) / n[:, None]
        return np.asarray(first), np.asarray(2.0 * np.sum(of_level**2, axis=1) ** 2)


def units_behind(rows: Floats, squares: Floats, limit: int, n: int | None, parts: int = 1) -> Floats:
    """Return (Σr)²/Σr², kept between Σr/L and Σr, at least 1 and at most n: r the rows of each unit, at most L.

    It is the number of units where all have equally many rows, and less than it elsewhere. Weighted rows are multiples
    of 1/parts, so that Σr·parts is the most.

    >>> units_behind(np.array([200.0, 200.0]), np.array([400.0, 900.0]), 3, None).round(1).tolist()
    [100.0, 66.7]
    """
    units = np.clip(rows**2 / np.maximum(squares, 1.0), rows / limit, np.maximum(parts * rows, rows / limit))
    return np.clip(units, 1.0, np.inf if n is None else max(n, 1))


def moments_of(powers: tuple[tuple[int, ...], ...]) -> list[tuple[tuple[int, int], ...]]:
    """Return the moments that make up (N, S, upper triangle of Q by rows) as (column, power) pairs; () is N.

    >>> moments_of(((1,), (2,)))
    [(), ((0, 1),), ((0, 2),), ((0, 2),), ((0, 3),), ((0, 4),)]
    """
    every = [(0,) * len(powers[0]), *powers]
    added = [np.add(every[i], every[j]) for i, j in zip(*np.triu_indices(len(every)), strict=True)]
    return [tuple((column, int(power)) for column, power in enumerate(sums) if power) for sums in added]


@dataclass(frozen=True, slots=True, eq=False)
class BlockVariances:
    """Of each block the parts of the variance of a tangent g'T: float arrays (rows, blocks).

    Attributes
    ----------
    sampling : float array
        The sampling variance, at least 0.
    spread, shared : float array
        The standard deviation of its noise, and the covariance of that with the noise of g'T.
    skew, unsure : float array
        μ₃/v of what a record adds to g'T, and how far it may lie to either side (`skewness_range`).
    products : bool array
        Whether hardly any record meets the bounds: those of products of columns, and of all rows of a unit alike.
    """

    sampling: Floats
    spread: Floats
    shared: Floats
    skew: Floats
    unsure: Floats
    products: NDArray[np.bool_]

    def rows(self, here: slice) -> BlockVariances:
        """Return the parts of some of the rows."""
        return BlockVariances(*(getattr(self, part.name)[here] for part in fields(self)))

    def with_skewness(self, skew: Floats, unsure: Floats) -> BlockVariances:
        """Return the same of one block, with another skewness: float arrays (rows,)."""
        return replace(self, skew=skew[:, None], unsure=unsure[:, None])


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Blocks of cells with equally many rows; row r of all of them together is one vector of totals.

    ``sources`` numbers the releases that the blocks are from; those of different people are independent.
    """

    blocks: tuple[JointTotals, ...]
    sources: tuple[int, ...] = ()
    totals: Floats = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", self.sources or (0,) * len(self.blocks))
        object.__setattr__(self, "totals", np.concatenate([block.totals for block in self.blocks], axis=1))

    def rows(self, index: slice | NDArray[np.intp]) -> SideBySide:
        """Return some of the rows."""
        return SideBySide(tuple(block.rows(index) for block in self.blocks), self.sources)

    @cached_property
    def places(self) -> list[slice]:
        """Where each block stands in the vector of totals."""
        ends = accumulate((1 + block.features for block in self.blocks), initial=0)
        return [slice(start, end) for start, end in pairwise(ends)]

    @cached_property
    def noise(self) -> Floats:
        """The noise covariance of the totals, the same in each row."""
        covariance = np.zeros((self.totals.shape[1],) * 2)
        for block, place in zip(self.blocks, self.places, strict=True):
            covariance[place, place] = block.noise_covariance()
        return covariance

    @cached_property
    def sampling(self) -> Floats:
        """The sampling covariance of the totals given the counts: float array (rows, D, D)."""
        covariance = np.zeros((*self.totals.shape, self.totals.shape[1]))
        for block, place in zip(self.blocks, self.places, strict=True):
            sums = slice(place.start + 1, place.stop)
            covariance[:, sums, sums] = block.positive_count[:, None, None] * block.feature_covariance()
        for (block, place), (other, beside) in self._sharing_units():
            between = block.covariance_with(other)
            covariance[:, place.start + 1 : place.stop, beside.start + 1 : beside.stop] = between
            covariance[:, beside.start + 1 : beside.stop, place.start + 1 : place.stop] = between.transpose(0, 2, 1)
        return covariance

    def _sharing_units(self) -> Iterator[tuple[tuple[JointTotals, slice], tuple[JointTotals, slice]]]:
        """Yield the pairs of blocks of one release in both of which a unit may have rows, with their places."""
        every = zip(self.blocks, self.places, self.sources, strict=True)
        for (block, place, source), (other, beside, same) in combinations(every, 2):
            if source == same and block.limit is not None and block.knows_cells and other.knows_cells:
                yield (block, place), (other, beside)

    @cached_property
    def counting(self) -> Floats:
        """What the random numbers of records add to the sampling covariance; 0 for functions of means."""
        squares = self.totals[:, :, None] * self.totals[:, None, :] - self.noise
        covariance = np.zeros_like(squares)
        for block, place, source in zip(self.blocks, self.places, self.sources, strict=True):
            if block.count_is_public or block.census:
                continue
            totals, sums = self.totals[:, place].copy(), slice(place.start + 1, place.stop)
            totals[:, 0] = np.maximum(block.count, 0.0)
            count = block.positive_count[:, None, None]
            covariance[:, place, place] += totals[:, :, None] * totals[:, None, :] / count
            covariance[:, sums, sums] -= block.residual_noise() / count
            if block.n is not None:
                for other, beside in zip(self.sources, self.places, strict=True):
                    if other == source:
                        covariance[:, place, beside] -= squares[:, place, beside] / block.n
        return covariance

    def sampling_covariance(self, first: Floats, second: Floats, *, homogeneous: bool) -> Floats:
        """Return g₁'Sg₂ of two slopes in each row, not clipped."""
        covariance = self.sampling if homogeneous else self.sampling + self.counting
        return np.asarray(np.einsum("ri,rij,rj->r", first, covariance, second))

    def noise_covariance(self, first: Floats, second: Floats) -> Floats:
        """Return g₁'Vg₂ of two slopes in each row."""
        return np.asarray(np.einsum("ri,ij,rj->r", first, self.noise, second))

    def by_block(self, slopes: Floats, sampling: Floats, *, skewed: bool) -> BlockVariances:
        """Return what each block adds to the sampling variance g'Sg, in shares of ``sampling``, and its skewness.

        Not skewed: the skewness of what records add is not known, and taken to be 0.
        """
        parts, spread, shared, skew, unsure = np.zeros((5, len(slopes), len(self.blocks)))
        products = np.zeros(parts.shape, dtype=bool)
        for number, (block, place) in enumerate(zip(self.blocks, self.places, strict=True)):
            sums, of_totals = slice(place.start + 1, place.stop), slopes[:, place]
            slope, n = of_totals[:, 1:], block.positive_count
            part = np.einsum("ri,rij,rj->r", slope, self.sampling[:, sums, sums], slope)
            parts[:, number] = np.maximum(part, 0.0)
            of_noise, rest = block.spread_noise(slope * n[:, None])
            spread[:, number] = np.sqrt(np.sum(of_noise**2, axis=1) + rest) / n
            own = np.einsum("rj,rj->r", of_noise, of_totals @ block.mixing[: 1 + block.features])
            shared[:, number] = own / n
            if skewed:
                products[:, number] = (slope[:, block.is_product] != 0.0).any(axis=1) | (block.limit is not None)
                ends = influence_range(slope, block)
                among = parts[:, number] / block.records_behind
                skew[:, number], unsure[:, number] = skewness_range(np.zeros_like(n), among, *ends)
        whole = parts.sum(axis=1)[:, None]
        even = np.full_like(parts, 1.0 / len(self.blocks))  # of what varies by the numbers of records alone
        shares = np.where(whole > 0.0, parts / np.where(whole > 0.0, whole, 1.0), even)
        return BlockVariances(sampling[:, None] * shares, spread, shared, skew, unsure, products)

    def spread_noise(self, slopes: Floats, blocks: BlockVariances) -> Floats:
        """Return the standard deviation of the noise of the sampling variance g'Sg, in each row."""
        between = np.zeros(len(slopes))
        for (block, place), (other, beside) in self._sharing_units():
            if block.across is not None and other.across is not None and not block.census:
                sums = slopes[:, place.start + 1 : place.stop], slopes[:, beside.start + 1 : beside.stop]
                between += 4.0 * block.across.noise(other.across, *sums)
        return np.asarray(np.sqrt(np.square(blocks.spread).sum(axis=1) + between))

    def freedom(self, blocks: BlockVariances) -> Floats:
        """Return the records behind the sampling variance, less one: those of the blocks by their parts (Welch)."""
        behind = np.stack([np.maximum(block.records_behind - 1.0, 1.0) for block in self.blocks], axis=1)
        parts = np.sum(blocks.sampling**2 / behind, axis=1)
        return np.where(parts > 0.0, blocks.sampling.sum(axis=1) ** 2 / np.where(parts > 0.0, parts, 1.0), np.inf)

    def half_step(self, slopes: Floats) -> Floats:
        """Return half a step of the noise of g'T, in each row."""
        ends = np.zeros(len(slopes))
        for block, place in zip(self.blocks, self.places, strict=True):
            if block.noise_step:
                parts = np.abs(slopes[:, place] @ block.mixing[: 1 + block.features])
                ends = np.maximum(ends, 0.5 * block.noise_step * parts.max(axis=1))
        return ends

    def noise_draws(self, slopes: Floats) -> Floats | None:
        """Return of how many equal draws the noise of g'T has the kurtosis; None where it is normal.

        A sum of independent Laplace numbers is read as the sum of k equal ones with its variance and its kurtosis.
        """
        if all(draws_of(block.law) is None for block in self.blocks):
            return None
        second, fourth = np.zeros(len(slopes)), np.zeros(len(slopes))
        for block, place in zip(self.blocks, self.places, strict=True):
            squares = np.square(np.einsum("ri,ij->rj", slopes[:, place], block.mixing[: 1 + block.features]))
            second += np.sum(squares, axis=1)
            fourth += np.sum(np.square(squares), axis=1) / (draws_of(block.law) or np.inf)
        equal = np.where(fourth > 0.0, second**2 / np.where(fourth > 0.0, fourth, 1.0), _MOST_DRAWS)
        return np.clip(equal, 1.0, _MOST_DRAWS)


def influence_range(slopes: Floats, block: JointTotals) -> tuple[Floats, Floats]:
    """Return the least and the most that a record can add to g'(T − E T).

    Exact for features that are columns of their own; for polynomials of at most three columns over a lattice of nine
    values a column; else a bound. Of units the ends are a unit with as many rows as may be, all alike, or with none.
    """
    powers = np.array(block.powers if block.powers is not None else np.eye(block.features, dtype=int))
    powers = np.maximum(powers, 0)
    if block.limit is not None:
        # Each row adds 1 to the number of rows, the last feature.
        rows, slopes, powers = slopes[:, -1], slopes[:, :-1], powers[:-1]
    if powers.shape[1] <= _LATTICE_COLUMNS and (powers.sum(axis=1) > 1).any():
        axis = np.linspace(-1.0, 1.0, _LATTICE)
        points = np.array(list(product(axis, repeat=powers.shape[1])))
        values = np.einsum("rj,jp->rp", slopes, np.prod(points[None, :, :] ** powers[:, None, :], axis=2))
        low, high = values.min(axis=1), values.max(axis=1)
    else:
        even = (powers % 2 == 0).all(axis=1)
        low = np.sum(np.where(even, np.minimum(slopes, 0.0), -np.abs(slopes)), axis=1)
        high = np.sum(np.where(even, np.maximum(slopes, 0.0), np.abs(slopes)), axis=1)
    if block.limit is not None:
        return np.minimum(block.limit * (rows + low), 0.0), np.maximum(block.limit * (rows + high), 0.0)
    level = np.einsum("rj,rj->r", slopes, np.clip(block.means, -1.0, 1.0))
    return np.minimum(low - level, 0.0), np.maximum(high - level, 0.0)
