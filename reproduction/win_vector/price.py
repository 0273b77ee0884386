"""The price: ε = 1/Z as claimed, against what a resample of ⌈n/Z⌉ records really guarantees.

The note's example: n zeros, or n − 1 zeros and a one; the query is the share of ones. Claimed: ε = 1/Z, from P(the
one is drawn) ≤ 1/Z. Exactly (docs/methods/testset.md): a positive score is possible under the second set alone, so δ(ε)
= P(it is drawn) = 1 − (1 − 1/n)^⌈n/Z⌉ for EVERY ε. Expected: .0956 and .0952 at Z = 10, n = 100 and 1,000; .3936 at Z =
2, .6323 at Z = 1 (n = 1,000); .865 after 20 looks at Z = 10 (n = 1,000). Tolerance: the last digit printed.

The attack: 200,000 scores of each set; a score above 0 speaks for the one. Certified at 99.9999 % (Clopper–Pearson):
ε of at least 5 at δ = .05, where .1 is claimed at δ = 0. No claim at δ = 0 can hold.
"""

from __future__ import annotations

import math

import numpy as np

from hedgerow.audit.attack import clopper_pearson, epsilon_lower
from hedgerow.mechanisms.randomised_records import Resample
from hedgerow.resampling.counted_values import Histogram
from hedgerow.testset.mechanisms.resampled_looks import drawn_losses

from ..drawing import BLUE, INK, ORANGE, PINK, Drawing
from ..exhibit import Exhibit, Line, within

__all__ = ["exhibit"]

EXPECTED = {(10, 100): 0.0956, (10, 1000): 0.0952, (2, 1000): 0.3936, (1, 1000): 0.6323}
AFTER_LOOKS, LOOKS = 0.865, 20
RUNS, ALPHA, DELTA, LEAST = 200_000, 1e-6, 0.05, 5.0
_SHOWN = (10, 5, 2, 1)


def chance(z: float, n: int, looks: int = 1) -> float:
    """Return the δ of `looks` resamples of ⌈n/Z⌉ records."""
    return Resample(n, math.ceil(n / z) * looks).chance


def positive_scores(ones: int, runs: int, *, n: int = 1000, z: int = 10, seed: int = 1) -> int:
    """Return how many of `runs` scores of n records, `ones` of which are 1, are above 0."""
    rng, draws = np.random.default_rng([seed, ones]), math.ceil(n / z)
    data = Histogram.from_triplets(np.zeros(2, int), np.array([0, 1]), np.array([n - ones, ones]), cells=1)
    sizes = [min(10_000, runs - start) for start in range(0, runs, 10_000)]
    return sum(int((drawn_losses(data, draws, rng, size) > 0).sum()) for size in sizes)


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; `share` of the full number of runs."""
    lines = [
        Line(f"δ at Z = {z}, n = {n:,}", f"0, with ε = {1 / z:g}; {expected:.4f} (ours)", f"{chance(z, n):.4f}",
             within(chance(z, n), expected, 6e-5, own=True))
        for (z, n), expected in EXPECTED.items()
    ]  # fmt: skip
    after = chance(10, 1000, LOOKS)
    lines.append(Line(f"δ after {LOOKS} looks at Z = 10, n = 1,000", f"0, with ε = 2; {AFTER_LOOKS} (ours)",
                      f"{after:.3f}", within(after, AFTER_LOOKS, 6e-4, own=True)))  # fmt: skip
    runs = max(20_000, int(RUNS * share))
    hits = [positive_scores(ones, runs) for ones in (1, 0)]
    low, high = clopper_pearson(hits[0], runs, ALPHA / 2)
    law = chance(10, 1000)
    lines.append(Line("P(score > 0), n − 1 zeros and a one, simulated", f"{law:.4f} (ours)", f"{low:.4f} to {high:.4f}",
                      "as expected" if low <= law <= high else "not as expected"))  # fmt: skip
    found = epsilon_lower(*hits, runs, delta=DELTA, alpha=ALPHA)
    least = LEAST if share == 1 else 1.0
    lines.append(Line("ε = 1/Z = .1 at δ = 0", "at most 0.1", f"at least {found:.2f} even at δ = {DELTA}",
                      "refuted" if found > least else "reproduced"))  # fmt: skip
    drawing = Drawing.of("price", height=3.0)
    (ax,) = drawing.panels
    looks = np.arange(1, 101)
    for z, colour, line in zip(_SHOWN, (BLUE, INK, ORANGE, PINK), ("-", "--", "-.", ":"), strict=True):
        ax.plot(looks, [chance(z, 1000, int(k)) for k in looks], color=colour, ls=line, label=f"Z = {z}")
    ax.set(xscale="log", xlabel="looks", ylabel="δ, at every ε", ylim=(0, 1.02))
    ax.set_xticks([1, 10, 100], ["1", "10", "100"])
    ax.minorticks_off()
    return Exhibit(
        "price",
        "The price: 1/Z is a δ, not an ε",
        tuple(lines),
        "“Present with probability no more than 1/Z, so ε = 1/Z” mistakes δ for ε: with that probability a record is "
        "told as it is, and the two sets are then told apart for certain. Each look draws anew, so δ grows until "
        "every record has been seen.",
        drawing.finished(),
        "δ against the number of looks at n = 1,000: at Z = 10 it rises from .1 at one look to .87 at twenty and "
        "1 at a "
        "hundred; with larger resamples sooner.",
        own=True,
    )
