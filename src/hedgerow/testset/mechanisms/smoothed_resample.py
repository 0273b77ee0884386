"""`smoothed_resample`: draws from the outcomes and as many made-up ones, for losses of 0 and 1; pure ε, and composable.

With a made-up successes and a made-up failures one record moves the chance of success of a draw between
(s + a)/(n + 2a) and (s + 1 + a)/(n + 2a), so m draws are m·ln((a + 1)/a)-private (docs/methods/testset.md). At δ > 0
the draws of all looks are composed. Then the error falls as the made-up outcomes and the draws become more, to that of
Gaussian noise times √(1 + n/2a). So a is taken large: the noise of counting draws protects a record.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from hedgerow.errors import UncertifiedError
from hedgerow.inference.score import Quadratic
from hedgerow.mechanisms.mechanism import Single, SmoothedResample
from hedgerow.noise.source import NoiseSource
from hedgerow.testset.mechanisms.fit import fit
from hedgerow.testset.mechanisms.mechanism import (
    Answer,
    Conditions,
    Drawn,
    LookMechanism,
    Options,
    Question,
    replace_one_only,
)
from hedgerow.testset.mechanisms.reading import estimate_of_mean

_MADE_UP = 5.0  # a/n: there the error is 1.05 times its limit
_MOST_DRAWS = 2**20  # a million draws take 10 ms


@dataclass(frozen=True, slots=True)
class SmoothedResampleLook(LookMechanism):
    """Successes among draws from n outcomes and 2a made-up ones."""

    described: SmoothedResample
    name: ClassVar[str] = "smoothed_resample"
    describes: ClassVar[tuple[str, ...]] = ("smoothed-resample",)

    @classmethod
    def fitted(cls, conditions: Conditions, options: Options, *, checked: bool = True) -> Self:
        """Return the draws and made-up outcomes of least error.

        Raises
        ------
        UncertifiedError
            HG431: a loss that is not 0 or 1, or add-remove.
        """
        n = replace_one_only("smoothed_resample", conditions)
        if not conditions.binary:
            raise UncertifiedError(
                "HG431",
                rule="`smoothed_resample` is for losses of 0 and 1, of which made-up ones can be added.",
                finding="This metric has others.",
                remedy="Use mechanism='gaussian' or 'laplace'.",
            )

        def pure(epsilon: float) -> SmoothedResample:
            # At δ = 0, m = n·ε₁/2 draws have the least error at ε₁; then as many made-up outcomes as ε₁ asks for.
            draws = min(max(1, round(n * epsilon / 2.0)), _MOST_DRAWS)
            return SmoothedResample(n, math.ceil(1.0 / math.expm1(epsilon / draws)), draws)

        def composed(mu: float) -> SmoothedResample:
            # At δ > 0 a draw's loss has variance 2/(a(n + 2a)): m = μ²a(n + 2a)/2 draws make a look about μ.
            draws = min(max(1, round(mu**2 * _MADE_UP * n * (n + 2 * _MADE_UP * n) / 2.0)), _MOST_DRAWS)
            fake = (-n + math.sqrt(n * n + 16.0 * draws / mu**2)) / 4.0
            return SmoothedResample(n, max(1, math.ceil(fake)), draws)

        build = pure if conditions.budget.delta == 0.0 else composed
        return cls.of(conditions, fit(build, conditions, checked=checked), options)

    def expected_error(self) -> float | None:
        """Return (1 + 2a/n)/(2√m), at its largest."""
        return 0.5 * self._stretch / math.sqrt(self.described.draws)

    def information(self, looks: int) -> float:
        """Return n·looks·m·ε²/8, ε = ln((a + 1)/a) that of one draw."""
        described = self.described
        return described.n * looks * described.draws * math.log1p(1.0 / described.fake) ** 2 / 8.0

    def spread(self, beta: float, *, paid: bool = True) -> float:
        """Return Hoeffding's bound for the mean of the draws."""
        return self._stretch * math.sqrt(math.log(2.0 / beta) / (2.0 * self.described.draws))

    def draw(self, question: Question, noise: NoiseSource) -> Drawn:
        """Draw outcomes, and count successes."""
        successes = int(question.histogram.count[question.histogram.index == 1].sum())
        return Drawn((float(self.described.successes(successes, noise.generator())[0]),))

    def restated(self) -> Single:
        """Return the description with the number of records, whose losses are 0 or 1."""
        if not self.conditions.binary:
            raise TypeError("losses")
        return replace(self.described, n=replace_one_only(self.name, self.conditions))

    def read(self, drawn: Drawn) -> Answer:
        """Take the made-up outcomes out."""
        draws, (won,) = self.described.draws, drawn.numbers
        u = (2.0 * won / draws - 1.0) * self._stretch
        resampling = Quadratic(constant=self._stretch**2 / draws, square=-1.0 / draws)
        return Answer(estimate_of_mean(self, u, resampling=resampling))

    @property
    def _stretch(self) -> float:
        return 1.0 + 2.0 * self.described.fake / self.described.n
