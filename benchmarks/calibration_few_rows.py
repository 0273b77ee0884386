"""How often calibration on 100 to 700 rows harms, by data set and ε: data sets that no constant was chosen on.

    HEDGEROW_DATA=folder python -m benchmarks.calibration_few_rows --splits 12

Harm is a log loss more than .01 above that of the base model on rows that neither trained nor calibrated; both are
clipped to [.001, .999], so the clip of the model gains nothing here. Base models are fitted on few other rows: logistic
regression, naive Bayes (overconfident), a tree (scores of 0 and 1), one column (blind to groups), and logistic
regression with 1.5 added to its logit. Noise is a seeded stand-in; the relation is add-remove.

The rule was chosen on generated laws and in part on a look at breast cancer (where harm was first seen), not on the
other sets. Adult and PUMS need the folder of data; larger samples of these chose older constants of the rule
(`no_harm.py`). The sets of 150 and 178 records leave 30 and 48 rows to test on, where chance alone moves a log loss.

23 November 2026, twelve splits; "before" moved people whom its counts did not show:

                          fits   harmed   before    worst   before     mean   before
    breast cancer          540     .004     .015    +.043   +1.981    -.063    -.035
    digits                 540     .002     .000    +.017    +.001    -.182    -.194
    diabetes               360     .003     .003    +.010    +.077    -.193    -.159
    wine                   180     .011     .011    +.114    +.114    -.027    -.020
    iris                   180     .033     .033    +.261    +.230    -.169    -.171
    Adult                  540     .000     .009     .000    +.577    -.086    -.092
    PUMS                   540     .002     .006    +.011    +.028    -.090    -.090
    all                   2880    .0045     .009    +.261   +1.981    -.115    -.109
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.no_harm import EPSILONS, adult, pums
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.multicalibration import family_of, log_loss
from hedgerow.multicalibration.calibrated_model import HIGH, LOW, Records
from hedgerow.multicalibration.calibration_mechanism import Setting
from hedgerow.multicalibration.count_table import CountTable
from hedgerow.multicalibration.family import records_of
from hedgerow.testing.simulated import SimulatedNoise

Floats = NDArray[np.float64]
HARM = 0.01
MOST_TESTED = 4000


@dataclass(frozen=True, eq=False)
class FewRows:
    """Features, labels and groups of records; how many train the base model, and how many calibrate, in turn."""

    features: Floats
    label: NDArray[np.int64]
    groups: pd.DataFrame
    declared: dict[str, list[Any]]
    train: int
    calibrate: tuple[int, ...]


def _bundled(X: Floats, label: Any, cuts: dict[int, list[float]], train: int, calibrate: tuple[int, ...]) -> FewRows:
    """Return a data set of scikit-learn's, its groups made by cutting columns at public points."""
    groups = pd.DataFrame({f"column {number}": np.digitize(X[:, number], at) for number, at in cuts.items()})
    declared = {f"column {number}": list(range(len(at) + 1)) for number, at in cuts.items()}
    return FewRows(X, np.asarray(label).astype(np.int64), groups, declared, train, calibrate)


@cache
def breast_cancer() -> FewRows:
    """Return benign tumours or not, by mean radius and texture."""
    X, y = datasets.load_breast_cancer(return_X_y=True)
    return _bundled(X, y, {0: [11, 13, 16], 1: [19]}, 80, (100, 189, 300))


@cache
def digits() -> FewRows:
    """Return odd digits or even, by how much ink the digit and its upper half have."""
    X, y = datasets.load_digits(return_X_y=True)
    X = np.column_stack([X, X.sum(axis=1), X[:, :32].sum(axis=1)])
    return _bundled(X, y % 2, {64: [270, 310, 350], 65: [155]}, 100, (100, 300, 700))


@cache
def diabetes() -> FewRows:
    """Return whether the disease progressed more than its median, by sex and age."""
    X, y = datasets.load_diabetes(return_X_y=True)
    return _bundled(X, y > np.median(y), {1: [0], 0: [-0.03, 0.03]}, 60, (100, 250))


@cache
def wine() -> FewRows:
    """Return the second of three cultivars or not, by alcohol and hue."""
    X, y = datasets.load_wine(return_X_y=True)
    return _bundled(X, y == 1, {0: [13], 10: [1]}, 30, (100,))


@cache
def iris() -> FewRows:
    """Return virginica or not, known by their sepals alone, by the width of these."""
    X, y = datasets.load_iris(return_X_y=True)
    return _bundled(X[:, :2], y == 2, {1: [3]}, 20, (100,))


@cache
def _sampled(name: str) -> FewRows:
    split = {"Adult": adult, "PUMS": pums}[name](0)
    return FewRows(split.features, split.label, split.groups, split.declared, 200, (100, 300, 700))


DATA: dict[str, Callable[[], FewRows]] = {
    "breast cancer": breast_cancer, "digits": digits, "diabetes": diabetes, "wine": wine, "iris": iris,
    "Adult": lambda: _sampled("Adult"), "PUMS": lambda: _sampled("PUMS"),
}  # fmt: skip
IN_FOLDER = ("Adult", "PUMS")


def scores_of_bases(data: FewRows, train: NDArray[np.int64]) -> Iterator[tuple[str, Floats]]:
    """Yield the scores that each base model, fitted on the rows `train`, gives to all records."""
    X, y = data.features, data.label
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)).fit(X[train], y[train])
    yield "logistic", logistic.predict_proba(X)[:, 1]
    yield "naive Bayes", GaussianNB().fit(X[train], y[train]).predict_proba(X)[:, 1]
    tree = DecisionTreeClassifier(max_depth=6, random_state=0)
    yield "tree", tree.fit(X[train], y[train]).predict_proba(X)[:, 1]
    yield "one column", LogisticRegression().fit(X[train, -1:], y[train]).predict_proba(X[:, -1:])[:, 1]
    yield "shifted", 1.0 / (1.0 + np.exp(-1.5 - logistic.decision_function(X)))


def loss(label: NDArray[np.int64], score: Floats) -> float:
    """Return the log loss of scores clipped to the range of the model's output."""
    return log_loss(label, np.clip(score, LOW, HIGH))


def fits(names: list[str], splits: int, draws: int) -> Iterator[dict[str, Any]]:
    """Yield one line for each fit: what was fitted, and by how much the log loss rose."""
    table = CountTable()
    for name in names:
        data = DATA[name]()
        family = family_of(data.declared)
        setting = Setting(family, Relation.ADD_REMOVE, None)
        classes = family.classes(records_of(data.groups))
        for split in range(splits):
            order = np.random.default_rng(500 + split).permutation(len(data.label))
            for base, score in scores_of_bases(data, order[: data.train]):
                for n in data.calibrate:
                    own, test = np.split(order[data.train :][: n + MOST_TESTED], [n])
                    records = Records.of(family, classes[own], score[own], data.label[own])
                    before = loss(data.label[test], score[test])
                    for epsilon in EPSILONS:
                        described = table.describe(setting, Budget(epsilon, 0.0))
                        for draw in range(draws):
                            noise = SimulatedNoise(10**6 + 1000 * split + draw)
                            made = table.run(setting, described, records, noise).calibration
                            after = loss(data.label[test], made.apply(family, classes[test], score[test]))
                            yield {"data": name, "base": base, "n": n, "epsilon": epsilon, "rise": after - before}


def summary(found: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return how many fits there are, the share harmed, the worst and mean rise, and the share that moved a score."""
    rise = found.groupby(by, sort=False)["rise"]
    shares = {"harmed": rise.agg(lambda v: (v > HARM).mean()), "moved": rise.agg(lambda v: (v != 0.0).mean())}
    return pd.DataFrame({"fits": rise.size(), "worst": rise.max(), "mean": rise.mean(), **shares})


def main() -> None:
    """Print harm by data set and ε, by base model, and over all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=12)
    parser.add_argument("--draws", type=int, default=1, help="draws of the noise for each split")
    options = parser.parse_args()
    # The tree gives scores of exactly 0 and 1, of which the losses are clipped; naive Bayes may divide by 0.
    warnings.simplefilter("ignore")
    names = [name for name in DATA if name not in IN_FOLDER or "HEDGEROW_DATA" in os.environ]
    found = pd.DataFrame(fits(names, options.splits, options.draws))
    columns = ["fits", "harmed", "worst", "mean", "moved"]
    print(summary(found, ["data", "epsilon"])[columns].unstack("epsilon").round(3).to_string())
    for by in ("base", "n", "epsilon"):
        print(summary(found, [by])[columns].round(3).to_string())
    print(summary(found.assign(all="all fits"), ["all"])[columns].round(4).to_string())


if __name__ == "__main__":
    main()
