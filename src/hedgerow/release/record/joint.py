"""What a record keeps of joint moments: with it a reader computes any smooth function of what was released."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from hedgerow.inference.joint.arithmetic import JointValue
from hedgerow.inference.joint.counted import counted_cells, table_of
from hedgerow.inference.joint.recorded import function_of
from hedgerow.inference.joint.totals import JointTotals
from hedgerow.inference.region import ScoreRegion
from hedgerow.mechanisms.description import Floats
from hedgerow.mechanisms.joint_moments import JointMoments
from hedgerow.mechanisms.mechanism import Mechanism, Single
from hedgerow.noise.table import AdditiveTable
from hedgerow.release.designs.counts import CountsDesign
from hedgerow.release.designs.joint import joint_totals
from hedgerow.release.designs.joint_choice import Asked
from hedgerow.release.designs.joint_statistic import JointStatistic
from hedgerow.statistics.registry import classes
from hedgerow.statistics.statistic import Powers

P = TypeVar("P", bound=Single)


def moved(record: Mapping[str, Any], before: int) -> dict[str, Any]:
    """Return a part of a record as it stands behind so many estimates of other releases."""
    functions = [{**one, "estimates": [before + place for place in one["estimates"]]} for one in record["functions"]]
    return {**record, "estimates": [before + place for place in record["estimates"]], "functions": functions}


def joint_values(records: Sequence[Mapping[str, Any]], mechanism: Mechanism, about: Facts) -> dict[int, ScoreRegion]:
    """Return the regions of the estimates of a record, by their places: they know what one computes with.

    Parameters
    ----------
    records : sequence of mapping
        The parts of a record under ``joint``. One without functions, as written before they were kept, tells nothing.
    mechanism : Mechanism
        What is priced: it tells the noise on the moments.
    about : Facts
        What the record says of its release.

    Raises
    ------
    KeyError, TypeError, ValueError, AttributeError, IndexError
        It is no such record.
    """
    classes()  # the file of a statistic defines its function of totals
    found: dict[int, ScoreRegion] = {}
    for one, part in with_parts(records, JointStatistic.parts(mechanism), counted=False):
        whole = totals_of(one, part, about)
        for read in one.get("functions", ()):
            for cell, place in enumerate(read["estimates"]):
                function = function_of(read["function"], whole.totals[cell], cell)
                if function is not None:
                    found[int(place)] = ScoreRegion.of(JointValue.of(whole, cell, function))
    for one, counts in with_parts(records, CountsDesign.parts(mechanism), counted=True):
        features = tuple(str(name) for name in one["counted"])
        sums = np.array([cell["sums"] for cell in one["cells"]], dtype=np.float64)
        table = table_of(sums, features, counts.table_spread(features), counts.noise_law.name)
        numbers, column = counted_cells(table, n=about.n, census=about.census, method=counts.methods[0])
        region = ScoreRegion(numbers.test, column)
        found |= {int(place): region.row(cell) for cell, place in enumerate(one["estimates"])}
    return found


def with_parts(
    records: Sequence[Mapping[str, Any]], parts: Sequence[P], *, counted: bool
) -> Iterator[tuple[Mapping[str, Any], P]]:
    """Yield the parts of a record under ``joint`` that are counts, or that are not, each with its mechanism.

    Releases that were pooled, or written by another version, keep fewer; then their mechanisms are not told apart.
    """
    own = [one for one in records if ("counted" in one) is counted]
    if len(own) == len(parts):
        yield from zip(own, parts, strict=True)


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
