"""``numeric_sparse``: cells are asked in turn, and only those whose residual sum exceeds a noisy threshold cost budget.

Guarantee   ε-differential privacy of the model and of everything read from it: the sparse vector technique of Lyu, Su &
Li (2017) with integer statistics and discrete Laplace noise (the proof is in `mechanisms.adaptive.sparse_vector`). This
is Fishman, Mugunthan & Tanzer's NumericSparse (section 3.1), corrected so that it is private:

* ONE stream of questions "|R_c| ≥ T?" with a public threshold, whose noise is drawn once, at the start;
* no second question about sizes, since |R_c| ≥ T implies that T records are there;
* the answers (R_c, N_c) are paid for separately;
* the residual is divided by the noisy count, and scores are projected to [0, 1].

One record moves R_c = Σ (y − p) by at most 1 under add-remove. Under replace-one it moves it by at most 1 + W, W the
width of a bucket (the record may leave one residual for another in the same cell, whose count then stays). An answer
moves by (1, 1), or by (1 + W, 0) where the cell stays the same (private_multicalibration.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.budget import Budget
from hedgerow.facts.given import as_float, as_int
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.adaptive.histogram_rounds import widest_bucket
from hedgerow.mechanisms.adaptive.sparse_vector import Answers, SparseVectorRun, sparse_vector
from hedgerow.mechanisms.mechanism import SparseVector
from hedgerow.multicalibration.mechanisms.cells import FEATURES, exact_cells, patch_of, shrunk_step
from hedgerow.multicalibration.mechanisms.mechanism import CalibrationMechanism, Fitted, Setting, check_parameter
from hedgerow.multicalibration.model.model import Patch, Patches
from hedgerow.multicalibration.model.records import HIGH, LOW, STEPS, Records
from hedgerow.noise.source import NoiseSource
from hedgerow.noise.table import AdditiveTable

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NumericSparse(CalibrationMechanism[SparseVector]):
    """Corrected NumericSparse.

    Parameters
    ----------
    positives : int
        c: how many cells may be shifted. All noise is proportional to it.
    threshold : float
        T in units of the scale of the noise on each question. Where it is higher, fewer positives are used up by noise.
    answer_share : float
        The part of ε that pays for the answers.
    z : float
        An answered cell is shifted when its residual sum exceeds z standard deviations of the noise in it.

    Examples
    --------
    >>> from hedgerow.multicalibration.groups.family import Family
    >>> public = Setting(Family((), depth=1), Relation.ADD_REMOVE, None)
    >>> described = NumericSparse(positives=10).describe(public, Budget(1.0, 0.0))
    >>> round(described.question_scale / 1e6, 1), [round(s, 6) for s in described.answer_scales]
    (45.4, [40000000.04, 40.0])
    """

    positives: int = 10
    threshold: float = 3.0
    answer_share: float = 0.5
    z: float = 2.0

    name: ClassVar[str] = "numeric_sparse"
    releases: ClassVar[tuple[str, ...]] = ("count", "sum")
    untold: ClassVar[str] = "no errors are known: only cells above the threshold are answered, and paid for"
    noise: ClassVar[tuple[type, ...]] = (SparseVector,)
    planned: ClassVar[tuple[str, ...]] = ("positives", "threshold", "answer_share")

    def __post_init__(self) -> None:
        positives, threshold = as_int(self.positives), as_float(self.threshold)
        check_parameter(
            positives is not None and 1 <= positives <= 100_000 and threshold is not None and threshold >= 0.0,
            "`positives` is a whole number from 1, and `threshold` is a number from 0.",
            self.positives,
            self.threshold,
            code="HG184",
            remedy="Leave them at their defaults.",
        )
        object.__setattr__(self, "positives", positives)
        object.__setattr__(self, "threshold", threshold)

    def describe(self, setting: Setting, budget: Budget) -> SparseVector:
        """Return the run of questions that one model asks, at its share of ε."""
        same_cell = STEPS + widest_bucket(setting.n_buckets, STEPS)
        add_remove = setting.relation is Relation.ADD_REMOVE
        moves = ((STEPS, 1),) if add_remove else ((STEPS, 1), (same_cell, 0))
        return sparse_vector(
            budget.epsilon / setting.models,
            setting.relation,
            reach=STEPS if add_remove else same_cell,
            positives=self.positives,
            answers=Answers(moves, (float(STEPS), 1.0), self.answer_share),
        )

    def run(self, setting: Setting, described: SparseVector, records: Records, noise: NoiseSource) -> Fitted:
        """Ask the cells in turn until none of them exceeds the threshold, or all positives are used."""
        state = _State(setting, records, described)
        asked = SparseVectorRun(described, noise)
        threshold = round(self.threshold * described.question_scale)
        first = 0
        while asked.remaining:
            order = np.roll(np.arange(state.cells), -first)
            positive = asked.first_positive(np.abs(state.residual[order]), threshold)
            if positive is None:
                break
            cell = int(order[positive])
            state.move(cell, asked.answer(int(state.residual[cell]), int(state.count[cell])), z=self.z)
            first = (cell + 1) % state.cells
        return replace(_fitted(setting, state.patches), released=(state.released(),), numbers=(state.answers(),))

    def read(self, setting: Setting, described: SparseVector, numbers: Sequence[NDArray[np.float64]]) -> Fitted:
        """Return the shifts that the answers give: rows of a group, a bucket, and its noisy residual sum and count."""
        (answers,) = numbers
        if len(answers) > described.positives:
            raise TypeError("numeric_sparse is read as it was described")
        patches = (_patch_of_answer(setting, described, answer, z=self.z) for answer in answers.reshape(-1, 4))
        return _fitted(setting, [patch for patch in patches if len(patch.cells)])


def _fitted(setting: Setting, patches: Sequence[Patch]) -> Fitted:
    return Fitted(Patches(setting.n_buckets, tuple(patches), LOW, HIGH), None, None)


def _patch_of_answer(setting: Setting, described: SparseVector, answer: NDArray[np.float64], *, z: float) -> Patch:
    """Return by how much an answer supports that its cell is shifted, as one round."""
    k, (group, bucket) = setting.n_buckets, (int(one) for one in answer[:2])
    residual, count = (float(one) for one in answer[2:])
    # Discrete Laplace noise of scale s has a variance below 2s².
    variance = 2.0 * _scales(described) ** 2
    numbers = [np.array([number]) for number in (residual, count, *variance, (bucket + 0.5) / k)]
    shift = np.zeros((len(setting.family.groups), k))
    if abs(residual) >= setting.least_shift * count:
        shift[group, bucket] = shrunk_step(*numbers, z=z)[0]
    return patch_of(shift)


def _scales(described: SparseVector) -> NDArray[np.float64]:
    return np.array(described.answer_scales) / (STEPS, 1.0)


class _State:
    """The current scores and their exact cells, PRIVATE, and the answers and shifts so far, public."""

    def __init__(self, setting: Setting, records: Records, described: SparseVector) -> None:
        self._setting, self._records, self._described = setting, records, described
        self.cells = len(setting.family.groups) * setting.n_buckets
        self._answers: list[NDArray[np.float64]] = []
        self.patches: list[Patch] = []
        self._count_cells(records.score)

    def _count_cells(self, score: Integers) -> None:
        k, self._score = self._setting.n_buckets, score
        exact = exact_cells(self._records, score, k)
        self.residual, self.count = exact[:, :k].ravel(), exact[:, k:].ravel()

    def move(self, cell: int, answer: tuple[int, ...], *, z: float) -> None:
        """Keep a noisy answer, and shift its cell by what the answer supports."""
        k, records = self._setting.n_buckets, self._records
        self._answers.append(np.array([cell // k, cell % k, answer[0] / STEPS, answer[1]], dtype=np.float64))
        patch = _patch_of_answer(self._setting, self._described, self._answers[-1], z=z)
        if len(patch.cells):
            self.patches.append(patch)
            self._count_cells(patch.move(records.family, records.patterns, records.pattern, self._score, k))

    def released(self) -> AdditiveTable:
        """Return the answers in the order in which they were given."""
        names = self._setting.family.names
        answers = self.answers()
        cells = [{"group": names[group], "bucket": bucket} for group, bucket in answers[:, :2].astype(int).tolist()]
        return AdditiveTable(cells, FEATURES, answers[:, 2:], np.sqrt(2.0) * _scales(self._described), "laplace")

    def answers(self) -> NDArray[np.float64]:
        """Return the answers in order: group, bucket, noisy residual sum and noisy count."""
        return np.array(self._answers, dtype=np.float64).reshape(-1, 4)
