"""What releases of joint moments may be made for smooth functions of the moments of a cell: bases and their weights.

The law, the basis and the weights of least forecast error are chosen by `chooser`, at guessed truths of independent
columns: an estimate of slopes g has the sampling variance g'Mg, with M the moments of (1, f).

=====================  =============================================================================================
candidate              what is released
=====================  =============================================================================================
centred moments        Σ f, Σ f², the products needed, and a count where it is private; of columns alone
partition blocks       a block of each column, and the products needed beside them
one partition block    the tensor product of all columns, up to three
blocks by columns      of products of powers: a block of each set of columns that a function reads, beside centred
                       moments of columns of which only means are read, and what tells covariances between the sets
moments of units       of units of several rows: Σ f, Σ r, and all products of these totals f and numbers of rows r
=====================  =============================================================================================

Each with Laplace noise, and with Gaussian noise where δ > 0, at the price that is exact for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations_with_replacement, product
from typing import ClassVar

import numpy as np

from hedgerow.facts.relation import Relation
from hedgerow.inference.joint.functions import FunctionOfTotals, gradient
from hedgerow.mechanisms.interface import Floats
from hedgerow.mechanisms.joint.joint_numbers import JointLayout, reading_of, require_told
from hedgerow.mechanisms.joint.joint_sensitivity import JointWeights, Of, most_across
from hedgerow.mechanisms.laws import GAUSSIAN, Law
from hedgerow.release.designs.joint.chooser import Candidate, LinearFunctions, SquaredErrors, noise_of_shape
from hedgerow.release.designs.joint.unit_products import read_as
from hedgerow.resampling.counted_values import Monomial
from hedgerow.statistics.statistic import Powers

Slopes = Callable[[Floats], Floats]
"""The gradient of a function at the totals (N, Σ f_1, …, Σ f_d) of a cell, in the same order."""
# Guessed truths: the mean of every feature, and its standard deviation.
_GUESSES = ((0.0, 0.5), (0.5, 0.4), (-0.5, 0.4))
# Of forecast errors that differ by less the one with less noise is taken: a reader compares it with a plain mechanism.
_NOISE_ITSELF = 0.02
# The share of records that have a value, as guessed; the share of the price of what tells covariances alone.
_PRESENT, _ACROSS = 0.8, 0.045
# The weights of a count and of a square beside a sum of weight 1, where they are not searched.
_COUNT, _SQUARE = 0.75, 0.5
_APART = 0.3
_MOST_BETWEEN = 1024
_FREE = 0.98  # the noise of products is rounded up to its lattice, and with them what they weigh
_Part = tuple[Of, Of]
Weights = Callable[[Floats], JointWeights]
ABSENT = -1
"""The power of a column that a feature does not need."""


@dataclass(frozen=True, slots=True)
class JointQuestion:
    """What a joint release is for.

    Attributes
    ----------
    layout : JointLayout
    functions : tuple of callables
        The gradient of each function.
    n : float
        The number of records of a cell, public or guessed.
    known : bool
        Whether that number is public.
    census : bool
        Whether the file itself is the target: no sampling error, so no second moments.
    covariances : bool
        Whether the product of every pair of features is released; else those that the functions' errors need.
    powers : tuple of tuples of whole numbers
        The features of which functions take the totals, each a product of powers of the layout's columns; by default
        each column alone. A feature is 0 for a record that misses one of its columns, which may be columns to the power
        0; a column to the power −1 (`ABSENT`) is none of them.
    shares : tuple of float
        What part of the noise precision each column gets, relative to one another; by default the same.
    of_rows : tuple of tuples of whole numbers
        Of units of several rows: each feature of the layout as a product of powers of a row's columns, and the number
        of rows behind them; by default each column alone.
    """

    layout: JointLayout
    functions: tuple[Slopes, ...]
    n: float
    known: bool
    census: bool = False
    covariances: bool = False
    powers: tuple[tuple[int, ...], ...] = ()
    shares: tuple[float, ...] = ()
    of_rows: tuple[tuple[int, ...], ...] = ()
    title: ClassVar[str] = "A joint release"
    noise_itself: ClassVar[float] = _NOISE_ITSELF
    search: ClassVar[tuple[int, float, float]] = (60, 0.01, 1e-4)
    thorough: ClassVar[bool] = False

    def candidates(self, law: Law) -> list[Candidate]:
        """Return the ways of this release with noise of a law, columns with their shares."""

        def shared(made: Weights) -> Weights:
            return lambda logs: _shared(made(logs), self.shares, law)

        candidates = _candidates(self, law)
        if not self.shares:
            return candidates
        leans = [candidate.lean and (candidate.lean[0], shared(candidate.lean[1])) for candidate in candidates]
        return [
            candidate._replace(weights=shared(candidate.weights), lean=lean)
            for candidate, lean in zip(candidates, leans, strict=True)
        ]

    def forecast(self, law: Law, weights: JointWeights, precision: float, relation: Relation) -> SquaredErrors:
        """Return the squared error of each function at each guess, and the part of the noise."""
        moments, used, linearised = _linearised(self)
        known = self.known or self.layout.added is not None
        shape, sds = noise_of_shape(law, self.layout, weights, precision, relation)
        require_told(self.layout, shape, moments, known=known)
        reading = reading_of(self.layout, shape, used, sds, self.n if known else None)
        return linearised.through(reading.mixing).forecast()

    @property
    def plain(self) -> bool:
        """Whether each feature is a column alone, or the presence of some."""
        return all(sum(max(degree, 0) for degree in power) <= 1 for power in self.powers)

    @property
    def features(self) -> tuple[tuple[int, ...], ...]:
        """The powers of the columns that make each feature."""
        return self.powers or _each_alone(len(self.layout.features))

    @property
    def moments(self) -> Mapping[tuple[int, int], Monomial]:
        """The product of the a-th and b-th of (1, f_1, f_2, …) in powers of the columns, by (a, b), a ≤ b."""
        return _moments(self.layout, self.features)

    def moment(self, a: int, b: int) -> Monomial:
        """Return one of the `moments`."""
        return self.moments[a, b]

    def pairs(self) -> list[tuple[int, int]]:
        """Return the pairs a ≤ b of (1, f_1, …) whose products are to be read: those of a function, or all."""
        size = 1 + len(self.features)
        if self.census:
            return [(0, b) for b in range(size)]
        if self.covariances:
            return list(combinations_with_replacement(range(size), 2))
        return sorted({pair for places in self.used() for pair in combinations_with_replacement(places, 2)})

    def used(self) -> list[list[int]]:
        """Return which of (1, f_1, …) each function takes the totals of, 1 always."""
        size = 1 + len(self.features)
        each = [_expected(self.moment(0, b), self, 0.2, 0.45, 0.05) for b in range(size)]
        # Of independent columns a correlation is 0, and so are most of its slopes: look beside that.
        totals = self.n * np.array(each) * (1.0 + 0.02 * np.sin(np.arange(size)))
        return [sorted({0, *np.flatnonzero(function(totals)).tolist()}) for function in self.functions]


@dataclass(frozen=True, slots=True)
class SlopesOf:
    """The slopes of a function; those of equal functions are equal, so that a choice is made once for both."""

    function: FunctionOfTotals
    powers: Powers = ()

    def __call__(self, totals: Floats) -> Floats:
        """Return the slopes at one vector of totals; of units at totals as they are released, see `read_as`."""
        matrix = read_as(self.powers)
        at = totals if matrix is None else np.concatenate([totals[:1], matrix[:, 1:] @ totals[1:]])
        slopes = np.asarray(gradient(self.function, at[None, :])[0], dtype=np.float64)
        if matrix is not None:
            slopes = np.concatenate([slopes[:1], slopes[1:] @ matrix[:, 1:]])
        if np.isfinite(slopes).all() and slopes.any():
            return slopes
        # Where the function has no slope every mean counts alike.
        return np.concatenate([[0.0], np.full(len(totals) - 1, 1.0 / totals[0])])


@lru_cache(maxsize=64)
def _each_alone(d: int) -> tuple[tuple[int, ...], ...]:
    """Return the powers of d features, each a column alone."""
    return tuple(tuple(int(i == j) for j in range(d)) for i in range(d))


@lru_cache(maxsize=64)
def _moments(layout: JointLayout, features: tuple[tuple[int, ...], ...]) -> dict[tuple[int, int], Monomial]:
    each = [(ABSENT,) * len(layout.features), *features]
    return {
        (a, b): _product_of(each[a], each[b], layout) for a, b in combinations_with_replacement(range(len(each)), 2)
    }


def _product_of(first: tuple[int, ...], second: tuple[int, ...], layout: JointLayout) -> Monomial:
    """Return the product of two features in powers of the columns."""
    monomial = []
    for place, (i, j, column) in enumerate(zip(first, second, layout.features, strict=True)):
        power = max(i, 0) + max(j, 0)
        # A column of two values is −1 or 1, and its square 1; a total of it over several rows is not.
        power = power % 2 if column.steps == 1 and layout.added is None else power
        if power or (column.missing and max(i, j) > ABSENT):
            monomial.append((place, power))
    return tuple(monomial)


def mean_of(i: int) -> Slopes:
    """Return the slopes of the mean of feature i.

    >>> mean_of(1)(np.array([100.0, 0.0, 50.0])).tolist()
    [-0.005, 0.0, 0.01]
    """

    def slopes(totals: Floats) -> Floats:
        gradients = np.zeros_like(totals)
        gradients[0], gradients[i + 1] = -totals[i + 1] / totals[0] ** 2, 1.0 / totals[0]
        return gradients

    return slopes


def ratio_of(i: int, j: int) -> Slopes:
    """Return the slopes of the ratio of the sums of features i and j, each read from the lower end of its range.

    >>> ratio_of(0, 1)(np.array([100.0, 0.0, 50.0])).round(6).tolist()
    [0.002222, 0.006667, -0.004444]
    """

    def slopes(totals: Floats) -> Floats:
        above, below = (totals[0] + totals[i + 1]) / 2.0, (totals[0] + totals[j + 1]) / 2.0
        gradients = np.zeros_like(totals)
        gradients[i + 1], gradients[j + 1] = 0.5 / below, -0.5 * above / below**2
        gradients[0] = gradients[i + 1] + gradients[j + 1]
        return gradients

    return slopes


def _noise_of(law: Law) -> str:
    return "Gaussian noise" if law == GAUSSIAN else "Laplace noise"


def _candidates(asked: JointQuestion, law: Law) -> list[Candidate]:
    if asked.layout.added is not None:
        return _candidates_of_units(asked, law)
    by_sets = [] if asked.plain else _candidates_by_sets(asked, law)
    if asked.powers and asked.layout.missing:
        return _candidates_apart(asked, law) if asked.plain else by_sets
    layout, d, noise = asked.layout, len(asked.layout.features), _noise_of(law)
    needed = replace(asked, covariances=False)
    needed_moments, moments = ({question.moment(a, b) for a, b in question.pairs()} for question in (needed, asked))
    pairs, others = _products(needed_moments), [of for of in _products(moments) if of not in _products(needed_moments)]
    # Beside a square of weight 1 all products of a feature together weigh a part, by the norm of the price.
    part = 0.5 / max(1, d - 1) ** (1.0 / law.power)
    alone = [(i,) for i in range(d)]
    degrees = {
        i: max([1, *(power for monomial in moments for place, power in monomial if place == i)]) for i in range(d)
    }
    squares = [(i, i) for i in range(d) if degrees[i] > 1]
    counted: list[Of] = [(i,) for i in sorted(layout.missing)]
    counted += [()] if layout.presence == "private" and not asked.known else []

    def centred(logs: Floats) -> JointWeights:
        count, square, pair = np.exp(logs)
        sums: dict[Of, float] = dict.fromkeys(alone, 1.0) | dict.fromkeys(squares, square) | dict.fromkeys(pairs, pair)
        return JointWeights(d, dict.fromkeys(counted, count), sums | dict.fromkeys(others, part * square))

    def blocks(logs: Floats) -> JointWeights:
        parts: dict[tuple[Of, Of], float] = {((i,), (degrees[i],)): 1.0 for i in range(d)}
        pair = float(np.exp(logs[0])) if pairs else 0.0
        return JointWeights(d, {}, dict.fromkeys(pairs, pair) | dict.fromkeys(others, 0.2 * part), parts)

    def tensor(_: Floats) -> JointWeights:
        part = tuple(range(d)), tuple(degrees[i] for i in range(d))
        return JointWeights(d, {}, {}, {part: 1.0})

    candidates = []
    if asked.plain:
        candidates.append(Candidate(f"{noise}, centred moments", law, centred, (-0.3, -0.7, -0.7)))
    if asked.plain or not (pairs or others):
        candidates.append(Candidate(f"{noise}, partition blocks", law, blocks, (-0.7,) if pairs else ()))
    # A block of several columns has one noise for all of them.
    if 2 <= d <= 3 and (pairs or others) and not (asked.shares and candidates):
        candidates.append(Candidate(f"{noise}, one partition block", law, tensor, ()))
    return candidates + by_sets


def _candidates_apart(asked: JointQuestion, law: Law) -> list[Candidate]:
    """Return candidates where each feature is of the records that have its columns.

    What tells covariances between statistics alone has a weight that costs `_ACROSS` of the noise; it is not searched,
    since no function's forecast error asks for it.
    """
    d, noise = len(asked.layout.features), _noise_of(law)
    needed = replace(asked, covariances=False)
    needed_moments = {_coordinate_of(needed.moment(a, b)) for a, b in needed.pairs()}
    others = (
        {_coordinate_of(asked.moment(a, b)) for a, b in asked.pairs()} - needed_moments if asked.covariances else set()
    )
    across = (_ACROSS * law.power * d / max(1, len(others))) ** (1.0 / law.power)
    counted: list[Of] = [()] if asked.layout.presence == "private" and not asked.known else []
    sets = sorted({tuple(i for i, degree in enumerate(power) if degree > ABSENT) for power in asked.powers})
    widest = [columns for columns in sets if not any(set(columns) < set(other) for other in sets)]

    def weighted(parts: Mapping[_Part, float], blocks: Mapping[tuple[Of, Of], float]) -> JointWeights:
        counts = {present: weight for (of, present), weight in parts.items() if not of}
        sums = {of: weight for (of, present), weight in parts.items() if of and not present}
        restricted = {key: weight for key, weight in parts.items() if all(key)}
        return JointWeights(d, counts, sums, blocks, restricted=restricted)

    def centred(logs: Floats) -> JointWeights:
        return weighted(own(logs) | dict.fromkeys(others, across), {})

    def own(logs: Floats) -> dict[_Part, float]:
        count, square, pair = np.exp(logs)
        size = {0: float(count), 1: 1.0}
        kind = {of: size.get(len(of), float(square if len(set(of)) == 1 else pair)) for of, _ in needed_moments}
        return {part: kind[part[0]] for part in needed_moments} | {((), columns): float(count) for columns in counted}

    def blocks(_: Floats) -> JointWeights:
        parts = {
            (columns, tuple(2 - (asked.layout.features[i].steps == 1 or asked.census) for i in columns))
            for columns in widest
        }
        return weighted(dict.fromkeys(others, across), dict.fromkeys(parts, 1.0))

    start, lean = (-0.3, -0.7, -0.7), lambda logs: weighted(own(logs), {})
    candidates = [
        Candidate(f"{noise}, centred moments", law, centred, start, (replace(asked, covariances=False), lean))
    ]
    if all(len(columns) <= (1 if asked.shares else 3) for columns in widest):
        candidates.append(Candidate(f"{noise}, partition blocks", law, blocks, ()))
    return candidates


def _candidates_by_sets(asked: JointQuestion, law: Law) -> list[Candidate]:
    """Return candidates for products of powers, of which functions read several sets of columns.

    Each set has a block of its own, which tells all that its functions need, or only each set that lies in no other. A
    column of which no more than the mean is read may have centred moments instead. Blocks of small weight, `_ACROSS` of
    the price, tell what covariances between functions of different sets need besides. Nothing is searched: there are
    many numbers, and the weights matter little.
    """
    layout, d, noise = asked.layout, len(asked.layout.features), _noise_of(law)
    sets: dict[Of, set[int]] = {}
    for used in (columns for columns in asked.used() if columns[1:]):
        columns = {i for place in used[1:] for i in _columns_of(asked.features[place - 1], layout)}
        sets.setdefault(tuple(sorted(columns)), set()).update(used)
    own = {columns: {asked.moment(a, b) for a, b in asked.pairs() if {a, b} <= used} for columns, used in sets.items()}
    alone = [
        columns
        for columns in sets
        if len(columns) == 1 and all(power <= 2 for moment in own[columns] for _, power in moment)
    ]
    widest = [columns for columns in sets if not any(set(columns) < set(other) for other in sets)]
    moments = {asked.moment(a, b) for a, b in asked.pairs()}

    def blocks(sets_of_columns: Iterable[Of]) -> dict[_Part, float]:
        return {(columns, _degrees(columns, own[columns])): 1.0 for columns in sets_of_columns}

    def across(parts: Mapping[_Part, float], known: Collection[Monomial], beside: int) -> dict[_Part, float]:
        left = {monomial for monomial in moments - set(known) if not any(_tells(part, monomial) for part in parts)}
        needed = {tuple(i for i, _ in monomial) for monomial in left}
        most = sorted(columns for columns in needed if not any(set(columns) < set(other) for other in needed))
        others = [
            (columns, _degrees(columns, [m for m in left if {i for i, _ in m} <= set(columns)])) for columns in most
        ]
        weight = (_ACROSS * (len(parts) + beside) / max(1, len(others))) ** (1.0 / law.power)
        return dict.fromkeys(others, weight)

    def plain(name: str, parts: Mapping[_Part, float]) -> Candidate:
        whole = dict(parts) | across(parts, (), 0)
        return Candidate(f"{noise}, {name}", law, lambda _: JointWeights(d, {}, {}, whole), ())

    # Without missing values one block of all columns is a candidate already.
    fewest = 1 if layout.missing else 2
    candidates = []
    if len(sets) >= fewest:
        candidates.append(plain("a block of each set of columns", blocks(sets)))
    if fewest <= len(widest) < len(sets):
        candidates.append(plain("partition blocks", blocks(widest)))
    if alone:
        parts = blocks(columns for columns in sets if columns not in alone)
        lower: set[Monomial] = {(), *(((*columns, power),) for columns in alone for power in (0, 1, 2))}
        rest = parts | across(parts, lower, len(alone))
        counts: dict[Of, float] = {columns: _COUNT for columns in alone if layout.features[columns[0]].missing}
        squared = [columns + columns for columns in alone if layout.features[columns[0]].steps > 1 and not asked.census]
        sums: dict[Of, float] = dict.fromkeys(alone, 1.0)
        centred = JointWeights(d, counts, sums | dict.fromkeys(squared, _SQUARE), rest)
        candidates.append(Candidate(f"{noise}, centred moments and blocks", law, lambda _: centred, ()))
    return candidates


def _degrees(columns: Of, monomials: Iterable[Monomial]) -> Of:
    """Return the degree of a block in each column that tells these moments of them."""
    highest = dict.fromkeys(columns, 1)
    for moment in monomials:
        highest |= {i: max(highest[i], power) for i, power in moment}
    return tuple(highest.values())


def _tells(part: _Part, moment: Monomial) -> bool:
    """Whether a block, by its columns and their degrees, determines a moment."""
    degrees = dict(zip(*part, strict=True))
    return all(power <= degrees.get(i, -1) for i, power in moment)


def _columns_of(power: tuple[int, ...], layout: JointLayout) -> Of:
    """Return the columns that a feature needs: also those of which it needs the presence alone."""
    return tuple(i for i, degree in enumerate(power) if degree > (ABSENT if layout.features[i].missing else 0))


def _candidates_of_units(asked: JointQuestion, law: Law) -> list[Candidate]:
    """Return the one candidate for units of several rows: totals of columns, the number of rows, and all products."""
    d, noise = len(asked.layout.features), _noise_of(law)
    last, part = d - 1, 1.0 / max(1, d - 2) ** (1.0 / law.power)
    products = [i for i, power in enumerate(asked.of_rows) if sum(power) > 1]

    def centred(logs: Floats) -> JointWeights:
        count, square, pair, rows, *of_rows = np.exp(logs)
        sums: dict[Of, float] = {(i,): 1.0 for i in range(last)} | {(last,): count, (last, last): rows}
        sums |= {(i,): float(of_rows[0]) for i in products}
        if asked.census:
            # Nothing is asked of products.
            return JointWeights(d, {}, {of: weight for of, weight in sums.items() if len(of) == 1})
        sums |= {(i, j): square if i == j else part * square for i in range(last) for j in range(i, last)}
        return JointWeights(d, {}, sums | {(i, last): pair for i in range(last)})

    start = (0.2, -0.5, -0.7, -0.7, *(0.0 for _ in products[:1]))
    name, lags = f"{noise}, moments of units", lags_between(asked)
    if not lags:
        return [Candidate(name, law, centred, start)]

    def with_across(logs: Floats) -> JointWeights:
        weights = centred(logs)
        every = [(i, j) for i in range(d) for j in range(d)]
        own = {of: weights.sums[min(of), max(of)] for of in every}
        heaviest = sum(weight**law.power for weight in own.values())
        least = min(most_across(weights, relation, law.power) for relation in Relation)
        free = min(1.0, (_FREE * least / heaviest) ** (1.0 / law.power))
        # Two cells half of all cells apart have each product twice.
        twice = 0.5 ** (1.0 / law.power)
        size = {lag: free * (twice if 2 * lag == asked.layout.cells else 1.0) for lag in lags}
        return replace(weights, across={(of, lag): size[lag] * own[of] for lag in lags for of in every})

    return [Candidate(name, law, with_across, start, (asked, centred))]


def lags_between(asked: JointQuestion) -> range:
    """Return how far apart the cells are of which products of a unit's totals are released: none where they are many.

    Each pair of cells is there once. One row of the engine's answer holds them all.
    """
    layout = asked.layout
    pairs = layout.cells * (layout.cells - 1) // 2
    several = layout.rows is not None and layout.rows > 1 and asked.covariances and not asked.census
    if not several or pairs * len(layout.features) ** 2 > _MOST_BETWEEN:
        return range(0)
    return range(1, layout.cells // 2 + 1)


def _coordinate_of(moment: Monomial) -> _Part:
    """Return the features whose product a coordinate adds up for a moment, and the further columns that it needs."""
    of = tuple(place for place, power in moment for _ in range(power))
    return of, tuple(place for place, power in moment if not power)


def _products(moments: Iterable[Monomial]) -> list[Of]:
    """Return the columns of moments of several of them."""
    return sorted({tuple(place for place, _ in moment) for moment in moments if len(moment) > 1})


def _shared(weights: JointWeights, shares: Sequence[float], law: Law) -> JointWeights:
    """Return weights of columns with these shares: of μ² under Gaussian noise, else of the inverse scale of the noise.

    A product has the lesser share of its columns, so that what was free stays free.
    """
    if not shares:
        return weights
    factors = [float(share ** (1.0 / law.power)) for share in shares]

    def least(*of: Of) -> float:
        return min([factors[i] for part in of for i in part] or [max(factors)])

    return replace(
        weights,
        counts={of: least(of) * weight for of, weight in weights.counts.items()},
        sums={of: least(of) * weight for of, weight in weights.sums.items()},
        blocks={part: least(part[0]) * weight for part, weight in weights.blocks.items()},
        restricted={part: least(*part) * weight for part, weight in weights.restricted.items()},
        across={key: least(key[0]) * weight for key, weight in weights.across.items()},
    )


@lru_cache(maxsize=8)
def _linearised(asked: JointQuestion) -> tuple[tuple[Monomial, ...], tuple[Monomial, ...], LinearFunctions]:
    """Return the moments to be read, those of them that forecasts take, and the functions as linear in these."""
    pairs, size = asked.pairs(), 1 + len(asked.features)
    moments = tuple(sorted({asked.moment(a, b) for a, b in [*pairs, *((0, b) for b in range(size))]}))
    place, moment_of = {moment: k for k, moment in enumerate(moments)}, asked.moments
    first = [place[moment_of[0, b]] for b in range(size)]
    shape = len(_GUESSES), len(asked.functions)
    sampling, slopes, of_variance = np.zeros(shape), np.zeros((*shape, len(moments))), np.zeros((*shape, len(moments)))
    for row, (mean, sd) in enumerate(_GUESSES):
        # Of units the columns' means differ: where they are equal a ratio needs no number of rows, and never in truth.
        apart = 0.0 if asked.layout.added is None else _APART
        expected = asked.n * np.array([_expected(moment, asked, mean, sd, apart) for moment in moments])
        for column, function in enumerate(asked.functions):
            gradient = function(expected[first])
            slopes[row, column, first] = gradient
            if asked.known:
                # The number of records is what it is: a total is n times a mean.
                gradient = np.concatenate([[-gradient[1:] @ expected[first[1:]] / asked.n], gradient[1:]])
            used = [] if asked.census else np.flatnonzero(gradient).tolist()
            for a, b in product(used, used):
                of_variance[row, column, place[moment_of[min(a, b), max(a, b)]]] += gradient[a] * gradient[b]
            sampling[row, column] = of_variance[row, column] @ expected
    read = np.flatnonzero((slopes != 0.0).any(axis=(0, 1)) | (of_variance != 0.0).any(axis=(0, 1)))
    taken = tuple(moments[k] for k in read)
    return moments, taken, LinearFunctions(sampling, slopes[..., read], of_variance[..., read])


def _expected(moment: Monomial, asked: JointQuestion, mean: float, sd: float, apart: float) -> float:
    """Return the mean of a product of powers of independent columns, each of a beta law between −1 and 1.

    Their means differ by `apart` from one to the next. Of units it is that of totals, see `_expected_of_unit`.
    """
    layout = asked.layout
    if layout.added is not None:
        return _expected_of_unit(moment, asked, mean, sd, apart)
    expected = 1.0
    for place, power in moment:
        expected *= _PRESENT if layout.features[place].missing else 1.0
        share = (1.0 + mean + apart * place) / 2.0
        if layout.features[place].steps == 1:
            expected *= 2.0 * share - 1.0 if power % 2 else 1.0
            continue
        expected *= _of_beta(power, share, sd)
    return float(expected)


def _of_beta(power: int, share: float, sd: float) -> float:
    """Return the mean of a power of a column of a beta law between −1 and 1, its mean at this share of the way."""
    size = share * (1.0 - share) / (sd / 2.0) ** 2 - 1.0
    raw = np.cumprod([1.0, *((share * size + k) / (size + k) for k in range(power))])
    return float(sum(math.comb(power, k) * 2.0**k * (-1.0) ** (power - k) * raw[k] for k in range(power + 1)))


def _expected_of_unit(moment: Monomial, asked: JointQuestion, mean: float, sd: float, apart: float) -> float:
    """Return the mean of a product of at most two totals of a unit's rows, of 1 to L rows with even chances.

    Half of the variance of a feature is between units, and columns are independent. Weights are independent of them,
    and each weight up to the largest is as likely.
    """
    last, rows = asked.layout.last, np.arange(1.0, (asked.layout.rows or 1) + 1.0)
    weight, square = (1.0, 1.0) if asked.layout.parts is None else (1.0 / 2.0, 1.0 / 3.0)
    of_one, of_two = square * float(rows.mean()), weight**2 * float((rows * (rows - 1.0)).mean())
    columns = [min(mean + apart * i, 0.9) for i in range(len(asked.of_rows[0]) if asked.of_rows else last)]
    places = [place for place, power in moment for _ in range(power)]
    if asked.of_rows:
        means = [_of_row([asked.of_rows[place]], columns, sd) for place in places]
        both = _of_row([asked.of_rows[place] for place in places], columns, sd) - math.prod(means)
    else:
        means = [columns[place] if place < last else 1.0 for place in places]
        both = sd**2 if len(set(places)) == 1 else 0.0
    if len(places) < 2:
        return math.prod(means) * (weight * float(rows.mean())) ** len(places)
    total = math.prod(means) * (of_one + of_two)
    return total + (both * (of_one + 0.5 * of_two) if max(places) < last else 0.0)


def _of_row(features: Sequence[tuple[int, ...]], means: Sequence[float], sd: float) -> float:
    """Return the mean of a product of features of one row, each a product u of powers; 2u − 1 if u is never negative.

    >>> round(_of_row([(2,)], [0.5], 0.4), 9), round(_of_row([(1,), (0,)], [0.5], 0.4), 9)
    (-0.18, 0.5)
    """
    total = 0.0
    for taken in product((True, False), repeat=len(features)):
        factor, powers = 1.0, [0] * len(means)
        for power, whole in zip(features, taken, strict=True):
            halved = any(power) and not any(part % 2 for part in power)
            factor *= (2.0 if whole else -1.0) if halved else float(whole)
            powers = [sum(pair) for pair in zip(powers, power, strict=True)] if whole else powers
        shares = ((1.0 + mean) / 2.0 for mean in means)
        each = (_of_beta(power, share, sd) for power, share in zip(powers, shares, strict=True) if power)
        total += factor * math.prod(each)
    return total
