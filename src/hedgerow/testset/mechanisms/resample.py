"""`resample`: the score of ⌈n/Z⌉ records drawn with replacement, as Mount & Zumel published it. Asked for by name only.

It protects a record only by not drawing it. Drawn records are used without noise, so the certificate is (0, δ) with
δ = 1 − (1 − 1/n)^⌈n/Z⌉, about 1/Z, and no ε holds for a smaller δ (docs/methods/testset.md). Looks add up to 1 − (1 −
1/n)^(looks·m).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from hedgerow.errors import UncertifiedError
from hedgerow.inference.score import Quadratic
from hedgerow.mechanisms.mechanism import Resample, Single
from hedgerow.mechanisms.resamples.resample import drawn_losses
from hedgerow.noise.source import NoiseSource
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


@dataclass(frozen=True, slots=True)
class ResampleLook(LookMechanism):
    """⌈n/Z⌉ records with replacement, and no other noise."""

    described: Resample
    name: ClassVar[str] = "resample"
    describes: ClassVar[tuple[str, ...]] = ("resample",)
    by_name_only: ClassVar[str] = "by name only: (0, δ), no ε"

    @classmethod
    def fitted(cls, conditions: Conditions, options: Options, *, checked: bool = True) -> Self:
        """Return the resample of size ⌈n/Z⌉; only a larger Z lowers its price.

        Raises
        ------
        UncertifiedError
            HG431: δ is smaller than what all looks cost, or the relation is add-remove.
        """
        n = replace_one_only("resample", conditions)
        described = Resample(n, math.ceil(n / options.thinning))
        needed = Resample(n, described.draws * conditions.n_looks).chance
        if checked and needed > conditions.budget.delta:
            raise UncertifiedError(
                "HG431",
                rule="A resample without other noise is (0, δ)-private, with no ε for a smaller δ.",
                finding=f"{conditions.n_looks:,} looks of {described.draws:,} draws from {n:,} cost "
                f"delta={math.ceil(needed * 1e4) / 1e4:.4g}; {conditions.budget.delta:g} was declared.",
                remedy="Use mechanism='gaussian', or declare that delta if you know what it means.",
            )
        return cls(conditions, described)

    def expected_error(self) -> float | None:
        """Return √(p(1 − p)/m) at p = ½: what the resampling alone adds."""
        return self.conditions.half_range / math.sqrt(self.described.draws)

    def information(self, looks: int) -> float:
        """Return looks·ln(m·steps + 1): an answer is one of so many numbers."""
        return looks * math.log(self.described.draws * self.conditions.grid.steps + 1.0)

    def spread(self, beta: float, *, paid: bool = True) -> float:
        """Return Hoeffding's bound for the mean of the draws."""
        return math.sqrt(math.log(2.0 / beta) / (2.0 * self.described.draws))

    def note(self) -> str:
        """Return the δ of all looks."""
        needed = Resample(self.described.n, self.described.draws * self.conditions.n_looks).chance
        return f"all looks cost δ = {needed:.4g}"

    def draw(self, question: Question, noise: NoiseSource) -> Drawn:
        """Draw records, and add up their losses, in grid steps."""
        return Drawn((float(drawn_losses(question.histogram, self.described.draws, noise.generator())[0]),))

    def restated(self) -> Single:
        """Return the description with the number of records."""
        return replace(self.described, n=replace_one_only(self.name, self.conditions))

    def read(self, drawn: Drawn) -> Answer:
        """Average the losses of the records that were drawn."""
        draws, steps, (total,) = self.described.draws, self.conditions.grid.steps, drawn.numbers
        spread = Quadratic(constant=1.0 / draws, square=-1.0 / draws)
        return Answer(estimate_of_mean(self, 2.0 * total / (draws * steps) - 1.0, resampling=spread))
