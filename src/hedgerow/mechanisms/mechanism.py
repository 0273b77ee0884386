"""Frozen descriptions of what ran: what is priced is what was drawn. The registry of all mechanisms, by name in JSON.

A description holds every parameter that pricing needs, and nothing about the data. Its meaning never changes: new
behaviour is a new class. ``type`` is its name in JSON.

========================  =======================================================================================
`GeometricCounts`         counts of disjoint cells, discrete Laplace (two-sided geometric) noise
`GaussianCounts`          counts of disjoint cells, discrete Gaussian noise on the integers
`AveragedLaplaceCounts`   counts of disjoint cells, the noise a sum of k discrete Laplace numbers
`MomentsGaussian`         (count, sum, second moment) of cells, discrete Gaussian noise on a fine lattice
`MomentsGeometric`        the same with discrete Laplace noise on the lattice: pure ε
`AveragedLaplaceMoments`  the same, the noise on each coordinate a sum of k such numbers: pure ε
`CellTotals`              (sum, second moment) of cells, clamped to each cell's own bounds, noise of its own width
`JointMoments`            counts, sums and products of several features of cells, noise of any law: one noisy vector
`TreeCounts`              counts of every level of a tree over ordered leaves: a histogram is one level
`ResidualMargins`         residuals of many tables of the same columns, from which all of them follow and add up
`VoteTree`                the same of votes of units of several rows, or of weighted records; and how units vary
`ResampledGaussian`       k Poisson-resampled tables of sums, each plus discrete Gaussian noise on a fine lattice
`BoundedResampled`        the same, no record drawn more than j times: it has a ρ
`ResampledUnits`          `ResampledGaussian` where a unit has several rows, in several cells
`Resample`                draws with replacement, released as they are: (0, δ), and nothing better
`SmoothedResample`        draws from binary outcomes and as many made-up ones: pure ε
`GaussianNoise`           one number with Gaussian noise (priced, never drawn)
`LaplaceNoise`            one number with Laplace noise (priced, never drawn)
`AveragedLaplaceNoise`    one number with the average of k Laplace releases (priced, never drawn)
`SparseVector`            questions against a noisy threshold until a number of them is answered yes: pure ε
`HistogramRounds`         rounds of (residual sum, count) over groups × buckets, discrete Gaussian noise
`NewtonSteps`             steps of (gradient, curvature) of a logistic regression, discrete Gaussian noise
`StableCategories`        noisy counts of the values that occur, shown from a threshold on
`RandomisedRecords`       every record replaced by random bits before it is used: pure ε, replace-one only
`Composition`             several of these on the same records
========================  =======================================================================================

To add a mechanism, write `mechanisms/<name>.py` with one frozen dataclass that extends `AtomicMechanism`: its
parameters, its ``type``, and the methods `terms` (its price), `specimens`, `worst_pairs`, `outputs` and `change` (its
audit), beside the method that draws it. `kinds` finds it by its file; certificates, ledgers, calibration, the campaign
of the audit and ``hedgerow verify`` then know it. With `price_name`, `of_noise_sd` and `priced_sd`, ``hedgerow price``
and ``audit`` do too.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, Literal

from hedgerow import mechanisms
from hedgerow.accounting.dominating_pairs import DominatingPair
from hedgerow.accounting.lower_bounds import ExactLaw, ExactPair, LowerBoundPairs, epsilon_lower
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.interface import LATER, AtomicMechanism, Mechanism, Specimen

_TYPICAL_DELTA = 1e-6  # at which the pairs of a part are compared; any choice is a lower bound


@dataclass(frozen=True, slots=True)
class Composition(Mechanism):
    """Several mechanisms run on the same records, each with noise of its own."""

    parts: tuple[AtomicMechanism, ...]
    type: Literal["composition"] = "composition"

    def singles(self) -> tuple[AtomicMechanism, ...]:
        """Return the parts."""
        return self.parts

    def terms(self, relation: Relation) -> tuple[DominatingPair, ...]:
        """Return the terms of all parts."""
        return tuple(term for part in self.parts for term in part.terms(relation))

    def nearly_mu(self, relation: Relation) -> float | None:
        """Return the μ of a Gaussian release that costs about as much, where all parts know theirs."""
        known = [mu for mu in (part.nearly_mu(relation) for part in self.parts) if mu is not None]
        return math.hypot(*known) if len(known) == len(self.parts) else None

    def attained(self, relation: Relation) -> LowerBoundPairs:
        """Return two records that are the worst for each part: possible where the parts read columns of their own.

        Noise that is symmetric costs the same in both orders, so they need not be told apart.
        """
        if len(self.parts) == 1:
            return self.parts[0].attained(relation)
        together: list[tuple[ExactLaw, int]] = []
        for part in self.parts:
            attained = part.attained(relation)
            if not part.symmetric or not attained.pairs:
                return LowerBoundPairs((), f"No pair of records is known to be the worst of a part, {part.type}.")
            worst: ExactPair = max(attained.pairs, key=lambda pair: epsilon_lower(pair, _TYPICAL_DELTA))
            together += worst
        return LowerBoundPairs(
            (tuple(together),), "What is worst for each part need not be worst for all of them together."
        )


@cache
def kinds() -> dict[str, type[AtomicMechanism]]:
    """Return every single mechanism by its ``type`` in JSON, from the files of this folder and of those in it.

    >>> kinds()["geometric"].__name__
    'GeometricCounts'
    """
    modules = [import_module(listed.name) for listed in walk_packages(mechanisms.__path__, f"{mechanisms.__name__}.")]
    classes = [kind for module in modules for kind in vars(module).values() if isinstance(kind, type)]
    listed = [
        kind
        for kind in classes
        if issubclass(kind, AtomicMechanism) and "type" in getattr(kind, "__dataclass_fields__", ())
    ]
    return {str(kind.__dataclass_fields__["type"].default): kind for kind in listed}


def specimens() -> tuple[Specimen, ...]:
    """Return what a campaign of the audit attacks: the specimens of every registered mechanism.

    >>> {type(specimen.mechanism) for specimen in specimens()} == set(kinds().values())
    True
    """
    return tuple(specimen for kind in kinds().values() for specimen in kind.specimens())


@cache
def priced() -> dict[str, type[AtomicMechanism]]:
    """Return the mechanisms that ``hedgerow price`` and ``audit`` know by a name of their own.

    >>> ", ".join(priced())
    'averaged-laplace, bootstrap, bounded-bootstrap, gaussian, geometric, joint-moments, laplace, moments, tree-counts'
    """
    return dict(sorted((kind.price_name, kind) for kind in kinds().values() if kind.price_name is not None))


def parts_of(mechanism: Mechanism) -> tuple[AtomicMechanism, ...]:
    """Return the single mechanisms that a mechanism is made of: itself, or the parts of a composition.

    >>> from hedgerow.mechanisms.noisy_counts import GeometricCounts
    >>> parts_of(Composition((GeometricCounts(scale=1.0, cells=2),)))
    (GeometricCounts(scale=1.0, cells=2, type='geometric', rows=None, tables=None),)
    """
    return mechanism.singles()


def as_record(mechanism: Mechanism) -> dict[str, Any]:
    """Return a mechanism as plain JSON data, its type first.

    >>> from hedgerow.mechanisms.noisy_counts import GeometricCounts
    >>> as_record(GeometricCounts(scale=1.0, cells=2))
    {'type': 'geometric', 'scale': 1.0, 'cells': 2}
    """
    record: dict[str, Any] = _plain(mechanism)
    return record


def from_record(record: object) -> Mechanism:
    """Return the mechanism of JSON data (ValueError where its type is unknown, or its fields do not fit).

    >>> from_record({"type": "geometric", "scale": 1.0, "cells": 2})
    GeometricCounts(scale=1.0, cells=2, type='geometric', rows=None, tables=None)
    """
    if not isinstance(record, dict):
        raise ValueError("a mechanism is an object")
    if record.get("type") != "composition":
        return _single(record)
    if set(record) != {"type", "parts"} or not isinstance(record["parts"], (list, tuple)):
        raise ValueError("a composition has parts, and nothing else")
    return Composition(tuple(_single(part) for part in record["parts"]))


def _single(record: object) -> AtomicMechanism:
    name = record.get("type") if isinstance(record, dict) else None
    if not isinstance(name, str) or name not in kinds():
        raise ValueError("no mechanism has this type")
    mechanism: AtomicMechanism = _adapter(name).validate_python(record)
    return mechanism


@cache
def _adapter(name: str) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kinds()[name])


def _plain(value: Any) -> Any:
    """Return dataclasses as mappings and tuples as lists, at any depth: JSON knows no others."""
    if dataclasses.is_dataclass(value):
        later = [field.name for field in dataclasses.fields(value) if field.metadata == LATER]
        listed = ((field.name, getattr(value, field.name), field.default) for field in dataclasses.fields(value))
        record = {name: _plain(held) for name, held, default in listed if name not in later or held != default}
        return {"type": record.pop("type"), **record} if "type" in record else record
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
