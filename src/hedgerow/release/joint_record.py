"""What a record keeps of joint moments: with it a reader computes any smooth function of what was released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.inference.estimate import Estimate
from hedgerow.inference.joint.arithmetic import JointValue
from hedgerow.inference.joint.recorded import function_of, function_record
from hedgerow.inference.joint.totals import JointTotals
from hedgerow.mechanisms.description import Floats
from hedgerow.mechanisms.joint_moments import JointMoments
from hedgerow.mechanisms.mechanism import Mechanism, parts_of
from hedgerow.noise.table import AdditiveTable
from hedgerow.release.designs.joint import JointStatistic, joint_totals
from hedgerow.release.designs.joint_choice import Asked
from hedgerow.release.plan import Plan
from hedgerow.statistics.statistic import Powers


def joint_records(plan: Plan, estimates: Sequence[Estimate]) -> tuple[dict[str, Any], ...]:
    """Return, for each joint release of a plan, its features and its noisy moments by cell, as plain JSON data.

    ``noise_covariance`` is that of (N, Σf, Σff' above the diagonal and on it, row by row), the same in each cell;
    ``estimates`` are the places of the estimates that were read from it, ``functions`` those of each statistic with
    how it was read.
    """
    found: dict[int, dict[str, Any]] = {}
    place = 0
    for item in plan.items:
        size = plan.cells if item.design is not None else 1
        design = item.design
        if isinstance(design, JointStatistic):
            own = estimates[place : place + size]
            (whole,) = {one.basis.releases[0] for one in own if isinstance(one.basis, JointValue)}
            record = found.setdefault(id(design.release), {}) or _record(design, own, whole)
            record["estimates"] += range(place, place + size)
            function = function_record(design.release.design.functions[design.place], whole.totals)
            record["functions"].append({"estimates": list(range(place, place + size)), "function": function})
            found[id(design.release)] = record
        place += size
    return tuple(found.values())


def _record(design: JointStatistic, estimates: Sequence[Estimate], whole: JointTotals) -> dict[str, Any]:
    return {
        "estimates": [],
        "functions": [],
        "features": design.release.names(),
        "powers": [list(power) for power in design.release.design.asked.features],
        "noise_law": whole.law,
        "noise_covariance": (whole.mixing @ whole.mixing.T).tolist(),
        "cells": [
            {"cell": dict(one.cell), "sums": sums.tolist(), "second_moments": products.tolist()}
            for one, sums, products in zip(estimates, whole.totals, whole.products, strict=True)
        ],
    }


def moved(record: Mapping[str, Any], before: int) -> dict[str, Any]:
    """Return a part of a record as it stands behind so many estimates of other releases."""
    functions = [{**one, "estimates": [before + place for place in one["estimates"]]} for one in record["functions"]]
    return {**record, "estimates": [before + place for place in record["estimates"]], "functions": functions}


def joint_values(records: Sequence[Mapping[str, Any]], mechanism: Mechanism, about: Facts) -> dict[int, JointValue]:
    """Return what the estimates of a record compute with, by their places.

    Parameters
    ----------
    records : sequence of mapping
        The parts of a record that `joint_records` wrote. One without functions, as written before they were kept, tells
        nothing.
    mechanism : Mechanism
        What is priced: it tells the noise on the moments.
    about : Facts
        What the record says of its release.

    Raises
    ------
    KeyError, TypeError, ValueError, AttributeError, IndexError
        It is no such record.
    """
    parts = [part for part in parts_of(mechanism) if isinstance(part, JointMoments)]
    found: dict[int, JointValue] = {}
    # Records pooled, or of another version, have other parts.
    for one, part in zip(records, parts, strict=True) if len(records) == len(parts) else ():
        whole = totals_of(one, part, about)
        for read in one.get("functions", ()):
            for cell, place in enumerate(read["estimates"]):
                function = function_of(read["function"], whole.totals[cell], cell)
                if function is not None:
                    found[int(place)] = JointValue.of(whole, cell, function)
    return found


def totals_of(record: Mapping[str, Any], mechanism: JointMoments, about: Facts) -> JointTotals:
    """Return the noisy moments on record, with the noise of the mechanism on them."""
    powers = tuple(tuple(int(power) for power in each) for each in record["powers"])
    totals, products = (
        np.array([cell[name] for cell in record["cells"]], dtype=np.float64) for name in ("sums", "second_moments")
    )
    return JointTotals(
        totals[:, 0],
        totals[:, 1:],
        products,
        _mixing(mechanism, powers, about),
        str(record["noise_law"]),
        about.n,
        None if _plain(powers) else powers,
        about.census,
        mechanism.layout.rows,
    )


@dataclass(frozen=True, slots=True)
class Facts:
    """What a record says of its release: the public number of records, or None, and whether it is of a census."""

    n: int | None
    census: bool


def noise_covariance(mechanism: JointMoments, powers: Powers, *, n: int | None, census: bool) -> Floats:
    """Return the noise covariance that a record must state for a mechanism."""
    mixing = _mixing(mechanism, powers, Facts(n, census))
    return np.asarray(mixing @ mixing.T)


def _plain(powers: Powers) -> bool:
    return all(sum(power) == 1 for power in powers)


def _mixing(mechanism: JointMoments, powers: Powers, about: Facts) -> Floats:
    """Return the noise on (N, Σf, Σff') as independent numbers of variance 1, mixed."""
    layout, n, read = mechanism.layout, about.n, () if _plain(powers) else powers
    asked = Asked(layout, (), 1.0, n is not None, about.census, covariances=True, powers=read)
    numbers = np.zeros((1, len(mechanism.names)))
    table = AdditiveTable(({},), mechanism.names, numbers, mechanism.noise_sds(), mechanism.noise_law.name)
    return joint_totals(table, mechanism, asked, n=n).mixing
