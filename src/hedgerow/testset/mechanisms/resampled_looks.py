"""`resample`: the score of ⌈n/Z⌉ records drawn with replacement, as Mount & Zumel published it. Asked for by name only.

It protects a record only by not drawing it. Drawn records are used without noise, so the certificate is (0, δ) with
δ = 1 − (1 − 1/n)^⌈n/Z⌉, about 1/Z, and no ε holds for a smaller δ (docs/methods/testset.md). Looks add up to 1 − (1 −
1/n)^(looks·m).

`smoothed_resample`: draws from the outcomes and as many made-up ones, for losses of 0 and 1; pure ε, and composable.

With a made-up successes and a made-up failures one record moves the chance of success of a draw between
(s + a)/(n + 2a) and (s + 1 + a)/(n + 2a), so m draws are m·ln((a + 1)/a)-private (docs/methods/testset.md). At δ > 0
the draws of all looks are composed. Then the error falls as the made-up outcomes and the draws become more, to that of
Gaussian noise times √(1 + n/2a). So a is taken large: the noise of counting draws protects a record.

`resample_gaussian`: a Poisson resample of size n/Z about the public midpoint, plus discrete Gaussian noise.

What makes the resample of Mount & Zumel sound (docs/methods/testset.md): every record is drawn r ~ Poisson(1/Z) times
on its own, losses are centred at the midpoint of their bounds, noise is added, and the PUBLIC n/Z divides. It is priced
as one replicate of the private bootstrap at rate 1/Z. The resample adds almost no privacy to that of the noise, and has
an error of its own, at most R/2·√(Z/n).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from hedgerow.errors import UncertifiedError
from hedgerow.inference.score_test import Quadratic
from hedgerow.mechanisms.interface import AtomicMechanism
from hedgerow.mechanisms.randomised_records import Resample, SmoothedResample, drawn_losses
from hedgerow.mechanisms.resampled_sums import ResampledCoordinate, ResampledGaussian
from hedgerow.noise.lattice import NoiseSource, lattice_noise
from hedgerow.release.designs.design import END_PAIR
from hedgerow.testset.mechanisms.look_mechanism import (
    Conditions,
    DrawnLook,
    LookAnswer,
    LookMechanism,
    Options,
    Question,
    estimate_of_mean,
    fit,
    replace_one_only,
    two_sided,
)


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
                rule="A resample without other noise is (0, δ)-private, and has no ε for a smaller δ.",
                finding=f"{conditions.n_looks:,} looks of {described.draws:,} draws from {n:,} cost "
                f"delta={math.ceil(needed * 1e4) / 1e4:.4g}; {conditions.budget.delta:g} was declared.",
                remedy="Use mechanism='gaussian', or declare this delta if you know its meaning.",
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

    def draw(self, question: Question, noise: NoiseSource) -> DrawnLook:
        """Draw records, and add up their losses, in grid steps."""
        return DrawnLook((float(drawn_losses(question.histogram, self.described.draws, noise.generator())[0]),))

    def restated(self) -> AtomicMechanism:
        """Return the description with the number of records."""
        return replace(self.described, n=replace_one_only(self.name, self.conditions))

    def read(self, drawn: DrawnLook) -> LookAnswer:
        """Average the losses of the records that were drawn."""
        draws, steps, (total,) = self.described.draws, self.conditions.grid.steps, drawn.numbers
        spread = Quadratic(constant=1.0 / draws, square=-1.0 / draws)
        return LookAnswer(estimate_of_mean(self, 2.0 * total / (draws * steps) - 1.0, resampling=spread))


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
                rule="`smoothed_resample` serves losses of 0 and 1 only, because it adds made-up losses.",
                finding="The metric of this test set has other losses.",
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

    def draw(self, question: Question, noise: NoiseSource) -> DrawnLook:
        """Draw outcomes, and count successes."""
        successes = int(question.histogram.count[question.histogram.index == 1].sum())
        return DrawnLook((float(self.described.successes(successes, noise.generator())[0]),))

    def restated(self) -> AtomicMechanism:
        """Return the description with the number of records, whose losses are 0 or 1."""
        if not self.conditions.binary:
            raise TypeError("losses")
        return replace(self.described, n=replace_one_only(self.name, self.conditions))

    def read(self, drawn: DrawnLook) -> LookAnswer:
        """Take the made-up outcomes out."""
        draws, (won,) = self.described.draws, drawn.numbers
        u = (2.0 * won / draws - 1.0) * self._stretch
        resampling = Quadratic(constant=self._stretch**2 / draws, square=-1.0 / draws)
        return LookAnswer(estimate_of_mean(self, u, resampling=resampling))

    @property
    def _stretch(self) -> float:
        return 1.0 + 2.0 * self.described.fake / self.described.n


@dataclass(frozen=True, slots=True)
class ResampleGaussianLook(LookMechanism):
    """Poisson(1/Z) weights, the sum about the midpoint, discrete Gaussian noise."""

    described: ResampledGaussian
    name: ClassVar[str] = "resample_gaussian"
    describes: ClassVar[tuple[str, ...]] = ("resampled-gaussian",)
    assumes: ClassVar[tuple[str, ...]] = (END_PAIR,)

    @classmethod
    def fitted(cls, conditions: Conditions, options: Options, *, checked: bool = True) -> Self:
        """Return the mechanism of least noise at rate 1/Z.

        Raises
        ------
        UncertifiedError
            HG431 under add-remove or at δ = 0; HG403 where Z lies outside [0.2, 10].
        """
        replace_one_only("resample_gaussian", conditions)
        if conditions.budget.delta == 0.0:
            raise UncertifiedError(
                "HG431",
                rule="A resample with Gaussian noise has no pure ε.",
                finding="Found delta=0.",
                remedy="Use mechanism='laplace', or declare a delta.",
            )
        reach, rate = conditions.grid.steps, 1.0 / options.thinning

        def build(mu: float) -> ResampledGaussian:
            coordinate = ResampledCoordinate(reach, lattice_noise(2.0 * reach * rate / mu))
            return ResampledGaussian(1, rate, "value", (coordinate,), "public", 1)

        return cls.of(conditions, fit(build, conditions, checked=checked), options)

    def expected_error(self) -> float | None:
        """Return R/2·√(Z/n + (Z·sd/n)²) at its largest: resampling and noise."""
        n = self.conditions.n or 1
        return self.conditions.half_range * math.sqrt(1.0 / (self.described.rate * n) + self._noise_variance(n))

    def information(self, looks: int) -> float:
        """Return n·looks·(λ + λ²)·reach²/(2σ²): how often a record is drawn does not depend on it."""
        (coordinate,) = self.described.coordinates
        rate, signal = self.described.rate, (coordinate.reach / coordinate.noise.in_units) ** 2
        return (self.conditions.n or 1) * looks * (rate + rate**2) * signal / 2.0

    def spread(self, beta: float, *, paid: bool = True) -> float:
        """Return Bernstein's bound for the resample and the normal quantile for the noise, `beta` in halves."""
        drawn = self.described.rate * (self.conditions.n or 1)
        log = math.log(4.0 / beta)
        noise = 1.001 * two_sided(beta / 2.0) * math.sqrt(self._noise_variance(self.conditions.n or 1))
        return ((math.sqrt(2.0 * drawn * log) + log / 3.0) / drawn + noise) / 2.0

    def draw(self, question: Question, noise: NoiseSource) -> DrawnLook:
        """Resample, and add noise."""
        reach = self.conditions.grid.steps
        about = (2 * question.histogram.index - reach)[:, None]
        table = self.described.noisy(question.histogram, about, noise, cells=({},), names=("total",))
        return DrawnLook((float(np.ravel(table.values)[0]) / reach,))

    def restated(self) -> AtomicMechanism:
        """Return the description of one sum of the losses."""
        (coordinate,) = self.described.coordinates
        coordinate = replace(coordinate, reach=self.conditions.grid.steps)
        return ResampledGaussian(1, self.described.rate, "value", (coordinate,), "public", 1)

    def read(self, drawn: DrawnLook) -> LookAnswer:
        """Divide by n/Z."""
        n, rate, (total,) = float(self.conditions.n or 1), self.described.rate, drawn.numbers
        u = total / (rate * n)
        # Var Σ r u = λ Σ u² ≤ λ n, and exactly that where every u is ±1.
        resampling = Quadratic(constant=1.0 / (rate * n))
        variance = self._noise_variance(n)
        return LookAnswer(estimate_of_mean(self, u, resampling=resampling, noise_variance=variance))

    def _noise_variance(self, n: float) -> float:
        (coordinate,) = self.described.coordinates
        return (coordinate.noise.in_units / (self.described.rate * n * coordinate.reach)) ** 2
