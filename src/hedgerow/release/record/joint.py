"""What a record keeps of joint moments: with it a reader computes any smooth function of what was released."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.facts.columns import CellLabels
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.joint.arithmetic import JointValue
from hedgerow.inference.joint.counted import CountedCells, CountedValue, counted_cells, table_of
from hedgerow.inference.joint.recorded import function_of, function_record
from hedgerow.inference.joint.totals import JointTotals
from hedgerow.mechanisms.description import Floats
from hedgerow.mechanisms.joint_moments import JointMoments
from hedgerow.mechanisms.mechanism import Counts, Mechanism, parts_of
from hedgerow.noise.table import AdditiveTable
from hedgerow.release.designs.counts import CountsDesign
from hedgerow.release.designs.joint import JointStatistic, joint_totals
from hedgerow.release.designs.joint_choice import Asked
from hedgerow.release.plan import Plan, drawn_of
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
        design, joint = item.design, estimates[place].joint
        if isinstance(design, (JointStatistic, CountsDesign)) and isinstance(joint, JointValue):
            (whole,) = joint.releases
            record = found.setdefault(id(drawn_of(design)), {}) or _record(design, whole)
            record["estimates"] += range(place, place + size)
            function = function_record(design.function, whole.totals)
            record["functions"].append({"estimates": list(range(place, place + size)), "function": function})
            found[id(drawn_of(design))] = record
        place += size
    return tuple(found.values())


def _record(design: JointStatistic | CountsDesign, whole: JointTotals) -> dict[str, Any]:
    moments = CellLabels(design.query.by), whole.totals.tolist(), whole.products.tolist()
    return {
        "estimates": [],
        "functions": [],
        **design.joint_features,
        "noise_law": whole.law,
        "noise_covariance": (whole.mixing @ whole.mixing.T).tolist(),
        "cells": [
            {"cell": cell, "sums": sums, "second_moments": products}
            for cell, sums, products in zip(*moments, strict=True)
        ],
    }


def moved(record: Mapping[str, Any], before: int) -> dict[str, Any]:
    """Return a part of a record as it stands behind so many estimates of other releases."""
    functions = [{**one, "estimates": [before + place for place in one["estimates"]]} for one in record["functions"]]
    return {**record, "estimates": [before + place for place in record["estimates"]], "functions": functions}


def joint_values(
    records: Sequence[Mapping[str, Any]], mechanism: Mechanism, about: Facts
) -> dict[int, JointValue | CountedValue]:
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
    found: dict[int, JointValue | CountedValue] = {}
    for one, part in with_parts(records, mechanism):
        if isinstance(part, Counts):
            cells = _counted_of(one, part, about)
            found |= {int(place): cells.row(cell) for cell, place in enumerate(one["estimates"])}
            continue
        whole = totals_of(one, part, about)
        for read in one.get("functions", ()):
            for cell, place in enumerate(read["estimates"]):
                function = function_of(read["function"], whole.totals[cell], cell)
                if function is not None:
                    found[int(place)] = JointValue.of(whole, cell, function)
    return found


def with_parts(
    records: Sequence[Mapping[str, Any]], mechanism: Mechanism
) -> Iterator[tuple[Mapping[str, Any], JointMoments | Counts]]:
    """Yield the parts of a record that `joint_records` wrote, each with its mechanism.

    Releases that were pooled, or written by another version, keep fewer; then their mechanisms are not told apart.
    """
    kinds: tuple[type[JointMoments | Counts], ...] = (JointMoments, Counts)
    for kind in kinds:
        own = [one for one in records if ("counted" in one) == (kind is Counts)]
        parts = [part for part in parts_of(mechanism) if isinstance(part, kind)]
        if len(own) == len(parts):
            yield from zip(own, parts, strict=True)


def _counted_of(record: Mapping[str, Any], mechanism: Counts, about: Facts) -> CountedCells:
    """Return the noisy counts on record, with the noise of the mechanism on them."""
    features = tuple(str(one) for one in record["counted"])
    sums = np.array([cell["sums"] for cell in record["cells"]], dtype=np.float64)
    table = table_of(sums, features, mechanism.table_spread(features), mechanism.noise_law.name)
    return counted_cells(table, n=about.n, census=about.census, method=mechanism.methods[0])


def totals_of(record: Mapping[str, Any], mechanism: JointMoments, about: Facts) -> JointTotals:
    """Return the noisy moments on record, with the noise of the mechanism on them."""
    powers = _powers(record)
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


def _powers(record: Mapping[str, Any]) -> Powers:
    return tuple(tuple(int(power) for power in each) for each in record["powers"])


def _plain(powers: Powers) -> bool:
    return all(sum(power) == 1 for power in powers)


def _mixing(mechanism: JointMoments, powers: Powers, about: Facts) -> Floats:
    """Return the noise on (N, Σf, Σff') as independent numbers of variance 1, mixed."""
    layout, n, read = mechanism.layout, about.n, () if _plain(powers) else powers
    asked = Asked(layout, (), 1.0, n is not None, about.census, covariances=True, powers=read)
    numbers = np.zeros((1, len(mechanism.names)))
    table = AdditiveTable(({},), mechanism.names, numbers, mechanism.noise_sds(), mechanism.noise_law.name)
    return joint_totals(table, mechanism, asked, n=n).mixing
