"""``numeric_sparse``: cells asked in turn, and only those whose residual sum clears a noisy threshold are paid for.

Guarantee   ε-differential privacy of the model and of everything read from it: the sparse vector technique of Lyu, Su &
Li (2017) with integer statistics and two-sided geometric noise (`hedgerow.mechanisms.sparse_vector` has the proof). It
is what Fishman, Mugunthan & Tanzer's NumericSparse (section 3.1) becomes once it is private: ONE stream of questions
"|R_c| ≥ T?" with a public threshold, noise on the threshold from the start and once, no second question about sizes
(|R_c| ≥ T implies that T records are there), answers (R_c, N_c) paid for on their own, division by the noisy count, and
scores projected to [0, 1].

One record moves R_c = Σ (y − p) by at most 1 under add-remove, and by at most 1 + W under replace-one, W the width of a
bucket (it may leave one residual for another in the same cell, whose count then stays); an answer moves by (1, 1), or
by (1 + W, 0) where the cell stays the same (private_multicalibration.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.budget import Budget
from hedgerow.facts.given import real, whole
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.histogram_rounds import widest_bucket
from hedgerow.mechanisms.mechanism import Composition, Single, SparseVector
from hedgerow.mechanisms.sparse_vector import SparseVectorRun, sparse_vector
from hedgerow.multicalibration.groups.family import spread_to_patterns
from hedgerow.multicalibration.mechanisms.mechanism import Fitted, Setting
from hedgerow.multicalibration.mechanisms.noisy_shifts import shrunk_step
from hedgerow.multicalibration.mechanisms.rounds import FEATURES, exact_cells
from hedgerow.multicalibration.model.model import Patch, Patches
from hedgerow.multicalibration.model.records import HIGH, LOW, STEPS, Records, bucket_of
from hedgerow.noise.source import NoiseSource
from hedgerow.noise.table import AdditiveTable

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NumericSparse:
    """Corrected NumericSparse.

    Parameters
    ----------
    positives : int
        c: how many cells may be moved. All noise is proportional to it.
    threshold : float
        T in units of the scale of the noise on each question: higher, and fewer positives are spent on noise.
    answer_share : float
        The part of ε that pays for the answers.
    z : float
        An answered cell moves when its residual sum exceeds z standard deviations of the noise in it.

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

    def __post_init__(self) -> None:
        positives, threshold = whole(self.positives), real(self.threshold)
        if positives is None or not 1 <= positives <= 100_000 or threshold is None or threshold < 0.0:
            raise ParameterError(
                "HG184",
                rule="`positives` is a whole number from 1, and `threshold` is a number from 0.",
                finding=f"Found {self.positives!r} and {self.threshold!r}.",
                remedy="Leave them at their defaults.",
            )
        object.__setattr__(self, "positives", positives)
        object.__setattr__(self, "threshold", threshold)

    @property
    def name(self) -> str:
        """``"numeric_sparse"``."""
        return "numeric_sparse"

    @property
    def default_delta(self) -> float:
        """0: the price is pure."""
        return 0.0

    def describe(self, setting: Setting, budget: Budget) -> Single | Composition:
        """Return the run of questions that one model asks, at its share of ε."""
        same_cell = STEPS + widest_bucket(setting.n_buckets, STEPS)
        near = setting.relation is Relation.ADD_REMOVE
        return sparse_vector(
            budget.epsilon / setting.models,
            setting.relation,
            reach=STEPS if near else same_cell,
            positives=self.positives,
            answer_moves=((STEPS, 1),) if near else ((STEPS, 1), (same_cell, 0)),
            answer_widths=(float(STEPS), 1.0),
            answer_share=self.answer_share,
        )

    def run(
        self, setting: Setting, described: Single | Composition | None, records: Records, noise: NoiseSource
    ) -> Fitted:
        """Go round the cells until a whole round says no, or all positives are used."""
        if not isinstance(described, SparseVector):
            raise TypeError("numeric_sparse runs as it was described")
        state = _State(setting, records, described)
        asked = SparseVectorRun(described, noise)
        threshold = round(self.threshold * described.question_scale)
        place = 0
        while asked.remaining:
            order = np.roll(np.arange(state.cells), -place)
            found = asked.first_positive(np.abs(state.residual.ravel()[order]), threshold)
            if found is None:
                break
            cell = int(order[found])
            state.move(cell, asked.answer(int(state.residual.ravel()[cell]), int(state.count.ravel()[cell])), z=self.z)
            place = (cell + 1) % state.cells
        model = Patches(setting.n_buckets, tuple(state.patches), LOW, HIGH)
        return Fitted(model, None, None, (state.released(),))


class _State:
    """The current scores and their exact cells, PRIVATE, and the answers and shifts so far, public."""

    def __init__(self, setting: Setting, records: Records, described: SparseVector) -> None:
        self._setting, self._records = setting, records
        self._scales = np.array(described.answer_scales) / (STEPS, 1.0)
        self._score = records.score
        self.cells = len(setting.family.groups) * setting.n_buckets
        self.patches: list[Patch] = []
        self._answers: list[tuple[int, float, float]] = []
        self._count_cells()

    def _count_cells(self) -> None:
        k = self._setting.n_buckets
        exact = exact_cells(self._records, self._score, k)
        self.residual, self.count = exact[:, :k], exact[:, k:]

    def move(self, cell: int, answer: tuple[int, ...], *, z: float) -> None:
        """Take a noisy answer in, and move its cell by what it supports."""
        k = self._setting.n_buckets
        residual, count = answer[0] / STEPS, float(answer[1])
        self._answers.append((cell, residual, count))
        # Two-sided geometric noise of scale s has a variance below 2s².
        variance = 2.0 * self._scales**2
        one = [np.array([number]) for number in (residual, count, *variance, (cell % k + 0.5) / k)]
        steps = round(float(shrunk_step(*one, z=z)[0]) * STEPS)
        if steps:
            self.patches.append(Patch(np.array([[cell // k, cell % k]]), np.array([steps])))
            self._shift(cell, steps)

    def _shift(self, cell: int, steps: int) -> None:
        k, records = self._setting.n_buckets, self._records
        shift = np.zeros((len(self._setting.family.groups), k))
        shift[cell // k, cell % k] = steps
        moves = spread_to_patterns(records.family, records.patterns, shift).astype(np.int64)
        self._score = np.clip(self._score + moves[records.pattern, bucket_of(self._score, k)], 0, STEPS)
        self._count_cells()

    def released(self) -> AdditiveTable:
        """Return the answers in the order in which they were given."""
        k, names = self._setting.n_buckets, self._setting.family.names
        cells = [{"group": names[cell // k], "bucket": cell % k} for cell, _, _ in self._answers]
        values = np.array([answer[1:] for answer in self._answers]).reshape(-1, 2)
        return AdditiveTable(cells, FEATURES, values, np.sqrt(2.0) * self._scales, "laplace")
