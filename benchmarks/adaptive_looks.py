"""In how many of 100 runs of each built-in attack the interval of the last look holds the truth.

    python benchmarks/adaptive_looks.py [--runs N] [--epsilon E] [--mechanism NAME] [--n N …] [--looks K …]
                                        [--relation R] [--json]

    python benchmarks/adaptive_looks.py --parts [--runs N] …

    python benchmarks/adaptive_looks.py --plan [--epsilon E] [--n N …] [--looks K …]

Labels are fair coins, so the truth is one half. ``fixed`` counts the intervals for models that were made before any
answer was known, which is what all scores had before.

With ``--parts`` the attacker asks the accuracy of a guess by 100 blocks of records, again and again, sets each block to
its better side, and asks for every metric of that model in the last looks.

With ``--plan`` the half-width of the last look is printed by each bound: with the ε that is best for it, by splitting,
and with all of ε; then that of looks which all ask for the area under the curve, or for R². ``--mechanism narrowest``
attacks what such a plan chooses.
"""

import argparse
import json
import sys
from functools import partial

import numpy as np

from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.testing.simulated import SimulatedNoise, SimulatedTestSet
from hedgerow.testset.looks_forecast import ATTACKS, attack, narrowest, plan_looks
from hedgerow.testset.mechanisms.choose import NARROWEST, choose
from hedgerow.testset.mechanisms.look_mechanism import Conditions, Options
from hedgerow.testset.metric import accuracy
from hedgerow.testset.parts.measure_forecast import plan_measure

SEED = 20261122
BLOCKS = 100


def by_parts(n: int, looks: int, asked: argparse.Namespace) -> bool:
    """Print, for each metric, in how many runs both intervals held the truth; return whether one held too seldom."""
    found: dict[str, list[tuple[bool, bool, float, float]]] = {}
    for run in range(asked.runs):
        rng = np.random.default_rng([SEED, n, looks, run])
        y, guess, block = rng.integers(0, 2, n), rng.integers(0, 2, n), rng.integers(0, BLOCKS, n)
        given = {"relation": "replace-one", "epsilon": asked.epsilon, "n_looks": looks, "mechanism": "gaussian"}
        ts, sums = SimulatedTestSet(None, y, rng=rng.spawn(1)[0], **given), np.zeros(BLOCKS)
        for _ in range(looks - 4):
            score = ts.score(guess, groups=block)
            sums += [score["accuracy", one].value - 0.5 for one in range(BLOCKS)]
        model = np.where(sums[block] >= 0.0, guess, 1 - guess)
        share = model.mean()
        truth = {"recall": share, "specificity": 1.0 - share, "f1": share / (0.5 + share), "calibration_error": 0.1}
        classes = ["precision", "recall", "specificity", "f1", "balanced_accuracy"]
        last = [ts.score(model, metric=classes), ts.score(model, groups=rng.integers(0, 3, n))]
        last += [ts.score(model, metric="roc_auc"), ts.score(0.4 + 0.2 * model, metric="calibration_error")]
        for part in [one for score in last for one in score.parts]:
            name, true = part.metric + (" by group" if part.group else ""), truth.get(part.metric, 0.5)
            fitted, fixed = part.confidence_interval(), part.fixed_model
            held = [one.low <= true <= one.high for one in (fitted, fixed)]
            found.setdefault(name, []).append((*held, part.value - true, (fitted.high - fitted.low) / 2.0))
    for name, runs in found.items():
        held, fixed, over, half = np.mean(runs, axis=0)
        told = {"n": n, "looks": looks, "metric": name, "held": held, "fixed": fixed, "over": over, "half": half}
        print(
            json.dumps(told)
            if asked.json
            else f"n={n:6,} looks={looks:5,} {name:20s} held {held:.3f}, fixed {fixed:.3f} of {len(runs)}; "
            f"overstated by {over:+.4f}; half-width {half:.4f}",
            flush=True,
        )
    return any(np.mean([one[0] for one in runs]) < 0.95 for runs in found.values())


def by_plan(n: int, looks: int, asked: argparse.Namespace) -> bool:
    """Print the half-width of the last look by each bound; return False: a plan cannot fail."""
    planners = {"accuracy": plan_looks, **{name: partial(plan_measure, name) for name in ("roc_auc", "r2")}}
    for name, planner in planners.items():
        for choice in planner(n, looks, epsilon=asked.epsilon).choices:
            words = f"{choice.mechanism:9s} by {choice.bound:18s} ε {choice.epsilon:7.4f}: ± {choice.last:.4f}"
            facts = {"n": n, "looks": looks, "metric": name, **choice.to_dict()}
            vacuous = " (vacuous)" if choice.vacuous else ""
            print(
                json.dumps(facts) if asked.json else f"n={n:6,} looks={looks:5,} {name:8s} {words}{vacuous}", flush=True
            )
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--mechanism", default="gaussian")
    parser.add_argument("--n", type=int, nargs="+", default=[2_000, 10_000])
    parser.add_argument("--looks", type=int, nargs="+", default=[50, 1_000])
    parser.add_argument("--relation", default="replace-one", choices=[str(one) for one in Relation])
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--plan", action="store_true")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    failed = False
    for n in asked.n:
        for looks in asked.looks:
            if asked.parts or asked.plan:
                failed |= by_parts(n, looks, asked) if asked.parts else by_plan(n, looks, asked)
                continue
            relation = Relation(asked.relation)
            known = n if relation is Relation.REPLACE_ONE else None
            facts = Conditions(relation, Budget(asked.epsilon), looks, known, accuracy().grid)
            chooser = narrowest if asked.mechanism == NARROWEST else partial(choose, asked.mechanism)
            mechanism = chooser(facts, Options())
            for name in ATTACKS:
                rng = np.random.default_rng([SEED, n, looks])
                noise = SimulatedNoise(rng.spawn(1)[0])
                found = attack(name, mechanism, runs=asked.runs, noise=noise, rng=rng, private_n=n)
                failed |= found.held < 0.95 * asked.runs
                if asked.json:
                    print(json.dumps({"n": n, "looks": looks, "epsilon": asked.epsilon, **found.to_dict()}), flush=True)
                else:
                    print(
                        f"n={n:6,} looks={looks:5,} {name:14s} held {found.held:3d} of {found.runs}, fixed "
                        f"{found.fixed_held:3d}; overstated by {found.overstated:.4f}, at most "
                        f"{found.most_overstated:.4f}; half-width {found.half_width:.4f}",
                        flush=True,
                    )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
