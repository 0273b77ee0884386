"""``rounds``: T rounds, each releasing the noisy residual sum and count of every group and bucket.

Guarantee   μ-Gaussian differential privacy of the model and of everything read from it, μ² = Σ over rounds of
M·(1/w_R² + 1/w_N²) under add-remove (see `mechanisms.adaptive.histogram_rounds` for replace-one); hence (ε, δ) for
every δ > 0. w_R and w_N are the widths of the discrete Gaussian noise on a residual sum and on a count, M the number of
groups that one record can be in (private_multicalibration.md).

The scores of later rounds are functions of what earlier rounds released, so each round has the same cost. What is
computed from the released sums is post-processing. Use it for families with so many combinations of classes that a
count table would be mostly noise; where there are few atoms, ``table`` is better at the same price.

Residual sums by group and bucket: counted exactly, and turned into shifts after they were released with noise.

For each cell R = Σ (y − p) is the residual sum and N the count. `exact_cells` is private; all else here reads released
numbers and public facts, so it is post-processing.

A cell is shifted where its residual sum exceeds its noise by enough. Groups that join fewer classes come first. A group
of more classes then looks at what its wider groups have left of it, R − N·(sum of their shifts), which is known exactly
because all its records lie in them. A cell is shifted where this remainder L exceeds z standard deviations, by
(L/N)·(1 − sd²/L²), where sd counts privacy noise and the binomial noise of labels (private_multicalibration.md:
positive-part shrinkage), but not beyond what the count supports (`doubtful`). Groups that join the same number of
classes of different attributes overlap: each is shifted by its share, 1/(the number of them that a record can be in).

``numeric_sparse``: cells are asked in turn, and only those whose residual sum exceeds a noisy threshold cost budget.

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

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import UncertifiedError
from hedgerow.facts.budget import DEFAULT_DELTA, Budget
from hedgerow.facts.relation import Relation
from hedgerow.facts.validation import as_float, as_int
from hedgerow.mechanisms.histograms import HistogramRounds, widest_bucket
from hedgerow.mechanisms.sparse_vector import AnswerNoise, SparseVector, SparseVectorRun, sparse_vector
from hedgerow.multicalibration.calibrated_model import (
    HIGH,
    LOW,
    STEPS,
    WRITTEN,
    CalibratedModel,
    Patch,
    Patches,
    Records,
    Residuals,
    bucket_of,
)
from hedgerow.multicalibration.calibration_mechanism import (
    CalibrationMechanism,
    FittedCalibration,
    Setting,
    check_parameter,
    least_noise_for,
)
from hedgerow.multicalibration.family import Family, group_classes, spread_to_patterns, sum_by_group
from hedgerow.multicalibration.metrics import error_of
from hedgerow.noise.lattice import AdditiveTable, NoiseSource, lattice_noise

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
FEATURES = ("residual", "count")
UNRELEASED = 1e30
_RATE = 0.005  # the label rate of a bucket is taken to be at least this far from 0 and 1 when its noise is judged


@dataclass(frozen=True, slots=True)
class NoisyCells:
    """Released sums by group and bucket: R in scores, N, and the variances of their noise, all (groups, buckets).

    A residual variance of `UNRELEASED` says that a cell was not released; it is never shifted.
    """

    residual: Floats
    count: Floats
    residual_variance: Floats
    count_variance: Floats


def exact_cells(records: Records, score: Integers, n_buckets: int) -> Integers:
    """Return R in grid steps and N of every group and bucket at these scores: (groups, 2·buckets). PRIVATE."""
    key = records.pattern * n_buckets + bucket_of(score, n_buckets)
    gap = records.label * STEPS - score
    cells = len(records.patterns) * n_buckets
    # Sums in doubles are exact here: whole numbers below 2^53.
    sums = [np.bincount(key, weights=part, minlength=cells) for part in (records.count * gap, records.count)]
    table = np.concatenate([part.astype(np.int64).reshape(-1, n_buckets) for part in sums], axis=1)
    return sum_by_group(records.family, records.patterns, table)


def shifts_of(family: Family, cells: NoisyCells, *, z: float, least: float = 0.0) -> Floats:
    """Return the shift of each cell, (groups, buckets), in scores; 0 where its residual is within its noise.

    `least` is the least mean residual of a cell that is shifted.
    """
    k = cells.residual.shape[1]
    middle = (np.arange(k) + 0.5) / k
    own = group_classes(family)
    joined = np.array([len(group) for group in family.groups])
    shift = np.zeros_like(cells.residual)
    for level in range(int(joined.max()) + 1):
        at = joined == level
        wider = spread_to_patterns(family, own[at], shift)
        left = cells.residual[at] - cells.count[at] * wider
        noise = cells.residual_variance[at] + wider**2 * cells.count_variance[at]
        step = shrunk_step(left, cells.count[at], noise, cells.count_variance[at], middle + wider, z=z)
        step = np.where(np.abs(left) >= least * cells.count[at], step, 0.0)
        shift[at] = step / math.comb(len(family.attributes), level)
    return shift


def shrunk_step(
    residual: Floats, count: Floats, residual_variance: Floats, count_variance: Floats, rate: Floats, *, z: float
) -> Floats:
    """Return by how much cells of residual sum R and count N are shifted, from −1 to 1.

    No mean score is moved beyond what N supports: it stays at `doubtful` records or more from 0 and from N.

    >>> one = np.ones(1)
    >>> shrunk_step(100.0 * one, 1000.0 * one, 100.0 * one, 0.0 * one, 0.5 * one, z=2.0).round(4).tolist()
    [0.0965]
    """
    # Where N itself is within its noise, R/N could be anything: |R| ≤ N, so such a cell holds little and stays.
    held = count > np.maximum(z * np.sqrt(count_variance), 1.0)
    known = np.maximum(count, 1.0)
    likely = np.clip(rate, _RATE, 1.0 - _RATE)
    variance = residual_variance + known * likely * (1.0 - likely)
    square = np.maximum(residual**2, 1e-100)
    strength = np.where(held & (square > z**2 * variance), 1.0 - variance / square, 0.0)
    aim = rate + residual / known * np.clip(strength, 0.0, 1.0)
    doubt = np.minimum(doubtful(np.sqrt(residual_variance)) / known, 0.5)
    return np.asarray(np.clip(aim, np.minimum(rate, doubt), np.maximum(rate, 1.0 - doubt)) - rate)


def doubtful(noise_sd: Floats) -> Floats:
    """Return how many records of one label a cell may hold where its noisy count shows none: ½ + √(2/π) sd.

    With a flat prior on [0, ∞) and normal noise that shows 0, the posterior mean of a number is √(2/π) sd. Krichevsky
    and Trofimov's ½ is for the next record: k ones of N records predict a rate of (k + ½)/(N + 1).

    >>> doubtful(np.array([0.0, 10.0])).round(2).tolist()
    [0.5, 8.48]
    """
    return np.asarray(0.5 + math.sqrt(2.0 / math.pi) * noise_sd, dtype=np.float64)


def patch_of(shift: Floats) -> Patch:
    """Return one round of the model from shifts in scores: the cells whose shift is at least half a grid step."""
    steps = np.rint(shift * STEPS)
    cells = np.argwhere(steps != 0).astype(np.int64)
    return Patch(cells, steps[tuple(cells.T)].astype(np.int64))


@dataclass(frozen=True, slots=True)
class Rounds(CalibrationMechanism[HistogramRounds]):
    """Gaussian histogram rounds.

    Parameters
    ----------
    rounds : int
        T. The noise of each grows with √T.
    residual_share : float
        The part of μ² that pays for residual sums; the rest pays for counts, which need less.
    z : float
        A cell is shifted when its residual sum exceeds z standard deviations of privacy and binomial noise together.

    Examples
    --------
    >>> from hedgerow.multicalibration.family import Family
    >>> from hedgerow.facts.relation import Relation
    >>> public = Setting(Family((), depth=1), Relation.ADD_REMOVE, None)
    >>> described = Rounds().describe(public, Budget(1.0, 1e-6))
    >>> described.most_groups, described.groups, described.buckets
    (1, 1, 10)
    """

    rounds: int = 2
    residual_share: float = 0.8
    z: float = 2.5

    name: ClassVar[str] = "rounds"
    default_delta: ClassVar[float] = DEFAULT_DELTA  # Gaussian noise has no price at δ = 0
    releases: ClassVar[tuple[str, ...]] = ("count", "sum")
    untold: ClassVar[str] = "errors after calibration are not known: the last round is not measured"
    noise: ClassVar[tuple[type, ...]] = (HistogramRounds,)
    planned: ClassVar[tuple[str, ...]] = ("rounds", "residual_share")
    sized: ClassVar[tuple[str, ...]] = ("rounds", "residual", "count")
    untraced: ClassVar[tuple[str, ...]] = ("rounds",)  # where a target was met before the last round

    def __post_init__(self) -> None:
        rounds, share = as_int(self.rounds), as_float(self.residual_share)
        fits = rounds is not None and 1 <= rounds <= 1000
        check_parameter(fits, "There are from 1 to 1,000 rounds.", self.rounds, code="HG184", remedy="Try 2.")
        check_parameter(
            share is not None and 0.0 < share < 1.0,
            "The share of the budget that pays for residual sums lies strictly between 0 and 1.",
            self.residual_share,
            code="HG182",
            remedy="Leave this parameter of the mechanism at its default.",
        )
        object.__setattr__(self, "rounds", rounds)
        object.__setattr__(self, "residual_share", share)

    def describe(self, setting: Setting, budget: Budget) -> HistogramRounds:
        """Return the rounds with the least noise that the budget allows.

        Raises
        ------
        UncertifiedError
            HG427: δ = 0, at which no Gaussian noise has a price.
        """
        if budget.delta <= 0.0:
            raise UncertifiedError(
                "HG427",
                rule="Gaussian rounds have a price only for δ > 0.",
                finding="δ is 0.",
                remedy='Use δ = 1e-6, or mechanism="table" or "numeric_sparse", which give pure ε (δ = 0).',
            )
        family = setting.family

        def build(precision: float) -> HistogramRounds:
            return HistogramRounds(
                self.rounds,
                len(family.groups),
                setting.n_buckets,
                family.most_groups,
                STEPS,
                lattice_noise(STEPS / (precision * math.sqrt(self.residual_share))),
                lattice_noise(1.0 / (precision * math.sqrt(1.0 - self.residual_share))),
            )

        return least_noise_for(build, setting, budget)

    def run(
        self, setting: Setting, described: HistogramRounds, records: Records, noise: NoiseSource
    ) -> FittedCalibration:
        """Release T tables, each of the scores after the round before, and turn each into shifts."""
        score, k = records.score, setting.n_buckets
        released, steps = list[AdditiveTable](), list[tuple[Residuals, Patch | None]]()
        for _ in range(described.rounds):
            released.append(_release(setting, described, exact_cells(records, score, k), noise))
            steps.append(self._step(setting, described, released[-1].values))
            patch = steps[-1][1]
            if patch is None:
                break
            score = patch.move(records.family, records.patterns, records.pattern, score, k)
        return replace(_fitted(setting, steps), released=tuple(released))

    def read(
        self, setting: Setting, described: HistogramRounds, numbers: Sequence[NDArray[np.float64]]
    ) -> FittedCalibration:
        """Return the rounds of shifts that the tables of the rounds give, up to the first one that needs none."""
        shape = described.groups * described.buckets, 2
        fits = 1 <= len(numbers) <= described.rounds and all(values.shape == shape for values in numbers)
        steps = [self._step(setting, described, values) for values in numbers] if fits else []
        ended = [patch is None for _, patch in steps]
        if not steps or any(ended[:-1]) or not (ended[-1] or len(steps) == described.rounds):
            raise TypeError("rounds are read as they were described")
        return _fitted(setting, steps)

    def _step(
        self, setting: Setting, described: HistogramRounds, values: NDArray[np.float64]
    ) -> tuple[Residuals, Patch | None]:
        """Return what the table of one round shows, and its shifts; None where it meets the target: the end."""
        cells = _noisy_cells(_as_table((), described, values), setting.n_buckets)
        shown = _as_residuals(setting, cells)
        if setting.alpha is not None and error_of(shown, "alpha") <= setting.alpha:
            return shown, None
        return shown, patch_of(shifts_of(setting.family, cells, z=self.z, least=setting.least_shift))

    @classmethod
    def agrees(cls, model: CalibratedModel, before: Residuals | None, part: HistogramRounds) -> bool:
        """Return whether the groups, the buckets and the noise of the residuals are those of the certificate."""
        if (part.groups, part.buckets) != (len(model.family.groups), model.n_buckets):
            return False
        return before is None or (
            _is_written(before.residual_sd, part.residual.in_units / STEPS)
            and _is_written(before.count_sd, part.count.in_units)
        )


def _is_written(sds: NDArray[np.float64], noise_sd: float) -> bool:
    return bool(np.all(np.abs(sds - noise_sd) <= WRITTEN + 1e-9 * noise_sd))


def _fitted(setting: Setting, steps: Sequence[tuple[Residuals, Patch | None]]) -> FittedCalibration:
    """Return the model of rounds: the first table shows the errors before, the last those after if it met a target."""
    patches = tuple(patch for _, patch in steps if patch is not None)
    shown, last = steps[-1]
    return FittedCalibration(
        Patches(setting.n_buckets, patches, LOW, HIGH), steps[0][0], shown if last is None else None
    )


def _release(setting: Setting, described: HistogramRounds, exact: Integers, noise: NoiseSource) -> AdditiveTable:
    """Return residual sums and counts plus the noise that was described: from here on everything is public."""
    k = described.buckets
    residual, count = described.noisy(exact[:, :k], exact[:, k:], noise)
    cells = [{"group": name, "bucket": bucket} for name in setting.family.names for bucket in range(k)]
    return _as_table(cells, described, np.stack([residual.ravel() / STEPS, count.ravel()], axis=1))


def _as_table(
    cells: Sequence[Mapping[str, Any]], described: HistogramRounds, values: NDArray[np.float64]
) -> AdditiveTable:
    spread = np.array([described.residual.in_units / STEPS, described.count.in_units])
    return AdditiveTable(cells, FEATURES, values, spread, "gaussian")


def _noisy_cells(table: AdditiveTable, n_buckets: int) -> NoisyCells:
    residual, count = (table.column(name).reshape(-1, n_buckets) for name in FEATURES)
    spread = [np.full_like(residual, table.sd(name) ** 2) for name in FEATURES]
    return NoisyCells(residual, count, spread[0], spread[1])


def _as_residuals(setting: Setting, cells: NoisyCells) -> Residuals:
    """Return the first round's table as residuals of the original scores; Σ p uses the middle of each bucket."""
    k = setting.n_buckets
    middle = (np.arange(k) + 0.5) / k
    n = float(setting.n) if setting.n is not None else max(1.0, float(cells.count[0].sum()))
    spread = np.sqrt(cells.residual_variance), np.sqrt(cells.count_variance)
    return Residuals(setting.family.names, cells.residual, cells.count, cells.count * middle, *spread, n, private=True)


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
    >>> from hedgerow.multicalibration.family import Family
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
    sized: ClassVar[tuple[str, ...]] = ("positives", "threshold_scale", "question_scale", "answer_scales")
    untraced: ClassVar[tuple[str, ...]] = ("positives", "threshold_scale", "question_scale", "answer_scales.*")

    def __post_init__(self) -> None:
        positives, threshold = as_int(self.positives), as_float(self.threshold)
        check_parameter(
            positives is not None and 1 <= positives <= 100_000 and threshold is not None and threshold >= 0.0,
            "`positives` is a whole number from 1, and `threshold` is a number from 0.",
            self.positives,
            self.threshold,
            code="HG184",
            remedy="Leave the parameters of the mechanism at their defaults.",
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
            answers=AnswerNoise(moves, (float(STEPS), 1.0), self.answer_share),
        )

    def run(self, setting: Setting, described: SparseVector, records: Records, noise: NoiseSource) -> FittedCalibration:
        """Ask the cells in turn until none of them exceeds the threshold, or all positives are used."""
        state = _SparseState(setting, records, described)
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
        return replace(
            _fitted_numeric_sparse(setting, state.patches), released=(state.released(),), numbers=(state.answers(),)
        )

    def read(
        self, setting: Setting, described: SparseVector, numbers: Sequence[NDArray[np.float64]]
    ) -> FittedCalibration:
        """Return the shifts that the answers give: rows of a group, a bucket, and its noisy residual sum and count."""
        (answers,) = numbers
        if len(answers) > described.positives:
            raise TypeError("numeric_sparse is read as it was described")
        patches = (_patch_of_answer(setting, described, answer, z=self.z) for answer in answers.reshape(-1, 4))
        return _fitted_numeric_sparse(setting, [patch for patch in patches if len(patch.cells)])


def _fitted_numeric_sparse(setting: Setting, patches: Sequence[Patch]) -> FittedCalibration:
    return FittedCalibration(Patches(setting.n_buckets, tuple(patches), LOW, HIGH), None, None)


def _patch_of_answer(setting: Setting, described: SparseVector, answer: NDArray[np.float64], *, z: float) -> Patch:
    """Return by how much an answer supports that its cell is shifted, as one round."""
    k, (group, bucket) = setting.n_buckets, (int(place) for place in answer[:2])
    residual, count = (float(number) for number in answer[2:])
    # Discrete Laplace noise of scale s has a variance below 2s².
    variance = 2.0 * _scales(described) ** 2
    numbers = [np.array([number]) for number in (residual, count, *variance, (bucket + 0.5) / k)]
    shift = np.zeros((len(setting.family.groups), k))
    if abs(residual) >= setting.least_shift * count:
        shift[group, bucket] = shrunk_step(*numbers, z=z)[0]
    return patch_of(shift)


def _scales(described: SparseVector) -> NDArray[np.float64]:
    return np.array(described.answer_scales) / (STEPS, 1.0)


class _SparseState:
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
