"""The mechanisms that a campaign audits: one of each kind, at sizes where a lower bound comes near the price."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hedgerow.noise.lattice import lattice_noise
from hedgerow.privacy.facts import Category, Missing
from hedgerow.privacy.mechanism import (
    GaussianCounts,
    GaussianNoise,
    GeometricCounts,
    LaplaceNoise,
    Mechanism,
    MomentsGaussian,
    MomentsGeometric,
    Presence,
    ResampledCoordinate,
    ResampledGaussian,
    Shape,
)
from hedgerow.privacy.relation import Relation, Target
from hedgerow.release.design import PublicFacts
from hedgerow.release.moments import MomentsDesign
from hedgerow.resampling.statistic import mean, sum

__all__ = ["Specimen", "bootstrap", "mean_with_private_count", "specimens"]

_REACH = 1000


@dataclass(frozen=True, slots=True)
class Specimen:
    """One mechanism under one relation, audited at δ; `released`: whether the exact samplers draw it in time."""

    name: str
    mechanism: Mechanism
    relation: Relation
    delta: float
    released: bool = True


def specimens() -> tuple[Specimen, ...]:
    """Return what a campaign audits.

    >>> {type(specimen.mechanism).__name__ for specimen in specimens()} >= {"GeometricCounts", "ResampledGaussian"}
    True
    """
    near, far = Relation.ADD_REMOVE, Relation.REPLACE_ONE
    return (
        Specimen("count, geometric", GeometricCounts(1.0, cells=1), near, 0.0),
        Specimen("counts by group, geometric", GeometricCounts(2.0, cells=3), far, 1e-3),
        Specimen("count, Gaussian", GaussianCounts(1.0, cells=1), near, 1e-3),
        Specimen("counts by group, Gaussian", GaussianCounts(1.5, cells=3), far, 1e-3),
        Specimen("one number, Gaussian", GaussianNoise(1.0, 1.0), far, 1e-3, released=False),
        Specimen("one number, Laplace", LaplaceNoise(1.0, 1.0), far, 1e-3, released=False),
        Specimen("mean, n public", _moments(far, Missing.DECLARED_COMPLETE), far, 1e-3),
        Specimen("mean, missing dropped", _moments(far, Missing.DROP), far, 1e-3),
        Specimen("mean by group", _moments(far, Missing.DROP, cells=2), far, 1e-3),
        Specimen("mean by group", _moments(near, Missing.DROP, cells=2), near, 1e-3),
        Specimen("mean, pure", _pure(far), far, 1e-3),
        Specimen("sum", _sum(near), near, 1e-3),
        Specimen("bootstrap, k = 1", bootstrap(1, "value"), far, 1e-3),
        Specimen("bootstrap, k = 5", bootstrap(5, "value"), far, 1e-3),
        Specimen("bootstrap, k = 5", bootstrap(5, "value", presence="private"), near, 1e-3),
        Specimen("bootstrap, k = 20", bootstrap(20, "value"), far, 1e-3, released=False),
        Specimen("bootstrap by group, k = 3", bootstrap(3, "value-and-count", cells=2), far, 1e-3, released=False),
        Specimen("bootstrap of counts, k = 3", bootstrap(3, "count", cells=2, presence="private"), far, 1e-3),
    )


def mean_with_private_count(relation: Relation) -> MomentsGaussian:
    """Return a mean with its count and second moment at μ = 1, one cell."""
    return _moments(relation, Missing.DROP)


def bootstrap(
    n_resamples: int,
    shape: Shape,
    *,
    cells: int = 1,
    rho: float = 0.5,
    count_weight: float = 1.0,
    presence: Presence | None = None,
) -> ResampledGaussian:
    """Return k resampled tables with noise of variance k·R²/(2ρ) each, R the range; counts at `count_weight` κ.

    >>> round(bootstrap(1, "value").coordinates[0].distance, 3)
    0.5
    """
    sd = math.sqrt(n_resamples / (2.0 * rho))  # in units of the range, 2·reach
    value = ResampledCoordinate(_REACH, lattice_noise(sd * 2 * _REACH))
    count = ResampledCoordinate(1, lattice_noise(sd * 2 / count_weight))
    coordinates = {"value": (value,), "count": (count,), "value-and-count": (value, count)}[shape]
    alone = shape == "value" and cells == 1
    shown: Presence = presence or ("public" if alone else "private")
    return ResampledGaussian(n_resamples, 1.0, shape, coordinates, shown, cells)


def _moments(relation: Relation, missing: Missing, *, cells: int = 1) -> MomentsGaussian:
    by = (Category.declared("group", list(range(cells))),) if cells > 1 else ()
    facts = PublicFacts(relation, "row", Target.POPULATION, None)
    asked = mean("x", bounds=(0, 1), step=0.01)
    built = MomentsDesign(asked, by, facts, missing, "gaussian", "moments", "audited").mechanism(1.0)
    if not isinstance(built, MomentsGaussian):
        raise TypeError(built.type)
    return built


def _pure(relation: Relation) -> MomentsGeometric:
    facts = PublicFacts(relation, "row", Target.POPULATION, None)
    asked = mean("x", bounds=(0, 1), step=0.01)
    built = MomentsDesign(asked, (), facts, Missing.DROP, "geometric", "geometric", "audited").mechanism(1.0)
    if not isinstance(built, MomentsGeometric):
        raise TypeError(built.type)
    return built


def _sum(relation: Relation) -> Mechanism:
    facts = PublicFacts(relation, "row", Target.POPULATION, None)
    asked = sum("x", bounds=(-1, 3), step=0.01)
    return MomentsDesign(asked, (), facts, Missing.DROP, "gaussian", "moments", "audited").mechanism(1.0)
