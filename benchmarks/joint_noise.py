"""The noise of means and ratios of joint moments, by the plan's own choice, beside the plain mechanisms.

Run ``python -m benchmarks.joint_noise``. One row a question: the noise sd in units of range/n, at the centre
of the range, half way to a bound and at a bound; the choice and the runner-up. Then the noise of `hg.mean` itself, as a
release of 1,000 records states it for a mean at the centre. No data but these are read.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
from tests.unit.release.joint_questions import FAR, NEAR, N, asked, noise_of

import hedgerow as hg
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.noisy_counts import gaussian_mu
from hedgerow.release.designs.joint.chooser import choose
from hedgerow.testing.simulated import SimulatedNoise, Study

QUESTIONS = {
    "one mean, n public": (asked(1, FAR), FAR),
    "one mean, add-remove": (asked(1, NEAR), NEAR),
    "one mean by cell, replace-one": (asked(1, FAR, cells=4), FAR),
    "3 means, n public": (asked(3, FAR), FAR),
    "10 means, n public": (asked(10, FAR), FAR),
    "10 means, add-remove": (asked(10, NEAR), NEAR),
    "a ratio, n public": (asked(2, FAR, ratio=True), FAR),
    "a ratio, add-remove, 100 steps": (asked(2, NEAR, steps=100, ratio=True), NEAR),
}


def noise_of_mean(relation: Relation, epsilon: float, *, drop: bool) -> float:
    """Return the privacy error of `hg.mean` in units of range/n, averaged over seeded releases."""
    survey = hg.open(pa.table({"x": np.linspace(0.0, 1.0, int(N))}), relation=str(relation))
    missing = "drop" if drop else "error-if-declared-complete"
    study = Study.of(survey, [hg.mean("x", bounds=(0, 1))], epsilon=epsilon, missing=missing)
    noise = SimulatedNoise(1)
    return float(np.mean([study.draw(noise)[0].privacy_error for _ in range(20)])) * N


MEANS = (("n public", FAR, False), ("missing dropped", FAR, True), ("add-remove", NEAR, True))


def main() -> None:
    """Print the table."""
    for epsilon in (0.1, 1.0, 3.0):
        budget = Budget(epsilon, 1e-6)
        print(
            f"epsilon {epsilon:g}: one plain Laplace number {math.sqrt(2.0) / epsilon:.3f}, "
            f"one plain Gaussian {1.0 / gaussian_mu(budget):.3f}"
        )
        for name, (question, relation) in QUESTIONS.items():
            choice = choose(question, budget, relation)
            noises = " ".join(f"{noise_of(choice, question, guess):8.3f}" for guess in (0.0, 0.5, 1.0))
            print(f"  {name:32s} {noises}  {choice.name}; then {choice.runner_up and choice.runner_up.name}")
        for name, relation, drop in MEANS:
            print(f"  hg.mean, {name:23s} {noise_of_mean(relation, epsilon, drop=drop):8.3f}")


if __name__ == "__main__":
    main()
