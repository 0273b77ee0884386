"""One file adds a mechanism: what is written here, and entered in the registry, is priced, audited and verified."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pytest

from hedgerow.accounting.terms import Pure, Term
from hedgerow.audit.verdict import audit_mechanism
from hedgerow.errors import UncertifiedError, VerificationError
from hedgerow.facts.relation import Relation
from hedgerow.ledger.total import RunningTotal
from hedgerow.mechanisms.certificate import Certificate, certify, mechanism_from_record
from hedgerow.mechanisms.description import Floats, Neighbours, Quote, Record, Score, Single
from hedgerow.mechanisms.mechanism import as_record, kinds, priced
from hedgerow.noise.lattice import require_positive
from hedgerow.noise.source import NoiseSource
from hedgerow.release.forecast.price import price_of
from hedgerow.resampling.histogram import Histogram

FAR = Relation.REPLACE_ONE


@dataclass(frozen=True, slots=True)
class ToldBit(Single):
    """One bit, which is flipped with chance 1/(1 + e^ε): randomised response, under replace-one."""

    epsilon: float
    type: Literal["told-bit"] = "told-bit"
    price_name: ClassVar[str | None] = "bit"
    claimed: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        require_positive(epsilon=self.epsilon)

    @property
    def flipped(self) -> float:
        return 1.0 / (1.0 + math.exp(self.epsilon))

    @property
    def priced_sd(self) -> float:
        return math.sqrt(self.flipped * (1.0 - self.flipped)) / (1.0 - 2.0 * self.flipped)

    @classmethod
    def of_noise_sd(cls, noise_sd: float, quote: Quote) -> ToldBit:
        return cls(2.0 * math.asinh(0.5 / noise_sd))

    def terms(self, relation: Relation) -> tuple[Term, ...]:
        return (Pure(self.claimed * self.epsilon),) if relation is FAR else super(ToldBit, self).terms(relation)

    def worst_pairs(self, relation: Relation) -> tuple[Neighbours, ...]:
        return (Neighbours("another bit", Record(0, 1), Record(0, 0), 1),)

    def outputs(self, data: Histogram, n: int, noise: NoiseSource) -> Floats:
        flips = noise.generator().random(n) < self.flipped
        return (flips ^ bool(data.index[0])).astype(np.float64).reshape(n, 1, 1)

    def change(self, record: Record) -> Score:
        return lambda x: (2 * record.index - 1) * (x[:, 0] - 0.5) * self.epsilon


@pytest.fixture
def told_bit(monkeypatch: pytest.MonkeyPatch) -> ToldBit:
    monkeypatch.setitem(priced(), "bit", ToldBit)
    monkeypatch.setitem(kinds(), "told-bit", ToldBit)
    return ToldBit(1.0)


def test_it_is_certified_and_read_back(told_bit: ToldBit) -> None:
    certificate = certify(told_bit, FAR, unit="row", delta=0.0)
    assert certificate.epsilon == pytest.approx(1.0, abs=2e-6)
    again = Certificate.from_json(certificate.to_json())
    again.verify()
    assert again.mechanism == told_bit and mechanism_from_record(as_record(told_bit)) == told_bit


def test_a_ledger_adds_it_up(told_bit: ToldBit) -> None:
    total = RunningTotal(FAR, 5.0, 0.0)
    for _ in range(3):
        total = total.plus(told_bit)
    assert total.micro == pytest.approx(3e6, abs=3)


def test_an_audit_attacks_it_and_rejects_a_price_that_is_too_low(
    told_bit: ToldBit, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = audit_mechanism(told_bit, FAR, delta=0.0, runs=100_000)
    assert true.passes and true.epsilon_lower > 0.9
    monkeypatch.setattr(ToldBit, "claimed", 0.8)
    assert not audit_mechanism(told_bit, FAR, delta=0.0, runs=100_000).passes


def test_it_has_a_price_by_name(told_bit: ToldBit) -> None:
    bit = price_of("bit", relation="replace-one", noise_sd=told_bit.priced_sd, delta=0.0)
    assert bit.epsilon_upper == pytest.approx(1.0) and bit.noise_sd == pytest.approx(told_bit.priced_sd)
    assert price_of("bit", relation="replace-one", epsilon=2.0, delta=0.0).epsilon_upper == pytest.approx(2.0, abs=2e-3)


def test_what_it_does_not_answer_is_refused(told_bit: ToldBit) -> None:
    with pytest.raises(UncertifiedError, match="HG401"):
        certify(told_bit, Relation.ADD_REMOVE, unit="row", delta=0.0)
    assert told_bit.half_width(1, 0.05) is None


def test_without_the_registry_its_record_is_none() -> None:
    with pytest.raises(VerificationError, match="HG502"):
        mechanism_from_record({"type": "told-bit", "epsilon": 1.0})


def test_every_kind_has_one_name_and_answers_for_itself() -> None:
    assert len(kinds()) >= 20 and all(kind.terms is not Single.terms for kind in kinds().values())
    assert all(priced()[str(kind.price_name)] is kind for kind in kinds().values() if kind.price_name)
