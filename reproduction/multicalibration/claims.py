"""Section 4 in words: ε hardly matters, better on test rows than on training rows, and what an over-fitted model shows.

The paper: "varying ε (from ε = 0.1 to ε = 10) had little, if any, effect on accuracy"; "the classifiers, even the
uncalibrated one, performed better on the test set than the training set"; and it could not evaluate "a different data
set or model where a naive approach is more prone to overfitting".

Held to: test accuracies at ε = .1, 1 and 10 within .01 of one another for numeric sparse as printed, medians of 20
runs, and for the library's table, means; a statement on test rows holds where test accuracy is not below training
accuracy. Over-fitting (ours): an unpruned tree on 3,000 rows of the PUMS sample (married or not, by sex and race) is
fitted and calibrated on the same rows, or calibrated on 3,500 others; on test rows the second has to have the lower
log loss, and the table at ε = 1 has to be no worse than its base model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.multicalibration import log_loss
from hedgerow.multicalibration.calibrated_model import Records
from hedgerow.multicalibration.calibration_mechanism import Setting
from hedgerow.multicalibration.count_table import CountTable
from hedgerow.multicalibration.declared_groups import family_of
from hedgerow.testing.published import NoPrivacy
from hedgerow.testing.simulated import SimulatedNoise

from ..exhibit import Exhibit, Line, Verdict
from ..pums import pums
from .adult import RACES, SEXES, adult
from .baseline import papers
from .figure_2 import Row, both
from .printed import multicalibrated, numeric_sparse
from .scores import judge

EPSILONS, RUNS, LITTLE = (0.1, 1.0, 10.0), 20, 0.01
TRAIN, CALIBRATE, LEAST = 3000, 6500, 1
Floats = NDArray[np.float64]


def printed_row(epsilon: float, runs: int) -> Row:
    """Return the median row of numeric sparse as printed, α = .1."""
    base, data = papers(), adult()
    rows = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        updates = multicalibrated(base.train, data.train, numeric_sparse(0.1, epsilon), rng=rng)
        rows.append(both(base, updates).figures())
    return Row(*np.median(rows, axis=0))


def table_accuracy(epsilon: float, runs: int) -> tuple[float, float]:
    """Return the mean accuracy of the library's table on training and on test rows."""
    base, data = papers(), adult()
    family = family_of({"race": list(RACES), "sex": list(SEXES)})
    setting = Setting(family, Relation.ADD_REMOVE, None)
    train, test = (np.column_stack([part.race, part.sex]) for part in (data.train, data.test))
    described = CountTable().describe(setting, Budget(epsilon, 0.0))
    records = Records.of(family, train, base.train, data.train.label)
    found = []
    for seed in range(runs):
        made = CountTable().run(setting, described, records, SimulatedNoise(seed)).calibration
        found.append([
            judge(made.apply(family, classes, scores), part).accuracy
            for classes, scores, part in ((train, base.train, data.train), (test, base.test, data.test))
        ])  # fmt: skip
    first, second = np.mean(found, axis=0)
    return float(first), float(second)


def over_fitted(runs: int) -> dict[str, float]:
    """Return mean test log losses of a tree: as it is, calibrated on its own rows, on others, and there privately."""
    from sklearn.tree import DecisionTreeClassifier

    number = pums()
    X = np.column_stack([number[name] for name in ("age", "educ", "income", "sex")])
    race = np.select([number[name] == 1 for name in ("latino", "black", "asian")], [0, 1, 2], 3)
    classes = np.column_stack([number["sex"], race]).astype(np.int64)
    label, family = number["married"].astype(np.int64), family_of({"sex": [0, 1], "race": [0, 1, 2, 3]})
    setting, found = Setting(family, Relation.ADD_REMOVE, None), []
    described = CountTable().describe(setting, Budget(1.0, 0.0))
    for seed in range(runs):
        order = np.random.default_rng(seed).permutation(len(label))
        own, others, test = order[:TRAIN], order[TRAIN:CALIBRATE], order[CALIBRATE:]
        tree = DecisionTreeClassifier(min_samples_leaf=LEAST, random_state=seed).fit(X[own], label[own])
        score = np.clip(tree.predict_proba(X)[:, 1], 0.001, 0.999)
        losses = [log_loss(label[test], score[test])]
        for mechanism, on in ((NoPrivacy(), own), (NoPrivacy(), others), (CountTable(), others)):
            records = Records.of(family, classes[on], score[on], label[on])
            asked = described if isinstance(mechanism, CountTable) else None
            made = mechanism.run(setting, asked, records, SimulatedNoise(seed)).calibration
            losses.append(log_loss(label[test], made.apply(family, classes[test], score[test])))
        found.append(losses)
    names = ("as it is", "Algorithms 1 and 2 on its own rows", "Algorithms 1 and 2 on other rows", "table, ε = 1")
    return dict(zip(names, map(float, np.mean(found, axis=0)), strict=True))


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; `share` of the full number of runs."""
    runs = max(2, int(RUNS * share))
    printed = {epsilon: printed_row(epsilon, runs) for epsilon in EPSILONS}
    ours = {epsilon: table_accuracy(epsilon, runs) for epsilon in EPSILONS}
    base, loss = both(papers()), over_fitted(runs)
    lines = [
        _little("numeric sparse as printed: test accuracy", [row.test_accuracy for row in printed.values()]),
        _little("the library's table: test accuracy", [test for _, test in ours.values()]),
        _better("uncalibrated", base.train_accuracy, base.test_accuracy),
        _better("numeric sparse as printed, ε = 1", printed[1.0].train_accuracy, printed[1.0].test_accuracy),
        _better("the library's table, ε = 1", *ours[1.0]),
    ]
    first, own, others, private = loss.values()
    told = "; ".join(f"{name} {value:.3f}" for name, value in loss.items())
    good = others < own and private <= first
    lines.append(Line("over-fitted tree, PUMS: test log loss", "lower on other rows, table ≤ base (ours)", told,
                      "as expected" if good else "not as expected"))  # fmt: skip
    return Exhibit(
        "claims",
        "Section 4 in words: ε, test against training rows, over-fitting",
        tuple(lines),
        "That ε hardly matters holds with 30,000 rows and one large error to repair, a missing intercept. The test "
        "rows are not the easier ones: no start that was tried meets the paper's .807 in training, .812 in the test. "
        "An over-fitted model looks calibrated on the rows that it was fitted on, so calibration on them changes "
        "nothing; on other rows it repairs nearly all.",
        None,
    )


def _little(what: str, accuracies: list[float]) -> Line:
    told = ", ".join(
        f"{accuracy:.4f} at ε = {epsilon:g}" for accuracy, epsilon in zip(accuracies, EPSILONS, strict=True)
    )
    verdict: Verdict = "reproduced" if max(accuracies) - min(accuracies) <= LITTLE else "differs"
    return Line(what, "ε hardly matters", told, verdict)


def _better(what: str, train: float, test: float) -> Line:
    verdict: Verdict = "reproduced" if test >= train else "differs as stated"
    return Line(f"{what}: accuracy", "test above training", f"{train:.4f} in training, {test:.4f} in the test", verdict)
