"""Released totals made to agree with public ones: generalised least squares.

The released numbers are x̂ = x + e, x the exact numbers of the file, and e noise with the covariance V. It is public
that A x = t. The best linear estimate that agrees is

    x̃ = x̂ − K(A x̂ − t),   K = V A'(A V A')⁺,   with the noise covariance V − K A V,

which is never larger than V. What is sampled is x, and x̃ − x is noise alone, so sampling errors stay as they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def reconciled(values: Floats, noise: Floats, forms: Floats, totals: Floats) -> tuple[Floats, Floats]:
    """Return the numbers that agree with the totals of linear forms, and the covariance of their noise.

    >>> numbers, noise = reconciled(np.array([4.0, 5.0]), np.eye(2), np.ones((1, 2)), np.array([10.0]))
    >>> numbers.tolist(), noise.tolist()
    ([4.5, 5.5], [[0.5, -0.5], [-0.5, 0.5]])
    """
    gain = noise @ forms.T @ np.linalg.pinv(forms @ noise @ forms.T, hermitian=True)
    left = noise - gain @ forms @ noise
    return values - gain @ (forms @ values - totals), (left + left.T) / 2.0
