"""What a record keeps of joint moments: with it a reader computes any smooth function of what was released."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow.inference.estimate import Estimate
from hedgerow.inference.joint.arithmetic import JointValue
from hedgerow.mechanisms.description import Floats
from hedgerow.mechanisms.joint_moments import JointMoments
from hedgerow.noise.table import AdditiveTable
from hedgerow.release.designs.joint import JointStatistic, joint_totals
from hedgerow.release.designs.joint_choice import Asked
from hedgerow.release.plan import Plan
from hedgerow.statistics.statistic import Powers


def joint_records(plan: Plan, estimates: Sequence[Estimate]) -> tuple[dict[str, Any], ...]:
    """Return, for each joint release of a plan, its features and its noisy moments by cell, as plain JSON data.

    ``noise_covariance`` is that of (N, Σf, Σff' above the diagonal and on it, row by row), the same in each cell;
    ``estimates`` are the places of the estimates that were read from it.
    """
    found: dict[int, dict[str, Any]] = {}
    place = 0
    for item in plan.items:
        size = plan.cells if item.design is not None else 1
        design = item.design
        if isinstance(design, JointStatistic):
            own = estimates[place : place + size]
            record = found.setdefault(id(design.release), {}) or _record(design, own)
            record["estimates"] += range(place, place + size)
            found[id(design.release)] = record
        place += size
    return tuple(found.values())


def _record(design: JointStatistic, estimates: Sequence[Estimate]) -> dict[str, Any]:
    (whole,) = {one.basis.releases[0] for one in estimates if isinstance(one.basis, JointValue)}
    return {
        "estimates": [],
        "features": design.release.names(),
        "powers": [list(power) for power in design.release.design.asked.features],
        "noise_law": whole.law,
        "noise_covariance": (whole.mixing @ whole.mixing.T).tolist(),
        "cells": [
            {"cell": dict(one.cell), "sums": sums.tolist(), "second_moments": products.tolist()}
            for one, sums, products in zip(estimates, whole.totals, whole.products, strict=True)
        ],
    }


def noise_covariance(mechanism: JointMoments, powers: Powers, *, n: int | None, census: bool) -> Floats:
    """Return the noise covariance that a record must state for a mechanism."""
    plain = all(sum(power) == 1 for power in powers)
    asked = Asked(mechanism.layout, (), 1.0, n is not None, census, covariances=True, powers=() if plain else powers)
    numbers = np.zeros((1, len(mechanism.names)))
    table = AdditiveTable(({},), mechanism.names, numbers, mechanism.noise_sds(), mechanism.noise_law.name)
    mixing = joint_totals(table, mechanism, asked, n=n).mixing
    return np.asarray(mixing @ mixing.T)
