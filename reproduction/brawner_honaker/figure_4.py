"""Figure 4: how often a record is drawn into a bootstrap of 1,000.

Expected, in the text: "about a third" are omitted, "a third" drawn once, "3 tenths of a percent" five times; eq. 17 has
the exact limit 1/e. Ours is exact, (21); a simulation of 10,000 resamples stands beside it. Tolerance: .035 on a third
(36.8 % is what the paper's own eq. 17 says), .0002 on five times, .001 between simulation and law.
"""

from __future__ import annotations

import math

import numpy as np

from hedgerow.testing.published import MultinomialBootstrap, multinomial_replicates

from ..drawing import BLUE, INK, Drawing
from ..exhibit import Exhibit, Line, within

N, MOST = 1000, 6
EXPECTED = {0: 1 / 3, 1: 1 / 3, 5: 0.003}
TOLERANCE = {0: 0.035, 1: 0.035, 5: 0.0002}


def exact() -> np.ndarray:
    """Return P(r = i), i = 0..6, of Binomial(1000, 1/1000)."""
    return np.array([math.comb(N, i) * (1 / N) ** i * (1 - 1 / N) ** (N - i) for i in range(MOST + 1)])


def simulated(resamples: int, seed: int = 4) -> np.ndarray:
    """Return the shares found for one record, read off a bootstrap of 999 zeros and a one without noise to speak of."""
    mechanism = MultinomialBootstrap(N, 0.0, 1.0, resamples, 1e-9)
    drawn = multinomial_replicates(mechanism, [0.0, 1.0], [N - 1, 1], rng=seed)[0]
    return np.bincount(np.rint(drawn * N).astype(int), minlength=MOST + 1)[: MOST + 1] / resamples


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; `share` of the full number of runs."""
    law, found = exact(), simulated(int(1_000_000 * share))
    words = {0: ("omitted", "about a third"), 1: ("drawn once", "a third"), 5: ("drawn five times", "0.3 %")}
    lines = [
        Line(what, printed, f"{100 * law[i]:.2f} %", within(law[i], EXPECTED[i], TOLERANCE[i]))
        for i, (what, printed) in words.items()
    ]
    lines.append(Line("omitted, in the limit (eq. 17)", "1/e = 36.79 %", f"{100 * law[0]:.2f} %", within(
        law[0], math.exp(-1), 0.0005)))  # fmt: skip
    drawing = Drawing.of("figure-4", height=2.5)
    (ax,) = drawing.panels
    ax.bar(range(MOST + 1), law, color=BLUE, width=0.7, label="Binomial(1000, 1/1000), exact")
    ax.plot(range(MOST + 1), found, "o", mfc="none", color=INK, label="simulated")
    ax.set(xlabel="times that a record is drawn", ylabel="probability")
    ax.grid(axis="x", visible=False)
    return Exhibit(
        "figure-4",
        "Figure 4: how often a record is drawn",
        tuple(lines),
        "None: this is arithmetic. A third is a round word for 36.8 %.",
        drawing.finished(),
        f"Bars fall from .37 at zero and one draw to .003 at five; simulated shares differ by at most "
        f"{np.abs(law - found).max():.4f}.",
    )
