"""Figure 5 and §6.3: the partition X_0, X_1, … as an algorithm, its variances, and what its parts would tell.

Expected: Σ ρ_i = ρ, that is Σ i·p_i = 1 (eq. 22), tolerance 1e-9; σ²(M) = Δ²/2ρ (eq. 26), within 4 s.e. of 5,000
draws. Ours: M has the law of a
resampled mean plus noise, which the other exhibits draw: the Kolmogorov–Smirnov distance of 20,000 of each is below its
.1 % point. And ρ'_i = ρ_i/p_i² is no price: with chance p_5 = .3 % a record lies in X_5 and moves M_5 by 5Δ, which is
40.5 sd of its noise at ρ = ½, where iρ/p_i and Δ give any ε an end.
"""

from __future__ import annotations

import math

import numpy as np

from hedgerow.testing.published import MultinomialBootstrap, multinomial_replicates

from ..drawing import BLUE, GREEN, INK, ORANGE, PINK, QUIET, Drawing
from ..exhibit import Exhibit, Line, within
from .partition import chances, partition, partitioned_replicate

__all__ = ["exhibit"]

N, RHO, RUNS, SHOWN, FAR = 200, 0.5, 20_000, 48, 40.5


def simulated(runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return replicates of one skewed data set by the partition, and by resampling."""
    rng = np.random.default_rng(63)
    values = np.round(rng.exponential(0.2, N), 2).clip(0.0, 1.0)
    parted = [partitioned_replicate(values, rho=RHO, sensitivity=1.0 / N, rng=rng)[0] for _ in range(runs)]
    one = MultinomialBootstrap(N, 0.0, 1.0, runs, math.sqrt(1.0 / (2.0 * RHO)) / N)
    return np.array(parted), multinomial_replicates(one, values, np.ones(N, dtype=int), rng=rng)[0]


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; `share` of the full number of runs."""
    from scipy import stats

    runs = max(1000, int(RUNS * share))
    parted, resampled = simulated(runs)
    p = chances(1000)
    exhausted = float((np.arange(len(p)) * p).sum())
    rng, few = np.random.default_rng(26), max(1000, runs // 4)
    silent = [partitioned_replicate(np.zeros(N), rho=RHO, sensitivity=1.0, rng=rng)[0] for _ in range(few)]
    noise, error = float(np.var(silent)) * 2.0 * RHO, math.sqrt(2.0 / few)
    distance = float(stats.ks_2samp(parted, resampled, method="asymp").statistic)
    most = float(stats.kstwo.isf(1e-3, runs // 2))
    spread = float(parted.var()) / float(resampled.var())
    moves = 5.0 / math.sqrt(5.0 * p[5] / (2.0 * RHO))
    lines = (
        Line("eq. 22: Σ ρ_i over ρ, N = 1,000", "1", f"{exhausted:.12f}", within(exhausted, 1.0, 1e-9)),
        Line("eq. 26: variance of M over Δ²/2ρ, all values 0", "1", f"{noise:.3f} ± {error:.3f}",
             within(noise, 1.0, 4 * error)),
        Line(f"law of M against that of a resampled mean plus noise: KS distance of {runs:,}",
             f"below {most:.4f} (ours)", f"{distance:.4f}",
             "as expected" if distance < most else "not as expected"),
        Line("their variances, one over the other", f"1 ± {8 / math.sqrt(runs):.2f} (ours)", f"{spread:.3f}",
             within(spread, 1.0, 8 / math.sqrt(runs), own=True)),
        Line("eq. 22 and 24: how far a record in X_5 moves M_5, in sd of its noise", f"{FAR} (ours)",
             f"{moves:.1f}, with a chance of {100 * p[5]:.2f} %", within(moves, FAR, 0.1, own=True)),
    )  # fmt: skip
    return Exhibit(
        "figure-5",
        "Figure 5 and section 6.3: the records parted by how often they are drawn",
        lines,
        "The construction is right as one of a bootstrap, and its noise adds up to that of the plain query. What fails "
        "is the price of a part, ρ_i/p_i²: that a record is rarely in X_5 does not make it cost little when it is. "
        "Only the sum is released, which costs less than the parts, and still more than ρ: see the attack.",
        _drawn().finished(),
        "Records of Y, each in the column of the number of times that it is drawn: about a third in X_0 and in X_1, "
        "and ever fewer beyond.",
    )


def _drawn() -> Drawing:
    drawing = Drawing.of("figure-5", height=2.8)
    (ax,) = drawing.panels
    parts = partition(SHOWN, np.random.default_rng(5))
    places = {record: (times, row) for times, part in enumerate(parts) for row, record in enumerate(part)}
    colours = (QUIET, BLUE, GREEN, ORANGE, PINK, INK)
    for times in range(len(parts)):
        rows = [row for column, row in places.values() if column == times]
        ax.plot([times] * len(rows), rows, "s", color=colours[min(times, 5)], ms=5)
    ax.set(xlabel=f"X_i: how often each of {SHOWN} records is drawn", ylabel="records", xlim=(-0.7, len(parts) - 0.3))
    ax.set_xticks(range(len(parts)), [f"X{times}" for times in range(len(parts))])
    return drawing
