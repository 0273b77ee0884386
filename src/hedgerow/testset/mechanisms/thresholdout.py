"""`thresholdout`: the training score where it is close enough to the test score, else one of few paid answers.

The reusable holdout of Dwork, Feldman, Hardt, Pitassi, Reingold & Roth (2015), on a corrected sparse vector (Lyu, Su &
Li 2017): noise on the threshold once for all looks, noise on every comparison, and every answer from the test set paid
for in addition. Looks at which training and test score agree cost nothing more, however many they are. After the last
answer there are no more looks. The whole ε is spent with the first look.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

from hedgerow.errors import ParameterError, SpentError
from hedgerow.facts.validation import as_float, as_int, format_argument
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.interval import normal_quantile
from hedgerow.inference.region import LevelTest, ScoreRegion
from hedgerow.mechanisms.sparse_vector import AnswerNoise, RunState, SparseVector, SparseVectorRun, sparse_vector
from hedgerow.noise.lattice import NoiseSource
from hedgerow.testset.mechanisms.look_mechanism import (
    COVERS,
    Conditions,
    DrawnLook,
    LookAnswer,
    LookMechanism,
    Options,
    Question,
    estimate_of_mean,
    replace_one_only,
)

_AGREES = "The training score, which agrees with the test set's: nothing else was told, and no answer was used up."


@dataclass(frozen=True, slots=True)
class ThresholdoutLook(LookMechanism):
    """A sparse vector over |training − test|, in grid steps of the summed losses.

    Examples
    --------
    >>> from hedgerow.facts.budget import Budget
    >>> from hedgerow.facts.columns import Grid
    >>> from hedgerow.facts.relation import Relation
    >>> facts = Conditions(Relation.REPLACE_ONE, Budget(1.0), 500, 10_000, Grid.from_bounds("accuracy", (0, 1), 1))
    >>> look = ThresholdoutLook.fitted(facts, Options(threshold=0.02, n_answers=10))
    >>> look.answers, round(look.expected_error(), 4)
    (10, 0.0028)
    """

    described: SparseVector
    threshold: float
    name: ClassVar[str] = "thresholdout"
    describes: ClassVar[tuple[str, ...]] = ("sparse-vector",)
    once: ClassVar[bool] = True
    needs_training: ClassVar[bool] = True
    by_name_only: ClassVar[str] = "by name only: it needs a training score; the error is that of a paid answer"

    @classmethod
    def fitted(cls, conditions: Conditions, options: Options, *, checked: bool = True) -> Self:
        """Return the run that spends ε on comparisons and answers in equal halves.

        Raises
        ------
        UncertifiedError
            HG431 under add-remove.
        ParameterError
            HG172: a threshold outside (0, U − L), or no answers.
        """
        replace_one_only("thresholdout", conditions)
        answers, bar = as_int(options.n_answers), as_float(options.threshold)
        if (
            answers is None
            or answers < 1
            or as_float(answers) is None
            or bar is None
            or not 0.0 < bar < 2.0 * conditions.half_range
        ):
            raise ParameterError(
                "HG172",
                rule="`thresholdout` needs a threshold between 0 and the range of the losses, and at least one answer.",
                finding=f"Found threshold={format_argument(options.threshold)}, "
                f"n_answers={format_argument(options.n_answers)}.",
                remedy="Declare the threshold and the number of answers, for example threshold=0.02, n_answers=20.",
            )
        reach = conditions.grid.steps
        described = sparse_vector(
            conditions.budget.epsilon,
            conditions.relation,
            reach=reach,
            positives=options.n_answers,
            answers=AnswerNoise(((reach,),), (1.0,)),
        )
        return cls(conditions, described, options.threshold)

    @classmethod
    def options_kept(cls, options: Options) -> dict[str, Any]:
        """Return the threshold."""
        return {"threshold": options.threshold}

    @property
    def answers(self) -> int:
        """How many answers from the test set are paid for."""
        return self.described.positives

    def expected_error(self) -> float | None:
        """Return the sd of the noise on a paid answer."""
        return math.sqrt(2.0) * self.described.answer_scales[0] * self._unit

    def information(self, looks: int) -> float:
        """Return the logarithm of the number of patterns of agreement, plus answers·n·ε₁²/8; at most n·ε²/8."""
        n, most = self.conditions.n or 1, min(self.answers, looks)
        patterns = sum(math.comb(looks, answered) for answered in range(most + 1))
        each = self.conditions.grid.steps / self.described.answer_scales[0]
        information = math.log(patterns) + most * n * each**2 / 8.0
        return min(information, n * self.conditions.budget.epsilon**2 / 8.0) if looks else 0.0

    def spread(self, beta: float, *, paid: bool = True) -> float:
        """Return the quantile of the noise on an answer; where the scores agree, of the noises on the comparison."""
        described, wide = self.described, 2.0 * self.conditions.half_range
        log = math.log(1.0 / beta)
        if paid:
            return (described.answer_scales[0] * log + 1.0) * self._unit / wide
        scale = described.threshold_scale + described.question_scale
        return (self.threshold + (scale * log + 2.0) * self._unit) / wide

    def secret_noise(self, noise: NoiseSource) -> int | None:
        """Return the noise on the threshold, in grid steps of the summed losses; it is drawn once for all looks."""
        return int(noise.two_sided_geometric(self.described.threshold_scale, 1)[0])

    def draw(self, question: Question, noise: NoiseSource) -> DrawnLook:
        """Return the training score if it is close to the test score, else a noisy test score, which is paid for."""
        if question.training is None or question.threshold_noise is None:
            raise SpentError(
                "HG601",
                rule="`thresholdout` needs a training score and a noisy threshold.",
                finding="The training score or the noisy threshold is missing.",
                remedy="Give training_score=…",
            )
        state = RunState(question.threshold_noise, question.answered, False)
        run = SparseVectorRun(self.described, noise, resume=state)
        total = int(question.histogram.cell_sums(question.histogram.index)[0])
        low, high = self.conditions.grid.as_bounds()
        training = min(max(question.training, low), high)
        if not run.ask(abs(total - round((training - low) / self._unit)), round(self.threshold / self._unit)):
            return DrawnLook((training,), paid=False)
        (noisy,) = run.answer(total)
        return DrawnLook((float(noisy),))

    def read(self, drawn: DrawnLook) -> LookAnswer:
        """Read a noisy sum of the losses, in grid steps, or the training score."""
        (answer,) = drawn.numbers
        if not drawn.paid:
            low, high = self.conditions.grid.as_bounds()
            return LookAnswer(self._agreeing(min(max(answer, low), high)), paid=False)
        n, steps = float(self.conditions.n or 1), self.conditions.grid.steps
        # u = 2·S/(n·steps) − 1, and the noise on S has variance 2·scale².
        spread = 2.0 * (2.0 * self.described.answer_scales[0] / (n * steps)) ** 2
        u = 2.0 * answer / (n * steps) - 1.0
        return LookAnswer(estimate_of_mean(self, u, noise_variance=spread, noise_law="laplace"))

    @property
    def _unit(self) -> float:
        """One grid step of the summed losses, in the metric's unit."""
        return 2.0 * self.conditions.half_range / (self.conditions.grid.steps * float(self.conditions.n or 1))

    def _agreeing(self, training: float) -> Estimate:
        low, high = self.conditions.grid.as_bounds()
        scale = self.described.threshold_scale * self._unit + self.described.question_scale * self._unit
        worst = self.conditions.half_range / math.sqrt(self.conditions.n or 1)
        ends = partial(_near_training_score, training, self.threshold, scale, worst, low, high)
        return Estimate(
            statistic="score",
            column=None,
            cell={},
            estimate=training,
            sampling_error=None,
            bootstrap_error=None,
            privacy_error=None,
            method=self.name,
            n_resamples=None,
            reliable=True,
            note=_AGREES,
            covers=COVERS,
            _region=ScoreRegion(LevelTest(ends, self.name, low, high)),
        )


def checked_training(training: object) -> float:
    """Return the training score as a finite number (HG176).

    >>> checked_training(0.93)
    0.93
    """
    number = as_float(training)
    if number is not None:
        return number
    raise ParameterError(
        "HG176",
        rule="`thresholdout` compares the test score with the training score.",
        finding="The training score was not given, or is not a finite number.",
        remedy="Give the same metric, computed on the training set: training_score=0.93.",
    )


def _near_training_score(
    training: float, threshold: float, scale: float, worst: float, low: float, high: float, level: float
) -> tuple[float, float]:
    """Return the interval that the answer "no" gives: |training − test| < threshold + ρ − ν, Laplace ρ and ν.

    `scale` is the sum of their scales. Half of the error goes to sampling, at its largest `worst`, the other half to ρ
    and ν, a quarter each: P(ρ > b·ln(2/α)) is α/4.
    """
    alpha = 1.0 - level
    noise = scale * math.log(2.0 / alpha)
    half = threshold + noise + normal_quantile(1.0 - alpha / 2.0) * worst
    return max(training - half, low), min(training + half, high)
