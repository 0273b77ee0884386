"""Every kind of genuine record holds, however little it says; each forgery of it that a record can show does not."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.ledger.store import Ledger
from hedgerow.mechanisms.certificate import Certificate, certify, mechanism_from_record
from hedgerow.multicalibration import Multicalibrator
from hedgerow.multicalibration.model_file import model_text
from hedgerow.reports.verify.verification import consistency, verify_record
from hedgerow.testset import TestSet

Record = dict[str, Any]
MEAN, SUM = hg.mean("x", bounds=(18, 95), step=1), hg.sum("x", bounds=(-10, 95), step=1)
COUNT, SHARE = hg.count(), hg.proportion("c", value=1)
BY = {"s": [0, 1]}
WHOLE = {"missing": "error-if-declared-complete"}
PURE, AVERAGED = {"delta": 0.0}, {"noise": "averaged-laplace", "n_draws": 3}
BOOT = {"estimator": "bootstrap", "n_resamples": 10}


@cache
def survey(n: int, relation: str, **options: Any) -> hg.Survey:
    rng = np.random.default_rng(n)
    columns = {"x": rng.normal(40, 15, n).round(), "c": (rng.random(n) < 0.1) * 1, "s": rng.integers(0, 2, n)}
    columns |= {"r": rng.integers(0, 9, n), "u": np.arange(n) // 3, "y": rng.normal(10, 1, n)}
    return hg.open(pa.table(columns), relation=relation, **options)


def units(n: int, relation: str) -> hg.Survey:
    rng = np.random.default_rng(n)
    rows = pa.table({"x": rng.normal(40, 15, n), "c": (rng.random(n) < 0.1) * 1, "u": np.arange(n) // 3})
    return hg.open(
        rows.append_column("s", pa.array(rng.integers(0, 2, n))), relation=relation, unit={"column": "u", "max_rows": 3}
    )


RELEASES: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "means and sums": ([MEAN, SUM], {}),
    "means and sums by group": ([MEAN, SUM], {"by": BY}),
    "counts and shares by group, the rest apart": ([COUNT, SHARE], {"by": BY, "other": True, **PURE}),
    "one of each": ([MEAN, COUNT, SHARE], {"by": BY, "share": [5, 1, 1], **PURE}),
    "complete": ([MEAN, SUM, SHARE], {**WHOLE, **PURE}),
    "complete by group": ([MEAN, SHARE], {"by": BY, **WHOLE, **PURE}),
    "midpoint": ([MEAN, SUM], {"missing": "midpoint"}),
    "midpoint by group": ([MEAN, SUM], {"missing": "midpoint", "by": BY}),
    "averaged": ([MEAN, SUM, COUNT, SHARE], {**AVERAGED, **PURE, "by": BY}),
    "averaged and complete": ([MEAN, SHARE], {**AVERAGED, **PURE, **WHOLE}),
    "Gaussian counts": ([COUNT, SHARE], {"noise": "gaussian", "by": BY}),
    "many empty cells": ([MEAN, COUNT, SHARE], {"by": {"s": [0, 1, 7], "r": list(range(12))}, **PURE}),
    "a step of its own": ([hg.mean("y", bounds=(9.7, 10.9)), hg.sum("y", bounds=(9.7, 10.9))], {}),
    "bootstrap": ([MEAN], BOOT),
    "bootstrap of sums by group": ([SUM], {**BOOT, "by": BY}),
    "bootstrap of counts by group": ([COUNT], {**BOOT, "by": BY, "interval": "unbiased"}),
    "bootstrap of shares by group": ([SHARE], {**BOOT, "by": BY}),
    "bootstrap, complete": ([SUM], {**BOOT, **WHOLE}),
    "a variance beside a mean": ([MEAN, hg.variance("x", bounds=(18, 95), step=1)], {"by": BY, "n_resamples": 10}),
}


def changed(record: Record, mechanism: Record, **told: Any) -> Record:
    """Return the record with another mechanism or other words on its certificate, wherever they stand."""
    forged = copy.deepcopy(record)
    forged["certificate"] |= {"mechanism": mechanism, **told}
    if "release" in forged:
        forged["release"] |= {name: told[name] for name in ("relation", "unit") if name in told}
    return forged


def contradicted(record: Record) -> tuple[str, ...]:
    """In what it contradicts itself; prices, which a forger can compute, are left out."""
    return consistency(record, Certificate.from_dict(record["certificate"])).contradictions


def parts_of(record: Record) -> list[Record]:
    mechanism = record["certificate"]["mechanism"]
    return mechanism["parts"] if mechanism["type"] == "composition" else [mechanism]


def composed(parts: list[Record]) -> Record:
    return parts[0] if len(parts) == 1 else {"type": "composition", "parts": parts}


def each_part(record: Record, change: Callable[[Record], bool]) -> Iterator[Record]:
    """Yield the record with one part of its mechanism changed, for each part that can be."""
    for place in range(len(parts_of(record))):
        parts = copy.deepcopy(parts_of(record))
        if change(parts[place]):
            yield changed(record, composed(parts))


def fewer_cells(part: Record) -> bool:
    if part["type"] == "cell-totals":
        return False  # what is left has to name each of its kinds: a table of two cells has none to spare
    holder = part.get("layout", part)
    several = holder["cells"] > 1
    holder["cells"] = 1
    return bool(several)


def wider_noise(part: Record) -> bool:
    """A hundred times the noise: a ratio does not show less, since the noisy count that divides is not printed."""
    for name in ("scale", "sd"):
        if name in part:
            part[name] *= 100
    for one in (part.get("noise") or {}).values():
        if one is not None:
            one["width"] *= 100
    for one in (*part.get("coordinates", []), *part.get("blocks", [])):
        one["noise"]["width"] *= 100
    for kind in part.get("kinds", [])[1:]:
        kind["total"]["width"] *= 100
    return len(part.get("kinds", [0, 0])) > 1 and part.get("shape") not in ("vector", "one-of")


def forgeries(record: Record) -> Iterator[tuple[str, Record]]:
    """Yield what was done with a copy of the record, every price on it true of the mechanism that is then on it."""
    told, whole = record["certificate"], record["certificate"]["mechanism"]
    yield from (("fewer cells", one) for one in each_part(record, fewer_cells))
    # The noise of a ratio of resamples, or of a statistic of one's own, is not told by what is printed.
    resampled = {entry["statistic"] for entry in record.get("estimates", ()) if entry["method"] == "bootstrap"}
    if resampled <= {"count", "sum"}:
        yield from (("wider noise", one) for one in each_part(record, wider_noise))
    parts = parts_of(record)
    for place in range(len(parts) if len(parts) > 1 else 0):
        yield "a part dropped", changed(record, composed([*parts[:place], *parts[place + 1 :]]))
    yield "no mechanism", changed(record, {"type": "composition", "parts": []}, delta=0.0)
    other = "household, at most 12 rows" if told["unit"] == "row" else "u, at most 1 row"
    yield "another unit", changed(record, whole, unit=other)
    only = copy.deepcopy(record)
    only["release"]["unit"] = other
    yield "another unit in one place", only
    swapped = ({"replace-one", "add-remove"} - {told["relation"]}).pop()
    yield "another relation", changed(record, whole, relation=swapped)
    # That functions of columns keep nothing between records is no matter of the mechanism: it is not missed.
    if told["assumptions"] and "variance" not in resampled:
        yield "no assumptions", changed(record, whole, assumptions=[])


def assert_alone_in_holding(record: Record) -> None:
    """The record is free of contradictions, and each forgery of it is not."""
    assert contradicted(record) == ()
    missed = [what for what, forged in forgeries(record) if not contradicted(forged)]
    assert not missed, missed


@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_genuine_release_holds_and_its_forgeries_do_not(name: str, relation: str) -> None:
    asked, options = RELEASES[name]
    release = survey(900, relation).release(asked, epsilon=2.0, **{"delta": 1e-9, **options})
    assert_alone_in_holding(json.loads(release.to_json(level=0.9)))


@pytest.mark.parametrize("name", ["means and sums by group", "many empty cells", "averaged", "midpoint by group"])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_release_that_noise_swamps_holds(name: str, relation: str) -> None:
    """Forty records at ε = .05 and ε = 30: numbers cut, cells not reliable, errors that are none."""
    asked, options = RELEASES[name]
    for epsilon in (0.05, 30.0):
        opened = survey(40, relation, target="file")
        release = opened.release(asked, epsilon=epsilon, **{"delta": 1e-9, **options})
        assert contradicted(json.loads(release.to_json())) == (), epsilon


def test_a_public_number_of_records_is_exact() -> None:
    record = survey(900, "replace-one").release([COUNT], epsilon=1.0).to_dict()
    assert verify_record(record).holds
    record["estimates"][0]["estimate"] = 901.0
    assert contradicted(record)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_release_of_units_holds_and_its_forgeries_do_not(relation: str) -> None:
    for asked in ([SUM], [MEAN]):
        release = units(900, relation).release(asked, by=BY, epsilon=2.0, n_resamples=10)
        assert_alone_in_holding(json.loads(release.to_json()))


CELLS = {"s": {0: (0, 50), 1: (0, 95)}}
TABLES: dict[str, Callable[[hg.Survey], Any]] = {
    "counts": lambda opened: opened.contingency_table(by={**BY, "c": [0, 1]}, epsilon=1.0, delta=0.0),
    "counts with margins": lambda opened: opened.contingency_table(
        by=BY, other=True, epsilon=1.0, delta=0.0, margins=True
    ),
    "rounded": lambda opened: (
        opened.contingency_table(by=BY, epsilon=1.0, delta=0.0, margins=True).nonnegative().rounded()
    ),
    "totals": lambda opened: opened.magnitude_table("x", bounds=(-5, 95), step=1, by=BY, epsilon=1.0, margins=True),
    "averaged totals": lambda opened: opened.magnitude_table(
        "x", bounds=(0, 95), step=1, by=BY, epsilon=1.0, delta=0.0, **AVERAGED
    ),
    "bounds by cell": lambda opened: opened.magnitude_table(
        "x", bounds=(0, 95), step=1, by=BY, epsilon=1.0, cell_bounds=CELLS, delta=0.0
    ),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_genuine_table_holds_and_its_forgeries_do_not(name: str, relation: str) -> None:
    assert_alone_in_holding(json.loads(TABLES[name](survey(900, relation)).to_json()))


def test_public_membership_holds_and_its_forgeries_do_not() -> None:
    options = {"by": BY, "epsilon": 1.0, "sensitivity": "public-membership", **WHOLE}
    table = survey(900, "replace-one").magnitude_table("x", bounds=(0, 95), step=1, **options)
    assert_alone_in_holding(json.loads(table.to_json()))


@pytest.mark.parametrize("name", ["counts", "totals", "bounds by cell"])
def test_what_a_ledger_keeps_of_a_table_holds_and_its_forgeries_do_not(name: str, tmp_path: Any) -> None:
    path = tmp_path / "people.ledger"
    Ledger.create(path, dataset="people", budget=Budget(2.0, 1e-6), relation="replace-one", unit="row").close()
    TABLES[name](dataclasses.replace(survey(900, "replace-one"), ledger=path))
    with Ledger.open(path) as ledger:
        record = json.loads(ledger.entries()[0].result or "")
    assert contradicted(record) == ()
    assert all(contradicted(forged) for what, forged in forgeries(record) if what != "no assumptions")


@pytest.mark.filterwarnings("ignore:delta=0.9 exceeds 1/n")  # a resample alone has no other δ
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace", "smoothed_resample", "thresholdout", "resample"])
def test_a_score_holds_and_its_forgeries_do_not(mechanism: str) -> None:
    labels = np.repeat([0, 1], 400)
    guess, delta = np.where(np.arange(800) % 5 == 0, 1 - labels, labels), 0.9 if mechanism == "resample" else 1e-6
    told = {"training_score": 0.8} if mechanism == "thresholdout" else {}
    ts = TestSet(
        None,
        labels,
        metric="accuracy",
        relation="replace-one",
        epsilon=2.0,
        delta=delta,
        n_looks=2,
        mechanism=mechanism,
    )
    for _ in range(2):
        record = json.loads(ts.score(guess, **told).to_json())
        assert contradicted(record) == ()
    record = json.loads(ts.history[0].to_json())
    whole = record["certificate"]["mechanism"]
    assert contradicted(changed(record, {"type": "geometric", "scale": 900.0, "cells": 7}))
    assert contradicted(changed(record, {"type": "composition", "parts": []}))
    assert contradicted(changed(record, whole, unit="household, at most 12 rows"))
    assert contradicted(changed(record, whole, assumptions=[]))


@pytest.mark.parametrize("mechanism", ["table", "rounds", "numeric_sparse", "input_perturbation"])
def test_a_model_holds_and_its_forgeries_do_not(mechanism: str) -> None:
    rng = np.random.default_rng(1)
    features = np.column_stack([rng.random(600), rng.integers(0, 2, 600)])
    labels = (rng.random(600) < features[:, 0]) * 1
    made = Multicalibrator(
        groups={1: [0, 1]}, score_column=0, mechanism=mechanism, epsilon=2.0, relation="replace-one"
    ).fit(features, labels)
    record = json.loads(model_text(made.model_))
    assert contradicted(record) == ()
    whole = record["certificate"]["mechanism"]
    assert contradicted(changed(record, {"type": "composition", "parts": []}))
    assert contradicted(changed(record, whole, unit="household, at most 12 rows"))
    assert contradicted(changed(record, whole, assumptions=[]))
    if mechanism in ("table", "rounds"):
        for part in parts_of(record)[:1]:
            wider = copy.deepcopy(part)
            for one in [wider.get("residual"), wider.get("count")]:
                if one is not None:
                    one["width"] *= 2
            if "scale" in wider:
                wider["scale"] *= 1.7
            assert contradicted(changed(record, composed([wider, *parts_of(record)[1:]])))


def test_what_a_forger_prices_anew_is_refused_all_the_same() -> None:
    """Every stated price of this forgery is true of the mechanism on it, which made half of the numbers."""
    record = survey(900, "replace-one").release([COUNT], by=BY, epsilon=2.0, delta=0.0).to_dict()
    mechanism = {**record["certificate"]["mechanism"], "cells": 1}
    made = certify(mechanism_from_record(mechanism), Relation.REPLACE_ONE, unit="row", delta=0.0)
    found = verify_record({**record, "certificate": made.to_dict()})
    assert found.stated.holds and all(point.holds for point in found.profile) and not found.holds
    assert found.to_dict()["contradictions"] and found.to_dict()["not_checked"]
    with pytest.raises(hg.VerificationError, match="contradicts itself"):
        found.require()


def test_an_error_two_in_a_hundred_off_is_seen_where_nothing_divides() -> None:
    release = survey(900, "add-remove").release([SUM, COUNT], by=BY, epsilon=2.0, delta=0.0)
    for place in range(4):
        record = json.loads(release.to_json())
        record["estimates"][place]["privacy_error"] *= 1.02
        assert contradicted(record)
