"""Figure 1 and eq. 2–5: two Laplace densities, for neighbours one sensitivity apart, at ε = 1.

Expected: the ratio of the densities is at most e^ε everywhere (eq. 5), and e^ε is reached outside the two centres. The
outcome z = 1.3 of the caption lies between e^−ε and e^ε. Tolerance 1e-9, that of doubles.
"""

from __future__ import annotations

import math

import numpy as np

from hedgerow.testing.simulated import SimulatedNoise

from ..drawing import BLUE, INK, ORANGE, Drawing
from ..exhibit import Exhibit, Line

__all__ = ["exhibit"]

EPSILON, SENSITIVITY, Z, LATTICE, DRAWS = 1.0, 1.0, 1.3, 1000, 400_000


def log_density(x: np.ndarray, centre: float) -> np.ndarray:
    """Return the logarithm of eq. 2 with b = Δ/ε (eq. 3)."""
    scale = SENSITIVITY / EPSILON
    return np.asarray(-np.abs(x - centre) / scale - math.log(2.0 * scale))


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; `share` of the draws of what is simulated."""
    x = np.linspace(-6.0, 7.0, 2601)
    ratio = log_density(x, 0.0) - log_density(x, SENSITIVITY)
    largest = float(np.abs(ratio).max())
    at = float(log_density(np.array([Z]), 0.0)[0] - log_density(np.array([Z]), SENSITIVITY)[0])
    # The released noise is this law on a lattice: of its drawn integers as many lie beyond z as eq. 2 says.
    draws = max(10_000, int(DRAWS * share))
    drawn = SimulatedNoise(5).two_sided_geometric(LATTICE * SENSITIVITY / EPSILON, draws) / LATTICE
    beyond, exact = float((drawn > Z).mean()), 0.5 * math.exp(-Z * EPSILON / SENSITIVITY)
    error = math.sqrt(exact * (1.0 - exact) / draws)
    lines = (
        Line("eq. 5: largest |log ratio| of the densities", f"at most ε = {EPSILON:g}", f"{largest:.9f}",
             "reproduced" if largest <= EPSILON + 1e-9 else "refuted"),
        Line("log ratio at z = 1.3", "no more than ε either way", f"{at:.3f}",
             "reproduced" if abs(at) <= EPSILON + 1e-9 else "refuted"),
        Line("share of our lattice noise beyond z = 1.3", f"{100 * exact:.2f} % (ours)",
             f"{100 * beyond:.2f} % ± {100 * error:.2f}",
             "as expected" if abs(beyond - exact) <= 4 * error else "not as expected"),
    )  # fmt: skip
    drawing = Drawing.of("figure-1", height=2.5)
    (ax,) = drawing.panels
    ax.plot(x, np.exp(log_density(x, 0.0)), color=BLUE, label="X")
    ax.plot(x, np.exp(log_density(x, SENSITIVITY)), color=ORANGE, ls="--", label="X′")
    ax.axvline(Z, color=INK, lw=1, ls=":", label="z = 1.3")
    ax.set(xlabel="released value, in sensitivities", ylabel="density")
    return Exhibit(
        "figure-1",
        "Figure 1: two Laplace densities of neighbours (ε = 1)",
        lines,
        "None: eq. 5 is the triangle inequality.",
        drawing.finished(),
        "Two peaks one sensitivity apart; left of both and right of both their ratio is e, between them less.",
    )
