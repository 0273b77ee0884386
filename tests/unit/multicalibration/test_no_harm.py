"""A table's calibration harms no scores that were right, and is a function of what was released."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.interface import AtomicMechanism
from hedgerow.mechanisms.mechanism import Composition
from hedgerow.mechanisms.noisy_counts import GeometricCounts
from hedgerow.multicalibration import count_table, family_of
from hedgerow.multicalibration.calibrated_model import Records, Shifts
from hedgerow.multicalibration.calibration_mechanism import FittedCalibration, Setting
from hedgerow.multicalibration.count_table import CountTable
from hedgerow.multicalibration.family import records_of
from hedgerow.noise.lattice import AdditiveTable, NoiseSource
from hedgerow.testing.simulated import SimulatedNoise

Floats = NDArray[np.float64]
FAMILY = family_of({0: [0, 1, 2, 3], 1: [0, 1]})
SETTING = Setting(FAMILY, Relation.ADD_REMOVE, None)


def people(n: int, seed: int, wrong: float = 0.0) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Groups, one of them small, scores, and true probabilities, whose logit is off by `wrong` in group 1."""
    rng = np.random.default_rng(seed)
    X = np.stack([rng.choice(4, n, p=[0.6, 0.25, 0.12, 0.03]), rng.integers(0, 2, n)], axis=1)
    logit = rng.normal(-1.0, 1.5, n)
    return X, 1.0 / (1.0 + np.exp(-logit)), 1.0 / (1.0 + np.exp(-(logit + wrong * (X[:, 0] == 1))))


def records(X: NDArray[np.int64], p: Floats, truth: Floats, seed: int) -> Records:
    y = (np.random.default_rng(10_000 + seed).random(len(p)) < truth).astype(np.int64)
    return Records.of(FAMILY, FAMILY.classes(records_of(X)), p, y)


def harm(made: Floats, p: Floats, truth: Floats) -> float:
    """By how much the mean log loss rises, its expectation over labels."""

    def loss(q: Floats) -> float:
        return float(-(truth * np.log(q) + (1 - truth) * np.log1p(-q)).mean())

    return loss(made) - loss(p)


def harms(mechanism: CountTable, epsilon: float, fits: int, wrong: float = 0.0) -> Floats:
    described, found = mechanism.describe(SETTING, Budget(epsilon, 0.0)), []
    for seed in range(fits):
        X, p, truth = people(6000, seed, wrong)
        fitted = mechanism.run(SETTING, described, records(X, p, truth, seed), SimulatedNoise(seed))
        found.append(harm(fitted.calibration.apply(FAMILY, FAMILY.classes(records_of(X)), p), p, truth))
    return np.array(found)


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_right_scores_are_hardly_ever_harmed(epsilon: float) -> None:
    assert (harms(CountTable(), epsilon, 40) > 0.002).mean() <= 0.05
    # The sabotage: cells shifted at 2 sd each, and nothing taken back.
    assert (harms(CountTable(z=2.0, level=1.0, gain=-1e9), epsilon, 12) > 0.002).mean() > 0.25


def test_wrong_scores_of_a_group_are_corrected() -> None:
    possible = harm(people(6000, 0, 1.0)[2], *people(6000, 0, 1.0)[1:])
    assert harms(CountTable(), 1.0, 6, wrong=1.0).max() < 0.75 * possible < 0.0
    # The sabotage: a rule that never finds a gain keeps the base model.
    assert harms(CountTable(gain=1e9), 1.0, 2, wrong=1.0).max() > 0.75 * possible


def test_a_group_for_which_no_gain_is_seen_keeps_its_scores() -> None:
    X, p, truth = people(20_000, 3, 1.5)
    fitted = CountTable().run(
        SETTING, CountTable().describe(SETTING, Budget(1.0, 0.0)), records(X, p, truth, 3), SimulatedNoise(3)
    )
    assert isinstance(fitted.calibration, Shifts)
    classes = FAMILY.atom_classes()
    moved = (fitted.calibration.shift != 0.0).any(axis=1)
    assert moved[classes[:, 0] == 1].any() and not moved[classes[:, 0] == 3].any()


class _LooksAtTheRecords(CountTable):
    """The sabotage: a stop that reads exact counts."""

    def run(
        self, setting: Setting, described: AtomicMechanism | Composition | None, records: Records, noise: NoiseSource
    ) -> FittedCalibration:
        fitted = super().run(setting, described, records, noise)
        assert isinstance(fitted.calibration, Shifts)
        shift = fitted.calibration.shift
        right = np.abs(self.counts(records)[:, 1].sum() / records.total() - 0.5) < 0.2
        kept = fitted.calibration if right else Shifts(np.zeros(39), np.zeros_like(shift), 0.001, 0.999)
        return FittedCalibration(kept, fitted.before, fitted.after, fitted.released)


def test_the_model_is_a_function_of_what_was_released(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the records, the same released tables give the same model: shifts, stop and what is taken back."""
    X, p, truth = people(20_000, 4, 1.5)
    some, others = records(X, p, truth, 4), records(X[:500], p[:500], 0.0 * truth[:500], 5)
    described = CountTable().describe(SETTING, Budget(1.0, 0.0))
    released = CountTable().release(SETTING, described, some, SimulatedNoise(4))

    def same(*_: object) -> tuple[AdditiveTable, AdditiveTable]:
        return released

    monkeypatch.setattr(CountTable, "release", same)

    def shifts(mechanism: type[CountTable], of: Records) -> Floats:
        made = mechanism().run(SETTING, described, of, SimulatedNoise(0)).calibration
        assert isinstance(made, Shifts)
        return made.shift

    np.testing.assert_array_equal(shifts(CountTable, some), shifts(CountTable, others))
    assert shifts(CountTable, some).any()
    assert (shifts(_LooksAtTheRecords, some) != shifts(_LooksAtTheRecords, others)).any()


def test_the_whole_fit_is_in_its_price() -> None:
    """Nothing is held back or asked beside the two tables that the certificate prices."""
    described = CountTable().describe(SETTING, Budget(0.7, 0.0))
    fitted = CountTable().run(SETTING, described, records(*people(500, 1), 1), SimulatedNoise(1))
    assert isinstance(described, Composition)
    sizes = [table.values.size for table in fitted.released]
    cells = [part.cells for part in described.parts if isinstance(part, GeometricCounts)]
    assert cells == sizes
    # The sabotage: a third table, held back and not priced, would not be found in the certificate.
    assert cells != [*sizes, sizes[0]]


def test_benjamini_and_hochberg_by_brute_force() -> None:
    from scipy.special import ndtr

    rng = np.random.default_rng(2)
    for _ in range(200):
        z = np.abs(rng.normal(0.0, 2.5, 12))
        there = rng.random(12) < 0.8
        p = np.where(there, 2.0 * ndtr(-z), 1.0)
        most = max((k for k in range(1, 13) if np.sort(p)[k - 1] <= 0.1 * k / 12), default=0)
        expected = p <= np.sort(p)[most - 1] if most else np.zeros(12, dtype=bool)
        assert (count_table._discoveries(z, there, 0.1) == expected).all()


def test_a_solved_shift_moves_the_sum_by_what_was_wanted() -> None:
    rng = np.random.default_rng(3)
    logit, weight, cell = rng.normal(0, 3, 400), rng.random(400) * 9, rng.integers(0, 5, 400)
    room = np.bincount(cell, weight)
    wanted = np.array([0.2, -0.2, 0.0, 5.0, -5.0]) * room
    doubt = np.full(5, 3.0)
    t = count_table._solved(logit, weight, cell, wanted, doubt)

    def sums(shift: Floats) -> Floats:
        return np.bincount(cell, weight / (1 + np.exp(-(logit + shift[cell]))))

    np.testing.assert_allclose((sums(t) - sums(0 * t))[:3], wanted[:3], atol=1e-3)
    # More than all of them cannot be moved: the sum stays 3 away from its ends.
    np.testing.assert_allclose(sums(t)[3:], [room[3] - 3.0, 3.0], atol=1e-3)
    # A sum that is nearer to an end already is not moved away from there.
    near = count_table._solved(logit, weight, cell, 0.0 * wanted, np.full(5, np.inf))
    np.testing.assert_allclose(sums(near), sums(0 * t), atol=1e-3)


def test_bins_and_classes_without_people_are_left_out_of_sums() -> None:
    X, p, truth = people(20_000, 6)
    counts = CountTable().release(
        SETTING, CountTable().describe(SETTING, Budget(1.0, 0.0)), records(X, p, truth, 6), SimulatedNoise(6)
    )[0]
    zeros, ones = (counts.column(name).reshape(FAMILY.atoms, 40) for name in ("label=0", "label=1"))
    seen = count_table.inhabited(count_table.NoisyCounts(ones, zeros, counts.sd("label=0")), FAMILY)
    classes = FAMILY.atom_classes()
    assert not seen[(classes[:, 0] == 4) | (classes[:, 1] == 2)].any()
    assert seen[(classes[:, 0] < 4) & (classes[:, 1] < 2)].mean() > 0.6
