"""How often a calibrated model is worse than its base model: bases × data sets × ε × splits, with MCGrad beside it.

    HEDGEROW_DATA=folder python benchmarks/no_harm.py --splits 5 --mcgrad other-environment/bin/python

Harm is a log loss more than .002, or a worst-group error more than .005, above those of the base model on test rows.
The worst-group error is the largest calibration error (ten buckets of the score, by size) of any class of any column
with at least 50 test rows. Base models are fitted on other rows than those that calibrate. MCGrad (Meta, 2025; package
``mcgrad``) is not private; it runs in the environment whose Python is named, on the same scores, rows and groups.

Poor base models are those whose log loss improves by more than .004 when cells move at 2.5 sd each and nothing is taken
back ("2.5 sd"). Noise is a seeded stand-in. Times are CPU seconds of `CountTable.run` and of its predictions, and those
of MCGrad on the same rows. 23 November 2026 (MCGrad: the day before), five splits, add-remove:

    harmed            fits     all   ε = .3   ε = 1   ε = 3   Adult   Adult, 3,000    PUMS    made
    table              240    .013     .037    .000    .000    .017           .017    .017    .000
    2.5 sd             240    .158     .200    .125    .150    .233           .217    .117    .067
    MCGrad              80    .037    (without privacy)        .100           .050    .000    .000

    gain kept of that at 2.5 sd, base models that are poor:   ε = .3   ε = 1   ε = 3
    mean                                                        .784    .904    .956
    median                                                      .890    .929    .960
    CPU seconds, medians: table .007 to fit and .0006 to predict; MCGrad .350 and .023

Before, people within the noise were moved with their group: the table harmed .050 of these fits, and kept .792, .923
and .960 of the gains on average.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

sys.path.insert(0, str(Path(__file__).parents[1]))

from reproduction.source import data_file

from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.multicalibration import family_of, log_loss
from hedgerow.multicalibration.calibrated_model import Records
from hedgerow.multicalibration.calibration_mechanism import Setting
from hedgerow.multicalibration.count_table import CountTable
from hedgerow.multicalibration.family import records_of
from hedgerow.testing.simulated import SimulatedNoise

warnings.simplefilter("ignore")
Floats = NDArray[np.float64]
LOSS, WORST, POOR = 0.002, 0.005, 0.004
EPSILONS = (0.3, 1.0, 3.0)
BASES: dict[str, Callable[[int], Any]] = {
    "logistic": lambda seed: make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)),
    "boosting": lambda seed: HistGradientBoostingClassifier(max_iter=60, random_state=seed),
    "naive Bayes": lambda seed: make_pipeline(StandardScaler(), GaussianNB()),
    "tree": lambda seed: DecisionTreeClassifier(max_depth=8, random_state=seed),
}
_ADULT = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip
_MCGRAD = """
import json, logging, sys, time, warnings
warnings.simplefilter("ignore"); logging.disable(logging.CRITICAL)
import pandas as pd
from mcgrad import methods
folder = sys.argv[1]
train, test = (pd.read_pickle(f"{folder}/{part}.pkl") for part in ("train", "test"))
columns = [name for name in train.columns if name not in ("score", "label")]
train[columns], test[columns] = train[columns].astype(str), test[columns].astype(str)
model, start = methods.MCGrad(), time.process_time()
model.fit(df_train=train, prediction_column_name="score", label_column_name="label",
          categorical_feature_column_names=columns, numerical_feature_column_names=[])
middle = time.process_time()
made = model.predict(df=test, prediction_column_name="score", categorical_feature_column_names=columns,
                     numerical_feature_column_names=[])
print(json.dumps([[float(p) for p in made], middle - start, time.process_time() - middle]))
"""


@dataclass(frozen=True, eq=False)
class Split:
    """Features, labels and groups of records, and which of them train, calibrate and test."""

    features: Floats
    label: NDArray[np.int64]
    groups: pd.DataFrame
    declared: dict[str, list[Any]]
    parts: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


@cache
def _adult() -> tuple[Floats, NDArray[np.int64], pd.DataFrame]:
    files = [
        pd.read_csv(data_file(name), names=list(_ADULT), skipinitialspace=True, comment="|")
        for name in ("adult.data", "adult.test")
    ]
    rows = pd.concat(files, ignore_index=True)
    rows = rows[pd.to_numeric(rows["age"], errors="coerce").notna() & rows["income"].notna()].reset_index(drop=True)
    numbers = rows[["age", "education-num", "capital-gain", "capital-loss", "hours-per-week"]]
    flags = pd.get_dummies(rows[["workclass", "marital-status", "occupation", "relationship", "race", "sex"]])
    label = rows["income"].str.startswith(">50K").to_numpy().astype(np.int64)
    return pd.concat([numbers, flags], axis=1).astype(float).to_numpy(), label, rows[["sex", "race"]]


def adult(seed: int, size: int = 15_000) -> Split:
    """Return Adult, pooled and split anew: income over 50,000, by sex and race."""
    features, label, groups = _adult()
    order = np.random.default_rng(100 + seed).permutation(len(label))
    races = ["White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"]
    parts = order[:size], order[size : 2 * size], order[30_000:]
    return Split(features, label, groups, {"sex": ["Male", "Female"], "race": races}, parts)


def pums(seed: int) -> Split:
    """Return the California PUMS sample: married or not, by sex and race, which the base model does not see whole."""
    rows = pd.read_csv(data_file("PUMS5extract10000.csv"))
    race = np.select(
        [rows["latino"] == 1, rows["black"] == 1, rows["asian"] == 1], ["latino", "black", "asian"], "other"
    )
    order = np.random.default_rng(100 + seed).permutation(len(rows))
    declared = {"sex": [0, 1], "race": ["latino", "black", "asian", "other"]}
    features = rows[["age", "educ", "income", "sex"]].astype(float).to_numpy()
    parts = order[:3000], order[3000:6500], order[6500:]
    return Split(features, rows["married"].to_numpy(), rows[["sex"]].assign(race=race), declared, parts)


def made(seed: int) -> Split:
    """Return a made set: four groups of unlike size, each with coefficients of its own."""
    rng, n = np.random.default_rng(seed), 20_000
    group, flag, x = rng.choice(4, n, p=[0.6, 0.25, 0.12, 0.03]), rng.integers(0, 2, n), rng.normal(size=(n, 5))
    slopes = np.array([[1, 0.5, 0, 0, 0], [-1, 0.5, 0.5, 0, 0], [0.2, 0.2, 1, 1, 0], [2, -1, 0, 0, 1]])
    logit = (x * slopes[group]).sum(axis=1) - 0.8 + 0.9 * flag * (group == 2) - 0.7 * (group == 3)
    label = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(np.int64)
    rows = np.arange(n)
    groups, declared = pd.DataFrame({"group": group, "flag": flag}), {"group": [0, 1, 2, 3], "flag": [0, 1]}
    return Split(np.column_stack([x, flag]), label, groups, declared, (rows[:5000], rows[5000:10_000], rows[10_000:]))


DATA: dict[str, Callable[[int], Split]] = {
    "Adult": adult,
    "PUMS": pums,
    "made": made,
    "Adult, 3,000": lambda seed: adult(seed, 3000),
}


def worst_group(label: NDArray[np.int64], score: Floats, groups: pd.DataFrame) -> float:
    """Return the largest calibration error of a class of a column."""
    bucket, gap, worst = np.minimum((score * 10).astype(int), 9), label - score, 0.0
    for name in groups:
        cells = groups[name].to_numpy()
        for value in np.unique(cells):
            inside = cells == value
            if inside.sum() >= 50:
                sums = np.bincount(bucket[inside], gap[inside], minlength=10)
                worst = max(worst, float(np.abs(sums).sum() / inside.sum()))
    return worst


def with_mcgrad(python: str, split: Split, score: Floats) -> tuple[Floats, float, float]:
    """Return MCGrad's scores of the test rows, and its CPU seconds to fit and to predict."""
    _, calibrate, test = split.parts
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in (("train", calibrate), ("test", test)):
            frame = split.groups.iloc[rows].assign(score=score[rows], label=split.label[rows]).reset_index(drop=True)
            frame.to_pickle(Path(folder) / f"{name}.pkl")
        told = subprocess.run([python, "-c", _MCGRAD, folder], check=True, capture_output=True, text=True).stdout
    scores, fit, predict = json.loads(told.splitlines()[-1])
    return np.array(scores), fit, predict


def fits(splits: int, relation: Relation, ways: dict[str, CountTable], mcgrad: str | None) -> Iterator[dict[str, Any]]:
    """Yield one line for each fit: what was fitted, losses and worst-group errors before and after, and times."""
    for seed in range(splits):
        for number, (name, load) in enumerate(DATA.items()):
            split = load(seed)
            train, calibrate, test = split.parts
            family, label, groups = family_of(split.declared), split.label[test], split.groups.iloc[test]
            classes = [family.classes(records_of(split.groups.iloc[rows])) for rows in (calibrate, test)]
            n = len(calibrate) if relation is Relation.REPLACE_ONE else None
            setting = Setting(family, relation, n)
            for place, (base, make) in enumerate(BASES.items()):
                score = make(seed).fit(split.features[train], split.label[train]).predict_proba(split.features)[:, 1]
                before = log_loss(label, np.clip(score[test], 1e-6, 1 - 1e-6)), worst_group(label, score[test], groups)
                records = Records.of(family, classes[0], score[calibrate], split.label[calibrate])
                line = {"data": name, "base": base, "split": seed, "loss": before[0], "worst": before[1]}
                for way, mechanism in ways.items():
                    for epsilon in EPSILONS:
                        described = mechanism.describe(setting, Budget(epsilon, 0.0))
                        noise = SimulatedNoise(1000 * seed + 10 * number + place)
                        start = time.process_time()
                        fitted = mechanism.run(setting, described, records, noise)
                        middle = time.process_time()
                        after = fitted.calibration.apply(family, classes[1], score[test])
                        end = time.process_time()
                        yield {
                            **line, "way": way, "epsilon": epsilon, "fit": middle - start, "predict": end - middle,
                            **_changes(label, after, groups, before),
                        }  # fmt: skip
                if mcgrad is not None:
                    after, fit, predict = with_mcgrad(mcgrad, split, score)
                    changes = _changes(label, after, groups, before)
                    yield {**line, "way": "MCGrad", "epsilon": np.inf, "fit": fit, "predict": predict, **changes}


def _changes(
    label: NDArray[np.int64], after: Floats, groups: pd.DataFrame, before: tuple[float, float]
) -> dict[str, float]:
    loss = log_loss(label, np.clip(after, 1e-6, 1 - 1e-6)) - before[0]
    worst = worst_group(label, after, groups) - before[1]
    return {"d_loss": loss, "d_worst": worst, "harm": float(loss > LOSS or worst > WORST)}


def main() -> None:
    """Print a line for each data set and base model, then the shares of harm, the gains kept, and times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--relation", default="add-remove", choices=[str(relation) for relation in Relation])
    parser.add_argument("--mcgrad", metavar="PYTHON", help="the Python of an environment that has the package mcgrad")
    options = parser.parse_args()
    ways = {"table": CountTable(), "2.5 sd": CountTable(z=2.5, level=1.0, gain=-1e9)}
    found = pd.DataFrame(fits(options.splits, Relation(options.relation), ways, options.mcgrad))
    pd.set_option("display.width", 200, "display.max_columns", 40, "display.max_rows", 200)
    keys = ["data", "base"]
    ours = found[found["way"] == "table"]
    table = ours.pivot_table(index=keys, columns="epsilon", values=["d_loss", "d_worst", "harm"], sort=False)
    if options.mcgrad:
        beside = found[found["way"] == "MCGrad"].groupby(keys)[["d_loss", "d_worst", "harm"]].mean()
        table = table.join(pd.concat({"MCGrad": beside}, axis=1))
    first = ours.groupby(keys)[["loss", "worst"]].mean()
    print(pd.concat({"base": first}, axis=1).join(table).round(4).to_string())
    for way, of in found.groupby("way"):
        shares = {
            str(epsilon): round(float(share), 3) for epsilon, share in of.groupby("epsilon")["harm"].mean().items()
        }
        by_data = {name: round(float(share), 3) for name, share in of.groupby("data")["harm"].mean().items()}
        print(f"{way}: {len(of)} fits, harmed {of['harm'].mean():.3f}; by ε {shares}; by data {by_data}")
        print(f"    CPU seconds: fit {of['fit'].median():.3f}, predict {of['predict'].median():.4f}")
    gains = found[found["way"] != "MCGrad"].pivot_table(index=[*keys, "epsilon"], columns="way", values="d_loss")
    poor = gains[gains["2.5 sd"] < -POOR]
    kept = poor["table"] / poor["2.5 sd"]
    print("gain over that at 2.5 sd where the base is poor, by ε:")
    print(kept.groupby("epsilon").agg(["count", "mean", "median", "min"]).round(3).to_string())


if __name__ == "__main__":
    main()
