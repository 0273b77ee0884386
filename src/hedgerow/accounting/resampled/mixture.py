r"""Privacy curves of the Poisson-resampled Gaussian release, as upper bounds (private_bootstrap.md §2).

One replicate releases Σ_j r_j φ_j + Z with r_j ~ Poisson(λ) and Z ~ N(0, σ²) in each coordinate. Given the other
records only the law of r·φ + Z of one record matters. Three kinds of pair exist; each comes in both orders:

=============  ===============================  ==========================  =====================================
kind           P                                Q                           who needs it
=============  ===============================  ==========================  =====================================
``one-sided``  Σ_r p_r N(rC, σ²)                N(0, σ²)                    add/remove; missing against present
``same-cell``  Σ_r p_r N(r(a, κ), σ²I)          Σ_r p_r N(r(−a, κ), σ²I)    replace-one, the value changes
``across``     one-sided at C, and independently the same reversed          replace-one, the cell changes
=============  ===============================  ==========================  =====================================

a is the bound on |φ| of the value (R/2 after centring at the midpoint), κ the weight of a count released beside it and
C = √(a² + κ²). In each pair log dP/dQ is monotone in the first coordinate, so outcomes are cut into cells between whose
ends the loss is known, and `loss_grid.spread` keeps every δ(ε) an upper bound.

What a discrete Gaussian on a lattice costs follows from the continuous one by post-processing: see `priced_noise_sd`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np

from hedgerow.accounting.loss_fold import composed_curve
from hedgerow.accounting.loss_grid import Curve, LossGrid, highest, joined, spread
from hedgerow.accounting.resampled.equal_sign import SCANNED_NOISE, require_scanned
from hedgerow.accounting.resampled.resampled_law import ResampledLaw
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import positive_number
from hedgerow.facts.relation import Relation, parse_relation

_TAIL = 2e-20  # P-mass that all replicates together may leave out, five orders under the least δ of a budget
_SHAKE = 2.0  # width, in lattice steps, of the randomised rounding that turns a continuous release into a lattice one
_TOLERANCE, _COUNT_TOLERANCE = (
    4e-5,
    4e-4,
)  # of ε, in sd of the loss, spent on the grid; with a count the plane of outcomes is larger

PRICED_NOISE = (0.02, 1e9)
"""σ/bound that is priced at all: below, every loss exceeds the cap; above, rounding exceeds the loss."""
PRICED_RATE = (0.0, 100.0)
"""λ that is priced at all."""


class PairKind(StrEnum):
    """Which two neighbours: see the table at the top of the module."""

    ONE_SIDED = "one-sided"
    SAME_CELL = "same-cell"
    ACROSS = "across"


@dataclass(frozen=True, slots=True)
class Pair:
    r"""One kind of neighbour of a resampled release, both orders.

    Attributes
    ----------
    kind : PairKind
        Which pair.
    noise_sd : float
        σ, one replicate's, continuous (see `priced_noise_sd`).
    bound : float
        C for ``one-sided`` and ``across``; a for ``same-cell``, in the unit of `noise_sd`.
    rate : float
        λ, the Poisson rate of the weights.
    count_weight : float
        κ of ``same-cell``; 0 where no count is released beside the value.
    """

    kind: PairKind
    noise_sd: float
    bound: float
    rate: float = 1.0
    count_weight: float = 0.0

    def __post_init__(self) -> None:
        for name in ("noise_sd", "bound", "rate"):
            object.__setattr__(self, name, positive_number(name, getattr(self, name)))
        if not 0.0 <= self.count_weight < math.inf:
            raise ParameterError(
                "HG101",
                rule="`count_weight` must be 0 or a positive, finite number.",
                finding=f"Found {self.count_weight!r}.",
                remedy="1.0 is the default of a mean by group.",
            )
        _require(PRICED_NOISE[0] <= self.noise_sd / self.bound <= PRICED_NOISE[1], "noise_sd / bound", PRICED_NOISE)
        _require(self.rate <= PRICED_RATE[1], "rate", PRICED_RATE)


def _require(holds: bool, name: str, interval: tuple[float, float]) -> None:
    if not holds:
        raise UncertifiedError(
            "HG403",
            rule=f"A resampled release is priced for {name} from {interval[0]:g} to {interval[1]:g}.",
            finding="Found a value outside.",
            remedy="Below, no ε under 600 would hold; above, the price is lost in rounding or takes too long.",
        )


def priced_noise_sd(noise_sd: float, *, lattice_steps: float) -> float:
    r"""Return the sd S' = S√(1 − (2/S)²) of continuous noise that protects no better than the lattice noise.

    Let X ~ N(v, S² − w²), v an integer, w = 2, and round X at random to an integer z with weights ∝ e^{−(z−X)²/2w²}.
    By Poisson summation Σ_z e^{−(z−x)²/2w²} = √(2π)·w·(1 + 2Σ_{m≥1} e^{−2π²w²m²} cos 2πmx) for every real x, so the
    result has, up to a factor 1 ± η with η ≤ 4e^{−2π²w²} = 3e-34, the discrete Gaussian law of centre v and parameter
    S. The rounding knows nothing of v: it is post-processing, coordinate by coordinate (each with its own S), and so
    it is for every mixture over integer v. k replicates of d coordinates shift ε by at most 2kdη(1 + η), which the
    rounding allowance of `release_curve` (over 1e-12 a replicate) contains.

    Parameters
    ----------
    noise_sd : float
        sd of one replicate's noise, in the data's unit.
    lattice_steps : float
        The same in steps of the lattice, S; for several coordinates, the least.

    Raises
    ------
    UncertifiedError
        HG404: fewer than 8 steps, where the rounding would cost over 3 % of the noise.

    Examples
    --------
    >>> 1.0 - priced_noise_sd(1.0, lattice_steps=1000) < 2.01e-6
    True
    """
    if not lattice_steps >= 4.0 * _SHAKE:
        raise UncertifiedError(
            "HG404",
            rule=f"Noise on a lattice must span at least {4 * _SHAKE:g} of its steps to be priced as continuous.",
            finding=f"Found {lattice_steps!r}.",
            remedy="Use a finer lattice or more noise.",
        )
    return noise_sd * math.sqrt(1.0 - (_SHAKE / lattice_steps) ** 2)


def neighbour_pairs(
    *,
    relation: str,
    noise_sd: float,
    bound: float,
    rate: float = 1.0,
    count_weight: float = 0.0,
    cells: bool = False,
    value: bool = True,
) -> tuple[Pair, ...]:
    r"""Return the kinds of neighbour whose curves must all be paid: the release costs their maximum.

    Parameters
    ----------
    relation : str
        ``"add-remove"``: one-sided at C = √(bound² + count_weight²), exact for any statistic of norm ≤ C.
        ``"replace-one"``: the pair (bound, −bound), with cells the across pair too, and with a count but no cells the
        one-sided pair of a record that is missing. Without a count the same-cell pair dominates the one-sided one
        (private_bootstrap.md §2), and the across pair always does, having it as a marginal.
    noise_sd : float
        σ of one replicate in every coordinate, continuous.
    bound : float
        Largest |value| after centring, R/2; for counts alone 1.
    rate : float
        λ.
    count_weight : float
        κ of the count released beside the value, 0 if there is none.
    cells : bool
        Whether a record may move between cells (disjoint; one record touches one).
    value : bool
        False for counts alone under replace-one: a record then changes nothing inside its cell.

    Raises
    ------
    UncertifiedError
        HG403: replace-one outside the scanned range of `equal_sign`; any release outside `PRICED_NOISE`, `PRICED_RATE`.
    ParameterError
        HG101, HG103.

    Examples
    --------
    >>> [pair.kind.value for pair in neighbour_pairs(relation="replace-one", noise_sd=7.0, bound=0.5, cells=True)]
    ['same-cell', 'across']
    """
    norm = math.hypot(positive_number("bound", bound), count_weight)
    one_sided = Pair(PairKind.ONE_SIDED, noise_sd, norm, rate)
    if parse_relation(relation) is Relation.ADD_REMOVE:
        return (one_sided,)
    across = Pair(PairKind.ACROSS, noise_sd, norm, rate)
    if not value:
        return (across,)
    require_scanned(noise_sd=noise_sd, bound=bound, rate=rate, count_weight=count_weight)
    same = Pair(PairKind.SAME_CELL, noise_sd, bound, rate, count_weight)
    if cells:
        return (same, across)
    return (same, one_sided) if count_weight else (same,)


def release_curve(pairs: Sequence[Pair], *, n_resamples: int) -> Curve:
    r"""Return an upper bound of the release's δ(ε): the largest, over `pairs`, of the k-fold curves.

    Upper at every step: cells of outcomes are spread, never rounded down (`loss_grid`); Poisson, Gaussian and count
    tails that are left out, k·(≤ 2e-20/k), are mass at +∞; FFT round-off is bounded and added (`loss_fold`); errors of
    the masses shift ε. A release has the same pair in all k replicates, so the maximum is taken after composing; the
    result is symmetric and can be composed with other releases through `Curve.loss_grid`.

    Parameters
    ----------
    pairs : sequence of Pair
        From `neighbour_pairs`.
    n_resamples : int
        k ≥ 1.

    Raises
    ------
    ParameterError
        HG101 where `n_resamples` is not a positive integer.

    Examples
    --------
    A replace-one release of total ρ = ½ with k = 20 (private_bootstrap.md §3 has 4.866):

    >>> pairs = neighbour_pairs(relation="replace-one", noise_sd=20**0.5, bound=0.5)
    >>> round(release_curve(pairs, n_resamples=20).epsilon_upper(1e-6), 2)
    4.87
    """
    if isinstance(n_resamples, bool) or not isinstance(n_resamples, (int, np.integer)) or n_resamples < 1:
        raise ParameterError(
            "HG101", rule="`n_resamples` must be a positive integer.", finding=f"Found {n_resamples!r}.",
            remedy="Try n_resamples=20.",
        )  # fmt: skip
    return highest([_pair_curve(pair, int(n_resamples)) for pair in pairs])


def least_noise_sd(
    *,
    epsilon: float,
    delta: float,
    n_resamples: int,
    relation: str,
    bound: float,
    rate: float = 1.0,
    count_weight: float = 0.0,
    cells: bool = False,
    value: bool = True,
) -> float:
    r"""Return a σ whose certified price at `delta` lies in [epsilon − tolerance, epsilon], tolerance = 1e-3·min(1, ε).

    The price falls as σ rises (added noise is post-processing), so a bracket closes on the answer; the end that is
    returned was itself priced at most `epsilon`, whatever the search did. Where even the least scanned σ costs less
    than `epsilon` under replace-one, that σ is returned.

    Parameters
    ----------
    epsilon, delta : float
        The budget of the whole release.
    n_resamples : int
        k.
    relation, bound, rate, count_weight, cells, value
        As in `neighbour_pairs`.

    Raises
    ------
    UncertifiedError
        HG403: the σ that is needed lies above the scanned range. HG401: none is enough at this δ.
    ParameterError
        HG101, HG103.

    Examples
    --------
    >>> sd = least_noise_sd(epsilon=1.0, delta=1e-6, n_resamples=20, relation="add-remove", bound=1.0)
    >>> pairs = neighbour_pairs(relation="add-remove", noise_sd=sd, bound=1.0)
    >>> 0.999 <= release_curve(pairs, n_resamples=20).epsilon_upper(1e-6) <= 1.0
    True
    """
    epsilon, delta = positive_number("epsilon", epsilon), positive_number("delta", delta, code="HG102")

    def price(log_sd: float) -> float:
        pairs = neighbour_pairs(
            relation=relation, noise_sd=math.exp(log_sd), bound=bound, rate=rate, count_weight=count_weight,
            cells=cells, value=value,
        )  # fmt: skip
        return release_curve(pairs, n_resamples=n_resamples).epsilon_upper(delta)

    least = math.log(PRICED_NOISE[0] * math.hypot(bound, count_weight))
    if value and parse_relation(relation) is Relation.REPLACE_ONE:
        least = max(least, math.log(SCANNED_NOISE[0] * 2.0 * bound))
    span = math.hypot(2.0 * bound, count_weight) * rate * math.sqrt(n_resamples)  # a plain Gaussian of this span
    start = math.log(span * (math.sqrt(2.0 * math.log(1.0 / min(delta, 0.5))) / epsilon + 1.0 / math.sqrt(epsilon)))
    return math.exp(_close_in(price, max(start, least), least, epsilon, 1e-3 * min(1.0, epsilon)))


def _close_in(price: Callable[[float], float], start: float, least: float, limit: float, tolerance: float) -> float:
    """Return an x, at least `least`, with limit − tolerance ≤ price(x) ≤ limit; `price` falls with x."""
    held = start
    while (cost := price(held)) > limit:
        if held > start + 12.0:
            raise UncertifiedError(
                "HG401",
                rule="Some amount of noise must meet the budget.",
                finding="None does: at this δ the price stays above ε however much noise is added.",
                remedy="Use a δ of at least 1e-12.",
            )
        held += 0.5
    over, over_cost = held, cost
    while over_cost <= limit:
        if over <= least:
            return over
        held, cost = over, over_cost
        over = max(over - 0.5, least)
        over_cost = price(over)
    for _ in range(100):
        if cost >= limit - tolerance:
            break
        middle = 0.5 * (held + over)
        if math.isfinite(over_cost) and cost > 0.0:  # log price is close to linear in log σ
            share = math.log((limit - 0.3 * tolerance) / cost) / math.log(over_cost / cost)
            guess = held + share * (over - held)
            # Never closer to an end than 2 % of the bracket, or one end could stay for ever.
            middle = held + min(max(guess - held, 0.98 * (over - held)), 0.02 * (over - held))
        tried = price(middle)
        held, cost, over, over_cost = (
            (middle, tried, over, over_cost) if tried <= limit else (held, cost, middle, tried)
        )
    return held


@lru_cache(maxsize=16)
def _pair_curve(pair: Pair, times: int) -> Curve:
    law = _law(pair, times)
    rough = _grids(law, None)
    variances = [times * grid.variance() for grid in rough]
    sd = math.sqrt(sum(variances) if pair.kind is PairKind.ACROSS else max(variances))
    largest = max(float(np.abs(grid.losses()).max()) for grid in rough)
    if sd > 0.0 and largest > 0.0:
        # Spreading adds about h²/6 to a replicate's variance and half of it to its mean: h²k(1 + 7/sd)/12 in ε.
        tolerance = _COUNT_TOLERANCE if pair.count_weight else _TOLERANCE
        step = min(math.sqrt(12.0 * tolerance * sd / (times * (1.0 + 7.0 / sd))), sd / 20.0, 0.25)
        step = max(step, 60.0 * sd / 2**20, largest / 2**18)
    else:
        step = 0.25  # every loss is above the cap, or there is none
    grids = _grids(law, step)
    relative = times * law.rounding()
    if pair.kind is PairKind.ACROSS:
        return Curve(step, composed_curve([(grid, times) for grid in grids], relative=relative))
    return highest([Curve(step, composed_curve([(grid, times)], relative=relative)) for grid in grids])


def _law(pair: Pair, times: int) -> ResampledLaw:
    return ResampledLaw.of(
        sd=pair.noise_sd,
        bound=pair.bound,
        rate=pair.rate,
        count_weight=pair.count_weight,
        symmetric=pair.kind is PairKind.SAME_CELL,
        left_out=_TAIL / times,
    )


def _grids(law: ResampledLaw, step: float | None) -> tuple[LossGrid, ...]:
    """One replicate's P‖Q, and Q‖P where it differs; of an across pair these are the two halves."""
    edges, step = law.edges(step)
    cells = edges.size - 1
    negligible = 1e-3 * law.left_out / (cells * law.weights.shape[1])
    forward, backward = [], []
    left_out = law.left_out
    for part in law.slices(cells):
        losses = part.losses(edges)
        low, high = losses[:-1], losses[1:]
        p, q = part.cell_masses(edges)
        forward.append(spread(p, q, low, high, step=step, infinity=left_out, negligible=negligible))
        if not law.symmetric:  # in a symmetric pair x → −x swaps P and Q
            backward.append(spread(q, p, -high, -low, step=step, infinity=left_out, negligible=negligible))
        left_out = 0.0
    return tuple(joined(grids) for grids in (forward, backward) if grids)
