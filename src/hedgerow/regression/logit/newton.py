r"""Noisy Newton steps: from what each step released to the next coefficients, and to the errors of the last.

Everything here is computed from released numbers alone, so it costs nothing and anybody can repeat it. With g and H the
noisy gradient and curvature at β, of noise σ and s a number, the next coefficients are β + d, d = H⁻¹g, from β = 0 on.
Where noise could make H singular, its eigenvalues are raised to s·√P; a step that would move some record's linear
predictor by more than 4 is shortened. Neither happens at a last step that is relied on.

==========  ==========================================================================================================
sampling    H⁻¹: that of a logistic model that holds
noise       H⁻¹(σ²I + M)H⁻¹, M = s²(|d|²I + dd' − diag d²): what the noise of H does to a last step d
noise of H  r = 2√‖H^−½ E[NH⁻¹N] H^−½‖, N the noise: a remark from ¼ on, nothing is relied on from 1 on
remainder   a Newton step leaves about half its relative size behind: ½·q·λ in standard errors, λ² = d'Hd, q the root
            mean square by which d moves the linear predictor. Above 0.4 of a standard error the steps have not
            converged: there were too few, or the outcome is separated
==========  ==========================================================================================================

(docs/methods/logit.md)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hedgerow.mechanisms.newton_steps import NewtonSteps, ReleasedStep

Floats = NDArray[np.float64]
Coefficients = tuple[float, ...]
REMARK, UNRELIABLE = 0.25, 1.0
"""Noise of the curvature relative to it, from which on a remark is made, and from which on nothing is relied on."""
CONVERGED = 0.4
"""The most that the last step may have left behind, in standard errors."""
USUAL_STEPS = 5
_LAST, _GROWTH = 0.65, 1.7
_FARTHEST = 4.0


def precisions(mu: float, steps: int) -> tuple[float, ...]:
    """Return μ_t of each step: the last one has 0.65 of μ², those before grow by 1.7 from one to the next.

    >>> [round(one**2, 3) for one in precisions(1.0, 5)]
    [0.033, 0.057, 0.096, 0.164, 0.65]
    """
    if steps == 1:
        return (mu,)
    before = _GROWTH ** np.arange(steps - 1)
    shares = [*((1.0 - _LAST) * before / before.sum()), _LAST]
    return tuple(float(mu * np.sqrt(share)) for share in shares)


@dataclass(frozen=True, eq=False)
class NewtonStep:
    """One step: where it was taken, what it released, and what follows."""

    beta: Coefficients
    numbers: Floats
    released: ReleasedStep
    reach: Floats

    @cached_property
    def curvature(self) -> Floats:
        """H, symmetric."""
        size = len(self.beta)
        matrix = np.zeros((size, size))
        matrix[np.triu_indices(size)] = self.released.curvature
        return matrix + np.triu(matrix, 1).T

    @cached_property
    def _eigen(self) -> tuple[Floats, Floats]:
        values, vectors = np.linalg.eigh(self.curvature)
        return values, vectors

    @cached_property
    def positive(self) -> bool:
        """Whether H is farther from singular than noise may move it."""
        return bool(self._eigen[0][0] > self._floor)

    @property
    def _floor(self) -> float:
        return max(self.released.curvature_sd * float(np.sqrt(len(self.beta))), 1e-300)

    @cached_property
    def inverse(self) -> Floats:
        """H⁻¹, eigenvalues below s·√P raised to it."""
        values, vectors = self._eigen
        return np.asarray(vectors / np.maximum(values, self._floor) @ vectors.T)

    @cached_property
    def whole(self) -> Floats:
        """The step d before it is shortened."""
        return np.asarray(self.inverse @ self.released.gradient)

    @cached_property
    def moved(self) -> Floats:
        """The step d."""
        farthest = float(np.abs(self.whole) @ self.reach)
        return self.whole * min(1.0, _FARTHEST / farthest) if farthest > 0.0 else self.whole

    @property
    def shortened(self) -> bool:
        """Whether d was."""
        return bool(np.abs(self.whole) @ self.reach > _FARTHEST)

    @property
    def after(self) -> Coefficients:
        """The coefficients after it."""
        return tuple((np.array(self.beta) + self.moved).tolist())

    @cached_property
    def sampling(self) -> Floats:
        """The sampling covariance of the coefficients after it."""
        return self.inverse

    @cached_property
    def noise(self) -> Floats:
        """The covariance that the noise of this step gives to the coefficients after it."""
        d, size = self.moved, len(self.beta)
        own = self.released.curvature_sd**2 * ((d @ d) * np.eye(size) + np.outer(d, d) - np.diag(d**2))
        return np.asarray(self.inverse @ (self.released.gradient_sd**2 * np.eye(size) + own) @ self.inverse)

    @cached_property
    def noise_ratio(self) -> float:
        """r: about the size of the noise in H relative to H."""
        if not self.positive:
            return float(np.inf)
        values, vectors = self._eigen
        root, inverse = vectors / np.sqrt(values) @ vectors.T, self.inverse
        spread = self.released.curvature_sd**2 * (
            np.trace(inverse) * np.eye(len(root)) + inverse - np.diag(np.diag(inverse))
        )
        return float(2.0 * np.sqrt(np.linalg.eigvalsh(root @ spread @ root)[-1]))

    @cached_property
    def remainder(self) -> float:
        """About how far the coefficients after it are from where steps would end, in standard errors."""
        square = max(float(self.whole @ self.curvature @ self.whole), 0.0)
        # Σμ(1 − μ)x² of the first feature, a constant where there is one: at most the sum of the weights by which
        # d'Hd is a mean square.
        weight = float(self.released.curvature[0])
        errors = float(np.trace((self.sampling + self.noise) @ self.curvature))
        if min(weight, errors) <= 0.0:
            return float(np.inf)
        return float(0.5 * square / np.sqrt(weight * errors))


@dataclass(frozen=True, eq=False)
class NewtonPath:
    """All steps that were run, in order; the last one is what is reported."""

    steps: tuple[NewtonStep, ...]

    @property
    def last(self) -> NewtonStep:
        """The last step."""
        return self.steps[-1]

    @property
    def beta(self) -> Floats:
        """The coefficients after it."""
        return np.array(self.last.after)

    @property
    def covariance(self) -> Floats:
        """Of the coefficients, sampling and noise."""
        return self.last.sampling + self.last.noise

    @property
    def converged(self) -> bool:
        """Whether what the last step left behind is small, and nothing had to be shortened there."""
        return self.last.remainder <= CONVERGED and not self.last.shortened

    @property
    def reliable(self) -> bool:
        """Whether the last step can be relied on: it converged, and noise does not hide the curvature."""
        return self.converged and self.last.positive and self.last.noise_ratio < UNRELIABLE

    @classmethod
    def run(cls, mechanism: NewtonSteps, numbers: Callable[[int, Coefficients], Floats]) -> NewtonPath:
        """Take all steps; `numbers` gives what a step released at its coefficients: drawn now, or on record."""
        reach = np.abs(np.array(mechanism.ranges)).max(axis=1)
        beta: Coefficients = (0.0,) * len(mechanism.ranges)
        steps: list[NewtonStep] = []
        for step in range(len(mechanism.precisions)):
            noisy = np.asarray(numbers(step, beta), dtype=np.float64)
            steps.append(NewtonStep(beta, noisy, mechanism.released(noisy, step, beta), reach))
            beta = steps[-1].after
        return cls(tuple(steps))

    @classmethod
    def replayed(cls, mechanism: NewtonSteps, recorded: Floats) -> NewtonPath:
        """Repeat the steps from the numbers on record."""
        return cls.run(mechanism, lambda step, beta: recorded[step])
