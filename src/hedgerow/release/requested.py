"""The releases that a facts file plans for, as what a call would ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hedgerow.errors import FactsError
from hedgerow.facts.declared import Facts
from hedgerow.release.options import with_estimator
from hedgerow.resampling import smooth_statistic as smooth
from hedgerow.resampling import statistic as additive
from hedgerow.resampling.statistic import Asked

_GRID = {"bounds", "step"}
# Of each kind, the fields that it needs and those that it takes beside them.
_FIELDS: dict[str, tuple[set[str], set[str]]] = {
    "count": (set(), set()),
    "proportion": ({"column", "value"}, set()),
    "ratio": ({"column", "denominator"}, set()),
    "quantile": ({"column", "probability"}, _GRID),
    **dict.fromkeys(("mean", "sum", "variance", "standard_deviation"), ({"column"}, _GRID)),
}


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
    kind = given["statistic"]
    if kind not in _FIELDS:
        raise _unfit(where, "a function of one's own can be asked for in Python alone")
    needed, allowed = _FIELDS[kind]
    found = set(given) - {"statistic"}
    if missing := sorted(needed - found):
        raise _unfit(where, f"a {kind} needs `{missing[0]}`")
    if surplus := sorted(found - needed - allowed):
        raise _unfit(where, f"a {kind} takes no `{surplus[0]}`")
    return _made(kind, given)


def _made(kind: str, given: Mapping[str, Any]) -> Asked:
    column, grid = given.get("column", ""), {key: given[key] for key in _GRID if key in given}
    makers: dict[str, Any] = {
        "count": additive.count,
        "proportion": lambda: additive.proportion(column, value=given["value"]),
        "ratio": lambda: smooth.ratio(column, given["denominator"]),
        "quantile": lambda: smooth.quantile(column, given["probability"], **grid),
        "mean": lambda: additive.mean(column, **grid),
        "sum": lambda: additive.sum(column, **grid),
        "variance": lambda: smooth.variance(column, **grid),
        "standard_deviation": lambda: smooth.standard_deviation(column, **grid),
    }
    made: Asked = makers[kind]()
    return made


def _unfit(where: str, finding: str) -> FactsError:
    return FactsError(
        "HG702",
        rule="Every field of the facts file is known and holds what it should.",
        finding=f"{where}: {finding}.",
        remedy="hedgerow schema prints what each field may hold.",
    )
