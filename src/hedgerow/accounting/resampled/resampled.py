"""The price of a resampled release: from its description to the worst pairs of neighbours, and their curve.

Which pairs exist (private_bootstrap.md §2), in units of each coordinate's noise sd:

===================  ===========================  =================================================================
shape                add-remove                   replace-one
===================  ===========================  =================================================================
``value``            one-sided at a               same cell (a, −a); across at a with two cells or more
``value-and-count``  one-sided at √(a² + κ²)      same cell (a, κ) | (−a, κ); one-sided; across with two cells or more
``count``            one-sided at κ               one-sided; across with two cells or more
``one-of``           one-sided at the largest     across at the largest
``vector``           one-sided at the norm        split: across at the norm, at half the noise variance
===================  ===========================  =================================================================

The split pair is a proof for every two vectors φ, φ' of norm at most C, whatever their angle. Write the noise as
Z = Z₁ + Z₂ with half the variance each. Then r·φ + Z is the sum of the two parts of (r·φ + Z₁, Z₂), and r'·φ' + Z that
of (Z₁, r'·φ' + Z₂); adding them is post-processing. So the pair costs no more than *remove φ* and, independently,
*add φ'* at noise σ/√2: the across pair. In the Gaussian limit this loses nothing against opposite vectors, which are
2C/σ apart.
"""

from __future__ import annotations

import math
from functools import lru_cache

from hedgerow.accounting.loss_grid import Curve
from hedgerow.accounting.resampled.equal_sign import require_scanned
from hedgerow.accounting.resampled.mixture import Pair, PairKind, priced_noise_sd, release_curve
from hedgerow.errors import UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.mechanism import ResampledGaussian


@lru_cache(maxsize=256)
def resampled_curve(mechanism: ResampledGaussian, relation: Relation) -> Curve:
    """Return an upper bound on the privacy curve of all k replicates together.

    Raises
    ------
    UncertifiedError
        HG403: replace-one outside the range in which the equal-sign pairs were scanned.
    """
    return release_curve(resampled_pairs(mechanism, relation), n_resamples=mechanism.n_resamples)


def resampled_pairs(mechanism: ResampledGaussian, relation: Relation) -> tuple[Pair, ...]:
    """Return the kinds of neighbour whose curves must all be paid, in units of the noise sd."""
    # Distances are divided by the sd of the continuous release that costs at least as much as the lattice one.
    distances = [
        coordinate.distance / priced_noise_sd(1.0, lattice_steps=coordinate.noise.width)
        for coordinate in mechanism.coordinates
    ]
    rate = mechanism.rate
    norm = max(distances) if mechanism.shape == "one-of" else math.hypot(*distances)
    one_sided = Pair(PairKind.ONE_SIDED, 1.0, norm, rate)
    if relation is Relation.ADD_REMOVE:
        if mechanism.presence == "public":
            raise UncertifiedError(
                "HG401", rule="Under add-remove nobody's presence is public.", finding="The mechanism says it is."
            )
        return (one_sided,)
    across = Pair(PairKind.ACROSS, 1.0, norm, rate)
    if mechanism.shape == "one-of":
        return (across,)
    if mechanism.shape == "vector":
        return (Pair(PairKind.ACROSS, math.sqrt(0.5), norm, rate),)
    moving = across if mechanism.cells > 1 else one_sided
    if mechanism.shape == "count":
        return (moving,)
    value, weight = distances[0], distances[1] if mechanism.shape == "value-and-count" else 0.0
    require_scanned(noise_sd=1.0, bound=value, rate=rate, count_weight=weight)
    same = Pair(PairKind.SAME_CELL, 1.0, value, rate, weight)
    # Without a count the one-sided pair is the same-cell pair (a, 0), which (a, −a) dominates.
    return (same, moving) if weight or mechanism.cells > 1 else (same,)
