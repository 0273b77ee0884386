"""Ours: single numbers under bootstrap-dp, attacked for all pairs of neighbours in Dⁿ of a small D.

D has five incomes. A mean, a maximum and a function of one's own (the range) have noise scaled to their bootstrap
sensitivities. What is drawn is a whole number plus noise that does not depend on it, so two neighbours are told apart
by the difference of their numbers alone: every difference that occurs among all neighbours is attacked, 10⁷ outputs of
each. None may be proven to exceed ε = 1, and the largest nearly reaches it: .95 or more.

Expected to be caught: the range with noise for its local sensitivity, and a mean with half the noise.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np

from hedgerow.audit.attack import Attack
from hedgerow.facts.columns import Missing
from hedgerow.release.bootstrap_dp.bootstrap_numbers import BootstrapNumber, OwnFunction
from hedgerow.testing.simulated import SimulatedNoise

from ..exhibit import Exhibit, Line
from .attack_tables import RowPair, attack_pair
from .mechanism import EPSILON

RUNS = 10_000_000
INCOMES = (20, 45, 45, 80, 310)
REACHED = 0.95
KINDS = ("mean", "maximum", "range")


def number(kind: str) -> BootstrapNumber:
    """Return what is released, on whole steps."""
    own = OwnFunction(np.ptp, 0.0, 1000.0, 1.0) if kind == "range" else None
    return BootstrapNumber(
        kind, "income", len(INCOMES), Fraction(1), None, Missing.DECLARED_COMPLETE, EPSILON, None, own
    )


def drawn(one: BootstrapNumber, rows: tuple[int, ...]) -> int:
    """Return the whole number that noise is added to."""
    y, counts = np.unique(np.array(rows), return_counts=True)
    return one.exact(y, counts)


def differences(one: BootstrapNumber) -> list[int]:
    """Return every difference of neighbours in Dⁿ but 0, in whole steps."""
    values = sorted(set(INCOMES))
    shared = combinations_with_replacement(values, len(INCOMES) - 1)
    found = {abs(drawn(one, (*z, a)) - drawn(one, (*z, b))) for z in shared for a in values for b in values}
    return sorted(found - {0})


def scale_of(one: BootstrapNumber) -> float:
    """Return the scale of the noise, in steps."""
    y, counts = np.unique(np.array(INCOMES), return_counts=True)
    return one.width(y, counts=counts) / EPSILON


def local(one: BootstrapNumber) -> int:
    """Return the local sensitivity among rows of D: one of the neighbours is D."""
    here = drawn(one, INCOMES)
    return max(
        abs(here - drawn(one, (*INCOMES[:place], other, *INCOMES[place + 1 :])))
        for place in range(len(INCOMES))
        for other in INCOMES
    )


def attacked(apart: int, scale: float, runs: int, *, seed: int) -> Attack:
    """Return what outputs on two neighbours so far apart prove."""
    pair = RowPair((0, float(apart)), (0, 0.0), apart / scale)
    return attack_pair(pair, scale, noise=SimulatedNoise(seed), runs=runs)


def exhibit(*, share: float = 1.0) -> Exhibit:
    """Return the exhibit; `share` of the full number of runs."""
    runs = int(RUNS * share)
    lines = []
    for seed, kind in enumerate(KINDS, 70):
        one = number(kind)
        scale, apart = scale_of(one), differences(one)
        most = max(attacked(each, scale, runs, seed=seed).epsilon_lower for each in apart)
        met = REACHED <= most <= EPSILON
        lines.append(Line(f"{kind}: ε proven at most, {len(apart)} differences of neighbours",
                          f"{REACHED} to {EPSILON:g} (ours)", f"{most:.3f}",
                          "as expected" if met else "not as expected"))  # fmt: skip
    one = number("mean")
    farthest = differences(one)[-1]
    sabotages = {"mean with half the noise": attacked(farthest, scale_of(one) / 2, runs, seed=80)}
    widest = number("range")
    narrow = max(1, local(widest)) / EPSILON
    beyond = differences(widest)[-1]
    sabotages["range with noise for its local sensitivity"] = attacked(beyond, narrow, runs, seed=81)
    for name, found in sabotages.items():
        caught = found.epsilon_lower > EPSILON
        lines.append(Line(f"{name}: caught", f"above {EPSILON:g} (ours)", f"at least {found.epsilon_lower:.3f}",
                          "as expected" if caught else "not as expected"))  # fmt: skip
    return Exhibit(
        "attack-numbers",
        f"Ours: single numbers, all pairs of neighbours ({runs:,} outputs a side, 99.9 % confidence)",
        tuple(lines),
        "A mean, a maximum and a function of one's own keep ε = 1 between all data sets whose rows are rows of D, and "
        "need what they pay. Noise for local sensitivity, where one of the neighbours is D itself, does not.",
        None,
        own=True,
    )
