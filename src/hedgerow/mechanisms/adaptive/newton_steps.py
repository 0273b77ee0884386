"""Noisy Newton steps of a logistic regression: each releases gradient and curvature at coefficients that are public.

At public coefficients β a record with features x and outcome y adds (y − μ(x'β))·x to the gradient and
μ(1 − μ)·x_i x_j, i ≤ j, to the curvature, each product rounded to a whole multiple of 2⁻³⁰ BEFORE anything is added up:
sums are exact integers, whatever the order of records. One vector of both plus discrete Gaussian noise is released, and
β' for the next step is computed from it. Releases are public, so steps compose as adaptive Gaussians and their μ² add
up (Avella-Medina, Bradshaw & Loh 2023).

How wide the noise is depends on β: `newton_bound.step_cost` bounds how far one record moves a step, K = sup of
|gradient moved|² + ω²·|curvature moved|². Rounding moves each of the P + P(P + 1)/2 numbers by at most one unit more.
With noise of width w on the gradient and w/ω on the curvature a step costs at most (√K + 2⁻³⁰ √(P + ω² P(P + 1)/2))/w,
and w is chosen for this to be the step's μ. So the price is known before anything is read, whatever β turn out to be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.lower import Attained
from hedgerow.accounting.terms import ROUND_UP
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.adaptive.logistic import logistic
from hedgerow.mechanisms.adaptive.newton_bound import step_cost
from hedgerow.mechanisms.description import Floats, Neighbours, Record, Specimen
from hedgerow.mechanisms.laws import GAUSSIAN, Additive
from hedgerow.noise.lattice import LatticeNoise, lattice_noise, on_lattice, require_positive
from hedgerow.noise.source import NoiseSource
from hedgerow.resampling.histogram import Histogram

Integers = NDArray[np.int64]
UNIT = 2.0**-30
"""What a record adds is a whole multiple of it."""
MOST_FEATURES = 50
_ROUNDED = 1.0 + 1e-6  # two roundings by half a unit, and the last digits of what is rounded
_AT_ONCE = 2**21


@dataclass(frozen=True, slots=True)
class StepNoise:
    """The noise of one step, in units of 2⁻³⁰: on each number of the gradient and of the curvature."""

    gradient: LatticeNoise
    curvature: LatticeNoise


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedStep:
    """What a step made public: the noisy gradient and curvature (upper triangle, by rows), and their noise.

    Numbers and standard deviations are in the units of the features, counts of records times products of them.
    """

    gradient: Floats
    curvature: Floats
    gradient_sd: float
    curvature_sd: float


@dataclass(frozen=True, slots=True)
class NewtonSteps(Additive):
    """T steps of (gradient, curvature) of a logistic regression, discrete Gaussian noise: μ² = Σ μ_t².

    Attributes
    ----------
    ranges : tuple of (float, float)
        The least and the largest value of each feature, within [−1, 1]; that of a constant is one number twice.
    precisions : tuple of float
        μ_t of each step; fewer steps may be run, the price is that of all.
    curvature : float
        ω²: how much more precise than the gradient the curvature is, as a ratio of variances.
    relation : "replace-one" or "add-remove"
        For which the noise is chosen; no other is certified.

    Examples
    --------
    >>> steps = NewtonSteps(((1.0, 1.0), (-1.0, 1.0)), (0.3, 0.4), 1.0, "add-remove")
    >>> steps.mu(Relation.ADD_REMOVE)
    0.5
    >>> round(steps.noise(0, (0.0, 0.0)).gradient.in_units * UNIT, 4)
    2.7639
    """

    ranges: tuple[tuple[float, float], ...]
    precisions: tuple[float, ...]
    curvature: float
    relation: Literal["replace-one", "add-remove"]
    type: Literal["newton-steps"] = "newton-steps"

    def __post_init__(self) -> None:
        require_positive(curvature=self.curvature, **{f"precision {t}": mu for t, mu in enumerate(self.precisions)})
        inside = all(-1.0 <= low <= high <= 1.0 for low, high in self.ranges)
        if not (inside and 1 <= len(self.ranges) <= MOST_FEATURES and self.precisions):
            raise ParameterError(
                "HG406",
                rule=f"Newton steps have 1 to {MOST_FEATURES} features within [−1, 1], and at least one step.",
                finding=f"Found {len(self.ranges)} features and {len(self.precisions)} steps.",
            )

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return one step of a constant and two features, at μ = 1."""
        step = cls(((1.0, 1.0), (-1.0, 1.0), (0.0, 1.0)), (1.0,), 1.0, "add-remove")
        return (Specimen("Newton step", step, Relation.ADD_REMOVE, 1e-3, released=False),)

    @property
    def widest(self) -> float:
        """More than twice the widest noise that a step can need, whatever β turn out to be, in units of 2⁻³⁰."""
        # Two records differ by 2 at most in a number of the gradient, by ½ in one of the curvature.
        size = len(self.ranges)
        most = 4.0 * size + 0.25 * self.curvature * size * (size + 1) / 2.0
        return 2.1 * math.sqrt(most) / UNIT / min(self.precisions) / min(1.0, math.sqrt(self.curvature))

    def mu(self, relation: Relation) -> float:
        """Return √(Σ μ_t²).

        Raises
        ------
        UncertifiedError
            HG401: the noise was chosen for the other relation.
        """
        if str(relation) != self.relation:
            raise UncertifiedError(
                "HG401",
                rule="The noise of Newton steps is certified for the relation it was chosen for.",
                finding=f"It was chosen for {self.relation}.",
            )
        return math.sqrt(sum(mu**2 for mu in self.precisions))

    def noise(self, step: int, beta: Sequence[float]) -> StepNoise:
        """Return the noise of a step that is taken at these coefficients.

        Raises
        ------
        ParameterError
            HG107: 64-bit integers could not carry it.
        """
        at = tuple(float(b) for b in beta)
        numbers = len(self.ranges) + self.curvature * len(self.ranges) * (len(self.ranges) + 1) / 2.0
        cost = step_cost(at, self.ranges, self.curvature, Relation(self.relation))
        width = (math.sqrt(cost) / UNIT + math.sqrt(numbers) * _ROUNDED) / self.precisions[step] * ROUND_UP
        return StepNoise(lattice_noise(width), lattice_noise(width / math.sqrt(self.curvature) * ROUND_UP))

    def added(self, features: Floats, outcome: Integers, beta: Sequence[float]) -> Integers:
        """Return what each record adds to gradient and curvature, in units of 2⁻³⁰: (records, P + P(P + 1)/2).

        Features are clipped to their ranges. Only operations that are rounded element by element are used, so that a
        row depends on its record alone.
        """
        low, high = np.array(self.ranges, dtype=np.float64).T
        x = np.clip(features, low, high)
        eta = np.zeros(len(x))
        for k, b in enumerate(beta):
            eta = eta + x[:, k] * float(b)
        mu, less = logistic(eta)
        residual, slope = np.where(outcome > 0, less, -mu), mu * less
        i, j = np.triu_indices(x.shape[1])
        moved = np.concatenate([x * residual[:, None], x[:, i] * x[:, j] * slope[:, None]], axis=1)
        return np.rint(moved / UNIT).astype(np.int64)

    def sums(self, features: Floats, outcome: Integers, count: Integers, beta: Sequence[float]) -> Integers:
        """Return the exact sums over records, each of which stands for `count` alike, in units of 2⁻³⁰."""
        width = len(self.ranges)
        total = np.zeros(width + width * (width + 1) // 2, dtype=np.int64)
        for some in _batches(len(count), max(1, _AT_ONCE // len(total))):
            total += count[some] @ self.added(features[some], outcome[some], beta)
        return total

    def noisy(self, sums: Integers, step: int, beta: Sequence[float], source: NoiseSource) -> Floats:
        """Return exact sums, (…, numbers), plus noise, in units of 2⁻³⁰: from here on public."""
        own, split = self.noise(step, beta), len(self.ranges)
        parts = []
        for exact, noise in ((sums[..., :split], own.gradient), (sums[..., split:], own.curvature)):
            drawn = GAUSSIAN.draw(source, float(noise.width), exact.size).reshape(exact.shape)
            parts.append(on_lattice(np.ascontiguousarray(exact), drawn, noise.bits))
        return np.concatenate(parts, axis=-1)

    def released(self, noisy: Floats, step: int, beta: Sequence[float]) -> ReleasedStep:
        """Return the noisy numbers of a step in the units of the features, with the noise that they hold."""
        own, split = self.noise(step, beta), len(self.ranges)
        sds = own.gradient.in_units * UNIT, own.curvature.in_units * UNIT
        return ReleasedStep(noisy[:split] * UNIT, noisy[split:] * UNIT, *sds)

    def attained(self, relation: Relation) -> Attained:
        """Return the worst pair of the first step, at β = 0: at the others β follows from noise."""
        found = Additive.attained(replace(self, precisions=self.precisions[:1]), relation)
        return Attained(found.pairs, "Only the first Newton step is taken at coefficients that are known before it.")

    # What an audit attacks: steps that are all taken at β = 0, where every coefficient starts.

    @property
    def _start(self) -> tuple[float, ...]:
        return (0.0,) * len(self.ranges)

    def _corner(self, index: int) -> tuple[Floats, Integers]:
        """Return the features and the outcome of a code: its last bit is y, the others tell which ends."""
        ends = [pair[index >> (1 + k) & 1] for k, pair in enumerate(self.ranges)]
        return np.array([ends]), np.array([index & 1])

    def worst_pairs(self, relation: Relation) -> tuple[Neighbours, ...]:
        """Return the records at corners of the box that differ most; under add-remove the one that adds most.

        Of many features, only corners with the same end in all but one are compared.
        """
        self.mu(relation)
        size = len(self.ranges)
        ends = range(2**size) if size <= 6 else sorted({0, 2**size - 1, *(1 << k for k in range(size))})
        codes = [2 * end + y for end in ends for y in (0, 1)]
        moved = np.array([self.contribution(Record(0, code))[0] for code in codes])
        scaled = moved / self.contribution(Record(0, 0))[1]
        if relation is Relation.ADD_REMOVE:
            largest = codes[int((scaled**2).sum(axis=1).argmax())]
            return (Neighbours("one-sided", Record(0, largest), None, 1),)
        apart = ((scaled[:, None] - scaled[None]) ** 2).sum(axis=2)
        first, second = np.unravel_index(int(apart.argmax()), apart.shape)
        return (Neighbours("two corners", Record(0, codes[int(first)]), Record(0, codes[int(second)]), 1),)

    def outputs(self, data: Histogram, n: int, noise: NoiseSource) -> Floats:
        """Return `n` outputs of all steps, (n, 1, numbers), drawn by the function that a fit calls."""
        size = len(self.ranges)
        exact = np.zeros(size + size * (size + 1) // 2, dtype=np.int64)
        for index, count in zip(data.index, data.count, strict=True):
            exact += self.sums(*self._corner(int(index)), np.array([count]), self._start)
        alike = np.broadcast_to(exact, (n, len(exact)))
        drawn = [self.noisy(alike, step, self._start, noise) for step in range(len(self.precisions))]
        return np.concatenate(drawn, axis=1)[:, None, :]

    def contribution(self, record: Record) -> tuple[Floats, Floats]:
        """Return what a record adds to the numbers of all steps, and the widths of the noise there."""
        moved = self.added(*self._corner(record.index), self._start)[0].astype(np.float64)
        widths = []
        for step in range(len(self.precisions)):
            own, split = self.noise(step, self._start), len(self.ranges)
            widths += [own.gradient.in_units] * split + [own.curvature.in_units] * (len(moved) - split)
        return np.tile(moved, len(self.precisions)), np.array(widths)

    @property
    def size(self) -> int:
        """Roughly how many times three numbers there are."""
        return 1 + len(self.bits) // 3

    @property
    def bits(self) -> tuple[int, ...]:
        """The lattice of each number, of steps that are all taken at β = 0."""
        size, found = len(self.ranges), []
        for step in range(len(self.precisions)):
            own = self.noise(step, self._start)
            found += [own.gradient.bits] * size + [own.curvature.bits] * (size * (size + 1) // 2)
        return tuple(found)


def _batches(total: int, size: int) -> Iterator[slice]:
    for start in range(0, total, size):
        yield slice(start, start + size)
