"""From replicates to an estimate with intervals: four interval methods about a population, and Student's for a census.

Brawner and Honaker (2018) read m* ± z √(v̂ + σ₁²/k) with v̂ = max(0, λ(s² − f a)), where a = σ₁² + (m* − c)²/(λn) is
the known part of the replicates' spread and f the share of it that is subtracted. Their three intervals differ in f:

=====================  ======================  ====================================================================
method                 f                       coverage (private_bootstrap.md §4)
=====================  ======================  ====================================================================
``unbiased``           1                       NOT held: 71–80 % at a nominal 90 % where noise hides the spread, and
                                               about 60 % with Poisson weights on data far from the centre
``conservative``       5 % point of            near the level from about k = 50, below it for fewer replicates
                       χ²_{k−1}/(k−1)
``most-conservative``  0                       held or nearly held, at several times the width: the whole spread,
                                               noise and centre offset included, is read as sampling error
``calibrated``         –                       held for every k and every sampling variance; see `calibrated`
=====================  ======================  ====================================================================

Like theirs, the first three have no term for the k replicates themselves. v̂ is cut at 0 before the privacy variance is
added, so no interval is narrower than the noise alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hedgerow.inference.bootstrap import calibrated
from hedgerow.inference.bootstrap.replicates import (
    Replicates,
    StandardErrorParts,
    chi_square_share,
    mean_of_root,
    sampling_variance,
    standard_error_parts,
)
from hedgerow.inference.interval import normal_quantile, parse_level

ALPHA = 0.05  # α' of the paper: how often the spread of the noise alone is smaller than what is subtracted
_CENSUS = "student"


def unbiased_interval(replicates: Replicates, *, level: float) -> tuple[float, float]:
    """Return the interval with f = 1, the noise subtracted in full; coverage NOT held at `level` (HG110).

    Source: Brawner & Honaker (2018), eq. 30, 35 with c_α' = k − 1, and 36. For comparison with the paper; use
    `calibrated`.

    >>> low, high = unbiased_interval(Replicates(10.0, 5.0, 50, 2.0), level=0.95)
    >>> round(low, 3), round(high, 3)
    (6.583, 13.417)
    """
    return _normal_interval(replicates, level, noise_share=1.0)


def conservative_interval(replicates: Replicates, *, level: float, alpha: float = ALPHA) -> tuple[float, float]:
    """Return the interval with f the α' point of χ²_{k−1}/(k−1), 5 % by default; near `level` for k ≥ 50 (HG110).

    Source: Brawner & Honaker (2018), eq. 34–36.

    >>> low, high = conservative_interval(Replicates(10.0, 5.0, 50, 2.0), level=0.95)
    >>> round(low, 3), round(high, 3)
    (6.253, 13.747)
    """
    return _normal_interval(replicates, level, noise_share=chi_square_share(replicates.n_resamples, alpha=alpha))


def most_conservative_interval(replicates: Replicates, *, level: float) -> tuple[float, float]:
    """Return the interval with f = 0, no noise subtracted; wide, and still a little short for small k (HG110).

    Source: Brawner & Honaker (2018), eq. 34–36 with c_α' = 0.

    >>> low, high = most_conservative_interval(Replicates(10.0, 5.0, 50, 2.0), level=0.95)
    >>> round(low, 3), round(high, 3)
    (5.6, 14.4)
    """
    return _normal_interval(replicates, level, noise_share=0.0)


def _normal_interval(replicates: Replicates, level: float, *, noise_share: float) -> tuple[float, float]:
    variance = sampling_variance(replicates, noise_share=noise_share) + replicates.privacy_variance
    half = normal_quantile(level) * math.sqrt(variance)
    return replicates.mean - half, replicates.mean + half


def file_interval(replicates: Replicates, *, level: float) -> tuple[float, float]:
    """Return m* ± t_{k−1} s/√k, which covers the statistic of the file's own records at `level` (HG110).

    The records are all there are, so there is no sampling error. Given the data, m* ~ N(x̄, (v'/λ + σ₁²)/k) independent
    of s² ~ (v'/λ + σ₁²) χ²_{k−1}/(k−1) (private_bootstrap.md §4): normal by the noise, and nearly so by the weights. So
    Student's interval is exact for normal replicates. It says nothing about a population behind the file. A single
    plain release at the same price is narrower, since it has no bootstrap error: prefer it where a choice is left.

    >>> low, high = file_interval(Replicates(10.0, 4.0, 4, 1.0), level=0.95)
    >>> round(low, 3), round(high, 3)
    (6.818, 13.182)
    """
    from hedgerow.special import stdtrit

    student = float(stdtrit(replicates.n_resamples - 1, (1 + parse_level(level)) / 2))
    half = student * math.sqrt(replicates.spread / replicates.n_resamples)
    return replicates.mean - half, replicates.mean + half


def file_error_parts(replicates: Replicates) -> StandardErrorParts:
    """Return the bootstrap and privacy parts of the standard error; the sampling part is 0 by the choice of target.

    >>> round(file_error_parts(Replicates(0.0, 6.0, 50, 2.0)).bootstrap_error, 3)
    0.285
    """
    spread = replicates.spread / mean_of_root(replicates.n_resamples) ** 2
    resampling = max(0.0, spread - replicates.noise_variance) / replicates.n_resamples
    return StandardErrorParts(0.0, math.sqrt(resampling), math.sqrt(replicates.privacy_variance))


INTERVALS: dict[str, Callable[..., tuple[float, float]]] = {
    "calibrated": calibrated.interval,
    "conservative": conservative_interval,
    "unbiased": unbiased_interval,
    "most-conservative": most_conservative_interval,
}


@dataclass(frozen=True, slots=True)
class BootstrapBasis:
    """The replicates of one number, what is possible for it, and which interval comes first.

    Attributes
    ----------
    replicates : Replicates
    low, high : float
        What is possible: intervals are cut there.
    reliable : bool
        False: the interval is [low, high].
    default : str
        The interval method asked for.
    census : bool
        The target is the file: Student's interval on the replicates is the only one.
    margin : float
        Added at both ends: the farthest that rounding to an undeclared grid can have moved the target.
    alpha : float
        α' of the conservative intervals.
    records : float or None
        How many records a mean is of: public, or noisy; None of what is no mean.
    drawn : object or None
        The same object in all cells of one statistic of one release: their replicates were drawn with the same weights.
    terms, shift
        Of a linear combination of such cells: (factor, cell) each, and what is added; none of a cell itself.
    """

    replicates: Replicates
    low: float
    high: float
    reliable: bool
    default: str
    census: bool
    margin: float = 0.0
    alpha: float = ALPHA
    records: float | None = None
    drawn: object | None = field(default=None, compare=False, repr=False)
    terms: tuple[tuple[float, BootstrapBasis], ...] = field(default=(), compare=False, repr=False)
    shift: float = 0.0

    def scaled(self, scale: float, shift: float) -> BootstrapBasis:
        """Return the basis of scale · estimate + shift, by its replicates."""
        terms = self.terms or ((1.0, self),)
        return _linear([(scale * factor, cell) for factor, cell in terms], scale * self.shift + shift)

    def plus(self, other: BootstrapBasis) -> BootstrapBasis | None:
        """Return the basis of the sum; None unless the replicates of both were drawn together."""
        if self.drawn is None or self.drawn is not other.drawn:
            return None
        factors: dict[int, float] = {}
        cells: dict[int, BootstrapBasis] = {}
        for one in (self, other):
            for factor, cell in one.terms or ((1.0, one),):
                factors[id(cell)] = factors.get(id(cell), 0.0) + factor
                cells[id(cell)] = cell
        return _linear([(factors[place], cell) for place, cell in cells.items()], self.shift + other.shift)

    def with_alpha(self, alpha: float) -> BootstrapBasis:
        """Return it with conservative intervals at another α'."""
        return replace(self, alpha=alpha)

    @property
    def methods(self) -> tuple[str, ...]:
        """The default first."""
        if self.census:
            return (_CENSUS,)
        return (self.default, *(name for name in INTERVALS if name != self.default))

    def interval(self, level: float, method: str) -> tuple[float, float]:
        """Return the interval at a level by a method, cut to what is possible.

        One about an estimate that is not possible is first moved to the nearest possible one, as score intervals are:
        that is nearer to every possible truth, and no interval shrinks to a point at the end of what is possible.
        """
        if not self.reliable:
            return self.low, self.high
        compute = file_interval if self.census else INTERVALS[method]
        how = {"alpha": self.alpha} if method == "conservative" else {}
        low, high = compute(self.replicates, level=level, **how)
        centre = (low + high) / 2.0
        moved = min(max(centre, self.low), self.high) - centre if math.isfinite(centre) else 0.0
        low, high = low + moved - self.margin, high + moved + self.margin
        return min(max(low, self.low), self.high), max(min(high, self.high), self.low)

    def parts(self) -> StandardErrorParts:
        """Return the three parts of the standard error: the same whatever the interval beside it."""
        if self.census:
            return file_error_parts(self.replicates)
        return standard_error_parts(self.replicates)


def _linear(terms: Sequence[tuple[float, BootstrapBasis]], shift: float) -> BootstrapBasis:
    """Return the basis of Σ factor · cell + shift, whose replicates are those sums, replicate by replicate.

    The noise of different cells is independent. What cells have in common by their weights is in the spread of the
    sums, and so is the part of the centre c, which becomes Σ factor · c + shift.
    """
    (_, first), reliable = terms[0], all(cell.reliable for _, cell in terms)
    drawn = [(factor, cell.replicates) for factor, cell in terms]
    ends = [sorted((factor * cell.low, factor * cell.high)) for factor, cell in terms if factor]
    centres = [factor * one.centre for factor, one in drawn if one.centre is not None]
    centred = len(centres) == len(drawn)
    mean = shift + math.fsum(factor * one.mean for factor, one in drawn)
    replicates = Replicates(mean, 0.0, first.replicates.n_resamples, 0.0)
    if reliable:
        replicates = Replicates.of(
            shift + sum(factor * np.array(one.estimates) for factor, one in drawn),
            noise_variance=math.fsum(factor**2 * one.noise_variance for factor, one in drawn),
            weights=first.replicates.weights,
            rate=first.replicates.rate,
            centre=shift + math.fsum(centres) if centred else None,
            n=first.replicates.n if centred else None,
        )
    return replace(
        first,
        replicates=replicates,
        low=shift + math.fsum(low for low, _ in ends),
        high=shift + math.fsum(high for _, high in ends),
        reliable=reliable,
        margin=math.fsum(abs(factor) * cell.margin for factor, cell in terms),
        records=None,
        terms=tuple(terms),
        shift=shift,
    )
