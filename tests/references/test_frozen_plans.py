"""What plans were before: mechanism, method, reasons, questions and expected errors of several hundred requests.

A change of structure must not change a plan. Everything here comes from public facts: no record is read and no noise is
drawn. Mechanisms, methods, words and questions must be equal; a forecast standard error may not grow by more than one
part in a thousand. Where plans change on purpose, write the file anew:

    python -m tests.references.test_frozen_plans --write
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pytest

import hedgerow as hg
from hedgerow.engines.frame_source import recognised
from hedgerow.engines.query import Query, SumsQuery
from hedgerow.errors import HedgerowError
from hedgerow.mechanisms.mechanism import as_record, parts_of
from hedgerow.release.plan import Plan
from hedgerow.release.request import parse_request
from hedgerow.statistics.registry import entries

RECORD = Path(__file__).parent / "frozen_plans.json.gz"
_DIGITS, _WORSE, _SAME = 6, 1.001, 1e-4
_NUMBERS = ("noise_sd", "sampling_error", "bootstrap_error", "privacy_error", "half_width", "value")
_ROWS = """SELECT (i * 37 % 90)::DOUBLE AS age, (i * 7919 % 200000)::DOUBLE AS income, i % 2 AS employed,
    (i % 7)::DOUBLE AS household, i % 3 AS region, i % 500 AS person, (i % 11)::DOUBLE AS w FROM range(1500) AS t(i)"""

AGE, INCOME = {"bounds": (0, 100), "step": 1}, {"bounds": (0, 200_000)}
BOTH = {"bounds": {"income": (0, 200_000), "household": (0, 8, 1)}}
STATISTICS: dict[str, Callable[[], Any]] = {
    "mean": lambda: hg.mean("age", **AGE),
    "sum": lambda: hg.sum("income", **INCOME),
    "count": hg.count,
    "proportion": lambda: hg.proportion("employed", value=1),
    "variance": lambda: hg.variance("age", **AGE),
    "sd": lambda: hg.standard_deviation("age", **AGE),
    "ratio": lambda: hg.ratio("income", "household", **BOTH),
    "covariance": lambda: hg.covariance("income", "household", **BOTH),
    "correlation": lambda: hg.correlation("income", "household", **BOTH),
    "function": lambda: hg.function(_half, columns={"age": (0, 100, 1), "household": (0, 8, 1)}),
    "quantile": lambda: hg.quantile("age", 0.5, **AGE),
    "share-below": lambda: hg.share_below("age", of_median=0.6, **AGE),
    "histogram": lambda: hg.histogram("age", bins=[0, 20, 40, 65, 100], **AGE),
    "cdf": lambda: hg.cdf("age", at=30, **AGE),
    "gini": lambda: hg.gini("income", bounds=(0, 200_000), step=1000),
    "lorenz": lambda: hg.lorenz("income", at=0.5, bounds=(0, 200_000), step=1000),
    "own": lambda: hg.bootstrap(_first, columns={"age": (0, 100, 1)}),
    "survival": lambda: hg.survival("age", "employed", at=60),
}
MANY = [STATISTICS[name] for name in ("mean", "count", "proportion", "ratio")]
GUESS = {
    "age": {"mean": 45, "sd": 18},
    "income": {"mean": 40_000, "sd": 30_000},
    "household": {"mean": 3, "sd": 1.5, "correlation": {"income": 0.3}},
    "employed": {"share": 0.3},
    "w": {"mean": 4, "sd": 2},
    "where": {"share": 0.5},
}
RELATIONS = ("replace-one", "add-remove")
BUDGETS: dict[str, dict[str, Any]] = {
    "ε 1": {"epsilon": 1.0},
    "ε 0.1": {"epsilon": 0.1},
    "ε 3, pure": {"epsilon": 3.0, "delta": 0.0},
    "ρ 0.1": {"rho": 0.1},
}
BY = {"region": [0, 1, 2]}
UNIT = {"unit": {"column": "person", "max_rows": 3}}
COMBINATIONS = "mean+sum", "mean+count", "many", "quantile+mean", "variance+sd+mean", "count+proportion"
OPTIONS: dict[str, dict[str, Any]] = {
    "by": {"by": BY},
    "by and other": {"by": {"region": [0, 1]}, "other": True},
    "where": {"where": "income > 20000"},
    "weights": {"weights": ("w", 10)},
    "laplace": {"noise": "laplace"},
    "gaussian": {"noise": "gaussian"},
    "averaged": {"noise": "averaged-laplace", "n_draws": 6},
    "moments": {"estimator": "moments"},
    "bootstrap": {"estimator": "bootstrap", "n_resamples": 8},
    "bounded": {"estimator": "bounded-bootstrap", "n_resamples": 8},
    "midpoint": {"missing": "midpoint"},
    "complete": {"missing": "error-if-declared-complete", "by": BY},
}
UNITS = ("units", "units by", "units bootstrap", "units where")


def _half(means: Any) -> Any:
    return 0.5 * (means["age"] - means["household"])


def _first(means: Any) -> Any:
    return means["age"]


Case = tuple[str, list[Any], dict[str, Any], dict[str, Any]]


def cases() -> Iterator[Case]:
    """Yield (name, statistics, keywords of `open`, keywords of `plan`)."""
    for relation, (said, make), (paid, budget) in product(RELATIONS, STATISTICS.items(), BUDGETS.items()):
        if relation == "replace-one" or paid not in ("ε 0.1", "ρ 0.1"):
            yield f"{relation} {said} {paid}", [make], {"relation": relation}, budget
    singles = [(said, [make]) for said, make in STATISTICS.items()]
    groups = [(said, _combined(said)) for said in COMBINATIONS]
    for relation, (said, makes), (changed, option) in product(RELATIONS, [*singles, *groups], OPTIONS.items()):
        bootstrapped = changed in ("bootstrap", "bounded")
        if (relation == "replace-one" and not (bootstrapped and len(makes) > 1)) or changed == "by":
            yield f"{relation} {said} {changed}", makes, {"relation": relation}, {"epsilon": 1.0, **option}
    of_units = [*(one for one in singles if one[0] in ("mean", "sum", "count", "proportion", "ratio")), *groups]
    for (said, makes), units in product(of_units, UNITS):
        option = {"units by": OPTIONS["by"], "units bootstrap": OPTIONS["bootstrap"], "units where": OPTIONS["where"]}
        yield f"{units} {said}", makes, {"relation": "add-remove", **UNIT}, {"epsilon": 1.0, **option.get(units, {})}
    for relation, (said, makes) in product(RELATIONS, groups):
        yield f"{relation} {said} together", makes, {"relation": relation}, {"epsilon": 1.0}
        if relation == "replace-one":
            yield f"{relation} {said} of a file", makes, {"relation": relation, "target": "file"}, {"epsilon": 1.0}


def _combined(said: str) -> list[Any]:
    return MANY if said == "many" else [STATISTICS[name] for name in said.split("+")]


@cache
def _source() -> Any:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE people AS {_ROWS}")
    return connection.table("people")


@cache
def _statements(query: Query | SumsQuery, by_record: bool) -> tuple[str, ...]:
    return recognised(_source()).statements(query, by_record=by_record)


class _AskedOnce:
    """The records as the source of all plans: each of the 123 questions of 404 plans is written once."""

    @staticmethod
    def statements(query: Query | SumsQuery, *, by_record: bool) -> tuple[str, ...]:
        return _statements(query, by_record)


def described(case: Case) -> dict[str, Any]:
    """Return what is frozen of one request: its plan and forecasts, or the code of its refusal."""
    _, makes, opened, options = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            plan = hg.open(_source(), **opened).plan([make() for make in makes], **options)
            return _described(plan, unguessed=options in BUDGETS.values())
        except HedgerowError as refusal:
            return {"refused": refusal.code}


def _described(plan: Plan, *, unguessed: bool) -> dict[str, Any]:
    n = None if plan.facts.n is not None else 1500
    forecasts = [plan.forecast(GUESS, n=n, level=0.95), *([plan.forecast(n=n, level=0.9)] if unguessed else [])]
    return {
        "mechanism": _rounded(as_record(plan.mechanism)),
        "parts": [part.type for part in parts_of(plan.mechanism)],
        "epsilon": _rounded(plan.epsilon),
        "methods": [[one.method, one.reason, one.n_resamples] for one in forecasts[0]],
        "reasons": plan.reasons(),
        "assumptions": [*plan.assumptions(), plan.narrowed(), *plan.notes()],
        "questions": [
            hashlib.sha256(text.encode()).hexdigest()[:12] for text in replace(plan, source=_AskedOnce()).query()
        ],
        "guesses": [[one.guess, one.wasteful] for expected in forecasts for one in expected],
        "numbers": [[_rounded(getattr(one, name)) for name in _NUMBERS] for expected in forecasts for one in expected],
    }


def _rounded(value: Any) -> Any:
    """Return data with numbers of six significant digits."""
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(one) for one in value]
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def differences(now: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """Return the names of what is not as it was: errors may fall, all else is equal to rounding."""
    if set(now) != set(before):
        return ["refused"]
    wrong = [name for name in before if name not in ("numbers", "mechanism", "epsilon") and now[name] != before[name]]
    wrong += [name for name in ("mechanism", "epsilon") if name in before and not _close(now[name], before[name])]
    pairs = zip(now.get("numbers", ()), before.get("numbers", ()), strict=True)
    return wrong + ["standard error" for one, two in pairs if not _no_worse(_error(one), _error(two))]


def _close(now: Any, before: Any) -> bool:
    if isinstance(before, dict):
        return set(now) == set(before) and all(_close(now[name], value) for name, value in before.items())
    if isinstance(before, list):
        return len(now) == len(before) and all(map(_close, now, before))
    numbers = isinstance(before, (int, float)) and not isinstance(before, bool) and isinstance(now, (int, float))
    return math.isclose(now, before, rel_tol=_SAME) if numbers else bool(now == before)


def _error(numbers: list[float | None]) -> float | None:
    parts = [number for number in numbers[1:4] if number is not None]
    return math.hypot(*parts) if len(parts) == 3 else None


def _no_worse(now: float | None, before: float | None) -> bool:
    return before is None if now is None else before is None or now <= before * _WORSE + 1e-12


@cache
def frozen() -> dict[str, Any]:
    return json.loads(gzip.decompress(RECORD.read_bytes()))


@pytest.mark.parametrize("case", [pytest.param(case, id=case[0]) for case in cases()])
def test_a_plan_is_what_it_was(case: Case) -> None:
    assert differences(described(case), frozen()[case[0]]) == []


def test_many_plans_of_all_statistics_are_frozen() -> None:
    planned = [name for name, one in frozen().items() if "refused" not in one]
    assert len(planned) >= 200
    assert set(frozen()) == {case[0] for case in cases()}
    asked = parse_request([make() for make in STATISTICS.values()], epsilon=1.0)
    assert {one.kind for one in asked.statistics} == set(entries())


@pytest.mark.parametrize("changed", ["mechanism", "methods", "questions", "numbers"])
def test_a_changed_plan_is_found(changed: str) -> None:
    before = frozen()["replace-one many together"]
    now = json.loads(json.dumps(before))
    if changed == "mechanism":
        now["mechanism"]["parts" if "parts" in now["mechanism"] else "type"] = []
    elif changed == "numbers":
        now["numbers"] = [[None if one is None else 1.002 * one for one in numbers] for numbers in now["numbers"]]
    else:
        now[changed] = now[changed][::-1] if changed == "methods" else []
    assert differences(now, before)


if __name__ == "__main__" and "--write" in sys.argv:
    text = json.dumps({case[0]: described(case) for case in cases()}, ensure_ascii=False, indent=0)
    RECORD.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
