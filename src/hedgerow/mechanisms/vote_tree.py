"""Votes of units at every level of a tree over leaves, and numbers of how units vary, each plus noise.

A unit has votes, which it gives to leaves of cells: each of its rows one, with at most L rows; or one vote in all,
divided evenly over its rows; or, where rows are units with weights, one vote of size w/w_max. In each case the votes of
a unit are numbers from 0 on with a sum of at most V. They are added up in whole steps, `one` of which are a vote, so
fine that noise is thousands of steps wide. With w_l the width of the noise of level l in steps, p = 1 for Laplace and
p = 2 for Gaussian noise, M = (V·one)^p and B = Σ_l w_l^−p below the root, R = w_0^−p of the root, the largest
Σ (|movement|/w)^p are

==================  =========================  ===============================
pair                one cell                   several cells
==================  =========================  ===============================
one unit            M (B + R)                  M (B + R)
one for another     M max(2B, B + R)           2M (B + R)
==================  =========================  ===============================

Proof. A unit with the votes x ≥ 0 of leaves, Σx = s ≤ V·one, moves the nodes of a level by sums of these x, whose p-th
powers add up to s^p at most: in all M (B + R), reached by all votes in one leaf. Of two units a node moves by |a − b|,
Σ|a − b|^p ≤ Σ a^p + Σ b^p ≤ s^p + s'^p, and the root of a cell by |s − s'|^p. With one cell this is
(s^p + s'^p)B + |s − s'|^p R, which is convex in (s, s'): largest at (V, V) or (V, 0). With several cells the roots
cost at most s^p + s'^p more. All of these are reached.

**How units vary.** After the tree, numbers of a second release follow: for places that the noisy tree itself points to,
Σ (k − q·r)² over units, k a unit's votes left of the place and r all of its votes in the cell. Places and q are public
by then. Their noise is as wide as what a unit moves them by (`spread.moved`), over `distance`: so its cost is
`distance`^p whatever the places are, and costs of releases add up where the later depends on the earlier.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from hedgerow.accounting.dominating_pairs import DominatingPair
from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.histograms import Integers, TreeCounts
from hedgerow.mechanisms.interface import Floats, Specimen
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE, Additive
from hedgerow.noise.lattice import FINE, MIN_LATTICE_STEPS, NoiseSource, require_positive

SHARES = 2**10
"""Into how many parts shares are cut where it is told how units vary: exact in integers."""
_MOST_STEPS, _BITS = 2**40, 30  # of what a unit moves the numbers of how units vary by, in steps of their noise
_OF_SQUARES = 0.05  # of ε, or of μ²: the share of the numbers of how units vary


@dataclass(frozen=True, slots=True)
class VoteTree(TreeCounts):
    """Votes at all nodes of a tree over `leaves` leaves in each of `cells` cells, then how units vary; integer noise.

    Guarantee: under Gaussian noise μ² is the cost that the text above proves, under Laplace noise ε is, pure.

    Attributes
    ----------
    law, leaves, branching, cells
        As of `TreeCounts`.
    widths : tuple of float
        Of the noise of each level, in steps: whole numbers of 1,000 at least.
    one : int
        How many steps are a whole vote.
    parts : int
        Into how many equal parts a vote is divided, each of whole steps.
    reach : int
        V, the whole votes that a unit has at most.
    distance : float
        What the numbers of how units vary move by at most, in units of the width of their noise: in all, as a Euclidean
        length (Gaussian) or as a sum (Laplace); 0 where none follow.
    rows : int or None
        The limit of rows of a unit; None where a unit is a row.

    Examples
    --------
    Four rows of one unit cost what four counts of one record do:

    >>> tree = VoteTree("laplace", 4, (2, 2), (2000.0, 2000.0), 1, one=1000, parts=1, reach=4, distance=0.0, rows=4)
    >>> tree.pure(Relation.ADD_REMOVE), tree.pure(Relation.REPLACE_ONE)
    (4.000000000004, 8.000000000008)
    """

    one: int = field(kw_only=True)
    parts: int = field(kw_only=True)
    reach: int = field(kw_only=True)
    distance: float = field(kw_only=True)
    rows: int | None = field(kw_only=True)
    type: Literal["vote-tree"] = "vote-tree"  # type: ignore[assignment]  # each mechanism has a name of its own
    price_name: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        TreeCounts.__post_init__(self)
        limit = {} if self.rows is None else {"rows": self.rows}
        require_positive(one=self.one, parts=self.parts, reach=self.reach, **limit)
        whole = all(type(number) is int for number in (self.one, self.parts, self.reach, *limit.values()))
        whole = whole and self.one % self.parts == 0
        wide = all(width >= MIN_LATTICE_STEPS and width == int(width) for width in self.widths)
        if not (whole and wide and self.one <= _MOST_STEPS and 0.0 <= self.distance < math.inf):
            raise ParameterError(
                "HG406",
                rule="A tree of votes has whole widths of 1,000 steps or more, and a finite distance from 0 on.",
                finding="This one has not.",
            )

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return votes of rows, of units and of weighted rows."""
        near, far = Relation.ADD_REMOVE, Relation.REPLACE_ONE
        wide, narrow = (8000.0, 6000.0), (9000.0, 6000.0, 6000.0)
        rows = cls("gaussian", 4, (2, 2), wide, 1, one=2000, parts=1, reach=2, distance=0.0, rows=2)
        by_group = cls("gaussian", 4, (2, 2), narrow, 2, one=2000, parts=1, reach=2, distance=0.0, rows=2)
        shared = cls("laplace", 4, (2, 2), narrow, 1, one=1200, parts=6, reach=1, distance=0.0, rows=3)
        weighted = cls("laplace", 3, (3,), (4096.0,), 1, one=4096, parts=4096, reach=1, distance=0.0, rows=None)
        return (
            Specimen("rows of units in leaves", rows, far, 1e-3),
            Specimen("rows of units in leaves by group", by_group, far, 1e-3),
            Specimen("a vote of each unit, pure", shared, near, 0.0),
            Specimen("weighted records in leaves, pure", weighted, far, 0.0),
        )

    @property
    def row_limit(self) -> int | None:
        """`rows`."""
        return self.rows

    @property
    def apart(self) -> float:
        """The least effect of units on the variance of a share if their rows have nothing in common; 0: of weights."""
        return 0.0 if self.rows is None else self.reach / self.rows

    @property
    def steps_of_one(self) -> int:
        """`one`."""
        return self.one

    @property
    def tells_spread(self) -> bool:
        """Whether `distance` is above 0."""
        return self.distance > 0.0

    @property
    def moved(self) -> int:
        """All votes of a unit, in steps: those of a unit that gives them to one leaf."""
        return self.reach * self.one

    def cost(self, relation: Relation) -> float:
        """Return Σ (|movement|/w)^p over the worst neighbours: ε of Laplace noise, μ² of Gaussian noise."""
        power = self.noise_law.power
        costs = [(self.moved / width) ** power for width in self.widths]
        root = costs[0] if self.rooted else 0.0
        below = math.fsum(costs[self.rooted :])
        if relation is Relation.ADD_REMOVE:
            largest = below + root
        elif self.cells > 1:
            largest = 2.0 * (below + root)
        else:
            largest = max(2.0 * below, below + root)
        return largest + self.distance**power

    def mu(self, relation: Relation) -> float:
        """Return μ of Gaussian noise."""
        return math.sqrt(self.cost(relation)) * (1.0 + 1e-12)

    def pure(self, relation: Relation) -> float:
        """Return ε of Laplace noise."""
        return self.cost(relation) * (1.0 + 1e-12)

    def terms(self, relation: Relation) -> tuple[DominatingPair, ...]:
        """Return the dominating pair of a vector."""
        return Additive.terms(self, relation)

    def half_width(self, cells: int, gamma: float) -> float:
        """Return h with P(all votes of the widest level within ± h) ≥ 1 − γ, in votes."""
        return TreeCounts.half_width(self, cells, gamma) / self.one

    def squares_noise(self, spans: Integers, shares: Integers, relation: Relation) -> SquaresNoise:
        """Return the noise of the numbers of how units vary, for spans of leaves by cell.

        With x_j = (1 − q_j)² where a leaf lies in span j, else q_j², a unit with all V votes in that leaf adds
        V²x_j to number j. What a unit adds is convex in its votes, and so is Σ_j of the p-th powers: largest for all
        votes in one leaf. One unit for another moves number j by at most the larger of what both add: convex too.

        Parameters
        ----------
        spans : int64 array, (cells, places, 2)
            The edges between which the leaves of a span lie.
        shares : int64 array, (cells, places)
            q_j · `SHARES`.
        relation : Relation

        Examples
        --------
        A median's number is between 0 and V²/4:

        >>> tree = VoteTree("laplace", 2, (2,), (2000.0,), 1, one=1000, parts=1, reach=4, distance=0.5, rows=4)
        >>> noise = tree.squares_noise(np.array([[[0, 1]]]), np.array([[SHARES // 2]]), Relation.REPLACE_ONE)
        >>> round(noise.width * 2.0**noise.shift / 1000**2 / SHARES**2 * 0.5, 6)
        4.0
        """
        power, places = self.noise_law.power, shares.shape[1]
        alone, same = list[float](), list[float]()
        for span, own in zip(spans, shares.astype(np.float64), strict=True):
            # Leaves between two neighbouring edges lie in the same spans.
            leaf = np.unique(np.append(span, 0))[:, None]
            moves = np.where((span[:, 0] <= leaf) & (leaf < span[:, 1]), SHARES - own, own) ** 2
            alone.append(float((moves**power).sum(axis=1).max()))
            both = np.maximum(moves[:, None, :], moves[None, :, :])
            same.append(float((both**power).sum(axis=2).max()))
        largest = max(alone)
        if relation is Relation.REPLACE_ONE:
            largest = max(*same, sum(sorted(alone)[-2:]) if self.cells > 1 else 0.0)
        most = largest ** (1.0 / power) * float(self.moved) ** 2
        shift = max(0, math.ceil(math.log2(most)) - _BITS)
        # What is shifted is rounded down: each number moves by at most one more.
        return SquaresNoise(shift, math.ceil((most / 2.0**shift + 2.0 * places) * (1.0 + 1e-12) / self.distance))

    def noisy_squares(self, squares: Sequence[int], noise: SquaresNoise, source: NoiseSource) -> Floats:
        """Return exact numbers of how units vary, in steps², each plus noise, in votes²: what becomes public."""
        drawn = self.noise_law.draw(source, float(noise.width), len(squares))
        exact = np.array([square >> noise.shift for square in squares], dtype=object)
        return np.asarray((exact + drawn) * (2**noise.shift / (self.one * SHARES) ** 2), dtype=np.float64)

    def squares_sd(self, noise: SquaresNoise) -> float:
        """Return the standard deviation of that noise, in votes²."""
        return self.noise_law.sd(float(noise.width)) * 2.0**noise.shift / (self.one * SHARES) ** 2


class SquaresNoise(NamedTuple):
    """Exact numbers lose their last `shift` bits, and noise of a width is added."""

    shift: int
    width: int


def vote_tree(
    law: Literal["gaussian", "laplace"],
    leaves: int,
    branching: tuple[int, ...],
    weights: tuple[float, ...],
    *,
    precision: float,
    cells: int,
    relation: Relation,
    votes: VotesOfUnit,
) -> VoteTree:
    """Return a tree of votes whose levels have noise of widths in proportion to 1/weight, at a cost of `precision`.

    The cost is μ = `precision` for Gaussian noise, ε = `precision` for Laplace noise. How units vary takes a share.

    >>> rows, near = VotesOfUnit(parts=1, reach=4, rows=4, varies=True), Relation.ADD_REMOVE
    >>> tree = vote_tree("laplace", 4, (2, 2), (1.0, 1.0), precision=1.0, cells=1, relation=near, votes=rows)
    >>> round(tree.pure(near), 5), tree.distance
    (1.0, 0.05)
    """
    power = (GAUSSIAN if law == "gaussian" else LAPLACE).power
    share = _OF_SQUARES if votes.varies else 0.0
    unit = VoteTree(
        law,
        leaves,
        branching,
        tuple(float(math.ceil(FINE / weight)) for weight in weights),
        cells,
        one=FINE,
        parts=1,
        reach=votes.reach,
        distance=0.0,
        rows=votes.rows,
    )
    scale = (unit.cost(relation) / (1.0 - share)) ** (1.0 / power) / precision
    narrowest = min(unit.widths) / FINE * scale
    one = votes.parts * 2 ** max(0, math.ceil(math.log2(FINE / narrowest / votes.parts)))
    widths = tuple(float(math.ceil(width / FINE * scale * one)) for width in unit.widths)
    distance = precision * share ** (1.0 / power)
    return replace(unit, widths=widths, one=one, parts=votes.parts, distance=distance)


class VotesOfUnit(NamedTuple):
    """What a unit votes with.

    Attributes
    ----------
    parts, reach, rows
        As of `VoteTree`.
    varies : bool
        Whether it is told how units vary.
    """

    parts: int
    reach: int
    rows: int | None
    varies: bool
