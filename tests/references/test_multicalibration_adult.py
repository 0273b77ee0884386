"""The figures on UCI Adult that the method was chosen for, a few seeds each; all mechanisms with 20 seeds: benchmarks.

Race × sex, k = 10, test rows. Recorded elsewhere on the same scores and groups, without any privacy: MCGrad 0.1.5
.3396 / .8408 / .0018 / .0114 (log loss, accuracy, M, W).
"""

from __future__ import annotations

import numpy as np
import pytest
from reproduction.multicalibration.adult import RACES, SEXES, adult
from reproduction.multicalibration.baseline import Baseline, ordinary, papers
from reproduction.multicalibration.scores import judge

from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.multicalibration import family_of
from hedgerow.multicalibration.calibrated_model import Records
from hedgerow.multicalibration.calibration_mechanism import CalibrationMechanism, Setting
from hedgerow.multicalibration.count_table import CountTable
from hedgerow.testing.published import NoPrivacy
from hedgerow.testing.simulated import SimulatedNoise

pytestmark = pytest.mark.data("adult.data", "adult.test")
SEEDS = 4


def judged(mechanism: CalibrationMechanism, epsilon: float, base: Baseline) -> tuple[float, float, float, float]:
    """Return mean log loss, accuracy, M and W on the test rows."""
    data, family = adult(), family_of({"race": list(RACES), "sex": list(SEXES)})
    setting = Setting(family, Relation.ADD_REMOVE, None)
    described = mechanism.describe(setting, Budget(epsilon, 0.0))
    train, test = (np.stack([part.race, part.sex], axis=1) for part in (data.train, data.test))
    records = Records.of(family, train, base.train, data.train.label)
    found = []
    for seed in range(SEEDS if described is not None else 1):
        fitted = mechanism.run(setting, described, records, SimulatedNoise(seed))
        one = judge(fitted.calibration.apply(family, test, base.test), data.test)
        found.append((one.loss, one.accuracy, one.worst, one.weighted))
    return tuple(np.mean(found, axis=0))


def test_the_baselines_are_those_that_were_recorded() -> None:
    assert judge(papers().test, adult().test).loss == pytest.approx(0.4511, abs=5e-5)
    assert judge(ordinary().test, adult().test).loss == pytest.approx(0.3284, abs=2e-4)


@pytest.mark.parametrize("mechanism", [NoPrivacy(), NoPrivacy(0.0, 1.0)])
def test_none_on_the_papers_baseline(mechanism: NoPrivacy) -> None:
    loss, accuracy, _, _ = judged(mechanism, 1.0, papers())
    assert loss <= 0.3625 and accuracy >= 0.838


def test_a_table_at_epsilon_one_is_as_good_as_any_without_privacy() -> None:
    loss, accuracy, worst, weighted = judged(CountTable(), 1.0, papers())
    assert loss <= 0.3415 and accuracy >= 0.839 and worst <= 0.0025 and weighted <= 0.012
    assert loss - 0.3396 < 0.004


def test_a_table_does_no_harm_to_scores_that_were_right() -> None:
    loss, _, _, _ = judged(CountTable(), 1.0, ordinary())
    assert loss <= 0.3284


def test_a_table_at_epsilon_one_tenth() -> None:
    loss, _, _, _ = judged(CountTable(), 0.1, papers())
    assert loss <= 0.356
