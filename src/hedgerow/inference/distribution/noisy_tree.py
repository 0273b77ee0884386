"""Least squares on a tree of noisy counts, and the exact variance of whatever is linear in its leaves.

Every count of a node is measured, with a variance of its own level, and the counts of its children measure it again.
Two passes give the least-squares estimates of all nodes at once (Hay, Rastogi, Miklau & Suciu 2010, here with unequal
variances and branchings). Upwards, from what lies below a node and its own count alone,

    s_u = 1/(1/v_u + 1/Σ_c s_c),   z_u = s_u·(y_u/v_u + Σ_c z_c / Σ_c s_c);

downwards, what a node's total says beyond its children is divided by their variances: h_c = z_c + s_c/Σs·(h_u − Σ z).

Take a linear form Σ_i w_i x_i of the leaves. Below a node u it is α_u·T_u plus a rest that does not vary with the total
T_u of the node; with the children's α and variances ρ of the rest,

    α_u = Σ_c α_c s_c / Σ_c s_c,   ρ_u = Σ_c ρ_c + Σ_c α_c² s_c − (Σ_c α_c s_c)²/Σ_c s_c,

from α = w, ρ = 0 at the leaves. At the root the variance is ρ + α² s_root, and s_root = 0 where the total is public.
For the count of all leaves left of x, only the one path of nodes that hold x has anything but α ∈ {0, 1}.

How far a noisy count left of x may lie from q times the number of records, if the share q lies left of x.

The error is B + Z. B is the sampling error of a binomial number: normal of variance nq(1 − q), or the binomial law
itself where that is below 10. Z is the noise of a least-squares count: a sum of many integers with known variance V. It
is normal for Gaussian noise. For Laplace noise every number has a coefficient of at most 1 in size, so the fourth
cumulant of Z is at most 3·V·v, v the largest variance of one number; Z is read as a normal plus a Laplace number with
variance V and that fourth cumulant, which has the heavier tail. Half a record is added, as all counts are integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.interval import laplace_tail, noise_quantiles
from hedgerow.mechanisms.histograms import TreeCounts

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NoisyTree:
    """A tree of counts of which every level below the root is measured with noise of known variance.

    Attributes
    ----------
    leaves : int
    branching : tuple of int
    variances : tuple of float array
        Of the count of each node, level by level below the root.
    root : float or None
        The variance of the count of the root; 0 where it is public, None where it is not released.
    """

    leaves: int
    branching: tuple[int, ...]
    variances: tuple[Floats, ...]
    root: float | None

    @classmethod
    def of(cls, tree: TreeCounts, *, public: bool) -> NoisyTree:
        """Return the tree of a mechanism; `public`: the count of the cell is known without noise."""
        squares = (tree.noise_sds() / tree.steps_of_one) ** 2
        levels = zip(tree.nodes, squares, strict=True)
        each = tuple(np.full(nodes, square) for nodes, square in levels)
        below = each[1:] if tree.rooted else each
        return cls(tree.leaves, tree.branching, below, 0.0 if public else float(squares[0]) if tree.rooted else None)

    @cached_property
    def own(self) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
        """S of each node from what lies at and below it, and Σ_c s_c of its parent; level by level below the root."""
        s, totals = [self.variances[-1]], list[Floats]()
        for level in range(len(self.branching) - 1, -1, -1):
            totals.append(self.added(s[-1], level))
            if level:
                s.append(1.0 / (1.0 / self.variances[level - 1] + 1.0 / totals[-1]))
        return tuple(s[::-1]), tuple(totals[::-1])

    @property
    def root_variance(self) -> float:
        """The variance of the total: 0 where it is public."""
        total = float(self.own[1][0][0])
        if self.root is None:
            return total
        return 0.0 if self.root == 0.0 else 1.0 / (1.0 / self.root + 1.0 / total)

    def added(self, nodes: Floats, level: int) -> Floats:
        """Return the sums over the children of each node of `level`, 0 for the root; the last axis holds the nodes."""
        return np.add.reduceat(nodes, np.arange(0, nodes.shape[-1], self.branching[level]), axis=-1)

    def repeated(self, parents: Floats, level: int) -> Floats:
        """Return the number of its parent, a node of `level`, for each node of the level below it."""
        nodes = self.variances[level].shape[-1]
        return np.repeat(parents, self.branching[level], axis=-1)[..., :nodes]

    def fitted(self, levels: list[Floats], total: Floats | None) -> tuple[Floats, Floats]:
        """Return the least-squares counts of the leaves, (…, leaves), and of the root, (…).

        Parameters
        ----------
        levels : list of float array
            The noisy counts of each level below the root, (…, nodes).
        total : float array or None
            The count of the root: the public or the noisy one; None where it is not released.
        """
        s, totals = self.own
        z = [levels[-1]]
        for level in range(len(self.branching) - 1, 0, -1):
            below = self.added(z[-1], level) / totals[level]
            z.append(s[level - 1] * (levels[level - 1] / self.variances[level - 1] + below))
        z.reverse()
        root = self.added(z[0], 0)
        if total is not None and self.root == 0.0:
            root = total[..., None]
        elif total is not None and self.root is not None:
            root = self.root_variance * (total[..., None] / self.root + root / totals[0])
        h = root
        for level in range(len(self.branching)):
            beyond = (h - self.added(z[level], level)) / totals[level]
            h = z[level] + s[level] * self.repeated(beyond, level)
        return h, root[..., 0]

    def form(self, weights: Floats) -> tuple[float, float]:
        """Return (α, ρ) of Σ w_i·leaf_i at the root: its variance is ρ + α² s_root."""
        s, totals = self.own
        alpha, rest = np.asarray(weights, dtype=np.float64), np.zeros(self.leaves)
        for level in range(len(self.branching) - 1, -1, -1):
            slope = self.added(alpha * s[level], level)
            rest = self.added(rest + alpha**2 * s[level], level) - slope**2 / totals[level]
            alpha = slope / totals[level]
        return float(alpha[0]), float(max(rest[0], 0.0))

    @cached_property
    def prefixes(self) -> tuple[Floats, Floats]:
        """`form` of the count of the first i leaves, i = 0 … m: two arrays.

        Where the count ends below a node u, the form at the root is (A + Bα_u, ρ_u + P + Qα_u + Rα_u²): from the top
        down each level costs its nodes alone.
        """
        s, totals = self.own
        a, b, p, q, r = np.zeros(1), np.ones(1), np.zeros(1), np.zeros(1), np.zeros(1)
        for level in range(len(self.branching)):
            before = np.cumsum(s[level]) - s[level]
            before -= self.repeated(before[:: self.branching[level]], level)
            total = self.repeated(totals[level], level)
            left, mine = before / total, s[level] / total
            a, b, p, q, r = (self.repeated(parent, level) for parent in (a, b, p, q, r))
            a, p = a + b * left, p + before - before * left + left * (q + r * left)
            if level + 1 < len(self.branching):
                b, q, r = b * mine, mine * (q - 2.0 * before + 2.0 * r * left), s[level] * (1.0 - mine) + r * mine**2
        return np.append(a, 1.0), np.append(np.maximum(p, 0.0), 0.0)

    def prefix_variance(self, share: float | Floats) -> Floats:
        """Return the variance of (count of the first i leaves) − share·(count of all), i = 0 … m.

        >>> flat = NoisyTree(4, (4,), (np.full(4, 2.0),), root=0.0)
        >>> flat.prefix_variance(0.5).tolist()  # 2·i(1 − i/4)
        [0.0, 1.5, 2.0, 1.5, 0.0]
        """
        alpha, rest = self.prefixes
        return np.asarray(rest + (alpha - share) ** 2 * self.root_variance)

    def coarser(self, most: int) -> NoisyTree:
        """Return the tree above the level of at most so many nodes: their totals have the same law in it."""
        small = [level for level, nodes in enumerate(self.variances) if len(nodes) <= most]
        if not small or small[-1] == len(self.branching) - 1:
            return self
        last = small[-1]
        variances = (*self.variances[:last], self.own[0][last])
        return NoisyTree(len(variances[-1]), self.branching[: last + 1], variances, self.root)


def plain_levels(
    levels: list[NDArray[np.int64]], *, rooted: bool, steps: int = 1
) -> tuple[list[Floats], Floats | None]:
    """Return the released counts below the root as floats, and those of the root where it is released.

    `steps` : how many steps of the released integers are one record.
    """
    each = [level / steps for level in levels]
    return (each[1:], each[0][..., 0]) if rooted else (each, None)


def typical_prefix_variance(
    tree: TreeCounts, places: NDArray[np.int64], share: float | Floats, *, public: bool
) -> Floats:
    """Return `NoisyTree.prefix_variance` at some places as if every node were full: exact where all are, and fast.

    >>> tree = TreeCounts("laplace", 4, (2, 2), (1.0, 1.0), 1)
    >>> slow = NoisyTree.of(tree, public=True).prefix_variance(0.5)[1]
    >>> bool(abs(slow - typical_prefix_variance(tree, np.array([1]), 0.5, public=True)[0]) < 1e-12)
    True
    """
    squares, s, totals = (tree.noise_sds() / tree.steps_of_one) ** 2, [0.0], list[float]()
    many = (tree.nodes[tree.rooted], *tree.branching[1:])
    for own, branching in zip(squares[::-1], many[::-1], strict=False):
        s.append(1.0 / (1.0 / float(own) + (1.0 / totals[-1] if totals else 0.0)))
        totals.append(branching * s[-1])
    alpha, rest = np.zeros(places.shape), np.zeros(places.shape)
    for node, total, branching in zip(s[1:], totals, many[::-1], strict=True):
        left = (places % branching) * node
        slope = left + alpha * node
        rest = rest + left + alpha**2 * node - slope**2 / total
        alpha, places = slope / total, places // branching
    top = 0.0 if public else 1.0 / (1.0 / totals[-1] + (1.0 / float(squares[0]) if tree.rooted else 0.0))
    return np.asarray(rest + (alpha - share) ** 2 * top)


_FEW = 10.0  # nq(1 − q) below which the binomial law is not taken as normal
_NODES = 24
_STEPS = 44
_LEAST_CHANCE = 1e-300
_LEAST_NORMAL = 1e-3  # the normal part of pure Laplace noise, of its sd: it has a density everywhere


@dataclass(frozen=True, slots=True)
class ErrorLaw:
    """The law of (count left of x) − q·(number of records) where exactly the share q lies left of x.

    Attributes
    ----------
    records : float
        n, public or noisy; of a census the sampling error is left out.
    share : float
        q.
    census : bool
        Whether sampling error is 0.
    largest : float
        The largest variance of one Laplace number; 0 for Gaussian noise.
    effect : float
        How many times as much counts vary as those of records drawn one by one: they are read as `effect` times the
        count of so many fewer records.
    """

    records: float
    share: float
    census: bool
    largest: float
    effect: float = 1.0

    @property
    def sampling(self) -> float:
        """The variance of B."""
        return 0.0 if self.census else max(self.records, 1.0) * self.share * (1.0 - self.share) * self.effect

    def spread(self, variance: Floats) -> Floats:
        """Return the standard deviation of B + Z for each variance of the noise."""
        return np.sqrt(self.sampling + variance)

    def parts(self, variance: Floats) -> tuple[Floats, Floats]:
        """Return the variances of the normal and of the Laplace part of the noise."""
        laplace = np.minimum(variance, np.sqrt(variance * self.largest))
        return variance - laplace, laplace

    @property
    def _few(self) -> bool:
        """Whether the binomial law is taken itself and not as normal."""
        return not self.census and self.sampling < _FEW * self.effect**2 and 0.0 < self.share < 1.0

    def excess(self, error: float, variance: float, level: float, *, above: bool) -> float:
        """Return a number that is positive where an error lies beyond its reach on one side, and grows with the error.

        For one number, faster than `reach` where n is small.
        """
        side = 1.0 if above else -1.0
        if self._few:
            # Half a record as in `reach`, and the chance of this error in place of the error of this chance.
            chances, errors = self._won(side)
            tails = _tails(side * error - 0.5 - errors[:, None], *self.parts(np.array([variance])))
            return math.log((1.0 - level) / 2 / max(float((chances @ tails)[0]), _LEAST_CHANCE))
        return side * error - float(self.reach(np.array([variance]), level)[above][0])

    def reach(self, variance: Floats, level: float) -> tuple[Floats, Floats]:
        """Return (a, b) ≥ 0 with P(B + Z < −a) and P(B + Z > b) at most (1 − level)/2 each, for each variance."""
        if not self._few:
            normal, laplace = self.parts(variance)
            both = noise_quantiles(level, np.sqrt(self.sampling + normal), np.sqrt(laplace)) + 0.5
            return both, both
        at, below, above = _solved(self, float(variance.min()), float(variance.max()), level)
        root = np.sqrt(variance)
        return np.interp(root, at, below) + 0.5, np.interp(root, at, above) + 0.5

    def binomial(self, variance: Floats, tail: float, side: float) -> Floats:
        """Return c with P(side·(B + Z) > c) = tail for each variance, by bisection."""
        chances, error = self._won(side)
        parts = self.parts(variance)
        low = np.zeros_like(variance)
        high = np.full_like(variance, 60.0 * max(self.effect, 1.0)) + 40.0 * np.sqrt(variance)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            beyond = chances @ _tails(middle - error[:, None], *parts) > tail
            low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
        return high

    def _won(self, side: float) -> tuple[Floats, Floats]:
        """Return the chances of each B, and side·B."""
        from scipy.stats import binom

        n = max(1, round(self.records / self.effect))
        won = np.arange(n + 1) if n < 400 else np.arange(min(n, 200) + 1)
        share = self.share if self.share <= 0.5 else 1.0 - self.share
        side *= self.effect if share == self.share else -self.effect
        error = np.asarray((won - n * share) * side, dtype=np.float64)
        return np.asarray(binom.pmf(won, n, share)), error


@lru_cache(maxsize=64)
def _solved(law: ErrorLaw, least: float, most: float, level: float) -> tuple[Floats, Floats, Floats]:
    """Return some sds of the noise and the reaches at them: they are smooth, and read between them by lines."""
    sd = np.unique(np.linspace(math.sqrt(least), math.sqrt(most), _NODES))
    tail = (1.0 - level) / 2
    return sd, law.binomial(sd**2, tail, -1.0), law.binomial(sd**2, tail, 1.0)


def _tails(h: Floats, normal: Floats, laplace: Floats) -> Floats:
    """Return P(Z > h), Z normal plus Laplace of these variances; both arrays broadcast."""
    from hedgerow.special import ndtr

    total = normal + laplace
    if not total.max() > 0.0:
        return np.asarray(h < 0.0, dtype=np.float64)
    sd = np.sqrt(np.maximum(normal, _LEAST_NORMAL**2 * total))
    if not laplace.max() > 0.0:
        return np.asarray(ndtr(-h / sd))
    size, scale = np.abs(h), np.sqrt(laplace / 2.0)
    tail = laplace_tail(size, np.broadcast_to(sd, h.shape), np.broadcast_to(scale, h.shape))[0]
    return np.where(h >= 0.0, tail, 1.0 - tail)
