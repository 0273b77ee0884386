"""A mutant: a release broken on purpose, with the layer that must reject it; a layer that accepts its mutant is blind.

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

Layer = Literal["attack", "enumeration", "law", "lattice", "replay", "sensitivity"]


@dataclass(frozen=True, slots=True)
class Rejection:
    """Whether the layer saw that something is broken, and on what evidence; with ε found and claimed if it is that."""

    rejected: bool
    evidence: str
    epsilon_lower: float | None = None
    epsilon_upper: float | None = None


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
        ``run(seed)`` lets its layer at it, with as many outputs as that layer needs.
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
