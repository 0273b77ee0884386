"""`rounds`, `numeric_sparse` and `input_perturbation` on UCI Adult, race × sex, k = 10, ε = 1: four seeds each.

With 20 seeds: ``python benchmarks/multicalibration_adult.py --seeds 20``.
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
from hedgerow.multicalibration.input_perturbation import InputPerturbation
from hedgerow.multicalibration.rounds import NumericSparse, Rounds
from hedgerow.testing.simulated import SimulatedNoise

pytestmark = pytest.mark.data("adult.data", "adult.test")
NEAR, FAR = Relation.ADD_REMOVE, Relation.REPLACE_ONE
SEEDS = 4


def losses(mechanism: CalibrationMechanism, base: Baseline, relation: Relation, *, noise: float = 1.0) -> list[float]:
    """Return the test log loss of each seed; `noise` makes ε so much smaller."""
    data, family = adult(), family_of({"race": list(RACES), "sex": list(SEXES)})
    setting = Setting(family, relation, len(data.train) if relation is FAR else None)
    described = mechanism.describe(setting, Budget(1.0 / noise, 1e-6))
    train, test = (np.stack([part.race, part.sex], axis=1) for part in (data.train, data.test))
    records = Records.of(family, train, base.train, data.train.label)
    found = []
    for seed in range(SEEDS):
        fitted = mechanism.run(setting, described, records, SimulatedNoise(seed))
        found.append(judge(fitted.calibration.apply(family, test, base.test), data.test).loss)
    return found


def test_rounds_at_epsilon_one() -> None:
    assert np.mean(losses(Rounds(), papers(), NEAR)) <= 0.347
    assert np.mean(losses(Rounds(), papers(), NEAR, noise=100.0)) > 0.376, "without its budget it learns little"


def test_numeric_sparse_at_epsilon_one() -> None:
    assert np.mean(losses(NumericSparse(), papers(), NEAR)) <= 0.355
    assert np.mean(losses(NumericSparse(), papers(), NEAR, noise=100.0)) > 0.375, "without its budget it learns little"


def test_randomised_records_gain_something_and_less_than_the_others() -> None:
    found = np.mean(losses(InputPerturbation(), papers(), FAR))
    assert 0.376 < found < judge(papers().test, adult().test).loss


@pytest.mark.parametrize("mechanism", [Rounds(), NumericSparse(), InputPerturbation()], ids=lambda one: one.name)
def test_scores_that_were_right_are_not_harmed(mechanism: CalibrationMechanism) -> None:
    start = judge(ordinary().test, adult().test).loss
    assert np.mean(losses(mechanism, ordinary(), FAR)) <= start + 0.002
