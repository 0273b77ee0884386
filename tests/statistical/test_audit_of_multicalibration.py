"""The private mechanisms of multicalibration under attack on their worst neighbours, and broken ones beside them.

A true price fails with probability at most 1e-6; every sabotage is certified with probability 1 − 1e-6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest

from hedgerow.accounting.compose import profile_of
from hedgerow.audit.attack import likelihood_ratio, threshold_attack
from hedgerow.audit.verdict import audit_mechanism, sampler_of
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.histograms import HistogramRounds
from hedgerow.mechanisms.interface import Mechanism, Specimen
from hedgerow.mechanisms.mechanism import specimens
from hedgerow.mechanisms.noisy_counts import GeometricCounts
from hedgerow.mechanisms.randomised_records import FINE, RandomisedRecords
from hedgerow.mechanisms.sparse_vector import SparseVector
from hedgerow.multicalibration.calibrated_model import STEPS, Records
from hedgerow.multicalibration.calibration_mechanism import CalibrationMechanism, Setting
from hedgerow.multicalibration.declared_groups import CategoryGroups
from hedgerow.multicalibration.family import Family
from hedgerow.multicalibration.rounds import NumericSparse, Rounds
from hedgerow.noise.lattice import LatticeNoise
from hedgerow.testing.simulated import SimulatedNoise

ALPHA = 1e-6
MINE = [one for one in specimens() if isinstance(one.mechanism, (SparseVector, HistogramRounds, RandomisedRecords))]
TABLES = [
    Specimen("count table of scores and labels", GeometricCounts(1.0, cells=80), Relation.ADD_REMOVE, 0.0),
    Specimen("count table of scores and labels", GeometricCounts(2.0, cells=80), Relation.REPLACE_ONE, 1e-3),
]


def named(one: Specimen) -> str:
    return f"{one.name}, {one.relation}"


def audit(one: Specimen, runs: int) -> None:
    noise = SimulatedNoise(20261121)
    found = audit_mechanism(
        one.mechanism, one.relation, delta=one.delta, runs=runs, confidence=1.0 - ALPHA, noise=noise
    )
    assert found.passes, (found.epsilon_lower, found.epsilon_upper)
    assert found.epsilon_lower > 0.25 * found.epsilon_upper, "an attack that finds nothing shows nothing"


@pytest.mark.parametrize("one", [*MINE, *TABLES], ids=named)
def test_a_mechanism_passes_on_its_worst_neighbours(one: Specimen) -> None:
    audit(one, 20_000)


@pytest.mark.long
@pytest.mark.parametrize("one", [*MINE, *TABLES], ids=named)
def test_a_mechanism_passes_with_a_million_outputs(one: Specimen) -> None:
    audit(one, 1_000_000)


def weaker(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with noise that is a good deal too small."""
    match mechanism:
        case SparseVector():
            return replace(mechanism, threshold_scale=1e-3, question_scale=mechanism.question_scale / 3.0)
        case HistogramRounds(residual=residual):
            return replace(mechanism, residual=LatticeNoise(residual.width * 3 // 10, residual.bits))
        case RandomisedRecords(flip=flip):
            return replace(mechanism, flip=flip * 4 // 10)
    raise TypeError(mechanism.type)


@pytest.mark.parametrize("one", MINE, ids=named)
def test_too_little_noise_is_rejected(one: Specimen) -> None:
    """Threshold noise left out and questions at a third; residuals at .3 of their noise; bits flipped .4 as often."""
    drawn = weaker(one.mechanism)
    pair = one.mechanism.worst_pairs(one.relation)[0]
    first, second = (sampler_of(drawn, data, SimulatedNoise(7)) for data in pair.histograms())
    score = likelihood_ratio(drawn, pair)
    found = threshold_attack(first, second, score, delta=one.delta, runs=50_000, alpha=ALPHA)
    assert found.epsilon_lower > profile_of(one.mechanism, one.relation).epsilon_upper(one.delta)


def test_randomised_records_with_true_labels_would_be_rejected() -> None:
    """Fishman et al.'s input perturbation leaves labels as they are: a bit that is never flipped has no price."""
    drawn = RandomisedRecords(1, (4,), (FINE,))
    found = audit_mechanism(drawn, Relation.REPLACE_ONE, delta=1e-3, runs=20_000, noise=SimulatedNoise(1))
    assert found.epsilon_lower > 5.0


# The fits themselves, from records to model ---------------------------------------------------------------------------

FAMILY = Family((CategoryGroups("race", ("A",)),), depth=1)


def fits(
    mechanism: CalibrationMechanism, records: Records, relation: Relation, read: Callable[[object], float]
) -> Callable[[int], Iterable[np.ndarray]]:
    public = Setting(FAMILY, relation, int(records.total()), n_buckets=1)
    described = mechanism.describe(public, Budget(1.0, 1e-3))
    noise = SimulatedNoise(13)

    def draw(runs: int) -> Iterable[np.ndarray]:
        yield np.array([read(mechanism.run(public, described, records, noise)) for _ in range(runs)])

    return draw


def one_record(label: int, score: int) -> Records:
    zero = np.zeros(1, dtype=np.int64)
    return Records(FAMILY, np.array([[0]]), zero, zero + score, zero + label, zero + 1)


def residuals(fitted: object) -> float:
    released = fitted.released[0]
    return float(released.column("residual").sum()) if len(released.cells) else -1e9


@pytest.mark.parametrize("mechanism", [Rounds(rounds=1), NumericSparse(1, threshold=0.0)], ids=lambda m: m.name)
def test_a_whole_fit_stays_within_its_price(mechanism: CalibrationMechanism) -> None:
    """Label 1 at score 0 against label 0 at score 1: 1,500 fits each, δ = 1e-3; noise at a fifth is rejected."""
    far = Relation.REPLACE_ONE
    pair = [fits(mechanism, one_record(*one), far, residuals) for one in ((1, 0), (0, STEPS))]
    found = threshold_attack(*pair, lambda x: x, delta=1e-3, runs=1_500, alpha=ALPHA)
    assert found.epsilon_lower <= 1.0
    fivefold = [replace(one_record(*one), count=np.array([5])) for one in ((1, 0), (0, STEPS))]
    loud = [fits(mechanism, records, far, residuals) for records in fivefold]
    found = threshold_attack(*loud, lambda x: x, delta=1e-3, runs=1_500, alpha=ALPHA)
    assert found.epsilon_lower > 1.0, "five records at once are five times the signal: as noise at a fifth"
