"""Time and memory of ``rounds`` on a million rows and 1,263 groups: all pairs of seven categorical columns.

    python benchmarks/multicalibration_rounds.py [rows] [--simulated]

Prints seconds and the peak of resident memory of each step. Classes and scores are made up; a score has a million
possible values, so that nearly every row is distinct, the hardest case for a histogram. The columns have as many
categories as seven columns of the UCI Adult data.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.certificate import certify
from hedgerow.multicalibration.calibrated_model import STEPS, Records
from hedgerow.multicalibration.calibration_mechanism import Setting
from hedgerow.multicalibration.declared_groups import CategoryGroups
from hedgerow.multicalibration.family import Family
from hedgerow.multicalibration.rounds import Rounds, exact_cells
from hedgerow.noise.secure import SecureNoise
from hedgerow.testing.simulated import SimulatedNoise

SIZES = {"workclass": 7, "education": 16, "marital": 7, "occupation": 14, "relationship": 6, "race": 5, "sex": 2}


def made_up(rows: int, family: Family) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return classes, scores and labels: skewed categories, scores .1 too high, and by .1 more in race 0."""
    rng = np.random.default_rng(1)
    shares = [1.0 / np.arange(1, size + 1) for size in SIZES.values()]
    classes = np.stack([rng.choice(len(s), rows, p=s / s.sum()) for s in shares], axis=1)
    scores = rng.beta(1.0, 2.5, rows)
    truth = np.clip(scores - 0.1 - 0.1 * (classes[:, 5] == 0), 0.0, 1.0)
    return classes, scores, (rng.random(rows) < truth).astype(np.int64)


def worst(records: Records, scores: np.ndarray) -> float:
    """Return max |Σ (y − p)|/n."""
    cells = exact_cells(records, np.rint(scores * STEPS).astype(np.int64), 10)
    return float(np.abs(cells[:, :10]).max() / STEPS / records.total())


def main() -> None:
    """Run each step once and print what it took."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    rows = numbers[0] if numbers else 1_000_000
    family = Family(tuple(CategoryGroups(name, tuple(range(size))) for name, size in SIZES.items()), depth=2)
    print(f"{rows:,} rows, {len(family.groups):,} groups, M = {family.most_groups}, {family.atoms:,} atoms")
    classes, scores, labels = made_up(rows, family)
    public = Setting(family, Relation.ADD_REMOVE, None)
    mechanism = Rounds()
    began = last = time.perf_counter()

    def told(step: str) -> None:
        nonlocal last
        now, peak = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"{step:<28} {now - last:7.2f} s   peak {peak:5.2f} GB")
        last = now

    described = mechanism.describe(public, Budget(1.0, 1e-6))
    certificate = certify(described, public.relation, unit="row", delta=1e-6)
    told("price and certificate")
    records = Records.of(family, classes, scores, labels)
    told("fold into distinct rows")
    noise = SimulatedNoise(1) if "--simulated" in sys.argv else SecureNoise()
    fitted = mechanism.run(public, described, records, noise)
    told("both rounds")
    print(f"fit in all                   {time.perf_counter() - began:7.2f} s")
    calibrated = fitted.calibration.apply(family, records.patterns[records.pattern], records.scores)
    told("apply to every distinct row")
    before, after = worst(records, records.scores), worst(records, calibrated)
    print(f"ε = {certificate.epsilon:.6g}, {len(records.count):,} distinct rows, {len(records.patterns):,} patterns")
    print(f"max |Σ residual|/n           {before:.4f} before, {after:.4f} after")


if __name__ == "__main__":
    main()
