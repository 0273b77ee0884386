"""Every mechanism on UCI Adult, race × sex, k = 10: log loss, accuracy, M and W on the test rows, and times.

    HEDGEROW_DATA=folder python benchmarks/multicalibration_adult.py --seeds 20

The data and both baselines are those of ``reproduction/multicalibration``. Times are CPU seconds of `Multicalibrator`
on a frame with a score and two text columns, pricing and secure noise included; the quality is that of seeded
stand-ins, so that it can be printed again. 23 November 2026, 20 seeds:

    without intercept, every column standardised: 0.4511 / 0.8003, M 0.0334, W 0.1740
                                        log loss  accuracy       M       W   fit s  predict ms
    none, α = .1, in [0, 1]        0.3489 ±0.0000    0.8392  0.0026  0.0140   0.041        19.6
    none, α = .1                   0.3429 ±0.0000    0.8392  0.0026  0.0141   0.039        17.6
    table, ε = 1                   0.3414 ±0.0006    0.8397  0.0020  0.0118   0.081         9.3
    table, ε = 1, replace-one      0.3427 ±0.0012    0.8394  0.0022  0.0134   0.075         7.8
    table, ε = .3                  0.3446 ±0.0012    0.8390  0.0028  0.0149   0.077         8.2
    table, ε = .1                  0.3525 ±0.0038    0.8382  0.0063  0.0256   0.075         8.4
    rounds, ε = 1, δ = 1e-6        0.3458 ±0.0009    0.8393  0.0024  0.0138   0.035         9.6
    numeric sparse, ε = 1          0.3519 ±0.0023    0.8394  0.0064  0.0240   0.039        10.0
    input perturbation, ε = 1      0.4018 ±0.0175    0.8115  0.0251  0.0984   0.026        10.8

    with intercept, to the optimum: 0.3284 / 0.8477, M 0.0016, W 0.0093
                                        log loss  accuracy       M       W   fit s  predict ms
    none, α = .1, in [0, 1]        0.3330 ±0.0000    0.8475  0.0014  0.0093   0.032        14.1
    none, α = .1                   0.3291 ±0.0000    0.8475  0.0014  0.0093   0.032        14.8
    table, ε = 1                   0.3275 ±0.0000    0.8477  0.0016  0.0093   0.070         9.1
    table, ε = 1, replace-one      0.3275 ±0.0000    0.8477  0.0016  0.0093   0.070         8.8
    table, ε = .3                  0.3275 ±0.0000    0.8477  0.0016  0.0093   0.070         8.6
    table, ε = .1                  0.3275 ±0.0000    0.8477  0.0016  0.0093   0.073         8.8
    rounds, ε = 1, δ = 1e-6        0.3279 ±0.0005    0.8474  0.0016  0.0091   0.033         9.4
    numeric sparse, ε = 1          0.3279 ±0.0013    0.8474  0.0017  0.0094   0.029         8.7
    input perturbation, ε = 1      0.3275 ±0.0000    0.8477  0.0016  0.0093   0.023         8.7
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from reproduction.multicalibration.adult import RACES, SEXES, Part, adult
from reproduction.multicalibration.baseline import Baseline, ordinary, papers
from reproduction.multicalibration.scores import Judged, judge

from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.multicalibration import Multicalibrator, family_of
from hedgerow.multicalibration.calibrated_model import Records
from hedgerow.multicalibration.calibration_mechanism import CalibrationMechanism, Setting, mechanism_named
from hedgerow.testing.published import NoPrivacy
from hedgerow.testing.simulated import SimulatedNoise

GROUPS = {"race": list(RACES), "sex": list(SEXES)}
ROWS: list[tuple[str, object, float, float, str]] = [
    ("none, α = .1, in [0, 1]", NoPrivacy(0.0, 1.0), 1.0, 0.0, "add-remove"),
    ("none, α = .1", "none", 1.0, 0.0, "add-remove"),
    ("table, ε = 1", "table", 1.0, 0.0, "add-remove"),
    ("table, ε = 1, replace-one", "table", 1.0, 0.0, "replace-one"),
    ("table, ε = .3", "table", 0.3, 0.0, "add-remove"),
    ("table, ε = .1", "table", 0.1, 0.0, "add-remove"),
    ("rounds, ε = 1, δ = 1e-6", "rounds", 1.0, 1e-6, "add-remove"),
    ("numeric sparse, ε = 1", "numeric_sparse", 1.0, 0.0, "add-remove"),
    ("input perturbation, ε = 1", "input_perturbation", 1.0, 0.0, "replace-one"),
]


def quality(
    mechanism: CalibrationMechanism, budget: Budget, relation: Relation, base: Baseline, seeds: int
) -> list[Judged]:
    """Return how the test scores are judged after each of some simulated fits."""
    data, family = adult(), family_of(GROUPS)
    n = len(data.train) if relation is Relation.REPLACE_ONE else None
    setting = Setting(family, relation, n)
    described = mechanism.describe(setting, budget)
    records = Records.of(family, classes(data.train), base.train, data.train.label)
    found = []
    for seed in range(seeds if described is not None else 1):
        fitted = mechanism.run(setting, described, records, SimulatedNoise(seed))
        found.append(judge(fitted.calibration.apply(family, classes(data.test), base.test), data.test))
    return found


def classes(part: Part) -> np.ndarray:
    """Return the class of each record in race and sex."""
    return np.stack([part.race, part.sex], axis=1)


def times(mechanism: object, epsilon: float, delta: float, relation: str, base: Baseline) -> tuple[float, float]:
    """Return the median seconds of five fits and of five predictions of the test rows, by the estimator."""
    import pandas as pd

    data = adult()
    train, test = (
        pd.DataFrame({"score": scores, "race": np.array(RACES)[part.race], "sex": np.array(SEXES)[part.sex]})
        for part, scores in ((data.train, base.train), (data.test, base.test))
    )
    clf = Multicalibrator(groups=GROUPS, mechanism=mechanism, epsilon=epsilon, delta=delta, relation=relation)
    fits, predictions = [], []
    for _ in range(5):
        start = time.process_time()
        clf.fit(train, data.train.label)
        between = time.process_time()
        clf.predict_proba(test)
        fits.append(between - start)
        predictions.append(time.process_time() - between)
    return float(np.median(fits)), float(np.median(predictions))


def main() -> None:
    """Print a line a mechanism and baseline."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    seeds = parser.parse_args().seeds
    for base in (papers(), ordinary()):
        start = judge(base.test, adult().test)
        print(f"\n{base.name}: {start.loss:.4f} / {start.accuracy:.4f}, M {start.worst:.4f}, W {start.weighted:.4f}")
        print(f"{'':<28}{'log loss':>16}{'accuracy':>10}{'M':>8}{'W':>8}{'fit s':>8}{'predict ms':>12}")
        for name, mechanism, epsilon, delta, relation in ROWS:
            found = quality(mechanism_named(mechanism), Budget(epsilon, delta), Relation(relation), base, seeds)
            loss, accuracy, worst, weighted = np.array([[j.loss, j.accuracy, j.worst, j.weighted] for j in found]).T
            fit, predict = times(mechanism, epsilon, delta, relation, base)
            print(
                f"{name:<28}{loss.mean():>9.4f} ±{loss.std():.4f}{accuracy.mean():>10.4f}{worst.mean():>8.4f}"
                f"{weighted.mean():>8.4f}{fit:>8.3f}{1000 * predict:>12.1f}"
            )


if __name__ == "__main__":
    main()
