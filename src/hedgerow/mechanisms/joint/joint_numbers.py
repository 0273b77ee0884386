r"""The numbers of a release of joint moments: which sums of grid integers they are, and which moments they tell.

A feature of a record is an integer t ∈ {0..m} on a public grid; q = 2t − m is centred, |q| ≤ m, f = q/m ∈ [−1, 1].
Released are exact integer sums over the records of a cell:

=====================  =============================================================================================
`JointCoordinate`      a count of records (all, or those where some features are present), Σ q_i, Σ q_i q_j, or
                       Σ (q_i² − o), with o = ⌊m²/2⌋ where the count that undoes it is released and presence is
                       private; over all records with these features, or those only where others are `present` too
`PartitionBlock`       of one to three features: the sums of all products of their Bernstein polynomials, of degree 1,
                       (m − t, t), 2, ((m − t)², 2t(m − t), t²), up to 4, with one more outcome, "missing", for a
                       feature that may be missing. They are non-negative and add up to the same integer for every
                       record, and tell the moments of each feature up to the degree
=====================  =============================================================================================

Each is a polynomial in the grid integers, so sums of monomials over the records where their features are present
determine everything: an engine answers those in one scan, as exact integers.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import product
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.mechanisms.interface import LATER, Floats
from hedgerow.mechanisms.joint.joint_sensitivity import Of, Presence
from hedgerow.noise.lattice import MIN_LATTICE_STEPS, LatticeNoise
from hedgerow.resampling.counted_values import Monomial, mean_products

MOST_NUMBERS = 10_000
MOST_IN_BLOCK = 3

Polynomial = dict[Monomial, int]
Kind = Literal["count", "sum", "across"]
Kinds = tuple[tuple[Kind, Of, Of, int], ...]
Blocks = tuple[tuple[Of, Of], ...]
Shape = tuple[Kinds, Blocks]
N = TypeVar("N", int, float)
MOST_FEATURES = 64
MOST_STEPS = 2**42  # squares then fit 84 bits, which engines add up exactly
STEPS = 2**20
"""Of the grid of a feature, where none is given: rounding to it is far below any noise."""


@dataclass(frozen=True, slots=True)
class JointFeature:
    """A feature on the grid {0..steps}; `missing`: whether it may be missing where others are present."""

    steps: int
    missing: bool = False


@dataclass(frozen=True, slots=True)
class JointLayout:
    """The features of a record, and whether it is known to lie in its cell, of so many disjoint ones.

    Attributes
    ----------
    features : tuple of JointFeature
    presence : "public" or "private"
        Public: every record is known to be in its cell (replace-one alone).
    cells : int
    rows : int or None
        The limit of rows where the records are units of several rows: then a feature of a unit in a cell is the total
        over its rows there, the last one is their number, and f ∈ [−rows, rows] (`joint.units`).
    parts : int or None
        Where rows are weighted: a row counts by a share t/parts of itself, t ∈ {0..parts}, and a total is one of t
        times what a row has. So the last feature is a sum of shares, and a record alone is a unit of at most one row.
    ball : int or None
        How many of the features, the first ones, are a vector of length 1 at most (`joint.ball`).
    shares : int or None
        Where a record counts by a share of itself, u/shares with u ∈ {0..shares}: every sum is one of u times what a
        record adds, and a count one of u. What two records add differs by a convex function of their shares, which is
        largest where each is 0 or 1: no more than if records were there or not, so presence is private.
    most_rows : int or None
        Where units of several rows are protected and every sum is over rows: the most rows of a unit that count. What
        a unit adds is `most_rows` times a mean of what rows add and of zeros, and a distance is a convex function of
        both means: it is largest where a unit has as many equal rows as may be in one cell, or none. So the price is
        that of records that are there or not, times `most_rows`. In a ball the vector is that of a unit in a cell, in
        each of the cells in which it has rows.
    """

    features: tuple[JointFeature, ...]
    presence: Presence
    cells: int
    rows: int | None = field(default=None, metadata=LATER)
    ball: int | None = field(default=None, metadata=LATER)
    shares: int | None = field(default=None, metadata=LATER)
    most_rows: int | None = field(default=None, metadata=LATER)
    parts: int | None = field(default=None, metadata=LATER)

    def __post_init__(self) -> None:
        whole = all(isinstance(feature.steps, int) and 1 <= feature.steps <= MOST_STEPS for feature in self.features)
        known = self.presence in ("public", "private") and isinstance(self.cells, int) and self.cells >= 1
        check(
            whole and known and 0 < len(self.features) <= MOST_FEATURES,
            f"Joint moments are of 1 to {MOST_FEATURES} features, each on a grid of 1 to 2⁴² steps, by cells.",
        )
        if self.ball is not None:
            whole = isinstance(self.ball, int) and 1 <= self.ball <= len(self.features) and self.rows is None
            even = len({feature.steps for feature in self.features[: self.ball]}) == 1
            even = even and not self.missing and self.features[0].steps % 2 == 0
            check(whole and even, "A ball is of features on one even grid, of records with all of them.")
        private = self.presence == "private" and not self.missing
        if self.shares is not None:
            whole = isinstance(self.shares, int) and 1 <= self.shares <= 2**20 and self.added is None
            rule = "A record counts by a share of 1 to 2²⁰ parts where presence is private, and no value missing alone."
            check(whole and private, rule)
        if self.most_rows is not None:
            whole = isinstance(self.most_rows, int) and 1 <= self.most_rows <= 2**20
            alone = self.added is None and self.shares is None and private
            check(whole and alone, "Units have 1 to 2²⁰ rows, whose number is private, and no value missing alone.")
        if self.added is not None:
            given = [most for most in (self.rows, self.parts) if most is not None]
            whole = all(isinstance(most, int) and 1 <= most <= 2**20 for most in given)
            alone = self.ball is None and private and self.features[-1].steps == 1
            rule = "Units have 1 to 2²⁰ rows; their number is the last feature and private, no value is missing alone."
            check(whole and alone, rule)

    @property
    def added(self) -> int | None:
        """The most that the last feature can be, a number of rows or a sum of shares; None where it is a column."""
        return self.rows if self.parts is None else self.rows or 1

    @property
    def missing(self) -> frozenset[int]:
        """The features that may be missing where others are present."""
        return frozenset(i for i, feature in enumerate(self.features) if feature.missing)

    def reach(self, of: Of, degrees: Of) -> int:
        """Return Π m_i^e_i: the largest value of a product of centred features, and the constant sum of a block."""
        whole = math.prod(self.features[i].steps ** e for i, e in zip(of, degrees, strict=True))
        most = (self.rows or 1) * (self.parts or 1)
        return int(whole * most ** sum(degrees)) * (self.shares or 1) * self.copies

    @property
    def copies(self) -> int:
        """How often a unit can add what one record adds: as often as it may have rows, where sums are over rows."""
        return 1 if self.most_rows is None or self.ball is not None else self.most_rows

    @property
    def last(self) -> int:
        """The place of the last feature: of units the number of their rows."""
        return len(self.features) - 1

    def offset(self, i: int, present: Of, counts: Collection[Of]) -> int:
        """Return o of Σ (q_i² − o): m²/2, rounded down, where a count undoes it and a record may come or go.

        The count is that of the records over which the sum is taken: those with feature i and the features `present`.
        """
        needed = tuple(sorted({i, *present} & self.missing))
        useful = needed in counts and self.added is None and self.ball is None
        useful = useful and (bool(needed) or self.presence == "private")
        return self.features[i].steps ** 2 // 2 if useful else 0

    def centres(self, squares: Iterable[tuple[int, Of]], counts: Collection[Of]) -> dict[tuple[int, Of], float]:
        """Return the largest |q_i² − o|/m_i² of each square, (i, present)."""
        largest = {}
        for i, present in squares:
            o, m2 = self.offset(i, present, counts), self.features[i].steps ** 2
            largest[i, present] = max(o, m2 - o) / m2
        return largest


@dataclass(frozen=True, slots=True)
class JointCoordinate:
    """One released sum: of records (`kind` "count") or of the product of centred features ("sum"), `of` in order.

    A sum is over the records where the features `present`, in order and none of `of`, are present too. Of units of
    several rows there are sums "across" cells: of the total of the first feature in the cell times that of the second
    in the cell that stands `lag` further, the first cell following the last one.
    The exact sum is rounded to multiples of 2^`coarse` before noise is added, and `noise` is in those units: integers
    of 80 bits, of which noise hides the last ones anyway, then fit 64.
    """

    kind: Kind
    of: tuple[int, ...]
    noise: LatticeNoise
    coarse: int = 0
    present: tuple[int, ...] = field(default=(), metadata=LATER)
    lag: int = field(default=0, metadata=LATER)

    @property
    def squared(self) -> bool:
        """Whether this is the sum of one feature's square."""
        return len(self.of) == 2 and self.of[0] == self.of[1]


@dataclass(frozen=True, slots=True)
class PartitionBlock:
    """The products of Bernstein polynomials of the features `of`, of these `degrees`, each sum with the same noise."""

    of: tuple[int, ...]
    degrees: tuple[int, ...]
    noise: LatticeNoise
    coarse: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class JointReading:
    """What a release says of Σ f^e: moments = constant + matrix @ released, the noise on them mixing @ z.

    Attributes
    ----------
    moments : tuple of Monomial
        Which moments, in powers of the features f ∈ [−1, 1]; ``()`` is the number of records.
    matrix : float array, (moments, released)
    constant : float array, (moments,)
    mixing : float array, (moments, released)
        The z are independent, of variance 1 and the law of the noise.
    """

    moments: tuple[Monomial, ...]
    matrix: Floats
    constant: Floats
    mixing: Floats

    @property
    def covariance(self) -> Floats:
        """The covariance of the noise on the moments, (moments, moments)."""
        return self.mixing @ self.mixing.T

    def values(self, released: Floats) -> Floats:
        """Return the moments of each cell, (cells, moments), from the released numbers, (cells, released)."""
        return self.constant + released @ self.matrix.T


@dataclass(frozen=True, slots=True)
class JointNumber:
    """One released number: its polynomial in the grid integers t, and its noise."""

    name: str
    polynomial: Polynomial
    noise: LatticeNoise
    coarse: int

    @property
    def width(self) -> float:
        """The width of the noise in units of the sum."""
        return self.noise.in_units * 2.0**self.coarse


@dataclass(frozen=True, slots=True)
class JointNumbers:
    """What is released of each cell, in order: the coordinates, then the outcomes of the blocks.

    Examples
    --------
    A partition block of degree 2 tells the count, the mean and the mean square; all in powers of f:

    >>> block = PartitionBlock((0,), (2,), LatticeNoise(10_000, 0))
    >>> numbers = JointNumbers(JointLayout((JointFeature(100),), "private", 1), (), (block,))
    >>> [number.name for number in numbers.listed()]
    ['block 0: 0/0', 'block 0: 0/1', 'block 0: 0/2']
    >>> found = numbers.reading([(), ((0, 1),), ((0, 2),)], np.ones(3))
    >>> (found.matrix * 100**2).round(6).astype(int).tolist()
    [[1, 1, 1], [-1, 0, 1], [1, -1, 1]]
    """

    layout: JointLayout
    coordinates: tuple[JointCoordinate, ...]
    blocks: tuple[PartitionBlock, ...]

    @property
    def shape(self) -> Shape:
        """What the coordinates and blocks are, whatever their noise."""
        kinds = tuple((number.kind, number.of, number.present, number.lag) for number in self.coordinates)
        return kinds, tuple((number.of, number.degrees) for number in self.blocks)

    def listed(self) -> tuple[JointNumber, ...]:
        """Return every number of a cell, in the order in which they are released."""
        return _listed(self)

    def reading(self, moments: Iterable[Monomial], sds: Floats, *, n: float | None = None) -> JointReading:
        """Return the least-squares estimate of moments Σ f^e from the released numbers, with its noise covariance.

        Where several numbers hold a moment, or a block tells a count once more, all are used, each by its precision.

        Parameters
        ----------
        moments : iterable of Monomial
            In powers of f ∈ [−1, 1], of units in [−rows, rows].
        sds : float array
            The standard deviation of the noise of each number.
        n : float, optional
            The number of records of the cell, where it is public.

        Raises
        ------
        ParameterError
            HG406: a moment that the released numbers do not determine.
        """
        noise = np.asarray(sds, dtype=np.float64).tobytes()
        reading = _reading(self.layout, self.shape, tuple(moments), noise, known=n is not None)
        return reading if n is None else replace(reading, constant=reading.constant * n)

    def record_means(self, features: Floats) -> Floats:
        """Return what records with features f ∈ [−1, 1], (records, d), add to each number on average.

        Of units they are the totals, the number of rows behind them, and all their rows lie in one cell.
        """
        known, design = _design(self.layout, *self.shape)
        # All rows of a unit lie in one cell: what crosses cells is 0.
        own = [monomial for monomial in known if all(i <= self.layout.last for i, _ in monomial)]
        means = dict.fromkeys(known, 0.0) | mean_products(features, own)
        return np.asarray(design @ np.array([means[monomial] for monomial in known]))

    def _in_features(self, polynomial: Polynomial) -> dict[Monomial, float]:
        """Return a polynomial in t as one in f, t = m(1 + f)/2, of records that count whole."""
        total: dict[Monomial, float] = {}
        for monomial, coefficient in polynomial.items():
            expanded: dict[Monomial, float] = {(): float(coefficient) * (self.layout.shares or 1)}
            for i, power in monomial:
                expanded = _product([expanded, self._substituted(i, power)])
            for term, value in expanded.items():
                total[term] = total.get(term, 0.0) + value
        return {monomial: value for monomial, value in total.items() if value}

    def _substituted(self, i: int, power: int) -> dict[Monomial, float]:
        """Return t_i^power in powers of f: t = m(1 + f)/2, of units parts·m(r + f)/2 with r the number of rows."""
        # Behind the features of a cell stand those of the cells after it.
        last = i - i % len(self.layout.features) + self.layout.last
        parts = self.layout.parts or 1
        half = (self.layout.features[i % len(self.layout.features)].steps * parts / 2.0) ** power
        if self.layout.added is None:
            return {self._powers(i, e): half * math.comb(power, e) for e in range(power + 1)}
        if i == last:
            return {((i, power),): float(parts**power)}
        named = {e: ((i, e), (last, power - e)) for e in range(power + 1)}
        return {tuple(p for p in both if p[1]): half * math.comb(power, e) for e, both in named.items()}

    def _powers(self, i: int, power: int) -> Monomial:
        """Return t_i^power; presence need not be asked of a feature that is never missing alone."""
        return ((i, power),) if power or self.layout.features[i].missing else ()

    def _each(self) -> list[tuple[str, Polynomial, int]]:
        numbers = [(*self._coordinate(coordinate), place) for place, coordinate in enumerate(self.coordinates)]
        for place, block in enumerate(self.blocks):
            each = [self._outcomes(i, degree) for i, degree in zip(block.of, block.degrees, strict=True)]
            for outcome in product(*each):
                name = f"block {place}: " + " ".join(label for label, _ in outcome)
                numbers.append((name, _product(factor for _, factor in outcome), len(self.coordinates) + place))
        return numbers

    def _coordinate(self, coordinate: JointCoordinate) -> tuple[str, Polynomial]:
        where = ("where", *map(str, coordinate.present)) if coordinate.present else ()
        where = (*where, "by", str(coordinate.lag)) if coordinate.lag else where
        name = " ".join([coordinate.kind, *map(str, coordinate.of), *where])
        present: list[Polynomial] = [{((i, 0),): 1} for i in coordinate.present]
        return name, _product([self._polynomial(coordinate), *present])

    def _polynomial(self, coordinate: JointCoordinate) -> Polynomial:
        if self.layout.added is not None:
            farther = (0, coordinate.lag)
            return _product(self._of_unit(i, lag) for i, lag in zip(coordinate.of, farther, strict=False))
        if coordinate.kind == "count":
            return _product({self._powers(i, 0): 1} for i in coordinate.of)
        if coordinate.squared:
            i, counts = coordinate.of[0], {other.of for other in self.coordinates if other.kind == "count"}
            steps = self.layout.features[i].steps
            constant = {self._powers(i, 0): steps**2 - self.layout.offset(i, coordinate.present, counts)}
            return {self._powers(i, 2): 4, self._powers(i, 1): -4 * steps} | constant
        return _product(
            {self._powers(i, 1): 2, self._powers(i, 0): -self.layout.features[i].steps} for i in coordinate.of
        )

    def _of_unit(self, i: int, lag: int) -> Polynomial:
        """Return the total of a unit's q_i, Σ(2t − m) = 2T − m·r, or the number r of its rows, so many cells on."""
        last, beyond = self.layout.last, lag * len(self.layout.features)
        own = ((i + beyond, 1),)
        return {own: 1} if i == last else {own: 2, ((last + beyond, 1),): -self.layout.features[i].steps}

    def _outcomes(self, i: int, degree: int) -> list[tuple[str, Polynomial]]:
        """Return the Bernstein polynomials of a feature, and "missing" where it may be, as they add up to m^degree."""
        m, present = self.layout.features[i].steps, self._powers(i, 0)
        outcomes: list[Polynomial] = []
        for k in range(degree + 1):
            signed = [
                (k + j, math.comb(degree, k) * math.comb(degree - k, j) * (-1) ** j * m ** (degree - k - j))
                for j in range(degree - k + 1)
            ]
            outcomes.append({self._powers(i, power): coefficient for power, coefficient in signed})
        labelled = [(f"{i}/{k}", polynomial) for k, polynomial in enumerate(outcomes)]
        return [*labelled, (f"{i}/missing", {(): m**degree, present: -(m**degree)})] if present else labelled


def reading_of(
    layout: JointLayout, shape: Shape, wanted: tuple[Monomial, ...], sds: Floats, n: float | None
) -> JointReading:
    """Return `JointNumbers.reading` of numbers of a shape with noise of these standard deviations."""
    known, design = _design(layout, *shape)
    place = {monomial: k for k, monomial in enumerate(known)}
    given = place[()]
    count = design[:, given] * (0.0 if n is None else n)
    if n is not None:
        design = design.copy()
        design[:, given] = 0.0
    precision = 1.0 / sds
    # Each column to its own size: the integers of one moment may be 2⁴⁰ times those of another.
    weighted = design * precision[:, None]
    size = np.linalg.norm(weighted, axis=0)
    size[size == 0.0] = 1.0
    weighted /= size
    inverse, determined = _inverse(weighted)
    inverse *= precision / size[:, None]
    if n is not None:
        determined[given] = True
    rows = [place.get(monomial, -1) for monomial in wanted]
    if missing := sum(row < 0 or not determined[row] for row in rows):
        raise ParameterError(
            "HG406",
            rule="A mean or variance can be computed only from noisy numbers that determine it.",
            finding=f"{missing} of {len(wanted)} are not determined by what is released.",
        )
    matrix = inverse[rows]
    constant = -matrix @ count
    if n is not None:
        constant[[row == given for row in rows]] = n
    return JointReading(wanted, matrix, constant, matrix * sds)


@lru_cache(maxsize=64)
def require_told(layout: JointLayout, shape: Shape, wanted: tuple[Monomial, ...], *, known: bool) -> None:
    """Refuse a shape that no release has, or whose numbers do not determine what is wanted, `known` with n (HG406)."""
    numbers = _shaped(layout, *shape)
    check_coordinates(layout, numbers.coordinates, numbers.blocks)
    check_blocks(layout, len(numbers.coordinates), numbers.blocks)
    reading_of(layout, shape, wanted, np.abs(_design(layout, *shape)[1]).max(axis=1), 1.0 if known else None)


@lru_cache(maxsize=16)
def _reading(
    layout: JointLayout, shape: Shape, wanted: tuple[Monomial, ...], sds: bytes, *, known: bool
) -> JointReading:
    """Return a reading, of one record where n is known; a forecast asks for the same one again and again.

    The key holds no n: the constant is in proportion to n.
    """
    return reading_of(layout, shape, wanted, np.frombuffer(sds), 1.0 if known else None)


def _inverse(matrix: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the pseudo-inverse, and which unknowns it determines; each set of rows with unknowns in common by itself.

    Many numbers tell a moment each, and such a matrix is nearly diagonal.
    """
    inverse, determined = np.zeros(matrix.T.shape), np.zeros(matrix.shape[1], dtype=bool)
    for those, which in _in_common((matrix != 0.0).tobytes(), matrix.shape):
        parts = matrix[those[:, :, None], which[:, None, :]]
        own = 1.0 / parts if parts.shape[1:] == (1, 1) else np.linalg.pinv(parts, rcond=1e-12)
        inverse[which[:, :, None], those[:, None, :]] = own
        left = np.abs(own @ parts - np.eye(which.shape[1])).max(axis=2)
        determined[which] = left < 1e-6
    return inverse, determined


@lru_cache(maxsize=64)
def _in_common(filled: bytes, shape: tuple[int, int]) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return the rows and columns that hang together, (parts, rows) and (parts, columns), parts of one size together.

    A search for weights asks again and again.
    """
    linked = np.frombuffer(filled, dtype=bool).reshape(shape)
    those = [np.flatnonzero(row).tolist() for row in linked]
    above = list(range(shape[1]))

    def top(column: int) -> int:
        while above[column] != column:
            above[column] = column = above[above[column]]
        return column

    for first, *others in filter(None, those):
        for other in others:
            above[top(other)] = top(first)
    parts: dict[int, tuple[list[int], dict[int, None]]] = {}
    for row, columns in enumerate(those):
        if columns:
            rows, which = parts.setdefault(top(columns[0]), ([], {}))
            rows.append(row)
            which |= dict.fromkeys(columns)
    alike: dict[tuple[int, int], list[tuple[list[int], list[int]]]] = {}
    for rows, which in parts.values():
        alike.setdefault((len(rows), len(which)), []).append((rows, sorted(which)))
    return [
        (np.array([rows for rows, _ in each], np.intp), np.array([which for _, which in each], np.intp))
        for each in alike.values()
    ]


@lru_cache(maxsize=64)
def _design(layout: JointLayout, kinds: Kinds, blocks: Blocks) -> tuple[list[Monomial], Floats]:
    """Return the moments that numbers tell, and these as their coefficients: the same for every noise on them."""
    numbers = _shaped(layout, kinds, blocks)
    polynomials = [numbers._in_features(polynomial) for _, polynomial, _ in _named(layout, kinds, blocks)]
    known = sorted({monomial for number in polynomials for monomial in number} | {()})
    return known, np.array([[number.get(monomial, 0.0) for monomial in known] for number in polynomials])


@lru_cache(maxsize=256)
def _listed(numbers: JointNumbers) -> tuple[JointNumber, ...]:
    parts: tuple[JointCoordinate | PartitionBlock, ...] = (*numbers.coordinates, *numbers.blocks)
    return tuple(
        JointNumber(name, polynomial, parts[place].noise, parts[place].coarse)
        for name, polynomial, place in _named(numbers.layout, *numbers.shape)
    )


@lru_cache(maxsize=64)
def _named(layout: JointLayout, kinds: Kinds, blocks: Blocks) -> list[tuple[str, Polynomial, int]]:
    """Return the name and the polynomial of every number, and of which coordinate or block it is."""
    return _shaped(layout, kinds, blocks)._each()


def parts_of_shape(layout: JointLayout, kinds: Kinds, blocks: Blocks) -> list[int]:
    """Return of which coordinate each number is, or behind them of which block."""
    return [place for *_, place in _named(layout, kinds, blocks)]


def _shaped(layout: JointLayout, kinds: Kinds, blocks: Blocks) -> JointNumbers:
    """Return numbers of a shape, with any noise."""
    noise = LatticeNoise(MIN_LATTICE_STEPS, 0)
    coordinates = tuple(JointCoordinate(kind, of, noise, 0, present, lag) for kind, of, present, lag in kinds)
    return JointNumbers(layout, coordinates, tuple(PartitionBlock(of, degrees, noise) for of, degrees in blocks))


def _product(factors: Iterable[Mapping[Monomial, N]]) -> dict[Monomial, N]:
    """Return the product of polynomials."""
    total: dict[Monomial, N] = {(): 1}
    for factor in factors:
        terms: dict[Monomial, N] = {}
        for (first, c), (second, k) in product(total.items(), factor.items()):
            powers = dict(first)
            for i, power in second:
                powers[i] = powers.get(i, 0) + power
            monomial = tuple(sorted(powers.items()))
            terms[monomial] = terms.get(monomial, 0) + c * k
        total = terms
    return {monomial: coefficient for monomial, coefficient in total.items() if coefficient}


def value_of(monomial: Monomial, values: Sequence[int | None]) -> int:
    """Return a monomial at grid integers, 0 where a feature that it names is missing, or of another cell."""
    found = [0 if i >= len(values) or (value := values[i]) is None else value**power for i, power in monomial]
    return math.prod(found)


def check(fits: bool, rule: str) -> None:
    """Refuse a description that does not fit its rule (HG406)."""
    if not fits:
        raise ParameterError("HG406", rule=rule, finding="The noisy numbers do not determine the mean or variance.")


def check_coordinates(
    layout: JointLayout, coordinates: Sequence[JointCoordinate], blocks: Sequence[PartitionBlock]
) -> None:
    """Refuse coordinates that are no sums of a layout, or are named twice."""
    parts: tuple[JointCoordinate | PartitionBlock, ...] = (*coordinates, *blocks)
    whole = all(isinstance(part.coarse, int) and 0 <= part.coarse <= 60 for part in parts)
    check(whole, "Sums are rounded to multiples of 2⁰ to 2⁶⁰.")
    named = [(coordinate.kind, coordinate.of, coordinate.present, coordinate.lag) for coordinate in coordinates]
    absent = layout.missing
    for kind, of, present, lag in named:
        ordered = (list(of) == sorted(of) or kind == "across") and all(0 <= i < len(layout.features) for i in of)
        if kind == "across":
            fits = len(of) == 2 and layout.added is not None and isinstance(lag, int) and 1 <= lag < layout.cells
            check(ordered and fits and not present, "Sums across cells are of two totals of units, some cells apart.")
            continue
        check(lag == 0, "Only a sum across cells has a lag.")
        if kind == "count":
            fits = len(set(of)) == len(of) and absent.issuperset(of) and not present
        else:
            fits = kind == "sum" and 1 <= len(of) <= 2
        fits = fits and (kind == "sum" or layout.added is None)
        check(ordered and fits, "A coordinate counts records, or adds up one feature or the product of two, in order.")
        others = list(present) == sorted(set(present)) and absent.issuperset(present) and not {*of} & {*present}
        check(others, "A sum is restricted to records with other features, in order, each of which may be missing.")
    check(bool(named or blocks) and len(set(named)) == len(named), "Each coordinate is released once.")


def check_blocks(layout: JointLayout, numbers: int, blocks: Sequence[PartitionBlock]) -> None:
    """Refuse blocks that a layout does not have, and more numbers of a cell, beside so many others, than are drawn."""
    for block in blocks:
        of = block.of
        named = list(of) == sorted(set(of)) and all(0 <= i < len(layout.features) for i in of)
        fits = 1 <= len(of) == len(block.degrees) <= MOST_IN_BLOCK and set(block.degrees) <= {1, 2, 3, 4}
        check(named and fits, "A block is of one to three features in order, each of degree 1 to 4.")
        check(layout.reach(of, block.degrees) < 2**84, "A block's polynomials fit 84 bits.")
        numbers += math.prod(e + 1 + layout.features[i].missing for i, e in zip(of, block.degrees, strict=True))
    check(layout.added is None or not blocks, "Blocks are not of units of several rows.")
    named_blocks = {(block.of, block.degrees) for block in blocks}  # by which their weights are kept
    check(len(named_blocks) == len(blocks), "Each block is released once.")
    check(numbers <= MOST_NUMBERS, f"At most {MOST_NUMBERS:,} numbers of a cell are released.")
