"""Ledgers for bootstrap-dp: never mixed with differential privacy; Results 7 and 8; old ledgers read as before."""

import json
import math
import sqlite3
from pathlib import Path

import pytest

from hedgerow.errors import BudgetExceeded, LedgerError, ParameterError, VerificationError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.ledger.bootstrap_statement import UNPROTECTED, BootstrapNoise, BootstrapStatement
from hedgerow.ledger.chain import Header
from hedgerow.ledger.guarantee import with_one_more
from hedgerow.ledger.ledger_entry import over_budget
from hedgerow.ledger.store import Ledger
from hedgerow.mechanisms.certificate import Certificate, certify
from hedgerow.mechanisms.noisy_counts import GeometricCounts


def stated(epsilon: float, *part: str, unit: str = "row") -> BootstrapStatement:
    noise = BootstrapNoise(epsilon, "sum", "whole-table", 4, "1", part[:1], part or None)
    return BootstrapStatement(noise, unit, (), UNPROTECTED, {"hedgerow": "0"})


def priced(epsilon: float) -> Certificate:
    return certify(GeometricCounts(1.0 / epsilon, 1), Relation.REPLACE_ONE, unit="row", delta=0.0)


def weak(path: Path, epsilon: float = 2.0) -> Ledger:
    return Ledger.create(
        path, dataset="d", budget=Budget(epsilon, 0.0), relation="replace-one", unit="row", guarantee="bootstrap-dp"
    )


def test_the_two_guarantees_are_never_added_up(tmp_path: Path) -> None:
    strong = Ledger.create(tmp_path / "a", dataset="d", budget=Budget(2.0, 0.0), relation="replace-one", unit="row")
    with strong, weak(tmp_path / "b") as other:
        for ledger, price in ((strong, stated(0.1)), (other, priced(0.1))):
            for attempt in (
                ledger.would_spend,
                lambda p, kept=ledger: kept.reserve(p, request_id="x", fingerprint="f"),
            ):
                with pytest.raises(LedgerError) as refused:
                    attempt(price)
                assert refused.value.code == "HG316" and refused.value.exit_code == 2
            assert ledger.spent() == 0.0 and ledger.entries() == ()
        with pytest.raises(LedgerError):
            with_one_more(other._header.nothing_spent(), GeometricCounts(1.0, 1))
        with pytest.raises(LedgerError) as refused:
            other.reserve(stated(0.1, unit="person"), request_id="x", fingerprint="f")
        assert refused.value.code == "HG309"


def test_result_7_adds_up_and_a_budget_holds(tmp_path: Path) -> None:
    with weak(tmp_path / "l", 1.0) as ledger:
        for number in range(10):
            ledger.reserve(stated(0.1), request_id=str(number), fingerprint="f").record("{}")
        assert ledger.spent() == 1.0 and ledger.remaining() == 0.0
        with pytest.raises(BudgetExceeded):
            ledger.reserve(stated(0.001), request_id="more", fingerprint="f")
        head = ledger.verify()
    with Ledger.open(tmp_path / "l") as again:
        assert again.guarantee == "bootstrap-dp" and again.verify(head) == head
        assert [entry.mechanism.epsilon for entry in again.entries()] == [0.1] * 10
        assert again.entries()[-1].total_micro == 1_000_000


def test_result_8_parts_cost_what_the_dearest_costs(tmp_path: Path) -> None:
    with weak(tmp_path / "l", 5.0) as ledger:
        parts = [
            (0.5,),
            (1.0, "region", "north"),
            (0.7, "region", "south"),
            (0.7, "region", "south"),
            (0.2, "kind", "a"),
        ]
        totals = []
        for number, (epsilon, *part) in enumerate(parts):
            ledger.reserve(stated(epsilon, *part), request_id=str(number), fingerprint="f")
            totals.append(ledger.spent())
        assert totals == [0.5, 1.5, 1.5, 1.9, 2.1]
        ledger.verify()


def test_bootstrap_ledgers_are_pure_and_for_replaced_rows(tmp_path: Path) -> None:
    for wrong in ({"budget": Budget(1.0, 1e-6)}, {"relation": "add-remove"}, {"guarantee": "both"}):
        asked = {"budget": Budget(1.0, 0.0), "relation": "replace-one", "guarantee": "bootstrap-dp"} | wrong
        with pytest.raises(ParameterError) as refused:
            Ledger.create(tmp_path / "l", dataset="d", unit="row", **asked)
        assert refused.value.code == "HG314" and not (tmp_path / "l").exists()


def test_headers_of_before_are_read_and_written_as_before() -> None:
    """The very bytes of format 1: a ledger that was made before there was a second guarantee opens unchanged."""
    body = (
        '{"at":"2026-01-01T00:00:00+00:00","dataset":"survey","delta":1e-06,"epsilon":1.0,"family":"any",'
        '"format":"hedgerow-ledger-1","relation":"add-remove","salt":"00","unit":"row"}'
    )
    header = Header.from_body(body)
    assert header.guarantee == "dp" and header.body() == body
    changed = {**json.loads(body), "guarantee": "bootstrap-dp", "delta": 0.0, "relation": "replace-one"}
    with pytest.raises(ValueError, match="canonical"):
        Header.from_body(json.dumps(changed, sort_keys=True, separators=(",", ":")))


def test_an_entry_made_cheaper_is_noticed(tmp_path: Path) -> None:
    with weak(tmp_path / "l") as ledger:
        ledger.reserve(stated(1.0), request_id="1", fingerprint="f")
    connection = sqlite3.connect(tmp_path / "l")
    connection.execute("DROP TRIGGER links_no_UPDATE")
    connection.execute("UPDATE links SET body = replace(body, '\"epsilon\":1.0', '\"epsilon\":0.5')")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError):
        Ledger.open(tmp_path / "l")


@pytest.mark.parametrize(
    "change",
    [
        {"differential_privacy": True},
        {"epsilon": 0.5},
        {"relation": "replace-one"},
        {"noise_sd": 3.0},
        {"unprotected": []},
        {"unprotected": ["Everybody is protected."]},
        {"unit": ["row"]},
        {"mechanism": {"type": "bootstrap-geometric"}},
        {"epsilon": 1e305, "mechanism": stated(1e305).mechanism.to_dict()},
    ],
)
def test_a_statement_that_claims_more_is_refused(change: dict) -> None:
    record = stated(1.0).to_dict()
    assert BootstrapStatement.from_dict(json.loads(json.dumps(record))) == stated(1.0)
    with pytest.raises(VerificationError) as refused:
        BootstrapStatement.from_dict({**record, **change})
    assert refused.value.code == "HG502"


@pytest.mark.parametrize(
    "change",
    [
        {"guarantee": "another"},
        {"guarantee": "bootstrap-dp", "delta": 1e-6},
        {"guarantee": "bootstrap-dp", "relation": "add-remove"},
        {"guarantee": "bootstrap-dp", "family": "gaussian"},
        {"family": "another"},
    ],
)
def test_a_header_that_no_ledger_is_made_with_is_refused(tmp_path: Path, change: dict) -> None:
    """Nor is a guarantee of a later version read as differential privacy."""
    header = {"at": "t", "dataset": "d", "delta": 0.0, "epsilon": 1.0, "family": "any", "relation": "replace-one"}
    header |= {"salt": "00", "unit": "row", "format": f"hedgerow-ledger-{1 + ('guarantee' in change)}"} | change
    with pytest.raises((ValueError, ParameterError)):
        Header.from_body(json.dumps(header, sort_keys=True, separators=(",", ":")))


def test_a_family_of_noise_that_bootstrap_dp_has_not_is_refused(tmp_path: Path) -> None:
    made = {"dataset": "d", "budget": Budget(1.0, 0.0), "relation": "replace-one", "unit": "row"}
    with pytest.raises(ParameterError) as refused:
        Ledger.create(tmp_path / "l", family="gaussian", guarantee="bootstrap-dp", **made)
    assert refused.value.code == "HG314" and not (tmp_path / "l").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"statistic": "mode"},
        {"statistic": 3},
        {"option": "half-table"},
        {"option": None},
        {"cells": 4.0},
        {"cells": "4"},
        {"grid": 1},
        {"public_columns": [1]},
        {"public_columns": "region"},
        {"part": ["kind", "a"]},
        {"part": ["region", 1]},
        {"part": ["region"]},
        {"part": ["region", "north", "more"]},
        {"type": "geometric"},
        {"epsilon": 0.0},
        {"epsilon": "1"},
        {"cells": True},
    ],
    ids=repr,
)
def test_a_noise_of_no_statement_is_refused(change: dict) -> None:
    """Every field alone: what is no statistic, option, number, text or part of a public column."""
    record = stated(1.0, "region", "north").mechanism.to_dict()
    assert BootstrapNoise.from_dict(json.loads(json.dumps(record))).to_dict() == record
    with pytest.raises(VerificationError, match="HG502"):
        BootstrapNoise.from_dict({**record, **change})


def test_what_is_left_is_never_less_than_nothing() -> None:
    refused = over_budget(700_000, 950_000, 900_000, 0.0)
    assert (refused.requested, refused.remaining, refused.code) == (0.25, 0.2, "HG310")
    assert over_budget(900_000, None, 900_000, 1e-6).requested == math.inf
    assert over_budget(900_001, 900_002, 900_000, 1e-6).remaining == 0.0
