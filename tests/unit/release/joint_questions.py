"""Questions for the choice of a mechanism of joint moments, and the noise that an answer gives them."""

from __future__ import annotations

import math

import numpy as np

from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.joint.joint_numbers import JointFeature, JointLayout
from hedgerow.release.designs.joint.chooser import JointChoice
from hedgerow.release.designs.joint.joint_choice import JointQuestion, mean_of, ratio_of

FAR, NEAR = Relation.REPLACE_ONE, Relation.ADD_REMOVE
N = 1000.0


def noise_of(choice: JointChoice, asked: JointQuestion, guess: float) -> float:
    """Return the noise sd of the first function in units of range/n, where every feature has the mean `guess`."""
    d = len(asked.layout.features)
    moments = [(), *(((i, 1),) for i in range(d))]
    noise = choice.mechanism.reading(moments, n=asked.n if asked.known else None).covariance
    slopes = asked.functions[0](asked.n * np.array([1.0, *[guess] * d]))
    return float(math.sqrt(slopes @ noise @ slopes) * asked.n / 2.0)


def asked(means: int, relation: Relation, *, steps: int = 2**20, cells: int = 1, ratio: bool = False) -> JointQuestion:
    """Return a question: some means, or the ratio of two features."""
    known = relation is FAR and cells == 1
    layout = JointLayout((JointFeature(steps),) * means, "public" if known else "private", cells)
    functions = (ratio_of(0, 1),) if ratio else tuple(mean_of(i) for i in range(means))
    return JointQuestion(layout, functions, N, known)
