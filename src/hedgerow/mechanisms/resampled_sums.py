"""Resampled sums: k replicates of a table, each with Poisson weights on the records and Gaussian noise on the sums.

Which pairs exist (private_bootstrap.md §2), in units of each coordinate's noise sd:

===================  ===========================  =================================================================
shape                add-remove                   replace-one
===================  ===========================  =================================================================
``value``            one-sided at a               same cell (a, −a); across at a with two cells or more
``value-and-count``  one-sided at √(a² + κ²)      same cell (a, κ) | (−a, κ); one-sided; across with two cells or more
``count``            one-sided at κ               one-sided; across with two cells or more
``one-of``           one-sided at the largest     across at the largest
``vector``           one-sided at the norm        split: across at the norm, at half the noise variance
===================  ===========================  =================================================================

The split pair is a proof for every two vectors φ, φ' of norm at most C, whatever their angle. Write the noise as
Z = Z₁ + Z₂ with half the variance each. Then r·φ + Z is the sum of the two parts of (r·φ + Z₁, Z₂), and r'·φ' + Z that
of (Z₁, r'·φ' + Z₂); adding them is post-processing. So the pair costs no more than *remove φ* and, independently,
*add φ'* at noise σ/√2: the across pair. In the Gaussian limit this loses nothing against opposite vectors, which are
2C/σ apart.

Units of several rows are priced by `hedgerow.accounting.rows_of_units`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.dominating_pairs import SMOOTHING, DominatingPair, KnownCurvePair
from hedgerow.accounting.loss_grid import Curve
from hedgerow.accounting.lower_bounds import ExactPair, LowerBoundPairs
from hedgerow.accounting.poisson_mixtures import (
    NEAR,
    MixturePair,
    PairKind,
    exact_pairs,
    nearly_mu,
    priced_noise_sd,
    release_curve,
    require_scanned,
)
from hedgerow.accounting.profile import Profile
from hedgerow.accounting.rows_of_units import units_of_rows
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.relation import MOST_ROWS, Relation
from hedgerow.mechanisms.interface import (
    AtomicMechanism,
    AuditRecord,
    Floats,
    Neighbours,
    Quote,
    Score,
    Specimen,
    across_or_one_sided,
)
from hedgerow.mechanisms.noisy_moments import Presence
from hedgerow.noise.lattice import AdditiveTable, LatticeNoise, NoiseSource, lattice_noise, on_lattice, require_positive
from hedgerow.resampling.counted_values import Histogram
from hedgerow.resampling.replicates import StreamedReplicates, poisson_replicates

_TABLE = 20_000
_FAR = 9.0
_REACH = 1000  # of the values that an audit resamples
_MANY = 100  # replicates of which a lower bound leaves a count aside


Shape = Literal["value", "value-and-count", "count", "vector", "one-of"]


@dataclass(frozen=True, slots=True)
class ResampledCoordinate:
    """One released sum of integers y, |y| ≤ reach, with the lattice noise of ONE replicate."""

    reach: int
    noise: LatticeNoise

    def __post_init__(self) -> None:
        require_positive(reach=self.reach)

    @property
    def distance(self) -> float:
        """The greatest change of this sum by one record that is drawn once, in standard deviations of its noise."""
        return self.reach / self.noise.in_units


class ResampledSums(AtomicMechanism):
    """k replicates of a cell's sums, each with Gaussian noise of its own on each sum."""

    __slots__ = ()
    n_resamples: int
    rate: float
    shape: Shape
    coordinates: tuple[ResampledCoordinate, ...]
    cells: int

    methods: ClassVar[tuple[str, ...]] = ("bootstrap",)
    has_mu: ClassVar[bool] = False

    @property
    def released_cells(self) -> int:
        """`cells`."""
        return self.cells

    def weight_moments(self) -> tuple[float, float]:
        """Return mean and variance of how often a record is drawn."""
        return self.rate, self.rate

    def resampled(self, histogram: Histogram, features: NDArray[np.int64], chance: np.random.Generator) -> NDArray[Any]:
        """Return the resampled integer sums (cells × features × replicates), without noise."""
        return poisson_replicates(histogram, features, n_resamples=self.n_resamples, rate=self.rate, generator=chance)

    def streamed(
        self, size: int, features: Callable[[NDArray[np.int64]], NDArray[np.int64]], source: NoiseSource
    ) -> StreamedReplicates:
        """Return what `resampled` adds up, of records that are read one batch at a time."""
        reaches = tuple(coordinate.reach for coordinate in self.coordinates)
        return StreamedReplicates(
            self.cells, size, features, reaches, self.n_resamples, self.rate, source, most=self.copies
        )

    @property
    def copies(self) -> int | None:
        """How often a record is drawn at most; None for any number of times."""
        return None

    def differs_in_noise_alone(self, other: AtomicMechanism) -> bool:
        """Return whether another mechanism makes the same replicates of the same cells, whatever its noise."""
        if not isinstance(other, ResampledSums) or type(other) is not type(self):
            return False
        reaches = [[coordinate.reach for coordinate in mechanism.coordinates] for mechanism in (self, other)]
        return reaches[0] == reaches[1] and bool(replace(self, coordinates=other.coordinates) == other)

    def table_spread(self, features: Sequence[str]) -> Floats:
        """Return `spread`."""
        return self.spread

    @property
    def reaches(self) -> NDArray[np.int64]:
        """The reach of each sum."""
        return np.array([coordinate.reach for coordinate in self.coordinates])

    @property
    def spread(self) -> Floats:
        """The sd of the noise on each sum of one replicate, in units of the data's integers."""
        return np.array([coordinate.noise.in_units for coordinate in self.coordinates])

    @property
    def bits(self) -> tuple[int, ...]:
        """The lattice of each sum."""
        return tuple(coordinate.noise.bits for coordinate in self.coordinates)

    def noisy(
        self,
        histogram: Histogram,
        features: NDArray[np.int64],
        source: NoiseSource,
        *,
        cells: Sequence[Mapping[str, Any]],
        names: Sequence[str],
    ) -> AdditiveTable:
        """Return the table (cells × features × replicates): resampled integer sums, each plus a noise of its own.

        `features` has a row for each histogram row and a column for each coordinate; whatever they are, they are
        clamped to the declared reach, which is what was priced.
        """
        sums = self.resampled(histogram, np.clip(features, -self.reaches, self.reaches), source.generator())
        return self.with_noise(sums, source, cells=cells, names=names)

    def with_noise(
        self, sums: NDArray[Any], source: NoiseSource, *, cells: Sequence[Mapping[str, Any]], names: Sequence[str]
    ) -> AdditiveTable:
        """Return the table of resampled sums, each plus a noise of its own."""
        values = np.empty(sums.shape, dtype=np.float64)
        for index, coordinate in enumerate(self.coordinates):
            drawn = source.discrete_gaussian(float(coordinate.noise.width), len(sums) * self.n_resamples)
            noise = drawn.reshape(len(sums), self.n_resamples)
            values[:, index] = on_lattice(sums[:, index], noise, coordinate.noise.bits)
        return AdditiveTable(tuple(cells), tuple(names), values, self.spread, "gaussian")

    def log_chances(self) -> tuple[float, ...]:
        """Return the logarithm of the chance that a record is drawn r times, r = 0, 1, …; of a Poisson law here."""
        from hedgerow.special import gammaln

        r = np.arange(np.ceil(self.rate + 12.0 * np.sqrt(self.rate) + 12.0))
        return tuple((r * np.log(self.rate) - self.rate - gammaln(r + 1.0)).tolist())

    @property
    def size(self) -> int:
        """Replicates."""
        return self.n_resamples

    @property
    def hidden(self) -> bool:
        """Whether it is private who is present."""
        return True

    @property
    def most_rows(self) -> int:
        """How many rows what differs between neighbours has at most."""
        return 1

    def excess(self, relation: Relation, difference: Floats) -> float:
        """Return the farthest that a replicate moves a sum, over the reach of a record drawn once."""
        reach = self.reaches * (2.0 if relation is Relation.REPLACE_ONE else 1.0)
        return float((np.abs(difference).max(axis=2).sum(axis=0) / reach).max())

    def worst_pairs(self, relation: Relation) -> tuple[Neighbours, ...]:
        """Return the end values of one cell, and where presence is private a record that comes, goes or moves."""
        if self.shape not in ("value", "value-and-count", "count"):
            return super().worst_pairs(relation)
        replaced, top = relation is Relation.REPLACE_ONE, self.coordinates[0].reach
        pairs: list[Neighbours] = []
        if replaced and self.shape != "count":
            pairs.append(Neighbours("same cell", AuditRecord(0, top), AuditRecord(0, 0), self.cells))
        if not replaced or self.hidden:
            pairs += across_or_one_sided(top, self.cells, across=replaced and self.cells > 1)
        return tuple(pairs)

    def outputs(self, data: Histogram, n: int, noise: NoiseSource) -> Floats:
        """Return `n` outputs, (n, cells, features, replicates): a grid index t is the value 2t − reach, beside a 1.

        Replicates are independent given the data, so n outputs of k replicates are drawn as one of n·k.
        """
        many = replace(self, n_resamples=n * self.n_resamples)
        names = [str(index) for index in range(len(self.coordinates))]
        values = many.noisy(data, self._added(data.index), noise, cells=({},), names=names).values
        return np.moveaxis(values.reshape(data.cells, len(names), n, self.n_resamples), 2, 0)

    def contribution(self, record: AuditRecord) -> tuple[Floats, Floats]:
        """Return what one record, drawn once, adds to its cell, and the widths of the noise there."""
        return self._added(np.array([record.index]))[0].astype(np.float64), self.spread

    def change(self, record: AuditRecord) -> Score:
        """Return the change of the log-density of a cell (n, features, k) through one record.

        It is log Σ_r p_r exp(r s − r² c²/2) summed over replicates, s = Σ x_i φ_i/w_i², c² = Σ φ_i²/w_i², p_r
        the chance of r draws: a function of s alone, read off a table.
        """
        moved, widths = self.contribution(record)
        slope, square = moved / widths**2, float((moved**2 / widths**2).sum())
        at, values = _log_ratios(square, self.log_chances())
        return lambda x: np.asarray(np.interp(np.einsum("nfk,f->nk", x, slope), at, values).sum(axis=1))

    def _added(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        value, rows = 2 * index - self.coordinates[0].reach, np.full_like(index, self.most_rows)
        columns = {"value": [value], "count": [rows], "value-and-count": [value, rows]}.get(self.shape)
        if columns is None:
            raise TypeError(f"records have no features of shape {self.shape!r}")
        return np.stack(columns, axis=1)


def bootstrap(
    n_resamples: int,
    shape: Shape,
    *,
    cells: int = 1,
    rho: float = 0.5,
    count_weight: float = 1.0,
    presence: Presence | None = None,
) -> ResampledGaussian:
    """Return k replicate tables with noise of variance k·R²/(2ρ) each, R the range; counts at `count_weight` κ.

    >>> round(bootstrap(1, "value").coordinates[0].distance, 3)
    0.5
    """
    sd = math.sqrt(n_resamples / (2.0 * rho))  # in units of the range, 2·reach
    value = ResampledCoordinate(_REACH, lattice_noise(sd * 2 * _REACH))
    count = ResampledCoordinate(1, lattice_noise(sd * 2 / count_weight))
    coordinates = {"value": (value,), "count": (count,), "value-and-count": (value, count)}[shape]
    alone = shape == "value" and cells == 1
    shown: Presence = presence or ("public" if alone else "private")
    return ResampledGaussian(n_resamples, 1.0, shape, coordinates, shown, cells)


def one_value(noise_sd: float, quote: Quote) -> tuple[ResampledCoordinate, Presence]:
    """Return the sum of one centred value within ½, with noise of this sd in each replicate, and who is present."""
    # The grid 0, 1 about its midpoint: integers ±1 in units of half the range.
    coordinate = ResampledCoordinate(1, lattice_noise(2.0 * noise_sd))
    return coordinate, "public" if quote.relation is Relation.REPLACE_ONE else "private"


class ResampledRows(ResampledSums):
    """k replicates of sums over records of one row each, which lie in one of `cells` disjoint cells, or in none."""

    __slots__ = ()
    presence: Presence

    @classmethod
    def of_precision(cls, precision: float, quote: Quote) -> Self:
        """Return replicates whose noise together is 1/precision."""
        return cls.of_noise_sd(math.sqrt(quote.n_resamples) / precision, quote)

    @property
    def priced_sd(self) -> float:
        """Noise of one replicate."""
        return self.coordinates[0].noise.in_units / 2.0

    def __post_init__(self) -> None:
        require_positive(n_resamples=self.n_resamples, rate=self.rate, cells=self.cells)
        needed = {"value": 1, "value-and-count": 2, "count": 1}.get(self.shape, len(self.coordinates))
        ones = [self.coordinates[-1].reach] if self.shape in ("count", "value-and-count") and self.coordinates else []
        if not self.coordinates or len(self.coordinates) != needed or any(reach != 1 for reach in ones):
            raise ParameterError(
                "HG406",
                rule="The coordinates of a resampled release must fit its shape.",
                finding=f"Found {len(self.coordinates)} for {self.shape!r}.",
            )
        if self.presence == "public" and (self.cells != 1 or self.shape in ("count", "value-and-count", "one-of")):
            raise ParameterError(
                "HG406", rule="Presence can be public only if there is a single cell.", finding=f"Found {self.shape!r}."
            )

    @property
    def hidden(self) -> bool:
        """Whether presence is private."""
        return self.presence == "private"


@dataclass(frozen=True, slots=True)
class ResampledGaussian(ResampledRows):
    """k replicates: each record drawn r ~ Poisson(rate) times, its sums added up, noise of its own on each sum.

    The draws of a record are the same in all coordinates of a replicate and independent otherwise. What is known of a
    record's vector y is its shape:

    ===================  =====================================================================================
    ``value``            one centred value, |y| ≤ reach
    ``value-and-count``  a centred value, and 1
    ``count``            1
    ``vector``           any vector with |y_i| ≤ reach_i for every i
    ``one-of``           at most one coordinate is not 0 (a histogram)
    ===================  =====================================================================================

    A record lies in one of `cells` disjoint cells, or, where its presence is private, in none.
    """

    n_resamples: int
    rate: float
    shape: Shape
    coordinates: tuple[ResampledCoordinate, ...]
    presence: Presence
    cells: int
    type: Literal["resampled-gaussian"] = "resampled-gaussian"
    price_name: ClassVar[str | None] = "bootstrap"
    sized_by_mu: ClassVar[bool] = True

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return bootstraps of one value and of tables, and one replicate at rate 1/10 as a look at a test set is."""
        near, far = Relation.ADD_REMOVE, Relation.REPLACE_ONE
        thinned = ResampledCoordinate(_REACH, lattice_noise(0.4 * _REACH))  # noise a fifth of the range
        counts = bootstrap(3, "count", cells=2, presence="private")
        return (
            Specimen("test set, resample of n/10 plus noise", cls(1, 0.1, "value", (thinned,), "public", 1), far, 1e-2),
            Specimen("bootstrap, k = 1", bootstrap(1, "value"), far, 1e-3),
            Specimen("bootstrap, k = 5", bootstrap(5, "value"), far, 1e-3),
            Specimen("bootstrap, k = 5", bootstrap(5, "value", presence="private"), near, 1e-3),
            Specimen("bootstrap, k = 20", bootstrap(20, "value"), far, 1e-3, released=False),
            Specimen("bootstrap by group, k = 3", bootstrap(3, "value-and-count", cells=2), far, 1e-3, released=False),
            Specimen("bootstrap of counts, k = 3", counts, far, 1e-3),
        )

    @classmethod
    def of_noise_sd(cls, noise_sd: float, quote: Quote) -> ResampledGaussian:
        """Return k resampled sums of one centred value within ½, each replicate with noise of this sd."""
        coordinate, presence = one_value(noise_sd, quote)
        return cls(quote.n_resamples, quote.rate, "value", (coordinate,), presence, 1)

    @property
    def end_pair_computed(self) -> bool:
        """Of one value, with or without a count beside it."""
        return self.shape in ("value", "value-and-count")

    def terms(self, relation: Relation) -> tuple[DominatingPair, ...]:
        """Return the whole curve of all replicates together.

        Raises
        ------
        UncertifiedError
            HG403: replace-one outside the range in which the equal-sign pairs were scanned.
        """
        return (KnownCurvePair(resampled_curve(self, relation)),)

    def nearly_mu(self, relation: Relation) -> float:
        """Return the μ of a Gaussian release that costs about as much: exactly so for k → ∞."""
        return max(nearly_mu(pair, self.n_resamples) for pair in resampled_pairs(self, relation))

    def attained(self, relation: Relation) -> LowerBoundPairs:
        """Return the kinds of neighbour that are priced, with noise as wide as on the lattice, or a little wider."""
        if relation is Relation.REPLACE_ONE and self.shape in ("vector", "one-of"):
            return LowerBoundPairs((), "A bootstrap of vectors is priced by a bound that need not be reached.")
        narrower = min(_on_lattice(coordinate) for coordinate in self.coordinates)
        # To forget the count is post-processing. Of many replicates it tells less than the cells of a plane lose.
        counted = narrower if self.n_resamples < _MANY else 0.0
        pairs = [
            replace(pair, bound=pair.bound * narrower, count_weight=pair.count_weight * counted)
            for pair in resampled_pairs(self, relation)
        ]
        narrow = "A count beside the values is priced with a little less noise than it has."
        near = [nearly_mu(pair, self.n_resamples) for pair in pairs]
        worst = [pair for mu, pair in zip(near, pairs, strict=True) if mu >= NEAR * max(near)]
        exact = tuple(exact for pair in worst for exact in exact_pairs(pair, self.n_resamples))
        return LowerBoundPairs(exact, narrow if self.shape == "value-and-count" else "")

    def repeated(self, times: int, relation: Relation) -> Profile:
        """Return the curve of `times` as many replicates."""
        return resampled_curve(replace(self, n_resamples=self.n_resamples * times), relation)


UnitShape = Literal["value-and-count", "count"]


@dataclass(frozen=True, slots=True)
class ResampledUnits(ResampledSums):
    """k replicates of a table of unit totals: a unit of several rows is drawn r ~ Poisson(rate) times in each cell.

    A unit has at most `max_rows` rows in all, spread over the `cells` disjoint cells in any way. With N rows in a cell
    it adds there, each time it is drawn, N to the count and, for ``value-and-count``, a total of |S| ≤ N·m to the sum,
    where m = reach/max_rows bounds one row. Its draws are the same in both coordinates of a cell and replicate, and
    independent otherwise: between cells too. Reaches are those of a whole unit: max_rows·m, and max_rows.
    """

    n_resamples: int
    rate: float
    shape: UnitShape
    coordinates: tuple[ResampledCoordinate, ...]
    max_rows: int
    cells: int
    type: Literal["resampled-units"] = "resampled-units"

    def __post_init__(self) -> None:
        require_positive(n_resamples=self.n_resamples, rate=self.rate, max_rows=self.max_rows, cells=self.cells)
        reaches = [coordinate.reach for coordinate in self.coordinates]
        needed = {"value-and-count": 2, "count": 1}[self.shape]
        fits = len(reaches) == needed and reaches[-1] == self.max_rows and reaches[0] % self.max_rows == 0
        if not fits or self.max_rows > MOST_ROWS:
            raise ParameterError(
                "HG406",
                rule="The coordinates of a release of unit totals must fit its shape and its limit of rows.",
                finding=f"Found {len(reaches)} for {self.shape!r} with {self.max_rows} rows per unit.",
            )

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return counts, and totals with counts, of units of two rows in two cells."""
        count, total = ResampledCoordinate(2, lattice_noise(6.0)), ResampledCoordinate(2 * _REACH, lattice_noise(8e3))
        return (
            Specimen("bootstrap of units, k = 3", cls(3, 1.0, "count", (count,), 2, 2), Relation.ADD_REMOVE, 1e-3),
            Specimen(
                "bootstrap of units with totals, k = 3",
                cls(3, 1.0, "value-and-count", (total, count), 2, 2),
                Relation.ADD_REMOVE,
                1e-3,
            ),
        )

    @property
    def most_rows(self) -> int:
        """`max_rows`."""
        return self.max_rows

    @property
    def row_limit(self) -> int:
        """`max_rows`."""
        return self.max_rows

    def terms(self, relation: Relation) -> tuple[DominatingPair, ...]:
        """Return the whole curve of all replicates together."""
        return (KnownCurvePair(units_curve(self, relation)),)

    def attained(self, relation: Relation) -> LowerBoundPairs:
        """Return a unit with all its rows in one cell, or one in each, that comes or goes."""
        if relation is Relation.REPLACE_ONE:
            return LowerBoundPairs((), "Units that give way to others are priced by a bound that need not be reached.")
        narrower = min(_on_lattice(coordinate) for coordinate in self.coordinates)
        row = narrower * math.hypot(*_row_distances(self))
        spread = min(self.max_rows, self.cells)
        rows = {(self.max_rows, 1)} | ({(1, spread)} if spread == self.max_rows else set())
        pairs: list[ExactPair] = []
        for most, cells in sorted(rows):
            one_sided = MixturePair(PairKind.ONE_SIDED, 1.0, row * most, self.rate)
            pairs += exact_pairs(one_sided, self.n_resamples * cells)
        return LowerBoundPairs(tuple(pairs), "Some other way to spread the rows of a unit over cells may cost more.")


@lru_cache(maxsize=256)
def resampled_curve(mechanism: ResampledGaussian, relation: Relation) -> Curve:
    """Return an upper bound on the privacy profile of all k replicates together.

    Raises
    ------
    UncertifiedError
        HG403: replace-one outside the range in which the equal-sign pairs were scanned.
    """
    return release_curve(resampled_pairs(mechanism, relation), n_resamples=mechanism.n_resamples)


def resampled_pairs(mechanism: ResampledGaussian, relation: Relation) -> tuple[MixturePair, ...]:
    """Return the kinds of neighbour whose curves must all be paid, in units of the noise sd."""
    # Distances are divided by the sd of the continuous release that costs at least as much as the lattice one.
    distances = [
        coordinate.distance / priced_noise_sd(1.0, lattice_steps=coordinate.noise.width)
        for coordinate in mechanism.coordinates
    ]
    rate = mechanism.rate
    norm = max(distances) if mechanism.shape == "one-of" else math.hypot(*distances)
    one_sided = MixturePair(PairKind.ONE_SIDED, 1.0, norm, rate)
    if relation is Relation.ADD_REMOVE:
        if mechanism.presence == "public":
            raise UncertifiedError(
                "HG401",
                rule="Under add-remove the presence of a person in the data is private.",
                finding="The mechanism states that the presence of a person is public.",
            )
        return (one_sided,)
    across = MixturePair(PairKind.ACROSS, 1.0, norm, rate)
    if mechanism.shape == "one-of":
        return (across,)
    if mechanism.shape == "vector":
        return (MixturePair(PairKind.ACROSS, math.sqrt(0.5), norm, rate),)
    moving = across if mechanism.cells > 1 else one_sided
    if mechanism.shape == "count":
        return (moving,)
    value, weight = distances[0], distances[1] if mechanism.shape == "value-and-count" else 0.0
    require_scanned(noise_sd=1.0, bound=value, rate=rate, count_weight=weight)
    same = MixturePair(PairKind.SAME_CELL, 1.0, value, rate, weight)
    # Without a count the one-sided pair is the same-cell pair (a, 0), which (a, −a) dominates.
    return (same, moving) if weight or mechanism.cells > 1 else (same,)


@lru_cache(maxsize=256)
def units_curve(mechanism: ResampledUnits, relation: Relation) -> Curve:
    """Return an upper bound on the privacy profile of all replicates of a release of unit totals.

    Neighbours differ in all the rows of one unit: there or not, or replaced by any others.

    Raises
    ------
    UncertifiedError
        HG403: noise or rate outside what is priced.

    Examples
    --------
    >>> two_rows = ResampledUnits(
    ...     20, 1.0, "count", (ResampledCoordinate(2, LatticeNoise(9 * 2**17, 17)),), max_rows=2, cells=3)
    >>> curve = units_curve(two_rows, Relation.ADD_REMOVE)
    >>> 4.9 < curve.epsilon_upper(1e-6) < 6.0
    True
    """
    distances = _row_distances(mechanism)
    sizes = mechanism.max_rows, mechanism.cells, mechanism.rate, mechanism.n_resamples
    return units_of_rows(math.hypot(*distances), *sizes, relation=relation)


def _row_distances(mechanism: ResampledUnits) -> list[float]:
    """Return the reach of one row in sd of the continuous noise that costs at least as much, sum by sum."""
    return [
        coordinate.distance / mechanism.max_rows / priced_noise_sd(1.0, lattice_steps=coordinate.noise.width)
        for coordinate in mechanism.coordinates
    ]


def _on_lattice(coordinate: ResampledCoordinate) -> float:
    """Return the width of the noise that is priced over that of continuous noise that costs no more than it does."""
    steps = coordinate.noise.width
    return priced_noise_sd(1.0, lattice_steps=steps) / math.sqrt(1.0 + (SMOOTHING / steps) ** 2) * (1.0 - 1e-12)


@lru_cache(maxsize=64)
def _log_ratios(square: float, log_chances: tuple[float, ...]) -> tuple[Floats, Floats]:
    from scipy.special import logsumexp

    r = np.arange(float(len(log_chances)))
    c = np.sqrt(square)
    s = np.linspace(-r[-1] * square - _FAR * c, r[-1] * square + _FAR * c, _TABLE)
    return s, logsumexp(np.array(log_chances) + s[:, None] * r - r**2 * square / 2.0, axis=1)
