"""What plans of regressions were before: mechanism, reasons, request and expected errors; see `test_frozen_plans`.

Where they change on purpose, write the file anew:

    python -m tests.references.test_frozen_regressions --write
"""

from __future__ import annotations

import gzip
import json
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.references.test_frozen_plans import _rounded, differences

import hedgerow as hg
from hedgerow.errors import HedgerowError
from hedgerow.mechanisms.mechanism import as_record

RECORD = Path(__file__).parent / "frozen_regressions.json.gz"
_ROWS = """SELECT (i * 37 % 90)::DOUBLE AS age, (i * 7919 % 200000)::DOUBLE AS income, i % 2 AS employed,
    (i % 7)::DOUBLE AS household, i % 3 AS region, (i % 11)::DOUBLE AS w FROM range(1500) AS t(i)"""
COLUMNS: dict[str, Any] = {
    "bounds": {"age": (0, 100, 1), "income": (0, 200_000), "household": (0, 8, 1)},
    "categories": {"region": [0, 1, 2], "employed": [0, 1]},
}
GUESS = {"income": {"mean": 40_000, "sd": 30_000}, "age": {"mean": 45, "sd": 18, "correlation": {"income": 0.3}}}
FORMULAS = (
    "income ~ age",
    "income ~ age + household",
    "income ~ age + age**2",
    "income ~ age + C(region)",
    "income ~ age * C(employed) + household",
    "income ~ 1",
)
LOGITS = ("employed ~ age", "employed ~ age + income + C(region)", "employed ~ age + age**2")
RELATIONS = ("replace-one", "add-remove")
OLS: dict[str, dict[str, Any]] = {
    "ε 1": {"epsilon": 1.0},
    "ε 0.3, pure": {"epsilon": 0.3, "delta": 0.0},
    "ρ 0.5": {"rho": 0.5},
    "laplace": {"epsilon": 1.0, "noise": "laplace"},
    "robust": {"epsilon": 1.0, "robust": True},
    "robust, pure": {"epsilon": 2.0, "delta": 0.0, "robust": "HC0"},
    "guess": {"epsilon": 1.0, "guess": GUESS},
    "by": {"epsilon": 1.0, "by": {"region": [0, 1]}},
    "where": {"epsilon": 1.0, "where": "income > 20000"},
    "weights": {"epsilon": 1.0, "weights": ("w", 10)},
    "ball": {"epsilon": 1.0, "clip_norm": 1.0},
    "robust in a ball": {"epsilon": 1.0, "clip_norm": 1.0, "robust": True},
}
LOGIT: dict[str, dict[str, Any]] = {
    "ε 1": {"epsilon": 1.0},
    "ρ 0.5": {"rho": 0.5},
    "steps": {"epsilon": 3.0, "steps": 3},
    "where": {"epsilon": 1.0, "where": "income > 20000"},
}
Case = tuple[str, str, str, dict[str, Any], dict[str, Any]]


def cases() -> Iterator[Case]:
    """Yield (name, method, formula, keywords of `open`, keywords of the plan)."""
    for methods in (("plan_ols", FORMULAS, OLS), ("plan_logit", LOGITS, LOGIT)):
        method, formulas, options = methods
        for relation, formula, (said, option) in product(RELATIONS, formulas, options.items()):
            if relation == "replace-one" or said in ("ε 1", "robust", "by", "ball"):
                yield f"{method} {relation} {formula} {said}", method, formula, {"relation": relation}, option
    opened = {"relation": "replace-one", "target": "file"}
    yield "plan_ols of a file", "plan_ols", FORMULAS[1], opened, {"epsilon": 1.0, "robust": True}


@cache
def _source() -> Any:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE people AS {_ROWS}")
    return connection.table("people")


def described(case: Case) -> dict[str, Any]:
    """Return what is frozen of one request: its plan and expected errors, or the code of its refusal."""
    _, method, formula, opened, options = case
    given = {name: {one: own for one, own in of.items() if one in formula} for name, of in COLUMNS.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            plan = getattr(hg.open(_source(), **opened), method)(formula, **given, **options)
            return _described(plan, None if opened["relation"] == "replace-one" else 1500)
        except HedgerowError as refusal:
            return {"refused": refusal.code}


def _described(plan: Any, n: int | None) -> dict[str, Any]:
    expected = [*plan.expected(GUESS, n=n), *plan.expected(n=n)]
    return {
        "mechanism": _rounded(as_record(plan.mechanism)),
        "plan": repr(plan),
        "request": json.loads(json.dumps(_rounded(plan.request))),
        "words": [plan.plan.reasons(), plan.narrowed(), plan.notes()] if hasattr(plan, "plan") else [],
        "terms": [[one.term, one.reliable] for one in expected],
        "numbers": [[None, *_rounded([one.sampling_error, 0.0, one.privacy_error])] for one in expected],
    }


@cache
def frozen() -> dict[str, Any]:
    return json.loads(gzip.decompress(RECORD.read_bytes()))


@pytest.mark.parametrize("case", [pytest.param(case, id=case[0]) for case in cases()])
def test_a_plan_is_what_it_was(case: Case) -> None:
    assert differences(json.loads(json.dumps(described(case))), frozen()[case[0]]) == []


def test_plans_of_both_families_are_frozen() -> None:
    planned = [name for name, one in frozen().items() if "refused" not in one]
    assert len([name for name in planned if "ols" in name]) >= 60
    assert len([name for name in planned if "logit" in name]) >= 10
    assert set(frozen()) == {case[0] for case in cases()}


@pytest.mark.parametrize("changed", ["mechanism", "request", "numbers"])
def test_a_changed_plan_is_found(changed: str) -> None:
    before = frozen()["plan_ols replace-one income ~ age ε 1"]
    now = json.loads(json.dumps(before))
    now[changed] = [[None, 1.002 * a, b, 1.002 * c] for _, a, b, c in now[changed]] if changed == "numbers" else {}
    assert differences(now, before)


if __name__ == "__main__" and "--write" in sys.argv:
    text = json.dumps({case[0]: described(case) for case in cases()}, ensure_ascii=False, indent=0)
    RECORD.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
