"""§2.1: two published means differ by one pupil, and give her score away (footnote 1).

Expected: x = N₊·x̄₊ − N·x̄ is her score exactly, for every class. Ours: where each mean is released privately at ρ = ½, a
replaced score being the unit, the same subtraction errs by √(N² + N₊²)·(R/N)·1/√(2ρ), about √2·R, the whole range of a
score and more; within 4 standard errors over 20,000 simulated pairs.
"""

from __future__ import annotations

import math

import numpy as np

from hedgerow.testing.published import brawner_honaker_noise_sd

from ..drawing import INK, ORANGE, Drawing
from ..exhibit import Exhibit, Line, within

__all__ = ["exhibit"]

BEFORE, RANGE, ALICE, RHO, RUNS = 30, 100.0, 83.0, 0.5, 20_000


def backed_out(means: np.ndarray, *, before: int = BEFORE) -> np.ndarray:
    """Return Alice's score from the means (…, before and after) of a class that she joins."""
    return np.asarray((before + 1) * means[..., 1] - before * means[..., 0])


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; `share` of the full number of runs."""
    runs = max(1000, int(RUNS * share))
    rng = np.random.default_rng(21)
    scores = rng.integers(20, 101, (runs, BEFORE)).astype(float)
    exact = np.stack([scores.mean(axis=1), (scores.sum(axis=1) + ALICE) / (BEFORE + 1)], axis=1)
    largest = float(np.abs(backed_out(exact) - ALICE).max())
    sds = [brawner_honaker_noise_sd(RHO, n_resamples=1, sensitivity=RANGE / n) for n in (BEFORE, BEFORE + 1)]
    found = backed_out(exact + rng.normal(0.0, sds, exact.shape))
    expected = math.hypot(BEFORE * sds[0], (BEFORE + 1) * sds[1])
    lines = (
        Line("footnote 1: largest error over all classes, points", "exactly", f"{largest:.1e}",
             "reproduced" if largest < 1e-9 else "refuted"),
        Line("the same of two means released at ρ = ½ each: sd of the error, points", f"{expected:.1f} (ours)",
             f"{found.std():.1f}", within(float(found.std()), expected, 4 * expected / math.sqrt(2 * runs), own=True)),
    )  # fmt: skip
    drawing = Drawing.of("section-2", height=2.3)
    (ax,) = drawing.panels
    ax.hist(found, bins=np.linspace(-400, 566, 70), density=True, histtype="step", color=ORANGE, label="private means")
    ax.axvline(ALICE, color=INK, lw=1.4, label="exact means: her score")
    ax.set(xlabel="Alice's score, as two means give it", ylabel="density")
    return Exhibit(
        "section-2",
        "Section 2.1: the score of a pupil who joins a class",
        lines,
        "Arithmetic. Each private mean is off by a few points, and the subtraction multiplies that by the size of the "
        "class.",
        drawing.finished(),
        "With exact means every class gives the same bar at 83; with private ones the results spread over more than "
        "the range of a score.",
    )
