"""Laws of noise, whatever its width: how it is drawn, priced, and how wide it is.

=================  ===================================  ====================================  ========================
law                drawn on integers                    in the limit of a fine lattice        `power` of its cost
=================  ===================================  ====================================  ========================
`Gaussian`         P(z) ∝ exp(−z²/2w²)                  normal of sd w                        2: Σ d²/w²
`Laplace`          P(z) ∝ exp(−|z|/w)                   Laplace of scale w, sd √2·w           1: Σ |d|/w
`AveragedLaplace`  a sum of k such integers             a sum of k Laplace numbers, sd √2k·w  1, and a curve below it
=================  ===================================  ====================================  ========================

The width w is that of one draw, in steps of the lattice or in units of the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.averaged import SummedLaplace, SummedLaw, moved_curve, twice
from hedgerow.accounting.dominating_pairs import (
    ROUND_UP,
    SMOOTHED,
    SMOOTHING,
    DiscreteGaussianPair,
    DiscreteLaplacePair,
    DominatingPair,
    KnownCurvePair,
    PureDPPair,
)
from hedgerow.accounting.dominating_pairs import ContinuousLaplacePair as LaplaceTerm
from hedgerow.accounting.dominating_pairs import GaussianPair as GaussianTerm
from hedgerow.accounting.lower_bounds import (
    DiscreteNormalPair,
    ExactLaw,
    ExactPair,
    LaplacePair,
    LowerBoundPairs,
    NormalPair,
)
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.facts.validation import as_int, format_argument
from hedgerow.mechanisms.interface import AtomicMechanism, AuditRecord, Floats, Neighbours, Score
from hedgerow.noise.lattice import NoiseSource

Integers = NDArray[np.int64]
MOST_DRAWS = 500
"""More would be as normal and no more private; binomial coefficients of up to twice this many still fit a double."""
N_DRAWS = 10
"""With ten draws or more, a sample of a hundred looks normal (Brawner & Honaker, Figure 3)."""
AVERAGED = "averaged-laplace"
_AT_ONCE = 2**22
_TABLE = 20_000
_WIDE = 50.0 * SMOOTHING  # widths from which a count is priced as continuous
_EXACT = 2.0**52  # whole numbers up to here are exact in doubles


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Discrete Gaussian noise."""

    word: ClassVar[str] = "gaussian"

    @property
    def name(self) -> str:
        """The law that intervals assume."""
        return "gaussian"

    @property
    def draws(self) -> int:
        """How many numbers are added up."""
        return 1

    @property
    def power(self) -> Literal[1, 2]:
        """The power p of Σ (|d|/w)^p, which prices a vector."""
        return 2

    def sd(self, width: float) -> float:
        """Return the standard deviation on a fine lattice."""
        return width

    def count_sd(self, width: float) -> float:
        """Return an upper bound on the standard deviation of noise on the integers."""
        return width

    def half_width(self, width: float, *, cells: int, gamma: float) -> float:
        """Return h with P(all |noise| ≤ h) ≥ 1 − γ, in units of the width, for `cells` independent numbers."""
        return gaussian_half_width(width, cells=cells, gamma=gamma)

    def within(self, half_width: float, width: float, *, cells: int) -> float:
        """Return P(all |noise| ≤ h) of `cells` independent numbers, by the normal law."""
        return math.erf(half_width / width / math.sqrt(2.0)) ** cells

    def draw(self, source: NoiseSource, width: float, size: int) -> Integers:
        """Return `size` independent integers."""
        return source.discrete_gaussian(width, size)

    def draw_numbers(self, source: NoiseSource, width: float, size: int) -> Floats:
        """Return `size` numbers of the continuous law, for audits."""
        return source.generator().normal(0.0, width, size)

    def count_term(self, width: float, times: int) -> DominatingPair:
        """Return the term of `times` integers, each moved by 1."""
        # Wide noise is priced as continuous, at one part in 5,000 of the noise: its exact law would take seconds.
        if width >= _WIDE:
            return GaussianTerm(math.sqrt(times / (width**2 - SMOOTHING**2)) * ROUND_UP)
        return DiscreteGaussianPair(width, times)

    def number_term(self, distance: float) -> DominatingPair:
        """Return the term of one number moved by `distance` widths."""
        return GaussianTerm(distance * ROUND_UP)

    def exact(self, moved: float, width: float) -> ExactLaw:
        """Return the exact law of one integer moved by a whole number of steps, or one that says less."""
        if width >= _WIDE:
            return NormalPair.on_lattice(moved, width)
        return DiscreteNormalPair(width, int(moved))

    def exact_number(self, distance: float) -> ExactLaw:
        """Return the exact law of one number of the continuous law moved by `distance` widths."""
        return NormalPair(distance)

    def reach(self, width: float) -> int:
        """Return how far an enumeration of integers goes; next to nothing lies beyond."""
        return math.ceil(9.0 * width) + 2

    def chances(self, integers: Floats, width: float) -> Floats:
        """Return the chances of integers, for audits: by their ratios, which define the law."""
        far = math.ceil(40.0 * width) + 2
        total = np.exp(-(np.arange(-far, far + 1.0) ** 2) / (2.0 * width**2)).sum()
        return np.asarray(np.exp(-(integers**2) / (2.0 * width**2)) / total)

    def change(self, moved: Floats, widths: Floats, *, whole: bool = False) -> Score:
        """Return the change of the log-density of (n, features) if each feature moves: Σ (x φ − φ²/2)/w²."""
        slope, square = moved / widths**2, float((moved**2 / widths**2).sum())
        return lambda x: np.asarray(x @ slope - square / 2.0)


@dataclass(frozen=True, slots=True)
class Laplace:
    """Two-sided geometric noise, the discrete Laplace law."""

    word: ClassVar[str] = "laplace"

    @property
    def draws(self) -> int:
        """How many numbers are added up."""
        return 1

    @property
    def name(self) -> str:
        """The law that intervals assume."""
        return averaged_law(self.draws)

    @property
    def power(self) -> Literal[1, 2]:
        """The power p of Σ (|d|/w)^p, which prices a vector."""
        return 1

    def sd(self, width: float) -> float:
        """Return the standard deviation on a fine lattice: √2k times the width."""
        return width * math.sqrt(2.0 * self.draws)

    def count_sd(self, width: float) -> float:
        """Return the standard deviation on the integers: √(2kα)/(1 − α), α = e^(−1/w)."""
        alpha = math.exp(-1.0 / width)
        return math.sqrt(2.0 * alpha * self.draws) / -math.expm1(-1.0 / width)

    def half_width(self, width: float, *, cells: int, gamma: float) -> float:
        """Return h with P(all |noise| ≤ h) ≥ 1 − γ, in units of the width, for `cells` independent numbers."""
        return geometric_half_width(width, cells=cells, gamma=gamma)

    def within(self, half_width: float, width: float, *, cells: int) -> float:
        """Return P(all |noise| ≤ h) of `cells` independent numbers."""
        return geometric_probability(math.floor(half_width), width, cells=cells)

    def draw(self, source: NoiseSource, width: float, size: int) -> Integers:
        """Return `size` sums of `draws` independent integers each, drawn together where they fit."""
        if self.draws * size <= _AT_ONCE:
            drawn = source.two_sided_geometric(width, self.draws * size).reshape(self.draws, size)
            together: Integers = drawn.sum(axis=0)
            return together
        total = np.zeros(size, dtype=np.int64)
        for _ in range(self.draws):
            total += source.two_sided_geometric(width, size)
        return total

    def draw_numbers(self, source: NoiseSource, width: float, size: int) -> Floats:
        """Return `size` numbers of the continuous law, for audits."""
        total = np.zeros(size)
        for _ in range(self.draws):
            total += source.generator().laplace(0.0, width, size)
        return total

    def count_term(self, width: float, times: int) -> DominatingPair:
        """Return the term of `times` integers, each moved by 1."""
        return DiscreteLaplacePair(width, times)

    def number_term(self, distance: float) -> DominatingPair:
        """Return the term of one number moved by `distance` widths."""
        return LaplaceTerm(distance * ROUND_UP)

    def exact(self, moved: float, width: float) -> ExactLaw:
        """Return the exact law of one integer moved by a whole number of steps."""
        return LaplacePair(self.draws, width, moved)

    def exact_number(self, distance: float) -> ExactLaw:
        """Return the exact law of one number of the continuous law moved by `distance` widths."""
        return LaplacePair(self.draws, None, distance)

    def reach(self, width: float) -> int:
        """Return how far an enumeration of integers goes; next to nothing lies beyond."""
        return math.ceil((40.0 + 10.0 * math.sqrt(self.draws - 1)) * width) + 2

    def chances(self, integers: Floats, width: float) -> Floats:
        """Return the chances of integers, for audits: one draw's chances convolved, by no formula of the sum."""
        far, alpha = int(np.abs(integers).max()) + 2 * self.reach(width), math.exp(-1.0 / width)
        single = (1.0 - alpha) / (1.0 + alpha) * np.exp(-np.abs(np.arange(-far, far + 1.0)) / width)
        total = single
        for _ in range(self.draws - 1):
            total = np.convolve(total, single, mode="same")
        return np.asarray(total[integers.astype(np.int64) + far])

    def change(self, moved: Floats, widths: Floats, *, whole: bool = False) -> Score:
        """Return the change of the log-density of (n, features) if each feature moves: Σ (|x| − |x − φ|)/w."""
        return lambda x: np.asarray(((np.abs(x) - np.abs(x - moved)) / widths).sum(axis=1))


@dataclass(frozen=True, slots=True)
class AveragedLaplace(Laplace):
    """The sum of `draws` two-sided geometric integers: pure ε and close to normal.

    k releases of one quantity at ε/k each have Laplace noise of scale kΔ/ε; their average has noise Σ_j L_j, each L_j
    of scale Δ/ε (Brawner & Honaker, §4). Only the average is released. One of the numbers alone makes the release
    (Δ/scale)-private, and adding the others is post-processing, so the whole is; it is not more private than that,
    since the ratio of neighbouring probabilities tends to e^(Δ/scale) far out. `hedgerow.accounting.averaged` computes
    how rarely it comes near.
    """

    number: int
    word: ClassVar[str] = AVERAGED

    def __post_init__(self) -> None:
        require_draws(self.number)

    @property
    def draws(self) -> int:
        """How many numbers are added up."""
        return self.number

    def half_width(self, width: float, *, cells: int, gamma: float) -> float:
        """Return the least whole m with P(all |noise| ≤ m) ≥ 1 − γ."""
        return summed_half_width(self.number, width, cells=cells, gamma=gamma)

    def count_term(self, width: float, times: int) -> DominatingPair:
        """Return the term of one or two integers, each moved by 1: exact up to rounding."""
        return _averaged_count(self.number, width, times)

    def number_term(self, distance: float) -> DominatingPair:
        """Return the term of one number moved by `distance` widths: exact up to rounding."""
        return moved_curve(SummedLaplace(self.number), distance, distance)

    def change(self, moved: Floats, widths: Floats, *, whole: bool = False) -> Score:
        """Return the change of the log-density of (n, features), read off tables; `whole`: features are integers."""
        tables = [_log_ratios(self.number, float(f), float(w), whole) for f, w in zip(moved, widths, strict=True)]
        return lambda x: np.asarray(sum(np.interp(x[:, i], *table) for i, table in enumerate(tables)))


Law = Gaussian | Laplace
GAUSSIAN, LAPLACE = Gaussian(), Laplace()
LAWS: dict[str, Callable[..., Law]] = {law.word: law for law in (Laplace, Gaussian, AveragedLaplace)}
"""The laws by their word in ``noise=``."""


def law_named(word: str, draws: int | None = None) -> Law:
    """Return the law of a word, of so many draws where its noise is a sum.

    >>> law_named("laplace").name, law_named("averaged-laplace", 3).name
    ('laplace', 'averaged-laplace-3')
    """
    return LAWS[word]() if draws is None else LAWS[word](draws)


_UNREACHED = {
    1: "The worst neighbours of a vector with Laplace noise are known at δ = 0 only.",
    2: "The price bounds movements that no two records of the description make.",
}


class Additive(AtomicMechanism):
    """A mechanism that adds noise of one law to the sums of what records contribute."""

    __slots__ = ()
    symmetric: ClassVar[bool] = True
    whole: ClassVar[bool] = False
    """Whether noise and contributions are whole numbers as they stand, not multiples of a finer step."""

    @property
    def noise_law(self) -> Law:
        """The law of the noise, Gaussian where a mechanism names no other."""
        return GAUSSIAN

    def mu(self, relation: Relation) -> float:
        """Return an upper bound on √(Σ d²/w²) over all neighbours: what Gaussian noise costs."""
        raise NotImplementedError

    def pure(self, relation: Relation) -> float:
        """Return an upper bound on Σ |d|/w over all neighbours: ε of Laplace noise."""
        raise NotImplementedError

    def terms(self, relation: Relation) -> tuple[DominatingPair, ...]:
        """Return the dominating pair of a vector: a Gaussian one, or one whose loss is bounded."""
        if self.noise_law.power == 2:
            return (GaussianTerm(self.mu(relation) / SMOOTHED * ROUND_UP),)
        return (PureDPPair(self.pure(relation) * ROUND_UP),)

    def excess(self, relation: Relation, difference: Floats) -> float:
        """Return √(Σ (d/w)²), or Σ |d|/w, over what was priced."""
        spread = self.table_spread(())
        if spread is None:
            return super().excess(relation, difference)
        parts = np.abs(difference) / (spread / self.noise_law.sd(1.0))
        if self.noise_law.power == 2:
            return float(np.sqrt((parts**2).sum())) / self.mu(relation)
        return float(parts.sum()) / self.pure(relation)

    @property
    def table_law(self) -> str:
        """The law of the noise, by its name in a table."""
        return self.noise_law.name

    def contribution(self, record: AuditRecord) -> tuple[Floats, Floats]:
        """Return what one record adds to its cell, and the widths of the noise there."""
        raise NotImplementedError

    def change(self, record: AuditRecord) -> Score:
        """Return the change of the log-density of a cell through one record."""
        return self.noise_law.change(*self.contribution(record), whole=self.whole)

    def attained(self, relation: Relation) -> LowerBoundPairs:
        """Return the laws of what an audit attacks: each coordinate moves by what one record adds, or two differ by."""
        try:
            pairs = self.worst_pairs(relation)
        except (ParameterError, UncertifiedError):
            return super().attained(relation)
        return LowerBoundPairs(tuple(self._exact(pair) for pair in pairs), _UNREACHED[self.noise_law.power])

    def _exact(self, pair: Neighbours) -> ExactPair:
        if pair.first is not None and pair.second is not None and pair.first.cell == pair.second.cell:
            (first, widths), (second, _) = (self.contribution(record) for record in (pair.first, pair.second))
            return self._moved(pair.first, first - second, widths)
        records = [record for record in (pair.first, pair.second) if record is not None]
        alone = [self._moved(record, *self.contribution(record)) for record in records]
        return tuple(coordinate for part in alone for coordinate in part)

    def _moved(self, record: AuditRecord, moved: Floats, widths: Floats) -> ExactPair:
        bits = np.asarray(self.bits)
        scale = 2.0 ** (bits[record.cell] if bits.ndim > 1 else bits)
        steps = np.abs(moved) * scale
        # Sums that are rounded before noise is added move by a whole number of steps, one less than this at least.
        steps = np.where(steps < _EXACT, np.floor(steps), steps * (1.0 - 1e-15))
        pairs = zip(steps.tolist(), (widths * scale).tolist(), strict=True)
        return tuple((self.noise_law.exact(step, width), 1) for step, width in pairs if step > 0.0)


class OneWidth(Additive):
    """An additive mechanism whose numbers all have noise of one width."""

    __slots__ = ()

    def drawn(self) -> tuple[Law, float]:
        """Return the law of the noise, and the width of one draw."""
        raise NotImplementedError

    @property
    def noise_law(self) -> Law:
        """The law of the noise."""
        return self.drawn()[0]

    @property
    def width(self) -> float:
        """The width of one draw of noise."""
        return self.drawn()[1]


def averaged_law(draws: int) -> str:
    """Return the name of the law of a sum of `draws` Laplace numbers.

    >>> averaged_law(10), averaged_law(1)
    ('averaged-laplace-10', 'laplace')
    """
    return "laplace" if draws == 1 else f"{AVERAGED}-{draws}"


def parse_draws(n_draws: object) -> int:
    """Return a number of draws (HG187).

    >>> parse_draws(20)
    20
    """
    number = as_int(n_draws)
    if number is None or not 1 <= number <= MOST_DRAWS:
        raise ParameterError(
            "HG187",
            rule=f"`n_draws` is a whole number from 1 to {MOST_DRAWS}.",
            finding=f"Found {format_argument(n_draws)}.",
            remedy=f"{N_DRAWS} is the default; 1 is plain Laplace noise.",
        )
    return number


def require_draws(draws: int) -> None:
    """Refuse a number of draws outside 1 to 500 (HG406)."""
    if isinstance(draws, bool) or not isinstance(draws, int) or not 1 <= draws <= MOST_DRAWS:
        raise ParameterError(
            "HG406",
            rule=f"An average is of 1 to {MOST_DRAWS} Laplace releases.",
            finding=f"Found {draws!r}.",
        )


def geometric_half_width(scale: float, *, cells: int = 1, gamma: float = 0.05) -> int:
    """Return the least whole m with P(all |Z_i| ≤ m) ≥ 1 − γ for k independent two-sided geometric integers. Exact.

    Parameters
    ----------
    scale : float
        b of P(Z = z) ∝ e^(−|z|/b), in steps of the grid; so is m.
    cells, gamma : int, float
        k and γ.

    Raises
    ------
    ParameterError
        HG157: a number that is not positive, or a γ that is no probability below 1.

    Notes
    -----
    P(|Z| > m) = 2α^(m+1)/(1 + α), and (1 − P(|Z| > m))^k ≥ 1 − γ is solved for m.

    Examples
    --------
    >>> geometric_half_width(1.0, cells=9, gamma=0.05)
    5
    """
    require_accuracy(scale=scale, cells=cells, gamma=gamma)
    allowed = -math.expm1(math.log1p(-gamma) / cells)
    guess = scale * math.log(2.0 / (allowed * (1.0 + math.exp(-1.0 / scale))))
    m = max(0, math.ceil(guess) - 2)
    while geometric_probability(m, scale, cells=cells) < 1.0 - gamma:
        m += 1
    return m


def geometric_probability(half_width: int, scale: float, *, cells: int = 1) -> float:
    """Return P(all |Z_i| ≤ m) of k independent two-sided geometric integers: (1 − 2α^(m+1)/(1 + α))^k.

    >>> round(geometric_probability(0, 1.0), 6)  # P(Z = 0) = (1 − α)/(1 + α)
    0.462117
    """
    require_accuracy(scale=scale, cells=cells)
    beyond = 2.0 * math.exp(-(half_width + 1) / scale) / (1.0 + math.exp(-1.0 / scale))
    return math.exp(cells * math.log1p(-beyond)) if beyond < 1.0 else 0.0


def gaussian_half_width(sd: float, *, cells: int = 1, gamma: float = 0.05) -> float:
    """Return h with P(all k errors ≤ h) = 1 − γ for independent Gaussian noise of one sd.

    >>> round(gaussian_half_width(1.0, cells=1, gamma=0.05), 3)
    1.96
    """
    from hedgerow.special import ndtri

    require_accuracy(sd=sd, cells=cells, gamma=gamma)
    beyond = -math.expm1(math.log1p(-gamma) / cells)
    return -float(ndtri(beyond / 2.0)) * sd


def summed_half_width(draws: int, scale: float, *, cells: int = 1, gamma: float = 0.05) -> int:
    """Return the least whole m with P(all |Z_i| ≤ m) ≥ 1 − γ, each Z_i a sum of `draws` two-sided geometric integers.

    Parameters
    ----------
    draws : int
        How many integers make the noise on one number.
    scale, cells, gamma
        As in `geometric_half_width`, which it is for one draw.

    Raises
    ------
    ParameterError
        HG157: as `geometric_half_width`.

    Examples
    --------
    >>> summed_half_width(1, 1.0, cells=9), summed_half_width(10, 1.0, cells=9)
    (5, 13)
    """
    require_accuracy(scale=scale, cells=cells, gamma=gamma)
    law, allowed = SummedLaw(draws, scale), -math.expm1(math.log1p(-gamma) / cells)

    def short(m: int) -> bool:
        return 2.0 * float(law.tail(np.array([m + 1.0]))[0]) > allowed

    low, high = -1, 1
    while short(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if short(middle) else (low, middle)
    return high


def require_accuracy(**numbers: float) -> None:
    """Refuse a number that is not positive, cells that are not whole, or a γ of 1 or more (HG157)."""
    for name, number in numbers.items():
        fits = 0.0 < number < (1.0 if name == "gamma" else math.inf)
        if not fits or (name == "cells" and number != int(number)):
            raise ParameterError(
                "HG157",
                rule="An accuracy needs positive finite numbers, a whole number of cells, and gamma between 0 and 1.",
                finding=f"Found {name}={format_argument(number)}.",
                remedy="Try gamma=0.05.",
            )


@lru_cache(maxsize=256)
def _averaged_count(draws: int, width: float, times: int) -> DominatingPair:
    moved = moved_curve(SummedLaw(draws, width), 1.0, 1.0 / width)
    return KnownCurvePair(twice(moved.curve, times), times * moved.largest) if times > 1 else moved


@lru_cache(maxsize=64)
def _log_ratios(draws: int, moved: float, width: float, whole: bool) -> tuple[Floats, Floats]:
    far = np.ceil(60.0 * width * np.sqrt(draws)) + abs(moved)
    if whole:
        integers = np.arange(-far, far + 1.0)
        return integers, SummedLaw(draws, width).log_ratio(integers, moved)
    at = np.linspace(-far, far, _TABLE)
    return at, SummedLaplace(draws).log_ratio(at / width, moved / width)
