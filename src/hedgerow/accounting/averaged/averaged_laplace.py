r"""The price of an average of k Laplace releases: pure ε, and the whole curve δ(ε') below it; all upper bounds.

One number (proven, exact up to rounding)
-----------------------------------------
Noise Z with a log-concave law, on the line or on a lattice, against Z moved by r > 0: the ratio f(x − r)/f(x) rises
with x, so the best event is an upper tail and δ(ε) = P(Z ≥ t − r) − e^ε P(Z ≥ t) at the least t where the log of the
ratio exceeds ε. The tails are those of `averaged_law`. For fixed t the first term rises with r, so δ does: the
farthest movement is the worst. The law is symmetric, so t → r − t exchanges the two neighbours, and one direction
serves both. No loss exceeds r/scale: the curve ends there, at δ = 0.

Two cells (replace-one: a record leaves one and enters another) are two such pairs with independent noise, composed.

Several coordinates (proven, two upper bounds: the lesser holds)
----------------------------------------------------------------
A vector of integer sums moves by D_i lattice steps in coordinate i, in whatever combination its layout allows, with
noise of scale W_i a draw. Which combination is the worst is not known, so

* the combinations are covered by boxes (`averaged_boxes`): a record that moves no coordinate farther than the far
  corner of its box costs no more than that corner, whose coordinates are independent pairs, composed. The maximum
  over the boxes is a curve for all of them. They are 5 % of the range wide: finer ones saved at most 1.5 % of the
  noise in the releases that were tried. Of more than 64 draws it counts 64: further ones are post-processing;
* divide each D_i into k whole numbers of one sign that differ by at most 1, and the sums in the same way, and let
  release j carry the j-th parts and the j-th draws. Their total is what is released, so it costs no more than they do
  together; release j loses at most ε_j ≤ Σ_i (|D_i|/k + 1)/W_i, so it is dominated by randomised response at that ε,
  and the k of them by k independent such responses: a binomial law of losses. (Kairouz, Oh and Viswanath, 2015, show
  that nothing cheaper holds for every mechanism that is pure.) This one is better far out, near the pure price.

The sum of all ε_j is at most ε₀ = max Σ_i |D_i|/W_i, the pure price.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.averaged.averaged_boxes import Box, boxes
from hedgerow.accounting.averaged.averaged_law import SummedLaplace, SummedLaw
from hedgerow.accounting.loss_fold import composed_curve
from hedgerow.accounting.loss_grid import LOSS_CAP, Curve, highest
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.averaged_laplace import AveragedLaplaceCounts, AveragedLaplaceMoments, AveragedLaplaceNoise

Array = NDArray[np.float64]
Averaged = AveragedLaplaceCounts | AveragedLaplaceMoments | AveragedLaplaceNoise

_FAR = 1e-18
_ROUND_UP = 1.0 + 1e-12
_ROUNDOFF = 1e-12  # of a tail, relative: the sums of positive terms in `averaged_law` lose far less
_BOX_DOTS = 250  # beside boxes of this width, finer dots would gain nothing
_BOX_DRAWS = 64
_STEPS = 500


@dataclass(frozen=True, slots=True, eq=False)
class BoundedCurve:
    """An upper bound on the curve of a pair whose loss never exceeds `pure`: there δ is 0."""

    curve: Curve
    pure: float


@lru_cache(maxsize=256)
def averaged_curve(mechanism: Averaged, relation: Relation) -> BoundedCurve:
    """Return an upper bound on the privacy curve of an average of Laplace releases.

    Source of the mechanism: Brawner & Honaker (2018), §4, who state the pure price alone.

    Parameters
    ----------
    mechanism : AveragedLaplaceCounts, AveragedLaplaceMoments or AveragedLaplaceNoise
    relation : Relation

    Returns
    -------
    BoundedCurve
        Exact up to rounding for one number and for counts; for vectors of moments an upper bound by boxes.

    Examples
    --------
    Pure at ε = 1, and .74 at δ = 1e-3:

    >>> priced = averaged_curve(AveragedLaplaceNoise(1.0, 10, 1.0), Relation.REPLACE_ONE)
    >>> round(priced.pure, 6), round(priced.curve.epsilon_upper(1e-3), 2)
    (1.0, 0.45)
    """
    replaced = relation is Relation.REPLACE_ONE
    match mechanism:
        case AveragedLaplaceNoise(scale=scale, sensitivity=sensitivity):
            return moved_curve(SummedLaplace(mechanism.draws), sensitivity / scale, sensitivity / scale)
        case AveragedLaplaceCounts(scale=scale, cells=cells):
            one = moved_curve(SummedLaw(mechanism.draws, scale), 1.0, 1.0 / scale)
            return BoundedCurve(_twice(one.curve), 2.0 * one.pure) if replaced and cells > 1 else one
        case AveragedLaplaceMoments():
            return _of_moments(mechanism, relation)


def moved_curve(law: SummedLaw | SummedLaplace, shift: float, pure: float, *, least_dots: int = 1000) -> BoundedCurve:
    """Return the curve of the law against itself moved by `shift`; no loss exceeds `pure`.

    It is exact at about `least_dots` values of ε, more for many draws, and a chord, hence an upper bound, between.

    >>> one = moved_curve(SummedLaplace(1), 2.0, 2.0)  # plain Laplace: δ(ε) = 1 − e^((ε − 2)/2)
    >>> bool(abs(one.curve.delta_upper(1.0) / (1 - np.exp(-0.5)) - 1) < 1e-3)
    True
    """
    pure *= _ROUND_UP
    if pure > LOSS_CAP:
        return BoundedCurve(Curve(1.0, np.ones(2)), pure)
    count = math.ceil(least_dots * max(1.0, math.sqrt(law.draws / 50.0)))
    # The ratio rises fastest where one of the two laws has its middle; out to there dots lie densest.
    ends = (2.0 * shift, _far_end(law, shift))
    at = law.places(np.concatenate([np.linspace(0.5 * shift, end, count) for end in ends]))
    losses = np.clip(np.maximum.accumulate(law.log_ratio(at, shift)), 0.0, pure)
    first, second = law.tail(at - shift), law.tail(at)
    delta = first - np.exp(losses) * second + _ROUNDOFF * first
    # Up to the first loss the best event is the first tail, and δ is linear in e^ε there.
    losses = np.concatenate([[0.0], losses])
    delta = np.concatenate([[float(first[0] - second[0]) + _ROUNDOFF], np.maximum(delta, 0.0)])
    step = pure / count
    grid = np.arange(count + 1) * step
    # Chords in e^ε lie above a convex curve; e^(ε − ε₀) keeps the numbers in range.
    chords = np.interp(np.exp(grid - pure), np.exp(losses - pure), delta)
    chords[-1] = 0.0
    return BoundedCurve(Curve(step, np.minimum(1.0, chords * _ROUND_UP)), pure)


def split_curve(draws: int, epsilon_each: float) -> Curve:
    """Return the curve of `draws` independent randomised responses at `epsilon_each`: a binomial law of losses.

    >>> bool(split_curve(1, 1.0).delta_upper(0.0) >= np.tanh(0.5))
    True
    """
    from scipy.special import gammaln

    total = draws * epsilon_each
    if total > LOSS_CAP:
        return Curve(1.0, np.ones(2))
    won = np.arange(draws + 1.0)
    log_ways = gammaln(draws + 1.0) - gammaln(won + 1.0) - gammaln(draws - won + 1.0)
    mass = np.exp(log_ways + won * epsilon_each - draws * math.log1p(math.exp(epsilon_each)))
    losses = (2.0 * won - draws) * epsilon_each
    count = math.ceil(1000 * max(1.0, math.sqrt(draws / 100.0)))
    step = total / count
    grid = np.arange(count + 1) * step
    delta = -np.expm1(np.minimum(grid[:, None] - losses, 0.0)) @ mass
    delta[-1] = 0.0
    return Curve(step, np.minimum(1.0, delta * (1.0 + 1e-10)))


def _of_moments(mechanism: AveragedLaplaceMoments, relation: Relation) -> BoundedCurve:
    layout, noises = mechanism.layout, mechanism.noise.coordinates()
    pure = layout.pure(relation, mechanism.noise.widths()) * _ROUND_UP
    replaced = relation is Relation.REPLACE_ONE
    across = replaced and layout.presence == "private" and layout.cells > 1
    if pure > LOSS_CAP:
        return BoundedCurve(Curve(1.0, np.ones(2)), pure)
    movements = boxes(layout, "square" in noises, "count" in noises)
    curves = []
    if replaced:
        curves.append(highest([_composed(mechanism, box) for box in movements.same]))
    if not replaced or layout.presence == "private":
        one = highest([_composed(mechanism, box) for box in movements.one_sided])
        curves.append(_twice(one) if across else one)
    covered = highest(curves)
    # Every coordinate of every cell that moves may round its part up by one lattice step.
    uneven = (2.0 if across else 1.0) * sum(1.0 / noise.width for noise in noises.values())
    split = split_curve(mechanism.draws, pure / mechanism.draws + uneven)
    at = np.arange(covered.delta.size, dtype=np.float64) * covered.step
    return BoundedCurve(Curve(covered.step, np.minimum(covered.delta, split.delta_upper(at))), pure)


def _composed(mechanism: AveragedLaplaceMoments, box: Box) -> Curve:
    """Return the curve of independent coordinates that each move as far as anything in the box does."""
    moved = [
        (float(getattr(box, name) << noise.bits), float(noise.width))
        for name, noise in mechanism.noise.coordinates().items()
        if getattr(box, name)
    ]
    # More draws cost no more than fewer do: the others are post-processing.
    draws, alone = min(mechanism.draws, _BOX_DRAWS), len(moved) == 1
    draws = mechanism.draws if alone else draws
    dots = 1000 if alone else _BOX_DOTS
    parts = [moved_curve(SummedLaw(draws, w), steps, steps / w, least_dots=dots).curve for steps, w in moved]
    if len(parts) == 1:
        return parts[0]
    step = sum(steps / width for steps, width in moved) / _STEPS
    return Curve(step, composed_curve([(part.loss_grid(step=step), 1) for part in parts]))


def _twice(one: Curve) -> Curve:
    """Return the curve of two independent pairs of this one."""
    return Curve(one.step, composed_curve([(one.loss_grid(), 2)]))


def _far_end(law: SummedLaw | SummedLaplace, shift: float) -> float:
    """Return a place beyond which the moved law has a mass of at most 1e-18."""
    scale = law.scale if isinstance(law, SummedLaw) else 1.0
    far = 50.0 * scale
    while float(law.tail(np.array([float(math.floor(far))]))[0]) > _FAR:
        far *= 1.25
    return float(math.ceil(far)) + shift if isinstance(law, SummedLaw) else far + shift
