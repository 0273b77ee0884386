"""A ledger under any sequence of requests does what a list and a dictionary would do, and never spends too much."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hedgerow.accounting.compose import profile_of
from hedgerow.errors import BudgetExceeded, LedgerError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.ledger.store import Ledger, Replay, Reserved
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.interface import AtomicMechanism
from hedgerow.mechanisms.mechanism import Composition
from hedgerow.mechanisms.noisy_counts import GaussianCounts, GaussianNoise, GeometricCounts

MECHANISMS: list[AtomicMechanism] = [
    GaussianNoise(20.0, 1.0),
    GaussianNoise(7.0, 1.0),
    GeometricCounts(40.0, 3),
    GeometricCounts(4.0, 1),
    GaussianCounts(60.0, 2),
    GaussianCounts(12.0, 2),
]
RELATION, DELTA = Relation.REPLACE_ONE, 1e-6
ids = st.sampled_from([f"id {number}" for number in range(12)])
texts = st.sampled_from(["mean", "count"])


def certificate(mechanism: AtomicMechanism) -> Certificate:
    return Certificate(mechanism, RELATION, "row", 0.1, DELTA, (), "upper", (), {})


class AgainstAList(RuleBasedStateMachine):
    """The model: requests in order, results by id, and the accountant's price of the whole list."""

    @initialize(budget=st.sampled_from([0.5, 2.0, 20.0]))
    def begin(self, budget: float) -> None:
        memory = Path("/dev/shm")
        self.folder = tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None)
        self.path, self.budget = Path(self.folder.name, "ledger"), budget
        self.ledger = Ledger.create(
            self.path, dataset="people", budget=Budget(budget, DELTA), relation=str(RELATION), unit="row"
        )
        self.requests: dict[str, tuple[str, AtomicMechanism]] = {}
        self.results: dict[str, str] = {}
        self.heads = [self.ledger.head]

    def price(self, *more: AtomicMechanism) -> float:
        parts = tuple(mechanism for _, mechanism in self.requests.values()) + more
        return profile_of(Composition(parts), RELATION).epsilon_upper(DELTA) if parts else 0.0

    @rule(name=ids, text=texts, mechanism=st.sampled_from(MECHANISMS))
    def reserve(self, name: str, text: str, mechanism: AtomicMechanism) -> None:
        before = self.ledger.head
        try:
            outcome = self.ledger.reserve(certificate(mechanism), request_id=name, fingerprint=text)
        except BudgetExceeded as refused:
            assert name not in self.requests
            # The two bounds may differ by their rounding.
            assert self.price(mechanism) > self.budget * (1 - 5e-3)
            assert refused.requested > refused.remaining >= 0.0
        except LedgerError as refused:
            known = self.requests[name]
            assert refused.code == ("HG312" if known[0] == text and name not in self.results else "HG311")
        else:
            if isinstance(outcome, Replay):
                assert self.requests[name][0] == text and outcome.result == self.results[name]
            else:
                assert name not in self.requests
                self.requests[name] = (text, mechanism)
                self.heads.append(outcome.head)
                return
        assert self.ledger.head == before

    @rule(name=ids, result=st.text(max_size=20))
    def record(self, name: str, result: str) -> None:
        if not _is_utf8(result):
            return
        if name not in self.requests or self.results.get(name, result) != result:
            with pytest.raises(LedgerError, match="HG313"):
                self.ledger.record(name, result)
        else:
            self.heads.append(self.ledger.record(name, result))
            self.results[name] = result

    @rule()
    def open_again(self) -> None:
        self.ledger.close()
        self.ledger = Ledger.open(self.path)

    @rule(data=st.data())
    def verify(self, data: st.DataObject) -> None:
        assert self.ledger.verify(data.draw(st.sampled_from(self.heads))) == self.heads[-1]

    @invariant()
    def agrees(self) -> None:
        entries = self.ledger.entries()
        assert [(e.request_id, e.fingerprint, e.mechanism) for e in entries] == [
            (name, *rest) for name, rest in self.requests.items()
        ]
        assert {e.request_id: e.result for e in entries if e.state == "recorded"} == self.results
        spent = self.ledger.spent()
        assert spent <= self.budget and abs(spent + self.ledger.remaining() - self.budget) < 1e-9
        assert [e.total_micro for e in entries] == sorted(e.total_micro for e in entries)
        assert spent == (entries[-1].total_micro / 1e6 if entries else 0.0)

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            whole = self.price()
            assert whole * (1 - 1e-3) <= self.ledger.spent() <= whole * 1.005 + 2e-6
            self.ledger.close()
            self.folder.cleanup()


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


TestAgainstAList = AgainstAList.TestCase
TestAgainstAList.settings = settings(
    max_examples=8,
    stateful_step_count=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


class Forgetful(Ledger):
    """The sabotage: a ledger that answers a used id with a new reservation."""

    def _earlier(self, *_: object) -> None:
        return None


def test_a_ledger_that_spends_twice_under_one_id_is_stopped_by_the_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    Ledger.create(path, dataset="people", budget=Budget(2.0), relation=str(RELATION), unit="row").close()
    ledger = Forgetful.open(path)
    first = ledger.reserve(certificate(MECHANISMS[0]), request_id="a", fingerprint="mean")
    assert isinstance(first, Reserved)
    with pytest.raises(LedgerError):
        ledger.reserve(certificate(MECHANISMS[0]), request_id="a", fingerprint="mean")
    assert len(ledger.entries()) == 1
