"""What hedgerow printed before, from seeded noise: releases, tables, scores, models, prices and pages.

A change of structure must not change a number. The noise source is replaced by the seeded stand-in, so each case draws
the same integers at each run. Numbers are compared to 1 part in 10¹² (processors differ in a float's last digit),
prices to 1 part in 10⁵, pages after their prices are masked. Where behaviour changes on purpose, write the record anew:

    python tests/references/test_frozen_self.py write
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.errors import HedgerowError
from hedgerow.multicalibration import Multicalibrator
from hedgerow.noise.secure import SecureNoise
from hedgerow.reports import report_html
from hedgerow.testing.simulated import SimulatedNoise
from hedgerow.testset import TestSet

RECORD = Path(__file__).parent / "frozen_self.json.gz"
_LAST_DIGITS, _PRICES = 1e-11, 1e-5
# Every case brings a seeded source of its own, identifiers included.
pytestmark = pytest.mark.entropy
# What a price decides: it may move by what two ways of composing differ in.
_PRICED = {"epsilon", "epsilon_upper", "epsilon_lower", "profile", "delta"}
Case = tuple[str, Callable[[], Any]]


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Let every release draw from one seeded source."""
    noise = SimulatedNoise(seed)
    names = ("discrete_gaussian", "two_sided_geometric", "generator")
    keys = np.random.default_rng(seed)
    with (
        patch.multiple(SecureNoise, **{name: _method(noise, name) for name in names}),
        patch("hedgerow.engines.dialects.units.os.urandom", keys.bytes),
        patch("hedgerow.clock.now", lambda: datetime(2026, 11, 22, tzinfo=UTC)),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


def _method(noise: SimulatedNoise, name: str) -> Callable[..., Any]:
    return lambda self, *arguments: getattr(noise, name)(*arguments)


def people(n: int = 600) -> pa.Table:
    rng = np.random.default_rng(3)
    age = np.clip(rng.normal(45, 15, n), 18, 95).round()
    income = np.round(rng.lognormal(10, 0.7, n))
    return pa.table(
        {
            "age": pa.array(np.where(rng.random(n) < 0.05, np.nan, age)),
            "income": pa.array(income),
            "household": pa.array(rng.integers(1, 8, n)),
            "sex": pa.array(rng.integers(0, 2, n)),
            "region": pa.array(rng.choice(["North", "East", "South"], n)),
            "employed": pa.array(rng.integers(0, 2, n)),
            "person": pa.array(rng.integers(0, n // 2, n)),
        }
    )


STATISTICS: dict[str, Callable[[], list[Any]]] = {
    "mean": lambda: [hg.mean("age", bounds=(18, 95), step=1)],
    "sum": lambda: [hg.sum("income", bounds=(0, 200_000), step=200)],
    "count": lambda: [hg.count()],
    "proportion": lambda: [hg.proportion("employed", value=1)],
    "several": lambda: [hg.mean("income", bounds=(0, 200_000)), hg.proportion("employed", value=1), hg.count()],
}
REPLICATED: dict[str, Callable[[], list[Any]]] = {
    "quantile": lambda: [hg.quantile("income", 0.5, bounds=(0, 200_000), step=1000)],
    "ratio": lambda: [hg.ratio("income", "household", bounds={"income": (0, 200_000), "household": (1, 8)})],
    "variance": lambda: [hg.variance("age", bounds=(18, 95), step=1)],
}
BY: dict[str, dict[str, Any]] = {
    "overall": {},
    "by sex": {"by": {"sex": [0, 1]}},
    "by region and other": {"by": {"region": ["North", "East"]}, "other": True},
}
LAWS: dict[str, dict[str, Any]] = {
    "auto": {},
    "pure": {"delta": 0},
    "averaged": {"noise": "averaged-laplace", "n_draws": 6},
}
RELATIONS = ("replace-one", "add-remove")


def _release(asked: Callable[[], list[Any]], relation: str, opened: dict[str, Any], call: dict[str, Any]) -> Any:
    survey = hg.open(people(), relation=relation, **opened)
    return json.loads(survey.release(asked(), **{"epsilon": 2.0, **call}).to_json())


def releases() -> Iterator[Case]:
    for relation, (said, asked), (cells, by), (law, noise) in product(
        RELATIONS, STATISTICS.items(), BY.items(), LAWS.items()
    ):
        yield f"release {relation} {said} {cells} {law}", _bound(_release, asked, relation, {}, {**by, **noise})
    for relation, (said, asked), cells in product(RELATIONS, REPLICATED.items(), ("overall", "by sex")):
        call = {**BY[cells], "n_resamples": 8}
        yield f"release {relation} {said} {cells}", _bound(_release, asked, relation, {}, call)
    for relation, said, interval in product(RELATIONS, ("mean", "count"), ("calibrated", "conservative", "unbiased")):
        call = {"estimator": "bootstrap", "n_resamples": 12, "interval": interval}
        yield f"release {relation} {said} bootstrap {interval}", _bound(_release, STATISTICS[said], relation, {}, call)
    for relation, (said, asked), cells in product(RELATIONS, STATISTICS.items(), ("overall", "by sex")):
        unit = {"unit": {"column": "person", "max_rows": 3}}
        yield f"release {relation} {said} {cells} units", _bound(_release, asked, relation, unit, dict(BY[cells]))
    for said, missing in product(("mean", "several"), ("midpoint", "error-if-declared-complete")):
        asked = STATISTICS[said] if missing == "midpoint" else (lambda: [hg.sum("income", bounds=(0, 200_000))])
        call = {"missing": missing}
        yield f"release {said} {missing}", _bound(_release, asked, "replace-one", {"target": "file"}, call)


TABLES: dict[str, dict[str, Any]] = {
    "plain": {},
    "margins": {"margins": True},
    "gaussian": {"noise": "gaussian"},
    "geometric": {"noise": "geometric", "delta": 0},
    "averaged": {"noise": "averaged-laplace", "n_draws": 5},
    "other": {"other": True},
}


def _table(relation: str, call: dict[str, Any], read: str, change: str | None, *, total: bool) -> Any:
    survey = hg.open(people(), relation=relation)
    cells = {"sex": [0, 1], "region": ["North", "East", "South"]}
    given = {"by": cells, "epsilon": 2.0, **call}
    table = (
        survey.magnitude_table("income", bounds=(0, 200_000), step=200, **given)
        if total
        else survey.contingency_table(**given)
    )
    changed = table if change is None else getattr(table, change)()
    return str(changed) if read == "text" else json.loads(changed.to_json())


def tables() -> Iterator[Case]:
    for relation, (said, call), total in product(RELATIONS, TABLES.items(), (True, False)):
        yield f"table {relation} {said} {total}", _bound(_table, relation, call, "json", None, total=total)
    for change, total, read in product((None, "rounded", "nonnegative"), (True, False), ("json", "text")):
        call = {"margins": True}
        yield f"table {change} {total} {read}", _bound(_table, "replace-one", call, read, change, total=total)
    for total, read in product((True, False), ("json", "text")):
        call = {"guarantee": "bootstrap-dp"}
        yield f"table bootstrap-dp {total} {read}", _bound(_table, "replace-one", call, read, None, total=total)


def _score(metric: str, mechanism: str, relation: str) -> Any:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 400)
    right = np.where(rng.random(400) < 0.8, y, 1 - y)
    delta = 0.0 if mechanism in ("laplace", "thresholdout") else 1e-6
    test_set = TestSet(
        None, y, metric=metric, relation=relation, epsilon=2.0, delta=delta, n_looks=3, mechanism=mechanism
    )
    given = right if metric == "accuracy" else 0.2 + 0.6 * right
    training = {"training_score": 0.8} if mechanism == "thresholdout" else {}
    return [test_set.score(given, **training).to_dict() for _ in range(3)]


def scores() -> Iterator[Case]:
    mechanisms = ("gaussian", "laplace", "resample_gaussian", "smoothed_resample", "thresholdout")
    for metric, mechanism, relation in product(("accuracy", "brier"), mechanisms, RELATIONS):
        if relation == "replace-one" or mechanism in ("gaussian", "laplace"):
            yield f"score {metric} {mechanism} {relation}", _bound(_score, metric, mechanism, relation)


def _model(mechanism: str, relation: str, call: dict[str, Any]) -> Any:
    import pandas as pd

    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"score": rng.random(800).round(3), "sex": rng.integers(0, 2, 800)})
    labels = (rng.random(800) < 0.3 + 0.4 * frame["score"]).astype(int)
    model = Multicalibrator(
        groups={"sex": [0, 1]}, epsilon=2.0, relation=relation, mechanism=mechanism, classes=[0, 1], **call
    )
    model.fit(frame, labels)
    chances = model.predict_proba(frame)[:50, 1].tolist()
    return {"chances": chances, "certificate": model.certificate_.to_dict(), "report": str(model.report_)}


def models() -> Iterator[Case]:
    for mechanism, relation in product(("table", "rounds", "numeric_sparse"), RELATIONS):
        yield f"model {mechanism} {relation}", _bound(_model, mechanism, relation, {})
    yield "model input_perturbation", _bound(_model, "input_perturbation", "replace-one", {})


def _price(mechanism: str, relation: str, given: dict[str, Any]) -> Any:
    from hedgerow.release.price import price_of

    return price_of(mechanism, relation=relation, **given).to_dict()


def prices() -> Iterator[Case]:
    noise: tuple[dict[str, Any], ...] = ({"noise_sd": 3.0}, {"epsilon": 0.3}, {"epsilon": 2.0, "delta": 1e-9})
    for mechanism, relation, given in product(("gaussian", "moments"), RELATIONS, ({"rho": 0.5}, *noise)):
        yield f"price {mechanism} {relation} {given}", _bound(_price, mechanism, relation, given)
    for mechanism, relation in product(("laplace", "geometric"), RELATIONS):
        for given in ({"noise_sd": 3.0}, {"epsilon": 0.3}):
            yield f"price {mechanism} {relation} {given}", _bound(_price, mechanism, relation, given)
    for relation, k, given in product(RELATIONS, (1, 7, 40), ({"rho": 0.5}, {"epsilon": 1.0})):
        call = {"n_resamples": k, **given}
        yield f"price bootstrap {relation} {call}", _bound(_price, "bootstrap", relation, call)
    for relation, draws in product(RELATIONS, (1, 10)):
        call = {"epsilon": 1.0, "n_draws": draws}
        yield f"price averaged-laplace {relation} {call}", _bound(_price, "averaged-laplace", relation, call)


def _page(asked: Callable[[], list[Any]], by: dict[str, Any]) -> str:
    survey = hg.open(people(), relation="replace-one")
    return report_html(survey.release(asked(), epsilon=2.0, **by))


def pages() -> Iterator[Case]:
    for (said, asked), cells in product(STATISTICS.items(), ("overall", "by sex")):
        yield f"page {said} {cells}", _bound(_page, asked, dict(BY[cells]))


def _bound(function: Callable[..., Any], *given: Any, **options: Any) -> Callable[[], Any]:
    return lambda: function(*given, **options)


def cases() -> list[Case]:
    return [*releases(), *tables(), *scores(), *models(), *prices(), *pages()]


def printed(case: Case) -> Any:
    """What a case prints: numbers as numbers, pages and texts as a digest after their prices are masked."""
    said, run = case
    with seeded(int.from_bytes(hashlib.sha256(said.encode()).digest()[:4], "big")):
        try:
            found = run()
        except HedgerowError as refused:
            return {"refused": refused.code}
    return _kept(found)


def _kept(found: Any) -> Any:
    if isinstance(found, dict):
        return {key: _kept(value) for key, value in found.items() if key not in ("versions", "date")}
    if isinstance(found, (list, tuple)):
        return [_kept(value) for value in found]
    if isinstance(found, str) and len(found) > 200:
        masked = re.sub(r"(ε ≤ |ε = )[0-9.e-]+", r"\1…", found)
        # Drawn curves carry a price in every coordinate; last digits and versions are those of the linear algebra.
        masked = re.sub(r"<svg.*?</svg>", "", masked, flags=re.S)
        masked = re.sub(r'(numpy|scipy|opendp)(": "| )[0-9.]+', r"\1", masked)
        masked = re.sub(r"-?\d+\.\d+(?:e[+-]?\d+)?", _seven_digits, masked)
        # Versions of Python add up in different ways, and a whole number may lie half-way between two others.
        masked = re.sub(r"\d{1,3}(?:,\d{3})+", lambda number: f"{float(number[0].replace(',', '')):.4e}", masked)
        return hashlib.sha256(masked.encode()).hexdigest()
    return found


def _seven_digits(number: re.Match[str]) -> str:
    return f"{float(number[0]):.6e}" if abs(float(number[0])) > 1e-12 else "0"


def differences(here: Any, there: Any, *, exact: bool, at: str = "") -> Iterator[str]:
    """Yield where two printed cases differ by more than their tolerance; fields that came later are no difference."""
    if isinstance(there, dict) and isinstance(here, dict):
        for key in there:
            if key not in here:
                yield f"{at}.{key} is gone"
            else:
                yield from differences(here[key], there[key], exact=exact, at=f"{at}.{key}")
    elif isinstance(there, list) and isinstance(here, list) and len(here) == len(there):
        for place, (one, other) in enumerate(zip(here, there, strict=True)):
            yield from differences(one, other, exact=exact, at=f"{at}[{place}]")
    elif isinstance(there, float) and isinstance(here, (int, float)) and not exact:
        loose = any(name in at for name in _PRICED)
        if not math.isclose(here, there, rel_tol=_PRICES if loose else _LAST_DIGITS, abs_tol=1e-12):
            yield f"{at}: {here!r}, was {there!r}"
    elif here != there:
        yield f"{at}: {here!r}, was {there!r}"


def recorded() -> dict[str, Any]:
    record: dict[str, Any] = json.loads(gzip.decompress(RECORD.read_bytes()))
    return record


@pytest.mark.parametrize("kind", [releases, tables, scores, models, prices, pages], ids=lambda kind: kind.__name__)
def test_what_is_printed_is_what_was_printed_before(kind: Callable[[], Iterator[Case]]) -> None:
    record = recorded()
    for case in kind():
        assert list(differences(printed(case), record[case[0]], exact=False)) == [], case[0]


def test_the_record_holds_two_hundred_cases_and_few_refusals() -> None:
    record = recorded()
    refused = [name for name, found in record.items() if isinstance(found, dict) and "refused" in found]
    assert len(record) - len(refused) >= 200, refused
    assert set(record) == {name for name, _ in cases()}


def test_noise_two_per_cent_off_is_a_difference() -> None:
    narrow = SimulatedNoise.two_sided_geometric
    case = next(case for case in releases() if case[0] == "release replace-one mean overall auto")
    with patch.object(SimulatedNoise, "two_sided_geometric", lambda self, a, size: narrow(self, 0.98 * a, size)):
        assert list(differences(printed(case), recorded()[case[0]], exact=False))


def main(wanted: str) -> int:
    """Write the record, or compare to the last digit."""
    if wanted == "write":
        text = json.dumps({case[0]: printed(case) for case in cases()}, sort_keys=True)
        RECORD.write_bytes(gzip.compress(text.encode(), mtime=0))
        return 0
    record = recorded()
    found = {case[0]: list(differences(printed(case), record[case[0]], exact=True)) for case in cases()}
    differing = {name: lines for name, lines in found.items() if lines}
    for name, lines in differing.items():
        print(name, *lines[:3], sep="\n    ")
    print(f"{len(found) - len(differing)} of {len(found)} equal to the last digit")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:] or ["compare"]))
