"""The mutants: releases broken on purpose, each with the layer of the audit that must reject it.

A layer that accepts its mutant does not see what it should see.

=========================  ====================================================================================
layer                      what it sees
=========================  ====================================================================================
attack                     outputs on worst neighbours: a certified lower bound on ε above the claimed price
enumeration                δ(ε) summed over all outputs
law                        draws alone: KS distance, spread
lattice                    released numbers alone: are they multiples of the public step
replay                     the release from inside, on neighbours, with one seed: branches, draws, endings
sensitivity                exact tables of neighbours against the declared sensitivity
=========================  ====================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from hedgerow.audit.broken import (
    Rejection,
    clamp_dropped,
    exact_threshold,
    float_noise,
    half_noise,
    level_unpriced,
    nan_let_through,
    noise_reused,
    noise_two_per_cent_low,
    off_centre,
    one_resample,
    resample_at_one_over_z,
    scalar_price,
    textbook_laplace,
    weights_reused,
    wrong_relation,
)

Layer = Literal["attack", "enumeration", "law", "lattice", "replay", "sensitivity"]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One release broken on purpose.

    Attributes
    ----------
    name, broken : str
        What it is called, and what is broken in a sentence.
    layer : str
        Which layer must reject it.
    run : callable
        ``run(seed)`` tries it on its layer, with as many outputs as that layer needs.
    """

    name: str
    broken: str
    layer: Layer
    run: Callable[[int], Rejection]


@dataclass(frozen=True, slots=True)
class Caught:
    """A mutant with what its layer found."""

    mutant: Mutant
    found: Rejection

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: name, broken, layer, rejected, evidence."""
        return {
            "name": self.mutant.name,
            "broken": self.mutant.broken,
            "layer": self.mutant.layer,
            "rejected": self.found.rejected,
            "evidence": self.found.evidence,
        }


def mutants() -> tuple[Mutant, ...]:
    """Return all mutants in the order of the list in ``docs/promise.md``.

    >>> len(mutants())
    15
    """
    return (
        Mutant("half noise", "noise is half as wide as priced", "attack", half_noise),
        Mutant("noise 2 % low", "noise is .98 times as wide as priced", "law", noise_two_per_cent_low),
        Mutant("BH at k = 1", "one textbook resample at the price of the plain query", "attack", one_resample),
        Mutant("resample at 1/Z", "the score of n/Z records drawn with replacement, claimed at ε = 1/Z", "attack",
               resample_at_one_over_z),
        Mutant("scalar price for a grouped mean", "cells of (sum, count) at the price of one sum", "attack",
               scalar_price),
        Mutant("level unpriced", "a tree of counts at the price of its lowest level", "attack",
               level_unpriced),
        Mutant("off-centre grid", "values are not centred at the midpoint before resampling", "attack",
               off_centre),
        Mutant("clamp dropped", "values out of bounds are added up as they are", "sensitivity", clamp_dropped),
        Mutant("NaN let through", "NaN reaches the arithmetic instead of counting as missing", "replay",
               nan_let_through),
        Mutant("one replicate's noise reused", "all replicates share one draw of noise", "attack",
               noise_reused),
        Mutant("weights reused across replicates", "all replicates share one draw of weights", "attack",
               weights_reused),
        Mutant("wrong relation", "noise for add-remove, claimed for replace-one", "enumeration",
               wrong_relation),
        Mutant("float noise off the lattice", "noise is a double, not a multiple of the step", "lattice",
               float_noise),
        Mutant("sparse vector, exact threshold", "the threshold of a sparse vector has no noise", "enumeration",
               exact_threshold),
        Mutant("textbook NumPy Laplace", "a count plus numpy's Laplace draw in doubles", "attack",
               textbook_laplace),
    )  # fmt: skip
