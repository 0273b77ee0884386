"""All mutants: the releases broken on purpose that the audit must reject."""

from __future__ import annotations

from hedgerow.audit.mutants import broken_inside as inside
from hedgerow.audit.mutants import broken_outside as outside
from hedgerow.audit.mutants import broken_sparse_vector as sparse
from hedgerow.audit.mutants.mutant import Mutant


def mutants() -> tuple[Mutant, ...]:
    """Return all mutants in the order of the list in ``docs/promise.md``.

    >>> len(mutants())
    14
    """
    return (
        Mutant("half noise", "noise is half as wide as priced", "attack", outside.half_noise),
        Mutant("noise 2 % low", "noise is .98 times as wide as priced", "law", inside.noise_two_per_cent_low),
        Mutant("BH at k = 1", "one textbook resample at the price of the plain query", "attack", outside.one_resample),
        Mutant("resample at 1/Z", "the score of n/Z records drawn with replacement, claimed at ε = 1/Z", "attack",
               outside.resample_at_one_over_z),
        Mutant("scalar price for a grouped mean", "cells of (sum, count) at the price of one sum", "attack",
               outside.scalar_price),
        Mutant("off-centre grid", "values are not centred at the midpoint before resampling", "attack",
               outside.off_centre),
        Mutant("clamp dropped", "values out of bounds are added up as they are", "sensitivity", inside.clamp_dropped),
        Mutant("NaN let through", "NaN reaches the arithmetic instead of counting as missing", "replay",
               inside.nan_let_through),
        Mutant("one replicate's noise reused", "all replicates share one draw of noise", "attack",
               outside.noise_reused),
        Mutant("weights reused across replicates", "all replicates share one draw of weights", "attack",
               outside.weights_reused),
        Mutant("wrong relation", "noise for add-remove, claimed for replace-one", "enumeration",
               inside.wrong_relation),
        Mutant("float noise off the lattice", "noise is a double, not a multiple of the step", "lattice",
               inside.float_noise),
        Mutant("sparse vector, exact threshold", "the threshold of a sparse vector has no noise", "enumeration",
               sparse.exact_threshold),
        Mutant("textbook NumPy Laplace", "a count plus numpy's Laplace draw in doubles", "attack",
               outside.textbook_laplace),
    )  # fmt: skip
