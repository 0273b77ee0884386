r"""What all entries of a ledger cost together: one privacy profile, composed anew with every entry.

The total is the least of the upper bounds that apply to the list of mechanisms:

* **pure**: the sum of their pure ε;
* **exact**: the accountant's own composition, while no more than `_FEW` kinds of distribution, `_OFTEN` in all, must be
  convolved. Gaussians count as none: their μ² add up. A single entry costs what its certificate states;
* **folded**: one running distribution of the losses of all that is not Gaussian, on a fixed grid, joined with the
  Gaussian of the summed μ² in closed form, δ(ε) = p_∞ + Σ_l p_l δ_μ(ε − l) where p_l is the mass at loss l and δ_μ the
  Gaussian curve. An entry costs one convolution, whatever came before, and it is an upper bound because every term is
  first replaced by a dominating pair on the grid ("connect the dots").

In the fold a discrete Gaussian of width W ≥ 32 counts as a continuous one of width √(W² − r²), r = 2: rounding at
random turns the one into the other, whatever W > r is (see `hedgerow.accounting.dominating_pairs`). That adds at most
0.2 % to its μ.

The total is a function of the list in its order, so it can be computed again from the file alone.

**What it is a bound for.** Values asked for may depend on earlier answers, as always in composition. Where the SIZES of
the noise, too, are chosen by earlier answers, stopping at a composed privacy-loss distribution is proven for families
that are totally ordered under composition, such as Gaussians, and false in general (Honkela et al., arXiv 2602.06756;
Regehr et al., arXiv 2602.15815). A ledger of the family ``"gaussian"`` takes Gaussians only and adds up μ² alone, which
is proven for any strategy (Smith & Thakurta, 2022), and so is any ledger with δ = 0, which adds up pure ε alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from hedgerow.accounting.compose import compose, merged, pure_total
from hedgerow.accounting.dominating_pairs import SMOOTHING, DominatingPair, GaussianPair, whole_grid
from hedgerow.accounting.loss_grid import LossGrid
from hedgerow.accounting.profile import GaussianProfile
from hedgerow.errors import UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.certificate import round_up
from hedgerow.mechanisms.interface import Mechanism

_FEW = 3
_OFTEN = 12
_WIDE = 32.0
_BINS_PER_EPSILON = 4096
_CUT = 1e-8  # the part of δ that one entry may lose at either end of the grid; it is paid for
_ROUND_UP = 1.0 + 1e-12
_MOST = 1_000_000_000  # millionths of ε that are looked at


@dataclass(frozen=True, slots=True)
class RunningTotal:
    """The composed cost of a list of mechanisms; `plus` returns that of the list with one more.

    Parameters
    ----------
    relation : Relation
        The one neighbouring relation of the ledger.
    epsilon, delta : float
        Its budget; ε sets the grid of the fold, δ is where the total is read.
    gaussian_only : bool
        Whether only Gaussians are taken, whose total holds however they are chosen.

    Examples
    --------
    >>> from hedgerow.mechanisms.noisy_counts import GaussianNoise
    >>> spent = RunningTotal(Relation.REPLACE_ONE, 2.0, 1e-6)
    >>> for _ in range(4):
    ...     spent = spent.plus(GaussianNoise(10.0, 1.0))
    >>> spent.micro  # that of one Gaussian with μ = √4/10, rounded up
    834118
    """

    relation: Relation
    epsilon: float
    delta: float
    gaussian_only: bool = False
    micro: int | None = 0
    """ε in millionths, rounded up; None where no ε holds at this δ."""
    _count: int = 0
    _pure: float = 0.0
    _pure_micro: int = 0
    _squares: float = 0.0
    _few: tuple[DominatingPair, ...] | None = ()
    _wide_squares: float = 0.0
    _fold: LossGrid | None = field(default=None, repr=False)

    def plus(self, mechanism: Mechanism) -> RunningTotal:
        """Return the total with one more mechanism; this one is left as it was.

        Raises
        ------
        UncertifiedError
            HG315: the family is Gaussian and the mechanism is not. HG401, HG403: it has no certified price.
        """
        terms = _terms(mechanism, self.relation)
        if self.gaussian_only:
            squares = [term.dominating_square(SMOOTHING * 1.01) for term in terms]
            if any(square is None for square in squares):
                raise _not_gaussian()
            new = replace(self, _squares=_added(self._squares, *filter(None, squares)))
            return self._with([new._by_fold(0)], new)
        others = tuple(term for term in terms if term.exact_mu() is None)
        pure = [pure_total([term]) for term in terms]
        few = None if self._few is None else _short((*self._few, *others))
        gaussian = [term.dominating_square(_WIDE) for term in terms if term.exact_mu() is not None]
        wide = [term.dominating_square(_WIDE) for term in others]
        new = replace(
            self,
            _count=self._count + 1,
            _pure=_added(self._pure, *pure),
            _pure_micro=self._pure_micro + sum(map(_micro, pure)) if math.isfinite(sum(pure)) else 0,
            _squares=_added(self._squares, *filter(None, gaussian)),
            _few=few,
            _wide_squares=_added(self._wide_squares, *filter(None, wide)),
            # While the list is short it is composed exactly, and the fold is not needed; then it begins with the list.
            _fold=None if few is not None else self._folded((*(self._few or ()), *others)),
        )
        return self._with([new._by_pure(), new._by_exact(terms), new._by_fold(self.micro or 0)], new)

    def _with(self, bounds: list[int | None], new: RunningTotal) -> RunningTotal:
        known = [bound for bound in bounds if bound is not None]
        if self.micro is None or not known:
            return replace(new, micro=None)
        # An entry never lowers the total, though two bounds on two lists might differ by their rounding.
        return replace(new, micro=max(self.micro, min(known)))

    def _by_pure(self) -> int | None:
        # Ten times 0.1 is 1: prices are stated in whole millionths, and so they are added up.
        return min(_micro(self._pure), self._pure_micro) if math.isfinite(self._pure) else None

    def _by_exact(self, terms: tuple[DominatingPair, ...]) -> int | None:
        if self._few is None or self.delta == 0.0:
            return None
        if self._count > 1:
            mu = math.sqrt(self._squares) * _ROUND_UP
            terms = (*((GaussianPair(mu),) if mu > 0 else ()), *self._few)
        epsilon = compose(terms).epsilon_upper(self.delta)
        return _micro(epsilon) if math.isfinite(epsilon) else None

    def _by_fold(self, start: int) -> int | None:
        if self.delta == 0.0 or (self._few is not None and not self.gaussian_only):
            return None
        mu, fold = math.sqrt(self._squares + self._wide_squares) * _ROUND_UP, self._fold
        if fold is None:
            epsilon = GaussianProfile(mu).epsilon_upper(self.delta) if mu > 0 else 0.0
            return _micro(epsilon) if math.isfinite(epsilon) else None
        return least_micro(lambda epsilon: _delta_upper(fold, mu, epsilon), self.delta, start=start)

    def _folded(self, terms: tuple[DominatingPair, ...]) -> LossGrid | None:
        fold, step = self._fold, 2.0 ** math.floor(math.log2(self.epsilon)) / _BINS_PER_EPSILON
        for term in terms:
            if self.delta > 0.0 and term.dominating_square(_WIDE) is None:
                grid = whole_grid(term, step)
                fold = (grid if fold is None else fold.convolved(grid)).trimmed(self.delta * _CUT)
        return fold


@lru_cache(maxsize=4096)
def _terms(mechanism: Mechanism, relation: Relation) -> tuple[DominatingPair, ...]:
    return mechanism.terms(relation)


def _added(total: float, *parts: float) -> float:
    for part in parts:
        total = math.nextafter(total + part, math.inf) if part else total
    return total


def _short(terms: tuple[DominatingPair, ...]) -> tuple[DominatingPair, ...] | None:
    """Return the terms, equal noises in one; None where the list is short no longer."""
    few = merged(terms)
    often = sum(getattr(term, "times", 1) for term in few)
    return tuple(few) if len(few) <= _FEW and often <= _OFTEN else None


def _delta_upper(fold: LossGrid, mu: float, epsilon: float) -> float:
    """δ(ε) of the fold and a Gaussian together."""
    from hedgerow.special import log_ndtr

    x = epsilon - fold.losses()
    if mu > 0.0:
        log_first = log_ndtr(mu / 2 - x / mu)
        first, second = np.exp(log_first), np.exp(np.minimum(0.0, x + log_ndtr(-mu / 2 - x / mu)))
        # An exponent is known to some of its own last digits, so far out the error of a term grows with its exponent.
        part = np.maximum(0.0, first - second + (1e-14 + 2e-15 * (np.abs(log_first) + np.abs(x))) * first)
    else:
        part = np.maximum(0.0, -np.expm1(np.minimum(x, 0.0)))
    return min(1.0, (fold.infinity + float(fold.mass @ part)) * _ROUND_UP)


def least_micro(delta_upper: Callable[[float], float], delta: float, *, start: int = 0) -> int | None:
    """Return a whole number of millionths m with δ(m/10⁶) ≤ δ, the least one or the one above it.

    `start` is where to look first; None is returned where no ε up to 1000 serves.

    >>> least_micro(lambda epsilon: math.exp(-epsilon), 0.5)
    693148
    """
    low, high, width = -1, start, 1_000
    while delta_upper(high / 1e6) > delta:
        if high >= _MOST:
            return None
        low, high, width = high, min(high + width, _MOST), 4 * width
    if low < 0:
        if delta_upper(0.0) <= delta:
            return 0
        low = 0
    while high - low > 1:
        # ln δ is close to straight, so a secant lands near the root; halving keeps the worst case short.
        ends = [math.log(max(delta_upper(end / 1e6), 1e-300)) - math.log(delta) for end in (low, high)]
        guess = low + (high - low) * ends[0] / (ends[0] - ends[1]) if ends[0] > ends[1] else (low + high) / 2
        for middle in (math.floor(guess), math.ceil(guess) + 1, (low + high) // 2):
            middle = min(max(middle, low + 1), high - 1)
            if not low < middle < high:
                continue
            if delta_upper(middle / 1e6) <= delta:
                high = middle
            else:
                low = middle
    return high


def _micro(epsilon: float) -> int:
    return round(round_up(epsilon) * 1e6) if math.isfinite(epsilon) else 0


def _not_gaussian() -> UncertifiedError:
    return UncertifiedError(
        "HG315",
        rule='A ledger of the family "gaussian" accepts Gaussian noise only.',
        finding="The requested release uses another noise, or Gaussian noise with a standard deviation of less than "
        "two steps of its lattice.",
        remedy='Use noise="gaussian", or a ledger of the family "any".',
    )
