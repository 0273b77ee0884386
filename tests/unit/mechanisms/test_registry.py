"""One file adds a mechanism: what is written here, and entered in the registry, is priced, audited and verified."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from types import FunctionType
from typing import ClassVar, Literal

import numpy as np
import pytest

from hedgerow.accounting.compose import profile_of
from hedgerow.accounting.dominating_pairs import DominatingPair, PureDPPair
from hedgerow.audit import campaign
from hedgerow.audit.campaign import run_campaign
from hedgerow.audit.faults import mutants
from hedgerow.audit.law import off_lattice
from hedgerow.audit.replay import ReplayResult, replay
from hedgerow.errors import UncertifiedError, VerificationError
from hedgerow.facts.relation import Relation
from hedgerow.ledger.total import RunningTotal
from hedgerow.mechanisms import mechanism
from hedgerow.mechanisms.certificate import Certificate, certify, mechanism_from_record
from hedgerow.mechanisms.interface import AtomicMechanism, AuditRecord, Floats, Neighbours, Quote, Score, Specimen
from hedgerow.mechanisms.mechanism import as_record, kinds, priced, specimens
from hedgerow.multicalibration.calibration_mechanism import MECHANISMS, mechanism_class
from hedgerow.noise.lattice import NoiseSource, require_positive
from hedgerow.release.price import price_of
from hedgerow.resampling.counted_values import Histogram
from hedgerow.testing.simulated import SimulatedNoise
from hedgerow.testset.mechanisms.choose import _KINDS as LOOKS

FAR = Relation.REPLACE_ONE
NUMBERS = ("gaussian", "laplace", "averaged-laplace")  # priced, never drawn: they lie on a lattice of their own


@dataclass(frozen=True, slots=True)
class ToldBit(AtomicMechanism):
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

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        return (Specimen("a told bit", cls(1.0), FAR, 0.0),)

    def terms(self, relation: Relation) -> tuple[DominatingPair, ...]:
        return (PureDPPair(self.claimed * self.epsilon),) if relation is FAR else super(ToldBit, self).terms(relation)

    def worst_pairs(self, relation: Relation) -> tuple[Neighbours, ...]:
        return (Neighbours("another bit", AuditRecord(0, 1), AuditRecord(0, 0), 1),)

    def outputs(self, data: Histogram, n: int, noise: NoiseSource) -> Floats:
        flips = noise.generator().random(n) < self.flipped
        return (flips ^ bool(data.index[0])).astype(np.float64).reshape(n, 1, 1)

    def change(self, record: AuditRecord) -> Score:
        return lambda x: (2 * record.index - 1) * (x[:, 0] - 0.5) * self.epsilon


@cache
def replayed_once(pairs: int, *, seed: int, csv_every: int) -> ReplayResult:
    """Replay the public functions once for both campaigns: none of these functions asks for a told bit."""
    return replay(pairs, seed=seed, csv_every=csv_every)


@pytest.fixture
def told_bit(monkeypatch: pytest.MonkeyPatch) -> ToldBit:
    monkeypatch.setitem(priced(), "bit", ToldBit)
    monkeypatch.setitem(kinds(), "told-bit", ToldBit)
    return ToldBit(1.0)


def test_the_table_of_the_registry_has_a_row_for_each_mechanism() -> None:
    rows = re.findall(r"^`(\w+)` +\S", str(mechanism.__doc__), re.MULTILINE)
    assert sorted(rows) == sorted({kind.__name__ for kind in kinds().values()} | {"Composition"})


@pytest.mark.parametrize("name", priced())
def test_noise_is_sized_by_mu_where_nothing_is_promised_at_delta_0(name: str) -> None:
    kind = priced()[name]
    built = kind.of_noise_sd(3.0, Quote(FAR, n_draws=2))
    assert kind.sized_by_mu == math.isinf(profile_of(built, FAR).epsilon_upper(0.0))


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


@pytest.mark.parametrize(("claimed", "right"), [(1.0, True), (0.8, False)])
def test_the_campaign_attacks_it_and_fails_where_its_price_is_too_low(
    told_bit: ToldBit, monkeypatch: pytest.MonkeyPatch, claimed: float, right: bool
) -> None:
    """Nobody names it to the campaign: it stands in the registry."""
    monkeypatch.setattr(ToldBit, "claimed", claimed)
    monkeypatch.setattr(campaign, "specimens", lambda: [one for one in specimens() if one.mechanism == told_bit])
    monkeypatch.setattr(campaign, "_law_tests", lambda seed, alpha: [])
    monkeypatch.setattr(campaign, "replay", lambda pairs, *, go_on, **given: replayed_once(pairs, **given))
    monkeypatch.setattr(campaign, "mutants", lambda: mutants()[-1:])
    found = run_campaign(runs=100_000, replays=2)
    assert [one.specimen.name for one in (*found.audits, *found.released)] == ["a told bit"] * 2
    assert found.passes is right and found.audits[0].verdict.passes is right
    assert found.audits[0].verdict.epsilon_lower > 0.9


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


def unwritten() -> dict[str, FunctionType]:
    """Return the methods that a class of mechanisms leaves to those below: their bodies raise NotImplementedError."""
    bases = {base for kind in kinds().values() for base in kind.__mro__}
    methods = {
        f"{base.__name__}.{name}": getattr(method, "fget", getattr(method, "__func__", method))
        for base in bases
        for name, method in vars(base).items()
    }
    return {
        name: method
        for name, method in sorted(methods.items())
        if isinstance(method, FunctionType) and method.__code__.co_names == ("NotImplementedError",)
    }


def test_a_method_that_no_class_below_writes_is_an_error() -> None:
    methods = unwritten()
    assert "Mechanism.singles" in methods and "AtomicMechanism.priced_sd" in methods
    for method in methods.values():
        with pytest.raises(NotImplementedError):
            method(*[None] * method.__code__.co_argcount)


@dataclass(frozen=True, slots=True)
class Forgotten(AtomicMechanism):
    """A mechanism that the audit was not told how to attack."""

    type: Literal["forgotten"] = "forgotten"


def test_a_mechanism_without_a_specimen_stops_every_campaign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(kinds(), "forgotten", Forgotten)
    with pytest.raises(NotImplementedError, match="Forgotten names no specimen"):
        run_campaign(runs=1_000)


@pytest.mark.parametrize("kind", kinds().values(), ids=kinds())
def test_every_registered_mechanism_is_attacked_as_a_record_states_it(kind: type[AtomicMechanism]) -> None:
    own = kind.specimens()
    assert own and {type(one.mechanism) for one in own} == {kind}
    for one in own:
        assert mechanism_from_record(as_record(one.mechanism)) == one.mechanism
        assert one.mechanism.terms(one.relation) and one.mechanism.worst_pairs(one.relation)
        data = one.mechanism.worst_pairs(one.relation)[0].histograms()[0]
        drawn = one.mechanism.outputs(data, 3, SimulatedNoise(1))
        assert (len(drawn) == 3 and off_lattice(drawn, one.mechanism) == 0) or one.mechanism.type in NUMBERS


def test_what_products_draw_with_is_registered() -> None:
    """Looks at a test set and calibrations have registries of their own; what these describe has specimens."""
    looks = [named.describes for named in LOOKS.values()]
    calibrations = [named.noise for named in map(mechanism_class, MECHANISMS) if named is not None]
    listed = [one if isinstance(one, tuple) else (one,) for one in (*looks, *calibrations)]
    # A look names the kinds on its certificates, a calibration their classes.
    described = {kinds()[kind] if isinstance(kind, str) else kind for several in listed for kind in several}
    attacked = {type(one.mechanism) for one in specimens()}
    assert len(described) >= 8
    assert all(any(issubclass(kind, one) for kind in attacked) for one in described)


def test_every_kind_has_one_name_and_answers_for_itself() -> None:
    assert len(kinds()) >= 20 and all(kind.terms is not AtomicMechanism.terms for kind in kinds().values())
    assert all(priced()[str(kind.price_name)] is kind for kind in kinds().values() if kind.price_name)
