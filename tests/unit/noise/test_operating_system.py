"""The samplers of OpenDP, which draw small samples from the entropy of the operating system, have the laws named."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from hedgerow.noise.secure import SecureNoise

pytestmark = pytest.mark.entropy  # a law that is right fails once in 10⁶ runs
DRAWS, CALLS = 400, 5


def chance_of(drawn: np.ndarray, chances: np.ndarray) -> float:
    """Return the p-value of Pearson's test of integers against the chances of −r..r, all others together."""
    reach = len(chances) // 2
    counts = np.bincount(np.clip(drawn, -reach - 1, reach + 1) + reach + 1, minlength=2 * reach + 3)
    rest = 1.0 - chances.sum()
    expected = np.array([*chances, rest]) * len(drawn)
    return float(stats.chisquare([*counts[1:-1], counts[0] + counts[-1]], expected).pvalue)


def gaussian(width: float, reach: int) -> np.ndarray:
    z = np.arange(-40, 41)
    mass = np.exp(-(z**2) / (2.0 * width**2))
    return (mass / mass.sum())[40 - reach : 41 + reach]


def geometric(scale: float, reach: int) -> np.ndarray:
    z = np.arange(-reach, reach + 1)
    return np.asarray(math.tanh(0.5 / scale) * np.exp(-np.abs(z) / scale))


def test_small_samples_have_their_law_and_no_other() -> None:
    noise = SecureNoise()
    normal = np.concatenate([noise.discrete_gaussian(3.0, DRAWS) for _ in range(CALLS)])
    two_sided = np.concatenate([noise.two_sided_geometric(3.0, DRAWS) for _ in range(CALLS)])
    assert chance_of(normal, gaussian(3.0, 7)) > 1e-6 and chance_of(two_sided, geometric(3.0, 9)) > 1e-6
    assert chance_of(normal, gaussian(2.1, 7)) < 1e-12 and chance_of(two_sided, geometric(2.1, 9)) < 1e-12
    assert noise.discrete_gaussian(3.0, 0).size == 0
