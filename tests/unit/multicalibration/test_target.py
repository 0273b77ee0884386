"""`alpha` is a target under every mechanism: measured (Definition 3), aimed at, and hoped for (Theorems 1 and 2)."""

from __future__ import annotations

import dataclasses
import math
from itertools import combinations

import numpy as np
import pytest

from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.multicalibration import Multicalibrator, family_of, hoped_alpha, least_cell, multicalibration_error
from hedgerow.multicalibration.calibrated_model import Patches, Records, Shifts
from hedgerow.multicalibration.calibration_mechanism import MECHANISMS, Setting, mechanism_named
from hedgerow.multicalibration.count_table import CountTable
from hedgerow.multicalibration.family import records_of
from hedgerow.testing.simulated import SimulatedNoise

GROUPS = {0: [0, 1], 1: [0, 1]}
FAMILY = family_of(GROUPS)


def people(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores that are .25 too high in one group."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, 2))
    p = np.round(0.3 + 0.6 * rng.random(n), 6)
    return X, p, (rng.random(n) < p - 0.25 * (X[:, 0] == 1)).astype(np.int64)


def test_definition_3_by_brute_force() -> None:
    """The least α such that leaving out some buckets with at most α of a group leaves no bucket off by more than α."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        y, p, mask = rng.integers(0, 2, 60), rng.random(60), rng.random(60) < 0.5
        expected = 0.0
        for group in (np.ones(60, dtype=bool), mask):
            bucket = np.minimum((p[group] * 4).astype(int), 3)
            off = [abs((y[group] - p[group])[bucket == b].mean()) if (bucket == b).any() else 0.0 for b in range(4)]
            share = [(bucket == b).mean() for b in range(4)]
            ways = [left for size in range(5) for left in combinations(range(4), size)]
            expected = max(
                expected,
                min(max(sum(share[b] for b in w), *[off[b] for b in range(4) if b not in w], 0.0) for w in ways),
            )
        assert multicalibration_error(y, p, {"g": mask}, n_buckets=4, kind="alpha") == pytest.approx(expected)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_target_that_is_met_at_once_moves_nothing_and_none_moves_more(name: str) -> None:
    """The sabotage is what `alpha` did before under private mechanisms: nothing."""
    X, p, y = people(20_000, 2)
    mechanism = mechanism_named(name)
    relation = Relation.REPLACE_ONE if name == "input_perturbation" else Relation.ADD_REMOVE
    setting = Setting(FAMILY, relation, 20_000 if relation is Relation.REPLACE_ONE else None)
    records = Records.of(FAMILY, FAMILY.classes(records_of(X)), p, y)

    def moved(alpha: float | None) -> bool:
        aimed = dataclasses.replace(setting, alpha=alpha)
        described = mechanism.describe(aimed, Budget(8.0, mechanism.default_delta))
        made = mechanism.run(aimed, described, records, SimulatedNoise(3)).calibration
        return bool(made.shift.any()) if isinstance(made, Shifts) else bool(made.rounds and made.rounds[0].cells.size)

    assert moved(None) and moved(0.05) and not moved(1.0)


def test_rounds_stop_when_the_release_shows_the_target() -> None:
    X, p, y = people(20_000, 2)
    records = Records.of(FAMILY, FAMILY.classes(records_of(X)), p, y)
    mechanism = mechanism_named("rounds")
    setting = Setting(FAMILY, Relation.ADD_REMOVE, None, alpha=0.12)
    described = mechanism.describe(setting, Budget(8.0, 1e-6))
    fitted = mechanism.run(setting, described, records, SimulatedNoise(1))
    # The second round shows that the first was enough: the errors after calibration are then known.
    assert isinstance(fitted.calibration, Patches) and len(fitted.calibration.rounds) == 1
    assert len(fitted.released) == 2 and fitted.after is not None
    assert np.abs(fitted.after.residual).max() < 0.5 * np.abs(fitted.before.residual).max()


@pytest.mark.parametrize(("alpha", "says"), [(0.2, "reached: "), (0.005, "not reached: "), (None, "")])
def test_a_report_says_whether_the_target_is_reached(alpha: float | None, says: str) -> None:
    X, p, y = people(20_000, 2)
    clf = Multicalibrator(
        groups=GROUPS, score_column=2, relation="add-remove", epsilon=2.0, alpha=alpha, classes=[0, 1]
    ).fit(np.column_stack([X, p]), y)
    target = clf.report_.target
    assert (says in target and says.split()[0] in target) if says else target == ""
    assert (target in str(clf.report_)) and (("target" in clf.report_.to_dict()) == bool(says))
    if alpha == 0.2:
        made = clf.predict_proba(np.column_stack([X, p]))[:, 1]
        assert multicalibration_error(y, made, GROUPS, X=X, kind="alpha") < 0.2
        assert multicalibration_error(y, p, GROUPS, X=X, kind="alpha") > 0.2


def test_the_alpha_that_one_may_hope_for_holds() -> None:
    """All noisy residual sums lie within α m of the exact ones, in 200 releases; a fifth of the bound fails."""
    bins = CountTable().score_bins(FAMILY)
    setting = Setting(FAMILY, Relation.ADD_REMOVE, None)
    described = CountTable().describe(setting, Budget(1.0, 0.0))
    nobody = Records.of(FAMILY, np.zeros((0, 2), dtype=np.int64), np.zeros(0), np.zeros(0, dtype=np.int64))
    bound, worst = hoped_alpha(1.0, GROUPS, epsilon=1.0), []
    for seed in range(200):
        table, _ = CountTable().release(setting, described, nobody, SimulatedNoise(seed))
        values = table.values.reshape(FAMILY.atoms, bins.count, 2)
        c = bins.centres
        sums = (values[..., 1] * (1 - c) - values[..., 0] * c).sum(axis=0)
        bucket = np.minimum((c * 10).astype(int), 9)
        worst.append(np.abs(np.bincount(bucket, sums, minlength=10)).max())
    assert np.mean(np.array(worst) > bound) <= 0.05
    assert np.mean(np.array(worst) > bound / 5.0) > 0.05


def test_theorems_1_and_2_are_inverse_and_have_their_rates() -> None:
    for bound in ("table", "published"):
        m = least_cell(0.05, GROUPS, epsilon=0.7, bound=bound)
        assert hoped_alpha(m, GROUPS, epsilon=0.7, bound=bound) == pytest.approx(0.05, rel=1e-6)
    # Theorem 2: m ≥ 9 (ln q + ln(4/αβ))/(α² ε), q = 9 groups × 10 buckets.
    by_hand = 9 * (math.log(90) + math.log(4 / (0.05 * 0.05))) / (0.05**2 * 0.7)
    assert least_cell(0.05, GROUPS, epsilon=0.7, bound="published") == pytest.approx(by_hand)
    assert hoped_alpha(4000, GROUPS, epsilon=1.0) == pytest.approx(hoped_alpha(1000, GROUPS, epsilon=1.0) / 4)
