r"""Joint moments: counts, sums and products of several bounded features of each cell, released as one noisy vector.

Every number is an exact integer sum (`joint.numbers`) plus integer noise on a lattice of its own. So the weights by
which `joint.weights` prices them are real numbers, a_i = m_i/width, and nothing is rounded. One noisy vector tells
means with their errors, ratios, variances, covariances and any other smooth function of moments, with one price.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.averaged import gathered_curve
from hedgerow.accounting.dominating_pairs import (
    ROUND_UP,
    SMOOTHED,
    DominatingPair,
    GaussianPair,
    KnownCurvePair,
    PureDPPair,
)
from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.interface import AuditRecord, Floats, Neighbours, Quote, Specimen, across_or_one_sided
from hedgerow.mechanisms.joint.joint_numbers import (
    STEPS,
    JointCoordinate,
    JointFeature,
    JointLayout,
    JointNumber,
    JointNumbers,
    JointReading,
    PartitionBlock,
    check,
    check_blocks,
    check_coordinates,
    value_of,
)
from hedgerow.mechanisms.joint.joint_sensitivity import (
    ByTwo,
    JointWeights,
    Of,
    ball_cost,
    largest_weights,
    same_cell,
    unit_cost,
    worst_cosine,
)
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE, Additive, AveragedLaplace, Law, require_draws
from hedgerow.noise.lattice import AdditiveTable, LatticeNoise, NoiseSource, lattice_noise, on_lattice, require_drawable
from hedgerow.resampling.counted_values import Exact, GridSums, Histogram, Monomial, combined

MOST_BITS = 45  # of a width, in steps of its lattice: a sum of 2¹⁷ records then fits 62 bits
# An audited record is a code of one digit a feature: missing, an end of its grid, or a place between.
_BRUTE = 5  # up to so many features every pair of such records is compared
_MOST_AUDITED = 39  # digits of base 3 that fit 63 bits
_MOST_PLACES = 256  # of a feature: finer ones would move less than 1e-5 more
Pair = tuple[Sequence[int], Sequence[int]]


@dataclass(frozen=True, slots=True)
class JointMoments(Additive):
    """Counts and moments of d features of each of `cells` disjoint cells, every sum plus noise of its own width.

    Guarantee: under Gaussian noise μ² = max Σ (movement/width)² over neighbours; under Laplace noise
    ε = max Σ |movement|/width, pure.

    Attributes
    ----------
    law : "gaussian" or "laplace"
        Discrete Gaussian noise, or two-sided geometric noise, whose scale is the width.
    layout : JointLayout
    coordinates : tuple of JointCoordinate
    blocks : tuple of PartitionBlock
    draws : int
        How many two-sided geometric integers make the noise of one number; 1 but for averaged Laplace noise.

    Examples
    --------
    Two means and all their second moments cost 2√2, as the means alone do:

    >>> noise, wide = lattice_noise(100.0), lattice_noise(100.0**2)
    >>> sums = [JointCoordinate("sum", (i,), noise) for i in (0, 1)]
    >>> squares = [JointCoordinate("sum", of, wide) for of in ((0, 0), (0, 1), (1, 1))]
    >>> layout = JointLayout((JointFeature(100), JointFeature(100)), "public", 1)
    >>> joint = JointMoments("gaussian", layout, (*sums, *squares), ())
    >>> round(joint.mu(Relation.REPLACE_ONE) / 2**1.5, 9)
    1.0
    """

    law: Literal["gaussian", "laplace"]
    layout: JointLayout
    coordinates: tuple[JointCoordinate, ...]
    blocks: tuple[PartitionBlock, ...]
    draws: int = 1
    type: Literal["joint-moments"] = "joint-moments"
    price_name: ClassVar[str | None] = "joint-moments"
    sized_by_mu: ClassVar[bool] = True
    methods: ClassVar[tuple[str, ...]] = ("moments",)

    def __post_init__(self) -> None:
        require_draws(self.draws)
        alone = self.law == "gaussian" and self.draws == 1
        check(self.law == "laplace" or alone, "The noise of joint moments is Gaussian, or a sum of Laplace numbers.")
        check_coordinates(self.layout, self.coordinates, self.blocks)
        check_blocks(self.layout, len(self.coordinates), self.blocks)
        require_drawable(*(number.noise.width for number in self._listed()))

    @property
    def row_limit(self) -> int | None:
        """The limit of the layout."""
        return self.layout.rows or self.layout.most_rows

    @property
    def not_priced(self) -> tuple[str, ...]:
        """The noise of products across cells, as a unit in one cell may be the worst; that of a public number."""
        public = self.layout.presence == "public"
        unmoved = [one.kind == "across" or (public and one.kind == "count" and not one.of) for one in self.coordinates]
        return tuple(f"coordinates.{at}.**" for at, still in enumerate(unmoved) if still)

    @classmethod
    def of_noise_sd(cls, noise_sd: float, quote: Quote) -> JointMoments:
        """Return two means with all second moments, on the default grids: presence is public under replace-one."""
        public = quote.relation is Relation.REPLACE_ONE
        layout = JointLayout((JointFeature(STEPS), JointFeature(STEPS)), "public" if public else "private", 1)
        sums = {(0,): 1.0, (1,): 1.0, (0, 0): 0.7, (0, 1): 0.7, (1, 1): 0.7}
        weights = JointWeights(2, {} if public else {(): 0.75}, sums)
        # Widths are proportional to 1/μ, so the noise at μ = 1 tells which μ gives the noise wanted.
        mu = joint_moments(GAUSSIAN, layout, weights, 1.0, quote.relation).priced_sd / noise_sd
        return joint_moments(GAUSSIAN, layout, weights, mu, quote.relation)

    @property
    def priced_sd(self) -> float:
        """The standard deviation of the noise on the sum of the first column, in units of its range U − L."""
        width = next(number.noise.in_units * 2.0**number.coarse for number in self.coordinates if number.kind == "sum")
        return self.noise_law.sd(width) / self.layout.features[0].steps / 2.0

    @property
    def numbers(self) -> JointNumbers:
        """What is released of each cell."""
        return JointNumbers(self.layout, self.coordinates, self.blocks)

    def _listed(self) -> tuple[JointNumber, ...]:
        return self.numbers.listed()

    def weights(self) -> JointWeights:
        """Return each coordinate in units of its noise: what the sensitivity is computed from."""
        reach = self.layout.reach

        def weight(number: JointCoordinate | PartitionBlock, degrees: Of) -> float:
            return reach(number.of, degrees) / (number.noise.in_units * 2.0**number.coarse)

        of_kind = {kind: [one for one in self.coordinates if one.kind == kind] for kind in ("count", "sum", "across")}
        counts = {number.of: weight(number, (0,) * len(number.of)) for number in of_kind["count"]}
        sums = {(number.of, number.present): weight(number, (1,) * len(number.of)) for number in of_kind["sum"]}
        blocks = {(number.of, number.degrees): weight(number, number.degrees) for number in self.blocks}
        across = {(number.of, number.lag): weight(number, (1, 1)) for number in of_kind["across"]}
        return replace(_weights(self.layout, counts, sums, blocks), across=across)

    @property
    def released_cells(self) -> int:
        """The cells of the layout."""
        return self.layout.cells

    def mu(self, relation: Relation) -> float:
        """Return an upper bound on √(Σ movement²/width²) over all neighbours: for Gaussian noise."""
        return math.sqrt(self._cost(relation, 2)) * ROUND_UP

    def pure(self, relation: Relation) -> float:
        """Return an upper bound on Σ |movement|/width over all neighbours: ε for Laplace noise, whatever `draws` is."""
        return self._cost(relation, 1) * ROUND_UP

    def _cost(self, relation: Relation, power: Literal[1, 2]) -> float:
        if relation is Relation.ADD_REMOVE and self.layout.presence == "public":
            raise ParameterError(
                "HG406",
                rule="Under add-remove the presence of a person in the data is private.",
                finding="The description of the mechanism says that presence is public.",
            )
        cost = cost_of(self.layout, self.weights(), relation, power)
        # Rounding moves a sum by at most one of its steps more, in each of the cells that a record touches.
        steps = sum(1.0 / number.noise.in_units**power for number in self._listed() if number.coarse)
        rounding = self._touched(relation) * steps
        return float((cost ** (1.0 / power) + rounding ** (1.0 / power)) ** power)

    def _touched(self, relation: Relation) -> int:
        """Return in how many cells what is added up may differ between neighbours."""
        old = relation is Relation.REPLACE_ONE and self.layout.presence == "private"
        return min(self.layout.cells, (1 + old) * (self.row_limit or 1))

    @property
    def noise_law(self) -> Law:
        """The law of the noise of every number."""
        return GAUSSIAN if self.law == "gaussian" else LAPLACE if self.draws == 1 else AveragedLaplace(self.draws)

    def terms(self, relation: Relation) -> tuple[DominatingPair, ...]:
        """Return the dominating pair: Gaussian, or of bounded loss; of averaged noise a profile below that bound.

        It is the curve of one number that makes the whole movement (`hedgerow.accounting.averaged`).
        """
        if self.law == "gaussian":
            return (GaussianPair(self.mu(relation) / SMOOTHED * ROUND_UP),)
        pure = self.pure(relation)
        if self.draws == 1:
            return (PureDPPair(pure),)
        steps = self._touched(relation) * sum(1.0 / number.noise.width for number in self._listed())
        return (KnownCurvePair(gathered_curve(self.draws, pure, steps), pure),)

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each number of a cell, in the order in which they are released."""
        return tuple(number.name for number in self._listed())

    def table_spread(self, features: Sequence[str]) -> Floats:
        """Return `noise_sds`."""
        return self.noise_sds()

    def noise_sds(self) -> Floats:
        """Return the standard deviation of the noise of each number, in units of its own integers."""
        return np.array([self.noise_law.sd(float(width)) for width in self._widths()])

    def monomials(self) -> tuple[Monomial, ...]:
        """Return the monomials of grid integers whose exact sums by cell make everything that is released."""
        return tuple(sorted({monomial for number in self._listed() for monomial in number.polynomial}))

    def exact(self, sums: GridSums) -> Exact:
        """Return the exact integers to be released, (cells, numbers), from the sums of `monomials`."""
        columns = [
            combined((c, sums.sums[monomial]) for monomial, c in number.polynomial.items()) for number in self._listed()
        ]
        return np.stack(columns, axis=1)

    def noisy(self, sums: NDArray[Any], source: NoiseSource, *, cells: Sequence[Mapping[str, Any]]) -> AdditiveTable:
        """Return exact integers (cells, numbers), each plus noise on its own lattice: what becomes public."""
        columns = [
            on_lattice(
                _rounded(np.asarray(sums[:, place]), number.coarse),
                self.noise_law.draw(source, float(number.noise.width), len(sums)),
                number.noise.bits,
            )
            * 2.0**number.coarse
            for place, number in enumerate(self._listed())
        ]
        return AdditiveTable(cells, self.names, np.stack(columns, axis=1), self.noise_sds(), self.noise_law.name)

    def worst_pairs(self, relation: Relation) -> tuple[Neighbours, ...]:
        """Return the records of one cell that differ most, and where presence is private the one that adds most.

        All records with features at the ends of their grids, or missing, are compared. Of many features, they are found
        by changing one feature after the other, from several pairs: all features at opposite ends, all missing in one
        record, and those that the price takes to be worst. If the price is higher, places between the ends are tried.
        """
        pairs: list[Neighbours] = []
        ends = _Ends(self)
        if relation is Relation.REPLACE_ONE:
            for name, (first, second) in ends.most_different().items():
                pairs.append(Neighbours(name, AuditRecord(0, first), AuditRecord(0, second), self.layout.cells))
        if relation is Relation.ADD_REMOVE or self.layout.presence == "private":
            across = relation is Relation.REPLACE_ONE and self.layout.cells > 1
            pairs += across_or_one_sided(ends.largest(), self.layout.cells, across=across)
        return tuple(pairs)

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return means with their products, regressions, units of several rows and partition blocks."""
        far, near = Relation.REPLACE_ONE, Relation.ADD_REMOVE
        two, apart = ((JointFeature(100, missing), JointFeature(1000, missing)) for missing in (False, True))
        both = JointLayout((JointFeature(1000),) * 2, "private", 1)
        sums: dict[Of, float] = {(0,): 1.0, (1,): 0.8, (0, 0): 0.3, (0, 1): 0.4, (1, 1): 0.2}
        # The covariance of means that miss records of their own needs sums over the records that have both.
        with_both: dict[tuple[Of, Of], float] = {((0,), (1,)): 0.3, ((1,), (0,)): 0.4}
        own = JointWeights(2, {(0,): 1.2, (1,): 0.9, (0, 1): 0.5}, sums, restricted=with_both)
        with_both = {((0,), (1,)): 1.0, ((1,), (0,)): 1.0}
        shared = JointWeights(2, {(0, 1): 1.0}, {(0,): 0.2, (1,): 0.2, (0, 1): 1.0}, restricted=with_both)
        # More weight on products than is free.
        fit = JointWeights(2, {(): 0.4}, {(0,): 1.0, (1,): 1.0, (0, 1): 1.4, (0, 0): 0.8})
        even = JointWeights(2, {(): 0.4}, {(0,): 1.0, (1,): 1.0, (0, 1): 1.5 * 2**0.5, (0, 0): 1.5, (1, 1): 1.5})
        rows = JointWeights(2, {}, {(0,): 1.0, (1,): 1.1, (0, 0): 0.4, (0, 1): 0.3, (1, 1): 0.4})
        between: dict[tuple[Of, int], float] = {((i, j), 1): 0.5 for i in (0, 1) for j in (0, 1)}
        units = JointLayout((JointFeature(100), JointFeature(1)), "private", 3, 4)
        block = JointLayout((JointFeature(10), JointFeature(100, missing=True)), "private", 2)
        plain, means = JointLayout(two, "public", 1), JointWeights(2, {}, sums)
        with_zero, one_sum = (
            JointLayout((JointFeature(93),), "public", 1),
            JointWeights(1, {}, {(0,): 1.0, (0, 0): 0.5}),
        )
        blocks = JointWeights(2, {(): 0.2}, {}, {((0, 1), (2, 1)): 1.0})
        chosen = (
            ("two means and their products", GAUSSIAN, plain, means, far, 1e-3),
            ("two means, pure", LAPLACE, plain, means, far, 1e-3),
            ("sum, a missing value adds 0, pure", LAPLACE, with_zero, one_sum, far, 0.0),
            ("two means of their own records", GAUSSIAN, JointLayout(apart, "public", 1), own, far, 1e-3),
            ("two means of their own records, pure", LAPLACE, JointLayout(apart, "private", 1), shared, near, 0.0),
            ("regression, heavy products", GAUSSIAN, both, fit, far, 1e-3),
            ("regression in a ball, heavy products", GAUSSIAN, replace(both, ball=2), even, far, 1e-3),
            ("regression in a ball", GAUSSIAN, replace(both, ball=2), even, near, 1e-3),
            ("robust errors of a regression", GAUSSIAN, replace(both, shares=16), fit, far, 1e-3),
            ("regression of units of four rows", GAUSSIAN, replace(both, cells=2, most_rows=4), fit, far, 1e-3),
            ("mean by group of units of four rows", GAUSSIAN, units, rows, far, 1e-3),
            ("means of units with covariances", GAUSSIAN, units, replace(rows, across=between), far, 1e-3),
            ("weighted means", GAUSSIAN, JointLayout(units.features, "private", 1, parts=50), rows, far, 1e-3),
            ("weighted mean by group of units, pure", LAPLACE, replace(units, parts=5), rows, near, 0.0),
            ("mean of units of four rows, pure", LAPLACE, replace(units, cells=1), rows, far, 1e-3),
            ("partition blocks by group", LAPLACE, block, blocks, far, 1e-3),
        )
        return tuple(
            Specimen(name, joint_moments(law, layout, weights, 1.0, relation), relation, delta)
            for name, law, layout, weights, relation, delta in chosen
        )

    def outputs(self, data: Histogram, n: int, noise: NoiseSource) -> Floats:
        """Return `n` outputs, (n, cells, numbers); the records of an audit are codes of the ends of the grids."""
        exact = np.zeros((data.cells, len(self._listed())), dtype=object)
        for cell, code, count in zip(data.cell, data.index, data.count, strict=True):
            exact[cell] += int(count) * self.record(_Ends(self).values(int(code)))
        if max((abs(value) for value in exact.ravel()), default=0) < 2**62:
            exact = exact.astype(np.int64)
        return self.noisy(np.tile(exact, (n, 1)), noise, cells=({},)).values.reshape(n, data.cells, -1)

    def contribution(self, record: AuditRecord) -> tuple[Floats, Floats]:
        """Return what one record of an audit adds to its cell, and the widths of the noise there."""
        return self.record(_Ends(self).values(record.index)).astype(np.float64), self._widths()

    @property
    def size(self) -> int:
        """Roughly how many times three numbers there are to a cell of one output."""
        return 1 + len(self._listed()) // 3

    @property
    def bits(self) -> tuple[int, ...]:
        """The lattice of each number."""
        return tuple(number.noise.bits - number.coarse for number in self._listed())

    def _widths(self) -> Floats:
        return np.array([number.width for number in self._listed()])

    def record(self, values: Sequence[int | None]) -> NDArray[np.object_]:
        """Return what one whole record, or a unit of such rows, adds to its cell, None where a value is missing."""
        added = [sum(c * value_of(m, values) for m, c in number.polynomial.items()) for number in self._listed()]
        return np.array(added, dtype=object) * (self.layout.shares or 1) * self.layout.copies

    def reading(self, moments: Iterable[Monomial], *, n: float | None = None) -> JointReading:
        """Return how moments Σ f^e are read from the released numbers of a cell: see `JointNumbers.reading`."""
        return self.numbers.reading(moments, self.noise_sds(), n=n)


def joint_moments(
    law: Law, layout: JointLayout, weights: JointWeights, precision: float, relation: Relation
) -> JointMoments:
    """Return joint moments with noise in these proportions that cost `precision`, rounded up to the lattice.

    Parameters
    ----------
    law, layout
        As in `JointMoments`.
    weights : JointWeights
        The inverse widths of counts, sums (in units of f) and blocks, relative to one another; weights of 0 are left
        out. What may be missing is taken from the layout.
    precision : float
        μ for Gaussian noise, ε for Laplace noise; with k draws ε is √k times this, and the sd of a number the same.
    relation : Relation

    Raises
    ------
    ParameterError
        HG107: noise too wide for 64-bit integers; HG406: a description that fits none.

    Examples
    --------
    >>> weights, layout = JointWeights(1, {}, {(0,): 1.0, (0, 0): 0.5}), JointLayout((JointFeature(100),), "public", 1)
    >>> joint = joint_moments(LAPLACE, layout, weights, 1.0, Relation.REPLACE_ONE)
    >>> round(joint.pure(Relation.REPLACE_ONE), 5), (joint.noise_sds() / [100, 100**2]).round(3).tolist()
    (1.0, [2.828, 5.657])
    """
    positive, scale = priced_weights(law, layout, weights, precision, relation)

    def noise(of: Of, degrees: Of, weight: float) -> tuple[LatticeNoise, int]:
        width = scale * layout.reach(of, degrees) / weight
        coarse = max(0, math.ceil(math.log2(width)) - MOST_BITS)
        return lattice_noise(width / 2.0**coarse), coarse

    coordinates = [JointCoordinate("count", of, *noise(of, (0,) * len(of), w)) for of, w in positive.counts.items()]
    sums = {(of, ()): w for of, w in positive.sums.items()} | dict(positive.restricted)
    coordinates += [JointCoordinate("sum", of, *noise(of, (1,) * len(of), w), other) for (of, other), w in sums.items()]
    for (of, lag), w in positive.across.items():
        coordinates.append(JointCoordinate("across", of, *noise(of, (1, 1), w), (), lag))
    parts = tuple(PartitionBlock(of, degrees, *noise(of, degrees, w)) for (of, degrees), w in positive.blocks.items())
    return JointMoments("gaussian" if law == GAUSSIAN else "laplace", layout, tuple(coordinates), parts, law.draws)


def priced_weights(
    law: Law, layout: JointLayout, weights: JointWeights, precision: float, relation: Relation
) -> tuple[JointWeights, float]:
    """Return the weights above 0 on a layout, and the width at which a number of weight 1 costs `precision`."""
    positive, cost = _costing(layout, weights, relation, law.power)
    # The noise of k draws has √k times the sd of one.
    return positive, cost ** (1.0 / law.power) / (precision * math.sqrt(law.draws))


@lru_cache(maxsize=4)
def _costing(
    layout: JointLayout, weights: JointWeights, relation: Relation, power: Literal[1, 2]
) -> tuple[JointWeights, float]:
    """Return weights above 0 with their cost; the price of one release is computed at many precisions."""
    counts = {of: w for of, w in weights.counts.items() if w > 0.0}
    named = {(of, ()): w for of, w in weights.sums.items()} | dict(weights.restricted)
    sums = {key: w for key, w in named.items() if w > 0.0}
    blocks = {part: w for part, w in weights.blocks.items() if w > 0.0}
    positive = _weights(layout, counts, sums, blocks)
    if weights.across:
        positive = replace(positive, across={key: w for key, w in weights.across.items() if w > 0.0})
    return positive, cost_of(layout, positive, relation, power)


def _weights(layout: JointLayout, counts: Mapping[Of, float], sums: ByTwo, blocks: ByTwo) -> JointWeights:
    """Return weights on a layout, which says what may be missing and which squares have a constant taken off."""
    centres = layout.centres(((of[0], present) for of, present in sums if of == 2 * of[:1]), set(counts))
    whole = {of: w for (of, present), w in sums.items() if not present}
    restricted = {key: w for key, w in sums.items() if key[1]}
    return JointWeights(len(layout.features), counts, whole, blocks, layout.missing, centres, restricted)


def cost_of(layout: JointLayout, weights: JointWeights, relation: Relation, power: Literal[1, 2]) -> float:
    """Return an upper bound on Σ |movement|^power over all neighbours: records, or units of several rows."""
    if layout.added is not None:
        return unit_cost(weights, relation, power, cells=layout.cells)
    if layout.ball is not None:
        check(power == 2 and not weights.blocks, "The noise of features in a ball is Gaussian, on sums alone.")
        # A unit of several rows may have a vector in several cells, and each moves as a record's would.
        several = min(layout.most_rows or 1, layout.cells)
        return several * ball_cost(weights, relation, layout.ball, presence=layout.presence, cells=layout.cells)
    return weights.cost(relation, power, presence=layout.presence, cells=layout.cells)


def _rounded(sums: NDArray[Any], coarse: int) -> NDArray[Any]:
    """Return exact integers divided by 2^coarse, rounded to whole numbers."""
    return sums if coarse == 0 else np.array([(int(x) + (1 << (coarse - 1))) >> coarse for x in sums], dtype=object)


@dataclass(frozen=True, slots=True)
class _Ends:
    """The records that an audit compares: every feature at an end of its grid, or missing where it may be.

    Where squares are heavy, a feature between the ends can move more: places of an even grid are tried too.
    """

    joint: JointMoments

    @property
    def base(self) -> int:
        """The base of a code, as large as fits 63 bits. Digit 0 is missing, 1 the first place and 2 the last."""
        return max(3, min(_MOST_PLACES, int(2.0 ** (62.0 / len(self.joint.layout.features)))))

    def places(self, i: int) -> list[int | None]:
        """Return the grid integer of each digit of a feature; those above 2 lie evenly between the ends."""
        layout, between = self.joint.layout, self.base - 2
        between -= between % 2 if layout.ball is not None else 0
        counted = (layout.rows or 1) * (layout.parts or 1) if layout.added is not None and i == layout.last else 0
        steps = counted or layout.features[i].steps
        if layout.ball is not None:
            # Rounded towards the middle, which is a place: what lies in the ball stays there.
            inner = (steps // 2 + int(Fraction(steps, 2) * (2 * place - between) / between) for place in range(between))
            return [None, 0, steps, *list(inner)[1:]]
        return [None, 0, steps, *(round(steps * place / between) for place in range(1, between))]

    def code(self, digits: Sequence[int]) -> int:
        """Return the code of a record."""
        code = 0
        for digit in digits:
            code = self.base * code + digit
        return code

    def values(self, code: int) -> list[int | None]:
        """Return the grid integers of a code."""
        values: list[int | None] = []
        for i in reversed(range(len(self.joint.layout.features))):
            code, digit = divmod(code, self.base)
            values.append(self.places(i)[digit])
        if self.joint.layout.added is not None:
            # All rows of a unit have the same values.
            rows = values[0] or 0
            values[1:] = [rows * (value or 0) for value in values[1:]]
        return values[::-1]

    def most_different(self) -> dict[str, tuple[int, int]]:
        """Return the codes of two records that differ most, with features at the ends of their grids or anywhere."""
        features, power = self.joint.layout.features, self.joint.noise_law.power
        if self.joint.layout.ball is not None:
            return self.most_different_in_ball(self.joint.layout.ball)
        check(len(features) <= _MOST_AUDITED, f"An audit compares records of at most {_MOST_AUDITED} features.")
        ends = [[1, 2, 0] if feature.missing else [1, 2] for feature in features]
        within = [[*range(0 if feature.missing else 1, self.base)] for feature in features]
        climb, weights = _Climb(self.added(), power), self.joint.weights()
        pair: Pair
        if len(features) <= _BRUTE:
            records = list(product(*ends))
            table = climb.added(records)
            costs = np.stack([(np.abs(table - row) ** power).sum(axis=1) for row in table])
            first, second = divmod(int(costs.argmax()), len(records))
            pair = records[first], records[second]
        else:
            starts = [[1] * len(ends), [digits[-1] for digits in ends]]
            starts.append([(1, 2, 0)[state] for state in weights.worst(power)])
            pair = max((climb.climbed((start, [2] * len(ends)), ends, both=True) for start in starts), key=climb.cost)
        pairs = {"same cell": pair}
        bound = weights.same(power) if self.joint.layout.added is None else same_cell(weights, power)
        if climb.cost(pair) < bound / ROUND_UP:
            pairs["same cell, between the ends"] = climb.climbed(pair, within, both=False)
        return {name: (self.code(first), self.code(second)) for name, (first, second) in pairs.items()}

    def most_different_in_ball(self, ball: int) -> dict[str, tuple[int, int]]:
        """Return the codes of two vectors that differ most, in the plane of the first two features, rounded inwards."""
        weights = self.joint.weights()
        a, omega, _ = largest_weights(weights, ball)
        cosine = -1.0 if ball == 1 else worst_cosine(a, omega)
        across, along = math.sqrt((1.0 - cosine) / 2.0), math.sqrt((1.0 + cosine) / 2.0)
        pair = []
        for sign in (1.0, -1.0):
            vector = [sign * across, along, *[0.0] * ball][:ball]
            others = [1 if sign > 0.0 else 2] * (len(self.joint.layout.features) - ball)
            pair.append(self.code([*(self.digit(value) for value in vector), *others]))
        return {"same cell": (pair[0], pair[1])}

    def digit(self, value: float) -> int:
        """Return the digit of a feature near a value in [−1, 1], no farther from 0."""
        if abs(value) == 1.0:
            return 1 if value < 0.0 else 2
        between = (self.base - 2) // 2 * 2
        return 2 + between // 2 + int(value * (between // 2))

    def added(self) -> Callable[[Sequence[Sequence[int]]], Floats]:
        """Return a function of records, as digits, that tells what each adds in units of the noise."""
        numbers, layout = self.joint._listed(), self.joint.layout
        # All rows of a unit lie in one cell: what it has across cells is 0.
        monomials = [of for of in self.joint.monomials() if all(i <= layout.last for i, _ in of)]
        powers = np.array([[dict(monomial).get(i, -1) for monomial in monomials] for i in range(len(layout.features))])
        if layout.added is not None:
            # Totals are the number of rows times what each row has.
            powers[layout.last] = [sum(power for _, power in monomial) for monomial in monomials]
        # Of each feature t^e by digit and e; in the last place 1, for monomials without it.
        grids = [np.array(self.places(i)[1:], dtype=np.float64)[:, None] for i in range(len(powers))]
        tables = [np.hstack([grid ** np.arange(powers.max() + 1), np.ones_like(grid)]) for grid in grids]
        tables = [np.vstack([np.append(np.zeros(powers.max() + 1), 1.0), table]) for table in tables]
        factors = np.array([[float(number.polynomial.get(of, 0)) for number in numbers] for of in monomials])
        widths = self.joint._widths() / (layout.shares or 1) / layout.copies

        def tell(records: Sequence[Sequence[int]]) -> Floats:
            each = np.ones((len(records), len(monomials)))
            for digits, table, power in zip(np.array(records).T, tables, powers, strict=True):
                each *= table[digits][:, power]
            return np.asarray(each @ factors / widths)

        return tell

    def largest(self) -> int:
        """Return the code of the record that adds most: with all features present the sign of none matters."""
        if self.joint.layout.ball is not None:
            return self.most_different_in_ball(self.joint.layout.ball)["same cell"][1]
        return self.code([2] * len(self.joint.layout.features))


@dataclass(frozen=True, slots=True)
class _Climb:
    """A search for two records that differ more, by changing one feature after the other."""

    added: Callable[[Sequence[Sequence[int]]], Floats]
    power: int

    def cost(self, pair: Pair) -> float:
        """Return Σ |movement/width|^p between two records."""
        first, second = self.added(pair)
        return float((np.abs(first - second) ** self.power).sum())

    def climbed(self, pair: Pair, choices: Sequence[Sequence[int]], *, both: bool) -> Pair:
        """Return two records that no change of one feature, in one of them or in both, makes more different."""
        best, improved = self.cost(pair), True
        while improved:
            improved = False
            for i, digits in enumerate(choices):
                sides = [(digits, digits)] if both else [(digits, [pair[1][i]]), ([pair[0][i]], digits)]
                for side in sides:
                    tried = [[(*own[:i], to, *own[i + 1 :]) for to in of] for own, of in zip(pair, side, strict=True)]
                    first, second = (self.added(records) for records in tried)
                    costs = (np.abs(first[:, None] - second) ** self.power).sum(axis=2)
                    if costs.max() > best * ROUND_UP:
                        places = divmod(int(costs.argmax()), len(second))
                        pair = tried[0][places[0]], tried[1][places[1]]
                        best, improved = float(costs.max()), True
        return pair
