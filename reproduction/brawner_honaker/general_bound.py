r"""What a certificate says of a published mechanism: no, unless the general bound is asked for by name.

Multinomial weights tie a record to all others, so that the argument behind the price of the released bootstrap does not
hold for them. One bound does, for any data: that of Wang, Cheng and Awan. It is dear, and whoever wants it must say so.

The textbook (multinomial) bootstrap of a noisy sum under replace-one: a proven upper bound for finite n and k.

A replicate draws n records with replacement, so the target is drawn r ~ Binomial(n, 1/n) times, p_i = P(r = i), and
the draws that are not the target are uniform over the others. d = Δ/σ is how far ONE draw moves the sum, in sd of the
replicate's noise, and G(ε; m) = Φ(m/2 − ε/m) − e^ε Φ(−m/2 − ε/m) the curve of a Gaussian at distance m.

*One replicate, proven.* Let p = 1 − p_0 and W be the law of the output given r = 0, the same on both data sets; so
P = (1 − p)W + pP', Q = (1 − p)W + pQ'. For e^{ε'} = 1 + p(e^ε − 1) and β = e^{ε' − ε} advanced joint convexity
(Balle, Barthe & Gaboardi 2018, thm 2) gives δ_PQ(ε') = p·δ(P' ‖ (1 − β)W + βQ') ≤ p·max(δ_{P'W}(ε), δ_{P'Q'}(ε)).
Given r = i the same draws of the others serve P' and Q', which are then at most i·d apart. They serve W too: let n − i
draws be common and replace each of the i draws of the target by one of the others, again at most i·d. By joint
convexity both are at most Σ_{i≥1} (p_i/p) G(ε; i·d), so

    δ_PQ(log(1 + p(e^ε − 1))) ≤ Σ_{i≥1} p_i G(ε; i·d)   for ε ≥ 0,

whatever the other records are. It is the trade-off function of Wang, Cheng & Awan (arXiv 2210.06140), C_p of the
mixture, on the scale of δ. Nothing is assumed about the other records, unlike in `mixture`, whose midpoint argument
multinomial weights break.

*k replicates.* The bound is a symmetric curve, hence that of one dominating pair, which is composed k-fold. With
d = μ/√k and k → ∞ the result tends to a Gaussian at √(2 − 2/e)·μ = 1.124 μ for large n: the price of not knowing more.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.loss_fold import composed_curve
from hedgerow.accounting.loss_grid import LOSS_CAP, Curve, LossGrid
from hedgerow.errors import UncertifiedError
from hedgerow.facts.budget import DEFAULT_DELTA, positive_number
from hedgerow.facts.relation import Relation, parse_relation
from hedgerow.testing.published import MultinomialBootstrap

_TAIL = 1e-21  # P-mass of one replicate that is counted as a certain distinction, divided by k
_DISTANCE = (1e-6, 50.0)
_MOST_RESAMPLES = 100_000
_TOLERANCE = 4e-5  # of ε, in sd of the loss, spent on the grid: as in `mixture`
_FEWEST, _MOST = 400, 60_000  # points of one replicate's curve
_ROUNDING = 1e-12


def draw_shares(n: int, *, tail: float = 1e-24) -> NDArray[np.float64]:
    """Return p_0, p_1, …: how often a record is drawn by a bootstrap of n, Binomial(n, 1/n), up to a tail.

    >>> draw_shares(1000).round(4)[:5].tolist()
    [0.3677, 0.3681, 0.184, 0.0613, 0.0153]
    >>> draw_shares(1).tolist()
    [0.0, 1.0]
    """
    if n == 1:
        return np.array([0.0, 1.0])
    shares = [math.exp(n * math.log1p(-1.0 / n))]
    # From one to the next by their ratio: no factorial of n is formed, so no digit is lost for large n.
    while len(shares) <= n and (len(shares) < 3 or shares[-1] > 0.1 * tail):
        i = len(shares) - 1
        shares.append(shares[-1] * (n - i) / ((i + 1) * (n - 1.0)))
    return np.array(shares)


@lru_cache(maxsize=64)
def multinomial_curve(*, distance: float, n: int, n_resamples: int) -> Curve:
    r"""Return an upper bound of δ(ε) of k multinomial bootstrap replicates under replace-one, any data.

    Parameters
    ----------
    distance : float
        d = Δ/σ: how far one draw of one record moves the sum, over the noise sd of ONE replicate.
    n : int
        Records, public.
    n_resamples : int
        k.

    Raises
    ------
    UncertifiedError
        HG405: d, n or k outside what is priced.

    Examples
    --------
    >>> curve = multinomial_curve(distance=1.0, n=1000, n_resamples=1)
    >>> curve.epsilon_upper(1e-6) > 34.19  # what the pair (0, R) attains
    True
    """
    if not (_DISTANCE[0] <= distance <= _DISTANCE[1] and n >= 1 and 1 <= n_resamples <= _MOST_RESAMPLES):
        raise UncertifiedError(
            "HG405",
            rule=f"The general bound prices 1 to {_MOST_RESAMPLES} replicates at a distance of {_DISTANCE[0]:g} to "
            f"{_DISTANCE[1]:g} noise sds.",
            finding=f"Found a distance of {distance:.6g}, n = {n} and {n_resamples} replicates.",
            remedy="Use more noise.",
        )
    tail = _TAIL / n_resamples
    shares = draw_shares(n, tail=1e-3 * tail)
    rough = _one_replicate(distance, shares, n, tail=tail)
    sd = math.sqrt(n_resamples * rough.variance())
    step = min(math.sqrt(12.0 * _TOLERANCE * sd / (n_resamples * (1.0 + 7.0 / sd))), sd / 20.0, 0.25)
    grid = _one_replicate(distance, shares, n, tail=tail, step=step)
    return Curve(grid.step, composed_curve([(grid, n_resamples)]))


def _one_replicate(
    distance: float, shares: NDArray[np.float64], n: int, *, tail: float, step: float | None = None
) -> LossGrid:
    """Return the dominating pair of one replicate on a grid of about `step`, where one is given."""
    high = 1e-3 * distance
    while high < LOSS_CAP and float(_delta(np.array([high]), distance, shares, n)[0]) > tail:
        high *= 1.25
    high = min(high, LOSS_CAP)
    points = _FEWEST if step is None else min(max(math.ceil(high / step), _FEWEST), _MOST)
    losses = np.linspace(0.0, high, points + 1)
    return Curve(high / points, _delta(losses, distance, shares, n)).loss_grid()


def _delta(losses: NDArray[np.float64], distance: float, shares: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return Σ_{i≥1} p_i G(ε; i·d) at ε = log(1 + (e^{ε'} − 1)/p), rounded up, and what the tail of r adds."""
    from scipy.special import log_ndtr

    inside = np.log1p(np.expm1(losses) / (1.0 - shares[0])) * (1.0 - _ROUNDING)  # a lower ε has a higher δ
    cut = float(shares[-1]) if len(shares) <= n else 0.0  # more than what was cut off: shares fall faster than 1/2
    total = np.full(len(losses), cut)
    for i, share in enumerate(shares[1:], start=1):
        mu = i * distance
        first = np.exp(log_ndtr(mu / 2 - inside / mu))
        second = np.exp(np.minimum(0.0, inside + log_ndtr(-mu / 2 - inside / mu)))
        total += share * (np.maximum(first - second, 0.0) + _ROUNDING * first)
    return np.minimum(1.0, total * (1.0 + _ROUNDING))


WANG_CHENG_AWAN = "wang-cheng-awan"


@dataclass(frozen=True, slots=True)
class GeneralPrice:
    """(``epsilon_upper``, ``delta``) holds for the mechanism, by the bound that it names; no ledger takes it.

    The price is that of exact Gaussian noise; what is simulated in floating point has no guarantee.

    Attributes
    ----------
    mechanism : MultinomialBootstrap
    relation : Relation
        ``"replace-one"``.
    bound : str
        ``"wang-cheng-awan"``.
    epsilon_upper, delta : float
    curve : Curve
        The whole upper bound, for other δ.
    """

    mechanism: MultinomialBootstrap
    relation: Relation
    bound: str
    epsilon_upper: float
    delta: float
    curve: Curve = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data; an infinite ε is null."""
        return {
            "mechanism": asdict(self.mechanism),
            "relation": str(self.relation),
            "bound": self.bound,
            "epsilon_upper": self.epsilon_upper if math.isfinite(self.epsilon_upper) else None,
            "delta": self.delta,
        }


def certify_published(
    mechanism: MultinomialBootstrap,
    *,
    relation: str = Relation.REPLACE_ONE,
    delta: float = DEFAULT_DELTA,
    bound: str | None = None,
) -> GeneralPrice:
    """Refuse a multinomial bootstrap, or price it by the bound that is asked for by name: ε is an upper bound.

    The bound is proven for finite n and k and for any data: see the module for the proof. As k grows,
    replicates at μ/√k each tend to √(2 − 2/e)·μ = 1.124 μ.

    Parameters
    ----------
    mechanism : MultinomialBootstrap
    relation : {"replace-one"}
    delta : float
    bound : {None, "wang-cheng-awan"}

    Raises
    ------
    UncertifiedError
        HG405: no bound was named, another one was, or the relation is add-remove, under which n is private.

    Examples
    --------
    >>> published = MultinomialBootstrap.as_published(0.5, n=500, bounds=(0, 100), n_resamples=50)
    >>> round(certify_published(published, bound="wang-cheng-awan").epsilon_upper, 2)  # the paper's claim is 4.887
    6.74
    """
    parsed = parse_relation(relation)
    positive_number("delta", delta, code="HG102")
    if bound != WANG_CHENG_AWAN or parsed is not Relation.REPLACE_ONE:
        raise UncertifiedError(
            "HG405",
            rule="A bootstrap with multinomial weights is not certified.",
            finding="Its published price is false."
            if bound is None
            else f"Found bound={bound!r} under {str(parsed)!r}.",
            remedy=f'Under replace-one, bound="{WANG_CHENG_AWAN}" gives a general price; estimator="bootstrap" of a '
            "survey has Poisson weights and costs less.",
        )
    curve = multinomial_curve(
        distance=mechanism.sensitivity / mechanism.noise_sd, n=mechanism.n, n_resamples=mechanism.n_resamples
    )
    return GeneralPrice(mechanism, parsed, bound, curve.epsilon_upper(delta), delta, curve)
