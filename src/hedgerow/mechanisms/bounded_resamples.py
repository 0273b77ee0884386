"""The bounded bootstrap: k replicates in which no record is drawn more than j times, each plus Gaussian noise.

Brawner and Honaker (2018, §6.1) limit the copies of a record, so that a replicate moves by at most j times what the
plain query moves by. That argument holds, with a proof in two lines. Given how often a record is drawn in each
replicate, r_1 … r_k, the release is a Gaussian mechanism whose two means are √(Σ r_b²)·Δ/σ ≤ √k·j·Δ/σ = μ apart, Δ/σ
what one draw moves in standard deviations of one replicate's noise. The draws have the same law whatever the record
is, and δ(ε) of a mixture is at most that of its worst part (the hockey-stick divergence is convex). So the whole
release costs no more than one Gaussian at μ, and it has a ρ = μ²/2, which the bootstrap without a limit has not.

The noise is j times that of a bootstrap whose records are drawn about once: the price takes every record as drawn j
times in every replicate. docs/methods/private_bootstrap.md compares the two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.dominating_pairs import ROUND_UP, DominatingPair, GaussianPair
from hedgerow.accounting.poisson_mixtures import priced_noise_sd
from hedgerow.errors import UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.interface import Quote, Specimen
from hedgerow.mechanisms.noisy_moments import Presence
from hedgerow.mechanisms.resampled_sums import ResampledCoordinate, ResampledRows, Shape, bootstrap, one_value
from hedgerow.noise.lattice import require_positive
from hedgerow.resampling.counted_values import Histogram
from hedgerow.resampling.replicates import capped_law, capped_weights, replicate_sums

COPIES = 5
"""j of a release: the paper's "say 5", which of a thousand records cuts off the draws of fewer than one."""


@dataclass(frozen=True, slots=True)
class BoundedResampled(ResampledRows):
    """k replicates: each record drawn min(r, `most`) times, r ~ Poisson(rate), its sums added up, noise on each sum.

    Shapes, coordinates, presence and cells are those of `ResampledGaussian`.

    Examples
    --------
    Five copies need five times the noise of the plain release at the same μ:

    >>> from hedgerow.noise.lattice import lattice_noise
    >>> coordinate = ResampledCoordinate(1, lattice_noise(10.0))
    >>> one, five = (BoundedResampled(4, 1.0, most, "value", (coordinate,), "public", 1) for most in (1, 5))
    >>> round(one.mu(Relation.REPLACE_ONE), 3), round(five.mu(Relation.REPLACE_ONE), 3)
    (0.4, 2.0)
    """

    n_resamples: int
    rate: float
    most: int
    shape: Shape
    coordinates: tuple[ResampledCoordinate, ...]
    presence: Presence
    cells: int
    type: Literal["bounded-resampled-gaussian"] = "bounded-resampled-gaussian"
    price_name: ClassVar[str | None] = "bounded-bootstrap"
    sized_by_mu: ClassVar[bool] = True
    has_mu: ClassVar[bool] = True
    methods: ClassVar[tuple[str, ...]] = ("bounded-bootstrap",)

    def __post_init__(self) -> None:
        require_positive(most=self.most)
        super(BoundedResampled, self).__post_init__()

    @classmethod
    def of_noise_sd(cls, noise_sd: float, quote: Quote) -> BoundedResampled:
        """Return k resampled sums of one centred value within ½, each replicate with noise of this sd."""
        coordinate, presence = one_value(noise_sd, quote)
        return cls(quote.n_resamples, quote.rate, COPIES, "value", (coordinate,), presence, 1)

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return three replicates at a rate of 3: most records are drawn as often as the price takes all to be."""
        public = bounded(3, 2, rate=3.0, rho=0.125)
        private = bounded(3, 2, rate=3.0, rho=0.125, presence="private")
        return (
            Specimen("bounded bootstrap, k = 3", public, Relation.REPLACE_ONE, 1e-3),
            Specimen("bounded bootstrap, k = 3", private, Relation.ADD_REMOVE, 1e-3),
        )

    def mu(self, relation: Relation) -> float:
        """Return √k·j·Δ/σ, Δ/σ the farthest that one draw of a record, or of two that change places, moves.

        Raises
        ------
        UncertifiedError
            HG401: presence is public under add-remove.
        """
        if relation is Relation.ADD_REMOVE and self.presence == "public":
            raise UncertifiedError(
                "HG401",
                rule="Under add-remove the presence of a person in the data is private.",
                finding="The mechanism states that the presence of a person is public.",
            )
        distances = [at.distance / priced_noise_sd(1.0, lattice_steps=at.noise.width) for at in self.coordinates]
        return math.sqrt(self.n_resamples) * self.most * self._farthest(distances, relation) * ROUND_UP

    def _farthest(self, distances: list[float], relation: Relation) -> float:
        norm = max(distances) if self.shape == "one-of" else math.hypot(*distances)
        if relation is Relation.ADD_REMOVE:
            return norm
        if self.shape == "one-of":
            return math.sqrt(2.0) * norm
        if self.shape == "vector":
            return 2.0 * norm
        # A value turns about; where presence is private the record comes, goes, or changes its cell.
        same = 0.0 if self.shape == "count" else 2.0 * distances[0]
        moving = 0.0 if self.presence == "public" else norm * (math.sqrt(2.0) if self.cells > 1 else 1.0)
        return max(same, moving)

    def terms(self, relation: Relation) -> tuple[DominatingPair, ...]:
        """Return the Gaussian pair that dominates every mixture over the draws."""
        return (GaussianPair(self.mu(relation)),)

    @property
    def copies(self) -> int:
        """`most`."""
        return self.most

    def weight_moments(self) -> tuple[float, float]:
        """Return mean and variance of how often a record is drawn."""
        return bounded_moments(self.rate, self.most)

    def log_chances(self) -> tuple[float, ...]:
        """Return the logarithm of the chance that a record is drawn 0, …, `most` times."""
        return tuple(np.log(capped_law(self.rate, self.most)).tolist())

    def resampled(self, histogram: Histogram, features: NDArray[np.int64], chance: np.random.Generator) -> NDArray[Any]:
        """Return the resampled integer sums (cells × features × replicates), without noise."""
        law = capped_law(self.rate, self.most)

        def draw(count: NDArray[np.int64], size: int) -> NDArray[np.int64]:
            return capped_weights(count, chances=law, n_resamples=size, generator=chance)

        return replicate_sums(histogram, features, n_resamples=self.n_resamples, draw=draw)


def bounded(
    n_resamples: int, most: int, *, rate: float = 1.0, rho: float = 0.5, presence: Presence = "public"
) -> BoundedResampled:
    """Return k resampled sums, no record drawn more than `most` times, noise as in `bootstrap`."""
    coordinates = bootstrap(n_resamples, "value", rho=rho, presence="private").coordinates
    return BoundedResampled(n_resamples, rate, most, "value", coordinates, presence, 1)


def bounded_moments(rate: float, most: int) -> tuple[float, float]:
    """Return mean and variance of min(r, most), r ~ Poisson(rate).

    >>> [round(one, 4) for one in bounded_moments(1.0, 5)]
    [0.9993, 0.9936]
    """
    chances, r = capped_law(rate, most), np.arange(most + 1.0)
    mean = float(chances @ r)
    return mean, float(chances @ (r - mean) ** 2)
