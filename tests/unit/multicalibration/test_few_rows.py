"""On few rows a shift is bounded by what the noisy counts support."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.multicalibration import count_table, family_of, log_loss
from hedgerow.multicalibration.calibrated_model import HIGH, LOW, Records
from hedgerow.multicalibration.calibration_mechanism import Setting
from hedgerow.multicalibration.count_table import CountTable
from hedgerow.multicalibration.family import Family, records_of
from hedgerow.multicalibration.rounds import shrunk_step
from hedgerow.testing.simulated import SimulatedNoise

Floats = NDArray[np.float64]
TWO_CLASSES = family_of({0: [0, 1]})
RULE = count_table.Rule(2.5, 0.003, 2.0)
BIN = 20


def rises(fits: int) -> Floats:
    """By how much the test log loss rises in fits on 189 rows, ε = 1, of a base model that knows one poor column."""
    X, y = load_breast_cancer(return_X_y=True)
    groups = np.stack([np.digitize(X[:, 0], [11, 13, 16]), np.digitize(X[:, 1], [19])], axis=1)
    family = family_of({0: [0, 1, 2, 3], 1: [0, 1]})
    classes, setting = family.classes(records_of(groups)), Setting(family, Relation.ADD_REMOVE, None)
    described, found = CountTable().describe(setting, Budget(1.0, 0.0)), []
    for split in range(2):
        train, own, test = np.split(np.random.default_rng(100 + split).permutation(len(y)), [189, 378])
        score = LogisticRegression().fit(X[train, -1:], y[train]).predict_proba(X[:, -1:])[:, 1]
        records = Records.of(family, classes[own], score[own], y[own])
        before = log_loss(y[test], np.clip(score[test], LOW, HIGH))
        for seed in range(fits):
            made = CountTable().run(setting, described, records, SimulatedNoise(10**6 + seed)).calibration
            found.append(log_loss(y[test], made.apply(family, classes[test], score[test])) - before)
    return np.array(found)


def test_a_poor_base_model_is_hardly_ever_harmed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = rises(12)
    assert (found > 0.01).mean() <= 0.05 and found.max() <= 0.1 and found.mean() < -0.02

    # The sabotage: a part of the counts decides, and its shift moves everybody, as far as the range of scores allows.
    steps = count_table._steps

    def by_a_part(counts: count_table.NoisyCounts, seen: NDArray[np.bool_], *rest: Any) -> Floats:
        return steps(counts, seen & (counts.zeros > counts.ones), *rest)

    def everybody(counts: count_table.NoisyCounts, family: Family) -> NDArray[np.bool_]:
        return np.ones(counts.ones.shape, dtype=bool)

    monkeypatch.setattr(count_table, "_steps", by_a_part)
    monkeypatch.setattr(count_table, "inhabited", everybody)

    def all_kept(counts: count_table.NoisyCounts, original: Floats, score: Floats, *rest: Any) -> Floats:
        return score

    monkeypatch.setattr(count_table, "_without_losers", all_kept)
    monkeypatch.setattr(count_table, "doubtful", np.zeros_like)
    found = rises(6)
    assert (found > 0.01).mean() > 0.05 and found.max() > 0.1


def calibrated(ones: Floats, zeros: Floats, sd: float) -> Floats:
    """Return the scores of counts, (classes, 40), that all began as .5."""
    counts = count_table.NoisyCounts(ones, zeros, sd)
    return count_table.calibrated(counts, np.full(ones.shape, 0.5), TWO_CLASSES, 10, RULE, lambda score: False)


def counted(*people: tuple[int, int, float, float]) -> tuple[Floats, Floats]:
    """Return counts of ones and zeros: (class, bin, ones, zeros) of those that are not 0."""
    ones, zeros = np.zeros((3, 40)), np.zeros((3, 40))
    for class_, bin_, one, zero in people:
        ones[class_, bin_], zeros[class_, bin_] = one, zero
    return ones, zeros


def test_people_who_are_not_in_the_counts_keep_their_scores() -> None:
    """Class 1 is within its noise (sd 1.4), so nothing is known of it, nor of the other bins."""
    score = calibrated(*counted((0, BIN, 1.0, 200.0), (1, BIN, 2.0, 1.0)), sd=1.4)
    assert score[0, BIN] < 0.1
    score[0, BIN] = 0.5
    assert (score == 0.5).all()
    # Where class 1 is seen, and does as class 0 does, its scores move too.
    assert calibrated(*counted((0, BIN, 1.0, 200.0), (1, BIN, 0.0, 60.0)), sd=1.4)[1, BIN] < 0.1


def test_a_class_is_looked_for_only_in_bins_where_somebody_is() -> None:
    """60 people are 7.6 sd of the noise of one pair, and would be 1.2 of that of 40, empty bins among them."""
    counts = count_table.NoisyCounts(*counted((0, BIN, 100.0, 300.0), (1, BIN, 20.0, 40.0)), 5.6)
    assert np.argwhere(count_table.inhabited(counts, TWO_CLASSES)).tolist() == [[0, BIN], [1, BIN]]


def test_noise_fills_an_empty_bin_in_few_fits() -> None:
    empty, sd = np.zeros((3, 40)), 1.4346
    phantoms = []
    for seed in range(300):
        noise = SimulatedNoise(seed)
        ones, zeros = (empty + noise.two_sided_geometric(1.0, 120).reshape(3, 40) for _ in range(2))
        phantoms.append(count_table.inhabited(count_table.NoisyCounts(ones, zeros, sd), TWO_CLASSES).any())
    assert np.mean(phantoms) <= 0.05


@pytest.mark.parametrize(("sd", "people"), [(0.0, 40.0), (1.4, 60.0), (1.4, 600.0)])
def test_no_mean_score_is_moved_beyond_what_its_count_supports(sd: float, people: float) -> None:
    """Nobody has the label as far as the counts show: k of N could, k = ½ + √(2/π) sd √2 with two counts a pair."""
    score = calibrated(*counted((0, BIN, 0.0, people)), sd=sd)[0, BIN]
    assert score >= (0.5 + np.sqrt(2.0 / np.pi) * sd) / people - 1e-6
    assert score <= 10.0 / people


def test_a_shift_that_has_been_found_is_not_left_again() -> None:
    """Newton's method ends early here; further steps must not jump to the middle of the interval of search."""
    wanted, doubt = np.array([-299.5]), np.array([1.6])
    t = count_table._solved(np.zeros(1), np.array([600.0]), np.zeros(1, dtype=np.int64), wanted, doubt)
    assert 600.0 / (1.0 + np.exp(-t[0])) == pytest.approx(1.6)


def test_no_answered_cell_is_moved_beyond_what_its_count_supports() -> None:
    """Scores of .3 of 40 records, none of which has the label; noise of sd 4 and 0."""
    residual, count, rate = np.full(2, -12.0), np.full(2, 40.0), np.full(2, 0.3)
    step = shrunk_step(residual, count, np.array([9.0, 0.0]), np.zeros(2), rate, z=1.0)
    assert (rate + step >= (0.5 + np.sqrt(2.0 / np.pi) * np.array([3.0, 0.0])) / 40.0 - 1e-12).all()
    # A score that is nearer to 0 than that already is moved no way by it.
    right = shrunk_step(np.full(1, -60.0), np.full(1, 20.0), np.full(1, 900.0), np.zeros(1), np.full(1, 0.01), z=1.0)
    assert right[0] == 0.0
