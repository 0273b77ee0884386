"""The releases that a facts file plans for, as what a call would ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hedgerow.errors import FactsError
from hedgerow.facts.declared import Facts
from hedgerow.release.options import with_estimator
from hedgerow.statistics.registry import entries
from hedgerow.statistics.statistic import Asked


@dataclass(frozen=True, slots=True)
class Requested:
    """One release of a facts file: its name, its statistics, and the other arguments of the call."""

    name: str
    statistics: tuple[Asked, ...]
    options: Mapping[str, Any]


def requested(facts: Facts) -> tuple[Requested, ...]:
    """Return every release that the facts plan for; one without a name is called by its place.

    Raises
    ------
    FactsError
        HG702: a statistic without its column, value, probability or denominator, or with one that it does not take.

    Examples
    --------
    >>> facts = Facts.from_dict({"release": [{"statistics": [{"statistic": "count"}], "epsilon": 0.5}]})
    >>> requested(facts)[0].statistics, requested(facts)[0].options
    ((Count(),), {'epsilon': 0.5})
    """
    return tuple(_requested(record, place) for place, record in enumerate(facts.releases, start=1))


def _requested(record: Mapping[str, Any], place: int) -> Requested:
    options = with_estimator({key: value for key, value in record.items() if key not in ("name", "statistics")})
    asked = tuple(_asked(one, f"release[{place}].statistics[{at}]") for at, one in enumerate(record["statistics"], 1))
    return Requested(str(record.get("name", f"release {place}")), asked, options)


def _asked(given: Mapping[str, Any], where: str) -> Asked:
    entry, found = entries()[given["statistic"]], set(given) - {"statistic"}
    if not entry.in_files:
        raise _unfit(where, "a function of one's own can be asked for in Python alone")
    if missing := sorted(set(entry.needs) - found):
        raise _unfit(where, f"a {entry.kind} needs `{missing[0]}`")
    if surplus := sorted(found - set(entry.needs) - set(entry.takes)):
        raise _unfit(where, f"a {entry.kind} takes no `{surplus[0]}`")
    return entry.from_record(given)


def _unfit(where: str, finding: str) -> FactsError:
    return FactsError(
        "HG702",
        rule="Every field of the facts file is known and holds what it should.",
        finding=f"{where}: {finding}.",
        remedy="hedgerow schema prints what each field may hold.",
    )
