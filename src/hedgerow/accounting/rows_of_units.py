r"""The price of resampled totals of units that have several rows, in several cells.

Add-remove
----------
Given the other units, a unit with N_c rows in cell c moves that cell by r_c·φ_c with ‖φ_c‖ ≤ N_c·C. Here C = √(a² + κ²)
is the norm of one row in sd of the noise, and r_c ~ Poisson(λ) is drawn anew in each cell. Cells have noise of their
own, so the pair is the composition of one-sided pairs at N_c·C, one per cell (rotation and scaling down are
post-processing, private_bootstrap.md §2). The N_c are a partition of at most L rows into at most `cells` parts; raising
a part raises the price, so partitions of exactly L suffice. None of them is worst everywhere: one cell with all L rows
is, where noise is large, and L cells with a row each where it is small (every cell may tell that the unit was drawn).
The release costs the maximum over the partitions, each k-fold, in both orders.

Replace-one
-----------
All rows of one unit give way to any others: *remove* a partition and *add* another, in cells that may coincide. Write
the noise of every coordinate as Z = Z₁ + Z₂ with half the variance each. Then r·φ + Z is the sum of the two parts of
(r·φ + Z₁, Z₂), and r'·φ' + Z that of (Z₁, r'·φ' + Z₂), in every cell and replicate at once; adding them is
post-processing. So the pair costs no more than a removal and, independently, an addition, both at σ/√2. Let F(ε) and
B(ε) be the largest curves of a removal and of an addition there, over all partitions and for all real ε. A maximum of
curves is the curve of a pair, and dominating pairs dominate in composition: F composed with B bounds all pairs of
partitions.

Lattice noise is priced as continuous first (`priced_noise_sd`); the split is made of the continuous noise.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache

import numpy as np

from hedgerow.accounting.loss_fold import composed_curve
from hedgerow.accounting.loss_grid import Curve, LossGrid, Outcomes, highest, lower_hull
from hedgerow.accounting.poisson_mixtures import MixturePair, PairKind, ResampledLaw, step_of
from hedgerow.facts.relation import Relation

_TAIL = 2e-20  # P-mass that all replicates and cells together may leave out
_TOLERANCE, _COARSE = 4e-5, 2e-3  # of ε, in sd of the loss, spent on the grid
_ROUNDING = 2e-15


def units_of_rows(norm: float, rows: int, cells: int, rate: float, times: int, *, relation: Relation) -> Curve:
    """Return an upper bound on the curve of `times` replicates of unit totals, `rows` rows at most in `cells` cells.

    `norm` is the norm of one row in sd of the (continuous) noise.

    Raises
    ------
    UncertifiedError
        HG403: noise or rate outside what is priced.
    """
    if relation is Relation.ADD_REMOVE:
        return highest(_one_unit(norm, rows, cells, rate, times))
    removed, added = _one_unit(norm * math.sqrt(2.0), rows, cells, rate, times)
    step = min(removed.step, added.step)
    pair = _dominating(removed, added, step), _dominating(added, removed, step)
    return Curve(step, composed_curve([(pair[0], 1), (pair[1], 1)]))


def partitions(rows: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to write `rows` as a sum of at most `parts` positive integers, the largest first.

    >>> list(partitions(4, 2))
    [(4,), (3, 1), (2, 2)]
    """

    def fewer(left: int, largest: int, places: int) -> Iterator[tuple[int, ...]]:
        if left == 0:
            yield ()
        elif places:
            for first in range(min(left, largest), 0, -1):
                for rest in fewer(left - first, first, places - 1):
                    yield (first, *rest)

    return fewer(rows, rows, parts)


@lru_cache(maxsize=16)
def _one_unit(norm: float, rows: int, cells: int, rate: float, times: int) -> tuple[Curve, Curve]:
    """Return, for ε ≥ 0, the largest curve over the partitions of a unit that is removed, and of one that is added.

    All rows in one cell cost most wherever noise is worth its name, so the rest is bounded on a coarser grid, which
    costs a tenth of the time and, where another partition is the worst, a little of ε.
    """
    spreads = [Counter(partition) for partition in partitions(rows, cells)]
    laws = {part: _law(norm * part, rate, times * min(rows, cells)) for part in range(1, rows + 1)}
    rough = {part: _grids(law, None) for part, law in laws.items()}
    removed: list[Curve] = []
    added: list[Curve] = []
    for group, tolerance in ((spreads[:1], _TOLERANCE), (spreads[1:], _COARSE)):
        if not group:
            continue
        step = min(_step(rough, counted, times, tolerance) for counted in group)
        grids = {part: _grids(laws[part], step) for part in set().union(*group)}
        for counted in group:
            relative = sum(times * number * laws[part].rounding() for part, number in counted.items())
            for order, curves in enumerate((removed, added)):
                parts = [(grids[part][order], times * number) for part, number in counted.items()]
                curves.append(Curve(step, composed_curve(parts, relative=relative)))
    return highest(removed), highest(added)


def _dominating(forward: Curve, backward: Curve, step: float) -> LossGrid:
    """Return a pair whose curve is at least `forward` at ε ≥ 0 and, in the other order, at least `backward`.

    The curve at −ε is 1 − e^{−ε} + e^{−ε} δ'(ε), δ' that of the other order. The dots (e^ε, δ) and (0, 1) are joined by
    their lower convex hull, the greatest convex function under them and so still above the true curve; a kink of size q
    at e^ε is a Q-mass q, hence a P-mass e^ε q, at loss ε.
    """
    reach = [round(curve.step * (curve.delta.size - 1) / step) for curve in (backward, forward)]
    index = np.arange(-reach[0], reach[1] + 1)
    losses = index * step
    there = np.where(index >= 0, forward.delta_upper(np.abs(losses)), backward.delta_upper(np.abs(losses)))
    delta = np.where(index >= 0, there, -np.expm1(-np.abs(losses)) + np.exp(-np.abs(losses)) * there)
    hull, slopes = lower_hull([0.0, *np.exp(losses).tolist()], [1.0, *delta.tolist()])
    q = np.maximum(np.diff([*slopes, 0.0]), 0.0)
    mass = np.zeros(index.size)
    at = np.asarray(hull[1:]) - 1
    mass[at] = q * np.exp(losses[at])
    # Far left δ is 1 but for a few units in the last place: what they may hide is a certain distinction.
    return LossGrid(int(index[0]), step, mass, max(float(delta[-1]), 1.0 - float(mass.sum())) + _ROUNDING)


def _law(norm: float, rate: float, factors: int) -> ResampledLaw:
    """Return the law of a one-sided pair; what it leaves out is shared by all factors of a composition."""
    pair = MixturePair(PairKind.ONE_SIDED, 1.0, norm, rate)
    return ResampledLaw.of(
        sd=pair.noise_sd, bound=pair.bound, rate=pair.rate, symmetric=False, left_out=_TAIL / factors
    )


def _step(rough: Mapping[int, tuple[LossGrid, LossGrid]], counted: Counter[int], times: int, tolerance: float) -> float:
    """Return `step_of` a part's grids, in either order."""
    variances = [sum(n * rough[part][order].variance() for part, n in counted.items()) for order in (0, 1)]
    sd = math.sqrt(times * max(variances))
    grids = (grid for part in counted for grid in rough[part])
    return step_of(sd, grids, times * counted.total(), tolerance)


def _grids(law: ResampledLaw, step: float | None) -> tuple[LossGrid, LossGrid]:
    """Return one draw's P‖Q and Q‖P on the grid: the unit is there, or is not."""
    edges, step = law.edges(step)
    losses, (p, q) = law.losses(edges), law.cell_masses(edges)
    low, high = losses[:-1, 0], losses[1:, 0]
    p, q = p[:, 0], q[:, 0]
    negligible = 1e-3 * law.left_out / p.size
    forward = Outcomes(p, q, low, high).spread(step, infinity=law.left_out, negligible=negligible)
    backward = Outcomes(q, p, -high, -low).spread(step, infinity=law.left_out, negligible=negligible)
    return forward, backward
